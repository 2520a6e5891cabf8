use super::*;
use crate::policy::{Detection, probing::Probing};

fn probing(dmax_s: u64, n: u32) -> Detection {
    Detection::Probing(Probing {
        dmax: Duration::from_secs(dmax_s),
        n,
        ..Probing::default()
    })
}

#[test]
fn every_preset_passes_its_own_check() {
    for name in ["rfc9260", "rfc2960", "caro2006", "caro2006-proposed"] {
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
    use crate::policy::ProbeTimeout;
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
