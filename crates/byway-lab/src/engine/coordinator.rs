//! Deals out a plan's runs in chunks to workers elsewhere, and takes their rows.

use super::chain::{Chains, Step};
use super::chunk::{Ask, Head, places, take_answer};
use super::deal::{Deal, Share};
use super::job::{Counts, Job};
use super::options::EngineError;
use super::plan::Plan;
use super::row::Row;
use super::rows::{Answer, Wants, rows};
use super::store::Store;
use std::collections::{BTreeMap, BTreeSet};

/// Most runs of a chunk: its rows stay below a few megabytes.
const MOST_RUNS: usize = 16_384;
/// A worker ends a chunk early when it takes as many times longer than planned.
const PATIENCE: f64 = 1.5;
/// Near the end the rest is cut into as many chunks for each thread, so that all
/// workers end at about the same time.
const LAST_CHUNKS: f64 = 2.0;
/// Chunks near the end take at least this share of the time that chunks take: each
/// costs its way there and back.
const LEAST: f64 = 0.05;

/// Deals out a plan's runs in chunks.
///
/// Chunks may come back in any order, in part, or not at all: the rows are those
/// of one machine. Whoever deals gives lost chunks back with
/// [`Coordinator::give_back`].
pub struct Coordinator {
    parts: Parts,
    deal: Deal,
    /// Chunks that workers have.
    out: BTreeMap<u64, Vec<Share>>,
    /// The number of the next chunk.
    next: u64,
    /// Runs that are dealt out each in a chunk of its own.
    apart: BTreeSet<(usize, usize)>,
    pace: Pace,
}

/// Runs for one worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Its number, from 0.
    pub number: u64,
    /// Its runs.
    pub runs: usize,
    /// What [`Worker::run`](super::Worker::run) takes.
    pub bytes: Vec<u8>,
}

/// Why rows of a worker were not taken.
#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    /// They are not the rows that were asked for. The chunk is still dealt out.
    #[error("chunk {number}: {problem}")]
    Unusable {
        /// The chunk.
        number: u64,
        /// What is wrong with the bytes.
        problem: String,
    },
    /// They could not be kept.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

struct Parts {
    plan: Plan,
    hash: String,
    chains: Chains,
    wants: Wants,
    store: Store,
    counts: Counts,
}

impl Parts {
    fn job<'a>(&'a self, plans: &'a [&'a Plan]) -> Job<'a> {
        Job {
            plans,
            chains: &self.chains,
            wants: &self.wants,
            store: &self.store,
            counts: &self.counts,
            cancel: None,
            strict: false,
        }
    }

    /// The answers of `bytes` to the first runs of a chunk.
    fn decode(&self, number: u64, shares: &[Share], bytes: &[u8]) -> Result<Decoded, String> {
        let mut rest = bytes;
        let head = Head::decode(&mut rest).ok_or("the answer is no rows of byway, or damaged")?;
        if head.plan != self.hash {
            return Err(format!("the rows are of another plan, {}", head.plan));
        }
        if head.number != number {
            return Err(format!("the rows are those of chunk {}", head.number));
        }
        let asked = runs(shares);
        if head.runs == 0 || head.runs > asked {
            return Err(format!("{asked} runs were asked for, {} came", head.runs));
        }
        let plans = [&self.plan];
        let job = self.job(&plans);
        let mut found = Vec::with_capacity(head.runs);
        for (index, place) in places(shares).take(head.runs) {
            let chain = &self.chains.all[index];
            let seed = chain.seeds[place];
            let wanted = |step: &Step| step.takers.iter().any(|t| job.wanted(*t, seed));
            let wanted: Vec<bool> = chain.steps.iter().map(wanted).collect();
            let values = self.chains.columns[chain.columns].metrics.len();
            let (seconds, answer) = take_answer(&mut rest, values, &wanted)
                .ok_or_else(|| format!("the row of its run {} is damaged", found.len() + 1))?;
            found.push((index, place, seconds, answer));
        }
        match rest {
            [] => Ok(found),
            _ => Err("there are bytes behind the last row".to_owned()),
        }
    }
}

/// Chains, places of their seeds, seconds that the runs took, and their answers.
type Decoded = Vec<(usize, usize, f32, Answer)>;

fn runs(shares: &[Share]) -> usize {
    shares.iter().map(|(_, range)| range.len()).sum()
}

impl Coordinator {
    /// Begins with what `store` has; new rows are kept there.
    #[must_use]
    pub fn new(plan: Plan, store: Store) -> Coordinator {
        let plans = [&plan];
        let (chains, wants) = (Chains::of(&plans), Wants::of(&plans));
        let pace = Pace::new(chains.all.len());
        let parts = Parts {
            hash: plan.hash(),
            chains,
            wants,
            plan,
            store,
            counts: Counts::default(),
        };
        let deal = Deal::begin(&parts.job(&[&parts.plan]));
        Coordinator {
            parts,
            deal,
            out: BTreeMap::new(),
            next: 0,
            apart: BTreeSet::new(),
            pace,
        }
    }

    /// Its plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.parts.plan
    }

    /// Rows that are done, and rows at most, as far as is known.
    #[must_use]
    pub fn progress(&self) -> (usize, usize) {
        self.deal.progress()
    }

    /// Seconds that a run took on average; 0 before the first.
    #[must_use]
    pub fn seconds_a_run(&self) -> f64 {
        self.pace.mean()
    }

    /// Whether all runs are done.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.deal.queued() == 0 && !self.deal.is_running()
    }

    /// The next chunk, of runs that take about `seconds` together; fewer until it
    /// is known how long they take, and near the end, when `threads` share what
    /// is left. None when no run waits: then the answers to others are needed, or
    /// all is done.
    pub fn next(&mut self, seconds: f64, threads: usize) -> Option<Chunk> {
        let waiting = self.pace.mean() * self.deal.queued() as f64;
        let last = waiting / (LAST_CHUNKS * threads.max(1) as f64);
        let seconds = seconds.min(last.max(seconds * LEAST));
        let mut shares: Vec<Share> = Vec::new();
        let (mut runs, mut planned) = (0, 0.0);
        let mut alone = false;
        while let Some(front) = self.deal.front() {
            let apart = self.apart.contains(&front);
            planned += self.pace.of(front.0);
            let full = alone || apart || planned > seconds || runs >= MOST_RUNS;
            if runs > 0 && full {
                break;
            }
            let Some((chain, place)) = self.deal.pop() else {
                break;
            };
            runs += 1;
            alone = apart;
            match shares.last_mut() {
                Some((c, range)) if *c == chain && range.end == place => range.end += 1,
                _ => shares.push((chain, place..place + 1)),
            }
        }
        if runs == 0 {
            return None;
        }
        let number = self.next;
        self.next += 1;
        let ask = Ask {
            plan: self.parts.hash.clone(),
            number,
            seconds: seconds * PATIENCE,
            runs: shares,
        };
        let bytes = ask.encode();
        self.out.insert(number, ask.runs);
        Some(Chunk {
            number,
            runs,
            bytes,
        })
    }

    /// Takes a worker's rows of the chunk `number` and keeps them; false if the
    /// chunk is not dealt out, since its rows are there or it was given back.
    /// Runs that the worker did not come to are dealt out again.
    ///
    /// # Errors
    /// When these are not its rows, or they cannot be kept.
    pub fn take(&mut self, number: u64, bytes: &[u8]) -> Result<bool, TakeError> {
        let Some(shares) = self.out.get(&number) else {
            return Ok(false);
        };
        let found = self
            .parts
            .decode(number, shares, bytes)
            .map_err(|problem| TakeError::Unusable { number, problem })?;
        let plans = [&self.parts.plan];
        let job = self.parts.job(&plans);
        // What is in the journal counts, also if the next row finds no room.
        let mut kept = 0;
        let full =
            found
                .iter()
                .try_for_each(|(index, place, _, answer)| -> Result<(), EngineError> {
                    let chain = &self.parts.chains.all[*index];
                    job.keep(chain, chain.seeds[*place], answer)?;
                    kept += 1;
                    Ok(())
                });
        let rest = behind(self.out.remove(&number).unwrap_or_default(), kept);
        self.deal.give_back(rest.into_iter());
        for (index, place, seconds, answer) in found.into_iter().take(kept) {
            self.pace.took(index, f64::from(seconds));
            self.deal.take(&job, index, place, answer);
        }
        full?;
        Ok(true)
    }

    /// Takes a chunk back whose rows will not come: its runs are dealt out again, if
    /// `apart` each in a chunk of its own, so that the one that is to blame is found.
    /// Nothing happens if the chunk is not dealt out.
    pub fn give_back(&mut self, number: u64, apart: bool) {
        if let Some(shares) = self.out.remove(&number) {
            if apart {
                self.apart.extend(places(&shares));
            }
            self.deal.give_back(shares.into_iter());
        }
    }

    /// Which cells and seeds a chunk has that is dealt out, for messages.
    #[must_use]
    pub fn describe(&self, number: u64) -> String {
        let Some(shares) = self.out.get(&number) else {
            return "no runs".to_owned();
        };
        let chains = shares
            .iter()
            .map(|(index, _)| &self.parts.chains.all[*index]);
        let cells: BTreeSet<usize> = chains
            .flat_map(|c| c.takers().map(|t| t.cell + 1))
            .collect();
        let list = match (cells.first(), cells.last()) {
            (Some(first), Some(last)) if first < last => format!("cells {first} to {last}"),
            (Some(one), _) => format!("cell {one}"),
            _ => "no cell".to_owned(),
        };
        let seed = |share: Option<&Share>, last: bool| {
            let (index, range) = share?;
            let place = if last {
                range.end.checked_sub(1)?
            } else {
                range.start
            };
            self.parts.chains.all[*index].seeds.get(place).copied()
        };
        match (seed(shares.first(), false), seed(shares.last(), true)) {
            (Some(from), Some(to)) if runs(shares) > 1 => {
                format!(
                    "{} runs of {list}, from seed {from} to seed {to}",
                    runs(shares)
                )
            }
            (Some(seed), _) => format!("the run of {list} with seed {seed}"),
            _ => list,
        }
    }

    /// Brings all rows to the disk.
    ///
    /// # Errors
    /// When that fails.
    pub fn sync(&self) -> Result<(), EngineError> {
        Ok(self.parts.store.sync()?)
    }

    /// The rows, by cell and in the order of the seeds, with the plan and the
    /// store.
    ///
    /// # Errors
    /// [`EngineError::Interrupted`] when runs are still to be done, or when the
    /// rows cannot be brought to the disk.
    pub fn finish(self) -> Result<(Plan, Vec<Row>, Store), EngineError> {
        self.sync()?;
        if !self.is_done() {
            return Err(EngineError::Interrupted);
        }
        let Parts {
            plan,
            chains,
            wants,
            store,
            ..
        } = self.parts;
        let rows = rows(&[&plan], &chains, &wants, self.deal.into_answers());
        Ok((plan, rows.into_iter().flatten().collect(), store))
    }
}

/// What is left of shares behind their first `done` runs.
fn behind(shares: Vec<Share>, mut done: usize) -> Vec<Share> {
    let cut = |(chain, range): Share| {
        let off = done.min(range.len());
        done -= off;
        (chain, range.start + off..range.end)
    };
    let cut = shares.into_iter().map(cut);
    cut.filter(|(_, range)| !range.is_empty()).collect()
}

/// How long runs take.
struct Pace {
    /// For each chain, seconds and runs.
    chains: Vec<(f64, u32)>,
    all: (f64, u32),
}

impl Pace {
    fn new(chains: usize) -> Pace {
        Pace {
            chains: vec![(0.0, 0); chains],
            all: (0.0, 0),
        }
    }

    fn took(&mut self, chain: usize, seconds: f64) {
        for (sum, runs) in [&mut self.chains[chain], &mut self.all] {
            *sum += seconds;
            *runs = runs.saturating_add(1);
        }
    }

    /// Seconds of a run on average; 0 if nothing is known.
    fn mean(&self) -> f64 {
        self.all.0 / f64::from(self.all.1.max(1))
    }

    /// Seconds of a run of a chain, if need be guessed from the others.
    fn of(&self, chain: usize) -> f64 {
        match self.chains[chain] {
            (_, 0) if self.all.1 == 0 => f64::INFINITY,
            (_, 0) => self.mean(),
            (sum, runs) => sum / f64::from(runs),
        }
    }
}
