//! What a process tells of itself: to `byway top` as JSON, and the source of all metrics.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The form that this release writes.
pub(crate) const SCHEMA: &str = "byway.process/1";

/// A process. Counters begin with its endpoint, times are in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Process {
    pub(crate) schema: String,
    pub(crate) pid: u32,
    /// `send`, `recv`, ...
    pub(crate) command: String,
    pub(crate) version: String,
    /// None between two attempts to set an association up.
    pub(crate) endpoint: Option<EndpointNow>,
    /// What the command has refused, given up or removed, by rule, with all its endpoints so far.
    #[serde(default)]
    pub(crate) refused: BTreeMap<String, u64>,
    /// Of `forward` and `serve`, over all associations that it had so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tunnel: Option<ConnectionsNow>,
    /// Those with most traffic, if there are very many.
    pub(crate) associations: Vec<AssociationNow>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct EndpointNow {
    pub(crate) addresses: Vec<String>,
    pub(crate) sctp_port: u16,
    /// All that have not ended.
    pub(crate) associations: u64,
    /// Those of them that are not listed.
    pub(crate) unlisted: u64,
    pub(crate) memory_bytes: u64,
    pub(crate) datagrams_received: u64,
    pub(crate) datagrams_sent: u64,
    /// Datagrams that the kernel refused to send.
    pub(crate) datagrams_unsent: u64,
    pub(crate) dropped_by_kernel: Option<u64>,
    /// What was refused, dropped or shed, by rule.
    pub(crate) refused: BTreeMap<String, u64>,
}

/// TCP connections of a tunnel.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ConnectionsNow {
    /// Those that are there.
    pub(crate) connections: u64,
    /// Those, and all that have ended.
    pub(crate) connections_opened: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct AssociationNow {
    /// A small number that it keeps while it is listed.
    pub(crate) number: usize,
    /// Names it in the endpoint.
    pub(crate) id: String,
    /// As RFC 9260 section 4 names it.
    pub(crate) state: String,
    pub(crate) bytes_queued: u64,
    pub(crate) bytes_acked: u64,
    pub(crate) bytes_delivered: u64,
    pub(crate) chunks_retransmitted: u64,
    pub(crate) timeouts: u64,
    /// Times that data moved to another path.
    pub(crate) moves: u64,
    /// Times that the probe timeout doubted a path.
    pub(crate) suspicions: u64,
    /// None if it carries no TCP connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tunnel: Option<ConnectionsNow>,
    pub(crate) latest: Option<LatestNow>,
    pub(crate) paths: Vec<PathNow>,
}

impl AssociationNow {
    /// Bytes that the peer has not acknowledged.
    pub(crate) fn waiting(&self) -> u64 {
        self.bytes_queued.saturating_sub(self.bytes_acked)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LatestNow {
    pub(crate) ago_s: f64,
    /// What happened, and why.
    pub(crate) what: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PathNow {
    pub(crate) path: u8,
    pub(crate) local: String,
    pub(crate) remote: String,
    pub(crate) state: String,
    /// Why it is in doubt.
    pub(crate) trouble: Option<String>,
    pub(crate) errors: u32,
    pub(crate) primary: bool,
    pub(crate) in_use: bool,
    /// It carries data only while no other path is active. A process of an older release does not tell.
    #[serde(default)]
    pub(crate) backup: bool,
    pub(crate) srtt_s: Option<f64>,
    pub(crate) rto_s: f64,
    pub(crate) cwnd_bytes: u32,
    pub(crate) flight_bytes: u32,
    pub(crate) pmtu_bytes: u32,
    /// SCTP bytes, headers included.
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    /// Payload.
    pub(crate) data_bytes_sent: u64,
    pub(crate) data_bytes_retransmitted: u64,
    pub(crate) data_bytes_lost: u64,
    pub(crate) timeouts: u64,
    /// Times that it stopped being active.
    pub(crate) failures: u64,
}
