//! Runs programs and measures their time.

use anyhow::{Context, Result, bail, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, kill};
use nix::sys::time::TimeValLike;
use nix::unistd::Pid;
use serde_json::Value;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// No program of a measurement runs longer than this.
const LIMIT_SECONDS: u64 = 300;

/// What a program cost, and the last line of JSON that it printed, if any.
pub(crate) struct Finished {
    /// User and system time of the process and its children.
    pub(crate) cpu: Duration,
    /// Time that passed.
    pub(crate) wall: Duration,
    /// Last line of standard output that is a JSON object.
    pub(crate) line: Option<Value>,
}

impl Finished {
    /// A number of the program's line of JSON.
    pub(crate) fn number(&self, field: &str) -> Result<f64> {
        number(self.line.as_ref(), field)
    }
}

/// The number called `field` in `line`.
pub(crate) fn number(line: Option<&Value>, field: &str) -> Result<f64> {
    let line = line.context("the program printed no line of JSON")?;
    line.get(field)
        .and_then(Value::as_f64)
        .with_context(|| format!("no number '{field}' in {line}"))
}

/// `program` under a time limit; its arguments follow.
pub(crate) fn limited(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new("timeout");
    command
        .arg(LIMIT_SECONDS.to_string())
        .arg(program)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit());
    command
}

/// Runs a program to its end, [`limited`] or not: here it has the same limit. No other child may
/// end meanwhile: the time is taken from the sum over all children that were waited for, so that of
/// a limited program includes a millisecond or two of `timeout`.
pub(crate) fn run_to_end(command: &mut Command) -> Result<Finished> {
    let (began, before) = (Instant::now(), children_cpu()?);
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {}", name_of(command)))?;
    let pid = Pid::from_raw(i32::try_from(child.id()).context("the number of a process")?);
    let (ended, wait_for_end) = mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        let limit = Duration::from_secs(LIMIT_SECONDS);
        let too_long = wait_for_end.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
        if too_long {
            // It may have ended just now.
            let _ = kill(pid, Signal::SIGKILL);
        }
        too_long
    });
    let output = child.wait_with_output();
    let (wall, cpu) = (began.elapsed(), children_cpu()?.saturating_sub(before));
    drop(ended);
    let too_long = watch.join().unwrap_or(false);
    let output = output.with_context(|| format!("{} is lost", name_of(command)))?;
    ensure!(
        !too_long,
        "{} took longer than {LIMIT_SECONDS} s",
        name_of(command)
    );
    if !output.status.success() {
        let messages = String::from_utf8_lossy(&output.stderr);
        bail!(
            "{} ended with {}: {}",
            name_of(command),
            output.status,
            first_line(&messages)
        );
    }
    Ok(Finished {
        cpu,
        wall,
        line: last_json(&String::from_utf8_lossy(&output.stdout)),
    })
}

fn first_line(messages: &str) -> &str {
    let mut lines = messages.lines().map(str::trim);
    lines.find(|l| !l.is_empty()).unwrap_or("no message")
}

/// Asks a child of [`limited`] to end. Not by `Child::kill`: that would end the time limit and
/// leave its program behind.
pub(crate) fn stop(child: &Child) {
    if let Ok(pid) = i32::try_from(child.id()) {
        // It may have ended by itself.
        let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
    }
}

/// Runs a program whose output is of no interest, and shows it if it fails.
pub(crate) fn run_quietly(command: &mut Command) -> Result<()> {
    let name = name_of(command);
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {name}"))?;
    ensure!(
        output.status.success(),
        "{name} ended with {}:\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

/// Runs a program for what it prints; its first message is the error if it fails.
pub(crate) fn output_of(command: &mut Command) -> Result<String> {
    let name = name_of(command);
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {name}"))?;
    let messages = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{name} ended with {}: {}",
        output.status,
        first_line(&messages)
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The last line of `text` that is a JSON object.
pub(crate) fn last_json(text: &str) -> Option<Value> {
    text.lines()
        .rev()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find(Value::is_object)
}

/// Processor time, user and system, of all children that were waited for.
pub(crate) fn children_cpu() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).context("getrusage")?;
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(Duration::from_micros(
        u64::try_from(micros).context("negative CPU time")?,
    ))
}

/// The program and its first word, as an error shows it.
fn name_of(command: &Command) -> String {
    let limited = command.get_program() == "timeout";
    let mut words = command.get_args().skip(usize::from(limited));
    let program = match limited {
        true => words.next().unwrap_or_default(),
        false => command.get_program(),
    };
    let program = std::path::Path::new(program);
    let program = program.file_name().unwrap_or_default().to_string_lossy();
    match words.next() {
        Some(word) => format!("{program} {}", word.to_string_lossy()),
        None => program.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_object_counts() {
        let text = "{\"ready\":true}\n{\"n\":2}\ntext\n3\n";
        assert_eq!(last_json(text), Some(serde_json::json!({"n": 2})));
        assert_eq!(last_json("text"), None);
    }

    #[test]
    fn a_program_is_run_to_its_end() {
        let shell = |script: &str| run_to_end(Command::new("sh").args(["-c", script]));
        let finished = shell("echo '{\"n\": 3}'").unwrap();
        assert_eq!(finished.number("n").unwrap(), 3.0);
        let error = shell("echo a reason >&2; exit 2").err().unwrap();
        assert!(error.to_string().contains("a reason"), "{error:#}");
    }

    #[test]
    fn errors_name_the_program_behind_the_limit() {
        let mut command = limited("/some/where/byway-bench");
        command.arg("core").arg("--message");
        assert_eq!(name_of(&command), "byway-bench core");
    }
}
