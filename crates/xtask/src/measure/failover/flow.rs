//! One connection: a sender that is fed, a receiver that is watched, and the stall between.

use anyhow::{Context, Result, bail};
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of a message of [`Load::Paced`].
pub(super) const MESSAGE: usize = 1000;
/// Time from one such message to the next.
pub(super) const EVERY: Duration = Duration::from_millis(2);
/// Bytes that [`Load::Bulk`] hands over at once.
const BLOCK: usize = 16 * 1024;

/// What the sending application does.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Load {
    /// A message each 2 ms.
    Paced,
    /// As much as the sender takes.
    Bulk,
}

impl Load {
    pub(super) fn name(self) -> &'static str {
        match self {
            Load::Paced => "1 kB each 2 ms",
            Load::Bulk => "bulk",
        }
    }
}

/// A process that ends with its owner.
pub(super) struct Owned(pub(super) Child);

impl Owned {
    pub(super) fn start(command: &mut Command) -> Result<Owned> {
        let name = format!("{command:?}");
        Ok(Owned(
            command
                .spawn()
                .with_context(|| format!("starting {name}"))?,
        ))
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A receiving application: whatever reads the receiver's standard output.
pub(super) struct Receiver {
    process: Owned,
    arrivals: Arc<Mutex<Vec<Instant>>>,
}

impl Receiver {
    /// Starts the receiver and reads what it delivers.
    pub(super) fn start(mut command: Command) -> Result<Receiver> {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut process = Owned::start(&mut command)?;
        let mut output = process.0.stdout.take().context("no output")?;
        let arrivals = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&arrivals);
        // Ends with the process.
        std::thread::spawn(move || {
            let mut block = vec![0; 1 << 18];
            while let Ok(1..) = output.read(&mut block) {
                let now = Instant::now();
                into.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(now);
            }
        });
        Ok(Receiver { process, arrivals })
    }

    /// Ends it. When something was delivered.
    pub(super) fn end(self) -> Vec<Instant> {
        drop(self.process);
        let mut arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut arrivals)
    }
}

/// A sending application: whatever writes to the sender's standard input.
pub(super) struct Sender {
    process: Owned,
}

impl Sender {
    /// Starts the sender; it is fed from `begin` on.
    pub(super) fn start(mut command: Command, load: Load, begin: Instant) -> Result<Sender> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut process = Owned::start(&mut command)?;
        let input = process.0.stdin.take().context("no input")?;
        // Ends with the process, whose input breaks then.
        std::thread::spawn(move || feed(input, load, begin));
        Ok(Sender { process })
    }

    /// Whether it still runs; if not, its last words.
    pub(super) fn check(&mut self) -> Result<()> {
        let Some(status) = self.process.0.try_wait()? else {
            return Ok(());
        };
        let mut said = String::new();
        if let Some(mut errors) = self.process.0.stderr.take() {
            // What can be read is said.
            let _ = errors.read_to_string(&mut said);
        }
        bail!("a sender has ended ({status}): {}", said.trim())
    }
}

fn feed(mut input: impl Write, load: Load, begin: Instant) {
    std::thread::sleep(begin.saturating_duration_since(Instant::now()));
    let block = [b'x'; BLOCK];
    let mut due = begin;
    loop {
        let wanted = match load {
            Load::Bulk => &block[..],
            Load::Paced => {
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                due += EVERY;
                &block[..MESSAGE]
            }
        };
        if input.write_all(wanted).is_err() {
            return;
        }
    }
}

/// What one phase showed.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Stall {
    /// The longest time without a delivery that ended, or was still going on, after the death.
    pub(super) seconds: f64,
    /// Whether nothing came any more.
    pub(super) never: bool,
}

/// The stall of these deliveries. The path died at `dead` or up to a few milliseconds later, and
/// the last look was at `end`.
///
/// # Errors
/// If nothing had been delivered before: the connection was not up.
pub(super) fn stall(arrivals: &[Instant], dead: Instant, end: Instant) -> Result<Stall> {
    let first = arrivals.first().context("nothing was delivered at all")?;
    if *first > dead {
        bail!("nothing was delivered before the path died");
    }
    let mut longest = Stall {
        seconds: 0.0,
        never: false,
    };
    let nexts = arrivals.iter().skip(1).copied().chain([end]);
    for (at, next) in arrivals.iter().copied().zip(nexts) {
        let seconds = next.saturating_duration_since(at).as_secs_f64();
        if next > dead && seconds > longest.seconds {
            longest = Stall {
                seconds,
                // A short pause, whose end the watch did not see, is no silence.
                never: next == end
                    && seconds > end.saturating_duration_since(dead).as_secs_f64() / 2.0,
            };
        }
    }
    Ok(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(arrivals: &[u64]) -> Result<(u64, bool)> {
        let zero = Instant::now();
        let at = |ms| zero + Duration::from_millis(ms);
        let arrivals: Vec<Instant> = arrivals.iter().map(|&ms| at(ms)).collect();
        let stall = stall(&arrivals, at(1000), at(3000))?;
        Ok(((stall.seconds * 1e3).round() as u64, stall.never))
    }

    #[test]
    fn the_longest_pause_after_the_death_counts() {
        for (arrivals, expected) in [
            // A pause before the death is not its doing.
            (&[0, 900, 1000, 1002, 1300, 2990, 2995][..], (1690, false)),
            // It began before: the last delivery was earlier.
            (&[0, 990, 1400, 1500, 2200, 2900], (700, false)),
            // What goes on at the end has no end that is known.
            (&[0, 1005], (1995, true)),
            // It went on; the last look came in a pause that is a little longer than the stall.
            (&[0, 999, 1040, 1500, 2000, 2500, 2940], (500, false)),
            (
                &[0, 999, 1200, 1400, 1600, 1800, 2000, 2200, 2400, 2600, 2780],
                (220, false),
            ),
        ] {
            assert_eq!(of(arrivals).unwrap(), expected, "{arrivals:?}");
        }
    }

    #[test]
    fn a_connection_that_was_not_up_is_no_result() {
        assert!(of(&[]).is_err());
        assert!(of(&[1500]).is_err());
    }
}
