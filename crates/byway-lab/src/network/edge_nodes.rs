//! The cross traffic of a dual dumbbell: Caro, Amer and Stewart, "Transport
//! layer multihoming for fault tolerance in FCS networks" (2003), section 2.
//!
//! Four nodes at either end of a path's bottleneck, each with eight Pareto
//! sources towards its opposite. Their links take 5 to 20 ms, drawn with the
//! scenario's seed.

use crate::clock::{instant, nanos};
use crate::scenario::CrossSpec;
use byway_core::time::Duration;
use byway_sim::net::{LinkConfig, Port, QueueLimit, Rate, TopologyBuilder, TrafficConfig};
use std::net::{IpAddr, Ipv4Addr};

/// Nodes at either end.
const NODES: u8 = 4;
const EDGE_BITS_PER_SECOND: u64 = 100_000_000;
/// Delay of a node's link, and how much may be added by chance.
const LEAST_DELAY: Duration = Duration::from_millis(5);
const MORE_DELAY: Duration = Duration::from_millis(15);
/// Sources begin within this time.
const BEGIN_WITHIN: Duration = Duration::from_secs(1);
/// Bytes of the packets in which a queue's size is counted.
const PACKET: u64 = 1500;

/// Adds the nodes and sources of the `k`th cross traffic.
pub(super) fn add(
    topology: &mut TopologyBuilder,
    seed: u64,
    k: usize,
    cross: &CrossSpec,
    [near, far]: [Port; 2],
) {
    let mut chance = Chance(seed ^ (k as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    for node in 0..NODES {
        let address = |end: u8| IpAddr::from(Ipv4Addr::new(172, 16 + k as u8, node, end));
        for (end, router) in [(1, near), (2, far)] {
            let delay = LEAST_DELAY + chance.share_of(MORE_DELAY);
            let host = topology.add_host(&format!("cross-{k}-{node}-{end}"), &[address(end)]);
            let link = LinkConfig::new(Rate::BitsPerSecond(EDGE_BITS_PER_SECOND), delay)
                .queue(QueueLimit::Packets(room(delay)));
            topology.add_duplex(host, router, link);
        }
        let sources = TrafficConfig::caro_2003_edge_node(cross.rate.0 / u64::from(NODES));
        for source in sources {
            for (from, to, wanted) in [
                (1, 2, cross.direction.forward()),
                (2, 1, cross.direction.reverse()),
            ] {
                let begin = instant(cross.from) + chance.share_of(BEGIN_WITHIN);
                if wanted {
                    let config = TrafficConfig {
                        start: begin,
                        stop: cross.until.map(instant),
                        ..source.clone().with_bursts(cross.bursts)
                    };
                    topology.add_traffic(address(from), address(to), config);
                }
            }
        }
    }
}

/// Twice the product of rate and delay, in packets.
fn room(delay: Duration) -> u32 {
    let bits = u128::from(2 * EDGE_BITS_PER_SECOND) * u128::from(nanos(delay)) / 1_000_000_000;
    (bits / 8).div_ceil(u128::from(PACKET)) as u32
}

/// A small generator for the layout alone (splitmix64), so that it does not
/// depend on what else is drawn.
struct Chance(u64);

impl Chance {
    fn share_of(&mut self, most: Duration) -> Duration {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        let nanos = (u128::from(nanos(most)) * u128::from(z)) >> 64;
        Duration::from_nanos(nanos as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_lie_in_their_range_and_repeat() {
        let draw = |seed: u64| -> Vec<Duration> {
            let mut chance = Chance(seed);
            (0..100).map(|_| chance.share_of(MORE_DELAY)).collect()
        };
        assert!(draw(1).iter().all(|d| *d < MORE_DELAY));
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        // 100 Mbit/s for 10 ms, twice: 250 kB.
        assert_eq!(room(Duration::from_millis(10)), 167);
    }
}
