//! What hurts, and how much.

use crate::source::nearest;
use crate::units::{Share, format_duration, parse_duration};
use serde::Serialize;
use std::time::Duration;

/// What hurts: weights, and limits that must hold.
///
/// The score of settings is a sum; less is better. A second without delivery when the path
/// in use dies counts 1. So do ten needless moves an hour, a tenth of the payload on paths
/// other than the first, and 100 s more until traffic is back on a repaired first path. Each
/// is multiplied by its weight.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Wishes {
    /// Weight of the stall.
    pub stall: f64,
    /// Weight of needless moves.
    pub moves: f64,
    /// Weight of the use of other paths than the first.
    pub cost: f64,
    /// The longest stall that 95 % of deaths may cause, seconds.
    pub max_stall_s: Option<f64>,
    /// Needless moves an hour, at most.
    pub max_moves_per_hour: Option<f64>,
    /// Share of the payload on other paths than the first while nothing fails, at most.
    pub max_cost: Option<f64>,
}

/// What is not named in `--hurts` still decides between equals.
const UNNAMED: f64 = 0.01;

impl Default for Wishes {
    fn default() -> Wishes {
        Wishes {
            stall: 1.0,
            moves: 1.0,
            cost: 0.1,
            max_stall_s: None,
            max_moves_per_hour: None,
            max_cost: None,
        }
    }
}

impl Wishes {
    /// Takes the weights of `--hurts stall=3,moves`; what it does not name weighs 0.01.
    ///
    /// # Errors
    /// What is wrong, and what would be right.
    pub fn set_hurts(&mut self, text: &str) -> Result<(), String> {
        let (mut stall, mut moves, mut cost) = (UNNAMED, UNNAMED, UNNAMED);
        for part in text.split(',') {
            let (name, weight) = match part.split_once('=') {
                Some((name, weight)) => {
                    let weight = weight.trim().parse::<f64>().ok();
                    let weight = weight.filter(|w| (0.0..=1e6).contains(w)).ok_or_else(|| {
                        format!("\"{part}\": a weight is a number from 0 to 1000000")
                    })?;
                    (name.trim(), weight)
                }
                None => (part.trim(), 1.0),
            };
            match name {
                "stall" => stall = weight,
                "moves" => moves = weight,
                "cost" => cost = weight,
                _ => {
                    let known = ["stall", "moves", "cost"];
                    return Err(match nearest(name, known) {
                        Some(near) => format!("\"{name}\": did you mean {near}?"),
                        None => format!("\"{name}\": there are stall, moves and cost"),
                    });
                }
            }
        }
        (self.stall, self.moves, self.cost) = (stall, moves, cost);
        Ok(())
    }

    /// Takes `--max-stall 300ms`.
    ///
    /// # Errors
    /// What is wrong, and what would be right.
    pub fn set_max_stall(&mut self, text: &str) -> Result<(), String> {
        self.max_stall_s = Some(parse_duration(text)?.as_secs_f64());
        Ok(())
    }

    /// Takes `--at-most-moves 1/day`.
    ///
    /// # Errors
    /// What is wrong, and what would be right.
    pub fn set_max_moves(&mut self, text: &str) -> Result<(), String> {
        let wrong =
            || format!("\"{text}\" is not a rate of moves; write such as 3/hour, 1/day or 2/week");
        let (number, unit) = text.split_once('/').ok_or_else(wrong)?;
        let hours = match unit.trim() {
            "minute" => 1.0 / 60.0,
            "hour" | "h" => 1.0,
            "day" | "d" => 24.0,
            "week" => 168.0,
            _ => return Err(wrong()),
        };
        let number: f64 = number.trim().parse().map_err(|_| wrong())?;
        if number <= 0.0 {
            return Err(format!(
                "\"{text}\": no number of runs shows that something never happens; write such as \
                 1/day"
            ));
        }
        if !number.is_finite() {
            return Err(wrong());
        }
        self.max_moves_per_hour = Some(number / hours);
        Ok(())
    }

    /// Takes `--max-cost 5%`.
    ///
    /// # Errors
    /// What is wrong, and what would be right.
    pub fn set_max_cost(&mut self, text: &str) -> Result<(), String> {
        self.max_cost = Some(Share::parse(text)?.0);
        Ok(())
    }

    /// Whether it can be fulfilled at all on a first path with this round trip.
    ///
    /// # Errors
    /// What contradicts itself.
    pub(super) fn check(&self, rtt: Duration) -> Result<(), String> {
        if self.stall + self.moves + self.cost <= 0.0 {
            return Err(
                "--hurts: all weights are 0, so nothing would be better than anything else"
                    .to_owned(),
            );
        }
        if let Some(max) = self.max_stall_s
            && max < rtt.as_secs_f64()
        {
            return Err(format!(
                "--max-stall {}: an acknowledgement takes the round trip of the first path, {}, \
                 so no sender can notice its death sooner",
                format_duration(Duration::from_secs_f64(max)),
                format_duration(rtt)
            ));
        }
        Ok(())
    }

    /// In words.
    #[must_use]
    pub fn words(&self) -> String {
        let mut parts: Vec<String> = [
            ("stall", self.stall),
            ("moves", self.moves),
            ("cost", self.cost),
        ]
        .iter()
        .filter(|(_, weight)| *weight > UNNAMED)
        .map(|(name, weight)| format!("{name} {weight}"))
        .collect();
        parts.extend(
            self.max_stall_s
                .map(|s| format!("stall at most {:.0} ms", s * 1e3)),
        );
        parts.extend(
            self.max_moves_per_hour
                .map(|m| format!("moves at most {m:.3}/hour")),
        );
        parts.extend(
            self.max_cost
                .map(|c| format!("at most {} elsewhere", Share(c))),
        );
        parts.join(", ")
    }
}
