//! Reads `[protocol]` and `[[policy]]` into complete settings.
//!
//! A policy begins with its preset (else that of `[protocol]`, else RFC 9260),
//! takes the settings of `[protocol]`, and then its own. A sweep lays the
//! settings of a cell over all of these.

use super::model::Policy;
use super::section::{Section, header, tables};
use super::settings::{Overlay, Refused};
use crate::source::{Node, Source, Table};
use byway_dialect_ns2::Settings;
use std::ops::Range;

/// Keys of `[[policy]]` that are not settings.
const OWN_KEYS: &[&str] = &["name", "note", "preset"];
/// Title of a sweep's settings in messages.
const SWEPT: &str = "[[axis]]";
/// More would be unreadable side by side.
const MAX_POLICIES: usize = 32;

/// `over` holds the settings of a sweep's cell; it is empty for a scenario.
pub(super) fn read(root: &Section<'_>, over: &Table) -> Option<Vec<Policy>> {
    let source = root.source;
    let empty = Table::default();
    let (protocol, protocol_span) = match root.entry("protocol") {
        None => (&empty, 0..0),
        Some(entry) => match &entry.value.node {
            Node::Table(table) => (table, header(entry)),
            _ => {
                root.wrong(entry, "written [protocol], a table");
                return None;
            }
        },
    };
    // [protocol] is checked by itself, so that what is wrong there is reported
    // once and not again for every policy.
    let base_preset = preset(source, "[protocol]", protocol, &protocol_span)?;
    let swept = preset(source, SWEPT, over, &protocol_span)?;
    let base = swept.clone().or(base_preset).unwrap_or_default();
    let mut overlay = Overlay::new(&base);
    if !lay(source, "[protocol]", &mut overlay, protocol, &["preset"]) {
        return None;
    }
    let layers = Layers {
        base: &base,
        protocol,
        swept: swept.as_ref(),
        over,
    };
    let given = tables(root, "policy");
    if !given.is_empty() {
        return several(source, &given, &layers);
    }
    // Wrong, and reported by `tables`.
    if root.table.get("policy").is_some() {
        return None;
    }
    Some(vec![only(source, overlay, &layers, &protocol_span)?])
}

/// The only policy of a file without `[[policy]]`: the settings of `[protocol]`,
/// named after the preset.
fn only(
    source: &Source<'_>,
    mut overlay: Overlay<Settings>,
    layers: &Layers<'_>,
    protocol_span: &Range<usize>,
) -> Option<Policy> {
    if !lay(source, SWEPT, &mut overlay, layers.over, &["preset"]) {
        return None;
    }
    let preset = |table: &Table| table.get("preset").map(|e| e.value.node.clone());
    let name = match preset(layers.over).or_else(|| preset(layers.protocol)) {
        Some(Node::Text(name)) => name,
        _ => "rfc9260".to_owned(),
    };
    let config = overlay
        .finish(protocol_span)
        .map_err(|r| source.problem(&r.span, r.message))
        .ok()?;
    Some(Policy {
        name,
        note: String::new(),
        config,
    })
}

/// The policies of the `[[policy]]` tables, which have different names.
fn several(
    source: &Source<'_>,
    given: &[(&Table, Range<usize>)],
    layers: &Layers<'_>,
) -> Option<Vec<Policy>> {
    if let Some((_, span)) = given.get(MAX_POLICIES) {
        source.problem(
            span,
            format!("{} policies; at most {MAX_POLICIES}", given.len()),
        );
    }
    let mut policies: Vec<Option<Policy>> = Vec::new();
    for (table, span) in given {
        let policy = policy(source, table, span, layers);
        if let Some(policy) = &policy
            && policies.iter().flatten().any(|p| p.name == policy.name)
        {
            source.problem(
                span,
                format!(
                    "[[policy]]: \"{}\" is the name of another policy",
                    policy.name
                ),
            );
        }
        policies.push(policy);
    }
    policies.into_iter().collect()
}

/// What every policy has below and above its own settings.
struct Layers<'a> {
    /// The settings that it begins with, unless it names a preset.
    base: &'a Settings,
    /// `[protocol]`.
    protocol: &'a Table,
    /// The preset of a sweep's cell, which goes before the policy's own.
    swept: Option<&'a Settings>,
    /// The settings of a sweep's cell.
    over: &'a Table,
}

fn policy(
    source: &Source<'_>,
    table: &Table,
    span: &Range<usize>,
    layers: &Layers<'_>,
) -> Option<Policy> {
    let section = Section::new(source, "[[policy]]", table, span.clone());
    let name = section.text("name");
    let name = section.required(name, "name", "\"PF off\"");
    let note = section.text("note").unwrap_or_default();
    let preset = preset(source, "[[policy]]", table, span)?;
    let begin = layers.swept.or(preset.as_ref()).unwrap_or(layers.base);
    let mut overlay = Overlay::new(begin);
    // Checked already; what it refuses here, it refused there.
    overlay.lay(layers.protocol, &["preset"], &mut Vec::new());
    let own = lay(source, "[[policy]]", &mut overlay, table, OWN_KEYS);
    if !lay(source, SWEPT, &mut overlay, layers.over, &["preset"]) || !own {
        return None;
    }
    let title = name.clone().unwrap_or_default();
    let config = overlay
        .finish(span)
        .map_err(|r| source.problem(&r.span, format!("policy \"{title}\": {}", r.message)))
        .ok()?;
    Some(Policy {
        name: name?,
        note,
        config,
    })
}

/// Lays `table` over `overlay` and notes what is refused.
fn lay(
    source: &Source<'_>,
    title: &str,
    overlay: &mut Overlay<Settings>,
    table: &Table,
    skip: &[&str],
) -> bool {
    let mut refused: Vec<Refused> = Vec::new();
    overlay.lay(table, skip, &mut refused);
    for r in &refused {
        source.problem(&r.span, format!("{title}: {}", r.message));
    }
    refused.is_empty()
}

/// The preset that `table` names; the outer `None` when it does not exist.
fn preset(
    source: &Source<'_>,
    title: &str,
    table: &Table,
    span: &Range<usize>,
) -> Option<Option<Settings>> {
    if table.get("preset").is_none() {
        return Some(None);
    }
    let section = Section::new(source, title, table, span.clone());
    section
        .read("preset", |name| {
            Settings::preset(name).map_err(|e| e.to_string())
        })
        .map(Some)
}
