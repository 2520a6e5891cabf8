use super::*;

fn sample(values: &[f64]) -> Sample {
    Sample::of((1..).zip(values.iter().copied()).collect(), Kind::Quantity)
}

fn marked(seed: u64, value: f64, mark: u64) -> Run {
    Run {
        mark: Some(mark),
        ..Run::new(seed, value)
    }
}

#[test]
fn the_interval_is_that_of_the_tables() {
    // mean 2.5, sd 1.291, t(3) = 3.182
    let (low, high) = sample(&[1.0, 2.0, 3.0, 4.0]).interval().unwrap();
    assert!((low - 0.4457).abs() < 1e-3 && (high - 4.5543).abs() < 1e-3);
    assert_eq!(sample(&[1.0]).interval(), None);
    // 5 of 100: Wilson's is 2.2 to 11.2 %
    let values = (1..=100).map(|seed| (seed, f64::from(u8::from(seed <= 5))));
    let (low, high) = Sample::of(values.collect(), Kind::Share)
        .interval()
        .unwrap();
    assert!((low - 0.0215).abs() < 1e-3 && (high - 0.1118).abs() < 1e-3);
}

#[test]
fn poisson_intervals_are_those_of_the_tables() {
    for (k, low, high) in [(0, 0.0, 3.689), (1, 0.0253, 5.572), (10, 4.795, 18.390)] {
        let (l, h) = poisson(f64::from(k), 1.0, 0.95);
        assert!((l - low).abs() < 2e-3 * low.max(0.1), "{l} {low}");
        assert!((h - high).abs() < 2e-3 * high, "{h} {high}");
    }
    let high = poisson(2.0, 120.0, 0.95).1;
    assert!((high - 7.225 / 120.0).abs() < 2e-4, "{high}");
}

#[test]
fn no_event_in_some_runs_does_not_mean_never() {
    let of = |events: &[f64]| {
        let mut values: Vec<(u64, f64)> = (1..=120).map(|seed| (seed, 0.0)).collect();
        for (value, events) in values.iter_mut().zip(events) {
            value.1 = *events;
        }
        Sample::of(values, Kind::Count)
    };
    // 3.689 events at most, and 0.0253 to 5.572 where one was seen
    let (low, high) = of(&[]).interval().unwrap();
    assert!(low == 0.0 && (high - 3.689 / 120.0).abs() < 1e-5);
    let (low, high) = of(&[1.0]).interval().unwrap();
    assert!((low - 0.0253 / 120.0).abs() < 1e-5 && (high - 5.572 / 120.0).abs() < 1e-4);
    // of eleven and more, Student's t as for any mean
    let many = of(&[11.0, 2.0, 3.0]);
    let t = Sample {
        kind: Kind::Quantity,
        ..many.clone()
    };
    assert_eq!(many.interval(), t.interval());
}

#[test]
fn equal_seeds_are_paired_and_others_are_not() {
    let (a, b) = (sample(&[1.0, 5.0, 9.0]), sample(&[0.9, 4.9, 8.9]));
    let d = a.difference(&b).unwrap();
    assert!((d.value - 0.1).abs() < 1e-9 && d.half(0.95) < 1e-6, "{d:?}");
    let mut c = b.clone();
    c.runs.clear();
    let d = a.difference(&c).unwrap();
    assert!((d.value - 0.1).abs() < 1e-9 && d.half(0.95) > 5.0, "{d:?}");
    assert_eq!(sample(&[1.0]).difference(&a), None);
    // The paired interval is that of the differences: 1, 2, 3, sd 1, t(2) = 4.303
    let d = sample(&[11.0, 22.0, 33.0]).difference(&sample(&[10.0, 20.0, 30.0]));
    assert!((d.unwrap().half(0.95) - 4.303 / 3.0_f64.sqrt()).abs() < 1e-3);
    let ratio = sample(&[11.0, 22.0, 33.0]).relative(&sample(&[10.0, 20.0, 30.0]));
    let ratio = ratio.unwrap();
    assert!(
        (ratio.value - 0.1).abs() < 1e-9 && ratio.half(0.95) < 1e-6,
        "{ratio:?}"
    );
}

#[test]
fn a_run_under_several_names_counts_once() {
    // The same quantity to the last bit with the same seed is the same run; with another
    // seed, or where it is whole, it need not be.
    let runs = |values: &[(u64, f64)]| {
        let runs = values.iter().zip(1..);
        let runs = runs.map(|((seed, value), mark)| marked(*seed, *value, mark));
        Sample::of_runs(runs.collect(), Kind::Quantity)
    };
    let found = runs(&[
        (1, 34.25),
        (1, 34.25),
        (2, 34.25),
        (2, 35.5),
        (3, 7.0),
        (3, 7.0),
    ]);
    assert_eq!((found.n, found.all), (5, 6));
    // The same mark is the same run, whatever its seed.
    let same = (1..=12).map(|seed| marked(seed, 63.0, 9)).collect();
    let found = Sample::of_cell(same, Kind::Quantity);
    assert_eq!(
        (found.n, found.all, found.interval()),
        (1, 12, Some((63.0, 63.0)))
    );
    // One run of which nobody knows whether chance made it decides nothing.
    assert_eq!(
        Sample::of_cell(vec![marked(1, 63.0, 9)], Kind::Quantity).interval(),
        None
    );
}

#[test]
fn runs_with_one_seed_are_one_cluster() {
    // Ten seeds, each four times with nearly the same value: no more is known than by ten.
    let of = |times: u64| {
        let runs = (1..=10_u64).flat_map(|seed| {
            let value = move |k: u64| (seed * 7 % 10) as f64 + 0.001 * k as f64;
            (0..times).map(move |k| (seed, value(k)))
        });
        Sample::of(runs.collect(), Kind::Quantity)
    };
    let width = |s: Sample| s.interval().map(|(low, high)| high - low).unwrap();
    assert!((width(of(4)) / width(of(1)) - 1.0).abs() < 1e-3);
    // None of 40, in ten clusters: as none of ten.
    let none = Sample::of_runs(
        (0..40).map(|k| marked(k % 10, 0.0, k)).collect(),
        Kind::Share,
    );
    assert_eq!(none.interval(), Some(wilson(0, 10, 0.95)));
}

#[test]
fn seeds_are_dealt_evenly_and_alike_in_each_sample() {
    let sample = Sample::of(
        (1..=40).map(|seed| (seed, 0.5 * seed as f64)).collect(),
        Kind::Quantity,
    );
    let few = Sample::of(
        (7..=9).map(|seed| (seed, 0.5 * seed as f64)).collect(),
        Kind::Quantity,
    );
    let mut halves = std::collections::BTreeSet::new();
    for deal in 0..20 {
        let seeds = |s: &Sample, part| -> Vec<u64> {
            s.part(deal, 2, part).runs.iter().map(|r| r.seed).collect()
        };
        let (first, second) = (seeds(&sample, 0), seeds(&sample, 1));
        assert!(
            first.len().abs_diff(second.len()) <= 1,
            "{first:?} {second:?}"
        );
        assert_eq!(first.len() + second.len(), 40);
        assert!(seeds(&few, 0).iter().all(|s| first.contains(s)));
        halves.insert(first);
    }
    assert!(halves.len() > 15, "{}", halves.len());
}
