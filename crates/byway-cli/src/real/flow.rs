//! One association: who receives, who sends, and when messages arrived.

use super::schedule::Schedule;
use crate::children::Owned;
use crate::failure::{Failure, Kind};
use byway_papers::reproduce::real::{Arrival, Flow, MESSAGE};
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

/// Moments, each with the messages that had arrived by then.
type Arrivals = Arc<Mutex<Vec<(Instant, u32)>>>;

/// A `byway listen` whose output is watched.
pub(super) struct Receiver {
    // In this order: the reader ends when the process has.
    process: Owned,
    reader: Option<JoinHandle<()>>,
    arrivals: Arrivals,
}

impl Receiver {
    /// Starts it.
    pub(super) fn start(command: &mut Command) -> Result<Receiver, Failure> {
        let command = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = Owned::start(command)?;
        let arrivals = Arrivals::default();
        let output = process.0.stdout.take();
        let into = Arc::clone(&arrivals);
        let reader = std::thread::spawn(move || {
            if let Some(output) = output {
                watch(output, &into);
            }
        });
        Ok(Receiver {
            process,
            reader: Some(reader),
            arrivals,
        })
    }

    /// Messages that have arrived.
    pub(super) fn messages(&self) -> u32 {
        let arrivals = self.arrivals.lock();
        let arrivals = arrivals.unwrap_or_else(PoisonError::into_inner);
        arrivals.last().map_or(0, |a| a.1)
    }

    /// Ends it; what arrived, in seconds from a moment between these two.
    pub(super) fn end(mut self, unplugged: (Instant, Instant)) -> Flow {
        // Fails only if it has ended already.
        let _ = self.process.0.kill();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        let arrivals = self.arrivals.lock();
        let arrivals = arrivals.unwrap_or_else(PoisonError::into_inner);
        let uncertain = unplugged.1 - unplugged.0;
        let zero = unplugged.0 + uncertain / 2;
        let arrivals = arrivals.iter().map(|&(at, messages)| Arrival {
            after_s: seconds_after(at, zero),
            messages,
        });
        Flow {
            arrivals: arrivals.collect(),
            uncertain_s: uncertain.as_secs_f64(),
        }
    }
}

fn seconds_after(at: Instant, zero: Instant) -> f64 {
    match at.checked_duration_since(zero) {
        Some(later) => later.as_secs_f64(),
        None => -(zero - at).as_secs_f64(),
    }
}

fn watch(mut output: impl Read, into: &Arrivals) {
    let mut block = [0; 16 * 1024];
    let mut bytes = 0;
    while let Ok(n @ 1..) = output.read(&mut block) {
        let now = Instant::now();
        bytes += n;
        let messages = (bytes / MESSAGE) as u32;
        let mut arrivals = into.lock().unwrap_or_else(PoisonError::into_inner);
        arrivals.push((now, messages));
    }
}

/// A `byway cat` that is given messages one by one.
pub(super) struct Sender {
    process: Owned,
}

impl Sender {
    /// Starts it. It gets its messages when `schedule` says.
    pub(super) fn start(
        command: &mut Command,
        schedule: &Schedule,
        (phase, phases): (usize, usize),
    ) -> Result<Sender, Failure> {
        let command = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut process = Owned::start(command)?;
        let input = process.0.stdin.take();
        let times: Vec<Instant> = (0..Schedule::messages())
            .map(|n| schedule.message(n, phase, phases))
            .collect();
        // It ends with the process, whose input breaks then.
        std::thread::spawn(move || {
            if let Some(input) = input {
                feed(input, &times);
            }
        });
        Ok(Sender { process })
    }

    /// Whether it still runs; if not, its last words.
    pub(super) fn check(&mut self) -> Result<(), Failure> {
        let ended = self.process.0.try_wait();
        let Ok(Some(status)) = ended else {
            return Ok(());
        };
        let mut said = String::new();
        if let Some(mut errors) = self.process.0.stderr.take() {
            // What can be read is said.
            let _ = errors.read_to_string(&mut said);
        }
        Err(Failure::new(
            Kind::Failed,
            format!("a sender has ended ({status}): {}", said.trim()),
        ))
    }
}

fn feed(mut input: impl Write, times: &[Instant]) {
    for (n, at) in times.iter().enumerate() {
        std::thread::sleep(at.saturating_duration_since(Instant::now()));
        let message = format!("{n:0width$}", width = MESSAGE);
        if input.write_all(message.as_bytes()).is_err() {
            return;
        }
    }
    // The sender stays up until it is ended.
    std::thread::park();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn messages_are_counted_when_they_are_whole() {
        let arrivals = Arrivals::default();
        watch(std::io::Cursor::new(vec![0; MESSAGE * 2 + 1]), &arrivals);
        let seen: Vec<u32> = arrivals.lock().unwrap().iter().map(|a| a.1).collect();
        assert_eq!(seen, [2]);
    }

    #[test]
    fn times_before_the_unplugging_are_negative() {
        let zero = Instant::now();
        let second = Duration::from_secs(1);
        assert_eq!(seconds_after(zero + second, zero), 1.0);
        assert_eq!(seconds_after(zero, zero + second), -1.0);
    }
}
