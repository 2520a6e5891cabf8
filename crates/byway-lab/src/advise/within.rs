//! As many runs as a time allows.

use super::race::{Pace, Pilot};
use crate::units::format_duration;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Share of the time that the search may take; the rest is for the check.
const SEARCH_SHARE: f64 = 0.45;
/// More runs on the first level do not change who is left.
const MOST_SEEDS: f64 = 24.0;
/// The search is timed on few runs, so a little more is named.
const RESERVE: f64 = 1.3;
/// Seeds of the first round of the check, which is not timed from its own beginning.
const FIRST_ROUND: u32 = 8;

/// As much as a time allows. It looks at a clock, so the same time gives other numbers of
/// runs on another machine; [`Advice::effort`](super::Advice::effort) says which.
pub struct Within {
    begun: Instant,
    time: Duration,
    /// When the last round of the check ended, and what a run takes.
    last: Cell<Instant>,
    per_run: Cell<f64>,
}

impl Within {
    /// The time begins.
    #[must_use]
    pub fn begin(time: Duration) -> Within {
        let now = Instant::now();
        Within {
            begun: now,
            time,
            last: Cell::new(now),
            per_run: Cell::new(0.0),
        }
    }

    /// Seconds that are left.
    fn left(&self) -> f64 {
        self.time.saturating_sub(self.begun.elapsed()).as_secs_f64()
    }
}

impl Pace for Within {
    fn search(&self, pilot: &Pilot) -> Result<u32, String> {
        let elapsed = self.begun.elapsed().as_secs_f64();
        let per_run = elapsed / pilot.done.max(1) as f64;
        self.per_run.set(per_run);
        let least = (pilot.search + pilot.check) as f64 * per_run;
        if least > self.left() {
            let needed = (elapsed + least) * RESERVE;
            return Err(format!(
                "--within {} is too short: one round over these paths takes about {needed:.0} s \
                 here; write --within {:.0}s or more, or name fewer targets in --for",
                format_duration(self.time),
                needed.ceil()
            ));
        }
        let search = pilot.search as f64 * per_run;
        Ok((self.left() * SEARCH_SHARE / search).clamp(1.0, MOST_SEEDS) as u32)
    }

    fn goes_on(&self, seeds: u32, runs: usize) -> bool {
        let now = Instant::now();
        let round = if seeds <= FIRST_ROUND {
            self.per_run.get() * runs as f64
        } else {
            (now - self.last.get()).as_secs_f64()
        };
        self.last.set(now);
        round <= self.left()
    }
}
