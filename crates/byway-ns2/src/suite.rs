//! A folder of scenarios: which there are, how far each binds, what came out.

use crate::compare::{Comparison, compare};
use crate::scenario::{Role, Scenario};
use crate::{run, settings, trace};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How far a trace binds.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Binds {
    /// To its end.
    Full,
    /// To this time: then a heartbeat with a random time leaves.
    Prefix(f64),
    /// Not packet by packet.
    No,
}

/// What came out of a scenario.
#[derive(Debug)]
pub enum Outcome {
    /// All rows agree.
    Matched(Comparison),
    /// They differ, and it is known that ns-2 is at fault.
    Excused(Comparison, &'static str),
    /// They differ.
    Failed(Comparison, Option<&'static str>),
    /// It could not be run.
    Broken(String),
}

/// A scenario with its trace.
#[derive(Debug)]
pub struct Entry {
    /// Its name.
    pub name: String,
    scenario: PathBuf,
    trace: PathBuf,
    /// How far it binds.
    pub binds: Binds,
}

/// The scenarios of a folder that have a trace, in order of their names.
///
/// # Errors
/// When the folder cannot be read.
pub fn list(folder: &Path) -> Result<Vec<Entry>> {
    let classes = classes(folder)?;
    let mut entries = Vec::new();
    let files = std::fs::read_dir(folder)
        .with_context(|| format!("reading the folder {}", folder.display()))?;
    for file in files {
        let scenario = file?.path();
        if scenario.extension().is_none_or(|e| e != "json") {
            continue;
        }
        let Some(name) = scenario.file_stem().and_then(|n| n.to_str()) else {
            continue;
        };
        let candidates = [format!("{name}.csv"), format!("{name}.csv.gz")];
        let Some(trace) = candidates
            .iter()
            .map(|c| folder.join(c))
            .find(|p| p.exists())
        else {
            continue;
        };
        entries.push(Entry {
            name: name.to_owned(),
            binds: classes.get(name).copied().unwrap_or(Binds::Full),
            trace,
            scenario,
        });
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

/// `CLASSES.csv`: scenario, group, class, end of the binding part. Without the
/// file every scenario binds to its end.
fn classes(folder: &Path) -> Result<BTreeMap<String, Binds>> {
    let path = folder.join("CLASSES.csv");
    if !path.exists() {
        return Ok(BTreeMap::new());
    }
    let text =
        std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let mut classes = BTreeMap::new();
    for line in text.lines().skip(1) {
        let mut fields = line.split(',');
        let (Some(name), _, Some(class), Some(until)) =
            (fields.next(), fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let binds = match class {
            "full" => Binds::Full,
            "prefix" => Binds::Prefix(
                until
                    .parse()
                    .with_context(|| format!("{}: until_s of {name}", path.display()))?,
            ),
            _ => Binds::No,
        };
        classes.insert(name.to_owned(), binds);
    }
    Ok(classes)
}

impl Entry {
    /// Runs the scenario and compares.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        match self.compare() {
            Ok((c, _)) if c.first.is_none() => Outcome::Matched(c),
            Ok((c, missing)) => match crate::excuses::of(&self.name) {
                Some(why) => Outcome::Excused(c, why),
                None => Outcome::Failed(c, missing),
            },
            Err(e) => Outcome::Broken(format!("{e:#}")),
        }
    }

    fn compare(&self) -> Result<(Comparison, Option<&'static str>)> {
        let scenario = Scenario::read(&self.scenario)?;
        let until = match self.binds {
            Binds::Prefix(until) => until,
            Binds::Full | Binds::No => scenario.end_s(),
        };
        let missing = settings::missing_policy(scenario.host(Role::Initiator)?);
        let expected = trace::read(&self.trace, until)?;
        let mut found = run::run(&scenario, until)?;
        for rows in found.values_mut() {
            rows.retain(|r| r.time_s <= until);
        }
        Ok((compare(&expected, &found), missing))
    }
}
