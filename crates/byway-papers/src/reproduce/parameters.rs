//! What a paper's sender and network were set to, and where each value comes from.

use serde::{Deserialize, Serialize};

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

#[cfg(test)]
mod tests {
    use crate::reproduce::papers;

    /// What the tables of parameters say of the protocol is what the scenarios have.
    #[test]
    fn the_scenarios_have_the_parameters() {
        for files in papers::built_in() {
            let paper = files.paper().unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(paper.parameters.is_empty(), paper.questions, "{}", paper.id);
            for p in &paper.parameters {
                let mut seen = 0;
                let held = |name: &String| p.scenarios.is_empty() || p.scenarios.contains(name);
                for study in paper.studies.iter().filter(|s| held(&s.scenario)) {
                    let base = files.scenario(study).unwrap_or_else(|e| panic!("{e}"));
                    let meant = |name: &String| p.policies.is_empty() || p.policies.contains(name);
                    let policies = base.scenario().policies.iter();
                    for policy in policies.filter(|policy| meant(&policy.name)) {
                        let core = toml::Value::try_from(&policy.config.core);
                        let core = core.unwrap_or_else(|e| panic!("{e}"));
                        for (key, value) in &p.settings {
                            let found = key.split('.').try_fold(&core, |at, part| at.get(part));
                            let place = format!("{}: {key} of {}", paper.id, policy.name);
                            assert_eq!(found, Some(value), "{place} ({})", study.scenario);
                            seen += 1;
                        }
                    }
                }
                assert!(
                    p.settings.is_empty() || seen > 0,
                    "{}: {}",
                    paper.id,
                    p.name
                );
            }
        }
    }
}
