//! Does chunks of a plan's runs, in whatever process.

use super::chain::Chains;
use super::chunk::{Ask, Head, places, put_answer};
use super::job::{Counts, Job};
use super::options::EngineError;
use super::plan::Plan;
use super::rows::Wants;
use super::store::Store;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// A plan whose runs are done in chunks, as a [`Coordinator`](super::Coordinator)
/// deals them out. One worker may serve several threads.
pub struct Worker {
    plan: Plan,
    hash: String,
    chains: Chains,
    wants: Wants,
}

impl Worker {
    /// Makes ready for the chunks of `plan`.
    #[must_use]
    pub fn new(plan: Plan) -> Worker {
        let plans = [&plan];
        Worker {
            chains: Chains::of(&plans),
            wants: Wants::of(&plans),
            hash: plan.hash(),
            plan,
        }
    }

    /// The hash of its plan.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Does the runs of a chunk, and gives the bytes of their rows. The time of the
    /// chunk may end it early; its other runs are dealt out again.
    ///
    /// # Errors
    /// In words: when these bytes are no chunk of its plan, or it was cancelled.
    pub fn run(&self, chunk: &[u8], cancel: Option<&AtomicBool>) -> Result<Vec<u8>, String> {
        let ask = Ask::decode(chunk)?;
        if ask.plan != self.hash {
            return Err(format!(
                "chunk {} is of the plan {}, this worker was made ready for {}",
                ask.number, ask.plan, self.hash
            ));
        }
        let nothing = Store::nothing();
        let job = Job {
            plans: &[&self.plan],
            chains: &self.chains,
            wants: &self.wants,
            store: &nothing,
            counts: &Counts::default(),
            cancel,
            strict: false,
        };
        let (mut rows, mut runs) = (Vec::new(), 0);
        let begun = Instant::now();
        let mut before = begun;
        for (index, place) in places(&ask.runs) {
            if runs > 0 && begun.elapsed().as_secs_f64() >= ask.seconds {
                break;
            }
            let known = self.chains.all.get(index);
            let Some((chain, seed)) = known.and_then(|c| Some((c, *c.seeds.get(place)?))) else {
                return Err(format!(
                    "chunk {} asks for a run that is not in the plan",
                    ask.number
                ));
            };
            let answer = job.answer(chain, seed, true).map_err(|e| e.to_string())?;
            let answer = answer.ok_or_else(|| EngineError::Interrupted.to_string())?;
            let now = Instant::now();
            put_answer(&mut rows, (now - before).as_secs_f32(), &answer);
            before = now;
            runs += 1;
        }
        let head = Head {
            plan: self.hash.clone(),
            number: ask.number,
            runs,
        };
        let mut bytes = head.encode();
        bytes.extend(rows);
        Ok(bytes)
    }
}
