//! What repeated runs showed: medians and spread.

use serde_json::{Value, json};

/// The result of one run: names, which carry the unit, with their values.
pub(crate) type Figures = Vec<(&'static str, f64)>;

/// The counted runs of one contender.
pub(crate) struct Series {
    pub(crate) name: &'static str,
    pub(crate) setting: &'static str,
    pub(crate) ours: bool,
    runs: Vec<Figures>,
}

/// Median and extremes of one figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    min: f64,
    max: f64,
}

impl Spread {
    /// `None` if there are no values.
    pub(crate) fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let middle = values.len() / 2;
        let median = match values.len() % 2 {
            1 => values[middle],
            _ => (values[middle - 1] + values[middle]) / 2.0,
        };
        Some(Self { median, min, max })
    }

    pub(crate) fn json(self) -> Value {
        json!({"median": rounded(self.median), "min": rounded(self.min), "max": rounded(self.max)})
    }

    pub(crate) fn cell(self) -> String {
        format!(
            "{} ({}-{})",
            short(self.median),
            short(self.min),
            short(self.max)
        )
    }
}

impl Series {
    /// No runs yet.
    pub(crate) fn new(name: &'static str, setting: &'static str, ours: bool) -> Self {
        Self {
            name,
            setting,
            ours,
            runs: Vec::new(),
        }
    }

    /// Adds a run.
    pub(crate) fn push(&mut self, figures: Figures) {
        self.runs.push(figures);
    }

    pub(crate) fn spread(&self, figure: &str) -> Option<Spread> {
        let of_run = |run: &Figures| {
            run.iter()
                .find(|(name, _)| *name == figure)
                .map(|(_, v)| *v)
        };
        Spread::of(self.runs.iter().filter_map(of_run).collect())
    }

    /// The figures' names, in the order of the first run.
    pub(crate) fn figures(&self) -> impl Iterator<Item = &'static str> {
        self.runs
            .first()
            .into_iter()
            .flatten()
            .map(|(name, _)| *name)
    }
}

/// Four significant digits, so that the line stays readable.
pub(crate) fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let scale = 10f64.powf(3.0 - value.abs().log10().floor());
    (value * scale).round() / scale
}

fn short(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_of_odd_and_even_counts() {
        let table = [
            (vec![], None),
            (vec![2.0], Some((2.0, 2.0, 2.0))),
            (vec![3.0, 1.0, 2.0], Some((2.0, 1.0, 3.0))),
            (vec![4.0, 1.0, 2.0, 3.0], Some((2.5, 1.0, 4.0))),
        ];
        for (values, expected) in table {
            let expected = expected.map(|(median, min, max)| Spread { median, min, max });
            assert_eq!(Spread::of(values.clone()), expected, "{values:?}");
        }
    }

    #[test]
    fn four_significant_digits() {
        for (value, expected) in [
            (123_456.0, 123_500.0),
            (0.012_345_6, 0.012_35),
            (0.0, 0.0),
            (2.5, 2.5),
        ] {
            assert!((rounded(value) - expected).abs() < 1e-9, "{value}");
        }
    }
}
