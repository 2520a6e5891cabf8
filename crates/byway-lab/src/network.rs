//! A scenario's network in the simulator: two hosts, and for each path a way
//! there and a way back.

mod edge_nodes;

use crate::clock::instant;
use crate::scenario::{
    Change, CrossShape, LinkSpec, LossSpec, OPPORTUNITY, PathSpec, Scenario, Trace,
};
use crate::units::{QueueLimit, Rate};
use byway_core::time::Instant;
use byway_sim::net::{
    Capture, DeliveryTrace, LinkChange, LinkConfig, LinkId, LossModel, Network, NodeId,
    PacketMatch, Policer, Port, QueueLimit as SimQueue, Rate as SimRate, Simultaneous,
    TopologyBuilder, TopologyError, TrafficConfig,
};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

/// Room of the queue in front of an access link: ns-2's default.
const ACCESS_QUEUE: SimQueue = SimQueue::Packets(50);
/// Shape of bursts and pauses: ns-2's default, caro-2003 names none.
const PARETO_SHAPE: f64 = 1.5;

/// The network and who sends and receives.
pub(crate) struct Built {
    pub(crate) net: Network,
    pub(crate) sender: NodeId,
    pub(crate) receiver: NodeId,
    /// The bottlenecks of each path: towards the receiver, and back.
    pub(crate) ways: Vec<[LinkId; 2]>,
}

/// What a network records of its packets.
#[derive(Copy, Clone, Default)]
pub(crate) struct Records {
    /// Captures of the bottlenecks.
    pub(crate) captures: bool,
    /// A log of all packets.
    pub(crate) log: bool,
}

/// The sender's address on path `i`.
pub(crate) fn sender_address(i: usize) -> IpAddr {
    Ipv4Addr::new(10, i as u8 + 1, 0, 1).into()
}

/// The receiver's address on path `i`.
pub(crate) fn receiver_address(i: usize) -> IpAddr {
    Ipv4Addr::new(10, i as u8 + 1, 0, 2).into()
}

/// Builds the network of `scenario`.
///
/// # Errors
/// What the simulator refuses.
pub(crate) fn build(scenario: &Scenario, records: Records) -> Result<Built, TopologyError> {
    let count = scenario.paths.len();
    let addresses = |of: fn(usize) -> IpAddr| (0..count).map(of).collect::<Vec<_>>();
    let mut topology = TopologyBuilder::new();
    topology.record_log(records.log);
    if scenario.ties_as_scheduled {
        topology.simultaneous(Simultaneous::AsScheduled);
    }
    let sender = topology.add_host("sender", &addresses(sender_address));
    let receiver = topology.add_host("receiver", &addresses(receiver_address));
    let mut ways = Vec::new();
    for (i, path) in scenario.paths.iter().enumerate() {
        let ends = [sender, receiver].map(|host| host.interface(i as u8));
        let capture = records.captures;
        ways.push(add_path(&mut topology, scenario, i, path, ends, capture));
    }
    let net = topology.build(scenario.seed)?;
    Ok(Built {
        net,
        sender,
        receiver,
        ways,
    })
}

/// Adds a path, and returns its bottlenecks: towards the receiver, and back.
fn add_path(
    topology: &mut TopologyBuilder,
    scenario: &Scenario,
    i: usize,
    path: &PathSpec,
    [sender, receiver]: [Port; 2],
    capture: bool,
) -> [LinkId; 2] {
    let shared = scenario.cross.iter().any(|c| c.path == i);
    let (near, far): (Port, Port) = if path.access.is_some() || shared {
        let router = |topology: &mut TopologyBuilder, end: &str| {
            Port::from(topology.add_router(&format!("{}-{end}", path.name)))
        };
        (router(topology, "near"), router(topology, "far"))
    } else {
        (sender, receiver)
    };
    let mut core = [(&path.forward, true), (&path.reverse, false)].map(|(link, forward)| {
        let config = core_link(scenario, i, path, link, forward);
        // What arrives at the far end shows losses as they are felt.
        if capture {
            config.capture(Capture::Sent)
        } else {
            config
        }
    });
    let there = topology.add_link(near, far, std::mem::take(&mut core[0]));
    let back = topology.add_link(far, near, std::mem::take(&mut core[1]));
    if near != sender {
        let access = path.access.map_or_else(LinkConfig::default, |a| {
            LinkConfig::new(rate(a.rate), a.delay).queue(ACCESS_QUEUE)
        });
        topology.add_duplex(sender, near, access.clone());
        topology.add_duplex(far, receiver, access);
    }
    add_cross(topology, scenario, i, near, far);
    [there, back]
}

/// Other traffic between two further hosts, one at each end of the bottleneck.
fn add_cross(
    topology: &mut TopologyBuilder,
    scenario: &Scenario,
    path: usize,
    near: Port,
    far: Port,
) {
    for (k, cross) in scenario
        .cross
        .iter()
        .enumerate()
        .filter(|(_, c)| c.path == path)
    {
        if cross.shape == CrossShape::EdgeNodes {
            edge_nodes::add(topology, scenario.seed, k, cross, [near, far]);
            continue;
        }
        let address = |end: u8| {
            IpAddr::from(Ipv4Addr::new(
                172,
                16 + (k / 256) as u8,
                (k % 256) as u8,
                end,
            ))
        };
        for (end, router) in [(1, near), (2, far)] {
            let host = topology.add_host(&format!("cross-{k}-{end}"), &[address(end)]);
            topology.add_duplex(host, router, LinkConfig::default());
        }
        let (mean_on, mean_off, peak) = match cross.shape {
            CrossShape::Constant => (Duration::from_secs(1), Duration::ZERO, cross.rate.0),
            CrossShape::Pareto | CrossShape::EdgeNodes => {
                (cross.bursts, cross.bursts, 2 * cross.rate.0)
            }
        };
        let config = TrafficConfig {
            rate: peak,
            mean_on,
            mean_off,
            shape: PARETO_SHAPE,
            sizes: vec![(cross.packet.0 as u32, 1)],
            start: instant(cross.from),
            stop: cross.until.map(instant),
        };
        if cross.direction.forward() {
            topology.add_traffic(address(1), address(2), config.clone());
        }
        if cross.direction.reverse() {
            topology.add_traffic(address(2), address(1), config);
        }
    }
}

fn core_link(
    scenario: &Scenario,
    i: usize,
    path: &PathSpec,
    link: &LinkSpec,
    forward: bool,
) -> LinkConfig {
    let ends = path.access.map_or(Duration::ZERO, |a| a.delay * 2);
    let paced = match &link.trace {
        None => rate(link.rate),
        Some(trace) => SimRate::Opportunities(opportunities(trace)),
    };
    let mut config = LinkConfig::new(paced, link.delay.saturating_sub(ends))
        .jitter(link.jitter)
        .queue(match link.queue {
            QueueLimit::Packets(n) => SimQueue::Packets(n),
            QueueLimit::Bytes(n) => SimQueue::Bytes(n),
        })
        .loss(loss(&link.loss));
    config.policer = link.policer.map(|p| Policer {
        rate: p.rate.0,
        burst: p.burst.0,
    });
    for event in scenario.events.iter().filter(|e| e.path == i) {
        let covered = if forward {
            event.direction.forward()
        } else {
            event.direction.reverse()
        };
        if !covered {
            continue;
        }
        let at = instant(event.at);
        match &event.change {
            Change::Down => config = config.at(at, LinkChange::DOWN),
            Change::Up => config = config.at(at, LinkChange::Up),
            Change::Set {
                rate: r,
                delay,
                loss: l,
            } => {
                if let Some(r) = r {
                    config = config.at(at, LinkChange::Rate(rate(*r)));
                }
                if let Some(delay) = delay {
                    config = config.at(at, LinkChange::Delay(delay.saturating_sub(ends)));
                }
                if let Some(l) = l {
                    config = config.at(at, LinkChange::Loss(loss(l)));
                }
            }
        }
    }
    config
}

fn opportunities(trace: &Trace) -> DeliveryTrace {
    let at = |ms: &u32| Instant::from_millis((*ms).into());
    let moments: Vec<Instant> = trace.moments().iter().map(at).collect();
    let period = Duration::from_millis(trace.length().into());
    DeliveryTrace::new(&moments, period, OPPORTUNITY)
}

fn loss(spec: &LossSpec) -> LossModel {
    match spec {
        LossSpec::Nothing => LossModel::None,
        LossSpec::Random(share) => LossModel::Uniform(share.0),
        LossSpec::Burst {
            to_bad,
            to_good,
            good,
            bad,
        } => LossModel::GilbertElliott {
            to_bad: to_bad.0,
            to_good: to_good.0,
            loss_good: good.0,
            loss_bad: bad.0,
        },
        LossSpec::LargerThan(size) => {
            LossModel::LargerThan(u32::try_from(size.0).unwrap_or(u32::MAX))
        }
        LossSpec::List { data, packets } => {
            let positions = |of, list: &[u64]| LossModel::Positions {
                of,
                positions: list.to_vec(),
            };
            LossModel::Several(vec![
                positions(PacketMatch::Any, packets),
                positions(PacketMatch::Data, data),
            ])
        }
    }
}

fn rate(rate: Rate) -> SimRate {
    SimRate::BitsPerSecond(rate.0)
}
