//! Memory is scarce: what is dropped, who is aborted, and who is served all the same.

use crate::alone;
use crate::victim::{HOARDED, Shot, Stranger, Victim, in_order, next, packet, shoot};
use byway_core::{CommandError, LossReason, Message, Rule};

const MIB: usize = 1 << 20;

/// So many sixteenths of it.
fn part(of: usize, sixteenths: usize) -> usize {
    of / 16 * sixteenths
}

/// So many of what cannot be acknowledged in order.
fn gaps(times: u8) -> Shot {
    Shot { times, ..HOARDED }
}

/// Memory of which so many associations hold the same, and all together this part. Each two are of one host.
fn crowded(max_memory: usize, many: u16, sixteenths: f64) -> (Victim, Vec<Stranger>) {
    let mut v = Victim::new(max_memory);
    let meet = |n: u16| v.meet(100 + (n / 2) as u8, 20_000 + n);
    let crowd: Vec<Stranger> = (0..many).filter_map(meet).collect();
    assert_eq!(crowd.len(), usize::from(many));
    let wanted = (max_memory as f64 * sixteenths / 16.0) as usize;
    let more = (wanted - v.endpoint.memory()) / usize::from(many);
    for s in &crowd {
        v.keeps(s, more);
    }
    (v, crowd)
}

#[test]
fn what_is_shed_and_in_which_order() {
    let _alone = alone();
    let all = 2 * MIB;
    let mut v = Victim::new(all);
    let mut hoarder = v.meet(2, 6000).unwrap();
    let mut honest = v.meet_honest(3, 6001);
    // Below three quarters everything is taken, and a third one comes in.
    shoot(&mut v, &mut hoarder, &HOARDED);
    let third = v.meet(4, 6002).unwrap();
    // The window of one association is a megabyte, so it takes two to fill the ceiling.
    for _ in 0..4 {
        shoot(&mut v, &mut hoarder, &HOARDED);
    }
    let mut second = v.meet(5, 6003).unwrap();
    let others: Vec<Stranger> = (1..8).filter_map(|n| v.meet(5, 6003 + n)).collect();
    assert_eq!(others.len(), 7);
    for _ in 0..5 {
        shoot(&mut v, &mut second, &HOARDED);
    }
    let full = v.endpoint.memory();
    assert!(part(all, 12) < full && full <= all, "{full}");
    // 1: no further one of a host that has eight. A newcomer is let in up to fifteen sixteenths.
    assert!(part(all, 15) > full, "{full}");
    assert!(v.meet(5, 6020).is_none());
    assert_eq!(v.endpoint.endpoint_stats().refused_for_memory, 1);
    assert!(v.meet(6, 6004).is_some());
    // 2: no more of who holds its share, but of an honest peer, who holds less.
    let held = v.endpoint.memory();
    shoot(&mut v, &mut second, &HOARDED);
    assert_eq!(v.endpoint.memory(), held);
    let shed = v.dropped();
    assert!(shed > 0);
    let refusals = v.endpoint.take_refusals();
    let of_rule = |r: &byway_core::Refusal| r.rule == Rule::DataMemory && r.count == shed;
    assert!(refusals.iter().any(of_rule));
    shoot(&mut v, &mut honest, &in_order(10));
    assert!(v.endpoint.memory() >= held + 10 * 1400);
    assert!(v.lost.is_empty());
    // 3: the user keeps so much outside that fifteen sixteenths are passed: the largest goes.
    v.keeps(&third, 300 << 10);
    v.take(2, &[]);
    assert_eq!(v.lost, [LossReason::OutOfMemory]);
    assert_eq!(v.endpoint.endpoint_stats().shed, 1);
    assert!(v.endpoint.memory() < part(all, 12));
    assert!(v.meet(7, 6005).is_some());
    // Where nothing is left for a newcomer, none comes in.
    let rest = part(all, 15) - v.endpoint.memory();
    v.keeps(&others[0], rest);
    assert!(v.meet(8, 6004).is_none());
    v.keeps(&others[0], 0);
    assert!(v.meet(8, 6004).is_some());
}

/// More hoarders than there is memory for: whoever comes later finds room and may hold as much as they do.
#[test]
fn hoarders_leave_room_for_newcomers() {
    let _alone = alone();
    let all = 4 * MIB;
    let mut v = Victim::new(all);
    // Of ten hosts, so that none has reached the limit of its own.
    let hoarders = (0..40).filter_map(|n| v.meet(2 + n / 4, 6000 + u16::from(n)));
    let mut hoarders: Vec<Stranger> = hoarders.collect();
    // The first ten have begun before the others, and hold more than an equal share.
    for n in 0..50 {
        let who = if n < 30 { 0..10 } else { 10..40 };
        for s in &mut hoarders[who] {
            shoot(&mut v, s, &gaps(5));
        }
        let memory = v.endpoint.memory();
        assert!(memory <= part(all, 15) + 4096, "{memory} after {n}");
    }
    assert!(v.dropped() > 0);
    let mut newcomer = v.meet_honest(50, 7000);
    shoot(&mut v, &mut newcomer, &in_order(40));
    assert!(v.holds_of(&newcomer) > 40 * 1400);
    // Who went is of those who held most.
    let first: Vec<_> = hoarders[..10].iter().map(|s| s.id).collect();
    assert!(v.gone.iter().all(|id| first.contains(id)));
}

/// A peer whose DATA waits behind gaps now and then, beside others that hold all they may: nothing of it is dropped.
#[test]
fn a_sender_within_its_share_has_nothing_dropped_while_memory_is_scarce() {
    let _alone = alone();
    let (mut v, mut crowd) = crowded(4 * MIB, 40, 14.2);
    let mut honest = v.meet_honest(2, 6000);
    for _ in 0..50 {
        // One is lost, nine arrive behind it, and it comes again. The reader takes all.
        let lost = next(&v, &mut honest, &in_order(1), |_| {});
        shoot(&mut v, &mut honest, &in_order(9));
        v.take(honest.host, &lost);
        let received = std::iter::from_fn(|| v.endpoint.receive(honest.id));
        assert_eq!(received.count(), 10);
    }
    assert_eq!(v.dropped(), 0);
    // The others are at their share.
    shoot(&mut v, &mut crowd[0], &gaps(9));
    assert_eq!(v.dropped(), 9);
    assert!(v.lost.is_empty());
}

/// What closes a gap is taken up to twice the share: all behind it waits for it.
#[test]
fn what_closes_a_gap_is_taken_beyond_the_share() {
    let _alone = alone();
    let (mut v, crowd) = crowded(4 * MIB, 40, 12.0);
    let mut honest = v.meet_honest(2, 6000);
    let missing = next(&v, &mut honest, &in_order(1), |_| {});
    shoot(&mut v, &mut honest, &in_order(55));
    assert_eq!(v.dropped(), 0);
    // Now memory is scarce, and it holds more than its share.
    let more = (part(4 * MIB, 14) + 20_000 - v.endpoint.memory()) / crowd.len();
    let before = v.holds_of(&crowd[0]);
    crowd.iter().for_each(|s| v.keeps(s, before + more - 2000));
    let scarce = v.endpoint.memory();
    assert!(
        part(4 * MIB, 14) <= scarce && scarce < part(4 * MIB, 15),
        "{scarce}"
    );
    shoot(&mut v, &mut honest, &in_order(40));
    let dropped = v.dropped();
    assert!((1..=40).contains(&dropped), "{dropped}");
    let held = v.holds_of(&honest);
    v.take(honest.host, &missing);
    assert_eq!(v.dropped(), dropped, "it is taken");
    assert!(v.holds_of(&honest) > held);
    assert!(v.endpoint.receive(honest.id).is_some());
}

/// What those that hold little leave is for the others, and a window says so.
#[test]
fn a_window_is_seven_eighths_of_the_max_min_share_while_memory_is_scarce() {
    let _alone = alone();
    let all = 4 * MIB;
    let mut v = Victim::new(all);
    let idle: Vec<Stranger> = (0..300)
        .filter_map(|n| v.meet(100 + (n / 7) as u8, 20_000 + n))
        .collect();
    assert_eq!(idle.len(), 300);
    let idle_hold = v.endpoint.memory();
    let large: Vec<Stranger> = (0..20).map(|n| v.meet(50 + n, 30_000).unwrap()).collect();
    let each = (part(all, 14) + 10_000 - v.endpoint.memory()) / 20;
    let windows = |v: &mut Victim, port| {
        let mut honest = v.meet_honest(2, port);
        shoot(v, &mut honest, &in_order(2))
    };
    let free = windows(&mut v, 6000).pop().unwrap();
    assert!(free > 500_000, "{free}");
    large.iter().for_each(|s| v.keeps(s, each));
    let scarce = windows(&mut v, 6001).pop().unwrap() as usize;
    let share = (part(all, 14) - idle_hold) / 20;
    let window = share / 8 * 7;
    // The association itself and its two messages take some of it.
    assert!(
        window - 10_000 < scarce && scarce < window,
        "{scarce} of {window}"
    );
    large.iter().for_each(|s| v.keeps(s, 0));
    let again = windows(&mut v, 6002).pop().unwrap();
    assert_eq!(again, free, "there is enough again");
}

/// So many associations that a share is less than one takes by itself: what comes in order is taken all the same, a
/// packet or two at a time, as the window says.
#[test]
fn no_association_stands_still_for_want_of_a_share() {
    let _alone = alone();
    let (mut v, _crowd) = crowded(MIB / 2, 120, 14.2);
    let mut honest = v.meet_honest(2, 6000);
    for n in 0..100 {
        let windows = shoot(&mut v, &mut honest, &in_order(1));
        assert!(windows.iter().all(|w| *w <= 4096), "{windows:?}");
        assert!(v.endpoint.receive(honest.id).is_some(), "message {n}");
    }
    assert_eq!(v.dropped(), 0);
    // Who does not read gets no more than the window, and nothing is kept behind a gap.
    shoot(&mut v, &mut honest, &in_order(4));
    assert_eq!(v.dropped(), 1);
    shoot(&mut v, &mut honest, &gaps(2));
    assert_eq!(v.dropped(), 3);
}

/// What the user sends is more than the share, to a peer that sends as well: of that nothing is dropped. From then on the
/// user may buffer half of the share.
#[test]
fn what_is_sent_keeps_no_data_out() {
    let _alone = alone();
    let all = 4 * MIB;
    let (mut v, crowd) = crowded(all, 40, 10.0);
    let mut honest = v.meet_honest(2, 6000);
    let message = |len| Message::new(0, vec![7; len]);
    let id = honest.id;
    v.endpoint.send(v.now, id, message(300_000)).unwrap();
    v.take(2, &[]);
    let each = v.holds_of(&crowd[0]) + (part(all, 14) - v.endpoint.memory()) / crowd.len();
    crowd.iter().for_each(|s| v.keeps(s, each));
    for _ in 0..30 {
        // More than is taken in any case.
        shoot(&mut v, &mut honest, &in_order(9));
        let received = std::iter::from_fn(|| v.endpoint.receive(id));
        assert_eq!(received.count(), 9);
    }
    let full = v.endpoint.memory();
    assert!(part(all, 14) <= full && full <= part(all, 15), "{full}");
    assert_eq!(v.dropped(), 0);
    // It hears of the share with a SACK.
    let sack = packet(honest.port, honest.tag, |p| {
        p.sack(honest.first.minus(1), 1 << 20, &[], &[]);
    });
    v.take(honest.host, &sack);
    match v.endpoint.send(v.now, id, message(1000)) {
        Err(CommandError::WouldBlock { limit, .. }) => {
            // What the others leave.
            let share = (part(all, 14) + v.holds_of(&honest) - v.endpoint.memory()) as u32;
            assert!(
                (share / 2 - 2000..share / 2 + 2000).contains(&limit),
                "{limit} of {share}"
            );
        }
        other => panic!("{other:?}"),
    }
    assert!(v.lost.is_empty());
}

/// What the user keeps of an association counts for its share: no more of it is taken than a packet or two.
#[test]
fn what_the_user_keeps_counts_for_the_share() {
    let _alone = alone();
    let (mut v, crowd) = crowded(4 * MIB, 40, 14.2);
    let mut one = v.meet_honest(2, 6000);
    let share = v.holds_of(&crowd[0]);
    v.keeps(&one, share);
    let windows = shoot(&mut v, &mut one, &in_order(20));
    assert!(windows.iter().all(|w| *w <= 4096), "{windows:?}");
    assert_eq!(v.dropped(), 17);
    assert!(v.lost.is_empty());
}

/// A COOKIE ECHO before DATA takes it past no limit of the host.
#[test]
fn a_cookie_once_more_takes_no_data_past_the_share_of_its_host() {
    let _alone = alone();
    let mut v = Victim::new(4 * MIB);
    let mut crowd = v.meet_many(2, 20);
    for s in &mut crowd {
        shoot(&mut v, s, &gaps(62));
    }
    // The host has come to seven eighths of its half, and half of all is free.
    let full = v.endpoint.memory();
    assert!(
        part(2 * MIB, 14) <= full && full < part(2 * MIB, 15) + 4096,
        "{full}"
    );
    let dropped = v.dropped();
    let mut last = crowd.pop().unwrap();
    for n in 1..=20 {
        let cookie = last.cookie.clone();
        let bytes = next(&v, &mut last, &gaps(1), |p| p.cookie_echo(&cookie));
        v.take(last.host, &bytes);
        assert_eq!(v.dropped(), dropped + n);
    }
}

/// Peers fill the memory and end their associations. What nobody has read of them gives way to those that live.
#[test]
fn what_ended_associations_hold_gives_way() {
    let _alone = alone();
    let all = 2 * MIB;
    let mut v = Victim::new(all);
    let mut honest = v.meet_honest(2, 6000);
    let mut ended = Vec::new();
    for (host, messages) in [(3, 430), (4, 430), (5, 375)] {
        let mut s = v.meet_honest(host, 6000);
        for _ in 0..messages / 5 {
            shoot(&mut v, &mut s, &in_order(5));
        }
        let abort = packet(s.port, s.tag, |p| p.abort(false, |_| {}));
        v.take(host, &abort);
        ended.push(s.id);
    }
    let full = v.endpoint.memory();
    assert!(part(all, 14) < full && full < part(all, 15), "{full}");
    (v.gone, v.lost) = (Vec::new(), Vec::new());
    // 100 messages, which nobody reads for now: less than the share.
    shoot(&mut v, &mut honest, &in_order(100));
    assert_eq!(v.lost, [LossReason::OutOfMemory]);
    assert!(ended.contains(&v.gone[0]));
    assert_eq!(v.dropped(), 0);
    let received = std::iter::from_fn(|| v.endpoint.receive(honest.id));
    assert_eq!(received.count(), 100);
    // There is nothing left to free of the one that went, and the next one goes then.
    assert!(v.endpoint.receive(v.gone[0]).is_none());
    let other = v.meet_honest(6, 6000);
    v.keeps(&honest, part(all, 4));
    v.keeps(&other, part(all, 4));
    v.take(2, &[]);
    assert_eq!(v.lost, [LossReason::OutOfMemory, LossReason::OutOfMemory]);
    assert!(ended.contains(&v.gone[1]) && v.gone[0] != v.gone[1]);
}

/// The packet that brings memory above fifteen sixteenths is the last one for a long time.
#[test]
fn what_breaks_the_ceiling_goes_at_once() {
    let _alone = alone();
    let all = MIB / 2;
    let mut v = Victim::new(all);
    let mut honest = v.meet_honest(2, 6000);
    // Of two hosts, so that none has reached the limit of its own.
    let large = [3, 4].map(|host| v.meet(host, 6001).unwrap());
    let each = (part(all, 15) - 1000 - v.endpoint.memory()) / 2;
    let [first, second] = &large;
    v.keeps(first, each + 200);
    v.keeps(second, each - 200);
    shoot(&mut v, &mut honest, &in_order(1));
    assert_eq!(v.endpoint.endpoint_stats().shed, 1);
    assert!(v.endpoint.memory() <= part(all, 15));
    // It is the one that held most.
    assert_eq!(v.gone, [first.id]);
    assert!(v.holds_of(&honest) > 1400);
}

/// Who holds more than its share of what its host may make this side keep goes when others come, which take up to theirs.
#[test]
fn who_holds_more_than_its_share_gives_way() {
    let _alone = alone();
    let mut v = Victim::new(2 * MIB);
    let mut hoarders = v.meet_many(2, 20);
    for s in &mut hoarders[..10] {
        shoot(&mut v, s, &gaps(60));
    }
    assert!(v.lost.is_empty());
    for s in &mut hoarders[10..] {
        shoot(&mut v, s, &gaps(20));
    }
    // Answers that wait are of no host.
    let full = v.endpoint.memory();
    assert!(full <= part(MIB, 15) + 4096, "{full}");
    assert!(!v.lost.is_empty());
    assert!(v.lost.iter().all(|why| *why == LossReason::OutOfMemory));
    for s in &hoarders[10..] {
        assert!(v.holds_of(s) > 20 * 1400);
    }
}

/// One host fills its half, and another one finds room and is served.
#[test]
fn one_host_keeps_no_other_out() {
    let _alone = alone();
    let mut v = Victim::new(2 * MIB);
    let mut hoarders = v.meet_many(2, 20);
    for s in &mut hoarders {
        shoot(&mut v, s, &gaps(30));
    }
    let full = v.endpoint.memory();
    // Those of the host that held most went. Answers that wait are of no host.
    let most = part(MIB, 15) + 4096;
    assert!(part(MIB, 12) < full && full <= most, "{full}");
    v.lost.clear();
    // The host gets no further association, whatever its port, and another one does.
    assert!(v.meet(2, 7000).is_none());
    assert_eq!(v.endpoint.endpoint_stats().refused_for_memory, 1);
    let mut honest = v.meet_honest(3, 6000);
    shoot(&mut v, &mut honest, &in_order(200));
    assert!(v.endpoint.memory() >= full + 200 * 1400);
    assert!(v.lost.is_empty());
    // Above its half, although there is room for all: the host's largest goes, at its next packet.
    v.keeps(&hoarders[3], 600 << 10);
    assert!(v.endpoint.memory() < 2 * MIB);
    shoot(&mut v, &mut honest, &in_order(10));
    assert!(v.lost.is_empty());
    shoot(&mut v, &mut hoarders[5], &gaps(30));
    assert_eq!(v.lost, [LossReason::OutOfMemory]);
    assert!(v.holds_of(&hoarders[3]) < 100 << 10);
    // With its associations the host's memory goes.
    for id in v.ids.split_off(0) {
        v.endpoint.release(v.now, id);
    }
    assert!(v.meet(2, 7001).is_some());
}
