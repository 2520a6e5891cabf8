//! How many lines may be written, where others decide how much there is to say.

use std::time::{Duration, Instant};

/// The time in which more lines may be written.
pub(super) const PACE: Duration = Duration::from_secs(1);

/// A token bucket of lines.
#[derive(Debug)]
pub(super) struct Rate {
    /// So many lines at once.
    at_once: u32,
    /// So many more in each [`PACE`].
    more: u32,
    /// Lines that may be written, as of then.
    tokens: u32,
    filled: Instant,
    left_out: u64,
}

impl Rate {
    pub(super) fn new(at_once: u32, more: u32, now: Instant) -> Rate {
        Rate {
            at_once,
            more,
            tokens: at_once,
            filled: now,
            left_out: 0,
        }
    }

    /// Whether another line may be written. One that may not is counted.
    pub(super) fn may(&mut self, now: Instant) -> bool {
        let periods = now.duration_since(self.filled).as_millis() / PACE.as_millis();
        if periods > 0 {
            let periods = u32::try_from(periods).unwrap_or(self.at_once);
            let more = periods.min(self.at_once) * self.more;
            self.tokens = (self.tokens + more).min(self.at_once);
            self.filled = now;
        }
        match self.tokens.checked_sub(1) {
            Some(rest) => self.tokens = rest,
            None => {
                self.left_out += 1;
                return false;
            }
        }
        true
    }

    /// Whether lines were left out since the last [`take_left_out`](Self::take_left_out).
    pub(super) fn has_left_out(&self) -> bool {
        self.left_out > 0
    }

    /// How many lines were left out since the last time.
    pub(super) fn take_left_out(&mut self) -> u64 {
        std::mem::take(&mut self.left_out)
    }
}
