//! byway beside the TCP of the kernel between two network namespaces. The work is done by
//! `bench/netns/compare.py` and `forward.py`, which need root and no netem.

use super::Arguments;
use crate::peers::{Workspace, need_packages};
use anyhow::{Context, Result, ensure};
use std::process::Command;

/// Compares; the last line is one of JSON.
pub(crate) fn run(workspace: &Workspace, what: &str, arguments: &Arguments) -> Result<()> {
    need_packages(&["iproute2", "nftables", "ethtool", "gcc", "libc6-dev"])?;
    let mut python = Command::new("python3");
    python
        .arg(workspace.bench("netns/compare.py"))
        .arg(arguments.byway(workspace)?)
        .args([what, "--runs", &arguments.runs.to_string(), "--stream"])
        .arg(workspace.c_peer("tcp/stream.c", &[])?);
    let status = python.status().context("running bench/netns/compare.py")?;
    ensure!(status.success(), "the comparison failed");
    Ok(())
}

/// A TCP program over two uplinks, by way of `byway forward` and without it.
pub(crate) fn forward(workspace: &Workspace, arguments: &Arguments) -> Result<()> {
    need_packages(&["iproute2", "nftables", "gcc", "libc6-dev"])?;
    let mut python = Command::new("python3");
    python
        .arg(workspace.bench("netns/forward.py"))
        .arg(arguments.byway(workspace)?)
        .arg("--stream")
        .arg(workspace.c_peer("tcp/stream.c", &[])?)
        .args(["--runs", &arguments.runs.to_string()]);
    let status = python.status().context("running bench/netns/forward.py")?;
    ensure!(status.success(), "the comparison failed");
    Ok(())
}
