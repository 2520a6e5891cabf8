//! A made-up comparison for tests of tables, pictures and reports.

use crate::result::{
    Comparison, Detection, EventInfo, Outcome, PathCondition, PathInfo, PathSeries, PathTotals,
    RunResult, SCHEMA, ScenarioInfo, Series, Stall,
};

const MS: u64 = 1_000_000;

/// Three policies: one recovers, one is slow, one is lost.
pub(crate) fn comparison() -> Comparison {
    let path = |name: &str| PathInfo {
        name: name.to_owned(),
        rate_bit_s: 10_000_000,
        words: "10 Mbit/s, 45 ms one way".to_owned(),
    };
    Comparison {
        schema: SCHEMA,
        scenario: ScenarioInfo {
            name: "made up".to_owned(),
            description: "A file over two paths; the primary dies after 2 s.".to_owned(),
            seed: 1,
            limit_s: 60.0,
            traffic: "8 MiB in messages of 1452 B".to_owned(),
            paths: vec![path("primary"), path("alternate")],
            events: vec![EventInfo {
                at_s: 2.0,
                path: 0,
                words: "fails".to_owned(),
                failure: true,
            }],
        },
        results: vec![
            run("RFC 9260", 1_050, None, Outcome::Complete),
            run(
                "PMR 5 without potentially failed",
                31_000,
                Some(31_000),
                Outcome::Complete,
            ),
            run(
                "</script><b>lost</b>",
                4_000,
                Some(4_000),
                Outcome::Lost {
                    reason: "the peer aborted".to_owned(),
                },
            ),
        ],
    }
}

/// What the pictures of such a run show.
fn series(stall_ms: u64, inactive_ms: Option<u64>, end: u64) -> Series {
    let mut series = Series {
        paths: vec![PathSeries::default(); 2],
        ..Series::default()
    };
    for ms in (0..2_000)
        .step_by(2)
        .chain((2_000 + stall_ms..end).step_by(2))
    {
        let (path, seq) = if ms < 2_000 {
            (0, ms)
        } else {
            (1, ms - stall_ms)
        };
        series.received.push(
            ms * MS,
            if ms % 200 == 120 {
                seq as f64 - 60.0
            } else {
                seq as f64
            },
        );
        series.paths[path].sent.add(ms * MS, 1_800);
        series.paths[path]
            .cwnd
            .push(ms * MS, 4_380.0 + (seq % 1_500) as f64 * 40.0);
    }
    series.paths[0].states = vec![
        (0, PathCondition::Active),
        (3_000 * MS, PathCondition::PotentiallyFailed),
    ];
    series.paths[0]
        .states
        .extend(inactive_ms.map(|ms| ((2_000 + ms) * MS, PathCondition::Inactive)));
    series.paths[1].states = vec![
        (0, PathCondition::Unconfirmed),
        (95 * MS, PathCondition::Active),
    ];
    for path in &mut series.paths {
        path.rto.push(0, 1.0);
    }
    for (i, at) in [3_000, 5_000, 9_000, 17_000]
        .into_iter()
        .take_while(|at| *at < 2_000 + stall_ms + 100)
        .enumerate()
    {
        series.paths[0].timeouts.push(at * MS);
        series.paths[0].rto.push(at * MS, f64::from(2 << i));
    }
    series
}

fn run(policy: &str, stall_ms: u64, inactive_ms: Option<u64>, outcome: Outcome) -> RunResult {
    let done = outcome == Outcome::Complete;
    let end = if done {
        2_000 + stall_ms + 6_000
    } else {
        2_000 + stall_ms + 500
    };
    let series = series(stall_ms, inactive_ms, end);
    let totals = |name: &str, bytes| PathTotals {
        name: name.to_owned(),
        packets: bytes / 1_480,
        bytes,
        ..PathTotals::default()
    };
    RunResult {
        policy: policy.to_owned(),
        note: "made up for a test".to_owned(),
        transfer_s: done.then_some(end as f64 / 1e3),
        delivered_s: done.then_some(end as f64 / 1e3 - 0.045),
        delivered_bytes: if done { 8 << 20 } else { 3_000_000 },
        outcome,
        stall: Some(Stall {
            from_s: 2.0,
            length_s: stall_ms as f64 / 1e3,
        }),
        detections: vec![Detection {
            at_s: 2.0,
            path: 0,
            suspect_after_s: Some(1.0),
            inactive_after_s: inactive_ms.map(|ms| ms as f64 / 1e3),
        }],
        paths: vec![totals("primary", 2_123_000), totals("alternate", 6_540_000)],
        retransmissions: 38,
        fast_retransmits: 2,
        timeouts: series.paths[0].timeouts.len() as u64,
        failovers: 1,
        failovers_away: 1,
        spurious_failovers: 0,
        spurious_failovers_known: 0,
        duplicates: 0,
        rwnd_blocked_s: 0.0,
        rwnd_blocked_episodes: 0,
        end_s: end as f64 / 1e3,
        measures: crate::measures::Measures::default(),
        digest: "0123456789abcdef".to_owned(),
        series,
    }
}
