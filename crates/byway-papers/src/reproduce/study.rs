//! The runs behind claims and figures: a scenario, axes, and seeds.

use super::axis::scenario_at;
use super::cells::{Cell, Cells, Condition, Place, Value};
use super::kept::Figures;
use super::measure;
use super::sample::Sample;
use byway_lab::result::RunResult;
use byway_lab::run::{RunOptions, one};
use byway_lab::scenario::Scenario;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// How much is run.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Two minutes on two processors.
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

/// One run that is to be done.
#[derive(Clone, Debug)]
pub(super) struct Job {
    /// Its number in the study.
    number: usize,
    place: Place,
    /// The place with what the seed alone decides.
    whole: Place,
    seed: u64,
}

impl StudySpec {
    /// What is run and how often, for captions.
    pub(super) fn words(&self, effort: Effort) -> String {
        let seeds = match effort {
            Effort::Quick => self.seeds.quick,
            Effort::Full => self.seeds.full,
        };
        let mut what = self.what.clone();
        for (name, axis) in &self.axes {
            if let [value] = axis.values(effort) {
                what = what.replace(&format!("{{{name}}}"), &value.to_string());
            }
        }
        let runs = if seeds == 1 { "run" } else { "runs" };
        format!("{what} {seeds} {runs} of each cell.")
    }

    /// All runs of the study.
    pub(super) fn jobs(&self, effort: Effort) -> Vec<Job> {
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
        let seeds = match effort {
            Effort::Quick => self.seeds.quick,
            Effort::Full => self.seeds.full,
        };
        let mut jobs = Vec::new();
        for place in places {
            for seed in 1..=u64::from(seeds) {
                let mut whole = place.clone();
                if let Some(rotate) = &self.rotate
                    && let Some(value) = rotate
                        .values
                        .get(seed as usize % rotate.values.len().max(1))
                {
                    whole.insert(rotate.axis.clone(), value.clone());
                }
                jobs.push(Job {
                    number: jobs.len(),
                    place: place.clone(),
                    whole,
                    seed,
                });
            }
        }
        jobs
    }

    /// What the study asks of a run besides what claims and figures want.
    pub(super) fn own_measures(&self) -> impl Iterator<Item = &str> {
        let bins = self.bins.values().map(|bin| bin.measure.as_str());
        let keep = self.keep.as_deref().and_then(Condition::read);
        let threshold = self.threshold.as_ref().map(|t| t.reached.as_str());
        bins.chain(keep.map(|c| c.measure)).chain(threshold)
    }

    /// The row that a run's figures give for a job: the measures that are
    /// wanted; none if the run is to be left out.
    pub(super) fn row(
        &self,
        figures: &Figures,
        job: &Job,
        wanted: &BTreeSet<String>,
    ) -> Option<Row> {
        let figure = |name: &str| figures.get(name).copied().flatten();
        let kept = self.keep.as_ref().is_none_or(|condition| {
            Condition::read(condition)
                .is_some_and(|c| figure(c.measure).is_some_and(|value| c.holds(value)))
        });
        if !kept {
            return None;
        }
        let mut place = job.place.clone();
        for (axis, bin) in &self.bins {
            if let Some(value) = figure(&bin.measure) {
                let at = (value / bin.unit).round();
                place.insert(axis.clone(), Value::Number(at));
            }
        }
        let values = wanted
            .iter()
            .filter_map(|name| Some((name.clone(), figure(name)?)))
            .collect();
        Some(Row {
            place,
            seed: job.seed,
            values,
        })
    }
}

impl Job {
    /// Its number in the study, from 0.
    pub(super) fn place_in_study(&self) -> usize {
        self.number
    }

    /// Where it is run: the axes of its cell and what the seed decides.
    pub(super) fn whole(&self) -> &Place {
        &self.whole
    }

    pub(super) fn seed(&self) -> u64 {
        self.seed
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
    values: Vec<(String, f64)>,
}

/// Rows of one study, gathered in cells. Cells stand in the order of their
/// first rows, values in that of their seeds.
pub(super) fn cells(rows: Vec<Row>) -> Cells {
    let mut order: Vec<Place> = Vec::new();
    let mut all: BTreeMap<usize, BTreeMap<String, Vec<(u64, f64)>>> = BTreeMap::new();
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
            cell.entry(name).or_default().push((row.seed, value));
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
                    .map(|(name, mut values)| {
                        values.sort_by_key(|(seed, _)| *seed);
                        let kind = measure::kind(&name);
                        (name, Sample::of(values, kind))
                    })
                    .collect(),
            })
            .collect(),
    )
}

/// Runs the one policy of a place.
///
/// # Errors
/// When an axis or a value is not known, or the run cannot be done.
pub(super) fn run_one(
    base: &Scenario,
    place: &Place,
    seed: u64,
    figures_only: bool,
) -> Result<RunResult, String> {
    let mut scenario = scenario_at(base, place)?;
    scenario.seed = seed;
    let options = RunOptions {
        figures_only,
        ..RunOptions::default()
    };
    one(&scenario, 0, options).map_err(|e| e.to_string())
}

/// Single runs of a study, with all that happened in them.
pub struct Runs<'a> {
    pub(super) base: &'a Scenario,
    pub(super) study: &'a StudySpec,
    pub(super) effort: Effort,
}

impl Runs<'_> {
    /// The run at a place with a seed; axes that the place does not name take
    /// their first value.
    ///
    /// # Errors
    /// When it cannot be run.
    pub fn at(&self, place: &Place, seed: u64) -> Result<RunResult, String> {
        let mut whole = Place::new();
        for (name, axis) in &self.study.axes {
            if let Some(first) = axis.values(self.effort).first() {
                whole.insert(name.clone(), first.clone());
            }
        }
        whole.extend(place.clone());
        run_one(self.base, &whole, seed, false)
    }
}
