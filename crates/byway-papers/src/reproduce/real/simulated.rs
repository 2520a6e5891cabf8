//! The same experiment in the simulator.

use super::UNPLUGGED_AFTER_S;
use super::record::{Arrival, Flow};
use crate::reproduce::papers::built_in;
use byway_lab::run::{RunOptions, one};
use byway_lab::scenario::Scenario;
use byway_lab::series::seconds;

/// What the receiver sees of a policy of the scenario `experiments/cortes-2008/unplugged.toml`.
///
/// # Errors
/// When the scenario has no such policy, or cannot be run.
pub fn simulated(policy: &str) -> Result<Flow, String> {
    let scenario = scenario()?;
    let at = scenario
        .policies
        .iter()
        .position(|p| p.name == policy)
        .ok_or_else(|| format!("unplugged.toml has no policy \"{policy}\""))?;
    let run = one(&scenario, at, RunOptions::default()).map_err(|e| e.to_string())?;
    let received = run.series.received.points().iter();
    let arrivals = received.map(|&(nanos, tsn)| Arrival {
        after_s: seconds(nanos) - UNPLUGGED_AFTER_S,
        messages: tsn as u32 + 1,
    });
    Ok(Flow {
        arrivals: arrivals.collect(),
        uncertain_s: 0.0,
    })
}

fn scenario() -> Result<Scenario, String> {
    let folders = built_in();
    let text = folders
        .iter()
        .find(|f| f.id == "cortes-2008")
        .and_then(|f| f.text("unplugged.toml"))
        .ok_or("cortes-2008/unplugged.toml is not built in")?;
    Scenario::parse("experiments/cortes-2008/unplugged.toml", text).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::{DECOUPLED, STANDARD};
    use super::*;
    use byway_dialect_ns2::Settings;
    use byway_lab::scenario::{Override, apply_overrides};

    #[test]
    fn real_and_simulated_hosts_have_the_same_settings() {
        let scenario = scenario().unwrap();
        for (name, (preset, set)) in [("standard", STANDARD), ("decoupled", DECOUPLED)] {
            let policy = scenario.policies.iter().find(|p| p.name == name).unwrap();
            let set = set.iter().map(|&(key, value)| Override {
                key: key.to_owned(),
                value: value.to_owned(),
            });
            let set: Vec<Override> = set.collect();
            let config = apply_overrides(&Settings::preset(preset).unwrap(), &set).unwrap();
            assert_eq!(config, policy.config, "{name}");
        }
    }

    #[test]
    fn the_simulated_times_are_those_of_figure_2() {
        let time = |policy| simulated(policy).unwrap().to_first_delivery().unwrap();
        assert!((63.0..64.0).contains(&time("standard")));
        assert!((11.0..11.5).contains(&time("decoupled")));
        assert!(simulated("no such policy").is_err());
    }
}
