//! Estimates of the throughput of each path (caro-2006 section IV.2; Padhye et al.,
//! "Modeling TCP Throughput", SIGCOMM 1998).
//!
//! A sender that only losses limit sends sqrt(3/(4p))/RTT packets a second on a path
//! of loss rate p, if every second packet is acknowledged. The paper suggests choosing
//! the primary by this rate, but does not say how to measure an idle path.
//! Here data measures the path that carries it: acknowledged chunks against lost
//! ones, less the losses that duplicate TSNs show to be spurious. Small heartbeats
//! measure idle paths. They are limited to a share of the data's bytes and to a
//! number per second. Older samples count less.
//!
//! RFC 9260 does not compare paths. Off by default (`failover.estimate`).
//!
//! Heartbeats and data, and busy and idle paths, must be measured alike:
//! - A heartbeat crosses the path in both directions and a chunk in one. So an
//!   answered heartbeat counts as two passages. A lost one also counts as two, of
//!   which 2/(2 - p) were lost on average. This assumes equal losses in both
//!   directions. If only the return direction loses packets, an idle path looks worse
//!   than data would find it, by at most half its loss rate.
//! - No loss in n passages does not mean p = 0, which would be an infinite rate. So
//!   the comparison uses the ends of Wilson's interval. Without losses its upper end
//!   is z^2/(n + z^2): about 4/n at two deviations, similar to the rule of three.
//!   Statistics report the mean of the Beta posterior with Jeffreys' prior,
//!   (k + 1/2)/(n + 1).
//! - An idle path has no queue of our packets. So the round trip is the least of the
//!   last 10 to 20 s and not SRTT, which includes our own queue on a busy path. Losses
//!   do not count while that queue is long (`own_queue`). Otherwise a sender that
//!   fills a slow path would leave it because of losses that it caused itself. The
//!   price: if other traffic fills the queue as well, losses count only at times when
//!   the queue is short.
//! - SRTT of sparse data includes the delay of its SACKs, and a heartbeat has no such
//!   delay. So the path in use is probed as well, once in 5 s.
//! - Losses of one round trip come from one full queue or one outage, but the interval
//!   assumes independent losses. So at most four of them count (Max.Burst).

use crate::time::{Duration, Instant};

mod config;

pub use config::{Choice, EstimateConfig, Formula, ProbeSize};

/// Most losses that count in one round trip.
const MAX_LOSSES_A_ROUND: u8 = 4;
/// Round trips are forgotten after one to two of these windows.
const RTT_WINDOW: Duration = Duration::from_secs(10);

/// The measurements of one path.
#[derive(Clone, Debug, Default)]
pub struct PathEstimate {
    /// Passages, and how many of them were lost. Old ones count less.
    trials: f64,
    lost: f64,
    /// The least round trip of this window and of the one before.
    least: Option<Duration>,
    least_before: Option<Duration>,
    window_began: Instant,
    /// The losses that count in this round trip.
    round_began: Instant,
    round_losses: u8,
}

impl PathEstimate {
    fn count(&mut self, passed: f64, lost: f64, memory: u32) {
        let new = passed + lost;
        let keep = (1.0 - new / f64::from(memory)).max(0.0);
        self.trials = self.trials * keep + new;
        self.lost = self.lost * keep + lost;
    }

    /// This number of chunks was acknowledged.
    pub fn acknowledged(&mut self, chunks: u32, memory: u32) {
        self.count(f64::from(chunks), 0.0, memory);
    }

    /// A chunk was lost while this many packets were in flight and the round trip
    /// was `srtt`. False if it does not count: our own queue was long, or enough
    /// losses of this round trip have counted.
    pub fn taken_for_lost(
        &mut self,
        now: Instant,
        srtt: Duration,
        packets: u32,
        cfg: &EstimateConfig,
    ) -> bool {
        let least = self.rtt().unwrap_or(srtt);
        let queued = f64::from(packets) * srtt.saturating_sub(least).as_secs_f64();
        if queued > f64::from(cfg.own_queue) * srtt.as_secs_f64() {
            return false;
        }
        if self.round_losses == 0 || now.since(self.round_began) > srtt {
            self.round_began = now;
            self.round_losses = 0;
        }
        if self.round_losses >= MAX_LOSSES_A_ROUND {
            return false;
        }
        self.round_losses += 1;
        self.count(0.0, 1.0, cfg.memory);
        true
    }

    /// A loss that was counted was spurious: the chunk had arrived.
    pub fn had_arrived(&mut self) {
        self.lost = (self.lost - 1.0).max(0.0);
    }

    /// A heartbeat was answered: both passages succeeded.
    pub fn answered(&mut self, memory: u32) {
        self.count(2.0, 0.0, memory);
    }

    /// A heartbeat was not answered: one of the two passages was lost, or both.
    pub fn unanswered(&mut self, memory: u32) {
        let p = (self.lost / self.trials.max(1.0)).min(1.0);
        let lost = 2.0 / (2.0 - p);
        self.count(2.0 - lost, lost, memory);
    }

    /// A round trip was measured.
    pub fn measured(&mut self, now: Instant, rtt: Duration) {
        if now.since(self.window_began) >= RTT_WINDOW {
            self.window_began = now;
            self.least_before = self.least.take();
        }
        self.least = Some(self.least.map_or(rtt, |l| l.min(rtt)));
    }

    fn rtt(&self) -> Option<Duration> {
        match (self.least, self.least_before) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// The estimate, with the RTO that the path would have; `None` before the
    /// first round-trip sample.
    #[must_use]
    pub fn estimate(&self, rto: Duration) -> Option<Estimate> {
        Some(Estimate {
            rtt: self.rtt()?,
            rto,
            trials: self.trials,
            lost: self.lost,
        })
    }
}

/// The estimated round trip and losses of a path.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Estimate {
    /// The least round trip of the last 10 to 20 s.
    pub rtt: Duration,
    /// The retransmission timeout that the path would have.
    pub rto: Duration,
    /// Passages, with less weight for old ones.
    pub trials: f64,
    /// How many of them were lost.
    pub lost: f64,
}

impl Estimate {
    /// The loss rate of one direction: the posterior mean with Jeffreys' prior.
    #[must_use]
    pub fn loss(&self) -> f64 {
        (self.lost + 0.5) / (self.trials + 1.0)
    }

    /// The lower and upper limit of the loss rate for this many standard deviations
    /// (Wilson's interval).
    #[must_use]
    pub fn loss_between(&self, deviations: f64) -> (f64, f64) {
        if self.trials <= 0.0 {
            return (0.0, 1.0);
        }
        let (n, zz) = (self.trials, deviations * deviations);
        let k = self.lost.min(n);
        let centre = (k + zz / 2.0) / (n + zz);
        let spread = deviations / (n + zz) * (k * (n - k) / n + zz / 4.0).sqrt();
        let least = if k == 0.0 { 0.0 } else { centre - spread };
        (least.max(0.0), (centre + spread).min(1.0))
    }
}

#[cfg(test)]
mod tests;
