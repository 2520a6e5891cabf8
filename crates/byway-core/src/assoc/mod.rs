//! One association: its state, its sending and receiving halves, its paths, and the code
//! that connects them.
//!
//! `dispatch` handles arriving chunks, `on_*` react to them, `transmit` sends. Nothing is
//! sent while a packet is handled.

mod allowance;
mod answer;
mod answers;
mod asconf;
mod authentication;
mod buffers;
mod check;
mod concurrent;
mod control;
mod ctx;
mod dead_data;
mod dispatch;
mod ending;
mod estimating;
mod icmp;
mod interleaving;
mod listed;
mod mtu_discovery;
mod on_data;

mod on_heartbeat;
mod other_source;

mod paths;
mod peer_init;
mod peer_moved;
mod probe_timeout;
mod probing;
mod questions;
mod rerouting;
mod restart;
mod revival;
mod sack;
mod scarcity;
mod scheduling;
mod send_failure;
mod setup;
mod silence;
mod state;
mod statistics;
mod t3;
mod teardown;
mod timers;
mod timestamps;
mod transmit;
mod trial;
mod unexpected_init;
mod unverified;
mod user;
mod verification;

pub(crate) use control::Control;
pub(crate) use ctx::Ctx;
pub(crate) use dispatch::{Handled, Inbound};
pub(crate) use ending::AbortReason;
pub(crate) use icmp::Quoted;
pub(crate) use interleaving::InterleavingOffer;
pub(crate) use peer_init::{AuthOffer, BadInit, PeerInit, acceptable_address};
pub(crate) use restart::CookieOutcome;
pub(crate) use scarcity::Scarcity;
pub(crate) use setup::{Accepted, Ours, write_addresses, write_extensions};
pub(crate) use state::State;
pub(crate) use timers::Timers;
pub(crate) use unexpected_init::InitAnswer;

use crate::api::{AssocId, AssocStats, Event};
use crate::config::Config;
use crate::dialect::Dialect;
use crate::observe::Observation;
use crate::path::{PathId, PathTable};
use crate::recv::RecvHalf;
use crate::send::SendHalf;
use crate::time::{Duration, Instant};
use byway_wire::CommonHeader;
use core::net::{IpAddr, SocketAddr};
use std::collections::VecDeque;
use std::sync::Arc;

/// One association (a TCB in the RFC's words).
#[derive(Debug)]
pub(crate) struct Association {
    id: AssocId,
    cfg: Arc<Config>,
    tags: Tags,
    addresses: Addresses,
    state: State,
    setup: SetUp,
    shutdown: Shutdown,
    paths: PathTable,
    send: SendHalf,
    recv: RecvHalf,
    failure: Failure,
    timers: Timers,
    /// Control chunks that wait to be sent.
    control: VecDeque<Control>,
    /// State of TIMESTAMP chunks, if both sides agreed on them.
    stamps: Option<timestamps::Stamps>,
    stats: AssocStats,
    /// Parts that exist only if they are configured.
    optional: Optional,
}

/// Ports and verification tags (section 3.1).
#[derive(Debug)]
pub(crate) struct Tags {
    local_port: u16,
    peer_port: u16,
    local: u32,
    /// The peer's tag; 0 before it is known.
    peer: u32,
    /// Random tie-tags of this association for cookies of a restart. They are never the
    /// verification tags themselves, so a cookie does not reveal those (RFC 5062).
    tie: (u32, u32),
}

/// Addresses that are not paths.
#[derive(Debug)]
pub(crate) struct Addresses {
    /// Our own addresses: INIT lists them, and new paths use them as sources.
    local: Arc<[SocketAddr]>,
    /// Addresses of the peer that are not paths, because there are enough paths or none
    /// of our addresses can reach them. Packets from them still count as the peer's.
    pathless: Vec<IpAddr>,
    /// Sources of the peer's packets that are not paths yet.
    unverified: unverified::NewSources,
    /// What may go to addresses that have not proved to be the peer's.
    allowance: allowance::Allowance,
    /// How many heartbeats went to those that have never answered.
    listed: listed::Listed,
    /// The proven addresses of the peer have changed, and the endpoint does not know.
    changed: bool,
    /// Other sources that are asked while the only path is silent.
    other_sources: Option<Box<other_source::OtherSources>>,
}

/// The state of set-up (section 5).
#[derive(Debug, Default)]
pub(crate) struct SetUp {
    /// When the last cookie with our tag expires, if there is one: the association began with it, or both sides
    /// set up at once.
    cookie_expires: Option<Instant>,
    /// It was established, or the peer got an ABORT.
    was_up_or_aborted: bool,
    /// The peer started the set-up.
    accepted: bool,
    /// Parameters of the INIT ACK that are reported once the association is
    /// established.
    reports: Vec<Vec<u8>>,
    /// Stale cookies so far.
    stale_cookies: u8,
    /// The addresses where nothing listens on the UDP port, one bit for each path.
    refused: u8,
    /// Addresses of ours that came (true) or went since our INIT or INIT ACK listed them.
    changed: Vec<(bool, SocketAddr)>,
    /// What our INIT lists, if our addresses changed since it left first: an INIT that
    /// listed others would look like a restart that adds addresses (section 5.2.2).
    listed: Option<Arc<[SocketAddr]>>,
    /// An INIT left that listed no addresses.
    unlisted: bool,
    /// When INIT left last, and whether it left once: then its answer measures the round trip.
    asked: Option<Instant>,
    asked_once: bool,
    /// When the last COOKIE ECHO left.
    echoed: Option<Instant>,
    /// How stale the last one was, in microseconds.
    stale_by: Option<u32>,
}

/// The state of the shutdown (section 9.2).
#[derive(Debug, Default)]
pub(crate) struct Shutdown {
    /// The user wants to shut down.
    wanted: bool,
    /// The path of the peer's last SHUTDOWN.
    from: Option<PathId>,
    /// When it ends at the latest, whatever the peer does.
    ends: Option<Instant>,
}

/// The counts that can end the association (section 8.1).
#[derive(Debug, Default)]
pub(crate) struct Failure {
    /// The association's error count.
    errors: u32,
    /// The first T3-rtx expiration since the last acknowledgement of data, and whether a
    /// heartbeat was answered since
    /// (`failure.dead_data`).
    unacknowledged_since: Option<(Instant, bool)>,
    /// ERRORs of the peer that the user was told of.
    told: FewASecond,
    /// Errors of the peer that it was told of.
    reported: FewASecond,
    /// When ICMP said first that the peer's host has no SCTP (`icmp`).
    no_sctp_since: Option<Instant>,
    /// Where DATA of the peer comes.
    peers_data: peer_moved::PeersData,
    /// Whether it flows.
    peers_flow: silence::PeersFlow,
}

/// Eight in a second: of what a peer may cause without end.
#[derive(Copy, Clone, Debug, Default)]
struct FewASecond {
    /// When the second began.
    since: Instant,
    count: u8,
}

impl FewASecond {
    const MOST: u8 = 8;

    /// Whether there may be another one now; it counts.
    fn take(&mut self, now: Instant) -> bool {
        if now.since(self.since) >= Duration::from_secs(1) {
            (self.since, self.count) = (now, 0);
        }
        let may = self.count < FewASecond::MOST;
        self.count += u8::from(may);
        may
    }
}

impl Failure {
    /// New data was acknowledged, or the association begins again: nothing speaks
    /// against the peer.
    fn clear(&mut self) {
        self.errors = 0;
        self.unacknowledged_since = None;
    }
}

/// Parts of an association that exist only if they are configured.
#[derive(Debug)]
pub(crate) struct Optional {
    /// The estimates of the paths (`failover.estimate`).
    estimating: Option<Box<estimating::Estimating>>,
    /// Trials of other paths (`failover.trial`).
    trials: Option<Box<trial::Trials>>,
    /// Another reading of the standard (`EndpointConfig::dialect`).
    dialect: Option<Box<dyn Dialect>>,
    /// Authenticated chunks (`auth`).
    auth: Option<Box<authentication::Authentication>>,
    /// The peer takes other chunks than ASCONF and ASCONF-ACK only behind an AUTH chunk.
    seals: bool,
    /// Changes of addresses, if both sides support them (`asconf`).
    asconf: Option<Box<asconf::Asconf>>,
    /// Nothing but heartbeats and changes of addresses may leave.
    stalled: bool,
}

impl Association {
    #[inline]
    pub(crate) fn observe(&self, ctx: &mut Ctx<'_>, what: impl FnOnce() -> Observation) {
        ctx.out.observe(ctx.now, self.id, what);
    }

    #[inline(never)]
    pub(crate) fn event(&self, ctx: &mut Ctx<'_>, event: Event) {
        ctx.out.event(self.id, event);
    }

    pub(crate) fn enter(&mut self, ctx: &mut Ctx<'_>, state: State) {
        self.state = state;
        let name = self.state.name();
        self.observe(ctx, || Observation::State { name });
    }

    pub(crate) fn header(&self) -> CommonHeader {
        CommonHeader {
            source_port: self.tags.local_port,
            destination_port: self.tags.peer_port,
            verification_tag: self.tags.peer,
        }
    }

    /// [`observe`](Self::observe) for the kinds that `EndpointConfig::observe_details`
    /// controls.
    #[inline]
    pub(crate) fn observe_detail(&self, ctx: &mut Ctx<'_>, what: impl FnOnce() -> Observation) {
        if ctx.out.wants_details() {
            self.observe(ctx, what);
        }
    }
}
