//! Advice put to scenarios that it has not seen.

use super::candidates::Candidate;
use super::compare::{Comparison, compare};
use super::describe::{self, Load};
use super::race::{AdviseError, measure};
use super::request::Request;
use crate::scenario::PathSpec;
use crate::units::{Rate, Share, Size};
use serde::Serialize;
use std::time::Duration;

/// The seeds begin so far after those of the search and the check.
const OFFSET: u64 = 800_000;

/// One cell: settings against others in one variation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeldOut {
    /// How the paths or the traffic differ from the description.
    pub variation: String,
    /// Place of the other settings.
    pub against: usize,
    /// Seeds.
    pub runs: u32,
    /// Score.
    pub score: Comparison,
    /// Stall, seconds.
    pub stall_s: Comparison,
    /// Needless moves an hour.
    pub moves_per_hour: Comparison,
}

/// Paths and traffic that differ from a description: other round trips, rates and losses by
/// half, losses in bursts, other traffic; and the same with other seeds.
#[must_use]
pub fn variations(request: &Request) -> Vec<(String, Request)> {
    let mut all = vec![("other seeds and phases".to_owned(), request.clone())];
    let mut add = |name: &str, change: &dyn Fn(&mut PathSpec)| {
        let mut other = request.clone();
        other.paths.iter_mut().for_each(change);
        all.push((name.to_owned(), other));
    };
    add("round trips +50 %", &|p| delay(p, 1.5));
    add("round trips -50 %", &|p| delay(p, 0.5));
    add("rates +50 %", &|p| rate(p, 1.5));
    add("rates -50 %", &|p| rate(p, 0.5));
    add("loss +50 %", &|p| loss(p, 1.5, 1.0));
    add("loss -50 %", &|p| loss(p, 0.5, 1.0));
    add("losses in bursts of 4", &|p| loss(p, 1.0, 4.0));
    let mut other = request.clone();
    other.load = match request.load {
        Load::Bulk => Load::Paced {
            message: Size(500),
            every: Duration::from_millis(20),
        },
        Load::Paced { .. } => Load::Bulk,
    };
    all.push((format!("traffic {}", other.load.words()), other));
    all
}

fn delay(path: &mut PathSpec, factor: f64) {
    for link in [&mut path.forward, &mut path.reverse] {
        link.delay = link.delay.mul_f64(factor);
    }
}

fn rate(path: &mut PathSpec, factor: f64) {
    for link in [&mut path.forward, &mut path.reverse] {
        link.rate = Rate((link.rate.0 as f64 * factor) as u64);
    }
}

fn loss(path: &mut PathSpec, factor: f64, burst: f64) {
    let Some(Share(share)) = describe::mean_loss(&path.forward.loss) else {
        return;
    };
    for link in [&mut path.forward, &mut path.reverse] {
        link.loss = describe::loss_spec(Share(share * factor), burst);
    }
}

/// Runs `advised` and `others` in all variations with `runs` new seeds, and compares them.
/// Traffic that a slower path cannot carry is left out.
///
/// # Errors
/// When a run was refused.
pub fn held_out(
    request: &Request,
    advised: &Candidate,
    others: &[Candidate],
    runs: u32,
) -> Result<Vec<HeldOut>, AdviseError> {
    let mut cells = Vec::new();
    for (variation, other) in variations(request) {
        if other.check().is_err() {
            continue;
        }
        let candidates: Vec<&Candidate> = std::iter::once(advised).chain(others).collect();
        let samples = measure(&other, &candidates, OFFSET, runs)?;
        for (against, theirs) in samples[1..].iter().enumerate() {
            let per_hour = |s: &super::evidence::Sample| s.moves / s.hours.max(1e-9);
            cells.push(HeldOut {
                variation: variation.clone(),
                against,
                runs,
                score: compare(&samples[0], theirs, |s| s.score(&request.wishes)),
                stall_s: compare(&samples[0], theirs, |s| s.stall_s),
                moves_per_hour: compare(&samples[0], theirs, per_hour),
            });
        }
    }
    Ok(cells)
}
