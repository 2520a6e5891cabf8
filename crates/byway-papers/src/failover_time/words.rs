//! The answer as text of 80 columns.

use super::model::{Answer, FailoverTime, Goal, Mechanism, Milestone};
use super::timeline::{Step, Sum};
use std::fmt::Write;
use std::time::Duration;

/// Characters in a line.
const WIDTH: usize = 80;

/// A number of seconds without needless digits: three places after the point,
/// more for less than 10 ms, none from 10,000 s on.
fn number(d: Duration) -> String {
    let places = match d {
        _ if d >= Duration::from_secs(10_000) => return d.as_secs().to_string(),
        _ if d < Duration::from_millis(10) => 6,
        _ => 3,
    };
    let text = format!("{:.places$}", d.as_secs_f64());
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A time in seconds: "1.045 s".
pub(super) fn seconds(d: Duration) -> String {
    format!("{} s", number(d))
}

/// "1 error", "6 errors".
pub(super) fn count(n: u32, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// Some equal waits, written one by one while that is short.
fn step(s: &Step) -> String {
    let one = number(s.each);
    match s.times {
        1 => one,
        2 => format!("{one} + {one}"),
        n => format!("{n} x {one}"),
    }
}

/// "1 + 2 + 4 (T3) + 0.045 (way) = 7.045 s".
pub(super) fn sum(sum: &Sum) -> String {
    let total = seconds(sum.total());
    let steps = sum.steps();
    if steps.is_empty() {
        return total;
    }
    let mut out = String::new();
    for (i, s) in steps.iter().enumerate() {
        if i > 0 {
            out.push_str(" + ");
        }
        out.push_str(&step(s));
        if steps
            .get(i + 1)
            .is_none_or(|next| next.waiting != s.waiting)
        {
            let _ = write!(out, " ({})", s.waiting.words());
        }
    }
    if steps.len() > 1 || steps[0].times > 1 {
        let _ = write!(out, " = {total}");
        out
    } else {
        // A single wait: "1 s (T3)".
        format!("{total} ({})", steps[0].waiting.words())
    }
}

/// Appends `text`, broken between words; the first line begins with `first`,
/// the others with as many blanks.
fn wrapped(out: &mut String, first: &str, text: &str) {
    let indent = first.chars().count();
    let mut line = first.to_owned();
    let mut empty = true;
    for word in text.split_whitespace() {
        let room = line.chars().count() + 1 + word.chars().count();
        if !empty && room > WIDTH {
            out.push_str(line.trim_end());
            out.push('\n');
            line = " ".repeat(indent);
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    out.push_str(line.trim_end());
    out.push('\n');
}

/// The whole answer.
#[must_use]
pub fn render(answer: &FailoverTime) -> String {
    let mut out = String::new();
    let [best, typical, worst] = answer.rto_s.map(from_seconds);
    let rtt = from_seconds(answer.rtt_s);
    wrapped(
        &mut out,
        "",
        &format!(
            "When a path dies: {}, round trip {}",
            answer.name,
            seconds(rtt)
        ),
    );
    out.push('\n');
    wrapped(
        &mut out,
        "",
        "A path fails silently: packets are lost without an error message. The sender sees \
         only that acknowledgements stop: T3-rtx, the retransmission timer, expires one RTO \
         (retransmission timeout) after the last of them. Time is counted from that \
         acknowledgement. The other path works. A sender with nothing in flight notices \
         nothing until it sends: add that pause.",
    );
    out.push('\n');
    for (name, rto, why) in [
        ("best", best, "RTO.Min, with the best timing".to_owned()),
        ("typical", typical, answer.rto_why.clone()),
        (
            "worst",
            worst,
            "RTO.Max, where earlier losses may have raised it".to_owned(),
        ),
    ] {
        let first = format!("  {name:<9} ");
        wrapped(&mut out, &first, &format!("RTO {}: {why}", seconds(rto)));
    }
    let initial = from_seconds(answer.rto_initial_s);
    if initial != typical {
        let text = format!(
            "Before the first sample of a path its RTO is RTO.Initial; for that case give --rto '{}'.",
            seconds(initial)
        );
        wrapped(&mut out, "            ", &text);
    }
    out.push('\n');
    summary(&mut out, &answer.together);
    for (i, mechanism) in answer.mechanisms.iter().enumerate() {
        out.push('\n');
        section(&mut out, i + 1, mechanism);
    }
    out.push_str("\nWhat follows\n");
    for line in &answer.advice {
        wrapped(&mut out, "- ", line);
    }
    out
}

fn from_seconds(s: f64) -> Duration {
    Duration::try_from_secs_f64(s).unwrap_or(Duration::MAX)
}

fn summary(out: &mut String, together: &[Milestone]) {
    let _ = writeln!(
        out,
        "{:<44}{:>11} {:>11} {:>11}",
        "All mechanisms together", "best", "typical", "worst"
    );
    for m in together {
        let label = match m.goal {
            Goal::Suspect => "  the path is potentially failed after",
            Goal::Inactive => "  the path is inactive after",
            Goal::Moved => "  new data takes the other path after",
            Goal::Stall => "  longest pause in delivery",
            Goal::Lost => "  the association is lost after",
        };
        let _ = write!(out, "{label:<43}");
        for a in &m.cases {
            let shown = match a.seconds_s {
                None => "never".to_owned(),
                Some(s) if s >= 1e9 => "> 30 years".to_owned(),
                Some(s) => seconds(from_seconds(s)),
            };
            let _ = write!(out, " {shown:>11}");
        }
        out.push('\n');
    }
}

fn section(out: &mut String, number: usize, m: &Mechanism) {
    wrapped(out, "", &format!("{number}. {}", m.title));
    wrapped(out, "   ", &m.about);
    for milestone in &m.milestones {
        let mut label = milestone.goal.name();
        for (cases, a) in grouped(&milestone.cases) {
            let cases = if milestone.cases.len() == cases.len() && cases.len() > 1 {
                "always".to_owned()
            } else {
                cases.join(", ")
            };
            let first = format!("   {label:<9} {cases:<14} ");
            wrapped(out, &first, &a.sum);
            label = "";
        }
        if !milestone.why.is_empty() {
            wrapped(out, "             ", &milestone.why);
        }
    }
}

/// Neighbouring cases with the same sum, under their names.
fn grouped(cases: &[Answer]) -> Vec<(Vec<&'static str>, &Answer)> {
    let mut groups: Vec<(Vec<&'static str>, &Answer)> = Vec::new();
    for a in cases {
        match groups.last_mut() {
            Some((names, last)) if last.sum == a.sum => names.push(a.case.name()),
            _ => groups.push((vec![a.case.name()], a)),
        }
    }
    groups
}
