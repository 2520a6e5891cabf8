//! Reads a sweep file.

use super::axes::{axis, check_names, policies, skip};
use super::cells::{self, Dimension, Grid};
use crate::engine::{Plan, StopRule};
use crate::metrics::Metrics;
use crate::scenario::{BUILT_IN, BUILT_IN_NAME, GREATEST_SEED, Section, tables};
use crate::source::{Entry, Item, Node, Problem, Problems, Source, Table};
use crate::units::Share;
use std::collections::BTreeSet;
use std::path::Path;

/// Seeds when none are named: as many as the papers' claims are checked with.
const DEFAULT_SEEDS: u64 = 30;
/// Most seeds; more would not fit a plan in memory.
const MAX_SEEDS: u64 = 1_000_000;
/// The papers' rule: the 90 % interval within 10 % of the mean.
const PAPERS_CONFIDENCE: f64 = 0.9;
const PAPERS_WITHIN: f64 = 0.1;
/// Fewest runs of a cell, and runs between two looks, when none are named.
const DEFAULT_LEAST: u64 = 10;
const DEFAULT_STEP: u64 = 5;

/// Gives name and text of the scenario file that a sweep names, or says why it
/// cannot.
pub type Load<'a> = dyn Fn(&str) -> Result<(String, String), String> + 'a;

/// Reads a sweep file and the scenario that it names. It may ask for all of
/// these metrics.
///
/// # Errors
/// Everything that is wrong with them, each with file and line.
pub fn read(file: &Path, known: &Metrics) -> Result<Plan, Problems> {
    let name = file.display().to_string();
    let whole = |message: String| {
        Problems(vec![Problem {
            file: name.clone(),
            line: 0,
            message,
            text: String::new(),
            columns: 0..0,
        }])
    };
    let text = std::fs::read_to_string(file).map_err(|e| whole(format!("cannot be read: {e}")))?;
    let load = |path: &str| {
        let path = file.parent().unwrap_or(Path::new("")).join(path);
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok((path.display().to_string(), text)),
            Err(e) => Err(format!("cannot read {}: {e}", path.display())),
        }
    };
    parse_in(file.parent(), (&name, &text), &load, known)
}

/// Reads a sweep from `text`, which is that of a file `name`; `load` gives the
/// text of the scenario that it names, or says why it cannot.
///
/// # Errors
/// Everything that is wrong, each with file and line.
pub fn parse(name: &str, text: &str, load: &Load<'_>, known: &Metrics) -> Result<Plan, Problems> {
    parse_in(None, (name, text), load, known)
}

/// [`parse`] of a file in `folder`, beside which there may be traces.
fn parse_in(
    folder: Option<&Path>,
    (name, text): (&str, &str),
    load: &Load<'_>,
    known: &Metrics,
) -> Result<Plan, Problems> {
    // The scenario's file is named in this one: read it first to find it.
    let first = Source::new(name, text);
    let root = first.parse();
    let mut scenario = None;
    if let Some(Entry {
        value: Item {
            node: Node::Text(path),
            span,
        },
        ..
    }) = root.get("scenario")
    {
        match path.as_str() {
            "built-in" => scenario = Some((BUILT_IN_NAME.to_owned(), BUILT_IN.to_owned())),
            path => match load(path) {
                Ok(found) => scenario = Some(found),
                Err(message) => first.problem(span, format!("scenario: {message}")),
            },
        }
    }
    if first.problem_count() > 0 {
        return first.finish(None);
    }
    let source = Source::new(name, text);
    let (source, beside) = match &scenario {
        Some((name, text)) => {
            let beside = folder.and_then(|_| Path::new(name).parent());
            let source = source.and(name, text).in_folder(beside);
            let table = source.parse_file(1);
            (source, Some(table))
        }
        None => (source.in_folder(folder), None),
    };
    let plan = if source.problem_count() == 0 {
        plan(&source, &root, beside, known)
    } else {
        None
    };
    source.finish(plan)
}

fn plan(source: &Source<'_>, root: &Table, beside: Option<Table>, known: &Metrics) -> Option<Plan> {
    let section = Section::new(source, "the sweep", root, 0..0);
    let name = section.text("name").unwrap_or_else(|| "unnamed".to_owned());
    let description = section.text("description").unwrap_or_default();
    let scenario = scenario(&section, beside);
    let seeds = seeds(&section);
    let mut dimensions: Vec<Dimension> = tables(&section, "axis")
        .iter()
        .filter_map(|(table, span)| axis(source, table, span))
        .collect();
    let (metrics_entry, stop_entry) = (section.entry("metrics"), section.entry("stop"));
    let chosen = policies(&section, scenario.as_ref());
    dimensions.extend(chosen);
    check_names(source, &dimensions);
    let skips = tables(&section, "skip")
        .iter()
        .filter_map(|(table, span)| skip(source, table, span, &dimensions))
        .collect();
    section.finish();
    let (scenario, seeds) = (scenario?, seeds?);
    if source.problem_count() > 0 {
        return None;
    }
    let grid = Grid {
        scenario,
        dimensions,
        skips,
    };
    let cells = cells::build(source, &grid, seeds.len())?;
    let axes: Vec<&str> = grid.dimensions.iter().map(|d| d.name.as_str()).collect();
    let mut plan = Plan::of(&name, &axes, cells, seeds, known);
    plan.description = description;
    for (axis, d) in plan.axes.iter().zip(&grid.dimensions) {
        if known.find(&axis.name).is_some() {
            source.problem(
                &d.span,
                format!(
                    "[[axis]]: \"{}\" is the name of a metric; give the axis another",
                    axis.name
                ),
            );
        }
    }
    if let Some(entry) = metrics_entry {
        plan.shown = metrics(source, "metrics", entry, &mut plan, known)?;
    }
    if let Some(entry) = stop_entry {
        let stop = stop(source, entry, &mut plan, known)?;
        plan.stop = Some(stop);
    }
    Some(plan)
}

/// The scenario's tree: a table here, or the file beside.
fn scenario(section: &Section<'_>, beside: Option<Table>) -> Option<Table> {
    let Some(entry) = section.entry("scenario") else {
        section.source.problem_at_start(
            "there is no scenario; add scenario = \"FILE\" or a table [scenario] with its paths and traffic (scenario = \"built-in\" is that of `byway run`)",
        );
        return None;
    };
    match (&entry.value.node, beside) {
        (Node::Table(table), _) => Some(table.clone()),
        (_, Some(table)) => Some(table),
        _ => {
            section.wrong(
                entry,
                format!(
                    "found {}, expected a file's name or a table",
                    entry.value.shown()
                ),
            );
            None
        }
    }
}

/// `seeds = 30`, `seeds = [4, 7]` or `seeds = { from = 100, count = 30 }`.
fn seeds(section: &Section<'_>) -> Option<Vec<u64>> {
    let Some(entry) = section.entry("seeds") else {
        return Some((1..=DEFAULT_SEEDS).collect());
    };
    match &entry.value.node {
        Node::Integer(_) => {
            let count = section.integer("seeds", 1..=MAX_SEEDS)?;
            Some((1..=count).collect())
        }
        Node::List(items) => {
            let (mut seeds, mut seen) = (Vec::new(), BTreeSet::new());
            for item in items {
                let seed = match item.node {
                    Node::Integer(i) => u64::try_from(i).ok(),
                    _ => None,
                };
                let Some(seed) = seed.filter(|s| seen.insert(*s)) else {
                    section.source.problem(
                        &item.span,
                        format!(
                            "seeds: found {}, expected whole numbers from 0, each once",
                            item.shown()
                        ),
                    );
                    return None;
                };
                seeds.push(seed);
            }
            if seeds.is_empty() {
                section.wrong(
                    entry,
                    "an empty list runs nothing; write a number, such as 30",
                );
                return None;
            }
            Some(seeds)
        }
        Node::Table(table) => {
            let inner = Section::new(section.source, "seeds", table, entry.value.span.clone());
            let from = inner
                .integer("from", 0..=GREATEST_SEED - MAX_SEEDS)
                .unwrap_or(1);
            let count = inner.integer("count", 1..=MAX_SEEDS);
            let count = inner.required(count, "count", "30");
            inner.finish();
            Some((from..from + count?).collect())
        }
        _ => {
            section.wrong(
                entry,
                format!(
                    "found {}, expected how many, such as 30, or a list of them",
                    entry.value.shown()
                ),
            );
            None
        }
    }
}

/// Names of metrics, as their places among those of the plan. One that the plan
/// does not have yet is added to them.
fn metrics(
    source: &Source<'_>,
    title: &str,
    entry: &Entry,
    plan: &mut Plan,
    known: &Metrics,
) -> Option<Vec<usize>> {
    let items = match &entry.value.node {
        Node::List(items) => items.as_slice(),
        _ => std::slice::from_ref(&entry.value),
    };
    let mut places = Vec::new();
    for item in items {
        let name = match &item.node {
            Node::Text(name) => name.as_str(),
            _ => "",
        };
        if let Some(place) = plan.metric(name) {
            places.push(place);
            continue;
        }
        let Some(metric) = known.find(name) else {
            source.problem(
                &item.span,
                format!(
                    "{title}: found {}, which is not a metric; {}",
                    item.shown(),
                    known.hint(name)
                ),
            );
            return None;
        };
        if let Some(why) = plan.cannot_have(&metric) {
            source.problem(&item.span, format!("{title}: {name}: {why}"));
            return None;
        }
        places.push(plan.metrics.len());
        plan.metrics.push(metric);
    }
    if places.is_empty() {
        source.problem(
            &entry.value.span,
            format!("{title}: an empty list; name a metric, such as \"transfer_s\""),
        );
        return None;
    }
    Some(places)
}

/// `[stop]`: when a cell has had enough runs.
fn stop(source: &Source<'_>, entry: &Entry, plan: &mut Plan, known: &Metrics) -> Option<StopRule> {
    let Node::Table(table) = &entry.value.node else {
        source.problem(
            &entry.value.span,
            format!("stop: found {}, expected a table such as {{ metrics = [\"transfer_s\"], within = \"10 %\", confidence = \"90 %\" }}", entry.value.shown()),
        );
        return None;
    };
    let section = Section::new(source, "[stop]", table, entry.key_span.clone());
    let share = |key, least: f64, most: f64, default: f64| {
        let read = |text: &str| match Share::parse(text)? {
            Share(s) if s > least && s < most => Ok(s),
            _ => Err(format!(
                "\"{text}\" leaves no sense; more than {} and less than {}",
                Share(least),
                Share(most)
            )),
        };
        section.read(key, read).unwrap_or(default)
    };
    let rule = StopRule {
        metrics: match section.entry("metrics") {
            Some(entry) => metrics(source, "metrics in [stop]", entry, plan, known)?,
            None => plan.shown[..1].to_vec(),
        },
        within: share("within", 0.0, 1.0, PAPERS_WITHIN),
        confidence: share("confidence", 0.0, 1.0, PAPERS_CONFIDENCE),
        least: section
            .integer("least", 2..=MAX_SEEDS)
            .unwrap_or(DEFAULT_LEAST) as usize,
        step: section
            .integer("step", 1..=MAX_SEEDS)
            .unwrap_or(DEFAULT_STEP) as usize,
    };
    section.finish();
    Some(rule)
}
