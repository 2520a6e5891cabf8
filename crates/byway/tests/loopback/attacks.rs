//! Attacks that a raw peer shows at a running endpoint. `ATTACKS.md` of `byway-core` numbers them.

use crate::common::{any, bounded, client};
use crate::stranger::{PORT, Stranger, init, packet};
use byway::{Config, Endpoint, EndpointOptions, Event, Message, Rule};
use byway_wire::{Chunk, Data, InitFields, Packet, Tsn, chunk_type};
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

fn server(change: impl FnOnce(&mut EndpointOptions)) -> Endpoint {
    let mut options = EndpointOptions::new(any(&["127.0.0.1"])).sctp_port(PORT);
    change(&mut options);
    Endpoint::bind(options).unwrap()
}

/// Runs what blocks beside the driver.
async fn beside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    bounded(tokio::task::spawn_blocking(work)).await.unwrap()
}

// 2: Z1, of one host, up to its limit; then others, up to the limit of all
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_flood_of_associations_meets_the_limits_of_a_host_and_of_all() {
    let server = server(|o| (o.max_associations, o.max_associations_per_peer) = (50, 20));
    let to = server.local_addresses()[0];
    let held = beside(move || {
        let up = |host, count| {
            let mut stranger = Stranger::at(to, [127, 0, 21, host]);
            let up = (0..count).filter(|n| stranger.set_up(2000 + n, &init(), |_| {}));
            (up.count(), stranger)
        };
        let all = [up(1, 30), up(2, 15), up(3, 20), up(4, 5)];
        assert_eq!(all.each_ref().map(|a| a.0), [20, 15, 15, 0]);
        all
    })
    .await;
    assert_eq!(server.association_count(), 50);
    let refusals = server.stats().refusals;
    assert_eq!(refusals.of(Rule::AssociationsOfPeer), 10);
    assert_eq!(refusals.of(Rule::Associations), 10);
    // Who ends leaves its place to another one.
    beside(move || {
        let (_, first) = &held[0];
        for (port, tag) in &first.associations {
            first.send(&packet(*port, *tag, |b| b.abort(false, |_| {})));
        }
        let mut late = Stranger::at(to, [127, 0, 21, 5]);
        let mut tries = 0;
        while !late.set_up(3000, &init(), |_| {}) {
            tries += 1;
            assert!(tries < 100, "there is room again");
            std::thread::sleep(Duration::from_millis(20));
        }
    })
    .await;
}

/// What comes to a socket until nothing comes for half a second: types of chunks, bytes.
fn heard(socket: &UdpSocket) -> (Vec<u8>, usize) {
    socket
        .set_read_timeout(Some(Duration::from_millis(500)))
        .unwrap();
    let (mut kinds, mut all, mut bytes) = (Vec::new(), 0, [0; 65_536]);
    while let Ok(len) = socket.recv(&mut bytes) {
        all += len;
        let packet = Packet::parse(&bytes[..len]).unwrap();
        kinds.extend(packet.chunks().map(|c| c.unwrap().kind));
    }
    (kinds, all)
}

// 16, 17: Z -> INIT, which lists victims -> A, with data for Z that nobody acknowledges
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn listed_victims_get_no_data_and_few_heartbeats() {
    let mut config = Config::byway();
    // Timeouts that would move data to another path many times.
    config.rto.initial = Duration::from_millis(50);
    config.rto.min = Duration::from_millis(50);
    config.rto.max = Duration::from_millis(200);
    config.sack.delay = Duration::from_millis(20);
    config.failure.path_max_retrans = 1;
    config.failure.association_max_retrans = 8;
    let server = server(|o| o.config = config);
    let to = server.local_addresses()[0];
    let (victims, stranger) = beside(move || {
        let mut stranger = Stranger::at(to, [127, 0, 22, 1]);
        let port = stranger.local().port();
        let victims: Vec<UdpSocket> = (2..9)
            .map(|n| UdpSocket::bind(SocketAddr::from(([127, 0, 22, n], port))).unwrap())
            .collect();
        let up = stranger.set_up(1000, &init(), |w| {
            for victim in &victims {
                w.address(victim.local_addr().unwrap().ip());
            }
        });
        assert!(up);
        (victims, stranger)
    })
    .await;
    let association = bounded(server.accept()).await.unwrap();
    for _ in 0..30 {
        // An error says that it is given up already.
        let _ = association.send(Message::new(0, vec![7; 10_000])).await;
    }
    bounded(association.closed()).await;
    let heard = beside(move || victims.iter().map(heard).collect::<Vec<_>>()).await;
    for (kinds, _) in &heard {
        assert!(
            kinds.iter().all(|k| *k == chunk_type::HEARTBEAT),
            "{kinds:?}"
        );
        assert!(kinds.len() <= 5, "{} heartbeats", kinds.len());
    }
    let got: usize = heard.iter().map(|h| h.1).sum();
    // INIT and COOKIE ECHO.
    let asked = stranger.sent();
    assert!(got > 0 && got <= 3 * asked, "{got} bytes for {asked}");
}

// 24: the TSNs of Z wrap within a few messages, and the SSNs of a good client after 65,536
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tsns_and_ssns_that_wrap_lose_nothing() {
    let server = server(|_| {});
    let to = server.local_addresses()[0];
    let first = Tsn(u32::MAX - 2);
    let stranger = beside(move || {
        let mut stranger = Stranger::at(to, [127, 0, 23, 1]);
        let fields = InitFields {
            initial_tsn: first,
            ..init()
        };
        assert!(stranger.set_up(1000, &fields, |_| {}));
        let (port, tag) = stranger.associations[0];
        for n in 0..20_u8 {
            let data = Data {
                tsn: first.plus(n.into()),
                stream_id: 0,
                ssn: n.into(),
                ppid: 0,
                unordered: false,
                begin: true,
                end: true,
                immediate: false,
                payload: &[n],
            };
            stranger.send(&packet(port, tag, |b| b.data(&data)));
        }
        stranger
    })
    .await;
    let accepted = bounded(server.accept()).await.unwrap();
    for n in 0..20_u8 {
        assert_eq!(bounded(accepted.recv()).await.unwrap().payload, [n][..]);
    }
    drop(stranger);
    let client = client(&["127.0.0.1"], Config::byway());
    let good = bounded(client.connect(&[to], PORT)).await.unwrap();
    let accepted = bounded(server.accept()).await.unwrap();
    let sends = tokio::spawn(async move {
        for n in 0..70_000_u32 {
            let bytes = n.to_be_bytes().to_vec();
            good.send(Message::new(0, bytes)).await.unwrap();
        }
        good.shutdown().await.unwrap();
    });
    for n in 0..70_000_u32 {
        let received = bounded(accepted.recv()).await.unwrap();
        assert_eq!(received.payload, n.to_be_bytes()[..]);
        assert_eq!(received.ssn, n as u16);
    }
    assert_eq!(bounded(accepted.recv()).await, None);
    bounded(sends).await.unwrap();
}

// S6: packets with the right tag from many sources -> A
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn forged_sources_of_a_peer_get_few_heartbeats_of_an_endpoint() {
    let server = server(|_| {});
    let to = server.local_addresses()[0];
    let begun = beside(move || {
        let stranger = Stranger::new(to, [127, 0, 24, 1], 1);
        let (port, tag) = stranger.associations[0];
        // An unknown chunk that is skipped.
        let bytes = packet(port, tag, |b| b.raw(0x9a, 0, b"x"));
        let sources: Vec<UdpSocket> = (0..200)
            .map(|n| UdpSocket::bind(SocketAddr::from(([127, 0, 25, 1 + n], 0))).unwrap())
            .collect();
        let begun = std::time::Instant::now();
        for source in &sources {
            source.send_to(&bytes, to).unwrap();
        }
        let wait = Duration::from_millis(1);
        let mut heartbeats = 0;
        // For a second, or until the endpoint has come to it.
        while begun.elapsed() < Duration::from_secs(1) || heartbeats == 0 {
            assert!(begun.elapsed() < Duration::from_secs(60), "no heartbeat");
            for source in &sources {
                source.set_read_timeout(Some(wait)).unwrap();
                heartbeats += usize::from(source.recv(&mut [0; 2048]).is_ok());
            }
        }
        let most = 8 * (1 + begun.elapsed().as_secs() as usize);
        assert!(heartbeats <= most, "{heartbeats} heartbeats");
        begun
    })
    .await;
    while server.stats().heartbeats_put_off <= 100 {
        assert!(begun.elapsed() < Duration::from_secs(60), "few are put off");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

// R20: Z -> 300 ERRORs in a packet, again and again -> A
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn errors_without_end_tell_the_user_of_an_endpoint_of_few() {
    const PACKETS: u64 = 20;
    const ERRORS: u64 = 300;
    let server = server(|_| {});
    let to = server.local_addresses()[0];
    let begun = std::time::Instant::now();
    let stranger = beside(move || {
        let stranger = Stranger::new(to, [127, 0, 26, 1], 1);
        let (port, tag) = stranger.associations[0];
        let errors = packet(port, tag, |b| {
            for _ in 0..ERRORS {
                b.error(|c| {
                    c.out_of_resource();
                });
            }
        });
        let heartbeat = packet(port, tag, |b| b.heartbeat(b"and now"));
        for _ in 0..PACKETS {
            stranger.send(&errors);
            stranger.send(&heartbeat);
            stranger.hear_of(chunk_type::HEARTBEAT_ACK);
        }
        stranger
    })
    .await;
    let association = bounded(server.accept()).await.unwrap();
    let events = association.events();
    let errors = std::iter::from_fn(|| events.try_next())
        .filter(|event| matches!(event, Event::PeerError { .. }));
    let told = errors.count() as u64;
    let most = 8 * (begun.elapsed().as_secs() + 2);
    // One of a packet, and eight in a second.
    assert!((1..=most.min(PACKETS)).contains(&told), "{told} of {most}");
    assert_eq!(events.missed(), 0);
    let untold = server.stats().refusals.of(Rule::ErrorRate);
    assert_eq!(told + untold, PACKETS * ERRORS);
    drop(stranger);
}

// R13: Z reads stream 1; A -> messages of one byte on stream 0, without end
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_of_one_byte_that_are_parked_count_as_the_memory_that_they_take() {
    const PACKETS: u32 = 2000;
    const CHUNKS: u32 = 60;
    let server = server(|_| {});
    let to = server.local_addresses()[0];
    let setting_up = beside(move || {
        let mut stranger = Stranger::at(to, [127, 0, 0, 1]);
        assert!(stranger.set_up(1000, &init(), |_| {}));
        stranger
    });
    let (stranger, accepted) = tokio::join!(setting_up, server.accept());
    let accepted = accepted.unwrap();
    let reader = accepted.stream(1);
    // Who reads one stream gets past the messages of the others.
    let reads = tokio::spawn(async move { reader.recv().await });
    let taken = beside(move || {
        let (port, tag) = stranger.associations[0];
        let mut acknowledged = Tsn(0);
        for n in 0..PACKETS {
            let bytes = packet(port, tag, |b| {
                for chunk in n * CHUNKS..(n + 1) * CHUNKS {
                    b.data(&Data {
                        tsn: Tsn(1 + chunk),
                        stream_id: 0,
                        ssn: chunk as u16,
                        ppid: 0,
                        unordered: false,
                        begin: true,
                        end: true,
                        // A SACK for each packet.
                        immediate: true,
                        payload: b"x",
                    });
                }
            });
            stranger.send(&bytes);
            let answer = stranger.hear_of(chunk_type::SACK);
            let answer = Packet::parse(&answer).unwrap();
            let first = answer.chunks().next().unwrap().unwrap();
            let Ok(Chunk::Sack(sack)) = first.parse() else {
                panic!("a SACK");
            };
            acknowledged = sack.cumulative_tsn_ack;
            if acknowledged != Tsn((n + 1) * CHUNKS) {
                break;
            }
        }
        acknowledged.0
    })
    .await;
    // Some 5,000 are parked, and the window takes the others. If each counted as its byte, a million would be parked.
    assert!((CHUNKS..60_000).contains(&taken), "{taken}");
    reads.abort();
}
