//! What goes to the terminal: text, its width and colour, and the progress of long runs.

use crate::failure::{Failure, Kind};
use byway_lab::terminal::Terminal;
use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use std::fmt::Display;
use std::io::{IsTerminal, Write};
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

/// Writes a line to standard error.
pub(crate) fn say(line: impl Display) {
    say_part(&format!("{line}\n"));
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
