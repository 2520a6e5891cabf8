//! What goes to the terminal: text, its width and colour, and the progress of long runs.

use crate::failure::{Failure, Kind};
use byway_lab::terminal::Terminal;
use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A run that takes longer shows its progress.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);
/// Characters in a line if the terminal does not say.
const DEFAULT_WIDTH: usize = 80;

/// Writes to standard output; a reader that has gone (`| head`) is no error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::new(
            Kind::Failed,
            format!("cannot write to standard output: {e}"),
        )),
        _ => Ok(()),
    }
}

/// Whether a program reads standard error: then each line is JSON.
static JSON: AtomicBool = AtomicBool::new(false);

/// From now on each line on standard error is a JSON object (`--json`).
pub(crate) fn speak_json() {
    JSON.store(true, Ordering::Relaxed);
}

/// Writes a line to standard error; for a program as `{"schema":"byway.note/1","note":LINE}`.
pub(crate) fn say(line: impl Display) {
    let text = line.to_string();
    crate::net::note(&text);
    say_alone(text);
}

/// [`say`], and not in the log.
fn say_alone(text: impl Display) {
    let text = text.to_string();
    if JSON.load(Ordering::Relaxed) {
        say_json(&serde_json::json!({"schema": "byway.note/1", "note": text}));
    } else {
        say_part(&format!("{text}\n"));
    }
}

/// Writes a JSON object to standard error, as a line.
pub(crate) fn say_json(value: &serde_json::Value) {
    say_part(&format!("{value}\n"));
}

/// Where the library's log goes: to standard error, each event as a line.
pub(crate) struct LogLines;

impl Write for LogLines {
    fn write(&mut self, event: &[u8]) -> std::io::Result<usize> {
        say_alone(String::from_utf8_lossy(event).trim_end());
        Ok(event.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Writes to standard error. Where that fails (a full disk, a reader that has gone) there is nobody
/// to tell, and the work goes on: strangers can make it fail, by what they cause to be logged.
pub(crate) fn say_part(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Writes a value to standard output as JSON.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|e| Failure::new(Kind::Failed, format!("cannot write JSON: {e}")))?;
    print(&format!("{text}\n"))
}

pub(crate) fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// Width and colour of standard output.
pub(crate) fn terminal() -> Terminal {
    let terminal = std::io::stdout().is_terminal();
    // https://no-color.org: any value that is not empty.
    let plain = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    let width = match Term::stdout().size_checked() {
        Some((_, columns)) if terminal => usize::from(columns),
        _ => DEFAULT_WIDTH,
    };
    Terminal {
        width,
        colour: terminal && !plain,
    }
}

/// A bar of `length` steps that is not shown yet.
pub(crate) fn hidden_bar(length: Option<u64>, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::hidden());
    bar.set_style(ProgressStyle::with_template(template).map_or_else(
        |_| ProgressStyle::default_bar(),
        |style| style.progress_chars("=> "),
    ));
    bar
}
