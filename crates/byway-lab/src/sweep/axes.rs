//! Reads the axes of a sweep file, and what is left out of the grid.

use super::cells::{Dimension, Skip};
use crate::axis::{POLICY, Variation};
use crate::scenario::Section;
use crate::source::{Item, Node, Source, Table, listed};
use std::ops::Range;

/// Reads one `[[axis]]`.
pub(super) fn axis(source: &Source<'_>, table: &Table, span: &Range<usize>) -> Option<Dimension> {
    let section = Section::new(source, "[[axis]]", table, span.clone());
    let keys = keys(&section)?;
    let name = section.text("name");
    let name = match (name, keys.first()) {
        (Some(name), _) => name,
        (None, Some((key, _))) => key.clone(),
        (None, None) => {
            section.wrong_here("has neither key nor name; write key = \"path.1.loss\" to vary that, or name it and give each of its values a name and what it sets");
            return None;
        }
    };
    let values = section.entry("values");
    let values = section.required(values, "values", "[\"0 %\", \"1 %\"]")?;
    let Node::List(items) = &values.value.node else {
        section.wrong(
            values,
            format!("found {}, expected a list", values.value.shown()),
        );
        return None;
    };
    if items.is_empty() {
        section.wrong(
            values,
            "an empty list leaves no cell; write at least one value",
        );
    }
    let mut found: Vec<(String, Variation)> = Vec::new();
    for item in items {
        let Some((label, variation)) = value(&section, &keys, item) else {
            continue;
        };
        if found.iter().any(|(l, _)| *l == label) {
            source.problem(
                &item.span,
                format!("axis \"{name}\": \"{label}\" is there twice"),
            );
        }
        found.push((label, variation));
    }
    section.finish();
    Some(Dimension {
        name,
        span: span.clone(),
        values: found,
        policies: false,
    })
}

/// `key = "..."` or `keys = ["...", "..."]`, with their places.
fn keys(section: &Section<'_>) -> Option<Vec<(String, Range<usize>)>> {
    let (one, many) = (section.entry("key"), section.entry("keys"));
    let items: &[Item] = match (one, many) {
        (Some(_), Some(both)) => {
            section.wrong(both, "key and keys exclude each other; keep one of them");
            return None;
        }
        (Some(entry), None) => std::slice::from_ref(&entry.value),
        (None, Some(entry)) => match &entry.value.node {
            Node::List(items) => items,
            _ => {
                section.wrong(
                    entry,
                    "expected a list such as [\"path.1.loss\", \"path.2.loss\"]",
                );
                return None;
            }
        },
        (None, None) => &[],
    };
    items
        .iter()
        .map(|item| match &item.node {
            Node::Text(key) => Some((key.trim().to_owned(), item.span.clone())),
            _ => {
                section.source.problem(
                    &item.span,
                    format!(
                        "[[axis]]: found {}, expected a key in quotes, such as \"rto.min\"",
                        item.shown()
                    ),
                );
                None
            }
        })
        .collect()
}

/// One value of an axis: its name in results, and what it sets.
fn value(
    section: &Section<'_>,
    keys: &[(String, Range<usize>)],
    item: &Item,
) -> Option<(String, Variation)> {
    let source = section.source;
    if !keys.is_empty() {
        let mut variation = Variation::default();
        for (key, span) in keys {
            variation.add(&Variation::of_key(source, key, span, item));
        }
        let label = match &item.node {
            Node::Text(text) => text.clone(),
            // Tables and lists as they were written.
            _ => source
                .written(&item.span)
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" "),
        };
        return Some((label, variation));
    }
    let Node::Table(table) = &item.node else {
        source.problem(
            &item.span,
            format!(
                "[[axis]]: found {}, but there is no key that it could be a value of; add key = \"...\", or write {{ name = \"...\", rto.min = \"...\" }}",
                item.shown()
            ),
        );
        return None;
    };
    let inner = Section::new(source, "a value of [[axis]]", table, item.span.clone());
    let name = inner.text("name");
    let name = inner.required(name, "name", "\"RTO.Min 100 ms\"");
    let variation = Variation::of_table(source, table, &["name"]);
    Some((name?, variation))
}

/// The axis that the scenario's policies make: all, or those of `policies`.
pub(super) fn policies(section: &Section<'_>, scenario: Option<&Table>) -> Option<Dimension> {
    let entry = section.entry("policies");
    let scenario = scenario?;
    let mut names: Vec<String> = Vec::new();
    if let Some(Node::List(items)) = scenario.get(POLICY).map(|e| &e.value.node) {
        for item in items {
            if let Node::Table(table) = &item.node
                && let Some(Node::Text(name)) = table.get("name").map(|e| &e.value.node)
            {
                names.push(name.trim().to_owned());
            }
        }
    }
    if let Some(entry) = entry {
        let Node::List(items) = &entry.value.node else {
            section.wrong(
                entry,
                "expected a list of policies of the scenario, such as [\"RFC 9260\"]",
            );
            return None;
        };
        let mut chosen: Vec<String> = Vec::new();
        for item in items {
            match &item.node {
                Node::Text(name) if names.contains(name) && !chosen.contains(name) => {
                    chosen.push(name.clone());
                }
                _ => section.source.problem(
                    &item.span,
                    format!(
                        "policies: found {}, expected policies of the scenario, each once: {}",
                        item.shown(),
                        listed(names.iter().map(String::as_str))
                    ),
                ),
            }
        }
        names = chosen;
    } else if names.len() < 2 {
        return None;
    }
    Some(Dimension {
        name: POLICY.to_owned(),
        span: entry.map_or(0..0, |e| e.key_span.clone()),
        values: names
            .into_iter()
            .map(|n| {
                let keep = Variation::of_policy(&n);
                (n, keep)
            })
            .collect(),
        policies: true,
    })
}

/// Names of axes become columns of the results.
pub(super) fn check_names(source: &Source<'_>, dimensions: &[Dimension]) {
    for (i, d) in dimensions.iter().enumerate() {
        let taken = ["cell", "seed", "status", "reason", "scenario"].contains(&d.name.as_str());
        if taken || d.name.is_empty() {
            source.problem(
                &d.span,
                format!(
                    "[[axis]]: \"{}\" is a column of every result; give the axis another name",
                    d.name
                ),
            );
        }
        if dimensions[..i].iter().any(|e| e.name == d.name) {
            let remedy = if d.policies {
                "the scenario's policies make an axis of that name"
            } else {
                "another axis has that name"
            };
            let at = dimensions[..i]
                .iter()
                .find(|e| e.name == d.name)
                .map_or(&d.span, |e| &e.span);
            let span = if d.policies { at } else { &d.span };
            source.problem(
                span,
                format!("[[axis]]: \"{}\": {remedy}; give this one another", d.name),
            );
        }
    }
}

/// One `[[skip]]`: cells that have all of these values are left out.
pub(super) fn skip(
    source: &Source<'_>,
    table: &Table,
    span: &Range<usize>,
    dimensions: &[Dimension],
) -> Option<Skip> {
    let mut skip = Vec::new();
    for entry in &table.entries {
        let Some(d) = dimensions.iter().position(|d| d.name == entry.key) else {
            source.problem(
                &entry.key_span,
                format!(
                    "[[skip]]: \"{}\" is not an axis; there are {}",
                    entry.key,
                    listed(dimensions.iter().map(|d| d.name.as_str()))
                ),
            );
            return None;
        };
        let items = match &entry.value.node {
            Node::List(items) => items.as_slice(),
            _ => std::slice::from_ref(&entry.value),
        };
        let mut places = Vec::new();
        for item in items {
            let label = match &item.node {
                Node::Text(text) => text.clone(),
                _ => source.written(&item.span).to_owned(),
            };
            match dimensions[d].values.iter().position(|(l, _)| *l == label) {
                Some(place) => places.push(place),
                None => source.problem(
                    &item.span,
                    format!(
                        "[[skip]]: {} is not a value of axis \"{}\"",
                        item.shown(),
                        entry.key
                    ),
                ),
            }
        }
        skip.push((d, places));
    }
    if skip.is_empty() {
        source.problem(
            span,
            "[[skip]]: names no axis, so it would leave out every cell",
        );
        return None;
    }
    Some(skip)
}
