//! The metrics of byway. Times are seconds, losses shares, paths and TSNs are
//! counted from 1.

use super::metric::{Counts, Metric};
use crate::measures::{PERIODS_S, PathMeasures};
use crate::result::{PathTotals, RunResult};

/// Families that a results file has for each path.
pub(super) const PATH_COLUMNS: &[&str] = &[
    "path#_packets",
    "path#_bytes",
    "path#_data_bytes",
    "path#_retransmitted_bytes",
    "path#_retransmissions",
    "path#_timeouts",
    "path#_heartbeats",
];
/// Families that a results file has for each scripted failure.
pub(super) const FAILURE_COLUMNS: &[&str] = &["failure#_suspect_s", "failure#_inactive_s"];

pub(super) fn all() -> Vec<Metric> {
    let always = [DELIVERY, REPAIR, RECEIVE_WINDOW, END];
    let on_request = [FIRST_FAILURE, FIRST_FAILURE_DATA, TRANSFER, CHANGES, CHUNKS];
    let mut all: Vec<Metric> = always.concat().iter().map(Row::metric).collect();
    let others = on_request.concat();
    all.extend(others.iter().map(|row| row.metric().on_request()));
    all.push(timeouts());
    all.extend(failures());
    all.extend(PATH.iter().map(PathRow::metric));
    all.push(path_chunks());
    all.extend(at_times());
    all
}

/// A metric of a run, as the tables list it.
#[derive(Copy, Clone)]
struct Row {
    name: &'static str,
    unit: &'static str,
    about: &'static str,
    of: Of,
}

/// How a metric is taken from a run.
#[derive(Copy, Clone)]
enum Of {
    Real(fn(&RunResult) -> Option<f64>),
    Count(fn(&RunResult) -> Option<u64>),
}

const fn real(
    name: &'static str,
    unit: &'static str,
    about: &'static str,
    of: fn(&RunResult) -> Option<f64>,
) -> Row {
    let of = Of::Real(of);
    Row {
        name,
        unit,
        about,
        of,
    }
}

const fn count(name: &'static str, about: &'static str, of: fn(&RunResult) -> Option<u64>) -> Row {
    let of = Of::Count(of);
    Row {
        name,
        unit: "",
        about,
        of,
    }
}

impl Row {
    fn metric(&self) -> Metric {
        let metric = match self.of {
            Of::Real(of) => Metric::new(self.name, self.unit, of),
            // Counts of a run are far below 2^53.
            Of::Count(of) => {
                Metric::new(self.name, self.unit, move |r| of(r).map(|n| n as f64)).count()
            }
        };
        metric.about(self.about)
    }
}

// Every results file has the metrics of the next four tables, in this order.

/// Delivery and pauses.
const DELIVERY: &[Row] = &[
    real(
        "transfer_s",
        "s",
        "from the first DATA to the SACK that covers the last, at the sender",
        |r| r.transfer_s,
    ),
    real(
        "delivered_s",
        "s",
        "from the first DATA to the delivery of the last byte",
        |r| r.delivered_s,
    ),
    count(
        "delivered_bytes",
        "payload bytes delivered to the reader",
        |r| Some(r.delivered_bytes),
    ),
    real(
        "stall_s",
        "s",
        "longest time in which nothing was delivered",
        |r| r.stall.map(|s| s.length_s),
    ),
    real(
        "stall_from_s",
        "s",
        "when that time began, since the start",
        |r| r.stall.map(|s| s.from_s),
    ),
];

/// Retransmissions and failovers.
const REPAIR: &[Row] = &[
    count("retransmissions", "DATA chunks retransmitted", |r| {
        Some(r.retransmissions)
    }),
    count("fast_retransmits", "of these, by fast retransmit", |r| {
        Some(r.fast_retransmits)
    }),
    count("timeouts", "T3-rtx expirations", |r| Some(r.timeouts)),
    count(
        "failovers",
        "times that new data moved to another path",
        |r| Some(r.failovers),
    ),
    count(
        "spurious_retransmissions",
        "DATA chunks that the receiver had already",
        |r| Some(r.duplicates),
    ),
    count(
        "spurious_failovers",
        "failovers from a path that then answered at once",
        |r| Some(r.spurious_failovers),
    ),
];

/// Waiting for the peer's receive window.
const RECEIVE_WINDOW: &[Row] = &[
    real(
        "rwnd_blocked_s",
        "s",
        "time in which data waited for the peer's window alone",
        |r| Some(r.rwnd_blocked_s),
    ),
    count(
        "rwnd_blocked_episodes",
        "times that data began to wait for it",
        |r| Some(r.rwnd_blocked_episodes),
    ),
];

/// The end of the run.
const END: &[Row] = &[real(
    "end_s",
    "s",
    "when the run ended, since its start",
    |r| Some(r.end_s),
)];

// Results files have the metrics from here on only by request.

/// Detection of the first scripted failure.
const FIRST_FAILURE: &[Row] = &[
    real(
        "suspect_s",
        "s",
        "from the first failure until its path was potentially failed or inactive",
        |r| {
            let d = r.detections.first()?;
            d.suspect_after_s.or(d.inactive_after_s)
        },
    ),
    real(
        "detected_at_s",
        "s",
        "when the path of the first failure became inactive, since the start",
        |r| {
            let d = r.detections.first()?;
            Some(d.at_s + d.inactive_after_s?)
        },
    ),
    real(
        "in_doubt_s",
        "s",
        "from the first error after the first failure until its path was inactive",
        |r| {
            let d = r.detections.first()?;
            let error = r.measures.errors_after_failure_s.first()?;
            Some(d.at_s + d.inactive_after_s? - error)
        },
    ),
    real(
        "error1_at_s",
        "s",
        "when the first error on the failed path was counted, since the start",
        |r| r.measures.errors_after_failure_s.first().copied(),
    ),
    real(
        "error3_at_s",
        "s",
        "when the third error on the failed path was counted, since the start",
        |r| r.measures.errors_after_failure_s.get(2).copied(),
    ),
    count(
        "timeouts_in_doubt",
        "T3-rtx expirations of the failed path until it was inactive",
        |r| Some(r.measures.timeouts_in_doubt),
    ),
    count(
        "heartbeats_in_doubt",
        "heartbeats sent to the failed path until it was inactive",
        |r| Some(r.measures.heartbeats_in_doubt),
    ),
];

/// What the first failure did to the data in flight.
const FIRST_FAILURE_DATA: &[Row] = &[
    count(
        "caught",
        "DATA chunks that were in flight at the first failure and did not arrive",
        |r| Some(r.measures.caught_by_failure),
    ),
    real(
        "recovered_s",
        "s",
        "from the first failure until all of these had arrived",
        |r| r.measures.caught_recovered_s,
    ),
];

/// Begin and end of the transfer.
const TRANSFER: &[Row] = &[
    real(
        "finished",
        "",
        "1 if the transfer was completed, else 0",
        |r| Some(f64::from(u8::from(r.transfer_s.is_some()))),
    ),
    real(
        "start_s",
        "s",
        "when the first DATA left, since the start",
        |r| r.measures.first_data_s,
    ),
    real(
        "done_at_s",
        "s",
        "when the last DATA was acknowledged, since the start",
        |r| Some(r.measures.first_data_s? + r.transfer_s?),
    ),
];

/// Changes of path states and of the primary.
const CHANGES: &[Row] = &[
    count("failures", "times that any path became inactive", |r| {
        Some(r.measures.paths.iter().map(|p| p.failures).sum())
    }),
    count("primary_changes", "times that the primary changed", |r| {
        Some(r.measures.primary_changes)
    }),
];

/// DATA chunks, by how often they were sent.
const CHUNKS: &[Row] = &[
    count("originals", "DATA chunks sent for the first time", |r| {
        Some(r.measures.originals)
    }),
    count("sent_again", "DATA chunks sent at least twice", |r| {
        Some(r.measures.sent_again)
    }),
    count(
        "sent_thrice",
        "DATA chunks sent at least three times",
        |r| Some(r.measures.sent_thrice),
    ),
];

fn timeouts() -> Metric {
    Metric::family("timeouts_#", "", |r, n| {
        let period = PERIODS_S.iter().position(|p| f64::from(*p) == n[0])?;
        Some(r.measures.data_timeouts[period] as f64)
    })
    .count()
    .about("T3-rtx expirations of # s (1, 2, 4, 8; 16 or longer) on active paths")
}

/// The place of what is counted from 1.
fn place(number: f64) -> Option<usize> {
    (number.fract() == 0.0 && number >= 1.0).then(|| number as usize - 1)
}

fn failures() -> Vec<Metric> {
    let family = |name, about: &str, of: fn(&crate::result::Detection) -> Option<f64>| {
        Metric::family(name, "s", move |r, n| of(r.detections.get(place(n[0])?)?))
            .about(about)
            .counting(Counts::Failures)
    };
    vec![
        family(
            "failure#_suspect_s",
            "from failure # until the sender's path was potentially failed",
            |d| d.suspect_after_s,
        ),
        family(
            "failure#_inactive_s",
            "from failure # until the sender's path was inactive",
            |d| d.inactive_after_s,
        ),
    ]
}

/// A metric of each path, as [`PATH`] lists it.
struct PathRow {
    name: &'static str,
    unit: &'static str,
    about: &'static str,
    of: OfPath,
}

/// How a metric is taken from a path.
#[derive(Copy, Clone)]
enum OfPath {
    Total(fn(&PathTotals) -> u64),
    Count(fn(&PathMeasures) -> u64),
    Real(fn(&PathMeasures) -> f64),
}

const fn path_row(
    name: &'static str,
    unit: &'static str,
    about: &'static str,
    of: OfPath,
) -> PathRow {
    PathRow {
        name,
        unit,
        about,
        of,
    }
}

const fn path_total(
    name: &'static str,
    about: &'static str,
    of: fn(&PathTotals) -> u64,
) -> PathRow {
    path_row(name, "", about, OfPath::Total(of))
}

const fn path_count(
    name: &'static str,
    about: &'static str,
    of: fn(&PathMeasures) -> u64,
) -> PathRow {
    path_row(name, "", about, OfPath::Count(of))
}

const fn path_real(
    name: &'static str,
    unit: &'static str,
    about: &'static str,
    of: fn(&PathMeasures) -> f64,
) -> PathRow {
    path_row(name, unit, about, OfPath::Real(of))
}

impl PathRow {
    fn metric(&self) -> Metric {
        let of = self.of;
        let value = move |r: &RunResult, n: &[f64]| {
            let at = place(n[0])?;
            let (totals, measures) = (r.paths.get(at), r.measures.paths.get(at));
            Some(match of {
                OfPath::Total(of) => of(totals?) as f64,
                OfPath::Count(of) => of(measures?) as f64,
                OfPath::Real(of) => of(measures?),
            })
        };
        let metric = Metric::family(self.name, self.unit, value)
            .about(self.about)
            .counting(Counts::Paths);
        match of {
            OfPath::Total(_) | OfPath::Count(_) => metric.count(),
            OfPath::Real(_) => metric,
        }
    }
}

/// Traffic, states, RTO and loss of each path.
const PATH: &[PathRow] = &[
    path_total(
        "path#_packets",
        "SCTP packets that the sender sent on path #",
        |p| p.packets,
    ),
    path_total(
        "path#_bytes",
        "bytes of these packets, SCTP headers included, on path #",
        |p| p.bytes,
    ),
    path_total(
        "path#_data_bytes",
        "payload bytes sent for the first time on path #",
        |p| p.data_bytes,
    ),
    path_total(
        "path#_retransmitted_bytes",
        "payload bytes retransmitted on path #",
        |p| p.retransmitted_bytes,
    ),
    path_total(
        "path#_retransmissions",
        "DATA chunks retransmitted on path #",
        |p| p.retransmissions,
    ),
    path_total("path#_timeouts", "T3-rtx expirations of path #", |p| {
        p.timeouts
    }),
    path_total("path#_heartbeats", "heartbeats sent on path #", |p| {
        p.heartbeats
    }),
    path_count("path#_failures", "times that path # became inactive", |p| {
        p.failures
    }),
    path_real(
        "path#_rto_s",
        "s",
        "mean RTO of path # from the first DATA to the last SACK",
        |p| p.mean_rto_s,
    ),
    path_count(
        "path#_rto_raised",
        "times that back-off raised the RTO of path #",
        |p| p.rto_raised,
    ),
    path_count(
        "path#_rto_lowered",
        "times that a sample lowered the RTO of path #",
        |p| p.rto_lowered,
    ),
    path_real(
        "path#_loss",
        "share",
        "packets of both ends that were lost on path #",
        |p| p.loss,
    ),
    path_real(
        "path#_forward_loss",
        "share",
        "packets of the sender that were lost on path #",
        |p| p.forward_loss,
    ),
];

fn path_chunks() -> Metric {
    Metric::family("path#_chunks", "", |r, n| {
        let p = r.paths.get(place(n[0])?)?;
        let chunk = r.delivered_bytes as f64 / r.measures.originals.max(1) as f64;
        Some((p.data_bytes as f64 / chunk).round() + p.retransmissions as f64)
    })
    .about("DATA chunks sent on path #, those of average size")
    .counting(Counts::Paths)
}

fn at_times() -> Vec<Metric> {
    let nanos = |seconds: f64| (seconds * 1e9) as u64;
    vec![
        Metric::family("done@#", "share", move |r, n| {
            let done = r.measures.acked.between(0, nanos(n[0]));
            Some(done / (r.measures.originals.max(1)) as f64)
        })
        .about("of the file, acknowledged # s after the start"),
        Metric::family("acked@#", "", move |r, n| {
            Some(r.measures.acked.between(0, nanos(n[0])).round())
        })
        .about("DATA chunks acknowledged # s after the start"),
        Metric::family("rate@#-#", "kB/s", move |r, n| {
            let (from, to) = (nanos(n[0]), nanos(n[1]));
            let bytes = r.delivered_bytes as f64 / r.measures.originals.max(1) as f64;
            let acked = r.measures.acked.between(from, to);
            let time = to.checked_sub(from).filter(|time| *time > 0)?;
            Some(acked * bytes / 1e3 / (time as f64 / 1e9))
        })
        .about("acknowledged on average from # s to # s after the start"),
        Metric::family("path@#", "", |r, n| {
            let chunk = r.measures.first_chunks.get(place(n[0])?)?;
            Some(f64::from(chunk.first) + 1.0)
        })
        .about("the path that TSN # took first"),
        Metric::family("again@#", "", |r, n| {
            let chunk = r.measures.first_chunks.get(place(n[0])?)?;
            Some(f64::from(chunk.last) + 1.0)
        })
        .about("the path that TSN # took last"),
        Metric::family("sent@#", "s", |r, n| {
            let chunk = r.measures.first_chunks.get(place(n[0])?)?;
            Some(chunk.at as f64 / 1e9 - r.measures.first_data_s?)
        })
        .about("when TSN # first left, after the first DATA"),
    ]
}
