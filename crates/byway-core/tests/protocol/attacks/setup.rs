//! Attacks while an association is set up: INIT, cookies, tags, restarts.

use super::{stranger, summed};
use crate::common::stranger::{cookie_echo, init};
use crate::common::{A, PORTS, Pair, Passing, Z, address, assert_drawn, packet, plain};
use byway_core::policy::MtuDiscovery;
use byway_core::{Endpoint, EndpointConfig, Event, Message, Refusal, Rule};

/// A pair in set-up, with the COOKIE ECHO of A held back.
fn with_cookie() -> (Pair, Vec<u8>) {
    let mut p = Pair::new(1, &plain());
    p.lose(|q| q.text == "COOKIE ECHO");
    p.connect(A, &plain());
    p.run(50);
    let echo = p.sent.last().unwrap();
    assert_eq!(echo.text, "COOKIE ECHO");
    let bytes = echo.bytes.clone();
    (p, bytes)
}

/// The cookie of a packet with a COOKIE ECHO, without its padding.
fn cookie_of(echo: &[u8]) -> &[u8] {
    &echo[16..12 + usize::from(u16::from_be_bytes([echo[14], echo[15]]))]
}

#[test]
fn attack_init_flood_keeps_no_state() {
    let mut p = Pair::new(1, &plain());
    for n in 0..200u32 {
        let bytes = packet(A, 0, |b| b.init(false, &init(n + 1), |_| {}));
        p.inject_bytes(Z, stranger(n as u8), &bytes);
    }
    assert_eq!(p.ends[Z].endpoint_stats().inits, 200);
    assert_eq!(p.ends[Z].association_count(), 0);
    assert_eq!(p.ends[Z].poll_timeout(), None);
}

#[test]
fn attack_association_flood_meets_a_limit_for_each_peer_and_for_all() {
    for (all, each) in [(0, 9), (9, 0)] {
        let mut config = EndpointConfig::new(PORTS[Z], vec![address(0, Z)], [2; 32]);
        config.max_associations = all;
        config.max_associations_per_peer = each;
        let ends = [
            crate::common::endpoint(1, A, 1, &plain()),
            Endpoint::new(config).unwrap(),
        ];
        let mut p = Pair::of(ends, 1);
        p.connect(A, &plain());
        p.run(50);
        assert_drawn(
            &p.take_drawings(),
            &[
                "A -> INIT -> Z",
                "Z -> ABORT: Out of Resource: User-Initiated Abort -> A",
            ],
        );
        let rule = match all {
            0 => Rule::Associations,
            _ => Rule::AssociationsOfPeer,
        };
        let refusals = p.ends[Z].take_refusals();
        assert_eq!(
            refusals,
            [Refusal {
                rule,
                count: 1,
                last: address(0, A)
            }]
        );
        let stats = p.ends[Z].endpoint_stats();
        assert_eq!(
            (stats.refused, stats.refused_of_peer),
            (1, u64::from(all > 0))
        );
        assert!(p.ends[Z].take_refusals().is_empty());
    }
}

#[test]
fn attack_forged_cookie_is_dropped_without_an_answer() {
    let (mut p, echo) = with_cookie();
    p.take_drawings();
    let end = 16 + cookie_of(&echo).len();
    for at in 16..end {
        let mut forged = echo.clone();
        forged[at] ^= 0x40;
        p.inject_bytes(Z, address(0, A), &summed(forged));
    }
    assert_drawn(&p.take_drawings(), &[]);
    assert_eq!(p.ends[Z].association_count(), 0);
    assert_eq!(p.ends[Z].endpoint_stats().forged_cookies, end as u64 - 16);
}

#[test]
fn attack_malformed_cookie_of_any_length_is_dropped() {
    let (mut p, echo) = with_cookie();
    p.take_drawings();
    let tag = p.reader.tags[Z];
    let cookie = cookie_of(&echo);
    for len in 0..cookie.len() {
        let bytes = packet(A, tag, |b| b.cookie_echo(&cookie[..len]));
        p.inject_bytes(Z, address(0, A), &bytes);
    }
    assert_drawn(&p.take_drawings(), &[]);
    assert_eq!(p.ends[Z].association_count(), 0);
}

#[test]
fn attack_stale_cookie_replayed_later_sets_nothing_up() {
    let (mut p, echo) = with_cookie();
    let id = p.id(A);
    let now = p.now;
    p.ends[A].release(now, id);
    p.pump(A);
    p.now += crate::common::ms(61_000);
    p.take_drawings();
    p.inject_bytes(Z, address(0, A), &echo);
    assert_drawn(&p.take_drawings(), &["Z -> ERROR: Stale Cookie -> A"]);
    assert_eq!(p.ends[Z].association_count(), 0);
}

#[test]
fn attack_long_lived_cookie_cannot_be_asked_for() {
    let mut p = Pair::new(1, &plain());
    let (_, echo) = cookie_echo(&mut p, address(0, A), 9, |w| {
        w.cookie_preservative(u32::MAX);
    });
    p.now += crate::common::ms(65_001);
    p.inject_bytes(Z, address(0, A), &echo);
    assert_eq!(p.ends[Z].endpoint_stats().stale_cookies, 1);
    assert_eq!(p.ends[Z].association_count(), 0);
}

#[test]
fn attack_cookie_echo_with_changed_ports_is_dropped() {
    let (mut p, echo) = with_cookie();
    let mut changed = echo.clone();
    changed[1] ^= 1;
    p.inject_bytes(Z, address(0, A), &summed(changed));
    assert_eq!(p.ends[Z].association_count(), 0);
    assert_eq!(p.ends[Z].endpoint_stats().forged_cookies, 1);
}

#[test]
fn attack_tags_and_tsns_do_not_repeat() {
    let mut seen = std::collections::BTreeSet::new();
    let mut p = Pair::new(1, &plain());
    for n in 0..50 {
        let bytes = packet(A, 0, |b| b.init(false, &init(n + 1), |_| {}));
        p.inject_bytes(Z, stranger(1), &bytes);
        assert!(seen.insert(p.reader.tags[Z]) && p.reader.tags[Z] != 0);
        assert!(seen.insert(p.reader.initial[Z].0));
    }
}

#[test]
fn attack_parameter_overrun_in_an_init_is_refused() {
    let mut p = Pair::new(1, &plain());
    let mut bytes = packet(A, 0, |b| {
        b.init(false, &init(3), |w| {
            w.raw(0x8123, &[1; 8]);
        });
    });
    let at = bytes.len() - 9;
    bytes[at] = 200;
    p.inject_bytes(Z, address(0, A), &summed(bytes));
    assert_drawn(
        &p.take_drawings(),
        &["Z -> ABORT: Invalid Mandatory Parameter -> A"],
    );
}

#[test]
fn attack_bundled_init_is_dropped() {
    let mut p = Pair::new(1, &plain());
    for first in [true, false] {
        let bytes = packet(A, 0, |b| {
            if !first {
                b.cookie_ack();
            }
            b.init(false, &init(4), |_| {});
            if first {
                b.cookie_ack();
            }
        });
        p.inject_bytes(Z, address(0, A), &bytes);
    }
    assert_drawn(&p.take_drawings(), &[]);
    let tagged = packet(A, 4, |b| b.init(false, &init(4), |_| {}));
    p.inject_bytes(Z, address(0, A), &tagged);
    assert_drawn(&p.take_drawings(), &[]);
}

#[test]
fn attack_restart_with_added_addresses_is_refused() {
    let mut p = Pair::up(1, &plain());
    let bytes = packet(A, 0, |b| {
        b.init(false, &init(4), |w| {
            w.address(stranger(1).ip());
        });
    });
    p.inject_bytes(Z, address(0, A), &bytes);
    assert_drawn(
        &p.take_drawings(),
        &["Z -> ABORT: Restart of an Association with New Addresses -> A"],
    );
    assert_eq!(p.state(Z), "ESTABLISHED");
    // Also not from a new address, even if the INIT lists one of the peer's.
    let bytes = packet(A, 0, |b| {
        b.init(false, &init(4), |w| {
            w.address(address(0, A).ip());
        });
    });
    p.inject_bytes(Z, stranger(1), &bytes);
    assert_drawn(
        &p.take_drawings(),
        &["Z -> ABORT: Restart of an Association with New Addresses -> lost (path 101)"],
    );
}

#[test]
fn attack_short_stale_cookie_cause_is_ignored() {
    for len in 0..4 {
        let (mut p, _) = with_cookie();
        p.inject(A, 0, |b| {
            b.error(|c| {
                c.raw(3, &[0; 4][..len]);
            });
        });
        assert_eq!(p.state(A), "COOKIE-ECHOED");
    }
}

#[test]
fn attack_cookie_echo_with_shutdown_and_shutdown_ack_in_one_packet() {
    let (mut p, echo) = with_cookie();
    let cookie = cookie_of(&echo).to_vec();
    let (tag, tsn) = (p.reader.tags[Z], p.reader.tsn(Z, 0));
    let bytes = packet(A, tag, |b| {
        b.cookie_echo(&cookie);
        b.shutdown(tsn);
        b.shutdown_ack();
        b.heartbeat(b"dead");
        b.shutdown(tsn);
    });
    p.take_drawings();
    p.inject_bytes(Z, address(0, A), &bytes);
    assert_eq!(p.take_drawings().len(), 1);
    assert_eq!(p.ends[Z].association_count(), 0);
    assert_eq!(p.take_events(Z).last(), Some(&Event::ShutdownComplete));
}

#[test]
fn attack_cookies_and_heartbeats_hold_no_memory_of_ours() {
    // What was sent and received before is still in memory that was freed, or waits to be used again.
    const SECRET: [u8; 8] = [0xAA; 8];
    let has_secret = |bytes: &[u8]| bytes.windows(8).any(|w| w == SECRET);
    let mut c = plain();
    c.mtu_discovery = Some(MtuDiscovery::default());
    let mut p = Pair::up(2, &c);
    for _ in 0..20 {
        for side in [A, Z] {
            p.with(side, |now, e, id| {
                let secret = Message::new(0, vec![0xAA; 5000]);
                e.send(now, id, secret)
            })
            .unwrap();
        }
    }
    p.run(5000);
    assert_eq!((p.take_got(A).len(), p.take_got(Z).len()), (20, 20));
    assert!(p.sent.iter().any(|q| has_secret(&q.bytes)));

    let before = p.sent.len();
    p.replace(A, 7, &c);
    p.connect(A, &c);
    p.run(60_000);
    let after = &p.sent[before..];
    for (from, text) in [
        (Z, "INIT ACK"),
        (A, "COOKIE ECHO"),
        (Z, "HEARTBEAT"),
        (Z, "HEARTBEAT ACK"),
        (Z, "PAD"),
    ] {
        let is_one = |q: &Passing| q.from == from && q.text.contains(text);
        assert!(after.iter().any(is_one), "{text}");
    }
    for q in after {
        assert!(!has_secret(&q.bytes), "{}: {:?}", q.text, q.bytes);
    }
}
