//! Windows, fast retransmit, bursts, and the path of a retransmission.

use crate::policy::{AfterRto, FastRetransmits, Pacing, Rack, RetransmitTarget};
use serde::{Deserialize, Serialize};

pub use crate::cc::coupled::Coupling;

/// How a window grows and falls.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum CongestionAlgorithm {
    /// Grows by one PMDCS for each round trip and halves at a loss (RFC 9260 section
    /// 7.2; Reno, with appropriate byte counting).
    #[default]
    Rfc9260,
    /// Grows as a cubic function of the time since the last loss (RFC 9438).
    Cubic(Cubic),
}

/// Settings of CUBIC; C is 0.4 PMDCS/s^3 and beta 0.7 (RFC 9438 sections 4.6
/// and 5).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cubic {
    /// Whether a flow that loses packets below its last plateau leaves room for other
    /// flows (true; section 4.7).
    pub fast_convergence: bool,
    /// Whether slow start ends when the round trip grows (false; HyStart++, RFC 9406).
    pub hystart: bool,
}

impl Default for Cubic {
    fn default() -> Cubic {
        Cubic {
            fast_convergence: true,
            hystart: false,
        }
    }
}

/// The initial window of a path (RFC 9260 section 7.2.1).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum InitialCwnd {
    /// min(4 PMDCS, max(2 PMDCS, 4404 bytes)); 4344 bytes for IPv6.
    #[default]
    Rfc9260,
    /// min(4 PMDCS, max(2 PMDCS, 4380 bytes)): the rule of RFC 4960, with PMDCS instead
    /// of its MTU.
    Rfc4960,
    /// This number of full chunks; RFC 2960 allows at most 2.
    Pmdcs(u32),
}

/// Which acknowledgements let the window grow.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum CwndGrowth {
    /// Any SACK that acknowledges new data, if the window was full and the sender is
    /// not in fast recovery (RFC 9260 section 7.2.1).
    #[default]
    AnyNewAck,
    /// Only a SACK that advances the cumulative TSN (RFC 2960 section 7.2.1).
    CumulativeAdvance,
}

/// How Max.Burst limits what one event releases on a path (RFC 9260 section
/// 6.1, D).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum BurstRule {
    /// At most this many packets of new data (the RFC's second way).
    #[default]
    CountPackets,
    /// For this event, cwnd counts as at most the flight size plus this number of PMDCS
    /// (the formula of the RFC).
    LimitWindow,
    /// The same, but cwnd stays reduced (the text of natarajan-2006; the RFC advises
    /// against it).
    ShrinkWindow,
}

/// The scope of fast recovery.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum FastRecovery {
    /// One exit point for the association (RFC 9260 section 7.2.4).
    #[default]
    PerAssociation,
    /// One exit point for each destination (the papers).
    PerDestination,
    /// None: every fast retransmit halves the window (RFC 2960's text).
    Off,
}

/// Windows, fast retransmit and bursts (RFC 9260 section 7). Windows are in
/// units of PMDCS, the largest DATA chunk that the path takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CongestionConfig {
    /// How a window grows and falls (the rules of RFC 9260).
    pub algorithm: CongestionAlgorithm,
    /// How paths that carry data at the same time share their growth (`Off`: each path
    /// grows as a separate flow).
    pub coupled: Coupling,
    /// The initial window of a path.
    pub initial_cwnd: InitialCwnd,
    /// cwnd after a timeout, in PMDCS (1).
    pub cwnd_after_rto: u32,
    /// The lowest value of ssthresh, and of the cwnd of an idle path, in PMDCS (4; 2 in
    /// RFC 2960).
    pub ssthresh_floor: u32,
    /// Initial ssthresh in bytes; `None` means arbitrarily high.
    pub initial_ssthresh: Option<u32>,
    /// Which acknowledgements let the window grow.
    pub growth: CwndGrowth,
    /// L: how many PMDCS one SACK may add in slow start (1; section 7.2.1).
    pub slow_start_limit: u32,
    /// Number of missing reports that cause a fast retransmit (3; 4 in RFC 2960).
    pub fast_retransmit_threshold: u8,
    /// The scope of fast recovery.
    pub fast_recovery: FastRecovery,
    /// Max.Burst: most packets of new data that one event may release on a path (4);
    /// `None` means no limit.
    pub max_burst: Option<u32>,
    /// How Max.Burst limits an event.
    pub burst_rule: BurstRule,
    /// Proportional rate reduction (RFC 6937, RFC 9937): in fast recovery each SACK
    /// releases a share of what it reports as delivered, so that the window falls during
    /// a round trip and not at once (false).
    pub proportional_rate_reduction: bool,
    /// New data of a path leaves at a rate of about a window for each round trip; off by
    /// default: SACKs and Max.Burst alone release it.
    pub pacing: Option<Pacing>,
    /// Whether the window of an idle path is halved once per RTO (true).
    pub idle_decay: bool,
    /// Whether ssthresh keeps the value of cwnd before the first halving (true; RFC
    /// 9260 only).
    pub decay_sets_ssthresh: bool,
}

impl Default for CongestionConfig {
    fn default() -> Self {
        CongestionConfig {
            algorithm: CongestionAlgorithm::Rfc9260,
            coupled: Coupling::Off,
            initial_cwnd: InitialCwnd::Rfc9260,
            cwnd_after_rto: 1,
            ssthresh_floor: 4,
            initial_ssthresh: None,
            growth: CwndGrowth::AnyNewAck,
            slow_start_limit: 1,
            fast_retransmit_threshold: 3,
            fast_recovery: FastRecovery::PerAssociation,
            max_burst: Some(4),
            burst_rule: BurstRule::CountPackets,
            proportional_rate_reduction: false,
            pacing: None,
            idle_decay: true,
            decay_sets_ssthresh: true,
        }
    }
}

/// Which path takes a retransmission (RFC 9260 section 6.4; caro-2004).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetransmissionConfig {
    /// Which path takes a retransmission.
    pub target: RetransmitTarget,
    /// How often a chunk may be fast retransmitted.
    pub fast_retransmits: FastRetransmits,
    /// Loss detection by time, beside missing reports (RFC 8985); off by default.
    pub rack: Option<Rack>,
    /// Whether the reduction of a window is undone when its losses prove to be spurious:
    /// the peer reports duplicates, or what counted as lost is acknowledged before it left
    /// again (false; RFC 3708, RFC 5682). With concurrent multipath transfer, a SACK that a
    /// newer one overtook is then discarded, too: it would take acknowledgements back.
    pub undo_spurious: bool,
    /// What follows a timeout besides the retransmission.
    pub after_rto: AfterRto,
    /// Whether new data may also leave at a timeout, if windows allow it (true). The
    /// papers' simulator only retransmits at a timeout and sends new data after the next
    /// SACK. This adds about a second to its detection times (caro-2004 section V.A).
    pub new_data_at_rto: bool,
}

impl Default for RetransmissionConfig {
    fn default() -> Self {
        RetransmissionConfig {
            target: RetransmitTarget::FrSameRtoAlt,
            fast_retransmits: FastRetransmits::Once,
            rack: None,
            undo_spurious: false,
            after_rto: AfterRto::Nothing,
            new_data_at_rto: true,
        }
    }
}
