//! The sending half of an association: queued messages, outstanding chunks and
//! the peer's receive window.

pub(crate) mod concurrent;
pub(crate) mod ledger;
pub(crate) mod lost;
pub(crate) mod missing;
pub(crate) mod queue;
pub(crate) mod record;

use crate::config::Config;
use crate::time::Instant;
use byway_wire::Tsn;
use concurrent::Concurrent;
use ledger::Ledger;
use queue::SendQueue;

/// The sending half of an association.
#[derive(Debug)]
pub(crate) struct SendHalf {
    pub(crate) queue: SendQueue,
    pub(crate) ledger: Ledger,
    /// The window of the peer's last SACK (RFC 9260 section 6.2.1).
    pub(crate) a_rwnd: u32,
    /// Outbound streams.
    pub(crate) streams: u16,
    /// Until this sequence is acknowledged, losses belong to the last one
    /// (fast recovery of the association, section 7.2.4).
    pub(crate) recover: Option<u64>,
    /// One packet of retransmissions may ignore cwnd (sections 6.3.3 and 7.2.4).
    pub(crate) forced_packet: bool,
    /// Probing the closed window: one chunk may ignore rwnd.
    pub(crate) probe_now: bool,
    /// The chunk under way is a window probe.
    pub(crate) probing: bool,
    /// A SACK came since the probe left: the peer lives.
    pub(crate) probe_answered: bool,
    /// A send was refused for want of room: tell when there is some.
    pub(crate) writable_wanted: bool,
    /// Messages were handed over since Drained was told last.
    pub(crate) drain_wanted: bool,
    /// Since when data waits for the peer's window alone, if it does.
    pub(crate) rwnd_blocked: Option<Instant>,
    /// The paths have not been told yet that a burst begins.
    pub(crate) burst_begins: bool,
    /// What concurrent multipath transfer remembers, where it is configured.
    pub(crate) concurrent: Option<Box<Concurrent>>,
}

impl SendHalf {
    pub(crate) fn new(initial: Tsn, streams: u16, a_rwnd: u32, cfg: &Config) -> SendHalf {
        SendHalf {
            queue: SendQueue::default(),
            ledger: Ledger::new(initial, cfg.buffer.peer_overhead),
            a_rwnd,
            streams,
            recover: None,
            forced_packet: false,
            probe_now: false,
            probing: false,
            probe_answered: false,
            writable_wanted: false,
            drain_wanted: false,
            rwnd_blocked: None,
            burst_begins: false,
            concurrent: cfg
                .concurrent
                .as_ref()
                .map(|c| Box::new(Concurrent::new(c))),
        }
    }

    /// Payload bytes that are queued or not yet cumulatively acknowledged.
    pub(crate) fn buffered(&self) -> u64 {
        self.queue.bytes() + self.ledger.payload()
    }

    /// Whether nothing is queued and everything is cumulatively acknowledged.
    pub(crate) fn is_drained(&self) -> bool {
        self.queue.is_empty() && self.ledger.is_empty()
    }

    /// The peer's receive window: the a_rwnd of its last SACK less what is in
    /// flight (section 6.2.1).
    pub(crate) fn rwnd(&self) -> u64 {
        u64::from(self.a_rwnd).saturating_sub(self.ledger.rwnd_in_flight())
    }
}
