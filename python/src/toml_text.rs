//! Dictionaries as TOML text, so that the laboratory's own reader reads them and
//! says in its own words what is wrong. Each line knows the keys that it came from.

use crate::error::{Fault, Place};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyRange, PyString, PyTuple};
use std::fmt::Write as _;

/// Deeper is no scenario; a list that holds itself is deeper than anything.
const DEEPEST: usize = 16;
/// More would not be read by anybody; a range may say so many in few words.
const LONGEST: usize = 2_000_000;

/// A TOML text made from a dictionary.
#[derive(Clone, Debug, Default)]
pub(crate) struct TomlText {
    /// The text.
    pub(crate) text: String,
    /// The keys that each line came from: `path[0].rate`.
    pub(crate) places: Vec<String>,
}

impl TomlText {
    /// The head of a table, after an empty line.
    fn head(&mut self, place: &str, head: &str) {
        if !self.text.is_empty() {
            self.line("", "");
        }
        self.line(place, head);
    }

    fn line(&mut self, place: &str, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
        self.places.push(place.to_owned());
    }

    /// The keys that line `line` came from, counted from 1.
    pub(crate) fn place(&self, line: usize) -> Option<&str> {
        self.places
            .get(line.checked_sub(1)?)
            .map(String::as_str)
            .filter(|place| !place.is_empty())
    }
}

/// A value, as TOML has them.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// Text, numbers, true and false, as they are written in TOML.
    Plain(String),
    List(Vec<Value>),
    Table(Table),
}

/// A table, in the order in which it was given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table(pub(crate) Vec<(String, Value)>);

impl Table {
    /// Puts `key` at the end.
    pub(crate) fn put(&mut self, key: &str, value: Value) {
        self.0.push((key.to_owned(), value));
    }

    /// The table as text; top-level tables get headers, as people write them.
    pub(crate) fn text(&self) -> TomlText {
        let mut out = TomlText::default();
        let (mut plain, mut tables) = (Vec::new(), Vec::new());
        for (key, value) in &self.0 {
            match value {
                Value::Table(_) => tables.push((key, value)),
                Value::List(items) if is_tables(items) => tables.push((key, value)),
                _ => plain.push((key, value)),
            }
        }
        for (key, value) in plain {
            out.line(key, &format!("{} = {value}", quoted_key(key)));
        }
        for (key, value) in tables {
            let head = quoted_key(key);
            match value {
                Value::Table(table) => {
                    out.head(key, &format!("[{head}]"));
                    table.lines(key, "", key == "skip", &mut out);
                }
                Value::List(items) => {
                    for (i, item) in items.iter().enumerate() {
                        let place = format!("{key}[{i}]");
                        out.head(&place, &format!("[[{head}]]"));
                        if let Value::Table(table) = item {
                            table.lines(&place, "", key == "skip", &mut out);
                        }
                    }
                }
                Value::Plain(_) => {}
            }
        }
        out
    }

    fn lines(&self, place: &str, prefix: &str, flat: bool, out: &mut TomlText) {
        for (key, value) in &self.0 {
            let (place, key) = (
                format!("{place}.{key}"),
                format!("{prefix}{}", quoted_key(key)),
            );
            match value {
                Value::Table(table) if !table.0.is_empty() && !flat => {
                    table.lines(&place, &format!("{key}."), flat, out);
                }
                _ => out.line(&place, &format!("{key} = {value}")),
            }
        }
    }
}

fn is_tables(items: &[Value]) -> bool {
    !items.is_empty() && items.iter().all(|i| matches!(i, Value::Table(_)))
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Plain(text) => f.write_str(text),
            Value::List(items) => {
                f.write_char('[')?;
                for (i, item) in items.iter().enumerate() {
                    f.write_str(if i > 0 { ", " } else { "" })?;
                    item.fmt(f)?;
                }
                f.write_char(']')
            }
            Value::Table(table) => {
                f.write_char('{')?;
                for (i, (key, value)) in table.0.iter().enumerate() {
                    f.write_str(if i > 0 { ", " } else { " " })?;
                    write!(f, "{} = {value}", quoted_key(key))?;
                }
                f.write_str(" }")
            }
        }
    }
}

/// A key as TOML writes it.
fn quoted_key(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !key.is_empty() && key.chars().all(bare) {
        return key.to_owned();
    }
    quoted(key)
}

/// Text as TOML writes it, on one line.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\U{:08X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The dictionary `dict` as a table. A key with dots goes into the tables that it
/// names, as in TOML, except in tables whose keys are names (`[[skip]]`).
pub(crate) fn table(dict: &Bound<'_, PyAny>, place: &Place) -> Result<Table, Fault> {
    let mut faults = Vec::new();
    let table = read_table(dict, place, 0, &mut faults);
    if faults.is_empty() {
        return Ok(table);
    }
    Err(Fault(faults))
}

type Faults = Vec<(Place, String)>;

fn read_table(from: &Bound<'_, PyAny>, place: &Place, depth: usize, faults: &mut Faults) -> Table {
    let mut table = Table::default();
    let entries: PyResult<Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)>> = match from.cast::<PyDict>() {
        Ok(dict) => Ok(dict.iter().collect()),
        Err(_) => from
            .call_method0("items")
            .and_then(|items| items.try_iter()?.map(|pair| pair?.extract()).collect()),
    };
    let Ok(entries) = entries else {
        let what = kind(from);
        faults.push((
            place.clone(),
            format!("found {what}, expected a dictionary"),
        ));
        return table;
    };
    for (key, value) in entries {
        let key = match key
            .cast::<PyString>()
            .map(|k| k.to_str().map(str::to_owned))
        {
            Ok(Ok(key)) => key,
            Ok(Err(_)) => {
                let why = "a key is not Unicode text (it has half of a surrogate pair)";
                faults.push((place.clone(), why.to_owned()));
                continue;
            }
            Err(_) => {
                let why = format!("found {} as a key, expected text", kind(&key));
                faults.push((place.clone(), why));
                continue;
            }
        };
        let names = place.holds_names();
        let below = place.key(&key);
        let Some(value) = read_value(&value, &below, depth + 1, faults) else {
            continue;
        };
        let parts: Vec<&str> = match names {
            true => vec![&key],
            false => key.split('.').map(str::trim).collect(),
        };
        if !lay(&mut table, &parts, value) {
            let why = "is given twice; keep one of them".to_owned();
            faults.push((below, why));
        }
    }
    table
}

/// Puts `value` where `parts` lead, and says whether the place was free.
fn lay(table: &mut Table, parts: &[&str], value: Value) -> bool {
    let Some((first, rest)) = parts.split_first() else {
        return false;
    };
    let Some(at) = table.0.iter().position(|(k, _)| k == first) else {
        let mut value = value;
        for part in rest.iter().rev() {
            value = Value::Table(Table(vec![((*part).to_owned(), value)]));
        }
        table.put(first, value);
        return true;
    };
    match (&mut table.0[at].1, value) {
        (Value::Table(inner), value) if !rest.is_empty() => lay(inner, rest, value),
        (Value::Table(inner), Value::Table(more)) => more
            .0
            .into_iter()
            .all(|(key, value)| lay(inner, &[&key], value)),
        _ => false,
    }
}

fn read_value(
    from: &Bound<'_, PyAny>,
    place: &Place,
    depth: usize,
    faults: &mut Faults,
) -> Option<Value> {
    if depth > DEEPEST {
        let why = format!("tables and lists are nested too deeply; at most {DEEPEST}");
        faults.push((place.clone(), why));
        return None;
    }
    if let Some(plain) = plain(from, place, faults) {
        return plain.map(Value::Plain);
    }
    // Arrays and numbers of numpy.
    if let Ok(true) = from.hasattr("tolist")
        && let Ok(inner) = from.call_method0("tolist")
    {
        return read_value(&inner, place, depth + 1, faults);
    }
    let is_list = from.is_instance_of::<PyList>()
        || from.is_instance_of::<PyTuple>()
        || from.is_instance_of::<PyRange>();
    if is_list {
        let length = from.len().unwrap_or(usize::MAX);
        if length > LONGEST {
            let why = format!("found a list of {length}, expected at most {LONGEST}");
            faults.push((place.clone(), why));
            return None;
        }
        let mut list = Vec::with_capacity(length);
        for (i, item) in from.try_iter().ok()?.enumerate() {
            list.extend(read_value(&item.ok()?, &place.item(i), depth + 1, faults));
        }
        return Some(Value::List(list));
    }
    if from.is_instance_of::<PyDict>() || from.hasattr("items").unwrap_or(false) {
        return Some(Value::Table(read_table(from, place, depth, faults)));
    }
    let why = format!(
        "found {}, expected text, a number, true or false, a list or a dictionary",
        kind(from)
    );
    faults.push((place.clone(), why));
    None
}

/// Text, numbers, true and false; `Some(None)` for a wrong one.
fn plain(from: &Bound<'_, PyAny>, place: &Place, faults: &mut Faults) -> Option<Option<String>> {
    let mut wrong = |why: &str| {
        faults.push((place.clone(), why.to_owned()));
        Some(None)
    };
    if let Ok(text) = from.cast::<PyString>() {
        return match text.to_str() {
            Ok(text) => Some(Some(quoted(text))),
            Err(_) => wrong("is not Unicode text (it has half of a surrogate pair)"),
        };
    }
    if let Ok(yes) = from.cast::<PyBool>() {
        return Some(Some(yes.is_true().to_string()));
    }
    if let Ok(number) = from.cast::<PyInt>() {
        return match number.extract::<i64>() {
            Ok(number) => Some(Some(number.to_string())),
            Err(_) => wrong("found a number beyond 64 bits"),
        };
    }
    if let Ok(number) = from.cast::<PyFloat>() {
        let number = number.extract::<f64>().ok()?;
        return Some(Some(match number {
            n if n.is_nan() => "nan".to_owned(),
            n if n.is_infinite() && n > 0.0 => "inf".to_owned(),
            n if n.is_infinite() => "-inf".to_owned(),
            // With its point or its power, so that it stays a float.
            n => format!("{n:?}"),
        }));
    }
    None
}

/// What something is, for messages: "a set", "None".
pub(crate) fn kind(of: &Bound<'_, PyAny>) -> String {
    if of.is_none() {
        return "None".to_owned();
    }
    match of.get_type().name() {
        Ok(name) => {
            let name = name.to_string();
            let an = name.starts_with(['a', 'e', 'i', 'o', 'u', 'A', 'E', 'I', 'O', 'U']);
            format!("{} {name}", if an { "an" } else { "a" })
        }
        Err(_) => "something".to_owned(),
    }
}
