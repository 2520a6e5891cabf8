//! A congestion controller of one's own, outside of byway-core: additive increase
//! and multiplicative decrease with other constants than RFC 9260's.
//!
//! `cargo run --release -p byway-sim --example own_congestion_control`

use byway_core::cc::{CongestionControl, Moment, PathAck, Window};
use byway_core::config::{CongestionConfig, Custom};
use byway_core::time::{Duration, Instant};
use byway_core::{ChecksumMode, Config, EndpointConfig};
use byway_sim::Simulation;
use byway_sim::host::{Sender, Sink};
use byway_sim::net::{LinkConfig, LossModel, QueueLimit, Rate, TopologyBuilder};
use std::net::SocketAddr;

/// A window of acknowledged bytes adds `increase` chunks; a loss keeps `decrease`
/// of the window. RFC 9260 has 1 and 0.5.
#[derive(Clone, Debug)]
struct Aimd {
    increase: f64,
    decrease: f64,
    /// Bytes that are earned and not yet given.
    earned: f64,
}

impl Aimd {
    fn fall(&mut self, w: &mut Window) {
        w.ssthresh = ((f64::from(w.cwnd) * self.decrease) as u32).max(2 * w.pmdcs);
        self.earned = 0.0;
    }
}

impl CongestionControl for Aimd {
    fn on_ack(&mut self, w: &mut Window, ack: PathAck, _at: Moment, _cfg: &CongestionConfig) {
        if ack.in_recovery || ack.flight_before < w.cwnd {
            return; // The window was not the limit.
        }
        if w.avoids_congestion() {
            let windows = f64::from(ack.bytes) / f64::from(w.cwnd);
            self.earned += self.increase * windows * f64::from(w.pmdcs);
            w.cwnd += self.earned as u32;
            self.earned = self.earned.fract();
        } else {
            w.cwnd += ack.bytes.min(w.pmdcs); // Slow start.
        }
    }

    fn on_fast_retransmit(&mut self, w: &mut Window, _cfg: &CongestionConfig) {
        self.fall(w);
        w.cwnd = w.ssthresh;
    }

    fn on_timeout(&mut self, w: &mut Window, _cfg: &CongestionConfig) {
        self.fall(w);
        w.cwnd = w.pmdcs;
    }
}

/// How long 4 MB take over 10 Mbit/s with a round trip of 90 ms and 1 % loss.
fn transfer(custom: Custom) -> Result<Duration, Box<dyn std::error::Error>> {
    let config = Config {
        custom,
        ..Config::default()
    };
    let (a, b): (SocketAddr, SocketAddr) = ("10.0.0.1:0".parse()?, "10.0.0.2:0".parse()?);
    let mut topology = TopologyBuilder::new();
    let [node_a, node_b] = [("a", a), ("b", b)].map(|(n, s)| topology.add_host(n, &[s.ip()]));
    let link = LinkConfig::new(Rate::mbps(10), Duration::from_millis(45))
        .queue(QueueLimit::Packets(50))
        .loss(LossModel::Uniform(0.01));
    topology.add_duplex(node_a, node_b, link);
    let mut sim = Simulation::new(topology.build(1)?);
    let endpoint = |address, seed| EndpointConfig {
        checksum: ChecksumMode::Offloaded,
        ..EndpointConfig::new(5001, vec![address], [seed; 32])
    };
    let bulk = Sender::bulk(vec![b], 5001, config, 4_000_000, 1452);
    sim.add_host(node_a, endpoint(a, 1), bulk)?;
    let sink = sim.add_host(node_b, endpoint(b, 2), Sink::new())?;
    sim.run_until(Instant::from_millis(600_000));
    let report = sim.app::<Sink>(sink).ok_or("the sink is gone")?.report();
    let end = report.last_at.filter(|_| report.bytes == 4_000_000);
    Ok(end.ok_or("not all arrived")?.since(Instant::ZERO))
}

/// RFC 9260's time and that of the own controller.
pub(crate) fn compare() -> Result<[Duration; 2], Box<dyn std::error::Error>> {
    let own = Aimd {
        increase: 2.0,
        decrease: 0.75,
        earned: 0.0,
    };
    Ok([
        transfer(Custom::new())?,
        transfer(Custom::new().congestion(own))?,
    ])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [rfc9260, own] = compare()?;
    println!("4 MB over 10 Mbit/s, 90 ms, 1 % loss");
    println!("RFC 9260       {:6.2} s", rfc9260.as_secs_f64());
    println!("2 up, 3/4 left {:6.2} s", own.as_secs_f64());
    Ok(())
}
