//! Single runs over time.

use super::{Data, Figure, Line, Panel, Point, Source, Style};
use crate::reproduce::cells::Place;
use crate::result::RunResult;
use crate::series::{Curve, seconds};
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
    /// What runs upwards, with its unit.
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
                    points: self.cut(points),
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
                    let mut points = points(&series.rto, 1.0);
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
                let mut points = points(&run.series.received, 1.0);
                points.iter_mut().for_each(|p| p.y += 1.0);
                vec![(name.to_owned(), Style::Dots, points)]
            }
            Shown::Acknowledged => {
                vec![(name.to_owned(), Style::Steps, acknowledged(run))]
            }
        }
    }

    fn cut(&self, mut points: Vec<Point>) -> Vec<Point> {
        let Some(until) = self.until_s else {
            return points;
        };
        if let Some(first) = points.iter().position(|p| p.x > until) {
            points.truncate(first);
            if let Some(last) = points.last().copied() {
                points.push(Point { x: until, ..last });
            }
        }
        points
    }
}

fn points(curve: &Curve, scale: f64) -> Vec<Point> {
    let curve = curve.thinned(POINTS);
    curve
        .points()
        .iter()
        .map(|(t, y)| point(seconds(*t), y * scale))
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
