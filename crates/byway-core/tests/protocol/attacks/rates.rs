//! Attacks that only a number stops: limits, rates, and numbers that nobody may guess.

use super::stranger;
use crate::common::stranger::{cookie_echo, init, set_up};
use crate::common::{A, PORTS, Pair, Z, address, endpoint, ms, packet, plain};
use byway_core::{Endpoint, EndpointConfig, Event, Rule};
use core::net::SocketAddr;
use std::collections::BTreeSet;

/// Another UDP port of a stranger's host.
fn port(host: u8, port: u16) -> SocketAddr {
    SocketAddr::new(stranger(host).ip(), port)
}

/// Only Z acts; what it sends arrives nowhere.
fn victim(change: impl FnOnce(&mut EndpointConfig)) -> Pair {
    let mut config = EndpointConfig::new(PORTS[Z], vec![address(0, Z)], [2; 32]);
    config.accepted = plain();
    change(&mut config);
    let ends = [endpoint(1, A, 1, &plain()), Endpoint::new(config).unwrap()];
    let mut p = Pair::of(ends, 1);
    p.lose(|_| true);
    p
}

/// The packets of Z of this kind since the last time.
fn sent(p: &mut Pair, text: &str) -> usize {
    let all = core::mem::take(&mut p.sent);
    all.iter().filter(|q| q.text.starts_with(text)).count()
}

#[test]
fn attack_association_flood_of_one_host_is_counted_one_by_one() {
    let mut p = victim(|c| c.max_associations_per_peer = 3);
    for n in 0..3 {
        set_up(&mut p, port(1, 4000 + n), 9 + u32::from(n), |_| {});
    }
    assert_eq!(p.ends[Z].association_count(), 3);
    let bytes = packet(A, 0, |b| b.init(false, &init(77), |_| {}));
    p.inject_bytes(Z, port(1, 4003), &bytes);
    let refused = "ABORT: Out of Resource: User-Initiated Abort";
    assert_eq!(p.sent.last().unwrap().text, refused);
    assert_eq!(p.ends[Z].take_refusals()[0].rule, Rule::AssociationsOfPeer);
    // Another host, and the same one after one of its associations has ended.
    set_up(&mut p, port(2, 4000), 20, |_| {});
    let (now, last) = (p.now, p.id(Z));
    set_up(&mut p, port(3, 4000), 21, |_| {});
    p.ends[Z].release(now, last);
    assert_eq!(p.ends[Z].association_count(), 4);
    set_up(&mut p, port(2, 4001), 22, |_| {});
}

/// Whether Z had news of an association that is up.
fn is_up(p: &mut Pair) -> bool {
    let up = |e: &Event| matches!(e, Event::Up { .. });
    p.take_events(Z).iter().any(up)
}

// More associations have ended since than there is memory for their cookies. The first
// COOKIE ECHO comes again.
#[test]
fn attack_a_spent_cookie_that_was_forgotten_sets_nothing_up() {
    let mut p = victim(|_| {});
    let mut first = None;
    for n in 0..16_500_u32 {
        // Time enough for the rate of answers.
        p.now += core::time::Duration::from_micros(300);
        let source = port((n % 50) as u8, 4000);
        let (_, echo) = cookie_echo(&mut p, source, 9 + n, |_| {});
        p.inject_bytes(Z, source, &echo);
        assert!(is_up(&mut p), "{n}");
        first.get_or_insert((source, echo));
        let (now, id) = (p.now, p.id(Z));
        p.ends[Z].release(now, id);
        p.pump(Z);
        p.sent.clear();
    }
    let (source, echo) = first.unwrap();
    p.inject_bytes(Z, source, &echo);
    assert!(!is_up(&mut p));
    assert_eq!(sent(&mut p, "ERROR: Stale Cookie"), 1);
    // Who comes now is welcome.
    set_up(&mut p, port(60, 4000), 7, |_| {});
    assert!(is_up(&mut p));
}

// -> INIT, COOKIE ECHO (again) -> Z, without end and without time between them.
#[test]
fn attack_a_cookie_that_comes_again_pays_for_no_answers() {
    let mut p = victim(|_| {});
    let (_, echo) = cookie_echo(&mut p, stranger(1), 9, |_| {});
    p.inject_bytes(Z, stranger(1), &echo);
    p.sent.clear();
    let other = packet(A, 0, |b| b.init(false, &init(77), |_| {}));
    for _ in 0..3000 {
        p.inject_bytes(Z, port(1, 5000), &other);
        p.inject_bytes(Z, stranger(1), &echo);
    }
    // One source gets 1,000 at once; the first set-up gave its answer back.
    assert_eq!(sent(&mut p, "INIT ACK"), 1000);
}

#[test]
fn attack_a_stale_cookie_that_comes_again_meets_the_rate_of_answers() {
    let mut p = victim(|_| {});
    let (_, echo) = cookie_echo(&mut p, stranger(1), 9, |_| {});
    p.now += ms(61_000);
    p.sent.clear();
    for _ in 0..3000 {
        p.inject_bytes(Z, stranger(1), &echo);
    }
    assert_eq!(sent(&mut p, "ERROR: Stale Cookie"), 1000);
    assert_eq!(p.ends[Z].endpoint_stats().stale_cookies, 3000);
}

// A peer, or who knows its tag, forges the sources of its packets.
#[test]
fn attack_forged_sources_get_few_heartbeats() {
    let mut p = victim(|_| {});
    let tag = set_up(&mut p, stranger(0), 9, |_| {});
    p.sent.clear();
    let sack = packet(A, tag, |b| b.cookie_ack());
    for round in 0..30 {
        for host in 0..90 {
            p.inject_bytes(Z, port(host, 5000 + round), &sack);
        }
        p.now += ms(100);
    }
    // Eight a second.
    let heartbeats = sent(&mut p, "HEARTBEAT");
    assert!((16..=32).contains(&heartbeats), "{heartbeats}");
    // The others are counted, and the log names the last. Host 0 is the peer, whose address is a path.
    let put_off = 30 * 89 - heartbeats as u64;
    assert_eq!(p.ends[Z].endpoint_stats().heartbeats_put_off, put_off);
    let refusals = p.ends[Z].take_refusals();
    let told = refusals.iter().find(|r| r.rule == Rule::HeartbeatAllowance);
    let told = told.map(|r| (r.count, r.last));
    assert_eq!(told, Some((put_off, port(89, 5029))));
}

/// Numbers of 32 bits that nobody can guess: none comes again, they use the whole range, and
/// none follows from the one before.
fn assert_unpredictable(all: &[u32]) {
    let count = |set: BTreeSet<u32>| set.len();
    assert_eq!(count(all.iter().copied().collect()), all.len(), "{all:?}");
    let tops = count(all.iter().map(|n| n >> 26).collect());
    assert!(tops > all.len() / 2, "{tops} of 64 sixty-fourths: {all:?}");
    let steps = all.windows(2).map(|w| w[1].wrapping_sub(w[0])).collect();
    assert!(count(steps) > all.len() - 3, "{all:?}");
}

#[test]
fn attack_tags_tsns_and_nonces_cannot_be_counted_on() {
    let mut p = victim(|_| {});
    let (mut tags, mut tsns) = (Vec::new(), Vec::new());
    for n in 0..50 {
        cookie_echo(&mut p, stranger(n), 9, |_| {});
        tags.push(p.reader.tags[Z]);
        tsns.push(p.reader.initial[Z].0);
    }
    assert_unpredictable(&tags);
    assert_unpredictable(&tsns);
    // Those of a side that connects, and the nonces of its heartbeats.
    let mut c = plain();
    c.hb.enabled = true;
    c.hb.interval = ms(100);
    c.rto.initial = ms(200);
    c.rto.min = ms(200);
    let mut p = Pair::up(1, &c);
    p.run(30_000);
    let beats = p
        .sent
        .iter()
        .filter(|q| q.from == A && q.text == "HEARTBEAT");
    // Behind three headers and the path: the time and the nonce, eight bytes each.
    let nonces: Vec<u32> = beats
        .map(|q| u32::from_be_bytes(q.bytes[33..37].try_into().unwrap()))
        .collect();
    assert!(nonces.len() > 40, "{}", nonces.len());
    assert_unpredictable(&nonces[..40]);
}

/// A control for the check above.
#[test]
fn numbers_that_are_counted_up_are_predictable() {
    let caught = |all: Vec<u32>| std::panic::catch_unwind(|| assert_unpredictable(&all)).is_err();
    assert!(caught((1000..1050).collect()));
    assert!(caught((0..50).map(|n| n << 26 | 5).collect()));
    assert!(caught(vec![7; 50]));
}

/// The account has an association's whole size: fixed parts, paths, queues.
#[test]
fn an_association_is_charged_what_it_takes_at_least() {
    let mut p = victim(|c| c.local = (0..8).map(|n| address(n, Z)).collect());
    let before = p.ends[Z].memory();
    set_up(&mut p, stranger(0), 9, |_| {});
    let one = p.ends[Z].memory() - before;
    set_up(&mut p, stranger(1), 10, |w| {
        for n in 50..57 {
            w.address(stranger(n).ip());
        }
    });
    let eight = p.ends[Z].memory() - before - one;
    // An idle association takes some 3 KiB of the heap (`byway-bench memory`).
    assert!(one > 1500, "{one}");
    assert!(eight > one + 7 * 300, "{one} and {eight}");
}

// Z -> unknown chunk -> A, a thousand of them in a second: eight reports, and then again eight
#[test]
fn attack_unknown_chunks_in_an_association_are_reported_few_times_in_a_second() {
    let mut p = Pair::up(1, &plain());
    for second in 1..=2_u64 {
        for n in 0..1000 {
            p.inject(A, 0, |b| b.raw(0xc7, 0, &[n as u8; 1200]));
        }
        let reports = p.take_drawings_with(&["ERROR"]);
        assert_eq!(reports.len(), 8, "second {second}");
        let counts = p.ends[A].endpoint_stats().refusals;
        assert_eq!(counts.of(Rule::UnknownChunk), second * 1000);
        assert_eq!(counts.of(Rule::ReportRate), second * 992);
        p.run(1000);
    }
    // Data goes on.
    p.send_many(Z, 100, 3);
    p.run(300);
    assert_eq!(p.take_got(A).len(), 3);
}

/// What was refused of Z's peers since the last time.
fn refused(p: &mut Pair) -> Vec<(Rule, u64, SocketAddr)> {
    let all = p.ends[Z].take_refusals();
    all.iter().map(|r| (r.rule, r.count, r.last)).collect()
}

// A handshake of a layer above costs a signature, and whoever asks for it has proved nothing. A host sets
// up associations and begins handshakes without end.
#[test]
fn attack_handshakes_without_end_meet_the_rate_of_their_host() {
    let mut p = victim(|_| {});
    set_up(&mut p, stranger(1), 9, |_| {});
    let id = p.id(Z);
    set_up(&mut p, stranger(2), 8, |_| {});
    let other = p.id(Z);
    let taken = |p: &mut Pair, id| {
        let now = p.now;
        (0..1000)
            .filter(|_| p.ends[Z].take_handshake(now, id))
            .count()
    };
    assert_eq!(taken(&mut p, id), 256);
    assert_eq!(refused(&mut p), [(Rule::Handshakes, 744, stranger(1))]);
    p.now += ms(1000);
    assert_eq!(taken(&mut p, id), 20);
    // Whoever proves who it is has taken none.
    p.ends[Z].give_handshake_back(id);
    assert_eq!(taken(&mut p, id), 1);
    // Other hosts do not wait.
    assert_eq!(taken(&mut p, other), 256);
    refused(&mut p);
    let now = p.now;
    p.ends[Z].release(now, id);
    p.ends[Z].give_handshake_back(id);
    assert_eq!(taken(&mut p, id), 0);
    assert_eq!(refused(&mut p), []);
}

// A host breaks the protocol of a layer above, with a new association each time.
#[test]
fn attack_violations_above_without_end_have_new_associations_of_their_host_refused() {
    let mut p = victim(|_| {});
    set_up(&mut p, stranger(1), 9, |_| {});
    let id = p.id(Z);
    set_up(&mut p, stranger(2), 8, |_| {});
    let other = p.id(Z);
    let now = p.now;
    for _ in 0..64 {
        assert!(!p.ends[Z].bars_violator(now, id));
        p.ends[Z].count_violation(now, id);
    }
    assert!(p.ends[Z].bars_violator(now, id));
    assert!(!p.ends[Z].bars_violator(now, other));
    let expected = [
        (Rule::Violations, 64, stranger(1)),
        (Rule::Violators, 1, stranger(1)),
    ];
    assert_eq!(refused(&mut p), expected);
    assert!(!p.ends[Z].bars_violator(now + ms(1000), id));
    p.ends[Z].release(now, id);
    p.ends[Z].count_violation(now, id);
    assert!(!p.ends[Z].bars_violator(now, id));
    assert_eq!(refused(&mut p), []);
}

// Peers send HEARTBEATs faster than their answers leave.
#[test]
fn attack_heartbeats_without_end_have_eight_answers_waiting() {
    let mut p = victim(|_| {});
    let tag = set_up(&mut p, stranger(1), 9, |_| {});
    p.sent.clear();
    refused(&mut p);
    let heartbeat = packet(A, tag, |b| b.heartbeat(&[7; 20]));
    for _ in 0..20 {
        let now = p.now;
        p.ends[Z].handle_datagram(now, stranger(1), address(0, Z), &heartbeat);
    }
    p.pump(Z);
    assert_eq!(sent(&mut p, "HEARTBEAT ACK"), 8);
    assert_eq!(refused(&mut p), [(Rule::ReportRate, 12, stranger(1))]);
}

// Two COOKIE ECHOs of one host, whose INITs came while there was room for each.
#[test]
fn attack_cookies_that_were_kept_meet_the_limits_of_today() {
    let mut p = victim(|c| c.max_associations_per_peer = 1);
    let (_, one) = cookie_echo(&mut p, port(1, 4000), 8, |_| {});
    let (_, other) = cookie_echo(&mut p, port(1, 4001), 9, |_| {});
    p.inject_bytes(Z, port(1, 4000), &one);
    assert!(is_up(&mut p));
    p.sent.clear();
    refused(&mut p);
    p.inject_bytes(Z, port(1, 4001), &other);
    assert!(!is_up(&mut p));
    assert_eq!(sent(&mut p, "ABORT: Out of Resource"), 1);
    // The answers to a host have a rate, and this is one of them.
    let blue = packet(A, 99, |b| b.heartbeat(&[1]));
    for _ in 0..2000 {
        p.inject_bytes(Z, port(1, 4002), &blue);
    }
    p.sent.clear();
    p.inject_bytes(Z, port(1, 4001), &other);
    assert_eq!(sent(&mut p, "ABORT"), 0);
    let counts = refused(&mut p);
    let of = |rule| counts.iter().find(|r| r.0 == rule).unwrap().1;
    assert_eq!(of(Rule::AssociationsOfPeer), 2);
    assert_eq!(of(Rule::AnswerRate), 2000 - 999 + 1);
}
