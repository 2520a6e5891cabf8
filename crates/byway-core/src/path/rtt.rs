//! Round-trip time and retransmission timeout of one path (RFC 9260 section
//! 6.3.1).

use crate::config::RtoConfig;
use crate::time::{Instant, nanos};
use core::time::Duration;

/// SRTT, RTTVAR and RTO. They are in nanoseconds, because nearly every SACK uses them
/// and conversions from and to `Duration` cost time.
#[derive(Clone, Debug)]
pub(crate) struct RttEstimator {
    /// None before the first sample (rule C1).
    srtt: Option<u64>,
    rttvar: u64,
    /// The round trip of the newest sample, or acknowledged chunk that was sent once.
    newest: u64,
    rto: u64,
    /// The chunk that is being timed (rule C4).
    timed: Option<u64>,
    /// When the last chunk or heartbeat left that can measure the round trip.
    last_timed: Instant,
}

impl RttEstimator {
    pub(crate) fn new(cfg: &RtoConfig, now: Instant) -> RttEstimator {
        RttEstimator {
            srtt: None,
            rttvar: 0,
            newest: 0,
            rto: nanos(cfg.initial),
            timed: None,
            last_timed: now,
        }
    }

    pub(crate) fn srtt(&self) -> Option<Duration> {
        self.srtt.map(Duration::from_nanos)
    }

    pub(crate) fn rttvar(&self) -> Duration {
        Duration::from_nanos(self.rttvar)
    }

    /// The round trip of the newest sample, or acknowledged chunk that was sent once; zero before the first.
    pub(crate) fn newest(&self) -> Duration {
        Duration::from_nanos(self.newest)
    }

    /// A chunk that was sent once took this. It is no sample where an earlier one was retransmitted meanwhile
    /// (rule C5).
    #[inline]
    pub(crate) fn note_round_trip(&mut self, rtt: Duration) {
        self.newest = nanos(rtt);
    }

    pub(crate) fn rto(&self) -> Duration {
        Duration::from_nanos(self.rto)
    }

    /// When a timer that starts now and runs for one RTO expires.
    #[inline]
    pub(crate) fn timeout(&self, now: Instant) -> Instant {
        now.plus_nanos(self.rto)
    }

    /// This chunk left for the first time. It is timed unless another one is (rule C4).
    #[inline]
    pub(crate) fn time_chunk(&mut self, seq: u64) {
        if self.timed.is_none() {
            self.timed = Some(seq);
        }
    }

    /// This chunk was acknowledged. Returns whether it was timed; it is no longer.
    #[inline]
    pub(crate) fn end_timing(&mut self, seq: u64) -> bool {
        let timed = self.timed == Some(seq);
        if timed {
            self.timed = None;
        }
        timed
    }

    /// No chunk is timed any more: the timed one counts as lost.
    pub(crate) fn forget_timed(&mut self) {
        self.timed = None;
    }

    /// Chunks from this one on are not timed: a chunk before them leaves again.
    #[inline]
    pub(crate) fn forget_timed_from(&mut self, seq: u64) {
        if self.timed.is_some_and(|timed| timed >= seq) {
            self.timed = None;
        }
    }

    /// When the last chunk or heartbeat left that can measure the round trip.
    pub(crate) fn last_timed(&self) -> Instant {
        self.last_timed
    }

    /// A chunk or heartbeat leaves that can measure the round trip.
    #[inline]
    pub(crate) fn measurable_leaves(&mut self, now: Instant) {
        self.last_timed = now;
    }

    /// Rules C2, C3, C6 and C7: a new measurement, which also ends the back-off of the
    /// RTO.
    pub(crate) fn sample(&mut self, rtt: Duration, cfg: &RtoConfig) {
        self.newest = nanos(rtt);
        // 63 bits are 292 years, and convert to a float faster than 64 bits do.
        let float = |ns: u64| ns.cast_signed() as f64;
        let whole = |ns: f64| (ns as i64).cast_unsigned();
        let r = float(nanos(rtt));
        let (srtt, rttvar) = match self.srtt {
            None => (r, r / 2.0),
            Some(srtt) => {
                let (srtt, var) = (float(srtt), float(self.rttvar));
                // RTTVAR first: it uses the old SRTT.
                let var = (1.0 - cfg.beta) * var + cfg.beta * (srtt - r).abs();
                ((1.0 - cfg.alpha) * srtt + cfg.alpha * r, var)
            }
        };
        self.srtt = Some(whole(srtt));
        self.rttvar = whole(rttvar);
        // Rule G1: the variance counts at least one tick of the clock.
        let spread = (4.0 * rttvar).max(1.0);
        let (min, max) = (nanos(cfg.min), nanos(cfg.max));
        self.rto = whole(srtt + spread).clamp(min, max);
    }

    /// Rule E2: the timeout doubles, up to RTO.Max.
    pub(crate) fn back_off(&mut self, cfg: &RtoConfig) {
        self.rto = self.rto.saturating_mul(2).min(nanos(cfg.max));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn the_rules_of_section_6_3_1() {
        let cfg = RtoConfig {
            min: MS,
            ..RtoConfig::default()
        };
        let mut e = RttEstimator::new(&cfg, Instant::ZERO);
        assert_eq!((e.srtt(), e.rto()), (None, Duration::from_secs(1)));
        // C2: SRTT = R, RTTVAR = R/2, RTO = SRTT + 4 RTTVAR.
        e.sample(100 * MS, &cfg);
        assert_eq!((e.srtt(), e.rto()), (Some(100 * MS), 300 * MS));
        // C3: RTTVAR = 3/4 * 50 + 1/4 * 100, SRTT = 7/8 * 100 + 1/8 * 200.
        e.sample(200 * MS, &cfg);
        assert_eq!(e.srtt(), Some(Duration::from_micros(112_500)));
        assert_eq!(e.rto(), Duration::from_micros(112_500 + 4 * 62_500));
    }

    #[test]
    fn back_off_doubles_to_the_maximum_and_a_sample_collapses_it() {
        let cfg = RtoConfig::default();
        let mut e = RttEstimator::new(&cfg, Instant::ZERO);
        let seconds: Vec<u64> = (0..8)
            .map(|_| {
                e.back_off(&cfg);
                e.rto().as_secs()
            })
            .collect();
        assert_eq!(seconds, [2, 4, 8, 16, 32, 60, 60, 60]);
        e.sample(10 * MS, &cfg);
        assert_eq!(e.rto(), cfg.min);
    }

    /// What a full queue took does not outlive the next sample, such as that of a heartbeat.
    #[test]
    fn the_newest_round_trip_is_that_of_the_last_answer() {
        let cfg = RtoConfig::default();
        let mut rtt = RttEstimator::new(&cfg, Instant::ZERO);
        rtt.sample(Duration::from_millis(20), &cfg);
        rtt.note_round_trip(Duration::from_secs(3));
        assert_eq!(rtt.newest(), Duration::from_secs(3));
        rtt.sample(Duration::from_millis(20), &cfg);
        assert_eq!(rtt.newest(), Duration::from_millis(20));
    }
}
