//! Which cells want which runs, and the rows that they get.

use super::chain::{Chains, Taker};
use super::plan::Plan;
use super::row::{Record, Row};
use std::collections::HashMap;

/// What the runs of a chain with one seed gave: one for each step, none where
/// no cell wants that seed.
pub(super) type Answer = Vec<Option<Record>>;

/// Hands the runs to the cells, in the order of the plans.
pub(super) fn rows(
    plans: &[&Plan],
    chains: &Chains,
    wants: &Wants,
    answers: impl Iterator<Item = Vec<Option<Answer>>>,
) -> Vec<Vec<Row>> {
    let cells = |plan: &&Plan| vec![Vec::new(); plan.cells.len()];
    let mut all: Vec<Vec<Vec<Row>>> = plans.iter().map(cells).collect();
    for (chain, answers) in chains.all.iter().zip(answers) {
        let columns = &chains.columns[chain.columns];
        for (seed, answer) in chain.seeds.iter().zip(answers) {
            for (step, record) in chain.steps.iter().zip(answer.into_iter().flatten()) {
                let Some(record) = record else { continue };
                let mut wanting = step.takers.iter().filter_map(|taker| {
                    let run = wants.place(plans, *taker, *seed)?;
                    Some((taker, run))
                });
                let first = wanting.next();
                for (Taker { plan, cell }, run) in wanting {
                    let taken = columns.taken(*plan, record.clone());
                    all[*plan][*cell].push(taken.row(*cell, run, *seed));
                }
                if let Some((Taker { plan, cell }, run)) = first {
                    let taken = columns.taken(*plan, record);
                    all[*plan][*cell].push(taken.row(*cell, run, *seed));
                }
            }
        }
    }
    let in_order = |cells: Vec<Vec<Row>>| -> Vec<Row> {
        let sorted = cells.into_iter().flat_map(|mut rows| {
            rows.sort_by_key(|row| row.run);
            rows
        });
        sorted.collect()
    };
    all.into_iter().map(in_order).collect()
}

/// Which cells want which seeds.
pub(super) struct Wants {
    /// For each plan, the places of its seeds.
    places: Vec<HashMap<u64, usize>>,
}

impl Wants {
    pub(super) fn of(plans: &[&Plan]) -> Wants {
        let of = |plan: &&Plan| {
            let seeds = plan.seeds.iter().enumerate();
            seeds.map(|(place, seed)| (*seed, place)).collect()
        };
        Wants {
            places: plans.iter().map(of).collect(),
        }
    }

    /// The place of a seed in its plan, if the cell wants it.
    pub(super) fn place(&self, plans: &[&Plan], taker: Taker, seed: u64) -> Option<usize> {
        let place = *self.places[taker.plan].get(&seed)?;
        let own = &plans[taker.plan].cells[taker.cell].seeds;
        let wanted = own.as_ref().is_none_or(|own| own.contains(&place));
        wanted.then_some(place)
    }
}
