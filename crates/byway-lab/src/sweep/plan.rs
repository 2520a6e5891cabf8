//! What a sweep runs: its grid, its seeds, and when a cell has had enough.

use super::metrics::{self, Kind, Metric};
use super::read;
use super::row::{Row, Status};
use crate::scenario::{Change, Scenario};
use crate::source::Problems;
use crate::stats::Sample;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::Path;

/// The form of rows, journals and results; changes when they would no longer
/// be understood, or no longer mean the same.
pub(super) const FORMAT: &str = "byway.sweep/1";

/// Gives name and text of the scenario file that a sweep names, or says why it
/// cannot.
pub type Load<'a> = dyn Fn(&str) -> Result<(String, String), String> + 'a;

/// A grid of scenarios and how often each is run.
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
    /// Most paths of a cell.
    paths: usize,
    /// Most scripted failures of a cell.
    failures: usize,
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
    /// Runs between two looks. A look waits for all of them, so that it does
    /// not depend on which thread is faster.
    pub step: usize,
}

impl Plan {
    /// Reads a sweep file and the scenario that it names.
    ///
    /// # Errors
    /// Everything that is wrong with them, each with file and line.
    pub fn read(file: &Path) -> Result<Plan, Problems> {
        read::file(file)
    }

    /// Reads a sweep from `text`, which stands in a file `name`; `load` gives
    /// the text of the scenario that it names, or says why it cannot.
    ///
    /// # Errors
    /// Everything that is wrong, each with file and line.
    pub fn parse(name: &str, text: &str, load: &Load<'_>) -> Result<Plan, Problems> {
        read::plan(name, text, load)
    }

    /// A plan of these cells, which give values for these axes. A scenario's
    /// first policy is the one that is run.
    #[must_use]
    pub fn of(name: &str, axes: &[&str], cells: Vec<Cell>, seeds: Vec<u64>) -> Plan {
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
        let paths = cells.iter().map(|c| c.scenario.paths.len()).max();
        let down = |c: &Cell| {
            let events = c.scenario.events.iter();
            events.filter(|e| e.change == Change::Down).count()
        };
        let failures = cells.iter().map(down).max();
        let (paths, failures) = (paths.unwrap_or(0), failures.unwrap_or(0));
        let mut plan = Plan {
            name: name.to_owned(),
            description: String::new(),
            axes,
            cells,
            seeds,
            stop: None,
            metrics: metrics::metrics(paths, failures),
            shown: Vec::new(),
            paths,
            failures,
        };
        plan.shown = ["transfer_s", "stall_s"]
            .iter()
            .filter_map(|name| plan.metric(name))
            .collect();
        plan
    }

    /// The place of a metric.
    #[must_use]
    pub fn metric(&self, name: &str) -> Option<usize> {
        self.metrics.iter().position(|m| m.name == name)
    }

    /// Runs at most.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.cells.len() * self.seeds.len()
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
            add(&metric.name);
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

    /// The row of a result.
    pub(super) fn row(&self, cell: usize, run: usize, result: &crate::result::RunResult) -> Row {
        let (status, reason) = metrics::status(&result.outcome);
        Row {
            cell,
            run,
            seed: self.seeds[run],
            status,
            reason,
            values: metrics::values(result, self.paths, self.failures),
        }
    }

    /// The row of a run that was refused.
    pub(super) fn refused(&self, cell: usize, run: usize, reason: String) -> Row {
        Row {
            cell,
            run,
            seed: self.seeds[run],
            status: Status::Refused,
            reason,
            values: vec![f64::NAN; self.metrics.len()],
        }
    }

    /// Whether the metric at this place is whole.
    #[must_use]
    pub fn is_count(&self, metric: usize) -> bool {
        self.metrics
            .get(metric)
            .is_some_and(|m| m.kind == Kind::Count)
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
