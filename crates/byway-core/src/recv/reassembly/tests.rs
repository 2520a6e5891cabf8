use super::memory::WORD;
use super::out_of_order::{OutOfOrder, Waiting};
use super::*;
use bytes::BytesMut;

fn fragment(seq: u64, ssn: u16, begin: bool, end: bool, payload: &[u8]) -> Fragment<'_> {
    Fragment {
        seq,
        stream: 1,
        ssn,
        ppid: 7,
        unordered: false,
        begin,
        end,
        payload,
        shared: None,
    }
}

fn drain(r: &mut Reassembly) -> Vec<(String, bool, bool)> {
    core::iter::from_fn(|| r.pop())
        .map(|m| {
            (
                String::from_utf8(m.payload.to_vec()).unwrap(),
                m.first,
                m.last,
            )
        })
        .collect()
}

fn whole(texts: &[&str]) -> Vec<(String, bool, bool)> {
    texts
        .iter()
        .map(|t| ((*t).to_owned(), true, true))
        .collect()
}

#[test]
fn fragments_in_every_order_make_the_same_messages() {
    let all = [
        fragment(0, 0, true, false, b"one "),
        fragment(1, 0, false, false, b"and "),
        fragment(2, 0, false, true, b"only"),
        fragment(3, 1, true, true, b"two"),
        fragment(4, 2, true, false, b"thr"),
        fragment(5, 2, false, true, b"ee"),
    ];
    for k in 0..720usize {
        // The k-th permutation, by the factorial number system.
        let mut left: Vec<usize> = (0..6).collect();
        let (mut r, mut k) = (Reassembly::new(10, 1 << 20), k);
        let mut arrived = std::collections::BTreeSet::new();
        for n in (1..=6).rev() {
            let i = left.remove(k % n);
            k /= n;
            arrived.insert(all[i].seq);
            let in_order = (0..).find(|s| !arrived.contains(s)).unwrap();
            r.insert(&all[i], in_order).unwrap();
            assert!(r.totals_agree());
        }
        assert_eq!(drain(&mut r), whole(&["one and only", "two", "three"]));
        assert_eq!(r.held(), 0);
    }
}

#[test]
fn unordered_messages_do_not_wait() {
    let mut r = Reassembly::new(0, 1 << 20);
    let mut late = fragment(5, 0, true, true, b"now");
    late.unordered = true;
    r.insert(&fragment(4, 1, true, true, b"second"), 0).unwrap();
    r.insert(&late, 0).unwrap();
    assert_eq!(drain(&mut r), whole(&["now"]));
    r.insert(&fragment(0, 0, true, true, b"first"), 1).unwrap();
    assert_eq!(drain(&mut r), whole(&["first", "second"]));
}

#[test]
fn a_long_message_is_delivered_in_parts_once_everything_before_it_has_arrived() {
    let mut r = Reassembly::new(1, 6);
    r.insert(&fragment(1, 1, true, false, b"aaaa"), 0).unwrap();
    r.insert(&fragment(2, 1, false, false, b"bbbb"), 0).unwrap();
    assert!(!r.has_ready(), "TSN 0 is missing");
    r.insert(&fragment(0, 0, true, true, b"0"), 3).unwrap();
    assert_eq!(
        drain(&mut r),
        [("0".into(), true, true), ("aaaabbbb".into(), true, false)]
    );
    r.insert(&fragment(4, 1, false, true, b"dd"), 3).unwrap();
    assert!(!r.has_ready());
    r.insert(&fragment(3, 1, false, false, b"c"), 5).unwrap();
    assert_eq!(drain(&mut r), [("cdd".into(), false, true)]);
    assert_eq!(r.held(), 0);
    r.insert(&fragment(5, 2, true, true, b"next"), 6).unwrap();
    assert_eq!(drain(&mut r), whole(&["next"]));
}

#[test]
fn contradicting_neighbours_are_refused() {
    let cases: [(&[Fragment<'_>], &str); 4] = [
        (
            &[
                fragment(0, 0, true, false, b"a"),
                fragment(1, 0, true, true, b"b"),
            ],
            "began inside",
        ),
        (
            &[
                fragment(1, 0, false, true, b"a"),
                fragment(0, 0, true, true, b"b"),
            ],
            "ended inside",
        ),
        (
            &[
                fragment(0, 0, true, false, b"a"),
                fragment(1, 9, false, true, b"b"),
            ],
            "different",
        ),
        (
            &[
                fragment(1, 0, false, false, b"a"),
                fragment(0, 0, false, true, b"b"),
            ],
            "ended inside",
        ),
    ];
    for (fragments, expected) in cases {
        let mut r = Reassembly::new(0, 1 << 20);
        let (last, front) = fragments.split_last().unwrap();
        for f in front {
            r.insert(f, 0).unwrap();
        }
        assert!(r.insert(last, 0).unwrap_err().0.contains(expected));
    }
}

#[test]
fn a_stream_numbers_its_messages_across_the_wrap_at_2_to_the_16() {
    let mut r = Reassembly::new(0, 1 << 20);
    for k in 0..70_000u64 {
        r.insert(&fragment(k, k as u16, true, true, b"x"), k + 1)
            .unwrap();
        assert_eq!(drain(&mut r).len(), 1);
    }
}

#[test]
fn a_second_message_with_a_waiting_number_holds_nothing_of_the_window() {
    let mut r = Reassembly::new(16, 100);
    r.insert(&fragment(1, 1, true, true, b"first"), 0).unwrap();
    r.insert(&fragment(2, 1, true, true, b"second"), 0).unwrap();
    assert!(r.totals_agree());
    r.insert(&fragment(0, 0, true, true, b"zero"), 3).unwrap();
    assert_eq!(drain(&mut r), whole(&["zero", "first"]));
    assert_eq!(r.held(), 0);
}

#[test]
fn tiny_fragments_reach_the_partial_delivery_point_by_their_overhead() {
    let mut r = Reassembly::new(48, 100);
    r.insert(&fragment(0, 0, true, false, b"a"), 1).unwrap();
    r.insert(&fragment(1, 0, false, false, b"b"), 2).unwrap();
    assert!(!r.has_ready());
    r.insert(&fragment(2, 0, false, false, b"c"), 3).unwrap();
    assert_eq!(drain(&mut r), [("abc".to_owned(), true, false)]);
}

#[test]
fn a_message_that_never_began_is_a_violation_as_soon_as_nothing_can_come_before_it() {
    let never_began = Err(NEVER_BEGAN);
    // In order.
    let mut r = Reassembly::new(48, 1 << 20);
    assert_eq!(r.insert(&fragment(0, 0, false, true, b"x"), 1), never_began);
    // After a message that ended.
    let mut r = Reassembly::new(48, 1 << 20);
    r.insert(&fragment(0, 0, true, true, b"whole"), 1).unwrap();
    assert_eq!(
        r.insert(&fragment(1, 1, false, false, b"x"), 2),
        never_began
    );
    // Behind a gap, which fills with something else.
    let mut r = Reassembly::new(48, 1 << 20);
    r.insert(&fragment(1, 1, false, true, b"x"), 0).unwrap();
    assert!(r.insert(&fragment(0, 0, true, true, b"z"), 2).is_err());
    // The rest of a message whose front was delivered did begin.
    let mut r = Reassembly::new(1, 6);
    r.insert(&fragment(0, 0, true, false, b"front of it"), 1)
        .unwrap();
    assert_eq!(r.insert(&fragment(1, 0, false, true, b"end"), 2), Ok(()));
}

#[test]
fn a_short_message_does_not_keep_the_buffer_of_a_long_one() {
    let mut r = Reassembly::new(48, 1 << 20);
    let long = vec![7; 100_000];
    r.insert(&fragment(0, 0, true, false, &long), 1).unwrap();
    r.insert(&fragment(1, 0, false, true, b"."), 2).unwrap();
    r.pop().unwrap();
    r.insert(&fragment(2, 1, true, false, b"a"), 3).unwrap();
    // While it is incomplete, the buffer is counted.
    assert!(r.memory() > 100_000);
    r.insert(&fragment(3, 1, false, true, b"b"), 4).unwrap();
    assert!(r.memory() < 1000, "{}", r.memory());
    let payload = r.pop().unwrap().payload;
    let buffer = payload.try_into_mut().unwrap();
    assert!(buffer.capacity() <= 2, "{}", buffer.capacity());
}

#[test]
fn a_message_in_a_high_stream_takes_little_memory_and_is_counted() {
    let mut r = Reassembly::new(48, 1 << 20);
    let mut high = fragment(0, 0, true, true, b"x");
    high.stream = u16::MAX;
    r.insert(&high, 1).unwrap();
    assert!((131_072..140_000).contains(&r.memory()), "{}", r.memory());
    // Messages that wait in many streams are counted, and freed when they leave.
    for n in 0..1000 {
        let mut late = fragment(2 + u64::from(n), 1, true, true, b"x");
        late.stream = n;
        r.insert(&late, 1).unwrap();
    }
    assert!(r.totals_agree() && r.memory() > 131_072 + 200_000);
    for n in 0..1000 {
        let mut first = fragment(2000 + u64::from(n), 0, true, true, b"x");
        first.stream = n;
        r.insert(&first, 1).unwrap();
    }
    while r.pop().is_some() {}
    assert!(r.totals_agree() && r.memory() < 140_000, "{}", r.memory());
}

/// On a machine with 64-bit words each takes what it counts for.
#[test]
#[cfg(target_pointer_width = "64")]
fn sizes_are_those_of_64_bits() {
    fn both<T: Counted>() -> (&'static str, usize, usize) {
        (core::any::type_name::<T>(), T::SIZE, size_of::<T>())
    }
    for (name, counted, real) in [
        both::<Run>(),
        both::<Ready>(),
        both::<Waiting>(),
        both::<BytesMut>(),
        both::<OutOfOrder<u16>>(),
        both::<OutOfOrder<u32>>(),
        ("word", WORD, size_of::<usize>()),
    ] {
        assert_eq!(counted, real, "{name}");
    }
}
