//! Goodput of a good transfer while its receiver is flooded, beside that while the same flood
//! hits an unrelated socket.

use super::super::Arguments;
use super::super::transfer::free_udp_port;
use super::Part;
use super::tools::{Running, Tools, json_of, median, number, rounded};
use anyhow::Result;
use serde_json::{Map, Value, json};
use std::process::{Command, Stdio};

/// The least share that is left.
const LEAST: f64 = 0.6;
/// Packets a second.
const RATE: &str = "150000";
const LEAST_FLOOD: f64 = 135_000.0;
/// Seconds of the transfer.
const SECONDS: u32 = 4;
const KINDS: [&str; 6] = ["init", "ootb", "unknown", "heartbeat", "cookie", "checksum"];

/// What a transfer did, and the flood beside it.
struct Run {
    goodput: f64,
    flood: f64,
}

pub(super) fn measure(tools: &Tools, arguments: &Arguments) -> Result<Part> {
    let mut figures = Map::new();
    let mut holds = true;
    for kind in KINDS {
        let (mut here, mut there) = (Vec::new(), Vec::new());
        // In turn, so that a change of the machine's load meets both.
        for round in 0..arguments.runs {
            let [a, b] = [round % 2 == 0, round % 2 != 0].map(|at| one(tools, kind, at));
            let (a, b) = (a?, b?);
            let (hit, spared) = if round % 2 == 0 { (a, b) } else { (b, a) };
            here.push(hit);
            there.push(spared);
        }
        let share = |n: usize| here[n].goodput / there[n].goodput;
        let shares: Vec<f64> = (0..here.len()).map(share).collect();
        let of = |all: &[Run], f: fn(&Run) -> f64| median(all.iter().map(f).collect());
        let ratio = median(shares.clone());
        // A flood that does not come is none.
        let floods = here.iter().chain(&there).map(|r| r.flood);
        holds &= ratio >= LEAST && floods.fold(f64::INFINITY, f64::min) >= LEAST_FLOOD;
        eprintln!(
            "  {kind}: {:.0} of {:.0} MB/s, {ratio:.2} ({shares:.2?}), {:.0} and {:.0} packets a second",
            of(&here, |r| r.goodput),
            of(&there, |r| r.goodput),
            of(&here, |r| r.flood),
            of(&there, |r| r.flood),
        );
        figures.insert(
            kind.into(),
            json!({
                "ratio": rounded(ratio),
                "ratios": shares.iter().map(|s| rounded(*s)).collect::<Vec<_>>(),
                "mb_per_s": of(&here, |r| r.goodput).round(),
                "mb_per_s_unrelated": of(&there, |r| r.goodput).round(),
                "packets_per_second": of(&here, |r| r.flood).round(),
                "packets_per_second_unrelated": of(&there, |r| r.flood).round(),
            }),
        );
    }
    Ok(Part {
        name: "flood",
        figures: Value::Object(figures),
        holds,
    })
}

/// One transfer; the flood hits its receiver or an unrelated socket on the same host.
fn one(tools: &Tools, kind: &str, at_receiver: bool) -> Result<Run> {
    let (port, other) = (free_udp_port()?, free_udp_port()?);
    let to = format!("127.0.0.1:{port}");
    let mut receiver = Command::new(&tools.bench);
    receiver
        .args(["loopback-recv", "--preset", "byway", "--bind", &to])
        .stdout(Stdio::piped());
    let receiver = Running::start(receiver)?;
    let seconds = (SECONDS + 3).to_string();
    let unrelated = format!("127.0.0.1:{other}");
    let _sink =
        Running::start(tools.hostile(&["sink", "--bind", &unrelated, "--seconds", &seconds]))?;
    let victim = if at_receiver { &to } else { &unrelated };
    let words = ["flood", kind, "--to", victim, "--rate", RATE, "--seconds"];
    let mut flood = tools.hostile(&words);
    flood.arg((SECONDS + 2).to_string());
    let flood = Running::start(flood)?;
    let mut sender = Command::new(&tools.bench);
    sender.args(["loopback-send", "--preset", "byway", "--to", &to]);
    sender.args(["--secs", &SECONDS.to_string()]);
    json_of(&mut sender)?;
    let received = receiver.finish()?;
    let flood = flood.finish()?;
    Ok(Run {
        goodput: number(&received, "mb_per_s")?,
        flood: number(&flood, "packets_per_second")?,
    })
}
