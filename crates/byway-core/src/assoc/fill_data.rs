//! DATA goes out: what is marked first, then what is new (RFC 9260 sections
//! 6.1 and 6.4).

use super::{Association, Ctx, Sent};
use crate::cc;
use crate::config::{BurstRule, CongestionConfig};
use crate::observe::Observation;
use crate::path::{Path, PathId, PathState};
use crate::policy::retransmit::LossCause;
use crate::send::ledger::{Fate, FirstSending, Record};
use crate::send::queue::LaneId;
use crate::time::Instant;
use bytes::Bytes;
use byway_wire::{DATA_HEADER_LEN, Data, PacketBuilder, padded};
use smallvec::SmallVec;

/// TSNs under way at most: a gap block reaches no farther than 16 bits.
const MAX_OUTSTANDING: usize = 60_000;

/// A chunk that may leave: to where, from which lane, with so many bytes of
/// payload.
#[derive(Copy, Clone, Debug)]
struct Next {
    path: PathId,
    lane: LaneId,
    len: usize,
}

impl Association {
    pub(super) fn fill_data(&mut self, ctx: &mut Ctx<'_>, buf: &mut Vec<u8>) -> Option<Sent> {
        if !self.send.ledger.marks().is_empty() {
            // Rule C: nothing new before all that is marked has left, even
            // where its window is closed and another one is open.
            if let Some(sent) = self.fill_marked(ctx, buf) {
                return Some(sent);
            }
            // Concurrent multipath transfer fills the other paths meanwhile.
            self.send.concurrent.as_ref()?;
        }
        if self.send.queue.is_empty() {
            self.note_rwnd_blocked(ctx, false);
            return None;
        }
        let next = self.next_new(ctx)?;
        Some(self.send_new(ctx, buf, next))
    }

    #[inline(never)]
    fn fill_marked(&mut self, ctx: &mut Ctx<'_>, buf: &mut Vec<u8>) -> Option<Sent> {
        let (path, first) = if self.cfg.habits.sack_clocked {
            self.next_clocked(ctx)?
        } else {
            self.next_retransmission()?
        };
        Some(self.send_retransmission(ctx, buf, path, first))
    }

    /// The lowest marked chunk whose target may be sent to, with that target.
    fn next_retransmission(&self) -> Option<(PathId, u64)> {
        let view = self.paths.view();
        self.send
            .ledger
            .marks()
            .groups()
            .iter()
            .filter_map(|g| {
                let path = self.target(g.cause, g.path, &view);
                let (first, p) = (g.first()?, self.paths.get(path));
                let fits = || p.open() && p.keeps_room(first_len(self, first) as u32);
                (self.send.forced_packet || fits()).then_some((first, path))
            })
            .min()
            .map(|(seq, path)| (path, seq))
    }

    /// A packet of marked chunks, lowest first, all of one target.
    fn send_retransmission(
        &mut self,
        ctx: &mut Ctx<'_>,
        buf: &mut Vec<u8>,
        path: PathId,
        first: u64,
    ) -> Sent {
        self.send.forced_packet = false;
        let limit = self.paths.get(path).packet_limit();
        let mut packet = PacketBuilder::new(buf, self.header());
        let expected = first_len(self, first);
        let sack_gaps = self.begin_data_packet(&mut packet, ctx.now, path, expected);
        let mut next = Some(first);
        let mut sent: SmallVec<[(u64, u32, LossCause); 4]> = SmallVec::new();
        let mut apart: Option<Bytes> = None;
        while let Some(seq) = next {
            let Some(r) = self.send.ledger.get(seq) else {
                break;
            };
            let Fate::Marked(cause) = r.fate else { break };
            let fits = packet.len() + r.bytes as usize <= limit || sent.is_empty();
            if !fits {
                break;
            }
            let data = chunk(r, self.send.ledger.tsn_of(seq));
            put_data(&mut packet, &data, &r.payload, ctx, &mut apart);
            let (bytes, payload, last) = (r.bytes, r.payload.len() as u32, r.path);
            let (timed, immediate) = (r.timed, r.immediate);
            let old = self.paths.get_mut(last);
            old.window.marked -= bytes;
            if old.rtt_pending && timed {
                old.rtt_pending = false;
                self.send.ledger.forget_timing(seq);
            }
            if self.cfg.habits.restarts_t3_freely {
                self.restart_timers(ctx, seq, last, path);
            }
            self.paths.get_mut(path).asked_at_once = immediate;
            self.send.ledger.resend(seq, path, ctx.now);
            if self.is_class() {
                self.send.ledger.bar_fast_retransmit(seq);
            }
            self.note_moved(last, path);
            self.paths.get_mut(path).window.flight += bytes;
            sent.push((seq, payload, cause));
            next = self.next_for(path);
        }
        let len = packet.finish(ctx.checksum());
        hand_over(apart, ctx);
        for &(seq, payload, cause) in &sent {
            self.note_resent(ctx, path, seq, payload, cause);
        }
        if let Some((a_rwnd, gaps)) = sack_gaps {
            self.sack_sent(ctx, path, a_rwnd, gaps);
        }
        self.note_owed_acknowledgement(ctx, path);
        if self.estimating.is_some() {
            self.earn_probes(ctx, len);
        }
        self.sent(ctx, path, len)
    }

    /// The lowest marked chunk that goes to `path`.
    fn next_for(&self, path: PathId) -> Option<u64> {
        let view = self.paths.view();
        self.send
            .ledger
            .marks()
            .groups()
            .iter()
            .filter(|g| self.cfg.habits.sack_clocked || self.target(g.cause, g.path, &view) == path)
            .filter_map(crate::send::marks::Group::first)
            .min()
    }

    fn note_resent(
        &mut self,
        ctx: &mut Ctx<'_>,
        path: PathId,
        seq: u64,
        payload: u32,
        cause: LossCause,
    ) {
        // Rule C5: what was timed behind a retransmitted chunk is no sample.
        for p in self.paths.iter_mut() {
            if p.timed.is_some_and(|(timed, _)| timed >= seq) {
                p.timed = None;
            }
        }
        let habits = &self.cfg.habits;
        let p = self.paths.get_mut(path);
        if habits.decays_above > 0 {
            p.decay_at = Some(p.rtt.timeout(ctx.now));
        }
        cc::on_use(&mut p.window, ctx.now);
        p.counters.data_bytes_retransmitted += u64::from(payload);
        // R1, and: restart when the earliest chunk in flight is sent again.
        let earliest = p.earliest.is_none_or(|e| seq <= e) && !habits.restarts_t3_freely;
        if p.t3.is_none() || earliest {
            p.t3 = Some(p.rtt.timeout(ctx.now));
        }
        p.earliest = Some(p.earliest.map_or(seq, |e| e.min(seq)));
        self.stats.data_chunks_retransmitted += 1;
        let tsn = self.send.ledger.tsn_of(seq);
        self.observe(ctx, || Observation::DataSent {
            path,
            tsn,
            seq,
            bytes: payload,
            retransmission: Some(cause),
        });
    }

    /// What may be sent now: rules A, B and D of section 6.1.
    #[inline]
    fn next_new(&mut self, ctx: &mut Ctx<'_>) -> Option<Next> {
        if self.send.ledger.len() >= MAX_OUTSTANDING || self.waits_for_confirmation() {
            return None;
        }
        if self.send.habits.on && !self.habits_begin_new(ctx) {
            return None;
        }
        let most = self.max_payload();
        // The queue does not change here, but the association is borrowed.
        let mut waiting = self.send.queue.next_lane(0);
        let mut open = false;
        while let Some(w) = waiting {
            let len = w.left.min(most);
            let mut place = 0;
            while let Some(path) = self.candidate(w.path, place) {
                place += 1;
                if self.may_begin(ctx, path) {
                    open = true;
                    if self.rwnd_allows(ctx, path, len)
                        && (!self.send.habits.on || self.habits_allow(path, len))
                    {
                        let lane = w.lane;
                        return Some(Next { path, lane, len });
                    }
                }
            }
            waiting = self.send.queue.lane_behind(w.lane);
        }
        if !open {
            self.note_rwnd_blocked(ctx, false);
        }
        if self.cfg.habits.sack_clocked {
            self.send.habits.new_wanted = false;
            self.send.habits.burst = 0;
        }
        None
    }

    /// Whether ns-2's habits let new data leave in the present event at all.
    #[inline(never)]
    fn habits_begin_new(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let h = &self.send.habits;
        if self.cfg.habits.sack_clocked && !(h.new_allowed && h.new_wanted) {
            return false;
        }
        if self.is_class() {
            if self.waits_for_marked() {
                return false;
            }
            self.revive_as_class(ctx);
        }
        true
    }

    /// Rules B and D: whether a packet of new data may begin on a path.
    #[inline]
    fn may_begin(&mut self, ctx: &Ctx<'_>, path: PathId) -> bool {
        self.begin_burst();
        let held = if self.send.habits.on {
            self.held(path)
        } else {
            0
        };
        let p = self.paths.get_mut(path);
        if p.window.flight == 0 && self.cfg.habits.decays_above == 0 {
            cc::on_idle(&mut p.window, ctx.now, p.rtt.rto(), &self.cfg.congestion);
        }
        if self.cfg.habits.sack_clocked {
            p.window.flight.saturating_add(held) < p.window.cwnd
        } else {
            // A packet takes what waits, up to a full one.
            let waits = self.send.queue.bytes() + DATA_HEADER_LEN as u64;
            let next = waits.min(p.window.pmdcs.into()) as u32;
            p.open() && p.keeps_room(next) && within_burst(p, &self.cfg.congestion)
        }
    }

    /// Whether ns-2's burst limit and send window let a packet begin with a
    /// payload of so many bytes.
    #[inline(never)]
    fn habits_allow(&mut self, path: PathId, len: usize) -> bool {
        let habits = &self.cfg.habits;
        if habits.send_window == 0 && !habits.burst_after_fast_retransmit {
            return true;
        }
        let most = self.cfg.congestion.max_burst;
        let exceeds = if self.is_class() {
            self.exceeds_burst_as_class(path)
        } else {
            habits.burst_after_fast_retransmit && self.send.habits.exceeds_burst(most)
        };
        if exceeds {
            return false;
        }
        self.send_window_allows(padded(len + DATA_HEADER_LEN) as u32)
    }

    /// ns-2's habit: no data before every destination has answered.
    fn waits_for_confirmation(&self) -> bool {
        self.cfg.setup.confirm_all_before_data
            && self
                .paths
                .iter()
                .any(|p| !p.confirmed && p.state != PathState::Inactive)
    }

    /// The paths of new data, in order, by their place: the one that the user asked
    /// for, as long as it is not inactive, else the policies'.
    #[inline]
    fn candidate(&self, wish: Option<PathId>, place: usize) -> Option<PathId> {
        let alone = match (wish, &self.send.concurrent) {
            (Some(p), _) if self.paths.contains(p) && self.takes_pinned(p) => p,
            (_, Some(c)) => return self.round(c.first).get(place).copied(),
            (_, None) => self.paths.data,
        };
        (place == 0).then_some(alone)
    }

    /// Whether a path carries what its user bound to it: while it is active, or
    /// suspect and no other is active (RFC 7829 section 3.2, rule 3).
    fn takes_pinned(&self, path: PathId) -> bool {
        match self.paths.get(path).state {
            PathState::Active => true,
            PathState::PotentiallyFailed => self.paths.view().alternate(path).is_none(),
            PathState::Unconfirmed | PathState::Inactive => false,
        }
    }

    /// Rule A: the peer's window, and how it is probed when it is closed.
    #[inline]
    fn rwnd_allows(&mut self, ctx: &mut Ctx<'_>, path: PathId, len: usize) -> bool {
        let mut needed = len as u64 + u64::from(self.cfg.buffer.peer_overhead);
        if self.send.habits.on {
            needed += self.held_in_all();
        }
        let allowed = self.send.rwnd() >= needed;
        self.note_rwnd_blocked(ctx, !allowed);
        allowed || self.may_probe_window(ctx, path)
    }

    /// Whether a chunk may leave though the peer's window has no room for it.
    fn may_probe_window(&mut self, ctx: &Ctx<'_>, path: PathId) -> bool {
        if !self.send.ledger.is_empty() {
            return false;
        }
        if self.send.probe_now || self.cfg.habits.probes_window_at_once {
            return true;
        }
        if self.send.probe_at.is_none() {
            let rto = self.paths.get(path).rtt.rto();
            self.send.probe_at = Some(ctx.now + rto);
        }
        false
    }

    /// Data waits for the peer's window though a path has room, or no longer
    /// (receive buffer blocking).
    #[inline]
    fn note_rwnd_blocked(&mut self, ctx: &mut Ctx<'_>, blocked: bool) {
        if self.send.rwnd_blocked.is_some() != blocked {
            self.change_rwnd_blocked(ctx, blocked);
        }
    }

    #[cold]
    fn change_rwnd_blocked(&mut self, ctx: &mut Ctx<'_>, blocked: bool) {
        match self.send.rwnd_blocked.take() {
            Some(since) => self.stats.rwnd_blocked += ctx.now.since(since),
            None => {
                self.send.rwnd_blocked = Some(ctx.now);
                self.stats.rwnd_blocked_episodes += 1;
            }
        }
        self.observe(ctx, || Observation::RwndBlocked { blocked });
    }

    /// Payload bytes of the largest DATA chunk: one that every path takes, as a
    /// chunk cannot be cut again when it moves to another one (section 6.9).
    fn max_payload(&self) -> usize {
        self.paths.least_pmdcs() as usize - DATA_HEADER_LEN
    }

    /// A packet of new chunks from one lane.
    #[inline(never)]
    fn send_new(&mut self, ctx: &mut Ctx<'_>, buf: &mut Vec<u8>, next: Next) -> Sent {
        let Next { path, lane, len } = next;
        let probing = core::mem::take(&mut self.send.probe_now);
        if probing {
            self.send.probing = true;
            self.send.probe_answered = false;
        }
        let most = self.max_payload();
        let limit = self.paths.get(path).packet_limit();
        let mut packet = PacketBuilder::new(buf, self.header());
        let sack = self.begin_data_packet(&mut packet, ctx.now, path, len + DATA_HEADER_LEN);
        let mut first = true;
        let mut waits = Some(len);
        let mut apart: Option<Bytes> = None;
        while let Some(len) = waits {
            let len = self.shortened(lane, most, len, limit - packet.len(), first);
            let charge = len as u64 + u64::from(self.cfg.buffer.peer_overhead);
            let fits = packet.len() + padded(len + DATA_HEADER_LEN) <= limit;
            let window = self.send.rwnd() >= charge && !probing;
            if !(first || (fits && window)) {
                break;
            }
            let Some(cut) = self.send.queue.cut(lane, len) else {
                break;
            };
            first = false;
            let bytes = padded(len + DATA_HEADER_LEN) as u32;
            // The peer need not wait for more when nothing more may come.
            let last =
                self.send.queue.is_empty() && matches!(self.state, super::State::ShutdownPending);
            let immediate = cut.immediate || last || self.asks_at_once(path, bytes);
            let chunk = Data {
                tsn: self.send.ledger.tsn_of(self.send.ledger.end()),
                stream_id: cut.stream,
                ssn: cut.ssn,
                ppid: cut.ppid,
                unordered: cut.unordered,
                begin: cut.begin,
                end: cut.end,
                immediate,
                payload: &cut.payload,
            };
            put_data(&mut packet, &chunk, &cut.payload, ctx, &mut apart);
            let p = self.paths.get_mut(path);
            p.asked_at_once = immediate;
            let sending = FirstSending {
                path,
                at: ctx.now,
                bytes,
                immediate,
                timed: !p.rtt_pending,
            };
            let seq = self.send.ledger.enter(cut, sending);
            self.note_new(ctx, path, seq, bytes, len as u32);
            if packet.len() + DATA_HEADER_LEN >= limit {
                // Not even the least that a chunk can be fits.
                break;
            }
            waits = self.send.queue.next_len(lane, most);
        }
        let len = packet.finish(ctx.checksum());
        hand_over(apart, ctx);
        if let Some((a_rwnd, gaps)) = sack {
            self.sack_sent(ctx, path, a_rwnd, gaps);
        }
        if let Some(c) = &mut self.send.concurrent {
            c.filled(path);
        }
        let p = self.paths.get_mut(path);
        p.burst_left = p.burst_left.saturating_sub(1);
        p.last_timed = ctx.now;
        self.note_owed_acknowledgement(ctx, path);
        if self.estimating.is_some() {
            self.earn_probes(ctx, len);
        }
        self.sent(ctx, path, len)
    }

    /// A long message that begins behind another one in a packet is cut to the
    /// room that is left, if that is worth a chunk: packets stay full.
    fn shortened(&self, lane: LaneId, most: usize, len: usize, room: usize, first: bool) -> usize {
        let room = room.saturating_sub(DATA_HEADER_LEN) & !3;
        let worth = !first
            && room < len
            && room >= most / 4
            && self.cfg.buffer.fill_packets
            && self.send.queue.begins_long(lane, most);
        if worth { room } else { len }
    }

    #[inline]
    fn note_new(&mut self, ctx: &mut Ctx<'_>, path: PathId, seq: u64, bytes: u32, payload: u32) {
        self.take_send_window(bytes);
        let p = self.paths.get_mut(path);
        p.rtt_pending = true;
        if self.cfg.habits.decays_above > 0 {
            p.decay_at = Some(p.rtt.timeout(ctx.now));
        }
        p.window.flight += bytes;
        cc::on_use(&mut p.window, ctx.now);
        p.counters.data_bytes_sent += u64::from(payload);
        if p.timed.is_none() {
            p.timed = Some((seq, ctx.now));
        }
        if p.t3.is_none() {
            p.t3 = Some(p.rtt.timeout(ctx.now));
        }
        if p.earliest.is_none() {
            p.earliest = Some(seq);
        }
        self.stats.data_chunks_sent += 1;
        let tsn = self.send.ledger.tsn_of(seq);
        self.observe(ctx, || Observation::DataSent {
            path,
            tsn,
            seq,
            bytes: payload,
            retransmission: None,
        });
    }

    /// Begins a packet with DATA; a SACK that is owed to the same path rides
    /// along where it leaves room for the first chunk of `expected` bytes.
    #[inline]
    fn begin_data_packet(
        &mut self,
        packet: &mut PacketBuilder<'_>,
        now: Instant,
        path: PathId,
        expected: usize,
    ) -> Option<(u32, usize)> {
        if !self.recv.acker.owed() && !self.stamps_packets() {
            return None;
        }
        self.put_before_data(packet, now, path, expected)
    }

    #[inline(never)]
    fn put_before_data(
        &mut self,
        packet: &mut PacketBuilder<'_>,
        now: Instant,
        path: PathId,
        expected: usize,
    ) -> Option<(u32, usize)> {
        let limit = self.room_beside_timestamp(path);
        let rides = self.recv.acker.owed()
            && self.sack_path() == path
            && self
                .riding_sack_len()
                .is_some_and(|len| packet.len() + len + padded(expected) <= limit);
        self.write_timestamp(packet, now, (true, rides));
        if !rides {
            return None;
        }
        Some(self.write_sack(packet, usize::MAX))
    }
}

/// Rule D: whether the current event may release another packet.
fn within_burst(p: &mut Path, cfg: &CongestionConfig) -> bool {
    let (rule, Some(most)) = (cfg.burst_rule, cfg.max_burst) else {
        return p.burst_left > 0;
    };
    if rule == BurstRule::CountPackets || p.burst_left == 0 {
        return p.burst_left > 0;
    }
    let w = &mut p.window;
    let limit = *p
        .burst_flight
        .get_or_insert(w.flight.saturating_add(most.saturating_mul(w.pmdcs)));
    if rule == BurstRule::ShrinkWindow {
        w.cwnd = w.cwnd.min(limit);
    }
    w.flight < limit
}

/// Appends a DATA chunk. Where the packet may be in two parts its payload stays where
/// it is, `apart`, until another chunk follows.
#[inline]
fn put_data(
    packet: &mut PacketBuilder<'_>,
    chunk: &Data<'_>,
    payload: &Bytes,
    ctx: &Ctx<'_>,
    apart: &mut Option<Bytes>,
) {
    if let Some(before) = apart.take() {
        packet.append_payload(&before);
    }
    if ctx.apart.is_some() && stands_apart(payload.len()) {
        packet.data_without_payload(chunk);
        *apart = Some(payload.clone());
    } else {
        packet.data(chunk);
    }
}

/// The packet is written: what stands apart is its second part.
#[inline]
fn hand_over(apart: Option<Bytes>, ctx: &mut Ctx<'_>) {
    if let (Some(tail), Some(payload)) = (ctx.apart.as_deref_mut(), apart) {
        *tail = payload;
    }
}

/// Whether a payload of so many bytes is worth leaving where it is. Nobody would
/// write its padding.
fn stands_apart(len: usize) -> bool {
    len >= 256 && len.is_multiple_of(4)
}

fn first_len(a: &Association, seq: u64) -> usize {
    a.send.ledger.get(seq).map_or(0, |r| r.bytes as usize)
}

fn chunk(r: &Record, tsn: byway_wire::Tsn) -> Data<'_> {
    Data {
        tsn,
        stream_id: r.stream,
        ssn: r.ssn,
        ppid: r.ppid,
        unordered: r.unordered,
        begin: r.begin,
        end: r.end,
        immediate: r.immediate,
        payload: &r.payload,
    }
}
