//! One policy against another, cell by cell.

mod seen;

use super::arms::Arms;
use super::finding::{Finding, Measured};
use crate::reproduce::cells::{Cells, Filter, Place, Value, place_words};
use crate::reproduce::near;
use crate::reproduce::rule::{Level, Outcome, Tally};
use crate::reproduce::sample::Sample;
use seen::Seen;
use serde::Deserialize;

/// At each place, the measure of the cell that `less` means is compared with
/// that of the cell that `more` means. Smaller is better.
#[derive(Clone, Debug, Deserialize)]
pub struct Order {
    #[serde(flatten)]
    of: Measured,
    /// Which places.
    #[serde(default, rename = "where")]
    filter: Filter,
    /// Only places where path 2 loses more than this share of what path 1 loses
    /// (axes `loss2` and `loss1`).
    #[serde(default)]
    over: Option<f64>,
    /// Only places where path 2 loses at most this share of what path 1 loses.
    #[serde(default)]
    up_to: Option<f64>,
    /// The better one, by one or more axes.
    less: Place,
    /// The worse one, by the same axes.
    more: Place,
    /// What counts at a place.
    rule: Rule,
    /// By how much `less` may be above `more`, as a share of it, and still
    /// count as no worse (0.05).
    #[serde(default = "near")]
    tolerance: f64,
    /// The share of the places at which it must hold (1).
    #[serde(default = "all")]
    at_least: f64,
    /// Of "no worse": the arm that lacks what makes `less` no worse, by the same axes. The check must
    /// not hold with it.
    #[serde(default)]
    off: Place,
    /// Of "no worse": whether `less` is in truth the better one by more than the tolerance, so that the
    /// check must not hold with its arms swapped.
    #[serde(default)]
    ordered: bool,
}

/// What counts at a place.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Rule {
    /// `less` is above `more` by less than the tolerance: a test that it is not
    /// inferior.
    NoWorse,
    /// `less` is below `more`, its interval clear of zero.
    Better,
    /// `less` is below `more` on average over the places, clear of zero, and at the share
    /// `at_least` of them shown not to be above it by the tolerance; a place at which it is
    /// above it, clear of zero, is not among these. Without any chance it is below it at each
    /// place: then places are no random sample.
    BetterOverall,
}

fn near() -> f64 {
    0.05
}

fn all() -> f64 {
    1.0
}

impl Order {
    pub(super) fn measure(&self) -> &str {
        &self.of.measure
    }

    /// The controls that it must fail.
    pub(super) fn controls(&self) -> &'static [Arms] {
        match self.rule {
            // Equal arms are no worse than each other.
            Rule::NoWorse => match (self.off.is_empty(), self.ordered) {
                (true, false) => &[],
                (false, false) => &[Arms::Lacking],
                (true, true) => &[Arms::Swapped],
                (false, true) => &[Arms::Lacking, Arms::Swapped],
            },
            Rule::Better | Rule::BetterOverall => &[Arms::Swapped, Arms::Equal, Arms::Off(0)],
        }
    }

    pub(super) fn evaluate(&self, cells: &Cells, level: Level, arms: Arms) -> Option<Finding> {
        let axes: Vec<&str> = self.less.keys().map(String::as_str).collect();
        let less = match arms {
            Arms::Lacking => &self.off,
            _ => &self.less,
        };
        let pairs = cells.pairs(&self.filter, &self.of.measure, less, &self.more);
        let mut seen = Seen::default();
        for (place, less, more) in pairs {
            if self.has_ratio(place) {
                let (less, more) = arms.of(less, more);
                let words = place_words(place, &axes);
                seen.look(words, less, more, |less, more| self.at(less, more, level));
            }
        }
        if seen.tally.all == 0 {
            return None;
        }
        let outcome = match self.rule {
            Rule::NoWorse | Rule::Better => seen.tally.outcome(self.at_least),
            Rule::BetterOverall if Sample::without_chance(&seen.pairs) => seen.tally.outcome(1.0),
            Rule::BetterOverall => {
                let mean = level.below_zero(Sample::mean_relative(&seen.pairs));
                Outcome::all([mean, self.not_against(&seen, level).outcome(self.at_least)])
            }
        };
        let words = match self.rule {
            Rule::NoWorse => "no worse",
            Rule::Better | Rule::BetterOverall => "better",
        };
        let overall = match self.rule {
            Rule::BetterOverall => seen.overall(),
            Rule::NoWorse | Rule::Better => String::new(),
        };
        let near = match self.rule {
            Rule::NoWorse | Rule::Better => near::of_places(&seen.tally, self.at_least),
            Rule::BetterOverall if Sample::without_chance(&seen.pairs) => {
                near::of_places(&seen.tally, 1.0)
            }
            Rule::BetterOverall => {
                let mean = near::of_zero(Sample::mean_relative(&seen.pairs));
                let places = near::of_places(&self.not_against(&seen, level), self.at_least);
                let places = places.map(|p| p.after("no worse: "));
                mean.into_iter().chain(places).reduce(near::Near::both)
            }
        };
        let mut found = seen.finding(outcome, words, self.of.unit);
        found.text.push_str(&overall);
        found.near = near;
        Some(found)
    }

    /// At how many places `less` is shown to be no worse, and is not clearly worse by less than
    /// the tolerance either.
    fn not_against(&self, seen: &Seen, level: Level) -> Tally {
        let mut tally = Tally::default();
        for (less, more) in &seen.pairs {
            tally.add(level.not_above(less.relative(more), self.tolerance));
        }
        tally
    }

    /// What counts at one place.
    fn at(&self, less: &Sample, more: &Sample, level: Level) -> Outcome {
        match self.rule {
            Rule::NoWorse => level.within(less.relative(more), [f64::NEG_INFINITY, self.tolerance]),
            Rule::Better | Rule::BetterOverall => level.below_zero(less.difference(more)),
        }
    }

    /// Whether the losses of a place have the ratio of the check. Products,
    /// not quotients: path 1 may lose nothing.
    fn has_ratio(&self, place: &Place) -> bool {
        if self.over.is_none() && self.up_to.is_none() {
            return true;
        }
        let loss = |axis: &str| place.get(axis).and_then(Value::number);
        let (Some(one), Some(two)) = (loss("loss1"), loss("loss2")) else {
            return false;
        };
        self.over.is_none_or(|share| two > share * one)
            && self.up_to.is_none_or(|share| two <= share * one)
    }
}

#[cfg(test)]
mod tests {
    use super::Value;
    use crate::reproduce::check::There;
    use crate::reproduce::check::testing::{cell, controls, evaluate, no_controls};
    use crate::reproduce::rule::Outcome;

    fn check(rule: &str, at_least: f64) -> String {
        format!(
            "kind = \"order\"\nmeasure = \"t\"\nunit = \"s\"\nless = {{ policy = \"A\" }}\n\
             more = {{ policy = \"B\" }}\nrule = \"{rule}\"\nat_least = {at_least}\n"
        )
    }

    #[test]
    fn places_are_compared_one_by_one() {
        let cells = || {
            vec![
                cell(0.0, "A", &[9.0, 9.1, 9.2]),
                cell(0.0, "B", &[10.0, 10.1, 10.3]),
                cell(5.0, "A", &[10.3, 10.4, 10.5]),
                cell(5.0, "B", &[10.0, 10.1, 10.2]),
                cell(8.0, "A", &[20.0, 20.1, 20.2]),
                cell(8.0, "B", &[10.0, 10.1, 10.2]),
                // Alone: not compared.
                cell(9.0, "A", &[1.0]),
            ]
        };
        let found = evaluate(&check("no-worse", 1.0), cells()).unwrap();
        assert_eq!(found.text, "no worse at 2 of 3 places, median ratio 1.03");
        assert_eq!(found.outcome, Outcome::Fails);
        assert_eq!(
            found.detail.unwrap(),
            "not at 8 % on path 2: 20.1 s against 10.1 s"
        );
        let found = evaluate(&check("no-worse", 0.6), cells()).unwrap();
        assert_eq!(found.outcome, Outcome::Holds);
        let found = evaluate(&check("better", 0.3), cells()).unwrap();
        assert!(found.text.starts_with("better at 1 of 3"), "{found:?}");
        assert_eq!(found.outcome, Outcome::Holds);
    }

    #[test]
    fn what_is_equal_or_noisy_is_not_better() {
        let cells = |a: &[f64]| vec![cell(0.0, "A", a), cell(0.0, "B", &[10.0, 12.0, 14.0])];
        for (rule, a, outcome) in [
            ("better", [9.0, 11.0, 13.1], Outcome::Holds),
            ("better", [10.0, 12.0, 14.0], Outcome::Fails),
            ("better", [5.0, 13.0, 17.0], Outcome::Undecided),
            ("better-overall", [9.0, 11.0, 13.1], Outcome::Holds),
            ("better-overall", [5.0, 13.0, 17.0], Outcome::Undecided),
            ("no-worse", [10.0, 12.0, 14.0], Outcome::Holds),
            ("no-worse", [5.0, 13.0, 17.0], Outcome::Undecided),
            ("no-worse", [12.0, 14.5, 17.0], Outcome::Fails),
        ] {
            let found = evaluate(&check(rule, 1.0), cells(&a)).unwrap();
            assert_eq!(found.outcome, outcome, "{rule} {a:?} {found:?}");
        }
    }

    #[test]
    fn its_controls_fail() {
        let cells = || {
            vec![
                cell(0.0, "A", &[9.0, 9.1, 9.3, 9.2]),
                cell(0.0, "B", &[10.0, 10.1, 10.2, 10.4]),
            ]
        };
        for rule in ["better", "better-overall"] {
            for (name, there) in controls(&check(rule, 1.0), cells()) {
                assert!(there.is_right(), "{rule}: {name} {there:?}");
            }
        }
        // "No worse" names what is worse, and that must be there.
        let check = check("no-worse", 1.0);
        assert!(no_controls(&check, cells()));
        let with =
            |off: &str| controls(&format!("{check}off = {{ policy = \"{off}\" }}\n"), cells());
        assert_eq!(with("C"), [("mechanism off", There::NoRuns)]);
        let worse = [cells(), vec![cell(0.0, "C", &[12.0, 12.1, 12.2])]].concat();
        let off = format!("{check}off = {{ policy = \"C\" }}\n");
        assert_eq!(controls(&off, worse), [("mechanism off", There::Fails)]);
        let swapped = controls(&format!("{check}ordered = true\n"), cells());
        assert_eq!(swapped, [("arms swapped", There::Fails)]);
    }

    /// What is better on average must be shown to be no worse at the places, which few runs do not.
    #[test]
    fn few_runs_do_not_help_a_place_that_is_worse() {
        let cells = |b: &[f64]| {
            vec![
                cell(0.0, "A", &[5.0, 5.1, 5.2]),
                cell(0.0, "B", &[10.0, 10.1, 10.2]),
                cell(5.0, "A", b),
                cell(5.0, "B", &[10.0, 10.1, 10.2]),
            ]
        };
        let check = check("better-overall", 1.0);
        let outcome = |b: &[f64]| evaluate(&check, cells(b)).unwrap().outcome;
        assert_eq!(
            outcome(&[10.1, 10.2, 10.29]),
            Outcome::Fails,
            "clearly worse by 1 %"
        );
        assert_eq!(outcome(&[9.0, 12.0, 9.9]), Outcome::Undecided);
        assert_eq!(
            outcome(&[10.0, 10.1, 10.2]),
            Outcome::Holds,
            "the same runs"
        );
        assert_eq!(outcome(&[9.9, 10.0, 10.12]), Outcome::Holds);
    }

    /// Several moments of a run without chance are cases, each of which must hold.
    #[test]
    fn without_chance_each_place_counts() {
        let sure = |loss2: f64, policy: &str, value: f64| {
            let mut cell = cell(loss2, policy, &[value]);
            let sample = cell.samples.get_mut("t").unwrap();
            sample.runs[0].certain = true;
            sample.runs[0].mark = Some((10.0 * value) as u64);
            cell
        };
        let cells = |last: f64| {
            let places = (0..10).flat_map(|i| {
                let a = if i == 9 { last } else { 8.0 };
                [sure(f64::from(i), "A", a), sure(f64::from(i), "B", 10.0)]
            });
            places.collect::<Vec<_>>()
        };
        let check = check("better-overall", 0.9);
        let outcome = |last| evaluate(&check, cells(last)).unwrap().outcome;
        assert_eq!(outcome(8.0), Outcome::Holds);
        assert_eq!(outcome(10.5), Outcome::Fails);
        assert_eq!(outcome(10.0), Outcome::Fails);
    }

    #[test]
    fn places_may_be_those_of_a_ratio_of_losses() {
        let at = |loss1: f64, loss2: f64, policy: &str, values: &[f64]| {
            let mut cell = cell(loss2, policy, values);
            cell.place.insert("loss1".to_owned(), Value::Number(loss1));
            cell
        };
        let cells = || {
            vec![
                at(4.0, 2.0, "A", &[9.0, 9.1]),
                at(4.0, 2.0, "B", &[3.0, 3.1]),
                at(4.0, 3.0, "A", &[1.0, 1.1]),
                at(4.0, 3.0, "B", &[3.0, 3.1]),
                at(0.0, 0.0, "A", &[9.0, 9.1]),
                at(0.0, 0.0, "B", &[3.0, 3.1]),
            ]
        };
        let with = |more: &str| {
            let check = format!("{}{more}\n", check("better", 1.0));
            evaluate(&check, cells()).unwrap()
        };
        assert!(with("over = 0.5").text.starts_with("better at 1 of 1"));
        assert!(with("up_to = 0.5").text.starts_with("better at 0 of 2"));
        assert!(with("").text.starts_with("better at 1 of 3"));
    }
}
