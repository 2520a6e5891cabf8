//! A measure grows along an axis.

use super::finding::{Finding, Measured};
use crate::reproduce::cells::{Cells, Filter};
use crate::reproduce::sample::Sample;
use serde::Deserialize;

/// From the first to the last value of an axis a measure grows, beyond chance,
/// and on the way it does not fall beyond chance.
#[derive(Clone, Debug, Deserialize)]
pub struct Grows {
    #[serde(flatten)]
    of: Measured,
    /// Which cells; those of one value of the axis are taken together.
    #[serde(default, rename = "where")]
    filter: Filter,
    /// The axis.
    along: String,
    /// Whether it must fall instead.
    #[serde(default)]
    falls: bool,
}

impl Grows {
    pub(super) fn measure(&self) -> &str {
        &self.of.measure
    }

    pub(super) fn evaluate(&self, cells: &Cells) -> Option<Finding> {
        let unit = self.of.unit;
        let mut points: Vec<(String, Sample)> = Vec::new();
        for value in cells.values(&self.along, &self.filter) {
            let mut filter = self.filter.clone();
            let name = value.to_string();
            filter.insert(
                self.along.clone(),
                crate::reproduce::cells::Values::One(value),
            );
            if let Some(sample) = cells.pooled(&filter, &self.of.measure) {
                points.push((name, sample));
            }
        }
        let (first, last) = (points.first()?, points.last()?);
        if points.len() < 2 {
            return None;
        }
        let sign = if self.falls { -1.0 } else { 1.0 };
        let step = |from: &Sample, to: &Sample| {
            let chance = to.difference(from).map_or(0.0, |(_, half)| half);
            (sign * (to.mean - from.mean), chance)
        };
        let (whole, chance) = step(&first.1, &last.1);
        let against: Vec<String> = points
            .windows(2)
            .filter_map(|pair| {
                let (difference, chance) = step(&pair[0].1, &pair[1].1);
                (difference < -chance).then(|| {
                    format!(
                        "against it from {} to {}: {} to {}",
                        pair[0].0,
                        pair[1].0,
                        unit.value(pair[0].1.mean),
                        unit.value(pair[1].1.mean)
                    )
                })
            })
            .collect();
        Some(Finding {
            text: format!(
                "{} at {}, {} at {}",
                unit.value(first.1.mean),
                first.0,
                unit.value(last.1.mean),
                last.0
            ),
            holds: whole > chance && whole > 0.0 && against.is_empty(),
            detail: (!against.is_empty()).then(|| against.join("; ")),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::reproduce::check::testing::{cell, evaluate};

    #[test]
    fn growth_is_told_from_chance_and_from_a_dip() {
        let check = "kind = \"grows\"\nmeasure = \"t\"\nunit = \"s\"\nalong = \"loss2\"\n";
        let at = |loss: f64, mean: f64| cell(loss, "A", &[mean, mean + 0.1, mean - 0.1]);
        let found = evaluate(check, vec![at(0.0, 5.0), at(2.0, 6.0), at(9.0, 9.0)]).unwrap();
        assert!(found.holds, "{found:?}");
        assert_eq!(found.text, "5.00 s at 0, 9.00 s at 9");
        let dip = evaluate(check, vec![at(0.0, 5.0), at(2.0, 4.0), at(9.0, 9.0)]).unwrap();
        assert!(!dip.holds && dip.detail.is_some());
        let other = cell(2.0, "A", &[5.1, 4.9, 5.03]);
        assert!(!evaluate(check, vec![at(0.0, 5.0), other]).unwrap().holds);
        let falls = format!("{check}falls = true\n");
        assert!(
            evaluate(&falls, vec![at(0.0, 5.0), at(2.0, 4.0)])
                .unwrap()
                .holds
        );
    }
}
