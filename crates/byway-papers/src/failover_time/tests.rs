use super::*;
use byway_dialect_ns2::Settings;
use byway_lab::result::RunResult;
use byway_lab::run::{RunOptions, run};
use byway_lab::scenario::{Override, Scenario, apply_overrides};
use std::time::Duration;

const RTT: Duration = Duration::from_millis(90);

fn config(preset: &str, settings: &[&str]) -> Settings {
    let settings: Vec<Override> = settings.iter().map(|s| s.parse().unwrap()).collect();
    apply_overrides(&Settings::preset(preset).unwrap(), &settings).unwrap()
}

fn compute(preset: &str, settings: &[&str]) -> FailoverTime {
    failover_time(&Question {
        name: preset.to_owned(),
        config: config(preset, settings),
        rtt: RTT,
        rto: None,
    })
    .unwrap()
}

/// Best, typical and worst of a goal.
fn all_of(milestones: &[Milestone], goal: Goal) -> Vec<Option<f64>> {
    let found = milestones.iter().find(|m| m.goal == goal).unwrap();
    found.cases.iter().map(|a| a.seconds_s).collect()
}

fn mechanism<'a>(found: &'a FailoverTime, id: &str) -> &'a Mechanism {
    found.mechanisms.iter().find(|m| m.id == id).unwrap()
}

#[test]
fn the_numbers_of_the_papers() {
    const PF_OFF: &str = "failover.potentially_failed=off";
    const SAME: &str = "retransmission.target=AllRtxSame";
    const PROBING: &str = "failure.detection=Probing";
    // preset, settings, goal, best, worst
    type Row<'a> = (&'a str, &'a [&'a str], Goal, f64, f64);
    let rows: [Row<'_>; 13] = [
        // caro-2006 section II: six doubled timeouts; six at RTO.Max.
        ("rfc2960", &[], Goal::Inactive, 63.0, 360.0),
        ("rfc9260", &[], Goal::Inactive, 63.0, 360.0),
        ("rfc9260", &[PF_OFF], Goal::Inactive, 63.0, 360.0),
        // Section III.2.
        (
            "rfc2960",
            &["failure.path_max_retrans=3"],
            Goal::Inactive,
            15.0,
            240.0,
        ),
        (
            "rfc2960",
            &["failure.path_max_retrans=6"],
            Goal::Inactive,
            123.0,
            420.0,
        ),
        (
            "rfc2960",
            &["failure.path_max_retrans=0"],
            Goal::Inactive,
            1.0,
            60.0,
        ),
        // RFC 7829: PFMR + 1 timeouts.
        ("rfc9260", &[], Goal::Suspect, 1.0, 60.0),
        (
            "rfc9260",
            &["failover.potentially_failed.max_retrans=2"],
            Goal::Suspect,
            7.0,
            180.0,
        ),
        // cortes-2008: Dmax after the first timeout.
        ("rfc2960", &[PROBING], Goal::Inactive, 11.0, 70.0),
        ("rfc9260", &[PROBING], Goal::Inactive, 11.0, 70.0),
        // caro-2004 section V.A: what is lost comes after 1 s, or after 63 s.
        ("rfc2960", &[SAME], Goal::Stall, 63.045, 360.045),
        ("rfc9260", &[], Goal::Stall, 1.045, 60.045),
        // Delivery in drips: the last timeout is the longest pause.
        ("rfc2960", &[], Goal::Stall, 32.0, 60.045),
    ];
    for (preset, settings, goal, best, worst) in rows {
        let found = all_of(&compute(preset, settings).together, goal);
        assert_eq!(
            (found[0], found[2]),
            (Some(best), Some(worst)),
            "{preset} {settings:?} {goal:?}"
        );
    }
}

#[test]
fn policies_that_move_timeouts_take_64_s_to_detect() {
    // caro-2004 section V.A: new data waits for the next SACK.
    let typical = all_of(&compute("rfc2960", &[]).together, Goal::Inactive)[1].unwrap();
    assert_eq!(typical.round() as u64, 64, "{typical}");
    let same = compute("rfc2960", &["retransmission.target=AllRtxSame"]);
    assert_eq!(all_of(&same.together, Goal::Inactive)[1], Some(63.0));
}

#[test]
fn sums_are_written_out() {
    let found = compute("rfc2960", &["retransmission.target=AllRtxSame"]);
    let inactive = &mechanism(&found, "error_count").milestones[0].cases;
    assert_eq!(inactive[0].sum, "1 + 2 + 4 + 8 + 16 + 32 (T3) = 63 s");
    assert_eq!(inactive[2].sum, "6 x 60 (T3) = 360 s");
    let found = compute("rfc9260", &["failure.detection=Probing"]);
    let probing = mechanism(&found, "probing");
    assert_eq!(
        probing.milestones[0].cases[0].sum,
        "1 (T3) + 10 (Dmax) = 11 s"
    );
    let of_path = compute("rfc9260", &["failure.path_detection=[\"Probing\"]"]);
    assert_eq!(
        mechanism(&of_path, "probing").milestones[0].cases[0].sum,
        "1 (T3) + 10 (Dmax) = 11 s"
    );
    // D1: counted from the first timeout, as the paper does.
    let dmax = probing.milestones[0].cases[0].steps.steps()[1];
    assert_eq!(
        (dmax.each, dmax.waiting),
        (Duration::from_secs(10), Waiting::Dmax)
    );
}

#[test]
fn a_path_before_its_first_sample_begins_at_rto_initial() {
    let found = failover_time(&Question {
        name: "new".to_owned(),
        config: config("rfc2960", &["retransmission.target=AllRtxSame"]),
        rtt: RTT,
        rto: Some(Duration::from_secs(3)),
    })
    .unwrap();
    // 3 + 6 + 12 + 24 + 48 + 60
    assert_eq!(all_of(&found.together, Goal::Inactive)[1], Some(153.0));
}

#[test]
fn a_sum_is_its_steps() {
    for preset in ["rfc9260", "rfc2960"] {
        let found = compute(preset, &["retransmission.after_rto=Heartbeat"]);
        let milestones = found.mechanisms.iter().flat_map(|m| &m.milestones);
        for a in milestones.chain(&found.together).flat_map(|m| &m.cases) {
            if !a.steps.steps().is_empty() {
                assert_eq!(a.seconds_s, Some(a.steps.total().as_secs_f64()), "{a:?}");
            }
        }
        for m in &found.together {
            let times: Vec<f64> = m.cases.iter().filter_map(|a| a.seconds_s).collect();
            assert!(times.is_sorted(), "{preset} {:?}: {times:?}", m.goal);
        }
    }
}

/// Two 45 ms paths, a message each 100 ms; `path` dies after `at` seconds.
fn simulate(config: &Settings, path: u32, at: u32, count: u32) -> RunResult {
    let text = format!(
        "limit = \"1000 s\"\n\
         [[path]]\nrate = \"10 Mbit/s\"\ndelay = \"45 ms\"\n\
         [[path]]\nrate = \"10 Mbit/s\"\ndelay = \"45 ms\"\n\
         [[event]]\nat = \"{at} s\"\npath = {path}\ndo = \"down\"\n\
         [traffic]\nkind = \"periodic\"\nmessage = \"40 B\"\nevery = \"100 ms\"\ncount = {count}\n"
    );
    let mut scenario = Scenario::parse("dies", &text).unwrap_or_else(|e| panic!("{e}"));
    scenario.policies[0].config = config.clone();
    run(&scenario, RunOptions::default())
        .unwrap()
        .results
        .remove(0)
}

/// Seconds by which a run may differ. The sum counts from the last
/// acknowledgement; the run from the death, up to 0.2 s later: messages come
/// each 0.1 s and every other one is acknowledged. A sum takes the RTO for
/// three round trips, 0.27 s; a run measures between one and three.
const TOLERANCE_S: f64 = 0.2;

#[test]
fn the_typical_case_is_what_the_simulator_does() {
    const PF_OFF: &str = "failover.potentially_failed=off";
    const SAME: &str = "retransmission.target=AllRtxSame";
    let rows: [(&str, &[&str]); 9] = [
        ("rfc9260", &[]),
        ("rfc9260", &[PF_OFF]),
        ("rfc9260", &[PF_OFF, SAME, "failure.path_max_retrans=3"]),
        ("rfc9260", &[PF_OFF, "failure.detection=Probing"]),
        ("rfc9260", &["failure.detection=Probing"]),
        ("rfc9260", &[PF_OFF, "retransmission.after_rto=Heartbeat"]),
        ("rfc9260", &["failure.heartbeat_test=Reaches"]),
        (
            "rfc9260",
            &["rto.min=300ms", "failover.potentially_failed.max_retrans=1"],
        ),
        ("rfc2960", &[SAME]),
    ];
    for (preset, settings) in rows {
        let found = compute(preset, settings);
        let ran = simulate(&config(preset, settings), 1, 5, 1000);
        let close = |goal: Goal, simulated: Option<f64>| {
            let computed = all_of(&found.together, goal)[1];
            let near = match (computed, simulated) {
                (Some(a), Some(b)) => (a - b).abs() <= TOLERANCE_S,
                (a, b) => a == b,
            };
            assert!(
                near,
                "{preset} {settings:?} {goal:?}: computed {computed:?}, simulated {simulated:?}"
            );
        };
        close(Goal::Suspect, ran.detections[0].suspect_after_s);
        close(Goal::Inactive, ran.detections[0].inactive_after_s);
        close(Goal::Stall, ran.stall.map(|s| s.length_s));
    }
}

#[test]
fn an_overdue_acknowledgement_beats_the_timer() {
    let found = compute("rfc9260", &["failover.probe_timeout=on"]);
    // 90 ms and an eighth; three round trips after one sample; T3 at RTO.Max.
    let suspect = all_of(&found.together, Goal::Suspect);
    assert_eq!(suspect, [Some(0.10125), Some(0.27), Some(60.0)]);
    assert_eq!(all_of(&found.together, Goal::Inactive)[1], Some(63.27));
    assert_eq!(all_of(&found.together, Goal::Stall)[1], Some(0.585));
    // A full window in a run: between a steady round trip and a single sample.
    let text = "[[path]]\nrate = \"10 Mbit/s\"\ndelay = \"45 ms\"\n\
        [[path]]\nrate = \"10 Mbit/s\"\ndelay = \"45 ms\"\n\
        [[event]]\nat = \"5 s\"\npath = 1\ndo = \"down\"\n\
        [traffic]\nkind = \"bulk\"\nsize = \"8 MB\"\n\
        [protocol]\nfailover.probe_timeout = \"on\"\n";
    let scenario = Scenario::parse("bulk", text).unwrap_or_else(|e| panic!("{e}"));
    let ran = run(&scenario, RunOptions::default())
        .unwrap()
        .results
        .remove(0);
    for (goal, seconds) in [
        (Goal::Suspect, ran.detections[0].suspect_after_s),
        (Goal::Stall, ran.stall.map(|s| s.length_s)),
    ] {
        let bounds = all_of(&found.together, goal);
        assert!(
            bounds[0] <= seconds && seconds <= bounds[1],
            "{goal:?}: {seconds:?}, {bounds:?}"
        );
    }
    // The mechanisms beside it are shown without it.
    let pf = mechanism(&found, "potentially_failed");
    assert_eq!(all_of(&pf.milestones, Goal::Suspect)[1], Some(1.0));
}

#[test]
fn an_idle_path_dies_within_the_bounds() {
    for (preset, settings) in [
        ("rfc9260", &[] as &[&str]),
        ("rfc9260", &["failover.potentially_failed=off"]),
        ("rfc2960", &[]),
        ("rfc9260", &["hb.jitter=HalfInterval"]),
    ] {
        let found = compute(preset, settings);
        let idle = &mechanism(&found, "idle_heartbeats").milestones;
        // After 100 s the idle path has answered heartbeats, so its RTO is 1 s.
        let ran = simulate(&config(preset, settings), 2, 100, 5000);
        let inactive = ran.detections[0].inactive_after_s.unwrap();
        let cases = all_of(idle, Goal::Inactive);
        let (best, typical) = (cases[0].unwrap(), cases[1].unwrap());
        assert!(
            inactive >= best,
            "{preset} {settings:?}: {inactive} < {best}"
        );
        // Each of at most six waits varies by half of its chance part.
        assert!(
            (inactive - typical).abs() <= typical - best,
            "{preset} {settings:?}: {inactive}, typically {typical}, at least {best}"
        );
    }
}

#[test]
fn the_loss_of_the_peer_lies_between_its_bounds() {
    for (preset, settings) in [
        ("rfc9260", &[] as &[&str]),
        ("rfc9260", &["failure.idle_heartbeats_count=true"]),
        ("rfc9260", &["failover.potentially_failed=off"]),
        (
            "rfc9260",
            &[
                "retransmission.after_rto=Heartbeat",
                "failover.potentially_failed=off",
            ],
        ),
        (
            "rfc9260",
            &[
                "failure.association_max_retrans=4",
                "failure.path_max_retrans=1",
            ],
        ),
        ("rfc2960", &[]),
    ] {
        let found = compute(preset, settings);
        let lost = all_of(&mechanism(&found, "association").milestones, Goal::Lost);
        assert_eq!(lost.len(), 3, "{preset} {settings:?}");
        // The run counts from the deaths, up to 0.2 s after the last acknowledgement.
        assert!(
            lost[0].unwrap() <= lost[1].unwrap() + TOLERANCE_S,
            "{lost:?}"
        );
        assert!(lost[1] <= lost[2], "{preset} {settings:?}: {lost:?}");
    }
}

#[test]
fn what_can_never_be_noticed_is_said() {
    let found = compute("rfc9260", &["hb.enabled=false"]);
    assert_eq!(all_of(&found.together, Goal::Inactive), [None; 3]);
    assert!(!mechanism(&found, "idle_heartbeats").on);
    assert!(found.advice.iter().any(|a| a.contains("hb.enabled=true")));
    let found = compute("rfc2960", &[]);
    assert_eq!(all_of(&found.together, Goal::Suspect), [None; 3]);
    assert!(!mechanism(&found, "potentially_failed").on);
}

#[test]
fn advice_keeps_its_promise() {
    let default = compute("rfc9260", &[]);
    assert!(
        default.advice[0].contains("--set rto.min=290ms"),
        "{:?}",
        default.advice
    );
    let then = compute("rfc9260", &["rto.min=290ms"]);
    assert!(all_of(&then.together, Goal::Stall)[1].unwrap() < 1.0);
    assert!(!then.advice.iter().any(|a| a.contains("within 1 s")));
    let old = compute("rfc2960", &[]).advice.join("\n");
    assert!(
        old.contains("--set failover.potentially_failed=on"),
        "{old}"
    );
    let hasty = compute("rfc9260", &["rto.min=100ms"]).advice.join("\n");
    assert!(
        hasty.contains("may time out although it arrived"),
        "{hasty}"
    );
}

#[test]
fn questions_that_cannot_be_are_refused() {
    let ask = |rtt, rto, settings: &[&str]| {
        failover_time(&Question {
            name: String::new(),
            config: config("rfc9260", settings),
            rtt,
            rto,
        })
        .unwrap_err()
        .to_string()
    };
    assert!(ask(Duration::ZERO, None, &[]).starts_with("--rtt 0 s: "));
    assert!(ask(Duration::from_secs(4000), None, &[]).contains("at most 1 h"));
    let rto = ask(RTT, Some(RTT), &[]);
    assert!(
        rto.starts_with("--rto 90 ms: lies outside of rto.min (1 s)"),
        "{rto}"
    );
}

#[test]
fn extreme_settings_end_soon_and_fit_the_page() {
    for settings in [
        &["failure.path_max_retrans=4294967295"] as &[&str],
        &[
            "failure.path_max_retrans=4294967295",
            "failover.potentially_failed=off",
        ],
        &[
            "failure.path_max_retrans=4294967295",
            "failover.potentially_failed.max_retrans=4294967294",
        ],
        &[
            "failure.path_max_retrans=4294967295",
            "failover.potentially_failed=off",
            "retransmission.after_rto=Heartbeat",
        ],
        &[
            "failure.association_max_retrans=4294967295",
            "rto.max=20000h",
        ],
        &["rto.min=1ns", "rto.max=30ns", "rto.initial=2ns"],
        &["failure.detection={ Probing = { dmax = \"20000 h\", n = 4 } }"],
        &[
            "failure.path_max_retrans=0",
            "failure.heartbeat_test=Reaches",
        ],
        &["failover.dormant=Hop", "hb.enabled=false"],
    ] {
        for preset in ["rfc9260", "rfc2960"] {
            let text = render(&compute(preset, settings));
            for line in text.lines() {
                assert!(line.chars().count() <= 80, "{settings:?}: {line}");
                assert_eq!(line, line.trim_end());
            }
        }
    }
}
