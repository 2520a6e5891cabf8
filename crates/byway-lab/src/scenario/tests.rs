use super::*;
use crate::source::Problems;
use crate::units::{Rate, Size};
use byway_core::config::{InitialCwnd, PrimarySwitch};
use byway_core::policy::probing::Probing;
use byway_core::policy::{Detection, RetransmitTarget};
use byway_dialect_ns2::Settings;
use std::time::Duration;

/// A scenario that is right, for tests that make it wrong.
const GOOD: &str = r#"seed = 7
[[path]]
rate = "10 Mbit/s"
delay = "45 ms"
[[path]]
rate = "10 Mbit/s"
delay = "45 ms"
[[event]]
at = "2 s"
path = 1
do = "down"
[traffic]
kind = "bulk"
size = "8 MiB"
[protocol]
preset = "rfc9260"
[[policy]]
name = "one"
rto.min = "500 ms"
"#;

fn problems(text: &str) -> Vec<(usize, String)> {
    match Scenario::parse("t.toml", text) {
        Ok(_) => panic!("this should have been refused:\n{text}"),
        Err(problems) => problems
            .0
            .into_iter()
            .map(|p| (p.line, p.message))
            .collect(),
    }
}

#[test]
fn the_built_in_scenario_is_the_papers_failover() {
    let s = Scenario::parse(BUILT_IN_NAME, BUILT_IN).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(s, Scenario::built_in());
    assert_eq!(s.paths.len(), 2);
    assert_eq!(s.paths[0].forward.rate, Rate(10_000_000));
    assert_eq!(s.paths[1].reverse.delay, Duration::from_millis(45));
    assert_eq!(s.events.len(), 1);
    assert_eq!(
        (s.events[0].path, s.events[0].at),
        (0, Duration::from_secs(2))
    );
    assert!(matches!(s.traffic, Traffic::Bulk { size: Size(n), .. } if n == 8 << 20));
    assert_eq!(s.policies.len(), 8);
    assert_eq!(s.policies[0].config.core, byway_core::Config::rfc9260());
    assert_eq!(s.policies[1].config.failover.potentially_failed, None);
    assert_eq!(s.policies[2].config.failure.path_max_retrans, 0);
    assert_eq!(s.policies[3].config.core, byway_core::Config::rfc2960());
    assert_eq!(
        s.policies[4].config.retransmission.target,
        RetransmitTarget::AllRtxSame
    );
    assert_eq!(s.policies[5].config.rto.min, Duration::from_millis(100));
}

/// What is replaced in the good file, by what, and the message with its line.
const MISTAKES: &[(&str, &str, usize, &str)] = &[
    (
        "rto.min = \"500 ms\"",
        "hb.jitter = \"off\"",
        19,
        "[[policy]]: hb.jitter: found \"off\", expected one of HalfRto, HalfInterval and Off; did you mean \"Off\"?",
    ),
    (
        "delay = \"45 ms\"",
        "dealy = \"45 ms\"",
        4,
        "\"dealy\" is not a key of [[path]]; did you mean \"delay\"?",
    ),
    (
        "rate = \"10 Mbit/s\"",
        "rate = 10",
        3,
        "rate in [[path]]: \"10\" has no unit; write a rate with bit/s, kbit/s, Mbit/s, Gbit/s, kB/s or MB/s, such as \"10 Mbit/s\"",
    ),
    (
        "rate = \"10 Mbit/s\"",
        "rate = \"10 Mbit/h\"",
        3,
        "rate in [[path]]: \"Mbit/h\" is not a unit of rate; use bit/s, kbit/s, Mbit/s, Gbit/s, kB/s or MB/s, such as \"10 Mbit/s\"",
    ),
    (
        "delay = \"45 ms\"",
        "delay = \"45\"",
        4,
        "delay in [[path]]: '45' has no unit; write for instance \"45 ms\" or \"45 s\"",
    ),
    (
        "delay = \"45 ms\"",
        "delay = \"45 ms\"\nloss = \"1\"",
        5,
        "loss in [[path]]: \"1\" has no unit; write \"1 %\" for 1 of a hundred",
    ),
    (
        "delay = \"45 ms\"",
        "delay = \"45 ms\"\nloss = { to_bad = \"1 %\" }",
        5,
        "loss: to_good is missing; write for instance to_good = \"30 %\"",
    ),
    (
        "delay = \"45 ms\"",
        "delay = \"45 ms\"\nloss = { data = [0] }",
        5,
        "data in loss: found 0, expected whole numbers from 1, such as [3, 7]",
    ),
    (
        "delay = \"45 ms\"",
        "delay = \"45 ms\"\nloss = { data = [1], bad = \"2 %\" }",
        5,
        "loss: a list of packets and a burst model exclude each other; keep one of them",
    ),
    (
        "delay = \"45 ms\"",
        "delay = \"45 ms\"\nqueue = \"many\"",
        5,
        "queue in [[path]]: \"many\" is not a queue; write \"50 packets\", or a size such as \"64 KiB\"",
    ),
    (
        "delay = \"45 ms\"",
        "delay = \"15 ms\"\naccess = { rate = \"100 Mbit/s\", delay = \"10 ms\" }",
        2,
        "[[path]]: delay is the whole way, 10 ms at each end included, so it is at least 20 ms",
    ),
    (
        "delay = \"45 ms\"",
        "",
        2,
        "[[path]]: delay is missing; write for instance delay = \"45 ms\"",
    ),
    (
        "path = 1",
        "path = 3",
        10,
        "path in [[event]]: found 3, expected a path: 1 (\"path 1\") and 2 (\"path 2\")",
    ),
    (
        "[traffic]",
        "[[cross]]\npath = 1\nrate = \"1 Mbit/s\"\nbursts = \"1 s\"\n[traffic]",
        15,
        "bursts in [[cross]]: is of traffic that comes in bursts; shape must be \"pareto\" or \"edge-nodes\"",
    ),
    (
        "[traffic]",
        "[[cross]]\npath = 1\nrate = \"1 Mbit/s\"\nshape = \"pareto\"\nbursts = \"0 s\"\n[traffic]",
        16,
        "bursts in [[cross]]: bursts and pauses are of 1 ms or more on average",
    ),
    (
        "do = \"down\"",
        "do = \"dwon\"",
        11,
        "do in [[event]]: found \"dwon\", expected one of down, up and set; did you mean \"down\"?",
    ),
    (
        "do = \"down\"",
        "do = \"set\"",
        8,
        "[[event]]: do = \"set\" sets nothing; add rate, delay or loss",
    ),
    (
        "do = \"down\"",
        "do = \"down\"\nrate = \"1 Mbit/s\"",
        12,
        "rate in [[event]]: goes with do = \"set\" only; write a separate event for it",
    ),
    (
        "size = \"8 MiB\"",
        "size = \"8 MeB\"",
        14,
        "size in [traffic]: \"MeB\" is not a unit of size; use B, kB, MB, GB (powers of 1000), KiB, MiB or GiB (powers of 1024), such as \"64 KiB\"",
    ),
    (
        "kind = \"bulk\"",
        "kind = \"bluk\"",
        13,
        "kind in [traffic]: found \"bluk\", expected one of bulk and periodic; did you mean \"bulk\"?",
    ),
    (
        "size = \"8 MiB\"",
        "size = \"8 MiB\"\nevery = \"1 s\"",
        15,
        "\"every\" is not a key of [traffic]; there are kind, message, streams, start and size",
    ),
    (
        "preset = \"rfc9260\"",
        "preset = \"rfc4960\"",
        16,
        "preset in [protocol]: preset = rfc4960: no such preset; there are byway, rfc9260, rfc2960, ns2, caro2006 and caro2006-proposed",
    ),
    (
        "rto.min = \"500 ms\"",
        "rto.minimum = \"500 ms\"",
        19,
        "[[policy]]: \"minimum\" is not a setting of rto; there are alpha, beta, initial, max, min, sampling and timestamps",
    ),
    (
        "rto.min = \"500 ms\"",
        "rto.mim = \"500 ms\"",
        19,
        "[[policy]]: \"mim\" is not a setting of rto; did you mean \"min\"?",
    ),
    (
        "rto.min = \"500 ms\"",
        "path_max_retrans = 2",
        19,
        "[[policy]]: \"path_max_retrans\" is not a setting; did you mean \"failure.path_max_retrans\"?",
    ),
    (
        "rto.min = \"500 ms\"",
        "rto.min = 500",
        19,
        "[[policy]]: rto.min: '500' has no unit; write for instance \"500 ms\" or \"500 s\"",
    ),
    (
        "rto.min = \"500 ms\"",
        "rto.min = \"90 s\"",
        19,
        "policy \"one\": rto.min = 90 s: is above rto.max; lower it or raise rto.max",
    ),
    (
        "rto.min = \"500 ms\"",
        "rto.max = \"500 ms\"",
        19,
        "policy \"one\": rto.min = 1 s: is above rto.max; lower it or raise rto.max",
    ),
    (
        "rto.min = \"500 ms\"",
        "sack.every = -1",
        19,
        "[[policy]]: sack.every: found -1, expected a whole number, 0 or more",
    ),
    (
        "rto.min = \"500 ms\"",
        "retransmission.target = \"AllRtxSam\"",
        19,
        "[[policy]]: retransmission.target: found \"AllRtxSam\", expected one of AllRtxSame, AllRtxAlt and FrSameRtoAlt; did you mean \"AllRtxSame\"?",
    ),
    (
        "rto.min = \"500 ms\"",
        "failover.primary_switch = \"Cpt\"",
        19,
        "[[policy]]: failover.primary_switch: found \"Cpt\", which needs a number: \"Cpt(2)\"",
    ),
    (
        "rto.min = \"500 ms\"",
        "rto.min = \"off\"",
        19,
        "[[policy]]: rto.min: found \"off\", but this cannot be off",
    ),
    (
        "rto.min = \"500 ms\"",
        "hb.enabled = \"perhaps\"",
        19,
        "[[policy]]: hb.enabled: found \"perhaps\", expected true or false",
    ),
    (
        "seed = 7",
        "seed = -7",
        1,
        "seed in the scenario: found -7, expected a whole number, 0 to 9223372036854775807",
    ),
    (
        "seed = 7",
        "sead = 7",
        1,
        "\"sead\" is not a key of the scenario; did you mean \"seed\"?",
    ),
    (
        "[[policy]]\nname = \"one\"",
        "[[policy]]",
        17,
        "[[policy]]: name is missing; write for instance name = \"PF off\"",
    ),
    (
        "[[path]]",
        "[path]",
        2,
        "path in the scenario: written [[path]], with two brackets, once for each",
    ),
];

#[test]
fn every_mistake_is_named_with_its_line_and_what_would_be_right() {
    for (good, bad, line, message) in MISTAKES {
        // `[path]` cannot occur twice: the second one goes, too.
        let text = if *bad == "[path]" {
            GOOD.replacen("[[path]]\nrate = \"10 Mbit/s\"\ndelay = \"45 ms\"\n", "", 1)
                .replacen(good, bad, 1)
        } else {
            GOOD.replacen(good, bad, 1)
        };
        let found = problems(&text);
        assert!(
            found.iter().any(|(l, m)| l == line && m == message),
            "{bad}\nexpected {line}: {message}\nfound    {found:#?}"
        );
    }
}

#[test]
fn all_mistakes_are_told_at_once_in_the_order_of_the_file() {
    let text = GOOD
        .replacen("10 Mbit/s", "ten", 1)
        .replacen("8 MiB", "8", 1)
        .replacen("500 ms", "soon", 1);
    let lines: Vec<usize> = problems(&text).into_iter().map(|(line, _)| line).collect();
    assert_eq!(lines, [3, 14, 19]);
}

#[test]
fn what_is_not_toml_is_said_with_its_line() {
    let found = problems(&GOOD.replacen("seed = 7", "seed = ", 1));
    assert_eq!(found[0].0, 1);
    assert!(found[0].1.starts_with("this is not TOML: "), "{found:?}");
    let found = problems("seed = 1\nseed = 2\n");
    assert_eq!(found[0].0, 2, "{found:?}");
}

#[test]
fn no_text_makes_the_reader_panic() {
    let read = |text: &str| {
        if let Err(problems) = Scenario::parse("t", text) {
            assert!(!problems.to_string().is_empty());
        }
    };
    for (at, _) in BUILT_IN.char_indices().step_by(3) {
        read(&BUILT_IN[..at]);
        read(&BUILT_IN[at..]);
    }
    let crlf = GOOD.replace('\n', "\r\n");
    assert!(Scenario::parse("t", &crlf).is_ok());
    // Every word of the good file, replaced by things that do not belong there.
    for odd in [
        "",
        "\"",
        "=",
        "ä",
        "[[",
        "-1",
        "1e999",
        "\r",
        "0",
        "{ a = 1 }",
        "\"9999999999999 h\"",
        "99999999999999999999",
    ] {
        for (at, word) in GOOD.match_indices(|c: char| !c.is_whitespace()).step_by(2) {
            let text = format!("{}{odd}{}", &GOOD[..at], &GOOD[at + word.len()..]);
            read(&text);
            read(&text.replace('\n', "\r\n"));
        }
    }
}

#[test]
fn what_the_simulator_could_not_reckon_is_refused() {
    let found = problems(
        &GOOD
            .replacen("10 Mbit/s", "9000000 Gbit/s", 1)
            .replacen("45 ms", "2 h", 1),
    );
    assert_eq!(
        found[0],
        (
            3,
            "rate in [[path]]: \"9000000 Gbit/s\" is faster than anything; at most 1000000 Gbit/s"
                .to_owned()
        )
    );
    assert_eq!(
        found[1],
        (
            4,
            "delay in [[path]]: \"2 h\" is longer than any path's delay; at most 1 h".to_owned()
        )
    );
}

#[test]
fn an_empty_file_says_what_is_missing() {
    let messages: Vec<String> = problems("").into_iter().map(|(_, m)| m).collect();
    assert_eq!(
        messages,
        [
            "there is no path; add [[path]] with rate = \"10 Mbit/s\" and delay = \"45 ms\", once for each",
            "there is no traffic; add [traffic] with kind = \"bulk\" and size = \"8 MiB\"",
        ]
    );
}

#[test]
fn a_policy_takes_its_preset_then_the_protocol_then_its_own() {
    let text = GOOD
        .replacen(
            "preset = \"rfc9260\"",
            "rto.min = \"700 ms\"\nsack.every = 1",
            1,
        )
        .replacen(
            "rto.min = \"500 ms\"",
            "preset = \"rfc2960\"\nsack.every = 3",
            1,
        );
    let s = Scenario::parse("t", &text).unwrap_or_else(|e| panic!("{e}"));
    let config = &s.policies[0].config;
    assert_eq!(
        config.rto.initial,
        Duration::from_secs(3),
        "from the policy's preset"
    );
    assert_eq!(
        config.rto.min,
        Duration::from_millis(700),
        "from [protocol]"
    );
    assert_eq!(config.sack.every, 3, "its own");
}

#[test]
fn settings_take_what_people_write() {
    let own = r#"congestion.initial_cwnd = "Pmdcs(3)"
failover.primary_switch = { Cpt = 2 }
failover.potentially_failed.max_retrans = 1
congestion.max_burst = "off"
buffer.receive = "64 KiB"
rto.alpha = 1
"#;
    let s = Scenario::parse("t", &GOOD.replacen("rto.min = \"500 ms\"", own, 1))
        .unwrap_or_else(|e| panic!("{e}"));
    let c = &s.policies[0].config;
    assert_eq!(c.congestion.initial_cwnd, InitialCwnd::Pmdcs(3));
    assert_eq!(c.failover.primary_switch, PrimarySwitch::Cpt(2));
    assert_eq!(
        c.failover
            .potentially_failed
            .as_ref()
            .map(|pf| pf.max_retrans),
        Some(1)
    );
    assert_eq!(c.congestion.max_burst, None);
    assert_eq!(c.buffer.receive, 65_536);
    assert_eq!(c.rto.alpha, 1.0);
}

#[test]
fn a_choice_with_settings_takes_its_defaults_or_a_table() {
    let of = |own: &str| {
        let s = Scenario::parse("t", &GOOD.replacen("rto.min = \"500 ms\"", own, 1))
            .unwrap_or_else(|e| panic!("{e}"));
        s.policies[0].config.failure.detection
    };
    let default = of("failure.detection = \"Probing\"");
    assert!(matches!(default, Detection::Probing(_)));
    let own = of("failure.detection = { Probing = { dmax = \"3 s\", n = 5 } }");
    assert!(matches!(own, Detection::Probing(p) if p.n == 5 && p.dmax == Duration::from_secs(3)));
}

fn with_own(own: &str) -> Result<Scenario, Problems> {
    Scenario::parse("t", &GOOD.replacen("rto.min = \"500 ms\"", own, 1))
}

#[test]
fn each_path_may_be_watched_in_its_own_way() {
    let of = |own: &str| {
        let s = with_own(own).unwrap_or_else(|e| panic!("{e}"));
        let warned: Vec<String> = s.warnings().iter().map(|w| w.1.to_string()).collect();
        (s.policies[0].config.failure.clone(), warned)
    };
    let probing = |secs, n| {
        Detection::Probing(Probing {
            dmax: Duration::from_secs(secs),
            n,
            ..Probing::default()
        })
    };
    let (two, warned) =
        of("failure.path_detection = [\"Probing\", { Probing = { dmax = \"3 s\", n = 2 } }]");
    assert_eq!(two.path_detection, [probing(10, 10), probing(3, 2)]);
    assert_eq!(two.detection_of(2), Detection::ErrorCount);
    assert_eq!(warned, [""; 0]);
    assert!(
        of("failure.path_detection = \"off\"")
            .0
            .path_detection
            .is_empty()
    );
    let (_, warned) = of("failure.path_detection = [\"Probing\", \"Probing\", \"Probing\"]");
    assert!(
        warned[0].starts_with("failure.path_detection = a list of 3: this network has 2 paths"),
        "{warned:?}"
    );
}

#[test]
fn a_wrong_detector_of_a_path_is_reported_at_its_place() {
    for (own, message, text) in [
        (
            "failure.path_detection = \"Probing\"",
            "failure.path_detection: found \"Probing\", expected a list in the order of the paths",
            "\"Probing\"",
        ),
        (
            "failure.path_detection = [\"ErrorCount\", \"Probe\"]",
            "failure.path_detection: path 2: found \"Probe\", expected one of ErrorCount and Probing",
            "\"Probe\"",
        ),
        (
            "failure.path_detection = [{ Probing = { dmx = \"3 s\" } }]",
            "failure.path_detection: path 1: \"dmx\" is not a setting of it; did you mean \"dmax\"?",
            "{ Probing = { dmx = \"3 s\" } }",
        ),
        (
            "failure.path_detection = [{ Probing = { n = 0 } }]",
            "failure.path_detection = path 1: dmax 10 s with n 0: n must be",
            "[{ Probing = { n = 0 } }]",
        ),
    ] {
        let problems = with_own(own).expect_err(own).0;
        let p = &problems[0];
        assert!(p.message.contains(message), "{}", p.message);
        let at: String = p
            .text
            .chars()
            .skip(p.columns.start)
            .take(p.columns.len())
            .collect();
        assert_eq!(at, text, "{p}");
    }
}

#[test]
fn a_sweep_is_not_taken_for_a_scenario_full_of_mistakes() {
    let sweep = "seeds = 3\n[[axis]]\nkey = \"rto.min\"\nvalues = [\"1 s\"]\n";
    let problems = Scenario::parse("t", sweep).expect_err("a sweep").0;
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].message.contains("byway sweep FILE --cells"));
}

#[test]
fn a_scheme_by_name_stands_for_its_settings() {
    let text = GOOD.replacen(
        "rto.min = \"500 ms\"",
        "retransmission.scheme = \"AllRtxSame+MFR\"",
        1,
    );
    let s = Scenario::parse("t", &text).unwrap_or_else(|e| panic!("{e}"));
    let scheme = byway_core::policy::Scheme::of(&s.policies[0].config);
    assert_eq!(scheme.to_string(), "AllRtxSame+MFR");
    let bad = text.replacen("+MFR", "+TS", 1);
    let e = Scenario::parse("t", &bad).unwrap_err().to_string();
    assert!(e.contains("retransmission.scheme: TS measures"), "{e}");
    assert!(e.contains("AllRtxSame+TS+forced"), "{e}");
    assert!(Scenario::parse("t", &bad.replacen("+TS", "+TS+forced", 1)).is_ok());
}

#[test]
fn what_settings_lists_is_read_back_the_same() {
    for preset in ["rfc9260", "rfc2960", "ns2"] {
        let config = Settings::preset(preset).unwrap();
        let listed = setting_lines(&config);
        let s = Scenario::parse("t", &GOOD.replacen("rto.min = \"500 ms\"", &listed, 1))
            .unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(s.policies[0].config, config, "{preset}");
    }
}

#[test]
fn settings_of_what_is_off_are_listed_as_they_are_when_it_is_on() {
    let set = |base: &Settings, key: &str, value: &str| {
        let list = [format!("{key}={value}").parse().unwrap()];
        apply_overrides(base, &list).unwrap_or_else(|e| panic!("{e:?}"))
    };
    for (preset, features) in [
        (
            "rfc9260",
            &[
                "concurrent",
                "buffer.tuning",
                "failover.probe_timeout",
                "failover.estimate",
                "failover.trial",
                "failover.revival",
                "retransmission.rack",
                "congestion.pacing",
                "mtu_discovery",
            ][..],
        ),
        (
            "rfc2960",
            &[
                "concurrent",
                "buffer.tuning",
                "failover.probe_timeout",
                "failover.estimate",
                "failover.trial",
                "failover.revival",
                "retransmission.rack",
                "congestion.pacing",
                "mtu_discovery",
                "failover.potentially_failed",
                "failure.dead_data",
            ],
        ),
    ] {
        let base = Settings::preset(preset).unwrap();
        let listed = setting_lines(&base);
        let mut all = 0;
        for feature in features {
            let off = format!("{feature} = \"off\"  # off, on");
            assert!(listed.lines().any(|l| l == off), "{off}\n{listed}");
            let on = set(&base, feature, "on");
            // What is listed then as a setting is listed now as a comment.
            let listed_on = setting_lines(&on);
            let own = format!("{feature}.");
            let own = listed_on.lines().filter(|l| l.starts_with(&own));
            for line in own {
                let (line, remark) = line.split_once("  # ").unwrap_or((line, ""));
                let now = match remark {
                    "" => format!("# {line}  # when on"),
                    remark => format!("# {line}  # when on; {remark}"),
                };
                assert!(listed.lines().any(|l| l == now), "{now}\n{listed}");
                // And setting it alone switches all of it on.
                let (key, value) = line.split_once(" = ").unwrap();
                assert_eq!(set(&base, key, value.trim_matches('"')), on, "{line}");
                all += 1;
            }
        }
        let comments = listed.lines().filter(|l| l.starts_with("# ")).count();
        assert_eq!((comments, all > features.len()), (all, true), "{listed}");
    }
}

#[test]
fn a_list_of_losses_is_for_the_way_to_the_receiver() {
    let text = GOOD.replacen(
        "delay = \"45 ms\"",
        "delay = \"45 ms\"\nloss = { data = [3, 7] }\nreverse = { rate = \"1 Mbit/s\" }",
        1,
    );
    let s = Scenario::parse("t", &text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(
        s.paths[0].forward.loss,
        LossSpec::List {
            data: vec![3, 7],
            packets: vec![]
        }
    );
    assert_eq!(s.paths[0].reverse.loss, LossSpec::Nothing);
    assert_eq!(s.paths[0].reverse.rate, Rate(1_000_000));
    assert_eq!(s.paths[0].reverse.delay, Duration::from_millis(45));
}

#[test]
fn a_black_hole_swallows_what_is_larger() {
    let with = |loss: &str| {
        let delay = "delay = \"45 ms\"";
        let text = GOOD.replacen(delay, &format!("{delay}\nloss = {loss}"), 1);
        Scenario::parse("t", &text)
    };
    let s = with("{ larger_than = \"1200 B\" }").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(s.paths[0].forward.loss, LossSpec::LargerThan(Size(1200)));
    assert_eq!(s.paths[0].reverse.loss, LossSpec::LargerThan(Size(1200)));
    let e = with("{ larger_than = \"1200 B\", data = [1] }").unwrap_err();
    assert!(e.to_string().contains("data"), "{e}");
}

#[test]
fn a_policer_stands_both_ways_unless_the_way_back_has_another_or_none() {
    let with = |lines: &str| {
        let delay = "delay = \"45 ms\"";
        let text = GOOD.replacen(delay, &format!("{delay}\n{lines}"), 1);
        Scenario::parse("t", &text)
    };
    let policer = "policer = { rate = \"10 Mbit/s\", burst = \"15 kB\" }";
    let rate = Rate(10_000_000);
    let limit = Some(PolicerSpec {
        rate,
        burst: Size(15_000),
    });
    let s = with(policer).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(s.paths[0].forward.policer, limit);
    assert_eq!(s.paths[0].reverse.policer, limit);
    let none = format!("{policer}\nreverse = {{ policer = \"none\" }}");
    let s = with(&none).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(s.paths[0].forward.policer, limit);
    assert_eq!(s.paths[0].reverse.policer, None);
    for (wrong, said) in [
        ("policer = \"10 Mbit/s\"", "burst = \"15 kB\""),
        ("policer = { rate = \"10 Mbit/s\" }", "burst"),
        (
            "policer = { rate = \"10 Mbit/s\", burst = \"0 B\" }",
            "above 0",
        ),
    ] {
        let e = with(wrong).unwrap_err().to_string();
        assert!(e.contains(said), "{wrong}: {e}");
    }
}

#[test]
fn every_scenario_of_the_experiments_is_sound() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    for folder in ["dead-data", "choice"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "toml") {
                let text = std::fs::read_to_string(&path).unwrap();
                Scenario::parse(&path.display().to_string(), &text)
                    .unwrap_or_else(|e| panic!("{e}"));
            }
        }
    }
}

#[test]
fn settings_of_the_command_line_say_which_of_them_is_wrong() {
    let set = |list: &[&str]| {
        let list: Vec<Override> = list.iter().map(|s| s.parse().unwrap()).collect();
        apply_overrides(&byway_core::Config::rfc9260(), &list)
    };
    let c = set(&[
        "rto.min=100ms",
        "rto.initial=200 ms",
        "failover.potentially_failed=off",
        "pmtu=1400",
    ])
    .unwrap();
    assert_eq!(c.rto.min, Duration::from_millis(100));
    assert_eq!(c.failover.potentially_failed, None);
    assert_eq!(c.pmtu.0, 1400);
    assert_eq!(
        set(&["rto.min=100"]).unwrap_err(),
        [
            "--set rto.min=100: rto.min: '100' has no unit; write for instance \"100 ms\" or \"100 s\""
        ]
    );
    assert_eq!(
        set(&["rtt.min=100ms"]).unwrap_err(),
        ["--set rtt.min=100ms: \"rtt\" is not a setting; did you mean \"rto\"?"]
    );
    assert_eq!(
        set(&["rto.max=1ms"]).unwrap_err(),
        ["rto.min = 1 s: is above rto.max; lower it or raise rto.max"]
    );
    assert_eq!(
        "rto.min".parse::<Override>().unwrap_err(),
        "\"rto.min\" is not a setting; write KEY=VALUE, such as rto.min=100ms"
    );
}

#[test]
fn concurrent_transfer_over_one_path_is_warned_of() {
    let mut scenario = Scenario::built_in();
    scenario.policies.truncate(1);
    let config = &mut scenario.policies[0].config;
    config.concurrent = Some(byway_core::config::ConcurrentConfig::default());
    assert!(scenario.warnings().is_empty());
    scenario.paths.truncate(1);
    let found = scenario.warnings();
    assert_eq!(found.len(), 1);
    assert!(found[0].1.to_string().starts_with("concurrent = on: "));
}
