//! HyStart++ (RFC 9406): leave slow start when the round trip grows, before the queue of
//! the bottleneck overflows.
//!
//! Slow start doubles the window until packets are lost, and at the end it loses about as
//! many as the queue holds. But the queue shows earlier, by longer round trips. So when
//! the least round trip of a round is clearly longer than that of the round before, the
//! window grows at a quarter of the pace (Conservative Slow Start), and after five such
//! rounds slow start ends. If the round trip falls again, it was jitter, and slow start
//! continues.
//!
//! A round ends when the bytes are acknowledged that were in flight at its first SACK.

use super::PathAck;
use crate::time::Duration;

/// MIN_RTT_THRESH and MAX_RTT_THRESH: the least and the most growth that counts.
const THRESHOLD: (Duration, Duration) = (Duration::from_millis(4), Duration::from_millis(16));
/// MIN_RTT_DIVISOR: within these limits, this part of the last round's round trip.
const DIVISOR: u32 = 8;
/// N_RTT_SAMPLE: round trips that a round needs before they count.
const SAMPLES: u32 = 8;
/// CSS_GROWTH_DIVISOR: how much slower Conservative Slow Start grows.
const CONSERVATIVE: u32 = 4;
/// CSS_ROUNDS: rounds of Conservative Slow Start before slow start ends.
const ROUNDS: u32 = 5;

/// What slow start does with a SACK.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// The window grows by the acknowledged bytes, divided by this.
    Divided(u32),
    /// Slow start ends: ssthresh becomes cwnd.
    Ends,
}

/// The state of HyStart++ for a path.
#[derive(Clone, Debug, Default)]
pub(super) struct HyStart {
    /// Bytes that are left of the round; none before its first SACK.
    left: Option<u32>,
    /// The least round trip of the last round.
    last: Option<Duration>,
    /// The least round trip of this round.
    current: Option<Duration>,
    /// Round trips measured in this round.
    samples: u32,
    /// The least round trip at the beginning of Conservative Slow Start, and its rounds
    /// so far.
    conservative: Option<(Duration, u32)>,
}

impl HyStart {
    /// A SACK acknowledged data in slow start. `round_trip` is that of its newest chunk.
    pub(super) fn on_ack(&mut self, ack: PathAck, round_trip: Option<Duration>) -> Pace {
        if self.begin_or_continue_round(ack)
            && let Some((_, rounds)) = &mut self.conservative
        {
            *rounds += 1;
            if *rounds >= ROUNDS {
                return Pace::Ends;
            }
        }
        if let Some(rtt) = round_trip {
            self.current = Some(self.current.map_or(rtt, |least| least.min(rtt)));
            self.samples += 1;
        }
        if self.samples >= SAMPLES
            && let (Some(current), Some(last)) = (self.current, self.last)
        {
            self.judge(current, last);
        }
        match self.conservative {
            Some(_) => Pace::Divided(CONSERVATIVE),
            None => Pace::Divided(1),
        }
    }

    /// Whether this SACK ends a round.
    fn begin_or_continue_round(&mut self, ack: PathAck) -> bool {
        let left = self.left.unwrap_or(ack.flight_before);
        let ends = left <= ack.bytes;
        if ends {
            self.left = None;
            self.last = self.current.take();
            self.samples = 0;
        } else {
            self.left = Some(left - ack.bytes);
        }
        ends
    }

    fn judge(&mut self, current: Duration, last: Duration) {
        match self.conservative {
            None if current >= last + (last / DIVISOR).clamp(THRESHOLD.0, THRESHOLD.1) => {
                self.conservative = Some((current, 0));
            }
            Some((baseline, _)) if current < baseline => self.conservative = None,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round of ten SACKs of 1000 bytes with this round trip; answers with the last
    /// pace.
    fn round(h: &mut HyStart, ms: u64) -> Pace {
        let ack = PathAck {
            bytes: 1000,
            flight_before: 10_000,
            ..PathAck::default()
        };
        (0..10)
            .map(|_| h.on_ack(ack, Some(Duration::from_millis(ms))))
            .fold(Pace::Divided(0), |worst, pace| match (worst, pace) {
                (Pace::Ends, _) | (_, Pace::Ends) => Pace::Ends,
                (_, pace) => pace,
            })
    }

    #[test]
    fn growth_below_the_threshold_is_noise() {
        let mut h = HyStart::default();
        for ms in [100, 100, 105, 110, 115, 120] {
            assert_eq!(round(&mut h, ms), Pace::Divided(1), "{ms} ms");
        }
    }

    #[test]
    fn a_jump_is_noticed_and_jitter_forgiven() {
        let mut h = HyStart::default();
        for _ in 0..3 {
            assert_eq!(round(&mut h, 40), Pace::Divided(1));
        }
        assert_eq!(
            round(&mut h, 50),
            Pace::Divided(1),
            "its first sample is old"
        );
        assert_eq!(round(&mut h, 60), Pace::Divided(4));
        assert_eq!(round(&mut h, 40), Pace::Divided(1), "it was jitter");
        round(&mut h, 60);
        let rest: Vec<Pace> = (0..6).map(|_| round(&mut h, 70)).collect();
        assert!(rest.contains(&Pace::Ends), "{rest:?}");
    }

    #[test]
    fn a_round_with_few_samples_decides_nothing() {
        let mut h = HyStart::default();
        let ack = PathAck {
            bytes: 5000,
            flight_before: 10_000,
            ..PathAck::default()
        };
        for ms in [10, 10, 10, 90, 90, 90, 90, 90] {
            let pace = h.on_ack(ack, Some(Duration::from_millis(ms)));
            assert_eq!(pace, Pace::Divided(1));
        }
    }
}
