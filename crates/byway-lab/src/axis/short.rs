//! Short names for what the papers vary. Their values are plain numbers.

use super::value::Value;
use crate::scenario::{LossSpec, Override, PathSpec, Scenario, Traffic, apply_overrides};
use crate::units::{Rate, Share, Size};
use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

/// The short names, with what they set; N counts paths from 1.
pub const NAMES: &[(&str, &str)] = &[
    ("lossN", "random loss on path N both ways, percent"),
    (
        "alternates",
        "random loss on all paths but the first, percent",
    ),
    (
        "bursts",
        "packets that are lost together on average, on all paths with random loss",
    ),
    ("rttN", "round trip of path N without queues, milliseconds"),
    ("loadN", "rate of each cross traffic on path N, Mbit/s"),
    (
        "cross_bursts",
        "bursts and pauses of cross traffic on average, seconds",
    ),
    ("size", "file to transfer, MiB"),
    ("fail", "when the first event happens, seconds"),
    ("pmr", "Path.Max.Retrans"),
    (
        "cpt",
        "when the failover becomes permanent: Cpt(n) of caro-2006",
    ),
    ("dormant", "where data goes while all paths are inactive"),
    ("buffer", "receive buffer, KiB"),
];

/// A short name with its value.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) name: String,
    pub(crate) value: Value,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.name, self.value)
    }
}

impl Setting {
    /// Changes the scenario.
    pub(super) fn apply(&self, scenario: &mut Scenario) -> Result<(), String> {
        apply(scenario, &self.name, &self.value)
    }
}

/// Whether `key` is a short name.
#[must_use]
pub fn is_name(key: &str) -> bool {
    let base = key.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_of_path = base.len() < key.len();
    NAMES.iter().any(|(name, _)| match name.strip_suffix('N') {
        Some(of_path) => is_of_path && base == of_path,
        None => key == *name,
    })
}

/// Does what must come last, as it shapes the losses that others set.
pub(super) fn finish<'a>(
    settings: impl Iterator<Item = &'a Setting>,
    scenario: &mut Scenario,
) -> Result<(), String> {
    match settings.filter(|s| s.name == "bursts").last() {
        Some(bursts) => {
            lose_in_bursts(scenario, number(&bursts.value)?);
            Ok(())
        }
        None => Ok(()),
    }
}

/// Random losses come in bursts of `mean` packets on average, as many in the
/// long run (Gilbert-Elliott); with 1 they stay as they are.
fn lose_in_bursts(scenario: &mut Scenario, mean: f64) {
    let links = scenario.paths.iter_mut();
    for link in links.flat_map(|p| [&mut p.forward, &mut p.reverse]) {
        if let LossSpec::Random(Share(rate)) = link.loss
            && mean > 1.0
            && rate > 0.0
        {
            link.loss = LossSpec::Burst {
                to_bad: Share(rate / mean / (1.0 - rate)),
                to_good: Share(1.0 / mean),
                good: Share(0.0),
                bad: Share(1.0),
            };
        }
    }
}

fn apply(scenario: &mut Scenario, axis: &str, value: &Value) -> Result<(), String> {
    match axis {
        "bursts" => within(value, 1.0..=1e6, "packets").map(|_| ()),
        "size" => size(scenario, within(value, 1e-6..=1e9, "MiB")?),
        _ if axis.starts_with("loss") => {
            let share = Share(within(value, 0.0..=100.0, "percent")? / 100.0);
            let path = path(scenario, axis)?;
            for link in [&mut path.forward, &mut path.reverse] {
                link.loss = LossSpec::Random(share);
            }
            Ok(())
        }
        "alternates" => {
            let others = scenario.paths.len();
            (2..=others).try_for_each(|n| apply(scenario, &format!("loss{n}"), value))
        }
        _ if axis.starts_with("rtt") => {
            let one_way = seconds(number(value)? / 2000.0)?;
            let path = path(scenario, axis)?;
            (path.forward.delay, path.reverse.delay) = (one_way, one_way);
            Ok(())
        }
        _ if axis.starts_with("load") => {
            let rate = Rate((within(value, 0.0..=1e6, "Mbit/s")? * 1e6) as u64);
            let at = index(axis)?;
            let mut found = scenario
                .cross
                .iter_mut()
                .filter(|c| c.path == at)
                .peekable();
            found.peek().ok_or("no cross traffic on that path")?;
            found.for_each(|c| c.rate = rate);
            Ok(())
        }
        "cross_bursts" => {
            let mean = seconds(number(value)?)?;
            scenario.cross.first().ok_or("no cross traffic")?;
            scenario.cross.iter_mut().for_each(|c| c.bursts = mean);
            Ok(())
        }
        "fail" => {
            let at = seconds(number(value)?)?;
            let event = scenario.events.first_mut().ok_or("nothing fails")?;
            event.at = at;
            Ok(())
        }
        "pmr" => set(scenario, "failure.path_max_retrans", &value.to_string()),
        "cpt" => {
            let switch = match value {
                Value::Number(n) => format!("Cpt({n})"),
                Value::Text(text) => text.clone(),
            };
            set(scenario, "failover.primary_switch", &switch)
        }
        "dormant" => set(scenario, "failover.dormant", &value.to_string()),
        "buffer" => set(scenario, "buffer.receive", &format!("{value} KiB")),
        _ => Err("no such short name".to_owned()),
    }
}

fn number(value: &Value) -> Result<f64, String> {
    value.number().ok_or_else(|| "not a number".to_owned())
}

fn within(value: &Value, range: RangeInclusive<f64>, unit: &str) -> Result<f64, String> {
    let found = number(value)?;
    if range.contains(&found) {
        return Ok(found);
    }
    let (least, most) = range.into_inner();
    Err(format!("expected {least} to {most} {unit}"))
}

fn seconds(number: f64) -> Result<Duration, String> {
    Duration::try_from_secs_f64(number).map_err(|_| "no length of time".to_owned())
}

/// The path that the last character of an axis counts from 1.
fn index(axis: &str) -> Result<usize, String> {
    let digit = axis.chars().last().and_then(|c| c.to_digit(10));
    match digit {
        Some(n @ 1..) => Ok(n as usize - 1),
        _ => Err("no path number".to_owned()),
    }
}

fn path<'a>(scenario: &'a mut Scenario, axis: &str) -> Result<&'a mut PathSpec, String> {
    let at = index(axis)?;
    scenario
        .paths
        .get_mut(at)
        .ok_or_else(|| "the scenario has no such path".to_owned())
}

/// Mebibytes to transfer.
fn size(scenario: &mut Scenario, mebibytes: f64) -> Result<(), String> {
    match &mut scenario.traffic {
        Traffic::Bulk { size, .. } => {
            *size = Size((mebibytes * 1_048_576.0) as u64);
            Ok(())
        }
        Traffic::Periodic { .. } => Err("not a file".to_owned()),
    }
}

/// A setting of every policy.
fn set(scenario: &mut Scenario, key: &str, value: &str) -> Result<(), String> {
    let setting = Override {
        key: key.to_owned(),
        value: value.to_owned(),
    };
    for policy in &mut scenario.policies {
        policy.config = apply_overrides(&policy.config, std::slice::from_ref(&setting))
            .map_err(|problems| problems.join("; "))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_keys() {
        for name in [
            "loss1",
            "rtt2",
            "load1",
            "alternates",
            "pmr",
            "cross_bursts",
        ] {
            assert!(is_name(name), "{name}");
        }
        for key in ["loss", "rto.min", "path.1.loss", "pmr1", "policy", "preset"] {
            assert!(!is_name(key), "{key}");
        }
    }
}
