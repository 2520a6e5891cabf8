//! Every refused call, with its error text.

use crate::common::{A, Pair, Z, address, addresses, endpoint, loss, plain};
use byway_core::time::Instant;
use byway_core::{Endpoint, EndpointConfig, Event, Message, PathId};
use core::net::SocketAddr;

#[test]
fn connects_that_cannot_work() {
    let socket = |s: &str| -> SocketAddr { s.parse().unwrap() };
    let mut bad = plain();
    bad.rto.min = core::time::Duration::ZERO;
    let rows = [
        (
            vec![],
            1,
            plain(),
            "no address to connect to; give at least one",
        ),
        (
            vec![socket("0.0.0.0:1")],
            1,
            plain(),
            "0.0.0.0:1 cannot be a destination: it is a wildcard, broadcast, multicast or zero-port address",
        ),
        (
            vec![socket("224.0.0.9:1")],
            1,
            plain(),
            "224.0.0.9:1 cannot be a destination: it is a wildcard, broadcast, multicast or zero-port address",
        ),
        (
            vec![socket("255.255.255.255:1")],
            1,
            plain(),
            "255.255.255.255:1 cannot be a destination: it is a wildcard, broadcast, multicast or zero-port address",
        ),
        (
            vec![socket("[fd00::1]:9")],
            1,
            plain(),
            "[fd00::1]:9 cannot be reached: no local address of its family is bound; bind one",
        ),
        (
            vec![address(0, Z)],
            5002,
            plain(),
            "an association with 10.0.0.2:0 exists already; use it, or shut it down first",
        ),
        (
            vec![address(0, Z)],
            7,
            bad,
            "rto.min = 0 s: a timeout of zero would resend for ever; at least 1 ms",
        ),
    ];
    let mut e = endpoint(1, A, 1, &plain());
    e.connect(Instant::ZERO, &addresses(1, Z), 5002, plain())
        .unwrap();
    for (to, port, config, expected) in rows {
        let error = e.connect(Instant::ZERO, &to, port, config).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    assert_eq!(e.association_count(), 1);
}

#[test]
fn an_endpoint_has_a_limit() {
    let mut config = EndpointConfig::new(1, addresses(1, A), [0; 32]);
    config.max_associations = 1;
    let mut e = Endpoint::new(config).unwrap();
    e.connect(Instant::ZERO, &addresses(1, Z), 1, plain())
        .unwrap();
    let error = e
        .connect(Instant::ZERO, &addresses(1, Z), 2, plain())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the endpoint has 1 associations, its limit (max_associations)"
    );
}

#[test]
fn sends_that_cannot_work() {
    let mut c = plain();
    c.buffer.max_message = 1000;
    let mut p = Pair::up(2, &c);
    let on_path = |path| {
        let mut m = Message::new(0, vec![1]);
        m.path = Some(PathId(path));
        m
    };
    for (m, expected) in [
        (
            Message::new(10, vec![1]),
            "stream 10 does not exist; there are 10 outbound streams, 0 to 9",
        ),
        (
            Message::new(0, vec![]),
            "an empty message cannot be sent; SCTP needs at least one byte (RFC 9260 section 3.3.1)",
        ),
        (
            Message::new(0, vec![0; 1001]),
            "the message has 1001 bytes; buffer.max_message is 1000",
        ),
        (
            on_path(9),
            "path 9 does not exist; the association has paths 0 to 1",
        ),
    ] {
        let error = p.with(A, |now, e, id| e.send(now, id, m)).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    p.shutdown(A);
    let error = p.with(A, |now, e, id| e.send(now, id, Message::new(0, vec![1])));
    assert_eq!(
        error.unwrap_err().to_string(),
        "the association is shutting down; nothing more can be sent"
    );
    p.run(100);
    let error = p.with(A, |now, e, id| e.send(now, id, Message::new(0, vec![1])));
    assert_eq!(error.unwrap_err().to_string(), "the association has ended");
}

#[test]
fn commands_on_what_is_not_there() {
    let mut p = Pair::up(2, &plain());
    let nowhere = "path 2 does not exist; the association has paths 0 to 1";
    let path = PathId(2);
    let all = p.with(A, |now, e, id| {
        [
            e.set_primary(now, id, path),
            e.request_heartbeat(now, id, path),
            e.enable_heartbeat(now, id, path, true),
            e.set_detection(now, id, path, Default::default()),
        ]
    });
    for result in all {
        assert_eq!(result.unwrap_err().to_string(), nowhere);
    }
    p.with(A, |now, e, id| e.abort(now, id, b"")).unwrap();
    let gone = p.with(A, |now, e, id| {
        [
            e.set_primary(now, id, PathId(0)),
            e.request_heartbeat(now, id, PathId(0)),
            e.enable_heartbeat(now, id, PathId(0), true),
            e.shutdown(now, id),
            e.abort(now, id, b""),
        ]
    });
    for result in gone {
        assert_eq!(result.unwrap_err().to_string(), "the association has ended");
    }
}

#[test]
fn endpoints_that_cannot_work() {
    let socket = |s: &str| -> SocketAddr { s.parse().unwrap() };
    let rows = [
        (vec![], 1, "local = 0 addresses: give 1 to 8 addresses"),
        (
            vec![socket("0.0.0.0:9899")],
            1,
            "local = 0.0.0.0:9899: name each address that peers shall see; a wildcard, broadcast or multicast address cannot be a path",
        ),
        (
            vec![socket("[::ffff:224.0.0.1]:9899")],
            1,
            "local = [::ffff:224.0.0.1]:9899: name each address that peers shall see; a wildcard, broadcast or multicast address cannot be a path",
        ),
        (
            vec![socket("10.0.0.1:1"), socket("10.0.0.1:2")],
            1,
            "local = 10.0.0.1:2: is listed twice",
        ),
        (addresses(1, A), 0, "port = 0: an SCTP port is 1 to 65535"),
    ];
    for (local, port, expected) in rows {
        let error = Endpoint::new(EndpointConfig::new(port, local, [0; 32])).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn the_reason_of_an_abort_and_of_an_error_is_escaped() {
    let words = "\x1b]0;x\x07\nbyway: well \u{202e}\u{200b}";
    let shown = "\\u{1b}]0;x\\u{7}\\nbyway: well \\u{202e}\\u{200b}";
    let mut p = Pair::up(1, &plain());
    p.inject(Z, 0, |b| {
        b.error(|c| {
            c.protocol_violation(words.as_bytes());
        });
    });
    let told = Event::PeerError {
        cause: shown.to_owned(),
    };
    assert!(p.take_events(Z).contains(&told));
    p.inject(Z, 0, |b| {
        b.abort(false, |c| {
            c.user_initiated_abort(words.as_bytes());
        });
    });
    assert_eq!(
        loss(&p.take_events(Z)),
        format!("the peer aborted: {shown}")
    );
}

#[test]
fn what_the_peer_reports_is_told_in_words() {
    use byway_wire::{CauseWriter, Tsn};
    type Write = fn(&mut CauseWriter<'_>) -> bool;
    let rows: [(Write, &str); 6] = [
        (
            |c| c.invalid_stream_identifier(7),
            "stream 7 does not exist",
        ),
        (|c| c.out_of_resource(), "it is out of resources"),
        (|c| c.no_user_data(Tsn(9)), "DATA 9 was empty"),
        (
            |c| c.restart_with_new_addresses(&[]),
            "a restart would have added addresses",
        ),
        (|c| c.cookie_received_while_shutting_down(), "cause 10"),
        (
            |c| c.out_of_resource() && c.invalid_stream_identifier(1),
            "it is out of resources; stream 1 does not exist",
        ),
    ];
    for (write, expected) in rows {
        let mut p = Pair::up(1, &plain());
        p.inject(Z, 0, |b| {
            b.error(|c| {
                write(c);
            });
        });
        let cause = expected.to_owned();
        assert_eq!(p.take_events(Z), [Event::PeerError { cause }]);
        assert_eq!(p.state(Z), "ESTABLISHED");
    }
    // The second cause has a length of 2: what came before it is told.
    let mut p = Pair::up(1, &plain());
    p.inject(Z, 0, |b| b.raw(9, 0, &[0, 4, 0, 4, 0, 1, 0, 2]));
    let cause = "it is out of resources".to_owned();
    assert_eq!(p.take_events(Z), [Event::PeerError { cause }]);
}

/// The driver may be late: the association has ended, or the bytes were never ours.
#[test]
fn a_failed_packet_of_no_association_is_ignored() {
    let mut p = Pair::up(1, &plain());
    let packet = crate::common::packet(A, 1, |b| b.heartbeat(&[1]));
    p.with(A, |now, e, _| {
        let why = byway_core::SendFailure::Unreachable;
        e.send_failed(now, address(0, Z), &packet[..7], why);
        e.send_failed(now, address(3, Z), &packet, why);
    });
    assert_eq!(p.take_events(A), []);
    p.assert_carries_data();
}

#[test]
fn an_endpoint_says_its_settings_and_prints_no_keys() {
    let mut c = plain();
    c.buffer.max_message = 1234;
    let mut p = Pair::up(2, &c);
    let (now, id) = (p.now, p.id(A));
    let e = &mut p.ends[A];
    assert_eq!((e.port(), e.local_addresses()), (5001, &*addresses(2, A)));
    assert_eq!(e.config(id).unwrap().buffer.max_message, 1234);
    assert_eq!(
        format!("{e:?}"),
        "Endpoint { port: 5001, local: [10.0.0.1:0, 10.1.0.1:0], associations: 1, .. }"
    );
    // What is released is not known any more, also if it is released again.
    e.release(now, id);
    e.release(now, id);
    e.charge(id, 1_000_000);
    assert!(e.config(id).is_none() && e.memory() < 1_000_000);
    assert!(e.path_stats(id, PathId(0)).is_none() && e.take_undelivered(id).is_none());
    let error = e.check_send(id, 0, 1).unwrap_err();
    assert_eq!(error.to_string(), "the association has ended");
}
