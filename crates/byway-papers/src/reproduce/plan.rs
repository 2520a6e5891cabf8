//! The plans of studies, for the laboratory's engine, and the rows that come
//! back.

use super::ablation::Ablation;
use super::cells::{self, Place, Value};
use super::single::scenario_at;
use super::study::{Effort, Row, StudySpec};
use byway_lab::axis::Base;
use byway_lab::engine::{self, Cell, Plan, Threshold};
use byway_lab::metrics::{Metric, Metrics};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// A study with its scenario and what is wanted of its runs.
pub(super) struct Wanted<'a> {
    /// The paper.
    pub(super) paper: &'a str,
    pub(super) study: &'a StudySpec,
    /// Whose cells.
    pub(super) effort: Effort,
    pub(super) base: Base,
    /// Whether other settings take the place of the papers'.
    pub(super) ablation: Option<Ablation>,
    /// Only the cells at these values of these axes.
    pub(super) at: &'a Place,
    /// The seeds of each cell.
    pub(super) seeds: RangeInclusive<u64>,
    /// Metrics that claims and figures ask for.
    pub(super) measures: BTreeSet<String>,
}

/// What the engine does for a study.
pub(super) struct StudyPlan {
    pub(super) plan: Plan,
    /// For each cell of the plan, the place of its cell in the study. Several
    /// share one if the study rotates an axis.
    places: Vec<Place>,
}

impl Wanted<'_> {
    /// The plan of the study.
    ///
    /// # Errors
    /// When an axis, a value or a metric is not known.
    pub(super) fn plan(&self, known: &Metrics) -> Result<StudyPlan, String> {
        let study = self.study;
        let name = format!("{}, {}", self.paper, study.id);
        let failed = |why: String| format!("{name}: {why}");
        let seeds: Vec<u64> = self.seeds.clone().collect();
        let rotated = study.rotate.as_ref().map(|rotate| rotate.axis.clone());
        let axes: Vec<String> = study.axes.keys().cloned().chain(rotated).collect();
        let (mut planned, mut places) = (Vec::new(), Vec::new());
        let meant = |place: &Place| cells::is_at(place, self.at);
        for place in study.places(self.effort).into_iter().filter(meant) {
            for (whole, own) in self.rotated(&place, &seeds) {
                let mut scenario = scenario_at(&self.base, &whole).map_err(failed)?;
                if let Some(ablation) = self.ablation {
                    ablation.apply(&mut scenario, study.axes.keys().map(String::as_str));
                }
                let values = axes.iter().map(|axis| whole.get(axis));
                let values = values.map(|v| v.map_or(String::new(), Value::to_string));
                planned.push(Cell {
                    seeds: own,
                    ..Cell::new(values.collect(), scenario)
                });
                places.push(place.clone());
            }
        }
        let names: Vec<&str> = axes.iter().map(String::as_str).collect();
        let mut plan = Plan::of(&name, &names, planned, seeds, known);
        plan.metrics = self.metrics(known).map_err(failed)?;
        plan.shown.clear();
        plan.family = format!("{}/{}", self.paper, study.scenario);
        if let Some(ablation) = self.ablation {
            plan.family.push_str(&format!(" by {}", ablation.name()));
        }
        plan.threshold = study.threshold.as_ref().and_then(|threshold| {
            Some(Threshold {
                axis: axes.iter().position(|axis| *axis == threshold.axis)?,
                reached: plan.metric(&threshold.reached)?,
            })
        });
        Ok(StudyPlan { plan, places })
    }

    /// A place of the study with the values that its seeds take in turn, and
    /// the places of the seeds that take each.
    fn rotated(&self, place: &Place, seeds: &[u64]) -> Vec<(Place, Option<Vec<usize>>)> {
        let Some(rotate) = &self.study.rotate else {
            return vec![(place.clone(), None)];
        };
        let count = rotate.values.len().max(1) as u64;
        let of = |(turn, value): (usize, &Value)| {
            let mut whole = place.clone();
            whole.insert(rotate.axis.clone(), value.clone());
            let own = seeds.iter().enumerate();
            let own = own.filter(|(_, seed)| *seed % count == turn as u64);
            (whole, Some(own.map(|(place, _)| place).collect()))
        };
        rotate.values.iter().enumerate().map(of).collect()
    }

    /// What is measured of the runs.
    fn metrics(&self, known: &Metrics) -> Result<Vec<Metric>, String> {
        let mut names: BTreeSet<&str> = self.study.own_measures().collect();
        names.extend(self.measures.iter().map(String::as_str));
        let find = |name: &str| {
            let found = known.find(name);
            found.ok_or_else(|| format!("\"{name}\" is not a metric; {}", known.hint(name)))
        };
        names.into_iter().map(find).collect()
    }

    /// The study's rows, in the order of its places and seeds.
    pub(super) fn rows(&self, planned: &StudyPlan, rows: &[engine::Row]) -> Vec<Row> {
        let plan = &planned.plan;
        let mut order: Vec<&Place> = Vec::new();
        let mut numbers: Vec<usize> = Vec::new();
        for place in &planned.places {
            // Cells of one place follow each other.
            if order.last() != Some(&place) {
                order.push(place);
            }
            numbers.push(order.len() - 1);
        }
        let mut sorted: Vec<&engine::Row> = rows.iter().collect();
        sorted.sort_by_key(|row| (numbers[row.cell], row.run));
        let row = |row: &engine::Row| {
            let value = |name: &str| row.value(plan.metric(name)?);
            let place = &planned.places[row.cell];
            self.study.row(place, row.seed, &self.measures, value)
        };
        sorted.into_iter().filter_map(row).collect()
    }
}

impl StudyPlan {
    /// A run in words.
    pub(super) fn run_words(&self, cell: usize, seed: u64) -> String {
        let names = self.plan.axes.iter().map(|axis| axis.name.as_str());
        let axes = names.zip(&self.plan.cells[cell].values);
        let axes: Vec<String> = axes
            .map(|(axis, value)| format!("{axis} {value}"))
            .collect();
        format!("{} at {}, seed {seed}", self.plan.family, axes.join(", "))
    }
}

#[cfg(test)]
mod tests;
