//! What figures over cells are drawn from, and their panels, lines and captions.

use super::parts::{Figure, Line, Panel, Point, Source, Style};
use crate::reproduce::cells::{Cells, Filter, Place, Value, Values};
use crate::reproduce::show::Unit;
use crate::reproduce::single::Runs;
use serde::Deserialize;

/// What every figure over cells says: its panels, its lines, what is measured.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Layout {
    /// Which measure.
    pub(super) measure: String,
    /// Its unit.
    #[serde(default)]
    pub(super) unit: Unit,
    /// Which cells.
    #[serde(default, rename = "where")]
    pub(super) filter: Filter,
    /// The axis that makes panels.
    panels: Option<String>,
    /// A panel's title, with `{}` for the value.
    #[serde(default)]
    panel_title: String,
    /// The axis that makes lines.
    pub(super) lines: String,
    /// A line's name, with `{}` for the value.
    #[serde(default = "plain")]
    line_name: String,
    /// The title of the x axis, with its unit.
    x_title: String,
    /// The title of the y axis, with its unit.
    y_title: String,
}

/// The title and the filter of a panel, and the axis of panels with its value.
type PanelOf = (String, Filter, Option<(String, String)>);

/// What a caption says of the lines.
pub(super) struct Legend {
    /// byway's lines.
    pub(super) byway: &'static str,
    /// ns-2's rings; said only if there are any.
    pub(super) ns2: &'static str,
}

fn plain() -> String {
    "{}".to_owned()
}

impl Layout {
    /// The figure: panels, with a line for each value of the axis of lines. For the
    /// filter of a panel, `points` gives a function for the points of a line, from
    /// cells, the value and the filter of the line.
    pub(super) fn draw<P>(
        &self,
        data: Data<'_>,
        (style, legend): (Style, Legend),
        points: impl Fn(&Filter) -> P,
    ) -> Figure
    where
        P: Fn(&Cells, &Value, &Filter) -> Vec<Point>,
    {
        let mut figure = Figure::empty();
        for (title, filter, panel) in self.panels(data.ours) {
            let points = points(&filter);
            let mut lines = Vec::new();
            for value in data.ours.values(&self.lines, &filter) {
                let filter = with(&filter, &self.lines, &value);
                let name = figure.name_of(self.line_name(&value));
                let at = panel.iter().cloned();
                let at = at
                    .chain([(self.lines.clone(), value.to_string())])
                    .collect();
                lines.extend(data.lines((name, at), style, |cells| points(cells, &value, &filter)));
            }
            figure.panels.push(Panel {
                title,
                x: self.x_title.clone(),
                y: self.y_title.clone(),
                lines,
                ladder: None,
            });
        }
        figure.caption = format!("{} {}", data.words, legend.byway);
        if figure.shows(Source::Ns2) {
            figure.caption.push(' ');
            figure.caption.push_str(legend.ns2);
        }
        figure
    }

    fn line_name(&self, value: &Value) -> String {
        self.line_name.replace("{}", &value.to_string())
    }

    /// The titles and filters of the panels, and the axis of panels with its value.
    fn panels(&self, cells: &Cells) -> Vec<PanelOf> {
        let Some(axis) = &self.panels else {
            return vec![(self.panel_title.clone(), self.filter.clone(), None)];
        };
        let values = cells.values(axis, &self.filter);
        let panel = |value: Value| {
            let title = self.panel_title.replace("{}", &value.to_string());
            let at = Some((axis.clone(), value.to_string()));
            (title, with(&self.filter, axis, &value), at)
        };
        values.into_iter().map(panel).collect()
    }
}

/// The filter, narrowed to one value of an axis.
pub(super) fn with(filter: &Filter, axis: &str, value: &Value) -> Filter {
    let mut filter = filter.clone();
    filter.insert(axis.to_owned(), Values::One(value.clone()));
    filter
}

/// What a figure is drawn from.
#[derive(Copy, Clone)]
pub struct Data<'a> {
    /// byway's cells of the study.
    pub ours: &'a Cells,
    /// ns-2's, where there are any.
    pub ns2: Option<&'a Cells>,
    /// Only what is at these values of these axes.
    pub at: &'a Place,
    /// How single runs of the study are got.
    pub runs: &'a Runs<'a>,
    /// What was run, in words.
    pub words: &'a str,
    /// The first seed of all.
    pub first_seed: u64,
}

impl<'a> Data<'a> {
    /// byway's line in this style, and ns-2's as rings, each where it has points.
    pub(super) fn lines<'f>(
        self,
        (name, at): (usize, Vec<(String, String)>),
        style: Style,
        points: impl Fn(&Cells) -> Vec<Point> + 'f,
    ) -> impl Iterator<Item = Line> + 'f
    where
        'a: 'f,
    {
        let ns2 = self.ns2.map(|cells| (cells, Source::Ns2, Style::Rings));
        let both = core::iter::once((self.ours, Source::Byway, style)).chain(ns2);
        both.map(move |(cells, source, style)| Line {
            at: at.clone(),
            ..Line::new(name, source, style, points(cells))
        })
        .filter(|line| !line.points.is_empty())
    }
}
