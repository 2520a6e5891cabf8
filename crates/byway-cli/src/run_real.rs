//! `byway run --real`: a scenario's policies with sockets of this host, in real time.
//!
//! Sender and receiver are endpoints of this process. Between them are the relays of
//! `byway emulate --relay`, one for each path, and on them the simulator's links. Path *i* is between
//! 127.*i*.0.1 and 127.*i*.0.2: the loopback interface has them all, so no rights are needed.

use crate::args::RunArgs;
use crate::emulate::{Cuts, RelayArg, Relays, Thread};
use crate::failure::{Failure, Kind};
use crate::terminal::say;
use bytes::Bytes;
use byway::{Association, Closed, ConnectError, Endpoint, EndpointOptions, Message, Watcher};
use byway_core::Config;
use byway_core::config::Pmtu;
use byway_core::observe::Observed;
use byway_lab::emulation::Emulation;
use byway_lab::measured::Measured;
use byway_lab::result::{Comparison, RunResult};
use byway_lab::run::compared;
use byway_lab::scenario::{Policy, Scenario, Traffic};
use byway_lab::units::format_duration;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// What a packet in UDP has more than the simulated one.
const UDP_HEADER: u32 = 8;
/// The IPv4 header of a simulated packet: as if there were no UDP.
const HEADERS: usize = 20;
/// Time between two looks at whether all has arrived.
const LOOK: Duration = Duration::from_millis(5);

pub(crate) fn run(scenario: &Scenario, args: &RunArgs) -> Result<Comparison, Failure> {
    for policy in &scenario.policies {
        if policy.config.dialect().is_some() {
            return Err(Failure::wrong(format!(
                "policy \"{}\" has settings ns2.*, which the simulator alone has; leave it out with --only",
                policy.name
            )));
        }
    }
    let cancel = Arc::new(AtomicBool::new(false));
    Failure::watch_signals(&cancel)?;
    let scenario = Arc::new(scenario.drawn().into_owned());
    if !args.json {
        say(format_args!(
            "in real time, at most {}",
            format_duration(scenario.limit)
        ));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|e| Failure::new(Kind::Failed, format!("cannot start the runtime: {e}")))?;
    let results = runtime.block_on(async {
        let runs: Vec<_> = (0..scenario.policies.len())
            .map(|i| tokio::spawn(one(Arc::clone(&scenario), i, Arc::clone(&cancel))))
            .collect();
        let mut results = Vec::new();
        for run in runs {
            let failed = |e| Failure::new(Kind::Failed, format!("a run has failed: {e}"));
            results.push(run.await.map_err(failed)??);
        }
        Ok::<_, Failure>(results)
    })?;
    Failure::watched_to_the_end(&cancel)?;
    let mut comparison = compared(&scenario, results);
    comparison
        .scenario
        .description
        .push_str(" In real time, over sockets.");
    Ok(comparison)
}

/// The sender's address on a path, counted from 0.
fn sender(path: usize) -> IpAddr {
    Ipv4Addr::new(127, path as u8 + 1, 0, 1).into()
}

/// The receiver's.
fn receiver(path: usize) -> IpAddr {
    Ipv4Addr::new(127, path as u8 + 1, 0, 2).into()
}

/// What is seen of a run, until it is over.
type Seen = Arc<Mutex<Option<Measured>>>;

fn lock(seen: &Seen) -> MutexGuard<'_, Option<Measured>> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the policy at place `index`.
async fn one(
    scenario: Arc<Scenario>,
    index: usize,
    cancel: Arc<AtomicBool>,
) -> Result<RunResult, Failure> {
    let begun = Instant::now();
    let measured = Measured::new(&scenario, index, sender, receiver);
    let seen: Seen = Arc::new(Mutex::new(Some(measured)));
    let config = config(&scenario.policies[index], &scenario.traffic);
    let bind = |sends: bool| {
        let address = if sends { sender } else { receiver };
        let local = (0..scenario.paths.len()).map(|i| SocketAddr::new(address(i), 0));
        let mut options = EndpointOptions::new(local).config(config.clone());
        options.watcher = Some(Arc::new(Watching {
            sends,
            base: begun.elapsed(),
            seen: Arc::clone(&seen),
        }));
        Endpoint::bind(options)
    };
    let (server, client) = (bind(false)?, bind(true)?);
    let relays: Vec<RelayArg> = server
        .local_addresses()
        .iter()
        .enumerate()
        .map(|(i, target)| RelayArg {
            listen: (receiver(i), 0).into(),
            target: *target,
            source: Some(sender(i)),
        })
        .collect();
    let mut relays = Relays::open(&relays, &scenario)?.headers(HEADERS);
    relays.expect(&client.local_addresses());
    let peer = relays.listens();
    let refused = |e| Failure::wrong(format!("the scenario's network cannot be built: {e}"));
    let emulation = Emulation::new(&scenario).map_err(refused)?;
    let links = Thread::start(move |stop| relays.carry(emulation, &Cuts::default(), begun, stop));
    let reading = tokio::spawn(read(server.clone(), Arc::clone(&seen), begun));
    let lost = tokio::select! {
        lost = send(&client, &peer, server.sctp_port(), &scenario.traffic, begun) => lost.map(Some),
        () = complete(&seen) => Ok(None),
        () = sleep(scenario.limit) => Ok(None),
        () = told(&cancel) => Err(Failure::signal()),
    };
    let end = begun.elapsed();
    let measured = lock(&seen).take();
    reading.abort();
    client.abort(b"the run is over").await;
    server.abort(b"the run is over").await;
    links.end()?;
    let lost = lost?;
    let nothing = || Failure::new(Kind::Failed, "nothing of the run is left");
    measured
        .map(|measured| measured.finish(end, lost))
        .ok_or_else(nothing)
}

/// The policy's settings, for packets that have the simulated ones' payload.
fn config(policy: &Policy, traffic: &Traffic) -> Config {
    let (Traffic::Bulk { streams, .. } | Traffic::Periodic { streams, .. }) = *traffic;
    let mut config = policy.config.core.clone();
    config.setup.outbound_streams = config.setup.outbound_streams.max(streams);
    // The loopback interface would allow 65,536.
    let simulated = match config.pmtu {
        Pmtu::INTERFACE => Pmtu::default(),
        given => given,
    };
    config.pmtu = Pmtu((simulated.0 + UDP_HEADER).min(Pmtu::INTERFACE.0));
    if let Some(search) = &mut config.mtu_discovery {
        search.base += UDP_HEADER;
    }
    config
}

/// Sends the traffic and keeps the association; why it was lost, if it is.
async fn send(
    client: &Endpoint,
    peer: &[SocketAddr],
    port: u16,
    traffic: &Traffic,
    begun: Instant,
) -> Result<String, Failure> {
    let (Traffic::Bulk { start, .. } | Traffic::Periodic { start, .. }) = *traffic;
    sleep(start.saturating_sub(begun.elapsed())).await;
    let association = match client.connect(peer, port).await {
        Ok(association) => association,
        Err(ConnectError::Failed { closed, .. }) => return Ok(reason(&closed)),
        Err(e) => return Err(e.into()),
    };
    // What ends it is told by `closed`.
    let _ = match *traffic {
        Traffic::Bulk {
            size,
            message,
            streams,
            ..
        } => bulk(&association, size.0, message.0, streams).await,
        Traffic::Periodic {
            message,
            every,
            count,
            streams,
            ..
        } => periodic(&association, message.0, (every, count), streams).await,
    };
    Ok(reason(&association.closed().await))
}

fn reason(closed: &Closed) -> String {
    match closed {
        Closed::Lost { reason, .. } => reason.to_string(),
        other => other.to_string(),
    }
}

/// So many bytes: their content does not matter.
fn filled(bytes: u64) -> Bytes {
    vec![7; usize::try_from(bytes).unwrap_or(0)].into()
}

async fn bulk(
    association: &Association,
    size: u64,
    message: u64,
    streams: u16,
) -> Result<(), byway::SendError> {
    let whole = filled(message);
    let mut left = size;
    for stream in (0..streams).cycle() {
        let part = whole.slice(..whole.len().min(usize::try_from(left).unwrap_or(usize::MAX)));
        left -= part.len() as u64;
        association.send(Message::new(stream, part)).await?;
        if left == 0 {
            break;
        }
    }
    Ok(())
}

async fn periodic(
    association: &Association,
    message: u64,
    (every, count): (Duration, u64),
    streams: u16,
) -> Result<(), byway::SendError> {
    let whole = filled(message);
    let mut due = tokio::time::Instant::now();
    for (_, stream) in (0..count).zip((0..streams).cycle()) {
        tokio::time::sleep_until(due).await;
        association
            .send(Message::new(stream, whole.clone()))
            .await?;
        due += every;
    }
    Ok(())
}

/// Takes what arrives.
async fn read(server: Endpoint, seen: Seen, begun: Instant) {
    while let Some(association) = server.accept().await {
        while let Some(received) = association.recv().await {
            if let Some(measured) = &mut *lock(&seen) {
                measured.delivery(begun.elapsed(), received.payload.len() as u64);
            }
        }
    }
}

/// Waits until all has been delivered and acknowledged.
async fn complete(seen: &Seen) {
    while !lock(seen).as_ref().is_some_and(Measured::is_complete) {
        sleep(LOOK).await;
    }
}

/// Waits for a signal.
async fn told(cancel: &AtomicBool) {
    while !cancel.load(Ordering::Relaxed) {
        sleep(LOOK).await;
    }
}

/// What an endpoint observes.
#[derive(Debug)]
struct Watching {
    sends: bool,
    /// When its clock began.
    base: Duration,
    seen: Seen,
}

impl Watcher for Watching {
    fn wants_observations(&self) -> bool {
        true
    }

    fn observed(&self, observed: &[Observed], core: &byway_core::Endpoint) {
        if let Some(measured) = &mut *lock(&self.seen) {
            match self.sends {
                true => measured.sender(self.base, observed, core),
                false => measured.receiver(self.base, observed, core),
            }
        }
    }
}
