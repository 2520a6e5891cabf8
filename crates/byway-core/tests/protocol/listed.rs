//! Addresses that the peer listed and that never answered: a victim's, or those of a path that was only down when the
//! association began. A round trip takes 20 ms here.

use crate::address_changes::{Changing, asconf, change, changing};
use crate::common::stranger::{init, set_up};
use crate::common::{A, Fate, PORTS, Pair, Z, address, address_of_ipv6, endpoint, packet, plain};
use byway_core::{Config, Endpoint, EndpointConfig, Event, PathId, PathState};
use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;

fn beating() -> Config {
    let mut c = plain();
    c.hb.enabled = true;
    c
}

fn victim(n: u8) -> SocketAddr {
    SocketAddr::new([198, 51, 100, n].into(), 0)
}

/// Heartbeats of one side to each address; whatever else went to a victim is a fault.
fn heartbeats(p: &mut Pair, from: usize) -> BTreeMap<IpAddr, usize> {
    let mut counts = BTreeMap::new();
    for q in p.sent.drain(..).filter(|q| q.from == from) {
        let to = q.destination.ip();
        if q.text == "HEARTBEAT" {
            *counts.entry(to).or_insert(0) += 1;
        } else {
            assert!(!to.to_string().starts_with("198."), "{}", q.text);
        }
    }
    counts
}

/// A day in which the peer at its own address answers every HEARTBEAT of this side and sends one each half a minute.
/// Returns the HEARTBEATs to each address.
fn day_of_an_attacker(p: &mut Pair, side: usize, tag: u32) -> BTreeMap<IpAddr, usize> {
    let own = address(0, 1 - side);
    let mut counts = BTreeMap::new();
    for second in 0..24 * 3600 {
        p.run(1000);
        let asked: Vec<Vec<u8>> = p
            .sent
            .iter()
            .filter(|q| q.from == side && q.destination == own && q.text == "HEARTBEAT")
            .map(|q| q.bytes.clone())
            .collect();
        for bytes in asked {
            let heard = byway_wire::Packet::parse(&bytes).unwrap();
            let beat = heard.chunks().next().unwrap().unwrap();
            let kind = byway_wire::chunk_type::HEARTBEAT_ACK;
            let ack = packet(1 - side, tag, |b| b.raw(kind, 0, beat.value));
            p.inject_bytes(side, own, &ack);
        }
        if second % 30 == 0 {
            let beat = packet(1 - side, tag, |b| b.heartbeat(&[7; 64]));
            p.inject_bytes(side, own, &beat);
        }
        for (to, count) in heartbeats(p, side) {
            *counts.entry(to).or_insert(0) += count;
        }
    }
    counts
}

fn assert_five_at_most(counts: &BTreeMap<IpAddr, usize>, victims: usize) {
    let to_victims: Vec<usize> = counts
        .iter()
        .filter(|(to, _)| to.to_string().starts_with("198."))
        .map(|(_, n)| *n)
        .collect();
    assert_eq!(to_victims.len(), victims, "{counts:?}");
    assert!(to_victims.iter().all(|n| *n <= 5), "{counts:?}");
}

#[test]
fn attack_victims_of_an_init_get_five_heartbeats_in_a_day() {
    let mut p = Pair::new(1, &beating());
    p.lose(|_| true);
    let tag = set_up(&mut p, address(0, A), 9, |w| {
        (0..3).for_each(|n| assert!(w.address(victim(n).ip())));
    });
    let counts = day_of_an_attacker(&mut p, Z, tag);
    assert_five_at_most(&counts, 3);
    assert_eq!(p.state(Z), "ESTABLISHED");
    assert!(counts[&address(0, A).ip()] > 1000, "the attacker lives");
}

#[test]
fn attack_victims_of_an_init_ack_get_five_heartbeats_in_a_day() {
    let mut p = Pair::new(1, &beating());
    p.lose(|_| true);
    p.connect(A, &beating());
    let asked = p.sent[0].bytes.clone();
    let asked = byway_wire::Packet::parse(&asked).unwrap();
    let Ok(byway_wire::Chunk::Init(asked)) = asked.chunks().next().unwrap().unwrap().parse() else {
        panic!("an INIT")
    };
    let tag = asked.initiate_tag;
    let ack = packet(Z, tag, |b| {
        b.init(true, &init(9), |w| {
            w.state_cookie(&[1; 40]);
            (0..3).for_each(|n| assert!(w.address(victim(n).ip())));
        });
    });
    p.inject_bytes(A, address(0, Z), &ack);
    let echoed = packet(Z, tag, |b| b.cookie_ack());
    p.inject_bytes(A, address(0, Z), &echoed);
    assert_eq!(p.state(A), "ESTABLISHED");
    let counts = day_of_an_attacker(&mut p, A, tag);
    assert_five_at_most(&counts, 3);
    assert_eq!(p.state(A), "ESTABLISHED");
}

/// The peer adds a victim, deletes it and adds it again, each minute of a day.
#[test]
fn attack_a_victim_that_is_added_again_and_again_gets_five_heartbeats() {
    let (mut p, forger) = Changing { a: 1, z: 1 }.forged();
    for n in 0..24 * 60_u32 {
        asconf(&mut p, &forger, 0, n + 1, |w| {
            if n > 0 {
                w.delete_ip(2, victim(1).ip());
            }
            w.add_ip(1, victim(1).ip());
        });
        p.run(MINUTE);
    }
    assert_five_at_most(&heartbeats(&mut p, Z), 1);
    assert_eq!(p.state(Z), "ESTABLISHED");
}

/// The peer adds another victim each minute. A mapped address is the one that it maps.
#[test]
fn attack_victims_without_end_are_not_all_asked() {
    let (mut p, forger) = Changing { a: 1, z: 1 }.forged();
    for n in 0..250_u32 {
        asconf(&mut p, &forger, 0, n + 1, |w| {
            if n > 0 {
                w.delete_ip(2, victim(n as u8 - 1).ip());
            }
            w.add_ip(1, victim(n as u8).ip());
        });
        p.run(MINUTE);
    }
    assert_five_at_most(&heartbeats(&mut p, Z), 64);
}

/// The peer makes a victim its only address, by an ASCONF that seems to come from there. Nothing else shows
/// whether it lives, so the association ends, with no more heartbeats than to another victim.
#[test]
fn attack_a_victim_that_is_the_only_address_gets_five_heartbeats() {
    let (mut p, forger) = Changing { a: 1, z: 1 }.forged();
    p.lose(|_| true);
    let (tag, first) = (p.reader.tags[Z], p.reader.tsn(A, 1).0);
    let bytes = forger.packet(A, tag, |b| {
        b.asconf(first, address(0, A).ip(), |w| {
            w.add_ip(1, victim(1).ip());
            w.delete_ip(2, address(0, A).ip());
        });
    });
    p.ends[Z].handle_datagram(p.now, victim(1), address(0, Z), &bytes);
    p.pump(Z);
    p.run(1);
    // The answer to the ASCONF.
    p.sent.retain(|q| !q.text.contains("ASCONF-ACK"));
    assert_eq!(p.ends[Z].paths(p.id(Z)).len(), 1);
    p.run(2 * HOUR);
    let counts = heartbeats(&mut p, Z);
    assert!((2..=6).contains(&counts[&victim(1).ip()]), "{counts:?}");
    let lost = |e: &Event| matches!(e, Event::Lost { .. });
    assert!(p.take_events(Z).iter().any(lost));
}

/// Two sides with two paths, the second of which is down from the beginning. The user gave the peer's first address.
fn half(config: &Config) -> Pair {
    let ends = [endpoint(2, A, 1, config), endpoint(2, Z, 2, config)];
    let mut p = Pair::of(ends, 2);
    p.cut(&[1]);
    p.connect_to(A, &[address(0, Z)], config);
    p
}

fn states(p: &Pair) -> [PathState; 2] {
    [A, Z].map(|side| p.path_state(side, 1))
}

const DOWN: [PathState; 2] = [PathState::Inactive; 2];
const UP: [PathState; 2] = [PathState::Active; 2];

#[test]
fn a_listed_address_is_asked_at_once_and_soon_and_late() {
    let mut p = half(&beating());
    p.timed = true;
    p.run(30_000);
    assert_eq!(states(&p), DOWN);
    p.run(24 * HOUR);
    let sent = p.take_drawings_with(&["A -> HEARTBEAT -> lost"]);
    let times: Vec<u64> = sent
        .iter()
        .map(|d| d.split(' ').next().unwrap().parse::<u64>().unwrap() / 1000)
        .collect();
    // One is kept for when no other path takes data.
    assert_eq!(times, [0, 1, 18, 622]);
}

#[test]
fn a_path_that_comes_up_in_ten_minutes_is_found() {
    let mut p = half(&beating());
    p.run(9 * MINUTE);
    p.heal();
    p.run(2 * MINUTE);
    assert_eq!(states(&p), UP);
}

/// A peer that goes on asking, as RFC 9260 section 8.3 has it, is answered as soon as it is heard.
#[test]
fn a_path_that_comes_up_an_hour_later_lives_as_soon_as_the_peer_is_heard_there() {
    let mut p = half(&beating());
    p.run(HOUR);
    p.heal();
    // Both sides are silent: neither can know.
    p.run(HOUR);
    assert_eq!(states(&p), DOWN);
    p.inject(Z, 1, |b| b.heartbeat(&[7; 17]));
    p.run(100);
    assert_eq!(states(&p), UP);
}

/// What is heard pays for one heartbeat. If its answer is lost, the next packet pays for the next one.
#[test]
fn each_packet_from_a_silent_address_gives_it_one_heartbeat() {
    let mut p = half(&beating());
    p.run(HOUR);
    p.sent.clear();
    p.lose(|q| q.path == 1);
    for n in 1..=10 {
        p.inject(Z, 1, |b| b.heartbeat(&[7; 17]));
        p.run(5 * MINUTE);
        assert_eq!(heartbeats(&mut p, Z)[&address(1, A).ip()], 1, "{n}");
    }
    p.run(24 * HOUR);
    assert_eq!(heartbeats(&mut p, Z).get(&address(1, A).ip()), None);
    p.heal();
    p.inject(Z, 1, |b| b.heartbeat(&[7; 17]));
    p.run(100);
    assert_eq!(states(&p), UP);
}

/// Both sides have given the second path up, and it works since. When the first one dies, it is asked once more.
#[test]
fn a_path_that_both_sides_gave_up_is_asked_when_it_is_the_last_one() {
    for sender in [A, Z] {
        let mut p = half(&beating());
        p.run(3 * HOUR);
        let to = address(1, 1 - sender).ip();
        assert_eq!(heartbeats(&mut p, sender)[&to], 4);
        p.cut(&[0]);
        p.send_many(sender, 1000, 5);
        p.run(10_000);
        assert_eq!(p.got[1 - sender].len(), 5);
        assert_eq!(states(&p), UP);
    }
}

/// The same without data: the heartbeats of the first path find it dead.
#[test]
fn an_idle_association_asks_the_path_that_it_gave_up_before_it_ends() {
    let mut p = half(&beating());
    p.run(3 * HOUR);
    p.cut(&[0]);
    p.run(5 * MINUTE);
    assert_eq!(states(&p), UP);
    p.send_many(A, 1000, 5);
    p.run(1000);
    assert_eq!(p.got[Z].len(), 5);
}

#[test]
fn the_user_asks_an_address_that_was_given_up() {
    let mut p = half(&beating());
    p.run(HOUR);
    p.sent.clear();
    for _ in 0..3 {
        p.with(A, |now, e, id| e.request_heartbeat(now, id, PathId(1)))
            .unwrap();
        p.run(5 * MINUTE);
        assert_eq!(heartbeats(&mut p, A)[&address(1, Z).ip()], 1);
    }
    p.heal();
    p.with(A, |now, e, id| e.request_heartbeat(now, id, PathId(1)))
        .unwrap();
    p.run(100);
    assert_eq!(states(&p), UP);
}

/// A card of this side that comes may be what was missing: five more for each address.
#[test]
fn an_address_of_this_side_that_comes_asks_again() {
    let mut p = Pair::of(
        [endpoint(2, A, 1, &beating()), endpoint(2, Z, 2, &beating())],
        3,
    );
    p.cut(&[1, 2]);
    p.connect_to(A, &[address(0, Z)], &beating());
    p.run(HOUR);
    assert!(heartbeats(&mut p, A)[&address(1, Z).ip()] <= 5);
    change(&mut p, A, &[2], &[]);
    p.run(HOUR);
    assert!((1..=5).contains(&heartbeats(&mut p, A)[&address(1, Z).ip()]));
    p.heal();
    change(&mut p, A, &[], &[2]);
    p.run(MINUTE);
    assert_eq!(p.path_state(A, 1), PathState::Inactive);
    change(&mut p, A, &[2], &[]);
    p.run(100);
    assert_eq!(states(&p), UP);
}

/// The user gave both addresses, so both are the peer's (RFC 9260 section 5.4).
#[test]
fn an_address_that_the_user_gave_is_asked_for_ever() {
    let ends = [endpoint(2, A, 1, &beating()), endpoint(2, Z, 2, &beating())];
    let mut p = Pair::of(ends, 2);
    p.hand(|q| if q.path == 1 { Fate::Lose } else { Fate::Pass });
    p.connect(A, &beating());
    p.run(24 * HOUR);
    assert!(heartbeats(&mut p, A)[&address(1, Z).ip()] > 500);
    p.heal();
    p.run(5 * MINUTE);
    assert_eq!(states(&p), UP);
}

/// An address of IPv6 that is the peer's, for which this side has no address of its own for a time: the user gave it,
/// or it answered before. When the address of this side comes (back), the other one does not answer.
#[test]
fn an_address_that_waits_for_a_source_stays_the_peers() {
    let mut config = changing();
    config.hb.enabled = true;
    let of = |side| [address(0, side), address_of_ipv6(1, side)];
    let end = |local: &[SocketAddr], side: usize| {
        let settings = EndpointConfig {
            accepted: config.clone(),
            ..EndpointConfig::new(PORTS[side], local.to_vec(), [side as u8 + 1; 32])
        };
        Endpoint::new(settings).unwrap()
    };
    for given in [true, false] {
        let (own, to) = if given { (1, 2) } else { (2, 1) };
        let mut p = Pair::of([end(&of(A)[..own], A), end(&of(Z), Z)], 2);
        p.connect_to(A, &of(Z)[..to], &config);
        p.run(4000);
        if !given {
            assert_eq!(states(&p), UP);
            let gone = of(A)[1].ip();
            p.with(A, |now, e, _| e.change_local_addresses(now, &[], &[gone]))
                .unwrap();
            p.run(1000);
        }
        assert_eq!(p.ends[A].paths(p.id(A)).len(), 1);
        p.lose(|q| q.destination.is_ipv6());
        p.sent.clear();
        p.with(A, |now, e, _| {
            e.change_local_addresses(now, &of(A)[1..], &[])
        })
        .unwrap();
        p.run(24 * HOUR);
        let all = p.sent.clone();
        assert!(heartbeats(&mut p, A)[&of(Z)[1].ip()] > 500);
        p.sent = all;
        // To the other side it is what the peer says.
        assert!(heartbeats(&mut p, Z)[&of(A)[1].ip()] <= 5);
    }
}
