//! Which single run of a study a figure shows.

use super::layout::Data;
use crate::reproduce::cells::{self, Place, Value, place_words};
use serde::Deserialize;

/// A run that is shown.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Single {
    /// Its name.
    pub(super) name: String,
    /// Where in the study it is; axes that are not named take their first value.
    #[serde(default)]
    pub(super) at: Place,
    /// Its seed.
    #[serde(default)]
    seed: Option<u64>,
    /// A rule in place of a seed: of the study's runs at that place the one whose measured axes are
    /// nearest to these values; of several the one with the least seed, then the first of the
    /// study's axes.
    #[serde(default)]
    nearest: Place,
}

/// The run that was picked.
pub(super) struct Pick {
    pub(super) place: Place,
    pub(super) seed: u64,
    /// What the rule was, if there was one, and what it found.
    rule: Option<String>,
}

impl Single {
    /// Whether it is at these values of these axes.
    pub(super) fn is_at(&self, at: &Place) -> bool {
        cells::is_at(&self.at, at)
    }

    /// Whether a rule chooses it.
    pub(super) fn is_by_rule(&self) -> bool {
        !self.nearest.is_empty()
    }

    /// Picks the run.
    ///
    /// # Errors
    /// When neither a seed nor a rule is there, or no run of the study is at that place.
    pub(super) fn pick(&self, data: Data<'_>) -> Result<Pick, String> {
        if let (Some(seed), true) = (self.seed, self.nearest.is_empty()) {
            return Ok(Pick {
                place: self.at.clone(),
                seed,
                rule: None,
            });
        }
        if self.seed.is_some() || self.nearest.is_empty() {
            return Err(format!("run \"{}\" needs seed or nearest", self.name));
        }
        let mut found: Option<(f64, u64, &Place)> = None;
        for cell in &data.ours.0 {
            if !self
                .at
                .iter()
                .all(|(axis, v)| cell.place.get(axis) == Some(v))
            {
                continue;
            }
            let Some(away) = self.away(&cell.place) else {
                continue;
            };
            let seeds = cell.samples.values().flat_map(|s| &s.runs).map(|r| r.seed);
            for seed in seeds {
                if found.is_none_or(|(a, s, _)| (away, seed) < (a, s)) {
                    found = Some((away, seed, &cell.place));
                }
            }
        }
        let (_, seed, place) =
            found.ok_or_else(|| format!("no run for \"{}\" ({})", self.name, self.rule()))?;
        let axes = &data.runs.study.axes;
        let set = place.iter().filter(|(axis, _)| axes.contains_key(*axis));
        Ok(Pick {
            place: set.map(|(axis, v)| (axis.clone(), v.clone())).collect(),
            seed,
            rule: Some(format!(
                "the one nearest to {}, of several that with the least seed: {}",
                self.rule(),
                place_words(place, &["policy"])
            )),
        })
    }

    /// How far a place is from what is asked for; none if it lacks an axis of it.
    fn away(&self, place: &Place) -> Option<f64> {
        let apart = self.nearest.iter().map(|(axis, wanted)| {
            let found = place.get(axis).and_then(Value::number)?;
            Some((found - wanted.number()?).abs())
        });
        apart.sum()
    }

    fn rule(&self) -> String {
        place_words(&self.nearest, &[])
    }
}

impl Pick {
    /// Which runs these are, for a caption.
    pub(super) fn words(picks: &[Pick]) -> String {
        let seeds: Vec<String> = picks.iter().map(|p| p.seed.to_string()).collect();
        let seeds = seeds.join(", ");
        let runs = match picks.len() {
            1 => format!("One run of byway, seed {seeds}"),
            _ => format!("One run of byway for each line, seeds {seeds}"),
        };
        let rules: Vec<&str> = picks.iter().filter_map(|p| p.rule.as_deref()).collect();
        match rules.is_empty() {
            true => format!("{runs}."),
            false => format!("{runs}, {}.", rules.join("; ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::cells::Cells;
    use crate::reproduce::check::testing::cell;
    use crate::reproduce::single::Runs;
    use crate::reproduce::study::{Effort, StudySpec};
    use byway_lab::axis::Base;

    const SCENARIO: &str = "[traffic]\nkind = \"bulk\"\nsize = \"1 MB\"\n[[path]]\n\
        rate = \"10 Mbit/s\"\ndelay = \"45 ms\"\n";

    fn picked(single: &str, cells: Cells) -> Result<(Option<f64>, u64), String> {
        let single: Single = toml::from_str(single).map_err(|e| e.to_string())?;
        let base = Base::parse("test", SCENARIO).map_err(|e| e.to_string())?;
        let study: StudySpec = toml::from_str(
            "id = \"s\"\nwhat = \"\"\nscenario = \"x\"\naxes = { loss2 = [0, 5] }\n\
             seeds = { quick = 1, full = 1 }",
        )
        .map_err(|e| e.to_string())?;
        let runs = Runs {
            base: &base,
            study: &study,
            effort: Effort::Quick,
        };
        let data = Data {
            ours: &cells,
            ns2: None,
            at: &Place::new(),
            runs: &runs,
            words: "",
            first_seed: 1,
        };
        let pick = single.pick(data)?;
        Ok((pick.place.get("loss2").and_then(Value::number), pick.seed))
    }

    #[test]
    fn the_nearest_place_then_the_least_seed() {
        let cells = || {
            Cells(vec![
                cell(0.0, "A", &[1.0]),
                cell(5.0, "A", &[1.0, 2.0]),
                cell(4.0, "B", &[1.0]),
            ])
        };
        let rule = "name = \"\"\nat = { policy = \"A\" }\nnearest = { loss2 = 4 }";
        assert_eq!(picked(rule, cells()), Ok((Some(5.0), 1)));
        let seed = "name = \"\"\nseed = 7\nat = { loss2 = 2 }";
        assert_eq!(picked(seed, cells()), Ok((Some(2.0), 7)));
        assert!(picked("name = \"x\"", cells()).is_err(), "neither");
        assert!(picked(rule, Cells::default()).is_err(), "no run");
    }
}
