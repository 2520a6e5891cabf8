//! Scenarios in which ns-2 itself is at fault, with the reason.

/// Scenario and reason.
const EXCUSES: &[(&str, &str)] = &[];

/// Why a scenario may differ.
#[must_use]
pub fn of(scenario: &str) -> Option<&'static str> {
    EXCUSES
        .iter()
        .find(|(name, _)| *name == scenario)
        .map(|(_, why)| *why)
}
