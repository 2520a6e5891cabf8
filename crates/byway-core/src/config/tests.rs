use super::*;
use crate::policy::{DeadData, Detection, ProbeTimeout, probing::Probing};

fn probing(dmax_s: u64, n: u32) -> Detection {
    Detection::Probing(Probing {
        dmax: Duration::from_secs(dmax_s),
        n,
        ..Probing::default()
    })
}

#[test]
fn every_preset_passes_its_own_check() {
    for name in [
        "byway",
        "rfc9260",
        "rfc2960",
        "caro2006",
        "caro2006-proposed",
    ] {
        Config::preset(name).unwrap().check().unwrap();
    }
}

#[test]
fn an_unknown_preset_lists_those_there_are() {
    let e = Config::preset("rfc4960").unwrap_err().to_string();
    assert!(e.contains("rfc9260") && e.contains("rfc2960"), "{e}");
}

#[test]
fn what_cannot_work_is_refused_with_field_value_and_remedy() {
    type Break = fn(&mut Config);
    let table: [(Break, &str); 10] = [
        (
            |c| c.rto.min = Duration::from_secs(100),
            "rto.min = 100 s: is above rto.max",
        ),
        (
            |c| c.sack.delay = Duration::from_secs(1),
            "sack.delay = 1 s",
        ),
        (|c| c.pmtu = Pmtu(100), "pmtu = 100"),
        (
            |c| c.congestion.max_burst = Some(0),
            "congestion.max_burst = 0",
        ),
        (
            |c| {
                c.congestion.algorithm = CongestionAlgorithm::Cubic(Cubic::default());
                c.congestion.coupled = Coupling::Lia;
            },
            "congestion.coupled = Lia",
        ),
        (|c| c.failure.path_max_retrans = 0, ""),
        (
            |c| c.setup.min_init_len = 401,
            "setup.min_init_len = 401: must be at most 400",
        ),
        (
            |c| c.failure.path_detection = vec![Detection::default(), probing(10, 0)],
            "failure.path_detection = path 2: dmax 10 s with n 0: n must be",
        ),
        (
            |c| c.failure.path_detection = vec![Detection::default(); 9],
            "failure.path_detection = a list of 9: an association has at most setup.max_paths = 8",
        ),
        (
            |c| {
                c.failover.potentially_failed = Some(PfConfig {
                    max_retrans: 9,
                    ..PfConfig::default()
                });
            },
            "failover.potentially_failed.max_retrans = 9",
        ),
    ];
    for (break_it, expected) in table {
        let mut c = Config::default();
        break_it(&mut c);
        match c.check() {
            Ok(()) => assert!(expected.is_empty(), "should have been refused: {expected}"),
            Err(e) => assert!(e.to_string().starts_with(expected), "{e}"),
        }
    }
}

#[test]
fn an_endpoint_refuses_wildcards_and_doubles() {
    let seed = [0; 32];
    let of = |list: &[&str]| {
        EndpointConfig::new(
            5001,
            list.iter().map(|a| a.parse().unwrap()).collect(),
            seed,
        )
        .check()
    };
    assert!(of(&["10.0.0.1:9899", "10.1.0.1:9899"]).is_ok());
    assert!(
        of(&["0.0.0.0:9899"])
            .unwrap_err()
            .to_string()
            .contains("wildcard")
    );
    assert!(
        of(&["10.0.0.1:0", "10.0.0.1:0"])
            .unwrap_err()
            .to_string()
            .contains("twice")
    );
    assert!(of(&[]).unwrap_err().to_string().contains("1 to 8"));
}

#[test]
fn what_contradicts_itself_is_warned_of_with_field_value_and_remedy() {
    type Change = fn(&mut Config);
    let table: [(Change, &str); 12] = [
        (|_| {}, ""),
        (
            |c| c.congestion.coupled = Coupling::Lia,
            "congestion.coupled = Lia: couples the windows",
        ),
        (
            |c| c.failover.primary_switch = PrimarySwitch::Cpt(4),
            "failover.primary_switch = Cpt(4): is below failure.path_max_retrans",
        ),
        (|c| c.failover.primary_switch = PrimarySwitch::Cpt(5), ""),
        (
            |c| c.failover.primary_switch = PrimarySwitch::CptHeartbeats(0),
            "",
        ),
        (
            |c| c.failure.path_detection = vec![probing(5, 10)],
            "failure.path_detection = path 1: dmax 5 s with n 10: probes every dmax / n",
        ),
        (
            |c| c.failure.detection = probing(5, 10),
            "failure.detection = dmax 5 s with n 10: probes every dmax / n, sooner than rto.min",
        ),
        (
            |c| (c.hb.enabled, c.hb.failed) = (false, FailedProbes::OncePerRto),
            "hb.enabled = false: hb.failed = OncePerRto",
        ),
        (
            |c| c.failure.association_max_retrans = 3,
            "failure.association_max_retrans = 3: is below failure.path_max_retrans",
        ),
        (
            |c| c.rto.min = Duration::from_millis(200),
            "sack.delay = 200 ms: is not below rto.min",
        ),
        (
            |c| c.setup.verify_addresses = false,
            "setup.verify_addresses = false: believes every address",
        ),
        (
            |c| {
                c.failover.probe_timeout = Some(ProbeTimeout {
                    ack_delay: Duration::from_millis(50),
                    ..ProbeTimeout::default()
                });
            },
            "failover.probe_timeout.ack_delay = 50 ms: is below sack.delay",
        ),
    ];
    for (change, expected) in table {
        let mut c = Config::default();
        change(&mut c);
        let found: Vec<String> = c.warnings().iter().map(ToString::to_string).collect();
        match &found[..] {
            [] => assert_eq!(expected, ""),
            [one] => assert!(!expected.is_empty() && one.starts_with(expected), "{one}"),
            more => panic!("{more:?}"),
        }
        c.check().expect("it can work all the same");
    }
}

#[test]
fn no_preset_contradicts_itself() {
    for name in ["rfc9260", "rfc2960"] {
        let found = Config::preset(name).unwrap().warnings();
        assert!(found.is_empty(), "{name}: {found:?}");
    }
}

/// What breaks a rule, and how the refusal begins.
type Broken = (fn(&mut Config), &'static str);

const BROKEN: [Broken; 35] = [
    (
        |c| c.failure.detection = probing(10, 0),
        "failure.detection = dmax 10 s with n 0: n must be 1 to 1000",
    ),
    (
        |c| c.rto.min = Duration::ZERO,
        "rto.min = 0 s: a timeout of zero",
    ),
    (
        |c| c.rto.initial = Duration::from_secs(90),
        "rto.initial = 90 s: lies outside of rto.min to rto.max",
    ),
    (|c| c.rto.alpha = 0.0, "rto.alpha = 0: must be above 0"),
    (
        |c| c.rto.beta = 1.5,
        "rto.beta = 1.5: must be above 0 and at most 1",
    ),
    (|c| c.sack.every = 0, "sack.every = 0: must be at least 1"),
    (
        |c| c.buffer.receive = 1499,
        "buffer.receive = 1499: RFC 9260 section 3.3.2",
    ),
    (
        |c| c.buffer.max_message = 0,
        "buffer.max_message = 0: must be 1 byte to 1 GiB",
    ),
    (
        |c| c.buffer.send = 0,
        "buffer.send = 0: nothing could ever be sent",
    ),
    (
        |c| c.buffer.window_update_share = 0,
        "buffer.window_update_share = 0: must be at least 1",
    ),
    (
        |c| c.setup.outbound_streams = 0,
        "setup.outbound_streams = 0: must be at least 1",
    ),
    (
        |c| c.setup.max_inbound_streams = 0,
        "setup.max_inbound_streams = 0: must be at least 1",
    ),
    (
        |c| c.setup.max_paths = 9,
        "setup.max_paths = 9: must be 1 to 8",
    ),
    (
        |c| {
            c.congestion.pacing = Some(Pacing {
                avoidance: 0.5,
                ..Pacing::default()
            });
        },
        "congestion.pacing = 2 and 0.5: slow_start and avoidance must be 1 to 100",
    ),
    (
        |c| {
            c.congestion.pacing = Some(Pacing {
                burst: 0,
                ..Pacing::default()
            });
        },
        "congestion.pacing.burst = 0: must be at least 1",
    ),
    (
        |c| c.congestion.fast_retransmit_threshold = 0,
        "congestion.fast_retransmit_threshold = 0: must be at least 1",
    ),
    (
        |c| c.congestion.ssthresh_floor = 0,
        "congestion.ssthresh_floor = 0: must be at least 1",
    ),
    (
        |c| c.congestion.initial_cwnd = InitialCwnd::Pmdcs(0),
        "congestion.initial_cwnd = 0: nothing could ever be sent",
    ),
    (
        |c| (c.concurrent, c.setup.max_paths) = (Some(Default::default()), 1),
        "setup.max_paths = 1: concurrent multipath transfer needs at least 2 paths",
    ),
    (
        |c| {
            c.mtu_discovery = Some(Default::default());
            c.mtu_discovery.as_mut().unwrap().min = 500;
        },
        "mtu_discovery.min = 500: must be at least 512 bytes",
    ),
    (
        |c| {
            c.mtu_discovery = Some(Default::default());
            c.mtu_discovery.as_mut().unwrap().base = 575;
        },
        "mtu_discovery.base = 575: must be at least mtu_discovery.min",
    ),
    (
        |c| estimate(c).factor = 0.9,
        "failover.estimate.factor = 0.9: must be at least 1",
    ),
    (
        |c| estimate(c).deviations = 11.0,
        "failover.estimate.deviations = 11: must be 0 to 10",
    ),
    (
        |c| estimate(c).probe_share = 2.0,
        "failover.estimate.probe_share = 2: must be 0 to 1",
    ),
    (
        |c| estimate(c).probes_per_second = 0,
        "failover.estimate.probes_per_second = 0: must be 1 to 1000",
    ),
    (
        |c| estimate(c).memory = 9,
        "failover.estimate.memory = 9: must be at least 10",
    ),
    (
        |c| trial(c).loss = 1.0,
        "failover.trial.loss = 1: must be above 0 and below 1",
    ),
    (
        |c| trial(c).factor = 0.5,
        "failover.trial.factor = 0.5: must be 1 to 100",
    ),
    (
        |c| trial(c).rounds = 1,
        "failover.trial.rounds = 1: must be at least 2",
    ),
    (
        |c| {
            c.failover.probe_timeout = Some(ProbeTimeout {
                heartbeats: 9,
                ..ProbeTimeout::default()
            });
        },
        "failover.probe_timeout.heartbeats = 9: must be 1 to 8",
    ),
    (
        |c| {
            c.failure.dead_data = Some(DeadData {
                timeouts: 0,
                ..DeadData::default()
            });
        },
        "failure.dead_data.timeouts = 0: must be at least 1",
    ),
    (
        |c| {
            c.failure.dead_data = Some(DeadData {
                give_up: Duration::from_millis(1),
                ..DeadData::default()
            });
        },
        "failure.dead_data.give_up = 1 ms: is below rto.min",
    ),
    (
        |c| c.auth.keys = [b"one", b"two"].map(|s| SharedKey::new(4, s)).into(),
        "auth.keys = 4: two keys have this identifier",
    ),
    // RFC 7829 section 5, without and with the potentially failed state.
    (
        |c| {
            c.failover.primary_switch = PrimarySwitch::Psmr(4);
            c.failover.potentially_failed = None;
        },
        "failover.primary_switch = 4: must be at least failure.path_max_retrans",
    ),
    (
        |c| {
            c.failover.primary_switch = PrimarySwitch::Psmr(1);
            c.failover.potentially_failed = Some(PfConfig {
                max_retrans: 2,
                ..PfConfig::default()
            });
        },
        "failover.primary_switch = 1: must be at least failover.potentially_failed.max_retrans",
    ),
];

/// Each rule that one setting can break alone: the field, what it was set to, and what would do.
#[test]
fn each_setting_that_breaks_a_rule_is_named_with_a_value_that_does_not() {
    for (break_it, expected) in BROKEN {
        let mut c = Config::rfc9260();
        break_it(&mut c);
        let error = c.check().expect_err(expected).to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

fn estimate(c: &mut Config) -> &mut crate::policy::EstimateConfig {
    c.failover.estimate.get_or_insert_default()
}

fn trial(c: &mut Config) -> &mut crate::policy::Trial {
    c.failover.trial.get_or_insert_default()
}
