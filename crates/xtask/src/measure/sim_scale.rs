//! How the simulator's cost grows: with packets, with idle associations, with
//! transfers side by side, and what a second processor brings.

use super::Arguments;
use crate::peers::{Byway, Workspace};
use crate::process::{Finished, run_to_end};
use crate::series::{Spread, rounded};
use anyhow::Result;
use serde_json::json;

const BYTES: u64 = 80 << 20;

/// Associations side by side, and idle ones beside a transfer.
const MANY: u32 = 1000;

/// Bytes of each transfer side by side: long enough that set-up is little of it.
const EACH_OF_MANY: u64 = 640 << 10;

/// Runs at once, in a sweep.
const SWEEP: u32 = 32;

/// One figure over the rounds.
struct Figure {
    name: &'static str,
    what: &'static str,
    values: Vec<f64>,
}

/// Runs each program in turn, round after round, and prints the report.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<()> {
    let byway = workspace.byway_bench();
    let mut figures = figures();
    for round in 0..arguments.warm_up + arguments.runs {
        eprintln!(
            "round {} of {}",
            round + 1,
            arguments.warm_up + arguments.runs
        );
        let values = one_round(&byway)?;
        if round >= arguments.warm_up {
            for (figure, value) in figures.iter_mut().zip(values) {
                figure.values.push(value);
            }
        }
    }
    println!(
        "sim-scale: median (smallest-largest) of {} runs\n",
        arguments.runs
    );
    let mut line = serde_json::Map::new();
    for figure in figures {
        if let Some(spread) = Spread::of(figure.values) {
            println!("{:>24}  {}", spread.cell(), figure.what);
            line.insert(figure.name.into(), rounded(spread.median).into());
        }
    }
    println!(
        "\n{}",
        json!({"name": "sim-scale", "runs": arguments.runs, "figures": line})
    );
    Ok(())
}

/// In the order of [`one_round`].
fn figures() -> Vec<Figure> {
    [
        ("us_per_data_packet", "us a DATA packet, 80 MiB transfer"),
        (
            "four_times_packets",
            "times that per packet with four times the packets",
        ),
        (
            "idle_1000",
            "times the cost per packet beside 1,000 idle associations",
        ),
        (
            "parallel_1000",
            "us a DATA packet of 1,000 transfers at once in one topology",
        ),
        ("peak_kib", "KiB at most, 80 MiB transfer"),
        ("parallel_peak_kib", "KiB at most, the 1,000 transfers"),
        (
            "two_cores",
            "times as many transfers a second with two threads as with one",
        ),
        (
            "two_cores_cpu",
            "times the processor time of a transfer with two threads",
        ),
    ]
    .into_iter()
    .map(|(name, what)| Figure {
        name,
        what,
        values: Vec::new(),
    })
    .collect()
}

fn one_round(byway: &Byway) -> Result<[f64; 8]> {
    let program = |words: &[(&str, u64)]| -> Result<Finished> {
        let (name, options) = words.split_first().map_or(("", &[][..]), |(f, r)| (f.0, r));
        let mut command = byway.command(name)?;
        for (option, value) in options {
            command.args([(*option).to_string(), value.to_string()]);
        }
        run_to_end(&mut command)
    };
    let per_packet =
        |f: &Finished| -> Result<f64> { Ok(f.cpu.as_secs_f64() * 1e6 / f.number("data_packets")?) };
    let transfer = program(&[("sim-transfer", 0), ("--bytes", BYTES)])?;
    let long = program(&[("sim-transfer", 0), ("--bytes", 4 * BYTES)])?;
    let alone = program(&[("sim-many", 0), ("--bytes", BYTES)])?;
    let idle = program(&[("sim-many", 0), ("--bytes", BYTES), ("--idle", MANY.into())])?;
    let parallel = program(&[
        ("sim-many", 0),
        ("--transfers", MANY.into()),
        ("--bytes", EACH_OF_MANY),
    ])?;
    let sweep = |threads: u64| {
        program(&[
            ("sim-transfer", 0),
            ("--repeat", SWEEP.into()),
            ("--threads", threads),
        ])
    };
    let (one, two) = (sweep(1)?, sweep(2)?);
    let each = per_packet(&transfer)?;
    let inside = |f: &Finished| f.number("ns_per_data_packet");
    Ok([
        each,
        per_packet(&long)? / each,
        inside(&idle)? / inside(&alone)?,
        inside(&parallel)? / 1000.0,
        transfer.number("peak_kib")?,
        parallel.number("peak_kib")?,
        one.number("wall_seconds")? / two.number("wall_seconds")?,
        two.cpu.as_secs_f64() / one.cpu.as_secs_f64(),
    ])
}
