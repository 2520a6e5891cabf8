//! What a paper's sender and network were set to, and where each value comes from.

use super::check::Changed;
use serde::{Deserialize, Serialize};

/// The sender that a paper ran, as its time had it.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The release of the module, or the implementation.
    pub release: String,
    /// The year of the runs.
    pub date: String,
    /// How that is known.
    pub why: String,
    /// The preset on which the scenarios are built.
    pub preset: String,
    /// Scenarios that are built on another one.
    #[serde(default)]
    pub presets: std::collections::BTreeMap<String, String>,
    /// The digest of all settings of all scenarios: what was frozen before the runs.
    pub digest: String,
    /// Settings, or groups of them, that the paper varies: its arms.
    pub arms: Vec<String>,
    /// Policies that are not the paper's sender: controls, and other senders beside it.
    #[serde(default)]
    pub others: Vec<String>,
}

/// A parameter of a paper's runs.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its value, as a reader writes it.
    pub value: String,
    /// Where the value comes from.
    pub source: Source,
    /// The words, the file or the reason.
    pub from: String,
    /// The releases that had another value, or since when they have this one, with their days. Each
    /// value of the change log and each default of ns-2 has it.
    #[serde(default)]
    pub dated: Option<String>,
    /// What it was before, if it was changed after results had been seen.
    #[serde(default)]
    pub changed: Option<Changed>,
    /// The settings of the protocol that it is, each with its value: the scenarios are held against
    /// them.
    #[serde(default)]
    pub settings: std::collections::BTreeMap<String, toml::Value>,
    /// The policies whose settings these are; all without them.
    #[serde(default)]
    pub policies: Vec<String>,
    /// The scenarios whose settings these are; all of the paper's without them.
    #[serde(default)]
    pub scenarios: Vec<String>,
    /// The parameter of `--sensitivity` that it is, if it is one.
    #[serde(default)]
    pub varied: Option<String>,
}

/// Where a value comes from.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The paper prints it.
    Printed,
    /// The simulator module's list of changes.
    #[serde(rename = "change log")]
    ChangeLog,
    /// ns-2's default, or that of its module.
    #[serde(rename = "ns-2 default")]
    Ns2Default,
    /// The standard that the paper cites.
    Standard,
    /// It follows from something else that the paper prints.
    Inferred,
    /// It was chosen with results in view.
    Fitted,
}

impl Source {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Source::Printed => "printed",
            Source::ChangeLog => "change log",
            Source::Ns2Default => "ns-2 default",
            Source::Standard => "standard",
            Source::Inferred => "inferred",
            Source::Fitted => "fitted",
        }
    }
}

impl Parameter {
    /// Where its value comes from, and since when or until when it was so.
    #[must_use]
    pub fn origin(&self) -> String {
        match &self.dated {
            Some(dated) => format!("{}: {dated}", self.source.words()),
            None => self.source.words().to_owned(),
        }
    }

    /// The words, the file or the reason behind it, and what it was before.
    #[must_use]
    pub fn reason(&self) -> String {
        match &self.changed {
            Some(c) => format!(
                "{}. Changed on {}: {} Before: {}",
                self.from.trim_end_matches('.'),
                c.on,
                c.why,
                c.was
            ),
            None => self.from.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
