//! Restarts and old cookies (RFC 9260 sections 5.2.2 and 5.2.4, table 12).

use crate::address_changes::{Changing, change, changing, paths};
use crate::common::stranger::{cookie_echo as echo_of_stranger, data, init};
use crate::common::{
    A, Fate, PORTS, Pair, Z, address, assert_drawn, endpoint, loss, packet, plain,
};
use byway_core::{AddressChange, Config, Event};
use byway_wire::{Chunk, Packet, Param, Tsn};

#[test]
fn a_peer_that_restarted_takes_its_place_again() {
    // Table 12, A: both tags are new, the tie-tags match.
    let mut p = Pair::up(1, &plain());
    p.reading[Z] = false;
    p.send_many(A, 30, 1);
    p.run(300);
    p.cut(&[0]);
    p.send_many(Z, 40, 2);
    p.take_drawings();
    p.replace(A, 9, &plain());
    p.heal();
    p.connect(A, &plain());
    p.run(100);
    assert_drawn(
        &p.take_drawings(),
        &[
            "A -> INIT -> Z",
            "Z -> INIT ACK -> A",
            "A -> COOKIE ECHO -> Z",
            "Z -> COOKIE ACK -> A",
        ],
    );
    let restarted = Event::Restarted {
        undelivered_messages: 2,
    };
    assert!(p.take_events(Z).contains(&restarted));
    assert_eq!(p.ends[Z].association_count(), 1);
    // Data that had arrived can still be read. Stream sequence numbers start again.
    p.send_many(A, 50, 1);
    p.run(300);
    p.read(Z);
    assert_eq!(p.take_got(Z), [(0, 30), (0, 50)]);
    p.send_many(Z, 60, 1);
    p.run(300);
    assert_eq!(p.take_got(A), [(0, 60)]);
}

/// An INIT in A's name, with a tag that A does not have.
fn init_of_a_stranger() -> Vec<u8> {
    packet(A, 0, |b| b.init(false, &init(77), |_| {}))
}

#[test]
fn a_restart_with_new_addresses_is_refused() {
    let mut p = Pair::up(1, &plain());
    let bytes = packet(A, 0, |b| {
        b.init(false, &init(77), |w| {
            w.address("10.0.0.1".parse().unwrap());
            w.address("10.9.9.9".parse().unwrap());
        });
    });
    p.inject_bytes(Z, address(0, A), &bytes);
    assert_drawn(
        &p.take_drawings(),
        &["Z -> ABORT: Restart of an Association with New Addresses -> A"],
    );
    p.run(1000);
    assert_eq!((p.state(A), p.state(Z)), ("ESTABLISHED", "ESTABLISHED"));
}

#[test]
fn an_unexpected_init_without_its_cookie_changes_nothing() {
    let mut p = Pair::up(1, &plain());
    let tags = p.reader.tags;
    let bytes = init_of_a_stranger();
    p.inject_bytes(Z, address(0, A), &bytes);
    assert_drawn(&p.take_drawings(), &["Z -> INIT ACK -> A"]);
    p.reader.tags = tags;
    p.run(1000);
    p.assert_carries_data();
}

#[test]
fn the_cookie_of_an_earlier_life_is_dropped() {
    // Table 12, C, and cookies whose tie-tags are not of this association.
    let mut p = Pair::new(1, &plain());
    p.connect(A, &plain());
    p.run(100);
    let old = p
        .sent
        .iter()
        .find(|q| q.text == "COOKIE ECHO")
        .unwrap()
        .bytes
        .clone();
    p.shutdown(A);
    p.run(100);
    p.connect(A, &plain());
    p.run(100);
    p.take_drawings();
    let before = p.id(Z);
    p.inject_bytes(Z, address(0, A), &old);
    assert_drawn(&p.take_drawings(), &[]);
    assert_eq!(p.id(Z), before);
    assert_eq!((p.state(A), p.state(Z)), ("ESTABLISHED", "ESTABLISHED"));
}

/// A shuts down, and does not hear that Z does.
fn shut_down_halfway(p: &mut Pair) {
    p.lose(|q| q.text == "SHUTDOWN ACK");
    p.shutdown(A);
    p.run(50);
    assert_eq!(p.state(Z), "SHUTDOWN-ACK-SENT");
    p.take_drawings();
    p.heal();
}

#[test]
fn a_restart_during_the_shutdown_is_told_to_wait() {
    // Section 9.2: SHUTDOWN ACK again instead of an INIT ACK.
    let mut p = Pair::up(1, &plain());
    shut_down_halfway(&mut p);
    let bytes = init_of_a_stranger();
    p.inject_bytes(Z, address(0, A), &bytes);
    p.run(15);
    assert_drawn(
        &p.take_drawings(),
        &["Z -> SHUTDOWN ACK -> A", "A -> SHUTDOWN COMPLETE -> Z"],
    );
}

// A restarts twice. The COOKIE ECHO of the first restart arrives late: its tags are dead.
#[test]
fn a_late_cookie_of_an_earlier_restart_restarts_nothing() {
    let mut p = Pair::up(1, &plain());
    let mut echoes = Vec::new();
    for seed in [7, 8] {
        p.replace(A, seed, &plain());
        p.sent.clear();
        p.connect(A, &plain());
        p.run(100);
        let echo = p.sent.iter().find(|q| q.text == "COOKIE ECHO").unwrap();
        echoes.push(echo.bytes.clone());
    }
    p.take_events(Z);
    p.inject_bytes(Z, address(0, A), &echoes[0]);
    let restarted = |e: &Event| matches!(e, Event::Restarted { .. });
    assert!(!p.take_events(Z).iter().any(restarted));
    p.send_many(A, 50, 1);
    p.run(300);
    assert_eq!(p.take_got(Z), [(0, 50)]);
}

// The association of a cookie has ended. A replay of its COOKIE ECHO sets up no ghost,
// which would deliver the DATA behind it again.
#[test]
fn a_cookie_whose_association_has_ended_sets_up_nothing() {
    for aborted in [false, true] {
        let mut p = Pair::new(1, &plain());
        p.connect(A, &plain());
        p.run(100);
        let echo = p.sent.iter().find(|q| q.text == "COOKIE ECHO").unwrap();
        let echo = echo.bytes.clone();
        if aborted {
            p.with(A, |now, e, id| e.abort(now, id, b"done").unwrap());
        } else {
            p.shutdown(A);
        }
        p.run(1000);
        p.take_events(Z);
        p.inject_bytes(Z, address(0, A), &echo);
        let up = |e: &Event| matches!(e, Event::Up { .. });
        assert!(!p.take_events(Z).iter().any(up), "aborted: {aborted}");
        // After its life the cookie is stale anyway.
        p.run(70_000);
        p.inject_bytes(Z, address(0, A), &echo);
        assert!(!p.take_events(Z).iter().any(up), "aborted: {aborted}");
    }
}

#[test]
fn a_restart_is_a_new_association_unless_the_user_wants_the_old_one() {
    let mut c = plain();
    c.setup.keep_on_restart = false;
    let mut p = Pair::up(1, &c);
    p.reading[Z] = false;
    p.send_many(A, 30, 1);
    p.run(300);
    let old = p.id(Z);
    p.replace(A, 7, &c);
    p.connect(A, &c);
    p.run(100);
    let events = p.take_events(Z);
    assert_eq!(loss(&events), "the peer restarted");
    assert!(
        events
            .iter()
            .any(|e| matches!(e, Event::Up { accepted: true, .. }))
    );
    assert_ne!(p.id(Z), old);
    assert_eq!(p.ends[Z].association_count(), 1);
    // What the old one received stays with the old one.
    p.send_many(A, 50, 1);
    p.run(300);
    p.read(Z);
    assert_eq!(p.take_got(Z), [(0, 50)]);
    assert_eq!(p.ends[Z].receive(old).unwrap().payload.len(), 30);
}

/// The cookie of the last INIT ACK that was sent, behind the tag of a COOKIE ECHO to Z.
fn cookie_echo(p: &Pair) -> Vec<u8> {
    let ack = p.sent.iter().rfind(|q| q.text == "INIT ACK").unwrap();
    let bytes = Packet::parse(&ack.bytes).unwrap();
    let Ok(Chunk::InitAck(init)) = bytes.chunks().next().unwrap().unwrap().parse() else {
        panic!("it is an INIT ACK");
    };
    let mut params = init.params.iter().map(|raw| raw.unwrap());
    let cookie = params.find_map(|raw| match raw.parse() {
        Ok(Param::StateCookie(c)) => Some(c.to_vec()),
        _ => None,
    });
    packet(A, init.initiate_tag, |b| b.cookie_echo(&cookie.unwrap()))
}

/// The peer sets up two associations while this side sets up one: the first that completes
/// stays with its peer (table 12, B is for set-ups at the same time).
#[test]
fn a_second_set_up_of_the_peer_does_not_take_an_association_that_stands() {
    let mut p = Pair::new(1, &plain());
    p.lose(|q| q.from == Z && q.text == "INIT");
    p.connect(Z, &plain());
    p.inject_bytes(Z, address(0, A), &init_of_a_stranger());
    let second = cookie_echo(&p);
    p.connect(A, &plain());
    p.run(100);
    assert_drawn(
        &p.take_drawings(),
        &[
            "Z -> INIT -> lost",
            "Z -> INIT ACK -> A",
            "A -> INIT -> Z",
            "Z -> INIT ACK -> A",
            "A -> COOKIE ECHO -> Z",
            "Z -> COOKIE ACK -> A",
        ],
    );
    p.inject_bytes(Z, address(0, A), &second);
    assert_drawn(&p.take_drawings(), &[]);
    p.assert_carries_data();
}

/// The peer begins anew after it answered our INIT, and before the COOKIE ACK is here: this is a
/// restart, and its TSNs are others.
#[test]
fn a_peer_that_begins_anew_before_its_cookie_ack_arrives_has_restarted() {
    let mut p = Pair::new(1, &plain());
    p.hand(|q| match q.text.as_str() {
        "COOKIE ACK" => Fate::Late(50),
        _ => Fate::Pass,
    });
    p.connect(Z, &plain());
    p.run(35);
    assert_eq!(p.state(Z), "COOKIE-ECHOED");
    p.inject_bytes(Z, address(0, A), &init_of_a_stranger());
    let anew = cookie_echo(&p);
    p.run(100);
    assert_eq!(p.state(Z), "ESTABLISHED");
    p.take_drawings();
    p.inject_bytes(Z, address(0, A), &anew);
    assert_drawn(&p.take_drawings(), &["Z -> COOKIE ACK -> A"]);
    let restarted = |e: &Event| matches!(e, Event::Restarted { .. });
    assert!(p.take_events(Z).iter().any(restarted));
    // TSN 1 of the new life is new.
    let tag = p.reader.tags[Z];
    let data = data(Tsn(1));
    let bytes = packet(A, tag, |b| {
        b.data(&data);
    });
    p.inject_bytes(Z, address(0, A), &bytes);
    assert_eq!(p.take_got(Z), [(0, 1)]);
}

/// The cookie of a set-up belongs to the association with its tag, and not to the one that has
/// the address of the peer.
#[test]
fn a_cookie_finds_its_association_by_its_tag() {
    let mut p = Pair::of(
        [endpoint(1, A, 1, &plain()), endpoint(2, Z, 2, &plain())],
        2,
    );
    let to = [address(0, Z)];
    let id = p.ends[A].connect(p.now, &to, PORTS[Z], plain()).unwrap();
    p.ids[A] = Some(id);
    p.pump(A);
    p.run(100);
    // Z sets up another one, with an address that no other is known to belong to.
    p.lose(|q| q.from == Z && q.text == "INIT");
    let to = [address(1, A)];
    let second = p.ends[Z].connect(p.now, &to, PORTS[A], plain()).unwrap();
    p.pump(Z);
    p.inject_bytes(Z, address(1, A), &init_of_a_stranger());
    let echo = cookie_echo(&p);
    // Its COOKIE ECHO comes from the address that the first one has.
    p.inject_bytes(Z, address(0, A), &echo);
    assert_eq!(p.ends[Z].state_name(second), Some("ESTABLISHED"));
}

/// Z has two addresses, its ASCONFs are lost from now on, and A, with these settings in its new life, is about to connect again.
fn no_answer_to_changes() -> Pair {
    let (mut p, _) = Changing { a: 1, z: 2 }.up();
    p.lose(|q| q.from == Z && q.text.contains("ASCONF"));
    p
}

fn connect_anew(p: &mut Pair, config: &Config) {
    p.ends[A] = endpoint(1, A, 9, config);
    Changing { a: 1, z: 2 }.connect(p, config);
}

/// What became of the changes that Z asked for: true if they were taken.
fn results(p: &mut Pair) -> Vec<(AddressChange, bool)> {
    let events = p.take_events(Z).into_iter();
    let result = |e| match e {
        Event::AddressChanged { what } => Some((what, true)),
        Event::AddressChangeRefused { what, .. } => Some((what, false)),
        _ => None,
    };
    events.filter_map(result).collect()
}

/// Changes of addresses (RFC 5061) that A had not answered: one is under way, and others wait. The new association is told, and
/// the addresses send nothing but ASCONF before (section 5.3, F1).
#[test]
fn changes_without_an_answer_are_told_to_the_association_after_a_restart() {
    let mut p = no_answer_to_changes();
    change(&mut p, Z, &[2], &[]);
    change(&mut p, Z, &[3], &[]);
    p.with(Z, |now, e, id| {
        e.set_peer_primary(now, id, address(1, Z).ip())
    })
    .unwrap();
    p.run(500);
    p.heal();
    p.take_drawings();
    p.take_events(Z);
    connect_anew(&mut p, &changing());
    p.sent.clear();
    p.run(300);
    assert_drawn(
        &p.take_drawings_with(&["INIT", "COOKIE", "ASCONF"]),
        &[
            "A -> INIT -> Z",
            "Z -> INIT ACK -> A",
            "A -> COOKIE ECHO -> Z",
            "Z -> COOKIE ACK -> A",
            "Z -> AUTH, ASCONF +10.2.0.2 +10.3.0.2 *10.1.0.2 -> A",
            "A -> AUTH, ASCONF-ACK -> Z",
        ],
    );
    let answered = p.sent.iter().position(|q| q.text.contains("ASCONF-ACK"));
    let early = p.sent[..answered.unwrap()]
        .iter()
        .filter(|q| q.from == Z && (q.source == address(2, Z) || q.source == address(3, Z)));
    assert_eq!(early.count(), 0);
    let all = [
        AddressChange::Added(address(2, Z)),
        AddressChange::Added(address(3, Z)),
        AddressChange::PrimaryOfPeer(address(1, Z).ip()),
    ];
    assert_eq!(results(&mut p), all.map(|what| (what, true)));
    assert!(p.path(A, 1).primary);
    // The addresses of the set-up go, and the new ones carry on.
    change(&mut p, Z, &[], &[0, 1]);
    p.run(1000);
    let left: Vec<_> = paths(&mut p, A).iter().map(|x| x.0).collect();
    assert_eq!(left, [address(2, Z), address(3, Z)]);
    p.assert_carries_data();
}

/// The set-up after the restart says what it lists when the INIT comes. What changes before its cookie is back is told.
#[test]
fn changes_between_the_init_of_a_restart_and_its_cookie_are_told() {
    let mut p = no_answer_to_changes();
    change(&mut p, Z, &[], &[1]);
    p.heal();
    p.hand(|q| match q.text.as_str() {
        "COOKIE ECHO" => Fate::Late(200),
        _ => Fate::Pass,
    });
    change(&mut p, Z, &[2, 3], &[]);
    connect_anew(&mut p, &changing());
    p.run(100);
    // Listed, and gone; not listed; and one that nobody knew.
    change(&mut p, Z, &[4], &[3]);
    change(&mut p, Z, &[5], &[]);
    change(&mut p, Z, &[], &[5]);
    p.take_drawings();
    p.take_events(Z);
    p.run(500);
    assert_drawn(
        &p.take_drawings_with(&["COOKIE", "ASCONF"]),
        &[
            "Z -> COOKIE ACK -> A",
            "Z -> AUTH, ASCONF +10.2.0.2 +10.4.0.2 -10.3.0.2 -> A",
            "A -> AUTH, ASCONF-ACK -> Z",
        ],
    );
    assert_eq!(
        results(&mut p),
        [
            // It is in no INIT ACK.
            (AddressChange::Removed(address(1, Z)), true),
            (AddressChange::Added(address(2, Z)), true),
            (AddressChange::Added(address(4, Z)), true),
            (AddressChange::Removed(address(3, Z)), true),
        ]
    );
}

/// In its new life the peer cannot be told of changes. It knows what the INIT ACK listed, and the user hears of the rest.
#[test]
fn without_asconf_after_a_restart_the_listed_addresses_serve() {
    let mut p = no_answer_to_changes();
    change(&mut p, Z, &[2], &[1]);
    p.with(Z, |now, e, id| {
        e.set_peer_primary(now, id, address(2, Z).ip())
    })
    .unwrap();
    p.run(500);
    p.heal();
    p.take_drawings();
    p.take_events(Z);
    connect_anew(&mut p, &plain());
    p.run(1000);
    assert_eq!(
        results(&mut p),
        [
            (AddressChange::Added(address(2, Z)), true),
            (AddressChange::Removed(address(1, Z)), true),
            (AddressChange::PrimaryOfPeer(address(2, Z).ip()), false),
        ]
    );
    assert_eq!(p.take_drawings_with(&["-> AUTH"]).len(), 0);
    change(&mut p, Z, &[], &[0]);
    p.run(100);
    assert_eq!(p.state(Z), "ESTABLISHED");
    p.send_many(Z, 50, 3);
    p.run(5000);
    assert_eq!(p.take_got(A).len(), 3);
}

/// Section 5.2.4, A: the INIT of the new life came before the shutdown, and its COOKIE ECHO comes in
/// SHUTDOWN-ACK-SENT.
#[test]
fn a_cookie_of_a_restart_during_the_shutdown_sets_up_nothing() {
    let mut p = Pair::up(1, &plain());
    let tags = p.reader.tags;
    let (_, echo) = echo_of_stranger(&mut p, address(0, A), 77, |_| {});
    p.run(50);
    p.reader.tags = tags;
    shut_down_halfway(&mut p);
    p.inject_bytes(Z, address(0, A), &echo);
    p.run(50);
    assert_drawn(
        &p.take_drawings(),
        &[
            "Z -> ERROR: Cookie Received While Shutting Down -> A",
            "Z -> SHUTDOWN ACK -> A",
            "A -> SHUTDOWN COMPLETE -> Z",
        ],
    );
    assert_eq!(p.take_events(Z).last(), Some(&Event::ShutdownComplete));
    assert_eq!(p.ends[Z].association_count(), 0);
}
