//! Programs that failed once, made small. Each runs twice and must come out the
//! same.

mod addresses;

use crate::program::{Op, PathPlan, Program, Step};
use crate::run::{Outcome, run};
use crate::settings::Settings;

fn twice(program: &Program) -> Outcome {
    let outcome = run(program);
    assert_eq!(outcome, run(program));
    outcome
}

fn path(delay_ms: u8) -> PathPlan {
    PathPlan {
        delay_ms,
        ..PathPlan::default()
    }
}

fn step(wait_ms: u16, side: usize, op: Op) -> Step {
    Step { wait_ms, side, op }
}

fn send(stream: u8, len: u32, count: u8) -> Op {
    Op::Send {
        stream,
        len,
        count,
        unordered: false,
        path: None,
    }
}

fn two(a: Settings, z: Settings) -> [Settings; 2] {
    [a, z]
}

#[test]
fn a_message_longer_than_the_window_is_handed_over_in_parts() {
    let tight = Settings {
        receive: 6,
        parts: 2,
        ..Settings::default()
    };
    let outcome = twice(&Program {
        paths: vec![path(0), path(0)],
        settings: two(tight, Settings::default()),
        steps: vec![step(0, 1, send(0, 2905, 1))],
        ..Program::default()
    });
    assert_eq!(outcome.failures, [""; 0]);
}

#[test]
fn a_message_for_a_stream_that_the_peer_does_not_allow_is_reported() {
    let one_stream = Settings {
        streams: 4,
        ..Settings::default()
    };
    let outcome = twice(&Program {
        paths: vec![path(26)],
        settings: two(Settings::default(), one_stream),
        steps: vec![step(0, 0, send(1, 1, 1))],
        ..Program::default()
    });
    assert_eq!(outcome.failures.len(), 1);
}

#[test]
fn packets_from_addresses_beyond_max_paths_do_not_end_the_association() {
    let one_path = Settings {
        streams: 16,
        ..Settings::default()
    };
    let outcome = twice(&Program {
        paths: vec![path(0); 3],
        settings: two(one_path, Settings::default()),
        steps: vec![step(0, 0, send(0, 1, 1))],
        ..Program::default()
    });
    assert_eq!(outcome.failures, [""; 0]);
}

#[test]
fn data_that_waits_for_confirmation_leaves_when_the_first_heartbeats_were_late() {
    let hasty = Settings {
        rto: 3,
        hb: 16,
        misc: 1,
        ..Settings::default()
    };
    for pf in 0..4 {
        let outcome = twice(&Program {
            paths: vec![path(51)],
            settings: two(
                Settings {
                    pf,
                    ..hasty.clone()
                },
                Settings::default(),
            ),
            steps: vec![step(0, 0, send(0, 1, 1))],
            ..Program::default()
        });
        assert_eq!(outcome.failures, [""; 0]);
    }
}

// The sender has room for one path, which dies. The peer is heard on another one, which takes
// its place.
#[test]
fn a_source_takes_the_place_of_the_only_path_when_that_fails() {
    let one_path = Settings {
        streams: 18,
        ..Settings::default()
    };
    let peer = Settings {
        pf: 4,
        sack: 32,
        streams: 40,
        pmr: 3,
        ..Settings::default()
    };
    let outcome = twice(&Program {
        seed: 71,
        paths: vec![
            PathPlan {
                outages: vec![(5, 29, 0), (34, 0, 2)],
                ..path(4)
            },
            path(0),
        ],
        settings: two(one_path, peer),
        steps: vec![step(496, 0, send(0, 1, 1)), step(0, 0, send(0, 1, 1))],
        ..Program::default()
    });
    assert_eq!(
        (outcome.missing, outcome.failures),
        (0, Vec::<String>::new())
    );
}

// After a restart data waits until a path is confirmed, which never happens. No T3-rtx
// runs then, so the heartbeats must count their errors.
#[test]
fn heartbeats_count_errors_while_nothing_is_outstanding() {
    let a = Settings {
        pf: 2,
        streams: 2,
        misc: 13,
        pmr: 2,
        byway: 8,
        ..Settings::default()
    };
    let waits = [112, 120, 2268, 193, 187, 149, 987, 161];
    let mut steps: Vec<Step> = waits
        .into_iter()
        .map(|wait| step(wait, 0, send(0, 1, 1)))
        .collect();
    steps.push(step(194, 0, Op::Restart));
    steps.extend((0..4).map(|_| step(0, 0, send(0, 1, 1))));
    let outcome = twice(&Program {
        paths: vec![PathPlan {
            outages: vec![(48, 0, 0), (0, 1, 0)],
            ..path(86)
        }],
        settings: two(a, Settings::default()),
        steps,
        ..Program::default()
    });
    assert_ne!(outcome.failures, [""; 0]);
}

#[test]
fn an_unconfirmed_path_is_probed_although_heartbeats_are_off() {
    let a = Settings {
        old: true,
        pf: 2,
        pmtu: 1,
        rto: 3,
        hb: 16,
        streams: 20,
        misc: 5,
        pmr: 2,
        ..Settings::default()
    };
    let outcome = twice(&Program {
        seed: 11,
        both_connect: true,
        paths: vec![PathPlan {
            delay_ms: 26,
            duplicate: 27,
            ..PathPlan::default()
        }],
        settings: two(a, Settings::default()),
        steps: vec![step(0, 0, send(0, 925, 2)), step(0, 0, send(0, 1, 1))],
        ..Program::default()
    });
    assert_eq!(outcome.failures, [""; 0]);
}

/// After a spurious timeout, what is in flight again had no T3-rtx.
#[test]
fn chunks_in_flight_again_after_a_spurious_timeout_have_a_timer() {
    let a = Settings {
        pf: 4,
        burst: 2,
        pmtu: 1,
        rto: 3,
        streams: 32,
        misc: 6,
        concurrent: 117,
        scheme: 4,
        of_path: 3,
        byway: 162,
        ..Settings::default()
    };
    twice(&Program {
        seed: 14,
        paths: vec![
            path(37),
            PathPlan {
                reorder: 1,
                corrupt: 11,
                ..path(0)
            },
        ],
        settings: two(a, Settings::default()),
        steps: vec![step(84, 0, send(0, 1149, 11)), step(0, 0, send(0, 1, 1))],
        ..Program::default()
    });
}

/// Four paths with round trips above RTO.Initial: each first answer came late and was thrown
/// away, and before the RTOs had grown the errors of all paths exceeded Association.Max.Retrans.
#[test]
fn late_answers_of_heartbeats_keep_an_association_with_short_timeouts() {
    let hasty = Settings {
        pf: 4,
        rto: 3,
        hb: 2,
        misc: 30,
        byway: 32,
        ..Settings::default()
    };
    let outcome = twice(&Program {
        seed: 94,
        both_connect: true,
        paths: vec![
            PathPlan {
                reorder: 8,
                duplicate: 2,
                ..path(41)
            },
            path(101),
            PathPlan {
                reorder: 4,
                duplicate: 1,
                ..path(51)
            },
            path(51),
        ],
        settings: two(hasty, Settings::default()),
        steps: vec![step(993, 0, send(0, 1, 1))],
        ..Program::default()
    });
    assert_eq!(outcome.failures, [""; 0]);
}

/// Data waits for an address to be verified, during a shutdown, and the detector's next probe is
/// all that will verify it. That is enough.
#[test]
fn a_probe_of_the_detector_verifies_an_address_that_data_waits_for() {
    let strict = Settings {
        burst: 1,
        rto: 5,
        streams: 23,
        detection: 1,
        misc: 5,
        windows: 8,
        pmr: 6,
        ..Settings::default()
    };
    let outcome = twice(&Program {
        seed: 159,
        both_connect: true,
        paths: vec![PathPlan {
            loss: 30,
            queue: 8,
            ..path(0)
        }],
        settings: two(strict, Settings::default()),
        steps: vec![
            step(0, 0, send(0, 1313, 14)),
            step(2, 1, Op::Shutdown),
            step(0, 0, send(0, 1, 1)),
        ],
        ..Program::default()
    });
    assert_eq!(outcome.missing, 0);
}

/// Path 1 had answered a heartbeat, and path 0, over which the association was set up, not yet. So its ABORT
/// was taken for that of a peer that does not know the source.
#[test]
fn a_peer_that_is_gone_before_the_first_answer_says_so_where_the_association_was_set_up() {
    let a = Settings {
        pf: 2,
        hb: 16,
        misc: 1,
        scheduler: 4,
        pmr: 2,
        estimate: 8,
        of_path: 2,
        byway: 190,
        interleaving: 2,
        ..Settings::default()
    };
    let z = Settings {
        interleaving: 3,
        ..Settings::default()
    };
    twice(&Program {
        paths: vec![path(92), path(0)],
        settings: two(a, z),
        steps: vec![
            step(145, 0, Op::Heartbeat(3)),
            step(64, 0, Op::Reading(false)),
            step(250, 1, Op::Restart),
            step(7, 0, send(1, 8, 17)),
        ],
        ..Program::default()
    });
}

/// Its peer sets up, aborts, and the ABORT is lost, but not the COOKIE ECHO before. Both sides had been told to shut
/// down by then, so the user of this side ends what comes later: without heartbeats it would be there for ever.
#[test]
fn an_association_that_begins_after_the_shutdown_is_shut_down() {
    let z = Settings {
        hb: 16,
        ..Settings::default()
    };
    let lossy = PathPlan {
        loss: 30,
        ..path(50)
    };
    twice(&Program {
        seed: 62,
        paths: vec![lossy],
        settings: two(Settings::default(), z),
        steps: vec![
            step(1000, 0, Op::Restart),
            step(120, 0, Op::Abort),
            step(0, 1, Op::Shutdown),
        ],
        ..Program::default()
    });
}

/// Z has room for one path. The first address of A fails, and Z goes on to the second.
fn on_the_second_address(outages: [(u8, u8, u8); 2], then: Vec<Step>) -> Outcome {
    let one_path = Settings {
        streams: 16,
        pmr: 1,
        ..Settings::default()
    };
    let fails = |outage| PathPlan {
        outages: vec![outage],
        ..path(10)
    };
    let mut steps = vec![step(2000, 0, send(0, 1, 1)), step(5000, 0, send(0, 1, 1))];
    steps.extend(then);
    twice(&Program {
        paths: outages.map(fails).to_vec(),
        settings: two(Settings::default(), one_path),
        steps,
        ..Program::default()
    })
}

/// A restarts, and its INIT comes from the first address, which the association of Z has no longer. So Z found the
/// association by the address that the INIT lists, answered with its Tie-Tags, and did not find it by the cookie: it
/// had two associations with one peer, and the old one never ended.
#[test]
fn a_restart_is_found_by_an_address_that_the_init_only_listed() {
    let outcome =
        on_the_second_address([(10, 100, 2), (0, 1, 0)], vec![step(8000, 0, Op::Restart)]);
    assert_eq!(outcome.failures.len(), 2, "{:?}", outcome.failures);
    assert!(outcome.failures[1].ends_with("the peer restarted"));
}

/// A aborts, and its ABORT is lost. What Z sends is answered by an ABORT with the T bit, from where a heartbeat
/// beside all paths was answered. Z took this for a source that the peer does not know, and never ended.
#[test]
fn an_abort_with_the_t_bit_ends_an_association_that_moved_to_another_address() {
    let then = vec![step(1000, 0, Op::Abort), step(5000, 1, send(0, 1, 1))];
    let outcome = on_the_second_address([(10, 0, 2), (75, 20, 0)], then);
    assert_eq!(outcome.failures.len(), 2, "{:?}", outcome.failures);
    assert!(
        outcome.failures[1].contains("no such association"),
        "{outcome:?}"
    );
}
