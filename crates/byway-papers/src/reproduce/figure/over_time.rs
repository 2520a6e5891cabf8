//! Single runs over time.

use super::layout::Data;
use super::parts::{Figure, Line, Panel, Point, Source, Style};
use super::pick::{Pick, Single};
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
    /// The steps of a throughput, seconds.
    #[serde(default = "second")]
    every_s: f64,
}

fn second() -> f64 {
    1.0
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
    /// Megabits acknowledged a second, in even steps of time.
    Throughput,
}

impl OverTime {
    /// A rule chooses among the runs of the study, which are done for a measure.
    pub(super) fn measures(&self) -> Vec<&str> {
        match self.runs.iter().any(Single::is_by_rule) {
            true => vec!["transfer_s"],
            false => Vec::new(),
        }
    }

    pub(super) fn draw(&self, data: Data<'_>) -> Result<Figure, String> {
        let mut figure = Figure::empty();
        let mut lines = Vec::new();
        let mut picks = Vec::new();
        for single in self.runs.iter().filter(|s| s.is_at(data.at)) {
            let pick = single.pick(data)?;
            let run = data.runs.at(&pick.place, pick.seed)?;
            let at = single.at.iter();
            let at: Vec<(String, String)> = at.map(|(a, v)| (a.clone(), v.to_string())).collect();
            for (name, style, points) in self.of(&run, &single.name) {
                let points = self.cut(points, style);
                lines.push(Line {
                    at: at.clone(),
                    ..Line::new(figure.name_of(name), Source::Byway, style, points)
                });
            }
            picks.push(pick);
        }
        figure.panels.push(Panel {
            title: String::new(),
            x: "time (s)".to_owned(),
            y: self.y_title.clone(),
            lines,
            ladder: None,
        });
        figure.caption = format!("{} {}", data.runs.study.what, Pick::words(&picks));
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
            Shown::Throughput => {
                let points = throughput(run, self.every_s);
                vec![(name.to_owned(), Style::Steps, points)]
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

/// Payload acknowledged in each step of `every` seconds, Mbit/s. Each value lasts until the next one;
/// the last step ends with the run.
fn throughput(run: &RunResult, every: f64) -> Vec<Point> {
    let bits = 8.0 * run.delivered_bytes as f64 / run.measures.originals.max(1) as f64;
    let every = every.max(run.end_s / POINTS as f64).max(1e-3);
    let steps = (run.end_s / every).ceil() as usize;
    let rate = |i: usize| {
        let (from, to) = (i as f64 * every, ((i + 1) as f64 * every).min(run.end_s));
        let chunks = run
            .measures
            .acked
            .between((from * 1e9) as u64, (to * 1e9) as u64);
        point(from, chunks * bits / 1e6 / (to - from).max(1e-9))
    };
    let mut points: Vec<Point> = (0..steps).map(rate).collect();
    points.push(point(run.end_s, 0.0));
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
