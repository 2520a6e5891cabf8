//! byway beside the TCP of the kernel over a link between two network namespaces. The work
//! is done by `bench/netns/compare.py`, which needs root and no netem.

use super::Arguments;
use crate::peers::{PROFILE, Workspace, need_packages};
use anyhow::{Context, Result, ensure};
use std::process::Command;

/// Builds the command and compares; the last line is one of JSON.
pub(crate) fn run(workspace: &Workspace, what: &str, arguments: &Arguments) -> Result<()> {
    need_packages(&["iproute2", "nftables", "ethtool"])?;
    let built = Command::new("cargo")
        .args(["build", "--quiet", "--profile", PROFILE])
        .args(["--package", "byway-cli"])
        .status()
        .context("building byway-cli")?;
    ensure!(built.success(), "byway-cli cannot be built");
    let status = Command::new("python3")
        .arg(workspace.bench("netns/compare.py"))
        .arg(workspace.program("byway"))
        .args([what, "--runs", &arguments.runs.to_string()])
        .status()
        .context("running bench/netns/compare.py")?;
    ensure!(status.success(), "the comparison failed");
    Ok(())
}
