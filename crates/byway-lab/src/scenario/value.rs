//! One written setting: into the form that serde takes, and what to say when it
//! is refused.

use crate::source::{Item, Node, Table, nearest};
use crate::units::{Size, parse_duration};
use serde_json::{Map, Value};

pub(super) fn is_duration(kind: &Value) -> bool {
    kind.as_str().is_some_and(|s| parse_duration(s).is_ok())
}

/// The written value as the JSON that serde expects for a field like `kind`.
pub(super) fn convert(item: &Item, kind: &Value, place: &[String]) -> Result<Value, String> {
    let found = || item.shown();
    match (&item.node, kind) {
        // A choice may itself have an "Off".
        (Node::Text(s), kind)
            if matches!(s.as_str(), "off" | "none") && (!kind.is_string() || is_duration(kind)) =>
        {
            Ok(Value::Null)
        }
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

/// Whether a number at `place` is one of bytes, which may be written "64 KiB".
pub(super) fn counts_bytes(place: &[String]) -> bool {
    match place {
        [group, key] if group == "buffer" => key != "window_update_share",
        [.., key] => key == "pmtu" || key == "initial_ssthresh",
        [] => false,
    }
}

/// "Pmdcs(2)" is the choice Pmdcs with the number 2; other text is
/// the choice itself.
pub(super) fn choice(text: &str) -> Value {
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
pub(super) fn plain(table: &Table) -> Option<Value> {
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
pub(super) fn refusal(item: &Item, kind: &Value, message: &str) -> String {
    let found = item.shown();
    if matches!(&item.node, Node::Text(s) if s == "off" || s == "none")
        && !message.contains("unknown variant")
    {
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
    if let Some((_, names)) = message.split_once("unknown field") {
        let names: Vec<&str> = names.split('`').skip(1).step_by(2).collect();
        if let [wrong, right @ ..] = names.as_slice() {
            let hint = nearest(wrong, right.iter().copied()).map_or_else(
                || format!("there are {}", crate::source::listed(right.iter().copied())),
                |name| format!("did you mean \"{name}\"?"),
            );
            return format!("\"{wrong}\" is not a setting of it; {hint}");
        }
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
