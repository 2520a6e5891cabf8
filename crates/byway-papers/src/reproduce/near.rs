//! How near a check is to saying something else.

use super::estimate::Estimate;
use super::rule::Tally;
use super::sample::{Kind, SHOWN, Sample};
use super::show::{Unit, number};
use serde::Serialize;

/// How near a check, or a claim, is to saying something else.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Near {
    /// In words.
    pub words: String,
    /// In half 95 % intervals of what decides; where nothing is chance, in tenths of half the band; of
    /// several places in places, one more than there are to spare. Not a number (null in JSON) for a claim of
    /// which no check tells.
    pub margin: f64,
}

impl Near {
    /// Two that both count: what is nearer decides.
    pub(super) fn both(self, other: Near) -> Near {
        Near {
            words: format!("{}; {}", self.words, other.words),
            margin: self.margin.min(other.margin),
        }
    }

    /// The same with something said before it.
    pub(super) fn after(self, words: &str) -> Near {
        Near {
            words: format!("{words}{}", self.words),
            ..self
        }
    }
}

/// Of a mean and its band.
pub(super) fn of_band(sample: &Sample, band: [f64; 2], unit: Unit) -> Option<Near> {
    // An end that no value can pass is no end.
    let open = match (sample.kind, band) {
        (Kind::Share, [from, to]) => [from > 0.0, to < 1.0],
        (Kind::Count, [from, _]) => [from > 0.0, true],
        (Kind::Quantity, _) => [true, true],
    };
    let ends = [
        if open[0] { band[0] } else { f64::NEG_INFINITY },
        if open[1] { band[1] } else { f64::INFINITY },
    ];
    // Several cases without chance must all be in the band: the one that is nearest to its end decides.
    let (inside, half) = match sample.range() {
        Some((low, high)) => (inside(low, ends)?.min(inside(high, ends)?), Some(0.0)),
        None => {
            let half = sample.interval().map(|(low, high)| (high - low) / 2.0);
            (inside(sample.mean, ends)?, half)
        }
    };
    Some(near(&unit.value(inside.abs()), inside, half, band))
}

/// Of a relative change and its band, which is in percent.
pub(super) fn of_change(relative: Option<Estimate>, band: [f64; 2]) -> Option<Near> {
    let relative = relative?;
    let inside = inside(100.0 * relative.value, band)?;
    let points = format!("{} points", number(inside.abs()));
    let half = Some(100.0 * relative.half(SHOWN));
    Some(near(&points, inside, half, band))
}

/// Of a difference that must be clear of zero on one side.
pub(super) fn of_zero(difference: Option<Estimate>) -> Option<Near> {
    let difference = difference?;
    let half = difference.half(SHOWN);
    (half > 0.0).then(|| {
        let margin = difference.value.abs() / half;
        Near {
            words: format!("{} times half its 95 % interval from zero", number(margin)),
            margin,
        }
    })
}

/// Of places of which a share must hold.
pub(super) fn of_places(tally: &Tally, at_least: f64) -> Option<Near> {
    let needed = (at_least * tally.all as f64 - 1e-9).ceil().max(0.0) as usize;
    let words = |what: &str, n: usize| format!("{needed} of {} must hold: {n} {what}", tally.all);
    (tally.all > 1).then(|| match tally.good.checked_sub(needed) {
        Some(spare) => Near {
            words: words("to spare", spare),
            margin: spare as f64 + 1.0,
        },
        None => Near {
            words: words("lacking", needed - tally.good),
            margin: (needed - tally.good) as f64,
        },
    })
}

/// Of a value of one run among those of many, in their order: it is refuted outside of the middle
/// 95 %.
pub(super) fn of_rank(sorted: &[f64], value: f64) -> Option<Near> {
    let n = sorted.len() as f64;
    let below = sorted.partition_point(|v| *v < value) as f64 / n;
    let above = 1.0 - sorted.partition_point(|v| *v <= value) as f64 / n;
    let tail = below.min(above);
    (n > 0.0).then(|| Near {
        words: format!(
            "{:.1} % of the runs are below it, {:.1} % above; 2.5 % refute it",
            100.0 * below,
            100.0 * above
        ),
        margin: (tail - 0.025).abs() / 0.025,
    })
}

/// Of a figure without chance that may be so far from a computed one, as a share of it.
pub(super) fn of_share(off: f64, at_most: f64) -> Near {
    let inside = at_most - off.abs();
    near(
        &format!("{} points", number(100.0 * inside.abs())),
        inside,
        Some(0.0),
        [-at_most, at_most],
    )
}

/// How far inside of a band a value is, outside if less than zero; none for a band without ends.
fn inside(value: f64, [from, to]: [f64; 2]) -> Option<f64> {
    let least = (value - from).min(to - value);
    least.is_finite().then_some(least)
}

/// `half`: half of the interval; none if nothing is known of it.
fn near(distance: &str, inside: f64, half: Option<f64>, [from, to]: [f64; 2]) -> Near {
    let side = if inside < 0.0 { "outside" } else { "inside" };
    let (more, margin) = match half {
        None => ("of one run, which decides nothing".to_owned(), 0.0),
        Some(half) if half > 0.0 => {
            let margin = inside.abs() / half;
            (
                format!("{} times half its 95 % interval", number(margin)),
                margin,
            )
        }
        Some(_) => {
            let tenth = ((to - from) / 20.0).max(f64::MIN_POSITIVE);
            let margin = if tenth.is_finite() {
                inside.abs() / tenth
            } else {
                f64::MAX
            };
            ("and nothing in it is chance".to_owned(), margin)
        }
    };
    Near {
        words: format!("{distance} {side} of the nearest end, {more}"),
        margin,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::rule::Outcome;

    #[test]
    fn bands_and_places_say_how_far_it_is() {
        let sample = Sample::of(vec![(1, 9.0), (2, 10.0), (3, 11.0)], Kind::Quantity);
        let of = |band| of_band(&sample, band, Unit::Seconds);
        let near = of([8.0, 20.0]).unwrap();
        assert!(
            near.words
                .starts_with("2.00 s inside of the nearest end, 0.8")
                && near.margin < 1.0,
            "{near:?}"
        );
        let far = of([12.0, 20.0]).unwrap();
        assert!(far.words.starts_with("2.00 s outside"), "{far:?}");
        assert_eq!(of([f64::NEG_INFINITY, f64::INFINITY]), None);
        // Nothing is below none, or above all.
        let none = Sample::of(vec![(1, 0.0), (2, 0.0), (3, 0.0)], Kind::Share);
        let near = of_band(&none, [0.0, 0.02], Unit::Count).unwrap();
        assert!(near.words.starts_with("0.02"), "{near:?}");
        assert_eq!(of_band(&none, [0.0, 1.0], Unit::Count), None);
        let one = Sample::of(vec![(1, 9.0)], Kind::Quantity);
        let near = of_band(&one, [8.0, 20.0], Unit::Seconds).unwrap();
        assert!(
            near.words.ends_with("of one run, which decides nothing"),
            "{near:?}"
        );
        // Ten moments without chance: the one nearest to its end decides, and not their mean.
        let moment = |i: u16| crate::reproduce::sample::Run {
            mark: Some(u64::from(i)),
            certain: true,
            ..crate::reproduce::sample::Run::new(1, 63.0 + f64::from(i) / 100.0)
        };
        let moments = Sample::of_runs((0..10).map(moment).collect(), Kind::Quantity);
        let near = of_band(&moments, [62.5, 63.5], Unit::Seconds).unwrap();
        assert_eq!(
            near.words,
            "0.41 s inside of the nearest end, and nothing in it is chance"
        );
        let mut tally = Tally::default();
        for i in 0..10 {
            tally.add(if i < 8 {
                Outcome::Holds
            } else {
                Outcome::Fails
            });
        }
        let places = of_places(&tally, 0.9).unwrap();
        assert_eq!(places.words, "9 of 10 must hold: 1 lacking");
        let sorted: Vec<f64> = (0..100).map(f64::from).collect();
        let rank = of_rank(&sorted, 2.0).unwrap();
        assert!(
            rank.words
                .starts_with("2.0 % of the runs are below it, 97.0 % above"),
            "{rank:?}"
        );
    }
}
