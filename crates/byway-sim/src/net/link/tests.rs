//! One link at a time: arithmetic, queue, losses, schedule, effects.

use super::*;
use crate::net::log::{DropReason, LinkCounters};
use crate::net::packet::{Content, Packet};
use byway_core::time::{Duration, Instant};

const MS: u64 = 1_000_000;

fn packet(size: u32) -> Packet {
    Packet {
        wire_size: size,
        ..Packet::default()
    }
}

/// An SCTP packet with one chunk of this type, whose bytes 4..8 hold `word`.
fn sctp(chunk_type: u8, word: u32) -> Packet {
    let mut payload = vec![0; 12];
    payload.extend_from_slice(&[chunk_type, 3, 0, 20]);
    payload.extend_from_slice(&word.to_be_bytes());
    payload.extend_from_slice(&[0; 12]);
    Packet {
        wire_size: 52,
        payload,
        ..Packet::default()
    }
}

fn link(config: &LinkConfig) -> Link {
    Link::new(config, 1, 0).expect("a valid link")
}

fn ten_megabits(delay: u64) -> LinkConfig {
    LinkConfig::new(Rate::mbps(10), Duration::from_millis(delay))
}

fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// Offers a 1500-byte packet at each time (ms); arrival times in microseconds, or why not.
fn offer(link: &mut Link, times: &[u64]) -> Vec<Result<u64, DropReason>> {
    times
        .iter()
        .map(|t| {
            let fate = link.pass(t * MS, &mut packet(1500));
            fate.lost.map_or(Ok(fate.at / 1000), Err)
        })
        .collect()
}

fn balanced(c: &LinkCounters) -> bool {
    c.offered_packets + c.duplicated == c.delivered_packets + c.dropped()
}

#[test]
fn serialization_queueing_and_propagation_add_up() {
    let mut l = link(&ten_megabits(25));
    // 1.2 ms each on the wire: the second waits for the first.
    assert_eq!(
        offer(&mut l, &[0, 0, 10]),
        [Ok(26_200), Ok(27_400), Ok(36_200)]
    );
    assert_eq!(l.pass(20 * MS, &mut packet(44)).at, 45_035_200);
    assert_eq!(l.counters().max_queue_packets, 2);
    assert_eq!(l.counters().max_queue_bytes, 3000);
}

#[test]
fn drawing_losses_ahead_loses_the_same_packets() {
    let times: Vec<u64> = (0..5000).collect();
    for rate in [0.0, 0.001, 0.3, 1.0] {
        let uniform = LinkConfig::default().loss(LossModel::Uniform(rate));
        // A later loss model prevents drawing ahead.
        let one_by_one = uniform
            .clone()
            .at(ms(6000), LinkChange::Loss(LossModel::None));
        // Losses that were drawn stay valid while another effect is on and after an
        // outage.
        let reorder = Reorder {
            probability: 0.5,
            max_extra: Duration::from_millis(3),
        };
        let changing = |c: LinkConfig| {
            c.at(ms(1000), LinkChange::Reorder(Some(reorder)))
                .at(ms(2000), LinkChange::Reorder(None))
                .at(ms(3000), LinkChange::DOWN)
                .at(ms(3500), LinkChange::Up)
        };
        for [ahead, plain] in [
            [uniform.clone(), one_by_one.clone()],
            [changing(uniform.clone()), changing(one_by_one)],
        ] {
            let [mut ahead, mut plain] = [link(&ahead), link(&plain)];
            assert_eq!(offer(&mut ahead, &times), offer(&mut plain, &times));
            assert_eq!(ahead.counters(), plain.counters());
        }
    }
}

#[test]
fn the_queue_counts_the_packet_in_transmission() {
    let mut l = link(&ten_megabits(0).queue(QueueLimit::Packets(50)));
    let fates = offer(&mut l, &[0; 60]);
    assert_eq!(fates.iter().filter(|f| f.is_ok()).count(), 50);
    assert_eq!(l.counters().dropped_queue, 10);
    // One transmission later, exactly one place is free.
    let one = l.pass(1_200_000, &mut packet(1500));
    let two = l.pass(1_200_000, &mut packet(1500));
    assert_eq!((one.lost, two.lost), (None, Some(DropReason::QueueFull)));
    assert!(balanced(&l.counters()));
}

#[test]
fn a_queue_in_bytes_takes_small_packets_after_large_ones() {
    let mut l = link(&ten_megabits(0).queue(QueueLimit::Bytes(3100)));
    assert_eq!(
        offer(&mut l, &[0, 0, 0]),
        [Ok(1200), Ok(2400), Err(DropReason::QueueFull)]
    );
    assert_eq!(l.pass(0, &mut packet(100)).lost, None);
    assert_eq!(l.pass(0, &mut packet(1)).lost, Some(DropReason::QueueFull));
}

#[test]
fn a_policer_drops_what_exceeds_its_burst_and_rate_and_delays_nothing() {
    let policer = Policer {
        rate: 1_000_000,
        burst: 3000,
    };
    let mut l = link(&ten_megabits(5).policer(policer));
    // Two fill the bucket. 12 ms later there is room for one more, and then for none.
    let policed = Err(DropReason::Policed);
    assert_eq!(
        offer(&mut l, &[0, 0, 0, 11, 12, 12]),
        [Ok(6200), Ok(7400), policed, policed, Ok(18_200), policed]
    );
    assert_eq!(l.counters().dropped_policed, 3);
    // The bucket never holds more than its burst, however long nobody sends.
    let fates = offer(&mut l, &[100_000; 10]);
    assert_eq!(fates.iter().filter(|f| f.is_ok()).count(), 2);
    // A packet of more than the burst never passes.
    let large = l.pass(200_000 * MS, &mut packet(3001));
    assert_eq!(large.lost, Some(DropReason::Policed));
    assert!(balanced(&l.counters()));
}

#[test]
fn what_passes_a_policer_has_its_rate() {
    let policer = Policer {
        rate: 3_333_333,
        burst: 15_000,
    };
    let mut l = link(&LinkConfig::default().policer(policer));
    let (mut passed, mut at) = (0u64, 0u64);
    for i in 0..100_000u64 {
        at += 100_000 + i % 7;
        passed += u64::from(l.pass(at, &mut packet(1000)).lost.is_none());
    }
    let most = 15_000.0 + 3_333_333.0 / 8.0 * at as f64 / 1e9;
    let seen = passed as f64 * 1000.0;
    assert!(seen <= most && seen > most - 1000.0, "{seen} of {most}");
}

#[test]
fn a_policer_needs_a_rate_and_a_burst() {
    for (rate, burst) in [(0, 1), (1, 0)] {
        let config = LinkConfig::default().policer(Policer { rate, burst });
        assert!(Link::new(&config, 1, 0).is_err());
    }
}

#[test]
fn uniform_loss_has_its_rate() {
    for rate in [0.0, 0.01, 0.1, 0.5, 1.0] {
        let mut l = link(&LinkConfig::default().loss(LossModel::Uniform(rate)));
        let n = 200_000;
        offer(&mut l, &vec![0; n]);
        let seen = l.counters().dropped_loss as f64 / n as f64;
        assert!((seen - rate).abs() < 0.005, "rate {rate}, seen {seen}");
        assert!(balanced(&l.counters()));
    }
}

#[test]
fn gilbert_elliott_has_its_rate_and_burst_length() {
    for (rate, burst) in [(0.02, 4.0), (0.2, 10.0), (0.05, 1.5)] {
        let mut l = link(&LinkConfig::default().loss(LossModel::bursts(rate, burst)));
        let lost: Vec<bool> = (0..400_000)
            .map(|_| l.pass(0, &mut packet(1500)).lost.is_some())
            .collect();
        let total = lost.iter().filter(|l| **l).count() as f64;
        let bursts = lost.windows(2).filter(|w| !w[0] && w[1]).count() as f64;
        let seen = total / lost.len() as f64;
        assert!((seen / rate - 1.0).abs() < 0.08, "rate {rate}, seen {seen}");
        let length = total / bursts;
        assert!(
            (length / burst - 1.0).abs() < 0.08,
            "burst {burst}, seen {length}"
        );
    }
}

/// Which of the packets (from 1) a model loses.
fn lost(model: LossModel, packets: &[Packet]) -> Vec<usize> {
    let mut l = link(&LinkConfig::default().loss(model));
    let mut lost = Vec::new();
    for (i, p) in packets.iter().enumerate() {
        if l.pass(0, &mut p.clone()).lost == Some(DropReason::Loss) {
            lost.push(i + 1);
        }
    }
    lost
}

const INIT: u8 = 1;
const SACK: u8 = 3;

#[test]
fn lists_lose_exactly_what_they_name() {
    // INIT, then DATA 1, SACK, DATA 2, SACK, and so on.
    let mut flow = vec![sctp(INIT, 0)];
    for i in 0..10 {
        flow.extend([sctp(chunk_scan::DATA, 100 + i), sctp(SACK, 0)]);
    }
    flow.push(Packet {
        content: Content::Background,
        ..packet(1500)
    });
    let positions = |of, positions: &[u64]| LossModel::Positions {
        of,
        positions: positions.to_vec(),
    };
    // The 3rd and 7th DATA packet are packets 6 and 14.
    assert_eq!(lost(LossModel::data_packets(&[7, 3]), &flow), [6, 14]);
    assert_eq!(lost(positions(PacketMatch::Any, &[1, 22]), &flow), [1, 22]);
    assert_eq!(lost(positions(PacketMatch::Chunk(INIT), &[1]), &flow), [1]);
    assert_eq!(lost(positions(PacketMatch::Chunk(SACK), &[2]), &flow), [5]);
    let both = LossModel::Several(vec![
        LossModel::data_packets(&[1]),
        LossModel::data_packets(&[1]),
    ]);
    assert_eq!(
        lost(both, &flow),
        [2, 4],
        "the second does not see what the first lost"
    );
}

#[test]
fn a_kind_or_a_size_is_lost_for_ever() {
    let flow = [sctp(chunk_scan::DATA, 1), sctp(SACK, 0), sctp(SACK, 0)];
    let sacks = LossModel::All(PacketMatch::Chunk(SACK));
    assert_eq!(lost(sacks, &flow), [2, 3]);
    let flow = [1200, 1201, 60, 1500].map(packet);
    assert_eq!(lost(LossModel::LargerThan(1200), &flow), [2, 4]);
}

#[test]
fn tsns_are_lost_as_often_as_asked() {
    let drops = LossModel::Tsns(vec![
        TsnDrop {
            offset: 1,
            times: 2,
        },
        TsnDrop {
            offset: 3,
            times: 1,
        },
    ]);
    let tsns = [u32::MAX, 0, 1, 2, 0, 0, 2];
    let flow: Vec<Packet> = tsns.iter().map(|t| sctp(chunk_scan::DATA, *t)).collect();
    // Offsets 0 1 2 3 1 1 3: the third transmission of offset 1 passes.
    assert_eq!(lost(drops.clone(), &flow), [2, 4, 5]);
    // The INIT's initial TSN (here 0, at byte 16 of the chunk) takes precedence.
    let flow = [sctp(INIT, 7), sctp(chunk_scan::DATA, 1)];
    assert_eq!(lost(drops, &flow), [2]);
}

#[test]
fn recorded_losses_are_replayed() {
    let flow = vec![packet(1500); 8];
    let trace = |repeat| LossModel::from_trace_text("0 1\n1", repeat).expect("only 0 and 1");
    assert_eq!(lost(trace(false), &flow), [2, 3]);
    assert_eq!(lost(trace(true), &flow), [2, 3, 5, 6, 8]);
    assert_eq!(LossModel::from_trace_text("01x", true), Err('x'));
}

#[test]
fn an_outage_loses_what_is_in_flight() {
    // Offered at 0, on the wire until 1.2, arriving at 26.2 ms.
    let outage = |at| ten_megabits(25).outage(ms(at), Some(ms(100)));
    for (down, first) in [(26, Err(DropReason::InFlight)), (27, Ok(26_200))] {
        let mut l = link(&outage(down));
        let fates = offer(&mut l, &[0, 27, 99, 100]);
        assert_eq!(fates[0], first, "down at {down}");
        assert_eq!(fates[1..3], [Err(DropReason::LinkDown); 2]);
        assert_eq!(fates[3], Ok(126_200));
        assert!(balanced(&l.counters()));
    }
}

#[test]
fn an_outage_empties_the_queue() {
    let config = ten_megabits(0)
        .queue(QueueLimit::Packets(10))
        .at(ms(2), LinkChange::DOWN)
        .at(ms(3), LinkChange::Up);
    let mut l = link(&config);
    let fates = offer(&mut l, &[0; 10]);
    // One has left by 2 ms; the others go down with the link, at 2 ms.
    assert_eq!(fates.iter().filter(|f| f.is_ok()).count(), 1);
    assert_eq!(l.counters().dropped_in_flight, 9);
    assert_eq!(
        offer(&mut l, &[3]),
        [Ok(4200)],
        "nothing is left to wait for"
    );
}

#[test]
fn a_soft_outage_only_refuses_new_packets() {
    let soft = LinkChange::Down {
        drop_in_flight: false,
    };
    let mut l = link(&ten_megabits(25).at(ms(1), soft));
    assert_eq!(
        offer(&mut l, &[0, 1]),
        [Ok(26_200), Err(DropReason::LinkDown)]
    );
}

#[test]
fn rate_changes_apply_to_the_rest_of_a_packet() {
    let config = ten_megabits(0)
        .rate_over_time(&[(Instant::from_nanos(600_000), 1_000_000)])
        .at(ms(20), LinkChange::Rate(Rate::Unlimited));
    let mut l = link(&config);
    // Half at 10 Mb/s in 0.6 ms, half at 1 Mb/s in 6 ms; the next ones 12 ms
    // each, and the third is released at 20 ms.
    assert_eq!(
        offer(&mut l, &[0, 0, 0, 30]),
        [Ok(6600), Ok(18_600), Ok(20_000), Ok(30_000)]
    );
}

#[test]
fn rate_zero_holds_packets_until_it_changes() {
    let stalled = LinkConfig::new(Rate::BitsPerSecond(0), Duration::ZERO);
    let mut l = link(&stalled.clone().at(ms(5), LinkChange::Rate(Rate::mbps(10))));
    assert_eq!(offer(&mut l, &[0, 1]), [Ok(6200), Ok(7400)]);
    assert_eq!(
        offer(&mut link(&stalled), &[0]),
        [Err(DropReason::NeverSent)]
    );
    let mut l = link(&stalled.outage(ms(3), None));
    assert_eq!(offer(&mut l, &[0]), [Err(DropReason::InFlight)]);
}

#[test]
fn delay_and_loss_and_queue_change_on_time() {
    let config = ten_megabits(10)
        .at(ms(5), LinkChange::Delay(Duration::from_millis(1)))
        .at(ms(20), LinkChange::Loss(LossModel::Uniform(1.0)))
        .at(ms(30), LinkChange::Loss(LossModel::None))
        .at(ms(30), LinkChange::Queue(QueueLimit::Packets(1)));
    let mut l = link(&config);
    assert!(!l.keeps_order());
    // The packet of 4 ms leaves at 5.2 ms, when the delay is already the new one.
    assert_eq!(
        offer(&mut l, &[0, 4, 19]),
        [Ok(11_200), Ok(6200), Ok(21_200)]
    );
    assert_eq!(
        offer(&mut l, &[20, 30, 30]),
        [
            Err(DropReason::Loss),
            Ok(32_200),
            Err(DropReason::QueueFull)
        ]
    );
}

#[test]
fn delivery_opportunities_set_the_pace() {
    let trace = DeliveryTrace::from_millis_text("1\n2\n10\n", 1500).expect("numbers");
    let config = LinkConfig::new(Rate::Opportunities(trace), Duration::from_millis(5));
    let mut l = link(&config);
    assert_eq!(
        offer(&mut l, &[0, 0, 0, 10]),
        [Ok(6000), Ok(7000), Ok(15_000), Ok(16_000)]
    );
}

#[test]
fn jitter_delays_each_packet_and_keeps_the_order() {
    let config = ten_megabits(10).jitter(Duration::from_millis(4));
    let mut l = link(&config);
    assert!(l.keeps_order());
    // So far apart that none waits for another: each has its own delay.
    let apart: Vec<u64> = (0..2000).map(|i| 10 * i).collect();
    let arrivals = offer(&mut l, &apart);
    let extra = apart.iter().zip(&arrivals).map(|(at, arrives)| {
        let plain = at * 1000 + 11_200;
        arrives.expect("nothing is lost") - plain
    });
    let extra: Vec<u64> = extra.collect();
    assert!(extra.iter().all(|us| *us <= 4000));
    let mean = extra.iter().sum::<u64>() / 2000;
    assert!((1900..2100).contains(&mean), "{mean}");
    let quarter = extra.iter().filter(|us| **us < 1000).count();
    assert!((400..600).contains(&quarter), "{quarter}");

    // Nearer than the jitter: none overtakes, and none is later than the jitter says.
    let near = |l: &mut Link| -> Vec<u64> {
        let at = |i: u64| 30_000 * MS + i * 1_300_000;
        let arrivals = (0..2000).map(|i| (at(i), l.pass(at(i), &mut packet(1500)).at));
        let arrivals: Vec<(u64, u64)> = arrivals.collect();
        assert!(arrivals.is_sorted_by_key(|a| a.1));
        let extra = arrivals.iter().map(|(at, arrives)| arrives - at);
        assert!(
            extra
                .clone()
                .all(|ns| (11_200_000..=15_200_000).contains(&ns))
        );
        extra.collect()
    };
    let first = near(&mut l);
    let again = &mut link(&config);
    offer(again, &apart);
    assert_eq!(near(again), first, "the same seed gives the same");
}

#[test]
fn an_outage_drops_what_jitter_holds_back_and_frees_what_comes_after() {
    let config = ten_megabits(0)
        .jitter(Duration::from_millis(1000))
        .outage(ms(100), Some(ms(101)));
    let mut l = link(&config);
    let arrivals = offer(&mut l, &[0, 20, 40, 60, 80]);
    let dropped = arrivals.iter().filter(|a| a.is_err()).count() as u64;
    assert!(dropped > 0, "{arrivals:?}");
    assert_eq!(l.counters().dropped_in_flight, dropped);
    // Of the packets before the outage none holds this one back beyond its own second.
    let after = offer(&mut l, &[102])[0].expect("the outage is over");
    assert!((103_200..=1_103_200).contains(&after), "{after}");
    assert!(balanced(&l.counters()));
}

#[test]
fn a_link_is_cut_whatever_its_schedule_says() {
    let mut l = link(&ten_megabits(25).outage(ms(100), Some(ms(200))));
    assert_eq!(offer(&mut l, &[0, 0]), [Ok(26_200), Ok(27_400)]);
    l.cut(MS, true);
    let down = Err(DropReason::LinkDown);
    assert_eq!(offer(&mut l, &[2, 150, 250]), [down, down, down]);
    l.cut(260 * MS, false);
    assert_eq!(offer(&mut l, &[300]), [Ok(326_200)]);
    // What it gives back is the schedule: down from 100 to 200 ms.
    let mut l = link(&ten_megabits(25).outage(ms(100), Some(ms(200))));
    l.cut(MS, true);
    l.cut(2 * MS, false);
    assert_eq!(
        offer(&mut l, &[3, 150, 250]),
        [Ok(29_200), down, Ok(276_200)]
    );
    // A cut empties the queue.
    let mut l = link(&ten_megabits(0));
    offer(&mut l, &[0; 30]);
    l.cut(2 * MS, true);
    l.cut(3 * MS, false);
    assert_eq!(offer(&mut l, &[4]), [Ok(5200)]);
}

#[test]
fn reordering_duplication_and_corruption_have_their_rates() {
    let config = LinkConfig {
        delay: Duration::from_millis(10),
        reorder: Some(Reorder {
            probability: 0.25,
            max_extra: Duration::from_millis(4),
        }),
        duplicate: Some(Duplicate { probability: 0.1 }),
        corrupt: Some(Corrupt {
            probability: 0.05,
            max_bits: 3,
        }),
        ..LinkConfig::default()
    };
    let mut l = link(&config);
    assert!(!l.keeps_order());
    let n = 100_000;
    let (mut late, mut copies, mut corrupted) = (0, 0, 0);
    for _ in 0..n {
        let mut p = sctp(chunk_scan::DATA, 1);
        let clean = p.payload.clone();
        let fate = l.pass(0, &mut p);
        assert!((10 * MS..=14 * MS).contains(&fate.at));
        late += u32::from(fate.at > 10 * MS);
        copies += u32::from(l.take_copy().is_some());
        let flips: u32 = std::iter::zip(&p.payload, &clean)
            .map(|(a, b)| (a ^ b).count_ones())
            .sum();
        // Two flips of the same bit cancel each other; rare enough.
        assert!(flips <= 3 && (flips == 0 || p.corrupted));
        corrupted += u32::from(p.corrupted);
    }
    let near = |seen: u32, p: f64| (f64::from(seen) / f64::from(n) - p).abs() < 0.005;
    assert!(near(late, 0.25), "{late}");
    assert!(near(copies, 0.1), "{copies}");
    assert!(near(corrupted, 0.05), "{corrupted}");
    assert!(balanced(&l.counters()));
}

#[test]
fn effects_do_not_shift_the_loss_stream() {
    let plain = LinkConfig::default().loss(LossModel::Uniform(0.3));
    let with_copies = LinkConfig {
        duplicate: Some(Duplicate { probability: 0.5 }),
        ..plain.clone()
    };
    let flow = |config: &LinkConfig| {
        let mut l = link(config);
        (0..500)
            .map(|_| l.pass(0, &mut packet(100)).lost.is_some())
            .collect::<Vec<bool>>()
    };
    assert_eq!(flow(&plain), flow(&with_copies));
}

#[test]
fn settings_out_of_range_are_refused() {
    let error = |config: LinkConfig| Link::new(&config, 0, 0).expect_err("invalid").name;
    let d = LinkConfig::default();
    assert_eq!(error(d.clone().loss(LossModel::Uniform(1.5))), "loss rate");
    assert_eq!(
        error(d.clone().loss(LossModel::Uniform(f64::NAN))),
        "loss rate"
    );
    assert_eq!(error(d.clone().loss(LossModel::bursts(0.6, 0.5))), "to_bad");
    assert_eq!(
        error(d.clone().loss(LossModel::data_packets(&[0]))),
        "position of a lost packet"
    );
    let late = LinkChange::Loss(LossModel::Uniform(-1.0));
    assert_eq!(error(d.at(ms(1), late)), "loss rate");
}
