//! Lays written settings over a [`Config`] or [`Settings`], key by key.
//!
//! Each setting is tried alone, so that a wrong one is named with its place,
//! what was found and what would be right. Besides what TOML offers, a setting
//! that may be absent takes "off", sizes in bytes take "64 KiB", and a choice
//! with a number is written "Pmdcs(2)".

use super::value::{convert, refusal};
use crate::source::{Item, Node, Table, nearest};
use byway_core::Config;
use byway_core::config::{BufferTuning, ConcurrentConfig, ConfigError, PfConfig};
use byway_core::policy::scheme::{BadScheme, Scheme};
use byway_core::policy::{
    DeadData, Detection, EstimateConfig, MtuDiscovery, Pacing, ProbeTimeout, Rack, Revival, Trial,
};
use byway_dialect_ns2::Settings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::marker::PhantomData;
use std::ops::Range;

/// The setting that names a scheme; it has no field.
const SCHEME: [&str; 2] = ["retransmission", "scheme"];

/// Settings that have a text: those of the core alone, as sockets take them, or
/// those of the laboratory, which has ns-2's besides.
pub trait HasText: Clone + Serialize + DeserializeOwned {
    /// Every field with a value, so that its kind can be seen.
    fn template() -> Self;
    /// Checks all settings.
    ///
    /// # Errors
    /// Names the first that is wrong.
    fn check_all(&self) -> Result<(), ConfigError>;
    /// The core's settings.
    fn core(&self) -> &Config;
    /// The core's settings, to change.
    fn core_mut(&mut self) -> &mut Config;
}

impl HasText for Config {
    fn template() -> Config {
        let mut config = Config::default();
        config.failover.potentially_failed = Some(PfConfig::default());
        config.failover.probe_timeout = Some(ProbeTimeout::default());
        config.failover.revival = Some(Revival::default());
        config.mtu_discovery = Some(MtuDiscovery::default());
        config.retransmission.rack = Some(Rack::default());
        config.congestion.pacing = Some(Pacing::default());
        config.failover.trial = Some(Trial::default());
        config.failover.estimate = Some(EstimateConfig::default());
        config.failure.dead_data = Some(DeadData::default());
        config.failure.path_detection = vec![Detection::default()];
        config.concurrent = Some(ConcurrentConfig::default());
        config.buffer.tuning = Some(BufferTuning::default());
        config.congestion.initial_ssthresh = Some(1);
        config.congestion.max_burst = Some(1);
        config
    }

    fn check_all(&self) -> Result<(), ConfigError> {
        self.check()
    }

    fn core(&self) -> &Config {
        self
    }

    fn core_mut(&mut self) -> &mut Config {
        self
    }
}

impl HasText for Settings {
    fn template() -> Settings {
        let mut settings = Settings::from(Config::template());
        settings.ns2.cmt_coin = Some(0);
        settings
    }

    fn check_all(&self) -> Result<(), ConfigError> {
        self.check()
    }

    fn core(&self) -> &Config {
        &self.core
    }

    fn core_mut(&mut self) -> &mut Config {
        &mut self.core
    }
}

/// Settings being laid over a base.
pub(super) struct Overlay<S> {
    kind: PhantomData<S>,
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

pub(super) fn json(settings: &impl HasText) -> Value {
    // Strings, numbers and flags only: nothing that JSON cannot hold.
    serde_json::to_value(settings).unwrap_or_else(|e| unreachable!("settings are plain data: {e}"))
}

impl<S: HasText> Overlay<S> {
    pub(super) fn new(base: &S) -> Overlay<S> {
        Overlay {
            kind: PhantomData,
            values: json(base),
            template: json(&S::template()),
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
            if *place == SCHEME {
                if let Err(message) = self.set_scheme(&entry.value) {
                    refused.push(Refused {
                        span: entry.value.span.clone(),
                        message: format!("{}: {message}", place.join(".")),
                    });
                }
                place.pop();
                continue;
            }
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
                (Some(Value::Array(kinds)), _) => {
                    let kind = kinds.first().unwrap_or(&Value::Null);
                    if let Err((span, message)) = self.set_list(place, &entry.value, kind) {
                        let message = format!("{}: {message}", place.join("."));
                        refused.push(Refused { span, message });
                    }
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
        let value = self.with_defaults(place, convert(item, kind, place)?, |v| v);
        self.try_at(place, value.clone())
            .map_err(|e| refusal(item, kind, &e))?;
        let slot =
            pointer_mut(&mut self.values, place).ok_or("the group that it belongs to is off")?;
        *slot = value;
        self.set.push((place.join("."), item.span.clone()));
        Ok(())
    }

    /// A list holds a value of `kind` for each path; each is tried alone, and a
    /// refused one is named with its own place.
    fn set_list(
        &mut self,
        place: &[String],
        whole: &Item,
        kind: &Value,
    ) -> Result<(), (Range<usize>, String)> {
        let items: &[Item] = match &whole.node {
            Node::List(items) => items,
            Node::Text(s) if matches!(s.as_str(), "off" | "none") => &[],
            _ => {
                let message = format!(
                    "found {}, expected a list in the order of the paths, such as \
                     [{kind}, {kind}]",
                    whole.shown()
                );
                return Err((whole.span.clone(), message));
            }
        };
        let mut list = Vec::new();
        for (i, item) in items.iter().enumerate() {
            let wrong = |message| (item.span.clone(), format!("path {}: {message}", i + 1));
            let value = convert(item, kind, place).map_err(wrong)?;
            let value = self.with_defaults(place, value, |v| Value::Array(vec![v]));
            self.try_at(place, Value::Array(vec![value.clone()]))
                .map_err(|e| wrong(refusal(item, kind, &e)))?;
            list.push(value);
        }
        if let Some(slot) = pointer_mut(&mut self.values, place) {
            *slot = Value::Array(list);
        }
        self.set.push((place.join("."), whole.span.clone()));
        Ok(())
    }

    /// Whether the settings would be settings with `value` at `place`; if not,
    /// what is wrong with it.
    fn try_at(&self, place: &[String], value: Value) -> Result<S, String> {
        let mut asked = self.values.clone();
        if let Some(slot) = pointer_mut(&mut asked, place) {
            *slot = value;
        }
        serde_json::from_value(asked).map_err(|e| e.to_string())
    }

    /// The name of a scheme sets four settings.
    fn set_scheme(&mut self, item: &Item) -> Result<(), String> {
        let Node::Text(name) = &item.node else {
            return Err(format!(
                "{} is no scheme; write one such as \"FrSameRtoAlt+MFR\"",
                item.shown()
            ));
        };
        let scheme: Scheme = name.parse().map_err(|e: BadScheme| e.to_string())?;
        let mut config: S =
            serde_json::from_value(self.values.clone()).map_err(|e| e.to_string())?;
        scheme.apply(config.core_mut());
        self.values = json(&config);
        self.set.push((SCHEME.join("."), item.span.clone()));
        Ok(())
    }

    /// A choice that has settings may be written without them: it then
    /// gets their defaults. `wrap` puts it into a list where there is one.
    fn with_defaults(&self, place: &[String], value: Value, wrap: fn(Value) -> Value) -> Value {
        let Value::String(name) = &value else {
            return value;
        };
        let mut map = Map::new();
        map.insert(name.clone(), Value::Object(Map::new()));
        let Ok(config) = self.try_at(place, wrap(Value::Object(map))) else {
            return value;
        };
        match pointer(&json(&config), place) {
            Some(Value::Array(list)) => list.first().cloned().unwrap_or(value),
            Some(full) => full.clone(),
            None => value,
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
    pub(super) fn finish(self, home: &Range<usize>) -> Result<S, Refused> {
        let config: S = serde_json::from_value(self.values).map_err(|e| Refused {
            span: home.clone(),
            message: e.to_string(),
        })?;
        match config.check_all() {
            Ok(()) => Ok(config),
            Err(e) => Err(Refused {
                span: to_blame(&self.set, &e).unwrap_or_else(|| home.clone()),
                message: e.to_string(),
            }),
        }
    }
}

/// The place of the setting that `error` is about: the field itself, else one
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

pub(super) fn pointer_mut<'v>(value: &'v mut Value, place: &[String]) -> Option<&'v mut Value> {
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
