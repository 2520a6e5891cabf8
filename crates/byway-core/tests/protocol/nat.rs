//! Peers behind translators (NAT; RFC 6951): an association is found by its tag, and a
//! new source carries data only when the answer to a heartbeat has come from there.

use crate::common::stranger::set_up;
use crate::common::{
    A, Binding, Pair, Passing, Z, address, addresses, assert_drawn, endpoint, ms, outside, packet,
    plain,
};
use byway_core::{Config, Event, PathState};
use byway_wire::{Chunk, Packet};
use core::net::SocketAddr;

/// With heartbeats, which open the bindings of translators.
fn beating() -> Config {
    let mut c = plain();
    c.hb.enabled = true;
    c.hb.interval = ms(500);
    c
}

/// A has one address, behind a translator.
fn one_uplink() -> Pair {
    one_uplink_with(&plain())
}

fn one_uplink_with(config: &Config) -> Pair {
    let mut p = Pair::of([endpoint(1, A, 1, config), endpoint(1, Z, 2, config)], 1);
    p.nat = vec![bind(0, outside(1, 4001))];
    p.connect(A, config);
    p.run(1000);
    p
}

/// Both addresses of A lie behind a translator of their own.
fn two_uplinks() -> Pair {
    two_uplinks_with(&beating())
}

fn two_uplinks_with(config: &Config) -> Pair {
    let mut p = Pair::of([endpoint(2, A, 1, config), endpoint(2, Z, 2, config)], 2);
    p.nat = vec![bind(0, outside(1, 4001)), bind(1, outside(2, 4002))];
    p.connect(A, config);
    p.run(5000);
    p
}

fn bind(path: usize, outside: SocketAddr) -> Binding {
    Binding {
        inside: address(path, A),
        towards: None,
        outside,
    }
}

fn paths_of(p: &mut Pair, side: usize) -> Vec<(SocketAddr, PathState)> {
    p.with(side, |_, e, id| {
        let all = e.paths(id).into_iter();
        all.map(|s| (s.remote, s.state)).collect()
    })
}

// A ===NAT 1=== Z
//  \==NAT 2===/
#[test]
fn a_second_uplink_behind_its_own_translator_becomes_a_path() {
    let mut p = two_uplinks();
    let found = paths_of(&mut p, Z);
    for n in [outside(1, 4001), outside(2, 4002)] {
        assert!(found.contains(&(n, PathState::Active)), "{found:?}");
    }
    assert_eq!(p.path_state(A, 1), PathState::Active);
    p.cut(&[0]);
    p.send_many(A, 1000, 20);
    p.send_many(Z, 1000, 20);
    p.run(10_000);
    assert_eq!((p.take_got(A).len(), p.take_got(Z).len()), (20, 20));
    assert_eq!((p.state(A), p.state(Z)), ("ESTABLISHED", "ESTABLISHED"));
}

/// Each way takes 10 ms here.
const ROUND_TRIP: u64 = 20;

/// Milliseconds from now until so many messages have been read at both sides together, and the longest time in which one
/// side that has some to read got none.
fn time_and_pause(p: &mut Pair, messages: [usize; 2]) -> [u64; 2] {
    let (mut read, mut since, mut pause) = ([0; 2], [0; 2], 0);
    for time in 1..5000 {
        p.run(1);
        for side in [A, Z].into_iter().filter(|s| messages[*s] > 1) {
            let got = p.take_got(side).len();
            read[side] += got;
            if got > 0 {
                pause = pause.max(time - since[side]);
                since[side] = time;
            }
        }
        if [A, Z]
            .into_iter()
            .all(|s| messages[s] < 2 || read[s] == messages[s])
        {
            return [time, pause];
        }
    }
    panic!("{read:?} of {messages:?} messages arrived");
}

/// The new binding is asked by a heartbeat, and what was lost meanwhile follows the answer: the pause is a round trip
/// longer. The windows of the sender lose the growth of one or two more.
#[test]
fn a_rebinding_in_mid_transfer_costs_one_round_trip() {
    for sender in [A, Z] {
        let takes = |rebinds: bool| {
            let mut p = one_uplink();
            p.send_many(sender, 1000, 300);
            p.run(35);
            if rebinds {
                p.nat = vec![bind(0, outside(1, 4077))];
            }
            // Only a packet from the inside opens the new binding.
            p.send_many(A, 10, 1);
            p.take_events(Z);
            let time = time_and_pause(&mut p, if sender == A { [0, 301] } else { [300, 0] });
            (p, time)
        };
        let (_, without) = takes(false);
        let (mut p, with) = takes(true);
        println!("sender {sender}: {with:?} ms, {without:?} without");
        let later = [0, 1].map(|i| with[i] - without[i]);
        assert!(later[1] <= ROUND_TRIP, "sender {sender}: {later:?}");
        assert!(later[0] <= 3 * ROUND_TRIP, "sender {sender}: {later:?}");

        let moved = p
            .take_events(Z)
            .into_iter()
            .any(|e| matches!(e, Event::PathMoved { remote, .. } if remote == outside(1, 4077)));
        assert!(moved);
        let timeouts = p.path(sender, 0).timeouts;
        assert_eq!(timeouts, 0, "sender {sender}");
        assert_eq!(p.path(Z, 0).remote, outside(1, 4077));
    }
}

/// A sends nothing but SACKs, and nothing arrives that it could acknowledge: it asks when the flow has stopped for 300 ms. Its heartbeat opens
/// the new binding.
#[test]
fn a_rebinding_in_a_download_costs_the_silence_and_a_few_round_trips() {
    let rebound = |silence| {
        let mut c = untold();
        c.failover.revival.as_mut().unwrap().silence = ms(silence);
        let mut p = one_uplink_with(&c);
        p.send_many(Z, 1000, 300);
        p.run(70);
        // No SACK of what is on its way opens it.
        p.lose(|_| true);
        p.run(50);
        p.heal();
        p.nat = vec![bind(0, outside(1, 4077))];
        let got = p.take_got(A).len();
        assert!((16..200).contains(&got), "{got}");
        (p, 300 - got)
    };
    let (mut p, rest) = rebound(300);
    let pause = time_and_pause(&mut p, [rest, 0])[1];
    assert!((250..=300 + 2 * ROUND_TRIP).contains(&pause), "{pause} ms");
    // Without it, the next heartbeat is that of HB.interval.
    let (mut p, _) = rebound(0);
    p.run(5000);
    assert_eq!(p.take_got(A).len(), 0);
}

/// The preset, on a host that tells nothing of its addresses: neither side knows that the translator
/// changed anything.
fn untold() -> Config {
    let mut c = Config::byway();
    c.asconf.enabled = false;
    c
}

/// The chunks of the packets that Z sent to this address, one text for each packet.
fn sent_to(p: &Pair, to: SocketAddr) -> Vec<&str> {
    let all = p.sent.iter();
    let there = all.filter(|q| q.from == Z && q.destination == to);
    there.map(|q| q.text.as_str()).collect()
}

/// Whether a packet has heartbeats and answers to them alone.
fn asks_only(text: &str) -> bool {
    ["HEARTBEAT", "HEARTBEAT ACK"].contains(&text)
}

/// In mid-transfer the packets of A come from this address on.
fn leaves_for(p: &mut Pair, new: SocketAddr) {
    p.send_many(A, 1000, 300);
    p.send_many(Z, 1000, 300);
    p.run(35);
    p.nat = vec![bind(0, new)];
}

/// All uplinks were away, and the translators came back with other ports, or with other addresses. The answer to the heartbeat
/// to the new source is the first sign of life: what was on its way on any path leaves at once, and does not wait for a T3-rtx
/// that has backed off.
#[test]
fn delivery_resumes_when_the_peer_comes_back_from_a_new_source() {
    for (hosts, port) in [([1, 2], 5000), ([3, 4], 4001)] {
        for back in [0, 1] {
            for outage in (7_000..17_000).step_by(1_100) {
                let mut p = two_uplinks_with(&untold());
                p.send_many(Z, 1000, 50);
                p.run(1000);
                p.cut(&[0, 1]);
                p.send_many(Z, 1000, 1);
                p.send_many(A, 100, 1);
                p.run(outage);
                assert_eq!(p.take_got(A).len(), 50);
                p.nat = [0, 1].map(|n| bind(n, outside(hosts[n], port))).into();
                p.lose(move |q| q.path != back);
                p.take_drawings();
                // A asks its dead paths twice a second, and Z takes it from there.
                p.run(1000);
                let drawn = p.take_drawings();
                let got = p.take_got(A).len();
                assert_eq!(got, 1, "port {port}, back {back}, {outage} ms: {drawn:#?}");
            }
        }
    }
}

#[test]
fn another_public_address_carries_data_only_after_its_nonce_came_back() {
    let new = outside(2, 4077);
    let mut p = one_uplink_with(&untold());
    leaves_for(&mut p, new);
    // As long as the answer is lost, nothing but heartbeats goes there.
    p.lose(|q| q.from == A && q.text.contains("HEARTBEAT ACK"));
    p.run(500);
    let sent = sent_to(&p, new);
    assert!(
        !sent.is_empty() && sent.iter().all(|t| asks_only(t)),
        "{sent:?}"
    );
    assert!(p.take_got(A).len() < 300 && p.take_got(Z).len() < 300);
    p.heal();
    p.run(2000);
    let sent = sent_to(&p, new);
    let first = sent
        .iter()
        .position(|t| !asks_only(t))
        .expect("data goes there");
    assert!(sent[first..].iter().any(|t| t.contains("DATA")), "{sent:?}");
    let paths = paths_of(&mut p, Z);
    assert!(paths.contains(&(new, PathState::Active)), "{paths:?}");
}

/// The new address is another path beside the old one, which must first be silent for a probe timeout: 50 ms in the first
/// windows.
#[test]
fn another_public_address_in_mid_transfer_costs_a_few_round_trips() {
    let new = outside(2, 4077);
    let takes = |to| {
        let mut p = one_uplink_with(&untold());
        leaves_for(&mut p, to);
        let time = time_and_pause(&mut p, [300, 300]);
        (p, time)
    };
    let (_, without) = takes(outside(1, 4001));
    let (mut p, with) = takes(new);
    println!("{with:?} ms, {without:?} without");
    let later = [0, 1].map(|i| with[i] - without[i]);
    assert!(later[1] <= 4 * ROUND_TRIP, "{later:?}");
    assert!(later[0] <= 6 * ROUND_TRIP, "{later:?}");

    let up = |e: &Event| matches!(e, Event::PathAdded { remote, .. } if *remote == new);
    assert!(p.take_events(Z).iter().any(up));
}

/// Somebody who has seen the tag sends in A's name from elsewhere, and claims to have answered.
#[test]
fn a_forged_source_gets_no_data_in_mid_transfer_whatever_it_answers() {
    let (new, forged) = (outside(2, 4077), outside(3, 9));
    let mut p = one_uplink_with(&untold());
    let tag = p.reader.tags[Z];
    leaves_for(&mut p, new);
    p.lose(|q| q.from == A && q.text.contains("HEARTBEAT ACK"));
    for _ in 0..20 {
        p.run(20);
        let bytes = packet(A, tag, |b| b.heartbeat(&[1, 2, 3]));
        p.inject_bytes(Z, forged, &bytes);
        // What went to the true new source, and what was made up.
        for to in [new, address(0, A)] {
            let asked = p
                .sent
                .iter()
                .rev()
                .find(|q| q.from == Z && q.destination == to);
            let mut info = asked.and_then(heartbeat_info).unwrap_or(vec![7; 17]);
            for changed in [false, true] {
                info[16] ^= u8::from(changed);
                p.inject_bytes(Z, forged, &packet(A, tag, |b| b.heartbeat_ack(&info)));
            }
        }
    }
    p.heal();
    p.run(2000);
    let sent = sent_to(&p, forged);
    assert!(
        !sent.is_empty() && sent.iter().all(|t| asks_only(t)),
        "{sent:?}"
    );
    assert_eq!((p.take_got(A).len(), p.take_got(Z).len()), (300, 300));
    let paths = paths_of(&mut p, Z);
    assert!(
        paths.iter().all(|(remote, _)| *remote != forged),
        "{paths:?}"
    );
}

#[test]
fn a_source_that_does_not_answer_gets_heartbeats_and_nothing_else() {
    let mut p = Pair::up(1, &plain());
    let tag = p.reader.tags[Z];
    let stranger: SocketAddr = "198.51.100.7:9".parse().unwrap();
    for _ in 0..5 {
        let bytes = packet(A, tag, |b| b.heartbeat(&[1, 2, 3]));
        p.inject_bytes(Z, stranger, &bytes);
    }
    let mut expected = vec!["Z -> HEARTBEAT -> lost (path 51)"];
    expected.extend(["Z -> HEARTBEAT ACK -> lost (path 51)"; 5]);
    assert_drawn(&p.take_drawings(), &expected);
    p.send_many(Z, 1000, 20);
    p.run(1000);
    assert_eq!(p.take_got(A).len(), 20);
    assert_eq!(paths_of(&mut p, Z), [(address(0, A), PathState::Active)]);
}

/// A client with the SCTP port of A sets up an association with Z from this source.
fn second_client(p: &mut Pair, source: SocketAddr) {
    client(p, source, 9);
}

/// The same with this verification tag; returns that of Z.
fn client(p: &mut Pair, source: SocketAddr, tag: u32) -> u32 {
    set_up(p, source, tag, |_| {})
}

/// What the answer to the heartbeat of a packet must carry, if it has one.
fn heartbeat_info(q: &Passing) -> Option<Vec<u8>> {
    let packet = Packet::parse(&q.bytes).unwrap();
    let mut chunks = packet.chunks().map(|c| c.unwrap().parse().unwrap());
    chunks.find_map(|c| match c {
        Chunk::Heartbeat(h) => Some(h.info.to_vec()),
        _ => None,
    })
}

/// A client behind a translator moves to this source: it answers the heartbeat of Z that goes
/// there. Tags are those of the client and of Z.
fn moves_to(p: &mut Pair, source: SocketAddr, [client, z]: [u32; 2]) {
    p.inject_bytes(Z, source, &packet(A, z, |b| b.heartbeat(&[1, 2, 3])));
    let info = p.sent.iter().rev().find_map(|q| {
        let packet = Packet::parse(&q.bytes).unwrap();
        let to_client = packet.header().verification_tag == client;
        heartbeat_info(q).filter(|_| to_client)
    });
    let info = info.expect("a heartbeat goes to the new source");
    p.inject_bytes(Z, source, &packet(A, z, |b| b.heartbeat_ack(&info)));
    assert_eq!(p.path(Z, 0).remote, source);
}

#[test]
fn two_clients_behind_one_address_with_one_sctp_port() {
    let mut p = one_uplink();
    let first = p.id(Z);
    p.take_events(Z);
    second_client(&mut p, outside(1, 4242));
    let events = p.take_events(Z);
    assert!(
        events.iter().any(|e| matches!(e, Event::Up { .. })),
        "{events:?}"
    );
    assert!(!events.iter().any(|e| matches!(e, Event::Restarted { .. })));
    assert_ne!(p.id(Z), first, "an association of its own");
    p.ids[Z] = Some(first);
    p.send_many(A, 1000, 20);
    p.send_many(Z, 1000, 20);
    p.run(1000);
    assert_eq!((p.take_got(A).len(), p.take_got(Z).len()), (20, 20));
}

/// A translator gives the port of a client that is silent to another one. When the
/// association of the first one ends, the port still finds the second one's: a restart of
/// the second client is one, and leaves no association behind.
#[test]
fn a_port_that_two_clients_had_belongs_to_the_one_that_is_left() {
    let mut p = one_uplink();
    let first = p.id(Z);
    let z = client(&mut p, outside(1, 4242), 9);
    let second = p.id(Z);
    assert_ne!(first, second);
    moves_to(&mut p, outside(1, 4001), [9, z]);
    p.ids[Z] = Some(first);
    p.with(Z, |now, e, id| e.abort(now, id, b"silent")).unwrap();
    p.take_events(Z);
    client(&mut p, outside(1, 4001), 10);
    let events = p.take_events(Z);
    let restarted = events.iter().any(|e| matches!(e, Event::Restarted { .. }));
    assert!(restarted, "{events:?}");
    assert_eq!(p.ends[Z].association_count(), 1);
}

/// The same, and the address of the one that is left changes anything else in between: it
/// does not take the port from the other one.
#[test]
fn a_port_stays_with_the_association_that_had_it_first() {
    let mut p = one_uplink();
    let z = client(&mut p, outside(1, 4242), 9);
    moves_to(&mut p, outside(1, 4001), [9, z]);
    moves_to(&mut p, outside(1, 4242), [9, z]);
    moves_to(&mut p, outside(1, 4001), [9, z]);
    p.with(Z, |now, e, id| e.abort(now, id, b"gone")).unwrap();
    p.take_events(Z);
    // The first client restarts.
    client(&mut p, outside(1, 4001), 10);
    let events = p.take_events(Z);
    let restarted = events.iter().any(|e| matches!(e, Event::Restarted { .. }));
    assert!(restarted, "{events:?}");
}

#[test]
fn a_listed_address_does_not_shut_its_owner_out() {
    // The first client lists the second one's address, which then connects itself.
    let mut p = Pair::of(
        [endpoint(2, A, 1, &plain()), endpoint(1, Z, 2, &plain())],
        1,
    );
    p.cut(&[1]);
    p.connect(A, &plain());
    p.run(100);
    let first = p.id(Z);
    let listed = address(1, A);
    assert!(paths_of(&mut p, Z).contains(&(listed, PathState::Unconfirmed)));
    second_client(&mut p, listed);
    assert_ne!(p.id(Z), first);
}

// A ===NAT, one binding for each destination=== Z (two addresses)
#[test]
fn a_symmetric_translator_does_not_break_the_first_path() {
    let mut p = Pair::of(
        [endpoint(1, A, 1, &beating()), endpoint(2, Z, 2, &beating())],
        2,
    );
    let towards = |path: usize, port: u16| Binding {
        inside: address(0, A),
        towards: Some(address(path, Z)),
        outside: outside(1, port),
    };
    p.nat = vec![towards(0, 7000), towards(1, 7001)];
    let peers = addresses(2, Z);
    let id = p.ends[A]
        .connect(p.now, &peers, crate::common::PORTS[Z], beating())
        .unwrap();
    p.ids[A] = Some(id);
    p.pump(A);
    p.run(5000);
    assert_eq!(p.path_state(A, 0), PathState::Active);
    assert_eq!(p.path_state(A, 1), PathState::Active);
    assert_eq!(
        paths_of(&mut p, Z),
        [
            (outside(1, 7000), PathState::Active),
            (outside(1, 7001), PathState::Active)
        ]
    );
    // Whatever uses Z's first address is lost, both ways.
    p.hand(|q| {
        let first = q.from == A && q.path == 0 || q.from == Z && q.text.contains('#');
        if first {
            crate::common::Fate::Lose
        } else {
            crate::common::Fate::Pass
        }
    });
    p.send_many(A, 1000, 20);
    p.run(10_000);
    assert_eq!(p.take_got(Z).len(), 20);
}
