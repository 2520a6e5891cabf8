//! Outages of all paths: how the RTO backs off, and the way back
//! (`policy/revival.rs`). A round trip takes 20 ms here.

use crate::address_changes::{Changing, OwnNetworks, change};
use crate::common::{A, Fate, Pair, Z, assert_drawn, ms, plain};
use byway_core::PathState;
use byway_core::config::Config;
use byway_core::policy::{EstimateConfig, Revival};

fn beating() -> Config {
    let mut c = plain();
    c.hb.enabled = true;
    c
}

fn reviving() -> Config {
    let mut c = beating();
    c.failover.revival = Some(Revival::default());
    c.failure.association_max_retrans = 20;
    c
}

// Both T3-rtx and the heartbeats of the potentially failed state doubled the RTO: sendings
// at 0, 1, 3, 11 and 43 s.
#[test]
fn one_silence_doubles_the_rto_once() {
    let mut p = Pair::up(1, &beating());
    p.timed = true;
    p.cut(&[0]);
    p.send_many(A, 100, 1);
    p.run(40_000);
    assert_drawn(
        &p.take_drawings_with(&["A -> DATA", "A -> HEARTBEAT"]),
        &[
            "4000 ms A -> DATA 1 -> lost",
            "5000 ms A -> HEARTBEAT -> lost",
            "5000 ms A -> DATA 1 -> lost",
            "7000 ms A -> HEARTBEAT -> lost",
            "7000 ms A -> DATA 1 -> lost",
            "11000 ms A -> HEARTBEAT -> lost",
            "11000 ms A -> DATA 1 -> lost",
            "19000 ms A -> HEARTBEAT -> lost",
            "19000 ms A -> DATA 1 -> lost",
            "35000 ms A -> HEARTBEAT -> lost",
            "35000 ms A -> DATA 1 -> lost",
        ],
    );
    assert_eq!(p.path(A, 0).error_count, 5);
}

#[test]
fn delivery_resumes_within_a_second_of_the_first_paths_return() {
    for (paths, outage) in [
        (1, 5_000),
        (1, 30_000),
        (2, 5_000),
        (2, 30_000),
        (2, 180_000),
    ] {
        for (sender, back) in [(A, 0), (Z, 0), (A, paths - 1)] {
            let mut p = Pair::up(paths, &reviving());
            p.send_many(sender, 1000, 50);
            p.run(35);
            p.cut(&[0, 1]);
            p.send_many(sender, 1000, 50);
            p.run(outage);
            let before = p.take_got(1 - sender).len();
            assert!(before < 100);
            // One path only comes back.
            p.lose(move |q| q.path != back);
            p.run(1000);
            let after = p.take_got(1 - sender).len();
            assert_eq!(
                before + after,
                100,
                "{paths} paths, {outage} ms, sender {sender}, back {back}"
            );
        }
    }
}

// The return falls on every phase of the T3-rtx and of the heartbeats: what brings the path back may be a SACK, and
// then the answer to the heartbeat finds it active.
#[test]
fn delivery_resumes_in_time_whatever_brings_the_path_back() {
    for phase in 0..300 {
        for (paths, back) in [(1, 0), (2, 0), (2, 1)] {
            let mut p = Pair::up(paths, &Config::byway());
            p.send_many(A, 1000, 50);
            p.run(35);
            p.cut(&[0, 1]);
            p.send_many(A, 1000, 50);
            let outage = 6_000 + 10 * phase;
            p.run(outage);
            let before = p.take_got(Z).len();
            p.lose(move |q| q.path != back);
            p.run(1000);
            let after = p.take_got(Z).len();
            assert_eq!(
                before + after,
                100,
                "{paths} paths, {outage} ms, back {back}"
            );
        }
    }
}

/// Both cards of a host went, and one comes back. The answer to its ASCONF is the first sign of life: what was on its way
/// when the cards went leaves at once, and does not wait for a T3-rtx that has backed off. The drill `outage` has the other
/// card, too: there the host refuses what has no way.
#[test]
fn delivery_resumes_when_a_card_of_a_dead_host_comes_back() {
    for outage in [1_000, 7_000, 20_000, 20_500, 180_000] {
        let c = Config::byway();
        let mut p = Changing { a: 2, z: 2 }.begin(&c, &c);
        p.ends[A].set_routes(Box::new(OwnNetworks));
        p.run(4000);
        p.send_many(A, 1000, 50);
        p.run(35);
        change(&mut p, A, &[], &[0]);
        p.run(25);
        p.cut(&[0, 1]);
        p.send_many(A, 1000, 50);
        p.run(outage);
        let before = p.take_got(Z).len();
        p.lose(|q| q.path != 0);
        p.take_drawings();
        change(&mut p, A, &[0], &[1]);
        p.run(1000);
        let after = p.take_got(Z).len();
        let drawn = p.take_drawings();
        assert_eq!(before + after, 100, "after {outage} ms: {drawn:#?}");
    }
}

/// With `failover.estimate` a probe may be the first packet that is answered: the heartbeat before it is lost, and the next one
/// finds the path active. What was on its way on the dead path leaves with the answer to the probe, and does not wait for a
/// T3-rtx that has backed off.
#[test]
fn a_probe_of_the_estimates_that_is_answered_ends_an_outage() {
    let mut c = Config::byway();
    c.failover.estimate = Some(EstimateConfig {
        probe_share: 1.0,
        ..EstimateConfig::default()
    });
    let mut p = Pair::up(2, &c);
    p.timed = true;
    p.send_many(A, 1000, 50);
    p.run(1000);
    p.cut(&[0, 1]);
    p.send_many(A, 1000, 1);
    p.run(1700);
    // Path 1 carries again just before the probe leaves.
    let mut lost = 0;
    p.lose(move |q| {
        let before = q.path == 1 && q.from == A && lost < 2;
        lost += u32::from(before);
        q.path == 0 || before
    });
    p.take_drawings();
    p.run(1000);
    assert_drawn(
        &p.take_drawings()[..9],
        &[
            "7582 ms A -> HEARTBEAT -> lost (path 1)",
            "7582 ms A -> HEARTBEAT, PAD -> lost (path 1)",
            "7582 ms A -> DATA 51 I -> lost",
            "7582 ms A -> HEARTBEAT -> Z (path 1)",
            "7592 ms Z -> HEARTBEAT ACK -> A (path 1)",
            "7602 ms A -> HEARTBEAT -> Z (path 1)",
            "7602 ms A -> DATA 51 I -> Z (path 1)",
            "7612 ms Z -> HEARTBEAT ACK -> A (path 1)",
            "7612 ms Z -> SACK 51 -> A (path 1)",
        ],
    );
}

// The same with nothing set, and an outage of three minutes.
#[test]
fn the_preset_byway_outlives_three_minutes() {
    for paths in [1, 2] {
        for sender in [A, Z] {
            let mut p = Pair::up(paths, &Config::byway());
            p.send_many(sender, 1000, 50);
            p.run(35);
            p.cut(&[0, 1]);
            p.send_many(sender, 1000, 50);
            p.run(180_000);
            let before = p.take_got(1 - sender).len();
            p.heal();
            p.run(1000);
            let after = p.take_got(1 - sender).len();
            assert_eq!(before + after, 100, "{paths} paths, sender {sender}");
        }
    }
}

#[test]
fn hearing_the_peer_on_a_failed_path_probes_it_at_once() {
    let mut p = Pair::up(2, &reviving());
    p.cut(&[0, 1]);
    p.send_many(A, 1000, 1);
    p.run(100_130);
    // Our packets are lost still, the peer's arrive again.
    p.hand(|q| if q.from == A { Fate::Lose } else { Fate::Pass });
    p.take_drawings();
    let at = p.now;
    p.inject(A, 1, |b| b.heartbeat(&[1; 17]));
    let drawn = p.take_drawings();
    assert!(p.now.since(at) < ms(1));
    assert_drawn(
        &drawn,
        &[
            "A -> HEARTBEAT ACK -> lost (path 1)",
            "A -> HEARTBEAT -> lost (path 1)",
        ],
    );
}

// Both sides verify one listed address per RTO. When all else dies before that is done, the peer may be heard at an
// address that was not verified, where not even a SACK may go until it is.
#[test]
fn hearing_the_peer_at_an_address_that_is_not_verified_yet_probes_it_at_once() {
    let mut p = Pair::new(3, &reviving());
    p.lose(|q| q.path == 2);
    p.connect(A, &reviving());
    p.run(5000);
    assert_eq!(p.path_state(Z, 2), PathState::Unconfirmed);
    p.hand(|q| if q.path == 2 { Fate::Pass } else { Fate::Lose });
    p.take_drawings();
    let at = p.now;
    p.inject(Z, 2, |b| b.heartbeat(&[1; 17]));
    p.run(20);
    assert!(p.now.since(at) <= ms(20));
    assert_drawn(
        &p.take_drawings(),
        &[
            "Z -> HEARTBEAT ACK -> A (path 2)",
            "Z -> HEARTBEAT -> A (path 2)",
            "A -> HEARTBEAT ACK -> Z (path 2)",
        ],
    );
    assert_eq!(p.path_state(Z, 2), PathState::Active);
}

// As long as docs/networks.md says, and the command to who waits (byway-cli, `patience.rs`). Data waits on one path after the
// other, so one error follows the other. The heartbeats of RFC 9260 double the RTO of the path that has no data meanwhile;
// those of the revival do not.
#[test]
fn an_outage_ends_an_association_after_the_time_that_is_told() {
    for (config, seconds) in [
        (Config::byway(), [963, 726, 489, 252]),
        (Config::rfc9260(), [363, 304, 245, 186]),
    ] {
        for (paths, told) in (1..).zip(seconds) {
            let mut p = Pair::up(paths, &config);
            p.cut(&[0, 1, 2, 3]);
            p.send_many(A, 1000, 1);
            p.run(1000 * (told - 3));
            assert_eq!(p.state(A), "ESTABLISHED", "{paths} paths, {told} s");
            p.run(6000);
            assert_eq!(p.state(A), "CLOSED", "{paths} paths, {told} s");
            // Who only receives has its heartbeats to count, and does not end it before.
            assert_eq!(p.state(Z), "ESTABLISHED", "{paths} paths, {told} s");
        }
    }
}

// The heartbeats of an outage are no errors, or the association would end in seconds.
#[test]
fn an_association_survives_an_outage_as_long_as_without_revival() {
    for c in [beating(), reviving()] {
        let mut c = c;
        c.failure.association_max_retrans = 10;
        let mut p = Pair::up(1, &c);
        p.cut(&[0]);
        p.send_many(A, 1000, 1);
        p.run(300_000);
        assert_eq!(p.state(A), "ESTABLISHED");
        p.run(300_000);
        assert_eq!(p.state(A), "CLOSED");
    }
}

/// The data of Z stops. A, which connected, asks after 300 ms, and each half second until it hears something.
#[test]
fn who_connected_asks_when_a_flow_stops() {
    let asks = |messages: usize, every: u64, sender: usize, cut: bool| {
        let mut p = Pair::up(1, &reviving());
        for _ in 0..messages {
            p.send_many(sender, 1000, 1);
            p.run(every);
        }
        p.run(40 - every.min(40));
        if cut {
            p.cut(&[0]);
            p.send_many(sender, 1000, 1);
        }
        p.timed = true;
        p.take_drawings();
        p.run(2000);
        let receiver = if sender == A {
            "Z -> HEARTBEAT ->"
        } else {
            "A -> HEARTBEAT ->"
        };
        p.take_drawings_with(&[receiver]).len()
    };
    // A sender that has nothing more to send answers the first one.
    assert_eq!(asks(20, 2, Z, false), 1);
    // One that is not heard is asked at 300, 600, 1100 and 1600 ms, and once more by the RTO of the first.
    assert!(
        (4..=6).contains(&asks(20, 2, Z, true)),
        "{}",
        asks(20, 2, Z, true)
    );
    // Single messages are no flow, and few are none.
    assert_eq!(asks(30, 400, Z, false), 0);
    assert_eq!(asks(10, 2, Z, false), 0);
    // Who accepted does not ask.
    assert_eq!(asks(20, 2, A, false), 0);
}
