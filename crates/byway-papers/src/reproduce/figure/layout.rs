//! What figures over cells are drawn from, and how they are laid out.

use super::parts::{Line, Point, Source, Style};
use crate::reproduce::cells::{Cells, Filter, Value, Values};
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
    pub(super) panels: Option<String>,
    /// A panel's title, with `{}` for the value.
    #[serde(default)]
    pub(super) panel_title: String,
    /// The axis that makes lines.
    pub(super) lines: String,
    /// A line's name, with `{}` for the value.
    #[serde(default = "plain")]
    pub(super) line_name: String,
}

fn plain() -> String {
    "{}".to_owned()
}

impl Layout {
    pub(super) fn line_name(&self, value: &Value) -> String {
        self.line_name.replace("{}", &value.to_string())
    }

    /// The titles and filters of the panels.
    pub(super) fn panels(&self, cells: &Cells) -> Vec<(String, Filter)> {
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
    /// How single runs of the study are got.
    pub runs: &'a Runs<'a>,
    /// What was run, in words.
    pub words: &'a str,
}

impl<'a> Data<'a> {
    /// byway's line in this style, and ns-2's as rings, each where it has points.
    pub(super) fn lines<'f>(
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
