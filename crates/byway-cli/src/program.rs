//! This build of the program, and what it found of an earlier one's work.

use crate::terminal::counted;
use byway_lab::engine::Resumed;

/// Identifies this build: its version, size and time.
pub(crate) fn program() -> String {
    let made = std::env::current_exe()
        .and_then(std::fs::metadata)
        .and_then(|m| Ok((m.len(), m.modified()?)))
        .ok()
        .and_then(|(len, time)| {
            let since = time.duration_since(std::time::UNIX_EPOCH).ok()?;
            Some(format!("{len} {}", since.as_nanos()))
        });
    format!(
        "byway {} {}",
        env!("CARGO_PKG_VERSION"),
        made.unwrap_or_default()
    )
}

/// What a file of finished runs held: a number of runs, and some bytes of one
/// that was being written.
pub(crate) fn going_on(found: Resumed) -> String {
    let mut words = format!("going on after {}", counted(found.runs, "run", "runs"));
    if found.torn > 0 {
        words.push_str(&format!(
            "; {} bytes of one that was cut short are dropped",
            found.torn
        ));
    }
    words
}
