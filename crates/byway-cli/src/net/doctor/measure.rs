//! One pair of addresses: an association over it alone, heartbeats, and some data.

use super::super::ending::Ending;
use super::super::exchange::{Exchange, FILES};
use super::super::protect::{Channel, Credentials, enter};
use super::super::protocol::Note;
use crate::below::{BelowArgs, EncapsulationArg};
use bytes::Bytes;
use byway::text::shown;
use byway::{
    Association, Closed, Config, ConnectError, Endpoint, EndpointOptions, LossReason, Passing,
    Rule, Watcher,
};
use byway_wire::Packet;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Bytes that measure the rate, at most.
const MOST_BYTES: usize = 4_000_000;
const BLOCK: usize = 32 * 1024;
/// How long they are sent, at most.
const SENDING: Duration = Duration::from_secs(1);
/// How long the answers of the receiver may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long the end of the association may take.
const GOODBYE: Duration = Duration::from_secs(1);
/// How long the search for the packet size may take, and how long it has not changed when it
/// is over.
const MTU_SEARCH: Duration = Duration::from_secs(12);
const MTU_STILL: Duration = Duration::from_millis(2500);

/// The discard port (RFC 863).
const DISCARD: u16 = 9;

/// How a pair is measured.
pub(super) struct Effort {
    pub(super) port: u16,
    /// How this side is let in, beside a receiver with a ticket.
    pub(super) credentials: Option<Credentials>,
    pub(super) wait: Duration,
    pub(super) heartbeats: u32,
    pub(super) asks: bool,
    pub(super) below: BelowArgs,
    pub(super) config: Config,
}

/// A pair of addresses, and what came of it.
pub(super) struct Pair {
    pub(super) local: SocketAddr,
    pub(super) remote: SocketAddr,
    /// Why it does not answer.
    pub(super) answer: Result<Answer, Silence>,
}

/// Why a pair does not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Silence {
    /// The kernel or a router refuses.
    Refused(String),
    /// The host says that nothing listens on this UDP port, or without UDP, that nothing takes
    /// SCTP.
    NobodyListens,
    /// SCTP without UDP gets no answer from a host that is up.
    OnlySctp,
    /// The SCTP port is wrong: an ABORT came back.
    WrongPort(String),
    /// Nothing comes back.
    Nothing,
    /// So many packets came that are not those of an SCTP peer, and no association was set up.
    Unsound(u64),
    /// So many packets came, of a peer whose association was not set up in time.
    Incomplete(u64),
    /// This side cannot begin.
    Local(String),
}

/// What was measured.
pub(super) struct Answer {
    /// Until the association was established.
    pub(super) setup: Duration,
    /// Round trips of heartbeats, the shortest first.
    pub(super) round_trips: Vec<Duration>,
    /// Heartbeats sent.
    pub(super) sent: u32,
    /// The largest packet that passes, bytes; whether it is the most that was tried.
    pub(super) mtu: u32,
    pub(super) mtu_is_bound: bool,
    /// Bits a second.
    pub(super) rate: Option<f64>,
    /// The addresses of this side as the receiver sees them; none if it was not asked or does
    /// not answer.
    pub(super) seen: Option<Vec<SocketAddr>>,
    /// Why the receiver did not let this side in.
    pub(super) refused: Option<String>,
    /// The UDP port of this side.
    pub(super) port: u16,
    /// Addresses that the other side named.
    pub(super) listed: Vec<SocketAddr>,
}

impl Answer {
    /// The round trip that this share of the heartbeats did not exceed.
    pub(super) fn round_trip(&self, share: f64) -> Option<Duration> {
        let last = self.round_trips.len().checked_sub(1)?;
        let place = (share * last as f64).round() as usize;
        self.round_trips.get(place).copied()
    }

    /// Heartbeats that were not answered.
    pub(super) fn lost(&self) -> u32 {
        self.sent.saturating_sub(self.round_trips.len() as u32)
    }
}

/// Measures a pair.
pub(super) async fn pair(
    local: SocketAddr,
    remote: SocketAddr,
    effort: &Effort,
    ending: &Ending,
) -> Pair {
    let heard = Heard::of(remote);
    let mut options = options(local, remote, effort).config(effort.config.clone());
    options.accept = false;
    options.watcher = Some(heard.clone());
    let answer = match Endpoint::bind(options) {
        Err(e) => Err(Silence::Local(e.to_string())),
        Ok(endpoint) => {
            ending.aborts(&endpoint);
            let answer = with(&endpoint, &heard, remote, effort).await;
            ending.abort(endpoint, b"byway doctor is done").await;
            answer
        }
    };
    Pair {
        local,
        remote,
        answer,
    }
}

/// The longest wait for an answer without UDP where nobody asked for it.
const BRIEFLY: Duration = Duration::from_secs(2);

/// Whether SCTP without UDP is answered between the addresses of a pair, beside those that were
/// asked for; none where this process may not try.
pub(super) async fn without_udp(
    pair: &Pair,
    effort: &Effort,
    ending: &Ending,
) -> Option<Result<(), Silence>> {
    let below = BelowArgs {
        encapsulation: EncapsulationArg::None,
        ..effort.below
    };
    let (local, remote) = (any_port(pair.local), any_port(pair.remote));
    let heard = Heard::of(remote);
    let mut options = below.options(vec![local]).config(effort.config.clone());
    options.accept = false;
    options.watcher = Some(heard.clone());
    let endpoint = Endpoint::bind(options).ok()?;
    ending.aborts(&endpoint);
    let wait = effort.wait.min(BRIEFLY);
    let answer = set_up(&endpoint, &heard, (remote, effort.port), wait).await;
    ending.abort(endpoint, b"byway doctor is done").await;
    Some(answer.map(drop))
}

/// The same address, of one link or not.
fn any_port(mut address: SocketAddr) -> SocketAddr {
    address.set_port(0);
    address
}

/// Without UDP if the address of the other side has no UDP port.
fn options(local: SocketAddr, remote: SocketAddr, effort: &Effort) -> EndpointOptions {
    let mut below = effort.below;
    if remote.port() != 0 {
        below.encapsulation = EncapsulationArg::Udp;
        return below.options(vec![local]);
    }
    below.encapsulation = EncapsulationArg::None;
    below.options(vec![any_port(local)])
}

/// What comes from the host of an address: others may send to this endpoint, too.
#[derive(Debug)]
struct Heard {
    host: IpAddr,
    /// Packets.
    all: AtomicU64,
    /// Of these, such as are none of SCTP, or were changed on the way.
    garbled: AtomicU64,
}

impl Heard {
    fn of(remote: SocketAddr) -> Arc<Heard> {
        Arc::new(Heard {
            host: remote.ip(),
            all: AtomicU64::new(0),
            garbled: AtomicU64::new(0),
        })
    }

    /// What it means that no association was set up by this endpoint; none if nothing has come.
    fn silence(&self, endpoint: &Endpoint) -> Option<Silence> {
        // Both are counted only of what comes from the address of the peer, or has its tag.
        let refusals = endpoint.stats().refusals;
        let not_taken = refusals.of(Rule::WrongTag) + refusals.of(Rule::BadChunk);
        let unsound = self.garbled.load(Ordering::Relaxed) + not_taken;
        match (self.all.load(Ordering::Relaxed), unsound) {
            (0, _) => None,
            (all, 0) => Some(Silence::Incomplete(all)),
            (_, unsound) => Some(Silence::Unsound(unsound)),
        }
    }
}

impl Watcher for Heard {
    fn wants_packets(&self) -> bool {
        true
    }

    fn packet(&self, passing: Passing<'_>) {
        if passing.sent || passing.remote.ip() != self.host {
            return;
        }
        self.all.fetch_add(1, Ordering::Relaxed);
        let is_sound = Packet::parse(passing.packet).is_ok_and(|packet| {
            packet.checksum_is_valid() && packet.chunks().next().is_some_and(|c| c.is_ok())
        });
        if !is_sound {
            self.garbled.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Sets an association up, the only one of the endpoint, with this address and SCTP port.
async fn set_up(
    endpoint: &Endpoint,
    heard: &Heard,
    (remote, port): (SocketAddr, u16),
    wait: Duration,
) -> Result<Association, Silence> {
    let to = [remote];
    let setup = endpoint.connect(&to, port);
    let silence = match tokio::time::timeout(wait, setup).await {
        Ok(Ok(association)) => return Ok(association),
        Ok(Err(e)) => silence(&e),
        Err(_) => Silence::Nothing,
    };
    if silence != Silence::Nothing {
        return Err(silence);
    }
    let local = endpoint.local_addresses();
    Err(match knock(local.first().copied(), remote) {
        // What the host has sent says more than that it is up.
        silence @ (Silence::Nothing | Silence::OnlySctp) => {
            heard.silence(endpoint).unwrap_or(silence)
        }
        refused => refused,
    })
}

async fn with(
    endpoint: &Endpoint,
    heard: &Heard,
    remote: SocketAddr,
    effort: &Effort,
) -> Result<Answer, Silence> {
    let begun = Instant::now();
    let association = set_up(endpoint, heard, (remote, effort.port), effort.wait).await?;
    let setup = begun.elapsed();
    // At once: who does not show a ticket is not waited for.
    let (channel, refused) = match let_in(&association, effort).await {
        Ok(channel) => (Some(channel), None),
        Err(why) => (None, why),
    };
    let (mtu, mtu_is_bound) = settled_mtu(&association, remote).await;
    let (round_trips, sent) = heartbeats(&association, remote, effort.heartbeats).await;
    let (mut seen, mut rate) = (None, None);
    if let Some(channel) = &channel
        && let Ok(Some(found)) = tokio::time::timeout(PATIENCE, asked(channel)).await
    {
        (seen, rate) = (Some(found.0), found.1);
    }
    let listed = association.paths().iter().map(|p| p.remote).collect();
    // In good order if the other side has the time; the caller aborts what is left.
    let _ = tokio::time::timeout(GOODBYE, association.shutdown()).await;
    let ports = endpoint.local_addresses();
    Ok(Answer {
        setup,
        round_trips,
        sent,
        mtu,
        mtu_is_bound,
        rate,
        seen,
        refused,
        port: ports.first().map_or(0, SocketAddr::port),
        listed,
    })
}

fn silence(error: &ConnectError) -> Silence {
    match error {
        ConnectError::Failed {
            closed:
                Closed::Lost {
                    reason: LossReason::ProtocolUnreachable | LossReason::PortUnreachable,
                    ..
                },
            ..
        } => Silence::NobodyListens,
        ConnectError::Failed {
            closed:
                Closed::Lost {
                    reason: LossReason::AbortedByPeer(_),
                    ..
                },
            ..
        } => Silence::WrongPort(shown(&error.to_string())),
        ConnectError::Refused(_) => Silence::Local(error.to_string()),
        _ => Silence::Nothing,
    }
}

/// Asks the kernel what became of a single UDP byte: ICMP messages reach a connected socket.
/// Without UDP it goes to the discard port, where nobody listens: if the host says so, it is up.
fn knock(local: Option<SocketAddr>, mut remote: SocketAddr) -> Silence {
    use std::io::ErrorKind;
    let without_udp = remote.port() == 0;
    if without_udp {
        remote.set_port(DISCARD);
    }
    let ask = || {
        let from = local.map_or(remote, any_port);
        let socket = UdpSocket::bind(from)?;
        socket.connect(remote)?;
        socket.set_read_timeout(Some(Duration::from_millis(800)))?;
        socket.send(&[0])?;
        socket.recv(&mut [0; 16])
    };
    match ask() {
        Err(e) if e.kind() == ErrorKind::ConnectionRefused && without_udp => Silence::OnlySctp,
        Err(e) if e.kind() == ErrorKind::ConnectionRefused => Silence::NobodyListens,
        Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            Silence::Nothing
        }
        Err(e) => Silence::Refused(e.to_string()),
        Ok(_) => Silence::Nothing,
    }
}

/// The size of packets, once the search for it is over, and whether no larger one is tried.
async fn settled_mtu(association: &Association, remote: SocketAddr) -> (u32, bool) {
    let look = || {
        let paths = association.paths();
        let path = paths.iter().find(|p| p.remote == remote);
        path.map_or((0, false), |p| (p.pmtu, p.pmtu >= p.largest_pmtu))
    };
    let begun = Instant::now();
    let (mut last, mut changed) = (look(), begun);
    while !last.1 && changed.elapsed() < MTU_STILL && begun.elapsed() < MTU_SEARCH {
        tokio::time::sleep(Duration::from_millis(5)).await;
        let now = look();
        if now.0 != last.0 {
            changed = Instant::now();
        }
        last = now;
    }
    last
}

/// Sends heartbeats to the address one after the other; the round trips of those that were
/// answered, in order of length, and how many were sent.
async fn heartbeats(
    association: &Association,
    remote: SocketAddr,
    count: u32,
) -> (Vec<Duration>, u32) {
    let received = || {
        let paths = association.paths();
        let path = paths.iter().find(|p| p.remote == remote)?;
        Some((
            path.path,
            path.bytes_received,
            path.srtt.unwrap_or_default(),
        ))
    };
    let mut found = Vec::new();
    let mut sent = 0;
    for _ in 0..count {
        let Some((path, before, srtt)) = received() else {
            break;
        };
        if association.request_heartbeat(path).is_err() {
            break;
        }
        sent += 1;
        let begun = Instant::now();
        let most = (srtt * 3 + Duration::from_millis(50))
            .clamp(Duration::from_millis(200), Duration::from_secs(3));
        loop {
            let elapsed = begun.elapsed();
            if received().is_some_and(|(_, now, _)| now > before) {
                found.push(elapsed);
                break;
            }
            if elapsed > most {
                break;
            }
            // The driver works in other threads; tokio's timers tick in milliseconds.
            std::thread::sleep(Duration::from_micros(40));
            tokio::task::yield_now().await;
        }
    }
    found.sort();
    (found, sent)
}

/// The channel on which the receiver is asked; why there is none, if it did not want to.
async fn let_in(association: &Association, effort: &Effort) -> Result<Channel, Option<String>> {
    match &effort.credentials {
        _ if !effort.asks => Err(None),
        None => Ok(Channel::plain(association.clone())),
        Some(credentials) => enter(association, credentials, FILES, effort.wait)
            .await
            .map_err(|failure| Some(failure.message)),
    }
}

/// What the receiver sees of this side, and the rate of some data; none if it does not
/// understand.
async fn asked(channel: &Channel) -> Option<(Vec<SocketAddr>, Option<f64>)> {
    let mut exchange = Exchange::new(channel);
    exchange.send(&Note::Ask).await.ok()?;
    let Ok(Some(Note::Seen { addresses })) = exchange.receive().await else {
        return None;
    };
    let seen = addresses
        .split(',')
        .filter_map(|a| a.parse().ok())
        .collect();
    let block = Note::Data(Bytes::from(vec![0; BLOCK]));
    let begun = Instant::now();
    let mut bytes = 0;
    while bytes < MOST_BYTES && begun.elapsed() < SENDING {
        if exchange.send(&block).await.is_err() {
            return Some((seen, None));
        }
        bytes += BLOCK;
    }
    let end = Note::End { hash: [0; 32] };
    let stored = exchange.send(&end).await.is_ok()
        && matches!(exchange.receive().await, Ok(Some(Note::Stored)));
    let rate = bytes as f64 * 8.0 / begun.elapsed().as_secs_f64().max(1e-6);
    Some((seen, stored.then_some(rate)))
}
