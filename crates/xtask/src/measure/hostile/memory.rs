//! Resident memory of `byway recv` at its ceiling and after.

use super::super::Arguments;
use super::super::transfer::free_udp_port;
use super::Part;
use super::tools::{Running, Tools, number, rounded};
use anyhow::{Result, ensure};
use serde_json::{Map, Value, json};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The ceiling of an endpoint by default, in KiB.
const CEILING: f64 = 256.0 * 1024.0;
/// What the program may take beside it, and its allocator may keep in halves of pages: a fifth.
const BESIDE: f64 = 1.2;
/// Back to within this of the memory before.
const BACK: f64 = 1.2;
/// The rules that let silent peers go take their time, and the allocator gives pages back within
/// ten seconds.
const SETTLE: Duration = Duration::from_secs(20);
/// Each attack, and what the receiver is told for it.
const ATTACKS: [(&str, &[&str]); 5] = [
    ("gaps", &[]),
    ("beginnings", &[]),
    ("interleaved", &["--set", "streams.interleaving=true"]),
    ("ends-alone", &[]),
    ("errors", &[]),
];

pub(super) fn measure(tools: &Tools, _: &Arguments) -> Result<Part> {
    let mut figures = Map::new();
    let mut holds = true;
    for (what, words) in ATTACKS {
        let port = free_udp_port()?;
        let to = format!("127.0.0.1:{port}");
        let mut receiver = tools.recv(&to, &[&["--give-up", "5s"], words].concat())?;
        let (fresh, fresh_own) = (receiver.resident()?, receiver.anonymous()?);
        let fresh_file = receiver.file()?;
        // What any first associations take is no leak: a round of the same attack comes first.
        hold(tools, &to, what, "50", "2")?;
        std::thread::sleep(SETTLE);
        let (before, before_own) = (receiver.resident()?, receiver.anonymous()?);
        let attack = attack(tools, &to, what, "400", "15");
        let attack = Running::start(attack)?;
        let (mut most, begun) = (before, Instant::now());
        while begun.elapsed() < Duration::from_secs(40) && attack_runs(&attack) {
            std::thread::sleep(Duration::from_millis(100));
            most = most.max(receiver.resident()?);
        }
        let line = attack.finish()?;
        std::thread::sleep(SETTLE);
        let (after, after_own) = (receiver.resident()?, receiver.anonymous()?);
        let after_file = receiver.file()?;
        let alive = receiver.is_alive()?;
        let up = number(&line, "established")?;
        ensure!(up >= 100.0, "{what}: {up} of 400 were set up");
        holds &= alive && most <= CEILING * BESIDE && after <= before * BACK;
        eprintln!(
            "  {what}: {fresh:.0} KiB at first, {before:.0} before, {most:.0} at most, {after:.0} after; \
             without the program's file {fresh_own:.0}, {before_own:.0} and {after_own:.0}; {:.2} of the fresh process, \
             {:.2} of the line before",
            after / fresh,
            after / before,
        );
        figures.insert(
            what.into(),
            json!({
                "kib_at_first": fresh,
                "kib_before": before,
                "kib_most": most,
                "kib_after": after,
                "anonymous_kib_at_first": fresh_own,
                "anonymous_kib_before": before_own,
                "anonymous_kib_after": after_own,
                "file_kib_at_first": fresh_file,
                "file_kib_after": after_file,
                "after_to_fresh": rounded(after / fresh),
                "after_to_before": rounded(after / before),
                "most_to_ceiling": rounded(most / CEILING),
                "attack": line,
            }),
        );
    }
    Ok(Part {
        name: "memory",
        figures: Value::Object(figures),
        holds,
    })
}

fn attack(tools: &Tools, to: &str, what: &str, associations: &str, seconds: &str) -> Command {
    let mut command = tools.hostile(&["hold", what, "--to", to, "--sources", "16"]);
    command.args(["--associations", associations, "--seconds", seconds]);
    command.stdout(Stdio::piped());
    command
}

fn hold(tools: &Tools, to: &str, what: &str, associations: &str, seconds: &str) -> Result<Value> {
    super::tools::json_of(&mut attack(tools, to, what, associations, seconds))
}

fn attack_runs(attack: &Running) -> bool {
    attack.resident().is_ok_and(|kib| kib > 0.0)
}
