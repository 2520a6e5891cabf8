//! The description of a link.

use super::effect::{Corrupt, Duplicate, Reorder};
use super::loss::LossModel;
use super::policer::Policer;
use super::queue::QueueLimit;
use super::rate::Rate;
use super::schedule::LinkChange;
use crate::net::capture::Capture;
use byway_core::time::{Duration, Instant};

/// A one-way link. `LinkConfig::default()` is perfect and instantaneous.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LinkConfig {
    /// Transmission rate. Default: unlimited.
    pub rate: Rate,
    /// Propagation delay. Default: zero.
    pub delay: Duration,
    /// Extra delay of each packet, uniform between zero and this, drawn anew for each. No packet
    /// overtakes another: it arrives with or after the one before it. Default: zero.
    pub jitter: Duration,
    /// Drop-tail limit. Default: unlimited.
    pub queue: QueueLimit,
    /// A policer in front of the queue. Default: none.
    pub policer: Option<Policer>,
    /// Losses before the queue. Default: none.
    pub loss: LossModel,
    /// Extra delay of some packets. Default: none.
    pub reorder: Option<Reorder>,
    /// Copies of some packets. Default: none.
    pub duplicate: Option<Duplicate>,
    /// Flipped bits in some packets. Default: none.
    pub corrupt: Option<Corrupt>,
    /// Changes at set times, in any order. Default: none.
    pub schedule: Vec<(Instant, LinkChange)>,
    /// Which packets are written to the pcapng file. Default: none.
    pub capture: Capture,
    /// Cost for the computation of shortest routes. 0, the default, counts as 1.
    pub cost: u32,
}

impl LinkConfig {
    /// A link with this rate and propagation delay, and defaults for all else.
    #[must_use]
    pub fn new(rate: Rate, delay: Duration) -> LinkConfig {
        LinkConfig {
            rate,
            delay,
            ..LinkConfig::default()
        }
    }

    /// The same with this queue limit.
    #[must_use]
    pub fn queue(mut self, limit: QueueLimit) -> LinkConfig {
        self.queue = limit;
        self
    }

    /// The same with this jitter.
    #[must_use]
    pub fn jitter(mut self, most: Duration) -> LinkConfig {
        self.jitter = most;
        self
    }

    /// The same with this policer.
    #[must_use]
    pub fn policer(mut self, policer: Policer) -> LinkConfig {
        self.policer = Some(policer);
        self
    }

    /// The same with this loss model.
    #[must_use]
    pub fn loss(mut self, model: LossModel) -> LinkConfig {
        self.loss = model;
        self
    }

    /// The same with one more scheduled change.
    #[must_use]
    pub fn at(mut self, when: Instant, change: LinkChange) -> LinkConfig {
        self.schedule.push((when, change));
        self
    }

    /// The same with a rate that changes: bits per second from each time on.
    #[must_use]
    pub fn rate_over_time(mut self, steps: &[(Instant, u64)]) -> LinkConfig {
        let change = |rate| LinkChange::Rate(Rate::BitsPerSecond(rate));
        let changes = steps.iter().map(|(at, rate)| (*at, change(*rate)));
        self.schedule.extend(changes);
        self
    }

    /// The same with an outage that starts at `from`, drops the packets in flight
    /// then, and ends at `until`; `None` means never.
    #[must_use]
    pub fn outage(self, from: Instant, until: Option<Instant>) -> LinkConfig {
        let config = self.at(from, LinkChange::DOWN);
        match until {
            Some(until) => config.at(until, LinkChange::Up),
            None => config,
        }
    }

    /// The same with this capture.
    #[must_use]
    pub fn capture(mut self, what: Capture) -> LinkConfig {
        self.capture = what;
        self
    }
}
