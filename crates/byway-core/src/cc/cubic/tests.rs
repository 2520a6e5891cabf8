use super::*;
use crate::time::Duration;

const PMDCS: u32 = 1468;

fn cfg() -> CongestionConfig {
    CongestionConfig::default()
}

/// A window and its congestion control.
#[derive(Clone)]
struct Path {
    w: Window,
    control: CubicControl,
}

impl Path {
    fn ack(&mut self, ack: PathAck, at: Moment) {
        self.control.on_ack(&mut self.w, ack, at, &cfg());
    }

    fn fast_retransmit(&mut self) {
        self.control.on_fast_retransmit(&mut self.w, &cfg());
    }

    fn timeout(&mut self, cfg: &CongestionConfig) {
        self.control.on_timeout(&mut self.w, cfg);
    }
}

fn path(cwnd: u32, ssthresh: u32) -> Path {
    Path {
        w: Window::new(cwnd * PMDCS, ssthresh * PMDCS, PMDCS, Instant::ZERO),
        control: CubicControl::default(),
    }
}

/// Acknowledges a whole window in each round trip, two chunks at a time and evenly
/// spread. Returns cwnd in PMDCS at the end of each round trip.
fn grow(p: &mut Path, from: Instant, rtt: Duration, rounds: u32) -> Vec<f64> {
    let mut out = Vec::new();
    for round in 0..rounds {
        let acks = (p.w.cwnd / (2 * PMDCS)).max(1);
        for k in 0..acks {
            let now = from + rtt * round + rtt * k / acks;
            let ack = PathAck {
                bytes: 2 * PMDCS,
                flight_before: p.w.cwnd,
                cumulative_advanced: true,
                ..PathAck::default()
            };
            let at = Moment {
                now,
                srtt: rtt,
                round_trip: None,
                step: 1.0,
            };
            p.ack(ack, at);
        }
        out.push(f64::from(p.w.cwnd) / f64::from(PMDCS));
    }
    out
}

#[test]
fn the_window_follows_the_closed_form_to_its_plateau_and_beyond() {
    // W(t) = C (t - K)^3 + W_max with W(0) = 0.7 W_max. While it grows, cwnd aims at
    // the value of the curve one round trip later, so it is on the curve itself.
    for (w_max, rtt_ms) in [(1000, 100), (1000, 50), (400, 200), (4000, 20)] {
        let rtt = Duration::from_millis(rtt_ms);
        let mut p = path(w_max, 1);
        p.fast_retransmit();
        let begin = f64::from(p.w.cwnd) / f64::from(PMDCS);
        assert!((begin - 0.7 * f64::from(w_max)).abs() < 1e-3);
        let k = libm::cbrt(0.3 * f64::from(w_max) / 0.4);
        let rounds = (2.0 * k / rtt.as_secs_f64()) as u32;
        // The window is equal to ssthresh, so by RFC 9260 it is in slow start and adds
        // one PMDCS.
        p.w.ssthresh -= PMDCS;
        let seen = grow(&mut p, Instant::from_millis(1000), rtt, rounds);
        for (round, cwnd) in seen.iter().enumerate() {
            let t = (round + 1) as f64 * rtt.as_secs_f64();
            let curve = 0.4 * libm::pow(t - k, 3.0) + f64::from(w_max);
            let off = (cwnd - curve).abs() / curve;
            assert!(off < 0.01, "{w_max} {rtt:?}: {cwnd} not {curve} at {t} s");
        }
        let at_k = seen[(k / rtt.as_secs_f64()) as usize - 1];
        assert!((at_k / f64::from(w_max) - 1.0).abs() < 0.003, "{at_k}");
    }
}

#[test]
fn on_short_paths_it_grows_as_rfc_9260_would_on_average() {
    // W_max 20, 10 ms: K is 2.5 s, RFC 9260 needs 10 round trips of 10 ms.
    let rtt = Duration::from_millis(10);
    let mut p = path(20, 1);
    p.fast_retransmit();
    p.w.ssthresh -= PMDCS;
    let seen = grow(&mut p, Instant::ZERO, rtt, 30);
    // 0.53 PMDCS per round trip up to the window before the loss (6 of them in about
    // 11.3 round trips), then one.
    for (rounds, expected) in [(5, 14.0 + 5.0 * ALPHA), (10, 14.0 + 10.0 * ALPHA)] {
        assert!((seen[rounds - 1] - expected).abs() < 0.5, "{seen:?}");
    }
    let slope = (seen[29] - seen[19]) / 10.0;
    assert!((0.85..=1.0).contains(&slope), "{slope}");
}

#[test]
fn a_loss_takes_three_tenths_and_one_below_the_plateau_lowers_it() {
    let mut p = path(1000, 1);
    p.fast_retransmit();
    assert_eq!((p.w.cwnd, p.w.ssthresh), (700 * PMDCS, 700 * PMDCS));
    // A second loss at 700: W_max is 0.85 * 700 with fast convergence.
    for (fast_convergence, w_max) in [(true, 595.0), (false, 700.0)] {
        let mut p = p.clone();
        p.control.settings = Cubic {
            fast_convergence,
            hystart: false,
        };
        p.fast_retransmit();
        assert_eq!(p.w.cwnd, 490 * PMDCS);
        let seen = p.control.curve.w_max / f64::from(PMDCS);
        assert!((seen - w_max).abs() < 1e-6, "{seen}");
    }
}

#[test]
fn after_a_timeout_the_curve_begins_where_slow_start_ends() {
    let mut p = path(100, 1);
    p.timeout(&cfg());
    assert_eq!((p.w.cwnd, p.w.ssthresh), (PMDCS, 70 * PMDCS));
    let rtt = Duration::from_millis(100);
    // One chunk per SACK of two chunks: the window grows by half each round trip.
    let seen = grow(&mut p, Instant::ZERO, rtt, 60);
    let begin = seen.iter().position(|c| *c > 70.0).unwrap();
    let curve = &p.control.curve;
    assert_eq!(curve.stage.as_ref().unwrap().k, 0.0);
    let plateau = curve.w_max / f64::from(PMDCS);
    assert!((70.0..71.5).contains(&plateau), "{plateau}");
    // Then the growth of RFC 9260 is faster: t^3 needs time.
    assert!((seen[begin + 10] - seen[begin] - 10.0 * ALPHA).abs() < 1.0);
}

#[test]
fn time_without_use_or_in_recovery_does_not_count() {
    let rtt = Duration::from_millis(100);
    let mut p = path(1000, 1);
    p.fast_retransmit();
    p.w.ssthresh -= PMDCS;
    grow(&mut p, Instant::ZERO, rtt, 10);
    let plain = grow(&mut p.clone(), Instant::from_millis(1000), rtt, 10);
    let at = |ms| Moment {
        now: Instant::from_millis(ms),
        srtt: rtt,
        round_trip: None,
        step: 1.0,
    };
    type Pause = fn(&mut Path, Moment);
    let pauses: [Pause; 3] = [
        // An acknowledgement while the window was not full.
        |p, at| {
            let ack = PathAck {
                bytes: PMDCS,
                ..PathAck::default()
            };
            p.ack(ack, at);
        },
        |p, at| {
            let ack = PathAck {
                bytes: PMDCS,
                flight_before: p.w.cwnd,
                in_recovery: true,
                ..PathAck::default()
            };
            p.ack(ack, at);
        },
        // Nothing in flight, on a path whose window does not decay.
        |p, at| p.control.curve.on_idle(at.now, false),
    ];
    for pause in pauses {
        let mut p = p.clone();
        let before = p.w.cwnd;
        pause(&mut p, at(61_000));
        assert_eq!(p.w.cwnd, before);
        let seen = grow(&mut p, Instant::from_millis(61_000), rtt, 10);
        for (a, b) in plain.iter().zip(&seen) {
            assert!((a - b).abs() < 1.0, "{plain:?} {seen:?}");
        }
    }
}

#[test]
fn windows_keep_rfc_9260s_floor() {
    let mut p = path(5, 100);
    p.fast_retransmit();
    assert_eq!((p.w.cwnd, p.w.ssthresh), (4 * PMDCS, 4 * PMDCS));
    p.timeout(&cfg());
    assert_eq!((p.w.cwnd, p.w.ssthresh), (PMDCS, 4 * PMDCS));
    let old = CongestionConfig {
        ssthresh_floor: 2,
        ..cfg()
    };
    p.timeout(&old);
    assert_eq!((p.w.cwnd, p.w.ssthresh), (PMDCS, 2 * PMDCS));
}
