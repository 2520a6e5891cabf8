//! Whether and when `byway send` sets a lost association up again.

use crate::args::SendArgs;
use crate::failure::{Failure, Kind};
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Pause before the association is set up again, times the attempt.
const PAUSE: Duration = Duration::from_millis(500);
/// The longest pause of --retry-for.
const LONGEST: Duration = Duration::from_secs(10);

/// How far the file under way is, and since when.
pub(super) struct Reached {
    /// Bytes of the file that were handed over, or that were there.
    pub(super) taken: Cell<u64>,
    /// Bytes of the file that the receiver has acknowledged.
    done: Cell<u64>,
    /// When that last grew.
    at: Cell<Instant>,
}

impl Reached {
    pub(super) fn new() -> Reached {
        Reached {
            taken: Cell::new(0),
            done: Cell::new(0),
            at: Cell::new(Instant::now()),
        }
    }

    /// The file begins after what the receiver has: those bytes are no progress.
    pub(super) fn begin(&self, resumed_from: u64) {
        self.taken.set(resumed_from);
        self.done.set(resumed_from);
    }

    pub(super) fn note(&self, done: u64) {
        if done > self.done.get() {
            self.done.set(done);
            self.at.set(Instant::now());
        }
    }

    pub(super) fn stored(&self) {
        self.at.set(Instant::now());
    }
}

/// What --retries or --retry-for still allow.
pub(super) struct Retries {
    most: u32,
    /// Without progress for so long, it is given up.
    limit: Option<Duration>,
    connect_timeout: Duration,
    pub(super) attempts: u32,
    /// Attempts since the last progress, which was then.
    in_vain: (u32, Instant),
    was_up: bool,
}

impl Retries {
    pub(super) fn new(args: &SendArgs) -> Retries {
        Retries {
            most: args.retries,
            limit: args.retry_for,
            connect_timeout: args.there.connect_timeout,
            attempts: 0,
            in_vain: (0, Instant::now()),
            was_up: false,
        }
    }

    /// How long to wait for the next set-up: not past the limit.
    pub(super) fn connect_timeout(&self, reached: &Reached) -> Duration {
        let left = |limit: Duration| limit.saturating_sub(reached.at.get().elapsed());
        let left = self.limit.map_or(Duration::MAX, left);
        self.connect_timeout.min(left.max(PAUSE))
    }

    /// An attempt has failed; the pause before the next and what to say of it,
    /// or why there is none.
    pub(super) fn after(
        &mut self,
        failure: Failure,
        was_up: bool,
        reached: &Reached,
    ) -> Result<(Duration, String), Failure> {
        let Some(limit) = self.limit else {
            // Without an association ever, the address is probably wrong.
            let hope = failure.kind == Kind::Lost && (was_up || self.attempts > 0);
            if !hope || self.attempts == self.most {
                return Err(failure);
            }
            self.attempts += 1;
            let words = format!(
                "{failure}; setting up again, attempt {} of {}",
                self.attempts, self.most
            );
            return Ok((PAUSE * self.attempts, words));
        };
        // While a network is down, addresses, routes and names may be missing,
        // too; a name that was never known is wrong.
        let hope = match failure.kind {
            Kind::Lost => true,
            Kind::Failed => !was_up,
            Kind::Wrong => !was_up && self.was_up,
            _ => false,
        };
        self.was_up |= was_up;
        if !hope {
            return Err(failure);
        }
        let idle = reached.at.get().elapsed();
        if idle >= limit {
            let limit = byway_lab::units::format_duration(limit);
            return Err(Failure::new(
                failure.kind,
                format!("{failure}; given up after no progress for {limit} (--retry-for)"),
            ));
        }
        if self.in_vain.1 != reached.at.get() {
            self.in_vain = (0, reached.at.get());
        }
        self.attempts += 1;
        self.in_vain.0 += 1;
        let left = limit - idle;
        let pause = (PAUSE * self.in_vain.0).min(LONGEST).min(left);
        let words = format!(
            "{failure}; trying again in {}, for up to {} without progress (--retry-for)",
            about(pause),
            about(left)
        );
        Ok((pause, words))
    }
}

/// A time as a person would say it.
fn about(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 10.0 {
        format!("{seconds:.1} s")
    } else if seconds < 120.0 {
        format!("{seconds:.0} s")
    } else if seconds < 7200.0 {
        format!("{:.0} min", seconds / 60.0)
    } else {
        format!("{:.1} h", seconds / 3600.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_new_bytes_are_progress() {
        let reached = Reached::new();
        let begun = reached.at.get();
        reached.begin(100);
        reached.note(90);
        reached.note(100);
        assert_eq!(reached.at.get(), begun);
        reached.note(101);
        assert!(reached.at.get() > begun);
    }

    #[test]
    fn times_are_said_in_words() {
        for (seconds, words) in [
            (0.5, "0.5 s"),
            (59.6, "60 s"),
            (600.0, "10 min"),
            (9000.0, "2.5 h"),
        ] {
            assert_eq!(about(Duration::from_secs_f64(seconds)), words);
        }
    }
}
