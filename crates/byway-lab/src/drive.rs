//! Runs one policy in the simulator and gathers what both ends observe.

use crate::apps::{Ended as SourceEnd, Reader, Source};
use crate::collect::Collector;
use crate::network::{Built, instant, receiver_address, sender_address};
use crate::scenario::{Scenario, Traffic};
use byway_core::time::Instant;
use byway_core::{ChecksumMode, Config, ConfigError, EndpointConfig};
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
    /// Whoever asked for the run wants it no longer.
    #[error("cancelled")]
    Cancelled,
}

/// Why a run went no further.
pub(crate) enum Stop {
    /// All was delivered and acknowledged.
    Done,
    /// The sender lost the association, for this reason.
    Lost(String),
    /// The scenario's time was over, or nothing was left to happen.
    Time,
    /// The scenario's events were used up.
    Events,
}

/// How a run ended.
pub(crate) struct Ended {
    pub(crate) at: Instant,
    pub(crate) stop: Stop,
    pub(crate) simulation: Simulation,
}

/// Runs until all is delivered and acknowledged, the association is lost, or
/// the scenario's time or its events are over. `progress` is told the simulated
/// time and says whether to go on.
pub(crate) fn drive(
    scenario: &Scenario,
    config: &Config,
    built: Built,
    collector: &mut Collector,
    progress: &dyn Fn(Instant) -> bool,
) -> Result<Ended, DriveError> {
    let (Traffic::Bulk { streams, .. } | Traffic::Periodic { streams, .. }) = scenario.traffic;
    let mut config = config.clone();
    config.setup.outbound_streams = config.setup.outbound_streams.max(streams);
    let addresses = |of: fn(usize) -> IpAddr| -> Vec<SocketAddr> {
        (0..scenario.paths.len())
            .map(|i| SocketAddr::new(of(i), 0))
            .collect()
    };
    let endpoint = |local, host| {
        let mut settings = EndpointConfig::new(PORT, local, seed(scenario.seed, host));
        settings.accepted = config.clone();
        settings.checksum = ChecksumMode::Offloaded;
        settings.observe = true;
        // The figures need none of them.
        settings.observe_details = collector.is_detailed();
        settings
    };
    let source = Source::new(
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
        Reader::default(),
    )?;

    let limit = instant(scenario.limit);
    let batch = match collector.is_detailed() {
        true => REPORT,
        false => BATCH,
    };
    let expected = collector.expected_bytes();
    let mut events: u64 = 0;
    let stop = loop {
        if let Some(source) = simulation.app::<Source>(sender) {
            match source.ended() {
                Some(SourceEnd::Refused(why)) => return Err(DriveError::Refused(why.clone())),
                Some(SourceEnd::Lost(reason)) => break Stop::Lost(reason.clone()),
                None => {}
            }
            if source.is_acknowledged() && has_read(&simulation, receiver, expected) {
                break Stop::Done;
            }
        }
        if events == scenario.max_events {
            break Stop::Events;
        }
        if !simulation.step(limit) {
            break Stop::Time;
        }
        events += 1;
        if events.is_multiple_of(batch) {
            gather(&mut simulation, sender, receiver, collector);
        }
        if events.is_multiple_of(REPORT) && !progress(simulation.now()) {
            return Err(DriveError::Cancelled);
        }
    };
    gather(&mut simulation, sender, receiver, collector);
    let deliveries = simulation
        .app::<Reader>(receiver)
        .map(|r| r.deliveries.as_slice());
    for (at, bytes) in deliveries.unwrap_or_default() {
        collector.delivery(*at, *bytes);
    }
    if simulation.refused() > 0 {
        return Err(DriveError::Packets(simulation.refused()));
    }
    let at = match stop {
        Stop::Time if !collector.is_complete() => limit,
        _ => simulation.now(),
    };
    Ok(Ended {
        at,
        stop,
        simulation,
    })
}

fn has_read(simulation: &Simulation, receiver: HostId, bytes: u64) -> bool {
    simulation
        .app::<Reader>(receiver)
        .is_some_and(|r| r.bytes >= bytes)
}

/// Hands over what both ends have observed since the last time.
fn gather(
    simulation: &mut Simulation,
    sender: HostId,
    receiver: HostId,
    collector: &mut Collector,
) {
    simulation.with_endpoint(sender, |_, e| {
        e.drain_observations().for_each(|o| collector.sender(&o))
    });
    simulation.with_endpoint(receiver, |_, e| {
        e.drain_observations().for_each(|o| collector.receiver(&o))
    });
}

/// Seeds an endpoint; both must differ, and other runs of the scenario repeat it.
fn seed(scenario: u64, host: u8) -> [u8; 32] {
    let mut seed = [host; 32];
    seed[..8].copy_from_slice(&scenario.to_le_bytes());
    seed
}
