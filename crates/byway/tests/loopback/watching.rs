//! Who watches an endpoint sees its packets, its observations and its events.

use crate::common::{PORT, any, bounded, quick};
use byway::{Endpoint, EndpointOptions, Event, Message, Passing, Watcher};
use byway_core::observe::{Observation, Observed};
use byway_core::time::Instant;
use byway_core::{AssocId, PathState};
use byway_wire::Packet;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

/// Writes down what it sees.
#[derive(Debug, Default)]
struct Book {
    packets: bool,
    observations: bool,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    /// Of those sent and received: how many, and their bytes.
    packets: [(u64, u64); 2],
    pairs: BTreeSet<(SocketAddr, SocketAddr)>,
    data_sent: u64,
    events: Vec<String>,
    /// Addresses of the paths that became active.
    active: Vec<SocketAddr>,
}

impl Watcher for Book {
    fn wants_packets(&self) -> bool {
        self.packets
    }

    fn packet(&self, passing: Passing<'_>) {
        Packet::parse(passing.packet).expect("whole, with a right checksum");
        assert!(passing.udp);
        let mut seen = self.seen.lock().unwrap();
        let (count, bytes) = &mut seen.packets[usize::from(!passing.sent)];
        *count += 1;
        *bytes += passing.packet.len() as u64;
        seen.pairs.insert((passing.local, passing.remote));
    }

    fn wants_observations(&self) -> bool {
        self.observations
    }

    fn observed(&self, observed: &[Observed], core: &byway_core::Endpoint) {
        let mut seen = self.seen.lock().unwrap();
        for o in observed {
            match o.what {
                Observation::DataSent { bytes, .. } => seen.data_sent += u64::from(bytes),
                Observation::PathState {
                    path,
                    to: PathState::Active,
                    ..
                } => {
                    let path = core.path_stats(o.assoc, path);
                    seen.active.extend(path.map(|p| p.remote));
                }
                _ => {}
            }
        }
    }

    fn event(&self, _: Instant, _: AssocId, event: &Event, _: &byway_core::Endpoint) {
        let mut seen = self.seen.lock().unwrap();
        seen.events.push(format!("{event:?}"));
    }
}

/// Sends 400,000 bytes; the books of the client and the server.
async fn transfer(packets: bool, observations: bool) -> [(Arc<Book>, Endpoint); 2] {
    let ips = ["127.0.0.1", "127.0.0.2"];
    let end = |port| {
        let book = Arc::new(Book {
            packets,
            observations,
            ..Book::default()
        });
        let mut options = EndpointOptions::new(any(&ips)).config(quick());
        options.sctp_port = port;
        options.watcher = Some(book.clone());
        (book, Endpoint::bind(options).unwrap())
    };
    let [client, server] = [end(0), end(PORT)];
    let remote = server.1.local_addresses();
    let (a, z) = tokio::join!(client.1.connect(&remote, PORT), server.1.accept());
    let (a, z) = (a.unwrap(), z.unwrap());
    let reader = tokio::spawn(async move {
        let mut bytes = 0;
        while let Some(message) = z.recv().await {
            bytes += message.payload.len();
        }
        bytes
    });
    for _ in 0..40 {
        a.send(Message::new(0, vec![7; 10_000])).await.unwrap();
    }
    a.shutdown().await.unwrap();
    assert_eq!(reader.await.unwrap(), 400_000);
    client.1.close().await;
    server.1.close().await;
    [client, server]
}

#[tokio::test]
async fn a_watcher_sees_each_packet_and_what_becomes_of_the_association() {
    bounded(async {
        let ends = transfer(true, true).await;
        for (book, endpoint) in &ends {
            let seen = book.seen.lock().unwrap();
            let stats = endpoint.driver_stats();
            assert_eq!(seen.packets[0].0, stats.datagrams_sent);
            assert_eq!(seen.packets[1].0, stats.datagrams_received);
            assert!(seen.pairs.len() >= 2, "{:?}", seen.pairs);
            assert!(seen.events.iter().any(|e| e.starts_with("Up")));
            assert_eq!(seen.events.last().unwrap(), "ShutdownComplete");
        }
        let [client, server] = ends.map(|(book, _)| book);
        let (client, server) = (client.seen.lock().unwrap(), server.seen.lock().unwrap());
        assert!(client.data_sent >= 400_000 && server.data_sent == 0);
        assert!(client.packets[0].1 > 400_000 && server.packets[1].1 > 400_000);
        assert!(!client.active.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_watcher_that_wants_nothing_sees_nothing() {
    bounded(async {
        for (book, _) in transfer(false, false).await {
            let seen = book.seen.lock().unwrap();
            assert_eq!(seen.packets, [(0, 0); 2]);
            assert!(seen.events.is_empty() && seen.data_sent == 0);
        }
    })
    .await;
}
