//! Means of several measures side by side.

use super::layout::{Data, with};
use super::parts::{Figure, Panel, Point, Style};
use crate::reproduce::cells::{Cells, Filter};
use serde::Deserialize;

/// Several measures of the same runs, such as timeouts by their length: each
/// has its own place to the right.
#[derive(Clone, Debug, Deserialize)]
pub struct Several {
    /// The measures and their places.
    points: Vec<Place>,
    /// Which cells.
    #[serde(default, rename = "where")]
    filter: Filter,
    /// The axis that makes lines.
    lines: String,
    /// The title of the x axis, with its unit.
    x_title: String,
    /// The title of the y axis, with its unit.
    y_title: String,
}

/// A measure and its place.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    x: f64,
    measure: String,
}

impl Several {
    pub(super) fn measures(&self) -> Vec<&str> {
        self.points.iter().map(|p| p.measure.as_str()).collect()
    }

    pub(super) fn draw(&self, data: Data<'_>) -> Figure {
        let mut figure = Figure::empty();
        let mut lines = Vec::new();
        for value in data.ours.values(&self.lines, &self.filter) {
            let filter = with(&self.filter, &self.lines, &value);
            let name = figure.name_of(value.to_string());
            let at = vec![(self.lines.clone(), value.to_string())];
            lines.extend(data.lines((name, at), Style::Band, |cells| self.points(cells, &filter)));
        }
        figure.panels.push(Panel {
            title: String::new(),
            x: self.x_title.clone(),
            y: self.y_title.clone(),
            lines,
            ladder: None,
        });
        figure.caption = format!(
            "{} Lines: byway's means; bands: their 95 % confidence intervals. Rings: ns-2's means.",
            data.words
        );
        figure
    }

    fn points(&self, cells: &Cells, filter: &Filter) -> Vec<Point> {
        self.points
            .iter()
            .filter_map(|place| {
                let sample = cells.pooled(filter, &place.measure)?;
                Some(Point {
                    x: place.x,
                    y: sample.mean,
                    interval: sample.interval(),
                    n: sample.n,
                })
            })
            .collect()
    }
}
