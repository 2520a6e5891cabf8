//! Path MTU discovery (RFC 8899; `policy/mtu_discovery.rs`). A round trip takes 20 ms.

use crate::common::{A, Fate, Pair, Z, ms, plain};
use byway_core::config::Config;
use byway_core::policy::{MtuDiscovery, ProbeTimeout, Rack};
use byway_core::{Observation, SendFailure};

fn searching() -> Config {
    let mut c = plain();
    c.mtu_discovery = Some(MtuDiscovery::default());
    c.retransmission.rack = Some(Rack::default());
    c.failover.probe_timeout = Some(ProbeTimeout {
        tail_probe: true,
        ..ProbeTimeout::default()
    });
    c
}

/// Loses what is larger than `mtu` and may not be fragmented, without a word.
fn narrow(p: &mut Pair, mtu: usize) {
    p.hand(move |q| {
        if q.bytes.len() + 20 > mtu && !q.may_fragment {
            Fate::Lose
        } else {
            Fate::Pass
        }
    });
}

fn sizes(p: &mut Pair, side: usize) -> Vec<u32> {
    let size = |o: Observation| match o {
        Observation::PathMtu { bytes, .. } => Some(bytes),
        _ => None,
    };
    p.take_observed(side).into_iter().filter_map(size).collect()
}

/// A pair that is connected over a network of this MTU.
fn over(mtu: usize, pmtu: u32) -> Pair {
    let mut c = searching();
    c.pmtu.0 = pmtu;
    let mut p = Pair::new(1, &c);
    narrow(&mut p, mtu);
    p.connect(A, &c);
    p.run(100);
    p
}

#[test]
fn two_round_trips_find_the_size_of_an_ordinary_network() {
    let mut p = over(1500, 1500);
    assert_eq!(sizes(&mut p, A), [1500]);
    assert_eq!(p.path(A, 0).pmtu, 1500);
}

#[test]
fn every_network_is_found_and_passes_data_from_the_start() {
    for mtu in [1000, 1280, 1400, 1480, 1492, 1500, 9000] {
        let mut p = over(mtu, 9000);
        p.send_many(A, 5000, 40);
        p.run(2500);
        assert_eq!(p.take_got(Z).len(), 40, "MTU {mtu}");
        p.run(8000);
        let found = p.path(A, 0).pmtu as usize;
        assert!(found <= mtu && mtu - found < 16, "MTU {mtu}: {found}");
    }
}

#[test]
fn a_black_hole_in_mid_transfer_is_noticed_and_left() {
    for mtu in [1000, 1280, 1400] {
        let mut p = over(1500, 1500);
        p.send_many(A, 5000, 30);
        p.run(95);
        narrow(&mut p, mtu);
        p.send_many(A, 5000, 30);
        p.run(2000);
        assert_eq!(p.take_got(Z).len(), 60, "MTU {mtu}");
        p.run(5000);
        let found = p.path(A, 0).pmtu as usize;
        assert!(found <= mtu && mtu - found < 16, "MTU {mtu}: {found}");
    }
}

#[test]
fn a_dead_path_keeps_its_size() {
    let mut p = over(1500, 1500);
    p.cut(&[0]);
    p.send_many(A, 1400, 3);
    p.run(3000);
    p.heal();
    p.run(10_000);
    assert_eq!(p.path(A, 0).pmtu, 1500);
    assert_eq!(p.take_got(Z).len(), 3);
}

#[test]
fn what_the_kernel_refuses_counts_at_once() {
    let mut p = over(1400, 1500);
    let before = p.now;
    // Probes of 1500, 1492, 1480 and 1420 bytes.
    for _ in 0..4 {
        let probe = p
            .sent
            .iter()
            .rfind(|q| q.from == A && q.text.contains("PAD"));
        let bytes = probe.unwrap().bytes.clone();
        p.with(A, |now, e, _| {
            let to = crate::common::address(0, Z);
            e.send_failed(now, to, &bytes, SendFailure::TooLarge);
        });
    }
    assert!(p.now.since(before) < ms(1));
    p.run(25);
    assert_eq!(p.path(A, 0).pmtu, 1400);
}

#[test]
fn an_address_without_a_route_is_left_at_once() {
    let mut p = Pair::up(2, &searching());
    p.send_many(A, 1000, 1);
    let bytes = p.sent.last().unwrap().bytes.clone();
    p.cut(&[0]);
    p.send_many(A, 1000, 3);
    p.take_drawings();
    p.with(A, |now, e, _| {
        let to = crate::common::address(0, Z);
        e.send_failed(now, to, &bytes, SendFailure::Unreachable);
    });
    let drawn = p.take_drawings();
    assert!(
        drawn
            .iter()
            .any(|d| d.contains("DATA") && d.contains("(path 1)")),
        "{drawn:?}"
    );
    p.run(100);
    assert_eq!(p.take_got(Z).len(), 4);
}
