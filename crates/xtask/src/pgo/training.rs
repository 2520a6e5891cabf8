//! What the counting programs run.
//!
//! Never what `cargo xtask measure` times: smaller transfers, other losses and other seeds, so that
//! a measured run is as new to the program as anybody's. Simulations make up the most of it, as they
//! do of the programs' use; the core alone, sockets and memory have their turn, or the compiler
//! would take them for code that nobody runs.

use super::Package;
use crate::measure::transfer::{self, Load};
use crate::process::{limited, run_to_end};
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// Losses of the simulated transfers, two runs each.
const LOSSES: [&str; 5] = ["0", "0.01", "0.02", "0.05", "0.1"];

/// The first seed.
const SEED: u64 = 100;

/// Bytes of each simulated transfer, and of those without a simulator.
const BYTES: u64 = 20 << 20;

/// The command's own work: policies of the built-in scenario, one path after the other and all at
/// once.
const SWEEP: &str = r#"
name = "training"
scenario = "built-in"
seeds = { from = 100, count = 3 }
[[axis]]
key = "path.*.loss"
values = ["0 %", "2 %", "5 %"]
[[axis]]
key = "concurrent"
values = ["off", "on"]
"#;

/// Trains `program` of `package`; its counts go to the folder `counts`.
pub(super) fn run(package: Package, program: &Path, counts: &Path) -> Result<()> {
    // %m: one file a program, to which its later runs add; %p would be one a process.
    let pattern = counts.join("%m.profraw");
    let command = |words: &[&str]| {
        let mut command = limited(program);
        command.args(words).env("LLVM_PROFILE_FILE", &pattern);
        command
    };
    match package {
        Package::BywayBench => bench(command),
        Package::BywayCli => cli(command, counts),
    }
}

fn bench(command: impl Fn(&[&str]) -> Command) -> Result<()> {
    let bytes = BYTES.to_string();
    for (index, loss) in (0u64..).zip(LOSSES) {
        eprintln!("training: simulated transfers with loss {loss}");
        let seed = (SEED + 10 * index).to_string();
        run_to_end(&mut command(&[
            "sim-transfer",
            "--bytes",
            &bytes,
            "--loss",
            loss,
            "--seed",
            &seed,
            "--repeat",
            "2",
        ]))?;
    }
    eprintln!("training: the core alone, sockets, memory");
    run_to_end(&mut command(&["core", "--bytes", &bytes]))?;
    let load = Load {
        bytes: BYTES,
        message: 16_384,
    };
    transfer::train(
        command(&["loopback-recv"]),
        command(&["loopback-send"]),
        load,
    )?;
    run_to_end(&mut command(&["memory", "--associations", "500"]))?;
    Ok(())
}

fn cli(command: impl Fn(&[&str]) -> Command, folder: &Path) -> Result<()> {
    // Not in the folder of the counts, all of whose files are merged.
    let out = folder.with_file_name("training");
    std::fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    let sweep = out.join("training.toml");
    std::fs::write(&sweep, SWEEP).context("the sweep file")?;
    eprintln!("training: byway run");
    run_to_end(
        command(&["run", "--seed", &SEED.to_string(), "--out"])
            .arg(&out)
            .current_dir(&out),
    )?;
    eprintln!("training: byway sweep");
    run_to_end(
        command(&["sweep", "--restart", "--json"])
            .arg(&sweep)
            .arg("--out")
            .arg(out.join("training.parquet"))
            .current_dir(&out),
    )?;
    std::fs::remove_dir_all(&out).with_context(|| format!("cannot remove {}", out.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::sim_speed;

    #[test]
    fn what_is_measured_is_not_what_was_trained() {
        // The measured runs have the programs' own seed, 1.
        const { assert!(SEED > 1 && BYTES < sim_speed::BYTES) };
        for (_, loss, _) in sim_speed::LOSSES {
            let trained = LOSSES.iter().any(|l| l.parse() == Ok(loss));
            assert!(!trained || loss == 0.0, "loss {loss} is in both");
        }
    }
}
