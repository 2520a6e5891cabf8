//! When a path or the peer has failed, and where traffic goes after a failure.

use crate::policy::{DeadData, Detection, EstimateConfig, ProbeTimeout, Revival, Trial};
use crate::units;
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// How the heartbeats of an idle path are spread in time.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum HbJitter {
    /// interval + RTO, where the RTO varies by up to a half in both directions (RFC
    /// 9260 section 8.3).
    #[default]
    HalfRto,
    /// interval, varied by up to a half in both directions, plus the RTO (the papers'
    /// simulator up to release 3.4 of its module: 15 to 45 s).
    HalfInterval,
    /// interval + RTO exactly, for tests that need a known time.
    Off,
}

/// How an inactive path is probed.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum FailedProbes {
    /// Like an idle path: after HB.interval plus the RTO (RFC 9260 section 8.3).
    #[default]
    AtInterval,
    /// At once when the path fails, and again whenever a heartbeat is lost or T3-rtx
    /// expires there (caro-2006 section III.7, figure 8). So a spurious failover ends
    /// after one round trip.
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
    /// Whether every path gets a heartbeat as soon as the association is established
    /// (false). It measures the path, and opens the way back through a translator.
    pub at_establishment: bool,
}

impl Default for HeartbeatConfig {
    fn default() -> Self {
        HeartbeatConfig {
            enabled: true,
            interval: Duration::from_secs(30),
            jitter: HbJitter::HalfRto,
            max_burst: 1,
            failed: FailedProbes::AtInterval,
            at_establishment: false,
        }
    }
}

/// When an error counter makes its path inactive.
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
    /// That of any chunk that was last sent there (RFC 9260 section 8.2, SHOULD).
    #[default]
    AnyAck,
    /// Only that of a chunk that was sent once, because only then the path of the chunk
    /// is certain (section 8.2, MAY).
    FirstTransmissionOnly,
}

/// When a path or the peer has failed (RFC 9260 sections 8.1, 8.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FailureConfig {
    /// Path.Max.Retrans, PMR (5).
    pub path_max_retrans: u32,
    /// Association.Max.Retrans, AMR (10).
    pub association_max_retrans: u32,
    /// How a dead path is detected, besides the error counter and PMR.
    pub detection: Detection,
    /// The detector of each path, in the order of the association's paths. So the first
    /// one is for the initial primary. Paths after the end of the list use `detection`.
    /// Empty by default (cortes-2008: each path has its own detector).
    pub path_detection: Vec<Detection>,
    /// How the error counter is compared with PMR after a lost heartbeat.
    pub heartbeat_test: PathMaxRetransTest,
    /// Whether lost heartbeats of an idle path count towards AMR. RFC 9260 section 8.1
    /// says that they must not (false). Linux, usrsctp and INET count them.
    pub idle_heartbeats_count: bool,
    /// Which acknowledgement clears a path's error counter.
    pub error_clear: ErrorClear,
    /// Whether to detect paths and peers that answer heartbeats but acknowledge no
    /// data. On by default, because it has no effect while data is acknowledged.
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
    /// The detector of the path at `place`, counted from 0.
    #[must_use]
    pub fn detection_of(&self, place: usize) -> Detection {
        let own = self.path_detection.get(place);
        own.copied().unwrap_or(self.detection)
    }
}

/// What makes a potentially failed path active again (RFC 7829 section 3.2;
/// natarajan-2006 section 3).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum PfClear {
    /// A HEARTBEAT ACK, or a SACK of data that was sent only to that path.
    #[default]
    Rfc7829,
    /// Only a HEARTBEAT ACK (the rule of the paper).
    HeartbeatAck,
}

/// The window of a path that leaves the potentially failed state.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum PfReturnCwnd {
    /// The window that it has after the timeout (RFC 9260 section 7.2).
    #[default]
    Keep,
    /// This number of PMDCS: 1 is CMT-PF1, 2 is CMT-PF2.
    Pmdcs(u32),
}

/// The potentially failed state (RFC 7829).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
pub struct PfConfig {
    /// PotentiallyFailed.Max.Retrans, PFMR: the errors that an active path may have (0).
    pub max_retrans: u32,
    /// What makes the path active again.
    pub clear: PfClear,
    /// Its window when it is active again.
    pub return_cwnd: PfReturnCwnd,
}

/// Which path carries data while none is active (RFC 7829 section 3.2, rule 6).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum AllPathsSuspect {
    /// The path with the fewest errors. The last active one wins a tie.
    #[default]
    LeastErrorsThenLastActive,
    /// The path with the fewest errors. The one that differs most from the last active
    /// path, in local and remote address, wins a tie.
    LeastErrorsThenDivergent,
    /// The next potentially failed path after each timeout, with any number of errors
    /// (caro-2006 section V, figure 13).
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

/// When a failover becomes permanent: the path in use becomes the primary.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum PrimarySwitch {
    /// Never: traffic returns when the primary recovers.
    #[default]
    Never,
    /// When the primary is inactive and its consecutive errors exceed the Change
    /// Primary Threshold (caro-2006 section IV, as its simulator counts). This includes
    /// the errors that caused the failover. So with PMR 0 and CPT 0 every failover is
    /// permanent, and all values of CPT up to PMR have the same effect.
    Cpt(u32),
    /// When more heartbeats to the primary than the Change Primary Threshold are lost
    /// after the failover (caro-2006 section IV, as its text says). The counter starts
    /// from zero when the primary stops being active.
    CptHeartbeats(u32),
    /// When the path in use is active and the primary's errors exceed
    /// Primary.Switchover.Max.Retrans (RFC 7829 section 5).
    Psmr(u32),
}

/// Where traffic goes when a path may have failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FailoverConfig {
    /// The potentially failed state of RFC 7829. On by default.
    pub potentially_failed: Option<PfConfig>,
    /// Data leaves a path as soon as an acknowledgement is overdue by the path's own
    /// round trips, without waiting for RTO.Min. Off by default.
    pub probe_timeout: Option<ProbeTimeout>,
    /// Find the way back quickly after an outage of all paths; off by default.
    pub revival: Option<Revival>,
    /// Which path carries data while none is active but some are potentially failed.
    pub all_paths_suspect: AllPathsSuspect,
    /// Where data goes while all paths are inactive.
    pub dormant: Dormant,
    /// When a failover becomes permanent.
    pub primary_switch: PrimarySwitch,
    /// Estimates the throughput of each path, with probes on idle paths, and chooses the
    /// primary by it (caro-2006 section IV.2). Off by default.
    pub estimate: Option<EstimateConfig>,
    /// Another path is tried while the one in use keeps losing packets, and keeps the
    /// data if it delivers more; off by default. Needs `estimate` and `concurrent` off.
    pub trial: Option<Trial>,
}

impl Default for FailoverConfig {
    fn default() -> Self {
        FailoverConfig {
            potentially_failed: Some(PfConfig::default()),
            probe_timeout: None,
            revival: None,
            all_paths_suspect: AllPathsSuspect::LeastErrorsThenLastActive,
            dormant: Dormant::LeastErrors,
            primary_switch: PrimarySwitch::Never,
            estimate: None,
            trial: None,
        }
    }
}
