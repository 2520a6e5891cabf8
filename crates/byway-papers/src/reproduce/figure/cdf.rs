//! Distributions over runs.

use super::layout::{Data, Layout, with};
use super::parts::{Figure, Panel, Point, Source, Style};
use crate::reproduce::cells::{Cells, Filter};
use serde::Deserialize;

/// The share of the runs whose measure is at most so much.
#[derive(Clone, Debug, Deserialize)]
pub struct Cdf {
    #[serde(flatten)]
    layout: Layout,
    /// What is counted, with its unit.
    x_title: String,
    /// What runs upwards.
    y_title: String,
}

impl Cdf {
    pub(super) fn measure(&self) -> &str {
        &self.layout.measure
    }

    pub(super) fn draw(&self, data: Data<'_>) -> Figure {
        let mut figure = Figure::empty();
        for (title, filter) in self.layout.panels(data.ours) {
            let greatest = self
                .values(data.ours, &filter)
                .last()
                .copied()
                .unwrap_or(0.0);
            let mut lines = Vec::new();
            for value in data.ours.values(&self.layout.lines, &filter) {
                let filter = with(&filter, &self.layout.lines, &value);
                let name = figure.name_of(self.layout.line_name(&value));
                lines.extend(data.lines(name, Style::Steps, |cells| {
                    steps(&self.values(cells, &filter), greatest)
                }));
            }
            figure.panels.push(Panel {
                title,
                x: self.x_title.clone(),
                y: self.y_title.clone(),
                lines,
            });
        }
        let ns2 = if figure.shows(Source::Ns2) {
            " Rings: ns-2's runs."
        } else {
            ""
        };
        figure.caption = format!(
            "{} Steps: the share of byway's runs with at most so many.{ns2}",
            data.words
        );
        figure
    }

    /// The values of all runs, in order.
    fn values(&self, cells: &Cells, filter: &Filter) -> Vec<f64> {
        let mut values: Vec<f64> = cells
            .samples(filter, &self.layout.measure)
            .flat_map(|(_, sample)| sample.values)
            .map(|(_, value)| value)
            .collect();
        values.sort_by(f64::total_cmp);
        values
    }
}

/// One point for each value that occurs, and one at the end of the axis.
fn steps(values: &[f64], until: f64) -> Vec<Point> {
    let n = values.len();
    let mut points: Vec<Point> = Vec::new();
    let point = |x: f64, y: f64| Point {
        x,
        y,
        interval: None,
        n,
    };
    for (i, x) in values.iter().enumerate() {
        let y = 100.0 * (i + 1) as f64 / n as f64;
        match points.last_mut() {
            Some(last) if last.x == *x => last.y = y,
            _ => points.push(point(*x, y)),
        }
    }
    if let Some(last) = points.last()
        && last.x < until
    {
        points.push(point(until, 100.0));
    }
    if let Some(first) = points.first()
        && first.x > 0.0
    {
        points.insert(0, point(0.0, 0.0));
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_rise_to_the_whole() {
        let xy: Vec<(f64, f64)> = steps(&[1.0, 1.0, 3.0, 4.0], 9.0)
            .iter()
            .map(|p| (p.x, p.y))
            .collect();
        assert_eq!(
            xy,
            [
                (0.0, 0.0),
                (1.0, 50.0),
                (3.0, 75.0),
                (4.0, 100.0),
                (9.0, 100.0)
            ]
        );
        assert!(steps(&[], 1.0).is_empty());
    }
}
