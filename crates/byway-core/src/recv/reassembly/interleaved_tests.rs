use super::*;

/// A fragment of stream 1: its MID, its FSN, and its bytes.
#[derive(Copy, Clone)]
struct Piece(u32, u32, &'static str, (bool, bool));

const BEGIN: (bool, bool) = (true, false);
const MIDDLE: (bool, bool) = (false, false);
const END: (bool, bool) = (false, true);
const WHOLE: (bool, bool) = (true, true);

fn fragment(p: Piece, stream: u16, unordered: bool) -> (Fragment<'static>, u32) {
    let Piece(mid, fsn, bytes, (begin, end)) = p;
    let f = Fragment {
        seq: fsn.into(),
        stream,
        ssn: if unordered { 0 } else { mid as u16 },
        ppid: if begin { 7 } else { 0 },
        unordered,
        begin,
        end,
        payload: bytes.as_bytes(),
        shared: None,
    };
    (f, mid)
}

fn interleaving(point: usize) -> Reassembly {
    let mut r = Reassembly::new(10, point);
    r.interleave(true, true);
    r
}

fn put(r: &mut Reassembly, p: Piece, stream: u16, unordered: bool) -> Result<(), &'static str> {
    let (f, mid) = fragment(p, stream, unordered);
    let done = r.insert_interleaved(&f, mid);
    assert!(r.totals_agree());
    done.map_err(|e| e.0)
}

/// Stream, text, and whether it is the first and the last part.
type Got = (u16, String, bool, bool);

fn drain(r: &mut Reassembly) -> Vec<Got> {
    let got = core::iter::from_fn(|| r.pop()).map(|m| {
        assert_eq!(m.ppid, 7);
        let text = String::from_utf8(m.payload.to_vec()).unwrap();
        (m.stream, text, m.first, m.last)
    });
    got.collect()
}

fn texts(r: &mut Reassembly) -> Vec<String> {
    drain(r).into_iter().map(|g| g.1).collect()
}

#[test]
fn fragments_of_two_streams_in_every_order_make_the_same_messages() {
    let all = [
        (Piece(0, 0, "one ", BEGIN), 1),
        (Piece(0, 1, "and ", MIDDLE), 1),
        (Piece(0, 2, "only", END), 1),
        (Piece(0, 0, "thr", BEGIN), 2),
        (Piece(0, 1, "ee", END), 2),
        (Piece(1, 0, "two", WHOLE), 1),
    ];
    for k in 0..720usize {
        // The k-th permutation, by the factorial number system.
        let mut left: Vec<usize> = (0..6).collect();
        let (mut r, mut k) = (interleaving(1 << 20), k);
        for n in (1..=6).rev() {
            let (piece, stream) = all[left.remove(k % n)];
            k /= n;
            put(&mut r, piece, stream, false).unwrap();
        }
        let mut got = drain(&mut r);
        got.sort();
        let got: Vec<_> = got.iter().map(|g| (g.0, &*g.1)).collect();
        assert_eq!(got, [(1, "one and only"), (1, "two"), (2, "three")]);
        assert_eq!((r.held(), r.held_payload()), (0, 0));
    }
}

#[test]
fn ordered_messages_wait_for_their_turn_and_unordered_ones_do_not() {
    let mut r = interleaving(1 << 20);
    put(&mut r, Piece(1, 0, "second", WHOLE), 1, false).unwrap();
    put(&mut r, Piece(5, 0, "loose", WHOLE), 1, true).unwrap();
    // Ordered and unordered messages are numbered apart.
    put(&mut r, Piece(0, 1, "se", END), 1, true).unwrap();
    put(&mut r, Piece(0, 0, "loo", BEGIN), 1, true).unwrap();
    assert_eq!(texts(&mut r), ["loose", "loose"]);
    put(&mut r, Piece(0, 0, "first", WHOLE), 1, false).unwrap();
    assert_eq!(texts(&mut r), ["first", "second"]);
}

#[test]
fn contradicting_fragments_are_refused() {
    // What has arrived of stream 1, what follows, and the reason.
    type Row<'a> = (&'a [Piece], Piece, &'a str);
    let rows: [Row<'_>; 13] = [
        (&[], Piece(0, 0, "a", MIDDLE), "not marked"),
        // The second fragment of Linux.
        (
            &[Piece(0, 0, "a", BEGIN)],
            Piece(0, 0, "b", MIDDLE),
            "not marked",
        ),
        (
            &[Piece(0, 0, "a", BEGIN)],
            Piece(0, 0, "b", BEGIN),
            "two TSNs",
        ),
        (
            &[Piece(0, 0, "a", BEGIN)],
            Piece(0, 0, "b", WHOLE),
            "of which there are fragments",
        ),
        (
            &[Piece(0, 1, "b", MIDDLE)],
            Piece(0, 1, "b", MIDDLE),
            "two TSNs",
        ),
        (
            &[Piece(0, 0, "a", BEGIN), Piece(0, 1, "b", MIDDLE)],
            Piece(0, 1, "b", MIDDLE),
            "two TSNs",
        ),
        (
            &[Piece(0, 3, "d", END)],
            Piece(0, 4, "e", MIDDLE),
            "above that of the last",
        ),
        (
            &[Piece(0, 3, "d", END)],
            Piece(0, 9, "e", END),
            "above that of the last",
        ),
        (
            &[Piece(0, 3, "d", MIDDLE)],
            Piece(0, 2, "c", END),
            "below another one",
        ),
        (
            &[Piece(0, 9, "d", END)],
            Piece(0, 2, "c", END),
            "below another one",
        ),
        (
            &[Piece(0, 0, "a", WHOLE)],
            Piece(0, 0, "a", WHOLE),
            "delivered before",
        ),
        (
            &[Piece(0, 0, "a", WHOLE)],
            Piece(u32::MAX, 1, "a", END),
            "delivered before",
        ),
        (
            &[Piece(3, 0, "d", WHOLE)],
            Piece(3, 1, "e", MIDDLE),
            "two TSNs",
        ),
    ];
    for (before, piece, expected) in rows {
        let mut r = interleaving(1 << 20);
        for p in before {
            put(&mut r, *p, 1, false).unwrap();
        }
        // Other streams and the other kind of message have nothing to do with it.
        for (stream, unordered) in [(2, false), (1, true)] {
            put(&mut r, Piece(0, 5, "x", MIDDLE), stream, unordered).unwrap();
        }
        let refused = put(&mut r, piece, 1, false).unwrap_err();
        assert!(refused.contains(expected), "{refused}, not {expected}");
    }
}

#[test]
fn two_long_messages_are_delivered_in_parts_at_the_same_time() {
    // Each holds less than the point; together they reach it.
    let mut r = interleaving(40);
    put(&mut r, Piece(0, 0, "aaaa", BEGIN), 1, false).unwrap();
    put(&mut r, Piece(0, 0, "bbbb", BEGIN), 2, false).unwrap();
    assert_eq!(texts(&mut r), [""; 0]);
    put(&mut r, Piece(0, 1, "AAAA", MIDDLE), 1, false).unwrap();
    let part = |stream, text: &str, first, last| (stream, text.to_owned(), first, last);
    assert_eq!(drain(&mut r), [part(1, "aaaaAAAA", true, false)]);
    // The other one, when it reaches the point alone.
    put(&mut r, Piece(0, 1, "BBBBBBBBBBBBBBBB", MIDDLE), 2, false).unwrap();
    let all = "bbbbBBBBBBBBBBBBBBBB";
    assert_eq!(drain(&mut r), [part(2, all, true, false)]);
    put(&mut r, Piece(0, 2, "c", END), 2, false).unwrap();
    put(&mut r, Piece(0, 2, "c", END), 1, false).unwrap();
    let last = [part(2, "c", false, true), part(1, "c", false, true)];
    assert_eq!(drain(&mut r), last);
    assert_eq!((r.held(), r.held_payload()), (0, 0));
}

#[test]
fn what_arrived_of_the_next_message_is_delivered_in_parts_when_its_turn_comes() {
    let mut r = interleaving(20);
    put(&mut r, Piece(1, 0, "long and not whole", BEGIN), 1, false).unwrap();
    assert!(!r.has_ready());
    put(&mut r, Piece(0, 0, "first", WHOLE), 1, false).unwrap();
    assert_eq!(texts(&mut r), ["first", "long and not whole"]);
    // Of one stream one message at a time.
    put(&mut r, Piece(0, 0, "unordered and long", BEGIN), 1, true).unwrap();
    assert!(!r.has_ready());
    put(&mut r, Piece(1, 1, "!", END), 1, false).unwrap();
    assert_eq!(texts(&mut r), ["!", "unordered and long"]);
}

#[test]
fn many_messages_that_began_cannot_fill_the_window() {
    // A window of 4,000 bytes, and the point that it has: half.
    let mut r = interleaving(2000);
    for stream in 0..1000 {
        put(&mut r, Piece(0, 0, "ten bytes!", BEGIN), stream, false).unwrap();
        while r.pop().is_some() {}
        assert!(r.held() <= 2000 + 20, "stream {stream}: {}", r.held());
    }
}

#[test]
fn a_message_goes_on_beyond_the_wrap_of_fsns() {
    let mut r = interleaving(1);
    put(&mut r, Piece(0, 0, "a", BEGIN), 1, false).unwrap();
    // 2^32 fragments later. The run counts on.
    let i = r.interleaved.as_mut().unwrap();
    let id = MessageId {
        stream: 1,
        unordered: false,
        mid: 0,
    };
    i.set_end_for_tests(id, u64::from(u32::MAX));
    for (fsn, text) in [(u32::MAX, "y"), (1, "Z"), (0, "z")] {
        put(&mut r, Piece(0, fsn, text, MIDDLE), 1, false).unwrap();
    }
    put(&mut r, Piece(0, 2, "!", END), 1, false).unwrap();
    assert_eq!(texts(&mut r).concat(), "ayzZ!");
}

#[test]
fn numbers_of_messages_wrap() {
    let mut r = interleaving(1 << 20);
    for last in [(1 << 31) - 1, u32::MAX - 2] {
        assert!(!r.skip(1, false, last));
    }
    for mid in [0, u32::MAX, u32::MAX - 1] {
        put(&mut r, Piece(mid, 0, "m", WHOLE), 1, false).unwrap();
    }
    assert_eq!(texts(&mut r), ["m", "m", "m"]);
}

#[test]
fn what_the_peer_gives_up_makes_way_for_what_waits() {
    let mut r = interleaving(1 << 20);
    for p in [
        Piece(1, 0, "one", WHOLE),
        Piece(2, 1, "part of two", MIDDLE),
        Piece(3, 0, "three", WHOLE),
        Piece(5, 0, "five", WHOLE),
        Piece(6, 0, "six", WHOLE),
    ] {
        put(&mut r, p, 1, false).unwrap();
    }
    put(&mut r, Piece(2, 1, "part of two", MIDDLE), 1, true).unwrap();
    assert!(!r.skip(1, false, 2));
    assert!(r.totals_agree());
    // 0 and 2 will not come, 4 may.
    assert_eq!(texts(&mut r), ["one", "three"]);
    // What comes of them is dropped.
    put(&mut r, Piece(2, 0, "late", BEGIN), 1, false).unwrap();
    put(&mut r, Piece(0, 0, "late", WHOLE), 1, false).unwrap();
    // Another one that was delivered is not.
    put(&mut r, Piece(3, 0, "three", WHOLE), 1, false).unwrap_err();
    assert_eq!(texts(&mut r), [""; 0]);
    put(&mut r, Piece(4, 0, "four", WHOLE), 1, false).unwrap();
    assert_eq!(texts(&mut r), ["four", "five", "six"]);
    // The unordered one with the same number is another one.
    assert!(r.held() > 0);
    assert!(!r.skip(1, true, 7));
    assert_eq!((r.held(), r.held_payload()), (0, 0));
    // An older one changes nothing.
    assert!(!r.skip(1, false, 1));
    put(&mut r, Piece(7, 0, "seven", WHOLE), 1, false).unwrap();
    assert_eq!(texts(&mut r), ["seven"]);
    assert!(r.totals_agree());
}

#[test]
fn a_message_in_parts_that_the_peer_gives_up_is_reported() {
    for unordered in [false, true] {
        let mut r = interleaving(1);
        put(&mut r, Piece(0, 0, "part", BEGIN), 1, unordered).unwrap();
        put(&mut r, Piece(0, 2, "beyond", END), 1, unordered).unwrap();
        assert!(!r.skip(1, !unordered, 9));
        assert!(r.skip(1, unordered, 0));
        assert!(r.totals_agree());
        put(&mut r, Piece(1, 0, "next", WHOLE), 1, unordered).unwrap();
        assert_eq!(texts(&mut r), ["part", "next"]);
        assert_eq!(r.held(), 0);
    }
}
