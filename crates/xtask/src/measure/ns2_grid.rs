//! Means of ns-2's random runs against byway's, see `experiments/ns2-grid/README.md`.
//! The work is done by the package byway-ns2.

use super::Arguments;
use crate::peers::Workspace;
use anyhow::{Context, Result, ensure};
use std::process::Command;

/// Compares; the last line is one of JSON.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<()> {
    ensure!(
        arguments.folders.len() < 2,
        "ns2-grid takes one table, not {}",
        arguments.folders.len()
    );
    let ours = workspace.file("experiments/ns2-grid/SUMMARY.csv.gz");
    let table = arguments.folders.first().unwrap_or(&ours);
    let mut command = Command::new(workspace.released("byway-ns2")?);
    command.arg("grid");
    command.arg(table);
    command.args(["--seeds", &arguments.seeds.to_string()]);
    if arguments.light {
        command.arg("--light");
    }
    let status = command.status().context("running byway-ns2")?;
    ensure!(status.success(), "byway does not agree with ns-2");
    Ok(())
}
