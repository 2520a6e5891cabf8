use super::*;
use crate::policy::FastRetransmits;
use bytes::Bytes;

const A: PathId = PathId(0);
const B: PathId = PathId(1);

fn enter(l: &mut Ledger, path: PathId) {
    let cut = Cut {
        payload: Bytes::from_static(&[0; 100]),
        ppid_or_fsn: 0,
        stream: 0,
        number: 0,
        unordered: false,
        begin: true,
        end: true,
        immediate: false,
        context: 0,
    };
    let first = FirstSending {
        path,
        at: Instant::ZERO,
        bytes: 116,
        immediate: false,
    };
    l.enter(cut, first);
}

fn ledger(paths: &[PathId]) -> Ledger {
    let mut l = Ledger::new(Tsn(u32::MAX - 2), 0);
    for &p in paths {
        enter(&mut l, p);
    }
    l
}

/// Applies a SACK and lists what was acknowledged and what was reneged.
fn sack(l: &mut Ledger, covered: u64, blocks: &[(u64, u64)]) -> (Vec<u64>, Vec<u64>) {
    let (mut acked, mut reneged) = (Vec::new(), Vec::new());
    l.apply(covered, blocks, |seq, _, change| match change {
        Change::Acked => acked.push(seq),
        Change::Reneged => reneged.push(seq),
        Change::Passed => {}
    });
    assert!(l.totals_agree());
    (acked, reneged)
}

#[test]
fn each_chunk_is_acknowledged_once_whatever_is_repeated() {
    let mut l = ledger(&[A; 10]);
    assert_eq!(sack(&mut l, 1, &[(3, 5)]).0, [0, 3, 4]);
    assert_eq!(sack(&mut l, 1, &[(3, 5), (7, 8)]).0, [7]);
    assert_eq!(sack(&mut l, 1, &[(3, 8)]).0, [5, 6]);
    assert_eq!(sack(&mut l, 8, &[]).0, [1, 2]);
    assert_eq!((l.base(), l.len()), (8, 2));
    assert_eq!(l.cumulative(), Tsn(u32::MAX - 2).plus(7), "across the wrap");
}

#[test]
fn a_renegade_peer_gets_its_chunks_back_in_flight() {
    let mut l = ledger(&[A; 6]);
    sack(&mut l, 1, &[(2, 5)]);
    let before = l.rwnd_in_flight();
    assert_eq!(sack(&mut l, 1, &[(4, 5)]).1, [2, 3]);
    assert_eq!(l.rwnd_in_flight(), before + 200);
    assert_eq!(l.get(2).unwrap().fate, Fate::InFlight);
}

fn missing(below: u64, rule: FastRetransmits) -> Missing {
    Missing {
        below,
        highest_new: below,
        threshold: 3,
        rule,
        newest_sent: Instant::FAR_FUTURE,
        keeps_repeated: rule.repeats(),
        split: None,
        by_time: 0,
    }
}

fn count(l: &mut Ledger, below: u64) -> Vec<u64> {
    let mut lost = Vec::new();
    l.count_missing(&missing(below, FastRetransmits::Once), |seq, _| {
        lost.push(seq)
    });
    assert!(l.totals_agree());
    lost
}

#[test]
fn the_third_missing_report_marks_a_chunk_once() {
    let mut l = ledger(&[A; 10]);
    for (block, expected) in [((1, 2), vec![]), ((1, 3), vec![]), ((1, 4), vec![0])] {
        sack(&mut l, 0, &[block]);
        assert_eq!(count(&mut l, block.1 - 1), expected);
    }
    assert_eq!(
        l.get(0).unwrap().fate,
        Fate::Lost(LossCause::FastRetransmit)
    );
    l.resend(0, A, Instant::ZERO).unwrap();
    for end in 5..10 {
        sack(&mut l, 0, &[(1, end)]);
        assert_eq!(count(&mut l, end - 1), [0; 0], "only once per TSN");
    }
}

#[test]
fn multiple_fast_retransmit_marks_a_chunk_again_by_what_was_sent_after_it() {
    let mut l = ledger(&[A; 10]);
    let mut lost = Vec::new();
    let mut report = |l: &mut Ledger, end: u64| {
        sack(l, 0, &[(1, end)]);
        let missing = missing(end - 1, FastRetransmits::Multiple);
        lost.clear();
        l.count_missing(&missing, |seq, _| lost.push(seq));
        assert!(l.totals_agree());
        lost.clone()
    };
    for (end, expected) in [(3, vec![]), (4, vec![]), (5, vec![0])] {
        assert_eq!(report(&mut l, end), expected);
    }
    l.resend(0, A, Instant::ZERO).unwrap();
    for _ in 0..4 {
        enter(&mut l, A);
    }
    // 5 to 9 were sent before the retransmission, so they do not report it missing.
    for end in 6..=12 {
        assert_eq!(report(&mut l, end), [0; 0], "up to {end}");
    }
    assert_eq!(report(&mut l, 13), [0], "10, 11 and 12 left after it");
}

#[test]
fn only_chunks_below_the_highest_newly_acknowledged_are_counted() {
    let mut l = ledger(&[A; 10]);
    sack(&mut l, 0, &[(1, 2), (8, 9)]);
    assert_eq!(count(&mut l, 8), [0; 0]);
    count(&mut l, 1);
    assert_eq!(
        l.get(2).unwrap().reports.missing,
        1,
        "above 1: not counted again"
    );
    assert_eq!(l.get(0).unwrap().reports.missing, 2);
}

#[test]
fn a_timeout_marks_what_is_in_flight_on_its_path_alone() {
    let mut l = ledger(&[A, B, A, B, A]);
    sack(&mut l, 0, &[(2, 3)]);
    let mut lost = Vec::new();
    l.lose_path(A, |seq, _| lost.push(seq));
    assert_eq!(lost, [0, 4]);
    assert_eq!((l.recount_flight(A), l.recount_flight(B)), (0, 232));
    assert_eq!(l.first_in_flight(B, 0), Some(1));
    let group = &l.lost().groups()[0];
    assert_eq!(
        (group.cause, group.path, group.first()),
        (LossCause::Timeout, A, Some(0))
    );
    l.resend(0, B, Instant::ZERO).unwrap();
    assert!(l.totals_agree());
    assert_eq!(sack(&mut l, 5, &[]).0, [0, 1, 3, 4]);
    assert!(l.is_empty() && l.lost().is_empty());
}

#[test]
fn differences_of_ranges() {
    let diff = |a: &[(u64, u64)], b: &[(u64, u64)]| {
        let mut out = Vec::new();
        for_each_difference(a, b, |f, t| out.push((f, t)));
        out
    };
    assert_eq!(diff(&[(1, 10)], &[]), [(1, 10)]);
    assert_eq!(
        diff(&[(1, 10)], &[(3, 5), (7, 8)]),
        [(1, 3), (5, 7), (8, 10)]
    );
    assert_eq!(diff(&[(3, 5), (7, 8)], &[(1, 10)]), []);
    assert_eq!(diff(&[(1, 4), (6, 9)], &[(3, 7)]), [(1, 3), (7, 9)]);
    assert_eq!(diff(&[(1, 4)], &[(1, 4)]), []);
    assert_eq!(diff(&[(5, 6), (8, 9)], &[(1, 2), (5, 6)]), [(8, 9)]);
}

#[test]
fn a_sack_that_only_takes_back_is_told_from_one_that_has_news() {
    let mut l = ledger(&[A; 10]);
    sack(&mut l, 1, &[(2, 4), (6, 8)]);
    for (blocks, expected) in [
        (&[][..], true),
        (&[(2, 4)], true),
        (&[(3, 4), (6, 7)], true),
        (&[(2, 4), (6, 8)], false),
        (&[(2, 5)], false),
        (&[(4, 6)], false),
        (&[(9, 10)], false),
    ] {
        assert_eq!(l.only_takes_back(blocks), expected, "{blocks:?}");
    }
}
