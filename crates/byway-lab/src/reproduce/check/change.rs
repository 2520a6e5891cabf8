//! How much a setting gains or costs.

use super::{Finding, Measured};
use crate::reproduce::cells::{Cells, Filter, Place, Value, Values, place_words};
use crate::reproduce::sample::Sample;
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
    to: Place,
    /// Which of the places counts.
    take: Take,
    /// The band of the change in percent.
    between: [f64; 2],
    /// Whether the change must lie in the band itself and be more than chance,
    /// for which its 95 % interval must not reach 0.
    #[serde(default)]
    sure: bool,
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

    pub(super) fn look(&self, cells: &Cells) -> Option<Finding> {
        let peak;
        let (from, at_peak) = match &self.peak {
            Some(axis) => {
                let (value, mean) = self.greatest(cells, axis)?;
                peak = Place::from([(axis.clone(), value)]);
                (&peak, Some((axis, mean)))
            }
            None => (&self.from, None),
        };
        let axes: Vec<&str> = from.keys().map(String::as_str).collect();
        let mut found: Option<(f64, f64, String, usize)> = None;
        let pairs = cells.pairs(&self.filter, &self.of.measure, from, &self.to);
        for (place, before, after) in pairs {
            let (change, half) = relative(&before, &after);
            let best = found.as_ref().map(|(best, ..)| *best);
            if best.is_none_or(|best| self.take.is_further(change, best)) {
                let words = place_words(place, &axes);
                found = Some((change, half, words, before.n.min(after.n)));
            }
        }
        let (change, half, words, n) = found?;
        let [low, high] = self.between;
        let interval = if n > 1 {
            format!(" (\u{b1}{half:.0} points, {n} runs)")
        } else {
            format!(" ({n} run)")
        };
        let peak = at_peak.map_or_else(String::new, |(axis, mean)| {
            format!(
                "; greatest at {axis} {}: {}",
                from[axis],
                self.of.unit.value(mean)
            )
        });
        Some(Finding {
            text: format!("{change:+.0} %{interval}{peak}"),
            holds: if self.sure {
                (low..=high).contains(&change) && change.abs() > half
            } else {
                change - half <= high && change + half >= low
            },
            detail: Some(if words.is_empty() {
                format!("counts between {low:+} and {high:+} %")
            } else {
                format!("at {words}; counts between {low:+} and {high:+} %")
            }),
        })
    }

    /// The value of `axis` with the greatest mean of all runs there, and that mean.
    fn greatest(&self, cells: &Cells, axis: &str) -> Option<(Value, f64)> {
        let mean = |value: &Value| {
            let mut filter = self.filter.clone();
            filter.insert(axis.to_owned(), Values::One(value.clone()));
            Some(cells.pooled(&filter, &self.of.measure)?.mean)
        };
        let values = cells.values(axis, &self.filter).into_iter();
        values
            .filter_map(|value| mean(&value).map(|mean| (value, mean)))
            .max_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// Relative change in percent, with half of its 95 % interval.
pub(super) fn relative(before: &Sample, after: &Sample) -> (f64, f64) {
    let base = before.mean.abs().max(f64::MIN_POSITIVE);
    let half = after.difference(before).map_or(0.0, |(_, half)| half);
    (
        100.0 * (after.mean - before.mean) / base,
        100.0 * half / base,
    )
}

#[cfg(test)]
mod tests {
    use crate::reproduce::check::testing::{cell, look};

    #[test]
    fn the_extreme_place_counts() {
        let check = |take: &str, band: &str| {
            format!(
                "kind = \"change\"\nmeasure = \"t\"\nfrom = {{ policy = \"A\" }}\n\
                 to = {{ policy = \"B\" }}\ntake = \"{take}\"\nbetween = {band}\n"
            )
        };
        let cells = || {
            vec![
                cell(0.0, "A", &[100.0, 102.0]),
                cell(0.0, "B", &[12.0, 14.0]),
                cell(5.0, "A", &[100.0]),
                cell(5.0, "B", &[109.0]),
            ]
        };
        let found = look(&check("least", "[-90, -86]"), cells()).unwrap();
        assert!(found.holds, "{found:?}");
        assert!(found.text.starts_with("-87 %"), "{}", found.text);
        let sure = |band: &str| format!("{}sure = true\n", check("least", band));
        assert!(look(&sure("[-90, -86]"), cells()).unwrap().holds);
        assert!(!look(&sure("[-86, -80]"), cells()).unwrap().holds);
        let found = look(&check("greatest", "[0, 5]"), cells()).unwrap();
        assert!(!found.holds && found.text == "+9 % (1 run)", "{found:?}");
        assert!(found.detail.unwrap().starts_with("at 5 % on path 2"));
    }

    #[test]
    fn a_change_may_begin_where_the_mean_is_greatest() {
        let check = "kind = \"change\"\nmeasure = \"t\"\npeak = \"loss2\"\n\
             to = { loss2 = 10 }\ntake = \"least\"\nbetween = [-30, -1]\nsure = true\n";
        let at = |loss: f64, mean: f64| cell(loss, "A", &[mean, mean + 0.1, mean - 0.1]);
        let falls = look(check, vec![at(0.0, 60.0), at(5.0, 80.0), at(10.0, 72.0)]).unwrap();
        assert!(falls.holds, "{falls:?}");
        assert!(falls.text.starts_with("-10 %"), "{}", falls.text);
        assert!(
            falls.text.ends_with("greatest at loss2 5: 80.0"),
            "{}",
            falls.text
        );
        let grows = look(check, vec![at(0.0, 60.0), at(5.0, 70.0), at(10.0, 72.0)]).unwrap();
        assert!(!grows.holds && grows.text.starts_with("+0 %"), "{grows:?}");
    }
}
