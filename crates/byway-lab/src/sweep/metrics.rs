//! What is measured of a run, by name.

use super::row::Status;
use crate::result::{Outcome, RunResult};
use serde::{Deserialize, Serialize};

/// Whether a metric is a count or a measure.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A whole number.
    Count,
    /// Any number.
    Real,
}

/// Something measured of each run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metric {
    /// Its name, such as `transfer_s`; the end says the unit.
    pub name: String,
    /// What it is, in a sentence.
    pub about: String,
    /// Whether it is whole.
    pub kind: Kind,
}

/// A metric of the run as a whole: name, kind, what it is, and where it comes from.
type Whole = (
    &'static str,
    Kind,
    &'static str,
    fn(&RunResult) -> Option<f64>,
);

const WHOLE: &[Whole] = &[
    (
        "transfer_s",
        Kind::Real,
        "from the first DATA to the SACK that covers the last, at the sender, seconds",
        |r| r.transfer_s,
    ),
    (
        "delivered_s",
        Kind::Real,
        "from the first DATA to the delivery of the last byte, seconds",
        |r| r.delivered_s,
    ),
    (
        "delivered_bytes",
        Kind::Count,
        "payload bytes delivered to the reader",
        |r| count(r.delivered_bytes),
    ),
    (
        "stall_s",
        Kind::Real,
        "longest time in which nothing was delivered, seconds",
        |r| r.stall.map(|s| s.length_s),
    ),
    (
        "stall_from_s",
        Kind::Real,
        "when that time began, seconds since the start",
        |r| r.stall.map(|s| s.from_s),
    ),
    (
        "retransmissions",
        Kind::Count,
        "DATA chunks sent again",
        |r| count(r.retransmissions),
    ),
    (
        "fast_retransmits",
        Kind::Count,
        "of these, for missing reports",
        |r| count(r.fast_retransmits),
    ),
    ("timeouts", Kind::Count, "T3-rtx expirations", |r| {
        count(r.timeouts)
    }),
    (
        "failovers",
        Kind::Count,
        "times that new data moved to another path",
        |r| count(r.failovers),
    ),
    (
        "spurious_retransmissions",
        Kind::Count,
        "DATA chunks that the receiver had already",
        |r| count(r.duplicates),
    ),
    (
        "spurious_failovers",
        Kind::Count,
        "failovers from a path that then answered at once",
        |r| count(r.spurious_failovers),
    ),
    (
        "rwnd_blocked_s",
        Kind::Real,
        "how long data waited for the peer's window alone, seconds",
        |r| Some(r.rwnd_blocked_s),
    ),
    (
        "rwnd_blocked_episodes",
        Kind::Count,
        "how often it began to wait so",
        |r| count(r.rwnd_blocked_episodes),
    ),
    (
        "end_s",
        Kind::Real,
        "when the run ended, seconds since its start",
        |r| Some(r.end_s),
    ),
];

/// A metric of one path: the end of its name, what it is, where it comes from.
type OfPath = (
    &'static str,
    &'static str,
    fn(&crate::result::PathTotals) -> u64,
);

const OF_PATH: &[OfPath] = &[
    (
        "packets",
        "SCTP packets that the sender sent on path",
        |p| p.packets,
    ),
    (
        "bytes",
        "bytes of these packets, SCTP headers included, on path",
        |p| p.bytes,
    ),
    (
        "data_bytes",
        "payload bytes sent for the first time on path",
        |p| p.data_bytes,
    ),
    (
        "retransmitted_bytes",
        "payload bytes sent again on path",
        |p| p.retransmitted_bytes,
    ),
    ("retransmissions", "DATA chunks sent again on path", |p| {
        p.retransmissions
    }),
    ("timeouts", "T3-rtx expirations of path", |p| p.timeouts),
    ("heartbeats", "heartbeats sent on path", |p| p.heartbeats),
];

fn count(n: u64) -> Option<f64> {
    // Counts of a run are far below 2^53.
    Some(n as f64)
}

/// What is measured of runs with so many paths and scripted failures.
pub(super) fn metrics(paths: usize, failures: usize) -> Vec<Metric> {
    let mut all: Vec<Metric> = WHOLE
        .iter()
        .map(|(name, kind, about, _)| Metric {
            name: (*name).to_owned(),
            about: (*about).to_owned(),
            kind: *kind,
        })
        .collect();
    for k in 1..=failures {
        for state in ["suspect", "inactive"] {
            all.push(Metric {
                name: format!("failure{k}_{state}_s"),
                about: format!("from failure {k} until the sender's path was {state}, seconds"),
                kind: Kind::Real,
            });
        }
    }
    for k in 1..=paths {
        for (name, about, _) in OF_PATH {
            all.push(Metric {
                name: format!("path{k}_{name}"),
                about: format!("{about} {k}"),
                kind: Kind::Count,
            });
        }
    }
    all
}

/// The values of [`metrics`] for a run.
pub(super) fn values(result: &RunResult, paths: usize, failures: usize) -> Vec<f64> {
    let mut all: Vec<Option<f64>> = WHOLE.iter().map(|(.., of)| of(result)).collect();
    for k in 0..failures {
        let detection = result.detections.get(k);
        all.push(detection.and_then(|d| d.suspect_after_s));
        all.push(detection.and_then(|d| d.inactive_after_s));
    }
    for k in 0..paths {
        let path = result.paths.get(k);
        all.extend(
            OF_PATH
                .iter()
                .map(|(.., of)| path.and_then(|p| count(of(p)))),
        );
    }
    all.into_iter().map(|v| v.unwrap_or(f64::NAN)).collect()
}

/// How a run ended, and why it did not end well.
pub(super) fn status(outcome: &Outcome) -> (Status, String) {
    match outcome {
        Outcome::Complete => (Status::Complete, String::new()),
        Outcome::Lost { reason } => (Status::Lost, reason.clone()),
        Outcome::OutOfTime => (
            Status::OutOfTime,
            "not finished within limit of simulated time".to_owned(),
        ),
        Outcome::OutOfEvents => (
            Status::OutOfEvents,
            "not finished within max_events of the simulator".to_owned(),
        ),
    }
}
