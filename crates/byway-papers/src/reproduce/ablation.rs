//! The same claims by other settings than the papers'.
//!
//! Without ns-2: each policy keeps the mechanism that its paper is about, and what the experiment sets
//! (thresholds, buffers). All else is that of a preset without any of ns-2's rules. Further, one
//! parameter at a time is another one ([`vary`]).

mod vary;

use byway_core::Config;
use byway_dialect_ns2::Settings;
use byway_lab::scenario::Scenario;
use serde::{Serialize, Serializer};
use std::time::Duration;
pub use vary::Vary;

/// Settings that take the place of the papers'.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ablation {
    /// RFC 2960 as it is written.
    Rfc2960,
    /// RFC 9260 as it is written.
    Rfc9260,
    /// The papers' settings, but for one parameter.
    But(Vary),
}

impl Serialize for Ablation {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl Ablation {
    /// The presets without ns-2's rules.
    pub const PRESETS: [Ablation; 2] = [Ablation::Rfc2960, Ablation::Rfc9260];

    /// Its name: that of a preset, or the parameter with its value.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Ablation::Rfc2960 => "rfc2960",
            Ablation::Rfc9260 => "rfc9260",
            Ablation::But(vary) => vary.name(),
        }
    }

    /// Whether it is a preset without ns-2's rules.
    #[must_use]
    pub fn is_preset(self) -> bool {
        !matches!(self, Ablation::But(_))
    }

    /// Changes a scenario of a study with these axes.
    pub(super) fn apply<'a>(self, scenario: &mut Scenario, axes: impl Iterator<Item = &'a str>) {
        match self {
            Ablation::But(vary) => vary.apply(scenario, axes),
            Ablation::Rfc2960 => preset(&Config::rfc2960(), scenario),
            Ablation::Rfc9260 => preset(&Config::rfc9260(), scenario),
        }
    }
}

fn preset(plain: &Config, scenario: &mut Scenario) {
    for policy in &mut scenario.policies {
        policy.config = with_mechanism(plain.clone(), &policy.config);
    }
}

/// Plain settings with the mechanisms of others.
fn with_mechanism(mut plain: Config, papers: &Settings) -> Settings {
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
        plain.rto.initial = plain.rto.initial.max(papers.rto.min);
    }
    plain.buffer.receive = papers.buffer.receive;
    plain.buffer.send = papers.buffer.send;
    plain.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use byway_core::policy::{AfterRto, RetransmitTarget};

    /// caro-2006 A1 sets RTO.Min to 60 s, above RTO.Initial.
    #[test]
    fn a_least_rto_above_the_initial_one_is_no_fault() {
        let mut papers = Settings::preset("ns2").unwrap_or_else(|e| panic!("{e}"));
        papers.core.rto.min = Duration::from_secs(60);
        papers.core.rto.initial = Duration::from_secs(60);
        for plain in [Config::rfc2960(), Config::rfc9260()] {
            let plain = with_mechanism(plain, &papers);
            assert!(plain.core.check().is_ok());
        }
    }

    #[test]
    fn the_mechanism_stays_and_ns_2_goes() {
        let mut papers = Settings::preset("ns2").unwrap_or_else(|e| panic!("{e}"));
        papers.core.retransmission.target = RetransmitTarget::AllRtxAlt;
        papers.core.retransmission.after_rto = AfterRto::Heartbeat;
        papers.core.failure.path_max_retrans = 1;
        for (name, plain) in [
            ("rfc2960", Config::rfc2960()),
            ("rfc9260", Config::rfc9260()),
        ] {
            let plain = with_mechanism(plain, &papers);
            assert_eq!(plain.retransmission.target, papers.retransmission.target);
            assert_eq!(
                plain.retransmission.after_rto,
                papers.retransmission.after_rto
            );
            assert_eq!(plain.failure.path_max_retrans, 1);
            let preset = Settings::preset(name).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(plain.ns2, preset.ns2);
            assert_eq!(plain.congestion, preset.congestion);
            assert_ne!(plain.congestion, papers.congestion);
        }
    }
}
