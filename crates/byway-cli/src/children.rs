//! Programs that are run, and what they said if they fail.

use crate::failure::{Failure, Kind};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

/// Out of reach of Ctrl-C, which a terminal sends to byway and to all that it started: what removes a namespace goes on.
pub(crate) fn apart(command: &mut Command) -> &mut Command {
    command.process_group(0)
}

/// Runs a command to its end, also when Ctrl-C comes meanwhile.
///
/// # Errors
/// When it cannot be started or fails; the message has the last line that it said.
pub(crate) fn run(command: &mut Command) -> Result<(), Failure> {
    let words = words(command);
    let output = apart(command)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| Failure::new(Kind::Failed, format!("cannot run {words}: {e}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().last().unwrap_or("it says nothing");
    Err(Failure::new(
        Kind::Failed,
        format!("{words} failed ({}): {last}", output.status),
    ))
}

/// A command line, for messages.
fn words(command: &Command) -> String {
    let mut words = command.get_program().to_string_lossy().into_owned();
    for arg in command.get_args() {
        words.push(' ');
        words.push_str(&arg.to_string_lossy());
    }
    words
}

/// A child that does not outlive this.
pub(crate) struct Owned(pub(super) Child);

impl Owned {
    pub(crate) fn start(command: &mut Command) -> Result<Owned, Failure> {
        let child = command.spawn().map_err(|e| {
            Failure::new(Kind::Failed, format!("cannot run {}: {e}", words(command)))
        })?;
        Ok(Owned(child))
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
