//! Resident memory of an idle association, of either end.

use super::transfer::{self, free_udp_port, wait_for_port};
use crate::peers::Workspace;
use crate::plan::{Contender, Plan};
use crate::process::{limited, number, run_to_end, stop};
use crate::report::Better;
use crate::series::Figures;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const ASSOCIATIONS: u32 = 10_000;
const SETTING: &str = "10,000 associations";

/// Ours and usrsctp.
pub(crate) fn plan(workspace: &Workspace) -> Result<Plan> {
    let peer = transfer::usrsctp(workspace)?;
    let ours = workspace.byway_bench();
    let byway = Contender {
        name: "byway",
        setting: SETTING,
        ours: true,
        run: Box::new(move || run_byway(ours.command("memory")?)),
    };
    let usrsctp = Contender {
        name: "usrsctp",
        setting: SETTING,
        ours: false,
        run: Box::new(move || run_usrsctp(&peer)),
    };
    Ok(Plan {
        name: "memory",
        headline: SETTING,
        figure: "kib_per_end",
        unit: "KiB",
        better: Better::Smaller,
        contenders: vec![byway, usrsctp],
        notes: Vec::new(),
    })
}

fn run_byway(mut command: Command) -> Result<Figures> {
    let finished = run_to_end(command.args(["--associations", &ASSOCIATIONS.to_string()]))?;
    Ok(vec![("kib_per_end", finished.number("kib_per_end")?)])
}

/// A server and a client that keep their associations until both have counted.
fn run_usrsctp(program: &Path) -> Result<Figures> {
    let (port, client_port) = (free_udp_port()?, free_udp_port()?);
    let mut server = Holder::start(program, &["hold", "--udp-port", &port.to_string()])?;
    wait_for_port(&mut server.child, port)?;
    let words = [
        "open",
        "--udp-port",
        &client_port.to_string(),
        "--peer-udp-port",
        &port.to_string(),
    ];
    let client = Holder::start(program, &words)?.count()?;
    let server = server.count()?;
    Ok(vec![
        ("kib_per_end", (client + server) / 2.0),
        ("kib_client", client),
        ("kib_server", server),
    ])
}

/// A process that holds its associations until it is dropped.
struct Holder {
    child: Child,
}

impl Holder {
    fn start(program: &Path, words: &[&str]) -> Result<Self> {
        let mut command = limited(program);
        command
            .args(words)
            .args(["--associations", &ASSOCIATIONS.to_string()])
            .stdin(Stdio::piped());
        Ok(Self {
            child: command.spawn().context("cannot start usrsctp")?,
        })
    }

    /// KiB of each association.
    fn count(&mut self) -> Result<f64> {
        let output = self.child.stdout.take().context("counted twice")?;
        for line in BufReader::new(output).lines() {
            let line: Value = serde_json::from_str(&line?).context("not a line of JSON")?;
            if line.get("kib_each").is_some() {
                return number(Some(&line), "kib_each");
            }
        }
        let status = self.child.wait()?;
        ensure!(status.success(), "usrsctp ended with {status}");
        anyhow::bail!("usrsctp printed no memory")
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        stop(&self.child);
        // Nothing can be done about an error here.
        let _ = self.child.wait();
    }
}
