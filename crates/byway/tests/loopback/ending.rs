//! How associations and endpoints end, and fail to begin.

use crate::common::{PORT, any, bounded, client, pair, quick, server};
use crate::stranger::{self, Stranger};
use byway::{
    BindError, Closed, Config, ConnectError, Endpoint, EndpointOptions, LossReason, Message,
    PathId, PathState,
};
use byway_wire::chunk_type;
use std::time::Duration;

#[tokio::test]
async fn a_graceful_shutdown_delivers_what_was_sent_and_ends_both_sides() {
    // A -> SHUTDOWN -> Z, Z -> SHUTDOWN ACK -> A, A -> SHUTDOWN COMPLETE -> Z
    bounded(async {
        let p = pair(&["127.0.0.1", "127.0.0.2"], quick()).await;
        for i in 0..50_u8 {
            p.a.send(Message::new(0, vec![i; 10_000])).await.unwrap();
        }
        let z = p.z.clone();
        let reader = tokio::spawn(async move {
            let mut count = 0_u8;
            while let Some(message) = z.recv().await {
                assert_eq!(message.payload, vec![count; 10_000]);
                count += 1;
            }
            count
        });
        p.a.shutdown().await.unwrap();
        assert_eq!(reader.await.unwrap(), 50);
        assert_eq!(p.a.closed().await, Closed::Gracefully);
        assert_eq!(p.z.closed().await, Closed::Gracefully);
        let error =
            p.z.send(Message::new(0, "late"))
                .await
                .unwrap_err()
                .to_string();
        assert!(error.contains("gracefully"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn both_sides_may_shut_down_at_once() {
    bounded(async {
        let p = pair(&["127.0.0.1"], quick()).await;
        let (a, z) = tokio::join!(p.a.shutdown(), p.z.shutdown());
        a.unwrap();
        z.unwrap();
    })
    .await;
}

#[tokio::test]
async fn an_abort_tells_the_peer_and_both_readers() {
    // A -> ABORT -> Z
    bounded(async {
        let p = pair(&["127.0.0.1"], quick()).await;
        let z = p.z.clone();
        let reader = tokio::spawn(async move { z.recv().await });
        p.a.abort(b"enough").unwrap();
        let lost = |closed| match closed {
            Closed::Lost { reason, .. } => reason,
            other => panic!("{other}"),
        };
        assert_eq!(lost(p.a.closed().await), LossReason::AbortedLocally);
        let LossReason::AbortedByPeer(cause) = lost(p.z.closed().await) else {
            panic!("the peer aborted");
        };
        assert!(cause.contains("enough"), "{cause}");
        assert_eq!(reader.await.unwrap(), None);
        assert!(p.a.send(Message::new(0, "late")).await.is_err());
        assert!(p.a.abort(b"again").is_err());
    })
    .await;
}

/// A peer that does not read: its window closes, and the rest waits here.
#[tokio::test]
async fn a_lost_association_gives_back_each_message_that_was_not_acknowledged() {
    bounded(async {
        let mut config = quick();
        config.buffer.receive = 65_536;
        let p = pair(&["127.0.0.1"], config).await;
        assert_eq!(p.a.take_undelivered(), None, "it lives");
        let payload = |n: u64| vec![n as u8; 1000 + n as usize];
        for n in 1..=300 {
            let mut message = Message::new((n % 3) as u16, payload(n));
            (message.context, message.ppid) = (n, 7);
            p.a.send(message).await.unwrap();
        }
        p.a.abort(b"enough").unwrap();
        let Closed::Lost {
            undelivered_messages,
            ..
        } = p.a.closed().await
        else {
            panic!("it was aborted");
        };
        let all: Vec<_> = std::iter::from_fn(|| p.a.take_undelivered()).collect();
        assert_eq!(all.len() as u64, undelivered_messages);
        assert!(all.len() >= 200, "{}", all.len());
        assert!(all.iter().any(|u| !u.sent), "a closed window");
        // One message may have arrived in part; the others are whole, in order, and the last.
        let contexts: Vec<u64> = all.iter().map(|u| u.context).collect();
        let first = contexts[0];
        assert_eq!(contexts, (first..=300).collect::<Vec<_>>());
        for u in &all {
            let whole = payload(u.context);
            assert_eq!(u.payload, whole[u.acknowledged as usize..]);
            assert_eq!((u.stream, u.ppid), ((u.context % 3) as u16, 7));
        }
        assert_eq!(p.a.take_undelivered(), None);
        // What was taken was not delivered.
        assert!(matches!(p.a.drained().await, Err(Closed::Lost { .. })));
    })
    .await;
}

#[tokio::test]
async fn an_endpoint_that_aborts_waits_for_no_peer_and_tells_all() {
    // Z -> ABORT -> each A
    bounded(async {
        let server = server(&["127.0.0.1", "127.0.0.2"], quick());
        let remote = server.local_addresses();
        let mut pairs = Vec::new();
        for _ in 0..5 {
            let client = client(&["127.0.0.1"], quick());
            let (a, z) = tokio::join!(client.connect(&remote, PORT), server.accept());
            pairs.push((client, a.unwrap(), z.unwrap()));
        }
        // Queued messages do not delay it.
        for (_, _, z) in &pairs {
            while z.try_send(Message::new(0, vec![1; 10_000])).is_ok() {}
        }
        server.abort(b"interrupted").await;
        for (_, a, z) in &pairs {
            while a.recv().await.is_some() {}
            let told = a.closed().await.to_string();
            assert!(told.contains("interrupted"), "{told}");
            assert!(z.closed().await.to_string().contains("on this side"));
        }
        assert!(server.accept().await.is_none());
    })
    .await;
}

#[tokio::test]
async fn a_host_that_does_not_answer_fails_with_the_peers_address() {
    // A -> INIT -> (no answer), four times
    bounded(async {
        let endpoint = client(&["127.0.0.1"], quick());
        // It takes what comes and knows no SCTP.
        let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let remote = [silent.local_addr().unwrap()];
        let error = endpoint.connect(&remote, PORT).await.unwrap_err();
        let ConnectError::Failed {
            closed: Closed::Lost { ref reason, .. },
            ..
        } = error
        else {
            panic!("{error}");
        };
        assert_eq!(*reason, LossReason::SetupTimedOut);
        assert!(
            error.to_string().contains(&remote[0].to_string()),
            "{error}"
        );
        // The endpoint goes on.
        let server = server(&["127.0.0.1"], quick());
        endpoint
            .connect(&server.local_addresses(), PORT)
            .await
            .unwrap();
    })
    .await;
}

#[tokio::test]
async fn an_unknown_sctp_port_is_refused_by_the_peer() {
    // A -> INIT -> Z, Z -> ABORT -> A
    bounded(async {
        let (client, server) = (
            client(&["127.0.0.1"], quick()),
            server(&["127.0.0.1"], quick()),
        );
        let error = client
            .connect(&server.local_addresses(), PORT + 1)
            .await
            .unwrap_err();
        assert!(error.to_string().contains("aborted"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn an_address_without_its_udp_port_is_refused() {
    let endpoint = client(&["127.0.0.1"], quick());
    let remote = any(&["127.0.0.1"]);
    let error = endpoint.connect(&remote, PORT).await.unwrap_err();
    assert_eq!(error, ConnectError::NoUdpPort(remote[0]));
}

#[tokio::test]
async fn a_dropped_association_is_shut_down_and_what_it_sent_arrives() {
    bounded(async {
        let mut config = quick();
        config.buffer.receive = 50_000;
        let p = pair(&["127.0.0.1"], config).await;
        p.a.send(Message::new(0, "farewell")).await.unwrap();
        // What the other side sends now is discarded, and does not hold it up,
        // although it is more than the receive buffer takes.
        for _ in 0..5 {
            p.z.send(Message::new(0, vec![0; 100_000])).await.unwrap();
        }
        drop(p.a);
        assert_eq!(p.z.recv().await.unwrap().payload, "farewell");
        assert_eq!(p.z.recv().await, None);
        assert_eq!(p.z.closed().await, Closed::Gracefully);
        while p.client.association_count() > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_set_up_that_nobody_waits_for_is_given_up() {
    bounded(async {
        // Never answers.
        let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let client = client(&["127.0.0.1"], quick());
        let remote = [silent.local_addr().unwrap()];
        let mut setup = Box::pin(client.connect(&remote, PORT));
        assert!(is_pending(&mut setup).await);
        assert_eq!(client.association_count(), 1);
        drop(setup);
        assert_eq!(client.association_count(), 0);
    })
    .await;
}

/// Polls once; whether it is still pending.
async fn is_pending(future: &mut (impl Future + Unpin)) -> bool {
    std::future::poll_fn(|cx| {
        std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(cx).is_pending())
    })
    .await
}

#[tokio::test]
async fn a_dropped_endpoint_leaves_its_associations_alone() {
    bounded(async {
        let p = pair(&["127.0.0.1"], quick()).await;
        drop(p.client);
        drop(p.server);
        p.a.send(Message::new(0, "still here")).await.unwrap();
        assert_eq!(p.z.recv().await.unwrap().payload, "still here");
        p.a.shutdown().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn unaccepted_associations_are_aborted_when_the_endpoint_is_dropped() {
    bounded(async {
        let (client, server) = (
            client(&["127.0.0.1"], quick()),
            server(&["127.0.0.1"], quick()),
        );
        let a = client
            .connect(&server.local_addresses(), PORT)
            .await
            .unwrap();
        // The COOKIE ACK has arrived, so the server is established too.
        drop(server);
        assert!(matches!(a.closed().await, Closed::Lost { .. }));
    })
    .await;
}

#[tokio::test]
async fn closing_an_endpoint_ends_all_and_frees_the_port() {
    bounded(async {
        let p = pair(&["127.0.0.1"], quick()).await;
        p.a.send(Message::new(0, "last words")).await.unwrap();
        let local = p.server.local_addresses();
        let accept = tokio::spawn({
            let server = p.server.clone();
            async move { server.accept().await.is_none() }
        });
        p.server.close().await;
        assert!(accept.await.unwrap());
        assert_eq!(p.z.recv().await.unwrap().payload, "last words");
        assert_eq!(p.z.closed().await, Closed::Gracefully);
        assert_eq!(p.a.closed().await, Closed::Gracefully);
        Endpoint::bind(EndpointOptions::new(local)).unwrap();
        let error = p
            .server
            .connect(&p.client.local_addresses(), PORT)
            .await
            .unwrap_err();
        assert_eq!(error, ConnectError::EndpointClosed);
    })
    .await;
}

#[tokio::test]
async fn more_than_the_backlog_is_aborted() {
    bounded(async {
        let mut options = EndpointOptions::new(any(&["127.0.0.1"])).sctp_port(PORT);
        options.backlog = 1;
        let server = Endpoint::bind(options).unwrap();
        let (c, d) = (
            client(&["127.0.0.1"], quick()),
            client(&["127.0.0.1"], quick()),
        );
        let first = c.connect(&server.local_addresses(), PORT).await.unwrap();
        // Up for a moment, or not at all.
        match d.connect(&server.local_addresses(), PORT).await {
            Ok(second) => assert!(matches!(second.closed().await, Closed::Lost { .. })),
            Err(error) => assert!(error.to_string().contains("aborted"), "{error}"),
        }
        assert!(server.accept().await.is_some());
        first.shutdown().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn forgotten_events_are_counted() {
    bounded(async {
        let p = pair(&["127.0.0.1", "127.0.0.2"], quick()).await;
        while p
            .a
            .paths()
            .iter()
            .any(|path| path.state != byway::PathState::Active)
        {
            tokio::task::yield_now().await;
        }
        for i in 0..400_u32 {
            p.a.set_primary(byway::PathId((i % 2) as u8)).unwrap();
        }
        let events = p.a.events();
        assert!(events.missed() > 0);
        let mut kept = 0;
        while events.try_next().is_some() {
            kept += 1;
        }
        assert_eq!(kept, 256);
        p.a.shutdown().await.unwrap();
        while events.next().await.is_some() {}
    })
    .await;
}

#[test]
fn without_its_runtime_an_association_says_so() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let p = runtime.block_on(bounded(pair(&["127.0.0.1"], quick())));
    drop(runtime);
    let other = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    other.block_on(async {
        assert_eq!(p.a.closed().await, Closed::DriverGone);
        assert_eq!(p.a.recv().await, None);
        assert!(p.a.send(Message::new(0, "late")).await.is_err());
        assert!(p.server.accept().await.is_none());
        p.server.close().await;
    });
}

#[tokio::test]
async fn what_cannot_be_bound_is_named() {
    let first = server(&["127.0.0.1"], quick());
    let taken = first.local_addresses();
    let error = Endpoint::bind(EndpointOptions::new(taken.clone())).unwrap_err();
    assert!(error.to_string().contains(&taken[0].to_string()), "{error}");
    // A wildcard stands for the addresses of the host; a group of hosts has no meaning.
    let error = Endpoint::bind(EndpointOptions::new(any(&["224.0.0.1"]))).unwrap_err();
    assert!(matches!(error, BindError::Config(_)), "{error}");
    // Reserved for documentation, so no host has it.
    let error = Endpoint::bind(EndpointOptions::new(any(&["192.0.2.1"]))).unwrap_err();
    assert!(error.to_string().contains("192.0.2.1"), "{error}");
}

#[test]
fn without_a_runtime_an_endpoint_is_refused() {
    let error = Endpoint::bind(EndpointOptions::new(any(&["127.0.0.1"]))).unwrap_err();
    assert!(matches!(error, BindError::NoRuntime));
}

#[tokio::test]
async fn the_same_two_endpoints_meet_again_and_again() {
    bounded(async {
        let (client, server) = (
            client(&["127.0.0.1", "127.0.0.2"], quick()),
            server(&["127.0.0.1", "127.0.0.2"], quick()),
        );
        let remote = server.local_addresses();
        for i in 0..200_u32 {
            let (a, z) = tokio::join!(client.connect(&remote, PORT), server.accept());
            let (a, z) = (a.unwrap(), z.unwrap());
            a.send(Message::new(0, i.to_be_bytes().to_vec()))
                .await
                .unwrap();
            assert_eq!(z.recv().await.unwrap().payload, i.to_be_bytes().to_vec());
            // From either side, gracefully or not.
            match i % 3 {
                0 => a.shutdown().await.unwrap(),
                1 => z.shutdown().await.unwrap(),
                _ => a.abort(b"next").unwrap(),
            }
            a.closed().await;
            z.closed().await;
        }
        assert_eq!(client.association_count() + server.association_count(), 0);
    })
    .await;
}

#[tokio::test]
async fn what_nobody_accepted_is_freed_when_its_peer_aborts() {
    bounded(async {
        let ips = ["127.0.0.1"];
        let (client, server) = (client(&ips, quick()), server(&ips, quick()));
        let remote = server.local_addresses();
        for _ in 0..5 {
            let a = client.connect(&remote, PORT).await.unwrap();
            for _ in 0..20 {
                a.send(Message::new(0, vec![7; 10_000])).await.unwrap();
            }
            a.drained().await.unwrap();
            assert!(server.memory() > 200_000, "{}", server.memory());
            a.abort(b"gone").unwrap();
            a.closed().await;
            // The ABORT is on its way. The tag of its cookie is left.
            while server.memory() > 1000 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        // Nothing of the five is left to accept, and a good one comes through.
        let (a, z) = tokio::join!(client.connect(&remote, PORT), server.accept());
        let (a, z) = (a.unwrap(), z.unwrap());
        a.send(Message::new(0, "hello")).await.unwrap();
        assert_eq!(z.recv().await.unwrap().payload, "hello");
    })
    .await;
}

/// "Port unreachable" ends nothing at once: a peer may begin anew at its port (RFC 6951 section 5.5).
#[tokio::test]
async fn the_first_messages_that_a_port_is_closed_end_no_association() {
    bounded(async {
        let client = client(&["127.0.0.1"], Config::default());
        let local = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = local.local_addr().unwrap();
        drop(local);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let served = runtime.spawn(async move {
            let server = Endpoint::bind(EndpointOptions::new([port]).sctp_port(PORT)).unwrap();
            let accepted = server.accept().await.unwrap();
            (server, accepted)
        });
        let a = loop {
            // Until the server is there.
            if let Ok(a) = client.connect(&[port], PORT).await {
                break a;
            }
        };
        let served = served.await.unwrap();
        runtime.shutdown_background();
        served.1.closed().await;
        // Its port is closed: each packet gets an ICMP message.
        let sent = client.driver_stats().datagrams_sent;
        while client.driver_stats().datagrams_sent < sent + 3 {
            a.request_heartbeat(PathId(0)).unwrap();
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        // It would take ten timeouts of a second and more to end it.
        assert!(is_pending(&mut Box::pin(a.closed())).await);
        assert_eq!(a.paths()[0].state, PathState::Active);
        a.abort(b"done").unwrap();
    })
    .await;
}

// A, with thousands of associations -> ABORT -> Z, each of them
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_endpoint_that_is_aborted_tells_each_of_thousands_of_peers() {
    let local = any(&["127.0.0.1"]);
    let server = Endpoint::bind(EndpointOptions {
        backlog: 4000,
        ..EndpointOptions::new(local).sctp_port(stranger::PORT)
    });
    let server = server.unwrap();
    let to = server.local_addresses()[0];
    let peers = tokio::task::spawn_blocking(move || {
        (0..30)
            .map(|n| Stranger::new(to, [127, 0, 7, n + 1], 100))
            .collect::<Vec<_>>()
    });
    let peers = bounded(peers).await.unwrap();
    assert_eq!(server.association_count(), 3000);
    bounded(server.abort(b"enough")).await;
    let told = tokio::task::spawn_blocking(move || {
        let mut told = 0;
        for peer in &peers {
            for _ in &peer.associations {
                let abort = peer.hear_of(chunk_type::ABORT);
                // Not the answer to a packet out of the blue.
                assert_eq!(abort[13], 0);
                told += 1;
            }
        }
        told
    });
    assert_eq!(bounded(told).await.unwrap(), 3000);
}
