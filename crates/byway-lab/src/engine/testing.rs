//! Stores with chosen contents, for tests.

use super::chain::{Chains, digest};
use super::plan::Plan;
use super::row::{Record, Row};
use super::store::Store;

/// Keeps a row of a plan.
pub(crate) fn keep(store: &Store, plan: &Plan, row: &Row) {
    let record = Record {
        status: row.status,
        reason: row.reason.clone(),
        values: row.values.clone(),
    };
    let names = Chains::of(&[plan]).columns.remove(0).names;
    let scenario = digest(&plan.cells[row.cell]);
    store.add(scenario, row.seed, &names, &record).unwrap();
}
