//! What an emulation says: addresses at its start, what became of packets at its end; for people, or as JSON.

use super::hosts::Hosts;
use super::relay::Relays;
use crate::args::EmulateArgs;
use crate::failure::Failure;
use crate::signals;
use crate::terminal::print;
use byway_lab::emulation::{Emulation, End};
use byway_lab::scenario::{PathSpec, Scenario};
use byway_sim::net::LinkCounters;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

/// How long what is due may take to be printed after a signal.
const LAST_PRINT: Duration = Duration::from_millis(500);
/// Between two looks for a signal.
const PAUSE: Duration = Duration::from_millis(20);

/// Which addresses there are, and how to run a program at either end.
pub(super) fn told(scenario: &Scenario, hosts: &Hosts, args: &EmulateArgs, both: bool) -> String {
    let mut out = String::from("path                 sender        receiver\n");
    for (i, path) in scenario.paths.iter().enumerate() {
        out.push_str(&format!(
            "{:<20} {:<13} {}\n",
            path.name,
            End::Sender.address(i).to_string(),
            End::Receiver.address(i)
        ));
    }
    if args.receiver.is_none() && !both {
        let name = match args.name.as_str() {
            "byway" => String::new(),
            other => format!("--name {other} "),
        };
        out.push_str(&format!(
            "a shell at the receiver, in another terminal: byway emulate {name}--join receiver\n\
             or one command: ip netns exec {} COMMAND\n",
            hosts.name(End::Receiver)
        ));
    }
    if args.command.is_empty() {
        out.push_str("this is a shell at the sender; `exit` ends the emulation\n");
    }
    out
}

/// The same for programs: the object of each path, and its name.
pub(super) fn told_json(
    paths: &[PathSpec],
    about: impl Fn(usize) -> serde_json::Value,
) -> serde_json::Value {
    let each = paths.iter().enumerate().map(|(i, path)| {
        let mut about = about(i);
        about["name"] = path.name.as_str().into();
        about
    });
    serde_json::json!({"schema": "byway.emulating/1", "paths": each.collect::<Vec<_>>()})
}

/// Where to send to.
pub(super) fn told_of_relays(scenario: &Scenario, relays: &Relays, args: &EmulateArgs) -> String {
    let mut out = format!("{:<20} {:<21} {}\n", "path", "send to", "arrives at");
    let listens = relays.listens();
    for ((path, relay), listen) in scenario.paths.iter().zip(&args.relay).zip(listens) {
        let from = relay
            .source
            .map_or(String::new(), |ip| format!(" from {ip}"));
        out.push_str(&format!(
            "{:<20} {:<21} {}{from}\n",
            path.name,
            listen.to_string(),
            relay.target
        ));
    }
    out
}

/// Prints what became of the packets of the first `paths` paths.
pub(super) fn tell_counts(
    args: &EmulateArgs,
    scenario: &Scenario,
    emulation: &Emulation,
    paths: usize,
) -> Result<(), Failure> {
    let text = match (args.json, args.quiet) {
        (true, _) => format!("{}\n", counted_json(scenario, emulation, paths)),
        (false, true) => return Ok(()),
        (false, false) => counted(scenario, emulation, paths),
    };
    let (done, printed) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(print(&text)));
    let mut told: Option<Instant> = None;
    loop {
        match printed.recv_timeout(PAUSE) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
            // A signal does not wait for a reader that takes nothing, and the namespaces go.
            Err(RecvTimeoutError::Timeout) if signals::told().is_some() => {
                if told.get_or_insert_with(Instant::now).elapsed() > LAST_PRINT {
                    return Err(Failure::signal());
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

fn counted_json(scenario: &Scenario, emulation: &Emulation, paths: usize) -> serde_json::Value {
    let names = scenario.paths.iter().take(paths).enumerate();
    let paths = names.map(|(i, path)| {
        let [to_receiver, to_sender] = emulation.counters(i);
        serde_json::json!({
            "name": path.name, "to_receiver": counters(to_receiver), "to_sender": counters(to_sender),
        })
    });
    serde_json::json!({
        "schema": "byway.emulate/1", "seed": scenario.seed, "paths": paths.collect::<Vec<_>>(),
    })
}

fn counters(c: LinkCounters) -> serde_json::Value {
    serde_json::json!({
        "packets": c.offered_packets,
        "delivered": c.delivered_packets,
        "lost": c.dropped_loss,
        "queue": c.dropped_queue,
        "policed": c.dropped_policed,
        "down": down(c),
    })
}

/// Packets that an outage dropped.
fn down(c: LinkCounters) -> u64 {
    c.dropped_down + c.dropped_in_flight + c.dropped_never_sent
}

/// What became of the packets of the first `paths` paths.
fn counted(scenario: &Scenario, emulation: &Emulation, paths: usize) -> String {
    let mut out = format!(
        "\n{:<20} {:<9} {:>10} {:>10} {:>6} {:>6} {:>7} {:>6}\n",
        "path", "to", "packets", "delivered", "lost", "queue", "policed", "down"
    );
    for (i, path) in scenario.paths.iter().enumerate().take(paths) {
        for (to, c) in ["receiver", "sender"]
            .into_iter()
            .zip(emulation.counters(i))
        {
            out.push_str(&format!(
                "{:<20} {to:<9} {:>10} {:>10} {:>6} {:>6} {:>7} {:>6}\n",
                path.name,
                c.offered_packets,
                c.delivered_packets,
                c.dropped_loss,
                c.dropped_queue,
                c.dropped_policed,
                down(c)
            ));
        }
    }
    out
}
