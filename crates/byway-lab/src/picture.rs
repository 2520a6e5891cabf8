//! Each path over time, in a few lines of a terminal.

use crate::result::{Comparison, PathCondition, PathSeries, RunResult};
use crate::show;
use crate::terminal::{Terminal, shortened, widest};

/// Columns of a picture at most: wider ones are harder to read, not easier.
const MAX_COLUMNS: usize = 120;
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// One colour a path, different for colour-blind eyes, too.
const COLOURS: [&str; 4] = ["34", "33", "36", "35"];

/// When runs differ in length by more than this, each gets its own scale.
const ONE_SCALE: f64 = 4.0;

/// One row a path for every policy, with the scale of time and a legend.
#[must_use]
pub fn render(comparison: &Comparison, terminal: Terminal) -> String {
    let paths = &comparison.scenario.paths;
    let label = widest(paths.iter().map(|p| &p.name)).clamp(4, 14);
    let columns = terminal
        .width
        .saturating_sub(label + 4)
        .clamp(20, MAX_COLUMNS);
    let ends = || comparison.results.iter().map(|r| r.end_s);
    let (shortest, longest) = (
        ends().fold(f64::INFINITY, f64::min),
        ends().fold(0.0, f64::max),
    );
    let own = longest > ONE_SCALE * shortest;
    let mut out = String::new();
    for result in &comparison.results {
        let end = if own { result.end_s } else { longest };
        let scale = Scale {
            columns,
            until: ((end * 1e9) as u64).max(1),
        };
        out.push_str(&terminal.paint("1", &result.policy));
        if !result.note.is_empty() {
            let room = terminal
                .width
                .saturating_sub(result.policy.chars().count() + 3);
            out.push_str(&terminal.paint("2", &format!("  {}", shortened(&result.note, room))));
        }
        out.push('\n');
        for (i, path) in paths.iter().enumerate() {
            out.push_str(&format!("  {:<label$} ", shortened(&path.name, label)));
            out.push_str(&row(comparison, result, i, scale, terminal));
            out.push('\n');
        }
        if own {
            out.push_str(&axis(label, scale));
        }
    }
    if !own {
        out.push_str(&axis(
            label,
            Scale {
                columns,
                until: ((longest * 1e9) as u64).max(1),
            },
        ));
    }
    out.push_str(&terminal.paint("2", &legend(comparison, own)));
    out
}

#[derive(Copy, Clone)]
struct Scale {
    columns: usize,
    until: u64,
}

impl Scale {
    fn start(self, column: usize) -> u64 {
        (u128::from(self.until) * column as u128 / self.columns as u128) as u64
    }

    fn column(self, nanos: u64) -> Option<usize> {
        (nanos < self.until)
            .then(|| (u128::from(nanos) * self.columns as u128 / u128::from(self.until)) as usize)
    }
}

fn row(
    comparison: &Comparison,
    result: &RunResult,
    path: usize,
    scale: Scale,
    terminal: Terminal,
) -> String {
    let (Some(series), Some(info)) = (
        result.series.paths.get(path),
        comparison.scenario.paths.get(path),
    ) else {
        return String::new();
    };
    let end = (result.end_s * 1e9) as u64;
    let marks: Vec<(usize, bool)> = comparison
        .scenario
        .events
        .iter()
        .filter(|e| e.path == path && (e.failure || e.words == "is repaired"))
        .filter_map(|e| Some((scale.column((e.at_s * 1e9) as u64)?, e.failure)))
        .collect();
    let mut out = String::new();
    // Neighbours of one colour are painted together.
    let (mut run, mut run_colour) = (String::new(), "");
    for column in 0..scale.columns {
        let (from, to) = (scale.start(column), scale.start(column + 1));
        if from >= end {
            break;
        }
        let mark = marks
            .iter()
            .find(|(at, _)| *at == column)
            .map(|(_, failure)| *failure);
        let timeout = series.timeouts.iter().any(|t| (from..to).contains(t));
        let (colour, glyph) = match (mark, timeout) {
            (Some(true), _) => ("1;31", 'X'),
            (Some(false), _) => ("1;32", 'O'),
            (None, true) => ("31", 'T'),
            (None, false) => (
                COLOURS[path % COLOURS.len()],
                cell(series, info.rate_bit_s, from, to.min(end)),
            ),
        };
        if colour != run_colour && !run.is_empty() {
            out.push_str(&terminal.paint(run_colour, &run));
            run.clear();
        }
        run_colour = colour;
        run.push(glyph);
    }
    if !run.is_empty() {
        out.push_str(&terminal.paint(run_colour, &run));
    }
    out
}

/// How much was sent, as a block; where nothing was, the path's state.
fn cell(series: &PathSeries, rate_bit_s: u64, from: u64, to: u64) -> char {
    let seconds = to.saturating_sub(from) as f64 / 1e9;
    let share = series.sent.between(from, to) * 8.0 / (rate_bit_s as f64 * seconds).max(1.0);
    // A heartbeat now and then is not traffic.
    if share >= 0.02 {
        return BLOCKS[((share * 8.0) as usize).min(7)];
    }
    let state = series
        .states
        .iter()
        .rev()
        .find(|(at, _)| *at < to)
        .map(|(_, state)| *state);
    match state {
        None => ' ',
        Some(PathCondition::Active) => '·',
        Some(PathCondition::PotentiallyFailed) => 'p',
        Some(PathCondition::Inactive) => 'i',
        Some(PathCondition::Unconfirmed) => '?',
    }
}

/// "0 s─────2 s─────4 s─────": each number begins where its time is.
fn axis(label: usize, scale: Scale) -> String {
    let mut line = vec!['─'; scale.columns];
    let step = nice_step(scale.until as f64 / 1e9, scale.columns / 10);
    for i in 0.. {
        let at = step * f64::from(i);
        let Some(column) = scale.column((at * 1e9) as u64) else {
            break;
        };
        let text = show::tick(at, step);
        if column + text.chars().count() > line.len() {
            break;
        }
        for (k, c) in text.chars().enumerate() {
            line[column + k] = c;
        }
    }
    let line: String = line.into_iter().collect();
    format!("{}{line}\n", " ".repeat(label + 3))
}

/// 1, 2 or 5 times a power of ten, so that about `ticks` of them fill `total`.
fn nice_step(total: f64, ticks: usize) -> f64 {
    let rough = total / ticks.max(2) as f64;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|m| m * power)
        .find(|s| *s >= rough);
    step.unwrap_or(total).max(1e-9)
}

fn legend(comparison: &Comparison, own: bool) -> String {
    let mut parts = vec!["▁▄█ sent, up to the path's rate", "· idle", "T timeout"];
    let shown = |state| {
        comparison
            .results
            .iter()
            .flat_map(|r| &r.series.paths)
            .any(|p| p.states.iter().any(|s| s.1 == state))
    };
    if shown(PathCondition::PotentiallyFailed) {
        parts.push("p potentially failed");
    }
    if shown(PathCondition::Inactive) {
        parts.push("i inactive");
    }
    if comparison.scenario.events.iter().any(|e| e.failure) {
        parts.push("X path fails");
    }
    if comparison
        .scenario
        .events
        .iter()
        .any(|e| e.words == "is repaired")
    {
        parts.push("O path repaired");
    }
    if own {
        parts.push("each policy has its own scale of time");
    }
    let mut out = String::new();
    let mut line = String::new();
    for part in parts {
        if line.chars().count() + part.chars().count() + 5 > 78 {
            out.push_str(line.trim_end());
            out.push('\n');
            line.clear();
        }
        line.push_str(if line.is_empty() { "  " } else { "   " });
        line.push_str(part);
    }
    out.push_str(&line);
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_fits_and_reads() {
        let text = render(
            &crate::testing::comparison(),
            Terminal {
                width: 80,
                colour: false,
            },
        );
        assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
        insta::assert_snapshot!("picture", text);
    }

    #[test]
    fn ticks_are_round_numbers() {
        for (total, ticks, step) in [
            (10.0, 5, 2.0),
            (75.0, 5, 20.0),
            (0.9, 6, 0.2),
            (9.1, 10, 1.0),
        ] {
            let found = nice_step(total, ticks);
            assert!((found - step).abs() < 1e-9, "{total} in {ticks}: {found}");
        }
    }
}
