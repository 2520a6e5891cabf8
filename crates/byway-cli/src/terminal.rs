//! What goes to the terminal: text, its width and colour, and the progress of long runs.

use crate::failure::{Failure, Kind};
use byway_lab::terminal::Terminal;
use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

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
    say_part(&as_line(&text.to_string()));
}

/// The line for a person or a program.
fn as_line(text: &str) -> String {
    if JSON.load(Ordering::Relaxed) {
        let note = serde_json::json!({"schema": "byway.note/1", "note": text});
        format!("{note}\n")
    } else {
        format!("{text}\n")
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
    let Some(beside) = BESIDE.get() else {
        return write(text);
    };
    match beside.try_send(Said::Text(text.to_owned())) {
        Ok(()) => {}
        Err(TrySendError::Full(_)) => {
            LEFT_OUT.fetch_add(1, Ordering::Relaxed);
        }
        Err(TrySendError::Disconnected(_)) => write(text),
    }
}

fn write(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Lines that wait for their reader at most. What strangers say in one is cut where it is read.
const LINES: usize = 1024;

/// How long the end of the process waits for these lines to be written, and for a reader that takes none.
const LAST: Duration = Duration::from_secs(2);
const STUCK: Duration = Duration::from_millis(300);

/// Where a thread of its own writes to standard error.
static BESIDE: OnceLock<SyncSender<Said>> = OnceLock::new();

/// Lines that found no room.
static LEFT_OUT: AtomicU64 = AtomicU64::new(0);

/// Whether that thread writes, and how often it has.
static WRITING: AtomicBool = AtomicBool::new(false);
static WRITTEN: AtomicU64 = AtomicU64::new(0);

enum Said {
    Text(String),
    /// Answers when all before it is written.
    All(SyncSender<()>),
}

/// From now on nobody waits for who reads standard error: a pager or a log may stand still, and what strangers cause
/// to be logged would fill the pipe to it. Lines that find no room are left out, and counted.
pub(crate) fn say_beside() {
    BESIDE.get_or_init(|| {
        let (queue, given) = sync_channel(LINES);
        let thread = std::thread::Builder::new().name("byway-lines".to_owned());
        // Without a thread the queue has no end, and each line is written at once.
        let _ = thread.spawn(move || given.into_iter().for_each(say_one));
        queue
    });
}

fn say_one(said: Said) {
    match said {
        Said::Text(text) => write_and_tell(&text),
        // Nobody may wait for it any more.
        Said::All(done) => {
            let _ = done.send(());
        }
    }
    let left_out = LEFT_OUT.swap(0, Ordering::Relaxed);
    if left_out > 0 {
        let words = format!("byway: {left_out} lines left out, which nobody read in time");
        write_and_tell(&as_line(&words));
    }
}

fn write_and_tell(text: &str) {
    WRITING.store(true, Ordering::Relaxed);
    write(text);
    WRITTEN.fetch_add(1, Ordering::Relaxed);
    WRITING.store(false, Ordering::Relaxed);
}

/// Waits until all is written, unless nobody reads it. A thread that only waits for a processor is waited for.
pub(crate) fn finish_saying() {
    const PAUSE: Duration = Duration::from_millis(5);
    let Some(beside) = BESIDE.get() else {
        return;
    };
    let (done, all) = sync_channel(1);
    let mut asks = Some(Said::All(done));
    let begun = Instant::now();
    let (mut written, mut since) = (WRITTEN.load(Ordering::Relaxed), begun);
    loop {
        if let Some(ask) = asks.take() {
            match beside.try_send(ask) {
                Ok(()) => {}
                Err(TrySendError::Full(back)) => asks = Some(back),
                Err(TrySendError::Disconnected(_)) => return,
            }
        }
        match all.recv_timeout(PAUSE) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
        }
        let now = Instant::now();
        let count = WRITTEN.load(Ordering::Relaxed);
        if count != written {
            (written, since) = (count, now);
        }
        let stuck = WRITING.load(Ordering::Relaxed) && now.duration_since(since) > STUCK;
        if stuck || now.duration_since(begun) > LAST {
            return;
        }
    }
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
