//! INITs and INIT ACKs that cannot be used (RFC 9260 sections 3.3.2, 3.3.3 and 5.1).

use crate::common::stranger::init;
use crate::common::{A, Pair, Z, address, assert_drawn, loss, packet, plain};
use byway_wire::{InitFields, ParamWriter};

/// What is changed in the fields, the parameters behind them, and what is drawn.
type Row = (
    fn(&mut InitFields),
    fn(&mut ParamWriter<'_>),
    &'static [&'static str],
);

#[test]
fn an_init_that_cannot_be_used_is_refused_and_nothing_is_kept() {
    const MANDATORY: &[&str] = &["Z -> ABORT: Invalid Mandatory Parameter -> A"];
    let rows: [Row; 6] = [
        // Section 3.3.2: a tag of 0 is discarded.
        (|f| f.initiate_tag = 0, |_| {}, &[]),
        (|f| f.outbound_streams = 0, |_| {}, MANDATORY),
        (|f| f.inbound_streams = 0, |_| {}, MANDATORY),
        (|f| f.a_rwnd = 1499, |_| {}, MANDATORY),
        // An address of three bytes.
        (|_| {}, |w| assert!(w.raw(5, &[10, 0, 0])), MANDATORY),
        // Section 3.3.2.1: host names are not resolved.
        (
            |_| {},
            |w| assert!(w.host_name(b"example.org\0")),
            &["Z -> ABORT: Unresolvable Address -> A"],
        ),
    ];
    for (change, params, expected) in rows {
        let mut p = Pair::new(1, &plain());
        let mut given = init(77);
        change(&mut given);
        let bytes = packet(A, 0, |b| b.init(false, &given, params));
        p.inject_bytes(Z, address(0, A), &bytes);
        assert_drawn(&p.take_drawings(), expected);
        assert_eq!(p.ends[Z].association_count(), 0);
        if expected.iter().any(|e| e.contains("Unresolvable")) {
            // Section 3.3.10.5: the whole parameter comes back.
            let whole = b"\x00\x0b\x00\x10example.org\0";
            assert!(p.sent[0].bytes.ends_with(whole));
        }
    }
}

#[test]
fn an_init_ack_that_cannot_be_used_ends_the_set_up_or_is_dropped() {
    const CUT: &str =
        "the peer broke the protocol: its INIT ACK has an invalid mandatory parameter";
    const ABORT: &str = "A -> ABORT: Protocol Violation -> Z";
    // A -> INIT -> lost, Z -> such an INIT ACK -> A
    let rows: [(Row, &str); 5] = [
        (
            (|f| f.initiate_tag = 0, |_| {}, &[]),
            "the peer broke the protocol: its INIT ACK has tag 0",
        ),
        ((|f| f.outbound_streams = 0, |_| {}, &[ABORT]), CUT),
        ((|_| {}, |w| assert!(w.host_name(b"x\0")), &[ABORT]), CUT),
        (
            (|_| {}, |_| {}, &[ABORT]),
            "the peer broke the protocol: its INIT ACK has no State Cookie",
        ),
        // Section 3.3.3: dropped. T1-init goes on.
        (
            (
                |f| f.a_rwnd = 1499,
                |_| {},
                &["A -> INIT -> lost", "A -> INIT -> lost"],
            ),
            "",
        ),
    ];
    for ((change, params, expected), reason) in rows {
        let mut p = Pair::new(1, &plain());
        p.lose(|q| q.text == "INIT");
        p.connect(A, &plain());
        p.take_drawings();
        let mut given = init(77);
        change(&mut given);
        p.inject(A, 0, |b| b.init(true, &given, params));
        p.run(3500);
        assert_drawn(&p.take_drawings(), expected);
        if reason.is_empty() {
            assert_eq!(p.state(A), "COOKIE-WAIT");
        } else {
            assert_eq!(loss(&p.take_events(A)), reason);
        }
    }
}

/// Section 3.2.1: the first two bits of the type say whether the rest is read, and whether to report it.
#[test]
fn what_follows_an_unknown_parameter_that_stops_is_not_read() {
    for (kind, listed) in [(0x00FF, 0), (0x40FF, 0), (0x80FF, 1), (0xC0FF, 1)] {
        let mut p = Pair::new(2, &plain());
        p.lose(|_| true);
        crate::common::stranger::set_up(&mut p, address(0, A), 77, |w| {
            w.raw(kind, &[1, 2, 3]);
            w.address(address(1, A).ip());
        });
        let paths = p.with(Z, |_, e, id| e.paths(id).len());
        assert_eq!(paths, 1 + listed, "{kind:x}");
    }
}

/// A peer that is broken, or a copy that was: the set-up goes on with the next one.
#[test]
fn an_init_ack_that_cannot_be_read_is_dropped() {
    let cut: fn(&mut byway_wire::PacketBuilder<'_>) = |b| b.raw(2, 0, &[0; 4]);
    let overrun: fn(&mut byway_wire::PacketBuilder<'_>) = |b| {
        let mut value = [1; 20];
        // A parameter of 60 bytes, of which 4 are there.
        value[16..].copy_from_slice(&[0, 7, 0, 60]);
        b.raw(2, 0, &value);
    };
    for (write, state) in [(cut, "COOKIE-WAIT"), (overrun, "CLOSED")] {
        let mut p = Pair::new(1, &plain());
        p.lose(|q| q.from == Z);
        p.connect(A, &plain());
        p.inject(A, 0, write);
        assert_eq!(p.state(A), state);
    }
}
