//! Association set-up (RFC 9260 sections 5.1 and 5.2.1).

use crate::common::stranger::{echo_of, init};
use crate::common::{
    A, Fate, PORTS, Pair, Z, address, assert_drawn, endpoint, loss, ms, packet, plain,
};
use byway_core::config::Config;
use byway_core::{Event, LossReason, Message, PathState};
use byway_wire::{Chunk, Packet, chunk_type, param_type};

#[test]
fn four_packets_set_up_an_association() {
    let mut p = Pair::new(1, &plain());
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
    for (side, accepted) in [(A, false), (Z, true)] {
        let up = Event::Up {
            accepted,
            outbound_streams: 10,
            inbound_streams: 10,
        };
        assert!(p.take_events(side).contains(&up));
    }
}

// Section 3.3.2.1.5. pion/sctp drops an INIT with the parameter.
#[test]
fn an_init_says_which_types_of_addresses_there_are_unless_it_is_told_not_to() {
    for says in [true, false] {
        let mut cfg = plain();
        cfg.setup.supported_address_types = says;
        let mut p = Pair::new(1, &plain());
        p.connect(A, &cfg);
        p.run(100);
        let packet = Packet::parse(&p.sent[0].bytes).unwrap();
        let Chunk::Init(init) = packet.chunks().next().unwrap().unwrap().parse().unwrap() else {
            panic!("the first packet is no INIT");
        };
        let kinds: Vec<u16> = init.params.iter().map(|q| q.unwrap().kind).collect();
        assert_eq!(kinds.contains(&param_type::SUPPORTED_ADDRESS_TYPES), says);
        assert_eq!(p.state(A), "ESTABLISHED");
    }
}

/// The optional parameters of an INIT with which a receiver that does not know them stops (RFC 9260 section 3.2.1): the
/// addresses, and their types.
pub(crate) fn stops_at(bytes: &[u8]) -> Vec<u16> {
    let packet = Packet::parse(bytes).unwrap();
    match packet.chunks().next().unwrap().unwrap().parse() {
        Ok(Chunk::Init(init)) => {
            let kinds = init.params.iter().map(|q| q.unwrap().kind);
            kinds.filter(|kind| kind >> 14 == 0).collect()
        }
        _ => Vec::new(),
    }
}

/// pion/sctp drops an INIT that says which types of addresses there are. A repetition leaves out what a peer can do
/// without.
#[test]
fn the_second_repetition_of_an_init_says_no_types_of_addresses() {
    let mut p = Pair::new(1, &plain());
    p.timed = true;
    p.lose(|q| !stops_at(&q.bytes).is_empty());
    p.connect(A, &plain());
    p.run(5000);
    assert_drawn(
        &p.take_drawings(),
        &[
            "0 ms A -> INIT -> lost",
            "1000 ms A -> INIT -> lost",
            "3000 ms A -> INIT -> Z",
            "3010 ms Z -> INIT ACK -> A",
            "3020 ms A -> COOKIE ECHO -> Z",
            "3030 ms Z -> COOKIE ACK -> A",
        ],
    );
}

/// Without ASCONF its addresses could not follow, so they stay in each INIT.
#[test]
fn an_init_lists_its_addresses_however_often_it_is_repeated() {
    let mut p = Pair::new(2, &plain());
    p.cut(&[0, 1]);
    p.connect(A, &plain());
    p.run(300_000);
    let said: Vec<Vec<u16>> = p.sent.iter().map(|q| stops_at(&q.bytes)).collect();
    assert_eq!(said.len(), 9);
    for (repeats, said) in said.iter().enumerate() {
        let types: &[u16] = if repeats < 2 { &[12] } else { &[] };
        assert_eq!(*said, [&[5, 5], types].concat(), "repetition {repeats}");
    }
}

#[test]
fn streams_are_the_lesser_of_what_is_asked_and_what_is_allowed() {
    let (mut a, mut z) = (plain(), plain());
    (a.setup.outbound_streams, a.setup.max_inbound_streams) = (5, 3);
    (z.setup.outbound_streams, z.setup.max_inbound_streams) = (7, 2);
    let mut p = Pair::new(1, &z);
    p.connect(A, &a);
    p.run(100);
    let up = |accepted, outbound_streams, inbound_streams| Event::Up {
        accepted,
        outbound_streams,
        inbound_streams,
    };
    assert!(p.take_events(A).contains(&up(false, 2, 3)));
    assert!(p.take_events(Z).contains(&up(true, 3, 2)));
}

#[test]
fn a_message_for_a_stream_that_the_peer_does_not_grant_ends_the_set_up() {
    let mut z = plain();
    z.setup.max_inbound_streams = 2;
    let mut p = Pair::new(1, &z);
    p.connect(A, &plain());
    p.send(A, Message::new(2, vec![1]));
    p.run(100);
    assert_eq!(
        loss(&p.take_events(A)),
        "a message waits for stream 2, but the peer accepts 2 streams"
    );
}

#[test]
fn t1_repeats_init_with_doubled_waits_and_gives_up() {
    let mut p = Pair::new(1, &plain());
    p.timed = true;
    p.cut(&[0]);
    p.connect(A, &plain());
    p.run(300_000);
    assert_drawn(
        &p.take_drawings(),
        &[
            "0 ms A -> INIT -> lost",
            "1000 ms A -> INIT -> lost",
            "3000 ms A -> INIT -> lost",
            "7000 ms A -> INIT -> lost",
            "15000 ms A -> INIT -> lost",
            "31000 ms A -> INIT -> lost",
            "63000 ms A -> INIT -> lost",
            "123000 ms A -> INIT -> lost",
            "183000 ms A -> INIT -> lost",
        ],
    );
    assert_eq!(
        p.take_events(A),
        [Event::Lost {
            reason: LossReason::SetupTimedOut,
            undelivered_messages: 0,
        }]
    );
}

#[test]
fn a_lost_init_ack_or_cookie_echo_or_cookie_ack_is_repeated() {
    for lost in ["INIT ACK", "COOKIE ECHO", "COOKIE ACK"] {
        let mut p = Pair::new(1, &plain());
        p.lose_once(&[lost]);
        p.connect(A, &plain());
        p.run(2000);
        assert_eq!(
            (p.state(A), p.state(Z)),
            ("ESTABLISHED", "ESTABLISHED"),
            "{lost}"
        );
        assert_eq!(p.ends[Z].association_count(), 1);
    }
}

#[test]
fn init_stays_with_the_first_address_where_it_is_told_to() {
    let mut c = plain();
    c.setup.first_address_only = true;
    let mut p = Pair::new(2, &c);
    p.cut(&[0]);
    p.connect(A, &c);
    p.run(1500);
    let tries = p.take_drawings_with(&["INIT", "COOKIE"]);
    assert_drawn(&tries, &["A -> INIT -> lost", "A -> INIT -> lost"]);
}

#[test]
fn init_moves_to_the_second_address_when_the_first_is_silent() {
    let mut p = Pair::new(2, &plain());
    p.cut(&[0]);
    p.connect(A, &plain());
    p.run(1500);
    assert_drawn(
        &p.take_drawings_with(&["INIT", "COOKIE"]),
        &[
            "A -> INIT -> lost",
            "A -> INIT -> Z (path 1)",
            "Z -> INIT ACK -> A (path 1)",
            "A -> COOKIE ECHO -> Z (path 1)",
            "Z -> COOKIE ACK -> A (path 1)",
        ],
    );
    assert_eq!(p.state(A), "ESTABLISHED");
}

#[test]
fn both_sides_begin_at_once_and_get_one_association() {
    // Table 12, B and D: each side answers the other's INIT with its own tag.
    let mut p = Pair::new(1, &plain());
    p.connect(A, &plain());
    p.connect(Z, &plain());
    p.run(3000);
    assert_drawn(
        &p.take_drawings(),
        &[
            "A -> INIT -> Z",
            "Z -> INIT -> A",
            "Z -> INIT ACK -> A",
            "A -> INIT ACK -> Z",
            "A -> COOKIE ECHO -> Z",
            "Z -> COOKIE ECHO -> A",
            "Z -> COOKIE ACK -> A",
            "A -> COOKIE ACK -> Z",
        ],
    );
    for side in [A, Z] {
        assert_eq!(p.state(side), "ESTABLISHED");
        assert_eq!(p.ends[side].association_count(), 1);
        let ups = p.take_events(side);
        let ups = ups.iter().filter(|e| matches!(e, Event::Up { .. }));
        assert_eq!(ups.count(), 1);
    }
    p.assert_carries_data();
}

/// Both begin at once, and Z's user takes it back after so many milliseconds; packets take 10. Nobody has
/// heartbeats and nobody sends, so who has an association that the other does not have would have it for ever.
/// (the time; the states of Z before and of A after, and what Z has then)
#[test]
fn who_gives_up_while_both_set_up_leaves_no_half_of_an_association() {
    let rows = [
        (5, "COOKIE-WAIT", "ESTABLISHED", 1),
        // The answer of A to the INIT of Z is still to come, and so is its COOKIE ECHO: an ABORT for the first
        // ended the association that the second began.
        (15, "COOKIE-WAIT", "ESTABLISHED", 1),
        // The COOKIE ECHO of A passes the ABORT, and began another association.
        (25, "COOKIE-ECHOED", "CLOSED", 0),
        (35, "ESTABLISHED", "CLOSED", 0),
        (45, "ESTABLISHED", "CLOSED", 0),
    ];
    // The COOKIE ECHO of A once, or a second time as well.
    for fate in [Fate::Pass, Fate::Twice] {
        for (at, before, after, associations) in rows {
            let mut p = Pair::new(1, &plain());
            let of_echo = fate.clone();
            p.hand(move |q| match (q.from, q.text.as_str()) {
                (A, "COOKIE ECHO") => of_echo.clone(),
                _ => Fate::Pass,
            });
            let ids = [A, Z].map(|side| p.connect(side, &plain()));
            p.run(at);
            assert_eq!(p.ends[Z].state_name(ids[Z]), Some(before));
            let ended = p.with(Z, |now, end, _| end.abort(now, ids[Z], b"given up"));
            assert!(ended.is_ok());
            p.run(3000);
            let row = format!("{at} ms, {fate:?}");
            assert_eq!(p.ends[A].state_name(ids[A]), Some(after), "{row}");
            assert_eq!(p.ends[Z].association_count(), associations, "{row}");
        }
    }
}

/// Both begin at once, and Z's set-up ends at the INIT ACK, in which A takes too few streams. A is told nothing, so
/// its COOKIE ECHO begins an association at once, and does not wait for a cookie that has expired.
#[test]
fn a_set_up_that_ends_without_a_word_keeps_the_other_one_no_time() {
    let mut few = plain();
    few.setup.max_inbound_streams = 1;
    let mut p = Pair::of([endpoint(1, A, 1, &few), endpoint(1, Z, 2, &plain())], 1);
    let a = p.connect(A, &few);
    let z = p.connect(Z, &plain());
    let (now, message) = (p.now, Message::new(5, vec![1]));
    assert!(p.ends[Z].send(now, z, message).is_ok());
    p.run(25);
    assert_eq!(p.ends[Z].state_name(z), Some("CLOSED"));
    p.run(25);
    assert_eq!(p.ends[A].state_name(a), Some("ESTABLISHED"));
    assert_eq!(p.ends[Z].association_count(), 1);
}

#[test]
fn a_collision_with_every_possible_loss_still_ends_in_one_association() {
    for lost in 0..8 {
        let mut p = Pair::new(1, &plain());
        let mut count = 0;
        p.lose(move |_| {
            count += 1;
            count == lost + 1
        });
        p.connect(A, &plain());
        p.connect(Z, &plain());
        p.run(10_000);
        p.send_many(A, 10, 1);
        p.send_many(Z, 20, 1);
        p.run(5000);
        // Each is one of the eight packets of the two set-ups.
        let drawn = p.take_drawings_with(&["INIT", "COOKIE"]);
        let losses = drawn.iter().filter(|d| d.ends_with(" -> lost")).count();
        assert_eq!(losses, 1, "{lost}: {drawn:?}");
        let each = [A, Z].map(|side| p.ends[side].association_count());
        assert_eq!(each, [1, 1], "{lost}");
        assert_eq!(
            (p.state(A), p.state(Z)),
            ("ESTABLISHED", "ESTABLISHED"),
            "{lost}"
        );
        assert_eq!(
            (p.take_got(Z), p.take_got(A)),
            (vec![(0, 10)], vec![(0, 20)])
        );
    }
}

#[test]
fn a_duplicate_cookie_echo_is_answered_and_changes_nothing() {
    let mut p = Pair::new(1, &plain());
    p.hand(|q| match q.text.as_str() {
        "COOKIE ECHO" => Fate::Twice,
        _ => Fate::Pass,
    });
    p.connect(A, &plain());
    p.run(100);
    assert_drawn(
        &p.take_drawings(),
        &[
            "A -> INIT -> Z",
            "Z -> INIT ACK -> A",
            "A -> COOKIE ECHO -> Z",
            "Z -> COOKIE ACK -> A",
            "Z -> COOKIE ACK -> A",
        ],
    );
    assert_eq!(p.ends[Z].association_count(), 1);
}

#[test]
fn a_stale_cookie_is_reported_and_a_longer_life_asked_for() {
    let mut z: Config = plain();
    z.setup.valid_cookie_life = ms(15);
    let mut p = Pair::new(1, &z);
    let mut first = true;
    p.hand(move |q| {
        if q.text == "COOKIE ECHO" && core::mem::take(&mut first) {
            Fate::Late(40)
        } else {
            Fate::Pass
        }
    });
    p.connect(A, &plain());
    p.run(500);
    // The second INIT carries a Cookie Preservative.
    assert_drawn(
        &p.take_drawings(),
        &[
            "A -> INIT -> Z",
            "Z -> INIT ACK -> A",
            "A -> COOKIE ECHO -> Z",
            "Z -> ERROR: Stale Cookie -> A",
            "A -> INIT -> Z",
            "Z -> INIT ACK -> A",
            "A -> COOKIE ECHO -> Z",
            "Z -> COOKIE ACK -> A",
        ],
    );
    let inits: Vec<usize> = p
        .sent
        .iter()
        .filter(|q| q.text == "INIT")
        .map(|q| q.bytes.len())
        .collect();
    assert_eq!(inits[1], inits[0] + 8);
    assert_eq!(p.ends[Z].endpoint_stats().stale_cookies, 1);
}

/// The first COOKIE ECHO is stale, and no heartbeat arrives.
fn stale_once(paths: usize) -> Pair {
    let mut z = plain();
    z.setup.valid_cookie_life = ms(15);
    let mut p = Pair::new(paths, &z);
    let mut first = true;
    p.hand(move |q| match q.text.as_str() {
        "COOKIE ECHO" if core::mem::take(&mut first) => Fate::Late(40),
        text if text.starts_with("HEARTBEAT") => Fate::Lose,
        _ => Fate::Pass,
    });
    p
}

#[test]
fn an_address_that_two_init_acks_list_is_not_confirmed_by_that() {
    let mut p = stale_once(2);
    p.connect_to(A, &[address(0, Z)], &plain());
    p.run(500);
    assert_eq!(p.state(A), "ESTABLISHED");
    assert_eq!(p.ends[Z].endpoint_stats().stale_cookies, 1);
    // RFC 9260 section 5.4: the user gave the first address only.
    assert_eq!(p.path_state(A, 0), PathState::Active);
    assert_eq!(p.path_state(A, 1), PathState::Unconfirmed);
}

/// A has room for two of three addresses of Z, its first cookie is stale, and Z loses these addresses before the second INIT.
/// No address that is left waits beside free room.
fn after_a_stale_cookie_without(gone: &[usize]) -> Pair {
    let mut config = plain();
    config.setup.max_paths = 2;
    let mut p = stale_once(3);
    let id = p.connect_to(A, &[address(0, Z)], &config);
    p.run(30);
    assert_eq!(p.state(A), "COOKIE-ECHOED");
    for &path in gone {
        p.ends[Z]
            .remove_local_address(p.now, address(path, Z).ip())
            .unwrap();
    }
    p.run(500);
    assert_eq!(p.state(A), "ESTABLISHED");
    p.ends[A]
        .check_progress(id)
        .expect("no address waits beside free room");
    p
}

#[test]
fn an_address_that_found_no_room_becomes_a_path_when_the_second_init_ack_leaves_some() {
    let p = after_a_stale_cookie_without(&[1]);
    assert_eq!(p.path(A, 1).remote, address(2, Z));
}

#[test]
fn an_address_without_a_path_becomes_one_although_the_second_init_ack_does_not_list_it() {
    after_a_stale_cookie_without(&[1, 2]);
}

#[test]
fn a_cookie_that_is_stale_again_ends_the_set_up() {
    let mut z = plain();
    z.setup.valid_cookie_life = ms(15);
    z.setup.max_cookie_extension = ms(0);
    let mut p = Pair::new(1, &z);
    p.delay_ms[0] = 50;
    p.connect(A, &plain());
    p.run(1000);
    assert_eq!(
        loss(&p.take_events(A)),
        "the set-up took longer than the cookie lives"
    );
    assert_eq!(p.ends[Z].association_count(), 0);
}

#[test]
fn messages_and_a_shutdown_before_the_association_stands_are_kept_for_later() {
    let mut p = Pair::new(1, &plain());
    p.connect(A, &plain());
    p.send_many(A, 100, 2);
    p.shutdown(A);
    p.run(1000);
    assert_eq!(p.take_got(Z), [(0, 100), (0, 100)]);
    assert!(p.take_events(A).contains(&Event::ShutdownComplete));
    assert!(p.take_events(Z).contains(&Event::ShutdownComplete));
}

#[test]
fn an_endpoint_that_accepts_nothing_refuses_with_an_abort() {
    let mut config = byway_core::EndpointConfig::new(5002, crate::common::addresses(1, Z), [2; 32]);
    config.accept = false;
    let z = byway_core::Endpoint::new(config).unwrap();
    let a = crate::common::endpoint(1, A, 1, &plain());
    let mut p = Pair::of([a, z], 1);
    p.connect(A, &plain());
    p.run(100);
    assert_drawn(
        &p.take_drawings(),
        &["A -> INIT -> Z", "Z -> ABORT: User-Initiated Abort -> A"],
    );
    let why = byway_core::NOTHING_LISTENS;
    assert_eq!(loss(&p.take_events(A)), format!("the peer aborted: {why}"));
}

/// Of an ABORT without a reason, what it answers is all that is known: to an INIT, the port may be wrong.
#[test]
fn an_abort_without_a_reason_tells_whether_the_init_had_been_answered() {
    let (none, unreadable) = (&[][..], &[0, 12, 0, 40][..]);
    for (answers, causes, why) in [
        ("INIT", none, "the peer aborted"),
        (
            "COOKIE ECHO",
            none,
            "the peer aborted: without a reason, though it had answered the INIT",
        ),
        (
            "COOKIE ECHO",
            unreadable,
            "the peer aborted: a cause that cannot be read",
        ),
    ] {
        let mut p = Pair::new(1, &plain());
        p.lose(move |q| q.text == answers);
        p.connect(A, &plain());
        p.run(50);
        p.inject(A, 0, |b| b.raw(chunk_type::ABORT, 0, causes));
        assert_eq!(loss(&p.take_events(A)), why);
    }
}

/// Of each INIT only the sizes are known before the answer: the smallest one has 32 bytes.
#[test]
fn a_refusal_has_at_most_three_times_the_bytes_that_it_answers() {
    let limited: fn(&mut byway_core::EndpointConfig) = |c| c.max_associations = 0;
    let of_peer: fn(&mut byway_core::EndpointConfig) = |c| c.max_associations_per_peer = 0;
    let deaf: fn(&mut byway_core::EndpointConfig) = |c| c.accept = false;
    let scarce: fn(&mut byway_core::EndpointConfig) = |c| c.max_memory = 1;
    let no_room = "Z -> ABORT: Out of Resource: User-Initiated Abort -> A";
    for (set, drawn) in [
        (limited, no_room),
        (of_peer, no_room),
        (scarce, no_room),
        (deaf, "Z -> ABORT: User-Initiated Abort -> A"),
    ] {
        let mut config =
            byway_core::EndpointConfig::new(5002, crate::common::addresses(1, Z), [2; 32]);
        set(&mut config);
        let z = byway_core::Endpoint::new(config).unwrap();
        let mut p = Pair::of([crate::common::endpoint(1, A, 1, &plain()), z], 1);
        let bytes = packet(A, 0, |b| b.init(false, &init(5), |_| {}));
        p.inject_bytes(Z, address(0, A), &bytes);
        assert_drawn(&p.take_drawings(), &[drawn]);
        assert!(p.sent[0].bytes.len() <= 3 * bytes.len());
    }
}

// An endpoint that accepts nothing connects, and answers an INIT of its peer meanwhile with a cookie.
// The cookie comes back when the association has gone.
#[test]
fn a_cookie_whose_endpoint_accepts_nothing_any_more_is_answered_with_the_reason() {
    let mut config = byway_core::EndpointConfig::new(5001, crate::common::addresses(1, A), [1; 32]);
    config.accept = false;
    let a = byway_core::Endpoint::new(config).unwrap();
    let mut p = Pair::of([a, crate::common::endpoint(1, Z, 2, &plain())], 1);
    p.lose(|_| true);
    p.connect(A, &plain());
    let crossing = packet(Z, 0, |b| b.init(false, &init(5), |_| {}));
    p.inject_bytes(A, address(0, Z), &crossing);
    let ack = p.sent.last().unwrap().bytes.clone();
    let echo = echo_of(&ack, Z).1;
    let id = p.id(A);
    p.with(A, |now, e, _| e.abort(now, id, b"gone").unwrap());
    p.run(10);
    p.take_drawings();
    p.inject_bytes(A, address(0, Z), &echo);
    assert_drawn(
        &p.take_drawings(),
        &["A -> ABORT: User-Initiated Abort -> lost"],
    );
    assert!(p.sent.last().unwrap().bytes.len() <= 3 * echo.len());
}

// The first path dies while the COOKIE ACK is on its way. The COOKIE ECHO leaves again on
// the second path, and so must its answer.
#[test]
fn a_cookie_ack_goes_where_the_cookie_echo_came_from() {
    let mut p = Pair::new(2, &plain());
    p.lose(|q| q.path == 0 && (q.text == "COOKIE ACK" || q.text == "COOKIE ECHO" && q.from == Z));
    p.connect(A, &plain());
    p.run(25);
    p.cut(&[0]);
    p.run(3000);
    assert_eq!(p.state(A), "ESTABLISHED");
}

// The COOKIE ACK is lost, and the second address of the peer is gone by then: the peer is heard
// from the first one, so the next COOKIE ECHO goes there.
#[test]
fn a_cookie_echo_leaves_again_where_the_peer_is_heard() {
    let mut p = Pair::new(2, &plain());
    let mut first = true;
    p.lose(move |q| q.path == 1 || q.text == "COOKIE ACK" && core::mem::take(&mut first));
    p.connect(A, &plain());
    p.run(35);
    p.send_many(Z, 100, 1);
    p.run(1200);
    let drawn = p.take_drawings_with(&["COOKIE", "DATA"]);
    assert_drawn(
        &drawn,
        &[
            "A -> COOKIE ECHO -> Z",
            "Z -> COOKIE ACK -> lost",
            "Z -> DATA 1 -> A",
            "A -> COOKIE ECHO -> Z",
            "Z -> COOKIE ACK -> A",
            "Z -> DATA 1 -> A",
        ],
    );
    assert_eq!(p.state(A), "ESTABLISHED");
}

/// A host with two addresses, and one with one that connects to each of them.
fn two_to_one_host() -> (Pair, [byway_core::AssocId; 2]) {
    let ends = [endpoint(1, A, 1, &plain()), endpoint(2, Z, 2, &plain())];
    let mut p = Pair::of(ends, 2);
    let connect = |p: &mut Pair, path| {
        let to = [address(path, Z)];
        let id = p.ends[A].connect(p.now, &to, PORTS[Z], plain()).unwrap();
        p.ids[A] = Some(id);
        p.pump(A);
        id
    };
    let ids = [connect(&mut p, 0), connect(&mut p, 1)];
    (p, ids)
}

#[test]
fn connecting_to_two_addresses_of_one_host_at_once_leaves_one_association() {
    // R22: the second INIT is not taken for a restart of the first association.
    for late in [0, 3] {
        let (mut p, ids) = two_to_one_host();
        if late > 0 {
            // The second INIT arrives when the first association is up.
            let mut seen = 0;
            p.hand(move |q| {
                seen += usize::from(q.text == "INIT ACK");
                match q.text == "INIT ACK" && seen == 2 {
                    true => Fate::Late(late * 1000),
                    false => Fate::Pass,
                }
            });
        }
        p.run(10_000);
        let state = |id| p.ends[A].state_name(id);
        assert_eq!(state(ids[0]), Some("ESTABLISHED"));
        assert_eq!(state(ids[1]), Some("CLOSED"));
        assert_eq!(p.ends[Z].association_count(), 1);
        let events = p.take_events(A);
        assert!(events.iter().any(|e| matches!(
            e,
            Event::Lost {
                reason: LossReason::AlreadyConnected,
                ..
            }
        )));
        let restarted = |e: &Event| matches!(e, Event::Restarted { .. });
        assert!(!p.take_events(Z).iter().any(restarted));
    }
}

#[test]
fn events_of_a_released_association_are_dropped() {
    // R23: without a search through all events at each release.
    let mut p = Pair::up(1, &plain());
    let (now, id) = (p.now, p.id(A));
    p.ends[A].abort(now, id, b"enough").unwrap();
    p.ends[A].release(now, id);
    assert_eq!(p.ends[A].poll_event(), None);
}

/// Section 5.1.3 and 3.2.1: type 0xC0F0 asks whoever does not know it to report it.
#[test]
fn an_unknown_parameter_of_an_init_ack_is_reported_once_the_association_stands() {
    let mut p = Pair::new(1, &plain());
    p.hand(|q| {
        if q.text != "INIT ACK" {
            return Fate::Pass;
        }
        let mut bytes = q.bytes.clone();
        bytes.extend_from_slice(&[0xc0, 0xf0, 0, 8, 1, 2, 3, 4]);
        let len = bytes.len() as u16 - 12;
        bytes[14..16].copy_from_slice(&len.to_be_bytes());
        Fate::Changed(crate::attacks::summed(bytes))
    });
    p.connect(A, &plain());
    p.run(100);
    assert_drawn(
        &p.take_drawings(),
        &[
            "A -> INIT -> Z",
            "Z -> INIT ACK -> A",
            "A -> COOKIE ECHO -> Z",
            "Z -> COOKIE ACK -> A",
            "A -> ERROR: Unrecognized Parameters -> Z",
        ],
    );
    let told = p.take_events(Z);
    assert!(
        told.iter().any(|e| matches!(e, Event::PeerError { .. })),
        "{told:?}"
    );
}

/// Somebody between A and Z, who saw the INIT, answers for Z from an address of its own and lists it
/// alone. The address that the user gave is the one to trust, and keeps the association.
#[test]
fn an_init_ack_from_elsewhere_does_not_take_the_destination_away() {
    let mut p = Pair::new(2, &plain());
    p.ends[Z] = endpoint(1, Z, 2, &plain());
    p.lose(|q| q.text == "INIT ACK" || q.path == 1);
    p.connect_to(A, &[address(0, Z)], &plain());
    p.run(15);
    let ack = p.sent.last().unwrap().bytes.clone();
    p.take_drawings();
    p.inject_bytes(A, address(1, Z), &ack);
    p.run(100);
    assert_eq!(p.take_drawings()[0], "A -> COOKIE ECHO -> Z");
    assert_eq!(p.path(A, 0).remote, address(0, Z));
    assert_eq!(p.path_state(A, 1), PathState::Unconfirmed);
    p.assert_carries_data();
}

/// The card that took the INIT went while the cookie was at the peer.
#[test]
fn an_association_is_accepted_although_the_address_of_its_init_is_gone() {
    for (gone, left) in [(0, 1), (1, 0)] {
        let mut p = Pair::new(2, &plain());
        p.hand(|q| match &*q.text {
            "COOKIE ECHO" => Fate::Late(50),
            _ => Fate::Pass,
        });
        p.connect_to(A, &[address(gone, Z)], &plain());
        p.run(30);
        let now = p.now;
        p.ends[Z]
            .change_local_addresses(now, &[], &[address(gone, Z).ip()])
            .unwrap();
        p.run(3000);
        assert_eq!(p.state(Z), "ESTABLISHED");
        p.sent.clear();
        p.send_many(Z, 100, 1);
        p.run(1000);
        assert_eq!(p.take_got(A).len(), 1);
        let of_z = p.sent.iter().filter(|q| q.from == Z);
        let sources: Vec<_> = of_z.map(|q| q.source).collect();
        let expected = address(left, Z);
        assert!(
            !sources.is_empty() && sources.iter().all(|s| *s == expected),
            "{sources:?}"
        );
    }
}

/// Before the INIT ACK nobody knows the tag of this side but whoever saw the INIT.
#[test]
fn in_cookie_wait_nothing_but_the_answer_counts() {
    let mut p = Pair::new(1, &plain());
    p.lose(|q| q.from == Z);
    p.connect(A, &plain());
    p.run(50);
    p.take_drawings();
    p.inject(A, 0, |b| b.heartbeat(&[1, 2, 3]));
    p.inject(A, 0, |b| b.sack(byway_wire::Tsn(1), 1000, &[], &[]));
    p.inject(A, 0, |b| {
        b.error(|c| {
            c.stale_cookie(1000);
        });
    });
    assert_drawn(&p.take_drawings(), &[]);
    assert_eq!((p.state(A), p.take_events(A)), ("COOKIE-WAIT", vec![]));
    p.heal();
    p.run(2000);
    p.assert_carries_data();
}
