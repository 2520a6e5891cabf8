//! Goodput of a good transfer while its receiver is flooded, beside that while the same flood
//! hits an unrelated socket.

use super::super::Arguments;
use super::super::transfer::free_udp_port;
use super::Verdict;
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
/// The least share of the packets of these seconds that the receiver has to have got: refused by rule, or dropped by
/// the kernel before it read them.
const LEAST_GOT: f64 = 0.5;
/// Each kind, and the rule that refuses it once the rate of answers is used up.
const KINDS: [(&str, &str); 6] = [
    ("init", "answers_withheld"),
    ("ootb", "answers_withheld"),
    ("unknown", "answers_withheld"),
    ("heartbeat", "answers_withheld"),
    ("cookie", "forged_cookies"),
    ("checksum", "bad_checksums"),
];

/// What a transfer did, and the flood beside it.
struct Run {
    goodput: f64,
    flood: f64,
    /// Packets that the receiver refused by the rule of this flood.
    refused: f64,
    /// Those, and those that the kernel dropped.
    got: f64,
}

pub(super) fn measure(
    tools: &Tools,
    arguments: &Arguments,
    verdict: &mut Verdict,
) -> Result<Value> {
    let mut figures = Map::new();
    for (kind, rule) in KINDS {
        let (mut here, mut there) = (Vec::new(), Vec::new());
        // In turn, so that a change of the machine's load meets both.
        for round in 0..arguments.runs {
            let [a, b] = [round % 2 == 0, round % 2 != 0].map(|at| one(tools, (kind, rule), at));
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
        let least = floods.fold(f64::INFINITY, f64::min);
        verdict.require(ratio >= LEAST, || {
            format!("{kind}: {ratio:.2} of the goodput are left, not {LEAST}")
        });
        verdict.require(least >= LEAST_FLOOD, || {
            format!("{kind}: a flood had {least:.0} packets a second, not {LEAST_FLOOD}")
        });
        let all = LEAST_FLOOD * f64::from(SECONDS);
        for Run { refused, got, .. } in &here {
            verdict.require(*got >= LEAST_GOT * all && *refused > 0.0, || {
                format!(
                    "{kind}: the receiver got {got:.0} of {all:.0} packets, and {refused:.0} counted as '{rule}'"
                )
            });
        }
        let spared = there.iter().map(|r| r.refused).fold(0.0, f64::max);
        verdict.require(spared == 0.0, || {
            format!("{kind}: the receiver that was spared refused {spared} as '{rule}'")
        });
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
                "refused_by_rule": of(&here, |r| r.refused),
                "refused_and_dropped_by_kernel": of(&here, |r| r.got),
                "packets_per_second": of(&here, |r| r.flood).round(),
                "packets_per_second_unrelated": of(&there, |r| r.flood).round(),
            }),
        );
    }
    Ok(Value::Object(figures))
}

/// One transfer; the flood hits its receiver or an unrelated socket on the same host.
fn one(tools: &Tools, (kind, rule): (&str, &str), at_receiver: bool) -> Result<Run> {
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
    let refused = received["refused"][rule].as_f64().unwrap_or(0.0);
    // A kernel that does not tell has dropped nothing that counts.
    let dropped = received["dropped_by_kernel"].as_f64().unwrap_or(0.0);
    Ok(Run {
        refused,
        got: refused + dropped,
        goodput: number(&received, "mb_per_s")?,
        flood: number(&flood, "packets_per_second")?,
    })
}
