//! A path that dies and returns, behind a translator of UDP ports.

use crate::common::{PORT, bounded, quick};
use byway::{Endpoint, EndpointOptions, Event, Message, PathId, PathState};
use std::cell::Cell;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::UdpSocket;

// The first path is 127.0.1.1 to 127.0.1.2 and goes through the translator,
// the second one, 127.0.2.1 to 127.0.2.2, does not.

/// Passes datagrams on between a client and a server as a NAT does that keeps
/// addresses and changes ports, until it is cut.
struct Translator {
    /// What the client takes for the server.
    front: SocketAddr,
    cut: Arc<AtomicBool>,
}

impl Translator {
    async fn between(client: SocketAddr, server: SocketAddr) -> Translator {
        let front = UdpSocket::bind((server.ip(), 0)).await.unwrap();
        let back = UdpSocket::bind((client.ip(), 0)).await.unwrap();
        let cut = Arc::new(AtomicBool::new(false));
        let translator = Translator {
            front: front.local_addr().unwrap(),
            cut: cut.clone(),
        };
        tokio::spawn(async move {
            let (mut there, mut here) = (vec![0; 65_536], vec![0; 65_536]);
            loop {
                let (out, to, bytes) = tokio::select! {
                    got = front.recv_from(&mut there) => {
                        (&back, server, &there[..got.unwrap().0])
                    }
                    got = back.recv_from(&mut here) => {
                        (&front, client, &here[..got.unwrap().0])
                    }
                };
                if !cut.load(Ordering::Relaxed) {
                    out.send_to(bytes, to).await.unwrap();
                }
            }
        });
        translator
    }
}

fn endpoint(ips: [&str; 2], sctp_port: u16) -> Endpoint {
    let mut config = quick();
    // Long enough that a busy machine is not taken for a dead path.
    config.rto.initial = Duration::from_millis(250);
    config.rto.min = Duration::from_millis(250);
    config.rto.max = Duration::from_millis(500);
    config.hb.interval = Duration::from_millis(50);
    config.failure.path_max_retrans = 2;
    // Each address has a different port, so that neither side can guess it.
    let first = std::net::UdpSocket::bind((ips[0], 0)).unwrap();
    let second = std::net::UdpSocket::bind((ips[1], 0)).unwrap();
    let local = [&first, &second].map(|s| s.local_addr().unwrap());
    drop((first, second));
    Endpoint::bind(
        EndpointOptions::new(local)
            .sctp_port(sctp_port)
            .config(config),
    )
    .unwrap()
}

#[tokio::test]
async fn traffic_moves_off_a_dead_path_and_returns() {
    bounded(async {
        let client = endpoint(["127.0.1.1", "127.0.2.1"], 4000);
        let server = endpoint(["127.0.1.2", "127.0.2.2"], PORT);
        let (c, s) = (client.local_addresses(), server.local_addresses());
        let translator = Translator::between(c[0], s[0]).await;
        let remote = [translator.front, s[1]];
        let (a, z) = tokio::join!(client.connect(&remote, PORT), server.accept());
        let (a, z) = (a.unwrap(), z.unwrap());
        while a.paths().iter().any(|p| p.state != PathState::Active) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let reader = tokio::spawn(async move {
            let mut next = 0_u32;
            while let Some(message) = z.recv().await {
                assert_eq!(message.payload[..4], next.to_be_bytes());
                next += 1;
            }
            next
        });

        let sent = Cell::new(0_u32);
        // Sends until so much went over a path for the first time.
        let send = async |path: PathId, bytes: u64| {
            let carried = || a.paths()[usize::from(path.0)].data_bytes_sent;
            let enough = carried() + bytes;
            while carried() < enough {
                let message = sent.get().to_be_bytes().repeat(250);
                a.send(Message::new(0, message)).await.unwrap();
                sent.set(sent.get() + 1);
                if sent.get().is_multiple_of(100) {
                    a.drained().await.unwrap();
                }
            }
        };
        let events = a.events();
        let until = async |wanted: &dyn Fn(&Event) -> bool| {
            while !wanted(&events.next().await.expect("the association is established")) {}
        };
        let (first, second) = (PathId(0), PathId(1));

        assert!(a.paths()[0].primary);
        send(first, 500_000).await;
        translator.cut.store(true, Ordering::Relaxed);
        // Lost on the first path, timed out, sent again on the second.
        send(second, 500_000).await;
        until(&|e| matches!(e, Event::DataPathChanged { to, .. } if *to == second)).await;
        until(&|e| matches!(e, Event::PathChanged { path, to: PathState::Inactive, .. } if *path == first)).await;
        // A display is told the same, without a handle and beside the reader of the events.
        let told = &client.overview(None, 8)[0];
        assert!(told.latest.is_some() && told.stats.failovers > 0);
        // Of the other path nothing is asked: on a busy machine its acknowledgements may be late.
        let [dead, _] = &told.paths[..] else {
            panic!("two paths");
        };
        assert_eq!(dead.state, PathState::Inactive);
        assert!(dead.trouble.is_some() && dead.failures > 0 && dead.data_bytes_lost > 0);

        translator.cut.store(false, Ordering::Relaxed);
        // A heartbeat is answered, and the primary serves again.
        until(&|e| matches!(e, Event::DataPathChanged { to, .. } if *to == first)).await;
        send(first, 500_000).await;
        assert!(client.overview(None, 8)[0].paths[0].failures > 0);
        a.shutdown().await.unwrap();
        assert_eq!(reader.await.unwrap(), sent.get());
    })
    .await;
}
