//! byway's settings for a host of a scenario: ns-2's preset with the scenario's
//! values.

use crate::scenario::{Build, Host, Params, Role};
use byway_core::config::{ConcurrentConfig, ErrorClear, InitialCwnd, PfConfig, PfReturnCwnd};
use byway_core::policy::{AfterRto, Cuc, FastRetransmits, FillOrder, RetransmitTarget, RtxPolicy};
use byway_dialect_ns2::Settings;
use std::time::Duration;

/// Policies of ns-2's classes that byway does not have.
#[must_use]
pub fn missing_policy(host: &Host) -> Option<&'static str> {
    match host.agent_class.as_str() {
        "SCTP"
        | "SCTP/HbAfterRto"
        | "SCTP/MultipleFastRtx"
        | "SCTP/MfrHbAfterRto"
        | "SCTP/Timestamp"
        | "SCTP/MfrTimestamp"
        | "SCTP/CMT" => None,
        _ => Some("an unknown class"),
    }
}

/// The settings of a host.
#[must_use]
pub fn config(host: &Host, build: Build) -> Settings {
    let p = &host.params;
    let mut c = Settings::ns2();
    c.setup.confirm_all_before_data = host.role == Role::Initiator;
    c.setup.max_init_retransmits = p.max_init_retransmits;
    c.setup.outbound_streams = p.num_out_streams;
    c.rto.initial = Duration::from_secs_f64(p.initial_rto);
    c.rto.min = Duration::from_secs_f64(p.min_rto);
    c.rto.max = Duration::from_secs_f64(p.max_rto);
    c.hb.enabled = false;
    c.hb.interval = Duration::from_secs(p.heartbeat_interval.into());
    c.failure.path_max_retrans = p.path_max_retrans;
    c.failure.association_max_retrans = p.association_max_retrans;
    let cc = &mut c.congestion;
    (cc.initial_cwnd, cc.ssthresh_floor) = match build {
        Build::Rfc2960 => (InitialCwnd::Pmdcs(2), 2),
        Build::Stock => (InitialCwnd::Rfc4960, 4),
    };
    cc.initial_ssthresh = Some(p.initial_ssthresh);
    cc.fast_retransmit_threshold = p.fast_rtx_trigger;
    if p.use_max_burst == 0 {
        cc.max_burst = None;
    }
    c.retransmission.target = match p.rtx_to_alt {
        0 => RetransmitTarget::AllRtxSame,
        2 => RetransmitTarget::FrSameRtoAlt,
        _ => RetransmitTarget::AllRtxAlt,
    };
    if host.agent_class.contains("MultipleFastRtx") || host.agent_class.contains("Mfr") {
        c.retransmission.fast_retransmits = FastRetransmits::Multiple;
    }
    if host.agent_class.contains("HbAfterRto") {
        c.retransmission.after_rto = AfterRto::Heartbeat;
    }
    c.rto.timestamps = host.agent_class.contains("Timestamp");
    c.sack.every = if p.use_delayed_sacks == 0 { 1 } else { 2 };
    c.sack.delay = Duration::from_secs_f64(p.sack_delay);
    c.buffer.receive = p.initial_rwnd;
    c.pmtu.0 = p.mtu;
    c.ns2.decays_above = p.initial_cwnd;
    c.ns2.send_window = p.initial_swnd;
    if host.agent_class.contains("HbAfterRto") {
        c.ns2.timeout_floor = p.initial_cwnd;
    }
    if host.agent_class == "SCTP/CMT" {
        concurrent(&mut c, p);
    }
    c
}

/// The CMT class, which keeps RFC 2960's floor for losses and timeouts.
fn concurrent(c: &mut Settings, p: &Params) {
    let cmt = &p.cmt;
    c.concurrent = Some(ConcurrentConfig {
        sfr: cmt.reordering != 0,
        cuc: if cmt.cwnd == 0 { Cuc::Off } else { Cuc::V2 },
        dac: cmt.delayed_acks != 0,
        rtx: match cmt.rtx_policy {
            0 => RtxPolicy::Asap,
            1 => RtxPolicy::Same,
            3 => RtxPolicy::LossRate,
            4 => RtxPolicy::Cwnd,
            _ => RtxPolicy::Ssthresh,
        },
        order: FillOrder::BehindLast,
    });
    c.ns2.cmt_class = true;
    // Both ends have drawn the time of their first heartbeat.
    c.ns2.cmt_coin = Some(2);
    c.ns2.decay_floor = c.congestion.ssthresh_floor;
    c.congestion.ssthresh_floor = p.initial_cwnd;
    c.ns2.lost_is_outstanding = false;
    c.ns2.keeps_ssthresh_at_one = false;
    c.sack.first_at_once = false;
    c.failure.error_clear = ErrorClear::AnyAck;
    if cmt.pf != 0 {
        c.failure.error_clear = ErrorClear::FirstTransmissionOnly;
        c.failover.potentially_failed = Some(PfConfig {
            return_cwnd: PfReturnCwnd::Pmdcs(cmt.pf_cwnd),
            ..PfConfig::default()
        });
        // Suspect paths are probed once an RTO; others never, within a run.
        c.hb.enabled = true;
        c.hb.interval = Duration::from_secs(1_000_000);
    }
}
