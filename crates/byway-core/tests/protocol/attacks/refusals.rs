//! What is refused or dropped is counted by rule, with the last peer that it met.

use super::stranger;
use crate::common::stranger::{data, init};
use crate::common::{A, Pair, Z, address, packet, plain};
use byway_core::{IcmpMessage, Refusal, Rule};
use byway_wire::Tsn;

/// What a peer or a stranger does to A, and the rules that count it.
type Row = (&'static str, fn(&mut Pair), &'static [(Rule, u64)]);

const ROWS: [Row; 17] = [
    (
        "a packet from the peer's address with another tag",
        |p| p.inject_tagged(A, 0, 7, |b| b.heartbeat(b"x")),
        &[(Rule::WrongTag, 1)],
    ),
    (
        "a chunk whose length is wrong",
        |p| p.inject(A, 0, |b| b.raw(3, 0, &[1; 3])),
        &[(Rule::BadChunk, 1)],
    ),
    (
        "unknown chunks",
        |p| {
            p.inject(A, 0, |b| {
                b.raw(0xc7, 0, b"x");
                b.raw(0xc8, 0, b"x");
            });
        },
        &[(Rule::UnknownChunk, 2)],
    ),
    (
        "two ERRORs in a packet",
        |p| {
            p.inject(A, 0, |b| {
                b.error(|_| {});
                b.error(|_| {});
            });
        },
        &[(Rule::ErrorRate, 1)],
    ),
    (
        "three HEARTBEATs in a packet",
        |p| p.inject(A, 0, |b| (0..3).for_each(|_| b.heartbeat(b"x"))),
        &[(Rule::ReportRate, 2)],
    ),
    (
        "a COOKIE ECHO behind another chunk",
        |p| {
            p.inject(A, 0, |b| {
                b.heartbeat(b"x");
                b.cookie_echo(b"x");
            });
        },
        &[(Rule::Misplaced, 1)],
    ),
    (
        "DATA far beyond the window",
        |p| {
            let next = p.reader.tsn(Z, 1).0;
            p.inject(A, 0, |b| b.data(&data(Tsn(next.wrapping_add(1 << 30)))));
        },
        &[(Rule::Window, 1)],
    ),
    (
        "ICMP about a packet that was not sent",
        |p| {
            let quoted = packet(A, 7, |b| b.heartbeat(b"x"));
            p.with(A, |now, e, _| {
                e.handle_icmp(now, address(0, Z), &quoted, IcmpMessage::TooBig { mtu: 9 });
                e.handle_icmp(now, address(0, Z), b"", IcmpMessage::TooBig { mtu: 9 });
            });
        },
        &[(Rule::Icmp, 2)],
    ),
    (
        "no packet at all",
        |p| p.inject_bytes(A, stranger(1), b"hello"),
        &[(Rule::Malformed, 1)],
    ),
    (
        "a wrong checksum",
        |p| {
            let mut bytes = packet(Z, 0, |b| b.init(false, &init(7), |_| {}));
            bytes[8] ^= 1;
            p.inject_bytes(A, stranger(1), &bytes);
        },
        &[(Rule::Checksum, 1)],
    ),
    (
        "SCTP port 0",
        |p| {
            let mut bytes = packet(Z, 7, |b| b.heartbeat(b"x"));
            bytes[..2].fill(0);
            p.inject_bytes(A, stranger(1), &super::summed(bytes));
        },
        &[(Rule::Malformed, 1)],
    ),
    (
        "an INIT with an initiate tag of 0",
        |p| {
            let bytes = packet(Z, 0, |b| b.init(false, &init(0), |_| {}));
            p.inject_bytes(A, stranger(1), &bytes);
        },
        &[(Rule::Malformed, 1)],
    ),
    (
        "an INIT without streams",
        |p| {
            let mut fields = init(7);
            fields.inbound_streams = 0;
            let bytes = packet(Z, 0, |b| b.init(false, &fields, |_| {}));
            p.inject_bytes(A, stranger(1), &bytes);
        },
        &[(Rule::Malformed, 1)],
    ),
    (
        "out of the blue",
        |p| p.inject_bytes(A, stranger(1), &packet(Z, 7, |b| b.heartbeat(b"x"))),
        &[(Rule::OutOfTheBlue, 1)],
    ),
    (
        "from a multicast address",
        |p| {
            let multicast = "224.0.0.1:0".parse().unwrap();
            p.inject_bytes(A, multicast, &packet(Z, 7, |b| b.heartbeat(b"x")));
        },
        &[(Rule::NotUnicast, 1)],
    ),
    (
        "a cookie of somebody else",
        |p| p.inject_bytes(A, stranger(1), &packet(Z, 7, |b| b.cookie_echo(&[7; 60]))),
        &[(Rule::ForgedCookie, 1)],
    ),
    (
        "a restart with another address",
        |p| {
            let bytes = packet(Z, 0, |b| {
                b.init(false, &init(7), |w| {
                    w.address(stranger(1).ip());
                });
            });
            p.inject_bytes(A, address(0, Z), &bytes);
        },
        &[(Rule::NewAddresses, 1)],
    ),
];

#[test]
fn what_is_refused_is_counted_by_rule_with_the_last_peer() {
    for (what, act, expected) in ROWS {
        let mut p = Pair::up(1, &plain());
        p.ends[A].take_refusals();
        let before = p.ends[A].endpoint_stats().refusals;
        act(&mut p);
        let told = p.ends[A].take_refusals();
        let rules: Vec<_> = told.iter().map(|r| (r.rule, r.count)).collect();
        assert_eq!(rules, expected, "{what}");
        for Refusal { rule, count, last } in told {
            let after = p.ends[A].endpoint_stats().refusals;
            assert_eq!(after.of(rule) - before.of(rule), count, "{what}");
            assert!(
                [address(0, Z), stranger(1), "224.0.0.1:0".parse().unwrap()].contains(&last),
                "{what}: {last}"
            );
        }
    }
}

/// An endpoint that accepts nothing counts who asks.
#[test]
fn who_asks_where_nobody_is_accepted_is_counted() {
    let mut config = byway_core::EndpointConfig::new(9, vec![address(0, A)], [7; 32]);
    config.accept = false;
    let mut endpoint = byway_core::Endpoint::new(config).unwrap();
    let mut bytes = packet(Z, 0, |b| b.init(false, &init(7), |_| {}));
    bytes[2..4].copy_from_slice(&9_u16.to_be_bytes());
    let now = byway_core::time::Instant::ZERO;
    endpoint.handle_datagram(now, stranger(1), address(0, A), &super::summed(bytes));
    let refusals = endpoint.endpoint_stats().refusals;
    assert_eq!(refusals.of(Rule::NotAccepting), 1);
    assert_eq!(refusals.iter().map(|(_, count)| count).sum::<u64>(), 1);
}
