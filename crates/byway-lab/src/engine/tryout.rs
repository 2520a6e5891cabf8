//! Whether another program, which began a store, gives the same values: some of
//! its runs are repeated.

use super::chain::digest;
use super::options::EngineError;
use super::plan::Plan;
use super::simulate::simulate;
use super::store::{Digest, Store};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

/// A run that gives another value now than is kept of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Differs {
    /// The plan.
    pub plan: usize,
    /// The cell of that plan.
    pub cell: usize,
    /// The seed.
    pub seed: u64,
    /// The metric; empty if the run ends otherwise.
    pub metric: String,
    /// The value in the store; not a number for none.
    pub then: f64,
    /// The value now; not a number for none.
    pub now: f64,
}

/// A run that is kept.
struct Trial<'a> {
    plan: usize,
    cell: usize,
    seed: u64,
    digest: Digest,
    plans: &'a [&'a Plan],
    store: &'a Store,
}

/// Repeats one run of the store for each family of plans and each policy;
/// gives what differs first.
///
/// # Errors
/// When it was cancelled.
pub fn try_out(
    plans: &[&Plan],
    store: &Store,
    cancel: Option<&AtomicBool>,
) -> Result<Option<Differs>, EngineError> {
    let mut tried = BTreeSet::new();
    let mut trials = Vec::new();
    for (p, plan) in plans.iter().enumerate() {
        for (c, cell) in plan.cells.iter().enumerate() {
            let policy = cell.scenario.policies.first();
            let what = (plan.family.as_str(), policy.map(|policy| &policy.name));
            if tried.contains(&what) {
                continue;
            }
            let digest = digest(cell);
            let mut seeds = plan.seeds.iter().copied();
            if let Some(seed) = seeds.find(|seed| store.status(digest, *seed).is_some()) {
                tried.insert(what);
                trials.push(Trial {
                    plan: p,
                    cell: c,
                    seed,
                    digest,
                    plans,
                    store,
                });
            }
        }
    }
    let found: Result<Vec<Option<Differs>>, EngineError> =
        trials.par_iter().map(|trial| trial.run(cancel)).collect();
    Ok(found?.into_iter().flatten().next())
}

impl Trial<'_> {
    fn run(&self, cancel: Option<&AtomicBool>) -> Result<Option<Differs>, EngineError> {
        let plan = self.plans[self.plan];
        let scenario = &plan.cells[self.cell].scenario;
        let again =
            simulate(scenario, self.seed, &plan.metrics, cancel).ok_or(EngineError::Interrupted)?;
        let differs = |metric: &str, then: f64, now: f64| Differs {
            plan: self.plan,
            cell: self.cell,
            seed: self.seed,
            metric: metric.to_owned(),
            then,
            now,
        };
        if self.store.status(self.digest, self.seed) != Some(again.status) {
            return Ok(Some(differs("", f64::NAN, f64::NAN)));
        }
        let values = plan.metrics.iter().zip(again.values);
        let found = values.filter_map(|(metric, now)| {
            let then = self.store.value(self.digest, self.seed, metric.name())?;
            let same = then.to_bits() == now.to_bits() || then.is_nan() && now.is_nan();
            (!same).then(|| differs(metric.name(), then, now))
        });
        Ok(found.into_iter().next())
    }
}
