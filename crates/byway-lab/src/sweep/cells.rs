//! The cells of a grid: every combination of the values of its axes.

use crate::axis::Variation;
use crate::engine::Cell;
use crate::source::{Source, Table};
use std::ops::Range;

/// Most cells.
const MAX_CELLS: usize = 100_000;
/// Most runs: their rows are kept in memory until the result is written.
const MAX_RUNS: usize = 2_000_000;
/// No more is said of a grid that is wrong in many ways.
const MAX_PROBLEMS: usize = 20;

/// An axis as it is read.
pub(super) struct Dimension {
    pub(super) name: String,
    /// Where it is in the file.
    pub(super) span: Range<usize>,
    /// Names of its values, and what they set.
    pub(super) values: Vec<(String, Variation)>,
    /// Whether its values are the scenario's policies.
    pub(super) policies: bool,
}

/// Axes, and places of their values: a cell that has one of each is left out.
pub(super) type Skip = Vec<(usize, Vec<usize>)>;

/// What the cells are made of.
pub(super) struct Grid {
    /// The scenario's tree.
    pub(super) scenario: Table,
    pub(super) dimensions: Vec<Dimension>,
    pub(super) skips: Vec<Skip>,
}

/// All cells, the last axis varying fastest.
pub(super) fn build(source: &Source<'_>, grid: &Grid, seeds: usize) -> Option<Vec<Cell>> {
    let count = grid
        .dimensions
        .iter()
        .try_fold(1_usize, |n, d| n.checked_mul(d.values.len()));
    let count = match count {
        Some(n) if n <= MAX_CELLS && n.saturating_mul(seeds) <= MAX_RUNS => n,
        n => {
            let cells = n.map_or("more cells than can be counted".to_owned(), |n| {
                format!("{n} cells of {seeds} seeds each")
            });
            source.problem_at_start(format!(
                "the grid has {cells}; at most {MAX_CELLS} cells and {MAX_RUNS} runs, so make several sweeps of it"
            ));
            return None;
        }
    };
    let mut cells = Vec::new();
    for index in 0..count {
        let places = places(&grid.dimensions, index);
        if grid
            .skips
            .iter()
            .any(|s| s.iter().all(|(d, values)| values.contains(&places[*d])))
        {
            continue;
        }
        if let Some(cell) = cell(source, grid, &places) {
            cells.push(cell);
        }
        if source.problem_count() >= MAX_PROBLEMS {
            return None;
        }
    }
    if cells.is_empty() && source.problem_count() == 0 {
        source.problem_at_start("every cell of the grid is left out by [[skip]]");
    }
    Some(cells)
}

/// The place on each axis of the cell with this number.
fn places(dimensions: &[Dimension], mut index: usize) -> Vec<usize> {
    let mut places = vec![0; dimensions.len()];
    for (place, d) in places.iter_mut().zip(dimensions).rev() {
        *place = index % d.values.len().max(1);
        index /= d.values.len().max(1);
    }
    places
}

fn cell(source: &Source<'_>, grid: &Grid, places: &[usize]) -> Option<Cell> {
    let mut variation = Variation::default();
    let mut values = Vec::new();
    for (d, place) in grid.dimensions.iter().zip(places) {
        let (label, sets) = &d.values[*place];
        values.push(label.clone());
        variation.add(sets);
    }
    let scenario = variation.scenario(source, grid.scenario.clone())?;
    Some(Cell::new(values, scenario))
}
