//! Two curves cross.

use super::finding::{Finding, Measured};
use crate::reproduce::cells::{Cells, Filter, Place, Values};
use serde::Deserialize;

/// Along an axis, `below` is the lower of two curves at first and the higher
/// one at the end; where they cross lies in a band. With `level` the other one
/// is a level line; the crossing is then that of a straight line through all
/// runs of `below`, and its 95 % interval must meet the band.
#[derive(Clone, Debug, Deserialize)]
pub struct Crossing {
    #[serde(flatten)]
    of: Measured,
    /// Which cells.
    #[serde(default, rename = "where")]
    filter: Filter,
    /// The axis.
    along: String,
    /// The curve that begins lower.
    below: Place,
    /// The other one. An axis that it does not name is left out, so that a
    /// policy that does not depend on it is one level line.
    above: Place,
    /// Whether the other one is a level line: the mean over the axis.
    #[serde(default)]
    level: bool,
    /// The band of the crossing, on the axis.
    between: [f64; 2],
}

impl Crossing {
    pub(super) fn measure(&self) -> &str {
        &self.of.measure
    }

    pub(super) fn evaluate(&self, cells: &Cells) -> Option<Finding> {
        if self.level {
            return self.look_level(cells);
        }
        let points: Vec<(f64, f64)> = cells
            .values(&self.along, &self.filter)
            .iter()
            .filter_map(|value| {
                let x = value.number()?;
                let at = |place: &Place| {
                    let mut filter = self.of_curve(place);
                    filter.insert(self.along.clone(), Values::One(value.clone()));
                    cells.pooled(&filter, &self.of.measure).map(|s| s.mean)
                };
                Some((x, at(&self.below)? - at(&self.above)?))
            })
            .collect();
        if points.len() < 2 {
            return None;
        }
        let [low, high] = self.between;
        let detail = Some(format!("counts between {low} and {high}"));
        Some(match crossing(&points) {
            Some(x) => Finding {
                text: format!("they cross at {x:.1}"),
                holds: (low..=high).contains(&x),
                detail,
            },
            None => Finding {
                text: "they do not cross".to_owned(),
                holds: false,
                detail,
            },
        })
    }
}

impl Crossing {
    fn of_curve(&self, place: &Place) -> Filter {
        let mut filter = self.filter.clone();
        for (axis, v) in place {
            filter.insert(axis.clone(), Values::One(v.clone()));
        }
        filter
    }

    fn look_level(&self, cells: &Cells) -> Option<Finding> {
        let level = cells.pooled(&self.of_curve(&self.above), &self.of.measure)?;
        let curve = self.of_curve(&self.below);
        let points: Vec<Weighted> = cells
            .samples(&curve, &self.of.measure)
            .filter_map(|(place, sample)| {
                let x = place.get(&self.along)?.number()?;
                Some((x, sample.mean, sample.n as f64))
            })
            .collect();
        let line = Line::through(&points)?;
        let x = (level.mean - line.at_0) / line.slope;
        let level_error = level.sd / (level.n as f64).sqrt();
        let half = 1.96 * line.error_at(x).hypot(level_error) / line.slope.abs();
        let [low, high] = self.between;
        Some(Finding {
            text: format!(
                "they cross at {x:.1} (\u{b1}{half:.1}, {:.0} runs)",
                line.weight
            ),
            holds: line.slope > 0.0 && x - half <= high && x + half >= low,
            detail: Some(format!("counts between {low} and {high}")),
        })
    }
}

/// A point with the number of its runs.
type Weighted = (f64, f64, f64);

/// A straight line through weighted points, by least squares.
struct Line {
    at_0: f64,
    slope: f64,
    weight: f64,
    middle: f64,
    spread: f64,
    /// Standard deviation of a run about the line.
    deviation: f64,
}

impl Line {
    /// None for fewer than three places: their scatter would not be known.
    fn through(points: &[Weighted]) -> Option<Line> {
        let weight: f64 = points.iter().map(|p| p.2).sum();
        let middle = points.iter().map(|p| p.0 * p.2).sum::<f64>() / weight;
        let height = points.iter().map(|p| p.1 * p.2).sum::<f64>() / weight;
        let spread: f64 = points.iter().map(|p| p.2 * (p.0 - middle).powi(2)).sum();
        if points.len() < 3 || spread <= 0.0 {
            return None;
        }
        let both: f64 = points
            .iter()
            .map(|p| p.2 * (p.0 - middle) * (p.1 - height))
            .sum();
        let slope = both / spread;
        let at_0 = height - slope * middle;
        let off = points
            .iter()
            .map(|p| p.2 * (p.1 - at_0 - slope * p.0).powi(2));
        let deviation = (off.sum::<f64>() / (points.len() - 2) as f64).sqrt();
        Some(Line {
            at_0,
            slope,
            weight,
            middle,
            spread,
            deviation,
        })
    }

    /// Standard error of its height at `x`.
    fn error_at(&self, x: f64) -> f64 {
        self.deviation * (1.0 / self.weight + (x - self.middle).powi(2) / self.spread).sqrt()
    }
}

/// Where the last change from below to above 0 lies, by a straight line.
fn crossing(points: &[(f64, f64)]) -> Option<f64> {
    points
        .windows(2)
        .rev()
        .find(|p| p[0].1 <= 0.0 && p[1].1 > 0.0)
        .map(|p| p[0].0 + (p[1].0 - p[0].0) * -p[0].1 / (p[1].1 - p[0].1))
}

#[cfg(test)]
mod tests {
    use crate::reproduce::check::testing::{cell, evaluate};

    #[test]
    fn the_crossing_is_found_between_the_points() {
        let check = "kind = \"crossing\"\nmeasure = \"t\"\nalong = \"loss2\"\n\
                     below = { policy = \"A\" }\nabove = { policy = \"B\" }\nbetween = [4, 5]\n";
        let cells = |last: f64| {
            vec![
                cell(0.0, "A", &[5.0]),
                cell(4.0, "A", &[9.0]),
                cell(6.0, "A", &[last]),
                cell(0.0, "B", &[10.0]),
                cell(4.0, "B", &[10.0]),
                cell(6.0, "B", &[10.0]),
            ]
        };
        let found = evaluate(check, cells(13.0)).unwrap();
        assert!(found.holds, "{found:?}");
        assert_eq!(found.text, "they cross at 4.5");
        assert!(!evaluate(check, cells(9.5)).unwrap().holds);
        let level = format!("{check}level = true\n");
        let found = evaluate(&level, cells(11.0)).unwrap();
        // The points lie on a line but for rounding: 5, 9 and 11 at 0, 4 and 6.
        assert_eq!(found.text, "they cross at 5.0 (\u{b1}0.0, 3 runs)");
        assert!(found.holds);
    }
}
