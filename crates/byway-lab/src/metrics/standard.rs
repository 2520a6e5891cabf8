//! The metrics of byway. Times are seconds, losses shares, paths and TSNs are
//! counted from 1.

use super::metric::Metric;
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
    let mut all = whole_run();
    all.extend(first_failure());
    all.extend(chunks_and_timers());
    all.extend(failures());
    all.extend(paths());
    all.extend(at_times());
    all
}

fn real(
    name: &str,
    unit: &str,
    about: &str,
    of: impl Fn(&RunResult) -> Option<f64> + Send + Sync + 'static,
) -> Metric {
    Metric::new(name, unit, of).about(about)
}

fn count(
    name: &str,
    about: &str,
    of: impl Fn(&RunResult) -> Option<u64> + Send + Sync + 'static,
) -> Metric {
    // Counts of a run are far below 2^53.
    let of = move |run: &RunResult| of(run).map(|n| n as f64);
    Metric::new(name, "", of).about(about).count()
}

/// What each results file has, in this order.
fn whole_run() -> Vec<Metric> {
    vec![
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
        real("end_s", "s", "when the run ended, since its start", |r| {
            Some(r.end_s)
        }),
    ]
}

/// How the first scripted failure was noticed.
fn first_failure() -> Vec<Metric> {
    let all = vec![
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
    all.into_iter().map(Metric::on_request).collect()
}

fn chunks_and_timers() -> Vec<Metric> {
    let all = vec![
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
        count("failures", "times that any path became inactive", |r| {
            Some(r.measures.paths.iter().map(|p| p.failures).sum())
        }),
        count("primary_changes", "times that the primary changed", |r| {
            Some(r.measures.primary_changes)
        }),
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
        Metric::family("timeouts_#", "", |r, n| {
            let period = PERIODS_S.iter().position(|p| f64::from(*p) == n[0])?;
            Some(r.measures.data_timeouts[period] as f64)
        })
        .count()
        .about("T3-rtx expirations of # s (1, 2, 4, 8; 16 or longer) on active paths"),
    ];
    all.into_iter().map(Metric::on_request).collect()
}

/// The place of what is counted from 1.
fn place(number: f64) -> Option<usize> {
    (number.fract() == 0.0 && number >= 1.0).then(|| number as usize - 1)
}

fn failures() -> Vec<Metric> {
    let family = |name, about: &str, of: fn(&crate::result::Detection) -> Option<f64>| {
        Metric::family(name, "s", move |r, n| of(r.detections.get(place(n[0])?)?)).about(about)
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

fn paths() -> Vec<Metric> {
    let total = |name, about: &str, of: fn(&PathTotals) -> u64| {
        let of = move |r: &RunResult, n: &[f64]| Some(of(r.paths.get(place(n[0])?)?) as f64);
        Metric::family(name, "", of).count().about(about)
    };
    let measure = |name, unit, about: &str, of: fn(&PathMeasures) -> f64| {
        let of = move |r: &RunResult, n: &[f64]| Some(of(r.measures.paths.get(place(n[0])?)?));
        Metric::family(name, unit, of).about(about)
    };
    vec![
        total(
            "path#_packets",
            "SCTP packets that the sender sent on path #",
            |p| p.packets,
        ),
        total(
            "path#_bytes",
            "bytes of these packets, SCTP headers included, on path #",
            |p| p.bytes,
        ),
        total(
            "path#_data_bytes",
            "payload bytes sent for the first time on path #",
            |p| p.data_bytes,
        ),
        total(
            "path#_retransmitted_bytes",
            "payload bytes retransmitted on path #",
            |p| p.retransmitted_bytes,
        ),
        total(
            "path#_retransmissions",
            "DATA chunks retransmitted on path #",
            |p| p.retransmissions,
        ),
        total("path#_timeouts", "T3-rtx expirations of path #", |p| {
            p.timeouts
        }),
        total("path#_heartbeats", "heartbeats sent on path #", |p| {
            p.heartbeats
        }),
        measure(
            "path#_failures",
            "",
            "times that path # became inactive",
            |p| p.failures as f64,
        )
        .count(),
        measure(
            "path#_rto_s",
            "s",
            "mean RTO of path # from the first DATA to the last SACK",
            |p| p.mean_rto_s,
        ),
        measure(
            "path#_rto_raised",
            "",
            "times that back-off raised the RTO of path #",
            |p| p.rto_raised as f64,
        )
        .count(),
        measure(
            "path#_rto_lowered",
            "",
            "times that a sample lowered the RTO of path #",
            |p| p.rto_lowered as f64,
        )
        .count(),
        measure(
            "path#_loss",
            "share",
            "packets of both ends that were lost on path #",
            |p| p.loss,
        ),
        measure(
            "path#_forward_loss",
            "share",
            "packets of the sender that were lost on path #",
            |p| p.forward_loss,
        ),
        Metric::family("path#_chunks", "", |r, n| {
            let p = r.paths.get(place(n[0])?)?;
            let chunk = r.delivered_bytes as f64 / r.measures.originals.max(1) as f64;
            Some((p.data_bytes as f64 / chunk).round() + p.retransmissions as f64)
        })
        .about("DATA chunks sent on path #, those of average size"),
    ]
}

fn at_times() -> Vec<Metric> {
    let nanos = |seconds: f64| (seconds * 1e9) as u64;
    vec![
        Metric::family("done@#", "share", move |r, n| {
            let done = r.measures.acked.between(0, nanos(n[0]));
            Some(done / (r.measures.originals.max(1)) as f64)
        })
        .about("of the file, acknowledged # s after the start"),
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
