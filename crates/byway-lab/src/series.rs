//! Curves of bounded size that keep their extremes.

use serde::Serialize;

/// Points a curve is thinned at while it grows.
const GROW_LIMIT: usize = 1 << 16;
/// Points that are left then.
const GROW_TARGET: usize = 1 << 14;
/// Widths a sum over time may have at most.
const MAX_BUCKETS: usize = 4096;

/// A value over time, in order of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    points: Vec<(u64, f64)>,
}

impl Curve {
    /// Adds the value at `nanos`, not before the last one.
    pub fn push(&mut self, nanos: u64, value: f64) {
        self.points.push((nanos, value));
        if self.points.len() > GROW_LIMIT {
            self.points = thinned(&self.points, GROW_TARGET);
        }
    }

    /// Adds the value at `nanos` unless it is what the curve ends with.
    pub fn push_change(&mut self, nanos: u64, value: f64) {
        if self.points.last().is_none_or(|(_, last)| *last != value) {
            self.push(nanos, value);
        }
    }

    /// The points: nanoseconds and value.
    #[must_use]
    pub fn points(&self) -> &[(u64, f64)] {
        &self.points
    }

    /// At most about `limit` points, with the least and the greatest value of
    /// every stretch of time, and both ends.
    #[must_use]
    pub fn thinned(&self, limit: usize) -> Curve {
        Curve {
            points: thinned(&self.points, limit),
        }
    }
}

impl Serialize for Curve {
    /// Two lists, seconds and values: smaller than a list of pairs.
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut out = s.serialize_struct("Curve", 2)?;
        out.serialize_field(
            "t",
            &self
                .points
                .iter()
                .map(|(t, _)| seconds(*t))
                .collect::<Vec<_>>(),
        )?;
        out.serialize_field(
            "v",
            &self.points.iter().map(|(_, v)| *v).collect::<Vec<_>>(),
        )?;
        out.end()
    }
}

/// Seconds to the microsecond: finer is invisible and makes reports large.
#[must_use]
pub fn seconds(nanos: u64) -> f64 {
    (nanos / 1_000) as f64 / 1e6
}

fn thinned(points: &[(u64, f64)], limit: usize) -> Vec<(u64, f64)> {
    let stretches = (limit / 4).max(1);
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return Vec::new();
    };
    if points.len() <= limit {
        return points.to_vec();
    }
    let span = (last.0 - first.0).max(1);
    let stretch =
        |t: u64| (u128::from(t - first.0) * stretches as u128 / (u128::from(span) + 1)) as usize;
    let mut kept = Vec::with_capacity(limit);
    let mut from = 0;
    while from < points.len() {
        let here = stretch(points[from].0);
        let to = from + points[from..].partition_point(|p| stretch(p.0) == here);
        // First and last keep the shape, least and greatest the extremes.
        let by_value = |a: &usize, b: &usize| points[*a].1.total_cmp(&points[*b].1);
        let least = (from..to).min_by(by_value).unwrap_or(from);
        let greatest = (from..to).max_by(by_value).unwrap_or(from);
        let mut chosen = [from, least, greatest, to - 1];
        chosen.sort_unstable();
        let mut before = None;
        for index in chosen {
            if before != Some(index) {
                kept.push(points[index]);
            }
            before = Some(index);
        }
        from = to;
    }
    kept
}

/// A sum per stretch of time, in stretches that widen as time goes on.
#[derive(Clone, Debug, PartialEq)]
pub struct Buckets {
    width: u64,
    sums: Vec<u64>,
}

impl Default for Buckets {
    fn default() -> Self {
        Buckets {
            width: 1_000_000,
            sums: Vec::new(),
        }
    }
}

impl Buckets {
    /// Adds `amount` at `nanos`.
    pub fn add(&mut self, nanos: u64, amount: u64) {
        while (nanos / self.width) as usize >= MAX_BUCKETS {
            self.sums = self.sums.chunks(2).map(|pair| pair.iter().sum()).collect();
            self.width *= 2;
        }
        let index = (nanos / self.width) as usize;
        if index >= self.sums.len() {
            self.sums.resize(index + 1, 0);
        }
        self.sums[index] += amount;
    }

    /// The amount between two times, with the stretches at the ends shared in
    /// proportion.
    #[must_use]
    pub fn between(&self, from: u64, to: u64) -> f64 {
        let mut sum = 0.0;
        let first = (from / self.width) as usize;
        for (i, amount) in self.sums.iter().enumerate().skip(first) {
            let (start, end) = (i as u64 * self.width, (i as u64 + 1) * self.width);
            if start >= to {
                break;
            }
            let covered = end.min(to).saturating_sub(start.max(from));
            sum += *amount as f64 * covered as f64 / self.width as f64;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thinned_curve_keeps_its_ends_and_extremes() {
        let mut curve = Curve::default();
        for i in 0..10_000_u64 {
            let value = match i {
                4_321 => 1e6,
                8_765 => -1e6,
                _ => (i % 100) as f64,
            };
            curve.push(i * 1_000, value);
        }
        let thin = curve.thinned(400);
        assert!(thin.points().len() <= 400, "{}", thin.points().len());
        assert_eq!(thin.points().first(), curve.points().first());
        assert_eq!(thin.points().last(), curve.points().last());
        assert!(thin.points().contains(&(4_321_000, 1e6)));
        assert!(thin.points().contains(&(8_765_000, -1e6)));
        assert!(thin.points().is_sorted_by_key(|p| p.0));
    }

    #[test]
    fn a_curve_that_never_ends_stays_bounded() {
        let mut curve = Curve::default();
        for i in 0..500_000 {
            curve.push(i, i as f64);
        }
        assert!(curve.points().len() <= GROW_LIMIT);
    }

    #[test]
    fn sums_survive_widening() {
        let mut buckets = Buckets::default();
        for second in 0..1_000 {
            buckets.add(second * 1_000_000_000, 10);
        }
        let all = buckets.between(0, 2_000_000_000_000);
        assert!((all - 10_000.0).abs() < 1e-6, "{all}");
    }
}
