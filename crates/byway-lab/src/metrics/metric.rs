//! One metric, or a family of them.

use super::template;
use crate::result::RunResult;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Whether a metric counts events or measures a quantity.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A whole number: how often something happened.
    Count,
    /// Any number.
    Real,
}

/// What a metric is, without the function that computes it: what a results
/// file keeps of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetricInfo {
    /// Its name, such as `transfer_s`.
    pub name: String,
    /// What it is, with its unit.
    pub about: String,
    /// Whether it is whole.
    pub kind: Kind,
}

/// What the number in a family's name counts, from 1.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Counts {
    /// The paths of a scenario.
    Paths,
    /// The scripted failures of a scenario.
    Failures,
}

type Compute = dyn Fn(&RunResult, &[f64]) -> Option<f64> + Send + Sync;

/// Something measured of each run.
#[derive(Clone)]
pub struct Metric {
    name: String,
    unit: String,
    about: String,
    kind: Kind,
    /// Whether each results file has it, even if it is not requested.
    pub(super) always: bool,
    /// The numbers that replace `#` in a family's name.
    numbers: Vec<f64>,
    /// What the first of them counts, if it counts something of the scenario.
    counts: Option<Counts>,
    compute: Arc<Compute>,
}

impl Metric {
    /// A metric named `name`, in `unit`, whose value `of` takes from a run;
    /// none when the run does not have it, such as the transfer time of a run
    /// that never ended. Every results file has it.
    #[must_use]
    pub fn new(
        name: &str,
        unit: &str,
        of: impl Fn(&RunResult) -> Option<f64> + Send + Sync + 'static,
    ) -> Metric {
        let metric = Metric::family(name, unit, move |run, _| of(run));
        Metric {
            always: true,
            ..metric
        }
    }

    /// A family of metrics. Each `#` of its name is a number. `of` gets these
    /// numbers in order. Results files have those that are requested.
    #[must_use]
    pub fn family(
        name: &str,
        unit: &str,
        of: impl Fn(&RunResult, &[f64]) -> Option<f64> + Send + Sync + 'static,
    ) -> Metric {
        Metric {
            name: name.to_owned(),
            unit: unit.to_owned(),
            about: String::new(),
            kind: Kind::Real,
            always: false,
            numbers: Vec::new(),
            counts: None,
            compute: Arc::new(of),
        }
    }

    /// Describes it in a sentence; `#` is replaced by the numbers of its name.
    #[must_use]
    pub fn about(mut self, about: &str) -> Metric {
        about.clone_into(&mut self.about);
        self
    }

    /// It is a count: its values are whole, and few events may come in many
    /// runs.
    #[must_use]
    pub fn count(mut self) -> Metric {
        self.kind = Kind::Count;
        self
    }

    /// Results files have it only if it is requested by name.
    #[must_use]
    pub fn on_request(mut self) -> Metric {
        self.always = false;
        self
    }

    /// The first number of its name counts something of the scenario, from 1.
    #[must_use]
    pub(super) fn counting(mut self, counts: Counts) -> Metric {
        self.counts = Some(counts);
        self
    }

    /// Why runs with at most `paths` paths and `failures` scripted failures cannot have
    /// it: the path or the failure that its name has is not there.
    #[must_use]
    pub fn beyond(&self, paths: usize, failures: usize) -> Option<String> {
        let (what, most) = match self.counts? {
            Counts::Paths => ("path", paths),
            Counts::Failures => ("scripted failure", failures),
        };
        let number = *self.numbers.first()?;
        if (1..=most).any(|k| k as f64 == number) {
            return None;
        }
        let there = match most {
            0 => "no scenario here has one".to_owned(),
            1 => format!("the only {what} here is {what} 1"),
            _ => format!("there are {what}s 1 to {most}"),
        };
        Some(format!("there is no {what} {number}; {there}"))
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its unit: "s", "bytes"; empty for a plain number.
    #[must_use]
    pub fn unit(&self) -> &str {
        &self.unit
    }

    /// Whether it is whole.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its value in a run, if the run has it.
    #[must_use]
    pub fn value(&self, run: &RunResult) -> Option<f64> {
        (self.compute)(run, &self.numbers)
    }

    /// What a results file keeps of it.
    #[must_use]
    pub fn info(&self) -> MetricInfo {
        let unit = match self.unit.as_str() {
            "" => String::new(),
            unit => format!(" ({unit})"),
        };
        MetricInfo {
            name: self.name.clone(),
            about: format!("{}{unit}", self.about),
            kind: self.kind,
        }
    }

    /// The metric of this name, if it is this one or one of its family.
    pub(super) fn named(&self, name: &str) -> Option<Metric> {
        let numbers = template::numbers(&self.name, name)?;
        Some(Metric {
            name: name.to_owned(),
            about: template::fill(&self.about, &numbers),
            numbers,
            ..self.clone()
        })
    }

    /// Whether it is a family.
    pub(super) fn is_family(&self) -> bool {
        self.name.contains('#')
    }
}

impl fmt::Debug for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Metric({}, {:?})", self.name, self.unit)
    }
}
