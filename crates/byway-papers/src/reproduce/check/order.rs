//! One policy against another, cell by cell.

use super::finding::{Finding, Measured};
use crate::reproduce::cells::{Cells, Filter, Place, Value, place_words};
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
}

/// What counts at a place.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Rule {
    /// `less` is not above `more` by more than the tolerance and chance.
    NoWorse,
    /// `less` is below `more`, beyond chance.
    Better,
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

    pub(super) fn evaluate(&self, cells: &Cells) -> Option<Finding> {
        let mut count = (0_usize, 0_usize);
        let mut misses: Vec<(f64, String)> = Vec::new();
        let mut ratios: Vec<f64> = Vec::new();
        let axes: Vec<&str> = self.less.keys().map(String::as_str).collect();
        let pairs = cells.pairs(&self.filter, &self.of.measure, &self.less, &self.more);
        for (place, less, more) in pairs {
            if !self.has_ratio(place) {
                continue;
            }
            let difference = less.mean - more.mean;
            let chance = less.difference(&more).map_or(0.0, |(_, half)| half);
            let holds = match self.rule {
                Rule::NoWorse => difference <= (self.tolerance * more.mean.abs()).max(chance),
                Rule::Better => difference < -chance && difference < 0.0,
            };
            count.1 += 1;
            count.0 += usize::from(holds);
            if more.mean > 0.0 {
                ratios.push(less.mean / more.mean);
            }
            if !holds {
                misses.push((
                    difference / more.mean,
                    format!(
                        "{}: {} against {}",
                        place_words(place, &axes),
                        self.of.unit.value(less.mean),
                        self.of.unit.value(more.mean)
                    ),
                ));
            }
        }
        if count.1 == 0 {
            return None;
        }
        misses.sort_by(|a, b| b.0.total_cmp(&a.0));
        let shown: Vec<String> = misses.into_iter().take(3).map(|m| m.1).collect();
        Some(Finding {
            text: self.text(count, &mut ratios),
            holds: count.0 as f64 >= self.at_least * count.1 as f64 - 1e-9,
            detail: (!shown.is_empty()).then(|| format!("not at {}", shown.join("; "))),
        })
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

    fn text(&self, (good, all): (usize, usize), ratios: &mut [f64]) -> String {
        let words = match self.rule {
            Rule::NoWorse => "no worse",
            Rule::Better => "better",
        };
        ratios.sort_by(f64::total_cmp);
        let median = ratios
            .get(ratios.len() / 2)
            .map_or_else(String::new, |r| format!(", median ratio {r:.2}"));
        format!("{words} at {good} of {all} places{median}")
    }
}

#[cfg(test)]
mod tests {
    use super::Value;
    use crate::reproduce::check::testing::{cell, evaluate};

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
                cell(0.0, "B", &[10.0, 10.1, 10.2]),
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
        assert!(!found.holds);
        assert_eq!(
            found.detail.unwrap(),
            "not at 8 % on path 2: 20.1 s against 10.1 s"
        );
        assert!(evaluate(&check("no-worse", 0.6), cells()).unwrap().holds);
        let found = evaluate(&check("better", 0.3), cells()).unwrap();
        assert!(found.holds && found.text.starts_with("better at 1 of 3"));
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
