//! Distributions over runs.

use super::layout::{Data, Layout, Legend};
use super::parts::{Figure, Point, Style};
use crate::reproduce::cells::{Cells, Filter, Value};
use serde::Deserialize;

/// The share of the runs whose measure is at most the value on the x axis.
#[derive(Clone, Debug, Deserialize)]
pub struct Cdf {
    #[serde(flatten)]
    layout: Layout,
}

impl Cdf {
    pub(super) fn measure(&self) -> &str {
        &self.layout.measure
    }

    pub(super) fn draw(&self, data: Data<'_>) -> Figure {
        let legend = Legend {
            byway: "Steps: the share of byway's runs with at most that value.",
            ns2: "Rings: ns-2's runs.",
        };
        self.layout.draw(data, (Style::Steps, legend), |panel| {
            let values = self.values(data.ours, panel);
            let greatest = values.last().copied().unwrap_or(0.0);
            move |cells: &Cells, _: &Value, filter: &Filter| {
                steps(&self.values(cells, filter), greatest)
            }
        })
    }

    /// The values of all runs, in order.
    fn values(&self, cells: &Cells, filter: &Filter) -> Vec<f64> {
        let mut values: Vec<f64> = cells
            .samples(filter, &self.layout.measure)
            .flat_map(|(_, sample)| sample.runs)
            .map(|run| run.value)
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
