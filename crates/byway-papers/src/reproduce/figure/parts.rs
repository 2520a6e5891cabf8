//! Figures as data: panels, lines and points.

use std::fmt::Write;

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
}

/// Whose runs.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// byway's.
    Byway,
    /// ns-2's.
    Ns2,
}

impl Source {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Source::Byway => "byway",
            Source::Ns2 => "ns-2",
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

    /// Its numbers as a table with a heading.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut out = String::from("panel,line,simulator,x,y,low_95,high_95,runs\n");
        for panel in &self.panels {
            for line in &panel.lines {
                let name = self.names.get(line.name).map_or("", String::as_str);
                for p in &line.points {
                    let (low, high) = p.interval.map_or((String::new(), String::new()), |i| {
                        (i.0.to_string(), i.1.to_string())
                    });
                    // Writing to a string cannot fail.
                    let _ = writeln!(
                        out,
                        "{},{},{},{},{},{low},{high},{}",
                        quoted(&panel.title),
                        quoted(name),
                        line.source.name(),
                        p.x,
                        p.y,
                        p.n
                    );
                }
            }
        }
        out
    }
}

/// A field of a table, in quotes where it needs them.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
