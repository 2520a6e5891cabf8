//! Who is served while strangers flood and one peer takes all that it gets: nobody is starved. How large the
//! shares are depends on the machine, and is measured (`cargo xtask measure hostile`); a clock only ends a
//! test that hangs.

use crate::stranger::{self, PORT};
use byway::{Association, Endpoint, EndpointOptions, Message};
use byway_wire::{InitFields, PacketBuilder, Tsn};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const GOOD: usize = 4;
const MESSAGES: u64 = 300;
const HOSTILE: u64 = 10_000;
/// Packets of strangers that wait at the socket at most: what finds its buffer full is lost before byway sees it, a
/// good peer's INIT, too, and an INIT is repeated seven times in two minutes.
const WAITING: u64 = 96;
const LENGTH: usize = 10_000;
/// Messages of the one that takes all, beside the flood: more than was under way when it began.
const GREEDY: u64 = 100;

/// Packets of strangers, from two addresses and many ports, as fast as they are read, until it is dropped.
struct Flood {
    stop: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Flood {
    fn start(server: Arc<Endpoint>) -> Flood {
        let to = server.local_addresses()[0];
        let (stop, sent) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicU64::new(0)),
        );
        let (stopped, count) = (stop.clone(), sent.clone());
        let thread = std::thread::spawn(move || {
            let sources: Vec<UdpSocket> = (0..32)
                .map(|n| UdpSocket::bind(SocketAddr::from(([127, 0, 9, n % 2], 0))).unwrap())
                .collect();
            let packets = [init(), out_of_the_blue(), vec![0xff; 100]];
            while !stopped.load(Ordering::Relaxed) {
                let before = read(&server);
                for n in 0..WAITING as usize {
                    if sources[n % 32].send_to(&packets[n % 3], to).is_ok() {
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                }
                // Some may be lost all the same, as the one that takes all fills the buffer, too.
                let patience = Instant::now() + Duration::from_millis(5);
                while read(&server) < before + WAITING && Instant::now() < patience {
                    std::thread::sleep(Duration::from_micros(50));
                }
            }
        });
        Flood {
            stop,
            sent,
            thread: Some(thread),
        }
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Packets of strangers that the endpoint has read.
fn read(server: &Endpoint) -> u64 {
    let stats = server.stats();
    stats.malformed + stats.bad_checksums + stats.out_of_the_blue + stats.inits
}

fn packet(tag: u32, write: impl FnOnce(&mut PacketBuilder<'_>)) -> Vec<u8> {
    stranger::packet(4000, tag, write)
}

fn init() -> Vec<u8> {
    let fields = InitFields {
        initiate_tag: 9,
        a_rwnd: 65_536,
        outbound_streams: 1,
        inbound_streams: 1,
        initial_tsn: Tsn(1),
    };
    packet(0, |p| p.init(false, &fields, |_| {}))
}

fn out_of_the_blue() -> Vec<u8> {
    packet(77, |p| p.heartbeat(b"out of the blue"))
}

/// A peer of an address of its own. It goes with its endpoint.
async fn connect(to: &[SocketAddr], host: u8) -> (Endpoint, Association) {
    let local = SocketAddr::from(([127, 0, 8, host], 0));
    let endpoint = Endpoint::bind(EndpointOptions::new([local])).unwrap();
    let association = endpoint.connect(to, PORT).await.unwrap();
    (endpoint, association)
}

async fn bounded<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(120), work)
        .await
        .expect("somebody is starved")
}

/// Sends without end, as fast as it may.
async fn take_all(association: Association) {
    while (association.send(Message::new(0, vec![1; 50_000])).await).is_ok() {}
}

/// Reads what its peer sends, and counts the messages.
async fn count(association: Association, came: Arc<AtomicU64>) {
    while association.recv().await.is_some() {
        came.fetch_add(1, Ordering::Relaxed);
    }
}

// One of the peers sends without end, and strangers flood the same socket, all the time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn newcomers_and_good_peers_get_through_beside_a_flood_and_a_peer_that_takes_all() {
    let local = SocketAddr::from(([127, 0, 0, 1], 0));
    let server = Endpoint::bind(EndpointOptions::new([local]).sctp_port(PORT)).unwrap();
    let server = Arc::new(server);
    let to = server.local_addresses();
    let greedy = connect(&to, 100).await;
    let accepted = server.accept().await.unwrap();
    let taken = Arc::new(AtomicU64::new(0));
    tokio::spawn(count(accepted, taken.clone()));
    let taking = tokio::spawn(take_all(greedy.1));
    let flood = Flood::start(server.clone());
    // Newcomers come in, and each sends the same.
    let mut peers = Vec::new();
    for host in 0..GOOD as u8 {
        let (peer, accepted) = bounded(async {
            let (peer, accepted) = tokio::join!(connect(&to, host + 1), server.accept());
            (peer, accepted.unwrap())
        })
        .await;
        let came = Arc::new(AtomicU64::new(0));
        tokio::spawn(count(accepted, came.clone()));
        peers.push((peer, came));
    }
    // Each goes on until the flood was one, and met the rate of answers, and the one that takes all got on beside it.
    let hostile = flood.sent.clone();
    let now = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let before = (now(&hostile), now(&taken), server.stats().answers_withheld);
    let lasts = || {
        now(&hostile) < before.0 + HOSTILE
            || now(&taken) < before.1 + GREEDY
            || server.stats().answers_withheld == before.2
    };
    bounded(async {
        let mut sent = 0;
        while sent < MESSAGES || lasts() {
            for ((_, association), _) in &peers {
                let message = Message::new(0, vec![7; LENGTH]);
                association.send(message).await.unwrap();
            }
            sent += 1;
        }
        while peers.iter().any(|(_, c)| c.load(Ordering::Relaxed) < sent) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    assert!(!taking.is_finished());
    taking.abort();
    drop(flood);
}
