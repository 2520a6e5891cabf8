//! CPU time of a whole process that simulates one 80 MB transfer over two paths (caro-2006):
//! byway's simulator, built with and without a profile, against ns-2, which writes nothing or what
//! a study would want.

use crate::peers::{PROFILE, Workspace, need_packages};
use crate::pgo;
use crate::plan::{Contender, Plan};
use crate::process::run_to_end;
use crate::report::Better;
use crate::series::Figures;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Of the transfer.
pub(crate) const BYTES: u64 = 80 << 20;

/// Settings: loss on the first path, and a simulated time by which the transfer is over.
pub(crate) const LOSSES: [(&str, f64, u32); 3] = [
    ("0 % loss", 0.0, 200),
    ("3 % loss", 0.03, 900),
    ("8 % loss", 0.08, 2200),
];

/// ns-2's simulated transfer time without loss, in seconds, as the paper has it (122.3 s) to
/// within the handshake's difference: shows that the script simulates what it should.
const EXPECTED_SECONDS: (f64, f64) = (122.1, 122.3);

/// Both programs that simulate for byway.
const TRAINED: &str = "byway, profile-guided";
const PLAIN: &str = "byway";

/// ns-2 with nothing written, which is the strict comparison; and as a study of failovers uses it,
/// and as the figures were taken that byway was to be compared with: the sender's counters polled
/// each simulated second, and lost packets written to a file.
const NS2: [(&str, Option<&str>); 2] = [
    ("ns-2, nothing written", None),
    ("ns-2, counters and drops written", Some("/dev/null")),
];

/// Every loss with all four programs.
pub(crate) fn plan(workspace: &Workspace, peers_only: bool) -> Result<Plan> {
    need_packages(&["ns2"])?;
    let script = workspace.bench("ns2/transfer.tcl");
    check_script(&script)?;
    let mut notes = Vec::new();
    let trained = if peers_only {
        None
    } else if !workspace.is_measured() {
        notes.push(format!("{TRAINED}: only with the profile {PROFILE}"));
        None
    } else {
        trained(workspace, &mut notes)?
    };
    let plain = workspace.byway_bench();
    let mut contenders = Vec::new();
    for (setting, loss, horizon) in LOSSES {
        // First, so that its ratio is the one that counts.
        if let Some(program) = trained.clone() {
            contenders.push(Contender {
                name: TRAINED,
                setting,
                ours: true,
                run: Box::new(move || run_byway(&program, loss)),
            });
        }
        let plain = plain.clone();
        contenders.push(Contender {
            name: PLAIN,
            setting,
            ours: true,
            run: Box::new(move || run_byway(plain.program()?, loss)),
        });
        for (name, log) in NS2 {
            let script = script.clone();
            contenders.push(Contender {
                name,
                setting,
                ours: false,
                run: Box::new(move || run_ns2(&script, loss, horizon, log)),
            });
        }
    }
    Ok(Plan {
        name: "sim-speed",
        headline: LOSSES[0].0,
        figure: "cpu_seconds",
        unit: "s",
        better: Better::Smaller,
        contenders,
        notes,
    })
}

/// The profile-guided program; a note instead if there is nothing to make it with.
fn trained(workspace: &Workspace, notes: &mut Vec<String>) -> Result<Option<PathBuf>> {
    let build = || pgo::build(workspace, &[pgo::Package::BywayBench]);
    let lacking = |error: &anyhow::Error| error.is::<pgo::NoProfdata>();
    let mut built = build();
    // As for the peers: what is absent is installed where that is possible.
    if built.as_ref().is_err_and(lacking) && need_packages(&["llvm-19"]).is_ok() {
        built = build();
    }
    match built {
        Ok(programs) => Ok(programs.into_iter().next()),
        Err(error) if lacking(&error) => {
            notes.push(format!("{TRAINED}: {error:#}"));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn run_byway(program: &Path, loss: f64) -> Result<Figures> {
    // Without `timeout`, whose own time would count.
    let mut command = Command::new(program);
    command.arg("sim-transfer");
    command.args(["--bytes", &BYTES.to_string(), "--loss", &loss.to_string()]);
    let finished = run_to_end(&mut command)?;
    Ok(vec![
        ("cpu_seconds", finished.cpu.as_secs_f64()),
        ("wall_seconds", finished.wall.as_secs_f64()),
        ("simulated_seconds", finished.number("seconds")?),
    ])
}

fn ns2(script: &Path, loss: f64, horizon: u32) -> Command {
    let mut command = Command::new("ns");
    command
        .arg(script)
        .args([BYTES.to_string(), loss.to_string(), horizon.to_string()]);
    command
}

fn run_ns2(script: &Path, loss: f64, horizon: u32, log: Option<&str>) -> Result<Figures> {
    let mut command = ns2(script, loss, horizon);
    if let Some(log) = log {
        command.args(["", log]);
    }
    let finished = run_to_end(&mut command)?;
    Ok(vec![
        ("cpu_seconds", finished.cpu.as_secs_f64()),
        ("wall_seconds", finished.wall.as_secs_f64()),
    ])
}

/// One run with packets written to a file, not timed: is the simulated time the expected one?
fn check_script(script: &Path) -> Result<()> {
    let trace =
        TraceFile(std::env::temp_dir().join(format!("byway-ns2-{}.tr", std::process::id())));
    run_to_end(ns2(script, 0.0, LOSSES[0].2).arg(&trace.0))?;
    let text = std::fs::read_to_string(&trace.0).context("ns-2 wrote no trace")?;
    let seconds = transfer_seconds(&text).context("no whole transfer in ns-2's trace")?;
    eprintln!("ns-2 simulates the transfer in {seconds:.2} s");
    let (least, most) = EXPECTED_SECONDS;
    ensure!(
        (least..most).contains(&seconds),
        "ns-2 simulated {seconds} s, not {least} to {most}: another release than Debian's 2.35?"
    );
    Ok(())
}

/// From the first DATA handed to a link to the last SACK that arrived.
fn transfer_seconds(trace: &str) -> Option<f64> {
    // event, time, from, to, "sctp", bytes, flags with the chunk's kind, ...
    let of_kind = |event: &str, kind: char, line: &str| -> Option<f64> {
        let mut words = line.split_ascii_whitespace();
        let (found, time) = (words.next()?, words.next()?);
        let flags = words.nth(4)?;
        (found == event && flags.ends_with(kind)).then(|| time.parse().ok())?
    };
    let first = trace.lines().find_map(|line| of_kind("+", 'D', line))?;
    let last = trace
        .lines()
        .rev()
        .find_map(|line| of_kind("r", 'S', line))?;
    Some(last - first)
}

/// Removed when the check is over.
struct TraceFile(PathBuf);

impl Drop for TraceFile {
    fn drop(&mut self) {
        // It may not exist: ns-2 may have failed.
        let _ = std::fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_the_first_data_to_the_last_sack() {
        let trace = "\
+ 0.10 1 6 sctp 56 -------I 0 1.0 4.0 1 0 0 0 0
+ 0.25 1 6 sctp 1500 -------D 0 1.0 4.0 1 1 12 0 0
+ 0.30 1 6 sctp 1500 -------D 0 1.0 4.0 1 2 13 0 1
r 9.75 6 1 sctp 48 -------S 0 4.0 1.0 1 2 14 65535 65535
r 9.90 6 1 sctp 56 -------B 0 4.0 1.0 1 0 15 65535 65535
";
        assert_eq!(transfer_seconds(trace), Some(9.5));
        assert_eq!(transfer_seconds("+ 0.1 1 6 sctp 56 -------I"), None);
    }
}
