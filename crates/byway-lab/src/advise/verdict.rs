//! The recommended settings against the defaults, in a sentence each.

use super::answer::{Outlook, Role, Verdict};
use super::compare::{Comparison, Shown, compare};
use super::evidence::Sample;
use super::recommend::per_hour;
use super::wishes::Wishes;

/// The first row against each default that it is not.
pub(super) fn verdicts(rows: &[Outlook], wishes: &Wishes) -> Vec<Verdict> {
    let Some(best) = rows.first() else {
        return Vec::new();
    };
    let defaults = rows.iter().filter(|r| r.role == Role::Default);
    defaults
        .filter(|r| r.candidate != best.candidate)
        .map(|row| verdict(best, row, wishes))
        .collect()
}

/// The parts of the score that are not shown to differ are left out, but for the stall and
/// the moves.
fn verdict(best: &Outlook, row: &Outlook, wishes: &Wishes) -> Verdict {
    let of = |value: &dyn Fn(&Sample) -> f64| compare(&best.samples, &row.samples, value);
    let score = of(&|s| s.score(wishes));
    let stall_s = of(&|s| s.stall_s);
    let moves_per_hour = of(&per_hour);
    let nearby_per_hour = of(&|s| s.nearby_per_hour);
    let mut parts = vec![
        score.shown.words().to_owned(),
        format!(" stall {}", words(&stall_s, 1e3, 0, " ms")),
        format!(" moves/hour {}", words(&moves_per_hour, 1.0, 1, "")),
        format!(" on nearby paths {}", words(&nearby_per_hour, 1.0, 1, "")),
    ];
    for (name, part, factor, unit) in [
        ("elsewhere", of(&|s| s.elsewhere), 100.0, " %"),
        ("back in", of(&|s| s.away_s), 1.0, " s"),
    ] {
        if part.shown != Shown::Nothing {
            parts.push(format!(" {name} {}", words(&part, factor, 1, unit)));
        }
    }
    let (first, rest) = parts.split_at(1);
    Verdict {
        against: row.name.clone(),
        words: format!("{};{}", first[0], rest.join(",")),
        score,
        stall_s,
        moves_per_hour,
        nearby_per_hour,
    }
}

fn words(c: &Comparison, factor: f64, digits: usize, unit: &str) -> String {
    format!(
        "{:+.digits$}{unit} [{:+.digits$}, {:+.digits$}] ({})",
        c.mean * factor,
        c.low * factor,
        c.high * factor,
        c.shown.words()
    )
}
