//! What the paper prints, beside what the runs give.

use super::parts::{Figure, Line, Point, Source, Style};
use serde::Deserialize;

/// A value that the paper prints: a point, or one coordinate of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Printed {
    /// The title of its panel; all panels without one.
    #[serde(default)]
    panel: Option<String>,
    /// The line that it belongs to.
    line: String,
    /// Its place to the right; a line across without one.
    #[serde(default)]
    x: Option<f64>,
    /// Its height; an upright line without one.
    #[serde(default)]
    y: Option<f64>,
    /// Its interval, where the paper prints one.
    #[serde(default)]
    interval: Option<(f64, f64)>,
}

impl Printed {
    /// Adds it to the panels that it belongs to and that show its line.
    pub(super) fn add_to(&self, figure: &mut Figure) {
        let Some(name) = figure.names.iter().position(|n| *n == self.line) else {
            return;
        };
        let (x, y, style) = match (self.x, self.y) {
            (Some(x), Some(y)) => (x, y, Style::Diamonds),
            (None, Some(y)) => (f64::NAN, y, Style::Across),
            (Some(x), None) => (x, f64::NAN, Style::Upright),
            (None, None) => return,
        };
        let point = Point {
            x,
            y,
            interval: self.interval,
            n: 0,
        };
        let asked = |title: &str| self.panel.as_deref().is_none_or(|p| p == title);
        for panel in figure.panels.iter_mut().filter(|p| asked(&p.title)) {
            let is_same =
                |l: &&mut Line| l.source == Source::Paper && l.name == name && l.style == style;
            let is_shown = panel.lines.iter().any(|l| l.name == name);
            match panel.lines.iter_mut().find(is_same) {
                Some(line) => line.points.push(point),
                None if is_shown => {
                    let line = Line::new(name, Source::Paper, style, vec![point]);
                    panel.lines.push(line);
                }
                None => {}
            }
        }
    }
}
