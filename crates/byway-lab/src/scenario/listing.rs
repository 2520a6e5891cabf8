//! Every setting, as a scenario takes it.

use super::settings::{HasText, json, pointer_mut};
use super::value::is_duration;
use byway_core::policy::Scheme;
use serde_json::Value;

/// Every setting with its value in `config` and, where it is a choice, what
/// there is to choose from: one "key = value" a line, as a scenario takes it.
/// The settings of something that is off are comments, with the values that they
/// have when it is switched on.
#[must_use]
pub fn setting_lines<S: HasText>(config: &S) -> String {
    let template = json(&S::template());
    let mut out = format!(
        "{SCHEME} = {}  # sets target, fast_retransmits, after_rto and rto.timestamps: {}\n",
        scheme(config),
        Scheme::PAPER.join(", ")
    );
    each(config, &template, &mut |setting| {
        let mut remark = setting.remark::<S>(&template);
        if !setting.is_on {
            remark.insert_str(
                0,
                if remark.is_empty() {
                    "when on"
                } else {
                    "when on; "
                },
            );
            out.push_str("# ");
        }
        out.push_str(&setting.line());
        if !remark.is_empty() {
            out.push_str("  # ");
            out.push_str(&remark);
        }
        out.push('\n');
    });
    out
}

/// A setting, for programs.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct ListedSetting {
    /// Its name, as `--set` takes it.
    pub key: String,
    /// Its value, as `--set` and a scenario take it.
    pub value: Value,
    /// Whether what it belongs to is on. If not, `value` is the one that it has when that is switched on.
    pub on: bool,
    /// What there is to choose from; empty if it is no choice.
    pub choices: Vec<String>,
}

/// The same as [`setting_lines`], for programs.
#[must_use]
pub fn setting_list<S: HasText>(config: &S) -> Vec<ListedSetting> {
    let template = json(&S::template());
    let mut list = vec![ListedSetting {
        key: SCHEME.to_owned(),
        value: scheme_name(config).into(),
        on: true,
        choices: Scheme::PAPER.iter().map(ToString::to_string).collect(),
    }];
    each(config, &template, &mut |setting| {
        list.push(ListedSetting {
            key: setting.place.join("."),
            value: match setting.value {
                Value::Null => "off".into(),
                value => value.clone(),
            },
            on: setting.is_on,
            choices: setting.choices::<S>(&template),
        });
    });
    list
}

/// What `config` sets, without any remark: what is off has no settings.
pub(super) fn bare_lines<S: HasText>(config: &S) -> String {
    let mut out = format!("{SCHEME} = {}\n", scheme(config));
    each(config, &json(&S::template()), &mut |setting| {
        if setting.is_on {
            out.push_str(&setting.line());
            out.push('\n');
        }
    });
    out
}

/// The setting that names a scheme, which has no field.
const SCHEME: &str = "retransmission.scheme";

fn scheme(config: &impl HasText) -> String {
    format!("\"{}\"", scheme_name(config))
}

fn scheme_name(config: &impl HasText) -> String {
    let scheme = Scheme::of(config.core());
    let forced = scheme.senseless().map_or("", |_| "+forced");
    format!("{scheme}{forced}")
}

/// A setting at its place.
struct Setting<'a> {
    place: &'a [String],
    value: &'a Value,
    /// A value of its kind, for a setting that is off and has none.
    kind: &'a Value,
    /// Whether what it belongs to is on; else `value` is what it would be then.
    is_on: bool,
}

impl Setting<'_> {
    fn line(&self) -> String {
        format!("{} = {}", self.place.join("."), written(self.value))
    }

    /// What there is to choose from; empty if it is no choice.
    fn choices<S: HasText>(&self, template: &Value) -> Vec<String> {
        match self.kind {
            Value::Object(_) => vec!["off".to_owned(), "on".to_owned()],
            kind => choices::<S>(template, self.place, kind),
        }
    }

    /// The same in words; nothing when that is plain.
    fn remark<S: HasText>(&self, template: &Value) -> String {
        let choices = self.choices::<S>(template).join(", ");
        match self.kind {
            Value::Array(_) => format!("a list, one for each path: {choices}"),
            Value::Number(_) if takes::<S>(template, self.place, Value::Null) => {
                "a number, or off".to_owned()
            }
            _ => choices,
        }
    }
}

/// Shows every setting of `config` to `see`, in the order of its fields.
fn each(config: &impl HasText, template: &Value, see: &mut dyn FnMut(&Setting<'_>)) {
    below(&json(config), template, true, &mut Vec::new(), see);
}

fn below(
    values: &Value,
    kinds: &Value,
    is_on: bool,
    place: &mut Vec<String>,
    see: &mut dyn FnMut(&Setting<'_>),
) {
    let Value::Object(kinds) = kinds else {
        return;
    };
    for (key, kind) in kinds {
        place.push(key.clone());
        let value = values.get(key).unwrap_or(&Value::Null);
        if !(kind.is_object() && value.is_object()) {
            see(&Setting {
                place,
                value,
                kind,
                is_on,
            });
        }
        if kind.is_object() {
            // What is off has no values: switched on, it gets those of its kind.
            let (values, is_on) = match value {
                Value::Null => (kind, false),
                value => (value, is_on),
            };
            below(values, kind, is_on, place, see);
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

/// What a choice can be: serde lists it in the error of an unknown choice.
fn choices<S: HasText>(template: &Value, place: &[String], kind: &Value) -> Vec<String> {
    let nonsense = Value::String("?".to_owned());
    let nonsense = match kind {
        Value::String(_) if !is_duration(kind) => nonsense,
        Value::Array(_) => Value::Array(vec![nonsense]),
        _ => return Vec::new(),
    };
    match with::<S>(template, place, nonsense) {
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

/// Whether a setting may have this value.
fn takes<S: HasText>(template: &Value, place: &[String], value: Value) -> bool {
    with::<S>(template, place, value).is_ok()
}

fn with<S: HasText>(template: &Value, place: &[String], value: Value) -> serde_json::Result<S> {
    let mut asked = template.clone();
    if let Some(slot) = pointer_mut(&mut asked, place) {
        *slot = value;
    }
    serde_json::from_value(asked)
}
