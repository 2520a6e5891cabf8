//! How long an outage of all paths may last before the association ends, about, and which option decides it.

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

    /// What to say when no path answers any more. `waits`: data waits. `by_give_up`: how long `--give-up` leaves.
    pub(super) fn words(
        &self,
        paths: &[PathStats],
        waits: bool,
        by_give_up: Option<Duration>,
    ) -> String {
        let give_up = by_give_up.map(|left| (left, "--give-up".to_owned()));
        let dead = self
            .dead_data
            .filter(|_| paths.iter().any(|p| p.dead_for_data));
        if let Some(limit) = dead {
            let dead = (limit, "failure.dead_data.give_up".to_owned());
            let (left, option) = lesser(dead, give_up);
            return format!(
                "heartbeats are answered, and no data is acknowledged: do packets of 576 bytes pass? \
                 `byway doctor` finds what passes. Unless data arrives, the association ends in about {} \
                 ({option})",
                about(left)
            );
        }
        let errors = format!("failure.association_max_retrans = {}", self.errors);
        let own = (self.longest_outage(paths), errors);
        let ends = match &give_up {
            Some((left, option)) if !waits && *left > own.0 => format!(
                "in {} at the earliest ({}), in {} at the latest ({option})",
                about(own.0),
                own.1,
                about(*left)
            ),
            // Heartbeats count the errors then, and later.
            None if !waits => format!("in {} at the earliest ({})", about(own.0), own.1),
            _ => {
                let (left, option) = lesser(own, give_up);
                format!("in about {} ({option})", about(left))
            }
        };
        format!("no path answers; unless one does, the association ends {ends}")
    }
}

/// What comes first, and why.
fn lesser(own: (Duration, String), give_up: Option<(Duration, String)>) -> (Duration, String) {
    match give_up {
        Some(give_up) if give_up.0 < own.0 => give_up,
        _ => own,
    }
}

/// To the nearest second, or minute.
pub(super) fn about(time: Duration) -> String {
    match (time + Duration::from_millis(500)).as_secs() {
        seconds @ 0..120 => format!("{} s", seconds.max(1)),
        seconds => format!("{} min", (seconds + 30) / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::watch::tests::path;
    use byway::PathState;

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

    #[test]
    fn the_lesser_limit_is_told_and_its_option() {
        let patience = Patience::of(&Config::byway());
        let path = |number, dead_for_data| PathStats {
            dead_for_data,
            rto: Duration::from_secs(1),
            ..path(number, number, PathState::Inactive, number == 0)
        };
        let paths = [path(0, false), path(1, false)];
        let [minutes, hour] = [846, 3600].map(Duration::from_secs);
        let three = Duration::from_millis(2900);
        let association = "(failure.association_max_retrans = 20)";
        for (waits, by_give_up, ends) in [
            // `send`: it counts no silence.
            (true, None, format!("in about 12 min {association}")),
            (
                false,
                None,
                format!("in 12 min at the earliest {association}"),
            ),
            // `cat`.
            (
                true,
                Some(minutes),
                format!("in about 12 min {association}"),
            ),
            (true, Some(three), "in about 3 s (--give-up)".to_owned()),
            (true, Some(hour), format!("in about 12 min {association}")),
            // `listen`, `recv`.
            (false, Some(three), "in about 3 s (--give-up)".to_owned()),
            (
                false,
                Some(minutes),
                format!(
                    "in 12 min at the earliest {association}, in 14 min at the latest (--give-up)"
                ),
            ),
        ] {
            let said = patience.words(&paths, waits, by_give_up);
            let before = "no path answers; unless one does, the association ends ";
            assert_eq!(
                said.strip_prefix(before),
                Some(&ends[..]),
                "{waits} {by_give_up:?}"
            );
        }
        let dead = [path(0, true)];
        for (by_give_up, option) in [
            (Some(three), "in about 3 s (--give-up)"),
            (Some(hour), "(failure.dead_data.give_up)"),
            (None, "(failure.dead_data.give_up)"),
        ] {
            let said = patience.words(&dead, true, by_give_up);
            assert!(said.ends_with(option), "{said}");
        }
    }
}
