//! Single runs of a study: its scenario at a place.

use super::cells::Place;
use super::study::{Effort, StudySpec};
use byway_lab::axis::Base;
use byway_lab::result::RunResult;
use byway_lab::run::{RunOptions, one};
use byway_lab::scenario::{Scenario, Traffic};

/// Bytes of a timestamp chunk (caro-2004 section II.B).
const TIMESTAMP_BYTES: u64 = 12;

/// The scenario of a place of a study, with the one policy that is run.
///
/// # Errors
/// When an axis or its value is not known.
pub(super) fn scenario_at(base: &Base, place: &Place) -> Result<Scenario, String> {
    let axes = place.iter().map(|(axis, value)| (axis.as_str(), value));
    let mut scenario = base.at(axes)?;
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

/// Single runs of a study, with all that happened in them.
pub struct Runs<'a> {
    pub(super) base: &'a Base,
    pub(super) study: &'a StudySpec,
    pub(super) effort: Effort,
}

impl Runs<'_> {
    /// The run at a place with a seed; axes that the place does not name take
    /// their first value.
    ///
    /// # Errors
    /// When it cannot be run.
    pub fn at(&self, place: &Place, seed: u64) -> Result<RunResult, String> {
        let scenario = self.scenario(place, seed)?;
        one(&scenario, 0, RunOptions::default()).map_err(|e| e.to_string())
    }

    /// The scenario of that run.
    ///
    /// # Errors
    /// When an axis or its value is not known.
    pub(super) fn scenario(&self, place: &Place, seed: u64) -> Result<Scenario, String> {
        let mut whole = Place::new();
        for (name, axis) in &self.study.axes {
            if let Some(first) = axis.values(self.effort).first() {
                whole.insert(name.clone(), first.clone());
            }
        }
        whole.extend(place.clone());
        let mut scenario = scenario_at(self.base, &whole)?;
        scenario.seed = seed;
        Ok(scenario)
    }
}
