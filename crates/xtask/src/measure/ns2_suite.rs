//! Packet traces of ns-2's own validation suite against byway's, see
//! `experiments/ns2-suite/README.md`. The work is done by the package byway-ns2.

use crate::peers::Workspace;
use anyhow::{Context, Result, ensure};
use std::path::PathBuf;
use std::process::Command;

/// Folders that are compared when none is named.
const FOLDERS: [&str; 4] = ["rfc2960", "rfc4960", "random", "transfers"];

/// Compares; the last line is one of JSON.
pub(crate) fn run(workspace: &Workspace, folders: &[PathBuf]) -> Result<()> {
    let ours = FOLDERS.map(|name| workspace.file("experiments/ns2-suite").join(name));
    let folders = if folders.is_empty() { &ours } else { folders };
    let status = Command::new(workspace.released("byway-ns2")?)
        .args(folders)
        .status()
        .context("running byway-ns2")?;
    ensure!(status.success(), "not every scenario matches");
    Ok(())
}
