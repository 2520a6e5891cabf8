//! For tests of what this machine may lack: here, in `tests/` and in those of the command.

use std::io::Write;

/// Says that a test, or a part of it, cannot run here. Where CI requires that all is run it fails.
#[track_caller]
pub(crate) fn skipped(why: &str) {
    let required = std::env::var_os("CI_REQUIRE").is_some_and(|all| all == "1");
    let _ = std::io::stderr().write_all(line(why, required).as_bytes());
}

/// In one piece, and written past the test runner, which keeps back what tests print that pass.
#[track_caller]
pub(crate) fn line(why: &str, required: bool) -> String {
    let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        !required,
        "skipped: {why}; CI_REQUIRE=1: nothing may be skipped"
    );
    let thread = std::thread::current();
    // Behind a line that the runner may have begun.
    format!("\nskipped: {}: {why}\n", thread.name().unwrap_or("a test"))
}
