//! Keys of a scenario and settings, laid over a scenario's tree.

use crate::source::{Entry, Item, Node, Source, Table, listed};
use std::ops::Range;

/// Keys of a scenario that a sweep may vary, besides settings of the protocol.
const SCENARIO_KEYS: &[&str] = &[
    "limit",
    "max_events",
    "ties",
    "path",
    "event",
    "traffic",
    "cross",
];
/// Those that are lists of tables.
const LISTS: &[&str] = &["path", "event", "cross"];
/// Keys that belong to the sweep itself, and what to write instead.
const OWN: &[(&str, &str)] = &[
    ("seed", "write seeds = 30 at the top of the sweep file"),
    (
        "policy",
        "write policies = [\"...\"] at the top of the sweep file to choose some",
    ),
];
/// Values that may be tables and are taken as a whole.
const WHOLE: &[&str] = &["loss"];

/// What a value of an axis sets.
#[derive(Clone, Debug, Default)]
pub(super) struct Patch {
    /// Laid over the scenario.
    scenario: Table,
    /// Laid over the settings of its policies.
    pub(super) settings: Table,
}

impl Patch {
    /// Sorts what `table` sets; what cannot be swept is noted.
    fn new(source: &Source<'_>, table: &Table) -> Patch {
        let mut patch = Patch::default();
        for entry in &table.entries {
            let entry = undotted(entry);
            let key = entry.key.as_str();
            if let Some((_, instead)) = OWN.iter().find(|(own, _)| *own == key) {
                source.problem(
                    &entry.key_span,
                    format!("\"{key}\" cannot be set by an axis; {instead}"),
                );
            } else if SCENARIO_KEYS.contains(&key) {
                patch.scenario.entries.push(entry);
            } else if let ("protocol", Node::Table(settings)) = (key, &entry.value.node) {
                patch
                    .settings
                    .entries
                    .extend(settings.entries.iter().map(undotted));
            } else {
                patch.settings.entries.push(entry);
            }
        }
        patch
    }

    /// Sets `key`, such as "path.1.loss", to `value`.
    pub(super) fn of_key(
        source: &Source<'_>,
        key: &str,
        span: &Range<usize>,
        value: &Item,
    ) -> Patch {
        let table = Table {
            entries: vec![Entry {
                key: key.to_owned(),
                key_span: span.clone(),
                value: value.clone(),
            }],
        };
        Patch::new(source, &table)
    }

    /// Adds what another sets; it goes before this one's.
    pub(super) fn add(&mut self, other: &Patch) {
        self.scenario
            .entries
            .extend(other.scenario.entries.iter().cloned());
        // Settings are laid one after the other; a preset is looked up.
        if other.settings.get("preset").is_some() {
            self.settings.entries.retain(|e| e.key != "preset");
        }
        self.settings
            .entries
            .extend(other.settings.entries.iter().cloned());
    }

    /// Whether it sets nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.scenario.entries.is_empty() && self.settings.entries.is_empty()
    }

    /// Lays the scenario's part over `root`.
    pub(super) fn lay(&self, source: &Source<'_>, root: &mut Table) {
        lay(source, root, &self.scenario);
    }
}

/// "path.1.loss" = x as path = { 1 = { loss = x } }.
fn undotted(entry: &Entry) -> Entry {
    let Some((first, rest)) = entry.key.split_once('.') else {
        return entry.clone();
    };
    let inner = undotted(&Entry {
        key: rest.to_owned(),
        ..entry.clone()
    });
    Entry {
        key: first.trim().to_owned(),
        key_span: entry.key_span.clone(),
        value: Item {
            span: entry.value.span.clone(),
            node: Node::Table(Table {
                entries: vec![inner],
            }),
        },
    }
}

fn lay(source: &Source<'_>, target: &mut Table, over: &Table) {
    for entry in &over.entries {
        let entry = undotted(entry);
        let whole = WHOLE.contains(&entry.key.as_str());
        match (target.get_mut(&entry.key), &entry.value.node) {
            (Some(known), Node::Table(inner)) if !whole => match &mut known.value.node {
                Node::Table(table) => lay(source, table, inner),
                Node::List(items) => lay_list(source, items, &entry.key, inner),
                _ => known.value = entry.value,
            },
            (Some(known), _) => known.value = entry.value,
            (None, _) if LISTS.contains(&entry.key.as_str()) => source.problem(
                &entry.key_span,
                format!(
                    "the scenario has no [[{}]] whose keys could be set",
                    entry.key
                ),
            ),
            (None, _) => target.entries.push(entry),
        }
    }
}

/// `over` names tables of a list: by number from 1, by name, or all with "*".
fn lay_list(source: &Source<'_>, items: &mut [Item], list: &str, over: &Table) {
    for entry in &over.entries {
        let entry = undotted(entry);
        let Node::Table(inner) = &entry.value.node else {
            source.problem(
                &entry.key_span,
                format!("{list}.{0}: a table of the list cannot be replaced; name a key of it, such as {list}.{0}.{1}",
                    entry.key, if list == "event" { "at" } else { "rate" }),
            );
            continue;
        };
        let chosen = chosen(items, &entry.key);
        if chosen.is_empty() {
            let names: Vec<String> = items
                .iter()
                .enumerate()
                .map(|(i, item)| match name(item) {
                    Some(name) => format!("{} (\"{name}\")", i + 1),
                    None => (i + 1).to_string(),
                })
                .collect();
            source.problem(
                &entry.key_span,
                format!(
                    "{list}.{}: no such [[{list}]]; there are {}, and * for all",
                    entry.key,
                    listed(names.iter().map(String::as_str))
                ),
            );
        }
        for i in chosen {
            if let Node::Table(table) = &mut items[i].node {
                lay(source, table, inner);
            }
        }
    }
}

fn chosen(items: &[Item], key: &str) -> Vec<usize> {
    if key == "*" {
        return (0..items.len()).collect();
    }
    match key.parse::<usize>() {
        Ok(n) if (1..=items.len()).contains(&n) => vec![n - 1],
        Ok(_) => Vec::new(),
        Err(_) => (0..items.len())
            .filter(|i| name(&items[*i]) == Some(key))
            .collect(),
    }
}

fn name(item: &Item) -> Option<&str> {
    let Node::Table(table) = &item.node else {
        return None;
    };
    match &table.get("name")?.value.node {
        Node::Text(name) => Some(name.trim()),
        _ => None,
    }
}
