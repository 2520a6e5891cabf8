//! A peer with one address, and two cards on this side: there is one path, and the other card
//! takes over when the path's own source fails. A round trip takes 20 ms.

use crate::address_changes::Changing;
use crate::common::{A, Pair, Z, address, assert_drawn, packet, plain};
use crate::peer_moved::config;
use byway_core::config::Config;
use byway_core::time::Instant;
use byway_core::{Event, Routes, SendFailure};
use core::net::{IpAddr, SocketAddr};

/// Each local address has a way of its own to every destination.
struct EachItsOwn;

impl Routes for EachItsOwn {
    fn source(&mut self, local: &[SocketAddr], _: IpAddr) -> Option<usize> {
        (!local.is_empty()).then_some(0)
    }

    fn source_beside(
        &mut self,
        local: &[SocketAddr],
        _: IpAddr,
        used: &[SocketAddr],
    ) -> Option<usize> {
        local.iter().position(|l| !used.contains(l)).or(Some(0))
    }
}

/// A with so many cards, and Z with one address.
fn pair(cards: usize, config: &Config) -> Pair {
    with_addresses(Changing { a: cards, z: 1 }, config)
}

fn with_addresses(both: Changing, config: &Config) -> Pair {
    let mut p = both.pair(config, config);
    p.ends[A].set_routes(Box::new(EachItsOwn));
    both.connect(&mut p, config);
    p.run(4000);
    // So that the round trip is known.
    p.send_many(A, 1000, 10);
    p.run(1000);
    p.take_got(Z);
    p.take_events(A);
    p.take_drawings();
    p
}

/// Nothing passes between these addresses of A and the peer.
fn cut(p: &mut Pair, sources: &'static [usize]) {
    p.lose(move |q| {
        let here = |s: &usize| match q.from {
            A => q.source == address(*s, A),
            _ => q.path == *s,
        };
        sources.iter().any(here)
    });
}

fn moves(p: &mut Pair) -> usize {
    let events = p.take_events(A);
    let moved = events
        .iter()
        .filter(|e| matches!(e, Event::PathMoved { .. }));
    moved.count()
}

/// Sends a message each 5 ms for this time. The longest pause between arrivals at Z.
fn longest_pause(p: &mut Pair, millis: u64) -> u64 {
    let (mut last, mut longest): (Instant, u64) = (p.now, 0);
    for n in 0..millis {
        if n % 5 == 0 {
            p.send_many(A, 1000, 1);
        }
        p.run(1);
        if !p.take_got(Z).is_empty() {
            last = p.now;
        }
        longest = longest.max(p.now.since(last).as_millis() as u64);
    }
    longest
}

#[test]
fn the_other_card_takes_over_as_fast_as_another_path_would() {
    let mut p = pair(2, &config());
    assert!(longest_pause(&mut p, 200) <= 25);
    cut(&mut p, &[0]);
    let pause = longest_pause(&mut p, 1000);
    assert!(pause <= 3 * 20 + 50, "{pause} ms");
    assert_eq!(p.path(A, 0).local, address(1, A));
    assert_eq!(moves(&mut p), 1);
    // And back, when that one fails.
    cut(&mut p, &[1]);
    let pause = longest_pause(&mut p, 1000);
    assert!(pause <= 3 * 20 + 50, "{pause} ms");
    assert_eq!(p.path(A, 0).local, address(0, A));
    assert_eq!(moves(&mut p), 1);
}

#[test]
fn all_other_cards_are_asked_at_once() {
    let mut p = pair(4, &config());
    cut(&mut p, &[0, 1, 2]);
    let pause = longest_pause(&mut p, 1000);
    assert!(pause <= 3 * 20 + 50, "{pause} ms");
    assert_eq!(p.path(A, 0).local, address(3, A));
}

/// N2: policy routing, or two cards in one subnet. The routes name the first card for every
/// destination, and each path still leaves by a card of its own; so what cuts the first card
/// leaves the second path.
#[test]
fn each_path_has_a_card_of_its_own_where_the_routes_name_one_for_all() {
    let mut p = with_addresses(Changing { a: 2, z: 2 }, &config());
    let sources = [0, 1].map(|n| p.path(A, n).local);
    assert_eq!(sources, [address(0, A), address(1, A)]);
    cut(&mut p, &[0]);
    let pause = longest_pause(&mut p, 1000);
    assert!(pause <= 3 * 20 + 50, "{pause} ms");
    let sources = [0, 1].map(|n| p.path(A, n).local);
    assert_eq!(sources, [address(0, A), address(1, A)]);
}

#[test]
fn a_lost_chunk_alone_moves_nothing() {
    let mut p = pair(2, &config());
    p.lose_once(&["DATA"]);
    p.send_many(A, 1000, 1);
    p.run(500);
    assert_eq!(p.take_got(Z).len(), 1);
    assert_eq!(moves(&mut p), 0);
    assert_eq!(p.path(A, 0).local, address(0, A));
    // Both cards were asked at the same moment.
    let asked = p.take_drawings_with(&["HEARTBEAT"]);
    let (question, answer) = ("A -> HEARTBEAT -> Z", "Z -> HEARTBEAT ACK -> A");
    let beside = "Z -> HEARTBEAT ACK -> A (path 1)";
    assert_drawn(&asked, &[question, question, beside, answer]);
}

#[test]
fn a_source_that_the_kernel_refuses_is_left_after_a_round_trip() {
    let mut p = pair(2, &config());
    p.send_many(A, 1000, 1);
    cut(&mut p, &[0]);
    let packet = p.sent.last().unwrap().bytes.clone();
    p.with(A, |now, e, _| {
        e.send_failed(now, address(0, Z), &packet, SendFailure::Unreachable);
    });
    p.send_many(A, 1000, 3);
    p.run(45);
    assert_eq!(p.path(A, 0).local, address(1, A));
    assert_eq!(p.take_got(Z).len(), 4);
}

/// The kernel refused one packet, and the path's own source is the first to answer: it stays.
#[test]
fn a_source_that_answers_again_stays() {
    let mut p = pair(2, &config());
    p.delay_ms[1] = 30;
    p.send_many(A, 1000, 1);
    let packet = p.sent.last().unwrap().bytes.clone();
    p.with(A, |now, e, _| {
        e.send_failed(now, address(0, Z), &packet, SendFailure::Unreachable);
    });
    p.run(300);
    let answers = p.take_drawings_with(&["HEARTBEAT ACK"]);
    assert_eq!(answers.len(), 2, "{answers:?}");
    assert_eq!(moves(&mut p), 0);
    assert_eq!(p.path(A, 0).local, address(0, A));
}

/// With one card there is nothing to ask, and without the probe timeout nothing happens that
/// RFC 9260 does not say.
#[test]
fn nothing_leaves_where_there_is_no_other_card_or_no_probe_timeout() {
    for (cards, config) in [(1, config()), (2, plain())] {
        let mut p = pair(cards, &config);
        cut(&mut p, &[0]);
        p.sent.clear();
        p.send_many(A, 1000, 1);
        p.run(1500);
        let elsewhere = p
            .sent
            .iter()
            .filter(|q| q.from == A && q.source != address(0, A));
        assert_eq!(elsewhere.count(), 0, "{cards}");
        assert_eq!(moves(&mut p), 0, "{cards}");
    }
}

/// Whoever answers from another address, without the nonce, moves nothing.
#[test]
fn an_answer_without_the_nonce_moves_nothing() {
    let mut p = pair(2, &config());
    let (local, remote) = (address(1, A), address(0, Z));
    cut(&mut p, &[0, 1]);
    p.send_many(A, 1000, 1);
    p.run(200);
    let asked = p
        .sent
        .iter()
        .rfind(|q| q.from == A && q.source == local)
        .unwrap();
    // The heartbeat, as an answer with another nonce.
    let mut forged = asked.bytes.clone();
    // Behind the headers of packet, chunk and parameter: path, time and nonce.
    forged[12 + 4 + 4 + 16] ^= 1;
    let info = forged[12 + 4..].to_vec();
    let tag = p.reader.tags[A];
    let bytes = packet(Z, tag, |b| {
        b.raw(byway_wire::chunk_type::HEARTBEAT_ACK, 0, &info);
    });
    let now = p.now;
    p.ends[A].handle_datagram(now, remote, local, &bytes);
    p.pump(A);
    p.run(100);
    assert_eq!(moves(&mut p), 0);
    assert_eq!(p.path(A, 0).local, address(0, A));
}

/// The other card is behind a translator, and the peer finds associations by addresses, as Linux
/// does: it answers the heartbeat from there with an ABORT, T bit set. The association goes on, and
/// the same from where the peer answers ends it.
#[test]
fn a_peer_that_does_not_know_the_other_source_ends_nothing() {
    let mut p = pair(2, &config());
    p.cut(&[0, 1]);
    p.send_many(A, 1000, 1);
    p.run(100);
    let mut sent = p.sent.iter();
    assert!(
        sent.any(|q| q.from == A && q.source == address(1, A)),
        "it was asked"
    );
    let bytes = packet(Z, p.reader.tags[Z], |b| b.abort(true, |_| {}));
    let now = p.now;
    p.ends[A].handle_datagram(now, address(0, Z), address(1, A), &bytes);
    assert_eq!(p.state(A), "ESTABLISHED");
    cut(&mut p, &[1]);
    p.run(2000);
    assert_eq!(p.take_got(Z).len(), 1);
    let now = p.now;
    p.ends[A].handle_datagram(now, address(0, Z), address(0, A), &bytes);
    assert_eq!(p.state(A), "CLOSED");
}
