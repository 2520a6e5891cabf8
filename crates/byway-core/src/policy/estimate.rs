//! What each path would carry, estimated (caro-2006 section IV.2; Padhye et
//! al., "Modeling TCP Throughput", SIGCOMM 1998).
//!
//! A loss-limited sender gets sqrt(3/(4p))/RTT packets a second from a path of
//! loss rate p, where every second packet is acknowledged; the paper wants the
//! primary chosen by this, and leaves open how an idle path's p is measured.
//! Here data tells of the path that carries it (acknowledged against taken for
//! lost, less what duplicate TSNs show to have been taken for lost in error),
//! and of idle ones small heartbeats do, whose number a share of the data's
//! bytes and a number a second bound. What was seen longer ago counts less.
//!
//! RFC 9260 compares no paths; off by default (`failover.estimate`).
//!
//! How the readings are made comparable:
//! - A heartbeat crosses the path both ways, a chunk of data one way: an answered
//!   heartbeat is two passages, a lost one two of which 2/(2 - p) were lost on
//!   average. That takes losses for alike both ways; where only the way back
//!   loses, an idle path looks worse than data would find it, by at most half its
//!   loss rate.
//! - No losses in n passages do not make p = 0, which would be a path of endless
//!   rate: the comparison takes the ends of Wilson's interval, whose upper one is
//!   z^2/(n + z^2) then: 4/n at two deviations, the rule of three's kin. What is
//!   reported is the mean of the Beta posterior over Jeffreys' prior,
//!   (k + 1/2)/(n + 1).
//! - An idle path has no queue of our making. So the round trip is the least of
//!   the last 10 to 20 s, not SRTT, which on the busy path holds our own queue; and
//!   losses do not count while that queue stands (`own_queue`), or a sender that
//!   fills a slow path would flee from its own shadow. The price: of a path whose
//!   queue other traffic fills, too, only the losses of its emptier times count.
//! - Sparse data waits for delayed SACKs, and SRTT with it; a heartbeat does not. So
//!   the path in use is probed, too, once in 5 s.
//! - Losses of one round trip come from one full queue or one outage: four of
//!   them count (Max.Burst), as the interval takes losses for independent.

use crate::time::{Duration, Instant};

mod config;

pub use config::{Choice, EstimateConfig, Formula, ProbeSize};

/// Losses that one round trip may count.
const MAX_LOSSES_A_ROUND: u8 = 4;
/// A round trip older than one to two of these is forgotten.
const RTT_WINDOW: Duration = Duration::from_secs(10);

/// What has been seen of one path.
#[derive(Clone, Debug, Default)]
pub struct PathEstimate {
    /// Passages, and how many of them were lost; old ones count less.
    trials: f64,
    lost: f64,
    /// The least round trip of this window and of the one before.
    least: Option<Duration>,
    least_before: Option<Duration>,
    window_began: Instant,
    /// Losses that this round trip has counted.
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

    /// So many chunks were acknowledged.
    pub fn acknowledged(&mut self, chunks: u32, memory: u32) {
        self.count(f64::from(chunks), 0.0, memory);
    }

    /// A chunk was taken for lost while this many packets were in flight and the
    /// round trip was `srtt`. False when it does not count: it was lost in a queue
    /// of our own making, or its round trip has counted enough.
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

    /// A chunk that was counted as lost had arrived.
    pub fn had_arrived(&mut self) {
        self.lost = (self.lost - 1.0).max(0.0);
    }

    /// A heartbeat was answered: it passed both ways.
    pub fn answered(&mut self, memory: u32) {
        self.count(2.0, 0.0, memory);
    }

    /// A heartbeat was not answered: one passage of two was lost, or both.
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

    /// What follows from it, with the timeout that the path would have; none
    /// before a round trip was measured.
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

/// Round trip and losses of a path, as estimated.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Estimate {
    /// The least round trip of the last 10 to 20 s.
    pub rtt: Duration,
    /// The retransmission timeout that it would have.
    pub rto: Duration,
    /// Passages seen, old ones counting less.
    pub trials: f64,
    /// How many of them were lost.
    pub lost: f64,
}

impl Estimate {
    /// The loss rate, one way: the posterior mean over Jeffreys' prior.
    #[must_use]
    pub fn loss(&self) -> f64 {
        (self.lost + 0.5) / (self.trials + 1.0)
    }

    /// Between which the loss rate lies, by this many standard deviations
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
