//! Runs one policy in the simulator and gathers what both ends observe.

use crate::clock::instant;
use crate::collect::{Collector, Stop};
use crate::network::{Built, receiver_address, sender_address};
use crate::paths::PathNames;
use crate::scenario::{Scenario, Traffic};
use crate::traffic;
use byway_core::observe::Observed;
use byway_core::time::Instant;
use byway_core::{ChecksumMode, ConfigError, EndpointConfig};
use byway_dialect_ns2::Settings;
use byway_sim::host::{Delivery, Sender, Sink};
use byway_sim::{HostId, Simulation};
use std::net::{IpAddr, SocketAddr};

/// SCTP port of both.
const PORT: u16 = 5001;
/// Events between two reports of the progress, and between two readings of the
/// observations where the order of both ends' readings shows, in the digest.
const REPORT: u64 = 512;
/// Events between two readings elsewhere: few, so that what the ends wrote is
/// still in the first cache.
const BATCH: u64 = 32;

/// Why a run could not be done.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// An endpoint refuses its settings.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The association or a message is refused.
    #[error("{0}")]
    Refused(String),
    /// The network did not take some packets.
    #[error("the network refused {0} packets")]
    Packets(u64),
    /// The caller cancelled the run.
    #[error("cancelled")]
    Cancelled,
}

/// How a run ended.
pub(crate) struct Ended {
    pub(crate) at: Instant,
    pub(crate) stop: Stop,
    pub(crate) simulation: Simulation,
}

/// Runs until all is delivered and acknowledged, the association is lost, or
/// the scenario's time or its events are over. `progress` gets the simulated
/// time and returns whether to continue.
pub(crate) fn drive(
    scenario: &Scenario,
    config: &Settings,
    built: Built,
    collector: &mut Collector,
    progress: &dyn Fn(Instant) -> bool,
) -> Result<Ended, DriveError> {
    let mut drive = Drive::new(scenario, config, built, collector)?;
    let limit = drive.limit;
    loop {
        match drive.step(limit, collector, &mut |_, _| {})? {
            Step::Stopped(stop) => return drive.end(stop, collector),
            Step::Went | Step::Waits => {}
        }
        if drive.events.is_multiple_of(REPORT) && !progress(drive.now()) {
            return Err(DriveError::Cancelled);
        }
    }
}

/// Which end observed something.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// The sender of the data.
    Sender,
    /// Its receiver.
    Receiver,
}

/// What one step of a run came to.
pub(crate) enum Step {
    /// An event was handled.
    Went,
    /// There is none up to the time asked for.
    Waits,
    /// The run is over.
    Stopped(Stop),
}

/// A run, event by event.
pub(crate) struct Drive {
    ends: Ends,
    limit: Instant,
    max_events: u64,
    /// Events between two readings of the observations.
    batch: u64,
    expected: u64,
    events: u64,
    /// What the sender and the receiver observed and the collector has not taken.
    waiting: [Vec<Observed>; 2],
}

impl Drive {
    pub(crate) fn new(
        scenario: &Scenario,
        config: &Settings,
        built: Built,
        collector: &Collector,
    ) -> Result<Drive, DriveError> {
        Ok(Drive {
            ends: Ends::new(scenario, config, built, collector.is_detailed())?,
            limit: instant(scenario.limit),
            max_events: scenario.max_events,
            batch: match collector.is_detailed() {
                true => REPORT,
                false => BATCH,
            },
            expected: collector.expected_bytes(),
            events: 0,
            waiting: [Vec::new(), Vec::new()],
        })
    }

    /// Handles the next event that is not later than `until`. `see` gets what both ends observe, when
    /// the collector takes it.
    #[inline]
    pub(crate) fn step(
        &mut self,
        until: Instant,
        collector: &mut Collector,
        see: &mut impl FnMut(Side, &Observed),
    ) -> Result<Step, DriveError> {
        if let Some(stop) = self.ends.stop(self.expected)? {
            return Ok(Step::Stopped(stop));
        }
        if self.events == self.max_events {
            return Ok(Step::Stopped(Stop::Events));
        }
        if !self.ends.simulation.step(until.min(self.limit)) {
            return Ok(match until >= self.limit {
                true => Step::Stopped(Stop::Time),
                false => Step::Waits,
            });
        }
        self.events += 1;
        if self.events.is_multiple_of(self.batch) {
            self.ends.gather(collector, &mut self.waiting, see);
        }
        Ok(Step::Went)
    }

    /// Shows `see` what both ends have observed since the last time. The collector takes it later, in
    /// the same batches as in a run that nobody watches: their order shows in the digest.
    pub(crate) fn peek(&mut self, see: &mut impl FnMut(Side, &Observed)) {
        let ends = &mut self.ends;
        for (side, host, waiting) in [
            (Side::Sender, ends.sender, 0),
            (Side::Receiver, ends.receiver, 1),
        ] {
            for o in ends.simulation.drain_observations(host) {
                see(side, &o);
                self.waiting[waiting].push(o);
            }
        }
    }

    /// The simulated time.
    pub(crate) fn now(&self) -> Instant {
        self.ends.simulation.now()
    }

    pub(crate) fn simulation(&mut self) -> &mut Simulation {
        &mut self.ends.simulation
    }

    /// Tells `names` how the sender numbers the paths, as soon as that is known.
    pub(crate) fn learn(&self, names: &mut PathNames) {
        let ends = &self.ends;
        let sender = ends.simulation.app::<Sender>(ends.sender);
        let association = sender.and_then(|app| app.report().assoc);
        names.learn(ends.simulation.endpoint(ends.sender), association);
    }

    /// What the reader took since the last time. The collector takes it, too.
    pub(crate) fn read(&mut self, collector: &mut Collector) -> Vec<Delivery> {
        let sink = self.ends.simulation.app_mut::<Sink>(self.ends.receiver);
        let read = sink.map_or_else(Vec::new, Sink::take_deliveries);
        for delivery in &read {
            collector.delivery(delivery.at, delivery.bytes);
        }
        read
    }

    /// The collector takes the rest, and the run is over.
    pub(crate) fn end(
        mut self,
        stop: Stop,
        collector: &mut Collector,
    ) -> Result<Ended, DriveError> {
        self.ends
            .gather(collector, &mut self.waiting, &mut |_, _| {});
        self.read(collector);
        let simulation = self.ends.simulation;
        if simulation.refused() > 0 {
            return Err(DriveError::Packets(simulation.refused()));
        }
        let at = match stop {
            Stop::Time if !collector.is_complete() => self.limit,
            _ => simulation.now(),
        };
        Ok(Ended {
            at,
            stop,
            simulation,
        })
    }
}

/// Both ends of the association in the simulator, and how each numbers the
/// scenario's paths.
struct Ends {
    simulation: Simulation,
    sender: HostId,
    receiver: HostId,
    sender_paths: PathNames,
    receiver_paths: PathNames,
}

impl Ends {
    fn new(
        scenario: &Scenario,
        config: &Settings,
        built: Built,
        detailed: bool,
    ) -> Result<Ends, DriveError> {
        let (Traffic::Bulk { streams, .. } | Traffic::Periodic { streams, .. }) = scenario.traffic;
        let dialect = config.dialect();
        let mut config = config.core.clone();
        config.setup.outbound_streams = config.setup.outbound_streams.max(streams);
        let addresses = |of: fn(usize) -> IpAddr| -> Vec<SocketAddr> {
            (0..scenario.paths.len())
                .map(|i| SocketAddr::new(of(i), 0))
                .collect()
        };
        let endpoint = |local, host| {
            let mut settings = EndpointConfig::new(PORT, local, seed(scenario.seed, host));
            settings.accepted = config.clone();
            settings.dialect = dialect.clone();
            settings.checksum = ChecksumMode::Offloaded;
            settings.observe = true;
            // The figures need none of them.
            settings.observe_details = detailed;
            settings
        };
        let source = traffic::sender(
            &scenario.traffic,
            addresses(receiver_address),
            PORT,
            config.clone(),
        );
        let mut simulation = Simulation::new(built.net);
        let sender =
            simulation.add_host(built.sender, endpoint(addresses(sender_address), 1), source)?;
        let receiver = simulation.add_host(
            built.receiver,
            endpoint(addresses(receiver_address), 2),
            Sink::new().keep_deliveries(),
        )?;
        Ok(Ends {
            simulation,
            sender,
            receiver,
            sender_paths: PathNames::of_initiator(scenario.paths.len(), receiver_address),
            receiver_paths: PathNames::of_acceptor(scenario.paths.len(), sender_address),
        })
    }

    /// Whether the run is over, when `expected` bytes are all.
    fn stop(&self, expected: u64) -> Result<Option<Stop>, DriveError> {
        let Some(sender) = self.simulation.app::<Sender>(self.sender) else {
            return Ok(None);
        };
        let report = sender.report();
        if let Some(why) = &report.refused {
            return Err(DriveError::Refused(why.clone()));
        }
        if let Some(reason) = &report.lost {
            return Ok(Some(Stop::Lost(reason.to_string())));
        }
        let has_read = || {
            let sink = self.simulation.app::<Sink>(self.receiver);
            sink.is_some_and(|sink| sink.report().bytes >= expected)
        };
        let done = report.acked_at.is_some() && has_read();
        Ok(done.then_some(Stop::Done))
    }

    /// Hands over what both ends have observed since the last time, after what waits of it.
    fn gather(
        &mut self,
        collector: &mut Collector,
        [from_sender, from_receiver]: &mut [Vec<Observed>; 2],
        see: &mut impl FnMut(Side, &Observed),
    ) {
        let sender = self.simulation.app::<Sender>(self.sender);
        let sender = sender.and_then(|app| app.report().assoc);
        let receiver = self.simulation.app::<Sink>(self.receiver);
        let receiver = receiver.and_then(|app| app.report().assoc);
        let names = &mut self.sender_paths;
        self.simulation.with_endpoint(self.sender, |_, e| {
            names.learn(e, sender);
            for o in from_sender.drain(..) {
                collector.sender(&o, names);
            }
            e.drain_observations().for_each(|o| {
                see(Side::Sender, &o);
                collector.sender(&o, names);
            });
        });
        let names = &mut self.receiver_paths;
        self.simulation.with_endpoint(self.receiver, |_, e| {
            names.learn(e, receiver);
            for o in from_receiver.drain(..) {
                collector.receiver(&o, names);
            }
            e.drain_observations().for_each(|o| {
                see(Side::Receiver, &o);
                collector.receiver(&o, names);
            });
        });
    }
}

/// Seeds an endpoint; both must differ, and other runs of the scenario repeat it.
fn seed(scenario: u64, host: u8) -> [u8; 32] {
    let mut seed = [host; 32];
    seed[..8].copy_from_slice(&scenario.to_le_bytes());
    seed
}
