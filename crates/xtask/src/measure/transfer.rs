//! Transfers over UDP on loopback: one process receives what another one sends, in messages of one
//! size.

use crate::peers::{Byway, Workspace, need_packages};
use crate::process::{children_cpu, last_json, limited, number, run_to_end, stop};
use crate::series::Figures;
use anyhow::{Context, Result, ensure};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use serde_json::Value;
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Of the associations, at both ends.
const BUFFER: u64 = 4 << 20;

/// What is sent.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    pub(crate) bytes: u64,
    /// Bytes of each message.
    pub(crate) message: u64,
}

/// A program that can do it.
#[derive(Clone)]
pub(crate) enum Program {
    /// Ours, with these words for both sides.
    Byway(Byway, &'static [&'static str]),
    /// Nagle's algorithm or SCTP_NODELAY.
    Usrsctp {
        program: PathBuf,
        nagle: bool,
    },
    Pion(PathBuf),
    /// Both ends in one process.
    Quinn(PathBuf),
    /// UDP sockets without a protocol, of our measuring program.
    Bare(Byway),
}

/// The peer usrsctp, compiled.
pub(crate) fn usrsctp(workspace: &Workspace) -> Result<PathBuf> {
    need_packages(&["gcc", "libc6-dev", "libusrsctp-dev"])?;
    workspace.c_peer("usrsctp/bench.c", &["usrsctp", "pthread"])
}

/// A finished transfer.
pub(crate) struct Transfer {
    load: Load,
    /// What the receiver printed.
    line: Value,
    /// Processor seconds of both ends.
    cpu: f64,
}

impl Transfer {
    /// The figures of a bulk transfer.
    pub(crate) fn bulk(&self) -> Result<Figures> {
        let bytes = number(Some(&self.line), "bytes")?;
        Ok(vec![
            ("mb_per_s", number(Some(&self.line), "mb_per_s")?),
            ("cpu_s_per_gb", self.cpu / (bytes / 1e9)),
        ])
    }

    /// Messages a second.
    pub(crate) fn rate(&self) -> Result<f64> {
        Ok(number(Some(&self.line), "mb_per_s")? * 1e6 / self.load.message as f64)
    }

    /// The figures of many messages.
    pub(crate) fn messages(&self) -> Result<Figures> {
        let count = number(Some(&self.line), "bytes")? / self.load.message as f64;
        Ok(vec![
            ("messages_per_s", self.rate()?),
            ("cpu_us_each", self.cpu * 1e6 / count),
        ])
    }

    /// A percentile of the delays, in milliseconds, if they were measured.
    pub(crate) fn delay(&self, name: &str) -> Result<f64> {
        Ok(number(self.line.get("delays"), name)? / 1e3)
    }
}

impl Program {
    /// As fast as the messages are taken.
    pub(crate) fn run(&self, load: Load) -> Result<Transfer> {
        self.transfer(load, None)
    }

    /// So many messages a second, evenly spaced; how long they take is measured.
    pub(crate) fn run_at(&self, load: Load, rate: f64) -> Result<Transfer> {
        self.transfer(load, Some(rate))
    }

    fn transfer(&self, load: Load, rate: Option<f64>) -> Result<Transfer> {
        let port = free_udp_port()?;
        let (mut receiver, mut sender) = match self {
            Program::Byway(bench, words) => byway(bench, words, load, port)?,
            Program::Usrsctp { program, nagle } => usrsctp_pair(program, *nagle, load, port)?,
            Program::Pion(program) => pion(program, load, port)?,
            Program::Bare(bench) => bare(bench, load, port)?,
            Program::Quinn(program) => return quinn(program, load),
        };
        if let Some(rate) = rate {
            sender.args(["--rate", &rate.round().to_string()]);
            match self {
                Program::Usrsctp { .. } => receiver.args(["--delays", "1"]),
                _ => receiver.arg("--delays"),
            };
        }
        let (line, cpu) = carry_out(receiver, sender, port, load.bytes)?;
        Ok(Transfer { load, line, cpu })
    }
}

fn byway(bench: &Byway, words: &[&str], load: Load, port: u16) -> Result<(Command, Command)> {
    let (receiver, sender) = (
        bench.command("loopback-recv")?,
        bench.command("loopback-send")?,
    );
    let (mut receiver, mut sender) = with_load(receiver, sender, load, port);
    receiver.args(words);
    sender.args(words);
    Ok((receiver, sender))
}

/// Our two programs, with their first word, and what they are told of a transfer.
fn with_load(
    mut receiver: Command,
    mut sender: Command,
    load: Load,
    port: u16,
) -> (Command, Command) {
    let address = format!("127.0.0.1:{port}");
    receiver.args(["--bind", &address, "--buffer", &BUFFER.to_string()]);
    sender.args(["--to", &address, "--buffer", &BUFFER.to_string()]);
    sender.args(["--bytes", &load.bytes.to_string()]);
    sender.args(["--message", &load.message.to_string()]);
    (receiver, sender)
}

/// A transfer of our two programs, whose commands have their first word.
pub(crate) fn train(receiver: Command, sender: Command, load: Load) -> Result<()> {
    let port = free_udp_port()?;
    let (receiver, sender) = with_load(receiver, sender, load, port);
    carry_out(receiver, sender, port, load.bytes)?;
    Ok(())
}

fn usrsctp_pair(
    program: &PathBuf,
    nagle: bool,
    load: Load,
    port: u16,
) -> Result<(Command, Command)> {
    let (mut receiver, mut sender) = (limited(program), limited(program));
    receiver.args(["recv", "--udp-port", &port.to_string()]);
    sender.args(["send", "--udp-port", &free_udp_port()?.to_string()]);
    sender.args(["--peer-udp-port", &port.to_string()]);
    sender.args(["--bytes", &load.bytes.to_string()]);
    sender.args(["--message", &load.message.to_string()]);
    sender.args(["--nagle", if nagle { "1" } else { "0" }]);
    for side in [&mut receiver, &mut sender] {
        side.args(["--buffer", &BUFFER.to_string()]);
    }
    Ok((receiver, sender))
}

fn pion(program: &PathBuf, load: Load, port: u16) -> Result<(Command, Command)> {
    let (mut receiver, mut sender) = (limited(program), limited(program));
    let (there, here) = (
        format!("127.0.0.1:{port}"),
        format!("127.0.0.1:{}", free_udp_port()?),
    );
    let (bytes, message) = (load.bytes.to_string(), load.message.to_string());
    receiver.args(["-local", &there, "-bytes", &bytes, "sink"]);
    sender.args(["-local", &here, "-remote", &there]);
    sender.args(["-bytes", &bytes, "-message", &message, "bulk"]);
    Ok((receiver, sender))
}

fn bare(bench: &Byway, load: Load, port: u16) -> Result<(Command, Command)> {
    let (mut receiver, mut sender) = (bench.command("bare-recv")?, bench.command("bare-send")?);
    let (address, bytes) = (format!("127.0.0.1:{port}"), load.bytes.to_string());
    receiver.args(["--bind", &address, "--bytes", &bytes]);
    sender.args(["--to", &address, "--bytes", &bytes]);
    Ok((receiver, sender))
}

fn quinn(program: &PathBuf, load: Load) -> Result<Transfer> {
    let mut command = limited(program);
    command.args(["--bytes", &load.bytes.to_string()]);
    command.args(["--message", &load.message.to_string()]);
    let finished = run_to_end(&mut command)?;
    Ok(Transfer {
        load,
        cpu: finished.cpu.as_secs_f64(),
        line: finished.line.context("quinn printed no line of JSON")?,
    })
}

/// Starts a program that has the processor of this number for itself, if there are two. Where the scheduler puts both ends on
/// one, as it likes to with a wake-up from there, one waits for a tick of the other, four milliseconds.
fn on_processor<T>(number: usize, start: impl FnOnce() -> std::io::Result<T>) -> Result<T> {
    let us = Pid::from_raw(0);
    let all = sched_getaffinity(us)?;
    let ours: Vec<usize> = (0..CpuSet::count())
        .filter(|cpu| all.is_set(*cpu) == Ok(true))
        .collect();
    if let [_, _, ..] = ours[..] {
        let mut alone = CpuSet::new();
        alone.set(ours[number])?;
        sched_setaffinity(us, &alone)?;
    }
    let started = start();
    sched_setaffinity(us, &all)?;
    Ok(started?)
}

/// Starts the receiver, waits for its UDP port, and runs the sender to its end, each on a processor of its own. What the
/// receiver printed, and the processor seconds of both.
fn carry_out(
    mut receiver: Command,
    mut sender: Command,
    port: u16,
    expected: u64,
) -> Result<(Value, f64)> {
    let before = children_cpu()?;
    let mut receiver = on_processor(0, || receiver.spawn()).context("cannot start the receiver")?;
    let sent = wait_for_port(&mut receiver, port).and_then(|()| {
        let sent = on_processor(1, || sender.output()).context("cannot start the sender")?;
        ensure!(
            sent.status.success(),
            "the sender ended with {}",
            sent.status
        );
        Ok(())
    });
    if sent.is_err() {
        stop(&receiver);
    }
    let received = receiver
        .wait_with_output()
        .context("the receiver is lost")?;
    sent?;
    ensure!(
        received.status.success(),
        "the receiver ended with {}",
        received.status
    );
    let cpu = children_cpu()?.saturating_sub(before).as_secs_f64();
    let line = last_json(&String::from_utf8_lossy(&received.stdout));
    let bytes = number(line.as_ref(), "bytes")?;
    ensure!(
        bytes >= expected as f64,
        "only {bytes} of {expected} bytes arrived"
    );
    Ok((line.context("no line of JSON")?, cpu))
}

/// A client that has run to its end beside a server.
pub(crate) struct Served {
    /// What the client printed.
    pub(crate) line: Option<Value>,
    /// Processor seconds of the client.
    pub(crate) client_cpu: f64,
    /// Those of the server.
    pub(crate) server_cpu: f64,
}

/// Starts a server, waits for its UDP port, runs the client to its end, and stops the server.
pub(crate) fn serve(mut server: Command, mut client: Command, port: u16) -> Result<Served> {
    let before = children_cpu()?;
    let mut server = server.spawn().context("cannot start the server")?;
    let done = wait_for_port(&mut server, port)
        .and_then(|()| client.output().context("cannot start the client"));
    // What ends from here on is the server alone.
    let between = children_cpu();
    stop(&server);
    server.wait_with_output().context("the server is lost")?;
    let (done, between, after) = (done?, between?, children_cpu()?);
    ensure!(
        done.status.success(),
        "the client ended with {}",
        done.status
    );
    Ok(Served {
        line: last_json(&String::from_utf8_lossy(&done.stdout)),
        client_cpu: between.saturating_sub(before).as_secs_f64(),
        server_cpu: after.saturating_sub(between).as_secs_f64(),
    })
}

/// A port that is free now.
pub(crate) fn free_udp_port() -> Result<u16> {
    let socket = UdpSocket::bind("127.0.0.1:0").context("no free UDP port")?;
    Ok(socket.local_addr()?.port())
}

/// Waits until UDP port `port` is in use, and a moment longer for the program to listen.
pub(crate) fn wait_for_port(child: &mut Child, port: u16) -> Result<()> {
    let column = format!(":{port:04X}");
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let sockets = std::fs::read_to_string("/proc/net/udp").context("/proc/net/udp")?;
        if sockets.lines().any(|l| {
            l.split_ascii_whitespace()
                .nth(1)
                .is_some_and(|a| a.ends_with(&column))
        }) {
            break;
        }
        if let Some(status) = child.try_wait()? {
            anyhow::bail!("the receiver ended with {status} before it listened");
        }
        ensure!(
            Instant::now() < until,
            "the receiver does not open UDP port {port}"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(200));
    Ok(())
}
