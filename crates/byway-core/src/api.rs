//! The inputs and outputs of the core, except packets.

use crate::path::{PathId, PathState, PathTrouble};
use crate::time::Instant;
use bytes::Bytes;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;

/// Identifies one association of an [`Endpoint`](crate::Endpoint). An identifier is not
/// used again within the next 2^32 associations, so an old one is refused and cannot
/// reach another association. The parts of a server ([`Part`](crate::config::Part)) give each
/// identifiers of their own, each again after 2^32 by their number.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AssocId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl AssocId {
    /// The index in the endpoint's table: small and dense, for the caller's own tables.
    /// It is used again after the association has ended, and by each part of a server.
    #[must_use]
    pub const fn index(self) -> usize {
        self.index as usize
    }

    /// The part that has the association, of so many that a server has.
    #[must_use]
    pub const fn part(self, of: u32) -> u32 {
        // 0 is no number of an association, but may have been read.
        self.generation.saturating_sub(1) % of
    }

    /// Reads what `Display` has written: "INDEX.NUMBER", such as "0.1", where NUMBER counts the
    /// associations of the endpoint from 1 on, in a part of a server in steps. `None` if it is none;
    /// an association that is not there is refused where it is used.
    #[must_use]
    pub fn parse(text: &str) -> Option<AssocId> {
        let (index, generation) = text.split_once('.')?;
        Some(AssocId {
            index: index.parse().ok()?,
            generation: generation.parse().ok()?,
        })
    }
}

impl core::fmt::Display for AssocId {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}.{}", self.index, self.generation)
    }
}

/// A datagram to send. Its bytes are in the buffer that was passed to
/// [`Endpoint::poll_transmit`](crate::Endpoint::poll_transmit).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Transmit {
    /// Send from this local address, the one of the path.
    pub source: SocketAddr,
    /// Send to this address.
    pub destination: SocketAddr,
    /// Bytes appended to the buffer.
    pub len: usize,
    /// The packet is larger than the path's MTU, because a chunk that was sent before
    /// cannot be cut again (RFC 9260 section 6.9): send it without Don't Fragment, over IPv6 in
    /// fragments of 1280 bytes, because routers of IPv6 do not fragment. Over IPv6 PAD makes it
    /// larger than [`Routes::interface_mtu`](crate::Routes::interface_mtu), because Linux
    /// fragments only such packets. False without `mtu_discovery`.
    pub may_fragment: bool,
}

/// Why a packet did not leave ([`Endpoint::send_failed`](crate::Endpoint::send_failed)).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum SendFailure {
    /// It is larger than the interface or the route allows (EMSGSIZE).
    TooLarge,
    /// There is no way to the address now: no route, no permission, the interface is down
    /// (ENETUNREACH, EHOSTUNREACH, EPERM, ENETDOWN).
    Unreachable,
}

/// What an ICMP message says of a packet ([`Endpoint::handle_icmp`](crate::Endpoint::handle_icmp);
/// RFC 9260 section 10). All other types and codes are to be ignored, "Port Unreachable" about a
/// packet without UDP among them (ICMP1 to ICMP4).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum IcmpMessage {
    /// "Fragmentation Needed" of IPv4, "Packet Too Big" of IPv6. It bounds the search of
    /// `mtu_discovery`, never below its base (ICMP7).
    TooBig {
        /// The largest IP packet that passes, bytes.
        mtu: u32,
    },
    /// "Protocol Unreachable" of IPv4, "Unrecognized Next Header Type Encountered" of IPv6: the
    /// host has no SCTP. A set-up tries the next address at once, and ends when all have said so, or
    /// [`PortUnreachable`](Self::PortUnreachable). It ends an established association if it is said again after RTO.Initial without a packet of the peer in between
    /// (ICMP8).
    ProtocolUnreachable,
    /// "Port Unreachable" about a packet in UDP: nothing listens on that UDP port. A set-up tries
    /// the next address at once, and ends when all have said so. An established association
    /// treats it as [`Unreachable`](Self::Unreachable) and as
    /// [`ProtocolUnreachable`](Self::ProtocolUnreachable) (RFC 6951 section 5.5), but the side that accepted does not end by
    /// it: a translator that has forgotten the peer's binding says the same.
    PortUnreachable,
    /// "Destination Unreachable" with any other code. The path becomes potentially failed, if
    /// another one is active (ICMP9).
    Unreachable,
}

/// A message to send.
#[derive(Clone, Debug)]
pub struct Message {
    /// Stream, below the negotiated number of outbound streams.
    pub stream: u16,
    /// Payload protocol identifier, opaque to SCTP.
    pub ppid: u32,
    /// Deliver without regard to the order of its stream.
    pub unordered: bool,
    /// Ask for an acknowledgement without delay (the I bit, RFC 7053).
    pub immediate_ack: bool,
    /// Send on this path instead of the one that the policies choose (RFC 9260 section
    /// 11.1.5). The path must be active, or potentially failed with no active path;
    /// otherwise the policies choose.
    pub path: Option<PathId>,
    /// Whatever helps its sender to know the message again if it is not delivered
    /// ([`Undelivered::context`]; RFC 9260 section 11.1.5); 0 by default. It is not sent.
    pub context: u64,
    /// The bytes; at least one.
    pub payload: Bytes,
}

impl Message {
    /// An ordered message on `stream`.
    #[must_use]
    pub fn new(stream: u16, payload: impl Into<Bytes>) -> Message {
        Message {
            stream,
            ppid: 0,
            unordered: false,
            immediate_ack: false,
            path: None,
            context: 0,
            payload: payload.into(),
        }
    }
}

/// A message that an association could not deliver before it was lost (SEND FAILURE, RFC 9260
/// section 11.2.2).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Undelivered {
    /// Stream.
    pub stream: u16,
    /// Stream sequence number; 0 for unordered messages.
    pub ssn: u16,
    /// Payload protocol identifier.
    pub ppid: u32,
    /// Whether it was sent unordered.
    pub unordered: bool,
    /// [`Message::context`].
    pub context: u64,
    /// Whether a part of it has left. If so, the peer may have all of it and have read it: its
    /// acknowledgement is missing (RECEIVE_UNACKED, section 11.1.15). If not, the peer has none
    /// of it (RECEIVE_UNSENT, section 11.1.14).
    pub sent: bool,
    /// How many bytes at its front the peer has acknowledged.
    pub acknowledged: u64,
    /// The bytes behind them.
    pub payload: Bytes,
}

/// A message, or a part of one, that has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Stream.
    pub stream: u16,
    /// Stream sequence number; 0 for unordered messages. If messages interleave, the lower half
    /// of the message identifier (RFC 8260 section 4.1).
    pub ssn: u16,
    /// Payload protocol identifier.
    pub ppid: u32,
    /// Whether it was sent unordered.
    pub unordered: bool,
    /// Whether this is the last part. A message has only one part unless it is longer than
    /// `buffer.partial_delivery_point`. If messages interleave, the point counts all that
    /// have arrived in part together, and parts of a message may have messages and parts of
    /// other streams between them.
    pub last: bool,
    /// Whether this is the first part.
    pub first: bool,
    /// The bytes.
    pub payload: Bytes,
}

/// What happened to an association.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// COMMUNICATION UP: the association is established (RFC 9260 section 11.2.4).
    Up {
        /// Whether the peer started the set-up.
        accepted: bool,
        /// Streams that this side may send on.
        outbound_streams: u16,
        /// Streams that the peer may send on.
        inbound_streams: u16,
    },
    /// COMMUNICATION LOST: the association has ended without a graceful shutdown.
    Lost {
        /// The reason.
        reason: LossReason,
        /// Messages that the peer has not fully acknowledged.
        undelivered_messages: u64,
    },
    /// RESTART: the peer restarted with the same addresses (section 5.2). Stream
    /// sequence numbers start again from 0.
    Restarted {
        /// Messages that the peer had not fully acknowledged; they are lost.
        undelivered_messages: u64,
    },
    /// The peer shuts down gracefully, and so may this side: no more data can be sent.
    PeerShutdown,
    /// The graceful shutdown is complete and the association has ended. All data of the
    /// peer has arrived, and can still be read.
    ShutdownComplete,
    /// There is data to read.
    Readable,
    /// The send buffer has room again after it refused a message.
    Writable,
    /// All messages sent so far have been acknowledged.
    Drained,
    /// A path appeared.
    PathAdded {
        /// The path.
        path: PathId,
        /// The peer's address.
        remote: SocketAddr,
        /// Its state.
        state: PathState,
    },
    /// The peer's UDP port of a path changed, because a translator (NAT) moved it (RFC
    /// 6951 section 5.4), or its packets leave from another address of ours.
    PathMoved {
        /// The path.
        path: PathId,
        /// The peer's address with its port.
        remote: SocketAddr,
    },
    /// A path is gone: the peer deleted its address (RFC 5061), or none of our addresses
    /// reaches it any more. A later path may have its number.
    PathRemoved {
        /// The path.
        path: PathId,
        /// The peer's address.
        remote: SocketAddr,
    },
    /// The peer accepted a change of our addresses (RFC 5061).
    AddressChanged {
        /// The change.
        what: AddressChange,
    },
    /// The peer refused a change of our addresses. An address that it refused is not used.
    AddressChangeRefused {
        /// The change.
        what: AddressChange,
        /// The code of the peer's error cause.
        cause: u16,
    },
    /// A path changed its state (NETWORK STATUS CHANGE, section 11.2.3).
    PathChanged {
        /// The path.
        path: PathId,
        /// The peer's address.
        remote: SocketAddr,
        /// State before.
        from: PathState,
        /// State now.
        to: PathState,
    },
    /// A path answers heartbeats or small packets, but does not acknowledge its data.
    /// It stays inactive until a full-sized packet gets through (`failure.dead_data`). A
    /// black hole of the path MTU has this effect.
    PathDeadForData {
        /// The path.
        path: PathId,
        /// The peer's address.
        remote: SocketAddr,
    },
    /// New data now goes to another destination.
    DataPathChanged {
        /// Path before.
        from: PathId,
        /// Path now.
        to: PathId,
    },
    /// The primary path changed, by command or by a permanent failover.
    PrimaryChanged {
        /// Path before.
        from: PathId,
        /// Path now.
        to: PathId,
    },
    /// The peer has given up a message of which parts were delivered (I-FORWARD-TSN, RFC 8260
    /// section 2.3.1): no more parts of it will come, and none has `last` set.
    PartsGivenUp {
        /// Its stream.
        stream: u16,
        /// Whether it was sent unordered.
        unordered: bool,
    },
    /// The peer reported an error (COMMUNICATION ERROR, section 11.2.6).
    PeerError {
        /// Cause code and its value, as text.
        cause: String,
    },
}

impl Event {
    /// Bytes of memory that its texts take beside itself: what a peer says may be some kilobytes.
    /// Who keeps events counts them with it.
    #[must_use]
    pub fn text_memory(&self) -> usize {
        match self {
            Event::PeerError { cause } => allocated(cause),
            Event::Lost { reason, .. } => reason.text_memory(),
            _ => 0,
        }
    }
}

/// What an allocator gives for a text.
fn allocated(text: &String) -> usize {
    match text.capacity() {
        0 => 0,
        bytes => bytes + 16,
    }
}

/// A change of the addresses of this side (RFC 5061).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AddressChange {
    /// An address came.
    Added(SocketAddr),
    /// An address went.
    Removed(SocketAddr),
    /// The peer was asked to send to this address.
    PrimaryOfPeer(IpAddr),
}

impl core::fmt::Display for AddressChange {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            AddressChange::Added(a) => write!(f, "the address {} to be added", a.ip()),
            AddressChange::Removed(a) => write!(f, "the address {} to be deleted", a.ip()),
            AddressChange::PrimaryOfPeer(ip) => write!(f, "the address {ip} as its primary"),
        }
    }
}

/// Why a change of an endpoint's addresses was refused.
#[derive(Copy, Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// It is not the unicast address of a host.
    #[error("{0} cannot be a local address: it is a wildcard, broadcast or multicast address")]
    Bad(SocketAddr),
    /// There are too many addresses.
    #[error("an endpoint has at most {most} addresses; remove one first", most = crate::config::MAX_LOCAL)]
    TooMany,
    /// No address would be left.
    #[error("an endpoint needs an address; add another one with the same call")]
    NoneLeft,
}

/// Why an association was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LossReason {
    /// Set-up was not answered within Max.Init.Retransmits.
    SetupTimedOut,
    /// The error count exceeded Association.Max.Retrans.
    PeerUnreachable,
    /// Heartbeats were answered, but no data was acknowledged on any path for
    /// `failure.dead_data.give_up`, or until errors exceeded Association.Max.Retrans.
    DataUnacknowledged,
    /// The peer sent an ABORT; the text gives its causes, with what the peer says escaped
    /// ([`shown`](crate::text::shown)). During set-up it is empty only if the ABORT answers the INIT without a word.
    AbortedByPeer(String),
    /// An ICMP message says that nothing at the peer's address takes SCTP without UDP.
    ProtocolUnreachable,
    /// ICMP messages say that nothing listens on the UDP port of the peer's addresses.
    PortUnreachable,
    /// The local user aborted.
    AbortedLocally,
    /// The peer violated the protocol; the text says how.
    ProtocolViolation(&'static str),
    /// The peer restarted. Its new association is another one
    /// (`setup.keep_on_restart`).
    PeerRestarted,
    /// The cookie was stale twice.
    StaleCookie,
    /// The peer turned out to be one with which another association exists: it lists an
    /// address of that one's peer.
    AlreadyConnected,
    /// More than fifteen sixteenths of the endpoint's memory (`max_memory`) were used, or of the half that one host may
    /// use, and this association held most of it. What it had received and nobody had read is lost. An association that
    /// has ended can end once more for this.
    OutOfMemory,
    /// This side ended the association, because it cannot send a queued message; the text
    /// gives the reason.
    Refused(String),
}

impl LossReason {
    /// A name for programs. It does not change.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            LossReason::SetupTimedOut => "setup timed out",
            LossReason::PeerUnreachable => "peer unreachable",
            LossReason::DataUnacknowledged => "data unacknowledged",
            LossReason::AbortedByPeer(_) => "aborted by peer",
            LossReason::ProtocolUnreachable => "protocol unreachable",
            LossReason::PortUnreachable => "port unreachable",
            LossReason::AbortedLocally => "aborted locally",
            LossReason::ProtocolViolation(_) => "protocol violation",
            LossReason::PeerRestarted => "peer restarted",
            LossReason::StaleCookie => "stale cookie",
            LossReason::OutOfMemory => "out of memory",
            LossReason::AlreadyConnected => "already connected",
            LossReason::Refused(_) => "refused",
        }
    }

    /// Bytes of memory that its text takes beside itself.
    #[must_use]
    pub fn text_memory(&self) -> usize {
        match self {
            LossReason::AbortedByPeer(text) | LossReason::Refused(text) => allocated(text),
            _ => 0,
        }
    }
}

impl core::fmt::Display for LossReason {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            LossReason::SetupTimedOut => f.write_str("the peer did not answer the set-up"),
            LossReason::PeerUnreachable => f.write_str(
                "the peer could not be reached on any path (Association.Max.Retrans exceeded)",
            ),
            LossReason::DataUnacknowledged => f.write_str(
                "the peer answers heartbeats but acknowledges no data on any path \
                 (a black hole for large packets, or a half-dead peer)",
            ),
            LossReason::AbortedByPeer(c) if c.is_empty() => f.write_str("the peer aborted"),
            LossReason::AbortedByPeer(c) => write!(f, "the peer aborted: {c}"),
            LossReason::ProtocolUnreachable => f.write_str(
                "nothing at the peer's address takes SCTP without UDP (ICMP: protocol unreachable)",
            ),
            LossReason::PortUnreachable => f.write_str(
                "nothing listens on the peer's UDP port (ICMP: port unreachable)",
            ),
            LossReason::AbortedLocally => f.write_str("aborted on this side"),
            LossReason::ProtocolViolation(what) => {
                write!(f, "the peer broke the protocol: {what}")
            }
            LossReason::PeerRestarted => f.write_str("the peer restarted"),
            LossReason::AlreadyConnected => {
                f.write_str("there is another association with this peer")
            }
            LossReason::OutOfMemory => f.write_str(
                "the memory of this endpoint is scarce (max_memory), and this association held most of it",
            ),
            LossReason::Refused(why) => f.write_str(why),
            LossReason::StaleCookie => f.write_str("the set-up took longer than the cookie lives"),
        }
    }
}

/// Why a connect was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// A setting is invalid.
    #[error(transparent)]
    Config(#[from] crate::config::ConfigError),
    /// No address was given.
    #[error("no address to connect to; give at least one")]
    NoAddress,
    /// An address cannot be a destination.
    #[error(
        "{0} cannot be a destination: it is a wildcard, broadcast, multicast or zero-port address"
    )]
    BadAddress(SocketAddr),
    /// No local address can reach the peer's address.
    #[error("{0} cannot be reached: no local address of its family is bound; bind one")]
    NoSource(SocketAddr),
    /// There is already an association with that peer.
    #[error("an association with {0} exists already; use it, or shut it down first")]
    AlreadyConnected(SocketAddr),
    /// The endpoint's table is full.
    #[error("the endpoint has {0} associations, its limit (max_associations)")]
    TooMany(usize),
}

/// Why a command on an association was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// The association is gone.
    #[error("the association has ended")]
    Gone,
    /// The association is shutting down.
    #[error("the association is shutting down; nothing more can be sent")]
    ShuttingDown,
    /// No such stream.
    #[error("stream {stream} does not exist; there are {streams} outbound streams, 0 to {last}", last = streams - 1)]
    NoSuchStream {
        /// The stream asked for.
        stream: u16,
        /// Number of outbound streams.
        streams: u16,
    },
    /// An empty message.
    #[error(
        "an empty message cannot be sent; SCTP needs at least one byte (RFC 9260 section 3.3.1)"
    )]
    EmptyMessage,
    /// The message is too long.
    #[error("the message has {len} bytes; buffer.max_message is {limit}")]
    MessageTooLong {
        /// Its length.
        len: usize,
        /// The limit.
        limit: u32,
    },
    /// The send buffer is full: wait for [`Event::Writable`].
    #[error("the send buffer is full ({queued} of {limit} bytes); wait for Writable")]
    WouldBlock {
        /// Bytes queued or unacknowledged.
        queued: u64,
        /// The limit, `buffer.send`.
        limit: u32,
    },
    /// No such path.
    #[error("path {path} does not exist; the association has paths 0 to {last}")]
    NoSuchPath {
        /// The path asked for.
        path: PathId,
        /// The last path.
        last: u8,
    },
    /// Not one of our addresses, or of another family than the path's.
    #[error("{local} cannot be the source of path {path}: it is not a local address of its family")]
    NoSuchSource {
        /// The path.
        path: PathId,
        /// The address asked for.
        local: IpAddr,
    },
    /// Both sides must support changes of addresses (`asconf.enabled`).
    #[error("the peer does not support changes of addresses (RFC 5061), or asconf.enabled is off")]
    AddressChangesUnsupported,
    /// Not one of our addresses.
    #[error("{local} is not an address of this side")]
    NotLocal {
        /// The address asked for.
        local: IpAddr,
    },
    /// A setting is invalid.
    #[error(transparent)]
    Config(#[from] crate::config::ConfigError),
    /// The path's address has never been confirmed.
    #[error("path {path} ({remote}) is unconfirmed: its address has not answered a heartbeat yet")]
    Unconfirmed {
        /// The path.
        path: PathId,
        /// Its address.
        remote: SocketAddr,
    },
}

/// Counters of one association since its beginning.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct AssocStats {
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets received and accepted.
    pub packets_received: u64,
    /// DATA chunks sent for the first time.
    pub data_chunks_sent: u64,
    /// DATA chunks sent again.
    pub data_chunks_retransmitted: u64,
    /// DATA chunks that were lost by missing reports.
    pub fast_retransmits: u64,
    /// T3-rtx expirations.
    pub timeouts: u64,
    /// Payload bytes that the user sent.
    pub bytes_queued: u64,
    /// Payload bytes acknowledged.
    pub bytes_acked: u64,
    /// Payload bytes delivered to the reader.
    pub bytes_delivered: u64,
    /// Messages delivered to the reader.
    pub messages_delivered: u64,
    /// DATA chunks that had arrived before.
    pub duplicates_received: u64,
    /// SACKs sent.
    pub sacks_sent: u64,
    /// SACKs received.
    pub sacks_received: u64,
    /// Times that new data moved to another destination.
    pub failovers: u64,
    /// Times that new data left a failed or potentially failed path for an active one.
    /// Returns and hops between failed paths do not count.
    pub failovers_away: u64,
    /// How many of these the sender recognised as spurious: the path that data left
    /// answered within an RTO and without a further error. If the next heartbeat of the
    /// path is also lost, or leaves only after HB.interval, the sender cannot recognise
    /// it. So the true number may be larger.
    pub spurious_failovers: u64,
    /// Times that the probe timeout made a path potentially failed.
    pub suspicions: u64,
    /// How many of these were needless, because the path answered in time.
    pub needless_suspicions: u64,
    /// Reductions of a window that were undone, because nothing was lost
    /// (`retransmission.undo_spurious`).
    pub reductions_undone: u64,
    /// Times that another path was tried because the one in use kept losing packets
    /// (`failover.trial`).
    pub trials: u64,
    /// How many of these paths kept the data.
    pub trials_won: u64,
    /// SCTP bytes of packets with DATA, counted only with `failover.estimate`.
    /// `failover.estimate.probe_share` limits probes to a share of them.
    pub data_packet_bytes: u64,
    /// Heartbeats sent to measure paths for their estimates (`failover.estimate`).
    pub probes_sent: u64,
    /// How many of them were answered.
    pub probes_answered: u64,
    /// SCTP bytes of these probes, headers included.
    pub probe_bytes: u64,
    /// Times that another path became the primary because its estimate was better,
    /// without a failure.
    pub moved_by_estimate: u64,
    /// Times that a path became inactive because it acknowledged no data although it
    /// answered (`failure.dead_data`).
    pub dead_for_data: u64,
    /// Receive buffer blocking: how long data waited for the peer's window while a path
    /// had room in its own window. Counts only periods that have ended.
    pub rwnd_blocked: Duration,
    /// Number of such periods.
    pub rwnd_blocked_episodes: u64,
}

/// State and counters of one path.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct PathStats {
    /// The path.
    pub path: PathId,
    /// Local address.
    pub local: SocketAddr,
    /// The peer's address.
    pub remote: SocketAddr,
    /// State.
    pub state: PathState,
    /// Whether it is the primary.
    pub primary: bool,
    /// Whether new data goes there.
    pub in_use: bool,
    /// Whether the user made it a backup: it carries data only while no other path is active.
    pub backup: bool,
    /// Congestion window, bytes.
    pub cwnd: u32,
    /// Slow start threshold, bytes.
    pub ssthresh: u32,
    /// Bytes in flight.
    pub flight: u32,
    /// Smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// Retransmission timeout.
    pub rto: Duration,
    /// Consecutive errors.
    pub error_count: u32,
    /// Why it is in doubt: the last sign that it may not work. `None` while it is active without
    /// an error.
    pub trouble: Option<PathTrouble>,
    /// Whether it answers heartbeats but acknowledges no data (`failure.dead_data`).
    pub dead_for_data: bool,
    /// Largest packet, bytes.
    pub pmtu: u32,
    /// The largest packet that is tried: `pmtu` of the settings, or the MTU of the interface.
    pub largest_pmtu: u32,
    /// Packets sent.
    pub packets_sent: u64,
    /// SCTP bytes sent, headers included.
    pub bytes_sent: u64,
    /// SCTP bytes received.
    pub bytes_received: u64,
    /// Payload bytes sent for the first time.
    pub data_bytes_sent: u64,
    /// Payload bytes sent again.
    pub data_bytes_retransmitted: u64,
    /// Payload bytes that counted as lost, whatever told it. Some arrive all the same: a silent
    /// path's data is sent elsewhere before it is known what became of it.
    pub data_bytes_lost: u64,
    /// T3-rtx expirations.
    pub timeouts: u64,
    /// Times that it stopped being active: it became potentially failed or inactive.
    pub failures: u64,
    /// When the last packet arrived from there.
    pub last_heard: Option<Instant>,
    /// The estimate of its round trip and losses; `None` without `failover.estimate`.
    pub estimate: Option<PathEstimateStats>,
    /// Probes sent to measure it for its estimate (`failover.estimate`).
    pub probes_sent: u64,
    /// SCTP bytes of these, headers included.
    pub probe_bytes: u64,
}

/// The estimate of a path's round trip and losses (`failover.estimate`).
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct PathEstimateStats {
    /// The least round trip of the last 10 to 20 s that were measured.
    pub rtt: Duration,
    /// The share of packets lost in one direction: the mean of the posterior, so never 0.
    pub loss: f64,
    /// The number of passages that the estimate uses; older ones count less. A chunk is
    /// one passage, a heartbeat two.
    pub samples: f64,
}
