//! The measures that claims and figures name, taken from a run.

use super::sample::Kind;
use byway_lab::result::RunResult;

/// The value of a measure in a run; none when the run does not have it, such as
/// the transfer time of one that never ended. A name that is not known has no
/// value anywhere, which a test rules out.
///
/// Times are seconds, losses shares. `done@T` is the share of the file that was
/// acknowledged T seconds after the start, `path@N` and `again@N` the path, counted
/// from 1, that TSN N (counted from 1) took first and last, `sent@N` when it first
/// left, seconds after the first of all, `rate@A-B` the kilobytes a second
/// acknowledged between two times.
#[must_use]
pub fn measure(run: &RunResult, name: &str) -> Option<f64> {
    let m = &run.measures;
    let path = |i: usize| m.paths.get(i);
    let count = |n: u64| Some(n as f64);
    match name {
        "transfer_s" => run.transfer_s,
        "suspect_s" => {
            let d = run.detections.first()?;
            d.suspect_after_s.or(d.inactive_after_s)
        }
        "detect_s" => run.detections.first()?.inactive_after_s,
        "detected_at_s" => {
            let d = run.detections.first()?;
            Some(d.at_s + d.inactive_after_s?)
        }
        "in_doubt_s" => {
            let d = run.detections.first()?;
            Some(d.at_s + d.inactive_after_s? - m.errors_after_failure_s.first()?)
        }
        "done_at_s" => Some(m.first_data_s? + run.transfer_s?),
        "error1_at_s" => m.errors_after_failure_s.first().copied(),
        "error3_at_s" => m.errors_after_failure_s.get(2).copied(),
        "timeouts_in_doubt" => count(m.timeouts_in_doubt),
        "heartbeats_in_doubt" => count(m.heartbeats_in_doubt),
        "finished" => Some(f64::from(u8::from(run.transfer_s.is_some()))),
        "stall_s" => Some(run.stall?.length_s),
        "timeouts" => count(run.timeouts),
        "timeouts_1" => count(m.data_timeouts[0]),
        "timeouts_2" => count(m.data_timeouts[1]),
        "timeouts_4" => count(m.data_timeouts[2]),
        "timeouts_8" => count(m.data_timeouts[3]),
        "timeouts_16" => count(m.data_timeouts[4]),
        "moves" => count(run.failovers),
        "failovers" => count(path(0)?.failures),
        "failures" => count(m.paths.iter().map(|p| p.failures).sum()),
        "failovers2" => count(path(1)?.failures),
        "primary_changes" => count(m.primary_changes),
        "rto1_s" => Some(path(0)?.mean_rto_s),
        "rto2_s" => Some(path(1)?.mean_rto_s),
        "rto2_raised" => count(path(1)?.rto_raised),
        "rto2_lowered" => count(path(1)?.rto_lowered),
        "loss1" => Some(path(0)?.loss),
        "loss2" => Some(path(1)?.loss),
        "forward_loss1" => Some(path(0)?.forward_loss),
        "forward_loss2" => Some(path(1)?.forward_loss),
        "start_s" => m.first_data_s,
        "data2" => {
            let p = run.paths.get(1)?;
            let chunk = run.delivered_bytes as f64 / m.originals.max(1) as f64;
            Some((p.data_bytes as f64 / chunk).round() + p.retransmissions as f64)
        }
        "originals" => count(m.originals),
        "sent_again" => count(m.sent_again),
        "sent_thrice" => count(m.sent_thrice),
        "caught" => count(m.caught_by_failure),
        "recovered_s" => m.caught_recovered_s,
        _ => at_times(run, name),
    }
}

/// Whether a measure counts events, of which few may come in many runs.
#[must_use]
pub fn kind(name: &str) -> Kind {
    match name {
        "timeouts"
        | "timeouts_1"
        | "timeouts_2"
        | "timeouts_4"
        | "timeouts_8"
        | "timeouts_16"
        | "timeouts_in_doubt"
        | "heartbeats_in_doubt"
        | "moves"
        | "failovers"
        | "failures"
        | "failovers2"
        | "primary_changes"
        | "rto2_raised"
        | "rto2_lowered"
        | "sent_again"
        | "sent_thrice"
        | "caught" => Kind::Count,
        _ => Kind::Quantity,
    }
}

fn at_times(run: &RunResult, name: &str) -> Option<f64> {
    if let Some((what @ ("path" | "again" | "sent"), tsn)) = name.split_once('@') {
        let index = tsn.parse::<usize>().ok()?.checked_sub(1)?;
        let chunk = run.measures.first_chunks.get(index)?;
        return Some(match what {
            "path" => f64::from(chunk.first) + 1.0,
            "again" => f64::from(chunk.last) + 1.0,
            _ => chunk.at as f64 / 1e9 - run.measures.first_data_s?,
        });
    }
    let nanos = |text: &str| Some((text.parse::<f64>().ok()? * 1e9) as u64);
    let acked = &run.measures.acked;
    if let Some(time) = name.strip_prefix("done@") {
        let done = acked.between(0, nanos(time)?);
        return Some(done / (run.measures.originals.max(1)) as f64);
    }
    let (from, to) = name.strip_prefix("rate@")?.split_once('-')?;
    let (from, to) = (nanos(from)?, nanos(to)?);
    let bytes = run.delivered_bytes as f64 / run.measures.originals.max(1) as f64;
    Some(acked.between(from, to) * bytes / 1e3 / ((to - from) as f64 / 1e9))
}

/// The measure that a condition such as `failovers >= 1` is about.
#[must_use]
pub fn base(name: &str) -> &str {
    name.split_whitespace().next().unwrap_or(name)
}
