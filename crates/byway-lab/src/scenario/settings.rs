//! Lays written settings over a [`Config`], key by key.
//!
//! Each setting is tried alone, so that a wrong one is named with its place,
//! what was found and what would be right. Besides what TOML offers, a setting
//! that may be absent takes "off", sizes in bytes take "64 KiB", and a choice
//! with a number is written "Pmdcs(2)".

use crate::source::{Item, Node, Table, nearest};
use crate::units::{Size, parse_duration};
use byway_core::Config;
use byway_core::config::{ConfigError, PfConfig};
use serde_json::{Map, Value};
use std::ops::Range;

/// Settings being laid over a base.
pub(super) struct Overlay {
    values: Value,
    template: Value,
    /// What was set and where it stood.
    set: Vec<(String, Range<usize>)>,
}

/// A setting that was refused.
pub(super) struct Refused {
    pub(super) span: Range<usize>,
    pub(super) message: String,
}

/// Every field with a value, so that its kind can be seen.
fn template() -> Config {
    let mut config = Config::default();
    config.failover.potentially_failed = Some(PfConfig::default());
    config.congestion.initial_ssthresh = Some(1);
    config.congestion.max_burst = Some(1);
    config
}

fn json(config: &Config) -> Value {
    // Strings, numbers and flags only: nothing that JSON cannot hold.
    serde_json::to_value(config).unwrap_or_else(|e| unreachable!("a Config is plain data: {e}"))
}

impl Overlay {
    pub(super) fn new(base: &Config) -> Overlay {
        Overlay {
            values: json(base),
            template: json(&template()),
            set: Vec::new(),
        }
    }

    /// Lays every entry of `table` over what there is, except `skip`.
    pub(super) fn lay(&mut self, table: &Table, skip: &[&str], refused: &mut Vec<Refused>) {
        self.lay_at(&mut Vec::new(), table, skip, refused);
    }

    fn lay_at(
        &mut self,
        place: &mut Vec<String>,
        table: &Table,
        skip: &[&str],
        refused: &mut Vec<Refused>,
    ) {
        for entry in &table.entries {
            if place.is_empty() && skip.contains(&entry.key.as_str()) {
                continue;
            }
            place.push(entry.key.clone());
            let known = pointer(&self.template, place).cloned();
            match (known, &entry.value.node) {
                (None, _) => {
                    let message = self.unknown(place, skip);
                    refused.push(Refused {
                        span: entry.key_span.clone(),
                        message,
                    });
                }
                (Some(Value::Object(_)), Node::Table(inner)) => {
                    self.switch_on(place);
                    self.lay_at(place, inner, skip, refused);
                }
                (Some(kind), _) => {
                    if let Err(message) = self.set(place, &entry.value, &kind) {
                        let message = format!("{}: {message}", place.join("."));
                        refused.push(Refused {
                            span: entry.value.span.clone(),
                            message,
                        });
                    }
                }
            }
            place.pop();
        }
    }

    /// A table under something that is off switches it on, with its defaults.
    fn switch_on(&mut self, place: &[String]) {
        let default = pointer(&self.template, place).cloned();
        if let (Some(slot @ Value::Null), Some(default)) =
            (pointer_mut(&mut self.values, place), default)
        {
            *slot = default;
        }
    }

    fn set(&mut self, place: &[String], item: &Item, kind: &Value) -> Result<(), String> {
        let value = convert(item, kind, place)?;
        let slot =
            pointer_mut(&mut self.values, place).ok_or("the group that it belongs to is off")?;
        let before = std::mem::replace(slot, value);
        if let Err(e) = serde_json::from_value::<Config>(self.values.clone()) {
            if let Some(slot) = pointer_mut(&mut self.values, place) {
                *slot = before;
            }
            return Err(refusal(item, kind, &e.to_string()));
        }
        self.set.push((place.join("."), item.span.clone()));
        Ok(())
    }

    /// A choice that has settings of its own may be written without them: it
    /// gets their defaults then.
    fn with_defaults(&self, place: &[String], value: Value) -> Value {
        let Value::String(name) = &value else {
            return value;
        };
        let mut asked = self.values.clone();
        let mut map = Map::new();
        map.insert(name.clone(), Value::Object(Map::new()));
        if let Some(slot) = pointer_mut(&mut asked, place) {
            *slot = Value::Object(map);
        }
        match serde_json::from_value::<Config>(asked) {
            Ok(config) => pointer(&json(&config), place).cloned().unwrap_or(value),
            Err(_) => value,
        }
    }

    /// The message for a key that does not exist.
    fn unknown(&self, place: &[String], skip: &[&str]) -> String {
        let full = place.join(".");
        let last = place.last().map_or("", String::as_str);
        let all = keys(&self.template);
        let (parent, group) = match place.split_last() {
            Some((_, parent)) if !parent.is_empty() => {
                (parent.join("."), pointer(&self.template, parent))
            }
            _ => (String::new(), Some(&self.template)),
        };
        let siblings: Vec<&str> = match group {
            Some(Value::Object(map)) => map.keys().map(String::as_str).collect(),
            _ => Vec::new(),
        };
        let own = if parent.is_empty() { skip } else { &[] };
        let hint = if let Some(name) = nearest(last, siblings.iter().chain(own).copied()) {
            format!("did you mean \"{name}\"?")
        } else if let Some(name) = all.iter().find(|k| k.rsplit('.').next() == Some(last)) {
            format!("did you mean \"{name}\"?")
        } else if let Some(name) = nearest(&full, all.iter().map(String::as_str)) {
            format!("did you mean \"{name}\"?")
        } else {
            format!(
                "there are {}",
                crate::source::listed(siblings.iter().chain(own).copied())
            )
        };
        if parent.is_empty() {
            format!("\"{last}\" is not a setting; {hint}")
        } else {
            format!("\"{last}\" is not a setting of {parent}; {hint}")
        }
    }

    /// The settings, checked as a whole; `home` is where a problem is noted
    /// that no written setting is to blame for.
    pub(super) fn finish(self, home: &Range<usize>) -> Result<Config, Refused> {
        let config: Config = serde_json::from_value(self.values).map_err(|e| Refused {
            span: home.clone(),
            message: e.to_string(),
        })?;
        match config.check() {
            Ok(()) => Ok(config),
            Err(e) => Err(Refused {
                span: to_blame(&self.set, &e).unwrap_or_else(|| home.clone()),
                message: e.to_string(),
            }),
        }
    }
}

/// Where the setting stands that `error` is about: the field itself, else one
/// that the message names, else one of its group; the last that was written.
fn to_blame(set: &[(String, Range<usize>)], error: &ConfigError) -> Option<Range<usize>> {
    let group = error.field.split('.').next().unwrap_or(error.field);
    let last = |fits: &dyn Fn(&str) -> bool| {
        set.iter()
            .rev()
            .find(|(k, _)| fits(k))
            .map(|(_, span)| span.clone())
    };
    last(&|k| k == error.field)
        .or_else(|| last(&|k| error.problem.contains(k)))
        .or_else(|| last(&|k| k.split('.').next() == Some(group)))
}

fn pointer<'v>(value: &'v Value, place: &[String]) -> Option<&'v Value> {
    place.iter().try_fold(value, |v, key| v.get(key))
}

fn pointer_mut<'v>(value: &'v mut Value, place: &[String]) -> Option<&'v mut Value> {
    place.iter().try_fold(value, |v, key| v.get_mut(key))
}

/// All settings, as they are written: "rto.min".
fn keys(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let Value::Object(map) = value else {
        return found;
    };
    for (key, inner) in map {
        let below = keys(inner);
        if below.is_empty() {
            found.push(key.clone());
        }
        found.extend(below.into_iter().map(|rest| format!("{key}.{rest}")));
    }
    found
}

fn is_duration(kind: &Value) -> bool {
    kind.as_str().is_some_and(|s| parse_duration(s).is_ok())
}

/// The written value as the JSON that serde expects for a field like `kind`.
fn convert(item: &Item, kind: &Value, place: &[String]) -> Result<Value, String> {
    let found = || item.shown();
    match (&item.node, kind) {
        (Node::Text(s), _) if matches!(s.as_str(), "off" | "none") => Ok(Value::Null),
        (Node::Bool(false), Value::Object(_)) => Ok(Value::Null),
        (Node::Bool(true), Value::Object(_)) => Ok(kind.clone()),
        (Node::Text(s), Value::Object(_)) if s == "on" => Ok(kind.clone()),
        (_, Value::Object(_)) => Err(format!(
            "found {}, expected \"off\", \"on\" or its settings as a table",
            found()
        )),
        (Node::Text(s), Value::Number(n)) if n.is_u64() => {
            if let Ok(i) = s.replace('_', "").parse::<u64>() {
                return Ok(i.into());
            }
            match Size::parse(s) {
                Ok(Size(bytes)) if counts_bytes(place) => Ok(bytes.into()),
                _ if counts_bytes(place) => Err(format!(
                    "found {}, expected bytes, such as 65536 or \"64 KiB\"",
                    found()
                )),
                _ => Err(format!("found {}, expected a whole number", found())),
            }
        }
        (Node::Text(s), Value::Number(_)) => match s.parse::<f64>() {
            Ok(x) => Ok(x.into()),
            Err(_) => Err(format!("found {}, expected a number", found())),
        },
        (Node::Text(s), Value::Bool(_)) => match s.as_str() {
            "true" => Ok(true.into()),
            "false" => Ok(false.into()),
            _ => Err(format!("found {}, expected true or false", found())),
        },
        (Node::Text(s), Value::String(_)) if is_duration(kind) => {
            parse_duration(s)?;
            Ok(s.clone().into())
        }
        (Node::Integer(i), Value::String(_)) if is_duration(kind) => {
            parse_duration(&i.to_string())?;
            Ok(format!("{i}").into())
        }
        (Node::Text(s), Value::String(_)) => Ok(choice(s)),
        (Node::Integer(i), Value::Number(n)) if n.is_u64() => match u64::try_from(*i) {
            Ok(i) => Ok(i.into()),
            Err(_) => Err(format!("found {i}, expected a whole number, 0 or more")),
        },
        (Node::Table(table), Value::String(_)) => {
            plain(table).ok_or_else(|| format!("found {}", found()))
        }
        (Node::Integer(i), _) => Ok((*i).into()),
        (Node::Float(x), _) => Ok((*x).into()),
        (Node::Bool(b), _) => Ok((*b).into()),
        _ => Err(format!("found {}, expected a single value", found())),
    }
}

/// Every setting with its value in `config` and, where it is a choice, what
/// there is to choose from: one "key = value" a line, as a scenario takes it.
#[must_use]
pub fn setting_lines(config: &Config) -> String {
    let (values, template) = (json(config), json(&template()));
    let mut out = String::new();
    list(&values, &template, &template, &mut Vec::new(), &mut out);
    out
}

fn list(
    values: &Value,
    kinds: &Value,
    template: &Value,
    place: &mut Vec<String>,
    out: &mut String,
) {
    let Value::Object(kinds) = kinds else {
        return;
    };
    for (key, kind) in kinds {
        place.push(key.clone());
        let value = values.get(key).unwrap_or(&Value::Null);
        if kind.is_object() && value.is_object() {
            list(value, kind, template, place, out);
        } else {
            let mut choices = choices(template, place, kind);
            if kind.is_object() {
                choices = vec!["off".to_owned(), "on".to_owned()];
            }
            let remark = if choices.is_empty() {
                String::new()
            } else {
                format!("  # {}", choices.join(", "))
            };
            out.push_str(&format!(
                "{} = {}{remark}\n",
                place.join("."),
                written(value)
            ));
        }
        place.pop();
    }
}

/// A value as a scenario takes it.
fn written(value: &Value) -> String {
    match value {
        Value::Null => "\"off\"".to_owned(),
        Value::Object(map) => {
            let parts: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("{key} = {}", written(value)))
                .collect();
            format!("{{ {} }}", parts.join(", "))
        }
        other => other.to_string(),
    }
}

/// What a choice can be: serde lists it when it is asked for one there is not.
fn choices(template: &Value, place: &[String], kind: &Value) -> Vec<String> {
    if !kind.is_string() || is_duration(kind) {
        return Vec::new();
    }
    let mut asked = template.clone();
    if let Some(slot) = pointer_mut(&mut asked, place) {
        *slot = Value::String("?".to_owned());
    }
    match serde_json::from_value::<Config>(asked) {
        Ok(_) => Vec::new(),
        Err(e) => e
            .to_string()
            .split('`')
            .skip(1)
            .step_by(2)
            .skip(1)
            .map(str::to_owned)
            .collect(),
    }
}

/// Whether a number at `place` is one of bytes, which may be written "64 KiB".
fn counts_bytes(place: &[String]) -> bool {
    match place {
        [group, key] if group == "buffer" => key != "window_update_share",
        [.., key] => key == "pmtu" || key == "initial_ssthresh",
        [] => false,
    }
}

/// "Pmdcs(2)" is the choice Pmdcs with the number 2; other text stands for
/// itself.
fn choice(text: &str) -> Value {
    if let Some((name, rest)) = text.split_once('(')
        && let Some(number) = rest.strip_suffix(')')
        && let Ok(number) = number.trim().parse::<u64>()
    {
        let mut map = Map::new();
        map.insert(name.trim().to_owned(), number.into());
        return Value::Object(map);
    }
    Value::String(text.to_owned())
}

/// A table such as `{ Pmdcs = 2 }` or `{ Probing = { dmax = "10 s", n = 10 } }`.
fn plain(table: &Table) -> Option<Value> {
    let mut map = Map::new();
    for entry in &table.entries {
        let value = match &entry.value.node {
            Node::Integer(i) => (*i).into(),
            Node::Text(s) => s.clone().into(),
            Node::Bool(b) => (*b).into(),
            Node::Table(inner) => plain(inner)?,
            _ => return None,
        };
        map.insert(entry.key.clone(), value);
    }
    Some(Value::Object(map))
}

/// Says what would be right, from serde's message.
fn refusal(item: &Item, kind: &Value, message: &str) -> String {
    let found = item.shown();
    if matches!(&item.node, Node::Text(s) if s == "off" || s == "none") {
        return format!("found {found}, but this cannot be off");
    }
    if let Some((_, names)) = message.split_once("unknown variant") {
        let names: Vec<&str> = names.split('`').skip(1).step_by(2).skip(1).collect();
        let hint = match &item.node {
            Node::Text(s) => nearest(s, names.iter().copied())
                .map_or(String::new(), |n| format!("; did you mean \"{n}\"?")),
            _ => String::new(),
        };
        return format!(
            "found {found}, expected one of {}{hint}",
            crate::source::listed(names)
        );
    }
    if message.contains("unit variant") {
        return match &item.node {
            Node::Text(s) if !s.contains('(') => {
                format!("found {found}, which needs a number: \"{s}(2)\"")
            }
            _ => format!("found {found}, which takes no number: leave out the brackets"),
        };
    }
    match kind {
        Value::Bool(_) => format!("found {found}, expected true or false"),
        Value::Number(n) if n.is_f64() => format!("found {found}, expected a number"),
        Value::Number(_) if matches!(item.node, Node::Integer(_)) => {
            format!("found {found}, which is too large")
        }
        Value::Number(_) => format!("found {found}, expected a whole number"),
        _ if is_duration(kind) => format!("found {found}, expected a duration such as \"200 ms\""),
        _ => format!("found {found}: {message}"),
    }
}

/// One setting from the command line: `rto.min=100ms`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The setting, such as `rto.min`.
    pub key: String,
    /// Its value as it was written.
    pub value: String,
}

impl std::str::FromStr for Override {
    type Err = String;

    fn from_str(text: &str) -> Result<Override, String> {
        match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() && !value.trim().is_empty() => {
                Ok(Override {
                    key: key.trim().to_owned(),
                    value: value.trim().to_owned(),
                })
            }
            _ => Err(format!(
                "\"{text}\" is not a setting; write KEY=VALUE, such as rto.min=100ms"
            )),
        }
    }
}

/// Lays settings of the command line over `base`.
///
/// # Errors
/// One sentence for each setting that cannot be taken.
pub fn apply_overrides(base: &Config, overrides: &[Override]) -> Result<Config, Vec<String>> {
    let mut overlay = Overlay::new(base);
    let mut problems = Vec::new();
    for (i, setting) in overrides.iter().enumerate() {
        // The place of a setting is its number here.
        let mut item = Item::alone(&setting.value);
        item.span = i..i;
        let mut table = Table::default();
        for key in setting.key.rsplit('.') {
            let entry = crate::source::Entry {
                key: key.trim().to_owned(),
                key_span: i..i,
                value: item,
            };
            table = Table {
                entries: vec![entry],
            };
            item = Item {
                node: Node::Table(table.clone()),
                span: i..i,
            };
        }
        let mut refused = Vec::new();
        overlay.lay(&table, &[], &mut refused);
        problems.extend(
            refused
                .into_iter()
                .map(|r| format!("--set {}={}: {}", setting.key, setting.value, r.message)),
        );
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    overlay.finish(&(0..0)).map_err(|r| vec![r.message])
}
