//! The account of an endpoint's memory against the allocator, under hostile programs.
//!
//! Peers from many ports set associations up and send what is legal and useless: chunks
//! out of order, fragments that never end, one byte to a high stream. Nobody reads. The
//! account must never say much less than the allocator, and the endpoint must stay below
//! its ceiling. In a process of its own, with one test at a time, because the allocator
//! counts everything.

use byway_core::time::{Duration, Instant};
use byway_core::{AssocId, Endpoint, EndpointConfig, Event, LossReason};
use byway_wire::{
    Checksum, Chunk, CommonHeader, Data, IData, InitFields, Packet, PacketBuilder, Param, Tsn,
    chunk_type,
};
use core::net::{Ipv4Addr, SocketAddr};
use peak_alloc::PeakAlloc;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::sync::Mutex;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// One test at a time, as the allocator counts for all.
static ALONE: Mutex<()> = Mutex::new(());

/// What an endpoint may take beyond its account: tables, queues of answers, events, and
/// the test's own lists.
const CONSTANT: usize = 512 << 10;

const CEILING: usize = 4 << 20;
const PORT: u16 = 5001;

fn address(side: u8) -> SocketAddr {
    SocketAddr::new(Ipv4Addr::new(10, 0, 0, side).into(), 9899)
}

/// A victim, and what strangers did to it.
struct Victim {
    endpoint: Endpoint,
    now: Instant,
    /// Ends of associations, as events told them.
    lost: Vec<LossReason>,
    ids: Vec<AssocId>,
    /// Whether strangers ask for I-DATA, and send it.
    interleaves: bool,
}

/// A stranger's side of an association.
struct Stranger {
    /// Its address.
    host: u8,
    port: u16,
    /// The victim's tag.
    tag: u32,
    /// The next TSN in order.
    tsn: Tsn,
    ssn: u16,
}

fn packet(port: u16, tag: u32, write: impl FnOnce(&mut PacketBuilder<'_>)) -> Vec<u8> {
    let header = CommonHeader {
        source_port: port,
        destination_port: PORT,
        verification_tag: tag,
    };
    let mut bytes = Vec::new();
    let mut p = PacketBuilder::new(&mut bytes, header);
    write(&mut p);
    p.finish(Checksum::Crc32c);
    bytes
}

impl Victim {
    fn new(max_memory: usize) -> Victim {
        let mut cfg = EndpointConfig::new(PORT, vec![address(1)], [7; 32]);
        cfg.max_memory = max_memory;
        cfg.accepted.streams.interleaving = true;
        Victim {
            endpoint: Endpoint::new(cfg).unwrap(),
            now: Instant::ZERO,
            lost: Vec::new(),
            ids: Vec::new(),
            interleaves: false,
        }
    }

    /// Gives a packet of a host to the victim and returns the answers.
    fn take(&mut self, host: u8, bytes: &[u8]) -> Vec<Vec<u8>> {
        self.now += Duration::from_micros(100);
        self.endpoint
            .handle_datagram(self.now, address(host), address(1), bytes);
        self.endpoint.handle_timeout(self.now);
        let mut answers = Vec::new();
        let mut buffer = Vec::new();
        while self.endpoint.poll_transmit(self.now, &mut buffer).is_some() {
            answers.push(core::mem::take(&mut buffer));
        }
        while let Some((id, event)) = self.endpoint.poll_event() {
            match event {
                Event::Up { .. } => self.ids.push(id),
                Event::Lost { reason, .. } => self.lost.push(reason),
                _ => {}
            }
        }
        answers
    }

    /// So many strangers of one host.
    fn meet_many(&mut self, host: u8, many: u16) -> Vec<Stranger> {
        (0..many)
            .filter_map(|n| self.meet(host, 6000 + n))
            .collect()
    }

    /// A stranger sets up an association; `None` if the victim refuses.
    fn meet(&mut self, host: u8, port: u16) -> Option<Stranger> {
        let tsn = Tsn(1000);
        let init = InitFields {
            initiate_tag: 1 + u32::from(port),
            a_rwnd: 1 << 20,
            outbound_streams: u16::MAX,
            inbound_streams: 10,
            initial_tsn: tsn,
        };
        let types: &[u8] = match self.interleaves {
            true => &[chunk_type::I_DATA, chunk_type::I_FORWARD_TSN],
            false => &[],
        };
        let first = packet(port, 0, |p| {
            p.init(false, &init, |w| {
                if !types.is_empty() {
                    w.supported_extensions(types);
                }
            });
        });
        let answers = self.take(host, &first);
        // Heartbeats of others may leave beside it.
        let first = answers.iter().map(|bytes| {
            let packet = Packet::parse(bytes).unwrap();
            packet.chunks().next().unwrap().unwrap()
        });
        let answer = first.into_iter().find(|c| c.kind == chunk_type::INIT_ACK)?;
        let Ok(Chunk::InitAck(ack)) = answer.parse() else {
            panic!("an INIT ACK that does not parse");
        };
        let cookie = ack
            .params
            .iter()
            .filter_map(Result::ok)
            .find_map(|p| match p.parse() {
                Ok(Param::StateCookie(c)) => Some(c.to_vec()),
                _ => None,
            })?;
        let before = self.ids.len();
        self.take(
            host,
            &packet(port, ack.initiate_tag, |p| p.cookie_echo(&cookie)),
        );
        (self.ids.len() > before).then_some(Stranger {
            host,
            port,
            tag: ack.initiate_tag,
            tsn,
            ssn: 0,
        })
    }

    /// What the allocator counts beyond `before`.
    fn resident(before: usize) -> usize {
        ALLOCATOR.current_usage().saturating_sub(before)
    }
}

/// A DATA chunk that a stranger sends.
#[derive(Copy, Clone, Debug)]
struct Shot {
    /// Of which stranger, modulo their number.
    who: usize,
    /// Chunks skipped before it.
    gap: u8,
    stream: u16,
    len: u16,
    begin: bool,
    end: bool,
    unordered: bool,
    times: u8,
}

/// Whole messages, each with a missing chunk before it: they cannot be acknowledged in order.
const HOARDED: Shot = Shot {
    who: 0,
    gap: 1,
    stream: 0,
    len: 1400,
    begin: true,
    end: true,
    unordered: true,
    times: 250,
};

/// So many of them in their order, with nothing missing.
fn in_order(times: u8) -> Shot {
    Shot {
        gap: 0,
        unordered: false,
        times,
        ..HOARDED
    }
}

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

fn shoot(v: &mut Victim, s: &mut Stranger, shot: &Shot, payload: &[u8]) {
    for _ in 0..shot.times {
        s.tsn = s.tsn.plus(u32::from(shot.gap));
        s.ssn = s.ssn.wrapping_add(1 + u16::from(shot.gap));
        let data = Data {
            tsn: s.tsn,
            stream_id: shot.stream,
            ssn: s.ssn,
            ppid: 0,
            unordered: shot.unordered,
            begin: shot.begin,
            end: shot.end,
            immediate: false,
            payload: &payload[..usize::from(shot.len)],
        };
        let data = packet(s.port, s.tag, |p| match v.interleaves {
            false => p.data(&data),
            true => p.i_data(&IData {
                tsn: data.tsn,
                stream_id: data.stream_id,
                mid: data.ssn.into(),
                // As if one fragment were missing.
                ppid_or_fsn: if data.begin { 0 } else { 2 },
                unordered: data.unordered,
                begin: data.begin,
                end: data.end,
                immediate: false,
                payload: data.payload,
            }),
        });
        v.take(s.host, &data);
        s.tsn = s.tsn.plus(1);
    }
}

/// Not by `proptest!`, which would make the next case while another test counts.
#[test]
fn the_account_covers_the_allocator_and_stays_below_the_ceiling() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
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
    let payload = vec![7; 1400];
    let before = ALLOCATOR.current_usage();
    let mut v = Victim::new(CEILING);
    v.interleaves = interleaves;
    let mut them: Vec<Stranger> = (0..strangers)
        .filter_map(|n| v.meet(2 + (n % hosts) as u8, 6000 + n))
        .collect();
    prop_assert_eq!(them.len(), usize::from(strangers));
    for shot in shots {
        let n = shot.who % them.len();
        shoot(&mut v, &mut them[n], shot, &payload);
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
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
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

#[test]
fn what_is_shed_and_in_which_order() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let payload = vec![7; 1400];
    let mut v = Victim::new(2 << 20);
    let mut hoarder = v.meet(2, 6000).unwrap();
    let mut honest = v.meet(3, 6001).unwrap();
    let gap = HOARDED;
    // Below three quarters everything is taken, and a third one comes in.
    shoot(&mut v, &mut hoarder, &gap, &payload);
    assert!(v.meet(4, 6002).is_some());
    // The window of one association is a megabyte, so it takes two to fill the ceiling.
    for _ in 0..4 {
        shoot(&mut v, &mut hoarder, &gap, &payload);
    }
    let mut second = v.meet(5, 6003).unwrap();
    for n in 1..8 {
        assert!(v.meet(5, 6003 + n).is_some());
    }
    for _ in 0..5 {
        shoot(&mut v, &mut second, &gap, &payload);
    }
    let full = v.endpoint.memory();
    assert!((2 << 20) / 4 * 3 < full && full <= 2 << 20, "{full}");
    // 1: no further one of a host that has eight. A newcomer is let in up to fifteen sixteenths.
    assert!((2 << 20) / 16 * 15 > full, "{full}");
    assert!(v.meet(5, 6020).is_none());
    assert_eq!(v.endpoint.endpoint_stats().refused_for_memory, 1);
    assert!(v.meet(6, 6004).is_some());
    // 2: no more of who holds its share, but of an honest peer, who holds less.
    let one = in_order(10);
    honest.ssn = u16::MAX;
    let held = v.endpoint.memory();
    shoot(&mut v, &mut second, &gap, &payload);
    assert_eq!(v.endpoint.memory(), held);
    let shed = v.endpoint.endpoint_stats().data_shed;
    assert!(shed > 0);
    let refusals = v.endpoint.take_refusals();
    let rule = byway_core::Rule::DataMemory;
    assert!(refusals.iter().any(|r| r.rule == rule && r.count == shed));
    shoot(&mut v, &mut honest, &one, &payload);
    assert!(v.endpoint.memory() >= held + 10 * 1400);
    assert!(v.lost.is_empty());
    // 3: the user keeps so much outside that fifteen sixteenths are passed: the largest goes.
    let third = v.ids[2];
    v.endpoint.charge(third, 300 << 10);
    v.take(2, &[]);
    assert_eq!(v.lost, [LossReason::OutOfMemory]);
    assert_eq!(v.endpoint.endpoint_stats().shed, 1);
    assert!(v.endpoint.memory() < (2 << 20) / 4 * 3);
    assert!(v.meet(7, 6005).is_some());
    // Where nothing is left for a newcomer, none comes in.
    let (third, rest) = (v.ids[4], (2 << 20) / 16 * 15 - v.endpoint.memory());
    v.endpoint.charge(third, rest);
    assert!(v.meet(8, 6004).is_none());
    v.endpoint.charge(third, 0);
    assert!(v.meet(8, 6004).is_some());
}

/// More hoarders than there is memory for: whoever comes later finds room and may hold as much as they do.
#[test]
fn hoarders_leave_room_for_newcomers() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let payload = vec![7; 1400];
    let mut v = Victim::new(4 << 20);
    // Of ten hosts, so that none has reached the limit of its own.
    let hoarders = (0..40).filter_map(|n| v.meet(2 + n / 4, 6000 + u16::from(n)));
    let mut hoarders: Vec<Stranger> = hoarders.collect();
    // The first ten have begun before the others, and hold more than an equal share.
    for n in 0..50 {
        let who = if n < 30 { 0..10 } else { 10..40 };
        for s in &mut hoarders[who] {
            let few = Shot {
                times: 5,
                ..HOARDED
            };
            shoot(&mut v, s, &few, &payload);
        }
        let memory = v.endpoint.memory();
        assert!(memory <= (4 << 20) / 16 * 15 + 4096, "{memory} after {n}");
    }
    assert!(v.endpoint.endpoint_stats().data_shed > 0);
    let newcomer = v.meet(50, 7000);
    let mut newcomer = newcomer.expect("whoever holds most has left it room");
    newcomer.ssn = u16::MAX;
    shoot(&mut v, &mut newcomer, &in_order(40), &payload);
    let id = v.ids.last().expect("it is there");
    assert!(v.endpoint.memory_of(*id).is_some_and(|m| m > 40 * 1400));
}

/// The packet that breaks the ceiling is the last one for a long time.
#[test]
fn what_breaks_the_ceiling_goes_at_once() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let payload = vec![7; 1400];
    let ceiling = 512 << 10;
    let mut v = Victim::new(ceiling);
    let mut honest = v.meet(2, 6000).unwrap();
    v.meet(3, 6001).unwrap();
    let kept = ceiling - 1000 - v.endpoint.memory();
    v.endpoint.charge(v.ids[1], kept);
    let one = in_order(1);
    honest.ssn = u16::MAX;
    shoot(&mut v, &mut honest, &one, &payload);
    assert!(v.endpoint.memory() <= ceiling, "{}", v.endpoint.memory());
    assert_eq!(v.endpoint.endpoint_stats().shed, 1);
    // It is the one that held most.
    assert!(v.endpoint.memory() > 1400);
}

/// Who holds more than its share of what its host may make this side keep goes when others come, which take up to theirs.
#[test]
fn who_holds_more_than_its_share_gives_way() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let payload = vec![7; 1400];
    let mut v = Victim::new(2 << 20);
    let mut hoarders = v.meet_many(2, 20);
    let gap = |times| Shot { times, ..HOARDED };
    for s in &mut hoarders[..10] {
        shoot(&mut v, s, &gap(60), &payload);
    }
    assert!(v.lost.is_empty());
    for s in &mut hoarders[10..] {
        shoot(&mut v, s, &gap(20), &payload);
    }
    // Answers that wait are of no host.
    let full = v.endpoint.memory();
    assert!(full <= (1 << 20) + 4096, "{full}");
    assert!(!v.lost.is_empty());
    assert!(v.lost.iter().all(|why| *why == LossReason::OutOfMemory));
    for id in &v.ids[10..] {
        assert!(v.endpoint.memory_of(*id).is_some_and(|m| m > 20 * 1400));
    }
}

/// One host fills its half, and another one finds room and is served.
#[test]
fn one_host_keeps_no_other_out() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let payload = vec![7; 1400];
    let mut v = Victim::new(2 << 20);
    let mut hoarders = v.meet_many(2, 20);
    let gap = Shot {
        times: 30,
        ..HOARDED
    };
    for s in &mut hoarders {
        shoot(&mut v, s, &gap, &payload);
    }
    let full = v.endpoint.memory();
    // Those of the host that held most went. Answers that wait are of no host.
    let most = (1 << 20) / 16 * 15 + 4096;
    assert!((1 << 20) / 4 * 3 < full && full <= most, "{full}");
    v.lost.clear();
    // The host gets no further association, whatever its port, and another one does.
    assert!(v.meet(2, 7000).is_none());
    assert_eq!(v.endpoint.endpoint_stats().refused_for_memory, 1);
    let mut honest = v.meet(3, 6000).unwrap();
    honest.ssn = u16::MAX;
    let whole = in_order(200);
    shoot(&mut v, &mut honest, &whole, &payload);
    assert!(v.endpoint.memory() >= full + 200 * 1400);
    assert!(v.lost.is_empty());
    // Above its half, although there is room for all: the host's largest goes, at its next packet.
    v.endpoint.charge(v.ids[3], 600 << 10);
    assert!(v.endpoint.memory() < 2 << 20);
    shoot(&mut v, &mut honest, &in_order(10), &payload);
    assert!(v.lost.is_empty());
    shoot(&mut v, &mut hoarders[5], &gap, &payload);
    assert_eq!(v.lost, [LossReason::OutOfMemory]);
    assert_eq!(
        v.endpoint.memory_of(v.ids[3]).map(|m| m < 100 << 10),
        Some(true)
    );
    // With its associations the host's memory goes.
    for id in v.ids.split_off(0) {
        v.endpoint.release(v.now, id);
    }
    assert!(v.meet(2, 7001).is_some());
}

/// Tables of associations, tags, addresses, timers, events and spent cookies grow with a crowd.
#[test]
fn the_tables_of_a_crowd_that_has_gone_give_their_memory_back() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
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
    let _alone = ALONE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
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
