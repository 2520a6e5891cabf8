//! Which path is primary, by estimate (caro-2006 section IV.2, claim A13).
//!
//! A permanent failover helps where the alternate is better and hurts where it
//! is not, and RTT or loss alone do not say which: a permanent failover is
//! allowed only to a path that Padhye's formula holds for better. Optionally the
//! best path becomes the primary without any failure. Either needs a margin and
//! a number of samples, and counts doubt against the move, so that of two like
//! paths neither is left (hysteresis).
//!
//! RFC 9260 section 6.4 leaves the primary to the user; RFC 7829 section 5 asks
//! for errors alone. Off by default.
//!
//! The paper's formula leaves timeouts out. It holds a path of 90 ms and 5 %
//! (43 packets a second) for as good as one of 210 ms and 1 % (41), and the
//! paper's own figure 11 shows the second ahead by 23 %: with RTO.Min of a second
//! the timeouts of 5 % cost more than the round trips. Padhye's full formula, for
//! which the rate is
//! 1 / (RTT sqrt(2bp/3) + T0 min(1, 3 sqrt(3bp/8)) p (1 + 32 p^2)), gives 18
//! against 37; it is offered beside the paper's.

use super::estimate::{Estimate, EstimateConfig, Formula};
use crate::path::{PathId, PathState, PathsView};

/// Packets that one acknowledgement covers: SACKs are delayed.
const B: f64 = 2.0;

impl Formula {
    /// Packets a second over a path of this round trip and timeout that loses
    /// `p`; endless where nothing is lost.
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

/// Whether `to` is so much better than `from` that moving is worth it. Doubt
/// counts against it: `to` is taken to lose the most that its samples allow,
/// `from` the least. Where `from` lost nothing, its rate is bounded by something
/// of which the formulas know nothing, and there is no reason to leave.
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

/// The active path that should be the primary instead of the one that is.
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
        .filter(|&p| p != primary && paths.state(p) == PathState::Active)
        .filter_map(|p| Some((p, estimate(p)?)))
        .filter(|(_, to)| is_better(cfg, &from, to))
        .max_by(|(_, a), (_, b)| worst(a).total_cmp(&worst(b)))
        .map(|(p, _)| p)
}

#[cfg(test)]
mod tests {
    use super::*;
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
        // RTT ms, loss, packets a second by either
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
            // Nothing lost: something else bounds the rate.
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
