//! The answer as a table of 80 columns.

use super::answer::{Advice, Outlook, Role, TargetAdvice, Verdict};
use super::candidates::Target;
use super::compare::Shown;
use super::evidence::{Figures, Interval};
use super::lines;
use super::verdict;
use super::wishes::Wishes;
use crate::scenario::{LossSpec, PathSpec};
use crate::units::{Share, format_duration};
use std::time::Duration;

const WIDTH: usize = 80;

impl Advice {
    /// The answer in words and tables, at most 80 columns wide.
    #[must_use]
    pub fn table(&self) -> String {
        let mut out = String::new();
        for (i, path) in self.paths.iter().enumerate() {
            wrap(&mut out, &format!("path {}: ", i + 1), path);
        }
        wrap(&mut out, "traffic: ", &self.traffic);
        wrap(&mut out, "what hurts: ", &self.wishes.words());
        if self.interrupted {
            out.push('\n');
            let words = match self.effort.check {
                0 => {
                    "in the search. The figures are those of the search: few runs, which flatter \
                     the winner"
                }
                _ => "the answer rests on the runs that were done before",
            };
            wrap(&mut out, "Interrupted: ", words);
        }
        for target in &self.targets {
            out.push('\n');
            of_target(&mut out, target, &self.wishes);
        }
        if !self.notes.is_empty() {
            out.push('\n');
        }
        for note in &self.notes {
            wrap(&mut out, "note: ", note);
        }
        out.push('\n');
        wrap(&mut out, "", &self.how());
        out
    }

    /// What stands behind the figures.
    fn how(&self) -> String {
        let few = match self.effort.check < ENOUGH_FOR_95TH {
            true => {
                " The 95th percentile may lie above its interval: so few runs give it no upper end, \
                 and the largest stall seen stands there (59 runs are enough)."
            }
            false => "",
        };
        format!(
            "{} runs for each figure in each situation, with seeds that the search did not use (with none, \
             the figures are of the search). \
             Intervals are 95 %: quantiles by bootstrap over seeds, moves as a Poisson count widened \
             by the scatter between seeds (none at all: rule of three), differences by Student's t of \
             pairs of equal seeds. The choice also \
             rests on needless moves on paths that differ from the description by a third. Seed {}, {} runs \
             in all; `--runs {},{}` gives the same figures.{few}",
            self.effort.check, self.seed, self.simulated, self.effort.search, self.effort.check
        )
    }
}

/// So many values have one above the 95th percentile with a probability of 95 %: 0.95^59 < 0.05.
const ENOUGH_FOR_95TH: u32 = 59;

fn of_target(out: &mut String, target: &TargetAdvice, wishes: &Wishes) {
    let title = match target.target {
        Target::Byway => "byway",
        Target::Linux => "Linux (sysctl)",
        Target::Usrsctp => "usrsctp (socket options)",
    };
    out.push_str(&format!("For {title}: {} settings tried\n\n", target.tried));
    out.push_str(&format!(
        "{:18} {:^33} {:>16} {:>5} {:>4}\n",
        "", "stall when path 1 dies, ms", "needless", "else-", "back"
    ));
    out.push_str(&format!(
        "{:18} {:>16} {:>16} {:>16} {:>5} {:>4}\n",
        "", "median", "95th percentile", "moves/hour", "where", "in"
    ));
    for row in &target.rows {
        out.push_str(&line(row));
    }
    rates(out, target);
    out.push_str("* on the Pareto front of stall against needless moves\n");
    wrap(
        out,
        "  ",
        "elsewhere: share of the payload on other paths while nothing fails; back in: until \
         traffic is back on the first path after its repair",
    );
    let lost: Vec<String> = target
        .rows
        .iter()
        .filter(|r| r.figures.lost > 0)
        .map(|r| {
            let situations = 5 + usize::from(r.figures.rate_bytes_s.is_some());
            format!(
                "{} {} of {}",
                r.name,
                r.figures.lost,
                situations * r.figures.runs
            )
        })
        .collect();
    if !lost.is_empty() {
        wrap(out, "associations lost: ", &lost.join(", "));
    }
    out.push('\n');
    recommendation(out, target, wishes);
}

/// The columns of bulk traffic, for which 80 have no room beside the others.
fn rates(out: &mut String, target: &TargetAdvice) {
    if target.rows.iter().all(|r| r.figures.rate_bytes_s.is_none()) {
        return;
    }
    out.push_str(&format!(
        "\n{:18} {:^33}\n{:18} {:>16} {:>16}\n",
        "", "Mbit/s while nothing fails", "", "as described", "at least 0.1 %"
    ));
    let words = |rate: &Option<Interval>| {
        rate.as_ref().map_or_else(String::new, |i| {
            let mbit = |bytes: f64| bytes * 8e-6;
            self::rate(&Interval {
                value: mbit(i.value),
                low: mbit(i.low),
                high: mbit(i.high),
            })
        })
    };
    for row in &target.rows {
        let figures = &row.figures;
        out.push_str(&format!(
            "  {:16} {:>16} {:>16}\n",
            row.name,
            words(&figures.rate_bytes_s),
            words(&figures.lossy_rate_bytes_s)
        ));
    }
    wrap(
        out,
        "  ",
        "at least 0.1 %: paths that are described without loss lose 0.1 % each way",
    );
}

fn recommendation(out: &mut String, target: &TargetAdvice, wishes: &Wishes) {
    let Some(best) = target.rows.first() else {
        return;
    };
    out.push_str("Recommended:");
    if best.candidate.settings.is_empty() && !best.candidate.default.is_empty() {
        let is_beaten = |v: &Verdict| v.score.shown == Shown::Worse;
        let nothing = match target.verdicts.iter().any(is_beaten) {
            true => "nothing that keeps the limits",
            false => "nothing that was tried",
        };
        out.push_str(&format!(
            " {}; {nothing} is shown to be better\n",
            best.candidate.default
        ));
    } else {
        out.push('\n');
    }
    for line in &target.lines {
        out.push_str(&format!("  {line}\n"));
    }
    for remark in lines::remarks(&best.candidate) {
        wrap(out, "  (", &format!("{remark})"));
    }
    for verdict in &target.verdicts {
        wrap(
            out,
            &format!("against {}: ", verdict.against),
            &verdict.words,
        );
    }
    for limit in &target.limits {
        wrap(out, "limit: ", limit);
    }
    for row in target
        .rows
        .iter()
        .filter(|r| r.role == Role::Front || r.role == Role::RunnerUp)
    {
        let settings: Vec<String> = row
            .candidate
            .settings
            .iter()
            .map(|(k, v)| format!("{k} = {v}"))
            .collect();
        wrap(
            out,
            &format!("{}: ", row.name),
            &format!(
                "{} with {}; {}",
                row.candidate.preset,
                settings.join(", "),
                verdict::beside(row, best, wishes)
            ),
        );
    }
}

fn line(row: &Outlook) -> String {
    let Figures {
        stall_median_s,
        stall_95th_s,
        moves,
        elsewhere,
        away_s,
        ..
    } = &row.figures;
    format!(
        "{} {:16} {:>16} {:>16} {:>16} {:>5} {:>4}\n",
        if row.on_front { '*' } else { ' ' },
        row.name,
        milliseconds(stall_median_s),
        milliseconds(stall_95th_s),
        rate(&moves.per_hour),
        format!("{:.1}%", elsewhere.value * 100.0),
        format!("{:.0}s", away_s.value)
    )
}

fn milliseconds(i: &Interval) -> String {
    format!(
        "{} [{},{}]",
        brief(i.value * 1e3),
        brief(i.low * 1e3),
        brief(i.high * 1e3)
    )
}

fn rate(i: &Interval) -> String {
    format!("{} [{},{}]", brief(i.value), brief(i.low), brief(i.high))
}

/// At most five characters: 0, 0.12, 3.4, 163, 9999, 63k.
fn brief(x: f64) -> String {
    if x == 0.0 {
        "0".to_owned()
    } else if x < 0.995 {
        format!("{x:.2}")
    } else if x < 9.95 {
        format!("{x:.1}")
    } else if x < 9_999.5 {
        format!("{x:.0}")
    } else if x < 9_999_500.0 {
        format!("{:.0}k", x / 1e3)
    } else {
        format!("{x:.0e}")
    }
}

/// A path in words.
pub(super) fn path_words(path: &PathSpec, jitter: Duration) -> String {
    let link = &path.forward;
    let name = match path.name.starts_with("path ") {
        true => String::new(),
        false => format!("{}: ", path.name),
    };
    let mut words = format!(
        "{name}round trip {}, {}",
        format_duration(link.delay + path.reverse.delay),
        link.rate
    );
    match &link.loss {
        LossSpec::Nothing => words.push_str(", no loss"),
        LossSpec::Random(share) => words.push_str(&format!(", {share} loss each way")),
        LossSpec::Burst {
            to_bad, to_good, ..
        } => {
            let share = Share(to_bad.0 / (to_bad.0 + to_good.0));
            let mean = 1.0 / to_good.0;
            words.push_str(&format!(", {share} loss each way in bursts of {mean:.0}"));
        }
        LossSpec::List { .. } | LossSpec::LargerThan(_) => words.push_str(", losses"),
    }
    if !jitter.is_zero() {
        words.push_str(&format!(", jitter {}", format_duration(jitter)));
    }
    words.push_str(&format!(", queue of {}", link.queue));
    words
}

/// Adds `text` after `first`, in lines of at most 80 characters; further ones are indented.
fn wrap(out: &mut String, first: &str, text: &str) {
    let mut line = first.to_owned();
    let mut is_empty = true;
    for word in text.split(' ') {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            out.push_str(line.trim_end());
            out.push('\n');
            line = "    ".to_owned();
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    out.push_str(line.trim_end());
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_to_their_columns() {
        for (x, text) in [
            (0.0, "0"),
            (0.125, "0.12"),
            (3.44, "3.4"),
            (163.4, "163"),
            (63_012.0, "63k"),
            (9_960.0, "9960"),
        ] {
            assert_eq!(brief(x), text);
        }
    }

    #[test]
    fn long_text_is_wrapped_at_80() {
        let mut out = String::new();
        wrap(&mut out, "note: ", &"word ".repeat(40));
        assert!(out.lines().count() > 2 && out.lines().all(|l| l.chars().count() <= 80));
    }
}
