//! `byway emulate`: a scenario's network in real time, for any programs.
//!
//! Two network namespaces have a TUN device for each path. What a program sends there goes
//! through the simulator's links, which decide when it arrives at the other end, and if.

mod hosts;
mod links;

use crate::args::EmulateArgs;
use crate::children::Owned;
use crate::failure::{Failure, Kind};
use crate::lab::scenario;
use crate::namespace::check;
use crate::signals;
use crate::terminal::{print, say_part};
use byway_lab::emulation::{Emulation, End};
use byway_lab::scenario::Scenario;
use hosts::Hosts;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time for the receiver's command to end by itself after the sender's.
const GRACE: Duration = Duration::from_secs(2);
/// Time between two looks at a program and at the signals.
const TICK: Duration = Duration::from_millis(20);

pub(crate) fn emulate(args: &EmulateArgs) -> Result<(), Failure> {
    let mut scenario = scenario(args.scenario.as_deref())?;
    if let Some(seed) = args.seed {
        scenario.seed = seed;
    }
    check("byway emulate", &["ip"])?;
    let refused = |e| Failure::wrong(format!("the scenario's network cannot be built: {e}"));
    let emulation = Emulation::new(&scenario).map_err(refused)?;
    // First of all: a signal that comes while the hosts are made must not leave them there.
    let cancel = Arc::new(AtomicBool::new(false));
    Failure::watch_signals(&cancel)?;
    let (hosts, devices) = Hosts::make(&args.name, emulation.paths())?;
    if !args.quiet {
        say_part(&told(&scenario, &hosts, args));
    }
    let stop = Arc::new(AtomicBool::new(false));
    let links = {
        let stop = Arc::clone(&stop);
        std::thread::spawn(move || links::carry(emulation, &devices, &stop))
    };
    let ended = programs(&hosts, args, &cancel);
    stop.store(true, Ordering::Relaxed);
    let emulation = links
        .join()
        .map_err(|_| Failure::new(Kind::Failed, "the links have failed"))??;
    if !args.quiet {
        print(&counted(&scenario, &emulation))?;
    }
    let status = ended?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::new(
        Kind::Failed,
        format!("the command ended with {status}"),
    ))
}

/// Runs the receiver's command and the sender's, up to the end of the latter.
fn programs(hosts: &Hosts, args: &EmulateArgs, cancel: &AtomicBool) -> Result<ExitStatus, Failure> {
    let mut receiver = match &args.receiver {
        Some(words) => {
            let mut command = hosts.program(End::Receiver, Path::new("sh"));
            Some(Owned::start(command.args(["-c", words]))?)
        }
        None => None,
    };
    let mut sender = Owned::start(&mut sender(hosts, args))?;
    loop {
        let ended = sender.0.try_wait();
        let ended = ended.map_err(|e| Failure::new(Kind::Failed, e.to_string()))?;
        if let Some(status) = ended {
            if let Some(receiver) = &mut receiver {
                wait_for(receiver);
            }
            return Ok(status);
        }
        // A shell takes Ctrl-C for itself; it is left with exit.
        let leaves = signals::terminated() || !args.command.is_empty();
        if cancel.load(Ordering::Relaxed) && leaves {
            return Err(Failure::signal());
        }
        std::thread::sleep(TICK);
    }
}

/// Waits for a command that is about to end. One that is not is ended with its owner.
fn wait_for(command: &mut Owned) {
    let begun = Instant::now();
    while begun.elapsed() < GRACE && matches!(command.0.try_wait(), Ok(None)) {
        std::thread::sleep(TICK);
    }
}

/// The sender's command: the one that was given, or a shell.
fn sender(hosts: &Hosts, args: &EmulateArgs) -> Command {
    match args.command.as_slice() {
        [program, rest @ ..] => {
            let mut command = hosts.program(End::Sender, Path::new(program));
            command.args(rest);
            command
        }
        [] => {
            let shell = std::env::var_os("SHELL").unwrap_or_else(|| "sh".into());
            hosts.program(End::Sender, Path::new(&shell))
        }
    }
}

/// Which addresses there are, and how to run a program at either end.
fn told(scenario: &Scenario, hosts: &Hosts, args: &EmulateArgs) -> String {
    let mut out = String::from("path                 sender        receiver\n");
    for (i, path) in scenario.paths.iter().enumerate() {
        out.push_str(&format!(
            "{:<20} {:<13} {}\n",
            path.name,
            End::Sender.address(i).to_string(),
            End::Receiver.address(i)
        ));
    }
    let enter = |end| format!("ip netns exec {} COMMAND", hosts.name(end));
    if args.receiver.is_none() {
        out.push_str(&format!(
            "at the receiver: {} (in another terminal)\n",
            enter(End::Receiver)
        ));
    }
    if args.command.is_empty() {
        out.push_str("this is a shell at the sender; `exit` ends the emulation\n");
    }
    out
}

/// What became of the packets.
fn counted(scenario: &Scenario, emulation: &Emulation) -> String {
    let mut out = format!(
        "\n{:<20} {:<9} {:>10} {:>10} {:>6} {:>6} {:>7} {:>6}\n",
        "path", "to", "packets", "delivered", "lost", "queue", "policed", "down"
    );
    for (i, path) in scenario.paths.iter().enumerate() {
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
                c.dropped_down + c.dropped_in_flight + c.dropped_never_sent
            ));
        }
    }
    out
}
