//! A scenario's run in byway's simulator, as a trace.

use crate::network::{self, Built, ShortestWay, address, at, destination};
use crate::scenario::{Host, Role, Scenario, What};
use crate::settings;
use crate::trace::{Happening, Row, Trace};
use crate::wire::{Notary, Note};
use anyhow::{Context, Result, anyhow, bail};
use byway_core::time::Instant;
use byway_core::{ChecksumMode, EndpointConfig, Routes};
use byway_sim::host::{Sender, Sink};
use byway_sim::net::{DropReason, LinkId, LogEntry, LogKind};
use byway_sim::{HostId, Simulation};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

const PORT: u16 = 5001;
/// Bytes of a DATA chunk that are not payload.
const DATA_HEADER: u32 = 16;
/// Payload bytes that ns-2 puts into a packet less the chunk header.
const HEADERS: u32 = 32 + DATA_HEADER;
/// Bytes of a timestamp chunk.
const TIMESTAMP: u32 = 12;

/// Runs a scenario up to a time and returns what its links saw.
///
/// # Errors
/// When the scenario cannot be built, or asks for something impossible.
pub fn run(scenario: &Scenario, until_s: f64) -> Result<Trace> {
    let Built {
        net,
        initiator,
        responder,
        ends,
    } = network::build(scenario)?;
    let (ours, peers) = (
        scenario.host(Role::Initiator)?,
        scenario.host(Role::Responder)?,
    );
    let way = |host: &Host, node, peer: &Host| {
        ShortestWay::new(&net, node, host.interfaces.len(), &peer.interfaces)
    };
    let (our_way, peer_way) = (way(ours, initiator, peers), way(peers, responder, ours));
    let answers = peer_way.clone();
    let mut sim = Simulation::new(net);
    sim.exact_timers(true);
    let notes: Arc<Mutex<Vec<Note>>> = Arc::default();
    let (noted, mut notary) = (notes.clone(), Notary::default());
    sim.on_outgoing(move |packet| {
        let note = notary.note(&packet.payload);
        packet.wire_size = Some(note.size);
        let mut notes = noted.lock().unwrap_or_else(PoisonError::into_inner);
        packet.meta = notes.len() as u64;
        notes.push(note);
    });
    let sink = sim.add_host(responder, endpoint(peers, scenario, 2), Sink::new())?;
    sim.with_endpoint(sink, |_, e| e.set_routes(Box::new(peer_way)));
    let source = sim.add_host(
        initiator,
        endpoint(ours, scenario, 1),
        app(scenario, ours, peers)?,
    )?;
    sim.with_endpoint(source, |_, e| e.set_routes(Box::new(our_way)));
    answer_by_routes(&mut sim, sink, answers, until_s)?;
    for event in scenario.events.iter().filter(|e| e.time_s <= until_s) {
        sim.run_until(at(event.time_s));
        act(&mut sim, source, &event.what)
            .with_context(|| format!("{} at {} s", scenario.name, event.time_s))?;
    }
    sim.run_until(at(until_s));
    if let Some(why) = sim
        .app::<Sender>(source)
        .and_then(|a| a.report().refused.as_ref())
    {
        bail!("{}: {why}", scenario.name);
    }
    let end = sim.now();
    let log = sim.network_mut().take_log();
    let notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(trace(&log, &notes, &ends, end))
}

/// Lets the receiver send from the interface that its routes give, as ns-2 does; byway answers from
/// the address that the peer asked. Goes on to the moment at which its association is there.
fn answer_by_routes(
    sim: &mut Simulation,
    sink: HostId,
    mut way: ShortestWay,
    until_s: f64,
) -> Result<()> {
    /// Less than data takes to come after the association is there.
    const STEP_S: f64 = 0.001;
    let local = sim.endpoint(sink).local_addresses().to_vec();
    let mut time_s = 0.0;
    let id = loop {
        if let Some(id) = sim.app::<Sink>(sink).and_then(|a| a.report().assoc) {
            break id;
        }
        time_s += STEP_S;
        if time_s > until_s {
            return Ok(());
        }
        sim.run_until(at(time_s));
    };
    for path in sim.endpoint(sink).paths(id) {
        if let Some(from) = way.source(&local, path.remote.ip()) {
            let ip = local[from].ip();
            sim.with_endpoint(sink, |now, e| e.set_source(now, id, path.path, ip))?;
        }
    }
    Ok(())
}

fn endpoint(host: &Host, scenario: &Scenario, seed: u8) -> EndpointConfig {
    let local = host.interfaces.iter().map(|n| destination(*n)).collect();
    let mut config = EndpointConfig::new(PORT, local, [seed; 32]);
    config.checksum = ChecksumMode::Offloaded;
    let settings = settings::config(host, scenario.build());
    config.dialect = settings.dialect();
    config.accepted = settings.core;
    config
}

fn app(scenario: &Scenario, ours: &Host, peers: &Host) -> Result<Sender> {
    let (begin, bytes) = scenario
        .events
        .iter()
        .find_map(|e| match e.what {
            What::AppStart => Some((e.time_s, None)),
            What::AppSend { bytes } => Some((e.time_s, Some(bytes))),
            _ => None,
        })
        .ok_or_else(|| anyhow!("{}: no data is sent", scenario.name))?;
    let p = &ours.params;
    // A finite source is cut at the MTU, less the timestamp, on one stream.
    let stamp = if ours.agent_class.contains("Timestamp") {
        TIMESTAMP
    } else {
        0
    };
    let (message, streams) = match bytes {
        Some(_) => (p.mtu - HEADERS - stamp, 1),
        None => (p.data_chunk_size - DATA_HEADER, p.num_out_streams),
    };
    // ns-2 goes round its destinations in the order in which they were added,
    // and its primary is the last one unless another one is chosen.
    let primary = ours
        .primary_destination
        .or(peers.interfaces.last().copied());
    let mut peer = peers.interfaces.clone();
    let first = peer.iter().position(|n| Some(*n) == primary).unwrap_or(0);
    peer.rotate_left(first);
    let peer = peer.into_iter().map(destination).collect();
    let config = settings::config(ours, scenario.build()).core;
    let message = message as usize;
    let sender = match bytes {
        Some(bytes) => Sender::bulk(peer, PORT, config, bytes, message),
        None => Sender::endless(peer, PORT, config, message),
    };
    // ns-2's associations do not end.
    let sender = sender.keep_open().begin_at(at(begin)).streams(streams);
    Ok(sender.unordered(p.unordered != 0))
}

/// What happens at a set time, apart from the network's changes, which it knows.
fn act(sim: &mut Simulation, source: HostId, what: &What) -> Result<()> {
    match what {
        What::AppStop => sim.silence(source),
        What::SetPrimary { dest } => {
            let id = association(sim, source)?;
            let ip = address(*dest);
            let paths = sim.endpoint(source).paths(id);
            let path = paths
                .iter()
                .find(|p| p.remote.ip() == ip)
                .ok_or_else(|| anyhow!("{ip} is no destination"))?
                .path;
            sim.with_endpoint(source, |now, e| e.set_primary(now, id, path))?;
        }
        What::ForceSource { source: node } => {
            let id = association(sim, source)?;
            for path in sim.endpoint(source).paths(id) {
                let from = address(*node);
                sim.with_endpoint(source, |now, e| e.set_source(now, id, path.path, from))?;
            }
        }
        What::AppStart | What::AppSend { .. } => {}
        What::LinkDown { .. } | What::LinkUp { .. } | What::End => {}
    }
    Ok(())
}

fn association(sim: &Simulation, source: HostId) -> Result<byway_core::AssocId> {
    let app = sim.app::<Sender>(source);
    app.and_then(|a| a.report().assoc)
        .ok_or_else(|| anyhow!("there is no association yet"))
}

/// The network's log as a trace.
fn trace(
    log: &[LogEntry],
    notes: &[Note],
    ends: &BTreeMap<LinkId, (u32, u32)>,
    end: Instant,
) -> Trace {
    let mut trace = Trace::new();
    let mut add = |what: Happening, at: Instant, (from, to): (u32, u32), note: &Note| {
        for chunk in &note.chunks {
            trace.entry((what, from, to)).or_default().push(Row {
                time_s: at.as_nanos() as f64 / 1e9,
                chunk: *chunk,
                size: note.size,
            });
        }
    };
    for entry in log {
        let ends = entry.link.and_then(|l| ends.get(&l));
        let (Some(ends), Some(note)) = (ends, notes.get(entry.meta as usize)) else {
            continue;
        };
        match entry.what {
            LogKind::Forwarded { arrives } => {
                add(Happening::Send, entry.at, *ends, note);
                if arrives <= end {
                    add(Happening::Recv, arrives, *ends, note);
                }
            }
            // ns-2 traces nothing that is offered to a link that is down.
            LogKind::Dropped(DropReason::LinkDown) => {}
            LogKind::Dropped(_) => {
                add(Happening::Send, entry.offered, *ends, note);
                add(Happening::Drop, entry.at, *ends, note);
            }
        }
    }
    for rows in trace.values_mut() {
        rows.sort_by(|a, b| a.time_s.total_cmp(&b.time_s));
    }
    trace
}
