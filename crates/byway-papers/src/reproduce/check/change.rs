//! How much a setting gains or costs.

use super::arms::Arms;
use super::finding::{Finding, Measured, RunCount};
use crate::reproduce::cap::Cap;
use crate::reproduce::cells::{Cells, Filter, Place, Value, Values, place_words};
use crate::reproduce::estimate::Estimate;
use crate::reproduce::near;
use crate::reproduce::rule::{Level, Outcome};
use crate::reproduce::sample::{SHOWN, Sample};
use serde::Deserialize;

/// The relative change of a measure from the cells that `from` means to those
/// that `to` means, place by place; the least or the greatest of them lies in
/// a band, or chance allows that it does.
#[derive(Clone, Debug, Deserialize)]
pub struct Change {
    #[serde(flatten)]
    of: Measured,
    /// Which places.
    #[serde(default, rename = "where")]
    filter: Filter,
    /// Before.
    #[serde(default)]
    from: Place,
    /// An axis, in place of `from`: before is its value with the greatest mean.
    /// Where that is `to` itself nothing changes.
    #[serde(default)]
    peak: Option<String>,
    /// After.
    #[serde(default)]
    to: Place,
    /// Which of the places counts.
    take: Take,
    /// The band of the change in percent.
    between: [f64; 2],
}

/// Which of the changes counts.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Take {
    /// The least: the greatest gain where smaller is better.
    Least,
    /// The greatest: the greatest cost.
    Greatest,
}

impl Take {
    /// Whether `next` is further that way than `best`.
    pub(super) fn is_further(self, next: f64, best: f64) -> bool {
        match self {
            Take::Least => next < best,
            Take::Greatest => next > best,
        }
    }
}

impl Change {
    pub(super) fn measure(&self) -> &str {
        &self.of.measure
    }

    /// The controls that it must fail.
    pub(super) fn controls(&self) -> &'static [Arms] {
        &[Arms::Swapped, Arms::Equal, Arms::Off(0)]
    }

    pub(super) fn evaluate(&self, cells: &Cells, level: Level, arms: Arms) -> Option<Finding> {
        let mut steps = self.steps(cells)?;
        for step in &mut steps {
            let (after, before) = arms.of(step.after.clone(), step.before.clone());
            (step.after, step.before) = (after, before);
        }
        let level = level.shared(steps.len());
        let mut found: Option<(f64, Step<'_>)> = None;
        for step in steps {
            let change = percent(&step.before, &step.after);
            let best = found.as_ref().map(|(best, ..)| *best);
            if best.is_none_or(|best| self.take.is_further(change, best)) {
                found = Some((change, step));
            }
        }
        let (change, step) = found?;
        let [low, high] = self.between;
        let relative = step.after.relative(&step.before);
        let n = step.before.n.min(step.after.n);
        let runs = if n == 1 { "run" } else { "runs" };
        let half = relative
            .filter(|e| e.error > 0.0)
            .map_or_else(String::new, |e| {
                format!("\u{b1}{:.0} points, ", 100.0 * e.half(SHOWN))
            });
        let peak = step.peak.map_or_else(String::new, |(axis, value, mean)| {
            let mean = self.of.unit.value(mean);
            format!("; greatest at {axis} {value}: {mean}")
        });
        Some(Finding {
            text: format!("{change:+.0} % ({half}{n} {runs}){peak}"),
            outcome: self.decide(relative, level),
            detail: Some(if step.words.is_empty() {
                format!("counts between {low:+} and {high:+} %")
            } else {
                format!("at {}; counts between {low:+} and {high:+} %", step.words)
            }),
            runs: RunCount::together([&step.before, &step.after]),
            near: near::of_change(relative, self.between),
        })
    }

    pub(super) fn beyond(&self, cells: &Cells, cap: &Cap) -> Option<String> {
        let steps = self.steps(cells)?;
        let count = steps.len();
        let furthest = steps.into_iter().reduce(|best, next| {
            let of = |s: &Step<'_>| percent(&s.before, &s.after);
            match self.take.is_further(of(&next), of(&best)) {
                true => next,
                false => best,
            }
        })?;
        let relative = furthest.after.relative(&furthest.before);
        cap.shared(count).of_change(relative, self.between)
    }

    /// In the band, and with its sign.
    fn decide(&self, relative: Option<Estimate>, level: Level) -> Outcome {
        let [low, high] = self.between.map(|percent| percent / 100.0);
        let inside = level.within(relative, [low, high]);
        let sign = if high <= 0.0 {
            level.below_zero(relative)
        } else if low >= 0.0 {
            level.below_zero(relative.map(Estimate::negative))
        } else {
            Outcome::Holds
        };
        Outcome::all([inside, sign])
    }

    /// What is compared.
    fn steps(&self, cells: &Cells) -> Option<Vec<Step<'_>>> {
        let Some(axis) = &self.peak else {
            return Some(self.pairs(cells, &self.from, None));
        };
        let (value, mean) = self.greatest(cells, axis, &self.filter)?;
        let from = Place::from([(axis.clone(), value.clone())]);
        Some(self.pairs(cells, &from, Some((axis, value, mean))))
    }

    /// From the cells that `from` means to those that `to` means.
    fn pairs<'a>(
        &self,
        cells: &Cells,
        from: &Place,
        peak: Option<(&'a str, Value, f64)>,
    ) -> Vec<Step<'a>> {
        let axes: Vec<&str> = from.keys().map(String::as_str).collect();
        cells
            .pairs(&self.filter, &self.of.measure, from, &self.to)
            .map(|(place, before, after)| Step {
                words: place_words(place, &axes),
                before,
                after,
                peak: peak.clone(),
            })
            .collect()
    }

    /// The value of `axis` with the greatest mean of all runs that `filter` means
    /// there, and that mean.
    fn greatest(&self, cells: &Cells, axis: &str, filter: &Filter) -> Option<(Value, f64)> {
        let mean = |value: &Value| {
            let mut filter = filter.clone();
            filter.insert(axis.to_owned(), Values::One(value.clone()));
            Some(cells.pooled(&filter, &self.of.measure)?.mean)
        };
        let values = cells.values(axis, filter).into_iter();
        values
            .filter_map(|value| mean(&value).map(|mean| (value, mean)))
            .max_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// A change at one place.
struct Step<'a> {
    /// The place.
    words: String,
    before: Sample,
    after: Sample,
    /// The axis whose greatest mean is before, where on it that is, and the mean.
    peak: Option<(&'a str, Value, f64)>,
}

/// Relative change in percent.
fn percent(before: &Sample, after: &Sample) -> f64 {
    let base = before.mean.abs().max(f64::MIN_POSITIVE);
    100.0 * (after.mean - before.mean) / base
}

#[cfg(test)]
mod tests {
    use crate::reproduce::check::testing::{cell, controls, evaluate};
    use crate::reproduce::rule::Outcome;

    const CHECK: &str = "kind = \"change\"\nmeasure = \"t\"\nfrom = { policy = \"A\" }\n\
         to = { policy = \"B\" }\n";

    #[test]
    fn the_extreme_place_counts() {
        let check =
            |take: &str, band: &str| format!("{CHECK}take = \"{take}\"\nbetween = {band}\n");
        let cells = || {
            vec![
                cell(0.0, "A", &[100.0, 101.0, 102.0]),
                cell(0.0, "B", &[12.9, 13.1, 13.2]),
                cell(5.0, "A", &[100.0]),
                cell(5.0, "B", &[109.0]),
            ]
        };
        let found = evaluate(&check("least", "[-90, -86]"), cells()).unwrap();
        assert_eq!(found.outcome, Outcome::Holds, "{found:?}");
        assert!(found.text.starts_with("-87 %"), "{}", found.text);
        let found = evaluate(&check("least", "[-80, -70]"), cells()).unwrap();
        assert_eq!(found.outcome, Outcome::Fails);
        let found = evaluate(&check("greatest", "[0, 50]"), cells()).unwrap();
        assert_eq!(found.outcome, Outcome::Undecided, "one run decides nothing");
        assert_eq!(found.text, "+9 % (1 run)");
        assert!(found.detail.unwrap().starts_with("at 5 % on path 2"));
    }

    #[test]
    fn a_band_on_one_side_of_zero_asks_for_its_sign() {
        let cells = |more: f64| {
            vec![
                cell(0.0, "A", &[100.0, 101.0, 102.0]),
                cell(0.0, "B", &[100.0 + more, 101.5 + more, 101.5 + more]),
            ]
        };
        let check = format!("{CHECK}take = \"greatest\"\nbetween = [0, 24]\n");
        assert_eq!(
            evaluate(&check, cells(9.0)).unwrap().outcome,
            Outcome::Holds
        );
        assert_eq!(
            evaluate(&check, cells(0.5)).unwrap().outcome,
            Outcome::Undecided
        );
        for (name, there) in controls(&check, cells(9.0)) {
            assert!(there.is_right(), "{name}: {there:?}");
        }
    }

    #[test]
    fn a_change_may_begin_where_the_mean_is_greatest() {
        let check = "kind = \"change\"\nmeasure = \"t\"\npeak = \"loss2\"\n\
             to = { loss2 = 10 }\ntake = \"least\"\nbetween = [-30, -1]\n";
        let at = |loss: f64, mean: f64| cell(loss, "A", &[mean, mean + 0.1, mean - 0.1]);
        let falls = evaluate(check, vec![at(0.0, 60.0), at(5.0, 80.0), at(10.0, 72.0)]).unwrap();
        assert_eq!(falls.outcome, Outcome::Holds, "{falls:?}");
        assert!(falls.text.starts_with("-10 %"), "{}", falls.text);
        assert!(
            falls.text.ends_with("greatest at loss2 5: 80.0"),
            "{}",
            falls.text
        );
        let grows = evaluate(check, vec![at(0.0, 60.0), at(5.0, 70.0), at(10.0, 72.0)]).unwrap();
        assert_eq!(grows.outcome, Outcome::Fails);
        assert!(grows.text.starts_with("+0 %"), "{grows:?}");
    }
}
