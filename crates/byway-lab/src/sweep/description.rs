//! A sweep as bytes that another machine can read: the texts of its files.

use super::read::{Load, parse};
use crate::engine::Plan;
use crate::metrics::Metrics;
use crate::source::Problems;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;

/// The form of descriptions.
const FORMAT: &str = "byway.sweep-description/1";

/// What a worker needs to know of a sweep: the text of its file and of the scenario
/// that it names, so that the worker needs no file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    format: String,
    /// The program whose workers are asked.
    build: String,
    /// The hash of the plan.
    plan: String,
    /// Name and text of the sweep file.
    sweep: (String, String),
    /// Name and text of the scenario file that it names.
    scenario: Option<(String, String)>,
}

impl Description {
    /// Reads a sweep from `text`, which is that of a file `name`; `load` gives the
    /// scenario that it names. See [`parse`].
    ///
    /// # Errors
    /// Everything that is wrong, each with file and line.
    pub fn of(
        name: &str,
        text: &str,
        load: &Load<'_>,
        known: &Metrics,
    ) -> Result<(Plan, Description), Problems> {
        let loaded = RefCell::new(None);
        let keep = |path: &str| {
            let found = load(path)?;
            *loaded.borrow_mut() = Some(found.clone());
            Ok(found)
        };
        let plan = parse(name, text, &keep, known)?;
        let description = Description {
            format: FORMAT.to_owned(),
            build: String::new(),
            plan: plan.hash(),
            sweep: (name.to_owned(), text.to_owned()),
            scenario: loaded.into_inner(),
        };
        Ok((plan, description))
    }

    /// It as bytes, for workers that have the program `build`.
    #[must_use]
    pub fn to_bytes(&self, build: &str) -> Vec<u8> {
        let whole = Description {
            build: build.to_owned(),
            ..self.clone()
        };
        // Texts alone can always be written.
        serde_json::to_vec(&whole).unwrap_or_default()
    }

    /// It from bytes.
    ///
    /// # Errors
    /// In words, when these bytes are none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Description, String> {
        let found: Description = serde_json::from_slice(bytes)
            .map_err(|e| format!("these bytes are no description of a sweep: {e}"))?;
        match found.format.as_str() {
            FORMAT => Ok(found),
            other => Err(format!(
                "the description of the sweep has the form {other}, this byway knows {FORMAT}; \
                 install the same byway on all machines"
            )),
        }
    }

    /// The hash of the plan.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.plan
    }

    /// The plan, made again from the texts by the program `build`.
    ///
    /// # Errors
    /// In words: when the description is for another program, or the texts give another
    /// plan here.
    pub fn plan(&self, build: &str, known: &Metrics) -> Result<Plan, String> {
        if self.build != build {
            return Err(format!(
                "this worker has {build}, the sweep was begun by {}; install the same byway on all machines",
                self.build
            ));
        }
        let load = |path: &str| {
            let found = self.scenario.clone();
            found.ok_or_else(|| format!("the description has no scenario {path}"))
        };
        let (name, text) = &self.sweep;
        let plan = parse(name, text, &load, known).map_err(|problems| problems.to_string())?;
        match plan.hash() {
            hash if hash == self.plan => Ok(plan),
            other => Err(format!(
                "the sweep {name} is the plan {other} here, and {} where it was begun; \
                 install the same byway on all machines",
                self.plan
            )),
        }
    }
}
