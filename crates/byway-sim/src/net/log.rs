//! Counters per link, and a log of what happens to every packet.

use super::ids::LinkId;
use byway_core::time::Instant;

/// Why a packet was lost.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum DropReason {
    /// The link's loss model.
    Loss,
    /// The drop-tail queue was full.
    QueueFull,
    /// It exceeded what the policer lets through.
    Policed,
    /// The link was down when the packet was offered to it.
    LinkDown,
    /// The link went down while the packet was in its queue or on the wire.
    InFlight,
    /// The link's rate is 0 and stays 0.
    NeverSent,
    /// No route leads to the destination.
    NoRoute,
}

/// Totals of one link.
///
/// Packets are followed ahead of time where possible, so the totals may include
/// the near future of packets in flight.
/// `offered + duplicated = delivered + all dropped` at every moment.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct LinkCounters {
    /// Packets offered to the link.
    pub offered_packets: u64,
    /// Bytes offered, on the wire.
    pub offered_bytes: u64,
    /// Packets that come out at the other end, copies included.
    pub delivered_packets: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Dropped by the loss model.
    pub dropped_loss: u64,
    /// Dropped because the queue was full.
    pub dropped_queue: u64,
    /// Dropped by the policer.
    pub dropped_policed: u64,
    /// Dropped because the link was down.
    pub dropped_down: u64,
    /// Dropped because the link went down while they were in flight.
    pub dropped_in_flight: u64,
    /// Dropped because the rate is 0 and stays 0.
    pub dropped_never_sent: u64,
    /// Copies made.
    pub duplicated: u64,
    /// Packets with flipped bits.
    pub corrupted: u64,
    /// Packets given extra delay.
    pub reordered: u64,
    /// Most packets accepted and not yet departed, the one in transmission included.
    pub max_queue_packets: u32,
    /// The same in bytes.
    pub max_queue_bytes: u64,
}

impl LinkCounters {
    /// All packets lost on the link.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped_loss
            + self.dropped_queue
            + self.dropped_policed
            + self.dropped_down
            + self.dropped_in_flight
            + self.dropped_never_sent
    }
}

/// What happened to a packet on a link.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum LogKind {
    /// It was offered to the link and comes out at this time.
    Forwarded {
        /// When it comes out.
        arrives: Instant,
    },
    /// It was lost.
    Dropped(DropReason),
}

/// One line of the network's log.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct LogEntry {
    /// When: the time of the offer, or of the loss.
    pub at: Instant,
    /// When it was offered to the link.
    pub offered: Instant,
    /// On which link; `None` for [`DropReason::NoRoute`].
    pub link: Option<LinkId>,
    /// The packet's number, in order of sending; a copy has its original's.
    pub packet: u64,
    /// Whether this is a copy made by a link.
    pub copy: bool,
    /// The sender's [`Outgoing::meta`](crate::net::Outgoing::meta).
    pub meta: u64,
    /// Bytes on the wire.
    pub wire_size: u32,
    /// What happened.
    pub what: LogKind,
}
