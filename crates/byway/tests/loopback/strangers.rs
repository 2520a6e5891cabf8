//! Packets of strangers to a running endpoint.

use crate::common::bounded;
use crate::stranger::{PORT, Stranger, init as init_fields, packet as packet_of};
use byway::{Endpoint, EndpointOptions, Message};
use byway_wire::{PacketBuilder, ParamWriter, chunk_type};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

fn packet(tag: u32, write: impl FnOnce(&mut PacketBuilder<'_>)) -> Vec<u8> {
    packet_of(4000, tag, write)
}

fn init(params: impl FnOnce(&mut ParamWriter<'_>)) -> Vec<u8> {
    packet(0, |p| p.init(false, &init_fields(), params))
}

fn server(addresses: u8) -> Endpoint {
    let local = (1..=addresses).map(|n| SocketAddr::from(([127, 0, 0, n], 0)));
    Endpoint::bind(EndpointOptions::new(local).sctp_port(PORT)).unwrap()
}

/// A socket whose reads end after a while.
fn stranger() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let wait = Some(Duration::from_millis(300));
    socket.set_read_timeout(wait).unwrap();
    socket
}

/// R7: a symmetric translator gives what its client sends to each address of a server a UDP port of
/// its own, here a socket of its own. Each hears of that address alone, as a translator would pass it.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn each_address_answers_the_port_that_it_was_asked_from() {
    let server = server(2);
    let to = server.local_addresses();
    let at = [127, 0, 0, 9];
    let mut first = Stranger::at(to[0], at);
    assert!(first.set_up(4000, &init_fields(), |_| {}));
    let association = server.accept().await.unwrap();
    let second = Stranger::at(to[1], at);
    assert_ne!(first.local().port(), second.local().port());
    let (port, tag) = first.associations[0];
    for round in 0..3 {
        for (n, stranger) in [&first, &second].into_iter().enumerate() {
            let info = [round, n as u8, 1, 2];
            stranger.send(&packet_of(port, tag, |b| b.heartbeat(&info)));
            let answer = stranger.hear_of(chunk_type::HEARTBEAT_ACK);
            assert!(answer.ends_with(&info), "{answer:?}");
        }
    }
    // Data goes to where the association was set up from.
    association.send(Message::new(0, vec![1])).await.unwrap();
    first.hear_of(chunk_type::DATA);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_init_brings_back_at_most_three_times_its_bytes() {
    for addresses in [1, 8] {
        let server = server(addresses);
        let to = server.local_addresses()[0];
        let unknown = |w: &mut ParamWriter<'_>| {
            for n in 0..300 {
                w.raw(0xc200 + n, &[]);
            }
        };
        for bytes in [init(|_| {}), init(unknown)] {
            let socket = stranger();
            socket.send_to(&bytes, to).unwrap();
            let mut answer = [0; 65_536];
            let got = socket.recv(&mut answer).unwrap();
            assert!(got <= 3 * bytes.len(), "{got} bytes for {}", bytes.len());
            assert!(socket.recv(&mut answer).is_err(), "a second answer");
        }
    }
}

/// Packets of one stranger, as fast as they go, until it is dropped; and what comes back.
struct Flood {
    counts: Arc<Counts>,
    thread: Option<std::thread::JoinHandle<()>>,
}

#[derive(Default)]
struct Counts {
    sent: AtomicUsize,
    answers: AtomicUsize,
    stop: AtomicBool,
}

impl Flood {
    fn start(to: SocketAddr) -> Flood {
        let counts = Arc::new(Counts::default());
        let thread = std::thread::spawn({
            let counts = counts.clone();
            move || counts.run(to)
        });
        Flood {
            counts,
            thread: Some(thread),
        }
    }

    fn sent(&self) -> usize {
        self.counts.sent.load(Ordering::Relaxed)
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.counts.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Counts {
    fn run(&self, to: SocketAddr) {
        let socket = stranger();
        let kinds = [
            init(|_| {}),
            packet(77, |p| p.heartbeat(b"out of the blue")),
        ];
        let hear_all = || {
            while socket.recv(&mut [0; 2048]).is_ok() {
                self.answers.fetch_add(1, Ordering::Relaxed);
            }
        };
        socket.set_nonblocking(true).unwrap();
        for n in (0..).take_while(|_| !self.stop.load(Ordering::Relaxed)) {
            // A full buffer only makes the flood smaller.
            if socket.send_to(&kinds[n % 2], to).is_ok() {
                self.sent.fetch_add(1, Ordering::Relaxed);
            }
            hear_all();
        }
        socket.set_nonblocking(false).unwrap();
        hear_all();
    }
}

// Z -> INITs and packets out of the blue -> A, from before the transfer of another host until after it
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_a_flood_gets_is_limited_and_counted_and_a_good_peer_is_served() {
    let server = server(1);
    let to = server.local_addresses();
    let client = Endpoint::bind(EndpointOptions::new(["127.0.0.3:0".parse().unwrap()])).unwrap();
    let association = client.connect(&to, PORT).await.unwrap();
    let accepted = server.accept().await.unwrap();
    let begun = std::time::Instant::now();
    let flood = Flood::start(to[0]);
    let counts = flood.counts.clone();
    bounded(async {
        let sends = async |least: usize| {
            while flood.sent() < least {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        sends(1000).await;
        for _ in 0..100 {
            let message = Message::new(0, vec![7; 10_000]);
            association.send(message).await.unwrap();
        }
        for _ in 0..100 {
            assert_eq!(accepted.recv().await.unwrap().payload.len(), 10_000);
        }
        sends((flood.sent() + 1).max(20_000)).await;
    })
    .await;
    // What it has to read has been read with it.
    tokio::task::spawn_blocking(|| drop(flood)).await.unwrap();
    // Of each kind 1000 at once, and then 500 a second.
    let most = 2 * (1000 + 500 * (begun.elapsed().as_secs() as usize + 1));
    let answers = counts.answers.load(Ordering::Relaxed);
    assert!((1..=most).contains(&answers), "{answers} of {most}");
    let stats = server.stats();
    assert!(stats.out_of_the_blue > 2000, "{stats:?}");
    assert!(stats.answers_withheld > 1000, "{stats:?}");
}

/// The UDP ports of the peers of all sockets of this machine that are bound to a port over IPv4; 0
/// for a socket that all share.
#[cfg(target_os = "linux")]
fn peers_of(port: u16) -> Vec<u16> {
    let table = std::fs::read_to_string("/proc/net/udp").unwrap();
    let local = format!(":{port:04X}");
    let peer = |line: &str| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let (at, peer) = (fields.next()?, fields.next()?);
        let hex = peer.rsplit(':').next().filter(|_| at.ends_with(&local))?;
        u16::from_str_radix(hex, 16).ok()
    };
    table.lines().filter_map(peer).collect()
}

#[cfg(target_os = "linux")]
fn sockets_of(port: u16) -> usize {
    peers_of(port).len()
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_busy_peer_is_received_on_a_socket_of_its_own() {
    let server = server(1);
    let to = server.local_addresses();
    let port = to[0].port();
    let client = Endpoint::bind(EndpointOptions::new(["127.0.0.1:0".parse().unwrap()])).unwrap();
    let association = client.connect(&to, PORT).await.unwrap();
    let accepted = server.accept().await.unwrap();
    assert_eq!(sockets_of(port), 1, "a quiet peer has none");
    let mut sent = 0;
    while sockets_of(port) == 1 {
        // Two buffers at least: one holds 64 KiB.
        association
            .send(Message::new(0, vec![7; 100_000]))
            .await
            .unwrap();
        assert_eq!(accepted.recv().await.unwrap().payload.len(), 100_000);
        sent += 1;
        assert!(sent < 2000, "no socket after {sent} messages");
    }
    // Everything still arrives, and the port is free at the end.
    for _ in 0..50 {
        association
            .send(Message::new(0, vec![7; 100_000]))
            .await
            .unwrap();
        assert_eq!(accepted.recv().await.unwrap().payload.len(), 100_000);
    }
    assert_eq!(sockets_of(port), 2);
    association.shutdown().await.unwrap();
    drop(accepted);
    server.close().await;
    assert_eq!(sockets_of(port), 0);
}

/// More than makes a peer busy, of each.
#[cfg(target_os = "linux")]
fn shout(crowd: &[Stranger]) {
    for peer in crowd {
        let (sctp, tag) = peer.associations[0];
        let heartbeat = packet_of(sctp, tag, |b| b.heartbeat(&[7; 200]));
        for _ in 0..70 {
            peer.send(&heartbeat);
        }
    }
}

// Z1 ... Z32, of one host -> HEARTBEATs -> A: each has a place of its own
// Z33, of another host -> DATA -> A: gets one, and keeps it
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_host_with_all_places_of_busy_peers_gives_one_to_a_peer_of_another_host() {
    let server = server(1);
    let to = server.local_addresses();
    let port = to[0].port();
    let crowd = tokio::task::spawn_blocking(move || {
        let crowd: Vec<Stranger> = (0..32)
            .map(|_| Stranger::new(to[0], [127, 0, 11, 1], 1))
            .collect();
        let begun = std::time::Instant::now();
        while sockets_of(port) < 33 {
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "too few are busy"
            );
            shout(&crowd);
            std::thread::sleep(Duration::from_millis(20));
        }
        crowd
    });
    let crowd = crowd.await.unwrap();
    let mut held = Vec::new();
    for _ in &crowd {
        held.push(server.accept().await.unwrap());
    }
    let local = SocketAddr::from(([127, 0, 12, 1], 0));
    let client = Endpoint::bind(EndpointOptions::new([local])).unwrap();
    let association = client
        .connect(&server.local_addresses(), PORT)
        .await
        .unwrap();
    let accepted = server.accept().await.unwrap();
    let own = client.local_addresses()[0].port();
    let pass = async || {
        let message = Message::new(0, vec![7; 100_000]);
        association.send(message).await.unwrap();
        assert_eq!(accepted.recv().await.unwrap().payload.len(), 100_000);
    };
    // The table may miss a line while others come and go.
    let has_place = || (0..20).any(|_| peers_of(port).contains(&own));
    let begun = std::time::Instant::now();
    while !has_place() {
        shout(&crowd);
        // On a slow machine, too, many in a second.
        for _ in 0..20 {
            pass().await;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "it got no place");
    }
    // The others go on, and take it no more.
    for _ in 0..20 {
        shout(&crowd);
        pass().await;
        assert!(has_place());
    }
}
