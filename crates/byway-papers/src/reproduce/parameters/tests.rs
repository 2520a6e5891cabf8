use super::{Parameter, Profile, Source};
use crate::reproduce::claim::Paper;
use crate::reproduce::hex::hex;
use crate::reproduce::papers::{self, Folder};
use byway_dialect_ns2::Settings;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};

/// Settings by name, as `congestion.fast_retransmit_threshold`.
type Flat = BTreeMap<String, toml::Value>;

/// All settings; those that name a structure are one value.
fn flat(settings: &Settings) -> Flat {
    let mut all = Flat::new();
    let groups = toml::Value::try_from(settings).unwrap_or_else(|e| panic!("{e}"));
    for (group, values) in groups.as_table().unwrap() {
        match values.as_table() {
            Some(values) => all.extend(
                values
                    .iter()
                    .map(|(name, value)| (format!("{group}.{name}"), value.clone())),
            ),
            None => {
                all.insert(group.clone(), values.clone());
            }
        }
    }
    all
}

/// The settings of a policy of a scenario of a paper.
struct Sender {
    scenario: String,
    policy: String,
    settings: Flat,
}

fn senders(files: &Folder, paper: &Paper) -> Vec<Sender> {
    let mut all: Vec<Sender> = Vec::new();
    for study in &paper.studies {
        if all.iter().any(|s| s.scenario == study.scenario) {
            continue;
        }
        let base = files.scenario(study).unwrap_or_else(|e| panic!("{e}"));
        let policies = base.scenario().policies.iter();
        all.extend(policies.map(|policy| Sender {
            scenario: study.scenario.clone(),
            policy: policy.name.clone(),
            settings: flat(&policy.config),
        }));
    }
    all
}

fn papers() -> Vec<(Paper, Vec<Sender>)> {
    let all = papers::built_in().into_iter().map(|files| {
        let paper = files.paper().unwrap_or_else(|e| panic!("{e}"));
        let senders = senders(&files, &paper);
        (paper, senders)
    });
    all.collect()
}

impl Parameter {
    fn is_of(&self, sender: &Sender) -> bool {
        let meant = |names: &[String], name| names.is_empty() || names.contains(name);
        meant(&self.scenarios, &sender.scenario) && meant(&self.policies, &sender.policy)
    }
}

impl Profile {
    fn varies(&self, setting: &str) -> bool {
        let is = |arm: &String| {
            setting == arm || setting.starts_with(arm) && setting[arm.len()..].starts_with('.')
        };
        self.arms.iter().any(is)
    }

    fn is_of(&self, sender: &Sender) -> bool {
        !self.others.contains(&sender.policy)
    }
}

/// What the tables of parameters say of the protocol is what the scenarios have.
#[test]
fn the_scenarios_have_the_parameters() {
    for (paper, senders) in papers() {
        assert_eq!(paper.parameters.is_empty(), paper.questions, "{}", paper.id);
        assert_eq!(paper.profile.is_none(), paper.questions, "{}", paper.id);
        let Some(profile) = &paper.profile else {
            continue;
        };
        for p in &paper.parameters {
            let mut seen = 0;
            let meant =
                |s: &&Sender| p.is_of(s) && (profile.is_of(s) || p.policies.contains(&s.policy));
            for sender in senders.iter().filter(meant) {
                for (key, value) in &p.settings {
                    let place = format!("{}: {key} of {}", paper.id, sender.policy);
                    let found = sender.settings.get(key);
                    assert_eq!(found, Some(value), "{place} ({})", sender.scenario);
                    seen += 1;
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

/// Each setting in which a paper's sender differs from its preset is in the table, but for what the
/// paper varies.
#[test]
fn nothing_is_set_that_the_table_does_not_name() {
    for (paper, senders) in papers() {
        let Some(profile) = &paper.profile else {
            continue;
        };
        let mut unnamed = BTreeSet::new();
        for sender in senders.iter().filter(|s| profile.is_of(s)) {
            let name = profile.presets.get(&sender.scenario);
            let preset = flat(&Settings::preset(name.unwrap_or(&profile.preset)).unwrap());
            let named: BTreeSet<&String> = paper
                .parameters
                .iter()
                .filter(|p| p.is_of(sender))
                .flat_map(|p| p.settings.keys())
                .collect();
            let other = sender
                .settings
                .iter()
                .filter(|(key, value)| preset.get(*key) != Some(value))
                .map(|(key, _)| key);
            let lacking = other.filter(|key| !named.contains(key) && !profile.varies(key));
            unnamed.extend(lacking.map(|key| format!("{key} in {}", sender.scenario)));
        }
        assert!(unnamed.is_empty(), "{}: {unnamed:?}", paper.id);
    }
}

/// Settings that came after the profiles were frozen, with the value that leaves a sender as it was.
const SINCE: [(&str, &str); 2] = [
    ("streams.interleaving", "false"),
    ("streams.scheduler", "FirstCome"),
];

/// A change of a scenario, or of the preset that it is built on, is seen here before it is run.
#[test]
fn the_profiles_are_frozen() {
    let mut wrong = Vec::new();
    for (paper, senders) in papers() {
        let Some(profile) = &paper.profile else {
            continue;
        };
        let mut all = Sha256::new();
        for sender in &senders {
            all.update(format!("{}\n{}\n", sender.scenario, sender.policy));
            for (key, value) in &sender.settings {
                let value = value.to_string();
                if !SINCE.contains(&(key, value.trim_matches('"'))) {
                    all.update(format!("{key} = {value}\n"));
                }
            }
        }
        let digest = hex(&all.finalize()[..8]);
        if digest != profile.digest {
            wrong.push(format!("{}: digest = \"{digest}\"", paper.id));
        }
    }
    assert!(
        wrong.is_empty(),
        "profiles are frozen; if a change is meant, write: {wrong:?}"
    );
}

/// Each value of the change log, and each default of ns-2, says which releases had it.
#[test]
fn what_a_release_had_is_dated() {
    for (paper, _) in papers() {
        for p in &paper.parameters {
            let needs = matches!(p.source, Source::ChangeLog | Source::Ns2Default);
            let place = format!("{}: {}", paper.id, p.name);
            assert!(!needs || p.dated.is_some(), "{place}");
        }
    }
}
