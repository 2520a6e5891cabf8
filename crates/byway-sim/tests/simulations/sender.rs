//! The traffic application: a file, messages every so often, at given times,
//! and without end.

use byway_core::time::{Duration, Instant};
use byway_core::{Config, EndpointConfig};
use byway_sim::Simulation;
use byway_sim::host::{Delivery, Sender, SenderReport, Sink};
use byway_sim::net::{LinkConfig, Rate, TopologyBuilder};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

const SECOND: Duration = Duration::from_secs(1);

/// What the sender and the receiver saw after ten seconds.
fn run(sender: impl FnOnce(Sender) -> Sender, base: Base) -> (SenderReport, Vec<Delivery>) {
    let [a, b] = [1, 2].map(|host| IpAddr::from(Ipv4Addr::new(10, 0, 0, host)));
    let at = |ip| vec![SocketAddr::new(ip, 0)];
    let mut topology = TopologyBuilder::new();
    let (near, far) = (topology.add_host("A", &[a]), topology.add_host("B", &[b]));
    let link = LinkConfig::new(Rate::mbps(10), Duration::from_millis(45));
    topology.add_duplex(near, far, link);
    let mut sim = Simulation::new(topology.build(1).unwrap());
    let endpoint = |ip, seed| EndpointConfig::new(5001, at(ip), [seed; 32]);
    let app = sender(base(at(b), Config::default()));
    let sink = Sink::new().keep_deliveries();
    let a = sim.add_host(near, endpoint(a, 1), app).unwrap();
    let b = sim.add_host(far, endpoint(b, 2), sink).unwrap();
    sim.run_until(Instant::from_millis(10_000));
    let report = sim.app::<Sender>(a).unwrap().report().clone();
    let sink = sim.app::<Sink>(b).unwrap().report();
    (report, sink.deliveries.clone())
}

type Base = fn(Vec<SocketAddr>, Config) -> Sender;

#[test]
fn messages_leave_at_their_times() {
    let base: Base = |peer, config| {
        let times = [500, 2000, 2001, 4000].map(Instant::from_millis);
        Sender::at(peer, 5001, config, 100, &times)
    };
    let (report, deliveries) = run(|s| s, base);
    assert_eq!((report.sent, report.skipped), (4, 0));
    assert!(report.acked_at.is_some() && report.ended_at.is_some());
    // 45 ms there, and what the links need.
    let late: Vec<u64> = deliveries
        .iter()
        .map(|d| d.at.as_nanos() / 1_000_000)
        .collect();
    let due = [545, 2045, 2046, 4045];
    assert_eq!(late.len(), due.len());
    assert!(
        late.iter().zip(due).all(|(l, d)| (d..d + 3).contains(l)),
        "{late:?}"
    );
}

#[test]
fn periodic_messages_keep_their_rhythm() {
    let base: Base = |peer, config| Sender::periodic(peer, 5001, config, 40, SECOND, 5);
    let (report, deliveries) = run(|s| s.keep_open(), base);
    assert_eq!((report.sent, deliveries.len()), (5, 5));
    assert!(report.acked_at.is_some() && report.ended_at.is_none());
    let rhythm = deliveries
        .windows(2)
        .all(|d| d[1].at.since(d[0].at) == SECOND);
    assert!(rhythm, "{deliveries:?}");
    let first = report.up_at.unwrap();
    assert!(deliveries[0].at > first && deliveries[0].at < first + SECOND);
}

#[test]
fn an_endless_source_has_no_end_and_one_may_begin_later() {
    let base: Base = |peer, config| Sender::endless(peer, 5001, config, 1000);
    let begin = Instant::from_millis(3000);
    let (report, deliveries) = run(|s| s.begin_at(begin).streams(3), base);
    assert!(report.acked_at.is_none() && report.sent > 1000);
    assert!(deliveries[0].at > begin);
    let bytes: u64 = deliveries.iter().map(|d| d.bytes).sum();
    // 10 Mbit/s, less headers and slow start.
    assert!((6_000_000..9_000_000).contains(&bytes), "{bytes}");
}

/// One SACK empties a send buffer for one message: it tells of room and that all is
/// acknowledged, and the last message leaves between the two.
#[test]
fn a_file_is_acknowledged_when_its_last_message_is() {
    let base: Base = |peer, mut config| {
        config.buffer.send = 1;
        Sender::bulk(peer, 5001, config, 3000, 1000)
    };
    let (report, deliveries) = run(|s| s, base);
    assert_eq!((report.sent, deliveries.len()), (3, 3));
    let last = deliveries[2].at;
    assert!(
        report.acked_at.unwrap() > last,
        "{:?} {last:?}",
        report.acked_at
    );
    assert!(report.ended_at.is_some());
}
