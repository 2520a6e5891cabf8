//! What a command with sockets leaves behind: packets (`--pcap`), a page (`--report`), a log (`--log`).
//!
//! `writer` writes files beside the transfer, `capture` the packets, `secrets` those of TLS, `journal` the
//! log. `story` gathers what happens to associations. Without these options nothing of this runs.

mod args;
mod capture;
mod journal;
mod secrets;
mod story;
mod writer;

pub(crate) use args::RecordArgs;
use journal::LogTo;
pub(crate) use journal::{FromLibrary, note};
pub(in crate::net) use secrets::{keep, logged, of_session};

use crate::failure::Failure;
use crate::terminal::say;
use byway::{EndpointOptions, Event, Passing, Watcher};
use byway_core::observe::Observed;
use byway_core::time::Instant as CoreTime;
use byway_core::{AssocId, Endpoint};
use byway_lab::transfer::{Transfer, html};
use capture::Capture;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use story::Story;
use writer::Written;

/// What a command leaves behind; nothing, if nothing is asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    command: String,
    begun: Instant,
    quiet: bool,
    /// None without --report and --log.
    story: Option<Mutex<Story>>,
    capture: Option<(PathBuf, Capture)>,
    report: Option<PathBuf>,
    log: Option<LogTo>,
    /// When it began, for people.
    day: String,
    /// Endpoints so far.
    endpoints: AtomicU32,
    /// Held while files are completed. Whether they are.
    finished: Mutex<bool>,
}

impl Record {
    /// Opens the files: what cannot be written is said before anything is sent.
    pub(crate) fn begin(command: &str, args: &RecordArgs, quiet: bool) -> Result<Record, Failure> {
        if args.is_empty() {
            return Ok(Record::default());
        }
        let command = format!("byway {command}");
        if let Some(to) = &args.log {
            journal::begin(to)?;
        }
        if let Some(path) = &args.pcap_secrets {
            secrets::begin(path)?;
        }
        let capture = match &args.pcap {
            Some(path) => Some((path.clone(), Capture::begin(path, &command)?)),
            None => None,
        };
        if let Some(path) = &args.report {
            // What is there stays until there is a new one.
            let opened = std::fs::File::options()
                .create(true)
                .append(true)
                .open(path);
            opened.map_err(|e| Failure::file("write the report to", path, &e))?;
        }
        let draws = args.report.is_some();
        let watched = draws || args.log.is_some();
        Ok(Record(Some(Arc::new(Inner {
            command,
            begun: Instant::now(),
            quiet,
            story: watched.then(|| Mutex::new(Story::new(draws))),
            capture,
            report: args.report.clone(),
            log: args.log.clone(),
            day: chrono::Utc::now().format("%F %T UTC").to_string(),
            endpoints: AtomicU32::new(0),
            finished: Mutex::new(false),
        }))))
    }

    /// The options of an endpoint that is recorded.
    pub(super) fn watches(&self, mut options: EndpointOptions) -> EndpointOptions {
        if let Some(inner) = self
            .0
            .as_ref()
            .filter(|i| i.capture.is_some() || i.story.is_some())
        {
            options.watcher = Some(Arc::new(Watching {
                number: inner.endpoints.fetch_add(1, Ordering::Relaxed),
                base: inner.begun.elapsed().as_nanos() as u64,
                inner: inner.clone(),
            }));
        }
        options
    }

    /// Whether there is a log.
    pub(crate) fn logs(&self) -> bool {
        self.0.as_ref().is_some_and(|inner| inner.log.is_some())
    }

    /// Whether that is standard error.
    pub(crate) fn logs_on_screen(&self) -> bool {
        let log = self.0.as_ref().and_then(|inner| inner.log.as_ref());
        log.is_some_and(LogTo::is_on_screen)
    }

    /// Completes the files; whoever comes first does, and the others wait for it.
    pub(crate) fn finish(&self, failure: Option<&Failure>) {
        let Some(inner) = &self.0 else { return };
        let mut finished = lock(&inner.finished);
        if !std::mem::replace(&mut *finished, true) {
            inner.finish(failure);
        }
    }
}

impl Inner {
    fn finish(&self, failure: Option<&Failure>) {
        let failure = failure.map(|f| byway::text::shown(&crate::secrets::hidden(&f.message)));
        if let Some(story) = &self.story {
            let took = self.begun.elapsed();
            let (associations, left_out) = lock(story).finish(took.as_nanos() as u64);
            if let Some(path) = &self.report {
                let transfer = Transfer {
                    command: self.command.clone(),
                    begun: self.day.clone(),
                    length_s: took.as_secs_f64(),
                    failure: failure.clone(),
                    associations,
                    left_out,
                };
                match std::fs::write(path, html(&transfer)) {
                    Ok(()) => self.say(&format!("report: {}", path.display())),
                    Err(e) => say(format_args!(
                        "warning: {}",
                        Failure::file("write the report to", path, &e)
                    )),
                }
            }
        }
        if let Some((path, capture)) = &self.capture {
            self.account("--pcap", "packets", Some(path), capture.finish());
        }
        if self.log.is_some()
            && let Some(journal) = journal::journal()
        {
            journal.end(&self.command, failure.as_deref());
            self.account("--log", "lines", None, journal.finish());
        }
    }

    /// Tells how much was written, and always what was not.
    fn account(&self, option: &str, what: &str, path: Option<&PathBuf>, written: Option<Written>) {
        let Some(written) = written else {
            say(format_args!(
                "warning: {option}: the disk was too slow, and the end is missing"
            ));
            return;
        };
        if written.dropped > 0 {
            say(format_args!(
                "warning: {option}: {} {what} left out, which came faster than they could be written",
                written.dropped
            ));
        }
        if written.refused > 0 {
            say(format_args!(
                "warning: {option}: {} {what} left out, which could not be written",
                written.refused
            ));
        }
        if let Some(path) = path {
            self.say(&format!(
                "capture: {}, {} {what}",
                path.display(),
                written.written
            ));
        }
    }

    fn say(&self, line: &str) {
        if !self.quiet {
            say(line);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One endpoint of a command.
#[derive(Debug)]
struct Watching {
    inner: Arc<Inner>,
    number: u32,
    /// When it began, nanoseconds after the command.
    base: u64,
}

impl Watcher for Watching {
    fn wants_packets(&self) -> bool {
        self.inner.capture.is_some()
    }

    fn packet(&self, passing: Passing<'_>) {
        if let Some((_, capture)) = &self.inner.capture {
            capture.packet(&passing);
        }
    }

    fn wants_observations(&self) -> bool {
        self.inner.story.is_some()
    }

    fn observed(&self, observed: &[Observed], core: &Endpoint) {
        if let Some(story) = &self.inner.story {
            lock(story).observed((self.number, self.base), observed, core);
        }
    }

    fn event(&self, at: CoreTime, association: AssocId, event: &Event, core: &Endpoint) {
        if let Some(story) = &self.inner.story {
            lock(story).event((self.number, self.base), at, association, event, core);
        }
    }
}
