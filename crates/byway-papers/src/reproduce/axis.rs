//! What the axes of a study change in its scenario.

use super::cells::{Place, Value};
use byway_lab::scenario::{LossSpec, Override, PathSpec, Scenario, Traffic, apply_overrides};
use byway_lab::units::{Rate, Share, Size};
use std::time::Duration;

/// Bytes of a timestamp chunk (caro-2004 section II.B).
const TIMESTAMP_BYTES: u64 = 12;

/// The scenario of a place of a study, with the one policy that is run.
///
/// # Errors
/// When an axis or its value is not known.
pub(super) fn scenario_at(base: &Scenario, place: &Place) -> Result<Scenario, String> {
    let mut scenario = base.clone();
    for (axis, value) in place {
        apply(&mut scenario, axis, value).map_err(|why| format!("{axis} = {value}: {why}"))?;
    }
    // Last, as it shapes the losses that the other axes set.
    if let Some(mean) = place.get("bursts") {
        lose_in_bursts(&mut scenario, number(mean)?);
    }
    scenario.policies.truncate(1);
    make_room_for_timestamps(&mut scenario);
    Ok(scenario)
}

/// Messages fill a packet, of which a timestamp takes its part.
fn make_room_for_timestamps(scenario: &mut Scenario) {
    let timed = scenario.policies.iter().any(|p| p.config.rto.timestamps);
    if let (true, Traffic::Bulk { message, .. }) = (timed, &mut scenario.traffic) {
        message.0 = message.0.saturating_sub(TIMESTAMP_BYTES).max(1);
    }
}

/// Random losses come in bursts of so many packets on average, as many in the
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
        "policy" => {
            let name = value.to_string();
            scenario.policies.retain(|p| p.name == name);
            if scenario.policies.is_empty() {
                return Err("the scenario has no policy of that name".to_owned());
            }
            Ok(())
        }
        "bursts" => number(value).map(|_| ()),
        "size" => size(scenario, number(value)?),
        "loss1" | "loss2" | "loss3" => {
            let share = Share(number(value)? / 100.0);
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
        "rtt1" | "rtt2" | "rtt3" => {
            let one_way = seconds(number(value)? / 2000.0)?;
            let path = path(scenario, axis)?;
            (path.forward.delay, path.reverse.delay) = (one_way, one_way);
            Ok(())
        }
        "load1" | "load2" => {
            let rate = Rate((number(value)? * 1e6) as u64);
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
        key if key.contains('.') => set(scenario, key, &value.to_string()),
        _ => Err("no such axis".to_owned()),
    }
}

fn number(value: &Value) -> Result<f64, String> {
    value.number().ok_or_else(|| "not a number".to_owned())
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
    fn an_axis_changes_all_the_cross_traffic_there_is() {
        let cross = "[[cross]]\npath = 2\nrate = \"1 Mbit/s\"\nshape = \"pareto\"\n";
        let text = format!(
            "[traffic]\nkind = \"bulk\"\nsize = \"1 MB\"\n{}{cross}{cross}",
            "[[path]]\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\n".repeat(2)
        );
        let base = Scenario::parse("t", &text).unwrap_or_else(|e| panic!("{e}"));
        let place = |axis: &str| Place::from([(axis.to_owned(), Value::Number(1.5))]);
        let changed = scenario_at(&base, &place("cross_bursts")).unwrap();
        let long = Duration::from_millis(1500);
        assert!(changed.cross.iter().all(|c| c.bursts == long));
        let changed = scenario_at(&base, &place("load2")).unwrap();
        assert!(changed.cross.iter().all(|c| c.rate == Rate(1_500_000)));

        let negative = Place::from([("cross_bursts".to_owned(), Value::Number(-1.0))]);
        let e = scenario_at(&base, &negative).unwrap_err();
        assert_eq!(e, "cross_bursts = -1: no length of time");

        let mut none = base;
        none.cross.clear();
        let e = scenario_at(&none, &place("cross_bursts")).unwrap_err();
        assert_eq!(e, "cross_bursts = 1.5: no cross traffic");
    }
}
