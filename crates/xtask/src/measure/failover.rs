//! The stall of delivery when the path in use dies silently, at the receiving application: byway
//! with nothing set, and what users have today, over the same emulated networks. It fails where a stall
//! of byway is over the bound, a peer could not be measured, or a peer is better.

mod contender;
mod flow;
mod guest;
mod network;
mod table;

use super::Arguments;
use crate::peers::{Workspace, need_packages};
use anyhow::{Context, Result, ensure};
use contender::{BYWAY, Contender, PEERS, Programs, Who};
use flow::{Load, Receiver, Sender, Stall};
use guest::Guest;
use network::Emulated;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use table::{Cell, Peer, Report};

/// Round trips, in milliseconds.
const ROUND_TRIPS: [u64; 4] = [1, 20, 90, 200];
const LOADS: [Load; 2] = [Load::Paced, Load::Bulk];
/// Time for the receivers to open their sockets.
const OPENING: Duration = Duration::from_millis(300);
/// Time from the start of the senders to the first message.
const SET_UP: Duration = Duration::from_millis(700);
/// Connections that share a network: of ours in bulk one, since two share the queue.
const TOGETHER: u16 = 4;

/// Measures; the last line is JSON.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<()> {
    let round_trips = round_trips(arguments)?;
    need_packages(&[
        "gcc",
        "libc6-dev",
        "libusrsctp-dev",
        "libmd-dev",
        "iproute2",
    ])?;
    let programs = Programs::build(workspace, arguments.byway(workspace)?)?;
    let asked = match arguments.ours_only {
        true => Vec::new(),
        false => PEERS.iter().map(|peer| peer.name).collect(),
    };
    let mut report = Report::new(arguments.phases, asked);
    let guest = match arguments.ours_only {
        true => None,
        false => match guest::boot(workspace, &programs.byway) {
            Ok(guest) => Some(guest),
            Err(error) => {
                report.notes.push(format!("Linux SCTP: {error:#}"));
                None
            }
        },
    };
    for &rtt in &round_trips {
        for load in LOADS {
            let ours = measure(&programs, &BYWAY, load, rtt, arguments.phases)?;
            let mut cell = Cell::new(rtt, load, ours);
            if !arguments.ours_only {
                cell.peers = peers(&programs, guest.as_ref(), load, rtt, arguments, &mut report)?;
            }
            eprintln!("{}", cell.line());
            report.cells.push(cell);
        }
    }
    if let Some(guest) = &guest {
        report
            .notes
            .push(format!("Linux SCTP is that of {}", guest.version));
    }
    print!("{}", report.table());
    println!("{}", report.json());
    report.verdict()
}

fn round_trips(arguments: &Arguments) -> Result<Vec<Duration>> {
    let named = arguments.folders.iter().map(|word| {
        let ms: u64 = word
            .to_str()
            .and_then(|w| w.parse().ok())
            .with_context(|| format!("{} is not a round trip in ms", word.display()))?;
        ensure!(
            ms > 0 && ms <= 1000,
            "a round trip of 1 to 1000 ms, not {ms}"
        );
        Ok(Duration::from_millis(ms))
    });
    let named: Vec<Duration> = named.collect::<Result<_>>()?;
    Ok(match named.is_empty() {
        true => ROUND_TRIPS.map(Duration::from_millis).to_vec(),
        false => named,
    })
}

fn peers(
    programs: &Programs,
    guest: Option<&Guest>,
    load: Load,
    rtt: Duration,
    arguments: &Arguments,
    report: &mut Report,
) -> Result<Vec<Peer>> {
    let mut out = Vec::new();
    for contender in &PEERS {
        let phases = arguments.peer_phases;
        let stalls = match (contender.who, guest) {
            (Who::Linux, Some(guest)) => guest.stalls(load, rtt, phases, contender.watched),
            (Who::Linux, None) => continue,
            _ => measure(programs, contender, load, rtt, phases),
        };
        match stalls {
            Ok(stalls) => {
                let peer = Peer::new(contender.name, stalls);
                eprintln!("    {}", peer.line());
                out.push(peer);
            }
            // A peer that cannot do it is told, and the others go on; the verdict is against it.
            Err(error) => {
                let (name, ms) = (contender.name, rtt.as_millis());
                let note = format!("{name}, {ms} ms, {}: {error:#}", load.name());
                eprintln!("    {note}");
                report.notes.push(note);
            }
        }
    }
    Ok(out)
}

/// The stalls of `phases` connections, some of which share a network.
fn measure(
    programs: &Programs,
    contender: &Contender,
    load: Load,
    rtt: Duration,
    phases: u16,
) -> Result<Vec<Stall>> {
    let together = match (load, contender.who) {
        (Load::Bulk, Who::Byway) => 1,
        _ => TOGETHER,
    };
    let all: Vec<u16> = (0..phases).collect();
    let mut stalls = Vec::new();
    for some in all.chunks(together.into()) {
        stalls.extend(one_death(programs, contender, load, rtt, some, phases)?);
    }
    Ok(stalls)
}

/// One network, whose first path dies while these connections use it.
fn one_death(
    programs: &Programs,
    contender: &Contender,
    load: Load,
    rtt: Duration,
    some: &[u16],
    phases: u16,
) -> Result<Vec<Stall>> {
    static NETWORKS: AtomicU32 = AtomicU32::new(0);
    let number = NETWORKS.fetch_add(1, Ordering::Relaxed);
    let name = format!("bwf{}-{number}", std::process::id());
    let network = Emulated::begin(&programs.byway, name, rtt)?;
    contender.prepare(&network)?;
    let mut receivers = Vec::new();
    for &n in some {
        receivers.push(Receiver::start(contender.receiver(programs, &network, n))?);
    }
    std::thread::sleep(OPENING);
    let first = Instant::now() + SET_UP;
    let mut senders = Vec::new();
    for &n in some {
        // The phases are spread over what repeats: two messages, for which one SACK is sent, or
        // a round trip.
        let period = match load {
            Load::Paced => 2 * flow::EVERY,
            Load::Bulk => rtt,
        };
        let begin = first + period * n.into() / phases.into();
        let command = contender.sender(programs, &network, n, load);
        senders.push(Sender::start(command, load, begin)?);
    }
    std::thread::sleep(network.dead.saturating_duration_since(Instant::now()));
    if contender.who == Who::Byway {
        let sent = network.sent()?;
        ensure!(
            sent[0] > 9 * sent[1],
            "the path that dies was not the one in use: {sent:?} bytes"
        );
    }
    for sender in &mut senders {
        sender.check()?;
    }
    std::thread::sleep(contender.watched + 5 * rtt);
    let end = Instant::now();
    let ends = receivers.into_iter().map(|r| stall(r, network.dead, end));
    ends.collect()
}

fn stall(receiver: Receiver, dead: Instant, end: Instant) -> Result<Stall> {
    flow::stall(&receiver.end(), dead, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pause of half a second, whenever T3-rtx could bring it about.
    #[test]
    fn a_pause_that_begins_later_is_seen() {
        let zero = Instant::now();
        let at = |ms| zero + Duration::from_millis(ms);
        let dead = at(1000);
        let end = dead + BYWAY.watched;
        for later in [0, 900, 1000, 1900, 2400] {
            let pause = 1000 + later..1500 + later;
            let arrivals: Vec<Instant> = (0..10_000)
                .step_by(10)
                .filter(|ms| !pause.contains(ms))
                .map(at)
                .filter(|at| *at <= end)
                .collect();
            let stall = flow::stall(&arrivals, dead, end).unwrap();
            assert!(
                (0.5..0.52).contains(&stall.seconds) && !stall.never,
                "{later} ms after the death: {stall:?}"
            );
        }
    }
}
