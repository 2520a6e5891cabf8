//! The recommended settings against the defaults, in a sentence each.

use super::answer::{Outlook, Role, Verdict};
use super::compare::{Comparison, Shown, compare};
use super::evidence::Sample;
use super::rates;
use super::weigh::{beyond, per_hour};
use super::wishes::Wishes;

/// The first row against each default that it is not. What is better and not recommended has
/// the reason in its line; `own` are the samples of the target's own defaults.
pub(super) fn verdicts(rows: &[Outlook], own: &[Sample], wishes: &Wishes) -> Vec<Verdict> {
    let Some(best) = rows.first() else {
        return Vec::new();
    };
    let defaults = rows.iter().filter(|r| r.role == Role::Default);
    defaults
        .filter(|r| r.candidate != best.candidate)
        .map(|row| {
            let mut verdict = verdict(best, row, wishes);
            if verdict.score.shown == Shown::Worse
                && let Some(why) = why_not(best, row, own, wishes)
            {
                verdict.words.push_str(&format!("; {}: {why}", row.name));
            }
            verdict
        })
        .collect()
}

/// The difference of needless moves where neither side has moved: by the rule of three of each.
fn without_moves(best: &Outlook, row: &Outlook) -> Option<Comparison> {
    let most = |row: &Outlook| {
        let hours: f64 = row.samples.iter().map(|s| s.hours).sum();
        let moved = row.samples.iter().any(|s| s.moves > 0.0);
        (!moved && hours > 0.0).then(|| 3.0 / hours)
    };
    Some(Comparison {
        mean: 0.0,
        low: -most(row)?,
        high: most(best)?,
        shown: Shown::Nothing,
    })
}

/// What a row that is not recommended has against the one that is: the score, and needless
/// moves on nearby paths, which the table has not.
pub(super) fn beside(row: &Outlook, best: &Outlook, wishes: &Wishes) -> String {
    let score = compare(&row.samples, &best.samples, |s| s.score(wishes));
    let nearby = compare(&row.samples, &best.samples, |s| s.nearby_per_hour);
    format!(
        "score against the recommended settings {}, moves/hour on nearby paths {}",
        words(&score, 1.0, 2, ""),
        words(&nearby, 1.0, 1, "")
    )
}

/// Why a row that is better is not what is recommended.
fn why_not(best: &Outlook, row: &Outlook, own: &[Sample], wishes: &Wishes) -> Option<String> {
    if rates::is_slower(&row.samples, own) {
        Some(rates::not_recommended())
    } else if beyond(&row.samples, wishes) > beyond(&best.samples, wishes) {
        Some("not recommended, because it breaks a limit by more".to_owned())
    } else {
        None
    }
}

/// The parts of the score that are not shown to differ are left out, but for the stall and
/// the moves.
fn verdict(best: &Outlook, row: &Outlook, wishes: &Wishes) -> Verdict {
    let of = |value: &dyn Fn(&Sample) -> f64| compare(&best.samples, &row.samples, value);
    let score = of(&|s| s.score(wishes));
    let stall_s = of(&|s| s.stall_s);
    let moves_per_hour = without_moves(best, row).unwrap_or_else(|| of(&per_hour));
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
    for (name, rate) in [
        ("rate", of(&|s| -s.rate_bytes_s.unwrap_or(0.0))),
        (
            "rate with loss",
            of(&|s| -s.lossy_rate_bytes_s.unwrap_or(0.0)),
        ),
    ] {
        if rate.shown != Shown::Nothing {
            let more = Comparison {
                mean: -rate.mean,
                low: -rate.high,
                high: -rate.low,
                shown: rate.shown,
            };
            parts.push(format!(" {name} {}", words(&more, 8e-6, 2, " Mbit/s")));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::evidence::figures;
    use crate::advise::{Target, baselines};

    fn row(role: Role, default: usize, nearby_per_hour: f64) -> Outlook {
        let samples: Vec<Sample> = (0..4)
            .map(|seed| Sample {
                seed,
                stall_s: if role == Role::Default { 0.2 } else { 0.219 },
                notice_s: None,
                lost: 0,
                moves: 0.0,
                hours: 1.0,
                nearby_per_hour: nearby_per_hour + seed as f64 / 10.0,
                elsewhere: 0.0,
                away_s: 0.0,
                rate_bytes_s: None,
                lossy_rate_bytes_s: None,
            })
            .collect();
        Outlook {
            name: "a".to_owned(),
            role,
            candidate: baselines(Target::Byway).remove(default),
            on_front: false,
            figures: figures(&samples),
            samples,
        }
    }

    /// Better for fewer moves on nearby paths alone, with a longer stall.
    #[test]
    fn the_part_that_made_the_difference_is_in_the_line() {
        let rows = [row(Role::Recommended, 0, 0.0), row(Role::Default, 1, 30.0)];
        let found = verdicts(&rows, &[], &Wishes::default()).remove(0);
        assert_eq!(
            found.words,
            "better; stall +19 ms [+19, +19] (worse), moves/hour +0.0 [-0.8, +0.8] (no \
             difference shown), on nearby paths -30.0 [-30.0, -30.0] (better)"
        );
    }

    /// What is better by the score, and sends at a third of the rate: the line says why it is
    /// not recommended. Of one that breaks a limit, too, and of one that does neither, nothing.
    #[test]
    fn a_default_that_is_better_and_not_recommended_has_the_reason_in_its_line() {
        let mut rows = [row(Role::Recommended, 0, 30.0), row(Role::Default, 1, 0.0)];
        let words = |rows: &[Outlook], wishes: &Wishes| {
            let own = rows[0].samples.clone();
            verdicts(rows, &own, wishes).remove(0).words
        };
        let mut wishes = Wishes::default();
        assert!(words(&rows, &wishes).starts_with("worse;"));
        assert!(!words(&rows, &wishes).contains("not recommended"));
        for (row, rate) in rows.iter_mut().zip([3e6, 1e6]) {
            for sample in &mut row.samples {
                (sample.rate_bytes_s, sample.lossy_rate_bytes_s) = (Some(rate), Some(rate));
            }
        }
        let slow = words(&rows, &wishes);
        assert!(
            slow.contains("; a: not recommended, because its transfer rate"),
            "{slow}"
        );
        for sample in rows.iter_mut().flat_map(|r| &mut r.samples) {
            (sample.rate_bytes_s, sample.lossy_rate_bytes_s) = (None, None);
        }
        for sample in &mut rows[1].samples {
            sample.stall_s = 0.5;
        }
        wishes.max_stall_s = Some(0.3);
        let beyond = words(&rows, &wishes);
        assert!(
            beyond.ends_with("; a: not recommended, because it breaks a limit by more"),
            "{beyond}"
        );
    }
}
