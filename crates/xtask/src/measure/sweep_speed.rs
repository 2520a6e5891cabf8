//! A whole `byway sweep`, results and journal included, with one thread and with two; and what the
//! machine itself allows: two such sweeps at once in two processes, which share nothing.

use super::Arguments;
use crate::peers::Workspace;
use crate::process::{children_cpu, limited};
use crate::series::{Spread, rounded};
use anyhow::{Context, Result, ensure};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// 240 transfers of 8 MiB, without and with loss.
const SWEEP: &str = r#"
name = "sweep-speed"
scenario = "built-in"
policies = ["RFC 9260"]
seeds = 120
[[axis]]
key = "path.*.loss"
values = ["0 %", "3 %"]
"#;

/// Builds the command, runs the sweep in turn with one thread, with two, and twice at once, and
/// prints the ratios.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<()> {
    let byway = arguments.byway(workspace)?;
    let folder = std::env::temp_dir().join(format!("byway-sweep-speed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).context("a folder for the results")?;
    let rounds = measure(&byway, &folder, arguments);
    // Whatever came of it; what is left there is small.
    let _ = std::fs::remove_dir_all(&folder);
    let rounds = rounds?;
    let of = |figure: fn(&Round) -> f64| {
        Spread::of(rounds.iter().map(figure).collect()).context("no run")
    };
    let (two_threads, two_processes) = (of(Round::two_threads)?, of(Round::two_processes)?);
    let (share, cost) = (of(Round::share)?, of(Round::cost)?);
    println!(
        "sweep-speed: median (smallest-largest) of {} runs\n\n\
         {:>20}  times the runs a second with two threads as with one\n\
         {:>20}  times with two processes of one thread each: what the machine gives just then\n\
         {:>20}  of the one by the other\n\
         {:>20}  times the processor time of a run with two threads as with one\n",
        arguments.runs,
        two_threads.cell(),
        two_processes.cell(),
        share.cell(),
        cost.cell(),
    );
    println!(
        "{}",
        json!({
            "name": "sweep-speed",
            "runs": arguments.runs,
            "two_threads": rounded(two_threads.median),
            "two_processes": rounded(two_processes.median),
            "share_of_two_processes": rounded(share.median),
            "processor_time": rounded(cost.median),
        })
    );
    Ok(())
}

/// What some sweeps at once took.
#[derive(Copy, Clone)]
struct Took {
    wall: f64,
    cpu: f64,
}

/// The same work three times, one after the other.
struct Round {
    one: Took,
    two: Took,
    /// Twice the work, in two processes.
    pair: Took,
}

impl Round {
    fn two_threads(&self) -> f64 {
        self.one.wall / self.two.wall
    }

    fn two_processes(&self) -> f64 {
        2.0 * self.one.wall / self.pair.wall
    }

    fn share(&self) -> f64 {
        self.two_threads() / self.two_processes()
    }

    fn cost(&self) -> f64 {
        self.two.cpu / self.one.cpu
    }
}

fn measure(byway: &Path, folder: &Path, arguments: &Arguments) -> Result<Vec<Round>> {
    let file = folder.join("speed.toml");
    std::fs::write(&file, SWEEP).context("the sweep file")?;
    let sweep = |threads: &str, out: &str| {
        let mut command = limited(byway);
        command.arg("sweep").arg(&file);
        command.args(["--restart", "--json", "--threads", threads, "--out"]);
        command.arg(result(folder, out)).stdout(Stdio::null());
        command.stderr(Stdio::piped());
        command
    };
    let mut rounds = Vec::new();
    for round in 0..arguments.warm_up + arguments.runs {
        eprintln!(
            "round {} of {}",
            round + 1,
            arguments.warm_up + arguments.runs
        );
        let took = Round {
            one: take_time([sweep("1", "one")])?,
            two: take_time([sweep("2", "two")])?,
            pair: take_time([sweep("1", "left"), sweep("1", "right")])?,
        };
        let read = |out| std::fs::read(result(folder, out)).context("the results");
        let one = read("one")?;
        for other in ["two", "left", "right"] {
            ensure!(
                one == read(other)?,
                "the results depend on the number of threads"
            );
        }
        if round >= arguments.warm_up {
            rounds.push(took);
        }
    }
    Ok(rounds)
}

/// Runs programs at the same time, to the end of the last.
fn take_time<const N: usize>(mut commands: [Command; N]) -> Result<Took> {
    let (began, before) = (Instant::now(), children_cpu()?);
    let children: Vec<Child> = commands
        .iter_mut()
        .map(|c| c.spawn().context("cannot start byway"))
        .collect::<Result<_>>()?;
    let ended: Vec<_> = children.into_iter().map(|c| c.wait_with_output()).collect();
    let wall = began.elapsed().as_secs_f64();
    let cpu = children_cpu()?.saturating_sub(before).as_secs_f64();
    for output in ended {
        let output = output.context("waiting for byway")?;
        let messages = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "byway sweep ended with {}: {messages}",
            output.status
        );
    }
    Ok(Took { wall, cpu })
}

fn result(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.parquet"))
}
