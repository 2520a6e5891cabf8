//! The preset `byway` beside `rfc9260` in the simulator, over losses of 0 to 10 % on either path, uniform and in
//! bursts, with a failure and without: is it worse anywhere? `experiments/real-networks/grid.toml` has the cells,
//! and a policy that is worse in some of them, which the comparison must see.

use super::Arguments;
use crate::peers::Workspace;
use crate::process::limited;
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Stdio;

const SWEEP: &str = "experiments/real-networks/grid.toml";
const PLAIN: &str = "rfc9260";
const OURS: &str = "byway";
/// Known to be worse: the probe timeout alone.
const CONTROL: &str = "rfc9260, probe timeout alone";

/// Means that differ by less, in seconds and by this part, are as good as each other: the longest stall of a
/// transfer ends with an event, not with a path.
const AS_GOOD: (f64, f64) = (0.001, 0.01);

/// How one policy does beside [`PLAIN`], counted over cells and metrics.
#[derive(Default)]
struct Count {
    cells: u64,
    /// By the test of `byway compare`.
    significantly_better: u64,
    significantly_worse: u64,
    /// Each cell whose mean is worse by more than [`AS_GOOD`], or in which more runs did not complete.
    worse: Vec<String>,
}

/// Builds the command, runs the sweep and compares; the last line is JSON. Fails if a cell is worse.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<()> {
    let byway = arguments.byway(workspace)?;
    let folder = std::env::temp_dir().join(format!("byway-grid-{}", std::process::id()));
    std::fs::create_dir_all(&folder).context("a folder for the results")?;
    let counts = measure(&byway, &workspace.root().join(SWEEP), &folder);
    let _ = std::fs::remove_dir_all(&folder);
    let [ours, control] = counts?;
    for (name, count) in [(OURS, &ours), (CONTROL, &control)] {
        println!(
            "{name} beside {PLAIN}: of {} means, transfer time and longest stall of each cell, {} are significantly \
             better, {} significantly worse, {} worse by more than {} ms or {} %",
            count.cells,
            count.significantly_better,
            count.significantly_worse,
            count.worse.len(),
            AS_GOOD.0 * 1000.0,
            AS_GOOD.1 * 100.0,
        );
    }
    for cell in &ours.worse {
        println!("  worse: {cell}");
    }
    println!(
        "{}",
        json!({
            "name": "grid",
            "ratio": 1.0 - ours.worse.len() as f64 / ours.cells as f64,
            "means": ours.cells,
            "significantly_better": ours.significantly_better,
            "significantly_worse": ours.significantly_worse,
            "worse": ours.worse.len(),
            "worse_of_the_control": control.worse.len(),
        })
    );
    ensure!(
        !control.worse.is_empty(),
        "{CONTROL} is worse in some cells, and the comparison does not see it"
    );
    ensure!(
        ours.worse.is_empty() && ours.significantly_worse == 0,
        "{OURS} is worse than {PLAIN} in {} cells of {SWEEP}",
        ours.worse.len()
    );
    Ok(())
}

fn measure(byway: &Path, sweep: &Path, folder: &Path) -> Result<[Count; 2]> {
    let out = folder.join("grid.parquet");
    let mut command = limited(byway);
    command.arg("sweep").arg(sweep).arg("--out").arg(&out);
    let done = command.stdout(Stdio::null()).status()?;
    ensure!(done.success(), "byway sweep {SWEEP} failed");
    let mut counts = Vec::new();
    for policy in [OURS, CONTROL] {
        let mut command = limited(byway);
        command
            .arg("compare")
            .arg(&out)
            .args(["--json", "--by", "policy", PLAIN, policy]);
        command.args(["--metric", "transfer_s", "--metric", "stall_s"]);
        let said = command.output()?;
        ensure!(said.status.success(), "byway compare of {policy} failed");
        let all: Value = serde_json::from_slice(&said.stdout).context("what byway compare says")?;
        let pairs = all.pointer("/0/pairs").and_then(Value::as_array);
        counts.push(count(pairs.context("byway compare names no pairs")?)?);
    }
    let Ok(counts) = counts.try_into() else {
        bail!("two policies are compared");
    };
    Ok(counts)
}

/// One for each cell and metric.
fn count(pairs: &[Value]) -> Result<Count> {
    let mut count = Count::default();
    for pair in pairs {
        let number = |at: &str| {
            let n = pair.pointer(at).and_then(Value::as_f64);
            n.with_context(|| format!("no number {at} in {pair}"))
        };
        count.cells += 1;
        let failed = |who: &str| {
            Ok::<_, anyhow::Error>(number(&format!("{who}/1"))? - number(&format!("{who}/0"))?)
        };
        let fewer = failed("/completed/1")? > failed("/completed/0")?;
        // Where no seed completed with both, there is nothing to compare but that.
        let difference = pair.pointer("/difference/mean").and_then(Value::as_f64);
        let difference = difference.unwrap_or_default();
        let as_good = AS_GOOD.1 * number("/a/mean").unwrap_or_default();
        if fewer || difference > as_good.min(AS_GOOD.0) {
            count.worse.push(pair.to_string());
        }
        if pair["significant"] == true {
            match difference > 0.0 {
                true => count.significantly_worse += 1,
                false => count.significantly_better += 1,
            }
        }
    }
    Ok(count)
}
