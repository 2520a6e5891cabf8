//! A change that becomes smaller, or greater, along an axis.

use super::change::relative;
use super::finding::{Finding, Measured};
use crate::reproduce::cells::{Cells, Filter, Place, Values};
use serde::Deserialize;

/// The relative change of a measure from the cells that `from` means to those
/// that `to` means becomes smaller from each value of an axis to the next one,
/// beyond chance from the first to the last.
#[derive(Clone, Debug, Deserialize)]
pub struct Gains {
    #[serde(flatten)]
    of: Measured,
    /// Which cells.
    #[serde(default, rename = "where")]
    filter: Filter,
    /// Before.
    from: Place,
    /// After.
    to: Place,
    /// The axis.
    along: String,
}

impl Gains {
    pub(super) fn measure(&self) -> &str {
        &self.of.measure
    }

    pub(super) fn evaluate(&self, cells: &Cells) -> Option<Finding> {
        let mut gains: Vec<(String, f64, f64)> = Vec::new();
        for value in cells.values(&self.along, &self.filter) {
            let sample = |place: &Place| {
                let mut filter = self.filter.clone();
                filter.insert(self.along.clone(), Values::One(value.clone()));
                for (axis, v) in place {
                    filter.insert(axis.clone(), Values::One(v.clone()));
                }
                cells.pooled(&filter, &self.of.measure)
            };
            if let (Some(before), Some(after)) = (sample(&self.from), sample(&self.to)) {
                let (change, half) = relative(&before, &after);
                gains.push((value.to_string(), change, half));
            }
        }
        let (first, last) = (gains.first()?, gains.last()?);
        let whole = first.1 - last.1 > first.2.hypot(last.2);
        let steps = gains
            .windows(2)
            .all(|pair| pair[1].1 - pair[0].1 <= pair[0].2.hypot(pair[1].2));
        let words: Vec<String> = gains
            .iter()
            .map(|(name, change, _)| format!("{change:+.0} % at {name}"))
            .collect();
        Some(Finding {
            text: words.join(", "),
            holds: gains.len() > 1 && whole && steps,
            detail: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::reproduce::check::testing::{cell, evaluate};

    #[test]
    fn gains_must_fall_along_the_axis() {
        let check = "kind = \"gains\"\nmeasure = \"t\"\nalong = \"loss2\"\n\
                     from = { policy = \"A\" }\nto = { policy = \"B\" }\n";
        let cells = |last: f64| {
            vec![
                cell(1.0, "A", &[10.0, 10.0, 10.0]),
                cell(1.0, "B", &[30.0, 30.0, 30.0]),
                cell(2.0, "A", &[10.0, 10.0, 10.0]),
                cell(2.0, "B", &[last, last, last]),
            ]
        };
        let found = evaluate(check, cells(15.0)).unwrap();
        assert!(found.holds, "{found:?}");
        assert_eq!(found.text, "+200 % at 1, +50 % at 2");
        assert!(!evaluate(check, cells(40.0)).unwrap().holds);
    }
}
