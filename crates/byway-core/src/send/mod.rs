//! The sending half of an association: queued messages, outstanding chunks and
//! the peer's receive window.

mod by_stream;
pub(crate) mod concurrent;
mod delivery;
mod fronts;
mod kept;
pub(crate) mod ledger;
pub(crate) mod lost;
pub(crate) mod missing;
mod pending;
pub(crate) mod queue;
pub(crate) mod record;
mod undelivered;
mod window_probe;

use crate::api::Message;
use crate::config::Config;
use crate::time::Instant;
use byway_wire::{DATA_HEADER_LEN, IData, Tsn};
use concurrent::Concurrent;
use kept::Kept;
use ledger::Ledger;
use queue::SendQueue;
use window_probe::WindowProbe;

/// The sending half of an association.
#[derive(Debug)]
pub(crate) struct SendHalf {
    pub(crate) queue: SendQueue,
    pub(crate) ledger: Ledger,
    /// The window of the peer's last SACK (RFC 9260 section 6.2.1).
    a_rwnd: u32,
    /// Outbound streams.
    streams: u16,
    /// Until this sequence is acknowledged, losses belong to the last one
    /// (fast recovery of the association, section 7.2.4).
    recover: Option<u64>,
    /// One packet of retransmissions may ignore cwnd (sections 6.3.3 and 7.2.4).
    forced_packet: bool,
    /// Probes of the peer's closed window.
    pub(crate) window_probe: WindowProbe,
    /// A send was refused because the buffer is full. The user waits for Writable.
    writable_wanted: bool,
    /// The user has sent messages since the last Drained event.
    drain_wanted: bool,
    /// When data began to wait for the peer's window only, if it does.
    rwnd_blocked: Option<Instant>,
    /// A new event begins, and the burst limits of the paths are not reset yet.
    burst_begins: bool,
    /// The state of concurrent multipath transfer, if it is configured.
    pub(crate) concurrent: Option<Box<Concurrent>>,
    /// Messages interleave: I-DATA takes the place of DATA (RFC 8260).
    interleaves: bool,
    /// What a lost association has not delivered, if its messages interleaved.
    undelivered: Option<Box<Kept>>,
    /// The most that may be buffered, whatever the configuration, while memory is scarce.
    largest_buffer: u32,
}

impl SendHalf {
    /// Memory of what waits or is unacknowledged, in bytes.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        let extra = if self.queue.is_plain() {
            0
        } else {
            self.extra_memory()
        };
        self.queue.memory() + self.ledger.memory() + extra
    }

    /// Memory of what few associations need, in bytes.
    #[cold]
    #[inline(never)]
    fn extra_memory(&self) -> usize {
        let undelivered = self.undelivered.as_ref().map_or(0, |u| u.memory());
        self.queue.extra_memory() + self.ledger.fronts_memory() + undelivered
    }

    /// The most that may be buffered because memory is scarce.
    pub(crate) fn largest_buffer(&self) -> u32 {
        self.largest_buffer
    }

    /// Memory is scarce, or is not any more: no more than this may be buffered.
    #[inline]
    pub(crate) fn limit_buffer(&mut self, largest: u32) {
        self.largest_buffer = largest;
    }

    /// Frees the memory of what is empty.
    pub(crate) fn give_idle_memory_back(&mut self) {
        self.queue.give_idle_memory_back();
        self.ledger.give_idle_memory_back();
    }

    pub(crate) fn new(initial: Tsn, streams: u16, a_rwnd: u32, cfg: &Config) -> SendHalf {
        SendHalf {
            queue: SendQueue::new(cfg.streams.scheduler),
            ledger: Ledger::new(initial, cfg.buffer.peer_overhead),
            a_rwnd,
            streams,
            recover: None,
            forced_packet: false,
            window_probe: WindowProbe::default(),
            writable_wanted: false,
            drain_wanted: false,
            rwnd_blocked: None,
            burst_begins: false,
            concurrent: cfg
                .concurrent
                .as_ref()
                .map(|c| Box::new(Concurrent::new(c, cfg.scheduler))),
            interleaves: false,
            undelivered: None,
            largest_buffer: u32::MAX,
        }
    }

    /// Both INITs are known: whether messages interleave. Nothing has been sent yet.
    pub(crate) fn interleave(&mut self, interleaves: bool) {
        self.interleaves = interleaves;
        self.queue.interleave(interleaves);
        self.ledger.interleave(interleaves);
    }

    /// Whether I-DATA takes the place of DATA.
    #[inline]
    pub(crate) fn interleaves(&self) -> bool {
        self.interleaves
    }

    /// Bytes of a chunk of user data before its payload.
    #[inline]
    pub(crate) fn header_len(&self) -> usize {
        if self.interleaves {
            IData::HEADER_LEN
        } else {
            DATA_HEADER_LEN
        }
    }

    /// What the peer grants in set-up: its inbound streams, and its window.
    pub(crate) fn adopt_grant(&mut self, streams: u16, a_rwnd: u32) {
        self.streams = streams;
        self.a_rwnd = a_rwnd;
    }

    /// Outbound streams.
    #[inline]
    pub(crate) fn streams(&self) -> u16 {
        self.streams
    }

    /// A SACK reported the peer's window.
    #[inline]
    pub(crate) fn set_a_rwnd(&mut self, a_rwnd: u32) {
        self.a_rwnd = a_rwnd;
    }

    /// T3-rtx expired. Returns whether the peer answers and has no room: then it is no
    /// error (section 6.1, A).
    pub(crate) fn timed_out_without_room(&mut self) -> bool {
        self.window_probe.timed_out(self.a_rwnd == 0)
    }

    /// The user sends a message.
    #[inline]
    pub(crate) fn push(&mut self, message: Message) {
        self.queue.push(message);
        self.drain_wanted = true;
    }

    /// A message was refused because the buffer is full. The user waits for Writable.
    #[inline]
    pub(crate) fn want_writable(&mut self, stream: u16) {
        self.writable_wanted = true;
        self.queue.refuse(stream);
    }

    /// Whether Writable is due: the user waits, and no more than `most` is buffered, or nothing
    /// waits any more of a stream of which a message was refused.
    pub(crate) fn take_writable(&mut self, most: u64) -> bool {
        let tell =
            self.writable_wanted && (self.buffered() <= most || self.queue.has_place_again());
        if tell {
            self.writable_wanted = false;
            self.queue.forget_refused();
        }
        tell
    }

    /// Whether Drained is due: all messages are acknowledged.
    pub(crate) fn take_drained(&mut self) -> bool {
        let tell = self.drain_wanted && self.is_drained();
        if tell {
            self.drain_wanted = false;
        }
        tell
    }

    /// Whether the association is in fast recovery (section 7.2.4).
    #[inline]
    pub(crate) fn in_recovery(&self) -> bool {
        self.recover.is_some()
    }

    /// Fast recovery begins; it ends when all that is under way now is acknowledged.
    pub(crate) fn enter_recovery(&mut self) {
        self.recover = Some(self.ledger.end());
    }

    /// Fast recovery ends at its exit point.
    #[inline]
    pub(crate) fn end_recovery_at_exit(&mut self) {
        if self.recover.is_some_and(|r| self.ledger.base() >= r) {
            self.recover = None;
        }
    }

    /// The window collapsed: the next loss is a new event.
    pub(crate) fn leave_recovery(&mut self) {
        self.recover = None;
    }

    /// One packet of retransmissions may ignore cwnd (sections 6.3.3 and 7.2.4).
    pub(crate) fn force_packet(&mut self) {
        self.forced_packet = true;
    }

    /// Whether the next packet of retransmissions may ignore cwnd.
    pub(crate) fn has_forced_packet(&self) -> bool {
        self.forced_packet
    }

    /// A packet of retransmissions leaves.
    pub(crate) fn retransmission_leaves(&mut self) {
        self.forced_packet = false;
    }

    /// Whether data waits for the peer's window alone.
    #[inline]
    pub(crate) fn is_rwnd_blocked(&self) -> bool {
        self.rwnd_blocked.is_some()
    }

    /// Data begins to wait for the peer's window alone, or waits no more. Returns since
    /// when it waited, if it did.
    pub(crate) fn toggle_rwnd_blocked(&mut self, now: Instant) -> Option<Instant> {
        let since = self.rwnd_blocked.take();
        if since.is_none() {
            self.rwnd_blocked = Some(now);
        }
        since
    }

    /// An event begins, which may release a burst. There are this many `paths`.
    #[inline]
    pub(crate) fn begin_event(&mut self, paths: usize) {
        self.burst_begins = true;
        if let Some(c) = &mut self.concurrent {
            c.begin_event(paths);
        }
    }

    /// Whether the paths must be told that a burst begins. They are told once.
    #[inline]
    pub(crate) fn take_burst(&mut self) -> bool {
        core::mem::take(&mut self.burst_begins)
    }

    /// Payload bytes that wait or are not cumulatively acknowledged.
    pub(crate) fn buffered(&self) -> u64 {
        self.queue.bytes() + self.ledger.payload()
    }

    /// Whether nothing is queued and everything is cumulatively acknowledged.
    pub(crate) fn is_drained(&self) -> bool {
        self.queue.is_empty() && self.ledger.is_empty()
    }

    /// The most payload that may be sent and not cumulatively acknowledged, as the peer's
    /// last SACK says: the window that it advertised, and what it holds behind gaps.
    /// `lost`: bytes that await retransmission, which it does not hold.
    pub(crate) fn whole_window(&self, lost: u64) -> u64 {
        let sent = self.ledger.payload();
        let held = sent.saturating_sub(self.ledger.rwnd_in_flight() + lost);
        u64::from(self.a_rwnd) + held
    }

    /// Whether the user waits for room in the send buffer.
    pub(crate) fn is_writer_waiting(&self) -> bool {
        self.writable_wanted
    }

    /// The peer's receive window: the a_rwnd of its last SACK less what is in
    /// flight (section 6.2.1).
    pub(crate) fn rwnd(&self) -> u64 {
        u64::from(self.a_rwnd).saturating_sub(self.ledger.rwnd_in_flight())
    }
}
