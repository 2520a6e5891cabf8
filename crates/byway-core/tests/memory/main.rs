//! The account of an endpoint's memory against the allocator, under hostile programs.
//!
//! Peers from many ports set associations up and send what is legal and useless: chunks
//! out of order, fragments that never end, one byte to a high stream. Nobody reads. The
//! account must never say much less than the allocator, and the endpoint must stay below
//! its ceiling. In a process of its own, with one test at a time, because the allocator
//! counts everything.

use byway_core::time::Duration;
use byway_wire::{InitFields, Packet, Tsn, chunk_type};
use peak_alloc::PeakAlloc;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::sync::{Mutex, MutexGuard};
use victim::{Shot, Stranger, Victim, address, packet, shoot};

mod scarce;
mod victim;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// One test at a time, as the allocator counts for all.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(|e| e.into_inner())
}

const CEILING: usize = 4 << 20;

/// What an endpoint may take beyond its account: tables, queues of answers, events, and
/// the test's own lists.
const CONSTANT: usize = 512 << 10;

fn shots() -> impl Strategy<Value = Vec<Shot>> {
    let len = prop_oneof![Just(1), Just(2), 1..1400u16];
    let stream = prop_oneof![3 => Just(0), 1 => 0..2048u16];
    let gap = prop_oneof![3 => Just(0), 2 => Just(1), 1 => 0..9u8];
    // Mostly what does not end: whole messages, or fragments of ones that go on.
    let kind = prop_oneof![
        Just((true, true)),
        Just((true, false)),
        Just((false, false))
    ];
    let shot = (0..64usize, gap, stream, len, kind, any::<bool>(), 1..250u8).prop_map(
        |(who, gap, stream, len, (begin, end), unordered, times)| Shot {
            who,
            gap,
            stream,
            len,
            begin,
            end,
            unordered,
            times,
        },
    );
    prop::collection::vec(shot, 1..120)
}

/// Not by `proptest!`, which would make the next case while another test counts.
#[test]
fn the_account_covers_the_allocator_and_stays_below_the_ceiling() {
    let _alone = alone();
    let config = ProptestConfig {
        cases: 48,
        source_file: Some(file!()),
        ..ProptestConfig::default()
    };
    let hosts = prop_oneof![1..4u16, Just(40)];
    let program = (1..40u16, hosts, any::<bool>(), shots());
    TestRunner::new(config)
        .run(&program, |(strangers, hosts, interleaves, shots)| {
            hold_what_strangers_shoot(strangers, hosts, interleaves, &shots)
        })
        .unwrap_or_else(|e| panic!("{e}"));
}

fn hold_what_strangers_shoot(
    strangers: u16,
    hosts: u16,
    interleaves: bool,
    shots: &[Shot],
) -> Result<(), TestCaseError> {
    let before = ALLOCATOR.current_usage();
    let mut v = Victim::new(CEILING);
    v.interleaves = interleaves;
    let mut them: Vec<Stranger> = (0..strangers)
        .filter_map(|n| v.meet(2 + (n % hosts) as u8, 6000 + n))
        .collect();
    prop_assert_eq!(them.len(), usize::from(strangers));
    for shot in shots {
        let n = shot.who % them.len();
        shoot(&mut v, &mut them[n], shot);
        let resident = Victim::resident(before);
        let account = v.endpoint.memory();
        prop_assert!(
            resident <= account + CONSTANT,
            "{} beside {}",
            resident,
            account
        );
        prop_assert!(account <= CEILING, "{} above the ceiling", account);
        if hosts == 1 {
            // Its associations: the tags of their spent cookies belong to no host.
            let of_host: usize = v
                .ids
                .iter()
                .filter_map(|&id| v.endpoint.memory_of(id))
                .sum();
            prop_assert!(of_host <= CEILING / 2, "{} above its half", of_host);
        }
    }
    for id in core::mem::take(&mut v.ids) {
        v.endpoint.check_totals(id).map_err(TestCaseError::fail)?;
        v.endpoint.release(v.now, id);
    }
    // The tags of spent cookies, which expire.
    prop_assert!(v.endpoint.memory() < 8 << 10);
    prop_assert!(Victim::resident(before) <= CONSTANT, "not freed");
    Ok(())
}

/// Answers that nobody sends, and the tags of associations that have ended: a stranger needs no association for them.
#[test]
fn what_is_kept_without_an_association_is_in_the_account() {
    let _alone = alone();
    let mut v = Victim::new(CEILING);
    let before = ALLOCATOR.current_usage();
    let init = InitFields {
        initiate_tag: 1,
        a_rwnd: 1 << 20,
        outbound_streams: 1,
        inbound_streams: 1,
        initial_tsn: Tsn(1),
    };
    for n in 0..1200_u16 {
        let bytes = packet(1000 + n, 0, |p| p.init(false, &init, |_| {}));
        let host = address(2 + (n % 100) as u8);
        v.endpoint.handle_datagram(v.now, host, address(1), &bytes);
    }
    let (account, resident) = (v.endpoint.memory(), Victim::resident(before));
    assert!(account > 100_000, "{account}");
    // What counts sources and refusals has its own limits, and is no answer.
    assert!(resident <= account + (64 << 10), "{resident} of {account}");
    assert_eq!(v.endpoint.endpoint_stats().answers_dropped, 1200 - 1024);
    let mut buffer = Vec::new();
    while v.endpoint.poll_transmit(v.now, &mut buffer).is_some() {
        buffer.clear();
    }
    assert!(v.endpoint.memory() < 1024);
    for n in 0..300 {
        let met = v.meet(2 + (n % 100) as u8, 6000 + n).unwrap();
        v.take(
            met.host,
            &packet(met.port, met.tag, |p| p.abort(false, |_| {})),
        );
    }
    for id in core::mem::take(&mut v.ids) {
        v.endpoint.release(v.now, id);
    }
    let account = v.endpoint.memory();
    assert!(account >= 300 * 20, "{account}");
}

/// Tables of associations, tags, addresses, timers, events and spent cookies grow with a crowd.
#[test]
fn the_tables_of_a_crowd_that_has_gone_give_their_memory_back() {
    let _alone = alone();
    let before = ALLOCATOR.current_usage();
    let mut v = Victim::new(256 << 20);
    let few = v.meet_many(2, 50);
    v.ids.shrink_to_fit();
    let with_few = Victim::resident(before);
    for n in 0..8000 {
        v.meet(2, 10_000 + n).expect("there is room");
    }
    let with_all = Victim::resident(before);
    // 2 KiB for each of the crowd: there is something to give back.
    let crowd = with_all.saturating_sub(with_few);
    assert!(crowd > 16 << 20, "{with_few} and {with_all}");
    for id in v.ids.split_off(few.len()) {
        v.endpoint.release(v.now, id);
    }
    // The ABORTs leave. Their cookies expire, and the next one that comes shows it.
    v.take(2, &[]);
    v.now += Duration::from_secs(61);
    let one = v.meet(2, 9000).expect("there is room");
    let id = v.ids.pop().expect("it is up");
    assert_eq!(one.port, 9000);
    v.endpoint.release(v.now, id);
    v.take(2, &[]);
    v.ids.shrink_to_fit();
    let after = Victim::resident(before);
    // What stays is a list of places: those who stay keep their numbers in it.
    let places = 8100 * 16;
    assert!(
        after <= with_few + with_few / 5 + places,
        "{with_few}, then {after}"
    );
}

// A, with thousands of associations -> ABORT -> Z, each of them, and nothing is sent meanwhile
#[test]
fn an_endpoint_that_ends_tells_all_its_peers_without_a_spike_of_memory() {
    let _alone = alone();
    const PEERS: u16 = 4000;
    let before = ALLOCATOR.current_usage();
    let mut v = Victim::new(256 << 20);
    for n in 0..PEERS {
        v.meet(2 + (n % 100) as u8, 10_000 + n)
            .expect("there is room");
    }
    let crowd = Victim::resident(before);
    ALLOCATOR.reset_peak_usage();
    for id in v.ids.split_off(0) {
        v.endpoint.abort(v.now, id, b"the receiver ends").unwrap();
        v.endpoint.release(v.now, id);
    }
    let peak = ALLOCATOR.peak_usage().saturating_sub(before);
    assert!(peak <= crowd + (64 << 10), "{crowd}, then up to {peak}");
    let mut told = std::collections::BTreeSet::new();
    for bytes in v.take(2, &[]) {
        let packet = Packet::parse(&bytes).unwrap();
        let chunk = packet.chunks().next().unwrap().unwrap();
        assert_eq!(chunk.kind, chunk_type::ABORT);
        told.insert(packet.header().destination_port);
    }
    assert_eq!(told.len(), usize::from(PEERS));
    assert_eq!(v.endpoint.endpoint_stats().answers_dropped, 0);
}
