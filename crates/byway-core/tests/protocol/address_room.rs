//! Changes of addresses (RFC 5061) where there is no room, a refusal, or only one source that
//! works.

use crate::address_changes::{Changing, asconf, change, changing, ip, paths, unasked};
use crate::attacks::summed;
use crate::common::forger::Forger;
use crate::common::{A, Pair, Z, address, address_of_ipv6, assert_drawn, plain};
use byway_core::{AddressChange, Event, PathState};
use byway_wire::{Chunk, Packet, Param, ParamWriter, cause_code};
use core::net::{IpAddr, Ipv4Addr, SocketAddr};

/// No more paths than `setup.max_paths`; an address beyond them waits, as one of an INIT
/// does, and becomes a path when another one goes.
#[test]
fn an_address_beyond_max_paths_waits_for_the_place_of_a_removed_one() {
    let mut z = changing();
    z.setup.max_paths = 2;
    let mut p = Changing { a: 2, z: 1 }.begin(&changing(), &z);
    p.run(4000);
    let forger = Forger::of(&p.sent);
    p.lose(unasked);
    asconf(&mut p, &forger, 0, 1, |w| {
        w.add_ip(1, ip(2));
    });
    assert_eq!(paths(&mut p, Z).len(), 2);
    asconf(&mut p, &forger, 0, 2, |w| {
        w.delete_ip(1, ip(1));
    });
    p.run(3000);
    let drawn = p.take_drawings_with(&["ASCONF"]);
    let done = "Z -> AUTH, ASCONF-ACK -> lost";
    assert_drawn(&drawn, &[done, done]);
    let found: Vec<SocketAddr> = paths(&mut p, Z).iter().map(|x| x.0).collect();
    assert_eq!(found, [address(0, A), address(2, A)]);
}

/// F9: a peer has at most 32 addresses.
#[test]
fn too_many_addresses_are_refused() {
    let (mut p, forger) = Changing { a: 1, z: 1 }.forged();
    for serial in 1..=40_u32 {
        asconf(&mut p, &forger, 0, serial, |w| {
            w.add_ip(1, [10, 200, 0, serial as u8].into());
        });
    }
    let drawn = p.take_drawings_with(&["ASCONF-ACK"]);
    let refused = drawn.iter().filter(|d| d.contains("Resource Shortage"));
    assert_eq!((drawn.len(), refused.count()), (40, 9));
    assert_eq!(paths(&mut p, Z).len(), 8);
}

/// The laptop, and a server that allows one path: the new address takes the path's place.
#[test]
fn one_address_takes_the_place_of_another_where_one_path_is_allowed() {
    let mut z = changing();
    z.setup.max_paths = 1;
    for apart in [false, true] {
        let mut p = Changing { a: 1, z: 1 }.begin(&changing(), &z);
        p.run(4000);
        if apart {
            change(&mut p, A, &[1], &[]);
            p.run(100);
            change(&mut p, A, &[], &[0]);
        } else {
            change(&mut p, A, &[1], &[0]);
        }
        p.send_many(A, 1000, 20);
        p.send_many(Z, 1000, 20);
        p.run(3000);
        assert_eq!(paths(&mut p, Z), [(address(1, A), PathState::Active)]);
        assert_eq!((p.take_got(Z).len(), p.take_got(A).len()), (20, 20));
    }
}

/// A's INIT arrives a second time when A has deleted an address that it lists. It is no restart: an
/// ABORT with A's tag would end the association. The same INIT with another tag is one.
#[test]
fn a_late_init_of_the_same_association_is_not_refused() {
    for (tag, expected) in [(None, None), (Some(77), Some("Z -> ABORT: "))] {
        let mut p = Changing { a: 2, z: 1 }.begin(&changing(), &changing());
        p.run(4000);
        let init = p.sent.iter().find(|q| q.text == "INIT").unwrap();
        let mut init = init.bytes.clone();
        if let Some(tag) = tag {
            // Behind the common header and the chunk's: the initiate tag.
            init[16..20].copy_from_slice(&u32::to_be_bytes(tag));
        }
        let init = summed(init);
        change(&mut p, A, &[], &[1]);
        p.run(1000);
        p.take_drawings();
        p.inject_bytes(Z, address(0, A), &init);
        let answer = p.take_drawings_with(&["Z -> ABORT", "Z -> INIT ACK"]);
        assert_eq!(answer.len(), usize::from(expected.is_some()), "{answer:?}");
        for (drawn, expected) in answer.iter().zip(expected) {
            assert!(drawn.starts_with(expected), "{drawn}");
        }
        p.run(1000);
        p.send_many(A, 1000, 5);
        p.run(1000);
        assert_eq!((p.state(A), p.take_got(Z).len()), ("ESTABLISHED", 5));
    }
}

/// An address that no peer on another host accepts.
const REFUSED: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// F10: a refused address is no part of the association.
#[test]
fn a_refused_address_is_not_used() {
    let (mut p, _) = Changing { a: 1, z: 2 }.up();
    p.with(A, |now, e, _| e.add_local_address(now, REFUSED))
        .unwrap();
    p.run(100);
    let refused = Event::AddressChangeRefused {
        what: AddressChange::Added(REFUSED),
        cause: cause_code::NO_AUTHORIZATION,
    };
    assert!(p.take_events(A).contains(&refused));
    let locals: Vec<SocketAddr> =
        p.with(A, |_, e, id| e.paths(id).iter().map(|s| s.local).collect());
    assert_eq!(locals, [address(0, A), address(0, A)]);
}

/// F10: the peer refuses all that is left.
#[test]
fn a_side_whose_only_address_is_refused_gives_up() {
    let (mut p, forger) = Changing { a: 1, z: 1 }.up();
    p.send_many(A, 1000, 3);
    p.lose(|q| q.from == A && q.text.contains("ASCONF"));
    change(&mut p, A, &[1], &[0]);
    let (serial, tag) = (p.reader.tsn(A, 1).0, p.reader.tags[A]);
    let mut answer = Vec::new();
    let mut w = ParamWriter::over(&mut answer);
    for change in [1, 2] {
        w.error_cause_indication(change, |c| {
            c.resource_shortage(&[]);
        });
    }
    let refusal = forger.packet(Z, tag, |b| {
        b.asconf_ack_raw(serial, &answer);
    });
    p.inject_bytes(A, address(0, Z), &refusal);
    let lost = p.take_events(A).into_iter().find_map(|e| match e {
        Event::Lost { reason, .. } => Some(reason.to_string()),
        _ => None,
    });
    let lost = lost.expect("the association ended");
    assert!(lost.contains("refused every address"), "{lost}");
}

/// F11: the first refused addition makes the peer refuse what is behind it. Each is asked
/// for again by itself, if no address is left.
#[test]
fn one_refused_address_does_not_keep_the_others_back() {
    let (mut p, _) = Changing { a: 1, z: 1 }.up();
    p.send_many(A, 1000, 3);
    p.with(A, |now, e, _| {
        e.change_local_addresses(now, &[REFUSED, address(1, A)], &[ip(0)])
    })
    .unwrap();
    p.run(3000);
    let drawn = p.take_drawings_with(&["A -> AUTH, ASCONF"]);
    assert_drawn(
        &drawn,
        &[
            "A -> AUTH, ASCONF +127.0.0.1 +10.1.0.1 -10.0.0.1 -> Z",
            "A -> AUTH, ASCONF +10.1.0.1 -10.0.0.1 -> Z",
        ],
    );
    assert_eq!(paths(&mut p, Z), [(address(1, A), PathState::Active)]);
    assert_eq!(p.take_got(Z).len(), 3);
}

/// The same where an address is left: what goes is told again.
#[test]
fn a_refused_addition_does_not_keep_a_deletion_back() {
    let (mut p, _) = Changing { a: 2, z: 1 }.up();
    p.with(A, |now, e, _| {
        e.change_local_addresses(now, &[REFUSED], &[ip(0)])
    })
    .unwrap();
    p.run(3000);
    assert_eq!(paths(&mut p, Z), [(address(1, A), PathState::Active)]);
}

/// The address at which the path to A leaves goes and comes back. Meanwhile the path leaves
/// from the other one, whose packets do not arrive. What A sends shows Z the way back.
#[test]
fn a_path_that_fails_is_tried_from_the_address_that_the_peer_reaches() {
    let mut z = plain();
    z.hb.enabled = true;
    let mut p = Changing { a: 1, z: 2 }.begin(&plain(), &z);
    p.run(4000);
    let second = address(1, Z);
    p.lose(move |q| q.from == Z && q.source == second);
    change(&mut p, Z, &[], &[0]);
    p.run(1500);
    change(&mut p, Z, &[0], &[]);
    assert_eq!(p.path(Z, 0).local, second);
    p.send_many(A, 1000, 20);
    p.run(20_000);
    assert_eq!(p.path(Z, 0).local, address(0, Z));
    assert_eq!(p.take_got(Z).len(), 20);
    let left = p.with(A, |_, e, id| e.buffered(id));
    assert_eq!(left, Some(0), "bytes not acknowledged");
}

/// Serial number and correlation identifiers of the last ASCONF.
fn last_asconf(p: &crate::common::Pair) -> (u32, Vec<u32>) {
    let last = p.sent.iter().rfind(|q| q.text.contains("ASCONF ")).unwrap();
    let packet = Packet::parse(&last.bytes).unwrap();
    let chunk = packet.chunks().nth(1).unwrap().unwrap();
    let Ok(Chunk::Asconf(asconf)) = chunk.parse() else {
        panic!("an ASCONF behind AUTH")
    };
    let ids = asconf.params.iter().map(|q| match q.unwrap().parse() {
        Ok(
            Param::AddIp { correlation_id, .. }
            | Param::DeleteIp { correlation_id, .. }
            | Param::SetPrimary { correlation_id, .. },
        ) => correlation_id,
        other => panic!("{other:?}"),
    });
    (asconf.sequence, ids.collect())
}

/// Z answers the last ASCONF of A: each change failed with this cause.
fn refuse(p: &mut crate::common::Pair, forger: &Forger, cause: u16) {
    let (serial, ids) = last_asconf(p);
    let bytes = forger.packet(Z, p.reader.tags[A], |b| {
        let mut answer = Vec::new();
        let mut w = ParamWriter::over(&mut answer);
        for id in ids {
            w.error_cause_indication(id, |c| {
                c.raw(cause, &[]);
            });
        }
        b.asconf_ack_raw(serial, &answer);
    });
    p.inject_bytes(A, address(0, Z), &bytes);
}

/// F3a, F3b: the peer knows ASCONF, but not this request. It is not asked again.
#[test]
fn what_the_peer_does_not_know_is_asked_once() {
    let (mut p, forger) = Changing { a: 2, z: 1 }.up();
    p.lose(|q| q.from == A && q.text.contains("ASCONF"));
    let prefer =
        |p: &mut crate::common::Pair| p.with(A, |now, e, id| e.set_peer_primary(now, id, ip(1)));
    prefer(&mut p).unwrap();
    refuse(&mut p, &forger, cause_code::UNRECOGNIZED_PARAMETERS);
    let refused = |what| Event::AddressChangeRefused {
        what,
        cause: cause_code::UNRECOGNIZED_PARAMETERS,
    };
    let told = p.take_events(A);
    assert!(
        told.contains(&refused(AddressChange::PrimaryOfPeer(ip(1)))),
        "{told:?}"
    );
    prefer(&mut p).unwrap_err();
    // Additions and deletions are another matter.
    assert!(p.with(A, |_, e, id| e.changes_addresses(id)));
    change(&mut p, A, &[2], &[]);
    refuse(&mut p, &forger, cause_code::UNRECOGNIZED_PARAMETERS);
    let told = p.take_events(A);
    assert!(
        told.contains(&refused(AddressChange::Added(address(2, A)))),
        "{told:?}"
    );
    p.take_drawings();
    change(&mut p, A, &[3], &[]);
    p.run(5000);
    assert_eq!(p.take_drawings_with(&["ASCONF"]), [""; 0]);
    assert_eq!(p.state(A), "ESTABLISHED");
}

/// An address was refused for lack of room, and is all that is left when the other one goes: the peer may have room by now.
#[test]
fn a_refused_address_is_offered_again_when_no_other_is_left() {
    let (mut p, forger) = Changing { a: 1, z: 1 }.up();
    // The answer of Z, which had room, is another one.
    p.lose(|q| q.text.contains("ASCONF-ACK"));
    change(&mut p, A, &[1], &[]);
    p.run(15);
    refuse(&mut p, &forger, cause_code::RESOURCE_SHORTAGE);
    p.heal();
    p.run(1000);
    p.take_drawings();
    change(&mut p, A, &[], &[0]);
    p.run(3000);
    let drawn = p.take_drawings_with(&["A -> AUTH, ASCONF"]);
    assert_drawn(&drawn, &["A -> AUTH, ASCONF +10.1.0.1 -10.0.0.1 -> Z"]);
    assert_eq!(paths(&mut p, Z), [(address(1, A), PathState::Active)]);
    p.assert_carries_data();
}

/// Z allows one path, so that A's second address has none there. F8: it is not deleted from itself. Section 4.2.2: as the
/// source of a deletion of all others it is what is left.
#[test]
fn an_address_without_a_path_deletes_the_others_and_not_itself() {
    let mut z = changing();
    z.setup.max_paths = 1;
    let mut p = Changing { a: 2, z: 1 }.begin(&changing(), &z);
    p.run(4000);
    let forger = Forger::of(&p.sent);
    p.lose(unasked);
    p.take_drawings();
    asconf(&mut p, &forger, 1, 1, |w| {
        w.delete_ip(1, ip(1));
    });
    let drawn = p.take_drawings_with(&["ASCONF"]);
    assert_eq!(drawn.len(), 1, "{drawn:?}");
    assert!(
        drawn[0].contains("Request to Delete Source IP Address"),
        "{drawn:?}"
    );
    asconf(&mut p, &forger, 1, 2, |w| {
        w.delete_ip(1, Ipv4Addr::UNSPECIFIED.into());
    });
    p.run(3000);
    assert_eq!(paths(&mut p, Z), [(address(1, A), PathState::Active)]);
}

/// All addresses of A's card went while its ASCONF was under way, and what came is of another family than Z's.
fn without_a_source() -> Pair {
    let (mut p, _) = Changing { a: 1, z: 1 }.up();
    p.lose(|q| q.text.contains("ASCONF"));
    let v6 = address_of_ipv6(0, A);
    p.with(A, |now, e, _| e.change_local_addresses(now, &[v6], &[]))
        .unwrap();
    change(&mut p, A, &[], &[0]);
    p
}

/// Then a card of Z's family comes.
#[test]
fn an_asconf_without_a_source_waits_for_one() {
    let mut p = without_a_source();
    p.run(20_000);
    assert_eq!(p.state(A), "ESTABLISHED");
    p.heal();
    p.take_drawings();
    change(&mut p, A, &[1], &[]);
    p.run(5000);
    p.assert_carries_data();
    let known: Vec<SocketAddr> = paths(&mut p, Z).iter().map(|x| x.0).collect();
    assert!(known.contains(&address(1, A)), "{known:?}");
}

/// No card comes: it does not wait for ever, nor does its shutdown.
#[test]
fn an_asconf_without_a_source_ends_when_none_comes() {
    for shuts_down in [false, true] {
        let mut p = without_a_source();
        if shuts_down {
            p.run(3000);
            p.shutdown(A);
        }
        // RTO.Max is 60 s, Association.Max.Retrans 10.
        p.run(11 * 60_000);
        assert_eq!(p.state(A), "CLOSED", "{shuts_down}");
        let lost = crate::common::loss(&p.take_events(A));
        assert!(!lost.is_empty());
    }
}

/// A7: what succeeded may be reported, and need not be. What else an answer has says nothing.
#[test]
fn a_change_is_done_if_the_answer_says_so_or_nothing() {
    for says in [true, false] {
        let (mut p, forger) = Changing { a: 1, z: 1 }.up();
        p.lose(|q| q.from == A && q.text.contains("ASCONF"));
        change(&mut p, A, &[1], &[]);
        let (serial, ids) = last_asconf(&p);
        let bytes = forger.packet(Z, p.reader.tags[A], |b| {
            let mut answer = Vec::new();
            let mut w = ParamWriter::over(&mut answer);
            w.adaptation_indication(7);
            if says {
                w.success_indication(ids[0]);
            }
            b.asconf_ack_raw(serial, &answer);
        });
        p.inject_bytes(A, address(0, Z), &bytes);
        let what = AddressChange::Added(address(1, A));
        assert_eq!(p.take_events(A), [Event::AddressChanged { what }]);
    }
}
