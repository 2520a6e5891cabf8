//! What there is to do for some plans, and how a chain is answered.

use super::chain::{Chain, Chains, Columns, Taker};
use super::options::EngineError;
use super::plan::Plan;
use super::row::{Record, Row, Status};
use super::rows::{Answer, Wants};
use super::simulate::simulate;
use super::store::Store;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What there is to do, the same for all who do it.
pub(super) struct Job<'a> {
    pub(super) plans: &'a [&'a Plan],
    pub(super) chains: &'a Chains,
    pub(super) wants: &'a Wants,
    pub(super) store: &'a Store,
    pub(super) counts: &'a Counts,
    pub(super) cancel: Option<&'a AtomicBool>,
    pub(super) strict: bool,
}

/// Where answers came from.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) simulated: AtomicUsize,
    pub(super) from_store: AtomicUsize,
}

impl Job<'_> {
    /// How many rows an answer to this seed makes.
    pub(super) fn rows(&self, chain: &Chain, seed: u64) -> usize {
        let wanting = |t: &Taker| self.wanted(*t, seed);
        chain.takers().filter(wanting).count()
    }

    pub(super) fn columns(&self, chain: &Chain) -> &Columns {
        &self.chains.columns[chain.columns]
    }

    pub(super) fn wanted(&self, taker: Taker, seed: u64) -> bool {
        self.wants.place(self.plans, taker, seed).is_some()
    }

    /// The answer of a chain to a seed. Runs that are not known are done, if
    /// `simulates`; else there is no answer.
    pub(super) fn answer(
        &self,
        chain: &Chain,
        seed: u64,
        simulates: bool,
    ) -> Result<Option<Answer>, EngineError> {
        let names = &self.columns(chain).names;
        let mut answer: Answer = Vec::with_capacity(chain.steps.len());
        let mut last: Option<usize> = None;
        let mut from_store = 0;
        for (place, step) in chain.steps.iter().enumerate() {
            let wanted = |t: &Taker| self.wanted(*t, seed);
            let Some(taker) = step.takers.iter().copied().find(wanted) else {
                answer.push(None);
                continue;
            };
            let lower = last.and_then(|last| answer[last].as_ref());
            let same = lower.filter(|lower| chain.never_reached(lower)).cloned();
            last = Some(place);
            if same.is_some() {
                answer.push(same);
                continue;
            }
            if let Some(known) = self.store.get(step.digest, seed, names) {
                from_store += 1;
                answer.push(Some(known));
                continue;
            }
            if !simulates {
                return Ok(None);
            }
            let record = self.simulate(chain, taker, seed)?;
            self.store.add(step.digest, seed, names, &record)?;
            answer.push(Some(record));
        }
        self.counts
            .from_store
            .fetch_add(from_store, Ordering::Relaxed);
        Ok(Some(answer))
    }

    fn simulate(&self, chain: &Chain, taker: Taker, seed: u64) -> Result<Record, EngineError> {
        let plan = self.plans[taker.plan];
        let scenario = &plan.cells[taker.cell].scenario;
        let metrics = &self.columns(chain).metrics;
        let record =
            simulate(scenario, seed, metrics, self.cancel).ok_or(EngineError::Interrupted)?;
        if self.strict && record.status == Status::Refused {
            return Err(EngineError::Refused {
                plan: plan.name.clone(),
                reason: record.reason,
            });
        }
        self.counts.simulated.fetch_add(1, Ordering::Relaxed);
        Ok(record)
    }

    /// Keeps the answer that another process found with [`Job::answer`].
    pub(super) fn keep(
        &self,
        chain: &Chain,
        seed: u64,
        answer: &Answer,
    ) -> Result<(), EngineError> {
        let names = &self.columns(chain).names;
        let mut lower: Option<&Record> = None;
        for (step, record) in chain.steps.iter().zip(answer) {
            let Some(record) = record else { continue };
            let same = lower.is_some_and(|lower| chain.never_reached(lower));
            if !same && self.store.get(step.digest, seed, names).is_none() {
                self.store.add(step.digest, seed, names, record)?;
                self.counts.simulated.fetch_add(1, Ordering::Relaxed);
            }
            lower = Some(record);
        }
        Ok(())
    }

    /// Whether all cells of a chain have had enough runs.
    pub(super) fn enough(&self, chain: &Chain, answers: &[Option<Answer>]) -> bool {
        let columns = self.columns(chain);
        let mut cells = chain.steps.iter().enumerate().flat_map(|(place, step)| {
            let takers = step.takers.iter();
            takers.map(move |taker| (place, taker))
        });
        cells.all(|(place, taker)| {
            let Some(rule) = &self.plans[taker.plan].stop else {
                return false;
            };
            let records = answers.iter().flatten();
            let records = records.filter_map(|answer| answer[place].as_ref());
            let rows: Vec<Row> = records
                .map(|r| columns.taken(taker.plan, r.clone()).row(taker.cell, 0, 0))
                .collect();
            rule.enough(&rows)
        })
    }

    /// How many runs of a chain are requested next, when `done` are done.
    pub(super) fn batch(&self, chain: &Chain, done: usize) -> usize {
        let rules = chain.takers().map(|t| self.plans[t.plan].stop.as_ref());
        let sizes = rules.map(|rule| match rule {
            None => chain.seeds.len(),
            Some(rule) if done == 0 => rule.least,
            Some(rule) => rule.step,
        });
        sizes.max().unwrap_or(1).max(1)
    }
}
