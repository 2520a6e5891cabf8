//! Means along an axis.

use super::{Data, Figure, Layout, Panel, Point, Source, Style, with};
use crate::reproduce::cells::{Cells, Filter};
use serde::Deserialize;

/// Means of a measure along an axis, a line for each value of another one.
#[derive(Clone, Debug, Deserialize)]
pub struct Curves {
    #[serde(flatten)]
    layout: Layout,
    /// The axis that runs to the right.
    x: String,
    /// Its title, with the unit.
    x_title: String,
    /// What runs upwards, with its unit.
    y_title: String,
    /// Lines that do not depend on the axis: they are drawn level, over the
    /// runs of all of its values.
    #[serde(default)]
    level: Vec<String>,
}

impl Curves {
    pub(super) fn measure(&self) -> &str {
        &self.layout.measure
    }

    pub(super) fn draw(&self, data: Data<'_>) -> Figure {
        let mut figure = Figure::empty();
        for (title, filter) in self.layout.panels(data.ours) {
            let mut lines = Vec::new();
            for value in data.ours.values(&self.layout.lines, &filter) {
                let filter = with(&filter, &self.layout.lines, &value);
                let level = self.level.contains(&value.to_string());
                let name = figure.name_of(self.layout.line_name(&value));
                lines.extend(data.lines(name, Style::Band, |cells| {
                    self.points(cells, &filter, level)
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
            " Rings: ns-2's means, with bars for their 95 % intervals."
        } else {
            ""
        };
        figure.caption = format!(
            "{} Lines: byway's means; bands: their 95 % confidence intervals.{ns2}",
            data.words
        );
        figure
    }

    fn points(&self, cells: &Cells, filter: &Filter, level: bool) -> Vec<Point> {
        let unit = self.layout.unit;
        let all = level
            .then(|| cells.pooled(filter, &self.layout.measure))
            .flatten();
        cells
            .values(&self.x, filter)
            .iter()
            .filter_map(|value| {
                let sample = match &all {
                    Some(all) => all.clone(),
                    None => cells.pooled(&with(filter, &self.x, value), &self.layout.measure)?,
                };
                Some(Point {
                    x: value.number()?,
                    y: unit.scaled(sample.mean),
                    interval: sample
                        .interval()
                        .map(|(low, high)| (unit.scaled(low), unit.scaled(high))),
                    n: sample.n,
                })
            })
            .collect()
    }
}
