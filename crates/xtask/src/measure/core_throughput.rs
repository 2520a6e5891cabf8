//! The protocol alone: two endpoints in one thread, packets passed in memory, with
//! checksums.

use crate::peers::Workspace;
use crate::plan::{Contender, Plan};
use crate::process::{limited, run_to_end};
use crate::report::Better;
use crate::series::Figures;
use anyhow::Result;
use std::process::Command;

const MESSAGE: u64 = 16_384;

/// Settings: the bytes queued and in flight.
const IN_FLIGHT: [(&str, u64); 2] = [
    ("256 KiB in flight", 256 << 10),
    ("4 MiB in flight", 4 << 20),
];

/// Of the peer: its name here, and how many packets it gets before its SACKs are collected.
/// The peer makes one SACK a collection, so 2 is RFC 9260's rule and 32 its best case.
const PEERS: [(&str, u32); 2] = [
    ("sctp-proto, SACK per 2", 2),
    ("sctp-proto, SACK per 32", 32),
];

/// Both amounts in flight, ours and both uses of the peer.
pub(crate) fn plan(workspace: &Workspace) -> Result<Plan> {
    let peer = workspace.cargo_peer("sctp-proto")?;
    let ours = workspace.byway_bench();
    let mut contenders = Vec::new();
    for (setting, in_flight) in IN_FLIGHT {
        let ours = ours.clone();
        contenders.push(Contender {
            name: "byway",
            setting,
            ours: true,
            run: Box::new(move || run(ours.command("core")?, in_flight)),
        });
        for (name, batch) in PEERS {
            let peer = peer.clone();
            // Its cost per SACK grows with what is in flight: less data, for as long a run.
            let bytes: u64 = if batch == 2 { 32 << 20 } else { 128 << 20 };
            contenders.push(Contender {
                name,
                setting,
                ours: false,
                run: Box::new(move || {
                    let mut command = limited(&peer);
                    command.args(["--batch", &batch.to_string(), "--bytes", &bytes.to_string()]);
                    run(command, in_flight)
                }),
            });
        }
    }
    Ok(Plan {
        name: "core-throughput",
        headline: IN_FLIGHT[0].0,
        figure: "mb_per_s",
        unit: "MB/s",
        better: Better::Larger,
        contenders,
        notes: Vec::new(),
    })
}

fn run(mut command: Command, in_flight: u64) -> Result<Figures> {
    command.args([
        "--message",
        &MESSAGE.to_string(),
        "--in-flight",
        &in_flight.to_string(),
    ]);
    let finished = run_to_end(&mut command)?;
    Ok(vec![
        ("mb_per_s", finished.number("mb_per_s")?),
        ("ns_per_data_packet", finished.number("ns_per_data_packet")?),
    ])
}
