//! Figures as data: panels, lines and points.

use super::ladder::Ladder;

/// A figure, ready to be drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The paper and its number there: "caro-2006 figure 5".
    pub name: String,
    /// What it shows.
    pub title: String,
    /// What was run, how often, and what lines and bands are.
    pub caption: String,
    /// Panels, in order.
    pub panels: Vec<Panel>,
    /// Names of the lines, by the number of their colour.
    pub names: Vec<String>,
    /// The command that draws it again; empty if it has no command of its own.
    pub command: String,
}

/// One coordinate system.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Its title; empty if it is the only one.
    pub title: String,
    /// The title of the x axis, with its unit.
    pub x: String,
    /// The title of the y axis, with its unit.
    pub y: String,
    /// The lines.
    pub lines: Vec<Line>,
    /// Packets between interfaces, in place of lines.
    pub ladder: Option<Ladder>,
}

/// A line or a row of points.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its place in [`Figure::names`], and its colour.
    pub name: usize,
    /// Whose runs.
    pub source: Source,
    /// How it is drawn.
    pub style: Style,
    /// Its points, from left to right.
    pub points: Vec<Point>,
    /// Where its runs are in the study: axes with their values.
    pub at: Vec<(String, String)>,
    /// The axis of the study that runs to the right, if there is one.
    pub along: Option<String>,
}

impl Line {
    /// A line that no axis of a study leads to.
    pub(in crate::reproduce) fn new(
        name: usize,
        source: Source,
        style: Style,
        points: Vec<Point>,
    ) -> Line {
        Line {
            name,
            source,
            style,
            points,
            at: Vec::new(),
            along: None,
        }
    }
}

/// Whose runs.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// byway's.
    Byway,
    /// ns-2's.
    Ns2,
    /// None: what the paper prints.
    Paper,
}

impl Source {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Source::Byway => "byway",
            Source::Ns2 => "ns-2",
            Source::Paper => "paper",
        }
    }
}

/// How a line is drawn.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Style {
    /// A line with a band of confidence.
    Band,
    /// Steps: a value lasts until the next one.
    Steps,
    /// Rings with bars of confidence.
    Rings,
    /// Small dots.
    Dots,
    /// Diamonds with bars of confidence.
    Diamonds,
    /// A dashed line across, at the height of its point.
    Across,
    /// A dashed line upright, at the place of its point.
    Upright,
}

/// A point, with its 95 % interval where there is one.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Point {
    /// To the right.
    pub x: f64,
    /// Upwards.
    pub y: f64,
    /// The interval.
    pub interval: Option<(f64, f64)>,
    /// How many runs.
    pub n: usize,
}

impl Figure {
    pub(super) fn empty() -> Figure {
        Figure {
            name: String::new(),
            title: String::new(),
            caption: String::new(),
            panels: Vec::new(),
            names: Vec::new(),
            command: String::new(),
        }
    }

    /// The number of a name, which is added if it is new.
    pub(super) fn name_of(&mut self, name: String) -> usize {
        match self.names.iter().position(|n| *n == name) {
            Some(at) => at,
            None => {
                self.names.push(name);
                self.names.len() - 1
            }
        }
    }

    /// Whether any line of it comes from `source`.
    #[must_use]
    pub fn shows(&self, source: Source) -> bool {
        let mut lines = self.panels.iter().flat_map(|p| &p.lines);
        lines.any(|l| l.source == source)
    }

    /// The command that runs a point again.
    #[must_use]
    pub fn again(&self, line: &Line, point: &Point) -> String {
        let along = line.along.iter().map(|axis| (axis, point.x.to_string()));
        let places = line.at.iter().map(|(axis, value)| (axis, value.clone()));
        let words = places.chain(along).map(|(axis, value)| {
            let plain = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
            match axis.chars().chain(value.chars()).all(plain) {
                true => format!(" --at {axis}={value}"),
                false => format!(" --at '{axis}={value}'"),
            }
        });
        words.fold(self.command.clone(), |command, word| command + &word)
    }
}
