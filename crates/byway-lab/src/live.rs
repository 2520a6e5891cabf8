//! A run that is watched: it goes in steps, and shows its packets and what both ends observe.
//!
//! Watching changes nothing: the result is that of [`run::one`](crate::run::one). The web page uses it,
//! and timelines of the papers.

mod label;

use crate::clock::instant;
use crate::collect::{Collector, Expected, Stop};
pub use crate::drive::Side;
use crate::drive::{Drive, DriveError, Ended, Step};
use crate::network::{self, Records};
use crate::paths::PathNames;
use crate::result::RunResult;
use crate::run::{RunError, total_bytes};
use crate::scenario::Scenario;
use byway_core::PathId;
use byway_core::observe::Observed;
use byway_sim::host::Delivery;
use byway_sim::net::{DropReason, LinkId, LogKind};
pub use label::Load;
use label::{Label, Seen, label};
use std::time::Duration;

/// A packet on the bottleneck of a path.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The path's place in the scenario.
    pub path: usize,
    /// Whether it goes from the sender to the receiver.
    pub forward: bool,
    /// What it carries.
    pub load: Load,
    /// Of its first DATA the TSN, of a SACK the cumulative TSN, counted from the first one that was
    /// sent as 1; 0 for anything else.
    pub tsn: u32,
    /// The first gap block of a SACK, as TSNs counted alike.
    pub gap: Option<(u32, u32)>,
    /// When it came to the bottleneck, nanoseconds since the start of the run.
    pub from: u64,
    /// When it leaves the path at its other end, or was lost.
    pub to: u64,
    /// Why it was lost; none when it arrives.
    pub lost: Option<DropReason>,
    /// Bytes, IP header included.
    pub bytes: u32,
}

/// One policy of a scenario, in steps.
pub struct Live {
    scenario: Scenario,
    index: usize,
    drive: Drive,
    collector: Collector,
    names: PathNames,
    /// The bottlenecks of each path: towards the receiver, and back.
    ways: Vec<[LinkId; 2]>,
    stop: Option<Stop>,
    /// When it ended.
    at: u64,
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Live")
            .field("policy", &self.scenario.policies[self.index].name)
            .field("over", &self.is_over())
            .finish_non_exhaustive()
    }
}

impl Live {
    /// The policy at place `index`, at the start.
    ///
    /// # Errors
    /// When the network or an endpoint refuses its settings.
    pub fn new(scenario: &Scenario, index: usize) -> Result<Live, RunError> {
        let policy = &scenario.policies[index];
        let records = Records {
            log: true,
            ..Records::default()
        };
        let built = network::build(scenario, records)?;
        let ways = built.ways.clone();
        let expected = Expected {
            bytes: total_bytes(&scenario.traffic),
            detailed: true,
        };
        let collector = Collector::new(scenario, policy, expected);
        let mut drive = Drive::new(scenario, &policy.config, built, &collector)
            .map_err(|error| failed(scenario, index, error))?;
        let mut seen = Seen::default();
        drive
            .simulation()
            .on_outgoing(move |packet| label(packet, &mut seen));
        Ok(Live {
            scenario: scenario.clone(),
            index,
            drive,
            collector,
            names: PathNames::of_acceptor(scenario.paths.len(), network::receiver_address),
            ways,
            stop: None,
            at: 0,
        })
    }

    /// Handles what happens up to the simulated time `until`, but at most `events` events. `see` gets
    /// what both ends observe, each in order of time. Returns whether all up to `until` has happened.
    ///
    /// # Errors
    /// When an endpoint refuses the association or a message.
    pub fn run_to(
        &mut self,
        until: Duration,
        events: u64,
        see: &mut impl FnMut(Side, &Observed),
    ) -> Result<bool, RunError> {
        if self.is_over() {
            return Ok(true);
        }
        let until = instant(until);
        let mut reached = false;
        for _ in 0..events {
            let step = self
                .drive
                .step(until, &mut self.collector, see)
                .map_err(|error| failed(&self.scenario, self.index, error))?;
            match step {
                Step::Went => continue,
                Step::Waits => {}
                Step::Stopped(stop) => self.stop = Some(stop),
            }
            reached = true;
            break;
        }
        self.at = self.drive.now().as_nanos();
        self.drive.peek(see);
        self.drive.learn(&mut self.names);
        Ok(reached)
    }

    /// The scenario's place of a path of the sender.
    #[must_use]
    pub fn path(&self, path: PathId) -> usize {
        self.names.number(path).0.into()
    }

    /// Whether the run is over.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.stop.is_some()
    }

    /// Up to when all has happened: the end, when the run is over.
    #[must_use]
    pub fn at(&self) -> Duration {
        match self.stop {
            Some(Stop::Time) => self.scenario.limit,
            _ => Duration::from_nanos(self.at),
        }
    }

    /// The packets that came to a bottleneck since the last time.
    pub fn passages(&mut self) -> impl Iterator<Item = Passage> + '_ {
        let log = self.drive.simulation().network_mut().take_log();
        let ways = &self.ways;
        log.into_iter().filter_map(|entry| {
            let link = entry.link?;
            let place = |i: usize| ways.iter().position(|way| way[i] == link);
            let (path, forward) = match place(0) {
                Some(path) => (path, true),
                None => (place(1)?, false),
            };
            let (to, lost) = match entry.what {
                LogKind::Forwarded { arrives } => (arrives, None),
                LogKind::Dropped(why) => (entry.at, Some(why)),
            };
            let label = Label::read(entry.meta)?;
            Some(Passage {
                path,
                forward,
                load: label.load,
                tsn: label.tsn,
                gap: label.gap,
                from: entry.offered.as_nanos(),
                to: to.as_nanos(),
                lost,
                bytes: entry.wire_size,
            })
        })
    }

    /// What the reader took since the last time: every time that it read, in order.
    pub fn deliveries(&mut self) -> Vec<Delivery> {
        self.drive.read(&mut self.collector)
    }

    /// The result, if the run is over.
    ///
    /// # Errors
    /// When the network refused packets.
    pub fn finish(self) -> Result<Option<RunResult>, RunError> {
        let Live {
            scenario,
            index,
            drive,
            mut collector,
            stop: Some(stop),
            ..
        } = self
        else {
            return Ok(None);
        };
        let Ended { at, stop, .. } = drive
            .end(stop, &mut collector)
            .map_err(|error| failed(&scenario, index, error))?;
        Ok(Some(collector.finish(
            &scenario,
            index,
            at.as_nanos(),
            stop,
        )))
    }
}

fn failed(scenario: &Scenario, index: usize, error: DriveError) -> RunError {
    RunError::Policy {
        policy: scenario.policies[index].name.clone(),
        error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{RunOptions, compared, run};
    use crate::scenario::{BUILT_IN, BUILT_IN_NAME};

    /// All policies, each in steps of `step`.
    fn watched(scenario: &Scenario, step: Duration) -> String {
        let results = (0..scenario.policies.len()).map(|i| {
            let mut live = Live::new(scenario, i).unwrap();
            let mut until = Duration::ZERO;
            while !live.is_over() {
                until += step;
                while !live.run_to(until, 97, &mut |_, _| {}).unwrap() {}
                live.passages().for_each(drop);
                live.deliveries();
            }
            live.finish().unwrap().unwrap()
        });
        let results = results.collect();
        serde_json::to_string_pretty(&compared(scenario, results)).unwrap()
    }

    #[test]
    fn a_run_that_is_watched_is_the_same_run() {
        let mut scenario = Scenario::parse(BUILT_IN_NAME, BUILT_IN).unwrap();
        scenario.policies.drain(1..6);
        let plain = run(&scenario, RunOptions::default()).unwrap();
        let plain = serde_json::to_string_pretty(&plain).unwrap();
        for step in [16_666_667, 3_000_000_000] {
            assert_eq!(watched(&scenario, Duration::from_nanos(step)), plain);
        }
    }

    #[test]
    fn a_long_run_keeps_what_is_in_flight_alone() {
        let scenario = Scenario::parse(
            "long",
            "limit = \"30 s\"\n[traffic]\nkind = \"bulk\"\nsize = \"1 GB\"\n\
             [[path]]\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\nloss = \"1 %\"\n\
             [[path]]\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\n\
             [[event]]\nat = \"5 s\"\npath = 1\ndo = \"down\"\n\
             [[event]]\nat = \"9 s\"\npath = 1\ndo = \"up\"\n",
        )
        .unwrap_or_else(|e| panic!("{e}"));
        let mut live = Live::new(&scenario, 0).unwrap();
        let (mut kept, mut read) = (0, 0);
        while !live.is_over() {
            let until = live.at() + Duration::from_millis(100);
            live.run_to(until, u64::MAX, &mut |_, _| {}).unwrap();
            read += live.deliveries().len();
            assert!(live.deliveries().is_empty(), "what was read is given twice");
            kept = kept.max(live.collector.kept());
        }
        let result = live.finish().unwrap().unwrap();
        assert!(read > 1000 && result.measures.originals > 5000, "{read}");
        // A window of 100 packets, and what a batch of observations holds.
        assert!(kept < 1500, "{kept} of {}", result.measures.originals);
        assert!(result.measures.caught_by_failure > 0);
    }

    #[test]
    fn every_packet_is_seen_with_its_load_and_its_fate() {
        let scenario = Scenario::built_in();
        let mut live = Live::new(&scenario, 0).unwrap();
        let mut seen = Vec::new();
        while !live.is_over() {
            let until = live.at() + Duration::from_millis(100);
            live.run_to(until, u64::MAX, &mut |_, _| {}).unwrap();
            seen.extend(live.passages());
        }
        let result = live.finish().unwrap().unwrap();
        let sent = |load| seen.iter().filter(|p| p.load == load && p.forward).count() as u64;
        assert_eq!(sent(Load::Retransmission), result.retransmissions);
        assert_eq!(sent(Load::Data), result.measures.originals);
        let new = seen.iter().filter(|p| p.load == Load::Data);
        assert!(new.map(|p| p.tsn).eq(1..=result.measures.originals as u32));
        let reported = seen.iter().filter_map(|p| Some((p.tsn, p.gap?)));
        assert!(reported.clone().count() > 0 && reported.clone().all(|(cum, gap)| cum < gap.0));
        assert!(seen.iter().all(|p| p.from <= p.to));
        // The primary dies after 2 s: what is on it then is lost, and nothing passes later.
        let death = 2_000_000_000;
        let lost = |p: &&Passage| p.lost.is_some();
        assert!(
            seen.iter()
                .filter(lost)
                .any(|p| p.path == 0 && p.to == death)
        );
        let late = seen.iter().filter(|p| p.path == 0 && p.from > death);
        assert!(late.clone().count() > 0 && late.clone().all(|p| p.lost.is_some()));
    }
}
