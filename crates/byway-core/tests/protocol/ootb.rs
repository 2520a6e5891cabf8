//! Verification tags and packets out of the blue (RFC 9260 sections 8.4, 8.5).

use crate::attacks::summed;
use crate::common::stranger::init;
use crate::common::{A, PORTS, Pair, Z, address, addresses, assert_drawn, endpoint, packet, plain};
use byway_core::{Endpoint, EndpointConfig};
use byway_wire::{CommonHeader, PacketBuilder, Tsn};
use core::net::SocketAddr;

#[test]
fn the_table_of_section_8_4() {
    type Write = fn(&mut PacketBuilder<'_>);
    let rows: [(&str, Write, &[&str]); 10] = [
        (
            "DATA and the like",
            |b| b.sack(Tsn(1), 1500, &[], &[]),
            &["Z -> ABORT (T): User-Initiated Abort -> A"],
        ),
        ("ABORT", |b| b.abort(false, |_| {}), &[]),
        ("COOKIE ECHO of nobody", |b| b.cookie_echo(&[7; 90]), &[]),
        (
            "SHUTDOWN ACK",
            |b| b.shutdown_ack(),
            &["Z -> SHUTDOWN COMPLETE (T) -> A"],
        ),
        ("SHUTDOWN COMPLETE", |b| b.shutdown_complete(true), &[]),
        (
            "Stale Cookie",
            |b| {
                b.error(|c| {
                    c.stale_cookie(3);
                });
            },
            &[],
        ),
        (
            "another ERROR",
            |b| {
                b.error(|c| {
                    c.out_of_resource();
                });
            },
            &["Z -> ABORT (T): User-Initiated Abort -> A"],
        ),
        ("COOKIE ACK", |b| b.cookie_ack(), &[]),
        // Not as rule 8 has it: see `who_gives_up_while_both_set_up_leaves_no_half_of_an_association`.
        ("INIT ACK", |b| b.init(true, &init(5), |_| {}), &[]),
        (
            "ABORT behind another chunk",
            |b| {
                b.cookie_ack();
                b.abort(false, |_| {});
            },
            &[],
        ),
    ];
    for (what, write, expected) in rows {
        let mut p = Pair::new(1, &plain());
        let bytes = packet(A, 77, write);
        p.inject_bytes(Z, address(0, A), &bytes);
        let found = p.take_drawings();
        assert_eq!(found, expected, "{what}");
        if let Some(answer) = p.sent.first() {
            assert_eq!(
                answer.bytes[4..8],
                77u32.to_be_bytes(),
                "{what}: its tag comes back"
            );
            assert!(answer.bytes.len() <= 3 * bytes.len(), "{what}");
        }
    }
}

/// Whether a packet from `source` to `destination` is answered, by an endpoint without and with an
/// association.
fn answered(
    source: &str,
    destination: &str,
    tag: Option<u32>,
    write: fn(&mut PacketBuilder<'_>),
) -> [bool; 2] {
    [Pair::new(1, &plain()), Pair::up(1, &plain())].map(|mut p| {
        p.take_drawings();
        let tag = tag.unwrap_or(p.reader.tags[Z]);
        let bytes = packet(A, tag, write);
        let [source, destination] =
            [source, destination].map(|a| SocketAddr::new(a.parse().unwrap(), 0));
        p.ends[Z].handle_datagram(p.now, source, destination, &bytes);
        p.pump(Z);
        !p.take_drawings().is_empty()
    })
}

#[test]
fn a_packet_from_or_to_no_unicast_address_gets_no_answer() {
    type Write = fn(&mut PacketBuilder<'_>);
    let kinds: [(&str, Option<u32>, Write); 4] = [
        ("INIT", Some(0), |b| b.init(false, &init(5), |_| {})),
        ("SHUTDOWN ACK of nobody", Some(77), |b| b.shutdown_ack()),
        ("HEARTBEAT of nobody", Some(77), |b| b.heartbeat(b"hello")),
        // The tag of the association finds it, where there is one.
        ("HEARTBEAT", None, |b| b.heartbeat(b"hello")),
    ];
    let local = address(0, Z).ip().to_string();
    let many = [
        "224.0.0.1",
        "255.255.255.255",
        "0.0.0.0",
        "0.1.2.3",
        "::",
        "ff02::1",
        "ff0e::99",
        "::ffff:224.0.0.1",
    ];
    for (what, tag, write) in kinds {
        for ip in many {
            assert_eq!(
                answered("192.0.2.7", ip, tag, write),
                [false; 2],
                "{what} to {ip}"
            );
            assert_eq!(
                answered(ip, &local, tag, write),
                [false; 2],
                "{what} from {ip}"
            );
        }
        // So it is the address that makes the difference.
        assert_eq!(
            answered("192.0.2.7", &local, tag, write),
            [true; 2],
            "{what}"
        );
    }
}

#[test]
fn an_init_to_a_port_where_nobody_listens_gets_an_abort_with_its_own_tag() {
    let mut p = Pair::new(1, &plain());
    let mut bytes = Vec::new();
    let header = CommonHeader {
        source_port: PORTS[A],
        destination_port: 1,
        verification_tag: 0,
    };
    let mut b = PacketBuilder::new(&mut bytes, header);
    b.init(false, &init(5), |_| {});
    b.finish(byway_wire::Checksum::Crc32c);
    p.inject_bytes(Z, address(0, A), &bytes);
    assert_drawn(
        &p.take_drawings(),
        &["Z -> ABORT: User-Initiated Abort -> A"],
    );
    assert_eq!(p.sent[0].bytes[4..8], 5u32.to_be_bytes());
    assert!(p.sent[0].bytes.len() <= 3 * bytes.len());
}

#[test]
fn a_wrong_tag_is_dropped_whatever_follows() {
    type Write = fn(&mut PacketBuilder<'_>);
    let rows: [(&str, Write); 6] = [
        ("SHUTDOWN", |b| b.shutdown(Tsn(1))),
        ("SACK", |b| b.sack(Tsn(1), 0, &[], &[])),
        ("HEARTBEAT", |b| b.heartbeat(b"hello")),
        ("ABORT", |b| b.abort(false, |_| {})),
        ("SHUTDOWN COMPLETE", |b| b.shutdown_complete(false)),
        ("ERROR", |b| b.error(|_| {})),
    ];
    for (what, write) in rows {
        let mut p = Pair::up(1, &plain());
        let wrong = p.reader.tags[Z] ^ 1;
        p.inject_tagged(Z, 0, wrong, write);
        assert_eq!(p.take_discards(Z), ["wrong verification tag"], "{what}");
        assert_drawn(&p.take_drawings(), &[]);
        assert_eq!(p.state(Z), "ESTABLISHED", "{what}");
    }
}

#[test]
fn the_t_bit_turns_the_tag_round_for_abort() {
    // Section 8.5.1, B: with the bit the packet carries the peer's tag.
    let ends = |tag: fn(&Pair) -> u32, reflected| {
        let mut p = Pair::up(1, &plain());
        let tag = tag(&p);
        p.inject_tagged(Z, 0, tag, |b| b.abort(reflected, |_| {}));
        p.state(Z) == "CLOSED"
    };
    assert!(ends(|p| p.reader.tags[Z], false));
    assert!(ends(|p| p.reader.tags[A], true));
    assert!(!ends(|p| p.reader.tags[A], false));
    assert!(!ends(|p| p.reader.tags[Z], true));
}

#[test]
fn shutdown_complete_counts_only_in_shutdown_ack_sent() {
    let mut p = Pair::up(1, &plain());
    p.inject(Z, 0, |b| b.shutdown_complete(false));
    assert_eq!(p.state(Z), "ESTABLISHED");
    p.lose(|q| q.text == "SHUTDOWN COMPLETE");
    p.shutdown(A);
    p.run(50);
    assert_eq!(p.state(Z), "SHUTDOWN-ACK-SENT");
    let tag = p.reader.tags[A];
    p.inject_tagged(Z, 0, tag, |b| b.shutdown_complete(true));
    assert_eq!(p.state(Z), "CLOSED");
}

#[test]
fn shutdown_ack_during_the_set_up_is_out_of_the_blue() {
    // Section 8.5.1, E.
    let mut p = Pair::new(1, &plain());
    p.cut(&[0]);
    p.connect(A, &plain());
    p.take_drawings();
    p.heal();
    p.inject_tagged(A, 0, 99, |b| b.shutdown_ack());
    assert_drawn(&p.take_drawings(), &["A -> SHUTDOWN COMPLETE (T) -> Z"]);
    assert_eq!(p.state(A), "COOKIE-WAIT");
}

#[test]
fn a_wrong_checksum_is_counted_and_dropped() {
    let mut p = Pair::up(1, &plain());
    let mut bytes = packet(A, p.reader.tags[Z], |b| b.abort(false, |_| {}));
    bytes[8] ^= 1;
    p.inject_bytes(Z, address(0, A), &bytes);
    assert_eq!(p.ends[Z].endpoint_stats().bad_checksums, 1);
    assert_eq!(p.state(Z), "ESTABLISHED");
}

/// Section 8.4 answers packets that can be read.
#[test]
fn a_malformed_packet_out_of_the_blue_gets_no_answer() {
    type Write = fn(&mut PacketBuilder<'_>);
    let rows: [(&str, Write); 3] = [
        ("an INIT without its fields", |b| b.raw(1, 0, &[0; 4])),
        ("the same behind another chunk", |b| {
            b.heartbeat(&[1]);
            b.raw(1, 0, &[0; 4]);
        }),
        ("a chunk length of 2", |b| {
            b.heartbeat(&[1]);
            b.raw(0xC7, 0, &[]);
        }),
    ];
    for accept in [true, false] {
        for (what, write) in rows {
            let mut config = EndpointConfig::new(PORTS[Z], addresses(1, Z), [2; 32]);
            config.accept = accept;
            let ends = [endpoint(1, A, 1, &plain()), Endpoint::new(config).unwrap()];
            let mut p = Pair::of(ends, 1);
            let tag = if what.contains("without") { 0 } else { 9 };
            let mut bytes = packet(A, tag, write);
            if what.contains("length") {
                let last = bytes.len() - 1;
                bytes[last] = 2;
            }
            p.inject_bytes(Z, address(0, A), &summed(bytes));
            assert_drawn(&p.take_drawings(), &[]);
        }
    }
}
