//! The scenario file of a session, and what a visitor changes in it.

use byway_lab::scenario::Scenario;
use byway_lab::units::format_duration;
use std::time::Duration;
use toml::{Table, Value};

/// Most events of a scenario that a visitor may change. The page goes through them for each packet that it
/// draws, and an address must have room for their text.
const MAX_EVENTS: usize = 400;

/// What a visitor may change of a path while it runs.
pub(crate) const KEYS: [&str; 3] = ["rate", "delay", "loss"];

/// A scenario and its text as a table.
#[derive(Clone, Debug)]
pub(crate) struct File {
    table: Table,
    pub(crate) scenario: Scenario,
}

impl File {
    /// Reads the file `name`.
    ///
    /// # Errors
    /// All that is wrong with it, in the words of the command.
    pub(crate) fn parse(name: &str, text: &str) -> Result<File, String> {
        let scenario = Scenario::parse(name, text).map_err(|p| p.of_scenario())?;
        let table = text
            .parse::<Table>()
            .map_err(|e| format!("{name}: {}", e.message()))?;
        Ok(File { table, scenario })
    }

    /// The text that `byway run` takes.
    pub(crate) fn text(&self) -> String {
        self.table.to_string()
    }

    /// With another seed.
    pub(crate) fn with_seed(&self, seed: u64) -> Result<File, String> {
        let seed = i64::try_from(seed)
            .map_err(|_| format!("the seed {seed} is too large; at most {}", i64::MAX))?;
        let mut table = self.table.clone();
        table.insert("seed".to_owned(), Value::Integer(seed));
        read(table)
    }

    /// With these policies.
    pub(crate) fn with_policies(&self, policies: Vec<Table>) -> Result<File, String> {
        let mut table = self.table.clone();
        let policies = policies.into_iter().map(Value::Table).collect();
        table.insert("policy".to_owned(), Value::Array(policies));
        read(table)
    }

    /// The `[[policy]]` tables.
    pub(crate) fn policies(&self) -> Vec<Table> {
        tables(&self.table, "policy").cloned().collect()
    }

    /// Path `path`, counted from 0, fails or carries again at `at`.
    pub(crate) fn with_switch(&self, at: Duration, path: usize, up: bool) -> Result<File, String> {
        let verb = if up { "up" } else { "down" };
        self.with_event(at, path, &["up", "down"], |event| {
            event.insert("do".to_owned(), verb.into());
        })
    }

    /// `key` of path `path`, counted from 0, becomes `value` at `at`.
    pub(crate) fn with_change(
        &self,
        at: Duration,
        path: usize,
        key: &str,
        value: &str,
    ) -> Result<File, String> {
        self.with_event(at, path, &["set"], |event| {
            event.insert("do".to_owned(), "set".into());
            event.insert(key.to_owned(), value.into());
        })
    }

    /// Whether its events are others than those of `opened`.
    pub(crate) fn events_differ(&self, opened: &File) -> bool {
        self.table.get("event") != opened.table.get("event")
    }

    /// Without what a visitor did last to the events of `opened`; none if that is nothing.
    ///
    /// # Errors
    /// When the rest cannot be read.
    pub(crate) fn without_last(&self, opened: &File) -> Result<Option<File>, String> {
        let count = |file: &File| tables(&file.table, "event").count();
        let (mine, theirs) = (self.table.get("event"), opened.table.get("event"));
        let mut table = self.table.clone();
        match table.get_mut("event").and_then(Value::as_array_mut) {
            Some(events) if events.len() > count(opened) => {
                events.pop();
                if events.is_empty() && theirs.is_none() {
                    table.remove("event");
                }
            }
            // An event of the scene itself was changed at its own time.
            Some(events) if mine != theirs => {
                *events = theirs
                    .and_then(Value::as_array)
                    .cloned()
                    .unwrap_or_default();
            }
            _ => return Ok(None),
        }
        read(table).map(Some)
    }

    /// Adds an event, or changes the last one if it is of the same time and path and does one of `verbs`.
    fn with_event(
        &self,
        at: Duration,
        path: usize,
        verbs: &[&str],
        write: impl FnOnce(&mut Table),
    ) -> Result<File, String> {
        let mut table = self.table.clone();
        let events = table
            .entry("event")
            .or_insert_with(|| Value::Array(Vec::new()));
        let Value::Array(events) = events else {
            return Err("event: expected a list of tables, [[event]]".to_owned());
        };
        let mut fresh = Table::new();
        fresh.insert("at".to_owned(), format_duration(at).into());
        fresh.insert("path".to_owned(), Value::Integer(path as i64 + 1));
        let same = |event: &Value| {
            let verb = event.get("do").and_then(Value::as_str);
            event.get("at") == fresh.get("at")
                && event.get("path") == fresh.get("path")
                && event.get("direction").is_none()
                && verb.is_some_and(|v| verbs.contains(&v))
        };
        let place = events.iter().rposition(same);
        if place.is_none() && events.len() >= MAX_EVENTS {
            return Err(format!(
                "the scene has {MAX_EVENTS} events, the most that the page adds to: undo the last change, or \
                 save the scene as a file, where the command takes as many as you write"
            ));
        }
        match place.and_then(|i| events[i].as_table_mut()) {
            Some(event) => write(event),
            None => {
                write(&mut fresh);
                events.push(Value::Table(fresh));
            }
        }
        read(table)
    }
}

fn read(table: Table) -> Result<File, String> {
    let text = table.to_string();
    match Scenario::parse("the scene", &text) {
        Ok(scenario) => Ok(File { table, scenario }),
        // The visitor has not seen the lines: what is wrong is what was changed last.
        Err(problems) => {
            let messages: Vec<&str> = problems.0.iter().map(|p| p.message.as_str()).collect();
            Err(messages.join("\n"))
        }
    }
}

fn tables<'a>(table: &'a Table, key: &str) -> impl Iterator<Item = &'a Table> {
    let list = table.get(key).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_table)
}

/// The `[[policy]]` tables of a text.
///
/// # Errors
/// When it is not TOML.
pub(crate) fn policies_of(text: &str) -> Result<Vec<Table>, String> {
    let table: Table = text.parse().map_err(|e: toml::de::Error| e.to_string())?;
    Ok(tables(&table, "policy").cloned().collect())
}

/// The name of a policy.
pub(crate) fn name_of(policy: &Table) -> &str {
    policy.get("name").and_then(Value::as_str).unwrap_or("")
}
