//! How much a setting gains or costs.

use super::finding::{Finding, Measured};
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
    #[serde(default)]
    to: Place,
    /// With `peak`, another axis, in place of `to`: after is where both have the
    /// same value, at each place of the others, and before the greatest mean
    /// there. With `loss2` and `loss1` that is where both paths lose alike.
    #[serde(default)]
    like: Option<String>,
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

    pub(super) fn evaluate(&self, cells: &Cells) -> Option<Finding> {
        let mut found: Option<(f64, f64, Step<'_>)> = None;
        for step in self.steps(cells)? {
            let (change, half) = relative(&step.before, &step.after);
            let best = found.as_ref().map(|(best, ..)| *best);
            if best.is_none_or(|best| self.take.is_further(change, best)) {
                found = Some((change, half, step));
            }
        }
        let (change, half, step) = found?;
        let [low, high] = self.between;
        let n = step.before.n.min(step.after.n);
        let interval = if n > 1 {
            format!(" (\u{b1}{half:.0} points, {n} runs)")
        } else {
            format!(" ({n} run)")
        };
        let peak = step.peak.map_or_else(String::new, |(axis, value, mean)| {
            let mean = self.of.unit.value(mean);
            format!("; greatest at {axis} {value}: {mean}")
        });
        Some(Finding {
            text: format!("{change:+.0} %{interval}{peak}"),
            holds: if self.sure {
                (low..=high).contains(&change) && change.abs() > half
            } else {
                change - half <= high && change + half >= low
            },
            detail: Some(if step.words.is_empty() {
                format!("counts between {low:+} and {high:+} %")
            } else {
                format!("at {}; counts between {low:+} and {high:+} %", step.words)
            }),
        })
    }

    /// What is compared.
    fn steps(&self, cells: &Cells) -> Option<Vec<Step<'_>>> {
        let Some(axis) = &self.peak else {
            return Some(self.pairs(cells, &self.from, None));
        };
        let Some(like) = &self.like else {
            let (value, mean) = self.greatest(cells, axis, &self.filter)?;
            let from = Place::from([(axis.clone(), value.clone())]);
            return Some(self.pairs(cells, &from, Some((axis, value, mean))));
        };
        let equals = cells
            .samples(&self.filter, &self.of.measure)
            .filter(|(place, _)| place.contains_key(axis) && place.get(axis) == place.get(like));
        let steps = equals.filter_map(|(place, after)| {
            let mut there: Filter = place
                .iter()
                .map(|(axis, value)| (axis.clone(), Values::One(value.clone())))
                .collect();
            there.remove(axis);
            let (value, mean) = self.greatest(cells, axis, &there)?;
            there.insert(axis.clone(), Values::One(value.clone()));
            Some(Step {
                words: place_words(place, &[axis]),
                before: cells.pooled(&there, &self.of.measure)?,
                after,
                peak: Some((axis, value, mean)),
            })
        });
        Some(steps.collect())
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
    use super::Value;
    use crate::reproduce::check::testing::{cell, evaluate};

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
        let found = evaluate(&check("least", "[-90, -86]"), cells()).unwrap();
        assert!(found.holds, "{found:?}");
        assert!(found.text.starts_with("-87 %"), "{}", found.text);
        let sure = |band: &str| format!("{}sure = true\n", check("least", band));
        assert!(evaluate(&sure("[-90, -86]"), cells()).unwrap().holds);
        assert!(!evaluate(&sure("[-86, -80]"), cells()).unwrap().holds);
        let found = evaluate(&check("greatest", "[0, 5]"), cells()).unwrap();
        assert!(!found.holds && found.text == "+9 % (1 run)", "{found:?}");
        assert!(found.detail.unwrap().starts_with("at 5 % on path 2"));
    }

    #[test]
    fn a_change_may_begin_where_the_mean_is_greatest() {
        let check = "kind = \"change\"\nmeasure = \"t\"\npeak = \"loss2\"\n\
             to = { loss2 = 10 }\ntake = \"least\"\nbetween = [-30, -1]\nsure = true\n";
        let at = |loss: f64, mean: f64| cell(loss, "A", &[mean, mean + 0.1, mean - 0.1]);
        let falls = evaluate(check, vec![at(0.0, 60.0), at(5.0, 80.0), at(10.0, 72.0)]).unwrap();
        assert!(falls.holds, "{falls:?}");
        assert!(falls.text.starts_with("-10 %"), "{}", falls.text);
        assert!(
            falls.text.ends_with("greatest at loss2 5: 80.0"),
            "{}",
            falls.text
        );
        let grows = evaluate(check, vec![at(0.0, 60.0), at(5.0, 70.0), at(10.0, 72.0)]).unwrap();
        assert!(!grows.holds && grows.text.starts_with("+0 %"), "{grows:?}");
    }

    #[test]
    fn a_change_may_end_where_two_axes_are_alike() {
        let check = "kind = \"change\"\nmeasure = \"t\"\npeak = \"loss2\"\n\
             like = \"loss1\"\ntake = \"least\"\nbetween = [-5, 0]\n";
        let at = |loss1: f64, loss2: f64, mean: f64| {
            let mut cell = cell(loss2, "A", &[mean, mean + 0.1, mean - 0.1]);
            cell.place.insert("loss1".to_owned(), Value::Number(loss1));
            cell
        };
        let cells = |worst: f64| {
            vec![
                at(3.0, 0.0, 20.0),
                at(3.0, 3.0, 80.0),
                at(3.0, 5.0, 60.0),
                at(5.0, 0.0, 30.0),
                at(5.0, 3.0, worst),
                at(5.0, 5.0, 97.0),
                // No cell where both are alike: not looked at.
                at(8.0, 0.0, 20.0),
                at(8.0, 10.0, 90.0),
            ]
        };
        let near = evaluate(check, cells(100.0)).unwrap();
        assert!(near.holds, "{near:?}");
        assert!(near.text.starts_with("-3 %"), "{}", near.text);
        assert!(
            near.text.ends_with("greatest at loss2 3: 100.0"),
            "{}",
            near.text
        );
        assert!(near.detail.unwrap().starts_with("at 5 % loss on path 1"));
        let far = evaluate(check, cells(120.0)).unwrap();
        assert!(!far.holds && far.text.starts_with("-19 %"), "{far:?}");
        assert_eq!(evaluate(check, vec![at(8.0, 10.0, 90.0)]), None);
    }
}
