//! A packet arrives: its verification tag is checked, and then each chunk is handled
//! (RFC 9260 sections 3.2, 6.10 and 8.5).

use super::{Association, Control, Ctx, State};
use crate::api::{Event, LossReason};
use crate::observe::Observation;
use crate::path::{PathId, PathState};
use crate::recv::acker::Arrived;
use crate::refusals::Rule;
use crate::text::shown;
use bytes::Bytes;
use byway_wire::{
    Cause, CauseWriter, Causes, Chunk, ChunkError, Chunks, Data, IData, Packet, RawChunk, Sack,
    UnknownAction, chunk_type,
};
use core::net::SocketAddr;

/// A packet with its source and destination.
#[derive(Copy, Clone)]
pub(crate) struct Inbound<'a> {
    pub(crate) source: &'a SocketAddr,
    pub(crate) destination: &'a SocketAddr,
    pub(crate) packet: Packet<'a>,
    /// SCTP bytes.
    pub(crate) len: usize,
    /// The payload tail: user data of the last chunk, stored separately; empty if there
    /// is none.
    pub(crate) tail: &'a Bytes,
    pub(crate) first: &'a RawChunk<'a>,
    /// The chunks after the first one.
    pub(crate) others: Chunks<'a>,
}

/// What the endpoint must do next with a packet.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Handled {
    Done,
    /// The packet is out of the blue (section 8.5.1, E).
    OutOfTheBlue,
}

/// State of the packet in progress.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) data: Arrived,
    pub(super) has_data: bool,
    /// One packet is answered with at most one ERROR (RFC 5062 section 8).
    pub(super) reported: bool,
    /// A heartbeat from an address that is not a path was answered: at most one per
    /// packet.
    pub(super) answered: bool,
    /// A valid AUTH chunk came before the chunk that is handled (RFC 4895 section 6.3).
    pub(super) authenticated: bool,
    /// A HEARTBEAT was answered.
    heartbeat: bool,
    /// The user was told of an ERROR.
    peer_error: bool,
    /// Serial numbers of the ASCONFs of the packet, which are answered together.
    pub(super) asconfs: Vec<u32>,
}

impl Association {
    /// Handles a packet of this association. `cookie_taken`: its first chunk, a COOKIE
    /// ECHO, has already been handled.
    pub(crate) fn handle_packet(
        &mut self,
        ctx: &mut Ctx<'_>,
        inbound: &Inbound<'_>,
        cookie_taken: bool,
    ) -> Handled {
        if !cookie_taken {
            match self.check_tag(inbound) {
                TagCheck::Ok => {}
                TagCheck::Wrong => {
                    self.discard(ctx, Rule::WrongTag, "wrong verification tag");
                    return Handled::Done;
                }
                TagCheck::OutOfTheBlue => return Handled::OutOfTheBlue,
            }
        }
        let from = self.note_arrival(ctx, inbound);
        if let Some(d) = &mut self.optional.dialect {
            d.on_packet(from, &mut self.recv.acker);
        }
        self.new_burst();
        let had_gap = self.recv.tsns.has_gap();
        self.note_life_in_shutdown();
        self.forget_echo();
        if self.state.is_closed() {
            return Handled::Done;
        }
        let mut gathered = Gathered::default();
        let goes_on =
            cookie_taken || self.handle_chunk(ctx, (inbound, from), inbound.first, &mut gathered);
        if goes_on && !inbound.others.rest().is_empty() {
            self.handle_others(ctx, (inbound, from), &mut gathered);
        }
        if gathered.has_data && !self.state.is_closed() {
            if let Some(from) = from {
                self.note_data_from(ctx, from);
                let probes = &self.paths.get(from).probe_timeout;
                if gathered.data.new && probes.waits_for_tail_probe() {
                    self.probe_tail_when_heard(ctx, from);
                }
            }
            // Data that fills a gap, or is bundled with COOKIE ECHO, is acknowledged at
            // once (sections 6.2 and 5.1.5).
            let dialect = self.optional.dialect.as_ref();
            let at_once = dialect.is_none_or(|d| d.closing_gap_hurries_sack());
            gathered.data.gap = had_gap && at_once || self.recv.tsns.has_gap();
            gathered.data.immediate |= cookie_taken;
            self.after_data(ctx, from.unwrap_or(self.paths.data()), &mut gathered.data);
        }
        if !gathered.asconfs.is_empty() && !self.state.is_closed() {
            self.answer_asconfs(ctx, inbound, &gathered.asconfs);
        }
        Handled::Done
    }

    /// In SHUTDOWN-SENT any packet shows that the peer is alive. But only DATA restarts
    /// T2 (section 9.2). If every packet did, heartbeats that arrive more often than a
    /// backed-off T2 expires would prevent the retransmission of SHUTDOWN.
    fn note_life_in_shutdown(&mut self) {
        if matches!(self.state, State::ShutdownSent) {
            self.failure.errors = 0;
        }
    }

    /// Something of the peer is dropped by a rule.
    pub(super) fn discard(&self, ctx: &mut Ctx<'_>, rule: Rule, why: &'static str) {
        self.refuse(ctx, rule);
        self.observe(ctx, || Observation::Discarded { why });
    }

    /// Counts what a rule refuses to the peer, at the address that data goes to.
    pub(crate) fn refuse(&self, ctx: &mut Ctx<'_>, rule: Rule) {
        ctx.out
            .refuse(rule, self.paths.get(self.paths.data()).remote());
    }

    /// Section 8.5.
    fn check_tag(&self, inbound: &Inbound<'_>) -> TagCheck {
        let tag = inbound.packet.header().verification_tag;
        let (kind, flags) = (inbound.first.kind, inbound.first.flags);
        let reflected = flags & 1 == 1;
        let ok = match kind {
            chunk_type::ABORT | chunk_type::SHUTDOWN_COMPLETE => {
                if reflected {
                    tag == self.tags.peer && self.tags.peer != 0
                } else {
                    tag == self.tags.local
                }
            }
            chunk_type::SHUTDOWN_ACK
                if matches!(self.state, State::CookieWait | State::CookieEchoed(_)) =>
            {
                return TagCheck::OutOfTheBlue;
            }
            _ => tag == self.tags.local,
        };
        if ok { TagCheck::Ok } else { TagCheck::Wrong }
    }

    /// The packet is from the peer: records its path, and that the peer is alive.
    fn note_arrival(&mut self, ctx: &mut Ctx<'_>, inbound: &Inbound<'_>) -> Option<PathId> {
        self.addresses.allowance.heard(inbound.len);
        let path = self.paths.find_source(inbound.source);
        match path {
            Some(id) => {
                let p = self.paths.get_mut(id);
                p.counters.received(ctx.now, inbound.len);
                let failed = !matches!(p.state(), PathState::Active | PathState::Unconfirmed);
                let unconfirmed = p.state() == PathState::Unconfirmed;
                let doubtful = failed || p.errors.count() > 0;
                if doubtful && p.local() != *inbound.destination {
                    // The peer reaches us at another address than the one that fails.
                    self.on_unverified_source(ctx, inbound);
                }
                self.owe_heartbeat(id);
                // A listed address is verified when the peer is heard there, not only once per RTO, or rarely: the
                // peer may have no other way any more.
                let revives = self.cfg.failover.revival.is_some();
                if failed || unconfirmed && (revives || self.is_asked_rarely(id)) {
                    self.on_failed_path_heard(ctx, (id, inbound));
                }
            }
            None => self.on_unverified_source(ctx, inbound),
        }
        self.stats.packets_received += 1;
        self.observe(ctx, || Observation::PacketReceived {
            path,
            bytes: inbound.len as u32,
        });
        path
    }

    /// Handles the chunks after the first one, until one of them ends the packet.
    #[inline(never)]
    fn handle_others(
        &mut self,
        ctx: &mut Ctx<'_>,
        (inbound, from): (&Inbound<'_>, Option<PathId>),
        gathered: &mut Gathered,
    ) {
        for chunk in inbound.others {
            if self.state.is_closed() {
                return;
            }
            let Ok(raw) = chunk else {
                self.discard(ctx, Rule::BadChunk, "chunk with a bad length");
                return;
            };
            if !self.handle_chunk(ctx, (inbound, from), &raw, gathered) {
                return;
            }
        }
    }

    /// Handles one chunk; false ends the packet.
    #[inline]
    fn handle_chunk(
        &mut self,
        ctx: &mut Ctx<'_>,
        (inbound, from): (&Inbound<'_>, Option<PathId>),
        raw: &RawChunk<'_>,
        gathered: &mut Gathered,
    ) -> bool {
        let well_formed = match raw.kind {
            chunk_type::DATA => {
                Data::parse(raw).map(|d| self.on_data(ctx, (from, inbound.tail), &d, gathered))
            }
            chunk_type::SACK => Sack::parse(raw).map(|s| {
                self.on_sack(ctx, &s);
                true
            }),
            _ => self.handle_other(ctx, (inbound, from), raw, gathered),
        };
        well_formed.unwrap_or_else(|_| {
            self.discard(ctx, Rule::BadChunk, "malformed chunk");
            false
        })
    }

    /// An ABORT arrived, with the T bit or not. It ends the association if it says so of the whole of it.
    fn on_abort(
        &mut self,
        ctx: &mut Ctx<'_>,
        inbound: &Inbound<'_>,
        (t_bit, causes): (bool, Causes<'_>),
    ) {
        if self.is_being_deleted(inbound.destination.ip()) {
            // RFC 5061 sections 5.3, F4, and 5.3.1.
            let why = "ABORT to an address that is being deleted";
            self.discard(ctx, Rule::Misplaced, why);
        } else if t_bit && self.tries_source(inbound) {
            let why = "ABORT to a source that the peer does not know";
            self.discard(ctx, Rule::Misplaced, why);
            self.on_unknown_source(ctx, inbound);
        } else if t_bit && let Some(path) = self.denies_one_address(inbound) {
            let why = "ABORT from an address that the peer may have deleted";
            self.discard(ctx, Rule::Misplaced, why);
            self.doubt_address(ctx, path);
        } else {
            let mut why = describe(causes);
            if why.is_empty() && matches!(self.state, State::CookieEchoed(_)) {
                why = UNEXPLAINED.to_owned();
            }
            self.lose(ctx, LossReason::AbortedByPeer(why));
        }
    }

    /// Handles a chunk that is neither DATA nor SACK. These are rare, so they have their
    /// own function and packets without them do not pay for them.
    #[cold]
    #[inline(never)]
    fn handle_other(
        &mut self,
        ctx: &mut Ctx<'_>,
        (inbound, from): (&Inbound<'_>, Option<PathId>),
        raw: &RawChunk<'_>,
        gathered: &mut Gathered,
    ) -> Result<bool, ChunkError> {
        if raw.kind == chunk_type::I_DATA && self.knows_interleaving() {
            return IData::parse(raw).map(|d| self.on_i_data(ctx, from, &d, gathered));
        }
        match raw.parse()? {
            Chunk::Heartbeat(_) => {
                // One packet gets one answer (RFC 5062 section 8).
                if core::mem::replace(&mut gathered.heartbeat, true) {
                    self.refuse(ctx, Rule::ReportRate);
                } else {
                    self.on_heartbeat(ctx, inbound, raw.value, gathered);
                }
            }
            Chunk::HeartbeatAck(h) => self.on_heartbeat_ack(ctx, inbound, h.info),
            Chunk::InitAck(i) => {
                self.on_init_ack(ctx, inbound, &i);
                return Ok(false); // it travels alone (section 6.10)
            }
            Chunk::CookieAck => self.on_cookie_ack(ctx),
            Chunk::Shutdown(s) => self.on_shutdown(ctx, from, s),
            Chunk::ShutdownAck => self.on_shutdown_ack(ctx, inbound),
            Chunk::ShutdownComplete(_) => {
                self.on_shutdown_complete(ctx);
                return Ok(false);
            }
            Chunk::Abort(a) => {
                self.on_abort(ctx, inbound, (raw.flags & 1 == 1, a.causes));
                return Ok(false);
            }
            Chunk::Error(e) => self.on_error(ctx, e.causes, gathered),
            Chunk::Init(_) | Chunk::CookieEcho(_) => {
                self.discard(
                    ctx,
                    Rule::Misplaced,
                    "INIT or COOKIE ECHO behind another chunk",
                );
                return Ok(false);
            }
            Chunk::Timestamp(t) => self.on_timestamp(t),
            Chunk::Auth(a) if self.authenticates() => {
                return Ok(self.on_auth(ctx, (inbound, from), (&a, raw), gathered));
            }
            Chunk::Asconf(_) | Chunk::AsconfAck(_)
                if self.optional.asconf.is_some() && !gathered.authenticated =>
            {
                // RFC 5061 section 5.2, D5.
                self.discard(
                    ctx,
                    Rule::Unauthenticated,
                    "ASCONF or ASCONF-ACK without AUTH",
                );
                return Ok(false);
            }
            Chunk::Asconf(a) if self.optional.asconf.is_some() => {
                self.on_asconf(ctx, inbound, &a, gathered);
            }
            Chunk::AsconfAck(a) if self.optional.asconf.is_some() => {
                self.on_asconf_ack(ctx, inbound, &a);
            }
            Chunk::IForwardTsn(f) if self.knows_interleaving() => {
                return Ok(self.on_i_forward_tsn(ctx, &f, gathered));
            }
            Chunk::ForwardTsn(_)
                if self.state.takes_data() && self.recv.reassembly.interleaves() =>
            {
                // RFC 8260 section 2.3.1.
                self.violation(ctx, "FORWARD-TSN, although I-DATA was agreed on");
                return Ok(false);
            }
            Chunk::Pad(_) => {}
            // Their procedures are not supported: unknown, handled by their upper bits.
            _ => return Ok(self.on_unknown(ctx, from, raw, gathered)),
        }
        Ok(true)
    }

    /// Section 3.2: the upper two bits of an unknown type decide.
    fn on_unknown(
        &mut self,
        ctx: &mut Ctx<'_>,
        from: Option<PathId>,
        raw: &RawChunk<'_>,
        gathered: &mut Gathered,
    ) -> bool {
        let action = RawChunk::unknown_action(raw.kind);
        self.discard(ctx, Rule::UnknownChunk, "unknown chunk type");
        if action.reports() && !gathered.reported {
            gathered.reported = true;
            // Cut, so that the report is not larger than the chunk that caused it.
            let cut = raw.bytes.len().min(256);
            self.report(ctx, from, |w| {
                w.unrecognized_chunk_type(&raw.bytes[..cut]);
            });
        }
        !UnknownAction::stops(action)
    }

    /// Queues an ERROR to the path of the cause. A peer gets few in a second, however much of what
    /// it sends is wrong: each costs a packet.
    pub(super) fn report(
        &mut self,
        ctx: &mut Ctx<'_>,
        to: Option<PathId>,
        write: impl FnOnce(&mut CauseWriter<'_>),
    ) {
        if self.control.len() >= 8 || !self.failure.reported.take(ctx.now) {
            return self.refuse(ctx, Rule::ReportRate);
        }
        let mut causes = Vec::new();
        write(&mut CauseWriter::over(&mut causes));
        let to = to.unwrap_or(self.paths.data());
        self.control.push_back(Control::Error(to, causes.into()));
    }

    fn on_error(&mut self, ctx: &mut Ctx<'_>, causes: Causes<'_>, gathered: &mut Gathered) {
        for raw in causes.iter() {
            let Ok(raw) = raw else { break };
            if let Ok(Cause::StaleCookie { staleness_us }) = raw.parse() {
                self.on_stale_cookie(ctx, staleness_us);
                return;
            }
            if let Ok(Cause::UnrecognizedChunkType(chunk)) = raw.parse()
                && chunk.first() == Some(&chunk_type::ASCONF)
            {
                self.on_asconf_unknown(ctx);
            }
        }
        // One event a packet, and few a second: many ERRORs must not push other events out
        // of a queue.
        if core::mem::replace(&mut gathered.peer_error, true) {
            self.discard(ctx, Rule::ErrorRate, "another ERROR in one packet");
            return;
        }
        if !self.failure.told.take(ctx.now) {
            self.discard(
                ctx,
                Rule::ErrorRate,
                "more ERRORs than the user is told of in a second",
            );
            return;
        }
        let cause = describe(causes);
        self.event(ctx, Event::PeerError { cause });
    }
}

enum TagCheck {
    Ok,
    Wrong,
    OutOfTheBlue,
}

/// The words for an ABORT without a cause that answers a COOKIE ECHO. Without them it would look like the one that
/// answers an INIT to a wrong port, of which other stacks say nothing.
const UNEXPLAINED: &str = "without a reason, though it had answered the INIT";

/// Error causes as text; at most four, each cut to one line.
fn describe(causes: Causes<'_>) -> String {
    let mut text = String::new();
    for raw in causes.iter().take(4) {
        let Ok(raw) = raw else {
            if text.is_empty() {
                text.push_str("a cause that cannot be read");
            }
            break;
        };
        if !text.is_empty() {
            text.push_str("; ");
        }
        match raw.parse() {
            Ok(Cause::UserInitiatedAbort(reason) | Cause::ProtocolViolation(reason)) => {
                let cut = &reason[..reason.len().min(128)];
                text.push_str(&shown(&String::from_utf8_lossy(cut)));
            }
            Ok(Cause::InvalidStreamIdentifier { stream_id }) => {
                text.push_str(&format!("stream {stream_id} does not exist"));
            }
            Ok(Cause::OutOfResource) => text.push_str("it is out of resources"),
            Ok(Cause::NoUserData { tsn }) => text.push_str(&format!("DATA {tsn} was empty")),
            Ok(Cause::RestartWithNewAddresses(_)) => {
                text.push_str("a restart would have added addresses");
            }
            _ => text.push_str(&format!("cause {}", raw.code)),
        }
    }
    // It may be kept for long.
    text.shrink_to_fit();
    text
}
