//! Which cells differ, and by how much.

use super::results::Results;
use super::summary::{Column, MAX_LINES, completed, number, render};
use crate::engine::Row;
use crate::stats::{Difference, Sample, holm};
use crate::terminal::Terminal;
use serde::Serialize;

/// What is compared.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// Names of metrics; those of the first sweep when empty.
    pub metrics: Vec<String>,
    /// Confidence of intervals; what it leaves over is the greatest probability
    /// of chance that still counts as a difference.
    pub confidence: Option<f64>,
}

/// The answer to [`Question`].
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The form of this structure as JSON.
    pub schema: &'static str,
    /// What is subtracted.
    pub a: String,
    /// What it is subtracted from.
    pub b: String,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// The axes that name a cell.
    pub axes: Vec<String>,
    /// Each cell and metric that both have.
    pub pairs: Vec<Pair>,
    /// Cells that only one side has.
    pub unmatched: usize,
}

/// One metric of one cell on both sides.
#[derive(Clone, Debug, Serialize)]
pub struct Pair {
    /// The cell's value on each axis.
    pub cell: Vec<String>,
    /// The metric.
    pub metric: String,
    /// Side A.
    pub a: Sample,
    /// Side B.
    pub b: Sample,
    /// Runs completed and all runs, of A and of B.
    pub completed: [(usize, usize); 2],
    /// Runs that met the same chances on both sides, if they were compared one
    /// by one; none if the sides were compared as wholes (Welch).
    pub paired: Option<usize>,
    /// B less A; none with too few runs.
    pub difference: Option<Difference>,
    /// Probability that this is chance, corrected for all comparisons (Holm).
    pub p_corrected: Option<f64>,
    /// Whether it differs.
    pub significant: bool,
}

/// One side: results, the cells that count, and the place of each axis.
struct Side<'a> {
    results: &'a Results,
    /// Its cells by the values that name them.
    cells: Vec<(Vec<String>, usize)>,
}

/// Holds two results files against each other, cell by cell.
///
/// # Errors
/// When they have no cells or metrics in common.
pub fn compare_files(
    (name_a, a): (&str, &Results),
    (name_b, b): (&str, &Results),
    question: &Question,
) -> Result<Comparison, String> {
    let axes: Vec<String> = a.about.axes.iter().map(|x| x.name.clone()).collect();
    let others: Vec<String> = b.about.axes.iter().map(|x| x.name.clone()).collect();
    let common: Vec<String> = axes
        .iter()
        .filter(|x| others.contains(x))
        .cloned()
        .collect();
    // An axis that only one of them has makes no difference if it has one value.
    for (results, name) in [(a, name_a), (b, name_b)] {
        for axis in &results.about.axes {
            if !common.contains(&axis.name) && axis.values.len() > 1 {
                return Err(format!(
                    "{name} varies {} and the other does not, so its cells have no counterpart; compare its values with --by {}",
                    axis.name, axis.name
                ));
            }
        }
    }
    let side = |results| Side {
        results,
        cells: named(results, &common, |_| true),
    };
    compare(&common, (name_a, side(a)), (name_b, side(b)), question)
}

/// Holds two values of an axis against each other, in all else alike.
///
/// # Errors
/// When there is no such axis or value, or no metric of that name.
pub fn compare_values(
    results: &Results,
    axis: &str,
    (a, b): (&str, &str),
    question: &Question,
) -> Result<Comparison, String> {
    let names = || results.about.axes.iter().map(|x| x.name.as_str());
    let place = names().position(|n| n == axis).ok_or_else(|| {
        format!(
            "\"{axis}\" is not an axis; there are {}",
            crate::source::listed(names())
        )
    })?;
    for value in [a, b] {
        let values = &results.about.axes[place].values;
        if !values.iter().any(|v| v == value) {
            return Err(format!(
                "\"{value}\" is not a value of {axis}; there are {}",
                crate::source::listed(values.iter().map(String::as_str))
            ));
        }
    }
    let rest: Vec<String> = names().filter(|n| *n != axis).map(str::to_owned).collect();
    let side = |value: &str| Side {
        results,
        cells: named(results, &rest, |cell| {
            results.cells[cell].values[place] == value
        }),
    };
    compare(&rest, (a, side(a)), (b, side(b)), question)
}

/// Cells with their values on these axes.
fn named(
    results: &Results,
    axes: &[String],
    counts: impl Fn(usize) -> bool,
) -> Vec<(Vec<String>, usize)> {
    let places: Vec<usize> = axes
        .iter()
        .filter_map(|name| results.about.axes.iter().position(|x| x.name == *name))
        .collect();
    (0..results.cells.len())
        .filter(|cell| counts(*cell))
        .map(|cell| {
            let values = places
                .iter()
                .map(|p| results.cells[cell].values[*p].clone());
            (values.collect(), cell)
        })
        .collect()
}

fn compare(
    axes: &[String],
    (name_a, a): (&str, Side<'_>),
    (name_b, b): (&str, Side<'_>),
    question: &Question,
) -> Result<Comparison, String> {
    let metrics: Vec<String> = if question.metrics.is_empty() {
        let about = &a.results.about;
        about
            .shown
            .iter()
            .map(|m| about.metrics[*m].name.clone())
            .collect()
    } else {
        question.metrics.clone()
    };
    let places = metrics
        .iter()
        .map(|name| Ok((a.results.metric(name)?, b.results.metric(name)?)))
        .collect::<Result<Vec<_>, String>>()?;
    let confidence = question
        .confidence
        .unwrap_or_else(|| a.results.confidence());
    let mut pairs = Vec::new();
    let mut matched = 0;
    for (values, cell_a) in &a.cells {
        let Some((_, cell_b)) = b.cells.iter().find(|(v, _)| v == values) else {
            continue;
        };
        matched += 1;
        let rows = [a.results.rows_of(*cell_a), b.results.rows_of(*cell_b)];
        for (metric, place) in metrics.iter().zip(&places) {
            pairs.push(pair(values, metric, *place, rows, confidence));
        }
    }
    if matched == 0 {
        return Err(format!("{name_a} and {name_b} have no cell in common"));
    }
    correct(&mut pairs, confidence);
    Ok(Comparison {
        schema: "byway.compare/1",
        a: name_a.to_owned(),
        b: name_b.to_owned(),
        confidence,
        axes: axes.to_vec(),
        unmatched: a.cells.len() + b.cells.len() - 2 * matched,
        pairs,
    })
}

fn pair(
    cell: &[String],
    metric: &str,
    (in_a, in_b): (usize, usize),
    [rows_a, rows_b]: [&[Row]; 2],
    confidence: f64,
) -> Pair {
    let values = |rows: &[Row], m| rows.iter().filter_map(|r| r.value(m)).collect::<Vec<f64>>();
    let mut common = Vec::new();
    for row in rows_a {
        // The same seed means the same chances.
        let other = rows_b.iter().find(|r| r.seed == row.seed);
        if let Some(both) = row.value(in_a).zip(other.and_then(|o| o.value(in_b))) {
            common.push(both);
        }
    }
    let (a, b) = (
        Sample::of(&values(rows_a, in_a)),
        Sample::of(&values(rows_b, in_b)),
    );
    let by_pairs = Difference::paired(&common, confidence);
    Pair {
        cell: cell.to_vec(),
        metric: metric.to_owned(),
        a,
        b,
        completed: [rows_a, rows_b].map(|rows| (completed(rows), rows.len())),
        paired: by_pairs.is_some().then_some(common.len()),
        difference: by_pairs.or_else(|| Difference::welch(&a, &b, confidence)),
        p_corrected: None,
        significant: false,
    }
}

/// Many comparisons find differences by chance alone: all are judged together.
fn correct(pairs: &mut [Pair], confidence: f64) {
    let found: Vec<f64> = pairs.iter().filter_map(|p| Some(p.difference?.p)).collect();
    let mut corrected = holm(&found).into_iter();
    for pair in pairs.iter_mut().filter(|p| p.difference.is_some()) {
        pair.p_corrected = corrected.next();
        pair.significant = pair.p_corrected.is_some_and(|p| p < 1.0 - confidence);
    }
}

impl Comparison {
    /// The differences as a table; those that may be chance are marked.
    #[must_use]
    pub fn table(&self, terminal: Terminal) -> String {
        let mut out = format!("A: {}\nB: {}\n\n", self.a, self.b);
        let mut metrics: Vec<&str> = Vec::new();
        for pair in &self.pairs {
            if !metrics.contains(&pair.metric.as_str()) {
                metrics.push(&pair.metric);
            }
        }
        for metric in &metrics {
            let all: Vec<&Pair> = self.pairs.iter().filter(|p| p.metric == *metric).collect();
            out.push_str(&terminal.paint("1", metric));
            out.push('\n');
            self.metric_table(&mut out, metric, &all[..all.len().min(MAX_LINES)], terminal);
            if all.len() > MAX_LINES {
                out.push_str(&format!(
                    "{} more cells: see --json\n",
                    all.len() - MAX_LINES
                ));
            }
            out.push('\n');
        }
        let differ = self.pairs.iter().filter(|p| p.significant).count();
        let level = (1.0 - self.confidence) * 100.0;
        out.push_str(&format!(
            "{differ} of {} differ (*: chance below {level:.0} %, corrected for their number by Holm).\n",
            self.pairs.len()
        ));
        let paired = self.pairs.iter().filter(|p| p.paired.is_some()).count();
        out.push_str(&match paired {
            0 => "Sides with different seeds, compared by Welch's test.\n".to_owned(),
            n if n == self.pairs.len() => {
                "Runs of the same seed met the same chances and were compared one by one.\n\
                 B - A is over the seeds that both have, A and B over all of theirs.\n"
                    .to_owned()
            }
            n => format!(
                "{n} of them were compared run by run (same seeds), the others by Welch's test.\n"
            ),
        });
        if self
            .pairs
            .iter()
            .any(|p| p.completed.iter().any(|(done, all)| done < all))
        {
            out.push_str("Runs that did not complete have no times: see \"completed\", too.\n");
        }
        if self.unmatched > 0 {
            out.push_str(&format!("{} cells have no counterpart.\n", self.unmatched));
        }
        out
    }

    fn metric_table(&self, out: &mut String, metric: &str, pairs: &[&Pair], terminal: Terminal) {
        let column = |head: &str, text: &dyn Fn(&Pair) -> String| Column {
            head: head.to_owned(),
            cells: pairs.iter().map(|p| text(p)).collect(),
            number: true,
        };
        let left: Vec<Column> = self
            .axes
            .iter()
            .enumerate()
            .map(|(i, axis)| Column {
                head: axis.clone(),
                cells: pairs.iter().map(|p| p.cell[i].clone()).collect(),
                number: false,
            })
            .collect();
        let mean = |s: &Sample| match s.n {
            0 => "-".to_owned(),
            _ => number(metric, s.mean),
        };
        let mut right = vec![
            column("A", &|p| mean(&p.a)),
            column("B", &|p| mean(&p.b)),
            column("B - A", &|p| match &p.difference {
                Some(d) => format!(
                    "{} ± {}",
                    number(metric, d.mean),
                    number(metric, d.half_width)
                ),
                None => "-".to_owned(),
            }),
            column("", &|p| match (&p.difference, p.a.mean) {
                (Some(d), mean) if mean != 0.0 => format!("{:+.1} %", d.mean / mean * 100.0),
                _ => String::new(),
            }),
            column("", &|p| if p.significant { "*" } else { "" }.to_owned()),
        ];
        if pairs
            .iter()
            .any(|p| p.completed.iter().any(|(done, all)| done < all))
        {
            right.push(column("completed", &|p| {
                let [(a, of_a), (b, of_b)] = p.completed;
                format!("{a}/{of_a}, {b}/{of_b}")
            }));
        }
        if left.is_empty() && pairs.len() == 1 {
            // One line for the one cell that there is.
            right.insert(0, column("runs", &|p| format!("{}, {}", p.a.n, p.b.n)));
        }
        out.push_str(&render(&left, &right, terminal));
    }
}
