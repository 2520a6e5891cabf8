//! Requests from files: TOML, JSON, and the measurements of `byway doctor`.

use super::describe::{self, Field};
use super::request::Request;
use crate::source::{Node, Problem, Problems, Source, Table, nearest};
use serde_json::Value;
use std::ops::Range;

/// Keys of a file besides its paths.
const KEYS: &[&str] = &["traffic", "hurts", "max_stall", "at_most_moves", "max_cost"];
/// The form of what `byway doctor --json` prints.
pub(super) const DOCTOR: &str = "byway.doctor/1";
/// Taken for a rate that was not measured, bits a second: at more, failover takes no longer.
const UNMEASURED: f64 = 10e6;

impl Request {
    /// Adds what the text of a file says: TOML with `[[path]]` tables, the same as JSON, or
    /// what `byway doctor --json` prints.
    ///
    /// # Errors
    /// Everything that is wrong, each with its place.
    pub fn add_document(&mut self, name: &str, text: &str) -> Result<(), Problems> {
        if text.trim_start().starts_with('{') {
            let value: Value = serde_json::from_str(text).map_err(|e| {
                let line = text
                    .lines()
                    .nth(e.line().saturating_sub(1))
                    .unwrap_or_default();
                Problems(vec![Problem {
                    file: name.to_owned(),
                    line: e.line(),
                    message: format!("this is not JSON: {e}"),
                    text: line.to_owned(),
                    columns: e.column().saturating_sub(1)..e.column(),
                }])
            })?;
            let written = match value.get("schema").and_then(Value::as_str) {
                Some(DOCTOR) => of_doctor(&value),
                _ => of_json(&value).map(|text| (text, Vec::new())),
            };
            let (written, remarks) = written.map_err(|message| whole(name, message))?;
            self.add_toml(name, &written)?;
            self.remarks.extend(remarks);
            return Ok(());
        }
        self.add_toml(name, text)
    }

    fn add_toml(&mut self, name: &str, text: &str) -> Result<(), Problems> {
        let source = Source::new(name, text);
        let root = source.parse();
        let mut request = self.clone();
        for entry in &root.entries {
            if entry.key == "path" {
                paths(&source, &entry.value.node, &entry.value.span, &mut request);
                continue;
            }
            if !KEYS.contains(&entry.key.as_str()) {
                let known = KEYS.iter().copied().chain(["path"]);
                let hint = nearest(&entry.key, known.clone()).map_or_else(
                    || format!("there are {}", crate::source::listed(known)),
                    |near| format!("did you mean {near}?"),
                );
                source.problem(
                    &entry.key_span,
                    format!("\"{}\" is not known; {hint}", entry.key),
                );
                continue;
            }
            let Node::Text(value) = &entry.value.node else {
                source.problem(
                    &entry.value.span,
                    format!(
                        "{}: found {}, expected text",
                        entry.key,
                        entry.value.shown()
                    ),
                );
                continue;
            };
            if let Err(message) = request.set(&entry.key, value) {
                source.problem(&entry.value.span, format!("{}: {message}", entry.key));
            }
        }
        *self = source.finish(Some(request))?;
        Ok(())
    }

    /// Sets one of [`KEYS`].
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "traffic" => self.set_traffic(value).map_err(|problems| {
                let messages: Vec<String> = problems.0.into_iter().map(|p| p.message).collect();
                messages.join("; ")
            }),
            "hurts" => self.wishes.set_hurts(value),
            "max_stall" => self.wishes.set_max_stall(value),
            "at_most_moves" => self.wishes.set_max_moves(value),
            _ => self.wishes.set_max_cost(value),
        }
    }
}

fn whole(file: &str, message: String) -> Problems {
    Problems(vec![Problem {
        file: file.to_owned(),
        line: 0,
        message,
        text: String::new(),
        columns: 0..0,
    }])
}

fn paths(source: &Source<'_>, node: &Node, span: &Range<usize>, request: &mut Request) {
    let tables: Vec<(&Table, Range<usize>)> = match node {
        Node::List(items) => items
            .iter()
            .filter_map(|item| match &item.node {
                Node::Table(table) => Some((table, item.span.clone())),
                _ => {
                    source.problem(&item.span, "a path is a table [[path]]");
                    None
                }
            })
            .collect(),
        Node::Table(table) => vec![(table, span.clone())],
        _ => {
            source.problem(span, "path: write tables [[path]] with rtt and rate");
            return;
        }
    };
    for (table, span) in tables {
        // Numbers without quotes reach the reader as they are written.
        let texts: Vec<String> = table
            .entries
            .iter()
            .map(|e| match &e.value.node {
                Node::Text(text) => text.clone(),
                _ => source.written(&e.value.span).to_owned(),
            })
            .collect();
        let fields: Vec<Field<'_>> = table
            .entries
            .iter()
            .zip(&texts)
            .map(|(e, text)| Field {
                key: &e.key,
                key_span: e.key_span.clone(),
                value: text.trim(),
                span: e.value.span.clone(),
            })
            .collect();
        if let Some((path, jitter)) = describe::read(source, &fields, request.paths.len() + 1, span)
        {
            request.paths.push(path);
            request.jitter.push(jitter);
        }
    }
}

/// The same as TOML.
fn of_json(value: &Value) -> Result<String, String> {
    let mut value = value.clone();
    if let Some(map) = value.as_object_mut()
        && let Some(paths) = map.remove("paths")
    {
        map.insert("path".to_owned(), paths);
    }
    toml::to_string(&value).map_err(|e| format!("this JSON has what is not known here: {e}"))
}

/// The pairs of addresses that answered, as paths, and what was not measured of them.
fn of_doctor(value: &Value) -> Result<(String, Vec<String>), String> {
    let none = Vec::new();
    let pairs = value
        .get("pairs")
        .and_then(Value::as_array)
        .unwrap_or(&none);
    let (mut out, mut remarks) = (String::new(), Vec::new());
    for pair in pairs {
        let number = |key: &str| pair.get(key).and_then(Value::as_f64);
        let text = |key: &str| pair.get(key).and_then(Value::as_str).unwrap_or("?");
        let Some(rtt) = number("rtt_ms") else {
            continue;
        };
        // Heartbeats measure the loss of both ways together.
        let loss = 1.0 - (1.0 - number("loss_round_trip").unwrap_or(0.0).clamp(0.0, 0.74)).sqrt();
        let name = format!("{} - {}", text("local"), text("remote"));
        if number("rate_bit_s").is_none() {
            remarks.push(format!(
                "The rate of {name} was not measured; {} is taken.",
                crate::show::rate(UNMEASURED)
            ));
        }
        let rate = number("rate_bit_s").unwrap_or(UNMEASURED);
        let rate = rate.clamp(16_000.0, 1e12);
        // No measurement is better than three digits.
        let digit = 10_f64.powf(rate.log10().floor() - 2.0).max(1.0);
        let rate = (rate / digit).round() * digit;
        // Less is the noise of the two hosts.
        let jitter = number("rtt_spread_ms").filter(|j| *j > 1.0 && *j > rtt / 10.0);
        let jitter = jitter.unwrap_or(0.0);
        out.push_str(&format!(
            "[[path]]\nname = {}\nrtt = \"{rtt:.3} ms\"\nrate = \"{rate:.0} bit/s\"\n\
             loss = \"{:.4} %\"\njitter = \"{jitter:.3} ms\"\n",
            toml::Value::String(name),
            loss * 100.0
        ));
    }
    if out.is_empty() {
        return Err("no pair of addresses answered, so there is nothing to advise".to_owned());
    }
    Ok((out, remarks))
}
