use super::*;

fn lane_of(q: &SendQueue, path: Option<PathId>) -> Option<LaneId> {
    let all = core::iter::successors(q.next_lane(0), |w| q.lane_after(w.lane));
    let mut here = all.filter(|w| w.path == path);
    here.next().map(|w| w.lane)
}

#[test]
fn a_long_message_is_cut_and_marked_at_its_ends() {
    let mut q = SendQueue::default();
    q.push(Message::new(3, vec![7; 25]));
    let lane = lane_of(&q, None).unwrap();
    let cuts: Vec<_> = core::iter::from_fn(|| q.cut(lane, 10))
        .map(|c| (c.payload.len(), c.begin, c.end, c.number))
        .collect();
    assert_eq!(
        cuts,
        [
            (10, true, false, 0),
            (10, false, false, 0),
            (5, false, true, 0)
        ]
    );
    assert!(q.is_empty() && q.totals_agree());
}

#[test]
fn lanes_without_messages_give_their_memory_back_and_what_waits_stays() {
    let mut q = SendQueue::default();
    q.push(Message::new(3, vec![7; 25]));
    let lane = lane_of(&q, None).unwrap();
    q.cut(lane, 10);
    q.give_idle_memory_back();
    assert!(q.cut(lane, 15).unwrap().end, "a message that has begun");
    assert!(q.lanes.capacity() > 0);
    q.give_idle_memory_back();
    assert_eq!(q.lanes.capacity(), 0);
    q.push(Message::new(3, vec![7; 5]));
    let lane = lane_of(&q, None).unwrap();
    assert_eq!(q.cut(lane, 10).unwrap().number, 1, "the stream goes on");
}

#[test]
fn a_begun_message_is_finished_before_another_lane_moves() {
    let mut q = SendQueue::default();
    q.push(Message::new(0, vec![0; 30]));
    let mut pinned = Message::new(1, vec![1; 5]);
    pinned.path = Some(PathId(1));
    q.push(pinned);
    let main = lane_of(&q, None).unwrap();
    q.cut(main, 10);
    assert_eq!(lane_of(&q, Some(PathId(1))), None, "held until the end");
    q.cut(main, 20);
    assert!(lane_of(&q, Some(PathId(1))).is_some());
}

#[test]
fn a_message_waits_for_earlier_ones_of_its_stream_in_other_lanes() {
    let mut q = SendQueue::default();
    let mut pinned = Message::new(4, vec![0; 9]);
    pinned.path = Some(PathId(1));
    q.push(pinned);
    q.push(Message::new(4, vec![1; 9]));
    assert_eq!(lane_of(&q, None), None, "the first one is pinned");
    q.cut(lane_of(&q, Some(PathId(1))).unwrap(), 9);
    assert!(lane_of(&q, None).is_some());
}

#[test]
fn ordered_messages_are_numbered_per_stream_and_unordered_ones_are_not() {
    let mut q = SendQueue::default();
    for stream in [0, 5, 5, 0] {
        q.push(Message::new(stream, vec![1]));
    }
    let mut loose = Message::new(5, vec![1]);
    loose.unordered = true;
    q.push(loose);
    let lane = lane_of(&q, None).unwrap();
    let ssns: Vec<_> = core::iter::from_fn(|| q.cut(lane, 10))
        .map(|c| (c.stream, c.number))
        .collect();
    assert_eq!(ssns, [(0, 0), (5, 0), (5, 1), (0, 1), (5, 0)]);
}

/// A queue with this scheduler.
fn scheduled(scheduler: StreamScheduler, interleaves: bool) -> SendQueue {
    let mut q = SendQueue::new(scheduler);
    q.interleave(interleaves);
    q
}

/// Streams of the chunks that leave, in packets of `per_packet` chunks of at most 10 bytes.
fn leave(q: &mut SendQueue, per_packet: usize) -> Vec<u16> {
    let mut order = Vec::new();
    while let Some(w) = q.next_lane(0) {
        let mut waits = Some(w.left.min(10));
        for _ in 0..per_packet {
            let Some(len) = waits else { break };
            let cut = q.cut(w.lane, len).unwrap();
            assert_eq!(cut.payload.len(), len);
            order.push(cut.stream);
            assert!(q.totals_agree());
            waits = q.next_len(w.lane, 10);
        }
        q.packet_ends(w.lane);
        assert!(q.totals_agree());
    }
    assert!(q.is_empty());
    order
}

/// Figures 1 and 2 of RFC 8260: two long messages and three short ones, on three streams.
#[test]
fn streams_take_turns_by_messages_or_by_chunks() {
    use StreamScheduler::{
        FairCapacity, FirstCome, Priority, RoundRobin, RoundRobinPacket, WeightedFair,
    };
    // Scheduler, interleaving, and the streams of the chunks, three of which are a packet.
    let rows = [
        (FirstCome, false, [0, 0, 0, 1, 1, 1, 2, 2, 2]),
        (FirstCome, true, [0, 0, 0, 1, 1, 1, 2, 2, 2]),
        (RoundRobin, false, [0, 0, 0, 1, 2, 2, 2, 1, 1]),
        (RoundRobin, true, [0, 1, 2, 0, 1, 2, 0, 1, 2]),
        (RoundRobinPacket, false, [0, 0, 0, 1, 1, 1, 2, 2, 2]),
        (RoundRobinPacket, true, [0, 0, 0, 1, 1, 1, 2, 2, 2]),
        // Stream 2 has the highest priority, and the weight 0, which counts as 1.
        (Priority, false, [2, 2, 2, 1, 1, 1, 0, 0, 0]),
        (Priority, true, [2, 2, 2, 1, 1, 1, 0, 0, 0]),
        (FairCapacity, false, [0, 0, 0, 1, 2, 2, 2, 1, 1]),
        (FairCapacity, true, [0, 1, 2, 0, 1, 2, 0, 1, 2]),
        // The weights are 3, 1 and 1.
        (WeightedFair, true, [0, 1, 2, 0, 0, 1, 2, 1, 2]),
    ];
    for (scheduler, interleaves, expected) in rows {
        let mut q = scheduled(scheduler, interleaves);
        q.set_value(0, 3);
        q.set_value(1, 1);
        for (stream, len) in [(0, 30), (1, 10), (1, 10), (1, 10), (2, 30)] {
            q.push(Message::new(stream, vec![0; len]));
        }
        let order = leave(&mut q, 3);
        assert_eq!(order, expected, "{scheduler:?}, {interleaves}");
    }
}

#[test]
fn a_packet_per_stream_is_not_filled_by_another_one() {
    for (interleaves, expected) in [
        (true, [vec![0, 0], vec![1], vec![0, 0], vec![0]]),
        // A message that has begun is finished first.
        (false, [vec![0, 0], vec![0, 0], vec![0], vec![1]]),
    ] {
        let mut q = scheduled(StreamScheduler::RoundRobinPacket, interleaves);
        q.push(Message::new(0, vec![0; 50]));
        q.push(Message::new(1, vec![0; 5]));
        let mut packets = Vec::new();
        while let Some(w) = q.next_lane(0) {
            let chunks = core::iter::from_fn(|| {
                let len = q.next_len(w.lane, 10)?;
                q.cut(w.lane, len).map(|c| c.stream)
            });
            packets.push(chunks.take(2).collect::<Vec<_>>());
            q.packet_ends(w.lane);
        }
        assert_eq!(packets, expected);
    }
}

#[test]
fn interleaved_chunks_have_numbers_of_their_own() {
    let mut q = scheduled(StreamScheduler::RoundRobin, true);
    for (stream, unordered) in [(0, false), (0, true), (1, true), (1, false), (0, true)] {
        let mut m = Message::new(stream, vec![0; 15]);
        (m.unordered, m.ppid) = (unordered, 9);
        q.push(m);
    }
    let mut found = Vec::new();
    while let Some(w) = q.next_lane(0) {
        let c = q.cut(w.lane, 10).unwrap();
        found.push((c.stream, c.unordered, c.number, c.ppid_or_fsn, c.begin));
    }
    let message = |stream, unordered, number| {
        [
            (stream, unordered, number, 9, true),
            (stream, unordered, number, 1, false),
        ]
    };
    let of = |stream: u16| found.iter().filter(move |c| c.0 == stream).copied();
    let zero = [(false, 0), (true, 0), (true, 1)].map(|(u, n)| message(0, u, n));
    assert_eq!(of(0).collect::<Vec<_>>(), zero.concat());
    let one = [(true, 0), (false, 0)].map(|(u, n)| message(1, u, n));
    assert_eq!(of(1).collect::<Vec<_>>(), one.concat());
    let turns: Vec<u16> = found.iter().take(4).map(|c| c.0).collect();
    assert_eq!(turns, [0, 1, 0, 1]);
}

#[test]
fn a_stream_has_one_message_under_way_in_whatever_lane() {
    let mut q = scheduled(StreamScheduler::RoundRobin, true);
    let mut pinned = Message::new(0, vec![0; 15]);
    (pinned.path, pinned.unordered) = (Some(PathId(1)), true);
    q.push(Message::new(0, vec![0; 25]));
    q.push(pinned);
    let main = lane_of(&q, None).unwrap();
    q.cut(main, 10);
    assert_eq!(lane_of(&q, Some(PathId(1))), None);
    // Other streams go on.
    let mut other = Message::new(1, vec![0; 5]);
    other.path = Some(PathId(1));
    q.push(other);
    let bound = lane_of(&q, Some(PathId(1))).unwrap();
    assert_eq!(q.cut(bound, 10).unwrap().stream, 1);
    q.cut(main, 10);
    q.cut(main, 10);
    let bound = lane_of(&q, Some(PathId(1))).unwrap();
    assert_eq!(q.cut(bound, 10).unwrap().stream, 0);
    assert!(q.totals_agree());
}

#[test]
fn a_stream_that_comes_late_waits_for_one_chunk_and_not_for_what_waits() {
    for scheduler in [
        StreamScheduler::RoundRobin,
        StreamScheduler::FairCapacity,
        StreamScheduler::WeightedFair,
        StreamScheduler::Priority,
    ] {
        let mut q = scheduled(scheduler, true);
        q.set_value(0, 1);
        q.push(Message::new(0, vec![0; 1000]));
        let lane = lane_of(&q, None).unwrap();
        for _ in 0..50 {
            q.cut(lane, 10);
        }
        q.push(Message::new(7, vec![0; 5]));
        let next: Vec<u16> = (0..2).map(|_| q.cut(lane, 10).unwrap().stream).collect();
        assert!(next.contains(&7), "{scheduler:?}: {next:?}");
    }
}

#[test]
fn an_idle_queue_gives_the_memory_of_its_streams_back() {
    let mut q = scheduled(StreamScheduler::FairCapacity, true);
    for stream in 0..300 {
        q.push(Message::new(stream, vec![0; 5]));
    }
    let memory = |q: &SendQueue| q.memory() + q.extra_memory();
    let busy = memory(&q);
    leave(&mut q, 3);
    q.give_idle_memory_back();
    assert!(memory(&q) < busy / 10, "{} of {busy}", memory(&q));
    q.push(Message::new(3, vec![0; 5]));
    let lane = lane_of(&q, None).unwrap();
    assert_eq!(q.cut(lane, 10).unwrap().number, 1, "the stream goes on");
}
