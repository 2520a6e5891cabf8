//! Whether and when `byway send` sets a lost association up again.

use super::about::about;
use crate::failure::{Failure, Kind};
use crate::net::args::SendArgs;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Pause before the association is set up again, times the attempt.
const PAUSE: Duration = Duration::from_millis(500);
/// The longest pause where attempts have no number.
const LONGEST: Duration = Duration::from_secs(10);

/// The pause after so many attempts in vain, where they have no number.
pub(super) fn pause(in_vain: u32) -> Duration {
    (PAUSE * in_vain).min(LONGEST)
}

/// How far the files are, and since when.
pub(super) struct Reached {
    /// Bytes of files that were handed over. Those that were there already do not count.
    taken: Cell<u64>,
    /// Those of them that the receiver has acknowledged.
    done: Cell<u64>,
    /// Files that it has confirmed.
    confirmed: Cell<u64>,
    /// When one of these last grew.
    at: Cell<Instant>,
    /// Bytes that had been handed over when the file under way began, and where it began.
    file: Cell<(u64, u64)>,
}

impl Reached {
    pub(super) fn new() -> Reached {
        Reached {
            taken: Cell::new(0),
            done: Cell::new(0),
            confirmed: Cell::new(0),
            at: Cell::new(Instant::now()),
            file: Cell::new((0, 0)),
        }
    }

    /// A new association: what the last one left unacknowledged is handed over again.
    pub(super) fn set_up(&self) {
        self.taken.set(self.done.get());
        self.file.set((self.done.get(), 0));
    }

    /// A file begins after what the receiver has.
    pub(super) fn begin(&self, resumed_from: u64) {
        self.file.set((self.taken.get(), resumed_from));
    }

    /// Bytes of the file or folder under way are there already.
    pub(super) fn skip(&self, bytes: u64) {
        let (before, resumed_from) = self.file.get();
        self.file.set((before, resumed_from + bytes));
    }

    /// Bytes of a file are handed over.
    pub(super) fn take(&self, bytes: u64) {
        self.taken.set(self.taken.get() + bytes);
    }

    /// So many bytes wait for an acknowledgement.
    pub(super) fn note(&self, waiting: u64) {
        let done = self.taken.get().saturating_sub(waiting);
        if done > self.done.get() {
            self.done.set(done);
            self.at.set(Instant::now());
        }
    }

    /// A file is confirmed.
    pub(super) fn stored(&self) {
        self.confirmed.set(self.confirmed.get() + 1);
        self.at.set(Instant::now());
    }

    /// Bytes that were acknowledged and files that were confirmed.
    pub(super) fn steps(&self) -> u64 {
        self.done.get() + self.confirmed.get()
    }

    /// Bytes of the file under way.
    pub(super) fn position(&self) -> u64 {
        let (before, resumed_from) = self.file.get();
        resumed_from + self.done.get().saturating_sub(before)
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
        let pause = pause(self.in_vain.0).min(left);
        let words = format!(
            "{failure}; trying again in {}, for up to {} without progress (--retry-for)",
            about(pause),
            about(left)
        );
        Ok((pause, words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_new_bytes_and_files_are_progress() {
        let reached = Reached::new();
        let begun = reached.at.get();
        reached.begin(100);
        reached.note(0);
        reached.take(10);
        reached.note(10);
        assert_eq!((reached.at.get(), reached.steps()), (begun, 0));
        assert_eq!(reached.position(), 100);
        reached.note(4);
        assert!(reached.at.get() > begun);
        assert_eq!((reached.steps(), reached.position()), (6, 106));
        reached.stored();
        assert_eq!(reached.steps(), 7);
        // The same bytes again are no progress.
        reached.set_up();
        reached.begin(0);
        reached.take(4);
        reached.note(4);
        assert_eq!((reached.steps(), reached.position()), (7, 0));
    }

    #[test]
    fn files_of_one_size_are_steps() {
        let reached = Reached::new();
        for n in 1..=3 {
            reached.begin(0);
            reached.take(50);
            reached.note(0);
            assert_eq!((reached.steps(), reached.position()), (50 * n, 50));
        }
    }
}
