//! How long messages take between two processes over UDP on loopback, at half of the rate that
//! they can have: from when they were due to when the reader has them.

use super::transfer::{self, Load, Program};
use crate::peers::Workspace;
use crate::plan::{Contender, Plan};
use crate::report::Better;
use crate::series::Figures;
use anyhow::Result;

/// Settings, with the bytes of a message.
const SIZES: [(&str, u64); 2] = [("1,000-byte messages", 1000), ("64-byte messages", 64)];

/// Messages of a run as fast as they are taken: of ours, and of the peer.
const COUNT: u64 = 1_000_000;
const FEW: u64 = 100_000;

/// For which messages are sent at half of that rate.
const SECONDS: f64 = 2.0;

/// Ours and usrsctp; `light`: for a shorter time.
pub(crate) fn plan(workspace: &Workspace, light: bool) -> Result<Plan> {
    let usrsctp = transfer::usrsctp(workspace)?;
    let ours = workspace.byway_bench();
    let part: u32 = if light { 8 } else { 1 };
    let mut contenders = Vec::new();
    for (setting, message) in SIZES {
        let mut add = |name, ours, program: Program, count: u64| {
            contenders.push(Contender {
                name,
                setting,
                ours,
                run: Box::new(move || {
                    let seconds = SECONDS / f64::from(part);
                    at_half_load(&program, message, count / u64::from(part), seconds)
                }),
            });
        };
        add("byway", true, Program::Byway(ours.clone(), &[]), COUNT);
        let (program, nagle) = (usrsctp.clone(), false);
        add("usrsctp", false, Program::Usrsctp { program, nagle }, FEW);
    }
    Ok(Plan {
        name: "latency",
        headline: SIZES[0].0,
        figure: "p999_ms",
        unit: "ms",
        better: Better::Smaller,
        contenders,
        notes: Vec::new(),
    })
}

/// Finds the rate that the program can have, and measures at half of it.
fn at_half_load(program: &Program, message: u64, count: u64, seconds: f64) -> Result<Figures> {
    let bytes = count * message;
    let rate = program.run(Load { bytes, message })?.rate()? / 2.0;
    let bytes = (rate * seconds) as u64 * message;
    let transfer = program.run_at(Load { bytes, message }, rate)?;
    Ok(vec![
        ("p999_ms", transfer.delay("p999_us")?),
        ("p99_ms", transfer.delay("p99_us")?),
        ("p50_ms", transfer.delay("p50_us")?),
        ("messages_per_s", transfer.rate()?),
        ("asked_per_s", rate),
    ])
}
