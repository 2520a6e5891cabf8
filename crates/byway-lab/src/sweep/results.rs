//! What a sweep yields: its cells with all their rows.

use crate::engine::{Axis, FORMAT, Plan, Record, Row, StopRule};
use crate::metrics::{Metric, MetricInfo, Metrics};
use crate::result::RunResult;
use crate::scenario::Scenario;
use serde::{Deserialize, Serialize};

/// The rows of a sweep and what they are rows of; what a results file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// The description of the sweep.
    pub about: About,
    /// The cells, in the order of the plan.
    pub cells: Vec<ResultCell>,
    /// The runs, by cell and in the order of the seeds.
    pub rows: Vec<Row>,
}

/// The description of a sweep in its results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// The form of the results; see `docs/sweep-format.md`.
    pub format: String,
    /// The version of byway that ran it.
    pub program: String,
    /// The sweep's name.
    pub name: String,
    /// What it is about.
    pub description: String,
    /// A digest of cells, seeds and the rule to stop.
    pub plan: String,
    /// The seeds that each cell may have.
    pub seeds: Vec<u64>,
    /// What varies.
    pub axes: Vec<Axis>,
    /// What was measured.
    pub metrics: Vec<MetricInfo>,
    /// What people want to see: places in `metrics`.
    pub shown: Vec<usize>,
    /// When a cell had enough runs.
    pub stop: Option<StopRule>,
}

/// A cell of the results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultCell {
    /// Its value on each axis.
    pub values: Vec<String>,
    /// What was run, as a scenario file without the line of its seed.
    pub scenario: String,
}

impl Results {
    /// The results of a plan.
    #[must_use]
    pub fn new(plan: &Plan, rows: Vec<Row>) -> Results {
        Results {
            about: About {
                format: FORMAT.to_owned(),
                program: concat!("byway ", env!("CARGO_PKG_VERSION")).to_owned(),
                name: plan.name.clone(),
                description: plan.description.clone(),
                plan: plan.hash(),
                seeds: plan.seeds.clone(),
                axes: plan.axes.clone(),
                metrics: plan.metrics.iter().map(Metric::info).collect(),
                shown: plan.shown.clone(),
                stop: plan.stop.clone(),
            },
            cells: plan
                .cells
                .iter()
                .map(|c| ResultCell {
                    values: c.values.clone(),
                    scenario: c.scenario.to_toml_without_seed(),
                })
                .collect(),
            rows,
        }
    }

    /// The place of a metric.
    ///
    /// # Errors
    /// That there is none of this name, and which there are.
    pub fn metric(&self, name: &str) -> Result<usize, String> {
        let names = || self.about.metrics.iter().map(|m| m.name.as_str());
        names().position(|n| n == name).ok_or_else(|| {
            let hint = match crate::source::nearest(name, names()) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("there are {}", crate::source::listed(names())),
            };
            format!("\"{name}\" is not a metric of these results; {hint}")
        })
    }

    /// The rows of a cell, in the order of the seeds.
    pub fn rows_of(&self, cell: usize) -> &[Row] {
        // They are in the order of their cells.
        let begin = self.rows.partition_point(|r| r.cell < cell);
        let end = self.rows.partition_point(|r| r.cell <= cell);
        &self.rows[begin..end]
    }

    /// Metrics of the row at place `row` that a run of its scenario gave other
    /// values for, each in words; none when it is as it should be. A metric
    /// that is not among `known` is not compared.
    #[must_use]
    pub fn differences(&self, row: usize, again: &RunResult, known: &Metrics) -> Vec<String> {
        let Some(row) = self.rows.get(row) else {
            return vec!["there is no such row".to_owned()];
        };
        let mut found = Vec::new();
        let status = Record::of(again, &[]).status;
        if status != row.status {
            found.push(format!(
                "status {} and now {}",
                row.status.name(),
                status.name()
            ));
        }
        for (metric, then) in self.about.metrics.iter().zip(&row.values) {
            let Some(known) = known.find(&metric.name) else {
                continue;
            };
            let now = known.value(again).unwrap_or(f64::NAN);
            if now.to_bits() != then.to_bits() && !(now.is_nan() && then.is_nan()) {
                found.push(format!("{} {then} and now {now}", metric.name));
            }
        }
        found
    }

    /// The scenario of the row at place `row`, with its seed: running it gives
    /// the numbers of the row.
    ///
    /// # Errors
    /// When there is no such row, or this byway no longer reads its scenario.
    pub fn scenario_of(&self, row: usize) -> Result<Scenario, String> {
        let found = self.rows.get(row).ok_or_else(|| {
            format!(
                "there is no row {}; rows are counted from 1 to {}",
                row + 1,
                self.rows.len()
            )
        })?;
        let text = &self.cells[found.cell].scenario;
        let name = format!("scenario of row {}", row + 1);
        let mut scenario = Scenario::parse(&name, text).map_err(|e| e.to_string())?;
        scenario.seed = found.seed;
        Ok(scenario)
    }
}
