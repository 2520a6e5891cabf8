//! How `byway recv` and `byway listen` end by a signal with 1,000 associations: in what time, and how many of the peers
//! learn of it.

use super::super::Arguments;
use super::super::transfer::free_udp_port;
use super::Verdict;
use super::crowd::Crowd;
use super::tools::{Running, Tools, median, number, rounded};
use anyhow::Result;
use nix::sys::signal::Signal;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Peers. `listen` serves one of them, and the others wait in its backlog.
const ASSOCIATIONS: u64 = 1000;
/// The process has ended within so many seconds.
const LONGEST: f64 = 1.0;
/// What was sent has arrived after this.
const ARRIVES: Duration = Duration::from_millis(500);

pub(super) fn measure(
    tools: &Tools,
    arguments: &Arguments,
    verdict: &mut Verdict,
) -> Result<Value> {
    let mut figures = Map::new();
    for command in ["recv", "listen"] {
        for signal in [Signal::SIGTERM, Signal::SIGINT] {
            let name = format!("{command}_{}", signal.as_str().to_lowercase());
            let runs = (0..arguments.runs).map(|_| one(tools, command, signal, verdict));
            let runs = runs.collect::<Result<Vec<Run>>>()?;
            let all = |f: fn(&Run) -> f64| -> Vec<f64> { runs.iter().map(f).collect() };
            let (took, told) = (all(|r| r.seconds), all(|r| r.told));
            eprintln!(
                "  {command}, {signal}: ended after {took:.3?} s; {told:?} of {ASSOCIATIONS} learned of it"
            );
            figures.insert(
                name,
                json!({
                    "seconds": rounded(median(took.clone())),
                    "seconds_each": took.into_iter().map(rounded).collect::<Vec<_>>(),
                    "peers": ASSOCIATIONS,
                    "peers_told_each": told,
                    "reasons": runs.last().map(|r| r.reasons.clone()),
                }),
            );
        }
    }
    Ok(Value::Object(figures))
}

struct Run {
    /// Until the process had ended.
    seconds: f64,
    /// Peers that got an ABORT or a SHUTDOWN.
    told: f64,
    reasons: Value,
}

fn one(tools: &Tools, command: &str, signal: Signal, verdict: &mut Verdict) -> Result<Run> {
    let to = format!("127.0.0.1:{}", free_udp_port()?);
    let waiting: Running = match command {
        "listen" => tools.listen(&to, &["--give-up", "1h"])?,
        _ => tools.recv(&to, &["--give-up", "1h"])?,
    };
    let name = format!("{command}, {signal}");
    let peers = Crowd::idle(tools, &to, ASSOCIATIONS)?;
    let there = waiting.associations()?;
    verdict.require(peers.up == ASSOCIATIONS && there == ASSOCIATIONS, || {
        let up = peers.up;
        format!("{name}: {up} of {ASSOCIATIONS} were set up, and {there} are there")
    });
    let (took, status) = waiting.end_by(signal)?;
    let seconds = took.as_secs_f64();
    verdict.require(seconds <= LONGEST, || {
        format!("{name}: it ended after {seconds:.2} s ({status})")
    });
    std::thread::sleep(ARRIVES);
    let line = peers.end()?;
    let told = number(&line, "ended_by_the_other_side")?;
    verdict.require(told == ASSOCIATIONS as f64, || {
        format!("{name}: {told} of {ASSOCIATIONS} peers learned of the end")
    });
    Ok(Run {
        seconds,
        told,
        reasons: line["reasons"].clone(),
    })
}
