//! Checks: what the runs of a study must show for a claim to be reproduced.
//!
//! One kind of check is one file. Each looks at cells alone, so the same check
//! is put to byway's runs, to its controls and, where there are any, to ns-2's runs.

pub mod alike;
pub mod among;
mod arms;
mod blocked;
pub mod change;
mod control;
pub mod crossing;
pub mod extreme;
mod finding;
pub mod gains;
pub mod grows;
pub mod jointly;
pub mod mean;
pub mod order;
pub mod special;

pub use control::{Control, Dealt, There};
pub use finding::{Finding, RunCount};

use super::cap::Cap;
use super::cells::Cells;
use super::rule::{Level, Outcome};
use arms::Arms;
use serde::Deserialize;

/// A check of one of the kinds, with what the paper and ns-2 say.
#[derive(Clone, Debug, Deserialize)]
pub struct Check {
    /// What is looked at, in words.
    pub what: String,
    /// The study whose cells are looked at.
    pub study: String,
    /// The paper's value or statement.
    pub paper: String,
    /// ns-2's, where it is known but not among the study's cells.
    #[serde(default)]
    pub ns2: Option<String>,
    /// What of it was changed since its first version, one change or several, the earliest first.
    #[serde(default, deserialize_with = "one_or_several")]
    pub changed: Vec<Changed>,
    /// The kind, and what it needs.
    #[serde(flatten)]
    pub kind: Kind,
}

/// A change of a check since its first version.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct Changed {
    /// The day, as 2026-11-23.
    pub on: String,
    /// What stood before.
    pub was: String,
    /// The reason.
    pub why: String,
}

/// Reads one change, or a list of them.
pub(super) fn one_or_several<'de, D: serde::Deserializer<'de>>(
    from: D,
) -> Result<Vec<Changed>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        One(Changed),
        Several(Vec<Changed>),
    }
    Ok(match Either::deserialize(from)? {
        Either::One(change) => vec![change],
        Either::Several(changes) => changes,
    })
}

/// The kinds of checks.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Kind {
    /// A mean or a share lies in a band.
    Mean(mean::Mean),
    /// A value of one run among those of single runs.
    Among(among::Among),
    /// Several values of one run, together, among those of single runs.
    Jointly(jointly::Jointly),
    /// One policy is no worse, or better, than another, cell by cell.
    Order(order::Order),
    /// The relative change from one policy to another.
    Change(change::Change),
    /// The greatest or the least of several means lies in a band.
    Extreme(extreme::Extreme),
    /// A relative change becomes smaller along an axis.
    Gains(gains::Gains),
    /// A measure grows along an axis.
    Grows(grows::Grows),
    /// A measure does not depend on an axis.
    Alike(alike::Alike),
    /// Two curves cross somewhere.
    Crossing(crossing::Crossing),
    /// A piece of code says so.
    Special(special::Special),
}

impl Kind {
    /// Puts the check to cells; none when they have nothing to say about it.
    #[must_use]
    pub fn evaluate(&self, cells: &Cells, level: Level) -> Option<Finding> {
        self.put_to(cells, level, Arms::AsRun)
    }

    fn put_to(&self, cells: &Cells, level: Level, arms: Arms) -> Option<Finding> {
        let off = arms == Arms::Lacking;
        match self {
            Kind::Mean(k) => k.evaluate(cells, level, off),
            Kind::Among(k) => k.evaluate(cells),
            Kind::Jointly(k) => k.evaluate(cells),
            Kind::Order(k) => k.evaluate(cells, level, arms),
            Kind::Change(k) => k.evaluate(cells, level, arms),
            Kind::Extreme(k) => k.evaluate(cells, level, off),
            Kind::Gains(k) => k.evaluate(cells, level, arms),
            Kind::Grows(k) => k.evaluate(cells, level, arms),
            Kind::Alike(k) => k.evaluate(cells, level, arms),
            Kind::Crossing(k) => k.evaluate(cells, level, arms),
            Kind::Special(k) => k.evaluate(cells, off),
        }
    }

    /// Puts the check to the cases in which it must not hold. None that can be put to it
    /// are left out, so that a check without any has no control.
    #[must_use]
    pub fn controls(&self, cells: &Cells, level: Level) -> Vec<Control> {
        let arms = self.cases();
        // Where the runs show the opposite, swapped arms show what the check asks for.
        let found = self.evaluate(cells, level);
        let opposite = found.is_some_and(|f| f.outcome == Outcome::Fails);
        let put = arms.iter().filter(|a| !(opposite && **a == Arms::Swapped));
        let put = put.map(|arms| match arms {
            Arms::Off(_) => Control::of_deals(arms.name(), self.dealt(cells, level)),
            _ => {
                let found = self.put_to(cells, level, *arms);
                Control::of(arms.name(), found.map(|f| f.outcome))
            }
        });
        put.collect()
    }

    /// The cases in which it must not hold.
    fn cases(&self) -> &[Arms] {
        match self {
            Kind::Mean(k) if k.off.is_empty() => &[],
            Kind::Extreme(k) if k.off.is_empty() => &[],
            Kind::Mean(_) | Kind::Extreme(_) | Kind::Special(_) => &[Arms::Lacking],
            // They never hold.
            Kind::Among(_) | Kind::Jointly(_) => &[],
            Kind::Order(k) => k.controls(),
            Kind::Change(k) => k.controls(),
            Kind::Gains(k) => k.controls(),
            Kind::Grows(k) => k.controls(),
            Kind::Alike(k) => k.controls(),
            Kind::Crossing(k) => k.controls(),
        }
    }

    /// The cases in which it must not hold, and whether there are cells of each.
    #[cfg(test)]
    pub(super) fn cases_with_cells(&self, cells: &Cells) -> Vec<(&'static str, bool)> {
        let of = |arms: &Arms| {
            let found = self.put_to(cells, Level::default(), *arms);
            (arms.name(), found.is_some())
        };
        self.cases().iter().map(of).collect()
    }

    /// What it says where both arms have runs of one kind, dealt to them several times, and what it
    /// says of as many runs of the arms as they are. None without cells.
    fn dealt(&self, cells: &Cells, level: Level) -> Option<Dealt> {
        let at = |arms| Some(self.put_to(cells, level, arms)?.outcome);
        let of = |arms: fn(u64) -> Arms| -> Option<Vec<Outcome>> {
            (0..control::DEALS).map(|deal| at(arms(deal))).collect()
        };
        Some(Dealt::of(&of(Arms::Off)?, &of(Arms::AsManyRuns)?))
    }

    /// Why as many runs as there may be cannot show that it holds; none if they can, or if that is
    /// not known.
    pub(super) fn beyond(&self, cells: &Cells, cap: &Cap) -> Option<String> {
        match self {
            Kind::Mean(k) => k.beyond(cells, cap),
            Kind::Extreme(k) => k.beyond(cells, cap),
            Kind::Change(k) => k.beyond(cells, cap),
            Kind::Among(_) | Kind::Jointly(_) => {
                Some("one run can be refuted, not confirmed".to_owned())
            }
            _ => None,
        }
    }

    /// Whether more runs may decide it: a value that the paper took from one run stays undecided or is
    /// refuted.
    #[must_use]
    pub fn may_be_decided(&self) -> bool {
        self.counts() && self.can_hold()
    }

    /// Whether there are runs by which it would hold. A value that the paper took from one run can only
    /// be refuted.
    #[must_use]
    pub fn can_hold(&self) -> bool {
        !matches!(self, Kind::Among(_) | Kind::Jointly(_))
    }

    /// Whether it can fail; else it is a figure for an answer.
    #[must_use]
    pub fn counts(&self) -> bool {
        match self {
            Kind::Mean(k) => k.counts(),
            _ => true,
        }
    }

    /// All measures that it looks at.
    #[must_use]
    pub fn measures(&self) -> Vec<&str> {
        match self {
            Kind::Jointly(k) => k.measures(),
            _ => vec![self.measure()],
        }
    }

    /// The measure that it looks at; of several the first one.
    #[must_use]
    pub fn measure(&self) -> &str {
        match self {
            Kind::Mean(k) => k.measure(),
            Kind::Among(k) => k.measure(),
            Kind::Jointly(k) => k.measure(),
            Kind::Order(k) => k.measure(),
            Kind::Change(k) => k.measure(),
            Kind::Extreme(k) => k.measure(),
            Kind::Gains(k) => k.measure(),
            Kind::Grows(k) => k.measure(),
            Kind::Alike(k) => k.measure(),
            Kind::Crossing(k) => k.measure(),
            Kind::Special(k) => k.measure(),
        }
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::There;
    use crate::reproduce::cells::{Cell, Cells, Value};
    use crate::reproduce::rule::Level;
    use crate::reproduce::sample::{Kind, Sample};

    /// A cell at `loss2` of `policy` with values of the measure "t".
    pub(crate) fn cell(loss2: f64, policy: &str, values: &[f64]) -> Cell {
        Cell {
            place: [
                ("loss2".to_owned(), Value::Number(loss2)),
                ("policy".to_owned(), Value::Text(policy.to_owned())),
            ]
            .into(),
            samples: [(
                "t".to_owned(),
                Sample::of((1..).zip(values.iter().copied()).collect(), Kind::Quantity),
            )]
            .into(),
        }
    }

    fn read(check: &str) -> super::Check {
        let text = format!("what = \"w\"\npaper = \"p\"\nstudy = \"s\"\n{check}");
        toml::from_str(&text).unwrap_or_else(|e| panic!("{e}"))
    }

    /// What a check written in TOML finds.
    pub(crate) fn evaluate(check: &str, cells: Vec<Cell>) -> Option<super::Finding> {
        read(check).kind.evaluate(&Cells(cells), Level::default())
    }

    /// What it says of its controls.
    pub(crate) fn controls(check: &str, cells: Vec<Cell>) -> Vec<(&'static str, There)> {
        let put = read(check).kind.controls(&Cells(cells), Level::default());
        assert!(!put.is_empty(), "{check}");
        put.into_iter().map(|c| (c.name, c.there())).collect()
    }

    /// Whether there is none.
    pub(crate) fn no_controls(check: &str, cells: Vec<Cell>) -> bool {
        let put = read(check).kind.controls(&Cells(cells), Level::default());
        put.is_empty()
    }
}
