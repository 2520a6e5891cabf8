//! Wall time of a whole `byway sweep` with one thread and with two, results and journal included.

use super::Arguments;
use crate::peers::Workspace;
use crate::report::{Spread, rounded};
use crate::runner::{limited, run_quietly, run_to_end};
use anyhow::{Context, Result, ensure};
use serde_json::json;
use std::path::Path;
use std::process::Command;

/// 60 transfers of 8 MiB, without and with loss.
const SWEEP: &str = r#"
name = "sweep-speed"
scenario = "built-in"
policies = ["RFC 9260"]
seeds = 30
[[axis]]
key = "path.*.loss"
values = ["0 %", "3 %"]
"#;

/// Builds the command, runs the sweep in turn with one and two threads, and prints the ratio.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<()> {
    let byway = workspace.byway_command()?;
    let folder = std::env::temp_dir().join(format!("byway-sweep-speed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).context("a folder for the results")?;
    let ratios = measure(&byway, &folder, arguments);
    // Whatever came of it; what is left there is small.
    let _ = std::fs::remove_dir_all(&folder);
    let spread = Spread::of(ratios?).context("no run")?;
    println!(
        "sweep-speed: two threads do {} times the runs a second of one",
        spread.cell()
    );
    println!(
        "{}",
        json!({"name": "sweep-speed", "runs": arguments.runs, "two_threads": rounded(spread.median)})
    );
    Ok(())
}

fn measure(byway: &Path, folder: &Path, arguments: &Arguments) -> Result<Vec<f64>> {
    let file = folder.join("speed.toml");
    std::fs::write(&file, SWEEP).context("the sweep file")?;
    let mut ratios = Vec::new();
    for round in 0..arguments.warm_up + arguments.runs {
        let mut seconds = [0.0; 2];
        for (threads, wall) in ["1", "2"].into_iter().zip(&mut seconds) {
            let mut command = limited(byway);
            command
                .arg("sweep")
                .arg(&file)
                .args(["--restart", "--json"]);
            command
                .args(["--threads", threads, "--out"])
                .arg(result(folder, threads));
            *wall = run_to_end(&mut command)?.wall.as_secs_f64();
        }
        let read = |threads| std::fs::read(result(folder, threads)).context("the results");
        ensure!(
            read("1")? == read("2")?,
            "the results depend on the number of threads"
        );
        if round >= arguments.warm_up {
            ratios.push(seconds[0] / seconds[1]);
        }
    }
    Ok(ratios)
}

fn result(folder: &Path, threads: &str) -> std::path::PathBuf {
    folder.join(format!("{threads}.parquet"))
}

impl Workspace {
    /// The command `byway`, built for release.
    fn byway_command(&self) -> Result<std::path::PathBuf> {
        eprintln!("building the command");
        let mut cargo = Command::new("cargo");
        cargo
            .args(["build", "--quiet", "--release", "--package", "byway-cli"])
            .current_dir(self.file(""));
        run_quietly(&mut cargo)?;
        Ok(self.release("byway"))
    }
}
