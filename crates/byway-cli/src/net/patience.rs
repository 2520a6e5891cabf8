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
    /// `failover.revival`: the heartbeats of an outage double no RTO.
    revival: bool,
    /// `failover.probe_timeout`.
    probe_timeout: bool,
}

impl Patience {
    pub(super) fn of(config: &Config) -> Patience {
        Patience {
            errors: config.failure.association_max_retrans,
            longest_rto: config.rto.max,
            dead_data: config.failure.dead_data.map(|rule| rule.give_up),
            revival: config.failover.revival.is_some(),
            probe_timeout: config.failover.probe_timeout.is_some(),
        }
    }

    /// The longest outage from now on. Each timeout of data is an error of the association and doubles the RTO of
    /// its path (RFC 9260 sections 6.3.3 and 8.1). Data waits on one path after the other. Meanwhile heartbeats
    /// double the RTO of the others, but not those of the revival. With the probe timeout the first silence of
    /// each path but the last counts for that path alone.
    pub(super) fn longest_outage(&self, paths: &[PathStats]) -> Duration {
        let rto = paths.iter().map(|p| p.rto).max().unwrap_or_default();
        self.after(rto, paths.len())
    }

    fn after(&self, first_rto: Duration, paths: usize) -> Duration {
        let paths = u32::try_from(paths.max(1)).unwrap_or(u32::MAX);
        let uncounted = if self.probe_timeout { paths - 1 } else { 0 };
        let waits = self.errors.saturating_add(1).saturating_add(uncounted);
        let mut rto = first_rto.min(self.longest_rto);
        let mut sum = Duration::ZERO;
        for wait in 1..=waits {
            if rto == self.longest_rto {
                return sum + rto.saturating_mul(waits - wait + 1);
            }
            sum += rto;
            let doubles = match self.revival {
                true => wait.is_multiple_of(paths),
                false => wait >= paths,
            };
            if doubles {
                rto = (rto * 2).min(self.longest_rto);
            }
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

/// To the nearest second, or minute.
fn about(time: Duration) -> String {
    match (time + Duration::from_millis(500)).as_secs() {
        seconds @ 0..120 => format!("{} s", seconds.max(1)),
        seconds => format!("{} min", (seconds + 30) / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_and_the_paths_say_how_long() {
        let of = Patience::of;
        for (config, paths, seconds, words) in [
            // As docs/networks.md has it; byway-core's revival.rs meets these outages.
            (Config::byway(), 1, 963, "16 min"),
            (Config::byway(), 2, 726, "12 min"),
            (Config::byway(), 3, 489, "8 min"),
            (Config::byway(), 4, 252, "4 min"),
            (Config::rfc9260(), 1, 363, "6 min"),
            (Config::rfc9260(), 2, 304, "5 min"),
            (Config::rfc9260(), 3, 245, "4 min"),
            (Config::rfc9260(), 4, 186, "3 min"),
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
