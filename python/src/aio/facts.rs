//! Events, paths and counters as dictionaries. The keys are the fields of the classes in
//! `byway/aio.py`. Times are seconds.

use super::errors::reason;
use byway::{AssocStats, DriverStats, Event, PathId, PathState, PathStats, PathTrouble};
use byway_core::EndpointStats;
use byway_core::api::PathEstimateStats;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::net::SocketAddr;

/// A dictionary of fields that Python has as they are.
macro_rules! fields {
    ($py:expr, $of:expr, $($name:ident)+) => {{
        let dict = PyDict::new($py);
        $(dict.set_item(stringify!($name), $of.$name)?;)+
        dict
    }};
}

/// A dictionary of names and values.
macro_rules! dict {
    ($py:expr $(, $name:ident = $value:expr)*) => {{
        let dict = PyDict::new($py);
        $(dict.set_item(stringify!($name), $value)?;)*
        dict
    }};
}

/// One path.
pub(super) fn path<'py>(py: Python<'py>, path: &PathStats) -> PyResult<Bound<'py, PyDict>> {
    let dict = fields!(py, path, primary in_use backup cwnd ssthresh flight error_count
        dead_for_data pmtu largest_pmtu packets_sent bytes_sent bytes_received data_bytes_sent
        data_bytes_retransmitted data_bytes_lost timeouts failures probes_sent probe_bytes);
    dict.set_item("id", path.path.0)?;
    dict.set_item("local", path.local.to_string())?;
    dict.set_item("remote", path.remote.to_string())?;
    dict.set_item("state", path.state.name())?;
    dict.set_item("srtt_s", path.srtt.map(|d| d.as_secs_f64()))?;
    dict.set_item("rto_s", path.rto.as_secs_f64())?;
    dict.set_item("trouble", path.trouble.map(PathTrouble::name))?;
    let estimate = path.estimate.map(|e| estimate(py, e)).transpose()?;
    dict.set_item("estimate", estimate)?;
    Ok(dict)
}

fn estimate(py: Python<'_>, estimate: PathEstimateStats) -> PyResult<Bound<'_, PyDict>> {
    let dict = fields!(py, estimate, loss samples);
    dict.set_item("rtt_s", estimate.rtt.as_secs_f64())?;
    Ok(dict)
}

/// Counters of an association.
pub(super) fn association<'py>(
    py: Python<'py>,
    stats: &AssocStats,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = fields!(py, stats, packets_sent packets_received data_chunks_sent
        data_chunks_retransmitted fast_retransmits timeouts bytes_queued bytes_acked
        bytes_delivered messages_delivered duplicates_received sacks_sent sacks_received
        failovers failovers_away spurious_failovers suspicions needless_suspicions
        reductions_undone trials trials_won
        data_packet_bytes probes_sent probes_answered probe_bytes moved_by_estimate
        dead_for_data rwnd_blocked_episodes);
    dict.set_item("rwnd_blocked_s", stats.rwnd_blocked.as_secs_f64())?;
    Ok(dict)
}

/// Counters of an endpoint.
pub(super) fn endpoint<'py>(
    py: Python<'py>,
    stats: &EndpointStats,
    driver: DriverStats,
    dropped_by_kernel: Option<u64>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = fields!(py, stats, malformed bad_checksums out_of_the_blue inits forged_cookies
        stale_cookies refused refused_of_peer refused_for_memory answers_withheld
        answers_dropped heartbeats_put_off data_shed shed);
    let sockets = fields!(py, driver, datagrams_received buffers_received datagrams_sent
        batches_sent datagrams_refused datagrams_overflowed datagrams_handed_over);
    dict.update(sockets.as_mapping())?;
    let refusals = PyDict::new(py);
    for (rule, count) in stats.refusals.iter() {
        refusals.set_item(rule.name(), count)?;
    }
    dict.set_item("refusals", refusals)?;
    dict.set_item("dropped_by_kernel", dropped_by_kernel)?;
    Ok(dict)
}

/// The name of an event's class and its fields.
pub(super) fn event<'py>(py: Python<'py>, event: &Event) -> PyResult<Bound<'py, PyAny>> {
    let (name, fields) = match event {
        Event::Up {
            accepted,
            outbound_streams,
            inbound_streams,
        } => (
            "Up",
            dict!(
                py,
                accepted = accepted,
                outbound_streams = outbound_streams,
                inbound_streams = inbound_streams
            ),
        ),
        Event::Lost {
            reason: why,
            undelivered_messages,
        } => {
            let (cause, words) = reason(why);
            let fields = dict!(
                py,
                reason = words,
                cause = cause,
                undelivered_messages = undelivered_messages
            );
            ("Lost", fields)
        }
        Event::Restarted {
            undelivered_messages,
        } => (
            "Restarted",
            dict!(py, undelivered_messages = undelivered_messages),
        ),
        Event::PeerShutdown => ("PeerShutdown", dict!(py)),
        Event::ShutdownComplete => ("ShutdownComplete", dict!(py)),
        Event::PartsGivenUp { stream, unordered } => (
            "PartsGivenUp",
            dict!(py, stream = stream, unordered = unordered),
        ),
        Event::PeerError { cause } => ("PeerError", dict!(py, cause = cause)),
        other => return path_event(py, other),
    };
    Ok(PyTuple::new(py, [name.into_pyobject(py)?.into_any(), fields.into_any()])?.into_any())
}

fn path_event<'py>(py: Python<'py>, event: &Event) -> PyResult<Bound<'py, PyAny>> {
    let at = |path: &PathId, remote: &SocketAddr| -> PyResult<Bound<'py, PyDict>> {
        Ok(dict!(py, path = path.0, remote = remote.to_string()))
    };
    let moved = |from: &PathId, to: &PathId| -> PyResult<Bound<'py, PyDict>> {
        Ok(dict!(py, old = from.0, new = to.0))
    };
    let state = |fields: &Bound<'py, PyDict>, name: &str, state: &PathState| {
        fields.set_item(name, state.name())
    };
    let (name, fields) = match event {
        Event::PathAdded {
            path,
            remote,
            state: now,
        } => {
            let fields = at(path, remote)?;
            state(&fields, "state", now)?;
            ("PathAdded", fields)
        }
        Event::PathChanged {
            path,
            remote,
            from,
            to,
        } => {
            let fields = at(path, remote)?;
            state(&fields, "old", from)?;
            state(&fields, "new", to)?;
            ("PathChanged", fields)
        }
        Event::PathMoved { path, remote } => ("PathMoved", at(path, remote)?),
        Event::PathRemoved { path, remote } => ("PathRemoved", at(path, remote)?),
        Event::AddressChanged { what } => ("AddressChanged", dict!(py, what = what.to_string())),
        Event::AddressChangeRefused { what, cause } => {
            let fields = dict!(py, what = what.to_string(), cause = cause);
            ("AddressChangeRefused", fields)
        }
        Event::PathDeadForData { path, remote } => ("PathDeadForData", at(path, remote)?),
        Event::DataPathChanged { from, to } => ("DataPathChanged", moved(from, to)?),
        Event::PrimaryChanged { from, to } => ("PrimaryChanged", moved(from, to)?),
        other => ("Other", dict!(py, text = format!("{other:?}"))),
    };
    Ok(PyTuple::new(py, [name.into_pyobject(py)?.into_any(), fields.into_any()])?.into_any())
}
