//! Chooses the primary by estimates (caro-2006 section IV.2, claim A13).
//!
//! A permanent failover helps if the alternate is better and hurts if it is not. RTT
//! alone or loss alone does not show this. So a failover becomes permanent only if the
//! formula gives the new path a higher rate. Optionally the best path becomes the
//! primary without a failure. Both need a margin and enough samples, and uncertainty
//! counts against the change. So data does not alternate between similar paths
//! (hysteresis).
//!
//! RFC 9260 section 6.4 leaves the primary to the user; RFC 7829 section 5 decides by
//! errors only. Off by default.
//!
//! The paper's formula ignores timeouts. It rates a path of 90 ms and 5 % loss (43
//! packets a second) like one of 210 ms and 1 % (41), but in the paper's figure 11 the
//! second is 23 % faster. With an RTO.Min of 1 s the timeouts at 5 % cost more than the
//! longer round trips. So Padhye's full formula is also offered, with the rate
//! 1 / (RTT sqrt(2bp/3) + T0 min(1, 3 sqrt(3bp/8)) p (1 + 32 p^2)). It gives 18 and 37.

use super::estimate::{Estimate, EstimateConfig, Formula};
use crate::path::{PathId, PathsView};

/// Packets that one delayed SACK acknowledges.
const B: f64 = 2.0;

impl Formula {
    /// Packets per second on a path with this round trip and RTO and the loss rate
    /// `p`; infinite if `p` is 0.
    #[must_use]
    pub fn rate(self, estimate: &Estimate, p: f64) -> f64 {
        let rtt = estimate.rtt.as_secs_f64();
        let windows = rtt * (2.0 * B * p / 3.0).sqrt();
        let timeouts = match self {
            Formula::Simple => 0.0,
            Formula::WithTimeouts => {
                let chance = (3.0 * (3.0 * B * p / 8.0).sqrt()).min(1.0);
                estimate.rto.as_secs_f64() * chance * p * (1.0 + 32.0 * p * p)
            }
        };
        1.0 / (windows + timeouts)
    }
}

/// Whether `to` is so much better than `from` that a change pays. Uncertainty counts
/// against it: for `to` the highest loss rate of its interval is used, for `from` the
/// lowest. If `from` may be free of loss, something else limits its rate, and the
/// formulas give no reason to leave it.
#[must_use]
pub fn is_better(cfg: &EstimateConfig, from: &Estimate, to: &Estimate) -> bool {
    let enough = f64::from(cfg.min_samples);
    if from.trials < enough || to.trials < enough {
        return false;
    }
    let (least, _) = from.loss_between(cfg.deviations);
    let (_, most) = to.loss_between(cfg.deviations);
    let rate = |e, p| cfg.formula.rate(e, p);
    least > 0.0 && rate(to, most) > cfg.factor * rate(from, least)
}

/// The active path that should become the primary; `None` if the primary should stay.
#[must_use]
pub fn best(
    cfg: &EstimateConfig,
    paths: &PathsView<'_>,
    estimate: impl Fn(PathId) -> Option<Estimate>,
) -> Option<PathId> {
    let primary = paths.primary();
    let from = estimate(primary)?;
    let worst = |e: &Estimate| cfg.formula.rate(e, e.loss_between(cfg.deviations).1);
    paths
        .ring(primary)
        .filter(|&p| p != primary && paths.is_preferred(p))
        .filter_map(|p| Some((p, estimate(p)?)))
        .filter(|(_, to)| is_better(cfg, &from, to))
        .max_by(|(_, a), (_, b)| worst(a).total_cmp(&worst(b)))
        .map(|(p, _)| p)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::PathState;
    use crate::policy::testing::table;
    use crate::time::Duration;

    fn seen(rtt: u64, loss: f64, trials: f64) -> Estimate {
        Estimate {
            rtt: Duration::from_millis(rtt),
            rto: Duration::from_secs(1),
            trials,
            lost: loss * trials,
        }
    }

    #[test]
    fn the_two_formulas() {
        // RTT in ms, loss, packets per second by each formula
        for (rtt, p, simple, full) in [
            (90, 0.05, 43.0, 18.3),
            (210, 0.01, 41.2, 37.2),
            (210, 0.05, 18.4, 11.7),
            (90, 0.01, 96.2, 76.9),
            (90, 0.10, 30.4, 7.1),
        ] {
            let e = seen(rtt, p, 1e6);
            let found = [Formula::Simple, Formula::WithTimeouts].map(|f| f.rate(&e, p));
            let near = |a: f64, b: f64| (a / b - 1.0).abs() < 0.01;
            assert!(near(found[0], simple), "{rtt} ms {p}: {found:?}");
            assert!(near(found[1], full), "{rtt} ms {p}: {found:?}");
        }
        assert_eq!(
            Formula::Simple.rate(&seen(90, 0.0, 1.0), 0.0),
            f64::INFINITY
        );
    }

    #[test]
    fn a_move_needs_a_margin_and_samples() {
        use Formula::{Simple, WithTimeouts};
        let many = 5000.0;
        let primary = seen(90, 0.05, many);
        for (formula, from, to, expected) in [
            // Figure 10: the same round trip, less loss.
            (Simple, primary, seen(90, 0.01, many), true),
            (Simple, primary, seen(90, 0.0, many), true),
            (Simple, primary, seen(90, 0.05, many), false),
            (Simple, primary, seen(90, 0.045, many), false),
            // Figure 11: 210 ms.
            (Simple, primary, seen(210, 0.0, many), true),
            (Simple, primary, seen(210, 0.01, many), false),
            (WithTimeouts, primary, seen(210, 0.01, many), true),
            (WithTimeouts, primary, seen(210, 0.05, many), false),
            (WithTimeouts, primary, seen(210, 0.10, many), false),
            // Figure 12: 210 ms is the primary.
            (Simple, seen(210, 0.05, many), seen(90, 0.05, many), true),
            (Simple, seen(210, 0.05, many), seen(90, 0.10, many), true),
            (
                WithTimeouts,
                seen(210, 0.05, many),
                seen(90, 0.10, many),
                false,
            ),
            // Too few samples of either.
            (Simple, primary, seen(90, 0.0, 199.0), false),
            (Simple, seen(90, 0.05, 199.0), seen(90, 0.0, many), false),
            // Enough of them, but they do not prove enough.
            (Simple, primary, seen(210, 0.0, 300.0), false),
            // Nothing lost: something else limits the rate.
            (Simple, seen(210, 0.0, many), seen(90, 0.0, many), false),
        ] {
            let cfg = EstimateConfig {
                formula,
                ..EstimateConfig::default()
            };
            assert_eq!(
                is_better(&cfg, &from, &to),
                expected,
                "{formula:?} {from:?} {to:?}"
            );
        }
    }

    #[test]
    fn the_best_of_the_active_paths() {
        use PathState::{Active as A, Inactive as I, PotentiallyFailed as P};
        let seen = [
            Some(seen(90, 0.05, 5000.0)),
            Some(seen(90, 0.01, 5000.0)),
            Some(seen(90, 0.001, 5000.0)),
            None,
        ];
        for (states, expected) in [
            ([A, A, A, A], Some(2)),
            ([P, A, P, A], Some(1)),
            ([I, I, A, A], Some(2)),
            ([A, P, I, A], None),
        ] {
            let t = table(&states.map(|s| (s, 0)), 0, 0, 0);
            let cfg = EstimateConfig::default();
            let found = best(&cfg, &t.view(), |p| seen[p.index()]);
            assert_eq!(found, expected.map(PathId), "{states:?}");
        }
    }
}
