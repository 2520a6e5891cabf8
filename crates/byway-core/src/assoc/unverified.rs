//! The peer is heard from an address or a UDP port that is not a path (RFC 6951
//! section 5.4).
//!
//! A translator (NAT) gives packets another source than the one that the peer listed,
//! and may change it at any time. The verification tag shows that the sender knows the
//! association, but a source address can be forged. So a heartbeat goes to the new
//! source, and nothing else does until the answer with its nonce comes from there. Then
//! the source becomes a path, or the path that it belongs to moves there.
//!
//! The same is done when the source is a path that fails, and the packet came to another
//! address of this side than the one from which the path leaves: what fails may be that
//! address.

use super::{Association, Ctx, Inbound, acceptable_address, on_heartbeat};
use crate::outbox::Finished;
use crate::path::{Path, PathId, PathState};
use crate::policy::retransmit::LossCause;
use crate::refusals::Rule;
use crate::time::{Duration, Instant};
use byway_wire::PacketBuilder;
use core::net::SocketAddr;
use rand::RngExt;

/// New sources that are probed at the same time.
const MOST: usize = 4;

/// Heartbeats to new sources in [`PERIOD`]. Sources can be forged by whoever knows the tag.
const MOST_PROBES: u8 = 8;
const PERIOD: Duration = Duration::from_secs(1);

/// The shortest time between two heartbeats to one new source.
const LEAST_PACE: Duration = Duration::from_millis(20);

/// The path number in the Heartbeat Info of such a heartbeat. No path has it.
pub(super) const NO_PATH: PathId = PathId(u8::MAX);

/// New sources, and how many heartbeats went to them.
#[derive(Debug)]
pub(super) struct NewSources {
    all: Vec<Unverified>,
    /// Since when `probes` counts.
    since: Instant,
    probes: u8,
}

impl NewSources {
    pub(super) fn none() -> NewSources {
        NewSources {
            all: Vec::new(),
            since: Instant::ZERO,
            probes: 0,
        }
    }

    /// Whether another heartbeat may leave; it counts.
    fn may_probe(&mut self, now: Instant) -> bool {
        if now.since(self.since) >= PERIOD {
            (self.since, self.probes) = (now, 0);
        }
        let may = self.probes < MOST_PROBES;
        self.probes += u8::from(may);
        may
    }
}

/// An address pair from which the peer was heard and that is not a path.
#[derive(Debug)]
struct Unverified {
    local: SocketAddr,
    remote: SocketAddr,
    /// What the answer to its heartbeats must carry.
    nonce: u64,
    /// When the last of them left.
    probed: Instant,
}

impl super::Addresses {
    /// This address is a path now, whose own heartbeats verify it.
    pub(super) fn unverified_is_path(&mut self, remote: SocketAddr) {
        self.unverified.all.retain(|u| u.remote != remote);
    }
}

impl Association {
    /// A packet with our tag came from a source that is not a path, or to another address
    /// than the source of a path that fails: a heartbeat goes there, at most once per two
    /// round trips, and at most eight a second to all such sources.
    #[cold]
    pub(super) fn on_unverified_source(&mut self, ctx: &mut Ctx<'_>, inbound: &Inbound<'_>) {
        let (local, remote) = (*inbound.destination, *inbound.source);
        let data = self.paths.get(self.paths.data());
        if !self.state.sends_heartbeats()
            || !acceptable_address(remote.ip(), data.remote().ip())
            || !self.addresses.local.contains(&local)
            || self.does_without_udp(remote)
        {
            return;
        }
        let srtt = data.rtt.srtt().unwrap_or(self.cfg.rto.initial / 2);
        let pace = (srtt * 2).max(LEAST_PACE);
        if !self.could_become_path((local, remote)) {
            self.ask_silent_paths(ctx);
            return;
        }
        let sources = &mut self.addresses.unverified;
        let mut all = sources.all.iter();
        let known = all.position(|u| (u.local, u.remote) == (local, remote));
        let paced = known.is_some_and(|at| ctx.now.since(sources.all[at].probed) < pace);
        if paced {
            return;
        }
        if !sources.may_probe(ctx.now) || !self.addresses.allowance.take_heartbeat() {
            ctx.out.refuse(Rule::HeartbeatAllowance, remote);
            return;
        }
        let all = &mut sources.all;
        let at = known.unwrap_or_else(|| {
            if all.len() == MOST {
                all.remove(0);
            }
            all.push(Unverified {
                local,
                remote,
                nonce: ctx.rng.random(),
                probed: ctx.now,
            });
            all.len() - 1
        });
        all[at].probed = ctx.now;
        let info = on_heartbeat::info_of(NO_PATH, ctx.now, all[at].nonce);
        self.send_beside_paths(ctx, (local, remote), |p| p.heartbeat(&info));
    }

    /// Sends a packet between two addresses that need not be those of a path.
    pub(super) fn send_beside_paths(
        &self,
        ctx: &mut Ctx<'_>,
        (source, destination): (SocketAddr, SocketAddr),
        write: impl FnOnce(&mut PacketBuilder<'_>),
    ) {
        let mut bytes = Vec::new();
        let mut packet = PacketBuilder::new(&mut bytes, self.header());
        write(&mut packet);
        packet.finish(ctx.checksum());
        if self.optional.seals {
            self.seal_if_required(ctx, (&mut bytes, 0), &[]);
        }
        ctx.out.queue_packet(Finished {
            source,
            destination,
            bytes,
        });
    }

    /// A HEARTBEAT ACK for no path arrived. If it answers the heartbeat to the source
    /// that it came from, that source is the peer's. False if it answers none.
    #[cold]
    pub(super) fn on_source_verified(
        &mut self,
        ctx: &mut Ctx<'_>,
        inbound: &Inbound<'_>,
        (path, nonce): (PathId, u64),
    ) -> bool {
        let pair = (*inbound.destination, *inbound.source);
        if path == NO_PATH && self.on_other_source_answered(ctx, pair, nonce) {
            return true;
        }
        let all = &mut self.addresses.unverified.all;
        let found = all
            .iter()
            .position(|u| (u.local, u.remote) == pair && u.nonce == nonce);
        let Some(at) = found.filter(|_| path == NO_PATH) else {
            return false;
        };
        let asked = all.remove(at).probed;
        // An address that is being deleted still receives, and is no source.
        if !self.could_become_path(pair) || !self.addresses.local.contains(&pair.0) {
            return true;
        }
        self.failure.errors = 0;
        match self.path_behind(pair) {
            Some(path) => self.rebind(ctx, path, pair, asked),
            // The path works again from its own source.
            None if self.paths.find_source(&pair.1).is_some() => {}
            None => self.add_verified(ctx, pair, asked),
        }
        true
    }

    /// Whether a path to this address goes without UDP, and the packet came in UDP. The path
    /// stays as it is until it fails, or has never answered two heartbeats. Otherwise two sides
    /// that begin differently would change for ever: each would follow the other.
    fn does_without_udp(&self, remote: SocketAddr) -> bool {
        let works = |p: &Path| match p.counters.last_heard() {
            Some(_) => p.state() != PathState::Inactive,
            None => p.errors.count() < 2,
        };
        let same = |p: &Path| p.remote().port() == 0 && p.remote().ip() == remote.ip();
        let mut all = self.paths.ids().map(|p| self.paths.get(p));
        remote.port() != 0 && all.any(|p| same(p) && works(p))
    }

    /// Whether a source would become a path, or move one, if it answered. Otherwise its
    /// answer would prove life that no data can use.
    fn could_become_path(&self, pair: (SocketAddr, SocketAddr)) -> bool {
        let room = self.paths.has_room(self.cfg.setup.max_paths);
        room || self.path_behind(pair).is_some() || self.least_useful().is_some()
    }

    /// The path that makes room for a source of the peer that works: one that has never proved
    /// itself, else one that failed.
    fn least_useful(&self) -> Option<PathId> {
        let in_state = |s| self.paths.ids().find(|p| self.paths.get(*p).state() == s);
        in_state(PathState::Unconfirmed).or_else(|| in_state(PathState::Inactive))
    }

    /// The peer sends from where no path can be, because there are enough of them. Each one that
    /// was not heard for an RTO is asked: perhaps the peer has left it, and it fails. A side
    /// that sends nothing but SACKs, without heartbeats, would never see that.
    fn ask_silent_paths(&mut self, ctx: &Ctx<'_>) {
        for path in self.paths.ids() {
            let p = self.paths.get(path);
            let heard = p.counters.last_heard();
            let silent = heard.is_none_or(|at| ctx.now.since(at) > p.rtt.rto());
            if silent && p.heartbeat.under_way().is_none() {
                self.want_heartbeat(path);
            }
        }
    }

    /// The path whose packets come from a new source now: the one between the same two
    /// addresses, or one to this address that has never proved itself or fails.
    fn path_behind(&self, (local, remote): (SocketAddr, SocketAddr)) -> Option<PathId> {
        let same_remote = |p: &PathId| self.paths.get(*p).remote().ip() == remote.ip();
        let between = |p: &PathId| self.paths.get(*p).local() == local;
        let unproven = |p: &PathId| self.paths.get(*p).state() == PathState::Unconfirmed;
        let exactly = self.paths.find_source(&remote);
        let fails = |p: &PathId| exactly == Some(*p) && self.paths.get(*p).errors.count() > 0;
        let mut all = self.paths.ids().filter(same_remote);
        all.find(|p| between(p) || unproven(p) || fails(p))
    }

    /// The translator gave a path another UDP port. What is in flight there went to the
    /// old one and counts as lost, which is no sign of congestion.
    fn rebind(
        &mut self,
        ctx: &mut Ctx<'_>,
        path: PathId,
        (local, remote): (SocketAddr, SocketAddr),
        asked: Instant,
    ) {
        self.paths.rebind(path, local, remote.port());
        self.addresses.changed = true;
        self.take_flight_for_lost(path, LossCause::FastRetransmit);
        // The peer may have missed the last SACK.
        self.recv.acker.want_now();
        self.on_source_works(ctx, path, asked);
        self.event(ctx, crate::api::Event::PathMoved { path, remote });
    }

    /// A source that belongs to no path becomes one, in the place of a path that never
    /// proved itself, or failed, if there is no other room.
    fn add_verified(
        &mut self,
        ctx: &mut Ctx<'_>,
        (local, remote): (SocketAddr, SocketAddr),
        asked: Instant,
    ) {
        let active = |p: &Path| p.state() == PathState::Active;
        let is_only = !self.paths.iter().any(active);
        let new = self.new_path(ctx, (local, remote), true);
        let room = self.paths.has_room(self.cfg.setup.max_paths);
        let path = if room {
            self.paths.insert(new)
        } else if let Some(path) = self.least_useful() {
            // What is in flight there went to another address, which is no sign of congestion.
            self.take_flight_for_lost(path, LossCause::FastRetransmit);
            self.keep_address_of(path);
            self.paths.replace(path, new);
            if let Some(c) = &mut self.send.concurrent {
                c.forget_path(path);
            }
            path
        } else {
            return;
        };
        self.addresses.pathless.retain(|a| *a != remote.ip());
        self.paths.detect_as(&self.cfg);
        self.addresses.changed = true;
        self.announce_path(ctx, path, remote, PathState::Active);
        self.learn_mtu(ctx, path);
        self.on_source_works(ctx, path, asked);
        if is_only {
            self.end_revival(ctx, path, asked);
        }
    }

    /// The peer answered from there what left at this time.
    fn on_source_works(&mut self, ctx: &mut Ctx<'_>, path: PathId, asked: Instant) {
        let p = self.paths.get_mut(path);
        p.counters.heard(ctx.now);
        p.note_answer_here();
        if !p.is_confirmed() {
            self.confirm_path(ctx, path);
        }
        self.take_back(ctx, path, asked);
        self.schedule_heartbeat(ctx, path);
        self.choose_data_path(ctx, None);
        self.end_stall(ctx, path);
    }
}
