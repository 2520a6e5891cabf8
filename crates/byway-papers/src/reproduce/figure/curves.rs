//! Means along an axis.

use super::layout::{Data, Layout, Legend, with};
use super::parts::{Figure, Point, Style};
use crate::reproduce::cells::{Cells, Filter, Value};
use crate::reproduce::sample::Sample;
use serde::Deserialize;

/// Means of a measure along an axis, a line for each value of another one.
#[derive(Clone, Debug, Deserialize)]
pub struct Curves {
    #[serde(flatten)]
    layout: Layout,
    /// The axis that runs to the right.
    x: String,
    /// Lines that do not depend on the axis: their mean over the runs of all of
    /// its values is drawn level, as far as the other lines go.
    #[serde(default)]
    level: Vec<String>,
}

impl Curves {
    pub(super) fn measure(&self) -> &str {
        &self.layout.measure
    }

    pub(super) fn draw(&self, data: Data<'_>) -> Figure {
        let legend = Legend {
            byway: "Lines: byway's means; bands: their 95 % confidence intervals.",
            ns2: "Rings: ns-2's means, with bars for their 95 % intervals.",
        };
        let mut figure = self.layout.draw(data, (Style::Band, legend), |panel| {
            let lines = &self.layout.lines;
            let values = data.ours.values(lines, panel);
            let others = values.iter().filter(|value| !self.is_level(value));
            let others: Vec<Filter> = others.map(|value| with(panel, lines, value)).collect();
            move |cells: &Cells, value: &Value, filter: &Filter| {
                if self.is_level(value) {
                    self.level_points(cells, filter, &others)
                } else {
                    self.points(cells, filter)
                }
            }
        });
        let lines = &self.layout.lines;
        for line in figure.panels.iter_mut().flat_map(|p| &mut p.lines) {
            let is_level =
                |(axis, value): &(String, String)| axis == lines && self.level.contains(value);
            let level = line.at.iter().any(is_level);
            line.along = (!level).then(|| self.x.clone());
        }
        figure
    }

    fn is_level(&self, value: &Value) -> bool {
        self.level.contains(&value.to_string())
    }

    fn points(&self, cells: &Cells, filter: &Filter) -> Vec<Point> {
        let of_value = |value: &Value| {
            let sample = cells.pooled(&with(filter, &self.x, value), &self.layout.measure)?;
            Some(self.point(value.number()?, &sample))
        };
        cells
            .values(&self.x, filter)
            .iter()
            .filter_map(of_value)
            .collect()
    }

    /// The mean of a line over all of the axis, where the other lines have points.
    fn level_points(&self, cells: &Cells, filter: &Filter, others: &[Filter]) -> Vec<Point> {
        let mut all = filter.clone();
        all.remove(&self.x);
        let Some(sample) = cells.pooled(&all, &self.layout.measure) else {
            return Vec::new();
        };
        let mut at: Vec<f64> = others
            .iter()
            .flat_map(|other| cells.values(&self.x, other))
            .filter_map(|value| value.number())
            .collect();
        at.sort_by(f64::total_cmp);
        at.dedup();
        at.into_iter().map(|x| self.point(x, &sample)).collect()
    }

    fn point(&self, x: f64, sample: &Sample) -> Point {
        let unit = self.layout.unit;
        Point {
            x,
            y: unit.scaled(sample.mean),
            interval: sample
                .interval()
                .map(|(low, high)| (unit.scaled(low), unit.scaled(high))),
            n: sample.n,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::cells::{Cell, Values};
    use crate::reproduce::sample::Kind;

    fn cell(policy: &str, loss2: f64, seconds: f64) -> Cell {
        let place = [
            ("policy".to_owned(), Value::Text(policy.to_owned())),
            ("loss2".to_owned(), Value::Number(loss2)),
        ];
        let sample = Sample::of(vec![(1, seconds)], Kind::Quantity);
        Cell {
            place: place.into(),
            samples: [("transfer_s".to_owned(), sample)].into(),
        }
    }

    #[test]
    fn a_level_line_goes_as_far_as_the_others() {
        let curves: Curves = toml::from_str(
            "measure = \"transfer_s\"\nunit = \"s\"\nlines = \"policy\"\nlevel = [\"same\"]\n\
             x = \"loss2\"\nx_title = \"\"\ny_title = \"\"",
        )
        .unwrap();
        // The few heartbeats of a path without data may all be lost, or none.
        let cells = Cells(vec![
            cell("alt", 0.0, 30.0),
            cell("alt", 10.0, 90.0),
            cell("same", 0.0, 34.0),
            cell("same", 100.0, 36.0),
        ]);
        let only = |policy: &str| -> Filter {
            let is = Values::One(Value::Text(policy.to_owned()));
            [("policy".to_owned(), is)].into()
        };
        let points = curves.level_points(&cells, &only("same"), &[only("alt")]);
        let drawn: Vec<_> = points.iter().map(|p| (p.x, p.y)).collect();
        assert_eq!(drawn, [(0.0, 35.0), (10.0, 35.0)]);
    }
}
