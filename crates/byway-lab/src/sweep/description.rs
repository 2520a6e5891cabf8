//! A sweep as bytes that another machine can read: the texts of its files.

use super::read::{self, Load, parse};
use crate::engine::Plan;
use crate::metrics::Metrics;
use crate::source::Problems;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::path::Path;

/// The form of descriptions.
const FORMAT: &str = "byway.sweep-description/1";

/// What a worker needs to know of a sweep: the text of its file and of the scenario
/// that it names, so that the worker needs no file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    format: String,
    /// The program that made it.
    build: String,
    /// The hash of the plan.
    plan: String,
    /// Name and text of the sweep file.
    sweep: (String, String),
    /// Name and text of the scenario file that it names.
    scenario: Option<(String, String)>,
}

impl Description {
    /// Reads a sweep file and the scenario that it names, for the program `build`.
    ///
    /// # Errors
    /// Everything that is wrong with them, each with file and line.
    pub fn read(
        file: &Path,
        build: &str,
        known: &Metrics,
    ) -> Result<(Plan, Description), Problems> {
        let (name, text) = read::text(file)?;
        Description::of(&name, &text, build, &|path| read::beside(file, path), known)
    }

    /// Reads a sweep from `text`, which is that of a file `name`; `load` gives the
    /// scenario that it names. See [`parse`].
    ///
    /// # Errors
    /// Everything that is wrong, each with file and line.
    pub fn of(
        name: &str,
        text: &str,
        build: &str,
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
            build: build.to_owned(),
            plan: plan.hash(),
            sweep: (name.to_owned(), text.to_owned()),
            scenario: loaded.into_inner(),
        };
        Ok((plan, description))
    }

    /// It as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        // Texts alone can always be written.
        serde_json::to_vec(self).unwrap_or_default()
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
    /// In words: when another program made the description, or the texts give
    /// another plan here.
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
