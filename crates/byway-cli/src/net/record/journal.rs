//! `--log`: what happens to associations and paths, a line each, and what is said besides.
//!
//! Strangers decide how much happens, so the lines have a rate, as those of [`log`](crate::net::log).

use super::writer::{Sink, Writer, Written};
use crate::failure::Failure;
use crate::net::rate::Rate;
use byway::shown_address;
use byway::text::shown;
use chrono::{DateTime, Datelike, Timelike};
use serde_json::{Map, Value};
use std::fmt::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Instant, SystemTime};
use tracing::field::{Field, Visit};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// Lines: so many at once, and so many in each [`PACE`](crate::net::rate::PACE).
const AT_ONCE: u32 = 200;
const MORE: u32 = 50;

/// How it is written.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Form {
    Text,
    Json,
}

/// The value of `--log`: `text` or `json`, and perhaps `:FILE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogTo {
    form: Form,
    /// None for standard error.
    file: Option<PathBuf>,
}

impl LogTo {
    /// Reads --log.
    pub(crate) fn parse(text: &str) -> Result<LogTo, String> {
        let (form, file) = match text.split_once(':') {
            Some((form, file)) => (form, Some(file)),
            None => (text, None),
        };
        let form = match form {
            "text" => Form::Text,
            "json" => Form::Json,
            _ => return Err("text or json, and for a file text:FILE or json:FILE".to_owned()),
        };
        match file {
            Some("") => {
                Err("no file after the colon; leave the colon out for standard error".to_owned())
            }
            file => Ok(LogTo {
                form,
                file: file.map(PathBuf::from),
            }),
        }
    }

    /// Whether it goes to standard error.
    pub(crate) fn is_on_screen(&self) -> bool {
        self.file.is_none()
    }
}

/// A line of the log.
#[derive(Debug, Default)]
pub(super) struct Line<'a> {
    /// What kind of thing happened, a word for programs.
    pub(super) event: &'static str,
    pub(super) association: Option<u32>,
    pub(super) path: Option<(SocketAddr, SocketAddr)>,
    /// The state before and now.
    pub(super) before: Option<&'static str>,
    pub(super) state: Option<&'static str>,
    pub(super) cause: &'a str,
    /// In words.
    pub(super) text: &'a str,
    /// What else is known of it.
    pub(super) fields: Map<String, Value>,
}

/// The log of a command.
#[derive(Debug)]
pub(super) struct Journal {
    form: Form,
    on_screen: bool,
    writer: Writer<String>,
    rate: Mutex<Rate>,
}

/// A command has one.
static JOURNAL: OnceLock<Journal> = OnceLock::new();

/// The log of this command, if it is kept.
pub(super) fn journal() -> Option<&'static Journal> {
    JOURNAL.get()
}

/// From now on there is one. One that is there is added to.
pub(super) fn begin(to: &LogTo) -> Result<(), Failure> {
    let sink = match &to.file {
        Some(path) => Sink::file("--log", path, true)?,
        None => Sink::StandardError,
    };
    let encode = |line: String, out: &mut Vec<u8>| out.extend_from_slice(line.as_bytes());
    // A command begins once.
    let _ = JOURNAL.set(Journal {
        form: to.form,
        on_screen: to.is_on_screen(),
        writer: Writer::start(sink, b"", encode)?,
        rate: Mutex::new(Rate::new(AT_ONCE, MORE, Instant::now())),
    });
    Ok(())
}

impl Journal {
    /// Writes a line, unless there were too many.
    pub(super) fn write(&self, line: &Line<'_>) {
        let left_out = {
            let mut rate = self.rate.lock().unwrap_or_else(PoisonError::into_inner);
            if !rate.may(Instant::now()) {
                return;
            }
            rate.take_left_out()
        };
        if left_out > 0 {
            self.put(&left_out_line(left_out));
        }
        self.put(line);
    }

    fn put(&self, line: &Line<'_>) {
        let line = line.encode(self.form, SystemTime::now());
        let bytes = line.len() + 64;
        self.writer.give(line, bytes);
    }

    /// The command ends.
    pub(super) fn end(&self, command: &str, failure: Option<&str>) {
        self.put(&Line {
            event: if failure.is_some() { "failed" } else { "done" },
            text: command,
            cause: failure.unwrap_or(""),
            ..Line::default()
        });
    }

    /// Writes what waits.
    pub(super) fn finish(&self) -> Option<Written> {
        let left_out = {
            let mut rate = self.rate.lock().unwrap_or_else(PoisonError::into_inner);
            rate.take_left_out()
        };
        if left_out > 0 {
            self.put(&left_out_line(left_out));
        }
        self.writer.finish()
    }
}

fn left_out_line(count: u64) -> Line<'static> {
    Line {
        event: "left_out",
        text: "lines left out, because there were too many",
        fields: Map::from_iter([("count".to_owned(), count.into())]),
        ..Line::default()
    }
}

impl Line<'_> {
    fn encode(&self, form: Form, now: SystemTime) -> String {
        match form {
            Form::Text => self.text(now),
            Form::Json => self.json(now),
        }
    }

    /// `TIME EVENT association N, LOCAL -> REMOTE: BEFORE -> STATE: CAUSE; TEXT; NAME=VALUE`, of which
    /// what there is.
    fn text(&self, now: SystemTime) -> String {
        let mut out = format!("{} {}", time(now), self.event);
        let mut place = Vec::new();
        place.extend(self.association.map(|n| format!("association {n}")));
        place.extend(self.path.map(|(local, remote)| {
            format!("{} -> {}", shown_address(local), shown_address(remote))
        }));
        if !place.is_empty() {
            let _ = write!(out, " {}", place.join(", "));
        }
        let mut parts = Vec::new();
        match (self.before, self.state) {
            (Some(before), Some(state)) => parts.push(format!("{before} -> {state}")),
            (None, Some(state)) => parts.push(state.to_owned()),
            _ => {}
        }
        for part in [self.text, self.cause] {
            if !part.is_empty() {
                parts.push(shown(part));
            }
        }
        for (name, value) in &self.fields {
            let value = match value {
                Value::String(text) => shown(text),
                other => other.to_string(),
            };
            parts.push(format!("{name}={value}"));
        }
        if !parts.is_empty() {
            let _ = write!(out, ": {}", parts.join("; "));
        }
        out.push('\n');
        out
    }

    fn json(&self, now: SystemTime) -> String {
        // In this order, for people who read it all the same.
        let mut all = Vec::new();
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                all.push(format!("{}:{value}", Value::from(name)));
            }
        };
        let words = |text: &str| (!text.is_empty()).then(|| shown(text).into());
        put("time", Some(time(now).into()));
        put("event", Some(self.event.into()));
        put("association", self.association.map(Value::from));
        put("local", self.path.map(|p| shown_address(p.0).into()));
        put("remote", self.path.map(|p| shown_address(p.1).into()));
        put("before", self.before.map(Value::from));
        put("state", self.state.map(Value::from));
        put("cause", words(self.cause));
        put("text", words(self.text));
        for (name, value) in &self.fields {
            let value = match value {
                Value::String(text) => shown(text).into(),
                other => other.clone(),
            };
            put(name, Some(value));
        }
        format!("{{{}}}\n", all.join(","))
    }
}

/// RFC 3339, UTC, microseconds.
fn time(at: SystemTime) -> String {
    let since = at
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let at = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    let at = DateTime::from_timestamp(at, since.subsec_nanos()).unwrap_or_default();
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z",
        at.year(),
        at.month(),
        at.day(),
        at.hour(),
        at.minute(),
        at.second(),
        since.subsec_micros(),
    )
}

/// What is told on standard error, which may quote the other side.
pub(crate) fn note(text: &str) {
    if let Some(journal) = journal().filter(|journal| !journal.on_screen) {
        journal.write(&Line {
            event: "note",
            text: &crate::secrets::hidden(text),
            ..Line::default()
        });
    }
}

/// Takes the log of the library, as far as `--log` does not tell it better.
#[derive(Debug)]
pub(crate) struct FromLibrary;

impl<S: tracing::Subscriber> Layer<S> for FromLibrary {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        let Some(journal) = journal() else { return };
        let meta = event.metadata();
        // What happens to associations is told with its path and its cause.
        if *meta.level() > tracing::Level::INFO || meta.fields().field("association").is_some() {
            return;
        }
        let mut seen = Seen::default();
        event.record(&mut seen);
        let level = meta.level().as_str().to_lowercase();
        seen.fields.insert("level".to_owned(), level.into());
        journal.write(&Line {
            event: "library",
            text: &seen.message,
            fields: seen.fields,
            ..Line::default()
        });
    }
}

#[derive(Default)]
struct Seen {
    message: String,
    fields: Map<String, Value>,
}

impl Seen {
    fn put(&mut self, field: &Field, value: Value) {
        self.fields.insert(field.name().to_owned(), value);
    }
}

impl Visit for Seen {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let text = format!("{value:?}");
        match field.name() {
            "message" => self.message = text,
            _ => self.put(field, text.into()),
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => self.message = value.to_owned(),
            _ => self.put(field, value.into()),
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::rate::PACE;
    use std::time::Duration;

    fn line() -> Line<'static> {
        Line {
            event: "path_changed",
            association: Some(3),
            path: Some((
                "10.0.0.1:40000".parse().unwrap(),
                "10.0.0.2:9899".parse().unwrap(),
            )),
            before: Some("active"),
            state: Some("potentially failed"),
            cause: "T3-rtx expired\u{1b}[2J\nfalse line \u{202e}",
            text: "",
            fields: Map::from_iter([("errors".to_owned(), 1.into())]),
        }
    }

    fn at() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_micros(1_764_132_747_000_123)
    }

    #[test]
    fn a_line_of_text_has_all_and_steers_no_terminal() {
        assert_eq!(
            line().encode(Form::Text, at()),
            "2025-11-26T04:52:27.000123Z path_changed association 3, 10.0.0.1:40000 -> 10.0.0.2:9899: \
             active -> potentially failed; T3-rtx expired\\u{1b}[2J\\nfalse line \\u{202e}; errors=1\n"
        );
    }

    #[test]
    fn a_line_of_json_is_one_object() {
        let text = line().encode(Form::Json, at());
        assert_eq!(text.matches('\n').count(), 1);
        let value: Value = serde_json::from_str(&text).unwrap();
        let expected = serde_json::json!({
            "time": "2025-11-26T04:52:27.000123Z",
            "event": "path_changed",
            "association": 3,
            "local": "10.0.0.1:40000",
            "remote": "10.0.0.2:9899",
            "before": "active",
            "state": "potentially failed",
            "cause": "T3-rtx expired\\u{1b}[2J\\nfalse line \\u{202e}",
            "errors": 1,
        });
        assert_eq!(value, expected);
    }

    #[test]
    fn lines_have_a_rate() {
        let now = Instant::now();
        let mut rate = Rate::new(AT_ONCE, MORE, now);
        let mut written = |at| (0..1000).filter(|_| rate.may(at)).count();
        assert_eq!(written(now), AT_ONCE as usize);
        assert_eq!(written(now + PACE), MORE as usize);
        assert_eq!(rate.take_left_out(), 2000 - u64::from(AT_ONCE + MORE));
    }

    #[test]
    fn where_to_is_read() {
        assert!(LogTo::parse("json").unwrap().is_on_screen());
        let to = LogTo::parse("text:a:b").unwrap();
        assert_eq!((to.form, to.file), (Form::Text, Some("a:b".into())));
        for wrong in ["", "xml", "json:", "jsonl:x"] {
            assert!(LogTo::parse(wrong).is_err(), "{wrong}");
        }
    }
}
