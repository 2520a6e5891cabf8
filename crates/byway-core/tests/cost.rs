//! What costs the square of the associations if it is written carelessly costs their number: four
//! times as many cost about four times as much, and not sixteen times. Costs are the processor time
//! of the thread, so a busy machine does not change them much, and no bound is a time.
#![cfg(unix)]

use byway_core::time::Instant;
use byway_core::{AssocId, Config, Endpoint, EndpointConfig, Event};
use core::net::{Ipv4Addr, SocketAddr};
use rustix::time::{ClockId, clock_gettime};

const FEW: u32 = 5000;

/// Between four and sixteen.
const MOST_TIMES: f64 = 9.0;

fn processor_seconds() -> f64 {
    let t = clock_gettime(ClockId::ThreadCPUTime);
    t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
}

/// An endpoint with so many associations, whose events nobody has taken.
fn crowd(associations: u32) -> (Endpoint, Vec<AssocId>) {
    let local = SocketAddr::from(([10, 0, 0, 1], 9899));
    let mut endpoint = Endpoint::new(EndpointConfig::new(1, vec![local], [7; 32])).unwrap();
    let config = Config::byway();
    let ids = (0..associations).map(|n| {
        let remote = SocketAddr::from((Ipv4Addr::from_bits(0x0a10_0000 + n), 9899));
        let connected = endpoint.connect(Instant::ZERO, &[remote], 1, config.clone());
        connected.unwrap()
    });
    let ids = ids.collect();
    (endpoint, ids)
}

/// The least processor time of some runs.
fn cost(associations: u32, work: fn(&mut Endpoint, &[AssocId])) -> f64 {
    let run = |_| {
        let (mut endpoint, ids) = crowd(associations);
        let begun = processor_seconds();
        work(&mut endpoint, &ids);
        processor_seconds() - begun
    };
    (0..3).map(run).fold(f64::INFINITY, f64::min)
}

fn end_all(endpoint: &mut Endpoint, ids: &[AssocId]) {
    for id in ids {
        endpoint.abort(Instant::ZERO, *id, b"enough").unwrap();
    }
}

/// R23: the events of what is released were searched for at each release.
fn release_all(endpoint: &mut Endpoint, ids: &[AssocId]) {
    end_all(endpoint, ids);
    for id in ids {
        endpoint.release(Instant::ZERO, *id);
    }
    assert_eq!(endpoint.poll_event(), None);
}

fn end_and_hear(endpoint: &mut Endpoint, ids: &[AssocId]) {
    end_all(endpoint, ids);
    let lost = std::iter::from_fn(|| endpoint.poll_event())
        .filter(|(_, event)| matches!(event, Event::Lost { .. }));
    assert_eq!(lost.count(), ids.len());
}

#[test]
fn many_ends_at_once_cost_their_number_and_not_its_square() {
    type Work = fn(&mut Endpoint, &[AssocId]);
    let works: [(&str, Work); 2] = [
        ("ends and releases", release_all),
        ("ends and events", end_and_hear),
    ];
    for (what, work) in works {
        // Who shares the caches of the processor may slow one of them down; the square shows always.
        let linear = (0..5).any(|_| {
            let (few, many) = (cost(FEW, work), cost(4 * FEW, work));
            let times = many / few;
            println!("{what}: {few:.4} s, then {many:.4} s, {times:.1} times");
            times < MOST_TIMES
        });
        assert!(linear, "{what}: the lines above");
    }
}
