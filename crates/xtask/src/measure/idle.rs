//! What 10,000 idle associations cost a running receiver: memory and processor time, of
//! `byway recv`, plain and by ticket, of usrsctp, and of `byway listen`.

use super::Arguments;
use super::transfer::{free_udp_port, wait_for_port};
use crate::peers::{Workspace, need_packages};
use crate::process::{limited, number, run_to_end, stop};
use crate::series::Spread;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

const ASSOCIATIONS: u32 = 10_000;
/// Seconds for which processor time is counted.
const SECONDS: u32 = 20;
/// Most memory of an association in KiB: 8 kB.
const MOST_KIB: f64 = 8000.0 / 1024.0;
/// Most of a processor without heartbeats: four ticks of the clock in that time.
const MOST_CPU: f64 = 0.002;

/// Builds both, runs them in turn, and prints the medians; the last line is JSON. `ratio` is
/// usrsctp's memory by byway's, the whole receiving program counted.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<()> {
    need_packages(&["gcc", "libc6-dev", "libusrsctp-dev"])?;
    let peer = workspace.c_peer("usrsctp/bench.c", &["usrsctp", "pthread"])?;
    workspace.build(&["byway-cli", "byway-bench"])?;
    let (mut ours, mut sealed, mut listens) = (Vec::new(), Vec::new(), Vec::new());
    let mut theirs = Vec::new();
    for round in 0..arguments.runs {
        eprintln!("round {} of {}", round + 1, arguments.runs);
        ours.push(byway(workspace, &[])?);
        sealed.push(byway(workspace, &["--ticket"])?);
        listens.push(byway(workspace, &["--listen"])?);
        theirs.push(usrsctp(&peer)?);
    }
    eprintln!("without heartbeats");
    let silent = [byway(workspace, &["--no-heartbeats"])?];
    let silent_sealed = [byway(workspace, &["--no-heartbeats", "--ticket"])?];
    let (kib, peer_kib) = (middle(&ours, "kib_each")?, middle(&theirs, "kib_each")?);
    let (cpu, peer_cpu) = (middle(&ours, "cpu_share")?, middle(&theirs, "cpu_share")?);
    println!(
        "idle: medians of {} runs, {ASSOCIATIONS} associations on real sockets\n\n\
         {kib:>10.2} KiB of byway recv for each; {peer_kib:.2} of usrsctp's receiver\n\
         {:>10.2} % of a processor; {:.2} of usrsctp's\n\
         {:>10.2} % of it without heartbeats, one run; {:.2} by ticket\n\
         {:>10.2} KiB for each that was let in by a ticket; {:.2} % of a processor\n\
         {:>10.2} and {:.2} KiB {SECONDS} s later\n\
         {:>10.2} KiB of byway listen for each of {ASSOCIATIONS}; {:.2} % of a processor\n",
        arguments.runs,
        100.0 * cpu,
        100.0 * peer_cpu,
        100.0 * middle(&silent, "cpu_share")?,
        100.0 * middle(&silent_sealed, "cpu_share")?,
        middle(&sealed, "kib_each")?,
        100.0 * middle(&sealed, "cpu_share")?,
        middle(&ours, "kib_each_at_the_end")?,
        middle(&sealed, "kib_each_at_the_end")?,
        middle(&listens, "kib_each")?,
        100.0 * middle(&listens, "cpu_share")?,
    );
    let mut short = Vec::new();
    for (name, runs) in [
        ("recv", &ours),
        ("recv by ticket", &sealed),
        ("listen", &listens),
    ] {
        short.extend(too_much(name, runs)?);
    }
    for (name, run) in [("recv", &silent), ("recv by ticket", &silent_sealed)] {
        short.extend(works_for_nothing(name, run)?);
    }
    println!(
        "{}",
        json!({
            "name": "idle",
            "ratio": peer_kib / kib,
            "kib_each": kib,
            "kib_each_at_the_end": middle(&ours, "kib_each_at_the_end")?,
            "kib_each_usrsctp": peer_kib,
            "cpu_share": cpu,
            "cpu_share_usrsctp": peer_cpu,
            "cpu_share_without_heartbeats": middle(&silent, "cpu_share")?,
            "threads_more": most(&ours, "threads_more")?,
            "transfer_beside_to_alone": middle(&ours, "ratio")?,
            "set_up_rate_first_tenth": middle(&ours, "set_up_rate_first_tenth")?,
            "set_up_rate_last_tenth": middle(&ours, "set_up_rate_last_tenth")?,
            "kib_each_by_ticket": middle(&sealed, "kib_each")?,
            "kib_each_at_the_end_by_ticket": middle(&sealed, "kib_each_at_the_end")?,
            "processes_of_peers": middle(&ours, "processes_of_peers")?,
            "cpu_share_by_ticket": middle(&sealed, "cpu_share")?,
            "cpu_share_without_heartbeats_by_ticket": middle(&silent_sealed, "cpu_share")?,
            "threads_more_by_ticket": most(&sealed, "threads_more")?,
            "transfer_beside_to_alone_by_ticket": middle(&sealed, "ratio")?,
            "set_up_rate_first_tenth_by_ticket": middle(&sealed, "set_up_rate_first_tenth")?,
            "set_up_rate_last_tenth_by_ticket": middle(&sealed, "set_up_rate_last_tenth")?,
            "associations_of_listen": ASSOCIATIONS,
            "kib_each_of_listen": middle(&listens, "kib_each")?,
            "kib_each_at_the_end_of_listen": middle(&listens, "kib_each_at_the_end")?,
            "cpu_share_of_listen": middle(&listens, "cpu_share")?,
            "threads_more_of_listen": most(&listens, "threads_more")?,
            "holds": short.is_empty(),
            "falls_short": short,
        })
    );
    ensure!(short.is_empty(), "{}", short.join("; "));
    Ok(())
}

fn values(runs: &[Value], field: &str) -> Result<Vec<f64>> {
    runs.iter().map(|line| number(Some(line), field)).collect()
}

fn middle(runs: &[Value], field: &str) -> Result<f64> {
    let spread = Spread::of(values(runs, field)?);
    Ok(spread.context("no runs")?.median)
}

fn most(runs: &[Value], field: &str) -> Result<f64> {
    Ok(values(runs, field)?.into_iter().fold(f64::NAN, f64::max))
}

/// The goals of memory, which medians have to meet, and of threads, which each run has to: what is not met.
fn too_much(name: &str, runs: &[Value]) -> Result<Vec<String>> {
    let mut short = Vec::new();
    for field in ["kib_each", "kib_each_at_the_end"] {
        let kib = middle(runs, field)?;
        if kib > MOST_KIB {
            short.push(format!(
                "{name}: {field} is {kib:.2}, more than {MOST_KIB:.2}"
            ));
        }
    }
    let threads = most(runs, "threads_more")?;
    if threads > 0.0 {
        short.push(format!("{name}: {threads} threads more"));
    }
    Ok(short)
}

/// The goal of processor time without heartbeats: what is not met.
fn works_for_nothing(name: &str, runs: &[Value]) -> Result<Vec<String>> {
    let cpu = most(runs, "cpu_share")?;
    let short = (cpu > MOST_CPU).then(|| {
        let percent = 100.0 * cpu;
        format!("{name}: {percent:.2} % of a processor without heartbeats")
    });
    Ok(Vec::from_iter(short))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn run(kib: f64, threads: u32, cpu: f64) -> Value {
        json!({ "kib_each": kib, "kib_each_at_the_end": 5.0, "threads_more": threads, "cpu_share": cpu })
    }

    #[test]
    fn eight_kilobytes_no_thread_and_no_work_without_heartbeats_are_the_goals() {
        let good = || run(7.8, 0, 0.0005);
        assert!(too_much("recv", &[good()]).unwrap().is_empty());
        assert!(works_for_nothing("recv", &[good()]).unwrap().is_empty());
        // Of memory the median counts, of threads each run.
        let mut all = vec![good(), run(7.9, 0, 0.0), good()];
        assert!(too_much("recv", &all).unwrap().is_empty());
        all.push(run(7.9, 1, 0.0));
        all.push(run(9.0, 0, 0.02));
        let short = too_much("recv", &all).unwrap();
        assert_eq!(
            short,
            [
                "recv: kib_each is 7.90, more than 7.81",
                "recv: 1 threads more"
            ]
        );
        let short = works_for_nothing("recv", &all).unwrap();
        assert_eq!(short, ["recv: 2.00 % of a processor without heartbeats"]);
    }
}
