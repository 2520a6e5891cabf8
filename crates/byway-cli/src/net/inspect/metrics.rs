//! What a process tells of itself, in the form of OpenMetrics 1.0.

use super::process::{AssociationNow, ConnectionsNow, EndpointNow, PathNow, Process};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use std::fmt;
use std::sync::Arc;

use Value::{Count, Level, Whole};

/// The first part of all names.
const PREFIX: &str = "byway";

/// The type of the text.
pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All metrics as text.
pub(super) fn text(process: &Arc<Process>) -> Arc<str> {
    let mut registry = Registry::with_prefix(PREFIX);
    registry.register_collector(Box::new(Now(process.clone())));
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = encode(&mut text, &registry);
    text.into()
}

/// A value of a metric.
enum Value {
    /// It only grows; its name ends in `_total`.
    Count(u64),
    Level(f64),
    Whole(u64),
}

impl Value {
    fn metric_type(&self) -> MetricType {
        match self {
            Value::Count(_) => MetricType::Counter,
            Value::Level(_) | Value::Whole(_) => MetricType::Gauge,
        }
    }

    fn write(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        match self {
            Value::Count(n) => encoder.encode_counter::<NoLabelSet, u64, u64>(n, None),
            Value::Level(x) => encoder.encode_gauge(x),
            Value::Whole(n) => encoder.encode_gauge(&i64::try_from(*n).unwrap_or(i64::MAX)),
        }
    }
}

/// A metric of each `T`: its name without unit and `_total`, its unit, its help, what it is of one.
type Metric<T> = (
    &'static str,
    Option<Unit>,
    &'static str,
    fn(&T) -> Option<Value>,
);

fn of_endpoint() -> [Metric<EndpointNow>; 7] {
    let bytes = || Some(Unit::Bytes);
    [
        (
            "associations",
            None,
            "Associations that have not ended.",
            |e| Some(Whole(e.associations)),
        ),
        (
            "associations_unlisted",
            None,
            "Those of them without metrics of their own: of very many, those with most traffic have them.",
            |e| Some(Whole(e.unlisted)),
        ),
        ("memory", bytes(), "What peers make this side keep.", |e| {
            Some(Whole(e.memory_bytes))
        }),
        (
            "datagrams_received",
            None,
            "Datagrams from the kernel.",
            |e| Some(Count(e.datagrams_received)),
        ),
        (
            "datagrams_sent",
            None,
            "Datagrams passed to the kernel.",
            |e| Some(Count(e.datagrams_sent)),
        ),
        (
            "datagrams_unsent",
            None,
            "Datagrams that the kernel refused to send.",
            |e| Some(Count(e.datagrams_unsent)),
        ),
        (
            "datagrams_dropped_by_kernel",
            None,
            "Datagrams that the kernel dropped, because their socket was not read in time.",
            |e| e.dropped_by_kernel.map(Count),
        ),
    ]
}

fn of_tunnel() -> [Metric<ConnectionsNow>; 2] {
    [
        (
            "tunnel_connections",
            None,
            "TCP connections that a tunnel carries.",
            |t| Some(Whole(t.connections)),
        ),
        (
            "tunnel_connections_opened",
            None,
            "TCP connections that a tunnel carries and has carried.",
            |t| Some(Count(t.connections_opened)),
        ),
    ]
}

fn of_association() -> [Metric<AssociationNow>; 8] {
    let bytes = || Some(Unit::Bytes);
    [
        (
            "association_waiting",
            bytes(),
            "Payload that the peer has not acknowledged.",
            |a| Some(Whole(a.waiting())),
        ),
        (
            "association_queued",
            bytes(),
            "Payload given to the association.",
            |a| Some(Count(a.bytes_queued)),
        ),
        (
            "association_acked",
            bytes(),
            "Payload that the peer has acknowledged.",
            |a| Some(Count(a.bytes_acked)),
        ),
        (
            "association_delivered",
            bytes(),
            "Payload of the peer that was read.",
            |a| Some(Count(a.bytes_delivered)),
        ),
        (
            "association_retransmissions",
            None,
            "DATA chunks sent again.",
            |a| Some(Count(a.chunks_retransmitted)),
        ),
        ("association_timeouts", None, "T3-rtx expirations.", |a| {
            Some(Count(a.timeouts))
        }),
        (
            "association_moves",
            None,
            "Times that new data moved to another path.",
            |a| Some(Count(a.moves)),
        ),
        (
            "association_suspicions",
            None,
            "Times that the probe timeout doubted a path.",
            |a| Some(Count(a.suspicions)),
        ),
    ]
}

fn of_path() -> [Metric<PathNow>; 15] {
    let (bytes, seconds) = (|| Some(Unit::Bytes), || Some(Unit::Seconds));
    [
        ("path_in_use", None, "Whether new data goes there.", |p| {
            Some(Whole(p.in_use.into()))
        }),
        (
            "path_primary",
            None,
            "Whether it is the primary path.",
            |p| Some(Whole(p.primary.into())),
        ),
        (
            "path_backup",
            None,
            "Whether it carries data only while no other path is active.",
            |p| Some(Whole(p.backup.into())),
        ),
        ("path_srtt", seconds(), "Smoothed round-trip time.", |p| {
            p.srtt_s.map(Level)
        }),
        ("path_rto", seconds(), "Retransmission timeout.", |p| {
            Some(Level(p.rto_s))
        }),
        ("path_cwnd", bytes(), "Congestion window.", |p| {
            Some(Whole(p.cwnd_bytes.into()))
        }),
        (
            "path_flight",
            bytes(),
            "Chunks in flight, with their headers.",
            |p| Some(Whole(p.flight_bytes.into())),
        ),
        ("path_pmtu", bytes(), "Largest IP packet.", |p| {
            Some(Whole(p.pmtu_bytes.into()))
        }),
        (
            "path_sent",
            bytes(),
            "SCTP bytes sent, headers included.",
            |p| Some(Count(p.bytes_sent)),
        ),
        (
            "path_received",
            bytes(),
            "SCTP bytes received, headers included.",
            |p| Some(Count(p.bytes_received)),
        ),
        (
            "path_data_sent",
            bytes(),
            "Payload sent for the first time.",
            |p| Some(Count(p.data_bytes_sent)),
        ),
        (
            "path_data_retransmitted",
            bytes(),
            "Payload sent again.",
            |p| Some(Count(p.data_bytes_retransmitted)),
        ),
        (
            "path_data_lost",
            bytes(),
            "Payload that counted as lost; some of it arrived all the same.",
            |p| Some(Count(p.data_bytes_lost)),
        ),
        ("path_timeouts", None, "T3-rtx expirations.", |p| {
            Some(Count(p.timeouts))
        }),
        (
            "path_failures",
            None,
            "Times that it became potentially failed or inactive.",
            |p| Some(Count(p.failures)),
        ),
    ]
}

/// The states of a path, as [`PathNow::state`] has them.
const PATH_STATES: [byway::PathState; 4] = [
    byway::PathState::Unconfirmed,
    byway::PathState::Active,
    byway::PathState::PotentiallyFailed,
    byway::PathState::Inactive,
];

/// What the metrics are of.
#[derive(Debug)]
struct Now(Arc<Process>);

impl Collector for Now {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let process = &*self.0;
        let labels = [
            ("version", &*process.version),
            ("command", &*process.command),
        ];
        let help = "This program.";
        encoder
            .encode_descriptor("build", help, None, MetricType::Info)?
            .encode_info(&labels)?;
        of_process(&mut encoder, &of_endpoint(), process.endpoint.as_ref())?;
        of_process(&mut encoder, &of_tunnel(), process.tunnel.as_ref())?;
        refused(&mut encoder, process)?;

        let numbers: Vec<String> = process
            .associations
            .iter()
            .map(|a| a.number.to_string())
            .collect();
        let associations = || numbers.iter().map(|n| &**n).zip(&process.associations);
        let help = "The state of an association, as RFC 9260 section 4 names it: 1.";
        let mut state =
            encoder.encode_descriptor("association_state", help, None, MetricType::Gauge)?;
        for (number, association) in associations() {
            let labels = [("association", number), ("state", &*association.state)];
            state.encode_family(&labels)?.encode_gauge(&1_i64)?;
        }
        for metric in &of_association() {
            let each = associations().map(|(number, a)| ([("association", number)], a));
            write(&mut encoder, metric, each)?;
        }

        let paths: Vec<(&str, String, &PathNow)> = associations()
            .flat_map(|(n, a)| a.paths.iter().map(move |p| (n, p.path.to_string(), p)))
            .collect();
        let paths = || {
            let labels = |n, path| [("association", n), ("path", path)];
            paths
                .iter()
                .map(move |(n, path, p)| (labels(*n, &**path), *p))
        };
        let help = "The addresses of a path; its number is that of a later path once it is gone.";
        let mut info = encoder.encode_descriptor("path", help, None, MetricType::Info)?;
        for ([association, path], p) in paths() {
            let (local, remote) = (escaped(&p.local), escaped(&p.remote));
            let labels = [association, path, ("local", &*local), ("remote", &*remote)];
            info.encode_info(&labels)?;
        }
        let help = "The state of a path: 1 for the state that it has, 0 for the others.";
        let mut state = encoder.encode_descriptor("path_state", help, None, MetricType::Gauge)?;
        for ([association, path], p) in paths() {
            for one in PATH_STATES.map(byway::PathState::name) {
                let labels = [association, path, ("state", one)];
                let is = i64::from(p.state == one);
                state.encode_family(&labels)?.encode_gauge(&is)?;
            }
        }
        for metric in &of_path() {
            write(&mut encoder, metric, paths())?;
        }
        Ok(())
    }
}

/// A label that others have a part in: the library writes it as it is.
fn escaped(label: &str) -> String {
    let label = label.replace('\\', r"\\").replace('"', r#"\""#);
    label.replace('\n', r"\n")
}

/// What there is once in a process.
fn of_process<T>(
    encoder: &mut DescriptorEncoder<'_>,
    metrics: &[Metric<T>],
    of: Option<&T>,
) -> fmt::Result {
    for (name, unit, help, value) in metrics {
        if let Some(value) = of.and_then(value) {
            let kind = value.metric_type();
            value.write(encoder.encode_descriptor(name, help, unit.as_ref(), kind)?)?;
        }
    }
    Ok(())
}

/// One metric of each of these.
fn write<'a, T: 'a, L: EncodeLabelSet>(
    encoder: &mut DescriptorEncoder<'_>,
    (name, unit, help, value): &Metric<T>,
    each: impl Iterator<Item = (L, &'a T)>,
) -> fmt::Result {
    let mut values = each
        .filter_map(|(labels, of)| Some((labels, value(of)?)))
        .peekable();
    // What nobody has, has no type either.
    let Some((_, first)) = values.peek() else {
        return Ok(());
    };
    let kind = first.metric_type();
    let mut family = encoder.encode_descriptor(name, help, unit.as_ref(), kind)?;
    for (labels, value) in values {
        value.write(family.encode_family(&labels)?)?;
    }
    Ok(())
}

/// What was refused, by rule: of the endpoint and of the command.
fn refused(encoder: &mut DescriptorEncoder<'_>, process: &Process) -> fmt::Result {
    let help = "What was refused, dropped or shed, by rule.";
    let mut family = encoder.encode_descriptor("refused", help, None, MetricType::Counter)?;
    let of_endpoint = process.endpoint.iter().flat_map(|e| &e.refused);
    for (rule, count) in of_endpoint.chain(&process.refused) {
        let labels = [("rule", &**rule)];
        Count(*count).write(family.encode_family(&labels)?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_label_ends_where_it_should() {
        assert_eq!(escaped("fe80::1%3"), "fe80::1%3");
        assert_eq!(escaped("a\"} 1\n# EOF\\"), r#"a\"} 1\n# EOF\\"#);
    }

    #[test]
    fn without_an_endpoint_there_is_a_whole_page() {
        let process = Process {
            schema: String::new(),
            pid: 1,
            command: "send".to_owned(),
            version: "0.1.0".to_owned(),
            endpoint: None,
            refused: BTreeMap::from([("files_refused".to_owned(), 3)]),
            tunnel: Some(ConnectionsNow {
                connections: 2,
                connections_opened: 7,
            }),
            associations: Vec::new(),
        };
        let text = text(&Arc::new(process));
        let build = "byway_build_info{version=\"0.1.0\",command=\"send\"} 1\n";
        let tunnel = "byway_tunnel_connections 2\n";
        let opened = "byway_tunnel_connections_opened_total 7\n";
        let refused = "byway_refused_total{rule=\"files_refused\"} 3\n";
        assert!(text.contains(refused), "{text}");
        assert!(text.contains(tunnel) && text.contains(opened), "{text}");
        assert!(text.contains(build) && text.ends_with("# EOF\n"), "{text}");
    }
}
