//! The table of a comparison, for a terminal.

use crate::result::{Comparison, EstimateTotals, Outcome, RunResult};
use crate::show;
use crate::terminal::{Terminal, shortened, widest};

/// Narrowest that a table is made.
const MIN_WIDTH: usize = 60;

struct Column {
    /// Two lines of heading.
    head: [String; 2],
    cells: Vec<String>,
}

impl Column {
    fn new(head: [&str; 2], results: &[RunResult], cell: impl Fn(&RunResult) -> String) -> Column {
        Column {
            head: head.map(str::to_owned),
            cells: results.iter().map(cell).collect(),
        }
    }

    fn width(&self) -> usize {
        widest(self.head.iter().chain(&self.cells))
    }
}

/// The table, with lines that end in a line feed.
#[must_use]
pub fn render(comparison: &Comparison, terminal: Terminal) -> String {
    let mut out = String::new();
    write_columns(&mut out, comparison, terminal);
    let results = &comparison.results;
    for text in footnote(results) {
        out.push_str(&terminal.line("2", text));
    }
    for text in results.iter().filter_map(estimates) {
        out.push_str(&terminal.line("2", &text));
    }
    for text in results.iter().filter_map(incomplete) {
        // The line feed has the colour, too.
        out.push_str(&terminal.paint("31", &format!("{text}\n")));
    }
    out
}

/// One table if it fits, else times and counts apart from the paths.
fn write_columns(out: &mut String, comparison: &Comparison, terminal: Terminal) {
    let results = &comparison.results;
    let width = terminal.width.max(MIN_WIDTH);
    let mut columns = main_columns(comparison);
    let paths = path_columns(comparison);
    let counts = count_columns(results);
    let name_width = widest(results.iter().map(|r| &r.policy)).max("policy".len());
    let needs = |columns: &[Column]| columns.iter().map(|c| c.width() + 2).sum::<usize>();
    // A long name is cut before the table is split, down to 16 characters.
    let whole = needs(&columns) + needs(&paths) + needs(&counts);
    let least_name = name_width.min(16);
    if whole + least_name <= width {
        columns.extend(paths);
        columns.extend(counts);
        for extra in extra_columns(results) {
            if needs(&columns) + extra.width() + 2 + name_width <= width {
                columns.push(extra);
            }
        }
        let name = name_width.min(width - needs(&columns));
        write_table(out, results, name, &columns, terminal);
    } else {
        columns.extend(counts);
        let name = name_width.min(width.saturating_sub(needs(&columns))).max(8);
        write_table(out, results, name, &columns, terminal);
        out.push('\n');
        let name = name_width.min(width.saturating_sub(needs(&paths))).max(8);
        write_table(out, results, name, &paths, terminal);
    }
}

/// Why a run did not complete its transfer; none if it did.
fn incomplete(result: &RunResult) -> Option<String> {
    let policy = &result.policy;
    let stopped = |why: &str| {
        format!(
            "{policy}: {why} {} of simulated time ({} delivered)",
            show::time(result.end_s),
            show::bytes(result.delivered_bytes)
        )
    };
    match &result.outcome {
        Outcome::Complete => None,
        Outcome::Lost { reason } => Some(format!("{policy}: association lost: {reason}")),
        Outcome::OutOfEvents => Some(stopped(
            "stopped after max_events events of the simulator, at",
        )),
        Outcome::OutOfTime => Some(stopped("not finished after")),
    }
}

/// What a policy that estimates its paths found at last, and what it cost.
fn estimates(result: &RunResult) -> Option<String> {
    let of = |f: fn(&EstimateTotals) -> u64| -> u64 {
        let known = result.paths.iter().filter_map(|p| p.estimate.as_ref());
        known.map(f).sum()
    };
    let found = result.paths.iter().filter_map(|p| {
        let e = p.estimate.filter(|e| e.samples > 0.0)?;
        let rtt = show::time(e.rtt_s);
        Some(format!("{} {rtt} {:.1} %", p.name, 100.0 * e.loss))
    });
    let found: Vec<String> = found.collect();
    if found.is_empty() {
        return None;
    }
    let all: u64 = result.paths.iter().map(|p| p.bytes).sum();
    let share = 100.0 * of(|e| e.probe_bytes) as f64 / all.max(1) as f64;
    Some(format!(
        "{}: estimated {}; {} probes, {share:.2} % of all bytes",
        result.policy,
        found.join(", "),
        of(|e| e.probes)
    ))
}

/// What the columns mean.
fn footnote(results: &[RunResult]) -> Vec<&'static str> {
    let mut lines = vec!["longest stall: without delivery at the receiver"];
    if results.iter().any(|r| !r.detections.is_empty()) {
        lines
            .push("PF, inactive: from the failure until the path was potentially failed, inactive");
    }
    lines
}

fn main_columns(comparison: &Comparison) -> Vec<Column> {
    let results = &comparison.results;
    let mut columns = vec![
        Column::new(["transfer", "time"], results, transfer),
        Column::new(["longest", "stall"], results, |r| {
            r.stall.map_or("-".to_owned(), |s| show::time(s.length_s))
        }),
    ];
    if results.iter().any(|r| !r.detections.is_empty()) {
        // With several failures, the first: the others are in the report.
        columns.push(Column::new(["PF", "after"], results, |r| {
            show::maybe_time(r.detections.first().and_then(|d| d.suspect_after_s))
        }));
        columns.push(Column::new(["inactive", "after"], results, |r| {
            show::maybe_time(r.detections.first().and_then(|d| d.inactive_after_s))
        }));
    }
    columns
}

fn transfer(result: &RunResult) -> String {
    match result.outcome {
        Outcome::Complete => show::maybe_time(result.transfer_s),
        Outcome::Lost { .. } => "lost".to_owned(),
        Outcome::OutOfTime | Outcome::OutOfEvents => "unfinished".to_owned(),
    }
}

fn path_columns(comparison: &Comparison) -> Vec<Column> {
    let paths = comparison.scenario.paths.iter().enumerate();
    paths
        .map(|(i, path)| {
            let name = shortened(&path.name, 12);
            Column::new(["sent on", &name], &comparison.results, |r| {
                r.paths
                    .get(i)
                    .map_or(String::new(), |p| show::bytes(p.bytes))
            })
        })
        .collect()
}

fn count_columns(results: &[RunResult]) -> Vec<Column> {
    vec![
        Column::new(["re-", "sent"], results, |r| r.retransmissions.to_string()),
        Column::new(["time-", "outs"], results, |r| r.timeouts.to_string()),
    ]
}

/// Shown where there is room.
fn extra_columns(results: &[RunResult]) -> Vec<Column> {
    vec![
        Column::new(["fast", "resent"], results, |r| {
            r.fast_retransmits.to_string()
        }),
        Column::new(["fail-", "overs"], results, |r| r.failovers.to_string()),
        Column::new(["of these", "spurious"], results, |r| {
            r.spurious_failovers.to_string()
        }),
        Column::new(["dupli-", "cates"], results, |r| r.duplicates.to_string()),
        Column::new(["all", "delivered"], results, |r| {
            show::maybe_time(r.delivered_s)
        }),
    ]
}

fn write_table(
    out: &mut String,
    results: &[RunResult],
    name: usize,
    columns: &[Column],
    terminal: Terminal,
) {
    for (line, first) in ["", "policy"].into_iter().enumerate() {
        let mut row = format!("{first:<name$}");
        for column in columns {
            row.push_str(&format!(
                "  {:>width$}",
                column.head[line],
                width = column.width()
            ));
        }
        out.push_str(&terminal.line("1", row.trim_end()));
    }
    for (i, result) in results.iter().enumerate() {
        let mut row = format!("{:<name$}", shortened(&result.policy, name));
        for column in columns {
            row.push_str(&format!(
                "  {:>width$}",
                column.cells[i],
                width = column.width()
            ));
        }
        out.push_str(row.trim_end());
        out.push('\n');
    }
}

/// The comparison in a sentence.
#[must_use]
pub fn summary(comparison: &Comparison) -> String {
    let stalled: Vec<(&RunResult, f64)> = comparison
        .results
        .iter()
        .filter_map(|r| Some((r, r.stall?.length_s)))
        .collect();
    let by_stall = |a: &&(&RunResult, f64), b: &&(&RunResult, f64)| a.1.total_cmp(&b.1);
    let (Some((best, least)), Some((worst, most))) = (
        stalled.iter().min_by(by_stall),
        stalled.iter().max_by(by_stall),
    ) else {
        return "Nothing was delivered.".to_owned();
    };
    let ending = |r: &RunResult| match (&r.outcome, r.transfer_s) {
        (Outcome::Complete, Some(t)) => format!(" and was done after {}", show::time(t)),
        (Outcome::Lost { .. }, _) => " and the association was lost".to_owned(),
        _ => " and it was not done in time".to_owned(),
    };
    if comparison.results.len() == 1 || (most - least) < 0.05 * most {
        return format!(
            "With {} the transfer stalled for {} at most{}.",
            best.policy,
            show::time(*least),
            ending(best)
        );
    }
    format!(
        "With {} the transfer stalled for {}{}; with {} it stalled for {}{}.",
        best.policy,
        show::time(*least),
        ending(best),
        worst.policy,
        show::time(*most),
        ending(worst)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_table_is_split_and_fits() {
        let text = render(
            &crate::testing::comparison(),
            Terminal {
                width: 80,
                colour: false,
            },
        );
        assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
        insta::assert_snapshot!("narrow", text);
    }

    #[test]
    fn a_wide_table_shows_more() {
        let text = render(
            &crate::testing::comparison(),
            Terminal {
                width: 160,
                colour: false,
            },
        );
        insta::assert_snapshot!("wide", text);
    }

    #[test]
    fn colour_is_used_only_when_it_may_be() {
        let plain = render(
            &crate::testing::comparison(),
            Terminal {
                width: 80,
                colour: false,
            },
        );
        assert!(!plain.contains('\x1b'));
        let coloured = render(
            &crate::testing::comparison(),
            Terminal {
                width: 80,
                colour: true,
            },
        );
        assert!(coloured.contains("\x1b["));
    }

    #[test]
    fn the_summary_names_best_and_worst() {
        assert_eq!(
            summary(&crate::testing::comparison()),
            "With RFC 9260 the transfer stalled for 1.05 s and was done after 9.05 s; with PMR 5 without potentially \
             failed it stalled for 31.0 s and was done after 39.0 s."
        );
    }
}
