//! A page with the picture of stall against needless moves.

use super::answer::{Advice, Outlook, Role, TargetAdvice};
use plotters::prelude::*;

const GRID: RGBColor = RGBColor(0xe0, 0xe3, 0xe8);
const TEXT: RGBColor = RGBColor(0x33, 0x38, 0x40);
const SIZE: (u32, u32) = (760, 420);

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;\
padding:0 1rem;color:#222;background:#fff}pre{overflow-x:auto;background:#f4f5f7;padding:1rem}\
svg{max-width:100%;height:auto}";

/// The page.
pub(super) fn html(advice: &Advice) -> Result<String, String> {
    let mut body = String::new();
    for target in &advice.targets {
        body.push_str(&format!(
            "<h2>{}</h2>\n<figure>{}<figcaption>Mean stall when the first path dies, against \
             needless moves an hour. Lines are intervals of 95 %. The line joins the Pareto \
             front: no other settings that were tried are better in both.</figcaption></figure>\n",
            target.target.name(),
            picture(target)?
        ));
    }
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>byway advise</title><style>{STYLE}</style></head><body>\n\
         <h1>byway advise</h1>\n{body}<h2>The answer</h2>\n<pre>{}</pre>\n</body></html>\n",
        escape(&advice.table())
    ))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

const fn colour(role: Role) -> RGBColor {
    match role {
        Role::Recommended => RGBColor(0x00, 0x9e, 0x73),
        Role::RunnerUp => RGBColor(0x00, 0x72, 0xb2),
        Role::Default => RGBColor(0xd5, 0x5e, 0x00),
        Role::Front => RGBColor(0x77, 0x77, 0x77),
    }
}

/// Stall in milliseconds, on a logarithmic axis; 1 ms at least.
fn stall(value: f64) -> f64 {
    (value * 1e3).max(1.0)
}

/// The rows of a target as points with their intervals.
fn picture(target: &TargetAdvice) -> Result<String, String> {
    let mut out = String::new();
    {
        let root = SVGBackend::with_string(&mut out, SIZE).into_drawing_area();
        draw(&root, target).map_err(|e| e.to_string())?;
        root.present().map_err(|e| e.to_string())?;
    }
    Ok(out)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Drawn<'a> = Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

fn draw<'a>(root: &Area<'a>, target: &TargetAdvice) -> Drawn<'a> {
    let rows = &target.rows;
    let most = |of: fn(&Outlook) -> f64| rows.iter().map(of).fold(0.0, f64::max);
    let least = rows
        .iter()
        .map(|r| stall(r.figures.stall_mean_s.low))
        .fold(1e9, f64::min);
    let right = most(|r| stall(r.figures.stall_mean_s.high).min(1e6)) * 1.6;
    let top = most(|r| r.figures.moves.per_hour.high).max(0.1) * 1.15;
    let mut chart = ChartBuilder::on(root)
        .margin(8)
        .margin_right(20)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(((least * 0.7).max(0.5)..right).log_scale(), 0.0..top)?;
    let small = ("sans-serif", 12).into_font().color(&TEXT);
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(TEXT)
        .y_labels(6)
        .label_style(small.clone())
        .axis_desc_style(small)
        .x_desc("mean stall when the first path dies, ms")
        .y_desc("needless moves an hour")
        .draw()?;
    let point = |r: &Outlook| {
        (
            stall(r.figures.stall_mean_s.value),
            r.figures.moves.per_hour.value,
        )
    };
    let mut front: Vec<(f64, f64)> = rows.iter().filter(|r| r.on_front).map(point).collect();
    front.sort_by(|a, b| a.0.total_cmp(&b.0));
    chart.draw_series(std::iter::once(PathElement::new(
        front,
        RGBColor(0xaa, 0xaa, 0xaa),
    )))?;
    for (i, row) in rows.iter().enumerate() {
        let (x, y) = point(row);
        let (stalls, moves) = (&row.figures.stall_mean_s, &row.figures.moves.per_hour);
        let paint = colour(row.role);
        let lines = [
            vec![(stall(stalls.low), y), (stall(stalls.high).min(right), y)],
            vec![(x, moves.low), (x, moves.high)],
        ];
        chart.draw_series(lines.map(|l| PathElement::new(l, paint)))?;
        chart.draw_series(std::iter::once(Circle::new((x, y), 4, paint.filled())))?;
        // Names of neighbours stand at different heights.
        let label = ("sans-serif", 12).into_font().color(&paint);
        let at = (x * 1.03, y + top * (0.02 + 0.045 * (i % 4) as f64));
        chart.draw_series(std::iter::once(Text::new(row.name.clone(), at, label)))?;
    }
    Ok(())
}
