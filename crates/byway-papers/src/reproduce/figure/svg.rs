//! Panels as SVG, drawn with plotters.
//!
//! Every panel is a separate picture, so that a page can set them side by
//! side or below each other without making their letters smaller. The colours
//! are those of Okabe and Ito, which colour-blind people can distinguish; a
//! page's style sheet may replace them, since it outranks the attributes that
//! plotters writes.

use super::parts::{Figure, Line, Panel, Point, Source, Style};
use super::ticks;
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

mod ladder;
mod printed;
mod spots;

/// Okabe and Ito's colours that are dark enough for lines on white.
pub const COLOURS: [RGBColor; 7] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0x00, 0x00, 0x00),
];

const GRID: RGBColor = RGBColor(0xe0, 0xe3, 0xe8);
const TEXT: RGBColor = RGBColor(0x33, 0x38, 0x40);
/// A single panel is wider.
const SIZES: [(u32, u32); 2] = [(380, 270), (560, 330)];

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
type Drawn = Result<(), String>;

/// The colour of a line as a style sheet writes it.
#[must_use]
pub fn colour(name: usize) -> String {
    let RGBColor(r, g, b) = COLOURS[name % COLOURS.len()];
    format!("#{r:02X}{g:02X}{b:02X}")
}

/// Draws a panel of a figure.
///
/// # Errors
/// What the drawing library refuses.
pub fn panel(figure: &Figure, panel: &Panel) -> Result<String, String> {
    if let Some(ladder) = &panel.ladder {
        return ladder.svg(&panel.title);
    }
    let mut out = String::new();
    let size = SIZES[usize::from(figure.panels.len() == 1)];
    let spots = {
        let root = SVGBackend::with_string(&mut out, size).into_drawing_area();
        let spots = draw(&root, figure, panel, size.0)?;
        root.present().map_err(|e| e.to_string())?;
        spots
    };
    Ok(out.replacen("</svg>", &format!("{spots}</svg>"), 1))
}

/// Draws, and returns what lies on top for those who point at it.
fn draw(
    root: &DrawingArea<SVGBackend<'_>, Shift>,
    figure: &Figure,
    panel: &Panel,
    width: u32,
) -> Result<String, String> {
    let said = |e: DrawingAreaErrorKind<_>| e.to_string();
    let (x, y) = ranges(panel);
    let mut builder = ChartBuilder::on(root);
    builder
        .margin(6)
        .margin_right(14)
        .x_label_area_size(38)
        .y_label_area_size(52);
    if !panel.title.is_empty() {
        builder.caption(&panel.title, ("sans-serif", 15).into_font().color(&TEXT));
    }
    let mut chart = builder
        .build_cartesian_2d(x.0..x.1, y.0..y.1)
        .map_err(said)?;
    let steps = [
        ticks::step(x.1 - x.0, width as usize / 60),
        ticks::step(y.1 - y.0, 5),
    ];
    let small = ("sans-serif", 12).into_font().color(&TEXT);
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(TEXT)
        .x_labels(((x.1 - x.0) / steps[0]).round() as usize + 1)
        .y_labels(((y.1 - y.0) / steps[1]).round() as usize + 1)
        .x_label_formatter(&|v| ticks::label(*v, steps[0]))
        .y_label_formatter(&|v| ticks::label(*v, steps[1]))
        .label_style(small.clone())
        .axis_desc_style(small)
        .x_desc(&panel.x)
        .y_desc(&panel.y)
        .draw()
        .map_err(said)?;
    // Bands lie below, so that no line is hidden.
    for line in panel.lines.iter().filter(|l| l.style == Style::Band) {
        band(&mut chart, line)?;
    }
    for line in &panel.lines {
        match line.style {
            Style::Band => path(&mut chart, line, line.points.iter().map(xy).collect())?,
            Style::Steps => path(&mut chart, line, stairs(&line.points))?,
            Style::Rings => rings(&mut chart, line)?,
            Style::Dots => dots(&mut chart, line)?,
            Style::Diamonds => printed::diamonds(&mut chart, line)?,
            Style::Across => printed::dashed(&mut chart, line, |p| [(x.0, p.y), (x.1, p.y)])?,
            Style::Upright => printed::dashed(&mut chart, line, |p| [(p.x, y.0), (p.x, y.1)])?,
        }
    }
    Ok(spots::on(&chart, figure, panel))
}

fn xy(p: &Point) -> (f64, f64) {
    (p.x, p.y)
}

/// What the axes must show.
fn ranges(panel: &Panel) -> ((f64, f64), (f64, f64)) {
    // A line across has no place, and an upright one no height.
    let points = || panel.lines.iter().flat_map(|l| &l.points);
    let spread = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
            (low.min(v), high.max(v))
        })
    };
    let (x_low, x_high) = spread(&mut points().map(|p| p.x).filter(|x| x.is_finite()));
    let mut heights = points().filter(|p| p.y.is_finite()).flat_map(|p| {
        let (low, high) = p.interval.unwrap_or((p.y, p.y));
        // An interval may be far wider than what there is to see.
        [p.y, low.max(0.5 * p.y), high.min(1.6 * p.y.max(0.0))]
    });
    let (y_low, y_high) = spread(&mut heights);
    let x = if x_high > x_low {
        (x_low, x_high)
    } else {
        ticks::range(x_low, x_high)
    };
    (x, ticks::range(y_low, y_high))
}

fn band(chart: &mut Chart<'_, '_>, line: &Line) -> Drawn {
    let sides = |upper: bool| {
        move |p: &Point| {
            let (low, high) = p.interval.unwrap_or((p.y, p.y));
            (p.x, if upper { high } else { low })
        }
    };
    let mut outline: Vec<(f64, f64)> = line.points.iter().map(sides(true)).collect();
    outline.extend(line.points.iter().rev().map(sides(false)));
    let colour = COLOURS[line.name % COLOURS.len()];
    chart
        .draw_series(std::iter::once(Polygon::new(
            outline,
            colour.mix(0.18).filled(),
        )))
        .map_err(|e| e.to_string())?;
    Ok(())
}

fn path(chart: &mut Chart<'_, '_>, line: &Line, points: Vec<(f64, f64)>) -> Drawn {
    let colour = COLOURS[line.name % COLOURS.len()];
    chart
        .draw_series(LineSeries::new(points, colour.stroke_width(2)))
        .map_err(|e| e.to_string())?;
    Ok(())
}

/// Each value lasts until the next one.
fn stairs(points: &[Point]) -> Vec<(f64, f64)> {
    let mut out = Vec::with_capacity(2 * points.len());
    for p in points {
        if let Some(&(_, y)) = out.last() {
            out.push((p.x, y));
        }
        out.push(xy(p));
    }
    out
}

fn rings(chart: &mut Chart<'_, '_>, line: &Line) -> Drawn {
    let colour = COLOURS[line.name % COLOURS.len()];
    let said = |e: DrawingAreaErrorKind<_>| e.to_string();
    let bars = line.points.iter().filter_map(|p| {
        let (low, high) = p.interval?;
        Some(PathElement::new(
            vec![(p.x, low), (p.x, high)],
            colour.mix(0.6).stroke_width(1),
        ))
    });
    chart.draw_series(bars).map_err(said)?;
    let rings = line
        .points
        .iter()
        .map(|p| Circle::new(xy(p), 4, colour.stroke_width(2)));
    chart.draw_series(rings).map_err(said)?;
    Ok(())
}

fn dots(chart: &mut Chart<'_, '_>, line: &Line) -> Drawn {
    let colour = COLOURS[line.name % COLOURS.len()];
    let dots = line
        .points
        .iter()
        .map(|p| Circle::new(xy(p), 2, colour.filled()));
    chart
        .draw_series(dots)
        .map_err(|e: DrawingAreaErrorKind<_>| e.to_string())?;
    Ok(())
}

/// How a line's runs are drawn, for a legend.
#[must_use]
pub fn mark(source: Source) -> &'static str {
    match source {
        Source::Byway => "line",
        Source::Ns2 => "ring",
        Source::Paper => "diamond",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(points: Vec<Point>, style: Style) -> Figure {
        Figure {
            name: "test figure 1".to_owned(),
            title: "t".to_owned(),
            caption: String::new(),
            panels: vec![Panel {
                title: "3 % <loss>".to_owned(),
                x: "loss (%)".to_owned(),
                y: "time (s)".to_owned(),
                lines: vec![Line::new(1, Source::Byway, style, points)],
                ladder: None,
            }],
            names: vec!["A".to_owned(), "B".to_owned()],
            command: "byway reproduce test/1".to_owned(),
        }
    }

    #[test]
    fn a_panel_has_its_lines_and_words() {
        let point = |x: f64, y: f64| Point {
            x,
            y,
            interval: Some((y - 1.0, y + 1.0)),
            n: 3,
        };
        for style in [Style::Band, Style::Steps, Style::Rings, Style::Dots] {
            let f = figure(vec![point(0.0, 5.0), point(10.0, 50.0)], style);
            let svg = panel(&f, &f.panels[0]).unwrap();
            assert!(svg.contains("#D55E00"), "{svg}");
            for text in ["3 % &lt;loss&gt;", "loss (%)", "time (s)"] {
                assert!(svg.contains(text), "{text}: {svg}");
            }
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }

    #[test]
    fn no_points_are_no_panic() {
        let f = figure(Vec::new(), Style::Band);
        assert!(panel(&f, &f.panels[0]).is_ok());
    }
}
