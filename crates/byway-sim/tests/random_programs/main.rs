//! Random programs: two endpoints do anything to each other over any network,
//! and what the core promises must hold.
//!
//! - A message is delivered at most once, whole, and in order within its stream.
//! - All are delivered unless a failure was reported: the association lost or
//!   restarted, or an endpoint replaced.
//! - Running totals agree with their parts after every step.
//! - After every step, whatever an association has to do waits for a timer that runs, on a
//!   path that there is (`Endpoint::check_progress`).
//! - The run ends, and the same program gives the same packets, events and
//!   observations again.
//!
//! `PROPTEST_CASES` sets the number of programs. A failure that a long campaign
//! finds becomes a small test in `regressions`.

mod book;
mod program;
mod regressions;
mod run;
mod settings;

use program::Program;
use proptest::prelude::*;

/// Programs a test run, unless `PROPTEST_CASES` says otherwise.
const CASES: u32 = 200;

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(CASES)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(),
        max_shrink_iters: 4000,
        max_shrink_time: 60_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Without changes of addresses (RFC 5061), which the two tests below have.
    #[test]
    fn every_message_arrives_once_whole_and_in_order_or_a_failure_is_reported(
        program in program::any_program().prop_map(Program::without_changes_of_addresses)
    ) {
        let first = run::run(&program);
        prop_assert_eq!(first, run::run(&program), "the same program ran differently");
    }

    #[test]
    fn on_a_calm_network_nothing_is_lost(
        program in program::calm_program().prop_map(Program::without_changes_of_addresses)
    ) {
        let outcome = run::run(&program);
        let calm = outcome.failures.is_empty() && outcome.missing == 0;
        prop_assert!(calm, "a failure was reported: {:?}", outcome);
    }

    #[test]
    fn with_changes_of_addresses_every_message_arrives_or_a_failure_is_reported(
        program in program::any_program()
    ) {
        let first = run::run(&program);
        prop_assert_eq!(first, run::run(&program), "the same program ran differently");
    }

    #[test]
    fn with_changes_of_addresses_nothing_is_lost_on_a_calm_network(
        program in program::calm_program()
    ) {
        let outcome = run::run(&program);
        let calm = outcome.failures.is_empty() && outcome.missing == 0;
        prop_assert!(calm, "a failure was reported: {:?}", outcome);
    }
}
