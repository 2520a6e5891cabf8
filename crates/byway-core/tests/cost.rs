//! What costs the square of the associations if it is written carelessly costs their number: four
//! times as many cost about four times as much, and not sixteen times. Costs are the processor time
//! of the thread, so a busy machine does not change them much, and no bound is a time.
#![cfg(unix)]

#[allow(dead_code, reason = "most of it is for drawings")]
mod common;

use byway_core::config::InitialCwnd;
use byway_core::time::Instant;
use byway_core::{AssocId, Config, Endpoint, EndpointConfig, Event};
use common::{A, Pair, Z, plain};
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

/// Whether four times as much costs less than `MOST_TIMES` as much.
fn is_linear(what: &str, cost: impl Fn(u32) -> f64) -> bool {
    // Who shares the caches of the processor may slow one of them down; the square shows always.
    (0..5).any(|_| {
        let (few, many) = (cost(1), cost(4));
        let times = many / few;
        println!("{what}: {few:.4} s, then {many:.4} s, {times:.1} times");
        times < MOST_TIMES
    })
}

#[test]
fn many_ends_at_once_cost_their_number_and_not_its_square() {
    type Work = fn(&mut Endpoint, &[AssocId]);
    let works: [(&str, Work); 2] = [
        ("ends and releases", release_all),
        ("ends and events", end_and_hear),
    ];
    for (what, work) in works {
        let linear = is_linear(what, |times| cost(times * FEW, work));
        assert!(linear, "{what}: the lines above");
    }
}

/// Gap blocks of a SACK, for so many chunks that are outstanding.
type Blocks = fn(n: u16, outstanding: u16) -> (u16, u16);

/// What it costs to hear a SACK of 4,000 gap blocks while 250 chunks are outstanding, or of so many times both: the least
/// of some.
fn cost_of_sack(times: u16, blocks: Blocks) -> f64 {
    let (outstanding, count) = (times * 250, times * 4000);
    let mut config = plain();
    config.congestion.initial_cwnd = InitialCwnd::Pmdcs(100);
    let mut p = Pair::up(1, &config);
    p.lose(|q| q.from == Z);
    p.send_many(A, 4, usize::from(outstanding));
    assert!(
        p.path(A, 0).flight >= u32::from(outstanding) * 4,
        "all have left"
    );
    let blocks: Vec<(u16, u16)> = (0..count).map(|n| blocks(n, outstanding)).collect();
    let tsn = p.reader.tsn(A, 0);
    let run = |_| {
        let begun = processor_seconds();
        p.inject(A, 0, |b| b.sack(tsn, 1 << 20, &blocks, &[]));
        processor_seconds() - begun
    };
    (0..8).map(run).fold(f64::INFINITY, f64::min)
}

/// 22: each block was looked for among all chunks.
#[test]
fn gap_blocks_without_end_cost_their_number_and_not_times_what_is_outstanding() {
    let rows: [(&str, Blocks); 4] = [
        ("one block again and again", |_, all| (2, all)),
        ("each chunk by itself, again and again", |n, all| {
            (2 + n % (all - 1), 2 + n % (all - 1))
        }),
        ("from the last one down", |n, all| {
            (all - n % (all - 1), all)
        }),
        ("every second chunk", |n, all| {
            (2 + 2 * n % (all - 2), 2 + 2 * n % (all - 2))
        }),
    ];
    for (what, blocks) in rows {
        let linear = is_linear(what, |times| cost_of_sack(times as u16, blocks));
        assert!(linear, "{what}: the lines above");
    }
}
