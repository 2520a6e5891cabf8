//! What goes in and comes out of the core besides packets.

use crate::path::{PathId, PathState};
use crate::time::Instant;
use bytes::Bytes;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;

/// Names one association of an [`Endpoint`](crate::Endpoint) for as long as it
/// lives. A number is not reused for a later association within 2^32 others,
/// so a stale name is refused instead of reaching a stranger.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AssocId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl AssocId {
    /// The place in the endpoint's table: small and dense, for tables of the
    /// caller's own. Reused after the association has ended.
    #[must_use]
    pub const fn index(self) -> usize {
        self.index as usize
    }
}

/// A datagram to send: the bytes stand in the buffer that was passed to
/// [`Endpoint::poll_transmit`](crate::Endpoint::poll_transmit).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Transmit {
    /// Send from this local address: the path names it.
    pub source: SocketAddr,
    /// Send to this address.
    pub destination: SocketAddr,
    /// Bytes appended to the buffer.
    pub len: usize,
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
    /// Ask for the acknowledgement without delay (RFC 7053).
    pub immediate_ack: bool,
    /// Send to this destination instead of the one that the policies choose,
    /// as long as it is not inactive (RFC 9260 section 11.1.5).
    pub path: Option<PathId>,
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
            payload: payload.into(),
        }
    }
}

/// A message, or a part of one, that has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Stream.
    pub stream: u16,
    /// Stream sequence number; 0 for unordered messages.
    pub ssn: u16,
    /// Payload protocol identifier.
    pub ppid: u32,
    /// Whether it was sent without order.
    pub unordered: bool,
    /// Whether this is the last part. Messages are whole (a single last part)
    /// unless they outgrow `buffer.partial_delivery_point`.
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
    /// COMMUNICATION UP: the association stands (RFC 9260 section 11.2.4).
    Up {
        /// Whether the peer began it.
        accepted: bool,
        /// Streams that this side may send on.
        outbound_streams: u16,
        /// Streams that the peer may send on.
        inbound_streams: u16,
    },
    /// COMMUNICATION LOST: the association is gone, not by a graceful shutdown.
    Lost {
        /// Why.
        reason: LossReason,
        /// Messages not wholly acknowledged by the peer.
        undelivered_messages: u64,
    },
    /// RESTART: the peer began anew with the same addresses (section 5.2).
    /// Streams are numbered from 0 again.
    Restarted {
        /// Messages that the peer had not wholly acknowledged; they are gone.
        undelivered_messages: u64,
    },
    /// The peer asked for a graceful shutdown: nothing more can be sent.
    PeerShutdown,
    /// The graceful shutdown is done and the association is gone. All that the
    /// peer sent has been, or can still be, read before this event is polled.
    ShutdownComplete,
    /// There is something to read.
    Readable,
    /// There is room in the send buffer again after a refused send.
    Writable,
    /// All messages handed over so far have been acknowledged.
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
    /// A path answers heartbeats or small packets, but does not acknowledge its
    /// data: it becomes inactive until a packet of full size comes through
    /// (`failure.dead_data`). A black hole of the path MTU looks like this.
    PathDeadForData {
        /// The path.
        path: PathId,
        /// The peer's address.
        remote: SocketAddr,
    },
    /// New data goes to another destination now.
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
    /// The peer reported an error (COMMUNICATION ERROR, section 11.2.6).
    PeerError {
        /// Cause code and its value, as text.
        cause: String,
    },
}

/// Why an association was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LossReason {
    /// Set-up got no answer within Max.Init.Retransmits.
    SetupTimedOut,
    /// The error count passed Association.Max.Retrans.
    PeerUnreachable,
    /// Heartbeats were answered, but no data was acknowledged on any path for
    /// `failure.dead_data.give_up`, or until errors passed
    /// Association.Max.Retrans.
    DataUnacknowledged,
    /// The peer sent an ABORT; its causes as text.
    AbortedByPeer(String),
    /// The local user aborted.
    AbortedLocally,
    /// The peer broke the protocol and was told so.
    ProtocolViolation(&'static str),
    /// The cookie went stale twice.
    StaleCookie,
    /// This side refused a command that the association needed, as text.
    Refused(String),
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
            LossReason::AbortedLocally => f.write_str("aborted on this side"),
            LossReason::ProtocolViolation(what) => {
                write!(f, "the peer broke the protocol: {what}")
            }
            LossReason::Refused(why) => f.write_str(why),
            LossReason::StaleCookie => f.write_str("the set-up took longer than the cookie lives"),
        }
    }
}

/// Why a connect was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// A setting cannot work.
    #[error(transparent)]
    Config(#[from] crate::config::ConfigError),
    /// No address was given.
    #[error("no address to connect to; give at least one")]
    NoAddress,
    /// An address cannot be a destination.
    #[error("{0} cannot be a destination: it is a wildcard, multicast or zero-port address")]
    BadAddress(SocketAddr),
    /// No local address of that family.
    #[error("{0} cannot be reached: no local address of its family is bound; bind one")]
    NoSource(SocketAddr),
    /// There is an association to that peer.
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
    /// Not while it shuts down.
    #[error("the association is shutting down; nothing more can be sent")]
    ShuttingDown,
    /// No such stream.
    #[error("stream {stream} does not exist; there are {streams} outbound streams, 0 to {last}", last = streams - 1)]
    NoSuchStream {
        /// The stream asked for.
        stream: u16,
        /// How many there are.
        streams: u16,
    },
    /// An empty message.
    #[error(
        "an empty message cannot be sent; SCTP needs at least one byte (RFC 9260 section 3.3.1)"
    )]
    EmptyMessage,
    /// Too long.
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
        /// The last one there is.
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
    /// A setting cannot work.
    #[error(transparent)]
    Config(#[from] crate::config::ConfigError),
    /// The path's address was never confirmed.
    #[error("path {path} ({remote}) is unconfirmed: its address has not answered a heartbeat yet")]
    Unconfirmed {
        /// The path.
        path: PathId,
        /// Its address.
        remote: SocketAddr,
    },
}

/// Counts of one association, since it began.
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
    /// DATA chunks marked by missing reports.
    pub fast_retransmits: u64,
    /// T3-rtx expirations.
    pub timeouts: u64,
    /// Payload bytes handed over for sending.
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
    /// Times that the destination of new data moved.
    pub failovers: u64,
    /// How often it left a path in doubt or failed for one in order: failovers
    /// without returns and without hops between failed paths.
    pub failovers_away: u64,
    /// How many of those were spurious as far as the sender can tell: the path
    /// that was left answered within an RTO, before anything else went
    /// unanswered there. A path whose next heartbeat was lost, too, or comes an
    /// HB.interval later, tells nothing, so the truth may be more.
    pub spurious_failovers: u64,
    /// Times that the probe timeout made a path suspect.
    pub suspicions: u64,
    /// How many of those the path answered in time: needless ones.
    pub needless_suspicions: u64,
    /// SCTP bytes of packets that began with DATA or a SACK before DATA, counted
    /// only with `failover.estimate`: what the share of probes refers to.
    pub data_packet_bytes: u64,
    /// Heartbeats sent to estimate idle paths (`failover.estimate`).
    pub probes_sent: u64,
    /// How many of them were answered.
    pub probes_answered: u64,
    /// SCTP bytes of these probes, headers included.
    pub probe_bytes: u64,
    /// Times that another path became the primary because it was estimated
    /// better, without a failure.
    pub moved_by_estimate: u64,
    /// Times that a path was given up because it acknowledged no data, although
    /// it answered (`failure.dead_data`).
    pub dead_for_data: u64,
    /// Receive buffer blocking: how long data waited for the peer's window alone,
    /// though a path had room in its own; episodes that have ended.
    pub rwnd_blocked: Duration,
    /// How often it began to wait so.
    pub rwnd_blocked_episodes: u64,
}

/// State and counts of one path.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct PathStats {
    /// Its name.
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
    /// Congestion window, bytes.
    pub cwnd: u32,
    /// Slow start threshold, bytes.
    pub ssthresh: u32,
    /// Bytes in flight.
    pub flight: u32,
    /// Smoothed round-trip time; none before the first sample.
    pub srtt: Option<Duration>,
    /// Retransmission timeout.
    pub rto: Duration,
    /// Consecutive errors.
    pub error_count: u32,
    /// It answers heartbeats, but its data was not acknowledged
    /// (`failure.dead_data`).
    pub dead_for_data: bool,
    /// Largest packet, bytes.
    pub pmtu: u32,
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
    /// T3-rtx expirations.
    pub timeouts: u64,
    /// When something last arrived from there.
    pub last_heard: Option<Instant>,
    /// What is known of its round trip and losses; none without
    /// `failover.estimate`.
    pub estimate: Option<PathEstimateStats>,
    /// Probes sent to estimate it (`failover.estimate`), while it was idle.
    pub probes_sent: u64,
    /// SCTP bytes of these, headers included.
    pub probe_bytes: u64,
}

/// What is known of a path's round trip and losses (`failover.estimate`).
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct PathEstimateStats {
    /// The least round trip of the last 10 to 20 s that were measured.
    pub rtt: Duration,
    /// The share of packets lost one way: the mean of the posterior, so never 0.
    pub loss: f64,
    /// Passages that this rests on, older ones counting less: chunks, and two for
    /// each heartbeat.
    pub samples: f64,
}
