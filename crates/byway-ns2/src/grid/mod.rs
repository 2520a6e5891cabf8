//! Means over many random runs, compared with those of ns-2.
//!
//! A table has a line for each cell of a grid: the settings, and mean, standard
//! deviation and count of ns-2's runs. The same cells run in byway's simulator
//! with seeds of their own, and the means are compared.

pub mod cell;
pub mod more;
pub mod report;
pub mod run;
pub mod verdict;

use anyhow::{Context, Result, anyhow};
use byway_lab::stats::Sample;
use cell::Cell;
use rayon::prelude::*;
use run::Setting;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use verdict::{ENOUGH, Measured};

/// Cells of the light version. It asks for the same 95 % as the whole, of which 2 %
/// miss by chance (`experiments/ns2-grid/README.md`): of a hundred figures more than
/// five do in 1.5 % of all codes, of two dozen more than one in 9 %.
const LIGHT_CELLS: usize = 96;
/// Largest transfer of the light version, bytes; longer ones are long.
const LIGHT_BYTES: u64 = 8 << 20;
/// Seeds of long transfers that are only compared as a pool.
const POOLED_SEEDS: u32 = 6;

/// What to compare.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Seeds of each cell; fewer for long ones that are only pooled.
    pub seeds: u32,
    /// Only some small cells, the same ones each time.
    pub light: bool,
    /// Only experiments of this name; empty for all.
    pub experiment: String,
}

/// Reads a table and chooses the cells; also how many lines need policies that
/// byway does not have.
///
/// # Errors
/// When the table cannot be read.
pub fn choose(table: &Path, choice: &Choice) -> Result<(Vec<Cell>, usize)> {
    let mut cells = cell::read(table)?;
    cells.retain(|c| choice.experiment.is_empty() || c.experiment == choice.experiment);
    let all = cells.len();
    cells.retain(|c| c.setting.missing_policy().is_none());
    let not_built = all - cells.len();
    if choice.light {
        // Every so many lines of what is quick: nothing looks at results.
        cells.retain(|c| c.transfer.n >= ENOUGH && c.setting.size <= LIGHT_BYTES);
        let step = cells.len().div_ceil(LIGHT_CELLS).max(1);
        cells = cells.into_iter().step_by(step).collect();
    }
    Ok((cells, not_built))
}

/// Runs the cells, each setting once per seed, on all processors.
///
/// # Errors
/// When a network or a host cannot be set up.
pub fn measure(cells: Vec<Cell>, choice: &Choice) -> Result<Vec<Measured>> {
    let mut settings: BTreeMap<Setting, u32> = BTreeMap::new();
    for cell in &cells {
        let seeds = if cell.transfer.n >= ENOUGH || cell.setting.size <= LIGHT_BYTES {
            choice.seeds
        } else {
            choice.seeds.min(POOLED_SEEDS)
        };
        let most = settings.entry(cell.setting.clone()).or_default();
        *most = seeds.max(*most);
    }
    let (total, done) = (settings.len(), AtomicUsize::new(0));
    let results: BTreeMap<&Setting, (Sample, Sample)> = settings
        .par_iter()
        .map(|(setting, seeds)| {
            let sample = sample_of(setting, *seeds)?;
            let n = done.fetch_add(1, Ordering::Relaxed) + 1;
            if n.is_multiple_of(total.div_ceil(20)) {
                eprintln!("{n} of {total} settings");
            }
            Ok((setting, sample))
        })
        .collect::<Result<_>>()?;
    cells
        .into_iter()
        .map(|cell| {
            let (transfer, detection) = results
                .get(&cell.setting)
                .copied()
                .ok_or_else(|| anyhow!("{cell} was not run"))?;
            Ok(Measured {
                cell,
                transfer,
                detection,
            })
        })
        .collect()
}

/// Transfer and detection times of a setting. Runs that never begin or never
/// end do not count, as in the table.
fn sample_of(setting: &Setting, seeds: u32) -> Result<(Sample, Sample)> {
    let (mut transfers, mut detections) = (Vec::new(), Vec::new());
    for seed in 1..=u64::from(seeds) {
        let run = run::run(setting, seed).with_context(|| format!("seed {seed} of {setting:?}"))?;
        transfers.extend(run.transfer_s);
        detections.extend(run.detection_s);
    }
    Ok((Sample::of(&transfers), Sample::of(&detections)))
}
