//! How long an outage of all paths may last before the association ends, about.

use byway::{Config, PathStats};
use std::time::Duration;

/// The settings that decide it.
#[derive(Copy, Clone, Debug)]
pub(super) struct Patience {
    /// `failure.association_max_retrans`.
    errors: u32,
    /// `rto.max`.
    longest_rto: Duration,
    /// `failure.dead_data.give_up`.
    dead_data: Option<Duration>,
}

impl Patience {
    pub(super) fn of(config: &Config) -> Patience {
        Patience {
            errors: config.failure.association_max_retrans,
            longest_rto: config.rto.max,
            dead_data: config.failure.dead_data.map(|rule| rule.give_up),
        }
    }

    /// The longest outage from now on. Each timeout of a path is an error of the association and
    /// doubles the next one of that path (RFC 9260 sections 6.3.3 and 8.1), and data waits on one
    /// path after the other, so the errors of the paths come side by side.
    pub(super) fn longest_outage(&self, paths: &[PathStats]) -> Duration {
        let rto = paths.iter().map(|p| p.rto).max().unwrap_or_default();
        self.after(rto, paths.len())
    }

    fn after(&self, first_rto: Duration, paths: usize) -> Duration {
        let paths = u32::try_from(paths.max(1)).unwrap_or(u32::MAX);
        let each = self.errors.saturating_add(1).div_ceil(paths);
        let mut rto = first_rto.min(self.longest_rto);
        let mut sum = Duration::ZERO;
        for timeouts in 0..each {
            if rto == self.longest_rto {
                return sum + rto.saturating_mul(each - timeouts);
            }
            sum += rto;
            rto = (rto * 2).min(self.longest_rto);
        }
        sum
    }

    /// What to say when no path answers any more.
    pub(super) fn words(&self, paths: &[PathStats]) -> String {
        let dead = self
            .dead_data
            .filter(|_| paths.iter().any(|p| p.dead_for_data));
        if let Some(limit) = dead {
            return format!(
                "heartbeats are answered, and no data is acknowledged: do packets of 576 bytes pass? \
                 `byway doctor` finds what passes. Unless data arrives, the association ends in about {} \
                 (failure.dead_data.give_up)",
                about(limit)
            );
        }
        format!(
            "no path answers; unless one does, the association ends in about {} \
             (failure.association_max_retrans = {})",
            about(self.longest_outage(paths)),
            self.errors
        )
    }
}

fn about(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{} s", seconds + 1),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_and_the_paths_say_how_long() {
        let of = Patience::of;
        for (config, paths, seconds, words) in [
            (Config::byway(), 1, 963, "17 min"),
            (Config::byway(), 2, 363, "7 min"),
            (Config::rfc9260(), 1, 363, "7 min"),
            (Config::rfc9260(), 2, 63, "64 s"),
        ] {
            let found = of(&config).after(Duration::from_secs(1), paths);
            assert_eq!(found.as_secs(), seconds, "{paths}");
            assert_eq!(about(found), words);
        }
        let mut config = Config::byway();
        config.failure.association_max_retrans = u32::MAX;
        assert!(of(&config).after(Duration::from_secs(1), 1) > Duration::from_secs(1 << 30));
    }
}
