//! Messages over real sockets: one path, two paths, IPv6, streams, bulk.

use crate::common::{any, bounded, client, pair, quick, server};
use crate::skipped::skipped;
use byway::{Message, PathState, StreamScheduler};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[tokio::test]
async fn an_echo_returns_over_every_kind_of_address() {
    let table: [&[&str]; 4] = [
        &["127.0.0.1"],
        &["127.0.0.1", "127.0.0.2"],
        &["::1"],
        &["127.0.0.1", "::1"],
    ];
    for ips in table {
        let ips = &available(ips)[..];
        if ips.is_empty() {
            continue;
        }
        bounded(async {
            let p = pair(ips, quick()).await;
            p.a.send(Message::new(3, "hello")).await.unwrap();
            let got = p.z.recv().await.unwrap();
            assert_eq!(
                (got.stream, &got.payload[..]),
                (3, &b"hello"[..]),
                "{ips:?}"
            );
            p.z.send(Message::new(4, got.payload)).await.unwrap();
            let back = p.a.recv().await.unwrap();
            assert_eq!(
                (back.stream, &back.payload[..]),
                (4, &b"hello"[..]),
                "{ips:?}"
            );
            assert_eq!(p.a.paths().len(), ips.len(), "{ips:?}");
        })
        .await;
    }
}

#[tokio::test]
async fn both_paths_are_confirmed_and_the_primary_can_be_chosen() {
    bounded(async {
        let p = pair(&["127.0.0.1", "127.0.0.2"], quick()).await;
        while p.a.paths().iter().any(|path| path.state != PathState::Active) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let paths = p.a.paths();
        // Each address is a separate path, from the local address next to it.
        for path in &paths {
            assert_eq!(path.local.ip(), path.remote.ip());
        }
        let other = paths.iter().find(|path| !path.primary).unwrap().path;
        p.a.set_primary(other).unwrap();
        assert!(p.a.paths().iter().all(|path| path.primary == (path.path == other)));
        let events = p.a.events();
        while !matches!(events.next().await.unwrap(), byway::Event::PrimaryChanged { to, .. } if to == other) {}
        let before = p.a.paths()[usize::from(other.0)].data_bytes_sent;
        p.a.send(Message::new(0, vec![1; 1000])).await.unwrap();
        p.a.drained().await.unwrap();
        assert!(p.a.paths()[usize::from(other.0)].data_bytes_sent >= before + 1000);
    })
    .await;
}

#[tokio::test]
async fn a_stream_finds_room_and_its_turn_beside_one_that_has_filled_the_buffer() {
    for interleaving in [true, false] {
        bounded(async {
            let mut config = quick();
            config.streams.interleaving = interleaving;
            config.streams.scheduler = StreamScheduler::FairCapacity;
            let p = pair(&["127.0.0.1"], config).await;
            assert_eq!(
                (p.a.interleaves(), p.z.interleaves()),
                (interleaving, interleaving)
            );
            p.a.set_stream_value(1, 7).unwrap();
            p.a.set_stream_value(u16::MAX, 7).unwrap_err();
            // The driver, which shares this thread, sends nothing meanwhile.
            let large = || Message::new(0, vec![0; 16_384]);
            while p.a.try_send(large()).is_ok() {}
            p.a.writable(1, 5).await.unwrap();
            p.a.try_send(Message::new(1, "small")).unwrap();
            p.a.try_send(large()).unwrap_err();
            // The first large message has begun, and only its first chunk is before the small one,
            // or all of it if messages do not interleave.
            let order = [p.z.recv().await.unwrap(), p.z.recv().await.unwrap()];
            let expected = if interleaving { [1, 0] } else { [0, 1] };
            assert_eq!(order.map(|m| m.stream), expected);
            p.a.writable(0, 16_384).await.unwrap();
        })
        .await;
    }
}

/// Bytes that differ everywhere.
fn pattern(len: usize) -> Vec<u8> {
    let mut x = 1_u32;
    (0..len)
        .map(|_| {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (x >> 24) as u8
        })
        .collect()
}

async fn twenty_megabytes(ips: &[&str]) {
    let sent = pattern(20_000_000);
    let p = pair(ips, quick()).await;
    let a = p.a.clone();
    let data = sent.clone();
    let sender = tokio::spawn(async move {
        for message in data.chunks(16_384) {
            a.send(Message::new(0, message.to_vec())).await.unwrap();
        }
        a.shutdown().await.unwrap();
    });
    drop(p.a);
    let mut got = Vec::new();
    while let Some(message) = p.z.recv().await {
        got.extend_from_slice(&message.payload);
    }
    sender.await.unwrap();
    assert!(
        got == sent,
        "{} of {} bytes arrived, or others",
        got.len(),
        sent.len()
    );
    assert_eq!(p.z.closed().await, byway::Closed::Gracefully);
    let sockets = p.client.driver_stats();
    assert_eq!(sockets.datagrams_refused + sockets.datagrams_overflowed, 0);
}

#[tokio::test]
async fn twenty_megabytes_arrive_unchanged() {
    bounded(twenty_megabytes(&["127.0.0.1"])).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_megabytes_arrive_unchanged_over_two_paths_with_threads() {
    bounded(twenty_megabytes(&["127.0.0.1", "127.0.0.2"])).await;
}

#[tokio::test]
async fn many_streams_each_keep_their_order() {
    const STREAMS: u16 = 200;
    const EACH: u32 = 20;
    let mut config = quick();
    config.setup.outbound_streams = STREAMS;
    bounded(async move {
        let p = pair(&["127.0.0.1"], config).await;
        let mut tasks = Vec::new();
        for number in 0..STREAMS {
            let (out, into) = (p.a.stream(number), p.z.stream(number));
            tasks.push(tokio::spawn(async move {
                for i in 0..EACH {
                    out.send(i.to_be_bytes().to_vec()).await.unwrap();
                }
            }));
            tasks.push(tokio::spawn(async move {
                for i in 0..EACH {
                    let got = into.recv().await.unwrap();
                    assert_eq!(
                        (got.stream, &got.payload[..]),
                        (number, &i.to_be_bytes()[..])
                    );
                }
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn a_stream_serves_code_that_reads_and_writes_bytes() {
    bounded(async {
        let p = pair(&["127.0.0.1"], quick()).await;
        let sent = pattern(1_000_000);
        let mut writer = p.a.stream(2).into_bytes();
        let data = sent.clone();
        let a = p.a.clone();
        let task = tokio::spawn(async move {
            writer.write_all(&data).await.unwrap();
            writer.flush().await.unwrap();
            a.shutdown().await.unwrap();
        });
        let mut got = Vec::new();
        p.z.stream(2)
            .into_bytes()
            .read_to_end(&mut got)
            .await
            .unwrap();
        assert!(got == sent);
        task.await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn many_associations_share_one_endpoint() {
    bounded(async {
        let server = server(&["127.0.0.1"], quick());
        let remote = server.local_addresses();
        let echo = tokio::spawn(async move {
            while let Some(association) = server.accept().await {
                tokio::spawn(async move {
                    while let Some(m) = association.recv().await {
                        association
                            .send(Message::new(m.stream, m.payload))
                            .await
                            .unwrap();
                    }
                });
            }
        });
        let mut clients = Vec::new();
        for i in 0..20_u8 {
            let remote = remote.clone();
            clients.push(tokio::spawn(async move {
                let endpoint = client(&["127.0.0.1"], quick());
                let association = endpoint
                    .connect(&remote, crate::common::PORT)
                    .await
                    .unwrap();
                association
                    .send(Message::new(0, vec![i; 3000]))
                    .await
                    .unwrap();
                assert_eq!(association.recv().await.unwrap().payload, vec![i; 3000]);
                association.shutdown().await.unwrap();
            }));
        }
        for task in clients {
            task.await.unwrap();
        }
        echo.abort();
    })
    .await;
}

#[tokio::test]
async fn a_slow_reader_holds_the_sender_back() {
    let mut config = quick();
    config.buffer.send = 100_000;
    config.buffer.receive = 50_000;
    bounded(async move {
        let p = pair(&["127.0.0.1"], config).await;
        let mut sent = 0_u32;
        // Until nothing moves any more: the reader's buffer and ours are full.
        loop {
            match p
                .a
                .try_send(Message::new(0, sent.to_be_bytes().repeat(250)))
            {
                Ok(()) => sent += 1,
                Err(byway::SendError::Refused(byway::CommandError::WouldBlock { .. })) => {
                    let before = p.a.stats().bytes_acked;
                    tokio::time::sleep(Duration::from_millis(150)).await;
                    if p.a.stats().bytes_acked == before {
                        break;
                    }
                }
                Err(other) => panic!("{other}"),
            }
        }
        // Some slack: a message is taken whole as soon as there is any room.
        assert!(
            (100..=152).contains(&sent),
            "{sent} messages of 1000 bytes were taken"
        );
        let a = p.a.clone();
        let last = tokio::spawn(async move {
            a.send(Message::new(0, vec![0xff; 1000])).await.unwrap();
            a.shutdown().await.unwrap();
        });
        for i in 0..sent {
            assert_eq!(
                p.z.recv().await.unwrap().payload,
                i.to_be_bytes().repeat(250)
            );
        }
        assert_eq!(p.z.recv().await.unwrap().payload, vec![0xff; 1000]);
        assert_eq!(p.z.recv().await, None);
        last.await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn one_port_serves_all_addresses() {
    let endpoint = server(&available(&["127.0.0.1", "127.0.0.2", "::1"]), quick());
    let port = endpoint.local_addresses()[0].port();
    assert!(
        endpoint
            .local_addresses()
            .iter()
            .all(|a| a.port() == port && port != 0)
    );
    assert_eq!(any(&["::1"])[0].port(), 0);
}

#[tokio::test]
async fn bytes_that_are_not_sctp_disturb_nothing() {
    bounded(async {
        let p = pair(&["127.0.0.1"], quick()).await;
        let stranger = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let server = p.server.local_addresses()[0];
        for len in [0, 1, 11, 12, 13, 100, 1472, 65_507] {
            stranger.send_to(&pattern(len), server).unwrap();
        }
        // Behind them, so that they have been read once this has arrived.
        p.a.send(Message::new(0, "hello")).await.unwrap();
        assert_eq!(p.z.recv().await.unwrap().payload, "hello");
        let stats = p.server.stats();
        assert_eq!(stats.malformed + stats.bad_checksums, 7, "{stats:?}");
        p.a.shutdown().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn an_unread_stream_stays_in_order_for_a_later_reader() {
    bounded(async {
        let p = pair(&["127.0.0.1"], quick()).await;
        for i in 0..30_u8 {
            p.a.send(Message::new(u16::from(i % 3), vec![i]))
                .await
                .unwrap();
        }
        let one = p.z.stream(1);
        for i in (1..30).step_by(3) {
            assert_eq!(one.recv().await.unwrap().payload, vec![i]);
        }
        p.a.shutdown().await.unwrap();
        assert_eq!(one.recv().await, None);
        let mut rest = Vec::new();
        while let Some(m) = p.z.recv().await {
            rest.push((m.stream, m.payload[0]));
        }
        let of = |stream: u8| {
            (0..30)
                .filter(move |i| i % 3 == stream)
                .map(move |i| (stream.into(), i))
        };
        assert_eq!(rest, of(0).chain(of(2)).collect::<Vec<(u16, u8)>>());
    })
    .await;
}

/// Those of the addresses whose family this machine has: IPv6 is often off in
/// containers.
fn available<'a>(ips: &[&'a str]) -> Vec<&'a str> {
    let v6 = std::net::UdpSocket::bind("[::1]:0").is_ok();
    if !v6 {
        skipped("::1, this machine has no IPv6");
    }
    ips.iter()
        .copied()
        .filter(|ip| v6 || !ip.contains(':'))
        .collect()
}
