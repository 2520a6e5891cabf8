//! The papers' figures, drawn again from the runs.
//!
//! A figure is made in two steps: [`FigureSpec::draw`] takes numbers from cells
//! and single runs and says what lines go where; [`svg`] makes pictures of that.

pub mod cdf;
pub mod curves;
pub mod over_time;
pub mod several;
pub mod svg;
mod ticks;

use super::cells::{Cells, Filter, Value};
use super::show::Unit;
use super::single::Runs;
use serde::Deserialize;
use std::fmt::Write;

/// A figure, as `claims.toml` says it.
#[derive(Clone, Debug, Deserialize)]
pub struct FigureSpec {
    /// Its number in the paper.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// What should be said of how it was drawn, besides what is said of every
    /// figure.
    #[serde(default)]
    pub caption: String,
    /// The study that it draws.
    pub study: String,
    /// The kind, and what it needs.
    #[serde(flatten)]
    pub kind: Kind,
}

/// The kinds of figures.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Kind {
    /// Means along an axis of the study.
    Curves(curves::Curves),
    /// Distributions of a measure over runs.
    Cdf(cdf::Cdf),
    /// Means of several measures side by side.
    Several(several::Several),
    /// Single runs over time.
    OverTime(over_time::OverTime),
}

/// What every figure over cells says: its panels, its lines, what is measured.
#[derive(Clone, Debug, Deserialize)]
struct Layout {
    /// Which measure.
    measure: String,
    /// Its unit.
    #[serde(default)]
    unit: Unit,
    /// Which cells.
    #[serde(default, rename = "where")]
    filter: Filter,
    /// The axis that makes panels.
    panels: Option<String>,
    /// A panel's title, with `{}` for the value.
    #[serde(default)]
    panel_title: String,
    /// The axis that makes lines.
    lines: String,
    /// A line's name, with `{}` for the value.
    #[serde(default = "plain")]
    line_name: String,
}

fn plain() -> String {
    "{}".to_owned()
}

impl Layout {
    fn line_name(&self, value: &Value) -> String {
        self.line_name.replace("{}", &value.to_string())
    }

    /// The titles and filters of the panels.
    fn panels(&self, cells: &Cells) -> Vec<(String, Filter)> {
        let Some(axis) = &self.panels else {
            return vec![(self.panel_title.clone(), self.filter.clone())];
        };
        let values = cells.values(axis, &self.filter);
        let panel = |value: Value| {
            let title = self.panel_title.replace("{}", &value.to_string());
            (title, with(&self.filter, axis, &value))
        };
        values.into_iter().map(panel).collect()
    }
}

/// The filter, narrowed to one value of an axis.
fn with(filter: &Filter, axis: &str, value: &Value) -> Filter {
    let mut filter = filter.clone();
    filter.insert(axis.to_owned(), super::cells::Values::One(value.clone()));
    filter
}

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
    /// What runs to the right, with its unit.
    pub x: String,
    /// What runs upwards, with its unit.
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

/// What a figure is drawn from.
#[derive(Copy, Clone)]
pub struct Data<'a> {
    /// byway's cells of the study.
    pub ours: &'a Cells,
    /// ns-2's, where there are any.
    pub ns2: Option<&'a Cells>,
    /// How single runs of the study are got.
    pub runs: &'a Runs<'a>,
    /// What was run, in words.
    pub words: &'a str,
}

impl<'a> Data<'a> {
    /// byway's line in this style, and ns-2's as rings, each where it has points.
    fn lines<'f>(
        self,
        name: usize,
        style: Style,
        points: impl Fn(&Cells) -> Vec<Point> + 'f,
    ) -> impl Iterator<Item = Line> + 'f
    where
        'a: 'f,
    {
        let ns2 = self.ns2.map(|cells| (cells, Source::Ns2, Style::Rings));
        let both = core::iter::once((self.ours, Source::Byway, style)).chain(ns2);
        both.map(move |(cells, source, style)| Line {
            name,
            source,
            style,
            points: points(cells),
        })
        .filter(|line| !line.points.is_empty())
    }
}

impl FigureSpec {
    /// Draws it.
    ///
    /// # Errors
    /// When a single run that it shows cannot be made.
    pub fn draw(&self, paper: &str, data: Data<'_>) -> Result<Figure, String> {
        let mut figure = match &self.kind {
            Kind::Curves(k) => k.draw(data),
            Kind::Cdf(k) => k.draw(data),
            Kind::Several(k) => k.draw(data),
            Kind::OverTime(k) => k.draw(data)?,
        };
        figure.name = format!("{paper} figure {}", self.id);
        figure.title.clone_from(&self.title);
        if !self.caption.is_empty() {
            figure.caption = format!("{} {}", self.caption, figure.caption);
        }
        Ok(figure)
    }
}

impl Kind {
    /// The measures that it shows of cells.
    #[must_use]
    pub fn measures(&self) -> Vec<&str> {
        match self {
            Kind::Curves(k) => vec![k.measure()],
            Kind::Cdf(k) => vec![k.measure()],
            Kind::Several(k) => k.measures(),
            Kind::OverTime(_) => Vec::new(),
        }
    }
}

impl Figure {
    fn empty() -> Figure {
        Figure {
            name: String::new(),
            title: String::new(),
            caption: String::new(),
            panels: Vec::new(),
            names: Vec::new(),
        }
    }

    /// The number of a name, which is added if it is new.
    fn name_of(&mut self, name: String) -> usize {
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
