//! Several paths: failure, failover, heartbeats, primaries (RFC 9260 sections
//! 5.4, 6.4 and 8; RFC 7829; the papers' policies).

use crate::common::{
    A, Fate, Pair, Z, address, addresses, assert_drawn, endpoint, loss, ms, plain,
};
use byway_core::config::{Config, Dormant, PrimarySwitch};
use byway_core::observe::Observation;
use byway_core::{Event, Message, PathId, PathState, Routes};
use core::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

fn without_pf() -> Config {
    let mut c = plain();
    c.failover.potentially_failed = None;
    c
}

fn switches(events: &[Event]) -> Vec<(u8, u8)> {
    let of = |e: &Event| match e {
        Event::DataPathChanged { from, to } => Some((from.0, to.0)),
        _ => None,
    };
    events.iter().filter_map(of).collect()
}

#[test]
fn addresses_are_verified_by_heartbeat_before_they_carry_data() {
    let mut c = plain();
    c.hb.max_burst = 1;
    let mut p = Pair::new(3, &c);
    p.timed = true;
    p.connect(A, &c);
    p.run(3000);
    // A's user named Z's addresses. Z has A's addresses from the INIT and verifies one
    // each RTO (HB.Max.Burst).
    let tries = p.take_drawings_with(&["Z -> HEARTBEAT -> "]);
    assert_drawn(
        &tries,
        &[
            "30 ms Z -> HEARTBEAT -> A (path 1)",
            "1030 ms Z -> HEARTBEAT -> A (path 2)",
        ],
    );
    let changes = p.take_events(Z);
    let confirmed = changes.iter().filter(|e| {
        matches!(
            e,
            Event::PathChanged {
                from: PathState::Unconfirmed,
                to: PathState::Active,
                ..
            }
        )
    });
    assert_eq!(confirmed.count(), 2);
}

#[test]
fn only_the_right_nonce_and_path_confirm_an_address() {
    let mut p = Pair::new(2, &plain());
    p.lose(|q| q.text == "HEARTBEAT ACK");
    p.connect(A, &plain());
    p.run(100);
    assert_eq!(p.path_state(Z, 1), PathState::Unconfirmed);
    let probe = p.sent.iter().find(|q| q.text == "HEARTBEAT").unwrap();
    let info = probe.bytes[20..37].to_vec();
    for at in [0, 9, 16] {
        // The path, the first and the last byte of the nonce.
        let mut wrong = info.clone();
        wrong[at] ^= 1;
        p.inject(Z, 1, |b| b.heartbeat_ack(&wrong));
        assert_eq!(p.path_state(Z, 1), PathState::Unconfirmed, "byte {at}");
    }
    p.inject(Z, 1, |b| b.heartbeat_ack(&info[..9]));
    assert_eq!(p.path_state(Z, 1), PathState::Unconfirmed);
    p.inject(Z, 1, |b| b.heartbeat_ack(&info));
    assert_eq!(p.path_state(Z, 1), PathState::Active);
}

#[test]
fn an_unconfirmed_address_is_given_no_data_and_refused_as_primary() {
    let mut p = Pair::new(2, &plain());
    p.lose(|q| q.text.starts_with("HEARTBEAT"));
    p.connect(A, &plain());
    p.run(100);
    let refused = p.with(Z, |now, e, id| e.set_primary(now, id, PathId(1)));
    let text = "path 1 (10.1.0.1:0) is unconfirmed: its address has not answered a heartbeat yet";
    assert_eq!(refused.unwrap_err().to_string(), text);
    let mut m = Message::new(0, vec![1]);
    m.path = Some(PathId(1));
    let refused = p.with(Z, |now, e, id| e.send(now, id, m));
    assert_eq!(refused.unwrap_err().to_string(), text);
}

#[test]
fn heartbeats_come_each_interval_and_rto() {
    let mut c = plain();
    c.hb.enabled = true;
    let mut p = Pair::up(1, &c);
    p.timed = true;
    p.run(70_000);
    let at: Vec<String> = p.take_drawings_with(&["A -> HEARTBEAT -> "]);
    let at: Vec<u64> = at
        .iter()
        .map(|d| d.split(' ').next().unwrap().parse().unwrap())
        .collect();
    // HB.interval + RTO after the previous one.
    assert_eq!(at.len(), 2);
    assert_eq!(at[1] - at[0], 31_020);
}

#[test]
fn one_timeout_makes_a_path_suspect_and_data_moves_and_comes_back() {
    let mut c = plain();
    c.hb.enabled = true;
    let mut p = Pair::up(2, &c);
    p.cut(&[0]);
    p.send_many(A, 100, 1);
    p.run(1100);
    assert_eq!(p.path_state(A, 0), PathState::PotentiallyFailed);
    assert_drawn(
        &p.take_drawings_with(&["DATA", "A -> HEARTBEAT"]),
        &[
            "A -> DATA 1 -> lost",
            "A -> HEARTBEAT -> lost",
            "A -> DATA 1 -> Z (path 1)",
        ],
    );
    assert_eq!(p.take_got(Z), [(0, 100)]);
    p.send_many(A, 200, 1);
    assert_drawn(
        &p.take_drawings_with(&["DATA 2"]),
        &["A -> DATA 2 -> Z (path 1)"],
    );
    p.heal();
    p.run(5000);
    // A HEARTBEAT ACK makes the primary active again.
    assert_eq!(p.path_state(A, 0), PathState::Active);
    assert_eq!(switches(&p.take_events(A)), [(0, 1), (1, 0)]);
    p.take_drawings();
    p.send_many(A, 300, 1);
    assert_drawn(&p.take_drawings(), &["A -> DATA 3 -> Z"]);
}

#[test]
fn without_the_suspect_state_a_path_serves_until_pmr_is_exceeded() {
    let mut p = Pair::up(2, &without_pf());
    p.cut(&[0]);
    let start = p.now;
    for i in 0..200 {
        p.send_many(A, 100 + i, 1);
        p.run(500);
        if p.path_state(A, 0) == PathState::Inactive {
            break;
        }
    }
    // 1 + 2 + 4 + 8 + 16 + 32 s (the papers' 63 s).
    let took = p.now.since(start);
    assert!((ms(63_000)..ms(64_000)).contains(&took), "{took:?}");
    assert_eq!(p.path(A, 0).error_count, 6);
    assert_eq!(switches(&p.take_events(A)), [(0, 1)]);
    // A dead path still gets heartbeats, and is active again when it answers.
    p.heal();
    p.with(A, |now, e, id| e.request_heartbeat(now, id, PathId(0)))
        .unwrap();
    p.run(100);
    assert_eq!(p.path_state(A, 0), PathState::Active);
    assert_eq!(switches(&p.take_events(A)), [(1, 0)]);
}

#[test]
fn heartbeats_lost_on_an_idle_path_make_it_inactive_and_nothing_more() {
    let mut c = plain();
    c.hb.enabled = true;
    let mut p = Pair::up(2, &c);
    p.cut(&[1]);
    p.run(3_600_000);
    assert_eq!(p.path_state(A, 1), PathState::Inactive);
    assert_eq!((p.state(A), p.state(Z)), ("ESTABLISHED", "ESTABLISHED"));
}

#[test]
fn a_heartbeat_that_is_answered_after_its_rto_shows_that_the_path_works_and_how_slow_it_is() {
    // Its nonce proves that the answer belongs to it (section 8.3 sets no limit).
    let mut c = plain();
    c.hb.enabled = true;
    c.hb.interval = ms(1000);
    let mut p = Pair::up(2, &c);
    p.hand(|q| match q.text == "HEARTBEAT ACK" && q.path == 1 {
        true => Fate::Late(1500),
        false => Fate::Pass,
    });
    // A -> HEARTBEAT -> Z, Z -> HEARTBEAT ACK -> on its way, taken for lost.
    while p.path(A, 1).error_count == 0 {
        p.run(10);
    }
    let srtt = p.path(A, 1).srtt;
    p.take_observed(A);
    p.run(600);
    let observed = p.take_observed(A);
    let acked = observed.iter().find_map(|o| match o {
        Observation::HeartbeatAcked { path, rtt } => Some((path.0, *rtt)),
        _ => None,
    });
    let (path, rtt) = acked.expect("the late answer counts");
    assert!(path == 1 && rtt > ms(1500), "{path} {rtt:?}");
    assert_eq!(p.path(A, 1).error_count, 0);
    assert!(p.path(A, 1).srtt > srtt, "the round trip is measured");
    // The next heartbeat is answered in time; each answer counts once.
    p.run(20_000);
    assert_eq!(p.path(A, 1).error_count, 0);
    assert_eq!(p.path_state(A, 1), PathState::Active);
    assert_eq!(p.take_discards(A), [""; 0]);
    p.hand(|_| Fate::Twice);
    p.run(20_000);
    let twice = "HEARTBEAT ACK that answers none of ours";
    assert!(p.take_discards(A).contains(&twice));
}

#[test]
fn idle_heartbeats_end_the_association_only_where_they_are_told_to_count() {
    // The primary has no data and no heartbeats, so nothing clears the association's
    // error counter.
    let ended = [false, true].map(|counts| {
        let mut c = plain();
        c.hb.interval = ms(1000);
        c.hb.enabled = true;
        c.failure.idle_heartbeats_count = counts;
        c.failure.association_max_retrans = 4;
        let mut p = Pair::up(2, &c);
        p.with(A, |now, e, id| {
            e.enable_heartbeat(now, id, PathId(0), false)
        })
        .unwrap();
        p.cut(&[1]);
        p.run(600_000);
        p.state(A) == "CLOSED"
    });
    assert_eq!(ended, [false, true]);
}

#[test]
fn errors_on_all_paths_end_the_association() {
    let mut p = Pair::up(2, &plain());
    p.cut(&[0, 1]);
    p.send_many(A, 10, 1);
    p.run(3_600_000);
    assert_eq!(
        loss(&p.take_events(A)),
        "the peer could not be reached on any path (Association.Max.Retrans exceeded)"
    );
}

#[test]
fn the_user_changes_the_primary() {
    let mut p = Pair::up(2, &plain());
    p.with(A, |now, e, id| e.set_primary(now, id, PathId(1)))
        .unwrap();
    p.send_many(A, 10, 1);
    p.run(50);
    assert_drawn(
        &p.take_drawings(),
        &["A -> DATA 1 -> Z (path 1)", "Z -> SACK 1 -> A (path 1)"],
    );
    let changed = Event::PrimaryChanged {
        from: PathId(0),
        to: PathId(1),
    };
    assert!(p.take_events(A).contains(&changed));
    assert!(p.path(A, 1).primary);
}

/// A backup carries data only while no other path is active.
#[test]
fn a_path_that_the_user_lets_rest_is_the_last_resort() {
    let mut c = plain();
    c.hb.enabled = true;
    let mut p = Pair::up(2, &c);
    let backup = |p: &mut Pair, path, backup| {
        p.with(A, |now, e, id| e.set_backup(now, id, PathId(path), backup))
    };
    let sends_on = |p: &mut Pair, path: u8| {
        p.take_drawings();
        p.send_many(A, 10, 1);
        p.run(500);
        let data = p.take_drawings_with(&["DATA"]);
        assert!(data.iter().any(|d| d.contains("A -> DATA")), "{data:?}");
        let other = |d: &&String| d.contains("(path 1)") != (path == 1);
        assert_eq!(data.iter().find(other), None);
    };
    // The primary rests: data goes elsewhere, and back when that ends.
    backup(&mut p, 0, true).unwrap();
    assert!(p.path(A, 0).backup && p.path(A, 0).primary);
    sends_on(&mut p, 1);
    backup(&mut p, 0, false).unwrap();
    sends_on(&mut p, 0);
    // All rest: it is as if none did.
    backup(&mut p, 0, true).unwrap();
    backup(&mut p, 1, true).unwrap();
    sends_on(&mut p, 0);
    backup(&mut p, 1, false).unwrap();
    sends_on(&mut p, 1);
    // The other one fails, and the backup takes over until it is back.
    p.cut(&[1]);
    p.send_many(A, 10, 1);
    p.run(5_000);
    assert_eq!(p.path_state(A, 0), PathState::Active);
    assert_ne!(p.path_state(A, 1), PathState::Active);
    sends_on(&mut p, 0);
    p.heal();
    p.run(60_000);
    assert_eq!(p.path_state(A, 1), PathState::Active);
    sends_on(&mut p, 1);
    // Who is made the primary does not rest.
    p.with(A, |now, e, id| e.set_primary(now, id, PathId(0)))
        .unwrap();
    assert!(!p.path(A, 0).backup);
    sends_on(&mut p, 0);
    backup(&mut p, 7, true).unwrap_err();
}

#[test]
fn a_message_may_name_its_path_as_long_as_that_is_in_order() {
    let mut p = Pair::up(2, &plain());
    let mut m = Message::new(0, vec![0; 10]);
    m.path = Some(PathId(1));
    p.send(A, m.clone());
    assert_drawn(&p.take_drawings(), &["A -> DATA 1 -> Z (path 1)"]);
    p.run(500);
    p.cut(&[1]);
    p.send(A, m.clone());
    p.run(1200);
    p.take_drawings();
    assert_eq!(p.path_state(A, 1), PathState::PotentiallyFailed);
    p.send(A, m);
    assert_drawn(&p.take_drawings_with(&["DATA"]), &["A -> DATA 3 -> Z"]);
}

#[test]
fn the_dormant_rules_where_every_path_is_inactive() {
    // caro-2006 section III.6: the path of each retransmission while nothing answers.
    let used = |dormant| {
        let mut c = without_pf();
        c.failure.path_max_retrans = 0;
        c.failure.association_max_retrans = 8;
        c.failover.dormant = dormant;
        let mut p = Pair::up(3, &c);
        p.cut(&[0, 1, 2]);
        p.send_many(A, 10, 1);
        p.run(500_000);
        let last = |d: &String| d.chars().rev().find(char::is_ascii_digit);
        let on = |d: &String| {
            if d.contains("path") {
                last(d)
            } else {
                Some('0')
            }
        };
        p.take_drawings_with(&["DATA 1 "])
            .iter()
            .filter_map(on)
            .collect::<String>()
    };
    // After the first three transmissions all paths are inactive.
    assert_eq!(used(Dormant::Hop), "012012012");
    assert_eq!(used(Dormant::Primary), "012000000");
    assert_eq!(used(Dormant::Last), "012222222");
    // The fewest errors: each path in turn.
    let least = used(Dormant::LeastErrors);
    for path in ['0', '1', '2'] {
        assert_eq!(least.matches(path).count(), 3, "{least}");
    }
}

#[test]
fn a_failover_becomes_permanent_by_psmr() {
    let mut c = plain();
    c.hb.enabled = true;
    c.failover.primary_switch = PrimarySwitch::Psmr(2);
    let mut p = Pair::up(2, &c);
    p.cut(&[0]);
    p.send_many(A, 10, 1);
    p.run(2000);
    assert!(p.path(A, 0).primary, "one or two errors are not enough");
    p.run(30_000);
    assert!(p.path(A, 1).primary);
    p.heal();
    p.run(200_000);
    assert!(p.path(A, 1).in_use);
    assert_eq!(switches(&p.take_events(A)), [(0, 1)], "it does not go back");
}

#[test]
fn a_failover_becomes_permanent_by_cpt_once_the_primary_is_inactive() {
    let mut c = without_pf();
    c.failure.path_max_retrans = 1;
    c.hb.interval = ms(1000);
    c.hb.enabled = true;
    c.failover.primary_switch = PrimarySwitch::Cpt(4);
    let mut p = Pair::up(2, &c);
    p.cut(&[0]);
    p.send_many(A, 10, 1);
    p.run(5000);
    assert_eq!(p.path_state(A, 0), PathState::Inactive);
    assert!(p.path(A, 0).primary);
    p.run(200_000);
    assert!(p.path(A, 1).primary);
}

#[test]
fn heartbeat_after_rto_asks_the_path_that_timed_out() {
    let mut c = without_pf();
    c.retransmission.after_rto = byway_core::policy::AfterRto::Heartbeat;
    let mut p = Pair::up(2, &c);
    p.lose_once(&["DATA 1"]);
    p.send_many(A, 10, 1);
    p.run(1100);
    assert_drawn(
        &p.take_drawings_with(&["A -> "]),
        &[
            "A -> DATA 1 -> lost",
            "A -> HEARTBEAT -> Z",
            "A -> DATA 1 -> Z (path 1)",
        ],
    );
    let acked = |o: &Observation| matches!(o, Observation::HeartbeatAcked { .. });
    assert!(p.take_observed(A).iter().any(acked));
}

#[test]
fn more_addresses_than_max_paths_do_no_harm() {
    let mut c = plain();
    c.setup.max_paths = 1;
    let mut p = Pair::new(3, &plain());
    p.connect(A, &c);
    p.run(60_000);
    // Z sends heartbeats to all of A's addresses, and A answers from all.
    assert_eq!(p.with(A, |_, e, id| e.paths(id)).len(), 1);
    for path in 0..3 {
        assert_eq!(p.path_state(Z, path), PathState::Active);
    }
    p.with(Z, |now, e, id| e.set_primary(now, id, PathId(2)))
        .unwrap();
    p.send_many(Z, 10, 1);
    p.run(1000);
    assert_eq!(p.take_got(A), [(0, 10)]);
}

/// Z may have one path, sends no heartbeats, and has nothing to send but SACKs. A leaves the
/// address that this path goes to, and does not say so.
// A ===cut=== Z
//  \----------/
#[test]
fn a_peer_that_left_the_only_path_is_followed_although_nothing_is_sent() {
    let mut c = plain();
    c.setup.max_paths = 1;
    c.failure.path_max_retrans = 1;
    let mut p = Pair::of([endpoint(2, A, 1, &plain()), endpoint(2, Z, 2, &c)], 2);
    p.connect(A, &plain());
    p.run(5000);
    p.cut(&[0]);
    p.send_many(A, 1000, 20);
    p.run(60_000);
    assert_eq!(p.take_got(Z).len(), 20);
    let paths = p.with(Z, |_, e, id| e.paths(id));
    assert_eq!(paths.len(), 1);
    assert_eq!(paths[0].remote, address(1, A));
    // The SACKs arrive, too.
    let acked = p.with(A, |_, e, id| e.stats(id).map(|s| s.bytes_acked));
    assert_eq!(acked, Some(20_000));
}

#[test]
fn without_verification_every_address_is_good_at_once_and_has_rto_initial() {
    // RFC 2960: no heartbeat before HB.interval, so an idle path has no sample.
    let mut c = Config::rfc2960();
    c.setup.confirm_all_before_data = false;
    c.setup.verify_addresses = false;
    let mut p = Pair::up(2, &c);
    assert_eq!(p.path_state(A, 1), PathState::Active);
    assert_eq!(p.path(A, 1).rto, c.rto.initial);
    p.take_drawings();
    p.send_many(A, 1452, 1);
    p.run(60);
    let drawn = p.take_drawings();
    assert_eq!(
        drawn.first().map(String::as_str),
        Some("A -> DATA 1 -> Z"),
        "{drawn:?}"
    );
}

// TSN 1 leaves on path 1, 2 and 3 on path 0. The peer takes 2 back, then acknowledges 1
// and 3: T3-rtx of path 0 must still wait for 2.
#[test]
fn what_the_peer_takes_back_keeps_its_t3() {
    let mut p = Pair::up(2, &plain());
    p.lose(|_| true);
    for path in [1, 0, 0] {
        let mut m = Message::new(0, vec![0; 1400]);
        m.path = Some(PathId(path));
        p.send(A, m);
    }
    p.timed = true;
    p.take_drawings();
    let sack = |p: &mut Pair, cumulative: u32, gaps: &[(u16, u16)]| {
        let tsn = p.reader.tsn(A, cumulative);
        p.inject(A, 0, |b| b.sack(tsn, 1 << 20, gaps, &[]));
    };
    sack(&mut p, 0, &[(2, 2)]);
    sack(&mut p, 0, &[]);
    sack(&mut p, 1, &[(2, 2)]);
    assert_eq!(p.path(A, 0).flight, 1416);
    p.run(1500);
    let again = p.take_drawings_with(&["DATA 2"]);
    assert!(!again.is_empty(), "T3-rtx expires");
}

// A peer may put more than one parameter into a HEARTBEAT: all come back (section 3.3.6).
#[test]
fn a_heartbeat_ack_returns_all_that_the_heartbeat_contained() {
    let mut p = Pair::up(1, &plain());
    let value = [0, 1, 0, 8, 1, 2, 3, 4, 0x40, 9, 0, 6, 7, 8];
    p.inject(Z, 0, |b| {
        b.raw(byway_wire::chunk_type::HEARTBEAT, 0, &value);
    });
    let answer = &p.sent.last().unwrap().bytes;
    assert_eq!(answer[12..16], [5, 0, 0, 18]);
    assert_eq!(answer[16..30], value);
}

// The round trip is longer than the first RTO, one lost heartbeat fails a path, and there are no
// others: without this, SACKs would go to the other address for ever, which may be gone.
#[test]
fn an_address_that_failed_before_it_was_verified_is_verified_when_it_is_heard() {
    let mut hasty = plain();
    hasty.failure.path_max_retrans = 0;
    let mut p = Pair::of([endpoint(2, A, 1, &plain()), endpoint(2, Z, 2, &hasty)], 2);
    p.lose(|q| q.text == "HEARTBEAT" && q.path == 1);
    p.connect(A, &plain());
    p.run(4000);
    assert_eq!(p.path_state(Z, 1), PathState::Inactive);
    p.heal();
    p.take_drawings();
    p.with(A, |now, e, id| e.set_primary(now, id, PathId(1)))
        .unwrap();
    p.send_many(A, 100, 1);
    p.run(100);
    assert_drawn(
        &p.take_drawings(),
        &[
            "A -> DATA 1 -> Z (path 1)",
            "Z -> HEARTBEAT -> A (path 1)",
            "Z -> SACK 1 -> A",
            "A -> HEARTBEAT ACK -> Z (path 1)",
        ],
    );
    assert_eq!(p.path_state(Z, 1), PathState::Active);
}

/// The user knows which card is the cheap one.
#[test]
fn the_user_chooses_the_source_of_a_path() {
    let mut p = Pair::up(2, &plain());
    let source = |p: &mut Pair| {
        p.send_many(A, 10, 1);
        p.run(500);
        let all = core::mem::take(&mut p.sent);
        all.iter()
            .find(|q| q.text.contains("DATA"))
            .map(|q| q.source)
    };
    assert_eq!(source(&mut p), Some(address(0, A)));
    let other = address(1, A).ip();
    let (zero, far) = (PathId(0), address(1, Z).ip());
    p.with(A, |now, e, id| e.set_source(now, id, zero, other))
        .unwrap();
    assert_eq!(source(&mut p), Some(address(1, A)));
    assert_eq!(p.path(A, 0).local, address(1, A));
    for (path, local, expected) in [
        (
            PathId(2),
            other,
            "path 2 does not exist; the association has paths 0 to 1",
        ),
        (
            zero,
            far,
            "10.1.0.2 cannot be the source of path 0: it is not a local address of its family",
        ),
    ] {
        let error = p.with(A, |now, e, id| e.set_source(now, id, path, local));
        assert_eq!(error.unwrap_err().to_string(), expected);
    }
    assert_eq!(source(&mut p), Some(address(1, A)));
}

/// Ways from some of A's addresses, whatever the destination.
struct Ways(Arc<Mutex<Vec<SocketAddr>>>);

impl Routes for Ways {
    fn source(&mut self, local: &[SocketAddr], _: IpAddr) -> Option<usize> {
        let led = self.0.lock().unwrap();
        local.iter().position(|l| led.contains(l))
    }

    fn leads(&mut self, local: SocketAddr, _: IpAddr) -> bool {
        self.0.lock().unwrap().contains(&local)
    }
}

/// A has two cards, and only the second one has a way, first while the INIT is under way, and then while the
/// association stands.
#[test]
fn a_path_whose_source_has_no_way_any_more_leaves_from_another_one() {
    for established in [false, true] {
        let led = Arc::new(Mutex::new(vec![address(0, A)]));
        let ends = [endpoint(2, A, 1, &plain()), endpoint(1, Z, 2, &plain())];
        let mut p = Pair::of(ends, 2);
        p.ends[A].set_routes(Box::new(Ways(Arc::clone(&led))));
        p.lose(move |q| !established && q.source == address(0, A));
        p.connect_to(A, &addresses(1, Z), &plain());
        p.run(if established { 500 } else { 100 });
        *led.lock().unwrap() = vec![address(1, A)];
        p.sent.clear();
        p.with(A, |now, e, _| e.ask_routes_again(now, 0, 8));
        if established {
            p.send_many(A, 100, 1);
            p.run(100);
            assert_eq!(p.take_got(Z).len(), 1);
        }
        p.run(3000);
        assert_eq!(p.state(A), "ESTABLISHED");
        assert_eq!(p.path(A, 0).local, address(1, A));
        // HEARTBEATs to the address without a way are answered from there.
        let others = p
            .sent
            .iter()
            .filter(|q| q.from == A && q.text != "HEARTBEAT ACK");
        let from: Vec<_> = others.map(|q| q.source).collect();
        assert!(
            !from.is_empty() && from.iter().all(|s| *s == address(1, A)),
            "{from:?}"
        );
    }
}
