//! A question that was found right, and its three cases.

use super::model::{Answer, Case, Goal, Milestone};
use super::timeline::{Luck, Sum};
use super::words::sum;
use byway_core::Config;
use byway_core::policy::RetransmitTarget;
use byway_dialect_ns2::Settings;
use std::time::Duration;

/// A question that was found right, with what all parts need.
pub(super) struct Frame<'a> {
    pub(super) config: &'a Settings,
    pub(super) rtt: Duration,
    /// The RTO of the typical case.
    pub(super) rto: Duration,
}

impl Frame<'_> {
    /// One way of the other path.
    pub(super) fn way(&self) -> Duration {
        self.rtt / 2
    }

    pub(super) fn luck(&self, case: Case) -> Luck {
        let cfg = self.config;
        let same = cfg.retransmission.target == RetransmitTarget::AllRtxSame;
        let waits = !same && !cfg.retransmission.new_data_at_rto;
        // Steady round trips, or a single sample, whose variance is half of it.
        let overdue = |variance: Duration| {
            let rule = cfg.failover.probe_timeout.as_ref()?;
            Some(rule.acknowledgement(self.rtt, variance, true))
        };
        match case {
            Case::Best => Luck {
                rto: cfg.rto.min,
                spread: 0.5,
                phase: 0.0,
                sack: Duration::ZERO,
                overdue: overdue(Duration::ZERO),
            },
            Case::Typical => Luck {
                rto: self.rto,
                spread: 1.0,
                phase: 0.5,
                sack: if waits {
                    self.rtt.saturating_add(cfg.sack.delay)
                } else {
                    Duration::ZERO
                },
                overdue: overdue(self.rtt / 2),
            },
            Case::Worst => Luck {
                rto: cfg.rto.max,
                spread: 1.5,
                phase: 1.0,
                sack: Duration::ZERO,
                overdue: None,
            },
        }
    }

    /// The three cases of `f`.
    pub(super) fn cases(&self, f: impl Fn(Luck) -> Option<Sum>) -> Vec<Answer> {
        [Case::Best, Case::Typical, Case::Worst]
            .into_iter()
            .map(|case| answer(case, f(self.luck(case))))
            .collect()
    }
}

pub(super) fn answer(case: Case, steps: Option<Sum>) -> Answer {
    Answer {
        case,
        seconds_s: steps.as_ref().map(|s| s.total().as_secs_f64()),
        sum: steps.as_ref().map_or("never".to_owned(), sum),
        steps: steps.unwrap_or_default(),
    }
}

/// The RTO that a steady round trip gives: that of the first sample (RFC 9260
/// section 6.3.1, C2). Later samples lower it towards the round trip.
pub(super) fn rto_of(cfg: &Config, rtt: Duration) -> Duration {
    rtt.saturating_mul(3).clamp(cfg.rto.min, cfg.rto.max)
}

/// What is reached when, and why.
pub(super) fn milestone(goal: Goal, cases: Vec<Answer>, why: impl Into<String>) -> Milestone {
    Milestone {
        goal,
        cases,
        why: why.into(),
    }
}

/// Path.Max.Retrans.
pub(super) fn pmr(cfg: &Config) -> u32 {
    cfg.failure.path_max_retrans
}
