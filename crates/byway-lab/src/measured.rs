//! A run outside the simulator: what both ends observe over sockets becomes a result as that of a
//! simulated run. There is no clock and no socket here; who has them says what happened when.

use crate::collect::{Collector, Expected, Stop};
use crate::paths::PathNames;
use crate::result::RunResult;
use crate::run::total_bytes;
use crate::scenario::Scenario;
use byway_core::Endpoint;
use byway_core::observe::Observed;
use byway_core::time::Instant;
use std::net::IpAddr;
use std::time::Duration;

/// What was seen of one policy of a scenario.
pub struct Measured {
    scenario: Scenario,
    index: usize,
    collector: Collector,
    sender: PathNames,
    receiver: PathNames,
}

impl std::fmt::Debug for Measured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Measured")
            .field("policy", &self.scenario.policies[self.index].name)
            .field("complete", &self.is_complete())
            .finish_non_exhaustive()
    }
}

impl Measured {
    /// The policy at place `index`, before anything has happened. `sender` and `receiver` are the ends'
    /// addresses on a path, counted from 0. The times of events with a spread must be drawn
    /// ([`Scenario::drawn`]).
    ///
    /// # Panics
    /// If there is no such policy.
    #[must_use]
    pub fn new(
        scenario: &Scenario,
        index: usize,
        sender: fn(usize) -> IpAddr,
        receiver: fn(usize) -> IpAddr,
    ) -> Measured {
        let expected = Expected {
            bytes: total_bytes(&scenario.traffic),
            detailed: true,
        };
        let paths = scenario.paths.len();
        Measured {
            scenario: scenario.clone(),
            index,
            collector: Collector::new(scenario, &scenario.policies[index], expected),
            sender: PathNames::of_initiator(paths, receiver),
            receiver: PathNames::of_acceptor(paths, sender),
        }
    }

    /// What the sender has observed since the last time, oldest first. Its clock began at `base`.
    pub fn sender(&mut self, base: Duration, observed: &[Observed], endpoint: &Endpoint) {
        for o in shifted(base, observed) {
            self.sender.learn(endpoint, Some(o.assoc));
            self.collector.sender(&o, &mut self.sender);
        }
    }

    /// The same of the receiver.
    pub fn receiver(&mut self, base: Duration, observed: &[Observed], endpoint: &Endpoint) {
        for o in shifted(base, observed) {
            self.receiver.learn(endpoint, Some(o.assoc));
            self.collector.receiver(&o, &mut self.receiver);
        }
    }

    /// The reader has taken `bytes`.
    pub fn delivery(&mut self, at: Duration, bytes: u64) {
        self.collector.delivery(Instant::ZERO + at, bytes);
    }

    /// Whether all has been delivered and acknowledged.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.collector.is_complete()
    }

    /// The result of a run that has ended at `end`; `lost` says why the association was.
    #[must_use]
    pub fn finish(self, end: Duration, lost: Option<String>) -> RunResult {
        let stop = match lost {
            Some(why) => Stop::Lost(why),
            None => Stop::Time,
        };
        let end = (Instant::ZERO + end).as_nanos();
        self.collector.finish(&self.scenario, self.index, end, stop)
    }
}

/// Observations with the times of the run.
fn shifted(base: Duration, observed: &[Observed]) -> impl Iterator<Item = Observed> {
    observed.iter().map(move |o| Observed {
        at: o.at + base,
        ..o.clone()
    })
}
