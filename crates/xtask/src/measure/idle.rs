//! What 10,000 idle associations cost a running receiver: memory and processor time, of
//! `byway recv`, plain and by ticket, and of usrsctp.

use super::Arguments;
use super::transfer::{free_udp_port, wait_for_port};
use crate::peers::{Workspace, need_packages};
use crate::process::{limited, number, run_to_end, stop};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

const ASSOCIATIONS: u32 = 10_000;
/// Seconds for which processor time is counted.
const SECONDS: u32 = 20;

/// Builds both, runs them in turn, and prints the medians; the last line is JSON. `ratio` is
/// usrsctp's memory by byway's, the whole receiving program counted.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<()> {
    need_packages(&["gcc", "libc6-dev", "libusrsctp-dev"])?;
    let peer = workspace.c_peer("usrsctp/bench.c", &["usrsctp", "pthread"])?;
    workspace.build(&["byway-cli", "byway-bench"])?;
    let (mut ours, mut sealed, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..arguments.runs {
        eprintln!("round {} of {}", round + 1, arguments.runs);
        ours.push(byway(workspace, &[])?);
        sealed.push(byway(workspace, &["--ticket"])?);
        theirs.push(usrsctp(&peer)?);
    }
    let of = |all: &[Value], field: &str| -> Result<f64> {
        let mut values: Vec<f64> = all
            .iter()
            .map(|line| number(Some(line), field))
            .collect::<Result<_>>()?;
        values.sort_by(f64::total_cmp);
        Ok(values[values.len() / 2])
    };
    let (kib, peer_kib) = (of(&ours, "kib_each")?, of(&theirs, "kib_each")?);
    let (cpu, peer_cpu) = (of(&ours, "cpu_share")?, of(&theirs, "cpu_share")?);
    println!(
        "idle: medians of {} runs, {ASSOCIATIONS} associations on real sockets\n\n\
         {kib:>10.2} KiB of byway recv for each; {peer_kib:.2} of usrsctp's receiver\n\
         {:>10.2} % of a processor; {:.2} of usrsctp's\n\
         {:>10.2} KiB for each that was let in by a ticket; {:.2} % of a processor\n\
         {:>10.2} and {:.2} KiB {SECONDS} s later\n",
        arguments.runs,
        100.0 * cpu,
        100.0 * peer_cpu,
        of(&sealed, "kib_each")?,
        100.0 * of(&sealed, "cpu_share")?,
        of(&ours, "kib_each_at_the_end")?,
        of(&sealed, "kib_each_at_the_end")?,
    );
    println!(
        "{}",
        json!({
            "name": "idle",
            "ratio": peer_kib / kib,
            "kib_each": kib,
            "kib_each_at_the_end": of(&ours, "kib_each_at_the_end")?,
            "kib_each_usrsctp": peer_kib,
            "cpu_share": cpu,
            "cpu_share_usrsctp": peer_cpu,
            "threads_more": of(&ours, "threads_more")?,
            "transfer_beside_to_alone": of(&ours, "ratio")?,
            "set_up_rate_first_tenth": of(&ours, "set_up_rate_first_tenth")?,
            "set_up_rate_last_tenth": of(&ours, "set_up_rate_last_tenth")?,
            "kib_each_by_ticket": of(&sealed, "kib_each")?,
            "kib_each_at_the_end_by_ticket": of(&sealed, "kib_each_at_the_end")?,
            "processes_of_peers": of(&ours, "processes_of_peers")?,
            "cpu_share_by_ticket": of(&sealed, "cpu_share")?,
            "threads_more_by_ticket": of(&sealed, "threads_more")?,
            "transfer_beside_to_alone_by_ticket": of(&sealed, "ratio")?,
            "set_up_rate_first_tenth_by_ticket": of(&sealed, "set_up_rate_first_tenth")?,
            "set_up_rate_last_tenth_by_ticket": of(&sealed, "set_up_rate_last_tenth")?,
        })
    );
    Ok(())
}

/// A run of `byway-bench idle`.
fn byway(workspace: &Workspace, words: &[&str]) -> Result<Value> {
    let folder = std::env::temp_dir().join(format!("byway-idle-{}", std::process::id()));
    let mut command = limited(workspace.program("byway-bench"));
    command
        .arg("idle")
        .args(words)
        .arg("--byway")
        .arg(workspace.program("byway"));
    command.args(["--associations", &ASSOCIATIONS.to_string()]);
    command.args(["--seconds", &SECONDS.to_string()]);
    command.args(["--port", &free_udp_port()?.to_string(), "--dir"]);
    let finished = run_to_end(command.arg(&folder));
    // What is left there is one file.
    let _ = std::fs::remove_dir_all(&folder);
    finished?.line.context("byway-bench printed nothing")
}

/// usrsctp's server with as many associations: memory as it tells, processor time as the
/// system does.
fn usrsctp(program: &Path) -> Result<Value> {
    let (port, client_port) = (free_udp_port()?, free_udp_port()?);
    let start = |words: &[&str]| -> Result<Child> {
        let mut command = limited(program);
        command
            .args(words)
            .args(["--associations", &ASSOCIATIONS.to_string()])
            .stdin(Stdio::piped());
        command.spawn().context("cannot start usrsctp")
    };
    let mut server = start(&["hold", "--udp-port", &port.to_string()])?;
    let measured = wait_for_port(&mut server, port).and_then(|()| {
        let mut client = start(&[
            "open",
            "--udp-port",
            &client_port.to_string(),
            "--peer-udp-port",
            &port.to_string(),
        ])?;
        let measured = count(&mut server);
        end(&mut client);
        measured
    });
    end(&mut server);
    measured
}

fn count(server: &mut Child) -> Result<Value> {
    let output = server.stdout.take().context("counted twice")?;
    for line in BufReader::new(output).lines() {
        let line: Value = serde_json::from_str(&line?).context("not a line of JSON")?;
        if let Some(kib) = line.get("kib_each") {
            let before = cpu(server)?;
            std::thread::sleep(Duration::from_secs(SECONDS.into()));
            let share = (cpu(server)? - before) / f64::from(SECONDS);
            return Ok(json!({ "kib_each": kib, "cpu_share": share }));
        }
    }
    anyhow::bail!("usrsctp printed no memory")
}

/// Processor seconds of the only child of `timeout`.
fn cpu(limited: &Child) -> Result<f64> {
    let children = format!("/proc/{0}/task/{0}/children", limited.id());
    let children = std::fs::read_to_string(&children).with_context(|| children.clone())?;
    let child = children.trim();
    let text = std::fs::read_to_string(format!("/proc/{child}/stat"))?;
    let rest = text.rsplit(')').next().unwrap_or_default();
    let ticks: Vec<f64> = rest
        .split_ascii_whitespace()
        .skip(11)
        .take(2)
        .map(|word| word.parse().context("no time"))
        .collect::<Result<_>>()?;
    ensure!(ticks.len() == 2, "no time of {child}");
    let a_second = nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK)?;
    Ok((ticks[0] + ticks[1]) / a_second.context("no ticks")? as f64)
}

fn end(child: &mut Child) {
    drop(child.stdin.take());
    stop(child);
    // Nothing can be done about an error here.
    let _ = child.wait();
}
