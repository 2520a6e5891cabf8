//! Cells of a study and the samples in them, byway's and ns-2's alike.

use super::sample::{Kind, Sample};
pub use byway_lab::axis::Value;
use serde::Deserialize;
use std::collections::BTreeMap;

/// One or several values.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Values {
    /// One.
    One(Value),
    /// Any of these.
    Any(Vec<Value>),
}

/// Coordinates by the name of their axis.
pub type Place = BTreeMap<String, Value>;

/// Which cells are meant: for some axes, the values that will do.
pub type Filter = BTreeMap<String, Values>;

/// Whether a cell at `place` is meant by `filter`. An axis that a cell does not
/// have excludes it.
#[must_use]
pub fn is_meant(place: &Place, filter: &Filter) -> bool {
    filter.iter().all(|(axis, values)| {
        place.get(axis).is_some_and(|at| match values {
            Values::One(value) => at == value,
            Values::Any(values) => values.contains(at),
        })
    })
}

/// Whether `place` has these values of those of the axes that it has.
#[must_use]
pub(super) fn is_at(place: &Place, at: &Place) -> bool {
    let differs = |(axis, value): (&String, &Value)| place.get(axis).is_some_and(|v| v != value);
    !at.iter().any(differs)
}

/// A place in words, without the axes that `without` names: "loss1 5, PMR 0".
#[must_use]
pub fn place_words(place: &Place, without: &[&str]) -> String {
    let parts: Vec<String> = place
        .iter()
        .filter(|(axis, _)| !without.contains(&axis.as_str()))
        .map(|(axis, value)| match (axis.as_str(), value) {
            ("loss1", v) => format!("{v} % loss on path 1"),
            ("alternates", v) => format!("{v} % on the others"),
            ("loss2", v) => format!("{v} % on path 2"),
            ("policy" | "scheme", v) => v.to_string(),
            (_, v) => format!("{axis} {v}"),
        })
        .collect();
    parts.join(", ")
}

/// One cell: its place and what was measured there.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Cell {
    /// Where.
    pub place: Place,
    /// Samples by the name of the measure.
    pub samples: BTreeMap<String, Sample>,
}

impl Cell {
    /// The sample of a measure; `"failovers >= 1"` is the share of runs for
    /// which that holds.
    #[must_use]
    pub fn sample(&self, measure: &str) -> Option<Sample> {
        if let Some(sample) = self.samples.get(measure) {
            return Some(sample.clone());
        }
        let condition = Condition::read(measure)?;
        let sample = self.samples.get(condition.measure)?;
        let holds = |v: f64| f64::from(u8::from(condition.holds(v)));
        (!sample.runs.is_empty()).then(|| sample.map(Kind::Share, holds))
    }
}

/// "MEASURE >= LIMIT" or "MEASURE <= LIMIT".
pub(super) struct Condition<'a> {
    pub(super) measure: &'a str,
    least: bool,
    limit: f64,
}

impl<'a> Condition<'a> {
    pub(super) fn read(text: &'a str) -> Option<Condition<'a>> {
        let mut words = text.split_whitespace();
        let (measure, sign, limit) = (words.next()?, words.next()?, words.next()?);
        let least = match sign {
            ">=" => true,
            "<=" => false,
            _ => return None,
        };
        Some(Condition {
            measure,
            least,
            limit: limit.parse().ok()?,
        })
    }

    pub(super) fn holds(&self, value: f64) -> bool {
        if self.least {
            value >= self.limit
        } else {
            value <= self.limit
        }
    }
}

/// All cells of a study.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Cells(pub Vec<Cell>);

impl Cells {
    /// Those that `filter` means and that have the measure.
    pub fn samples<'a>(
        &'a self,
        filter: &'a Filter,
        measure: &'a str,
    ) -> impl Iterator<Item = (&'a Place, Sample)> {
        self.0
            .iter()
            .filter(|c| is_meant(&c.place, filter))
            .filter_map(move |c| Some((&c.place, c.sample(measure)?)))
            .filter(|(_, s)| s.n > 0)
    }

    /// Pairs of cells that differ in some axes alone: those that `filter` means and
    /// that are at `one` on these axes, each with the cell that is at `other`.
    /// Only those whose partner has the measure, too.
    pub fn pairs<'a>(
        &'a self,
        filter: &'a Filter,
        measure: &'a str,
        one: &'a Place,
        other: &'a Place,
    ) -> impl Iterator<Item = (&'a Place, Sample, Sample)> {
        self.samples(filter, measure)
            .filter(|(place, _)| one.iter().all(|(axis, v)| place.get(axis) == Some(v)))
            .filter_map(move |(place, sample)| {
                let mut there = place.clone();
                there.extend(other.clone());
                let partner = self.0.iter().find(|c| c.place == there)?;
                let theirs = partner.sample(measure).filter(|s| s.n > 0)?;
                Some((place, sample, theirs))
            })
    }

    /// All runs of the meant cells as one sample; by their means and deviations
    /// where the runs are not known.
    #[must_use]
    pub fn pooled(&self, filter: &Filter, measure: &str) -> Option<Sample> {
        pool(self.samples(filter, measure).map(|(_, s)| s).collect())
    }

    /// The values of an axis among the meant cells, in order.
    #[must_use]
    pub fn values(&self, axis: &str, filter: &Filter) -> Vec<Value> {
        let mut values: Vec<Value> = Vec::new();
        for cell in self.0.iter().filter(|c| is_meant(&c.place, filter)) {
            if let Some(value) = cell.place.get(axis)
                && !values.contains(value)
            {
                values.push(value.clone());
            }
        }
        values.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
        values
    }
}

/// All runs of some samples as one, of which equal ones count once; by their means
/// and deviations where the runs are not known.
pub(super) fn pool(all: Vec<Sample>) -> Option<Sample> {
    let kind = all.first().map(|s| s.kind).unwrap_or_default();
    if let [only] = all.as_slice() {
        return Some(only.clone());
    }
    if all.is_empty() {
        return None;
    }
    if all.iter().all(|s| s.runs.len() == s.n) {
        let before = all.iter().map(|s| s.all).sum();
        let runs = all.into_iter().flat_map(|s| s.runs).collect();
        return Some(Sample {
            all: before,
            ..Sample::of_runs(runs, kind)
        });
    }
    let n: usize = all.iter().map(|s| s.n).sum();
    let mean = all.iter().map(|s| s.mean * s.n as f64).sum::<f64>() / n as f64;
    let squares: f64 = all
        .iter()
        .map(|s| {
            s.sd * s.sd * (s.n.saturating_sub(1)) as f64 + s.n as f64 * (s.mean - mean).powi(2)
        })
        .sum();
    let sd = (squares / (n.max(2) - 1) as f64).sqrt();
    Some(Sample {
        n,
        all: n,
        mean,
        sd,
        kind,
        runs: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(loss: f64, policy: &str, values: &[f64]) -> Cell {
        let place = [
            ("loss1".to_owned(), Value::Number(loss)),
            ("policy".to_owned(), Value::Text(policy.to_owned())),
        ];
        let sample = Sample::of((1..).zip(values.iter().copied()).collect(), Kind::Count);
        Cell {
            place: place.into(),
            samples: [("failovers".to_owned(), sample)].into(),
        }
    }

    fn filter(text: &str) -> Filter {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn cells_are_found_by_their_axes_and_pooled() {
        let cells = Cells(vec![
            cell(1.0, "A", &[0.0, 0.0]),
            cell(2.0, "A", &[1.0, 3.0]),
            cell(2.0, "B", &[9.0]),
        ]);
        let a = filter("loss1 = [1, 2]\npolicy = \"A\"");
        let pooled = cells.pooled(&a, "failovers").unwrap();
        assert_eq!((pooled.n, pooled.all, pooled.mean), (4, 4, 1.0));
        let any = cells.pooled(&a, "failovers >= 1").unwrap();
        assert_eq!((any.mean, any.kind), (0.5, Kind::Share));
        assert_eq!(
            cells.values("loss1", &filter("")),
            [Value::Number(1.0), Value::Number(2.0)]
        );
        assert!(cells.pooled(&filter("pmr = 1"), "failovers").is_none());
    }

    #[test]
    fn what_is_known_by_its_mean_alone_pools_to_the_same() {
        let mut cells = Cells(vec![
            cell(1.0, "A", &[1.0, 2.0]),
            cell(2.0, "A", &[4.0, 9.0]),
        ]);
        let whole = cells.pooled(&filter(""), "failovers").unwrap();
        for cell in &mut cells.0 {
            cell.samples.values_mut().for_each(|s| s.runs.clear());
        }
        let pooled = cells.pooled(&filter(""), "failovers").unwrap();
        assert!((whole.mean - pooled.mean).abs() < 1e-9 && (whole.sd - pooled.sd).abs() < 1e-9);
    }
}
