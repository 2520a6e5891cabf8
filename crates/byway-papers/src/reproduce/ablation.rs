//! The same claims without ns-2: what is SCTP, and what is ns-2.
//!
//! Each policy keeps the mechanism that its paper is about, and what the experiment sets
//! (thresholds, buffers). All else is that of a preset without any of ns-2's rules.

use byway_core::Config;
use byway_dialect_ns2::Settings;
use serde::Serialize;
use std::time::Duration;

/// Settings that take the place of the papers'.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Ablation {
    /// RFC 2960 as it is written.
    #[serde(rename = "rfc2960")]
    Rfc2960,
    /// RFC 9260 as it is written.
    #[serde(rename = "rfc9260")]
    Rfc9260,
}

impl Ablation {
    /// All.
    pub const ALL: [Ablation; 2] = [Ablation::Rfc2960, Ablation::Rfc9260];

    /// The name of its preset.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Ablation::Rfc2960 => "rfc2960",
            Ablation::Rfc9260 => "rfc9260",
        }
    }

    /// The settings with the mechanisms of others.
    pub(super) fn of(self, papers: &Settings) -> Settings {
        let mut plain = match self {
            Ablation::Rfc2960 => Config::rfc2960(),
            Ablation::Rfc9260 => Config::rfc9260(),
        };
        plain.retransmission.target = papers.retransmission.target;
        plain.retransmission.fast_retransmits = papers.retransmission.fast_retransmits;
        plain.retransmission.after_rto = papers.retransmission.after_rto;
        plain.failover.clone_from(&papers.failover);
        plain.concurrent.clone_from(&papers.concurrent);
        plain.failure.path_max_retrans = papers.failure.path_max_retrans;
        plain.failure.association_max_retrans = papers.failure.association_max_retrans;
        plain.failure.detection = papers.failure.detection;
        plain.rto.timestamps = papers.rto.timestamps;
        // Where the RTO itself is what an experiment sets.
        if papers.rto.min != Duration::from_secs(1) {
            plain.rto.min = papers.rto.min;
        }
        plain.buffer.receive = papers.buffer.receive;
        plain.buffer.send = papers.buffer.send;
        plain.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use byway_core::policy::{AfterRto, RetransmitTarget};

    #[test]
    fn the_mechanism_stays_and_ns_2_goes() {
        let mut papers = Settings::preset("ns2").unwrap_or_else(|e| panic!("{e}"));
        papers.core.retransmission.target = RetransmitTarget::AllRtxAlt;
        papers.core.retransmission.after_rto = AfterRto::Heartbeat;
        papers.core.failure.path_max_retrans = 1;
        for ablation in Ablation::ALL {
            let plain = ablation.of(&papers);
            assert_eq!(plain.retransmission.target, papers.retransmission.target);
            assert_eq!(
                plain.retransmission.after_rto,
                papers.retransmission.after_rto
            );
            assert_eq!(plain.failure.path_max_retrans, 1);
            let preset = Settings::preset(ablation.name()).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(plain.ns2, preset.ns2);
            assert_eq!(plain.congestion, preset.congestion);
            assert_ne!(plain.congestion, papers.congestion);
        }
    }
}
