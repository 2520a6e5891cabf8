//! What is run: cells, their seeds, and when a cell has had enough.

use super::row::Row;
use crate::metrics::{Kind, Metric, Metrics};
use crate::scenario::{Change, Scenario};
use crate::stats::Sample;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The form of rows, journals and results; changes when they would no longer
/// be understood, or no longer mean the same.
pub(crate) const FORMAT: &str = "byway.sweep/1";

/// Scenarios, how often each is run, and what is measured.
#[derive(Clone, Debug)]
pub struct Plan {
    /// A short name.
    pub name: String,
    /// What it is about.
    pub description: String,
    /// What varies, the slowest first.
    pub axes: Vec<Axis>,
    /// The cells, in the order of the axes.
    pub cells: Vec<Cell>,
    /// The seeds of each cell, in the order in which they are run: all cells
    /// have the same, so that they meet the same chances.
    pub seeds: Vec<u64>,
    /// When a cell has had enough runs before its seeds are used up.
    pub stop: Option<StopRule>,
    /// What is measured of each run.
    pub metrics: Vec<Metric>,
    /// What people want to see: places in [`Plan::metrics`].
    pub shown: Vec<usize>,
    /// An axis that is a threshold, if there is one.
    pub threshold: Option<Threshold>,
    /// Which plans may share a chain of runs: those whose cells are the same if
    /// their axes are. See [`Threshold`].
    pub family: String,
}

/// Something that varies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// Its values as they are shown, in the order of the file.
    pub values: Vec<String>,
}

/// One point of the grid.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Its value on each axis.
    pub values: Vec<String>,
    /// What is run: one policy; its seed is replaced by each of the plan's.
    pub scenario: Scenario,
    /// Places of its seeds in [`Plan::seeds`]; none for all of them.
    pub seeds: Option<Vec<usize>>,
}

impl Cell {
    /// A cell that is run with all seeds of its plan.
    #[must_use]
    pub fn new(values: Vec<String>, scenario: Scenario) -> Cell {
        Cell {
            values,
            scenario,
            seeds: None,
        }
    }
}

/// The most paths, and the most scripted failures, of a cell.
fn most(cells: &[Cell]) -> (usize, usize) {
    let down = |c: &Cell| {
        let events = c.scenario.events.iter();
        events.filter(|e| e.change == Change::Down).count()
    };
    let paths = cells.iter().map(|c| c.scenario.paths.len()).max();
    (
        paths.unwrap_or(0),
        cells.iter().map(down).max().unwrap_or(0),
    )
}

/// An axis that is a threshold, such as Path.Max.Retrans: a run that never
/// reaches it is the same run for each higher value, and is not done again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Threshold {
    /// The place of the axis; its values are numbers.
    pub axis: usize,
    /// The metric that is 0 if and only if a run never reached it: a place in
    /// [`Plan::metrics`].
    pub reached: usize,
}

/// A cell has had enough runs when the interval of each of these metrics is
/// narrow enough.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StopRule {
    /// Places in [`Plan::metrics`].
    pub metrics: Vec<usize>,
    /// Greatest half-width of the interval, as a share of the mean.
    pub within: f64,
    /// Confidence of the interval.
    pub confidence: f64,
    /// Fewest runs.
    pub least: usize,
    /// Runs between two checks of the interval. A check waits for all of them, so that
    /// it does not depend on which thread is faster.
    pub step: usize,
}

impl Plan {
    /// A plan of these cells, which give values for these axes. A scenario's
    /// first policy is the one that is run.
    #[must_use]
    pub fn of(
        name: &str,
        axes: &[&str],
        cells: Vec<Cell>,
        seeds: Vec<u64>,
        metrics: &Metrics,
    ) -> Plan {
        let axes = axes
            .iter()
            .enumerate()
            .map(|(i, axis)| {
                let mut values: Vec<String> = Vec::new();
                for value in cells.iter().filter_map(|c| c.values.get(i)) {
                    if !values.contains(value) {
                        values.push(value.clone());
                    }
                }
                Axis {
                    name: (*axis).to_owned(),
                    values,
                }
            })
            .collect();
        let (paths, failures) = most(&cells);
        let mut plan = Plan {
            name: name.to_owned(),
            description: String::new(),
            axes,
            cells,
            seeds,
            stop: None,
            metrics: metrics.columns(paths, failures),
            shown: Vec::new(),
            threshold: None,
            family: String::new(),
        };
        plan.shown = ["transfer_s", "stall_s"]
            .iter()
            .filter_map(|name| plan.metric(name))
            .collect();
        plan
    }

    /// Why no run of it can have `metric`: its name has a path or a scripted failure that
    /// no cell has.
    #[must_use]
    pub fn cannot_have(&self, metric: &Metric) -> Option<String> {
        let (paths, failures) = most(&self.cells);
        metric.beyond(paths, failures)
    }

    /// The place of a metric.
    #[must_use]
    pub fn metric(&self, name: &str) -> Option<usize> {
        self.metrics.iter().position(|m| m.name() == name)
    }

    /// Runs at most.
    #[must_use]
    pub fn runs(&self) -> usize {
        let all = self.seeds.len();
        let of = |cell: &Cell| cell.seeds.as_ref().map_or(all, Vec::len);
        self.cells.iter().map(of).sum()
    }

    /// A digest of everything that the rows depend on but the program: cells,
    /// seeds and the rule to stop.
    #[must_use]
    pub fn hash(&self) -> String {
        let mut all = Sha256::new();
        let mut add = |text: &str| {
            all.update((text.len() as u64).to_le_bytes());
            all.update(text);
        };
        add(FORMAT);
        for metric in &self.metrics {
            add(metric.name());
        }
        for axis in &self.axes {
            add(&axis.name);
        }
        for cell in &self.cells {
            cell.values.iter().for_each(|v| add(v));
            add(&cell.scenario.to_toml_without_seed());
        }
        add(&format!("{:?}", self.seeds));
        add(&format!("{:?}", self.stop));
        let bytes = all.finalize();
        bytes.iter().map(|b| format!("{b:02x}")).collect()
    }

    /// Whether the metric at this place is whole.
    #[must_use]
    pub fn is_count(&self, metric: usize) -> bool {
        self.metrics
            .get(metric)
            .is_some_and(|m| m.kind() == Kind::Count)
    }
}

impl StopRule {
    /// Whether these runs, in the order of their seeds, are enough.
    #[must_use]
    pub fn enough(&self, rows: &[Row]) -> bool {
        self.metrics.iter().all(|metric| {
            let values: Vec<f64> = rows.iter().filter_map(|r| r.value(*metric)).collect();
            let sample = Sample::of(&values);
            values.len() >= self.least
                && sample
                    .half_width(self.confidence)
                    .is_some_and(|half| half <= self.within * sample.mean.abs())
        })
    }
}
