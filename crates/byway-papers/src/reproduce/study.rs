//! The runs behind claims and figures: a scenario, axes, and seeds.

use super::cells::{Cell, Cells, Condition, Place, Value};
use super::measure;
use super::sample::{Run, Sample};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

/// By other settings than the papers' the claims are put to what little effort runs, and with all of it
/// to so many times its seeds: they say what hangs on a setting, and decide nothing.
const OTHER_SETTINGS: u32 = 4;

/// How much is run.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Effort {
    /// A minute and a half on two processors.
    Quick,
    /// The papers' sizes and numbers of runs.
    Full,
}

impl Effort {
    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Effort::Quick => "quick",
            Effort::Full => "full",
        }
    }
}

/// A study, as `claims.toml` says it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudySpec {
    /// Its name.
    pub id: String,
    /// What is run, for captions.
    pub what: String,
    /// The scenario: the name of a file beside `claims.toml`.
    pub scenario: String,
    /// Axes and their values.
    pub axes: BTreeMap<String, Axis>,
    /// Runs of each cell.
    pub seeds: Seeds,
    /// An axis whose values the seeds take in turn, so that a cell covers all
    /// of them: it is no axis of the cells.
    #[serde(default)]
    pub rotate: Option<Rotate>,
    /// A condition such as `start_s <= 0.3`: runs that do not meet it are left
    /// out, as the papers leave out what never began.
    #[serde(default)]
    pub keep: Option<String>,
    /// Axes that are measured rather than set: the measure, and the width of a
    /// cell of it.
    #[serde(default)]
    pub bins: BTreeMap<String, Bin>,
    /// An axis that is a threshold: runs that never reach it are not done again
    /// for its higher values.
    #[serde(default)]
    pub threshold: Option<Threshold>,
}

/// An axis that is a threshold.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Threshold {
    /// Which; its values are numbers.
    pub axis: String,
    /// The measure that is 0 if and only if a run never reached it.
    pub reached: String,
}

/// Values of an axis.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Axis {
    /// Whatever the effort.
    Both(Vec<Value>),
    /// By effort.
    Each {
        /// With little effort.
        quick: Vec<Value>,
        /// With all of it.
        full: Vec<Value>,
    },
}

/// How many seeds.
#[derive(Copy, Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seeds {
    /// With little effort.
    pub quick: u32,
    /// With all of it.
    pub full: u32,
    /// The first one (1): studies that begin elsewhere have other chance than those that a setting was
    /// chosen by.
    #[serde(default = "one")]
    pub from: u64,
}

fn one() -> u64 {
    1
}

/// An axis that the seeds go round.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rotate {
    /// Which.
    pub axis: String,
    /// Its values.
    pub values: Vec<Value>,
}

/// A measured axis.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bin {
    /// The measure.
    pub measure: String,
    /// How much of it makes 1 on the axis.
    pub unit: f64,
}

impl StudySpec {
    /// What is run and how often, for captions.
    pub(super) fn words(&self, effort: Effort) -> String {
        let seeds = self.seeds(effort);
        let mut what = self.what.clone();
        for (name, axis) in &self.axes {
            if let [value] = axis.values(effort) {
                what = what.replace(&format!("{{{name}}}"), &value.to_string());
            }
        }
        let runs = if seeds == 1 { "run" } else { "runs" };
        format!("{what} {seeds} {runs} of each cell.")
    }

    /// How many seeds.
    pub(super) fn seeds(&self, effort: Effort) -> u32 {
        match effort {
            Effort::Quick => self.seeds.quick,
            Effort::Full => self.seeds.full,
        }
    }

    /// The seeds that one look at the growing runs adds, from `first` on: at first those of the
    /// effort, then as many as there are.
    pub(super) fn look(&self, effort: Effort, look: u32, first: u64) -> RangeInclusive<u64> {
        let seeds = u64::from(self.seeds(effort));
        let before = first.saturating_add(self.seeds.from).saturating_sub(2);
        let (from, to) = match look {
            0 => (1, seeds),
            _ => ((seeds << (look - 1)) + 1, seeds << look),
        };
        before.saturating_add(from)..=before.saturating_add(to)
    }

    /// The seeds of the claims by other settings.
    pub(super) fn by_other_settings(&self, effort: Effort, first: u64) -> RangeInclusive<u64> {
        let Seeds { quick, full, from } = self.seeds;
        let seeds = match effort {
            Effort::Quick => quick,
            Effort::Full => (OTHER_SETTINGS * quick).min(full.max(quick)),
        };
        let first = first.saturating_add(from).saturating_sub(1);
        first..=first.saturating_add(u64::from(seeds)).saturating_sub(1)
    }

    /// The places of its cells: all combinations of its axes' values.
    pub(super) fn places(&self, effort: Effort) -> Vec<Place> {
        let mut places = vec![Place::new()];
        for (name, axis) in &self.axes {
            let values = axis.values(effort);
            places = places
                .iter()
                .flat_map(|place| {
                    values.iter().map(|value| {
                        let mut place = place.clone();
                        place.insert(name.clone(), value.clone());
                        place
                    })
                })
                .collect();
        }
        places
    }

    /// What the study asks of a run besides what claims and figures want.
    pub(super) fn own_measures(&self) -> impl Iterator<Item = &str> {
        let bins = self.bins.values().map(|bin| bin.measure.as_str());
        let keep = self.keep.as_deref().and_then(Condition::read);
        let threshold = self.threshold.as_ref().map(|t| t.reached.as_str());
        bins.chain(keep.map(|c| c.measure))
            .chain(threshold)
            .chain([measure::MARK])
    }

    /// What a run at a place gives: the measures that are wanted; none if the
    /// run is to be left out. `value` gives the value of a metric.
    pub(super) fn row(
        &self,
        place: &Place,
        seed: u64,
        wanted: &BTreeSet<String>,
        value: impl Fn(&str) -> Option<f64>,
    ) -> Option<Row> {
        let kept = self.keep.as_ref().is_none_or(|condition| {
            Condition::read(condition)
                .is_some_and(|c| value(c.measure).is_some_and(|value| c.holds(value)))
        });
        if !kept {
            return None;
        }
        let mut place = place.clone();
        for (axis, bin) in &self.bins {
            if let Some(value) = value(&bin.measure) {
                let at = (value / bin.unit).round();
                place.insert(axis.clone(), Value::Number(at));
            }
        }
        let values = wanted
            .iter()
            .filter_map(|name| Some((name.clone(), value(name)?)));
        Some(Row {
            place,
            seed,
            mark: value(measure::MARK).map(f64::to_bits),
            values: values.collect(),
        })
    }
}

impl Axis {
    /// Its values.
    pub(super) fn values(&self, effort: Effort) -> &[Value] {
        match (self, effort) {
            (Axis::Both(values), _)
            | (Axis::Each { quick: values, .. }, Effort::Quick)
            | (Axis::Each { full: values, .. }, Effort::Full) => values,
        }
    }
}

/// What a run gave.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    place: Place,
    seed: u64,
    /// What the run is known by, whatever its name.
    mark: Option<u64>,
    values: Vec<(String, f64)>,
}

/// Rows of one study, gathered in cells. Cells are in the order of their
/// first rows, values in that of their seeds.
pub(super) fn cells(rows: Vec<Row>) -> Cells {
    let mut order: Vec<Place> = Vec::new();
    let mut all: BTreeMap<usize, BTreeMap<String, Vec<Run>>> = BTreeMap::new();
    for row in rows {
        let at = match order.iter().rposition(|p| *p == row.place) {
            Some(at) => at,
            None => {
                order.push(row.place);
                order.len() - 1
            }
        };
        let cell = all.entry(at).or_default();
        for (name, value) in row.values {
            let run = Run {
                mark: row.mark,
                ..Run::new(row.seed, value)
            };
            cell.entry(name).or_default().push(run);
        }
    }
    Cells(
        order
            .into_iter()
            .enumerate()
            .map(|(at, place)| Cell {
                place,
                samples: all
                    .remove(&at)
                    .unwrap_or_default()
                    .into_iter()
                    .map(|(name, mut runs)| {
                        runs.sort_by_key(|run| run.seed);
                        let kind = measure::kind(&name);
                        (name, Sample::of_cell(runs, kind))
                    })
                    .collect(),
            })
            .collect(),
    )
}
