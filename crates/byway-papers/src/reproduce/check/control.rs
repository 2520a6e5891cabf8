//! Cases in which a check must not hold, and how it comes out of them.

use crate::reproduce::rule::Outcome;
use serde::Serialize;

/// How often the runs of one arm are dealt to both.
pub(super) const DEALS: u64 = 20;
/// Chance alone makes a test at 5 % hold now and then. One that holds in more than this share of the
/// deals is no test.
const BY_CHANCE: f64 = 0.2;

/// A case in which a check must not hold, and what it says there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Control {
    /// What the check was put to.
    pub name: &'static str,
    /// What it says; none if there are no cells of this case, so that nothing is said.
    pub outcome: Option<Outcome>,
    /// Where runs of one kind were dealt to both arms: how often it said what.
    pub dealt: Option<Dealt>,
}

/// What a check says where both arms have runs of one kind, so that chance is all that differs.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Dealt {
    /// How often the runs were dealt.
    pub deals: usize,
    /// In how many of the deals the check holds.
    pub holds: usize,
    /// In how many it does not hold; in the others it is undecided.
    pub fails: usize,
    /// In how many it holds by as many runs of the arms as they are: whether it could tell by so few.
    pub as_run: usize,
}

impl Dealt {
    /// Of what it says of each deal, and of as many runs of the arms as they are.
    pub(super) fn of(off: &[Outcome], as_run: &[Outcome]) -> Dealt {
        let count = |all: &[Outcome], what| all.iter().filter(|o| **o == what).count();
        Dealt {
            deals: off.len(),
            holds: count(off, Outcome::Holds),
            fails: count(off, Outcome::Fails),
            as_run: count(as_run, Outcome::Holds),
        }
    }

    /// Whether by as many runs of the arms as they are it holds more often than chance may.
    #[must_use]
    pub fn tells(&self) -> bool {
        self.share(self.as_run) > BY_CHANCE
    }

    fn share(&self, n: usize) -> f64 {
        n as f64 / self.deals.max(1) as f64
    }

    fn outcome(&self) -> Outcome {
        if self.share(self.holds) > BY_CHANCE {
            Outcome::Holds
        } else if self.share(self.fails) >= 1.0 - BY_CHANCE {
            Outcome::Fails
        } else {
            Outcome::Undecided
        }
    }
}

/// How a check comes out of a control.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum There {
    /// It does not hold there: what a control must show.
    Fails,
    /// Chance is all that differs between the arms, and it is not shown to hold. Of two arms of one
    /// kind no runs show that neither is the better one, so this is all that there can be.
    NotShown,
    /// The runs do not tell. That shows nothing.
    Open,
    /// It holds there.
    Holds,
    /// There are no runs of such a case.
    NoRuns,
}

impl There {
    /// Whether it is as it must be.
    #[must_use]
    pub fn is_right(self) -> bool {
        matches!(self, There::Fails | There::NotShown)
    }

    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            There::Fails => "does not hold",
            There::NotShown => "not shown",
            There::Open => "undecided",
            There::Holds => "holds",
            There::NoRuns => "no such runs",
        }
    }
}

impl Control {
    /// With what it says of other arms or other runs; none if there are none.
    pub(crate) fn of(name: &'static str, outcome: Option<Outcome>) -> Control {
        Control {
            name,
            outcome,
            dealt: None,
        }
    }

    /// With what it says of deals; none if there are no cells.
    pub(crate) fn of_deals(name: &'static str, dealt: Option<Dealt>) -> Control {
        Control {
            name,
            outcome: dealt.map(|d| d.outcome()),
            dealt,
        }
    }

    /// How the check comes out of it.
    #[must_use]
    pub fn there(&self) -> There {
        match (self.outcome, self.dealt) {
            (None, _) => There::NoRuns,
            (Some(Outcome::Holds), _) => There::Holds,
            (Some(Outcome::Fails), _) => There::Fails,
            (Some(Outcome::Undecided), Some(_)) => There::NotShown,
            (Some(Outcome::Undecided), None) => There::Open,
        }
    }

    /// In words.
    #[must_use]
    pub fn words(&self) -> String {
        let there = self.there().words();
        let Some(dealt) = self.dealt.filter(|_| self.there() != There::Fails) else {
            return there.to_owned();
        };
        let often = format!("it holds in {} of {} deals", dealt.holds, dealt.deals);
        format!(
            "{there}: {often}, and in {} by as many runs of the arms as they are",
            dealt.as_run
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undecided_is_right_only_where_nothing_else_can_be() {
        let name = "mechanism off";
        assert_eq!(
            Control::of(name, Some(Outcome::Undecided)).there(),
            There::Open,
            "other arms, or runs without the mechanism"
        );
        let dealt = |holds: usize, fails: usize| {
            let open = 20 - holds - fails;
            let off = [
                vec![Outcome::Holds; holds],
                vec![Outcome::Fails; fails],
                vec![Outcome::Undecided; open],
            ]
            .concat();
            let all = Dealt::of(&off, &[Outcome::Holds; 20]);
            Control::of_deals(name, Some(all))
        };
        assert_eq!(dealt(0, 0).there(), There::NotShown);
        assert_eq!(dealt(4, 1).there(), There::NotShown);
        assert_eq!(dealt(5, 15).there(), There::Holds);
        assert_eq!(dealt(4, 16).there(), There::Fails);
        assert_eq!(Control::of_deals(name, None).there(), There::NoRuns);
        assert_eq!(
            dealt(1, 0).words(),
            "not shown: it holds in 1 of 20 deals, and in 20 by as many runs of the arms as they are"
        );
    }
}
