//! One random run: two paths of three links each, whose middle ones lose
//! packets in both directions.

use crate::network::{ShortestWay, destination};
use crate::scenario::{Build, Cmt, Host, Params, Role};
use crate::settings;
use crate::wire::Notary;
use anyhow::{Result, bail};
use byway_core::config::{Dormant, PrimarySwitch};
use byway_core::time::{Duration, Instant};
use byway_core::{AssocId, ChecksumMode, EndpointConfig, Event, PathState};
use byway_dialect_ns2::Settings;
use byway_sim::Simulation;
use byway_sim::host::{AppCtx, Application, Sender, Sink};
use byway_sim::net::{
    LinkConfig, LossModel, Network, NodeId, QueueLimit, Rate, Simultaneous, TopologyBuilder,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const PORT: u16 = 5001;
const PATHS: usize = 2;
/// Nodes of the sender's and the receiver's interfaces.
const SENDER: [u32; PATHS] = [1, 2];
const RECEIVER: [u32; PATHS] = [4, 5];
/// A DATA chunk without its payload.
const DATA_HEADER: u32 = 16;
const EDGE_BITS_PER_SECOND: u64 = 100_000_000;
const EDGE_DELAY: Duration = Duration::from_millis(10);
const CORE_BITS_PER_SECOND: u64 = 10_000_000;
/// Transfers from this size on get the longer time.
const LONG_BYTES: u64 = 50_000_000;

/// An outage of the core link of a path.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Failure {
    /// The path, from 0.
    pub path: u8,
    /// When it begins, nanoseconds.
    pub at_ns: u64,
    /// When it ends; none for never.
    pub repaired_ns: Option<u64>,
}

/// All that a run depends on besides its seed; ordered, so that equal settings
/// of several cells run once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setting {
    /// ns-2.35 as it is, rather than with RFC 2960's windows.
    pub stock: bool,
    /// ns-2's class, which says what policies it runs.
    pub class: String,
    /// 0 same, 1 alternate, 2 fast retransmissions same, timeouts alternate.
    pub rtx_to_alt: u8,
    /// Bytes to transfer.
    pub size: u64,
    /// Loss on each path's core link, either direction, millionths.
    pub loss_ppm: [u32; PATHS],
    /// Delay of each path's core link, nanoseconds.
    pub delay_ns: [u64; PATHS],
    /// Path.Max.Retrans.
    pub pmr: u32,
    /// Change Primary Threshold; none for never.
    pub cpt: Option<u32>,
    /// Dormant state: 0 hop, 1 primary, 2 last destination in use.
    pub dormant: u8,
    /// The receiver's window, bytes.
    pub receive_window: u32,
    /// Initial ssthresh, bytes.
    pub initial_ssthresh: u32,
    /// Bytes of a DATA chunk.
    pub chunk: u32,
    /// Whether SACKs are delayed.
    pub delayed_sacks: bool,
    /// Packets that a core link's queue holds.
    pub queue: u32,
    /// What the CMT class knows besides; all 0 for other classes.
    pub cmt: Cmt,
    /// An outage.
    pub failure: Option<Failure>,
}

impl Setting {
    /// The policy that byway lacks for it.
    #[must_use]
    pub fn missing_policy(&self) -> Option<&'static str> {
        settings::missing_policy(&self.host(Role::Initiator))
    }

    /// The CMT class's policy for retransmissions, after a blank, as the CMT papers name it; empty
    /// for other classes, whose scheme says it.
    #[must_use]
    pub fn retransmission(&self) -> &'static str {
        match (self.class.as_str(), self.cmt.rtx_policy) {
            ("SCTP/CMT", 0) => " RTX-ASAP",
            ("SCTP/CMT", 1) => " RTX-SAME",
            ("SCTP/CMT", 2) => " RTX-SSTHRESH",
            ("SCTP/CMT", 3) => " RTX-LOSSRATE",
            ("SCTP/CMT", 4) => " RTX-CWND",
            _ => "",
        }
    }

    /// The same with the policy's settings blanked: what is left is the network
    /// and the transfer.
    #[must_use]
    pub fn without_policy(&self) -> Setting {
        Setting {
            class: String::new(),
            rtx_to_alt: 0,
            pmr: 0,
            cpt: None,
            dormant: 0,
            chunk: 0,
            cmt: Cmt::default(),
            ..self.clone()
        }
    }

    /// Loss of a path as a share.
    #[must_use]
    pub fn loss(&self, path: usize) -> f64 {
        f64::from(self.loss_ppm[path]) / 1e6
    }

    fn host(&self, role: Role) -> Host {
        let sender = role == Role::Initiator;
        let params = Params {
            association_max_retrans: 10,
            path_max_retrans: if sender { self.pmr } else { 5 },
            change_primary_thresh: -1,
            max_init_retransmits: 8,
            heartbeat_interval: 30,
            mtu: 1500,
            initial_rwnd: self.receive_window,
            initial_ssthresh: self.initial_ssthresh,
            initial_rto: 3.0,
            min_rto: 1.0,
            max_rto: 60.0,
            fast_rtx_trigger: 3,
            num_out_streams: 1,
            num_unrel_streams: 0,
            unordered: 0,
            data_chunk_size: self.chunk,
            use_delayed_sacks: self.delayed_sacks.into(),
            sack_delay: 0.2,
            use_max_burst: 1,
            rtx_to_alt: if sender { self.rtx_to_alt } else { 1 },
            dormant_action: self.dormant,
            initial_swnd: 0,
            initial_cwnd: 2,
            cmt: self.cmt,
        };
        Host {
            role,
            agent_class: if sender || self.class == "SCTP/CMT" {
                &self.class
            } else {
                "SCTP"
            }
            .to_owned(),
            interfaces: if sender { SENDER } else { RECEIVER }.to_vec(),
            params,
            primary_destination: Some(RECEIVER[0]),
        }
    }

    fn config(&self, role: Role) -> Result<Settings> {
        let build = if self.stock {
            Build::Stock
        } else {
            Build::Rfc2960
        };
        let mut c = settings::config(&self.host(role), build);
        c.hb.enabled = true;
        c.hb.interval = Duration::from_secs(30);
        // Both ends are of a class that knows them.
        c.rto.timestamps = self.class.contains("Timestamp");
        c.failover.primary_switch = match self.cpt {
            Some(threshold) if role == Role::Initiator => PrimarySwitch::Cpt(threshold),
            _ => PrimarySwitch::Never,
        };
        c.failover.dormant = match self.dormant {
            0 => Dormant::Hop,
            1 => Dormant::Primary,
            2 => Dormant::Last,
            other => bail!("dormant = {other}; there are 0 hop, 1 primary and 2 last"),
        };
        Ok(c)
    }

    /// Simulated time after which a run counts as not finished.
    fn limit(&self) -> Instant {
        let seconds = if self.size > LONG_BYTES { 40_000 } else { 6000 };
        Instant::from_nanos(seconds * 1_000_000_000)
    }
}

/// What a run gave.
#[derive(Copy, Clone, Debug, Default)]
pub struct Run {
    /// From the first DATA that left to the SACK of the last one; none if it
    /// did not come to that.
    pub transfer_s: Option<f64>,
    /// From the failure to the moment when its path was inactive.
    pub detection_s: Option<f64>,
}

/// Runs a setting with a seed. The same seed means the same losses packet by
/// packet on each link, whatever the policy.
///
/// # Errors
/// When the network or a host cannot be set up.
pub fn run(setting: &Setting, seed: u64) -> Result<Run> {
    let (net, sender, receiver) = network(setting, seed)?;
    let ways = [
        ShortestWay::new(&net, sender, PATHS, &RECEIVER),
        ShortestWay::new(&net, receiver, PATHS, &SENDER),
    ];
    let [our_way, peer_way] = ways;
    let mut sim = Simulation::new(net);
    sim.exact_timers(true);
    let sent_data = Arc::new(AtomicBool::new(false));
    let (flag, mut notary) = (sent_data.clone(), Notary::default());
    sim.on_outgoing(move |packet| {
        let note = notary.note(&packet.payload);
        packet.wire_size = Some(note.size);
        if note.size > 1000 {
            flag.store(true, Ordering::Relaxed);
        }
    });
    let sink = endpoint(setting, Role::Responder, seed)?;
    let sink = sim.add_host(receiver, sink, Sink::new())?;
    sim.with_endpoint(sink, |_, e| e.set_routes(Box::new(peer_way)));
    let peer = RECEIVER.map(destination).to_vec();
    let config = setting.config(Role::Initiator)?.core;
    let message = setting.chunk.saturating_sub(DATA_HEADER) as usize;
    // ns-2's associations do not end.
    let source = Sender::bulk(peer, PORT, config, setting.size, message)
        .begin_at(Instant::ZERO)
        .keep_open();
    let watched = Watched::new(source, setting);
    let source = endpoint(setting, Role::Initiator, seed)?;
    let host = sim.add_host(sender, source, watched)?;
    sim.with_endpoint(host, |_, e| e.set_routes(Box::new(our_way)));
    let limit = setting.limit();
    sim.run_until_done(limit, |_| sent_data.load(Ordering::Relaxed));
    let first = sim.now();
    let over = |s: &Simulation| s.app::<Watched>(host).is_some_and(Watched::is_over);
    sim.run_until_done(limit, over);
    let Some(app) = sim.app::<Watched>(host) else {
        bail!("the sender's application is gone");
    };
    // ns-2 never sends data when the path dies before it is confirmed.
    if app.detected.is_some_and(|t| t <= first) {
        return Ok(Run::default());
    }
    let seconds = |since: u64| move |t: Instant| (t.as_nanos() - since) as f64 / 1e9;
    Ok(Run {
        transfer_s: app.done.map(seconds(first.as_nanos())),
        detection_s: app.detected.map(seconds(app.failure.at_ns)),
    })
}

fn endpoint(setting: &Setting, role: Role, seed: u64) -> Result<EndpointConfig> {
    let (nodes, own) = match role {
        Role::Initiator => (SENDER, 1),
        Role::Responder => (RECEIVER, 2),
    };
    let mut secret = [own; 32];
    secret[..8].copy_from_slice(&seed.to_le_bytes());
    let mut config = EndpointConfig::new(PORT, nodes.map(destination).to_vec(), secret);
    config.checksum = ChecksumMode::Offloaded;
    let mut settings = setting.config(role)?;
    if let (Role::Initiator, Some(drawn)) = (role, &mut settings.ns2.cmt_coin) {
        // Each seed tosses other coins.
        *drawn += 100 * seed as u32;
    }
    config.dialect = settings.dialect();
    config.accepted = settings.core;
    Ok(config)
}

fn network(setting: &Setting, seed: u64) -> Result<(Network, NodeId, NodeId)> {
    let mut topology = TopologyBuilder::new();
    // Paths of equal delay make ties all the time: of two SACKs that arrive at
    // once, which came first decides what is sent where.
    topology.simultaneous(Simultaneous::AsScheduled);
    let mut host =
        |name, nodes: [u32; PATHS]| topology.add_host(name, &nodes.map(|n| destination(n).ip()));
    let (sender, receiver) = (host("sender", SENDER), host("receiver", RECEIVER));
    let edge = LinkConfig::new(Rate::BitsPerSecond(EDGE_BITS_PER_SECOND), EDGE_DELAY)
        .queue(QueueLimit::Packets(50));
    for path in 0..PATHS {
        let near = topology.add_router(&format!("near {path}"));
        let far = topology.add_router(&format!("far {path}"));
        let rate = Rate::BitsPerSecond(CORE_BITS_PER_SECOND);
        let mut core = LinkConfig::new(rate, Duration::from_nanos(setting.delay_ns[path]))
            .queue(QueueLimit::Packets(setting.queue));
        if setting.loss_ppm[path] > 0 {
            core = core.loss(LossModel::Uniform(setting.loss(path)));
        }
        if let Some(f) = setting.failure.filter(|f| usize::from(f.path) == path) {
            let at = Instant::from_nanos;
            core = core.outage(at(f.at_ns), f.repaired_ns.map(at));
        }
        topology.add_duplex(sender.interface(path as u8), near, edge.clone());
        topology.add_duplex(near, far, core);
        topology.add_duplex(far, receiver.interface(path as u8), edge.clone());
    }
    Ok((topology.build(seed)?, sender, receiver))
}

/// A source whose end, and whose path's failure, are noted.
struct Watched {
    source: Sender,
    bytes: u64,
    failure: Failure,
    done: Option<Instant>,
    detected: Option<Instant>,
}

impl Watched {
    fn new(source: Sender, setting: &Setting) -> Watched {
        // Without a failure nothing is detected.
        let never = Failure {
            path: u8::MAX,
            at_ns: u64::MAX,
            repaired_ns: None,
        };
        Watched {
            source,
            bytes: setting.size,
            failure: setting.failure.unwrap_or(never),
            done: None,
            detected: None,
        }
    }

    fn is_over(&self) -> bool {
        self.done.is_some() || self.source.report().refused.is_some()
    }
}

impl Application for Watched {
    fn start(&mut self, ctx: &mut AppCtx<'_>) {
        self.source.start(ctx);
    }

    fn on_timer(&mut self, ctx: &mut AppCtx<'_>) {
        self.source.on_timer(ctx);
    }

    fn on_event(&mut self, ctx: &mut AppCtx<'_>, id: AssocId, event: &Event) {
        self.source.on_event(ctx, id, event);
        match event {
            Event::Drained => {
                let acked = ctx.endpoint.stats(id).map_or(0, |s| s.bytes_acked);
                if acked >= self.bytes {
                    self.done = Some(ctx.now);
                }
            }
            Event::PathChanged {
                path,
                to: PathState::Inactive,
                ..
            } if path.0 == self.failure.path && ctx.now.as_nanos() >= self.failure.at_ns => {
                self.detected.get_or_insert(ctx.now);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
