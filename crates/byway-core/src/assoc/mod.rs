//! One association: its state, its halves, its paths, and what goes on between
//! them.
//!
//! `dispatch` brings chunks in, `on_*` react, `fill` sends. Nothing is sent on
//! the way in.

mod concurrent;
mod dead_data;
mod dispatch;
mod estimating;
mod on_data;
mod on_doubt;
mod on_heartbeat;
mod on_overdue;
mod on_timeout;
mod paths;
mod peer_init;
mod restart;
mod sack;
mod setup;
mod state;
mod teardown;
mod timestamps;
mod transmit;

pub(crate) use concurrent::{fast_recovery, split};
pub(crate) use dispatch::{Handled, Inbound};
pub(crate) use peer_init::{BadInit, PeerInit, acceptable_address};
pub(crate) use restart::CookieOutcome;
pub(crate) use setup::{Accepted, write_addresses, write_extensions};
pub(crate) use state::State;
pub(crate) use transmit::Sent;

use crate::api::{
    AssocId, AssocStats, CommandError, Event, LossReason, Message, PathEstimateStats, PathStats,
    Received,
};
use crate::config::{BurstRule, ChecksumMode, Config};
use crate::dialect::{Dialect, Inside};
use crate::observe::{Observation, Observed};
use crate::path::{Alarms, PathId, PathState, PathTable};
use crate::recv::RecvHalf;
use crate::routes::Routes;
use crate::send::SendHalf;
use crate::time::Instant;
use bytes::Bytes;
use byway_wire::{Checksum, CommonHeader, PacketBuilder};
use chacha20::ChaCha8Rng;
use core::net::{IpAddr, SocketAddr};
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::sync::Arc;

/// Replies outside any association that may wait to be sent. Further ones are
/// dropped: a peer that still needs an answer repeats its request.
const MAX_REPLIES: usize = 1024;

/// A complete packet sent outside any association: the answer to an INIT, a
/// COOKIE ECHO or a packet out of the blue, or the last packet of an association
/// that has ended.
#[derive(Debug)]
pub(crate) struct OutboundReply {
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
    pub(crate) bytes: Vec<u8>,
}

/// Where events, observations and replies outside any association go.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    pub(crate) events: VecDeque<(AssocId, Event)>,
    pub(crate) observed: Vec<Observed>,
    pub(crate) observe: bool,
    pub(crate) observe_details: bool,
    pub(crate) replies: VecDeque<OutboundReply>,
    /// Replies dropped because [`MAX_REPLIES`] were waiting.
    pub(crate) replies_dropped: u64,
}

impl Outbox {
    pub(crate) fn queue_reply(&mut self, reply: OutboundReply) {
        if self.replies.len() < MAX_REPLIES {
            self.replies.push_back(reply);
        } else {
            self.replies_dropped += 1;
        }
    }
}

/// What an association borrows from its endpoint while it works.
pub(crate) struct Ctx<'a> {
    pub(crate) now: Instant,
    pub(crate) rng: &'a mut ChaCha8Rng,
    pub(crate) out: &'a mut Outbox,
    pub(crate) checksum: ChecksumMode,
    pub(crate) routes: &'a mut dyn Routes,
    /// Where the payload of a packet's last chunk may be left instead of being
    /// copied; none where a packet has to be in one piece.
    pub(crate) payload_tail: Option<&'a mut Bytes>,
}

impl Ctx<'_> {
    pub(crate) fn checksum(&self) -> Checksum {
        match self.checksum {
            ChecksumMode::Crc32c => Checksum::Crc32c,
            ChecksumMode::Offloaded => Checksum::Zero,
        }
    }
}

/// A control chunk that waits to be sent.
#[derive(Debug)]
pub(crate) enum Control {
    Init,
    CookieEcho,
    CookieAck(PathId),
    HeartbeatAck(PathId, Box<[u8]>),
    /// Error causes, ready made.
    Error(PathId, Box<[u8]>),
    Shutdown,
    /// To where the SHUTDOWN came from (section 6.4), or to where T2 moved on.
    ShutdownAck(PathId),
}

/// The timers that are not a path's.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    /// T1-init or T1-cookie, by state.
    pub(crate) t1: Option<Instant>,
    /// T2-shutdown.
    pub(crate) t2: Option<Instant>,
    /// T5-shutdown-guard.
    pub(crate) t5: Option<Instant>,
    /// INIT or COOKIE ECHO repeats so far.
    pub(crate) init_retransmits: u32,
}

impl Timers {
    /// The earliest of them.
    #[inline]
    fn earliest(&self) -> Option<Instant> {
        let set = [self.t1, self.t2, self.t5];
        // Data flows without any of them.
        if set == [None; 3] {
            return None;
        }
        set.into_iter().flatten().min()
    }
}

/// Says that what follows is rarely done, so that it stands out of the way.
#[cold]
#[inline(always)]
pub(crate) fn unlikely() {}

/// One association (a TCB in the RFC's words).
#[derive(Debug)]
pub(crate) struct Association {
    pub(crate) id: AssocId,
    pub(crate) cfg: Arc<Config>,
    pub(crate) local_port: u16,
    pub(crate) peer_port: u16,
    pub(crate) local_tag: u32,
    pub(crate) peer_tag: u32,
    /// Random names of this association for cookies of a restart; never the
    /// tags themselves, so a cookie does not give those away (RFC 5062).
    pub(crate) tie_tags: (u32, u32),
    pub(crate) accepted: bool,
    pub(crate) state: State,
    pub(crate) paths: PathTable,
    pub(crate) send: SendHalf,
    pub(crate) recv: RecvHalf,
    /// The association's error count (section 8.1).
    pub(crate) errors: u32,
    pub(crate) timers: Timers,
    /// What TIMESTAMP chunks need, where both sides agreed on them.
    stamps: Option<timestamps::Stamps>,
    pub(crate) control: VecDeque<Control>,
    pub(crate) stats: AssocStats,
    /// Readable was announced and not all has been read since.
    pub(crate) readable_told: bool,
    /// Addresses of the peer that are no paths, as there are enough of those or
    /// none of ours reaches them. What comes from there is still the peer's.
    pub(crate) pathless: SmallVec<[IpAddr; 2]>,
    /// Our own addresses: what INIT lists and new paths leave from.
    pub(crate) local: Arc<[SocketAddr]>,
    /// The user shut down before the association stood.
    pub(crate) shutdown_wanted: bool,
    /// Parameters of the INIT ACK to be reported once the association stands.
    pub(crate) reports: Vec<Vec<u8>>,
    /// Where the peer's last SHUTDOWN came from.
    pub(crate) shutdown_from: Option<PathId>,
    /// What the paths would carry (`failover.estimate`).
    pub(crate) estimating: Option<Box<estimating::Estimating>>,
    /// How it reads the standard otherwise (`Config::dialect`).
    pub(crate) dialect: Option<Box<dyn Dialect>>,
    /// The first T3-rtx expiration since anything was acknowledged
    /// (`failure.dead_data`).
    pub(crate) unacknowledged_since: Option<Instant>,
    /// Stale cookies so far, and by how much the last one was.
    pub(crate) stale_cookies: u8,
    pub(crate) stale_by: Option<crate::time::Duration>,
}

impl Association {
    /// Puts a question to the dialect, if the association has one.
    #[inline]
    pub(crate) fn ask<T>(
        &mut self,
        ctx: &mut Ctx<'_>,
        question: impl FnOnce(&mut dyn Dialect, &mut Inside<'_>) -> T,
    ) -> Option<T> {
        self.dialect.as_ref()?;
        unlikely();
        let (dialect, mut inside) = self.inside(ctx);
        dialect.map(|d| question(d, &mut inside))
    }

    /// The dialect, and what it may see and change.
    fn inside<'a>(&'a mut self, ctx: &'a mut Ctx<'_>) -> (Option<&'a mut dyn Dialect>, Inside<'a>) {
        let inside = Inside {
            now: ctx.now,
            cfg: &self.cfg,
            rng: &mut *ctx.rng,
            id: self.id,
            paths: &mut self.paths,
            ledger: &mut self.send.ledger,
            concurrent: self.send.concurrent.as_deref_mut(),
            recovering: self.send.recover.is_some(),
            out: &mut *ctx.out,
        };
        let dialect = self.dialect.as_mut().map(|d| &mut **d as &mut dyn Dialect);
        (dialect, inside)
    }

    #[inline]
    pub(crate) fn observe(&self, ctx: &mut Ctx<'_>, what: impl FnOnce() -> Observation) {
        if ctx.out.observe {
            unlikely();
            // In place: what was just written field by field would be copied as
            // whole words, for which the processor waits.
            ctx.out.observed.push(Observed {
                at: ctx.now,
                assoc: self.id,
                what: what(),
            });
        }
    }

    #[inline(never)]
    pub(crate) fn event(&self, ctx: &mut Ctx<'_>, event: Event) {
        ctx.out.events.push_back((self.id, event));
    }

    pub(crate) fn enter(&mut self, ctx: &mut Ctx<'_>, state: State) {
        self.state = state;
        let name = self.state.name();
        self.observe(ctx, || Observation::State { name });
    }

    pub(crate) fn header(&self) -> CommonHeader {
        CommonHeader {
            source_port: self.local_port,
            destination_port: self.peer_port,
            verification_tag: self.peer_tag,
        }
    }

    /// The same for one of the kinds that `EndpointConfig::observe_details` names.
    #[inline]
    pub(crate) fn observe_detail(&self, ctx: &mut Ctx<'_>, what: impl FnOnce() -> Observation) {
        if ctx.out.observe && ctx.out.observe_details {
            self.observe(ctx, what);
        }
    }

    /// Packets of new data that this event may release (section 6.1, D).
    ///
    /// The paths hear of it when the first of them is asked: most packets that
    /// arrive release nothing.
    #[inline]
    pub(crate) fn new_burst(&mut self) {
        self.send.burst_begins = true;
        if let Some(c) = &mut self.send.concurrent {
            c.begin_event(self.paths.len());
        }
    }

    /// What [`new_burst`](Self::new_burst) put off.
    #[inline]
    pub(super) fn begin_burst(&mut self) {
        if self.send.burst_begins {
            self.reset_bursts();
        }
    }

    #[inline(never)]
    fn reset_bursts(&mut self) {
        self.send.burst_begins = false;
        let most = match self.cfg.congestion.burst_rule {
            BurstRule::CountPackets => self.cfg.congestion.max_burst.unwrap_or(u32::MAX),
            BurstRule::LimitWindow | BurstRule::ShrinkWindow => u32::MAX,
        };
        for p in self.paths.iter_mut() {
            p.burst_left = most;
            p.burst_flight = None;
        }
    }

    /// Takes a message for sending.
    #[inline]
    pub(crate) fn send_message(&mut self, message: Message) -> Result<(), CommandError> {
        if !self.state.takes_messages() {
            return Err(match self.state {
                State::Closed => CommandError::Gone,
                _ => CommandError::ShuttingDown,
            });
        }
        if message.stream >= self.send.streams {
            return Err(CommandError::NoSuchStream {
                stream: message.stream,
                streams: self.send.streams,
            });
        }
        let len = message.payload.len();
        if len == 0 {
            return Err(CommandError::EmptyMessage);
        }
        if len > self.cfg.buffer.max_message as usize {
            return Err(CommandError::MessageTooLong {
                len,
                limit: self.cfg.buffer.max_message,
            });
        }
        if let Some(path) = message.path {
            self.check_path(path)?;
            let p = self.paths.get(path);
            if p.state == PathState::Unconfirmed {
                return Err(CommandError::Unconfirmed {
                    path,
                    remote: p.remote,
                });
            }
        }
        let queued = self.send.buffered();
        // One message always fits, whatever its length, so that none is stuck.
        if queued > 0 && queued + len as u64 > u64::from(self.cfg.buffer.send) {
            self.send.writable_wanted = true;
            return Err(CommandError::WouldBlock {
                queued,
                limit: self.cfg.buffer.send,
            });
        }
        self.stats.bytes_queued += len as u64;
        self.send.queue.push(message);
        self.send.drain_wanted = true;
        if let Some(d) = &mut self.dialect {
            d.on_message();
        }
        self.new_burst();
        Ok(())
    }

    pub(crate) fn check_path(&self, path: PathId) -> Result<(), CommandError> {
        if self.paths.contains(path) {
            Ok(())
        } else {
            Err(CommandError::NoSuchPath {
                path,
                last: self.paths.len().saturating_sub(1) as u8,
            })
        }
    }

    /// Hands over the next message or part, and tells the peer when that opened
    /// its window.
    pub(crate) fn receive(&mut self) -> Option<Received> {
        let Some(r) = self.recv.reassembly.pop() else {
            self.readable_told = false;
            return None;
        };
        self.stats.bytes_delivered += r.payload.len() as u64;
        self.stats.messages_delivered += u64::from(r.last);
        if self.state.acks_data() && self.recv.window_opened() {
            self.recv.acker.want_now();
        }
        Some(r)
    }

    /// Ends the association without a word to the peer.
    #[cold]
    pub(crate) fn lose(&mut self, ctx: &mut Ctx<'_>, reason: LossReason) {
        if matches!(self.state, State::Closed) {
            return;
        }
        let undelivered_messages = self.send.queue.messages() + self.send.ledger.messages();
        self.close(ctx);
        let event = Event::Lost {
            reason,
            undelivered_messages,
        };
        self.event(ctx, event);
    }

    /// Enters CLOSED: no timer runs and nothing leaves any more. What has
    /// arrived can still be read.
    pub(crate) fn close(&mut self, ctx: &mut Ctx<'_>) {
        self.enter(ctx, State::Closed);
        self.timers = Timers::default();
        self.dialect = None;
        self.control.clear();
        for p in self.paths.iter_mut() {
            p.t3 = None;
            p.alarms = Alarms::default();
            p.probe = None;
        }
        for id in self.paths.ids() {
            self.paths.want_heartbeat(id, false);
        }
        self.recv.acker = crate::recv::acker::Acker::default();
        self.send.probe_at = None;
    }

    /// Aborts: the peer is told why, with one packet (section 9.1).
    #[cold]
    pub(crate) fn abort(&mut self, ctx: &mut Ctx<'_>, reason: LossReason, told: Told<'_>) {
        if matches!(self.state, State::Closed) {
            return;
        }
        // Before INIT ACK the peer's tag is unknown: nobody can be told.
        if !matches!(self.state, State::CookieWait) {
            let mut bytes = Vec::new();
            let mut packet = PacketBuilder::new(&mut bytes, self.header());
            packet.abort(false, |causes| {
                match told {
                    Told::User(reason) => causes.user_initiated_abort(reason),
                    Told::Violation(what) => causes.protocol_violation(what.as_bytes()),
                    Told::NoUserData(tsn) => causes.no_user_data(tsn),
                };
            });
            packet.finish(ctx.checksum());
            let p = self.paths.get(self.paths.data);
            ctx.out.queue_reply(OutboundReply {
                source: p.local,
                destination: p.remote,
                bytes,
            });
        }
        self.lose(ctx, reason);
    }

    /// The peer broke the protocol: it is told so, and the association ends.
    #[cold]
    pub(crate) fn violation(&mut self, ctx: &mut Ctx<'_>, what: &'static str) {
        self.abort(
            ctx,
            LossReason::ProtocolViolation(what),
            Told::Violation(what),
        );
    }

    pub(crate) fn path_stats(&self, id: PathId) -> PathStats {
        let p = self.paths.get(id);
        let probes = self.estimating.as_ref().map(|e| e.probes(id));
        let (probes_sent, probe_bytes) = probes.unwrap_or_default();
        PathStats {
            estimate: self.estimate(id).map(|e| PathEstimateStats {
                rtt: e.rtt,
                loss: e.loss(),
                samples: e.trials,
            }),
            probes_sent,
            probe_bytes,
            path: id,
            local: p.local,
            remote: p.remote,
            state: p.state,
            primary: self.paths.primary == id,
            in_use: self.paths.data == id,
            cwnd: p.window.cwnd,
            ssthresh: p.window.ssthresh,
            flight: p.window.flight,
            srtt: p.rtt.srtt(),
            rto: p.rtt.rto(),
            error_count: p.errors,
            dead_for_data: p.dead_for_data,
            pmtu: p.pmtu,
            packets_sent: p.counters.packets_sent,
            bytes_sent: p.counters.bytes_sent,
            bytes_received: p.counters.bytes_received,
            data_bytes_sent: p.counters.data_bytes_sent,
            data_bytes_retransmitted: p.counters.data_bytes_retransmitted,
            timeouts: p.counters.timeouts,
            last_heard: p.last_heard,
        }
    }

    /// Recounts every running total (for tests): the first that is wrong.
    pub(crate) fn check_totals(&self) -> Result<(), String> {
        for id in self.paths.ids() {
            let (flight, counted) = (
                self.paths.get(id).window.flight,
                self.send.ledger.recount_flight(id),
            );
            let lost = self.send.ledger.recount_lost(id);
            if self.paths.get(id).window.lost != lost {
                return Err(format!("lost bytes of path {id} are not {lost}"));
            }
            if self.paths.get(id).window.pmdcs < self.paths.least_pmdcs() {
                return Err(format!("PMDCS of path {id} is less than the least"));
            }
            if flight != counted {
                return Err(format!(
                    "flight of path {id} is {flight}, counted {counted}"
                ));
            }
        }
        let all = [
            ("ledger", self.send.ledger.totals_agree()),
            ("send queue", self.send.queue.totals_agree()),
            ("reassembly", self.recv.reassembly.totals_agree()),
        ];
        match all.iter().find(|a| !a.1) {
            Some((what, _)) => Err(format!("a total of the {what} is wrong")),
            None => Ok(()),
        }
    }
}

/// What an ABORT tells the peer.
pub(crate) enum Told<'a> {
    User(&'a [u8]),
    Violation(&'static str),
    NoUserData(byway_wire::Tsn),
}
