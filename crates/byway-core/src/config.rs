//! All settings of an association: one plain structure with the RFC's names.
//!
//! The papers ran RFC 2960, and byway's default is RFC 9260. Each difference between
//! the two is a field with a name, so a run shows which rule it used. The presets
//! [`Config::rfc9260`] (the default) and [`Config::rfc2960`] differ in these fields
//! only.
//!
//! [`Config::check`] checks a structure once, before an association uses it.

mod address_changes;
mod buffer_tuning;
mod check;
mod concurrent;
mod congestion;
mod custom;
mod endpoint;
mod failure;
mod streams;
mod warnings;

pub use address_changes::{AsconfConfig, AuthConfig, SharedKey, Wildcard};
pub use buffer_tuning::BufferTuning;
pub use concurrent::ConcurrentConfig;
pub use congestion::{
    BurstRule, CongestionAlgorithm, CongestionConfig, Coupling, Cubic, CwndGrowth, FastRecovery,
    InitialCwnd, RetransmissionConfig,
};
pub use custom::{Custom, Shared};
pub use endpoint::{ChecksumMode, EndpointConfig, MAX_LOCAL, MAX_PARTS, Part};
pub use failure::{
    AllPathsSuspect, Dormant, ErrorClear, FailedProbes, FailoverConfig, FailureConfig, HbJitter,
    HeartbeatConfig, PathMaxRetransTest, PfClear, PfConfig, PfReturnCwnd, PrimarySwitch,
};

pub use streams::StreamsConfig;

pub use crate::policy::RttSampling;

use crate::policy::{
    AfterRto, DataMove, FastRetransmits, MtuDiscovery, Pacing, ProbeTimeout, Rack, Repeats,
    RetransmitTarget, Revival, Scheduler, Trial, WaitsSince,
};
use crate::units;
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// All settings of one association.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Association set-up (RFC 9260 section 5).
    pub setup: SetupConfig,
    /// Retransmission timeout (section 6.3.1).
    pub rto: RtoConfig,
    /// Path heartbeats (section 8.3).
    pub hb: HeartbeatConfig,
    /// When a path or the peer has failed (sections 8.1, 8.2).
    pub failure: FailureConfig,
    /// Where traffic goes after a failure (section 6.4.1, RFC 7829, the papers).
    pub failover: FailoverConfig,
    /// Windows, fast retransmit and bursts (section 7).
    pub congestion: CongestionConfig,
    /// Which path takes a retransmission (section 6.4; caro-2004).
    pub retransmission: RetransmissionConfig,
    /// New data on every path at once (CMT; natarajan-2006). Off by default.
    pub concurrent: Option<ConcurrentConfig>,
    /// Which path new data takes if `concurrent` is on (Fill; Earliest in the preset
    /// `byway`). `Earliest` chooses the path of retransmissions, too, in place of
    /// `concurrent.rtx`.
    pub scheduler: Scheduler,
    /// Streams: whether their messages interleave, and which one sends next (RFC 8260).
    pub streams: StreamsConfig,
    /// Acknowledgements (section 6.2).
    pub sack: SackConfig,
    /// Memory and windows.
    pub buffer: BufferConfig,
    /// Largest IP packet that is sent, in bytes, all headers included (1500; in the preset
    /// `byway` 65535: the MTU of each path's interface is the bound).
    pub pmtu: Pmtu,
    /// Search for the largest packets that a path takes, up to `pmtu` and the MTU of its
    /// interface; off by default: `pmtu` is the size of all paths.
    pub mtu_discovery: Option<MtuDiscovery>,
    /// Authenticated chunks (RFC 4895); off, and on in the preset `byway`.
    pub auth: AuthConfig,
    /// Addresses that come and go during an association (RFC 5061); off, and on in the preset
    /// `byway`.
    pub asconf: AsconfConfig,
    /// The user's own policies; none by default. They are code, so they are not
    /// serialized.
    #[serde(skip)]
    pub custom: Custom,
}

/// Largest IP packet, in bytes (default 1500, 512 to 65535).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pmtu(pub u32);

impl Default for Pmtu {
    fn default() -> Pmtu {
        Pmtu(1500)
    }
}

impl Pmtu {
    /// No bound but that of the path's interface, which
    /// [`Routes::interface_mtu`](crate::Routes::interface_mtu) tells. Where nobody knows the
    /// interface, or nothing is searched, it counts as 1500.
    pub const INTERFACE: Pmtu = Pmtu(65_535);

    /// The bound of a path whose interface has this MTU, if it is known.
    pub(crate) fn over(self, interface: Option<u32>) -> u32 {
        match interface {
            Some(mtu) => self.0.min(mtu),
            None if self == Pmtu::INTERFACE => Pmtu::default().0,
            None => self.0,
        }
    }
}

/// Association set-up (RFC 9260 section 5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SetupConfig {
    /// Valid.Cookie.Life: how long a State Cookie may be echoed (60 s).
    #[serde(with = "units::duration")]
    pub valid_cookie_life: Duration,
    /// The most that a Cookie Preservative may add to a cookie's life (5 s). This
    /// limits how long a peer can replay a cookie (section 5.2.6).
    #[serde(with = "units::duration")]
    pub max_cookie_extension: Duration,
    /// Max.Init.Retransmits: how often INIT or COOKIE ECHO is retransmitted before set-up
    /// fails (8).
    pub max_init_retransmits: u32,
    /// Outbound streams that this side requests (10).
    pub outbound_streams: u16,
    /// Shortest INIT that is sent, in bytes of the SCTP packet (0; 160 in the preset
    /// `byway`; at most 400). A shorter one is padded (RFC 4820 section 4). A byway that
    /// accepts answers with at most three times as much, so that a forged INIT attacks
    /// nobody, and leaves out addresses of its own that do not fit.
    pub min_init_len: u16,
    /// Whether an INIT says which types of addresses this side has (true; RFC 9260 section
    /// 3.3.2.1.5). Without it the peer may list addresses of any type, and those of a type that
    /// this side does not have are not used. pion/sctp drops an INIT that says it, so the first
    /// INIT and its first repetition say it, and no later one. Where `auth` and `asconf` are on,
    /// the third, fifth and seventh repetition list no addresses of this side either; those follow
    /// by ASCONF, and a peer that has none knows one address only.
    pub supported_address_types: bool,
    /// Most inbound streams that this side accepts (2048).
    pub max_inbound_streams: u16,
    /// Most addresses of the peer that become paths (8). The other addresses are
    /// ignored, so that a long list cannot make this side probe many hosts.
    pub max_paths: u8,
    /// Whether data waits until all addresses of the peer are confirmed, as in the
    /// papers' simulator (false).
    pub confirm_all_before_data: bool,
    /// Whether INIT and COOKIE ECHO are retransmitted only to the first address, as in
    /// the papers' simulator (false). Otherwise each retransmission goes to the next
    /// address that the user gave, so that set-up succeeds even if the first path is dead.
    pub first_address_only: bool,
    /// Whether heartbeats confirm the peer's addresses (true; RFC 9260 section 5.4).
    /// RFC 2960 trusts the addresses, so the RTO of an idle path stays at RTO.Initial
    /// until its first heartbeat at HB.interval. Use false in simulations only: without
    /// confirmation an attacker can direct data to a third party.
    pub verify_addresses: bool,
    /// Whether an association goes on when the peer restarts (false; RFC 9260 section
    /// 5.2.4, A). Streams begin again then, and the user gets
    /// [`Event::Restarted`](crate::Event::Restarted). Otherwise the association is lost
    /// ([`LossReason::PeerRestarted`](crate::LossReason::PeerRestarted)) and the peer's is
    /// a new one, so that no reader joins the bytes of two.
    pub keep_on_restart: bool,
}

impl Default for SetupConfig {
    fn default() -> Self {
        SetupConfig {
            valid_cookie_life: Duration::from_secs(60),
            max_cookie_extension: Duration::from_secs(5),
            max_init_retransmits: 8,
            outbound_streams: 10,
            min_init_len: 0,
            supported_address_types: true,
            max_inbound_streams: 2048,
            max_paths: 8,
            confirm_all_before_data: false,
            first_address_only: false,
            verify_addresses: true,
            keep_on_restart: false,
        }
    }
}

/// Retransmission timeout (RFC 9260 section 6.3.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RtoConfig {
    /// RTO.Initial (1 s; 3 s in RFC 2960).
    #[serde(with = "units::duration")]
    pub initial: Duration,
    /// RTO.Min (1 s).
    #[serde(with = "units::duration")]
    pub min: Duration,
    /// RTO.Max (60 s).
    #[serde(with = "units::duration")]
    pub max: Duration,
    /// RTO.Alpha, the gain of SRTT (1/8).
    pub alpha: f64,
    /// RTO.Beta, the gain of RTTVAR (1/4).
    pub beta: f64,
    /// Which packets measure the round trip.
    pub sampling: RttSampling,
    /// Whether packets with DATA or SACK carry timestamps, if the peer supports them
    /// (TS, caro-2004 section II.B; false). With timestamps each acknowledgement
    /// measures its path, even that of a retransmission. They take 12 bytes of payload
    /// in each packet.
    pub timestamps: bool,
}

impl Default for RtoConfig {
    fn default() -> Self {
        RtoConfig {
            initial: Duration::from_secs(1),
            min: Duration::from_secs(1),
            max: Duration::from_secs(60),
            alpha: 0.125,
            beta: 0.25,
            sampling: RttSampling::OncePerRound,
            timestamps: false,
        }
    }
}

/// Where a SACK is sent (RFC 9260 section 6.4).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum SackDestination {
    /// To the address that the last DATA came from.
    #[default]
    ReplyPath,
    /// To the path that new data of this side takes.
    DataPath,
}

/// Acknowledgements (RFC 9260 section 6.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SackConfig {
    /// SACK.Delay: the longest time before a packet is acknowledged (200 ms; the
    /// RFC forbids more than 500 ms).
    #[serde(with = "units::duration")]
    pub delay: Duration,
    /// Number of packets with DATA after which a SACK is sent at the latest (2).
    pub every: u32,
    /// Whether the first DATA is acknowledged at once (true, RFC 9260 section 5.1;
    /// false in the preset `rfc2960`, as in the papers' simulator).
    pub first_at_once: bool,
    /// Where a SACK is sent.
    pub destination: SackDestination,
}

impl Default for SackConfig {
    fn default() -> Self {
        SackConfig {
            delay: Duration::from_millis(200),
            every: 2,
            first_at_once: true,
            destination: SackDestination::ReplyPath,
        }
    }
}

/// Memory and windows, in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BufferConfig {
    /// Receive buffer; its free part is advertised as a_rwnd (1 MiB). With `tuning` it
    /// begins with this size.
    pub receive: u32,
    /// Bytes that each DATA chunk takes of the receive buffer besides its payload (48).
    /// Otherwise many small chunks could take much memory and count as little.
    pub receive_overhead: u32,
    /// Bytes that the sender subtracts from the peer's window for each chunk besides its
    /// payload (0; the papers' simulator subtracts the chunk header, 16).
    pub peer_overhead: u32,
    /// Payload that may wait in the send queue or be unacknowledged (1 MiB).
    pub send: u32,
    /// Buffers that grow with what a path can carry (off; on in the preset `byway`).
    pub tuning: Option<BufferTuning>,
    /// Largest message that `send` accepts (16 MiB).
    pub max_message: u32,
    /// A message whose received front is longer than this is delivered in parts (RFC
    /// 9260 section 6.9). 0, or more than half of `receive`, means half of `receive`. With
    /// `streams.interleaving` it counts the fronts of all messages together.
    pub partial_delivery_point: u32,
    /// Whether a long message may begin in the rest of a packet, after another message
    /// (true; the papers' simulator begins each message in a new packet).
    pub fill_packets: bool,
    /// The window must open by 1/n of the receive buffer before an update is sent to the
    /// peer (4). This avoids silly windows.
    pub window_update_share: u32,
}

impl Default for BufferConfig {
    fn default() -> Self {
        BufferConfig {
            receive: 1 << 20,
            receive_overhead: 48,
            peer_overhead: 0,
            send: 1 << 20,
            tuning: None,
            max_message: 16 << 20,
            partial_delivery_point: 0,
            fill_packets: true,
            window_update_share: 4,
        }
    }
}

/// An invalid setting, and a valid value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} = {value}: {problem}")]
pub struct ConfigError {
    /// The field as a scenario writes it: `rto.min`.
    pub field: &'static str,
    /// The value that was found.
    pub value: String,
    /// What is wrong, and a valid value.
    pub problem: String,
}

impl Config {
    /// RFC 9260 with the quick failover of RFC 7829: the default.
    #[must_use]
    pub fn rfc9260() -> Config {
        Config::default()
    }

    /// byway's choice for real networks: a correct sender of RFC 9260 that notices losses
    /// and dead paths by the path's own round trips. The default of sockets.
    ///
    /// Losses are also detected by time, with tail probes (RFC 8985); the window follows
    /// CUBIC with HyStart++ (RFC 9438, RFC 9406). A path is left when both an acknowledgement and a heartbeat are
    /// overdue (`policy/probe_timeout.rs`). After an outage of all paths each is probed
    /// twice a second (`policy/revival.rs`). Every path gets a heartbeat when the
    /// association is established and every 15 s, which opens and holds the bindings of
    /// translators (NAT). Set-up offers changes of addresses (RFC 5061, with RFC 4895): with
    /// a peer that does not, nothing is different.
    #[must_use]
    pub fn byway() -> Config {
        let mut c = Config::default();
        c.congestion.algorithm = CongestionAlgorithm::Cubic(Cubic {
            hystart: true,
            ..Cubic::default()
        });
        c.congestion.proportional_rate_reduction = true;
        c.congestion.pacing = Some(Pacing::default());
        c.congestion.fast_recovery = FastRecovery::PerDestination;
        c.retransmission.rack = Some(Rack::default());
        c.retransmission.undo_spurious = true;
        c.failover.probe_timeout = Some(ProbeTimeout {
            since: WaitsSince::Sending,
            moves: DataMove::HeartbeatOverdue,
            repeats: Repeats::UntilAnswered,
            heartbeats: 3,
            tail_probe: true,
            ..ProbeTimeout::default()
        });
        c.failover.revival = Some(Revival::default());
        c.failover.trial = Some(Trial::default());
        c.scheduler = Scheduler::Earliest;
        c.buffer.tuning = Some(BufferTuning::default());
        // The errors of all paths count together, so more paths end an association earlier: in an outage
        // of 16 minutes with one path, 12 with two, 4 with four, where data waits (`revival.rs` of the tests).
        c.failure.association_max_retrans = 20;
        c.hb.interval = Duration::from_secs(15);
        c.hb.at_establishment = true;
        c.setup.min_init_len = 160;
        c.mtu_discovery = Some(MtuDiscovery::default());
        c.pmtu = Pmtu::INTERFACE;
        c.auth.enabled = true;
        c.asconf.enabled = true;
        c
    }

    /// RFC 2960, which the papers of 2003 to 2008 used, as their simulator implements it.
    #[must_use]
    pub fn rfc2960() -> Config {
        let mut c = Config::default();
        c.rto.initial = Duration::from_secs(3);
        c.rto.sampling = RttSampling::EveryChunk;
        c.congestion = CongestionConfig {
            initial_cwnd: InitialCwnd::Pmdcs(2),
            ssthresh_floor: 2,
            initial_ssthresh: Some(65_536),
            growth: CwndGrowth::CumulativeAdvance,
            fast_retransmit_threshold: 4,
            fast_recovery: FastRecovery::PerDestination,
            decay_sets_ssthresh: false,
            ..CongestionConfig::default()
        };
        c.retransmission.target = RetransmitTarget::AllRtxAlt;
        c.retransmission.after_rto = AfterRto::Nothing;
        c.retransmission.new_data_at_rto = false;
        c.failure.idle_heartbeats_count = true;
        c.failure.heartbeat_test = PathMaxRetransTest::Reaches;
        c.failure.error_clear = ErrorClear::FirstTransmissionOnly;
        c.failure.dead_data = None;
        c.failover.potentially_failed = None;
        c.failover.dormant = Dormant::Hop;
        c.sack.first_at_once = false;
        c.buffer.receive = 65_536;
        c.buffer.receive_overhead = 16;
        c.buffer.peer_overhead = 16;
        c.buffer.fill_packets = false;
        c
    }

    /// The sender of caro-2006 (section III.1): RFC 2960 with fast retransmissions to
    /// the same destination and retransmissions after a timeout to an alternate,
    /// Multiple Fast Retransmit, and the Dormant Hop. Failed destinations are probed at
    /// once. PMR, which the paper varies, is 5 as in RFC 2960.
    #[must_use]
    pub fn caro2006() -> Config {
        let mut c = Config::rfc2960();
        c.retransmission.target = RetransmitTarget::FrSameRtoAlt;
        c.retransmission.fast_retransmits = FastRetransmits::Multiple;
        c.hb.failed = FailedProbes::OncePerRto;
        c.failure.heartbeat_test = PathMaxRetransTest::Exceeds;
        c
    }

    /// The mechanism that caro-2006 proposes (section V, figure 13). Data leaves a
    /// destination at its first timeout; meanwhile heartbeats confirm, up to PMR, that
    /// it has failed. This is the potentially failed state of RFC 7829 with PFMR 0,
    /// except that data moves to the next path after each timeout while no path is
    /// active.
    #[must_use]
    pub fn caro2006_proposed() -> Config {
        let mut c = Config::caro2006();
        c.failover.potentially_failed = Some(PfConfig::default());
        c.failover.all_paths_suspect = AllPathsSuspect::Hop;
        c
    }

    /// The preset with this name.
    ///
    /// # Errors
    /// When there is no preset of that name. The message lists all presets.
    pub fn preset(name: &str) -> Result<Config, ConfigError> {
        match name {
            "byway" => Ok(Config::byway()),
            "rfc9260" => Ok(Config::rfc9260()),
            "rfc2960" => Ok(Config::rfc2960()),
            "caro2006" => Ok(Config::caro2006()),
            "caro2006-proposed" => Ok(Config::caro2006_proposed()),
            other => Err(ConfigError {
                field: "preset",
                value: other.to_owned(),
                problem: "no such preset; there are byway, rfc9260, rfc2960, caro2006 and \
                          caro2006-proposed"
                    .to_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests;
