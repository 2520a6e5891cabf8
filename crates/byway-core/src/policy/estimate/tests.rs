use super::*;

const MEMORY: u32 = 1000;
const ROUND: Duration = Duration::from_millis(90);

fn cfg() -> EstimateConfig {
    EstimateConfig {
        memory: MEMORY,
        ..EstimateConfig::default()
    }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 0.0005
}

#[test]
fn the_doubt_about_a_loss_rate_shrinks_with_what_was_seen() {
    // trials, lost, mean, lower and upper limit at two deviations (Wilson)
    for (trials, lost, mean, least, most) in [
        (0.0, 0.0, 0.5, 0.0, 1.0),
        // Nothing lost: 4/(n + 4), similar to the rule of three.
        (100.0, 0.0, 0.0050, 0.0, 0.0385),
        (1000.0, 0.0, 0.0005, 0.0, 0.0040),
        (100.0, 5.0, 0.0545, 0.0212, 0.1133),
        (1000.0, 50.0, 0.0504, 0.0379, 0.0656),
        (10.0, 10.0, 0.9545, 0.7143, 1.0),
    ] {
        let e = Estimate {
            rtt: Duration::from_millis(90),
            rto: Duration::from_secs(1),
            trials,
            lost,
        };
        let (a, b) = e.loss_between(2.0);
        assert!(near(e.loss(), mean), "{trials} {lost}: {}", e.loss());
        assert!(near(a, least) && near(b, most), "{trials} {lost}: {a} {b}");
    }
}

#[test]
fn heartbeats_and_data_measure_the_same_rate() {
    // One of ten packets is lost in each direction, so 19 of 100 heartbeats are not
    // answered.
    let mut by_data = PathEstimate::default();
    let mut by_heartbeats = PathEstimate::default();
    for e in [&mut by_data, &mut by_heartbeats] {
        e.measured(Instant::ZERO, ROUND);
    }
    for i in 0..2000_u64 {
        let now = Instant::from_millis(100 * i);
        if i % 10 == 0 {
            assert!(by_data.taken_for_lost(now, ROUND, 10, &cfg()));
        } else {
            by_data.acknowledged(1, MEMORY);
        }
        if i * 19 % 100 < 19 {
            by_heartbeats.unanswered(MEMORY);
        } else {
            by_heartbeats.answered(MEMORY);
        }
    }
    let loss = |e: &PathEstimate| e.estimate(ROUND).unwrap().loss();
    assert!((loss(&by_data) - 0.1).abs() < 0.01, "{}", loss(&by_data));
    let found = loss(&by_heartbeats);
    assert!((found - 0.1).abs() < 0.01, "{found}");
}

#[test]
fn the_memory_is_bounded_and_a_change_is_noticed() {
    let mut e = PathEstimate::default();
    e.measured(Instant::ZERO, Duration::from_millis(90));
    e.acknowledged(100_000, MEMORY);
    let seen = |e: &PathEstimate| e.estimate(Duration::from_secs(1)).unwrap();
    e.acknowledged(1, MEMORY);
    assert!(seen(&e).trials >= 1000.0);
    for _ in 0..10_000 {
        e.acknowledged(1, MEMORY);
    }
    assert!(seen(&e).trials < 1100.0, "{}", seen(&e).trials);
    for _ in 0..500 {
        e.unanswered(MEMORY);
    }
    assert!(seen(&e).loss() > 0.3, "{}", seen(&e).loss());
}

#[test]
fn one_round_trip_counts_four_losses_and_an_error_is_taken_back() {
    let mut e = PathEstimate::default();
    e.measured(Instant::ZERO, Duration::from_millis(90));
    e.acknowledged(100, MEMORY);
    let at = Instant::from_millis;
    let counted = (0..20).filter(|_| e.taken_for_lost(at(500), ROUND, 10, &cfg()));
    assert_eq!(counted.count(), 4);
    assert!(!e.taken_for_lost(at(590), ROUND, 10, &cfg()));
    assert!(e.taken_for_lost(at(591), ROUND, 10, &cfg()));
    let lost = |e: &PathEstimate| e.estimate(Duration::from_secs(1)).unwrap().lost;
    let before = lost(&e);
    e.had_arrived();
    assert!(near(lost(&e), before - 1.0));
}

#[test]
fn the_round_trip_is_the_least_of_the_last_windows() {
    let mut e = PathEstimate::default();
    assert_eq!(e.estimate(Duration::from_secs(1)), None);
    let ms = Duration::from_millis;
    // at s, measured, expected
    for (at, rtt, expected) in [
        (0, 200, 200),
        (1, 90, 90),
        (9, 300, 90),
        // In the next window the previous one still counts.
        (11, 300, 90),
        (20, 250, 90),
        // In the window after that it no longer counts.
        (22, 270, 250),
        (33, 280, 270),
    ] {
        e.measured(Instant::from_millis(at * 1000), ms(rtt));
        let found = e.estimate(ms(1000)).unwrap().rtt;
        assert_eq!(found, ms(expected), "at {at} s");
    }
}

#[test]
fn losses_in_a_queue_of_ours_say_nothing_of_the_path() {
    // srtt ms, packets in flight, whether the loss counts, with a least of 90 ms
    for (srtt, packets, counts) in [
        (90, 100, true),
        // With few packets in flight, delayed SACKs make the round trip longer.
        (290, 2, true),
        (100, 40, true),
        (100, 41, false),
        (600, 60, false),
    ] {
        let mut e = PathEstimate::default();
        e.measured(Instant::ZERO, ROUND);
        let srtt = Duration::from_millis(srtt);
        let found = e.taken_for_lost(Instant::from_millis(500), srtt, packets, &cfg());
        assert_eq!(found, counts, "{srtt:?} {packets}");
    }
}
