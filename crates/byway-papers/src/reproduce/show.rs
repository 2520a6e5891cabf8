//! Numbers with their units, as findings and captions say them.

use super::sample::Sample;
use serde::Deserialize;

/// The unit of a measure.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default, Deserialize)]
pub enum Unit {
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// A share, written in percent.
    #[serde(rename = "%")]
    Percent,
    /// Kilobytes a second.
    #[serde(rename = "kB/s")]
    Kilobytes,
    /// A number.
    #[default]
    #[serde(rename = "")]
    Count,
}

impl Unit {
    /// The number in this unit.
    #[must_use]
    pub fn scaled(self, x: f64) -> f64 {
        match self {
            Unit::Percent => 100.0 * x,
            _ => x,
        }
    }

    /// Its name, for an axis.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::Percent => "%",
            Unit::Kilobytes => "kB/s",
            Unit::Count => "",
        }
    }

    /// A value with its unit: "63.0 s".
    #[must_use]
    pub fn value(self, x: f64) -> String {
        let number = number(self.scaled(x));
        match self {
            Unit::Count => number,
            _ => format!("{number} {}", self.name()),
        }
    }

    /// A mean with its 95 % interval and the number of runs.
    #[must_use]
    pub fn sample(self, sample: &Sample) -> String {
        let value = self.value(sample.mean);
        let runs = match (sample.n, sample.all) {
            (1, 1) => "1 run".to_owned(),
            (n, all) if n == all => format!("{n} runs"),
            (n, all) => format!("{n} distinct of {all} runs"),
        };
        match sample.interval() {
            Some((low, high)) if low < high => format!(
                "{value} ({} to {}, {runs})",
                number(self.scaled(low)),
                number(self.scaled(high)),
            ),
            _ => format!("{value} ({runs})"),
        }
    }
}

/// Three figures, as many as a reader can use.
#[must_use]
pub fn number(x: f64) -> String {
    let size = x.abs();
    if size < 0.0005 {
        "0".to_owned()
    } else if size < 0.0995 {
        format!("{x:.3}")
    } else if size < 9.995 {
        format!("{x:.2}")
    } else if size < 999.5 {
        format!("{x:.1}")
    } else {
        format!("{x:.0}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::sample::Kind;

    #[test]
    fn numbers_keep_what_a_reader_can_use() {
        for (x, text) in [
            (0.0, "0"),
            (0.0131, "0.013"),
            (5.0, "5.00"),
            (63.01, "63.0"),
            (1145.03, "1145"),
        ] {
            assert_eq!(number(x), text);
        }
        assert_eq!(Unit::Percent.value(0.05), "5.00 %");
        let one = Sample::of(vec![(1, 122.35)], Kind::Quantity);
        assert_eq!(Unit::Seconds.sample(&one), "122.3 s (1 run)");
    }
}
