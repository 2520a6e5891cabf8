//! The greatest or the least of several means.

use super::change::Take;
use super::finding::{Finding, Measured};
use crate::reproduce::cells::{Cells, Filter, place_words};
use serde::Deserialize;

/// Of the means of the meant cells the greatest or the least one lies in a
/// band, or chance allows that it does.
#[derive(Clone, Debug, Deserialize)]
pub struct Extreme {
    #[serde(flatten)]
    of: Measured,
    /// Which cells.
    #[serde(default, rename = "where")]
    filter: Filter,
    /// Which of the means.
    take: Take,
    /// The band, both ends included.
    between: [f64; 2],
}

impl Extreme {
    pub(super) fn measure(&self) -> &str {
        &self.of.measure
    }

    pub(super) fn evaluate(&self, cells: &Cells) -> Option<Finding> {
        let (place, sample) =
            cells
                .samples(&self.filter, &self.of.measure)
                .reduce(
                    |best, next| match self.take.is_further(next.1.mean, best.1.mean) {
                        true => next,
                        false => best,
                    },
                )?;
        let unit = self.of.unit;
        let (low, high) = sample.interval().unwrap_or((sample.mean, sample.mean));
        let [from, to] = self.between;
        let fixed: Vec<&str> = self.filter.keys().map(String::as_str).collect();
        Some(Finding {
            text: unit.sample(&sample),
            holds: low <= to && high >= from,
            detail: Some(format!(
                "at {}; counts between {} and {}",
                place_words(place, &fixed),
                unit.value(from),
                unit.value(to)
            )),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::reproduce::check::testing::{cell, evaluate};

    #[test]
    fn the_greatest_or_the_least_mean_counts() {
        let check = |take: &str| {
            format!(
                "kind = \"extreme\"\nmeasure = \"t\"\nunit = \"s\"\n\
                 where = {{ policy = \"A\" }}\ntake = \"{take}\"\nbetween = [70, 74]\n"
            )
        };
        let cells = || {
            vec![
                cell(0.0, "A", &[64.0, 64.1]),
                cell(8.0, "A", &[72.0, 72.2]),
                cell(9.0, "B", &[99.0, 99.1]),
            ]
        };
        let found = evaluate(&check("greatest"), cells()).unwrap();
        assert!(found.holds, "{found:?}");
        assert!(found.detail.unwrap().starts_with("at 8 % on path 2;"));
        assert!(!evaluate(&check("least"), cells()).unwrap().holds);
    }
}
