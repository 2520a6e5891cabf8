//! Path MTU discovery (RFC 8899; `policy/mtu_discovery.rs`). A round trip takes 20 ms.

use crate::common::{A, Fate, PORTS, Pair, Z, address_of_ipv6, ms, probing};
use byway_core::config::{Config, Pmtu};
use byway_core::policy::MtuDiscovery;
use byway_core::{Endpoint, EndpointConfig, Observation, Routes, SendFailure};
use core::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

fn searching() -> Config {
    let mut c = probing();
    c.mtu_discovery = Some(MtuDiscovery::default());
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

/// The first cwnd is that of packets of 1200 bytes. One of 9000 fills it, beside a small message.
#[test]
fn a_packet_that_alone_fills_cwnd_waits_for_no_second_one() {
    let mut p = over(9000, 9000);
    assert_eq!(p.path(A, 0).pmtu, 9000);
    assert!(p.path(A, 0).cwnd < 8900);
    p.send_many(A, 16, 1);
    p.send_many(A, 50_000, 1);
    // A -> DATA 16, DATA 9000 (I) -> Z
    // A <- SACK <- Z, and five round trips in slow start. A delayed SACK takes 200 ms alone.
    p.run(150);
    assert_eq!(p.take_got(Z).len(), 2);
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

/// Routes over interfaces with this MTU; 0 is not known.
struct Interface(Arc<AtomicU32>);

impl Routes for Interface {
    fn source(&mut self, local: &[SocketAddr], _: IpAddr) -> Option<usize> {
        (!local.is_empty()).then_some(0)
    }

    fn interface_mtu(&mut self, _: SocketAddr, _: IpAddr) -> Option<u32> {
        let mtu = self.0.load(Ordering::Relaxed);
        (mtu > 0).then_some(mtu)
    }
}

/// A pair whose interfaces have a certain MTU, over a network of `passes`, with this bound of
/// the user's.
fn with_interface(mtu: u32, passes: usize, pmtu: Pmtu) -> (Pair, Arc<AtomicU32>) {
    let mut c = searching();
    c.pmtu = pmtu;
    let mut p = Pair::new(1, &c);
    let interface = Arc::new(AtomicU32::new(mtu));
    for end in &mut p.ends {
        end.set_routes(Box::new(Interface(interface.clone())));
    }
    narrow(&mut p, passes);
    p.connect(A, &c);
    p.run(200);
    (p, interface)
}

/// The routes have changed.
fn tell(p: &mut Pair, side: usize) {
    p.with(side, |now, e, _| {
        e.forget_routes();
        assert_eq!(e.ask_routes_again(now, 0, 10), None);
    });
}

#[test]
fn a_path_grows_to_the_mtu_of_its_interface_with_nothing_set() {
    for (interface, passes, pmtu, found) in [
        (1500, 1500, Pmtu::INTERFACE, 1500),
        (9000, 9000, Pmtu::INTERFACE, 9000),
        (8900, 9000, Pmtu::INTERFACE, 8900),
        (1400, 9000, Pmtu::INTERFACE, 1400),
        (1000, 9000, Pmtu::INTERFACE, 1000),
        // What the user sets is an upper bound, also where the interface takes more.
        (9000, 9000, Pmtu(1300), 1300),
        (1400, 9000, Pmtu(9000), 1400),
        // Nobody knows the interface.
        (0, 9000, Pmtu::INTERFACE, 1500),
        (0, 9000, Pmtu(9000), 9000),
    ] {
        let (mut p, _) = with_interface(interface, passes, pmtu);
        let name = format!("{interface} {passes} {}", pmtu.0);
        assert_eq!(p.path(A, 0).pmtu, found, "{name}");
        // Nothing larger than the interface takes was tried.
        let most = p.sent.iter().map(|q| q.bytes.len() + 20).max();
        assert!(most <= Some(found as usize), "{name}: {most:?}");
        p.send_many(A, 20_000, 10);
        p.run(300);
        assert_eq!(p.take_got(Z).len(), 10, "{name}");
    }
}

#[test]
fn an_interface_whose_mtu_changes_in_mid_transfer_is_followed() {
    let (mut p, interface) = with_interface(1500, 9000, Pmtu::INTERFACE);
    p.send_many(A, 5000, 20);
    p.run(5);
    interface.store(9000, Ordering::Relaxed);
    tell(&mut p, A);
    p.run(200);
    assert_eq!(p.path(A, 0).pmtu, 9000, "without the raise timer of 600 s");
    p.send_many(A, 5000, 40);
    p.run(5);
    interface.store(1400, Ordering::Relaxed);
    narrow(&mut p, 1400);
    tell(&mut p, A);
    p.run(300);
    assert_eq!(p.path(A, 0).pmtu, 1400);
    assert_eq!(p.take_got(Z).len(), 60);
}

/// Over IPv6 the host alone fragments, and only what its interface would not take.
#[test]
fn a_black_hole_of_ipv6_in_mid_transfer_is_left() {
    for (known, interface, pmtu, falls) in [
        (1500, 1500, Pmtu::INTERFACE, 1280),
        (9000, 9000, Pmtu::INTERFACE, 1280),
        (9000, 9000, Pmtu(1400), 1300),
        // Nobody knows the interface.
        (0, 1500, Pmtu::INTERFACE, 1400),
    ] {
        let name = format!("{known} {} {falls}", pmtu.0);
        let mut p = pair_of_ipv6(known, pmtu);
        p.run(200);
        assert!(p.path(A, 0).pmtu > falls, "{name}");
        p.send_many(A, 20_000, 10);
        p.run(5);
        p.hand(move |q| {
            let ip = q.bytes.len() + 40;
            match ip > falls as usize && !(q.may_fragment && ip > interface) {
                true => Fate::Lose,
                false => Fate::Pass,
            }
        });
        p.send_many(A, 20_000, 10);
        p.run(3000);
        assert_eq!(p.take_got(Z).len(), 20, "{name}");
        let fragmented: Vec<_> = p.sent.iter().filter(|q| q.may_fragment).collect();
        assert!(!fragmented.is_empty(), "{name}");
        for q in fragmented {
            assert!(q.bytes.len() + 40 <= interface + 4, "{name}: {}", q.text);
            assert_eq!(q.text.matches("DATA").count(), 1, "{name}: {}", q.text);
        }
    }
}

fn pair_of_ipv6(interface: u32, pmtu: Pmtu) -> Pair {
    let mut c = searching();
    c.pmtu = pmtu;
    let end = |side: usize| {
        let own = vec![address_of_ipv6(0, side)];
        let mut end = Endpoint::new(EndpointConfig {
            accepted: c.clone(),
            observe: true,
            ..EndpointConfig::new(PORTS[side], own, [side as u8; 32])
        })
        .unwrap();
        end.set_routes(Box::new(Interface(Arc::new(interface.into()))));
        end
    };
    let mut p = Pair::of([end(A), end(Z)], 1);
    p.connect_to(A, &[address_of_ipv6(0, Z)], &c);
    p
}
