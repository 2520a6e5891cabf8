//! A side behind translators, and a peer that finds associations by addresses, as Linux and usrsctp do: it answers what comes
//! from a source that it does not know by an ABORT with the T bit (RFC 9260 section 8.4). Numbers of rules are those of RFC 5061.

use crate::address_changes::{Changing, change, changing, paths};
use crate::common::{A, Binding, Pair, Passing, Z, address, assert_drawn, ms, packet, plain};
use byway_core::config::Wildcard;
use byway_core::{AddressChange, Config, Event, PathId, PathState, PathStats, Routes};
use byway_wire::{Chunk, Packet};
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// What the peer sees of this address of A. It is private, too: so a peer of this code takes the address by name as Linux
/// does, whatever the scopes are.
fn outside(n: usize) -> SocketAddr {
    let ip: IpAddr = Ipv4Addr::new(10, 77, 0, n as u8 + 1).into();
    SocketAddr::new(ip, 4000 + n as u16)
}

fn behind_translators(p: &mut Pair) {
    let bind = |n| Binding {
        inside: address(n, A),
        towards: None,
        outside: outside(n),
    };
    p.nat = vec![bind(0), bind(1)];
}

/// The Address Parameter of an ASCONF (section 4.1.1).
fn address_parameter(q: &Passing) -> Option<IpAddr> {
    let packet = Packet::parse(&q.bytes).unwrap();
    packet.chunks().find_map(|c| match c.unwrap().parse() {
        Ok(Chunk::Asconf(asconf)) => Some(asconf.address),
        _ => None,
    })
}

/// How Z finds an association.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Finds {
    /// By the source, or the Address Parameter of an ASCONF (D1, D2): Linux.
    ByAddress,
    /// The same; where that parameter is the wildcard address, by the tag (section 4.1.1): usrsctp.
    ByTagOfWildcard,
}

/// What Z knows, and the packets of A for which it found nothing.
#[derive(Default)]
struct Host {
    known: BTreeSet<IpAddr>,
    unknown: Vec<(SocketAddr, SocketAddr)>,
}

/// Z finds associations in this way from now on.
fn host(p: &mut Pair, finds: Finds) -> Rc<RefCell<Host>> {
    let host = Rc::new(RefCell::new(Host::default()));
    let of_hand = host.clone();
    p.lose(move |q| {
        let mut host = of_hand.borrow_mut();
        let found = q.from == Z
            || q.text.starts_with("INIT")
            || q.text.starts_with("COOKIE ECHO")
            || host.known.contains(&q.source.ip())
            || address_parameter(q).is_some_and(|a| {
                host.known.contains(&a) || a.is_unspecified() && finds == Finds::ByTagOfWildcard
            });
        if !found {
            host.unknown.push((q.source, q.destination));
        }
        !found
    });
    host
}

/// Runs for so many milliseconds; Z answers what it does not know.
fn run(p: &mut Pair, host: &Rc<RefCell<Host>>, millis: usize) {
    for _ in 0..millis {
        if p.ids[Z].is_some() {
            let known = paths(p, Z).into_iter().map(|(remote, _)| remote.ip());
            host.borrow_mut().known.extend(known);
        }
        p.run(1);
        let unknown = core::mem::take(&mut host.borrow_mut().unknown);
        for (source, destination) in unknown {
            let own = p.nat.iter().find(|b| b.outside == source).unwrap().inside;
            let bytes = packet(Z, p.reader.tags[Z], |b| b.abort(true, |_| {}));
            let now = p.now;
            p.ends[A].handle_datagram(now, destination, own, &bytes);
            p.pump(A);
        }
    }
}

fn wild() -> Config {
    let mut c = changing();
    c.asconf.wildcard = Wildcard::Always;
    c
}

/// A has one address, and Z two; the second card of A comes later.
fn one_card(finds: Finds) -> (Pair, Rc<RefCell<Host>>) {
    let sides = Changing { a: 1, z: 2 };
    let mut p = sides.pair(&wild(), &wild());
    behind_translators(&mut p);
    p.ends[A].set_routes(Box::new(OwnCards));
    let host = host(&mut p, finds);
    sides.connect(&mut p, &wild());
    run(&mut p, &host, 1000);
    p.take_drawings();
    p.take_events(A);
    p.sent.clear();
    (p, host)
}

/// The kernel sends to each address of the peer by the card of the same number, whatever the source is.
struct OwnCards;

impl Routes for OwnCards {
    fn source(&mut self, local: &[SocketAddr], remote: IpAddr) -> Option<usize> {
        let own = |l: &SocketAddr| self.leads_by_own_card(*l, remote);
        let own = local.iter().position(own);
        own.or_else(|| (!local.is_empty()).then_some(0))
    }

    fn leads_by_own_card(&mut self, local: SocketAddr, remote: IpAddr) -> bool {
        (0..8).any(|n| local == address(n, A) && remote == address(n, Z).ip())
    }
}

/// The first card is gone, and with it the way to the peer's first address.
struct SecondCard;

impl Routes for SecondCard {
    fn source(&mut self, local: &[SocketAddr], _: IpAddr) -> Option<usize> {
        (!local.is_empty()).then_some(0)
    }

    fn leads(&mut self, local: SocketAddr, remote: IpAddr) -> bool {
        (local, remote) == (address(1, A), address(1, Z).ip())
    }
}

fn added(p: &mut Pair) -> bool {
    let what = AddressChange::Added(address(1, A));
    p.take_events(A).contains(&Event::AddressChanged { what })
}

/// The new card's translator gives its packets another address: only a packet of that card can tell it (section 4.2.1). The Address
/// Parameter names nothing that the peer was never told.
#[test]
fn the_wildcard_leaves_by_the_card_of_the_new_address() {
    let (mut p, host) = one_card(Finds::ByTagOfWildcard);
    change(&mut p, A, &[1], &[]);
    run(&mut p, &host, 100);
    assert_drawn(
        &p.take_drawings_with(&["ASCONF"]),
        &[
            "A -> AUTH, ASCONF +0.0.0.0 -> Z (path 1)",
            "Z -> AUTH, ASCONF-ACK -> A (path 1)",
        ],
    );
    let first = p.sent.iter().find_map(address_parameter).unwrap();
    assert!(first.is_unspecified(), "{first}");
    assert!(added(&mut p));
    // The old network goes: section 4.2.2.
    p.ends[A].set_routes(Box::new(SecondCard));
    change(&mut p, A, &[], &[0]);
    p.send_many(A, 1000, 20);
    p.send_many(Z, 1000, 20);
    run(&mut p, &host, 3000);
    let drawn = p.take_drawings_with(&["ASCONF -"]);
    assert_eq!(drawn, ["A -> AUTH, ASCONF -0.0.0.0 -> Z (path 1)"]);
    assert_eq!((p.take_got(A).len(), p.take_got(Z).len()), (20, 20));
    assert_eq!(paths(&mut p, Z), [(outside(1), PathState::Active)]);
}

/// Linux looks for the association by the addresses alone. So it is told the new address by name first, from the source that it
/// knows. What it had not found is answered from there, and adds nothing.
#[test]
fn a_peer_that_finds_by_addresses_alone_is_told_a_name_first() {
    let (mut p, host) = one_card(Finds::ByAddress);
    change(&mut p, A, &[1], &[]);
    run(&mut p, &host, 200);
    assert_drawn(
        &p.take_drawings_with(&["ASCONF"]),
        &[
            "A -> AUTH, ASCONF +0.0.0.0 -> lost (path 1)",
            "A -> AUTH, ASCONF +0.0.0.0 -> Z",
            "Z -> AUTH, ASCONF-ACK -> A",
            "A -> AUTH, ASCONF +10.1.0.1 -> Z",
            "Z -> AUTH, ASCONF-ACK -> A",
            "A -> AUTH, ASCONF +0.0.0.0 -> Z (path 1)",
            "Z -> AUTH, ASCONF-ACK -> A (path 1)",
        ],
    );
    let by = p.sent.iter().rev().find_map(address_parameter).unwrap();
    assert_eq!(by, address(1, A).ip());
    assert!(added(&mut p));
    let known: Vec<SocketAddr> = paths(&mut p, Z).iter().map(|x| x.0).collect();
    assert!(known.contains(&outside(1)), "{known:?}");
    p.ends[A].set_routes(Box::new(SecondCard));
    change(&mut p, A, &[], &[0]);
    p.send_many(A, 1000, 20);
    p.send_many(Z, 1000, 20);
    run(&mut p, &host, 3000);
    assert_eq!((p.take_got(A).len(), p.take_got(Z).len()), (20, 20));
    assert_eq!(paths(&mut p, Z), [(outside(1), PathState::Active)]);
}

/// A peer that refuses the name, too, keeps what it had: nothing is sent from the address, and the association goes on.
#[test]
fn a_peer_that_takes_no_name_refuses_the_address() {
    let (mut p, host) = one_card(Finds::ByAddress);
    host.borrow_mut().known.clear();
    p.lose({
        let host = host.clone();
        move |q| {
            let lost = q.from == A && q.source == outside(1);
            if lost {
                host.borrow_mut().unknown.push((q.source, q.destination));
            }
            lost
        }
    });
    change(&mut p, A, &[1], &[]);
    p.send_many(A, 1000, 20);
    run(&mut p, &host, 5000);
    let drawn = p.take_drawings_with(&["-> AUTH, ASCONF +"]);
    assert_eq!(drawn.len(), 5, "{drawn:#?}");
    assert!(
        p.take_events(A)
            .iter()
            .any(|e| matches!(e, Event::AddressChangeRefused { what: AddressChange::Added(a), .. } if *a == address(1, A)))
    );
    let others = |q: &&Passing| q.source == outside(1) && !q.text.contains("ASCONF");
    assert_eq!(p.sent.iter().filter(others).count(), 0);
    assert_eq!(p.take_got(Z).len(), 20);
}

/// The card is there, and its route not yet: from the card of the first address nothing new would be added. Another change
/// does not wait for it.
#[test]
fn the_wildcard_waits_for_a_way_of_its_own() {
    struct NoWayYet;
    impl Routes for NoWayYet {
        fn source(&mut self, local: &[SocketAddr], _: IpAddr) -> Option<usize> {
            (!local.is_empty()).then_some(0)
        }
        fn leads_by_own_card(&mut self, local: SocketAddr, _: IpAddr) -> bool {
            local == address(0, A)
        }
    }
    let (mut p, host) = one_card(Finds::ByTagOfWildcard);
    p.ends[A].set_routes(Box::new(NoWayYet));
    change(&mut p, A, &[1], &[]);
    p.with(A, |now, e, id| {
        e.set_peer_primary(now, id, address(0, A).ip())
    })
    .unwrap();
    run(&mut p, &host, 2000);
    let drawn = p.take_drawings_with(&["-> AUTH, ASCONF "]);
    assert_eq!(drawn, ["A -> AUTH, ASCONF *0.0.0.0 -> Z"]);
    p.ends[A].set_routes(Box::new(OwnCards));
    let now = p.now;
    p.ends[A].forget_routes();
    p.ends[A].ask_routes_again(now, 0, 8);
    p.pump(A);
    run(&mut p, &host, 100);
    let drawn = p.take_drawings_with(&["-> AUTH, ASCONF "]);
    assert_eq!(drawn, ["A -> AUTH, ASCONF +0.0.0.0 -> Z (path 1)"]);
}

/// What waits for the way of an address waits with it.
#[test]
fn a_request_for_a_primary_waits_for_the_addition_of_its_address() {
    struct NoWay;
    impl Routes for NoWay {
        fn source(&mut self, local: &[SocketAddr], _: IpAddr) -> Option<usize> {
            (!local.is_empty()).then_some(0)
        }
        fn leads_by_own_card(&mut self, local: SocketAddr, _: IpAddr) -> bool {
            local == address(0, A)
        }
    }
    let (mut p, host) = one_card(Finds::ByTagOfWildcard);
    p.ends[A].set_routes(Box::new(NoWay));
    change(&mut p, A, &[1], &[]);
    p.with(A, |now, e, id| {
        e.set_peer_primary(now, id, address(1, A).ip())
    })
    .unwrap();
    run(&mut p, &host, 2000);
    assert_eq!(p.take_drawings_with(&["ASCONF"]).len(), 0);
    p.ends[A].set_routes(Box::new(OwnCards));
    let now = p.now;
    p.ends[A].ask_routes_again(now, 0, 8);
    p.pump(A);
    run(&mut p, &host, 500);
    let drawn = p.take_drawings_with(&["-> AUTH, ASCONF "]);
    assert_eq!(drawn, ["A -> AUTH, ASCONF +0.0.0.0 *0.0.0.0 -> Z (path 1)"]);
}

/// Section 4.2.4: the wildcard stands for the source, so the request leaves from there.
#[test]
fn a_request_for_a_primary_by_the_wildcard_leaves_from_that_address() {
    let (mut p, host) = one_card(Finds::ByTagOfWildcard);
    change(&mut p, A, &[1], &[]);
    run(&mut p, &host, 500);
    p.take_drawings();
    p.with(A, |now, e, id| {
        e.set_peer_primary(now, id, address(1, A).ip())
    })
    .unwrap();
    run(&mut p, &host, 100);
    let drawn = p.take_drawings_with(&["-> AUTH, ASCONF "]);
    assert_eq!(drawn, ["A -> AUTH, ASCONF *0.0.0.0 -> Z (path 1)"]);
    let primary = p.with(Z, |_, e, id| {
        let all = e.paths(id).into_iter();
        all.filter(|s| s.primary)
            .map(|s| s.remote)
            .collect::<Vec<_>>()
    });
    assert_eq!(primary, [outside(1)]);
}

/// Two cards from the start, and each has a translator. The set-up knows the first one.
fn two_cards(config: &Config, finds: Finds) -> (Pair, Rc<RefCell<Host>>) {
    let sides = Changing { a: 2, z: 2 };
    let mut p = sides.pair(config, config);
    behind_translators(&mut p);
    p.ends[A].set_routes(Box::new(OwnCards));
    let host = host(&mut p, finds);
    sides.connect(&mut p, config);
    run(&mut p, &host, 30);
    (p, host)
}

fn data_from(p: &Pair, source: SocketAddr) -> usize {
    let data = |q: &&Passing| q.source == source && q.text.contains("DATA");
    p.sent.iter().filter(data).count()
}

/// Heartbeats at once; the peer hears those of the second card from a source that nobody told.
fn beating(mut config: Config) -> Config {
    config.hb.enabled = true;
    config.hb.at_establishment = true;
    config.hb.interval = ms(500);
    config
}

/// The user has named both addresses of the peer, which are confirmed thereby (RFC 9260 section 5.4). That says nothing
/// of the source: until the peer has answered it, no data leaves from there, not even when the first path is silent.
#[test]
fn no_data_leaves_from_a_source_that_the_peer_does_not_know() {
    let (mut p, host) = two_cards(&beating(plain()), Finds::ByAddress);
    run(&mut p, &host, 1000);
    assert_eq!(p.path_state(A, 1), PathState::Unconfirmed);
    let first = host.clone();
    p.lose(move |q| {
        let unknown = q.from == A && q.source == outside(1);
        if unknown {
            first.borrow_mut().unknown.push((q.source, q.destination));
        }
        unknown || q.path == 0
    });
    p.send_many(A, 1000, 20);
    run(&mut p, &host, 5000);
    assert_eq!(data_from(&p, outside(1)), 0);
    p.lose(|q| q.from == A && q.source == outside(1));
    p.run(20_000);
    assert_eq!((p.state(A), p.take_got(Z).len()), ("ESTABLISHED", 20));
}

/// The second card's way is the shorter one, so the denial is there before the first card has any answer.
#[test]
fn a_denial_before_the_first_answer_ends_nothing() {
    let sides = Changing { a: 2, z: 2 };
    let config = beating(plain());
    let mut p = sides.pair(&config, &config);
    behind_translators(&mut p);
    p.ends[A].set_routes(Box::new(OwnCards));
    p.delay_ms = [100, 5, 10, 10];
    let host = host(&mut p, Finds::ByAddress);
    sides.connect(&mut p, &config);
    // Two round trips of 200 ms set it up, and the denial comes at once.
    run(&mut p, &host, 450);
    assert_eq!(p.state(A), "ESTABLISHED");
    assert_eq!(p.path_state(A, 1), PathState::Unconfirmed);
    p.send_many(A, 1000, 20);
    run(&mut p, &host, 10_000);
    assert_eq!((p.state(A), p.take_got(Z).len()), ("ESTABLISHED", 20));
}

/// The control of the tests above: a peer that says nothing leaves the address confirmed, and data tries it.
#[test]
fn data_may_leave_from_a_source_that_nobody_denied() {
    let (mut p, _) = two_cards(&plain(), Finds::ByAddress);
    assert_eq!(p.path_state(A, 1), PathState::Active);
    p.cut(&[0, 1]);
    p.send_many(A, 1000, 20);
    p.run(5000);
    assert!(data_from(&p, outside(1)) > 0);
}

/// With ASCONF the peer is told of the second source, and the path is of use.
#[test]
fn a_second_uplink_is_told_of_when_the_peer_denies_it() {
    for finds in [Finds::ByAddress, Finds::ByTagOfWildcard] {
        let (mut p, host) = two_cards(&beating(changing()), finds);
        run(&mut p, &host, 2000);
        let known: Vec<SocketAddr> = paths(&mut p, Z).iter().map(|x| x.0).collect();
        assert!(known.contains(&outside(1)), "{known:?}");
        assert_eq!(p.path_state(A, 1), PathState::Active);
        let told = |q: &Passing| q.from == Z && q.text.contains("ASCONF-ACK") && q.path == 1;
        let at = p.sent.iter().position(told).unwrap();
        let early = |q: &&Passing| q.source == outside(1) && q.text.contains("DATA");
        assert_eq!(p.sent[..at].iter().filter(early).count(), 0);
        p.cut(&[0]);
        p.send_many(A, 1000, 20);
        p.send_many(Z, 1000, 20);
        p.run(20_000);
        assert_eq!((p.take_got(A).len(), p.take_got(Z).len()), (20, 20));
    }
}

/// The second card of A comes, and nothing that leaves from there arrives. So many milliseconds later.
fn silent_card(millis: usize) -> (Pair, Rc<RefCell<Host>>) {
    let (mut p, host) = one_card(Finds::ByTagOfWildcard);
    p.lose(|q| q.from == A && q.source == outside(1));
    change(&mut p, A, &[1], &[]);
    run(&mut p, &host, millis);
    (p, host)
}

/// A card that leads nowhere: no answer comes, not even an ABORT. The association has nothing to do with it, and is not idle for
/// heartbeats. The serial number is answered by another way, so that other changes go on, and the address is told of again.
#[test]
fn a_card_that_leads_nowhere_costs_no_association_and_is_told_of_later() {
    let (mut p, host) = silent_card(300_000);
    assert_eq!(p.state(A), "ESTABLISHED");
    assert!(!added(&mut p));
    let of_data = p.path(A, 0);
    assert_eq!(of_data.error_count, 0);
    p.with(A, |now, e, id| {
        e.set_peer_primary(now, id, address(0, A).ip())
    })
    .unwrap();
    run(&mut p, &host, 200_000);
    let what = AddressChange::PrimaryOfPeer(address(0, A).ip());
    let events = p.take_events(A);
    assert!(
        events.contains(&Event::AddressChanged { what }),
        "{events:?}"
    );
    // Each time for longer: not more than one packet in ten seconds by then.
    let before = p.take_drawings_with(&["ASCONF +"]).len();
    run(&mut p, &host, 300_000);
    let drawn = p.take_drawings_with(&["ASCONF +"]);
    assert!(drawn.len() <= 30, "{before} before, then {drawn:#?}");
    // Now it leads to the peer.
    p.heal();
    run(&mut p, &host, 130_000);
    assert!(added(&mut p));
}

/// The first ASCONFs from the new card are lost, and the old card is dead by then: it leaves from both in turn.
#[test]
fn an_asconf_that_was_lost_leaves_from_the_new_card_again_when_the_old_one_is_dead() {
    let (mut p, host) = one_card(Finds::ByTagOfWildcard);
    let mut left = 4;
    p.lose(move |q| {
        let new = q.source == outside(1) || q.destination == outside(1);
        if q.from == A && new && left > 0 {
            left -= 1;
            return true;
        }
        // From the old card nothing passes.
        q.from == A && !new
    });
    change(&mut p, A, &[1], &[]);
    run(&mut p, &host, 60_000);
    assert!(added(&mut p));
    assert_eq!(p.state(A), "ESTABLISHED");
}

/// Both paths have answered heartbeats.
fn known(sides: Changing, config: Config) -> Pair {
    let mut config = beating(config);
    config.hb.interval = ms(10_000);
    let mut p = sides.pair(&config, &config);
    sides.connect(&mut p, &config);
    p.run(1000);
    p.take_drawings();
    p.take_events(A);
    p
}

/// Z denies what comes to this address of it.
fn deny(p: &mut Pair, path: usize) {
    let tag = p.reader.tags[Z];
    let denial = packet(Z, tag, |b| b.abort(true, |_| {}));
    p.inject_bytes(A, address(path, Z), &denial);
}

/// Z denies what comes to its second address, which it has deleted and has not told of yet: usrsctp.
#[test]
fn a_peer_that_denies_one_address_keeps_the_association_by_the_others() {
    let mut p = known(Changing { a: 2, z: 2 }, changing());
    assert_eq!(p.path_state(A, 1), PathState::Active);
    deny(&mut p, 1);
    assert_eq!(p.path_state(A, 1), PathState::Unconfirmed);
    // What was in flight is denied, too.
    deny(&mut p, 1);
    p.run(500);
    assert_drawn(
        &p.take_drawings(),
        &[
            "A -> HEARTBEAT -> Z",
            "A -> HEARTBEAT -> Z (path 1)",
            "Z -> HEARTBEAT ACK -> A",
            "Z -> HEARTBEAT ACK -> A (path 1)",
        ],
    );
    // The ABORT was forged, or the address is back.
    let states = (p.state(A), p.path_state(A, 1));
    assert_eq!(states, ("ESTABLISHED", PathState::Active));
    p.assert_carries_data();
}

/// Which paths are the primary and that of new data.
fn roles(p: &mut Pair) -> (Vec<usize>, Vec<usize>) {
    p.with(A, |_, e, id| {
        let all = e.paths(id);
        let which = |role: fn(&PathStats) -> bool| {
            let all = all.iter().enumerate();
            all.filter(|(_, s)| role(s)).map(|(n, _)| n).collect()
        };
        (which(|s| s.primary), which(|s| s.in_use))
    })
}

/// The user or the peer has chosen the primary, and a single packet that anybody may have forged does not choose another one (RFC
/// 9260 section 6.4): data leaves it, and is back when the address has answered a heartbeat.
#[test]
fn a_denial_moves_the_data_from_the_primary_and_not_the_primary() {
    for (chosen, by_peer) in [(0, false), (1, false), (1, true)] {
        let mut p = known(Changing { a: 2, z: 2 }, changing());
        if by_peer {
            p.with(Z, |now, e, id| {
                e.set_peer_primary(now, id, address(chosen, Z).ip())
            })
            .unwrap();
            p.run(100);
        } else {
            let path = PathId(chosen as u8);
            p.with(A, |now, e, id| e.set_primary(now, id, path))
                .unwrap();
        }
        let row = format!("primary {chosen}, by the peer: {by_peer}");
        assert_eq!(roles(&mut p), (vec![chosen], vec![chosen]), "{row}");
        p.take_events(A);
        deny(&mut p, chosen);
        assert_eq!(roles(&mut p), (vec![chosen], vec![1 - chosen]), "{row}");
        p.send_many(A, 1000, 5);
        p.run(500);
        assert_eq!(roles(&mut p), (vec![chosen], vec![chosen]), "{row}");
        let moved = |e: &Event| matches!(e, Event::PrimaryChanged { .. });
        assert!(!p.take_events(A).iter().any(moved), "{row}");
        assert_eq!(p.take_got(Z).len(), 5, "{row}");
    }
}

/// What stays denied is no path of new data, and the peer that has deleted the address says so in the end.
#[test]
fn a_denied_primary_takes_no_data_until_it_answers_and_goes_when_it_is_deleted() {
    let mut p = known(Changing { a: 2, z: 2 }, changing());
    p.lose(|q| q.path == 0);
    deny(&mut p, 0);
    p.send_many(A, 1000, 20);
    p.run(5000);
    assert_eq!(roles(&mut p), (vec![0], vec![1]));
    let data = |q: &&Passing| q.path == 0 && q.text.contains("DATA");
    assert_eq!(p.sent.iter().filter(data).count(), 0);
    assert_eq!(p.take_got(Z).len(), 20);
    change(&mut p, Z, &[], &[0]);
    p.run(5000);
    let left = p.with(A, |_, e, id| {
        let all = e.paths(id).into_iter();
        all.map(|s| (s.remote, s.primary)).collect::<Vec<_>>()
    });
    assert_eq!(left, [(address(1, Z), true)]);
}

/// The controls: a peer that knows nothing says so at each address, one with a single address once, and one that cannot change
/// its addresses has deleted none.
#[test]
fn a_peer_that_denies_all_addresses_has_lost_the_association() {
    let two = Changing { a: 2, z: 2 };
    let mut p = known(two, changing());
    p.lose(|q| q.from == A);
    deny(&mut p, 1);
    assert_eq!(p.state(A), "ESTABLISHED");
    deny(&mut p, 0);
    assert_ne!(p.state(A), "ESTABLISHED");
    let one = Changing { a: 1, z: 1 };
    let mut fixed = plain();
    (fixed.asconf.enabled, fixed.auth.enabled) = (false, false);
    for (sides, config) in [(one, changing()), (two, fixed)] {
        let mut p = known(sides, config);
        deny(&mut p, sides.z - 1);
        assert_ne!(p.state(A), "ESTABLISHED");
    }
}

/// The peer was told a name, and none of its heartbeats comes to the new address. Then the first card goes.
fn unasked() -> (Pair, Rc<RefCell<Host>>) {
    let (mut p, host) = one_card(Finds::ByAddress);
    let seen = host.clone();
    p.lose(move |q| {
        // As the host above, and no heartbeat of it comes.
        let found = q.from == Z
            || seen.borrow().known.contains(&q.source.ip())
            || address_parameter(q).is_some_and(|a| seen.borrow().known.contains(&a));
        if !found {
            seen.borrow_mut().unknown.push((q.source, q.destination));
        }
        !found || q.from == Z && q.text == "HEARTBEAT"
    });
    change(&mut p, A, &[1], &[]);
    run(&mut p, &host, 200);
    assert!(added(&mut p));
    p.ends[A].set_routes(Box::new(SecondCard));
    change(&mut p, A, &[], &[0]);
    (p, host)
}

/// Linux hangs if a deletion leaves it several addresses that are all unconfirmed, as a name is behind a translator. So the
/// deletion waits until the peer has asked the new address.
#[test]
fn a_peer_that_was_told_a_name_deletes_nothing_before_it_has_asked_the_new_address() {
    let (mut p, host) = unasked();
    run(&mut p, &host, 4000);
    assert_eq!(p.take_drawings_with(&["ASCONF -"]), [""; 0]);
    p.heal();
    run(&mut p, &host, 60_000);
    let drawn = p.take_drawings_with(&["Z -> HEARTBEAT -> A (path 1)", "ASCONF -"]);
    let deletes = drawn.iter().position(|d| d.contains("ASCONF -0.0.0.0"));
    assert!(deletes.is_some_and(|at| at > 0), "{drawn:#?}");
    assert_eq!(paths(&mut p, Z), [(outside(1), PathState::Active)]);
}

/// It does not wait for ever.
#[test]
fn a_deletion_that_the_peer_would_not_survive_is_refused_in_the_end() {
    let (mut p, host) = unasked();
    run(&mut p, &host, 70_000);
    assert_eq!(p.take_drawings_with(&["ASCONF -"]), [""; 0]);
    let what = AddressChange::Removed(address(0, A));
    let refused =
        |e: &Event| matches!(e, Event::AddressChangeRefused { what: w, .. } if *w == what);
    assert!(p.take_events(A).iter().any(refused));
    assert_eq!(p.state(A), "ESTABLISHED");
}

/// The third card has no way to the peer, and its addition waits for one. The second card was silent, and is told of all the same.
#[test]
fn an_addition_that_waits_for_a_way_keeps_no_silent_one_back() {
    let (mut p, host) = silent_card(20_000);
    change(&mut p, A, &[2], &[]);
    run(&mut p, &host, 20_000);
    assert!(!added(&mut p));
    p.heal();
    run(&mut p, &host, 130_000);
    assert!(added(&mut p));
}

/// What was in flight to an address when the peer said that it is gone is denied there. Both cards of A stay.
#[test]
fn a_late_denial_from_a_deleted_address_takes_none_of_ours_away() {
    let mut p = known(Changing { a: 2, z: 2 }, changing());
    change(&mut p, Z, &[], &[1]);
    p.run(1000);
    assert_eq!(paths(&mut p, A).len(), 1);
    p.take_drawings();
    deny(&mut p, 1);
    p.run(3000);
    assert_eq!(p.take_drawings_with(&["A -> AUTH, ASCONF"]), [""; 0]);
    assert_eq!(p.state(A), "ESTABLISHED");
}

/// A card behind a translator goes, and comes back behind another one: the peer has forgotten its name by then.
#[test]
fn a_card_that_was_told_by_name_comes_back() {
    let (mut p, host) = one_card(Finds::ByAddress);
    change(&mut p, A, &[1], &[]);
    run(&mut p, &host, 3000);
    assert!(added(&mut p));
    change(&mut p, A, &[], &[1]);
    run(&mut p, &host, 3000);
    host.borrow_mut().known.remove(&address(1, A).ip());
    p.nat[1].outside = outside(2);
    change(&mut p, A, &[1], &[]);
    run(&mut p, &host, 3000);
    assert!(added(&mut p));
    let known: Vec<SocketAddr> = paths(&mut p, Z).iter().map(|x| x.0).collect();
    assert!(known.contains(&outside(2)), "{known:?}");
}

/// The peer could learn the second source from the wildcard alone, which the user forbids: it is told nothing, and no data leaves
/// from there.
#[test]
fn a_denied_source_is_not_told_of_where_the_wildcard_is_forbidden() {
    let mut config = beating(changing());
    config.asconf.wildcard = Wildcard::Never;
    let (mut p, host) = two_cards(&config, Finds::ByAddress);
    run(&mut p, &host, 2000);
    assert_eq!(p.take_drawings_with(&["ASCONF"]), [""; 0]);
    assert_eq!(p.path_state(A, 1), PathState::Unconfirmed);
    p.send_many(A, 1000, 20);
    run(&mut p, &host, 2000);
    assert_eq!((p.state(A), data_from(&p, outside(1))), ("ESTABLISHED", 0));
    assert_eq!(p.take_got(Z).len(), 20);
}
