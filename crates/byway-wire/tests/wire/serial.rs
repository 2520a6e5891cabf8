//! Serial numbers around the places where they wrap.

use byway_wire::Tsn;
use proptest::prelude::*;

#[test]
fn order_across_the_wraps() {
    let half = 1 << 31;
    // earlier, later
    let cases = [
        (0, 1),
        (u32::MAX, 0),
        (u32::MAX - 5, 5),
        (half - 1, half),
        (half, half + 1),
        (0, half - 1),
    ];
    for (earlier, later) in cases.map(|(earlier, later)| (Tsn(earlier), Tsn(later))) {
        assert!(
            earlier.is_before(later) && later.is_after(earlier),
            "{earlier} before {later}"
        );
        assert!(
            !later.is_before(earlier) && !earlier.is_after(later),
            "{earlier} before {later}"
        );
    }
    assert!(!Tsn(7).is_before(Tsn(7)) && !Tsn(7).is_after(Tsn(7)));
    assert_eq!(Tsn(u32::MAX).plus(1), Tsn(0));
    assert_eq!(Tsn(0).minus(1), Tsn(u32::MAX));
    assert_eq!(Tsn(2).ahead_of(Tsn(u32::MAX)), 3);
}

#[test]
fn tsn_is_written_as_its_number() {
    assert_eq!(format!("{} and {:>5}", Tsn(7), Tsn(8)), "7 and     8");
}

proptest! {
    /// Wherever one starts, up to 2^31 - 1 places further is later.
    #[test]
    fn any_window_is_ordered(start in any::<u32>(), distance in 1_u32..(1 << 31)) {
        let (start, later) = (Tsn(start), Tsn(start).plus(distance));
        prop_assert!(later.is_after(start) && start.is_before(later));
        prop_assert_eq!(later.minus(distance), start);
        prop_assert_eq!(later.ahead_of(start).unsigned_abs(), distance);
    }
}
