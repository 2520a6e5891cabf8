//! Changes of addresses (RFC 5061), drawn packet by packet. Numbers of rules are those of
//! the RFC.

use super::setup::stops_at;
use crate::common::forger::Forger;
use crate::common::{
    A, Binding, Fate, PORTS, Pair, Z, address, address_of_ipv6, addresses, assert_drawn, endpoint,
    ms, outside, plain,
};
use byway_core::config::Wildcard;
use byway_core::{
    AddressChange, Config, Endpoint, EndpointConfig, Event, PathId, PathState, Routes, SendFailure,
};
use byway_wire::{ParamWriter, cause_code, chunk_type};
use core::net::{IpAddr, SocketAddr};

/// [`plain`] with changes of addresses.
pub(crate) fn changing() -> Config {
    let mut c = plain();
    c.auth.enabled = true;
    c.asconf.enabled = true;
    c
}

/// How many addresses each side has at first. Path 0 is between the first addresses.
#[derive(Copy, Clone)]
pub(crate) struct Changing {
    pub(crate) a: usize,
    pub(crate) z: usize,
}

impl Changing {
    pub(crate) fn pair(self, a: &Config, z: &Config) -> Pair {
        Pair::of([endpoint(self.a, A, 1, a), endpoint(self.z, Z, 2, z)], 4)
    }

    pub(crate) fn connect(self, p: &mut Pair, config: &Config) {
        let peer = addresses(self.z, Z);
        let id = p.ends[A]
            .connect(p.now, &peer, PORTS[Z], config.clone())
            .unwrap();
        p.ids[A] = Some(id);
        p.pump(A);
    }

    pub(crate) fn begin(self, a: &Config, z: &Config) -> Pair {
        let mut p = self.pair(a, z);
        self.connect(&mut p, a);
        p
    }

    /// [`up`](Changing::up), for ASCONFs that are written by hand: the answers to them do not
    /// arrive at A, which sent none.
    pub(crate) fn forged(self) -> (Pair, Forger) {
        let (mut p, forger) = self.up();
        p.lose(unasked);
        (p, forger)
    }

    /// An association on which no data has been sent yet, and who can sign for both sides.
    pub(crate) fn up(self) -> (Pair, Forger) {
        let mut p = self.begin(&changing(), &changing());
        p.run(4000);
        let forger = Forger::of(&p.sent);
        for side in [A, Z] {
            assert_eq!(p.state(side), "ESTABLISHED");
            p.take_events(side);
            p.take_observed(side);
        }
        p.take_drawings();
        p.sent.clear();
        (p, forger)
    }
}

/// An answer to an ASCONF that A did not send.
pub(crate) fn unasked(q: &crate::common::Passing) -> bool {
    q.from == Z && q.text.contains("ASCONF-ACK")
}

/// Changes the addresses of a side: path numbers that come and go.
pub(crate) fn change(p: &mut Pair, side: usize, add: &[usize], remove: &[usize]) {
    let add: Vec<SocketAddr> = add.iter().map(|n| address(*n, side)).collect();
    let remove: Vec<IpAddr> = remove.iter().map(|n| address(*n, side).ip()).collect();
    p.with(side, |now, e, _| {
        e.change_local_addresses(now, &add, &remove)
    })
    .unwrap();
}

/// Remote address and state of the paths.
pub(crate) fn paths(p: &mut Pair, side: usize) -> Vec<(SocketAddr, PathState)> {
    p.with(side, |_, e, id| {
        e.paths(id).iter().map(|s| (s.remote, s.state)).collect()
    })
}

/// An ASCONF of A with this serial number, counted from 1, and these changes.
pub(crate) fn asconf(
    p: &mut Pair,
    forger: &Forger,
    path: usize,
    serial: u32,
    write: impl FnOnce(&mut ParamWriter<'_>),
) {
    let serial = p.reader.tsn(A, serial).0;
    let tag = p.reader.tags[Z];
    let bytes = forger.packet(A, tag, |b| b.asconf(serial, address(0, A).ip(), write));
    p.inject_bytes(Z, address(path, A), &bytes);
}

pub(crate) fn ip(path: usize) -> IpAddr {
    address(path, A).ip()
}

#[test]
fn an_address_is_added_acknowledged_and_verified() {
    let (mut p, _) = Changing { a: 1, z: 1 }.up();
    change(&mut p, A, &[1], &[]);
    p.run(100);
    assert_drawn(
        &p.take_drawings(),
        &[
            "A -> AUTH, ASCONF +10.1.0.1 -> Z",
            "Z -> AUTH, ASCONF-ACK -> A",
            "Z -> HEARTBEAT -> A (path 1)",
            "A -> HEARTBEAT ACK -> Z",
        ],
    );
    assert_eq!(
        paths(&mut p, Z),
        [
            (address(0, A), PathState::Active),
            (address(1, A), PathState::Active)
        ]
    );
    let added = Event::AddressChanged {
        what: AddressChange::Added(address(1, A)),
    };
    assert!(p.take_events(A).contains(&added));
    // Data of Z uses it when the first path fails.
    p.cut(&[0]);
    p.send_many(Z, 1000, 5);
    p.run(10_000);
    assert_eq!(p.take_got(A).len(), 5);
}

/// The ASCONF-ACK and the HEARTBEAT to the new address leave together. Over the new network the HEARTBEAT comes first, while
/// the address sends nothing yet (RFC 5061 section 5.3, F1). Its answer leaves with the ASCONF-ACK; the peer's next HEARTBEAT
/// would come after RTO.Initial.
#[test]
fn a_heartbeat_that_overtakes_the_asconf_ack_is_answered_after_it() {
    let (mut p, _) = Changing { a: 1, z: 1 }.up();
    p.delay_ms[1] = 2;
    change(&mut p, A, &[1], &[]);
    p.run(40);
    assert_drawn(
        &p.take_drawings(),
        &[
            "A -> AUTH, ASCONF +10.1.0.1 -> Z",
            "Z -> AUTH, ASCONF-ACK -> A",
            "Z -> HEARTBEAT -> A (path 1)",
            "A -> HEARTBEAT ACK -> Z",
        ],
    );
    assert_eq!(paths(&mut p, Z)[1], (address(1, A), PathState::Active));
}

#[test]
fn an_address_is_deleted_and_its_data_moves() {
    let (mut p, _) = Changing { a: 2, z: 2 }.up();
    p.lose(|q| q.from == Z && q.path == 0 && q.text.contains("DATA"));
    p.send_many(Z, 1000, 3);
    p.run(15);
    p.take_drawings();
    change(&mut p, A, &[], &[0]);
    p.run(100);
    let drawn = p.take_drawings();
    assert_eq!(drawn[0], "A -> AUTH, ASCONF -10.0.0.1 -> Z");
    assert!(
        drawn
            .iter()
            .any(|d| d.starts_with("Z -> DATA 1") && d.ends_with("(path 1)")),
        "{drawn:?}"
    );
    assert_eq!(p.take_got(A).len(), 3);
    assert_eq!(paths(&mut p, Z), [(address(1, A), PathState::Active)]);
    let removed = Event::PathRemoved {
        path: PathId(0),
        remote: address(0, A),
    };
    let events = p.take_events(Z);
    assert!(events.contains(&removed), "{events:?}");
    let primary = events
        .iter()
        .any(|e| matches!(e, Event::PrimaryChanged { to: PathId(1), .. }));
    assert!(primary, "F12");
    assert_eq!(p.path(Z, 1).timeouts, 0);
}

/// pion/sctp drops an INIT with any address in it. The peer of this test does so, and has ASCONF, so that the address
/// which it has not learned follows. A sends nothing from there before the peer has acknowledged it (F1).
#[test]
fn addresses_that_the_third_repetition_of_an_init_leaves_out_follow_by_asconf() {
    let sides = Changing { a: 2, z: 2 };
    let mut p = sides.pair(&changing(), &changing());
    p.timed = true;
    p.lose(|q| !stops_at(&q.bytes).is_empty());
    sides.connect(&mut p, &changing());
    p.run(4015);
    assert_drawn(
        &p.take_drawings(),
        &[
            "0 ms A -> INIT -> lost",
            "1000 ms A -> INIT -> lost (path 1)",
            "2000 ms A -> INIT -> lost",
            "4000 ms A -> INIT -> Z (path 1)",
            "4010 ms Z -> INIT ACK -> A (path 1)",
        ],
    );
    p.run(2000);
    for side in [A, Z] {
        let known = paths(&mut p, side).len();
        assert_eq!((p.state(side), known), ("ESTABLISHED", 2));
    }
    // Data goes on over either one.
    p.cut(&[1]);
    p.send_many(A, 1000, 5);
    p.send_many(Z, 1000, 5);
    p.run(10_000);
    assert_eq!((p.take_got(A).len(), p.take_got(Z).len()), (5, 5));
}

/// A peer that came late, and has no ASCONF, is not to know one address alone for ever: no two INITs in a row list none.
#[test]
fn each_second_of_the_later_inits_lists_the_addresses() {
    let sides = Changing { a: 2, z: 2 };
    let mut p = sides.pair(&changing(), &changing());
    p.cut(&[0, 1]);
    sides.connect(&mut p, &changing());
    p.run(300_000);
    let said: Vec<Vec<u16>> = p.sent.iter().map(|q| stops_at(&q.bytes)).collect();
    let (all, addresses) = ([5, 5, 12].as_slice(), [5, 5].as_slice());
    let none = [].as_slice();
    assert_eq!(
        said,
        [
            all, all, addresses, none, addresses, none, addresses, none, addresses
        ]
    );
}

/// The peer knows one address, and cannot be told the other one: it sees a new source, as behind a translator.
#[test]
fn without_asconf_at_the_peer_an_address_that_was_left_out_is_a_new_source() {
    let sides = Changing { a: 2, z: 2 };
    let mut beating = changing();
    (beating.hb.enabled, beating.hb.interval) = (true, ms(500));
    let mut p = sides.pair(&beating, &plain());
    p.lose(|q| !stops_at(&q.bytes).is_empty());
    sides.connect(&mut p, &beating);
    p.run(15_000);
    p.heal();
    p.send_many(A, 1000, 20);
    p.send_many(Z, 1000, 20);
    p.run(10_000);
    assert_eq!((p.take_got(A).len(), p.take_got(Z).len()), (20, 20));
    assert_eq!((p.state(A), p.state(Z)), ("ESTABLISHED", "ESTABLISHED"));
    assert_eq!(paths(&mut p, Z).len(), 2);
}

/// The laptop: one address takes the place of another in the middle of a transfer.
#[test]
fn one_address_takes_the_place_of_another_in_mid_transfer() {
    for sender in [A, Z] {
        let (mut p, _) = Changing { a: 1, z: 2 }.up();
        p.send_many(sender, 1000, 200);
        p.run(45);
        // Nothing passes through the old network any more.
        p.lose(|q| q.from == Z && q.path == 0);
        p.take_drawings();
        change(&mut p, A, &[1], &[0]);
        p.run(2000);
        let drawn = p.take_drawings();
        assert_eq!(
            drawn[0], "A -> AUTH, ASCONF +10.1.0.1 -10.0.0.1 -> Z",
            "{drawn:#?}"
        );
        assert_eq!(
            p.take_got(1 - sender).len(),
            200,
            "sender {sender}: {drawn:#?}"
        );
        assert_eq!(paths(&mut p, Z), [(address(1, A), PathState::Active)]);
        for side in [A, Z] {
            let timeouts: u64 = p.with(side, |_, e, id| {
                e.paths(id).iter().map(|s| s.timeouts).sum()
            });
            assert_eq!(timeouts, 0, "sender {sender}, side {side}");
        }
    }
}

/// From each address there is a way to the peer's address of the same number alone.
pub(crate) struct OwnNetworks;

impl Routes for OwnNetworks {
    fn source(&mut self, local: &[SocketAddr], _: IpAddr) -> Option<usize> {
        (!local.is_empty()).then_some(0)
    }

    fn leads(&mut self, local: SocketAddr, remote: IpAddr) -> bool {
        (0..8).any(|n| local == address(n, A) && remote == address(n, Z).ip())
    }
}

#[test]
fn an_asconf_leaves_where_the_new_address_has_a_way() {
    let (mut p, _) = Changing { a: 1, z: 2 }.up();
    p.ends[A].set_routes(Box::new(OwnNetworks));
    let begun = p.now;
    change(&mut p, A, &[1], &[0]);
    let first = p.sent.iter().find(|q| q.text.contains("ASCONF")).unwrap();
    // Path 0, which had the data, is beyond the new network: a second would pass there.
    assert_eq!((first.source, first.path), (address(1, A), 1));
    p.send_many(A, 1000, 1);
    p.run(200);
    assert_eq!(p.take_got(Z).len(), 1, "after {:?}", p.now.since(begun));
}

#[test]
fn data_leaves_where_the_new_address_has_a_way() {
    let (mut p, _) = Changing { a: 1, z: 2 }.up();
    p.ends[A].set_routes(Box::new(OwnNetworks));
    p.send_many(A, 1000, 1);
    p.run(300);
    p.take_got(Z);
    // The old network is gone: the kernel refuses what goes to path 0, and the path is in doubt.
    p.lose(|q| q.from == A && q.path == 0);
    let of_a = p.sent.iter().rfind(|q| q.from == A).unwrap();
    let packet = of_a.bytes.clone();
    p.with(A, |now, e, _| {
        e.send_failed(now, address(0, Z), &packet, SendFailure::Unreachable);
    });
    assert_eq!(paths(&mut p, A)[0].1, PathState::PotentiallyFailed);
    change(&mut p, A, &[1], &[0]);
    p.send_many(A, 1000, 5);
    p.run(200);
    assert_eq!(p.take_got(Z).len(), 5);
}

/// A3 and C1: one ASCONF at a time. A2: serial numbers from the initial TSN on.
#[test]
fn one_asconf_is_under_way_and_the_next_waits() {
    let (mut p, _) = Changing { a: 1, z: 1 }.up();
    change(&mut p, A, &[1], &[]);
    change(&mut p, A, &[2], &[]);
    change(&mut p, A, &[3], &[2]);
    p.run(15);
    let sent = p.take_drawings_with(&["ASCONF"]);
    assert_drawn(
        &sent,
        &[
            "A -> AUTH, ASCONF +10.1.0.1 -> Z",
            "Z -> AUTH, ASCONF-ACK -> A",
        ],
    );
    p.run(100);
    let sent = p.take_drawings_with(&["ASCONF"]);
    // The second one waited and was taken back, so only the third is left.
    assert_drawn(
        &sent,
        &[
            "A -> AUTH, ASCONF +10.3.0.1 -> Z",
            "Z -> AUTH, ASCONF-ACK -> A",
        ],
    );
    let serial =
        |q: &crate::common::Passing| u32::from_be_bytes(q.bytes[56..60].try_into().unwrap());
    let serials: Vec<u32> = p
        .sent
        .iter()
        .filter(|q| q.text.contains("ASCONF +"))
        .map(serial)
        .collect();
    assert_eq!(serials, [p.reader.tsn(A, 1).0, p.reader.tsn(A, 2).0]);
}

/// B1 to B5: after T4-rto the same chunk goes to another path, and an error counts.
#[test]
fn an_unanswered_asconf_is_repeated_unchanged_on_another_path() {
    let (mut p, _) = Changing { a: 2, z: 2 }.up();
    p.cut(&[0]);
    change(&mut p, A, &[2], &[]);
    p.run(1500);
    let sent = p.take_drawings_with(&["ASCONF +"]);
    assert_drawn(
        &sent,
        &[
            "A -> AUTH, ASCONF +10.2.0.1 -> lost",
            "A -> AUTH, ASCONF +10.2.0.1 -> Z (path 1)",
        ],
    );
    let all: Vec<_> = p
        .sent
        .iter()
        .filter(|q| q.text.contains("ASCONF +"))
        .collect();
    assert_eq!(all[0].bytes[12..], all[1].bytes[12..]);
    assert_eq!(p.path(A, 0).error_count, 1);
    let added = p
        .take_events(A)
        .iter()
        .any(|e| matches!(e, Event::AddressChanged { .. }));
    assert!(added);
}

/// B4: no other path is active, and a new source may reach the peer where the old one
/// does not. Path 1 carries nothing from the old address, and path 0 not from the new one.
#[test]
fn an_unanswered_asconf_is_repeated_on_a_path_that_is_not_active() {
    for wildcard in [Wildcard::Always, Wildcard::Never] {
        let mut c = changing();
        c.asconf.wildcard = wildcard;
        c.hb.enabled = true;
        c.failure.path_max_retrans = 0;
        let mut p = Changing { a: 1, z: 2 }.begin(&c, &changing());
        p.run(4000);
        p.lose(|q| q.from == A && (q.path == 0) == q.text.contains("ASCONF +"));
        p.run(60_000);
        assert_ne!(paths(&mut p, A)[1].1, PathState::Active);
        p.take_events(A);
        change(&mut p, A, &[1], &[]);
        p.run(1500);
        let added = |e: &Event| matches!(e, Event::AddressChanged { .. });
        assert!(p.take_events(A).iter().any(added), "{wildcard:?}");
    }
}

#[test]
fn a_peer_that_never_answers_an_asconf_is_given_up() {
    let (mut p, _) = Changing { a: 1, z: 1 }.up();
    p.lose(|q| q.text.contains("ASCONF"));
    change(&mut p, A, &[1], &[]);
    p.run(1_000_000);
    let why = crate::common::loss(&p.take_events(A));
    assert!(why.contains("could not be reached"), "{why}");
}

/// E2: a repeated ASCONF is answered from memory and not carried out again.
#[test]
fn a_lost_answer_is_repeated_and_nothing_is_done_twice() {
    let (mut p, _) = Changing { a: 1, z: 1 }.up();
    p.lose_once(&["AUTH, ASCONF-ACK"]);
    change(&mut p, A, &[1], &[]);
    p.run(1500);
    let sent = p.take_drawings_with(&["ASCONF"]);
    assert_drawn(
        &sent,
        &[
            "A -> AUTH, ASCONF +10.1.0.1 -> Z",
            "Z -> AUTH, ASCONF-ACK -> lost",
            "A -> AUTH, ASCONF +10.1.0.1 -> Z",
            "Z -> AUTH, ASCONF-ACK -> A",
        ],
    );
    assert_eq!(paths(&mut p, Z).len(), 2);
    let news = p
        .take_events(Z)
        .iter()
        .filter(|e| matches!(e, Event::PathAdded { .. }))
        .count();
    assert_eq!(news, 1);
}

/// E5: beyond the next serial number an ASCONF is discarded; E2: so is an old one whose
/// answer is forgotten.
#[test]
fn serial_numbers_decide() {
    let (mut p, forger) = Changing { a: 2, z: 1 }.forged();
    asconf(&mut p, &forger, 0, 2, |w| {
        w.delete_ip(1, ip(1));
    });
    assert_eq!(paths(&mut p, Z).len(), 2);
    assert_drawn(&p.take_drawings_with(&["ASCONF"]), &[]);
    for serial in [1, 2] {
        asconf(&mut p, &forger, 0, serial, |_| {});
    }
    p.take_drawings();
    asconf(&mut p, &forger, 0, 1, |w| {
        w.delete_ip(1, ip(1));
    });
    assert_drawn(&p.take_drawings_with(&["ASCONF"]), &[]);
    asconf(&mut p, &forger, 0, 2, |_| {});
    assert_drawn(
        &p.take_drawings_with(&["ASCONF"]),
        &["Z -> AUTH, ASCONF-ACK -> lost"],
    );
    assert_eq!(paths(&mut p, Z).len(), 2);
}

/// E6: the ASCONFs of a packet are carried out in order and answered in one packet.
#[test]
fn several_asconfs_of_a_packet_are_answered_together() {
    let (mut p, forger) = Changing { a: 2, z: 1 }.forged();
    let (tag, first) = (p.reader.tags[Z], p.reader.tsn(A, 1).0);
    let bytes = forger.packet(A, tag, |b| {
        b.asconf(first, ip(0), |w| {
            w.delete_ip(1, ip(1));
        });
        b.asconf(first.wrapping_add(1), ip(0), |w| {
            w.add_ip(2, ip(3));
        });
    });
    p.inject_bytes(Z, address(0, A), &bytes);
    let drawn = p.take_drawings_with(&["ASCONF"]);
    assert_drawn(&drawn, &["Z -> AUTH, ASCONF-ACK, ASCONF-ACK -> lost"]);
    let found: Vec<SocketAddr> = paths(&mut p, Z).iter().map(|x| x.0).collect();
    assert_eq!(found, [address(0, A), address(3, A)]);
}

/// The changes of an ASCONF, the answer, and how many addresses there are afterwards.
type Refused = (fn(&mut ParamWriter<'_>), &'static str, usize);

const REFUSED: [Refused; 12] = [
    // F7
    (
        |w| {
            w.delete_ip(1, ip(1));
            w.delete_ip(2, ip(0));
        },
        "ASCONF-ACK: Request to Delete Last Remaining IP Address",
        1,
    ),
    // F8: the source of the packet
    (
        |w| {
            w.delete_ip(1, ip(0));
        },
        "ASCONF-ACK: Request to Delete Source IP Address",
        2,
    ),
    // F11: what follows a refused change is refused as well.
    (
        |w| {
            w.delete_ip(1, ip(0));
            w.add_ip(2, ip(3));
            w.delete_ip(3, ip(1));
        },
        "ASCONF-ACK: Request to Delete Source IP Address: Request to Delete Source IP Address: \
          Request to Delete Source IP Address",
        2,
    ),
    // A7: what succeeds after a failure is reported.
    (
        |w| {
            w.delete_ip(1, ip(0));
            w.set_primary(2, ip(1));
        },
        "ASCONF-ACK: Request to Delete Source IP Address done",
        2,
    ),
    (
        |w| {
            w.add_ip(1, "127.0.0.1".parse().unwrap());
        },
        "ASCONF-ACK: Request Refused, No Authorization",
        2,
    ),
    (
        |w| {
            w.add_ip(1, "224.0.0.1".parse().unwrap());
        },
        "ASCONF-ACK: Request Refused, No Authorization",
        2,
    ),
    // No address of ours reaches that family.
    (
        |w| {
            w.add_ip(1, "2001:db8::1".parse().unwrap());
        },
        "ASCONF-ACK: Operation Refused Due to Resource Shortage",
        2,
    ),
    // Section 5.4
    (
        |w| {
            w.set_primary(1, ip(3));
        },
        "ASCONF-ACK: Unresolvable Address",
        2,
    ),
    // V2: an unknown parameter.
    (
        |w| {
            w.raw(0xC0FF, &[0, 0, 0, 9, 1, 2, 3, 4]);
            w.add_ip(1, ip(3));
        },
        "ASCONF-ACK: Unrecognized Parameters done",
        3,
    ),
    // RFC 9260 section 3.2.1: this type ends the chunk, too, and this one without a report.
    (
        |w| {
            w.raw(0x40FF, &[0, 0, 0, 9]);
            w.add_ip(1, ip(3));
        },
        "ASCONF-ACK: Unrecognized Parameters",
        2,
    ),
    (
        |w| {
            w.raw(0x00FF, &[0, 0, 0, 9]);
            w.add_ip(1, ip(3));
        },
        "ASCONF-ACK",
        2,
    ),
    // A parameter of another chunk says nothing here.
    (
        |w| {
            w.success_indication(9);
            w.add_ip(1, ip(3));
        },
        "ASCONF-ACK",
        3,
    ),
];

/// F7, F8, F9, F11, A7 and the rule for addresses that cannot be paths.
#[test]
fn what_is_refused_and_how() {
    for (at, (write, answer, count)) in REFUSED.into_iter().enumerate() {
        let (mut p, forger) = Changing { a: 2, z: 1 }.forged();
        asconf(&mut p, &forger, 0, 1, write);
        let drawn = p.take_drawings_with(&["ASCONF"]);
        assert_drawn(&drawn, &[&format!("Z -> AUTH, {answer} -> lost")]);
        assert_eq!(paths(&mut p, Z).len(), count, "row {at}");
    }
}

/// Far more changes than there are numbers of paths.
#[test]
fn numbers_of_removed_paths_are_used_again() {
    let (mut p, forger) = Changing { a: 2, z: 1 }.forged();
    for round in 0..20_u32 {
        let new = 1 + round as usize % 3;
        asconf(&mut p, &forger, 0, 2 * round + 1, |w| {
            w.add_ip(1, ip(new));
        });
        p.send_many(Z, 1000, 30);
        p.run(20);
        let gone = if round == 0 { 1 } else { new };
        asconf(&mut p, &forger, 0, 2 * round + 2, |w| {
            w.delete_ip(1, ip(gone));
        });
        p.run(1000);
        assert_eq!(p.take_got(A).len(), 30, "round {round}");
    }
    assert!(
        p.with(Z, |_, e, id| e.paths(id))
            .iter()
            .all(|s| s.path.0 < 8)
    );
}

/// F1: until its addition is acknowledged, an address sends nothing but ASCONF.
#[test]
fn an_address_that_is_being_added_sends_nothing_else() {
    let (mut p, _) = Changing { a: 1, z: 1 }.up();
    p.lose(|q| q.text.contains("ASCONF-ACK"));
    change(&mut p, A, &[1], &[]);
    p.run(500);
    let drawn = p.take_drawings();
    assert!(
        drawn.contains(&"Z -> HEARTBEAT -> A (path 1)".to_owned()),
        "{drawn:?}"
    );
    assert!(
        !drawn.iter().any(|d| d.contains("HEARTBEAT ACK")),
        "{drawn:?}"
    );
    assert_eq!(p.path_state(Z, 1), PathState::Unconfirmed);
    p.heal();
    p.run(5000);
    assert_eq!(p.path_state(Z, 1), PathState::Active);
}

/// F14: no data goes to an added address that has not answered, even if no other is left.
#[test]
fn data_waits_for_the_verification_of_the_only_address() {
    let (mut p, forger) = Changing { a: 1, z: 1 }.forged();
    // The new address does not answer.
    p.lose(|q| unasked(q) || q.from == Z && q.path == 1);
    asconf(&mut p, &forger, 1, 1, |w| {
        w.add_ip(1, ip(1));
        w.delete_ip(2, ip(0));
    });
    p.send_many(Z, 1000, 5);
    p.run(3000);
    let drawn = p.take_drawings();
    let other = |d: &&String| {
        d.starts_with("Z ->") && !d.contains("HEARTBEAT") && !d.contains("ASCONF-ACK")
    };
    assert!(!drawn.iter().any(|d| other(&d)), "{drawn:?}");
    p.run(1_000_000);
    let why = crate::common::loss(&p.take_events(Z));
    assert!(why.contains("could not be reached"), "{why}");
}

/// F4 and section 5.3.1.
#[test]
fn an_abort_to_an_address_that_is_being_deleted_is_ignored() {
    let (mut p, _) = Changing { a: 2, z: 2 }.up();
    p.lose(|q| q.text.contains("ASCONF"));
    change(&mut p, A, &[], &[0]);
    p.inject(A, 0, |b| b.abort(false, |_| {}));
    assert_eq!(p.state(A), "ESTABLISHED");
    p.inject(A, 1, |b| b.abort(false, |_| {}));
    assert_eq!(p.state(A), "CLOSED");
}

/// F0.
#[test]
fn an_answer_to_nothing_ends_the_association() {
    let (mut p, forger) = Changing { a: 1, z: 1 }.up();
    let tag = p.reader.tags[A];
    let old = p.reader.tsn(A, 1).0.wrapping_sub(1);
    let bytes = forger.packet(Z, tag, |b| b.asconf_ack(old, |_| {}));
    p.inject_bytes(A, address(0, Z), &bytes);
    assert_eq!(p.state(A), "ESTABLISHED", "an old one is ignored");
    let bytes = forger.packet(Z, tag, |b| b.asconf_ack(old.wrapping_add(1), |_| {}));
    p.inject_bytes(A, address(0, Z), &bytes);
    assert_eq!(p.state(A), "CLOSED");
    let drawn = p.take_drawings();
    let cause = cause_code::name(cause_code::ILLEGAL_ASCONF_ACK).unwrap();
    assert_drawn(&drawn, &[&format!("A -> ABORT: {cause} -> Z")]);
}

/// A9: a peer that does not know the chunk gets no further ones.
#[test]
fn a_peer_that_reports_asconf_as_unknown_is_not_asked_again() {
    let (mut p, _) = Changing { a: 1, z: 1 }.up();
    p.lose(|q| q.from == A);
    change(&mut p, A, &[1], &[]);
    p.inject(A, 0, |b| {
        b.error(|c| {
            c.unrecognized_chunk_type(&[chunk_type::ASCONF, 0, 0, 4]);
        });
    });
    p.take_drawings();
    change(&mut p, A, &[2], &[]);
    p.run(10_000);
    assert_drawn(&p.take_drawings_with(&["ASCONF"]), &[]);
    let refused = p.take_events(A).into_iter().any(|e| {
        matches!(
            e,
            Event::AddressChangeRefused {
                cause: cause_code::UNRECOGNIZED_CHUNK_TYPE,
                ..
            }
        )
    });
    assert!(refused);
}

/// Section 5.4: the request precedes data; an unconfirmed address becomes the primary when
/// it is confirmed.
#[test]
fn the_peer_is_asked_for_a_primary() {
    let (mut p, _) = Changing { a: 2, z: 2 }.up();
    p.with(A, |now, e, id| e.set_peer_primary(now, id, ip(1)))
        .unwrap();
    p.run(100);
    p.send_many(Z, 1000, 2);
    p.run(100);
    let drawn = p.take_drawings();
    assert_eq!(drawn[0], "A -> AUTH, ASCONF *10.1.0.1 -> Z");
    assert!(
        drawn.contains(&"Z -> DATA 1 -> A (path 1)".to_owned()),
        "{drawn:?}"
    );
    assert!(p.path(Z, 1).primary);

    let (mut p, forger) = Changing { a: 1, z: 1 }.forged();
    asconf(&mut p, &forger, 0, 1, |w| {
        w.add_ip(1, ip(1));
        w.set_primary(2, ip(1));
    });
    assert!(p.path(Z, 0).primary);
    p.run(100);
    // A does not know that address, so it answers as a side without changes would not.
    assert!(!p.path(Z, 1).primary);
    let wrong = p.with(A, |now, e, id| e.set_peer_primary(now, id, ip(3)));
    assert!(
        wrong
            .unwrap_err()
            .to_string()
            .contains("not an address of this side")
    );
}

/// A second card serves a second path as soon as it is there.
#[test]
fn a_new_address_becomes_the_source_of_a_path_that_shared_one() {
    let (mut p, _) = Changing { a: 1, z: 2 }.up();
    assert_eq!(p.path(A, 1).local, address(0, A));
    change(&mut p, A, &[1], &[]);
    p.run(200);
    assert_eq!(p.path(A, 0).local, address(0, A));
    assert_eq!(p.path(A, 1).local, address(1, A));
    p.cut(&[0]);
    p.send_many(A, 1000, 20);
    p.run(10_000);
    assert_eq!(p.take_got(Z).len(), 20);
}

/// Without the peer's support addresses still go, and the last one that is left serves.
#[test]
fn a_peer_without_asconf_takes_a_new_address_for_a_translator() {
    let mut z = plain();
    z.hb.enabled = true;
    let mut p = Changing { a: 1, z: 2 }.begin(&changing(), &z);
    p.run(4000);
    p.send_many(A, 1000, 100);
    p.run(45);
    p.lose(|q| q.from == Z && q.path == 0);
    change(&mut p, A, &[1], &[0]);
    p.run(10_000);
    assert_eq!(p.take_got(Z).len(), 100);
    assert!(!p.take_drawings().iter().any(|d| d.contains("ASCONF")));
}

// A ===NAT=== Z: the new address of A is private, and Z sees another one.
#[test]
fn behind_a_translator_the_wildcard_stands_for_the_source() {
    let mut c = changing();
    c.asconf.wildcard = Wildcard::Always;
    let mut p = Changing { a: 1, z: 2 }.begin(&c, &c);
    p.nat = vec![Binding {
        inside: address(1, A),
        towards: None,
        outside: outside(7, 7007),
    }];
    p.run(4000);
    p.send_many(A, 1000, 100);
    p.run(45);
    p.lose(|q| q.from == Z && q.path == 0);
    p.take_drawings();
    change(&mut p, A, &[1], &[0]);
    p.run(3000);
    let drawn = p.take_drawings_with(&["ASCONF"]);
    assert_eq!(drawn[0], "A -> AUTH, ASCONF +0.0.0.0 -0.0.0.0 -> Z");
    assert_eq!(p.take_got(Z).len(), 100);
    assert_eq!(paths(&mut p, Z), [(outside(7, 7007), PathState::Active)]);
}

/// An address goes while its own ASCONF is under way.
#[test]
fn the_source_of_an_asconf_goes_before_the_answer() {
    let (mut p, _) = Changing { a: 1, z: 1 }.up();
    p.lose_once(&["AUTH, ASCONF +10.1"]);
    change(&mut p, A, &[1], &[]);
    p.run(10);
    change(&mut p, A, &[2], &[0]);
    p.run(5000);
    let drawn = p.take_drawings_with(&["ASCONF"]);
    assert!(drawn.len() >= 3, "{drawn:#?}");
    let found: Vec<SocketAddr> = paths(&mut p, Z).iter().map(|x| x.0).collect();
    assert_eq!(found, [address(1, A), address(2, A)], "{drawn:#?}");
    p.send_many(A, 1000, 20);
    p.run(ms(5000).as_millis() as u64);
    assert_eq!(p.take_got(Z).len(), 20);
}

/// C4: not before the association is established; what waited leaves then.
#[test]
fn a_change_during_set_up_waits_for_its_end() {
    let shape = Changing { a: 1, z: 1 };
    let mut p = shape.pair(&changing(), &changing());
    p.lose_once(&["COOKIE ACK"]);
    shape.connect(&mut p, &changing());
    p.run(50);
    assert_eq!(p.state(A), "COOKIE-ECHOED");
    change(&mut p, A, &[1], &[]);
    p.run(3000);
    let drawn = p.take_drawings_with(&["COOKIE ACK", "ASCONF"]);
    assert_eq!(drawn[1], "Z -> COOKIE ACK -> A");
    assert_eq!(drawn[2], "A -> AUTH, ASCONF +10.1.0.1 -> Z");
    assert_eq!(paths(&mut p, Z).len(), 2);
}

/// The cookie was stale, so that the set-up begins again: the peer is still asked for the primary.
#[test]
fn a_primary_is_asked_for_after_a_set_up_that_began_again() {
    let shape = Changing { a: 2, z: 1 };
    let mut z = changing();
    z.setup.valid_cookie_life = ms(15);
    let mut p = shape.pair(&changing(), &z);
    let mut first = true;
    p.hand(move |q| match q.text.as_str() {
        "COOKIE ECHO" if core::mem::take(&mut first) => Fate::Late(40),
        _ => Fate::Pass,
    });
    shape.connect(&mut p, &changing());
    p.run(30);
    assert_eq!(p.state(A), "COOKIE-ECHOED");
    p.with(A, |now, e, id| e.set_peer_primary(now, id, ip(1)))
        .unwrap();
    p.run(500);
    assert_eq!(p.ends[Z].endpoint_stats().stale_cookies, 1);
    let drawn = p.take_drawings_with(&["-> AUTH, ASCONF "]);
    assert_eq!(drawn, ["A -> AUTH, ASCONF *10.1.0.1 -> Z"]);
}

/// The same at the other side: what changed since its INIT ACK is told behind the COOKIE ACK, as the peer discards what comes
/// before.
#[test]
fn what_changes_before_the_cookie_is_back_is_told_behind_the_cookie_ack() {
    let shape = Changing { a: 1, z: 2 };
    let mut p = shape.pair(&changing(), &changing());
    p.hand(|q| match q.text.as_str() {
        "COOKIE ECHO" => Fate::Late(50),
        _ => Fate::Pass,
    });
    shape.connect(&mut p, &changing());
    p.run(30);
    let now = p.now;
    p.ends[Z]
        .change_local_addresses(now, &[address(2, Z)], &[address(1, Z).ip()])
        .unwrap();
    p.run(300);
    assert_drawn(
        &p.take_drawings_with(&["COOKIE", "ASCONF"]),
        &[
            "A -> COOKIE ECHO -> Z",
            "Z -> COOKIE ACK -> A",
            "Z -> AUTH, ASCONF +10.2.0.2 -10.1.0.2 -> A",
            "A -> AUTH, ASCONF-ACK -> Z",
        ],
    );
}

/// After a restart serial numbers and keys are those of the new set-up.
#[test]
fn a_restarted_peer_changes_addresses_again() {
    let (mut p, _) = Changing { a: 1, z: 1 }.up();
    change(&mut p, A, &[1], &[]);
    p.run(2000);
    p.replace(A, 9, &changing());
    p.ends[A] = endpoint(1, A, 9, &changing());
    Changing { a: 1, z: 1 }.connect(&mut p, &changing());
    p.run(3000);
    assert_eq!(p.state(A), "ESTABLISHED");
    p.take_events(A);
    change(&mut p, A, &[2], &[]);
    p.run(2000);
    let events = p.take_events(A);
    assert!(
        events
            .iter()
            .any(|e| matches!(e, Event::AddressChanged { .. })),
        "{events:?}"
    );
}

#[test]
fn an_endpoint_keeps_an_address_and_takes_no_wildcard() {
    let (mut p, _) = Changing { a: 1, z: 1 }.up();
    let last = p.with(A, |now, e, _| e.remove_local_address(now, ip(0)));
    assert!(last.unwrap_err().to_string().contains("needs an address"));
    let wild = p.with(A, |now, e, _| {
        e.add_local_address(now, "0.0.0.0:0".parse().unwrap())
    });
    assert!(wild.unwrap_err().to_string().contains("wildcard"));
    let many: Vec<SocketAddr> = (1..9).map(|n| address(n, A)).collect();
    let many = p.with(A, |now, e, _| e.change_local_addresses(now, &many, &[]));
    assert!(many.unwrap_err().to_string().contains("at most 8"));
    assert_drawn(&p.take_drawings(), &[]);
}

/// The only address of the peer is new, and it never answers. No data is in flight, so T3-rtx
/// counts nothing: the heartbeats do, also where the way back is sought (`failover.revival`).
#[test]
fn a_peer_whose_only_address_never_answers_is_given_up() {
    let mut config = changing();
    config.failover.revival = Some(byway_core::policy::Revival::default());
    let both = Changing { a: 1, z: 1 };
    let mut p = both.begin(&config, &config);
    p.run(100);
    p.lose(|q| !q.text.contains("ASCONF"));
    p.send_many(A, 1000, 5);
    change(&mut p, Z, &[1], &[0]);
    p.run(15);
    assert_eq!(paths(&mut p, A), [(address(1, Z), PathState::Unconfirmed)]);
    p.take_events(A);
    p.run(30 * 60_000);
    assert_eq!(
        crate::common::loss(&p.take_events(A)),
        "the peer could not be reached on any path (Association.Max.Retrans exceeded)"
    );
}

/// A has IPv4 alone, and is given an address of each family: it uses what it reaches. When its network changes for one of
/// IPv6 alone, the other address becomes a path, and the transfer goes on there.
#[test]
fn an_address_of_a_family_that_this_side_lacks_becomes_a_path_when_the_family_comes() {
    let c = changing();
    let two = |side| [address(0, side), address_of_ipv6(1, side)];
    let end = |local: &[SocketAddr], seed| {
        Endpoint::new(EndpointConfig {
            accepted: c.clone(),
            ..EndpointConfig::new(PORTS[usize::from(seed == 2)], local.to_vec(), [seed; 32])
        })
        .unwrap()
    };
    // The address that cannot be reached comes first: as in a name, whose order nobody chose.
    for given in [two(Z), [two(Z)[1], two(Z)[0]]] {
        let mut p = Pair::of([end(&two(A)[..1], 1), end(&two(Z), 2)], 4);
        p.connect_to(A, &given, &c);
        p.run(2000);
        assert_eq!(p.state(A), "ESTABLISHED");
        let remotes = |p: &mut Pair| paths(p, A).iter().map(|p| p.0.ip()).collect::<Vec<_>>();
        assert_eq!(remotes(&mut p), [two(Z)[0].ip()]);
        p.send_many(A, 100, 3);
        p.run(500);
        p.with(A, |now, e, _| {
            e.change_local_addresses(now, &two(A)[1..], &[])
        })
        .unwrap();
        p.run(2000);
        p.with(A, |now, e, _| {
            e.change_local_addresses(now, &[], &[two(A)[0].ip()])
        })
        .unwrap();
        p.run(2000);
        assert_eq!(remotes(&mut p), [two(Z)[1].ip()]);
        p.send_many(A, 100, 3);
        p.run(500);
        assert_eq!(p.got[Z].len(), 6);
    }
}

/// RFC 9260 section 6.4: a report goes back where its cause came from, unless the peer deletes that address before it has
/// left. The same is true of SHUTDOWN ACK.
#[test]
fn what_waits_for_a_deleted_address_leaves_to_another_one() {
    let (mut p, forger) = Changing { a: 2, z: 1 }.forged();
    let (tag, serial) = (p.reader.tags[Z], p.reader.tsn(A, 1).0);
    let unknown = crate::common::packet(A, tag, |b| b.raw(0xC7, 0, &[1, 2, 3, 4]));
    let deletion = forger.packet(A, tag, |b| {
        b.asconf(serial, ip(0), |w| {
            w.delete_ip(1, ip(1));
        })
    });
    let (now, to) = (p.now, address(0, Z));
    let heartbeat = crate::common::packet(A, tag, |b| b.heartbeat(&[1]));
    p.ends[Z].handle_datagram(now, address(1, A), to, &unknown);
    p.ends[Z].handle_datagram(now, address(1, A), to, &heartbeat);
    p.ends[Z].handle_datagram(now, address(0, A), to, &deletion);
    p.pump(Z);
    let drawn = p.take_drawings();
    // The answer to the HEARTBEAT would say nothing from elsewhere.
    assert_drawn(
        &drawn,
        &[
            "Z -> AUTH, ASCONF-ACK -> lost",
            "Z -> ERROR: Unrecognized Chunk Type -> A",
        ],
    );

    let (mut p, forger) = Changing { a: 2, z: 1 }.forged();
    p.lose(|q| unasked(q) || q.text.contains("DATA"));
    p.send_many(Z, 1000, 1);
    let nothing = p.reader.tsn(Z, 0);
    p.inject(Z, 1, |b| b.shutdown(nothing));
    asconf(&mut p, &forger, 0, 1, |w| {
        w.delete_ip(1, ip(1));
    });
    assert_eq!(p.state(Z), "SHUTDOWN-RECEIVED");
    p.take_drawings();
    let first = p.reader.tsn(Z, 1);
    p.inject(Z, 0, |b| b.sack(first, 10_000, &[], &[]));
    assert_drawn(&p.take_drawings(), &["Z -> SHUTDOWN ACK -> A"]);
}

/// Z has IPv4 alone. Without ASCONF nobody can be told that the address is gone, and the other one does not lead there.
#[test]
fn an_association_without_a_source_of_the_peers_family_ends() {
    let local = vec![address(0, A), address_of_ipv6(0, A)];
    let mut config = EndpointConfig::new(PORTS[A], local, [1; 32]);
    config.accepted = plain();
    let ends = [Endpoint::new(config).unwrap(), endpoint(1, Z, 2, &plain())];
    let mut p = Pair::of(ends, 1);
    p.connect(A, &plain());
    p.run(1000);
    p.take_events(A);
    change(&mut p, A, &[], &[0]);
    let why = "no address of this side reaches the peer any more";
    assert_eq!(crate::common::loss(&p.take_events(A)), why);
}
