//! What the paper prints, beside what the runs give.

use super::parts::{Figure, Line, Panel, Point, Source, Style};
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
    /// In place of a height: how far it is from another line, of byway's runs.
    #[serde(default)]
    change: Option<Change>,
}

/// A gain or a cost that the paper prints without the times behind it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    /// The line.
    of: String,
    /// The change from it.
    percent: f64,
}

impl Change {
    /// The height at `x`, if the panel's line has a point there.
    fn height(&self, panel: &Panel, names: &[String], x: f64) -> Option<f64> {
        let name = names.iter().position(|n| *n == self.of)?;
        let is_its = |l: &&Line| l.name == name && l.source == Source::Byway;
        let line = panel.lines.iter().find(is_its)?;
        let point = line.points.iter().find(|p| p.x == x)?;
        Some(point.y * (1.0 + self.percent / 100.0))
    }
}

impl Printed {
    /// Adds it to the panels that it belongs to and that show its line.
    pub(super) fn add_to(&self, figure: &mut Figure) {
        let Some(name) = figure.names.iter().position(|n| *n == self.line) else {
            return;
        };
        let asked = |title: &str| self.panel.as_deref().is_none_or(|p| p == title);
        let names = &figure.names;
        for panel in figure.panels.iter_mut().filter(|p| asked(&p.title)) {
            let height = match (&self.change, self.x) {
                (Some(change), Some(x)) => match change.height(panel, names, x) {
                    Some(y) => Some(y),
                    // There is nothing to measure it from.
                    None => continue,
                },
                _ => self.y,
            };
            let (x, y, style) = match (self.x, height) {
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
