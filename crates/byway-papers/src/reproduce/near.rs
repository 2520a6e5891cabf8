//! How near a check is to saying something else, in words.

use super::estimate::Estimate;
use super::rule::Tally;
use super::sample::{SHOWN, Sample};
use super::show::{Unit, number};

/// Of a mean and its band.
pub(super) fn of_band(sample: &Sample, band: [f64; 2], unit: Unit) -> Option<String> {
    let inside = inside(sample.mean, band)?;
    let half = sample
        .interval()
        .map_or(0.0, |(low, high)| (high - low) / 2.0);
    Some(words(&unit.value(inside.abs()), inside, half))
}

/// Of a relative change and its band, which is in percent.
pub(super) fn of_change(relative: Option<Estimate>, band: [f64; 2]) -> Option<String> {
    let relative = relative?;
    let inside = inside(100.0 * relative.value, band)?;
    let points = format!("{} points", number(inside.abs()));
    Some(words(&points, inside, 100.0 * relative.half(SHOWN)))
}

/// Of a difference that must be clear of zero on one side.
pub(super) fn of_zero(difference: Option<Estimate>) -> Option<String> {
    let difference = difference?;
    let half = difference.half(SHOWN);
    (half > 0.0).then(|| {
        let times = number(difference.value.abs() / half);
        format!("{times} times half its 95 % interval from zero")
    })
}

/// Of places of which a share must hold.
pub(super) fn of_places(tally: &Tally, at_least: f64) -> Option<String> {
    let needed = (at_least * tally.all as f64 - 1e-9).ceil().max(0.0) as usize;
    (tally.all > 1).then(|| match tally.good.checked_sub(needed) {
        Some(spare) => format!("{needed} of {} must hold: {spare} to spare", tally.all),
        None => {
            let lacking = needed - tally.good;
            format!("{needed} of {} must hold: {lacking} lacking", tally.all)
        }
    })
}

/// Of places of which no more than a share may be clearly against it.
pub(super) fn of_places_against(tally: &Tally, at_least: f64) -> Option<String> {
    let most = ((1.0 - at_least) * tally.all as f64 + 1e-9).floor() as usize;
    (tally.all > 1).then(|| {
        format!(
            "{most} of {} may be clearly the other way: {} are",
            tally.all, tally.bad
        )
    })
}

/// How far inside of a band a value is, outside if less than zero; none for a band without ends.
fn inside(value: f64, [from, to]: [f64; 2]) -> Option<f64> {
    let least = (value - from).min(to - value);
    least.is_finite().then_some(least)
}

fn words(distance: &str, inside: f64, half: f64) -> String {
    let side = if inside < 0.0 { "outside" } else { "inside" };
    let mut words = format!("{distance} {side} of the nearest end");
    if half > 0.0 {
        let times = number(inside.abs() / half);
        words.push_str(&format!(", {times} times half its 95 % interval"));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::rule::Outcome;
    use crate::reproduce::sample::Kind;

    #[test]
    fn bands_and_places_say_how_far_it_is() {
        let sample = Sample::of(vec![(1, 9.0), (2, 10.0), (3, 11.0)], Kind::Quantity);
        let of = |band| of_band(&sample, band, Unit::Seconds);
        let near = of([8.0, 20.0]).unwrap();
        assert!(
            near.starts_with("2.00 s inside of the nearest end, 0.8"),
            "{near}"
        );
        let far = of([12.0, 20.0]).unwrap();
        assert!(far.starts_with("2.00 s outside"), "{far}");
        assert_eq!(of([f64::NEG_INFINITY, f64::INFINITY]), None);
        let mut tally = Tally::default();
        for i in 0..10 {
            tally.add(if i < 8 {
                Outcome::Holds
            } else {
                Outcome::Fails
            });
        }
        let places = of_places(&tally, 0.9).unwrap();
        assert_eq!(places, "9 of 10 must hold: 1 lacking");
        let against = of_places_against(&tally, 0.9).unwrap();
        assert_eq!(against, "1 of 10 may be clearly the other way: 2 are");
    }
}
