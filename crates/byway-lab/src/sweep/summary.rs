//! What came out, cell by cell, as a table for a terminal.

use super::results::Results;
use crate::engine::{Row, Status};
use crate::show;
use crate::stats::{Sample, wilson};
use crate::terminal::{Terminal, shortened};
use serde::Serialize;
use std::collections::BTreeMap;

/// Confidence of the intervals when the sweep names none.
const CONFIDENCE: f64 = 0.95;
/// Narrowest that the value of an axis is cut to.
const LEAST: usize = 8;
/// Most cells that are printed.
pub(super) const MAX_LINES: usize = 200;

/// A column: its heading and a text for each line.
pub(super) struct Column {
    pub(super) head: String,
    pub(super) cells: Vec<String>,
    /// Whether it is aligned to the right of its column.
    pub(super) number: bool,
}

impl Column {
    fn width(&self) -> usize {
        let texts = std::iter::once(&self.head).chain(&self.cells);
        texts.map(|s| s.chars().count()).max().unwrap_or(0)
    }
}

/// The cells of a sweep, for machines.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// The form of this structure.
    pub schema: &'static str,
    /// The sweep's name.
    pub name: String,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// One for each cell.
    pub cells: Vec<CellSummary>,
}

/// What the runs of a cell say.
#[derive(Clone, Debug, Serialize)]
pub struct CellSummary {
    /// Its value on each axis.
    pub axes: BTreeMap<String, String>,
    /// Its runs.
    pub runs: usize,
    /// How many of them completed.
    pub completed: usize,
    /// Between which shares of completed runs the truth lies (Wilson).
    pub completed_interval: (f64, f64),
    /// Means of the metrics that the sweep requests.
    pub metrics: BTreeMap<String, MetricSummary>,
}

/// What the runs of a cell say of a metric.
#[derive(Clone, Debug, Serialize)]
pub struct MetricSummary {
    /// Runs with a value, their mean and standard deviation.
    #[serde(flatten)]
    pub sample: Sample,
    /// Half the width of the mean's interval (Student's t).
    pub half_width: Option<f64>,
}

impl Results {
    /// What the runs say of each cell.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let confidence = self.confidence();
        let about = &self.about;
        let cells = self.cells.iter().enumerate().map(|(i, cell)| {
            let rows = self.rows_of(i);
            let completed = completed(rows);
            let names = about.axes.iter().map(|a| a.name.clone());
            CellSummary {
                axes: names.zip(cell.values.iter().cloned()).collect(),
                runs: rows.len(),
                completed,
                completed_interval: wilson(completed as u32, rows.len() as u32, confidence),
                metrics: about
                    .shown
                    .iter()
                    .map(|metric| {
                        let sample = self.sample(i, *metric);
                        let summary = MetricSummary {
                            sample,
                            half_width: sample.half_width(confidence),
                        };
                        (about.metrics[*metric].name.clone(), summary)
                    })
                    .collect(),
            }
        });
        Summary {
            schema: "byway.sweep-summary/1",
            name: about.name.clone(),
            confidence,
            cells: cells.collect(),
        }
    }

    /// What they are, in short, and their table. `place` is where they are kept.
    #[must_use]
    pub fn text(&self, place: &str, terminal: Terminal) -> String {
        let about = &self.about;
        let counted = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        format!(
            "{}: {}\n{}, {} in {place}\n\n{}",
            about.name,
            about.description,
            counted(self.cells.len(), "cell"),
            counted(self.rows.len(), "run"),
            self.table(terminal)
        )
    }

    /// The confidence of intervals in tables.
    #[must_use]
    pub fn confidence(&self) -> f64 {
        self.about
            .stop
            .as_ref()
            .map_or(CONFIDENCE, |s| s.confidence)
    }

    /// What the runs of a cell say of a metric.
    #[must_use]
    pub fn sample(&self, cell: usize, metric: usize) -> Sample {
        let rows = self.rows_of(cell).iter();
        Sample::of(&rows.filter_map(|r| r.value(metric)).collect::<Vec<_>>())
    }

    /// The table of all cells.
    #[must_use]
    pub fn table(&self, terminal: Terminal) -> String {
        let confidence = self.confidence();
        let lines = self.cells.len().min(MAX_LINES);
        let (left, mut right) = (self.axis_columns(lines), vec![self.run_column(lines)]);
        right.extend(self.done_column(lines, confidence));
        for metric in &self.about.shown {
            let cells = (0..lines).map(|cell| {
                let sample = self.sample(cell, *metric);
                interval(&self.about.metrics[*metric].name, &sample, confidence)
            });
            right.push(Column {
                head: self.about.metrics[*metric].name.clone(),
                cells: cells.collect(),
                number: true,
            });
        }
        let mut out = render(&left, &right, terminal);
        out.push_str(&terminal.paint(
            "2",
            &format!(
                "mean ± half of its {:.0} % interval over the runs of a cell",
                confidence * 100.0
            ),
        ));
        out.push('\n');
        if lines < self.cells.len() {
            out.push_str(&format!(
                "{} more cells are in the results file\n",
                self.cells.len() - lines
            ));
        }
        out
    }

    fn axis_columns(&self, lines: usize) -> Vec<Column> {
        let axes = self.about.axes.iter().enumerate();
        axes.map(|(i, axis)| Column {
            head: axis.name.clone(),
            cells: self.cells[..lines]
                .iter()
                .map(|c| c.values.get(i).cloned().unwrap_or_default())
                .collect(),
            number: false,
        })
        .collect()
    }

    fn run_column(&self, lines: usize) -> Column {
        Column {
            head: "runs".to_owned(),
            cells: (0..lines)
                .map(|cell| self.rows_of(cell).len().to_string())
                .collect(),
            number: true,
        }
    }

    /// How many runs were completed, where not all were.
    fn done_column(&self, lines: usize, confidence: f64) -> Option<Column> {
        if self.rows.iter().all(|r| r.status == Status::Complete) {
            return None;
        }
        let cells = (0..lines).map(|cell| {
            let rows = self.rows_of(cell);
            let done = completed(rows);
            let (low, high) = wilson(done as u32, rows.len() as u32, confidence);
            format!("{done} ({:.0}-{:.0} %)", low * 100.0, high * 100.0)
        });
        Some(Column {
            head: "completed".to_owned(),
            cells: cells.collect(),
            number: true,
        })
    }
}

/// How many of these runs completed.
pub(super) fn completed(rows: &[Row]) -> usize {
    let done = rows.iter().filter(|r| r.status == Status::Complete);
    done.count()
}

/// "9.60 s ± 0.12 s", in the unit that the metric's name ends with.
fn interval(metric: &str, sample: &Sample, confidence: f64) -> String {
    match (sample.n, sample.half_width(confidence)) {
        (0, _) => "-".to_owned(),
        (_, Some(half)) => format!("{} ± {}", number(metric, sample.mean), number(metric, half)),
        (_, None) => number(metric, sample.mean),
    }
}

/// A value of a metric with its unit.
pub(super) fn number(metric: &str, value: f64) -> String {
    let (sign, size) = (if value < 0.0 { "-" } else { "" }, value.abs());
    let text = if metric.ends_with("_s") {
        show::time(size)
    } else if metric.ends_with("bytes") {
        show::bytes(size.round() as u64)
    } else if size == size.round() && size < 1e6 {
        format!("{size:.0}")
    } else if size < 9.995 {
        format!("{size:.2}")
    } else if size < 999.5 {
        format!("{size:.1}")
    } else {
        format!("{size:.0}")
    };
    format!("{sign}{text}")
}

/// A table that fits: long texts at its left are cut, and columns at its right
/// that have no room follow in a table of their own.
pub(super) fn render(left: &[Column], right: &[Column], terminal: Terminal) -> String {
    let width = terminal.width.max(40);
    let widest = right.iter().map(|c| c.width() + 2).max().unwrap_or(0);
    let mut widths: Vec<usize> = left.iter().map(Column::width).collect();
    // The longest gives way first.
    let total = |widths: &[usize]| widths.iter().map(|w| w + 2).sum::<usize>();
    while total(&widths) + widest > width + 2 {
        let Some(longest) = widths.iter_mut().max().filter(|w| **w > LEAST) else {
            break;
        };
        *longest -= 1;
    }
    let mut out = String::new();
    let mut rest = right;
    loop {
        let mut room = (width + 2).saturating_sub(total(&widths));
        let mut count = 0;
        for column in rest {
            let needs = column.width() + 2;
            if needs > room && count > 0 {
                break;
            }
            room = room.saturating_sub(needs);
            count += 1;
        }
        let (now, later) = rest.split_at(count);
        part(&mut out, left, &widths, now, terminal);
        rest = later;
        if rest.is_empty() {
            return out;
        }
        out.push('\n');
    }
}

fn part(out: &mut String, left: &[Column], widths: &[usize], right: &[Column], terminal: Terminal) {
    let lines = left.iter().chain(right).map(|c| c.cells.len()).max();
    for line in 0..=lines.unwrap_or(0) {
        let text = |c: &Column| match line {
            0 => c.head.clone(),
            n => c.cells.get(n - 1).cloned().unwrap_or_default(),
        };
        let mut row = Vec::new();
        for (column, width) in left.iter().zip(widths) {
            row.push(format!("{:<width$}", shortened(&text(column), *width)));
        }
        for column in right {
            let width = column.width();
            row.push(if column.number {
                format!("{:>width$}", text(column))
            } else {
                format!("{:<width$}", text(column))
            });
        }
        let row = row.join("  ");
        let row = row.trim_end();
        out.push_str(&if line == 0 {
            terminal.paint("1", row)
        } else {
            row.to_owned()
        });
        out.push('\n');
    }
}
