//! Checks: what the runs of a study must show for a claim to be reproduced.
//!
//! One kind of check is one file. Each looks at cells alone, so the same check
//! is put to byway's runs and, where there are any, to ns-2's.

pub mod alike;
pub mod among;
mod blocked;
pub mod change;
pub mod crossing;
pub mod extreme;
mod finding;
pub mod gains;
pub mod grows;
pub mod mean;
pub mod order;
pub mod special;

pub use finding::Finding;

use super::cells::Cells;
use serde::Deserialize;

/// A check of one of the kinds, with what the paper and ns-2 say.
#[derive(Clone, Debug, Deserialize)]
pub struct Check {
    /// What is looked at, in words.
    pub what: String,
    /// The study whose cells are looked at; none for a special check.
    #[serde(default)]
    pub study: Option<String>,
    /// The paper's value or statement.
    pub paper: String,
    /// ns-2's, where it is known but not among the study's cells.
    #[serde(default)]
    pub ns2: Option<String>,
    /// The kind, and what it needs.
    #[serde(flatten)]
    pub kind: Kind,
}

/// The kinds of checks.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Kind {
    /// A mean or a share lies in a band.
    Mean(mean::Mean),
    /// A value of one run lies among those of single runs.
    Among(among::Among),
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
    /// Something that cells cannot show.
    Special(special::Special),
}

impl Kind {
    /// Puts the check to cells; none when they have nothing to say about it.
    #[must_use]
    pub fn evaluate(&self, cells: &Cells) -> Option<Finding> {
        match self {
            Kind::Mean(k) => k.evaluate(cells),
            Kind::Among(k) => k.evaluate(cells),
            Kind::Order(k) => k.evaluate(cells),
            Kind::Change(k) => k.evaluate(cells),
            Kind::Extreme(k) => k.evaluate(cells),
            Kind::Gains(k) => k.evaluate(cells),
            Kind::Grows(k) => k.evaluate(cells),
            Kind::Alike(k) => k.evaluate(cells),
            Kind::Crossing(k) => k.evaluate(cells),
            Kind::Special(_) => None,
        }
    }
}

impl Kind {
    /// Whether it can fail; else it is a figure for an answer.
    #[must_use]
    pub fn counts(&self) -> bool {
        match self {
            Kind::Mean(k) => k.counts(),
            _ => true,
        }
    }

    /// The measure that it looks at.
    #[must_use]
    pub fn measure(&self) -> Option<&str> {
        Some(match self {
            Kind::Mean(k) => k.measure(),
            Kind::Among(k) => k.measure(),
            Kind::Order(k) => k.measure(),
            Kind::Change(k) => k.measure(),
            Kind::Extreme(k) => k.measure(),
            Kind::Gains(k) => k.measure(),
            Kind::Grows(k) => k.measure(),
            Kind::Alike(k) => k.measure(),
            Kind::Crossing(k) => k.measure(),
            Kind::Special(k) => return k.measure(),
        })
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use crate::reproduce::cells::{Cell, Cells, Value};
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

    /// What a check written in TOML finds.
    pub(crate) fn evaluate(check: &str, cells: Vec<Cell>) -> Option<super::Finding> {
        let text = format!("what = \"w\"\npaper = \"p\"\n{check}");
        let check: super::Check = toml::from_str(&text).unwrap_or_else(|e| panic!("{e}"));
        check.kind.evaluate(&Cells(cells))
    }
}
