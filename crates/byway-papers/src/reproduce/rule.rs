//! The rule of verdicts: `experiments/RULE.md` in code.

use super::estimate::Estimate;
use super::hex::hex;
use super::sample::Sample;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// The rule in words. Its digest stands in each result.
pub const TEXT: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/experiments/RULE.md"));

/// What the runs say of a check.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is as the paper says.
    Holds,
    /// It is not.
    Fails,
    /// The runs do not tell.
    Undecided,
}

impl Outcome {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Outcome::Holds => "holds",
            Outcome::Fails => "does not hold",
            Outcome::Undecided => "undecided",
        }
    }

    /// Of several parts that must all hold.
    #[must_use]
    pub fn all(parts: impl IntoIterator<Item = Outcome>) -> Outcome {
        parts
            .into_iter()
            .fold(Outcome::Holds, |so_far, next| match (so_far, next) {
                (Outcome::Fails, _) | (_, Outcome::Fails) => Outcome::Fails,
                (Outcome::Undecided, _) | (_, Outcome::Undecided) => Outcome::Undecided,
                _ => Outcome::Holds,
            })
    }
}

/// How likely an error of one test may be.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Level {
    alpha: f64,
}

impl Default for Level {
    /// One look at the runs: 5 %.
    fn default() -> Level {
        Level::of_looks(1)
    }
}

impl Level {
    /// The 5 % are shared by all looks that may be taken at the growing runs.
    #[must_use]
    pub fn of_looks(looks: u32) -> Level {
        Level {
            alpha: 0.05 / f64::from(looks.max(1)),
        }
    }

    /// The same, shared by so many figures of which the furthest one is taken.
    #[must_use]
    pub fn shared(self, by: usize) -> Level {
        Level {
            alpha: self.alpha / by.max(1) as f64,
        }
    }

    /// The confidence of the interval that must lie inside a band: two one-sided
    /// tests.
    #[must_use]
    pub fn inside(self) -> f64 {
        1.0 - 2.0 * self.alpha
    }

    /// The confidence of the interval that must lie outside of a band, or be
    /// clear of zero.
    #[must_use]
    pub fn outside(self) -> f64 {
        1.0 - self.alpha
    }

    /// Whether a mean lies in a band.
    #[must_use]
    pub fn sample_within(self, sample: &Sample, band: [f64; 2]) -> Outcome {
        self.decide(|confidence| sample.interval_of(confidence), band)
    }

    /// Whether a figure lies in a band.
    #[must_use]
    pub fn within(self, found: Option<Estimate>, band: [f64; 2]) -> Outcome {
        self.decide(|confidence| found?.interval(confidence), band)
    }

    /// Whether a figure lies below zero, clear of it.
    #[must_use]
    pub fn below_zero(self, found: Option<Estimate>) -> Outcome {
        let Some((low, high)) = found.and_then(|e| e.interval(self.outside())) else {
            return Outcome::Undecided;
        };
        if high < 0.0 {
            Outcome::Holds
        } else if low > 0.0 || (low == 0.0 && high == 0.0) {
            // Without any chance, equal is not less.
            Outcome::Fails
        } else {
            Outcome::Undecided
        }
    }

    /// Whether a figure that must not be above zero is shown to be so by no more than `room`. One
    /// that is above zero, clear of it, is not, however little it is.
    #[must_use]
    pub fn not_above(self, found: Option<Estimate>, room: f64) -> Outcome {
        match self.below_zero(found.map(Estimate::negative)) {
            Outcome::Holds => Outcome::Fails,
            _ => self.within(found, [f64::NEG_INFINITY, room]),
        }
    }

    fn decide(self, interval: impl Fn(f64) -> Option<(f64, f64)>, [from, to]: [f64; 2]) -> Outcome {
        let (Some(inner), Some(outer)) = (interval(self.inside()), interval(self.outside())) else {
            return Outcome::Undecided;
        };
        // Bands are written in decimals, which a float may miss by its last bit.
        let room = |end: f64| 1e-9 * if end.is_finite() { end.abs() } else { 0.0 };
        if inner.0 >= from - room(from) && inner.1 <= to + room(to) {
            Outcome::Holds
        } else if outer.1 < from || outer.0 > to {
            Outcome::Fails
        } else {
            Outcome::Undecided
        }
    }
}

/// Several comparisons of which a share must hold.
#[derive(Copy, Clone, Debug, Default)]
pub struct Tally {
    /// Those that hold.
    pub good: usize,
    /// Those that do not.
    pub bad: usize,
    /// All.
    pub all: usize,
}

impl Tally {
    /// Counts one.
    pub fn add(&mut self, outcome: Outcome) {
        self.all += 1;
        self.good += usize::from(outcome == Outcome::Holds);
        self.bad += usize::from(outcome == Outcome::Fails);
    }

    /// Whether so great a share of all holds: no, if too many do not, whatever
    /// the undecided ones will be.
    #[must_use]
    pub fn outcome(&self, at_least: f64) -> Outcome {
        let needed = at_least * self.all as f64 - 1e-9;
        if self.good as f64 >= needed {
            Outcome::Holds
        } else if ((self.all - self.bad) as f64) < needed {
            Outcome::Fails
        } else {
            Outcome::Undecided
        }
    }

    /// "12 of 15", and how many are undecided.
    #[must_use]
    pub fn words(&self) -> String {
        let open = self.all - self.good - self.bad;
        let open = match open {
            0 => String::new(),
            n => format!(" ({n} undecided)"),
        };
        format!("{} of {}{open}", self.good, self.all)
    }
}

/// Texts of a claims file that decide nothing. Some can only be written once there are results.
const WORDS: [&str; 4] = ["reason", "undecided", "remark", "figure"];

/// The digest of the rule and of what a claims file says of runs, claims and checks: a verdict belongs
/// to both. Figures, reasons and remarks are left out.
#[must_use]
pub fn digest(claims: &str) -> String {
    let deciding = claims.parse::<toml::Table>().map(|mut all| {
        for text in ["title", "citation", "setting", "figure"] {
            all.remove(text);
        }
        let claims = all.get_mut("claim").and_then(toml::Value::as_array_mut);
        for claim in claims
            .into_iter()
            .flatten()
            .filter_map(toml::Value::as_table_mut)
        {
            claim.retain(|key, _| !WORDS.iter().any(|word| *key == **word));
        }
        // A table is in the order of its keys, however the file is laid out.
        all.to_string()
    });
    let deciding = deciding.unwrap_or_else(|_| claims.to_owned());
    digest_of([TEXT, &deciding])
}

/// The digest of scenarios, by their names: the networks and the traffic that claims are put to. Comments
/// and layout are left out.
#[must_use]
pub fn digest_of_scenarios<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let tables: BTreeMap<&str, String> = files
        .map(|(name, text)| {
            let table = text.parse::<toml::Table>();
            (
                name,
                table.map_or_else(|_| text.to_owned(), |t| t.to_string()),
            )
        })
        .collect();
    digest_of(
        tables
            .iter()
            .flat_map(|(name, text)| [*name, text.as_str()]),
    )
}

fn digest_of<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut all = Sha256::new();
    for text in texts {
        all.update((text.len() as u64).to_le_bytes());
        all.update(text);
    }
    hex(&all.finalize()[..8])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::sample::Kind;

    fn sample(values: &[f64]) -> Sample {
        Sample::of((1..).zip(values.iter().copied()).collect(), Kind::Quantity)
    }

    #[test]
    fn noise_never_helps() {
        // The same mean, with more and more scatter: a band that it is in is first confirmed, then
        // no longer; one that it is not in is first refuted, then no longer.
        let of = |scatter: f64, band| {
            let runs = sample(&[10.0 - scatter, 10.0, 10.0 + scatter]);
            Level::default().sample_within(&runs, band)
        };
        let (inside, outside) = ([9.0, 11.0], [11.0, 13.0]);
        assert_eq!(of(0.1, inside), Outcome::Holds);
        assert_eq!(of(3.0, inside), Outcome::Undecided);
        assert_eq!(of(0.1, outside), Outcome::Fails);
        assert_eq!(of(3.0, outside), Outcome::Undecided);
    }

    #[test]
    fn a_band_may_be_open_at_one_end() {
        let runs = sample(&[9.9, 10.0, 10.1]);
        let at = |to| Level::default().sample_within(&runs, [f64::NEG_INFINITY, to]);
        assert_eq!(at(11.0), Outcome::Holds);
        assert_eq!(at(9.0), Outcome::Fails);
    }

    #[test]
    fn looks_share_the_error() {
        let one = Level::default();
        let three = Level::of_looks(3);
        assert!((one.inside() - 0.9).abs() < 1e-9 && (one.outside() - 0.95).abs() < 1e-9);
        assert!((three.outside() - 0.983_333).abs() < 1e-5);
        assert_eq!(one.shared(3), three);
    }

    #[test]
    fn a_share_of_places_decides_whatever_the_open_ones_will_be() {
        let tally = |good, bad, open| Tally {
            good,
            bad,
            all: good + bad + open,
        };
        assert_eq!(tally(9, 1, 0).outcome(0.9), Outcome::Holds);
        assert_eq!(tally(8, 0, 2).outcome(0.9), Outcome::Undecided);
        assert_eq!(tally(0, 2, 8).outcome(0.9), Outcome::Fails);
        assert_eq!(tally(8, 0, 2).words(), "8 of 10 (2 undecided)");
    }

    #[test]
    fn the_digest_changes_with_the_claims() {
        assert_eq!(digest("a"), digest("a"));
        assert_ne!(digest("a"), digest("b"));
    }

    #[test]
    fn a_network_has_a_digest_of_its_own() {
        let of = |text: &str| digest_of_scenarios([("a", text), ("b", "x = 1")].into_iter());
        let own = of("[[path]]\nrate = \"10 Mbit/s\"\n");
        assert_eq!(own, of("# a word\n[[path]]\nrate  = \"10 Mbit/s\""));
        assert_ne!(own, of("[[path]]\nrate = \"11 Mbit/s\"\n"));
        assert_ne!(
            own,
            digest_of_scenarios([("a", "[[path]]\nrate = \"10 Mbit/s\"\n")].into_iter())
        );
    }

    #[test]
    fn a_digest_is_that_of_what_decides() {
        let claims = |between: &str, more: &str| {
            format!(
                "id = \"p\"\n[[claim]]\nid = \"A1\"\n{more}\n[[claim.check]]\nkind = \"mean\"\n\
                 between = {between}\n"
            )
        };
        let own = digest(&claims("[1, 2]", ""));
        assert_eq!(
            own,
            digest(&claims("[1, 2]", "reason = \"so\"\nremark = \"r\""))
        );
        assert_eq!(own, digest(&claims("[1,2]", "# a word")));
        assert_ne!(own, digest(&claims("[1, 3]", "")));
        assert_ne!(own, digest(&claims("[1, 2]", "trend = true")));
    }
}
