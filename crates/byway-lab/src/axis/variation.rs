//! What one value of an axis changes in a scenario.

use super::patch::Patch;
use super::short::{self, Setting};
use super::value::Value;
use crate::scenario::{Scenario, read_tree};
use crate::source::{Item, Node, Source, Table};
use std::ops::Range;

/// The axis that a scenario's policies make.
pub const POLICY: &str = "policy";

/// What one value of an axis sets, or several values together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variation {
    /// Keys of the scenario and settings.
    patch: Patch,
    /// Short names, with their values and where they were written.
    pub(super) short: Vec<(Setting, Range<usize>)>,
    /// The policy that is kept.
    pub(super) policy: Option<String>,
}

impl Variation {
    /// Sets `key` to `value`; what cannot be set is noted.
    pub(crate) fn of_key(
        source: &Source<'_>,
        key: &str,
        span: &Range<usize>,
        value: &Item,
    ) -> Variation {
        if let Some(value) = Value::of_item(value)
            && short::is_name(key)
        {
            return Variation::of_short(key, &value, span);
        }
        Variation {
            patch: Patch::of_key(source, key, span, value),
            ..Variation::default()
        }
    }

    /// Sets the axis of a short name.
    pub(super) fn of_short(name: &str, value: &Value, span: &Range<usize>) -> Variation {
        let setting = Setting {
            name: name.to_owned(),
            value: value.clone(),
        };
        Variation {
            short: vec![(setting, span.clone())],
            ..Variation::default()
        }
    }

    /// Sets all keys of `table` but those in `skip`.
    pub(crate) fn of_table(source: &Source<'_>, table: &Table, skip: &[&str]) -> Variation {
        let mut variation = Variation::default();
        for entry in &table.entries {
            if !skip.contains(&entry.key.as_str()) {
                let one = Variation::of_key(source, &entry.key, &entry.key_span, &entry.value);
                variation.add(&one);
            }
        }
        variation
    }

    /// Keeps one policy of the scenario.
    pub(crate) fn of_policy(name: &str) -> Variation {
        Variation {
            policy: Some(name.to_owned()),
            ..Variation::default()
        }
    }

    /// Adds what another sets; it goes before this one's.
    pub(crate) fn add(&mut self, other: &Variation) {
        self.patch.add(&other.patch);
        self.short.extend(other.short.iter().cloned());
        if other.policy.is_some() {
            self.policy.clone_from(&other.policy);
        }
    }

    /// Whether it sets no key of the scenario and no setting by its key.
    pub(super) fn is_short(&self) -> bool {
        self.patch.is_empty()
    }

    /// The scenario of the tree `root` with this change; what is wrong is noted.
    pub(crate) fn scenario(&self, source: &Source<'_>, mut root: Table) -> Option<Scenario> {
        if let Some(policy) = &self.policy {
            keep_policy(&mut root, policy);
        }
        self.patch.lay(source, &mut root);
        let before = source.problem_count();
        let mut scenario = read_tree(source, &root, &self.patch.settings)?;
        for (setting, span) in &self.short {
            if let Err(why) = setting.apply(&mut scenario) {
                source.problem(span, format!("{setting}: {why}"));
            }
        }
        if let Err(why) = short::finish(self.short.iter().map(|s| &s.0), &mut scenario) {
            source.problem_at_start(why);
        }
        (source.problem_count() == before).then_some(scenario)
    }
}

/// Leaves one policy in the scenario.
fn keep_policy(root: &mut Table, name: &str) {
    if let Some(entry) = root.get_mut(POLICY)
        && let Node::List(items) = &mut entry.value.node
    {
        items.retain(|item| match &item.node {
            Node::Table(table) => {
                matches!(table.get("name").map(|e| &e.value.node), Some(Node::Text(n)) if n.trim() == name)
            }
            _ => false,
        });
    }
}
