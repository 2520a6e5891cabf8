//! Why a path is in doubt, as users are told ([`PathTrouble`]), and what is counted of it.

use crate::common::{A, Pair, Z, address, plain};
use byway_core::policy::ProbeTimeout;
use byway_core::{Config, PathState, PathStats, PathTrouble, SendFailure};

fn with_heartbeats() -> Config {
    let mut c = plain();
    c.hb.enabled = true;
    c
}

/// Two paths whose round trips are known, with nothing in flight.
fn measured(c: &Config) -> Pair {
    let mut p = Pair::up(2, c);
    for _ in 0..10 {
        p.send_many(A, 40, 1);
        p.run(300);
    }
    let PathStats {
        trouble,
        failures,
        data_bytes_lost,
        ..
    } = p.path(A, 0);
    assert_eq!((trouble, failures, data_bytes_lost), (None, 0, 0));
    p
}

/// The first path has failed once, for this; it works again after a time.
fn failed_and_returns(mut p: Pair, trouble: PathTrouble, lost: u64) {
    let told = p.path(A, 0);
    assert_ne!(told.state, PathState::Active, "{trouble}");
    assert_eq!(told.trouble, Some(trouble));
    assert_eq!(
        (told.failures, told.data_bytes_lost),
        (1, lost),
        "{trouble}"
    );
    let other = p.path(A, 1);
    assert_eq!((other.trouble, other.failures), (None, 0), "{trouble}");
    p.heal();
    p.run(120_000);
    let told = p.path(A, 0);
    assert_eq!((told.state, told.trouble), (PathState::Active, None));
    assert_eq!(
        (told.failures, told.data_bytes_lost),
        (1, lost),
        "{trouble}"
    );
}

#[test]
fn a_timeout_of_data() {
    let mut p = measured(&with_heartbeats());
    p.cut(&[0]);
    p.send_many(A, 100, 1);
    p.run(1100);
    failed_and_returns(p, PathTrouble::T3Rtx, 100);
}

#[test]
fn an_acknowledgement_that_is_overdue() {
    let mut c = with_heartbeats();
    c.failover.probe_timeout = Some(ProbeTimeout::default());
    let mut p = measured(&c);
    p.cut(&[0]);
    p.send_many(A, 100, 1);
    p.run(200);
    failed_and_returns(p, PathTrouble::Overdue, 100);
}

#[test]
fn a_heartbeat_that_is_not_answered() {
    let mut p = measured(&with_heartbeats());
    p.cut(&[0]);
    p.run(40_000);
    failed_and_returns(p, PathTrouble::HeartbeatLost, 0);
}

#[test]
fn an_address_to_which_there_is_no_way() {
    let mut p = measured(&with_heartbeats());
    p.cut(&[0]);
    let seen = p.sent.len();
    p.send_many(A, 100, 1);
    let refused = p.sent[seen].bytes.clone();
    p.with(A, |now, e, _| {
        e.send_failed(now, address(0, Z), &refused, SendFailure::Unreachable);
    });
    p.run(10);
    failed_and_returns(p, PathTrouble::Unreachable, 100);
}

/// Large packets are lost. The path fails with each timeout, and returns with each heartbeat that is
/// answered, until it is known that it takes no data.
#[test]
fn a_path_that_answers_and_acknowledges_no_data() {
    let mut p = Pair::up(2, &with_heartbeats());
    p.lose(|q| q.path == 0 && q.bytes.len() > 1000);
    for _ in 0..4 {
        p.send_many(A, 1400, 1);
        p.run(1500);
    }
    let told = p.path(A, 0);
    assert_eq!(told.state, PathState::Inactive);
    assert!(told.dead_for_data);
    assert_eq!((told.failures, told.data_bytes_lost), (3, 3 * 1400));
}
