//! What the paper prints: diamonds and dashed lines.

use super::{COLOURS, Chart, Drawn, Line, Point};
use plotters::prelude::*;

/// Dashes and the pauses between them, pixels.
const DASH: (i32, i32) = (5, 4);

pub(super) fn diamonds(chart: &mut Chart<'_, '_>, line: &Line) -> Drawn {
    let said = |e: DrawingAreaErrorKind<_>| e.to_string();
    let colour = COLOURS[line.name % COLOURS.len()];
    let bars = line.points.iter().filter_map(|p| {
        let (low, high) = p.interval?;
        Some(PathElement::new(
            vec![(p.x, low), (p.x, high)],
            colour.stroke_width(3),
        ))
    });
    chart.draw_series(bars).map_err(said)?;
    let around = [(0, -6), (6, 0), (0, 6), (-6, 0), (0, -6)];
    let diamonds = line.points.iter().map(|p| {
        EmptyElement::at((p.x, p.y))
            + Polygon::new(around[..4].to_vec(), WHITE.filled())
            + PathElement::new(around.to_vec(), colour.stroke_width(2))
    });
    chart.draw_series(diamonds).map_err(said)?;
    Ok(())
}

pub(super) fn dashed(
    chart: &mut Chart<'_, '_>,
    line: &Line,
    ends: impl Fn(&Point) -> [(f64, f64); 2],
) -> Drawn {
    let colour = COLOURS[line.name % COLOURS.len()];
    for point in &line.points {
        let (dash, pause) = DASH;
        let series = DashedLineSeries::new(ends(point), dash, pause, colour.stroke_width(1));
        chart
            .draw_series(series)
            .map_err(|e: DrawingAreaErrorKind<_>| e.to_string())?;
    }
    Ok(())
}
