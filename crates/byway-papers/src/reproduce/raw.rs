//! The raw runs behind the verdicts (`byway reproduce --raw`): a file for each study, in the form
//! of a sweep's results (docs/sweep-format.md), and its digest.

use super::hex::hex;
use super::plan::{StudyPlan, Wanted};
use byway_lab::engine::Row;
use byway_lab::sweep::Results;
use byway_lab::trouble::Trouble;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A file of raw runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RawFile {
    /// Its name in the folder.
    pub file: String,
    /// How many runs it has, a row each.
    pub runs: usize,
    /// SHA-256 of the file, in hexadecimal digits. The same program and request give the same file.
    pub sha256: String,
}

/// Writes the runs of each study; `look` counts the looks at the runs from 0.
///
/// # Errors
/// When the folder cannot be made, or a file cannot be written.
pub(super) fn write(
    folder: &Path,
    look: u32,
    (wanted, plans): (&[Wanted<'_>], &[StudyPlan]),
    rows: &[Vec<Row>],
) -> Result<Vec<RawFile>, Trouble> {
    std::fs::create_dir_all(folder).map_err(|e| Trouble::file("make the folder", folder, e))?;
    let mut all = Vec::with_capacity(plans.len());
    for ((wanted, planned), rows) in wanted.iter().zip(plans).zip(rows) {
        let name = name(wanted, look);
        let path = folder.join(&name);
        Results::new(&planned.plan, rows.clone()).write(&path)?;
        all.push(RawFile {
            file: name,
            runs: rows.len(),
            sha256: digest(&path).map_err(|e| Trouble::file("read", &path, e))?,
        });
    }
    Ok(all)
}

/// `caro-2006-transfer.parquet`; `-rfc9260` for other settings, `-look-2` for more seeds.
fn name(wanted: &Wanted<'_>, look: u32) -> String {
    let mut name = format!("{}-{}", wanted.paper, wanted.study.id);
    if let Some(ablation) = wanted.ablation {
        name.push_str(&format!("-{}", ablation.name()));
    }
    if look > 0 {
        name.push_str(&format!("-look-{}", look + 1));
    }
    // A study of somebody's own may have any name.
    name.replace('/', "-") + ".parquet"
}

fn digest(path: &Path) -> std::io::Result<String> {
    let (mut digest, mut piece) = (Sha256::new(), vec![0; 1 << 16]);
    let mut file = File::open(path)?;
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            break;
        }
        digest.update(&piece[..read]);
    }
    Ok(hex(&digest.finalize()))
}
