//! Single runs over time.

use super::layout::Data;
use super::parts::{Figure, Line, Panel, Point, Source, Style};
use crate::reproduce::cells::Place;
use byway_lab::result::RunResult;
use byway_lab::series::{Curve, seconds};
use serde::Deserialize;

/// Most points of a line: the picture is no wider.
const POINTS: usize = 600;

/// One run for each policy, or one run with a line for each path.
#[derive(Clone, Debug, Deserialize)]
pub struct OverTime {
    /// What is shown.
    shows: Shown,
    /// The runs: a place of the study each, in the order of the lines.
    runs: Vec<Single>,
    /// The title of the y axis, with its unit.
    y_title: String,
    /// The end of the axis of time, seconds; the end of the longest run if it is
    /// not said.
    #[serde(default)]
    until_s: Option<f64>,
}

/// A run that is shown.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Single {
    /// Its name.
    name: String,
    /// Where in the study it is; axes that are not named take their first value.
    #[serde(default)]
    at: Place,
    /// Its seed.
    seed: u64,
}

/// What is shown of a run.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Shown {
    /// The RTO of each path.
    Rto,
    /// TSNs that arrived at the receiver, counted from 1.
    Received,
    /// Megabytes acknowledged.
    Acknowledged,
}

impl OverTime {
    pub(super) fn draw(&self, data: Data<'_>) -> Result<Figure, String> {
        let mut figure = Figure::empty();
        let mut lines = Vec::new();
        for single in &self.runs {
            let run = data.runs.at(&single.at, single.seed)?;
            for (name, style, points) in self.of(&run, &single.name) {
                lines.push(Line {
                    name: figure.name_of(name),
                    source: Source::Byway,
                    style,
                    points: self.cut(points, style),
                });
            }
        }
        figure.panels.push(Panel {
            title: String::new(),
            x: "time (s)".to_owned(),
            y: self.y_title.clone(),
            lines,
        });
        let seeds: Vec<String> = self.runs.iter().map(|r| r.seed.to_string()).collect();
        let runs = if self.runs.len() == 1 {
            format!("One run of byway, seed {}.", seeds.join(", "))
        } else {
            format!(
                "One run of byway for each line, seeds {}.",
                seeds.join(", ")
            )
        };
        figure.caption = format!("{} {runs}", data.runs.study.what);
        Ok(figure)
    }

    fn of(&self, run: &RunResult, name: &str) -> Vec<(String, Style, Vec<Point>)> {
        match self.shows {
            Shown::Rto => run
                .series
                .paths
                .iter()
                .zip(&run.paths)
                .map(|(series, path)| {
                    let name = format!("{name}{}", path.name);
                    let mut points = points(&series.rto);
                    if let Some(last) = points.last().copied() {
                        points.push(Point {
                            x: run.end_s,
                            ..last
                        });
                    }
                    (name, Style::Steps, points)
                })
                .collect(),
            Shown::Received => {
                let received = run.series.received.points().iter();
                let points = received.map(|(t, y)| point(seconds(*t), y + 1.0));
                vec![(name.to_owned(), Style::Dots, points.collect())]
            }
            Shown::Acknowledged => {
                vec![(name.to_owned(), Style::Steps, acknowledged(run))]
            }
        }
    }

    /// What lies before the end of the axis, as far as it can be distinguished; a line
    /// continues to that end.
    fn cut(&self, mut points: Vec<Point>, style: Style) -> Vec<Point> {
        if let Some(until) = self.until_s
            && let Some(first) = points.iter().position(|p| p.x > until)
        {
            points.truncate(first);
            if style != Style::Dots
                && let Some(last) = points.last().copied()
            {
                points.push(Point { x: until, ..last });
            }
        }
        if style == Style::Dots {
            apart(points)
        } else {
            points
        }
    }
}

/// Those of many dots, in order of time, that can be distinguished: a burst keeps its
/// height, which [`Curve::thinned`] leaves to a line between its ends.
fn apart(points: Vec<Point>) -> Vec<Point> {
    let least = |of: fn(&Point) -> f64| {
        let values = points.iter().map(of);
        let greatest = values.clone().fold(f64::NEG_INFINITY, f64::max);
        (greatest - values.fold(f64::INFINITY, f64::min)) / POINTS as f64
    };
    let (dx, dy) = (least(|p| p.x), least(|p| p.y));
    let mut kept: Vec<Point> = Vec::new();
    for p in points {
        let new = |k: &Point| (p.x - k.x).abs() >= dx || (p.y - k.y).abs() >= dy;
        if kept.last().is_none_or(new) {
            kept.push(p);
        }
    }
    kept
}

fn points(curve: &Curve) -> Vec<Point> {
    let curve = curve.thinned(POINTS);
    curve
        .points()
        .iter()
        .map(|(t, y)| point(seconds(*t), *y))
        .collect()
}

fn point(x: f64, y: f64) -> Point {
    Point {
        x,
        y,
        interval: None,
        n: 1,
    }
}

/// Megabytes acknowledged by then, in even steps of time.
fn acknowledged(run: &RunResult) -> Vec<Point> {
    let bytes = run.delivered_bytes as f64 / run.measures.originals.max(1) as f64;
    let step = (run.end_s * 1e9 / POINTS as f64).max(1.0);
    let mut sum = 0.0;
    let mut points = vec![point(0.0, 0.0)];
    for i in 0..POINTS {
        let (from, to) = ((i as f64 * step) as u64, ((i + 1) as f64 * step) as u64);
        sum += run.measures.acked.between(from, to) * bytes / 1e6;
        points.push(point(to as f64 / 1e9, sum));
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_keeps_its_height() {
        // Ten messages a second for 15 s, silence, then a thousand at once.
        let steady = (0..150).map(|i| point(f64::from(i) / 10.0, f64::from(i)));
        let burst = (150..1150).map(|i| point(78.0, f64::from(i)));
        let dots = apart(steady.chain(burst).collect());
        let in_burst = dots.iter().filter(|p| p.x > 70.0).count();
        assert!((400..=600).contains(&in_burst), "{in_burst}");
        assert!(dots.len() <= 2 * POINTS, "{}", dots.len());
    }
}
