//! What a command says of those who come to it, peers of a receiver or TCP clients of a `forward`: strangers decide how
//! much there is to say, so its rate has a limit.

use super::rate::{PACE, Rate};
use crate::failure::{Failure, Kind};
use crate::terminal::say;
use byway::text::shown;
use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Lines about transfers that go well: so many at once, and so many in each [`PACE`]; failures of a kind
/// have one line in that time.
const AT_ONCE: u32 = 100;
const MORE: u32 = 20;

/// What failures are told apart by.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Key {
    Kind(Kind),
    Named(&'static str),
}

/// Failures of one kind: when the last one was written, and what has come since.
struct Rule {
    key: Key,
    written: Instant,
    waiting: u64,
    last: String,
}

struct Inner {
    rules: Vec<Rule>,
    /// Of lines about transfers.
    rate: Rate,
    /// Whether a task will write what waits.
    flushing: bool,
}

/// The log of one receiver.
#[derive(Clone)]
pub(super) struct Log(Arc<Mutex<Inner>>);

impl Log {
    pub(super) fn new() -> Log {
        Log(Arc::new(Mutex::new(Inner {
            rules: Vec::new(),
            rate: Rate::new(AT_ONCE, MORE, Instant::now()),
            flushing: false,
        })))
    }

    /// An association with this peer has failed. The first of its kind in a second is written at
    /// once; of the others the last one, and how many there were. Must be called inside a runtime.
    pub(super) fn failed(&self, failure: &Failure, peer: Option<SocketAddr>) {
        let from = peer.map_or("unknown".to_owned(), |p| p.to_string());
        self.write(Key::Kind(failure.kind), failure, &from);
    }

    /// The same of a client of another protocol, by the name of a rule.
    pub(super) fn failed_by(&self, rule: &'static str, why: &str, from: SocketAddr) {
        self.write(Key::Named(rule), why, &from.to_string());
    }

    fn write(&self, key: Key, why: impl Display, from: &str) {
        // It may quote the other side.
        let line = shown(&format!("byway: {why} (from {from}"));
        let now = self.lock().failed(key, line, Instant::now());
        if let Some(line) = now {
            say(line);
        }
        self.flush_later();
    }

    /// Whether another line about a transfer may be written. Must be called inside a runtime.
    pub(super) fn may(&self) -> bool {
        let may = self.lock().rate.may(Instant::now());
        if !may {
            self.flush_later();
        }
        may
    }

    /// Writes what waits.
    pub(super) fn flush(&self) {
        let lines = self.lock().flush(Instant::now());
        lines.into_iter().for_each(say);
    }

    fn flush_later(&self) {
        let mut inner = self.lock();
        if !inner.flushing && inner.waits() {
            inner.flushing = true;
            let log = self.clone();
            tokio::spawn(async move {
                tokio::time::sleep(PACE).await;
                log.lock().flushing = false;
                log.flush();
            });
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// The line, if it may be written now.
    fn failed(&mut self, key: Key, line: String, now: Instant) -> Option<String> {
        let Some(rule) = self.rules.iter_mut().find(|r| r.key == key) else {
            self.rules.push(Rule {
                key,
                written: now,
                waiting: 0,
                last: String::new(),
            });
            return Some(line + ")");
        };
        if rule.waiting == 0 && now.duration_since(rule.written) >= PACE {
            rule.written = now;
            return Some(line + ")");
        }
        rule.waiting += 1;
        rule.last = line;
        None
    }

    fn waits(&self) -> bool {
        self.rate.has_left_out() || self.rules.iter().any(|r| r.waiting > 0)
    }

    fn flush(&mut self, now: Instant) -> Vec<String> {
        let mut lines = Vec::new();
        for rule in self.rules.iter_mut().filter(|r| r.waiting > 0) {
            let (last, count) = (std::mem::take(&mut rule.last), rule.waiting);
            lines.push(match count {
                1 => last + ")",
                _ => format!("{last}; {count} such in a second)"),
            });
            (rule.waiting, rule.written) = (0, now);
        }
        let left_out = self.rate.take_left_out();
        if left_out > 0 {
            lines.push(format!("byway: {left_out} lines about transfers left out"));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_thousand_failures_are_two_lines_with_the_last_address_and_how_many() {
        let log = Log::new();
        let (begun, kind) = (Instant::now(), Key::Kind(Kind::Lost));
        let mut lines = Vec::new();
        for n in 0..1000 {
            let line = format!("lost (from 10.0.0.1:{n}");
            lines.extend(log.lock().failed(kind, line, begun));
        }
        let later = begun + PACE;
        // What waits goes first.
        lines.extend(log.lock().failed(kind, "last (from b".to_owned(), later));
        lines.extend(log.lock().flush(later));
        let expected = [
            "lost (from 10.0.0.1:0)",
            "last (from b; 1000 such in a second)",
        ];
        assert_eq!(lines, expected);
        let next = log
            .lock()
            .failed(kind, "x (from c".to_owned(), later + PACE);
        assert_eq!(next.as_deref(), Some("x (from c)"));
        assert!(!log.lock().waits());
    }

    #[test]
    fn lines_about_transfers_have_a_rate() {
        let log = Log::new();
        let begun = Instant::now();
        log.lock().rate = Rate::new(AT_ONCE, MORE, begun);
        let written = |at| (0..1000).filter(|_| log.lock().rate.may(at)).count();
        assert_eq!(written(begun), AT_ONCE as usize);
        assert_eq!(written(begun + PACE), MORE as usize);
        let left_out = format!("{} lines", 2000 - AT_ONCE - MORE);
        assert!(log.lock().flush(begun)[0].contains(&left_out));
    }
}
