//! ICMP messages about packets without UDP (RFC 9260 section 10).

use crate::common::{A, Pair, Z, address, assert_drawn, packet, plain};
use byway_core::config::Config;
use byway_core::policy::MtuDiscovery;
use byway_core::{Event, IcmpMessage, LossReason, PathState};

/// The first bytes of the last packet of A whose drawing begins with `text`.
fn last(p: &Pair, text: &str, bytes: usize) -> Vec<u8> {
    let found = p
        .sent
        .iter()
        .rfind(|q| q.from == A && q.text.starts_with(text));
    found.expect("A has sent one").bytes[..bytes].to_vec()
}

/// A hears this about a packet to the address of Z on a path.
fn tell(p: &mut Pair, path: usize, quoted: &[u8], message: IcmpMessage) {
    p.with(A, |now, e, _| {
        e.handle_icmp(now, address(path, Z), quoted, message);
    });
}

fn lost(p: &mut Pair) -> Option<LossReason> {
    p.take_events(A).into_iter().find_map(|e| match e {
        Event::Lost { reason, .. } => Some(reason),
        _ => None,
    })
}

/// A pair on whose paths A has sent something.
fn sending(paths: usize, config: &Config) -> Pair {
    let mut p = Pair::up(paths, config);
    p.send_many(A, 1000, 1);
    p.run(500);
    p
}

#[test]
fn protocol_unreachable_ends_an_association_whose_peer_is_silent() {
    let mut p = sending(2, &plain());
    let quoted = last(&p, "DATA", 8);
    p.cut(&[0, 1]);
    tell(&mut p, 0, &quoted, IcmpMessage::ProtocolUnreachable);
    p.run(999);
    tell(&mut p, 1, &quoted, IcmpMessage::ProtocolUnreachable);
    assert_eq!(p.state(A), "ESTABLISHED", "RTO.Initial is not over");
    p.run(1);
    tell(&mut p, 1, &quoted, IcmpMessage::ProtocolUnreachable);
    assert_eq!(p.state(A), "CLOSED");
    assert_eq!(lost(&mut p), Some(LossReason::ProtocolUnreachable));
    // Nothing is sent: the host has nobody who would hear it.
    assert_eq!(p.state(Z), "ESTABLISHED");
}

// An address whose UDP port is another than that of the first, as behind a translator, was probed at
// a port where nothing is: that ended the association after a second without data.
#[test]
fn what_is_said_of_an_unconfirmed_address_ends_nothing() {
    for message in [
        IcmpMessage::PortUnreachable,
        IcmpMessage::ProtocolUnreachable,
    ] {
        for (about, state) in [(1, "ESTABLISHED"), (0, "CLOSED")] {
            let mut p = Pair::new(2, &plain());
            p.cut(&[1]);
            // The peer lists the other address.
            p.connect_to(A, &[address(0, Z)], &plain());
            p.run(500);
            p.send_many(A, 1000, 1);
            p.run(500);
            assert_eq!(p.path_state(A, 1), PathState::Unconfirmed);
            let quoted = last(&p, "DATA", 8);
            for _ in 0..2 {
                tell(&mut p, about, &quoted, message);
                p.run(1000);
            }
            assert_eq!(p.state(A), state, "{message:?} about {about}");
        }
    }
}

// A router that rejects what it has no binding for says so of a client in a long outage, or in a download whose binding is lost.
// A -> DATA -> lost, and both hear ICMP
#[test]
fn port_unreachable_ends_the_association_of_who_connected_alone() {
    for (message, states) in [
        (IcmpMessage::PortUnreachable, ["CLOSED", "ESTABLISHED"]),
        (IcmpMessage::ProtocolUnreachable, ["CLOSED", "CLOSED"]),
    ] {
        let mut p = sending(2, &plain());
        p.send_many(Z, 1000, 1);
        p.run(500);
        p.cut(&[0, 1]);
        for side in [A, Z] {
            let sent = p
                .sent
                .iter()
                .rfind(|q| q.from == side && q.text.contains("DATA"));
            let quoted = sent.expect("each side has sent data").bytes[..8].to_vec();
            for _ in 0..20 {
                for path in [0, 1] {
                    p.with(side, |now, e, _| {
                        e.handle_icmp(now, address(path, 1 - side), &quoted, message)
                    });
                }
                p.run(500);
            }
        }
        assert_eq!([A, Z].map(|side| p.state(side)), states, "{message:?}");
    }
}

// Linux sends it when the receive buffer of a raw socket is full.
#[test]
fn protocol_unreachable_of_a_peer_that_is_heard_ends_nothing() {
    let mut p = sending(2, &plain());
    for _ in 0..100 {
        let quoted = last(&p, "DATA", 8);
        for path in [0, 1] {
            tell(&mut p, path, &quoted, IcmpMessage::ProtocolUnreachable);
        }
        p.send_many(A, 1000, 1);
        p.run(1500);
    }
    assert_eq!(p.state(A), "ESTABLISHED");
    assert_eq!(p.take_got(Z).len(), 101);
}

// A -> INIT -> Z, and Z's host has no SCTP
#[test]
fn a_set_up_fails_at_once_where_nobody_takes_sctp() {
    let mut p = Pair::new(1, &plain());
    p.cut(&[0]);
    p.connect(A, &plain());
    let init = last(&p, "INIT", 20);
    tell(&mut p, 0, &init[..8], IcmpMessage::ProtocolUnreachable);
    assert_eq!(p.state(A), "COOKIE-WAIT", "too short to show its tag");
    tell(&mut p, 0, &init, IcmpMessage::ProtocolUnreachable);
    assert_eq!(lost(&mut p), Some(LossReason::ProtocolUnreachable));
}

// One of two addresses takes no SCTP, or has nobody on its port: the INIT goes to the other one at once.
#[test]
fn a_set_up_goes_on_at_the_next_address_whatever_refuses_the_first() {
    use IcmpMessage::{PortUnreachable, ProtocolUnreachable};
    for (first, second, reason) in [
        (
            ProtocolUnreachable,
            ProtocolUnreachable,
            LossReason::ProtocolUnreachable,
        ),
        (
            ProtocolUnreachable,
            PortUnreachable,
            LossReason::PortUnreachable,
        ),
        (
            PortUnreachable,
            ProtocolUnreachable,
            LossReason::ProtocolUnreachable,
        ),
    ] {
        let refused = |cut: &'static [usize]| {
            let mut p = Pair::new(2, &plain());
            p.cut(cut);
            p.connect(A, &plain());
            let init = last(&p, "INIT", 20);
            tell(&mut p, 0, &init, first);
            assert_eq!(
                p.take_drawings_with(&["INIT"])[1],
                if cut == [0] {
                    "A -> INIT -> Z (path 1)"
                } else {
                    "A -> INIT -> lost (path 1)"
                }
            );
            (p, init)
        };
        let (mut p, _) = refused(&[0]);
        p.run(100);
        assert_eq!(p.state(A), "ESTABLISHED", "{first:?}");
        let (mut p, init) = refused(&[0, 1]);
        assert_eq!(p.state(A), "COOKIE-WAIT", "{first:?}");
        tell(&mut p, 1, &init, second);
        assert_eq!(lost(&mut p), Some(reason));
    }
}

#[test]
fn a_quoted_init_says_nothing_once_it_was_answered() {
    let mut p = Pair::new(1, &plain());
    p.connect(A, &plain());
    p.run(500);
    let init = last(&p, "INIT", 20);
    tell(&mut p, 0, &init, IcmpMessage::ProtocolUnreachable);
    assert_eq!(p.state(A), "ESTABLISHED");
}

#[test]
fn a_message_with_a_wrong_tag_port_or_address_is_ignored() {
    let whole = {
        let p = sending(2, &plain());
        last(&p, "DATA", 28)
    };
    let changed = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    let zero = {
        let mut bytes = whole.clone();
        bytes[4..8].fill(0);
        bytes
    };
    for (what, path, quoted) in [
        ("our port", 0, changed(1)),
        ("the peer's port", 0, changed(3)),
        ("the tag", 0, changed(7)),
        ("no tag, and no INIT", 0, zero),
        ("an unknown address", 7, whole.clone()),
        ("too short", 0, whole[..7].to_vec()),
        ("without the peer's port", 0, whole[..3].to_vec()),
        ("nothing", 0, Vec::new()),
    ] {
        for message in [
            IcmpMessage::ProtocolUnreachable,
            IcmpMessage::Unreachable,
            IcmpMessage::TooBig { mtu: 1300 },
        ] {
            // The same seeds give the same tags.
            let mut p = sending(2, &plain());
            tell(&mut p, path, &quoted, message);
            p.cut(&[0, 1]);
            p.run(1000);
            tell(&mut p, path, &quoted, message);
            assert_eq!(p.state(A), "ESTABLISHED", "{what}");
            assert_eq!(p.path_state(A, 0), PathState::Active, "{what}");
        }
    }
    let mut p = sending(2, &plain());
    tell(&mut p, 0, &whole, IcmpMessage::Unreachable);
    let state = p.path_state(A, 0);
    assert_eq!(state, PathState::PotentiallyFailed, "unchanged it counts");
}

#[test]
fn an_unreachable_host_is_left_at_once_and_taken_again() {
    let mut c = plain();
    // Heartbeats find out when it is back.
    c.hb.enabled = true;
    let mut p = sending(2, &c);
    p.cut(&[0]);
    p.send_many(A, 1000, 3);
    let quoted = last(&p, "DATA", 8);
    p.take_drawings();
    tell(&mut p, 0, &quoted, IcmpMessage::Unreachable);
    assert_eq!(p.path_state(A, 0), PathState::PotentiallyFailed);
    let drawn = p.take_drawings();
    let moved = drawn
        .iter()
        .any(|d| d.contains("DATA") && d.contains("(path 1)"));
    assert!(moved, "{drawn:?}");
    p.heal();
    p.run(4000);
    assert_eq!(p.path_state(A, 0), PathState::Active);
    assert_eq!(p.take_got(Z).len(), 4);
}

#[test]
fn the_only_path_stays_in_use_whatever_routers_say() {
    let mut p = sending(1, &plain());
    let quoted = last(&p, "DATA", 8);
    for _ in 0..20 {
        tell(&mut p, 0, &quoted, IcmpMessage::Unreachable);
    }
    assert_eq!(p.path_state(A, 0), PathState::Active);
    p.send_many(A, 1000, 3);
    p.run(500);
    assert_eq!(p.take_got(Z).len(), 4);
}

#[test]
fn packet_too_big_bounds_the_packets_at_once_but_not_below_the_base() {
    let mut c = plain();
    c.mtu_discovery = Some(MtuDiscovery::default());
    for (mtu, expected) in [
        (1400, 1200),
        (1200, 1200),
        (1199, 1500),
        (68, 1500),
        (0, 1500),
    ] {
        let mut p = sending(1, &c);
        assert_eq!(p.path(A, 0).pmtu, 1500);
        let quoted = last(&p, "DATA", 8);
        tell(&mut p, 0, &quoted, IcmpMessage::TooBig { mtu });
        assert_eq!(p.path(A, 0).pmtu, expected, "{mtu}");
    }
    // The search goes on up to what the router said.
    let mut p = sending(1, &c);
    let quoted = last(&p, "DATA", 8);
    tell(&mut p, 0, &quoted, IcmpMessage::TooBig { mtu: 1400 });
    p.run(2000);
    let found = p.path(A, 0).pmtu;
    assert!((1385..=1400).contains(&found), "{found}");
    // A size that is larger than the packets changes nothing.
    let quoted = last(&p, "DATA", 8);
    tell(&mut p, 0, &quoted, IcmpMessage::TooBig { mtu: 9000 });
    assert_eq!(p.path(A, 0).pmtu, found);
    // Without the search, packets have the size that was set.
    let mut p = sending(1, &plain());
    let quoted = last(&p, "DATA", 8);
    tell(&mut p, 0, &quoted, IcmpMessage::TooBig { mtu: 1300 });
    assert_eq!(p.path(A, 0).pmtu, plain().pmtu.0);
}

/// An address of A with a UDP port.
fn with_udp(path: usize, port: u16) -> core::net::SocketAddr {
    let mut a = address(path, A);
    a.set_port(port);
    a
}

// A ==without UDP== Z, then A sends in UDP
#[test]
fn a_path_that_works_without_udp_does_not_follow_a_peer_into_udp() {
    let mut p = sending(1, &plain());
    let tag = p.reader.tags[Z];
    for _ in 0..3 {
        let bytes = packet(A, tag, |b| b.heartbeat(&[1, 2, 3]));
        p.inject_bytes(Z, with_udp(0, 9899), &bytes);
        p.run(200);
    }
    assert_eq!(p.path(Z, 0).remote, address(0, A));
    let probed = p.take_drawings();
    let heartbeats = probed.iter().filter(|d| d.contains("Z -> HEARTBEAT ->"));
    assert_eq!(heartbeats.count(), 0, "{probed:?}");
    // Once it fails, any way to the peer is welcome.
    p.cut(&[0]);
    p.send_many(Z, 1000, 1);
    p.run(70_000);
    assert_eq!(p.path_state(Z, 0), PathState::Inactive);
    p.take_drawings();
    let bytes = packet(A, tag, |b| b.heartbeat(&[1, 2, 3]));
    p.inject_bytes(Z, with_udp(0, 9899), &bytes);
    p.run(1);
    let probed = p.take_drawings();
    assert!(
        probed.iter().any(|d| d.contains("Z -> HEARTBEAT ->")),
        "{probed:?}"
    );
}

/// RFC 6951 section 5.5: nothing listens on a UDP port. A set-up goes on at the next address at
/// once, and ends when all have said so; only the Initiate Tag of the INIT proves it.
#[test]
fn port_unreachable_leads_a_set_up_to_the_next_address() {
    let config = plain();
    let mut p = Pair::new(2, &config);
    p.cut(&[0, 1]);
    p.connect(A, &config);
    let mut forged = last(&p, "INIT", 20);
    forged[19] ^= 1;
    tell(&mut p, 0, &forged, IcmpMessage::PortUnreachable);
    let short = last(&p, "INIT", 12);
    tell(&mut p, 0, &short, IcmpMessage::PortUnreachable);
    assert_drawn(&p.take_drawings(), &["A -> INIT -> lost"]);
    let quoted = last(&p, "INIT", 20);
    tell(&mut p, 0, &quoted, IcmpMessage::PortUnreachable);
    assert_drawn(&p.take_drawings(), &["A -> INIT -> lost (path 1)"]);
    assert_eq!(p.state(A), "COOKIE-WAIT");
    // Said again of the first one, it is not the last one's word.
    tell(&mut p, 0, &quoted, IcmpMessage::PortUnreachable);
    assert_eq!(p.state(A), "COOKIE-WAIT");
    tell(&mut p, 1, &quoted, IcmpMessage::PortUnreachable);
    assert_eq!(p.state(A), "CLOSED");
    assert_eq!(lost(&mut p), Some(LossReason::PortUnreachable));
}

/// A process that was killed: the path is doubted, and the association ends with the second word
/// after RTO.Initial, if nothing was heard in between.
#[test]
fn port_unreachable_ends_an_association_whose_peer_is_silent() {
    let mut p = sending(2, &plain());
    let quoted = last(&p, "DATA", 8);
    p.cut(&[0, 1]);
    tell(&mut p, 0, &quoted, IcmpMessage::PortUnreachable);
    assert_eq!(p.path_state(A, 0), PathState::PotentiallyFailed);
    p.run(999);
    tell(&mut p, 0, &quoted, IcmpMessage::PortUnreachable);
    assert_eq!(p.state(A), "ESTABLISHED", "RTO.Initial is not over");
    p.run(1);
    let mut forged = quoted.clone();
    forged[4] ^= 1;
    tell(&mut p, 1, &forged, IcmpMessage::PortUnreachable);
    assert_eq!(p.state(A), "ESTABLISHED");
    tell(&mut p, 1, &quoted, IcmpMessage::PortUnreachable);
    assert_eq!(lost(&mut p), Some(LossReason::PortUnreachable));
}

/// One address whose port is closed, beside one that works, is doubted and no more.
#[test]
fn port_unreachable_of_one_address_ends_nothing_where_the_peer_is_heard() {
    let mut p = sending(2, &plain());
    let quoted = last(&p, "DATA", 8);
    p.cut(&[0]);
    for _ in 0..40 {
        tell(&mut p, 0, &quoted, IcmpMessage::PortUnreachable);
        p.send_many(A, 1000, 1);
        p.run(100);
    }
    assert_eq!(p.state(A), "ESTABLISHED");
    assert_eq!(p.take_got(Z).len(), 41);
}
