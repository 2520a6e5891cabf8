//! Spots on the points of byway's lines: each says its numbers, and the command that runs it again.

use super::{Chart, Figure, Line, Panel, Point, Source, Style};
use crate::reproduce::html::escape;
use crate::reproduce::show::number;
use std::fmt::Write;

/// Most spots of a line: more cannot be told apart.
const MOST: usize = 60;

/// The spots of a panel, for the end of its picture.
pub(super) fn on(chart: &Chart<'_, '_>, figure: &Figure, panel: &Panel) -> String {
    let mut out = String::new();
    if figure.command.is_empty() {
        return out;
    }
    let ours = panel.lines.iter().filter(|l| l.source == Source::Byway);
    for line in ours {
        let every = line.points.len().div_ceil(MOST).max(1);
        for point in line.points.iter().step_by(every) {
            let (x, y) = chart.plotting_area().map_coordinate(&(point.x, point.y));
            // Writing to a string cannot fail.
            let _ = writeln!(
                out,
                "<circle class=\"spot\" cx=\"{x}\" cy=\"{y}\" r=\"6\" fill=\"transparent\" \
                 data-again=\"{}\"><title>{}</title></circle>",
                escape(&figure.again(line, point)),
                escape(&words(figure, line, point))
            );
        }
    }
    out
}

/// The numbers of a point in words.
fn words(figure: &Figure, line: &Line, point: &Point) -> String {
    let name = figure.names.get(line.name).map_or("", String::as_str);
    let mut words = format!("{name}: {} at {}", number(point.y), number(point.x));
    if let Some((low, high)) = point.interval {
        let _ = write!(words, " ({} to {})", number(low), number(high));
    }
    if line.style == Style::Band {
        let runs = if point.n == 1 { "run" } else { "runs" };
        let _ = write!(words, ", {} {runs}", point.n);
    }
    words
}
