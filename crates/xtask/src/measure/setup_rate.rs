//! Associations that two processes set up in a second over UDP on loopback. Each is aborted when
//! it is up.

use super::transfer::{self, free_udp_port};
use crate::peers::{Byway, Workspace};
use crate::plan::{Contender, Plan};
use crate::process::{limited, number};
use crate::report::Better;
use crate::series::Figures;
use anyhow::{Result, ensure};
use std::path::Path;
use std::process::Command;

/// Settings, with the set-ups at once.
const AT_ONCE: [(&str, u32); 2] = [("16 at once", 16), ("one after the other", 1)];

/// For which they are counted.
const MILLISECONDS: u32 = 2000;

/// Ours and usrsctp; `light`: for a shorter time.
pub(crate) fn plan(workspace: &Workspace, light: bool) -> Result<Plan> {
    let usrsctp = transfer::usrsctp(workspace)?;
    let ours = workspace.byway_bench();
    let milliseconds = if light {
        MILLISECONDS / 4
    } else {
        MILLISECONDS
    };
    let mut contenders = Vec::new();
    for (setting, at_once) in AT_ONCE {
        let (ours, usrsctp) = (ours.clone(), usrsctp.clone());
        contenders.push(Contender {
            name: "byway",
            setting,
            ours: true,
            run: Box::new(move || run_byway(&ours, at_once, milliseconds)),
        });
        contenders.push(Contender {
            name: "usrsctp",
            setting,
            ours: false,
            run: Box::new(move || run_usrsctp(&usrsctp, at_once, milliseconds)),
        });
    }
    Ok(Plan {
        name: "setup-rate",
        headline: AT_ONCE[0].0,
        figure: "per_s",
        unit: "associations/s",
        better: Better::Larger,
        contenders,
        notes: Vec::new(),
    })
}

fn run_byway(bench: &Byway, at_once: u32, milliseconds: u32) -> Result<Figures> {
    let port = free_udp_port()?;
    let address = format!("127.0.0.1:{port}");
    let (mut server, mut client) = (bench.command("setup-serve")?, bench.command("setup-rate")?);
    server.args(["--bind", &address]);
    client.args(["--to", &address, "--at-once", &at_once.to_string()]);
    let seconds = f64::from(milliseconds) / 1e3;
    client.args(["--seconds", &seconds.to_string()]);
    run(server, client, port)
}

fn run_usrsctp(program: &Path, at_once: u32, milliseconds: u32) -> Result<Figures> {
    let (port, client_port) = (free_udp_port()?, free_udp_port()?);
    let (mut server, mut client) = (limited(program), limited(program));
    server.args(["serve", "--udp-port", &port.to_string()]);
    client.args(["rate", "--udp-port", &client_port.to_string()]);
    client.args(["--peer-udp-port", &port.to_string()]);
    client.args(["--threads", &at_once.to_string()]);
    client.args(["--milliseconds", &milliseconds.to_string()]);
    run(server, client, port)
}

/// Runs the client to its end beside the server, which is stopped then.
fn run(server: Command, client: Command, port: u16) -> Result<Figures> {
    let served = transfer::serve(server, client, port)?;
    let line = served.line.as_ref();
    let count = number(line, "associations")?;
    ensure!(count > 0.0, "no association was set up");
    let cpu = served.client_cpu + served.server_cpu;
    Ok(vec![
        ("per_s", number(line, "per_s")?),
        ("cpu_us_each", cpu * 1e6 / count),
    ])
}
