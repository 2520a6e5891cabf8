//! What a server with two workers carries, against one with one: set-ups and bulk of many
//! associations over UDP on loopback, with the same clients.
//!
//! The clients take a part of the processors. So beside the rate by the clock stands the rate by the
//! processor time of the server: where it stays the same, as much more is carried as there are
//! processors for it.

use super::transfer::{free_udp_port, serve};
use crate::peers::{Byway, Workspace};
use crate::plan::{Contender, Plan};
use crate::process::number;
use crate::report::Better;
use crate::series::Figures;
use anyhow::{Result, ensure};

/// What the clients do: the setting, our program, and the figure of it that is the rate.
const LOADS: [(&str, &str, &str); 2] = [
    ("set-ups a second", "setup-rate", "per_s"),
    ("MB/s of 16 KiB messages", "bulk-rate", "mb_per_s"),
];

/// Servers: the name, workers, threads, and whether it is the one that is compared with the others.
const SERVERS: [(&str, u32, u32, bool); 3] = [
    ("2 workers, 2 threads", 2, 2, true),
    ("1 worker, 1 thread", 1, 1, false),
    ("1 worker, 2 threads", 1, 2, false),
];

/// Associations at once, each from an endpoint of its own.
const AT_ONCE: u32 = 32;

const MILLISECONDS: u32 = 2000;

/// One server after the other; `light`: for a shorter time.
pub(crate) fn plan(workspace: &Workspace, light: bool) -> Plan {
    let bench = workspace.byway_bench();
    let milliseconds = if light {
        MILLISECONDS / 4
    } else {
        MILLISECONDS
    };
    let mut contenders = Vec::new();
    for load in LOADS {
        for (name, workers, threads, ours) in SERVERS {
            let bench = bench.clone();
            contenders.push(Contender {
                name,
                setting: load.0,
                ours,
                run: Box::new(move || run(&bench, load, (workers, threads), milliseconds)),
            });
        }
    }
    Plan {
        name: "cores",
        headline: LOADS[0].0,
        figure: "rate",
        unit: "associations/s",
        better: Better::Larger,
        contenders,
        notes: Vec::new(),
    }
}

fn run(
    bench: &Byway,
    (_, program, rate): (&str, &str, &str),
    (workers, threads): (u32, u32),
    milliseconds: u32,
) -> Result<Figures> {
    let port = free_udp_port()?;
    let address = format!("127.0.0.1:{port}");
    let (mut server, mut client) = (bench.command("setup-serve")?, bench.command(program)?);
    server.args(["--bind", &address, "--workers", &workers.to_string()]);
    server.args(["--threads", &threads.to_string()]);
    client.args(["--to", &address, "--at-once", &AT_ONCE.to_string()]);
    client.args(["--threads", "2"]);
    let seconds = f64::from(milliseconds) / 1e3;
    client.args(["--seconds", &seconds.to_string()]);
    let served = serve(server, client, port)?;
    let (line, cpu) = (served.line.as_ref(), served.server_cpu);
    let (rate, seconds) = (number(line, rate)?, number(line, "seconds")?);
    ensure!(rate > 0.0 && cpu > 0.0, "nothing was carried");
    Ok(vec![
        ("rate", rate),
        ("rate_per_server_cpu_s", rate * seconds / cpu),
        ("server_processors", cpu / seconds),
    ])
}
