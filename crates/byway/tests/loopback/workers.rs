//! An endpoint with several workers is one endpoint, whichever socket a packet comes to.

use crate::common::{PORT, any, bounded, client, quick};
use crate::restarting::{Process, free_port};
use byway::{Closed, Config, ConnectError, Endpoint, EndpointOptions, LossReason, Message, PathId};
use nix::libc::{sock_filter, sock_fprog};
use nix::sys::socket::{setsockopt, sockopt::AttachReusePortCbpf};
use socket2::{Domain, SockAddr, Socket, Type};
use std::net::UdpSocket;

const IPS: [&str; 2] = ["127.0.0.1", "127.0.0.2"];

const WORKERS: usize = 2;

fn with_workers(config: Config, change: impl FnOnce(&mut EndpointOptions)) -> Endpoint {
    let options = EndpointOptions::new(any(&IPS)).sctp_port(PORT);
    let mut options = options.config(config).workers(WORKERS);
    change(&mut options);
    Endpoint::bind(options).unwrap()
}

/// From now on the kernel gives all packets to the first worker, as if it knew nothing of the others.
/// Any process of the same user may do so.
fn misdirect(server: &Endpoint) {
    for address in server.local_addresses() {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, None).unwrap();
        socket.set_reuse_port(true).unwrap();
        socket.bind(&SockAddr::from(address)).unwrap();
        let mut to_the_first = sock_filter {
            code: 0x06,
            jt: 0,
            jf: 0,
            k: 0,
        };
        let program = sock_fprog {
            len: 1,
            filter: &raw mut to_the_first,
        };
        setsockopt(&socket, AttachReusePortCbpf, &program).unwrap();
    }
}

/// How many associations each worker has, and that each is listed once.
fn shares(endpoint: &Endpoint) -> [usize; WORKERS] {
    let (mut shares, mut seen) = ([0; WORKERS], Vec::new());
    // Pages that end within a worker, at its end and at the end of all.
    while let page = endpoint.overview(seen.last().copied(), 3)
        && !page.is_empty()
    {
        for id in page.iter().map(|o| o.id) {
            assert!(!seen.contains(&id), "{id} twice");
            seen.push(id);
            shares[id.part(WORKERS as u32) as usize] += 1;
        }
    }
    assert_eq!(seen.len(), endpoint.association_count());
    shares
}

/// So many clients of two addresses each send messages, which come back. Returns the clients.
async fn exchange(server: &Endpoint, clients: usize) -> Vec<(Endpoint, byway::Association)> {
    let accepting = server.clone();
    tokio::spawn(async move {
        while let Some(association) = accepting.accept().await {
            tokio::spawn(async move {
                while let Some(got) = association.recv().await {
                    let back = Message::new(got.stream, got.payload);
                    if association.send(back).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    let tasks: Vec<_> = (0..clients)
        .map(|n| {
            let remote = server.local_addresses();
            tokio::spawn(async move {
                let client = client(&IPS, Config::default());
                let association = client.connect(&remote, PORT).await.unwrap();
                for message in 0..20_u8 {
                    let payload = vec![message ^ n as u8; 5000];
                    association.send(Message::new(0, payload)).await.unwrap();
                }
                for message in 0..20_u8 {
                    let back = association.recv().await.unwrap();
                    assert_eq!(back.payload, vec![message ^ n as u8; 5000]);
                }
                (client, association)
            })
        })
        .collect();
    let mut all = Vec::new();
    for task in tasks {
        all.push(task.await.unwrap());
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_kernel_gives_each_worker_the_packets_of_its_associations() {
    bounded(async {
        let server = with_workers(Config::default(), |_| {});
        let clients = exchange(&server, 30).await;
        let shares = shares(&server);
        // A fair coin gives less than 3 of 30 once in two million times.
        assert!(shares.iter().all(|n| *n >= 3), "{shares:?}");
        let stats = server.driver_stats();
        assert_eq!(stats.datagrams_handed_over, 0, "{stats:?}");
        // An id is enough to reach the association at its worker.
        for association in server.overview(None, 30) {
            while server.set_primary(association.id, PathId(1)).is_err() {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        }
        for (_, association) in &clients {
            association.shutdown().await.unwrap();
        }
        while server.association_count() > 0 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_to_the_wrong_worker_is_handed_over() {
    bounded(async {
        let server = with_workers(Config::default(), |_| {});
        misdirect(&server);
        let clients = exchange(&server, 30).await;
        let shares = shares(&server);
        assert!(shares.iter().all(|n| *n >= 3), "{shares:?}");
        // As many as the second one has, and each got 100,000 bytes.
        let handed_over = server.driver_stats().datagrams_handed_over;
        assert!(handed_over > 60 * shares[1] as u64, "{handed_over}");
        for (_, association) in &clients {
            association.shutdown().await.unwrap();
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_that_restarts_comes_to_the_worker_that_knew_it() {
    bounded(async {
        for steered in [true, false] {
            let server = with_workers(quick(), |_| {});
            if !steered {
                misdirect(&server);
            }
            let to = server.local_addresses();
            for port in 4000..4004 {
                let local = free_port();
                let first = Process::with_port(port, local, to.clone(), quick()).await;
                let old = server.accept().await.unwrap();
                first.say("first").await;
                first.die().await;
                let second = Process::with_port(port, local, to.clone(), quick()).await;
                second.say("second").await;
                let Closed::Lost { reason, .. } = old.closed().await else {
                    panic!("it goes on");
                };
                assert_eq!(reason, LossReason::PeerRestarted);
                let new = server.accept().await.unwrap();
                assert_eq!(new.recv().await.unwrap().payload, "second");
                second.die().await;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn workers_share_the_limits() {
    bounded(async {
        let server = with_workers(quick(), |options| options.max_associations = 4);
        let (mut taken, mut refused) = (Vec::new(), 0);
        for _ in 0..24 {
            let client = client(&["127.0.0.1"], quick());
            match client.connect(&server.local_addresses(), PORT).await {
                Ok(association) => taken.push((client, association)),
                Err(ConnectError::Failed { .. }) => refused += 1,
                Err(other) => panic!("{other}"),
            }
        }
        assert_eq!(server.association_count(), 4);
        assert_eq!(shares(&server), [2, 2]);
        assert_eq!((taken.len(), refused), (4, 20));
        assert!(server.stats().refused >= 20);
    })
    .await;
}

#[tokio::test]
async fn what_icmp_says_comes_to_the_worker_that_sent_the_packet() {
    bounded(async {
        let free = UdpSocket::bind("127.0.0.1:0").unwrap();
        let nobody = free.local_addr().unwrap();
        drop(free);
        let endpoint = with_workers(Config::byway(), |_| {});
        // One pair of UDP ports, so that the kernel tells one worker of all.
        for port in 1..=8 {
            let error = endpoint.connect(&[nobody], port).await.unwrap_err();
            let ConnectError::Failed { closed, .. } = &error else {
                panic!("{error}");
            };
            let Closed::Lost { reason, .. } = closed else {
                panic!("{closed}");
            };
            assert_eq!(*reason, LossReason::PortUnreachable, "SCTP port {port}");
        }
    })
    .await;
}

#[tokio::test]
async fn an_endpoint_ends_with_all_of_its_workers() {
    bounded(async {
        let server = with_workers(quick(), |_| {});
        let local = server.local_addresses();
        let mut ends = Vec::new();
        for _ in 0..12 {
            let client = client(&IPS, quick());
            let (a, z) = tokio::join!(client.connect(&local, PORT), server.accept());
            ends.push((client, a.unwrap(), z.unwrap()));
        }
        let shares = shares(&server);
        assert!(shares.iter().all(|n| *n > 0), "{shares:?}");
        server.abort(b"enough").await;
        assert!(server.accept().await.is_none());
        for (_, a, z) in &ends {
            for side in [a, z] {
                assert!(matches!(side.closed().await, Closed::Lost { .. }));
            }
        }
        assert_eq!(server.association_count(), 0);
        // The ports are free.
        let again = EndpointOptions::new(local).workers(WORKERS);
        Endpoint::bind(again).unwrap().close().await;
    })
    .await;
}
