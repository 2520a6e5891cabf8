//! When a path or the peer counts as failed, and where traffic goes meanwhile.

use crate::policy::{DeadData, Detection, EstimateConfig, ProbeTimeout};
use crate::units;
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// How heartbeats of an idle path are spread in time.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum HbJitter {
    /// interval + RTO, the RTO varied by half either way (RFC 9260 section 8.3).
    #[default]
    HalfRto,
    /// interval varied by half either way, plus the RTO (the papers' simulator up to
    /// release 3.4 of its module: 15 to 45 s).
    HalfInterval,
    /// interval + RTO exactly, for tests that need a known time.
    Off,
}

/// How an inactive path is probed.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum FailedProbes {
    /// Once per HB.interval and RTO, as any idle path (RFC 9260 section 8.3).
    #[default]
    AtInterval,
    /// At once when it fails, and again whenever a heartbeat is lost or data
    /// times out there (caro-2006 section III.7, figure 8), so that a
    /// spurious failover ends after a round trip.
    OncePerRto,
}

/// Path heartbeats (RFC 9260 section 8.3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HeartbeatConfig {
    /// Whether idle paths are probed (true). Unconfirmed paths always are.
    pub enabled: bool,
    /// HB.interval (30 s).
    #[serde(with = "units::duration")]
    pub interval: Duration,
    /// How heartbeats are spread.
    pub jitter: HbJitter,
    /// HB.Max.Burst: heartbeats sent in one RTO for address verification (1).
    pub max_burst: u32,
    /// How an inactive path is probed.
    pub failed: FailedProbes,
}

impl Default for HeartbeatConfig {
    fn default() -> Self {
        HeartbeatConfig {
            enabled: true,
            interval: Duration::from_secs(30),
            jitter: HbJitter::HalfRto,
            max_burst: 1,
            failed: FailedProbes::AtInterval,
        }
    }
}

/// When an error counter marks its path inactive.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum PathMaxRetransTest {
    /// When it exceeds Path.Max.Retrans (RFC 9260 section 8.2).
    #[default]
    Exceeds,
    /// When it reaches Path.Max.Retrans (RFC 2960 section 8.3, heartbeats).
    Reaches,
}

/// Which acknowledgement clears the error counter of a path.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum ErrorClear {
    /// Any chunk that was last sent there (RFC 9260 section 8.2, SHOULD).
    #[default]
    AnyAck,
    /// Only a chunk that was sent once, so that no doubt is left where it
    /// arrived (section 8.2, MAY).
    FirstTransmissionOnly,
}

/// When a path or the peer counts as failed (RFC 9260 sections 8.1, 8.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FailureConfig {
    /// Path.Max.Retrans, PMR (5).
    pub path_max_retrans: u32,
    /// Association.Max.Retrans, AMR (10).
    pub association_max_retrans: u32,
    /// How a dead path is noticed, besides by the errors that PMR limits.
    pub detection: Detection,
    /// The same for single paths, in the order in which the association has
    /// them, so the first is for its first primary; paths beyond the list have
    /// `detection`. Empty by default (cortes-2008: each path is detected apart).
    pub path_detection: Vec<Detection>,
    /// How a lost heartbeat is compared with PMR.
    pub heartbeat_test: PathMaxRetransTest,
    /// Whether heartbeats lost on an idle path count towards AMR. RFC 9260
    /// section 8.1 says that they must not (false); Linux, usrsctp and
    /// INET count them.
    pub idle_heartbeats_count: bool,
    /// Which acknowledgement clears a path's error counter.
    pub error_clear: ErrorClear,
    /// Notice paths, and peers, that answer heartbeats and acknowledge no data;
    /// on by default, as it does nothing while data is acknowledged.
    pub dead_data: Option<DeadData>,
}

impl Default for FailureConfig {
    fn default() -> Self {
        FailureConfig {
            path_max_retrans: 5,
            association_max_retrans: 10,
            detection: Detection::ErrorCount,
            path_detection: Vec::new(),
            heartbeat_test: PathMaxRetransTest::Exceeds,
            idle_heartbeats_count: false,
            error_clear: ErrorClear::AnyAck,
            dead_data: Some(DeadData::default()),
        }
    }
}

impl FailureConfig {
    /// How the death of the path at `place` is noticed, counted from 0.
    #[must_use]
    pub fn detection_of(&self, place: usize) -> Detection {
        let own = self.path_detection.get(place);
        own.copied().unwrap_or(self.detection)
    }
}

/// What brings a potentially failed path back (RFC 7829 section 3.2;
/// natarajan-2006 section 3).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum PfClear {
    /// A HEARTBEAT ACK, or a SACK of data that was sent to that path alone.
    #[default]
    Rfc7829,
    /// A HEARTBEAT ACK alone (the paper's rule).
    HeartbeatAck,
}

/// The window of a path that leaves the potentially failed state.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum PfReturnCwnd {
    /// What the timeout left (RFC 9260 section 7.2).
    #[default]
    Keep,
    /// So many PMDCS: 1 is CMT-PF1, 2 is CMT-PF2.
    Pmdcs(u32),
}

/// The potentially failed state (RFC 7829).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
pub struct PfConfig {
    /// PF.Max.Retrans: errors that a path may have and stay active (0).
    pub max_retrans: u32,
    /// What brings the path back.
    pub clear: PfClear,
    /// Its window then.
    pub return_cwnd: PfReturnCwnd,
}

/// Which path serves while none is active (RFC 7829 section 3.2, rule 6).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum AllPathsSuspect {
    /// The one with the fewest errors; the one last in use among equals.
    #[default]
    LeastErrorsThenLastActive,
    /// The one with the fewest errors; the one most unlike the last among
    /// equals: another local and another remote address.
    LeastErrorsThenDivergent,
    /// The next one after each timeout, whatever its errors, failed ones left
    /// out (caro-2006 section V, figure 13).
    Hop,
}

/// Where data goes while every destination is inactive: the dormant state
/// (caro-2006 section III.6).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum Dormant {
    /// To the path with the fewest errors (RFC 7829 section 4).
    #[default]
    LeastErrors,
    /// To the next destination after each timeout.
    Hop,
    /// To the primary.
    Primary,
    /// To the last destination that was active.
    Last,
}

/// When a failover becomes permanent: the destination in use becomes the
/// primary.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum PrimarySwitch {
    /// Never: traffic returns when the primary recovers.
    #[default]
    Never,
    /// When the primary is inactive and its consecutive errors exceed the
    /// Change Primary Threshold (caro-2006 section IV, as its simulator counts): those
    /// that caused the failover count, so with PMR 0 and CPT 0 every failover
    /// is permanent, and no CPT up to PMR differs from another.
    Cpt(u32),
    /// When more heartbeats than the Change Primary Threshold were lost on the
    /// primary that were sent after the failover (caro-2006 section IV, as its
    /// text says): the counter begins at zero when the primary stops being
    /// active.
    CptHeartbeats(u32),
    /// When the primary's errors exceed Primary.Switchover.Max.Retrans
    /// (RFC 7829 section 5).
    Psmr(u32),
}

/// Where traffic goes when a path is in doubt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FailoverConfig {
    /// RFC 7829's potentially failed state, on by default.
    pub potentially_failed: Option<PfConfig>,
    /// Leave a path as soon as an acknowledgement is overdue by its own round
    /// trips, instead of after RTO.Min; off by default.
    pub probe_timeout: Option<ProbeTimeout>,
    /// Which path serves while none is active but some are suspect.
    pub all_paths_suspect: AllPathsSuspect,
    /// Where data goes while all paths are inactive.
    pub dormant: Dormant,
    /// When a failover becomes permanent.
    pub primary_switch: PrimarySwitch,
    /// Estimate what each path would carry, probing idle ones, and choose the
    /// primary by it; off by default (caro-2006 section IV.2).
    pub estimate: Option<EstimateConfig>,
}

impl Default for FailoverConfig {
    fn default() -> Self {
        FailoverConfig {
            potentially_failed: Some(PfConfig::default()),
            probe_timeout: None,
            all_paths_suspect: AllPathsSuspect::LeastErrorsThenLastActive,
            dormant: Dormant::LeastErrors,
            primary_switch: PrimarySwitch::Never,
            estimate: None,
        }
    }
}
