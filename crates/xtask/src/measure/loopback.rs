//! Two processes over UDP on loopback: rate, and CPU time of both ends.

use crate::peers::{Workspace, need_packages};
use crate::plan::{Contender, Plan};
use crate::process::{children_cpu, last_json, limited, number, stop};
use crate::report::Better;
use crate::series::Figures;
use anyhow::{Context, Result, ensure};
use std::net::UdpSocket;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

const BYTES: u64 = 256 << 20;
const MESSAGE: u64 = 16_384;
const BUFFER: u64 = 4 << 20;
const SETTING: &str = "16 KiB messages";

/// Ours and usrsctp.
pub(crate) fn plan(workspace: &Workspace) -> Result<Plan> {
    need_packages(&["gcc", "libc6-dev", "libusrsctp-dev"])?;
    let peer = workspace.c_peer("usrsctp/bench.c", &["usrsctp", "pthread"])?;
    let ours = workspace.byway_bench();
    let byway = Contender {
        name: "byway",
        setting: SETTING,
        ours: true,
        run: Box::new(move || {
            run_byway(
                ours.command("loopback-recv")?,
                ours.command("loopback-send")?,
                BYTES,
            )
        }),
    };
    let usrsctp = Contender {
        name: "usrsctp",
        setting: SETTING,
        ours: false,
        run: Box::new(move || {
            let (mut receiver, mut sender) = (limited(&peer), limited(&peer));
            receiver.arg("recv");
            sender.arg("send");
            run_usrsctp(receiver, sender)
        }),
    };
    Ok(Plan {
        name: "loopback",
        headline: SETTING,
        figure: "mb_per_s",
        better: Better::Larger,
        contenders: vec![byway, usrsctp],
        notes: Vec::new(),
    })
}

/// Our two programs, with their first word; `bytes` from the one to the other.
pub(crate) fn run_byway(mut receiver: Command, mut sender: Command, bytes: u64) -> Result<Figures> {
    let port = free_udp_port()?;
    let address = format!("127.0.0.1:{port}");
    receiver.args(["--bind", &address, "--buffer", &BUFFER.to_string()]);
    sender.args(["--to", &address, "--buffer", &BUFFER.to_string()]);
    sender.args(["--bytes", &bytes.to_string()]);
    sender.args(["--message", &MESSAGE.to_string()]);
    transfer(receiver, sender, port, bytes)
}

fn run_usrsctp(mut receiver: Command, mut sender: Command) -> Result<Figures> {
    let (port, sender_port) = (free_udp_port()?, free_udp_port()?);
    receiver.args([
        "--udp-port",
        &port.to_string(),
        "--buffer",
        &BUFFER.to_string(),
    ]);
    sender.args([
        "--udp-port",
        &sender_port.to_string(),
        "--peer-udp-port",
        &port.to_string(),
    ]);
    sender.args([
        "--buffer",
        &BUFFER.to_string(),
        "--bytes",
        &BYTES.to_string(),
    ]);
    sender.args(["--message", &MESSAGE.to_string()]);
    transfer(receiver, sender, port, BYTES)
}

/// Starts the receiver, waits for its UDP port, and runs the sender to its end.
fn transfer(
    mut receiver: Command,
    mut sender: Command,
    port: u16,
    expected: u64,
) -> Result<Figures> {
    let before = children_cpu()?;
    let mut receiver = receiver.spawn().context("cannot start the receiver")?;
    let sent = wait_for_port(&mut receiver, port).and_then(|()| {
        let sent = sender.output().context("cannot start the sender")?;
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
    Ok(vec![
        ("mb_per_s", number(line.as_ref(), "mb_per_s")?),
        ("cpu_s_per_gb", cpu / (bytes / 1e9)),
    ])
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
