//! Every setting, as a scenario takes it.

use super::settings::{json, pointer_mut, template};
use super::value::is_duration;
use byway_core::Config;
use byway_core::policy::Scheme;
use serde_json::Value;

/// Every setting with its value in `config` and, where it is a choice, what
/// there is to choose from: one "key = value" a line, as a scenario takes it.
#[must_use]
pub fn setting_lines(config: &Config) -> String {
    let (values, template) = (json(config), json(&template()));
    let mut out = String::new();
    let scheme = Scheme::of(config);
    let forced = scheme.senseless().map_or("", |_| "+forced");
    out.push_str(&format!(
        "retransmission.scheme = \"{scheme}{forced}\"  # stands for target, fast_retransmits, \
         after_rto and rto.timestamps: {}\n",
        Scheme::PAPER.join(", ")
    ));
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
            } else if kind.is_array() {
                format!("  # a list, one for each path: {}", choices.join(", "))
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
        Value::Array(list) => {
            let parts: Vec<String> = list.iter().map(written).collect();
            format!("[{}]", parts.join(", "))
        }
        other => other.to_string(),
    }
}

/// What a choice can be: serde lists it when it is asked for one there is not.
fn choices(template: &Value, place: &[String], kind: &Value) -> Vec<String> {
    let nonsense = Value::String("?".to_owned());
    let nonsense = match kind {
        Value::String(_) if !is_duration(kind) => nonsense,
        Value::Array(_) => Value::Array(vec![nonsense]),
        _ => return Vec::new(),
    };
    let mut asked = template.clone();
    if let Some(slot) = pointer_mut(&mut asked, place) {
        *slot = nonsense;
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
