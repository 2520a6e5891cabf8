//! Attacks on a process that sends: acknowledgements that are not what they seem, against a running `byway serve` whose
//! target has much to say. `ATTACKS.md` of `byway-core` numbers them.

use crate::peers::{Server, signal};
use crate::raw::Raw;
use byway_wire::{Chunk, Data, Packet, Tsn, chunk_type};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::time::{Duration, Instant};

const PPID: u32 = 0x6279_7401;
const OPEN: u8 = 1;
const WINDOW_UPDATE: u8 = 4;
/// How long to wait for what must come, on a machine however busy.
const PATIENCE: Duration = Duration::from_secs(60);
const ROOM: u32 = 1 << 20;

/// A target that talks without end; HOST:PORT.
fn talker() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for tcp in listener.incoming() {
            let mut tcp = tcp.unwrap();
            std::thread::spawn(move || while tcp.write_all(&[7; 4096]).is_ok() {});
        }
    });
    address
}

/// A `serve` that sends to whoever opens a connection.
fn sender(settings: &[&str]) -> Server {
    let target = talker();
    let settings = settings.iter().flat_map(|s| ["--set", *s]);
    let args: Vec<&str> = ["serve", "--allow", &target]
        .into_iter()
        .chain(settings)
        .collect();
    Server::start(&args)
}

fn first_of(server: &Server) -> SocketAddr {
    let first = server.addresses.split(',').next().unwrap();
    first.parse().unwrap()
}

fn end(mut server: Server) {
    assert!(server.child.try_wait().unwrap().is_none(), "it has died");
    signal(&server.child, "TERM");
    let (status, _, said) = server.finish();
    assert_eq!(status, Some(143), "{said}");
    assert!(!said.contains("panicked"), "{said}");
}

/// A frame of connection 1.
fn say(raw: &mut Raw, kind: u8, rest: &[u8]) {
    let frame = [&[kind, 0, 0, 0, 1][..], rest].concat();
    let tsn = raw.next_tsn();
    let (stream_id, ssn) = (1, u16::from(kind != OPEN));
    raw.inject(|b| {
        b.data(&Data {
            tsn,
            stream_id,
            ssn,
            ppid: PPID,
            unordered: false,
            begin: true,
            end: true,
            immediate: true,
            payload: &frame,
        })
    });
}

/// What one packet carries: TSNs with the length of their data, and Heartbeat Infos.
#[derive(Default)]
struct Carried {
    data: Vec<(u32, usize)>,
    beats: Vec<Vec<u8>>,
    aborted: bool,
}

fn carried(bytes: &[u8]) -> Carried {
    let mut all = Carried::default();
    for chunk in Packet::parse(bytes).unwrap().chunks().map(Result::unwrap) {
        match chunk.kind {
            chunk_type::DATA => {
                let Ok(Chunk::Data(d)) = chunk.parse() else {
                    panic!("DATA")
                };
                all.data.push((d.tsn.0, d.payload.len()));
            }
            chunk_type::HEARTBEAT => all.beats.push(chunk.value.to_vec()),
            chunk_type::ABORT => all.aborted = true,
            _ => {}
        }
    }
    all
}

/// What comes until nothing comes for 300 ms: each TSN with the length of its data.
fn flight(raw: &Raw) -> BTreeMap<u32, usize> {
    let mut all = BTreeMap::new();
    while let Some(bytes) = raw.hear() {
        all.extend(carried(&bytes).data);
    }
    all
}

/// Opens a connection; what the other side may send at once.
fn first_flight(raw: &mut Raw) -> BTreeMap<u32, usize> {
    say(raw, OPEN, b"");
    let begun = Instant::now();
    let mut acknowledged = None;
    loop {
        let mut all = flight(raw);
        // What is acknowledged may have left once more before that was heard, and does not again.
        all.retain(|tsn, _| acknowledged.is_none_or(|last| Tsn(last).is_before(Tsn(*tsn))));
        if all.len() > 2 {
            return all;
        }
        // What was sent alone, the answer to OPEN, and target's first bytes.
        if let Some(last) = all.keys().last() {
            acknowledged = Some(*last);
            raw.inject(|b| b.sack(Tsn(*last), ROOM, &[], &[]));
        }
        assert!(begun.elapsed() < PATIENCE, "it sends nothing");
    }
}

/// 21: what is acknowledged lets twice as much leave, in however many SACKs.
#[test]
fn split_and_repeated_acknowledgements_open_no_window_faster() {
    let server = sender(&[]);
    let grown = |split: bool| {
        let mut raw = Raw::up(first_of(&server));
        let first = first_flight(&mut raw);
        let last = *first.keys().last().unwrap();
        let each: Vec<u32> = match split {
            true => first.keys().flat_map(|tsn| [*tsn; 5]).collect(),
            false => vec![last],
        };
        for tsn in each {
            raw.inject(|b| b.sack(Tsn(tsn), ROOM, &[], &[]));
        }
        let mut next = flight(&raw);
        next.retain(|tsn, _| !first.contains_key(tsn));
        raw.inject(|b| b.abort(false, |_| {}));
        raw.hear_all();
        let bytes = |all: &BTreeMap<u32, usize>| all.values().sum::<usize>();
        (bytes(&first), bytes(&next))
    };
    for split in [false, true] {
        let (first, next) = grown(split);
        assert!(next > 0, "it goes on");
        assert!(next <= 2 * first + 3000, "{next} bytes after {first}");
    }
    end(server);
}

/// How many TSNs have come without a gap, from the first one on.
fn in_order(come: &BTreeSet<u32>, first: u32) -> u32 {
    (0..)
        .take_while(|n| come.contains(&first.wrapping_add(*n)))
        .count() as u32
}

/// 23: what was reported by gap blocks and then is missing leaves again.
#[test]
fn what_a_peer_takes_back_leaves_again() {
    let server = sender(&[]);
    let mut raw = Raw::up(first_of(&server));
    let first = first_flight(&mut raw);
    let begins = *first.keys().next().unwrap();
    let before = Tsn(begins.wrapping_sub(1));
    let count = first.len() as u16;
    raw.inject(|b| b.sack(before, ROOM, &[(2, count)], &[]));
    raw.inject(|b| b.sack(before, ROOM, &[], &[]));
    let (mut again, begun) = (BTreeSet::new(), Instant::now());
    while !first.keys().all(|tsn| again.contains(tsn)) {
        assert!(begun.elapsed() < PATIENCE, "{again:?} of {first:?}");
        let Some(bytes) = raw.hear() else { continue };
        let carried = carried(&bytes);
        assert!(!carried.aborted);
        again.extend(carried.data.iter().map(|d| d.0));
        let in_order = in_order(&again, begins);
        // The rest as it has come.
        let gaps: Vec<(u16, u16)> = (in_order..in_order + 64)
            .filter(|n| again.contains(&begins.wrapping_add(*n)))
            .map(|n| (n - in_order + 1) as u16)
            .map(|offset| (offset, offset))
            .collect();
        let cumulative = Tsn(before.0.wrapping_add(in_order));
        raw.inject(|b| b.sack(cumulative, ROOM, &gaps, &[]));
    }
    raw.inject(|b| b.abort(false, |_| {}));
    end(server);
}

/// 40: the peer answers heartbeats and acknowledges nothing. `failure.dead_data.give_up` is 2 minutes by default.
#[test]
fn a_peer_that_answers_heartbeats_and_acknowledges_nothing_is_given_up() {
    let mut server = sender(&[
        "failure.dead_data.give_up=1s",
        "rto.initial=50ms",
        "rto.min=50ms",
        "rto.max=200ms",
    ]);
    let mut raw = Raw::up(first_of(&server));
    say(&mut raw, OPEN, b"");
    let (mut answered, begun) = (0, Instant::now());
    loop {
        assert!(begun.elapsed() < PATIENCE, "{answered} heartbeats answered");
        let Some(bytes) = raw.hear() else { continue };
        let carried = carried(&bytes);
        if carried.aborted {
            break;
        }
        for beat in &carried.beats {
            raw.inject(|b| b.raw(chunk_type::HEARTBEAT_ACK, 0, beat));
            answered += 1;
        }
    }
    assert!(answered > 0);
    server.says("acknowledges no data on any path");
    end(server);
}

/// A peer with two addresses, as if by hand.
struct TwoPaths {
    raw: Raw,
    second: UdpSocket,
    /// TSNs that have come.
    come: BTreeSet<u32>,
}

impl TwoPaths {
    /// Takes what comes, and nothing at the first address if `deaf`, until so many new TSNs came at one of the two.
    fn until(&mut self, deaf: bool, (path, many): (usize, usize)) {
        let (mut new, begun) = ([0, 0], Instant::now());
        while new[path] < many {
            assert!(begun.elapsed() < PATIENCE, "{new:?} with deaf: {deaf}");
            let mut room = [0; 65_536];
            let at_second = self.second.recv_from(&mut room).ok();
            let heard = [
                self.raw.hear(),
                at_second.map(|(len, _)| room[..len].to_vec()),
            ];
            for (at, bytes) in heard.into_iter().enumerate() {
                let Some(bytes) = bytes.filter(|_| !(deaf && at == 0)) else {
                    continue;
                };
                let carried = carried(&bytes);
                assert!(!carried.aborted);
                let mut answers: Vec<Vec<u8>> = carried
                    .beats
                    .iter()
                    .map(|beat| {
                        self.raw.packet(self.raw.tag, |b| {
                            b.raw(chunk_type::HEARTBEAT_ACK, 0, beat);
                        })
                    })
                    .collect();
                for (tsn, _) in &carried.data {
                    new[at] += usize::from(self.come.insert(*tsn));
                }
                if !carried.data.is_empty() {
                    let begins = self.raw.tsn;
                    let count = in_order(&self.come, begins);
                    let cumulative = Tsn(begins.wrapping_add(count).wrapping_sub(1));
                    let sack = |b: &mut byway_wire::PacketBuilder<'_>| {
                        b.sack(cumulative, 20_000, &[], &[]);
                    };
                    answers.push(self.raw.packet(self.raw.tag, sack));
                }
                for answer in answers {
                    match at_second {
                        Some((_, from)) if at == 1 => {
                            self.second.send_to(&answer, from).unwrap();
                        }
                        _ => self.raw.send_bytes(&answer),
                    }
                }
            }
        }
    }
}

/// 41: losses that somebody causes move the data, and it returns to the primary as soon as that answers.
#[test]
fn a_forced_path_switch_leaves_the_primary_where_it_is() {
    let server = sender(&["rto.initial=50ms", "rto.min=50ms", "rto.max=200ms"]);
    let second = [127, 0, 0, 66];
    let mut raw = Raw::new(first_of(&server));
    let socket = UdpSocket::bind(SocketAddr::from((second, raw.local().port()))).unwrap();
    raw.ask_with(|w| {
        w.address([127, 0, 0, 1].into());
        w.address(second.into());
    });
    raw.echo();
    let wait = Duration::from_millis(2);
    socket.set_read_timeout(Some(wait)).unwrap();
    raw.wait(wait);
    let mut peer = TwoPaths {
        raw,
        second: socket,
        come: BTreeSet::new(),
    };
    say(&mut peer.raw, OPEN, b"");
    say(&mut peer.raw, WINDOW_UPDATE, &(1_u32 << 29).to_be_bytes());
    peer.until(false, (0, 20));
    for _ in 0..3 {
        peer.until(true, (1, 20));
        peer.until(false, (0, 20));
    }
    peer.raw.inject(|b| b.abort(false, |_| {}));
    end(server);
}
