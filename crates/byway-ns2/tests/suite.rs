//! The scenarios in `experiments/ns2-suite` match ns-2 packet by packet.

use byway_ns2::suite::{self, Binds, Outcome};
use std::path::Path;

/// Scenarios of a folder that bind: so many, and all match.
fn check(folder: &str, scenarios: usize) {
    let experiments = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/ns2-suite");
    let mut matched = 0;
    for entry in suite::list(&experiments.join(folder)).unwrap() {
        if entry.binds == Binds::No {
            continue;
        }
        let outcome = entry.outcome();
        let Outcome::Matched(comparison) = outcome else {
            panic!("{}: {outcome:?}", entry.name);
        };
        assert!(comparison.rows > 70, "{} is empty", entry.name);
        matched += 1;
    }
    assert_eq!(matched, scenarios);
}

#[test]
fn byway_matches_ns2_with_rfc_2960_windows() {
    check("rfc2960", 39);
}

#[test]
fn byway_matches_ns2_with_rfc_4960_windows() {
    check("rfc4960", 39);
}

#[test]
fn byway_matches_ns2_in_random_scenarios_with_many_losses() {
    check("random", 19);
}

#[test]
fn byway_matches_ns2_to_the_end_of_lossy_transfers() {
    check("transfers", 10);
}
