//! A value of an axis: a coordinate of a cell.

use crate::source::{Item, Node};
use serde::Deserialize;
use std::fmt;

/// A coordinate of a cell.
#[derive(Clone, Debug, PartialEq, PartialOrd, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A number, such as a loss rate in percent.
    Number(f64),
    /// A name, such as a policy's.
    Text(String),
}

impl Value {
    /// The number, if it is one.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Number(x) => Some(*x),
            Value::Text(_) => None,
        }
    }

    /// From a field of a table.
    #[must_use]
    pub fn read(text: &str) -> Value {
        text.parse()
            .map_or_else(|_| Value::Text(text.to_owned()), Value::Number)
    }

    /// Of a number or a text in a file.
    pub(super) fn of_item(item: &Item) -> Option<Value> {
        match &item.node {
            Node::Integer(n) => Some(Value::Number(*n as f64)),
            Node::Float(x) => Some(Value::Number(*x)),
            Node::Text(text) => Some(Value::read(text)),
            _ => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(x) => write!(f, "{x}"),
            Value::Text(text) => f.write_str(text),
        }
    }
}
