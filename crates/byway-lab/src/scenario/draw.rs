//! What a run draws from its seed before it begins: when its events happen.

use super::model::Scenario;
use std::borrow::Cow;
use std::time::Duration;

impl Scenario {
    /// The scenario with the time of each event that has a spread drawn from the seed.
    #[must_use]
    pub fn drawn(&self) -> Cow<'_, Scenario> {
        if self.events.iter().all(|e| e.spread.is_zero()) {
            return Cow::Borrowed(self);
        }
        let share = share(self.seed);
        let mut drawn = self.clone();
        for event in &mut drawn.events {
            event.at += event.spread.mul_f64(share);
            event.spread = Duration::ZERO;
        }
        drawn.events.sort_by_key(|e| e.at);
        Cow::Owned(drawn)
    }
}

/// A number from 0 to below 1 for a seed. Seeds that follow each other spread evenly: the
/// fractional parts of multiples of the golden ratio.
fn share(seed: u64) -> f64 {
    // 2^64 / golden ratio; the product wraps, so it is the fraction in units of 2^-64.
    let fraction = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (fraction >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[[path]]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
        [[event]]\nat = \"2 s\"\nspread = \"1 s\"\npath = 1\ndo = \"down\"\n\
        [[event]]\nat = \"5 s\"\nspread = \"1 s\"\npath = 1\ndo = \"up\"\n\
        [traffic]\nkind = \"bulk\"\nsize = \"1 kB\"\n";

    #[test]
    fn each_seed_draws_its_own_time_and_events_keep_their_distance() {
        let mut scenario = Scenario::parse("a", TEXT).unwrap();
        let mut quarters = [0; 4];
        for seed in 1..=40 {
            scenario.seed = seed;
            let drawn = scenario.drawn();
            let at = drawn.events[0].at.as_secs_f64();
            assert!((2.0..3.0).contains(&at), "{at}");
            let apart = drawn.events[1].at - drawn.events[0].at;
            assert!((apart.as_secs_f64() - 3.0).abs() < 1e-6);
            quarters[((at - 2.0) * 4.0) as usize] += 1;
        }
        assert!(
            quarters.iter().all(|n| (9..=11).contains(n)),
            "{quarters:?}"
        );
    }

    #[test]
    fn a_spread_is_written_and_read_back() {
        let scenario = Scenario::parse("a", TEXT).unwrap();
        let again = Scenario::parse("b", &scenario.to_toml()).unwrap();
        assert_eq!(again, scenario);
    }
}
