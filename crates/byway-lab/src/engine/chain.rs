//! Which runs plans need, and how few of them suffice.
//!
//! Two cells may ask for the same run: they have the same scenario, or they
//! differ in a threshold alone that the run never reaches. With Path.Max.Retrans
//! 1 and no path failure, say, 2 to 5 give the same packets, as nothing but a
//! failure asks for Path.Max.Retrans. Cells that differ in a threshold alone
//! make a chain, which is run from the lowest value on.

use super::plan::{Cell, Plan};
use super::row::Record;
use super::store::Digest;
use crate::metrics::Metric;
use sha2::Digest as _;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// A cell that takes the rows of a run.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Taker {
    pub(super) plan: usize,
    pub(super) cell: usize,
}

/// One scenario, and the cells that it answers.
pub(super) struct Step {
    /// The value of the threshold.
    at: f64,
    /// What identifies the scenario.
    pub(super) digest: Digest,
    pub(super) takers: Vec<Taker>,
}

/// Scenarios that differ in a threshold alone, the lowest first; or a single
/// one.
pub(super) struct Chain {
    pub(super) steps: Vec<Step>,
    /// The seeds of its cells.
    pub(super) seeds: Vec<u64>,
    /// What is measured: a place in [`Chains::columns`].
    pub(super) columns: usize,
    /// The metric that says whether a run reached the threshold.
    reached: Option<usize>,
}

/// What is measured of some runs.
pub(super) struct Columns {
    pub(super) metrics: Vec<Metric>,
    pub(super) names: Arc<[String]>,
    /// For each plan, the places of its metrics among these; none if they are
    /// the same.
    places: BTreeMap<usize, Option<Vec<usize>>>,
}

/// All runs of some plans.
pub(super) struct Chains {
    pub(super) all: Vec<Chain>,
    pub(super) columns: Vec<Columns>,
}

/// What cells of one chain have in common.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Same(Digest),
    Threshold(Vec<String>),
}

/// What identifies the scenario of a cell: all of it but the seed.
pub(super) fn digest(cell: &Cell) -> Digest {
    let bytes = sha2::Sha256::digest(cell.scenario.to_toml_without_seed());
    std::array::from_fn(|i| bytes[i])
}

/// The seeds of a cell.
fn seeds<'a>(plan: &'a Plan, cell: &'a Cell) -> impl Iterator<Item = u64> + 'a {
    let (all, some) = match &cell.seeds {
        None => (plan.seeds.as_slice(), [].as_slice()),
        Some(places) => ([].as_slice(), places.as_slice()),
    };
    let some = some.iter().map(|place| plan.seeds[*place]);
    all.iter().copied().chain(some)
}

impl Chains {
    pub(super) fn of(plans: &[&Plan]) -> Chains {
        let mut all: Vec<Chain> = Vec::new();
        let mut known: HashMap<Key, usize> = HashMap::new();
        for (p, plan) in plans.iter().enumerate() {
            for (c, cell) in plan.cells.iter().enumerate() {
                let digest = digest(cell);
                let (key, at) = key(plan, cell, digest);
                let place = *known.entry(key).or_insert(all.len());
                let taker = Taker { plan: p, cell: c };
                let chain = all.get_mut(place);
                if !chain.is_some_and(|chain| chain.add(at, digest, taker)) {
                    all.push(Chain::begin(at, digest, taker));
                }
            }
        }
        let mut chains = Chains {
            all,
            columns: Vec::new(),
        };
        chains.complete(plans);
        chains
    }

    /// Finds the seeds and the columns of each chain.
    fn complete(&mut self, plans: &[&Plan]) {
        let mut sets: HashMap<Vec<usize>, usize> = HashMap::new();
        for chain in &mut self.all {
            chain.seeds = chain.all_seeds(plans);
            let mut of: Vec<usize> = chain.takers().map(|t| t.plan).collect();
            of.sort_unstable();
            of.dedup();
            let threshold = of
                .iter()
                .find_map(|p| Some((*p, plans[*p].threshold.as_ref()?)));
            chain.columns = *sets.entry(of).or_insert_with_key(|of| {
                self.columns.push(Columns::of(plans, of));
                self.columns.len() - 1
            });
            let columns = &self.columns[chain.columns];
            chain.reached = threshold.map(|(p, t)| columns.place(p, t.reached));
        }
    }
}

fn key(plan: &Plan, cell: &Cell, digest: Digest) -> (Key, f64) {
    let threshold = plan.threshold.as_ref();
    let Some((axis, at)) = threshold.and_then(|t| {
        let at = cell.values.get(t.axis)?.parse::<f64>().ok()?;
        Some((t.axis, at))
    }) else {
        return (Key::Same(digest), 0.0);
    };
    let names = plan.axes.iter().map(|a| a.name.as_str());
    let others = names.zip(&cell.values).enumerate();
    let others = others.map(|(i, (name, value))| match i == axis {
        true => format!("threshold {name}"),
        false => format!("{name} {value}"),
    });
    let key = std::iter::once(plan.family.clone()).chain(others).collect();
    (Key::Threshold(key), at)
}

impl Chain {
    fn begin(at: f64, digest: Digest, taker: Taker) -> Chain {
        let takers = vec![taker];
        Chain {
            steps: vec![Step { at, digest, takers }],
            seeds: Vec::new(),
            columns: 0,
            reached: None,
        }
    }

    /// Adds a cell; not if it only seems to be of this chain.
    fn add(&mut self, at: f64, digest: Digest, taker: Taker) -> bool {
        let place = self.steps.partition_point(|step| step.at < at);
        match self.steps.get_mut(place) {
            Some(step) if step.at <= at => {
                if step.digest != digest {
                    return false;
                }
                step.takers.push(taker);
            }
            _ => {
                let takers = vec![taker];
                self.steps.insert(place, Step { at, digest, takers });
            }
        }
        true
    }

    /// Its cells.
    pub(super) fn takers(&self) -> impl Iterator<Item = Taker> {
        self.steps.iter().flat_map(|s| s.takers.iter().copied())
    }

    /// The seeds of its cells, in their order.
    fn all_seeds(&self, plans: &[&Plan]) -> Vec<u64> {
        let mut found: Vec<u64> = Vec::new();
        for Taker { plan, cell } in self.takers() {
            let plan = plans[plan];
            let cell = &plan.cells[cell];
            if found.is_empty() {
                found = seeds(plan, cell).collect();
            } else if !seeds(plan, cell).eq(found.iter().copied()) {
                let known: HashSet<u64> = found.iter().copied().collect();
                found.extend(seeds(plan, cell).filter(|s| !known.contains(s)));
            }
        }
        found
    }

    /// Whether the run of a higher threshold is the same as this one.
    pub(super) fn never_reached(&self, lower: &Record) -> bool {
        let value = self.reached.and_then(|metric| lower.values.get(metric));
        value.is_some_and(|times| *times <= 0.0)
    }
}

impl Columns {
    fn of(plans: &[&Plan], of: &[usize]) -> Columns {
        let mut metrics: Vec<Metric> = Vec::new();
        for metric in of.iter().flat_map(|p| &plans[*p].metrics) {
            if !metrics.iter().any(|m| m.name() == metric.name()) {
                metrics.push(metric.clone());
            }
        }
        let places = of.iter().map(|p| {
            let place = |metric: &Metric| metrics.iter().position(|m| m.name() == metric.name());
            let own = &plans[*p].metrics;
            let places: Vec<usize> = own.iter().filter_map(place).collect();
            let same = places.len() == metrics.len() && places.is_sorted();
            (*p, (!same).then_some(places))
        });
        Columns {
            places: places.collect(),
            names: metrics.iter().map(|m| m.name().to_owned()).collect(),
            metrics,
        }
    }

    /// Where the metric of a plan is among these.
    fn place(&self, plan: usize, metric: usize) -> usize {
        match self.places.get(&plan) {
            Some(Some(places)) => places[metric],
            _ => metric,
        }
    }

    /// What a plan wants of a record.
    pub(super) fn taken(&self, plan: usize, record: Record) -> Record {
        match self.places.get(&plan) {
            Some(Some(places)) => Record {
                values: places.iter().map(|i| record.values[*i]).collect(),
                ..record
            },
            _ => record,
        }
    }
}
