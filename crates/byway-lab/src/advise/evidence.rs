//! What runs say of settings: one [`Sample`] for each seed, and figures with intervals.

use super::candidates::Draw;
use super::situations::{AWAY, LONGEST, Situation};
use super::wishes::Wishes;
use crate::engine::{Plan, Row, Status};
use crate::scenario::{Scenario, Traffic};
use crate::stats::Sample as Mean;
use serde::Serialize;
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// Confidence of all intervals.
pub(super) const CONFIDENCE: f64 = 0.95;
/// Resamples of a bootstrap.
const RESAMPLES: usize = 1000;

/// The runs of one seed: one in each situation.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Sample {
    /// The seed.
    pub seed: u64,
    /// The longest time without delivery in the run in which the first path dies, seconds;
    /// 150 if the association was lost.
    pub stall_s: f64,
    /// From the death until the sender thought the path potentially failed or inactive,
    /// seconds.
    pub notice_s: Option<f64>,
    /// Runs in which the association was lost.
    pub lost: u32,
    /// Moves to another path in the run in which nothing fails.
    pub moves: f64,
    /// Simulated hours of that run.
    pub hours: f64,
    /// Moves an hour in the runs in which nothing fails, on paths that differ from the
    /// description by a third.
    pub nearby_per_hour: f64,
    /// Share of the payload of the run in which nothing fails that was sent on other paths
    /// than the first.
    pub elsewhere: f64,
    /// From the repair of the first path until traffic is back on it, seconds: how much
    /// longer than the outage traffic used other paths.
    pub away_s: f64,
    /// Bytes delivered a second in the run in which nothing fails; for bulk traffic alone.
    pub rate_bytes_s: Option<f64>,
    /// The same where paths that are described without loss lose 0.1 %.
    pub lossy_rate_bytes_s: Option<f64>,
}

/// A figure and the interval that holds it with a confidence of 95 %.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The figure.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// What was measured of some settings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Seeds: so many runs of each situation stand behind each figure.
    pub runs: usize,
    /// Runs in which the association was lost.
    pub lost: u32,
    /// Mean of the longest time without delivery when the first path dies, seconds
    /// (Student's t by seed).
    pub stall_mean_s: Interval,
    /// Its median (bootstrap by seed).
    pub stall_median_s: Interval,
    /// Its 95th percentile (bootstrap by seed).
    pub stall_95th_s: Interval,
    /// Median of the time until the sender thought the path potentially failed or inactive;
    /// none if it never did.
    pub notice_median_s: Option<Interval>,
    /// Needless moves.
    pub moves: Moves,
    /// Share of the payload on other paths than the first while nothing fails.
    pub elsewhere: Interval,
    /// From the repair of the first path until traffic is back, seconds.
    pub away_s: Interval,
    /// Bytes delivered a second while nothing fails; for bulk traffic alone (Student's t by
    /// seed).
    pub rate_bytes_s: Option<Interval>,
    /// The same where paths that are described without loss lose 0.1 %.
    pub lossy_rate_bytes_s: Option<Interval>,
}

/// Needless moves while nothing fails.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Moves {
    /// How many.
    pub count: u64,
    /// In so many simulated hours.
    pub hours: f64,
    /// An hour (Poisson, wider by the scatter between seeds; for none the rule of three).
    pub per_hour: Interval,
}

/// The score of settings on one seed or on average; less is better. See [`Wishes`].
pub type Score = f64;

impl Sample {
    /// The score of this seed.
    #[must_use]
    pub fn score(&self, wishes: &Wishes) -> Score {
        let per_hour = per_hour(self.moves, self.hours);
        // One run on the described paths and two on others.
        let moves = (per_hour + 2.0 * self.nearby_per_hour) / 3.0;
        wishes.stall * self.stall_s
            + wishes.moves * moves / 10.0
            + wishes.cost * (self.elsewhere * 10.0 + self.away_s / 100.0)
    }
}

fn per_hour(moves: f64, hours: f64) -> f64 {
    if hours > 0.0 { moves / hours } else { 0.0 }
}

/// Where a sample's values stand among a plan's metrics.
pub(super) struct Columns {
    stall: usize,
    notice: usize,
    moves: usize,
    end: usize,
    delivered: usize,
    took: usize,
    data: Vec<usize>,
    again: Vec<usize>,
}

impl Columns {
    pub(super) fn of(plan: &Plan, paths: usize) -> Option<Columns> {
        let of_paths = |name: &str| -> Option<Vec<usize>> {
            (1..=paths)
                .map(|n| plan.metric(&format!("path{n}_{name}")))
                .collect()
        };
        Some(Columns {
            stall: plan.metric("stall_s")?,
            notice: plan.metric("suspect_s")?,
            moves: plan.metric("spurious_failovers")?,
            end: plan.metric("end_s")?,
            delivered: plan.metric("delivered_bytes")?,
            took: plan.metric("delivered_s")?,
            data: of_paths("data_bytes")?,
            again: of_paths("retransmitted_bytes")?,
        })
    }

    /// Share of bytes on other paths than the first.
    fn elsewhere(row: &Row, columns: &[&[usize]]) -> f64 {
        let value = |place: &usize| row.value(*place).unwrap_or(0.0);
        let all: f64 = columns.iter().copied().flatten().map(value).sum();
        let first: f64 = columns.iter().filter_map(|c| c.first()).map(value).sum();
        if all > 0.0 { 1.0 - first / all } else { 0.0 }
    }

    /// Bytes delivered a second, until the last one or the end of the run.
    fn rate(&self, row: &Row) -> Option<f64> {
        let seconds = row.value(self.took).or_else(|| row.value(self.end))?;
        (seconds > 0.0).then(|| row.value(self.delivered).unwrap_or(0.0) / seconds)
    }

    /// A sample of the rows of one seed, in the order of [`Situation::of`]; none if one of
    /// [`Situation::of`] any traffic is missing.
    pub(super) fn sample(&self, rows: &[&Row], returning: &Scenario) -> Option<Sample> {
        let [death, quiet, back, shorter, longer, rest @ ..] = rows else {
            return None;
        };
        let lossy = rest.first();
        let moves = |row: &Row| row.value(self.moves).unwrap_or(0.0);
        let hours = |row: &Row| row.value(self.end).unwrap_or(0.0) / 3600.0;
        let is_lost = |row: &Row| row.status == Status::Lost;
        let most = LONGEST.as_secs_f64();
        let traffic = match &returning.traffic {
            Traffic::Periodic { every, count, .. } => every.as_secs_f64() * *count as f64,
            Traffic::Bulk { .. } => 0.0,
        };
        let used = Columns::elsewhere(back, &[&self.data]) * traffic;
        Some(Sample {
            seed: death.seed,
            stall_s: match is_lost(death) {
                true => most,
                false => death.value(self.stall).unwrap_or(most).min(most),
            },
            notice_s: death.value(self.notice),
            lost: rows.iter().map(|row| u32::from(is_lost(row))).sum(),
            moves: moves(quiet),
            hours: hours(quiet),
            nearby_per_hour: (per_hour(moves(shorter), hours(shorter))
                + per_hour(moves(longer), hours(longer)))
                / 2.0,
            elsewhere: Columns::elsewhere(quiet, &[&self.data, &self.again]),
            away_s: match is_lost(back) {
                true => most,
                false => (used - AWAY.as_secs_f64()).max(0.0),
            },
            rate_bytes_s: lossy.and_then(|_| self.rate(quiet)),
            lossy_rate_bytes_s: lossy.and_then(|row| self.rate(row)),
        })
    }
}

/// The place of a situation's row among those of a candidate.
pub(super) fn place(situation: Situation) -> usize {
    situation as usize
}

/// The figures of some samples.
pub(super) fn figures(samples: &[Sample]) -> Figures {
    let of = |value: fn(&Sample) -> f64| -> Vec<f64> { samples.iter().map(value).collect() };
    let some = |value: fn(&Sample) -> Option<f64>| -> Option<Vec<f64>> {
        let values: Vec<f64> = samples.iter().filter_map(value).collect();
        (!values.is_empty()).then_some(values)
    };
    let stalls = of(|s| s.stall_s);
    let notices: Vec<f64> = samples.iter().filter_map(|s| s.notice_s).collect();
    let mean = |values: &[f64]| {
        let mean = Mean::of(values);
        let half = mean.half_width(CONFIDENCE).unwrap_or(f64::INFINITY);
        Interval {
            value: mean.mean,
            low: (mean.mean - half).max(0.0),
            high: mean.mean + half,
        }
    };
    Figures {
        runs: samples.len(),
        lost: samples.iter().map(|s| s.lost).sum(),
        stall_mean_s: mean(&stalls),
        stall_median_s: resampled(&stalls, 0.5),
        stall_95th_s: resampled(&stalls, 0.95),
        notice_median_s: (!notices.is_empty()).then(|| resampled(&notices, 0.5)),
        moves: moves(samples),
        elsewhere: mean(&of(|s| s.elsewhere)),
        away_s: mean(&of(|s| s.away_s)),
        rate_bytes_s: some(|s| s.rate_bytes_s).map(|rates| mean(&rates)),
        lossy_rate_bytes_s: some(|s| s.lossy_rate_bytes_s).map(|rates| mean(&rates)),
    }
}

/// A quantile with its percentile bootstrap interval; seeds are what is drawn.
fn resampled(values: &[f64], share: f64) -> Interval {
    let mut draw = Draw(values.len() as u64);
    let mut again = vec![0.0; values.len()];
    let mut found: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            for slot in &mut again {
                *slot = values[draw.below(values.len() as u64) as usize];
            }
            quantile(&mut again, share)
        })
        .collect();
    Interval {
        value: quantile(&mut values.to_vec(), share),
        low: quantile(&mut found, (1.0 - CONFIDENCE) / 2.0),
        high: quantile(&mut found, f64::midpoint(1.0, CONFIDENCE)),
    }
}

/// The value below which this share of them lies.
fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = (share * values.len() as f64).ceil() as usize;
    values
        .get(place.saturating_sub(1).min(values.len().saturating_sub(1)))
        .copied()
        .unwrap_or(f64::NAN)
}

/// Needless moves an hour. The interval is that of a Poisson count (Garwood), wider by the
/// scatter between seeds where they scatter more than chance alone; for no move at all its
/// upper end is 3 divided by the hours (rule of three).
fn moves(samples: &[Sample]) -> Moves {
    let count: f64 = samples.iter().map(|s| s.moves).sum();
    let hours: f64 = samples.iter().map(|s| s.hours).sum();
    let per_hour = |count: f64| if hours > 0.0 { count / hours } else { 0.0 };
    let counts: Vec<f64> = samples.iter().map(|s| s.moves).collect();
    let spread = Mean::of(&counts);
    let scatter = if spread.mean > 0.0 {
        (spread.sd * spread.sd / spread.mean).max(1.0)
    } else {
        1.0
    };
    // Moves that come in groups count as so many fewer independent ones.
    let independent = count / scatter;
    let quantile = |freedom: f64, share: f64| {
        let distribution = ChiSquared::new(freedom).ok();
        distribution.map_or(0.0, |d| d.inverse_cdf(share) / 2.0)
    };
    let rest = (1.0 - CONFIDENCE) / 2.0;
    let (low, high) = if count <= 0.0 {
        (0.0, 3.0)
    } else {
        (
            quantile(2.0 * independent, rest) * scatter,
            quantile(2.0 * (independent + 1.0), 1.0 - rest) * scatter,
        )
    };
    Moves {
        count: count as u64,
        hours,
        per_hour: Interval {
            value: per_hour(count),
            low: per_hour(low),
            high: per_hour(high),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(seed: u64, stall_s: f64, moves: f64) -> Sample {
        Sample {
            seed,
            stall_s,
            notice_s: None,
            lost: 0,
            moves,
            hours: 0.5,
            nearby_per_hour: 0.0,
            elsewhere: 0.0,
            away_s: 0.0,
            rate_bytes_s: None,
            lossy_rate_bytes_s: None,
        }
    }

    #[test]
    fn no_move_at_all_has_the_upper_bound_of_the_rule_of_three() {
        let samples: Vec<Sample> = (0..20).map(|seed| sample(seed, 0.1, 0.0)).collect();
        let moves = moves(&samples);
        assert_eq!((moves.count, moves.hours), (0, 10.0));
        assert!((moves.per_hour.high - 0.3).abs() < 1e-12);
        assert_eq!(moves.per_hour.low, 0.0);
    }

    #[test]
    fn a_count_has_its_poisson_interval_and_a_wider_one_if_it_comes_in_groups() {
        // Garwood's interval of a count of 10 is 4.795 to 18.39.
        let even: Vec<Sample> = (0..20).map(|s| sample(s, 0.1, (s % 2) as f64)).collect();
        let found = moves(&even).per_hour;
        assert!((found.low - 0.4795).abs() < 1e-3, "{found:?}");
        assert!((found.high - 1.839).abs() < 1e-3, "{found:?}");
        let grouped: Vec<Sample> = (0..20)
            .map(|s| sample(s, 0.1, if s == 0 { 10.0 } else { 0.0 }))
            .collect();
        let wide = moves(&grouped).per_hour;
        assert!(
            wide.high > 2.0 * found.high && wide.low < found.low,
            "{wide:?}"
        );
    }

    #[test]
    fn quantiles_lie_among_the_values_and_their_intervals_around_them() {
        let samples: Vec<Sample> = (1..=100).map(|s| sample(s, s as f64, 0.0)).collect();
        let found = figures(&samples);
        assert_eq!(found.stall_median_s.value, 50.0);
        assert_eq!(found.stall_95th_s.value, 95.0);
        assert!(found.stall_median_s.low < 50.0 && found.stall_median_s.high > 50.0);
        assert!(found.stall_95th_s.high <= 100.0);
    }
}
