//! What paths carry in a second, from two looks.

use super::ask::{Found, Key};
use crate::net::inspect::PathNow;
use std::collections::HashMap;
use std::time::Instant;

/// Between the last two looks.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub(super) struct Rate {
    /// In bit/s.
    pub(super) sent: f64,
    pub(super) received: f64,
    /// Share of payload; none where nothing was sent.
    pub(super) lost: Option<f64>,
}

/// Bytes of a path so far: sent, received, payload that left, payload that was lost.
type Bytes = [u64; 4];

/// Paths at the last look, and their rates.
#[derive(Debug, Default)]
pub(super) struct Rates {
    at: Option<Instant>,
    paths: HashMap<Key, (Bytes, Option<Rate>)>,
}

impl Rates {
    /// A look at this time. What is gone is forgotten.
    pub(super) fn update(&mut self, found: &Found, at: Instant) {
        let seconds = self.at.map(|before| (at - before).as_secs_f64());
        let before = std::mem::take(&mut self.paths);
        for (key, path) in found.paths() {
            let now = bytes(path);
            let rate = before.get(&key).zip(seconds);
            let rate = rate.and_then(|((before, _), s)| between(before, &now, s));
            self.paths.insert(key, (now, rate));
        }
        self.at = Some(at);
    }

    /// None at the first look at a path.
    pub(super) fn of(&self, key: &Key) -> Option<Rate> {
        self.paths.get(key).and_then(|(_, rate)| *rate)
    }
}

fn bytes(path: &PathNow) -> Bytes {
    [
        path.bytes_sent,
        path.bytes_received,
        path.data_bytes_sent + path.data_bytes_retransmitted,
        path.data_bytes_lost,
    ]
}

/// None if it is another path of the same number.
fn between(before: &Bytes, now: &Bytes, seconds: f64) -> Option<Rate> {
    let mut grew = [0.0; 4];
    for (grew, (now, before)) in grew.iter_mut().zip(now.iter().zip(before)) {
        *grew = now.checked_sub(*before)? as f64;
    }
    let [sent, received, data, lost] = grew;
    // What is lost now may have left before.
    let share = (data > 0.0).then(|| (lost / data).min(1.0));
    (seconds > 0.0).then(|| Rate {
        sent: sent * 8.0 / seconds,
        received: received * 8.0 / seconds,
        lost: share,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_of_the_time_between_two_looks() {
        let rate = between(&[0, 0, 0, 0], &[1_000, 500, 800, 80], 0.5).unwrap();
        assert_eq!((rate.sent, rate.received), (16_000.0, 8_000.0));
        assert!((rate.lost.unwrap() - 0.1).abs() < 1e-9);
        let idle = between(&[9; 4], &[9; 4], 1.0).unwrap();
        assert_eq!((idle.sent, idle.lost), (0.0, None));
        // All that was in flight is lost, and little left meanwhile.
        assert_eq!(
            between(&[0; 4], &[9, 9, 9, 99], 1.0).unwrap().lost,
            Some(1.0)
        );
        assert_eq!(between(&[9; 4], &[8, 9, 9, 9], 1.0), None, "another path");
        assert_eq!(between(&[9; 4], &[9; 4], 0.0), None);
    }
}
