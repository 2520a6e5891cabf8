//! Cross traffic: Pareto on/off sources with a mix of packet sizes.
//!
//! Many such sources together make self-similar traffic. The mix is the one of
//! Caro, Amer and Stewart, "Transport layer multihoming for fault tolerance in
//! FCS networks" (2003), section 2; bursts and pauses follow ns-2's Pareto source.

use super::error::BadValue;
use super::rng::{self, Purpose, unit_open};
use byway_core::time::{Duration, Instant};
use chacha20::ChaCha8Rng;

/// A Pareto on/off source.
#[derive(Clone, PartialEq, Debug)]
pub struct TrafficConfig {
    /// Bits per second while on, IP header included. The mean rate is
    /// `rate * mean_on / (mean_on + mean_off)`.
    pub rate: u64,
    /// Mean length of a burst.
    pub mean_on: Duration,
    /// Mean length of a pause.
    pub mean_off: Duration,
    /// Shape of the Pareto distributions of both, above 1. At 2 or below the
    /// variance is infinite and the sum of many sources self-similar.
    pub shape: f64,
    /// Sizes on the wire in bytes (at least 28), each with its weight.
    pub sizes: Vec<(u32, u32)>,
    /// First packet of the first burst.
    pub start: Instant,
    /// When the source stops; `None` means never.
    pub stop: Option<Instant>,
}

/// Packet sizes of caro-2003 section 2: half 44 bytes, a quarter 576, a quarter 1500.
pub const CARO_2003_SIZES: [(u32, u32); 3] = [(44, 2), (576, 1), (1500, 1)];

impl TrafficConfig {
    /// A source with this mean rate (bits per second): bursts and pauses of
    /// 500 ms, shape 1.5, the sizes of caro-2003.
    #[must_use]
    pub fn caro_2003(mean_rate: u64) -> TrafficConfig {
        TrafficConfig {
            rate: 2 * mean_rate,
            mean_on: Duration::from_millis(500),
            mean_off: Duration::from_millis(500),
            shape: 1.5,
            sizes: CARO_2003_SIZES.to_vec(),
            start: Instant::ZERO,
            stop: None,
        }
    }

    /// The eight generators of one edge node of caro-2003 with `mean_rate` bits
    /// per second in all: four send 44-byte packets, two 576, two 1500, all
    /// with the same mean number of packets per second.
    #[must_use]
    pub fn caro_2003_edge_node(mean_rate: u64) -> Vec<TrafficConfig> {
        let sizes = [44u32, 44, 44, 44, 576, 576, 1500, 1500];
        let total: u64 = sizes.iter().map(|s| u64::from(*s)).sum();
        let of_size = |&size: &u32| TrafficConfig {
            sizes: vec![(size, 1)],
            ..TrafficConfig::caro_2003(mean_rate * u64::from(size) / total)
        };
        sizes.iter().map(of_size).collect()
    }

    /// The same mean rate, with bursts and pauses of this mean length.
    #[must_use]
    pub fn with_bursts(self, mean: Duration) -> TrafficConfig {
        let whole = self.mean_on + self.mean_off;
        let mean_rate = u128::from(self.rate) * self.mean_on.as_nanos() / whole.as_nanos().max(1);
        TrafficConfig {
            rate: u64::try_from(2 * mean_rate).unwrap_or(u64::MAX),
            mean_on: mean,
            mean_off: mean,
            ..self
        }
    }

    fn check(&self) -> Result<(), BadValue> {
        let bad = |name, value, range| Err(BadValue { name, value, range });
        if self.rate == 0 {
            return bad("rate", 0.0, "at least 1 bit/s");
        }
        if self.shape.is_nan() || self.shape <= 1.0 {
            return bad("shape", self.shape, "above 1");
        }
        if self.mean_on.is_zero() {
            return bad("mean_on", 0.0, "above 0");
        }
        if let Some((size, _)) = self.sizes.iter().find(|(size, _)| *size < 28) {
            return bad("packet size", f64::from(*size), "at least 28 bytes");
        }
        if self.sizes.iter().all(|(_, weight)| *weight == 0) {
            return bad("sum of the size weights", 0.0, "at least 1");
        }
        Ok(())
    }
}

/// A running source.
#[derive(Debug)]
pub(crate) struct TrafficSource {
    /// Numbers of its addresses.
    pub(crate) src: u32,
    pub(crate) dst: u32,
    /// Vertex of the sending interface.
    pub(crate) from: u32,
    pub(crate) start: u64,
    stop: u64,
    rate: u64,
    sizes: Vec<(u32, u32)>,
    weights: u64,
    /// The last size, and how long it takes at `rate` (ns).
    last: (u32, u64),
    /// Scale of the burst length in packets and of the pause in nanoseconds.
    burst_scale: f64,
    pause_scale: f64,
    shape: f64,
    /// Packets left in this burst.
    left: u64,
    rng: ChaCha8Rng,
    pub(crate) counters: TrafficCounters,
}

/// Totals of one source of cross traffic. Arrivals may include packets that are
/// still on the last links of their route.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct TrafficCounters {
    /// Packets sent.
    pub sent_packets: u64,
    /// Bytes sent, on the wire.
    pub sent_bytes: u64,
    /// Packets that arrived.
    pub arrived_packets: u64,
    /// Bytes that arrived.
    pub arrived_bytes: u64,
}

impl TrafficSource {
    pub(crate) fn new(
        config: &TrafficConfig,
        (src, dst): (u32, u32),
        from: u32,
        seed: u64,
        id: u32,
    ) -> Result<TrafficSource, BadValue> {
        config.check()?;
        let weights = config.sizes.iter().map(|(_, w)| u64::from(*w)).sum();
        let mean_size = config
            .sizes
            .iter()
            .map(|(size, weight)| f64::from(*size) * f64::from(*weight))
            .sum::<f64>()
            / weights as f64;
        let packets_per_burst = config.mean_on.as_secs_f64() * config.rate as f64 / mean_size / 8.0;
        // A Pareto distribution with this scale and shape has mean scale * shape / (shape - 1).
        let scale = (config.shape - 1.0) / config.shape;
        let mut source = TrafficSource {
            src,
            dst,
            from,
            start: config.start.as_nanos(),
            stop: config.stop.map_or(u64::MAX, Instant::as_nanos),
            rate: config.rate,
            sizes: config.sizes.clone(),
            weights,
            last: (0, 0),
            burst_scale: packets_per_burst * scale,
            pause_scale: config.mean_off.as_nanos() as f64 * scale,
            shape: config.shape,
            left: 0,
            rng: rng::stream(seed, Purpose::Traffic, id),
            counters: TrafficCounters::default(),
        };
        source.left = source.burst();
        Ok(source)
    }

    /// Sends the packet due at `now`. Returns its size and the time of the next
    /// packet; `None` once the source has stopped.
    pub(crate) fn emit(&mut self, now: u64) -> Option<(u32, u64)> {
        if now >= self.stop {
            return None;
        }
        let size = self.size();
        self.counters.sent_packets += 1;
        self.counters.sent_bytes += u64::from(size);
        if size != self.last.0 {
            let time = (u64::from(size) * 8 * 1_000_000_000).div_ceil(self.rate);
            self.last = (size, time);
        }
        let mut gap = self.last.1;
        self.left -= 1;
        if self.left == 0 {
            self.left = self.burst();
            gap = gap.saturating_add((self.pause_scale * self.pareto()) as u64);
        }
        Some((size, now.saturating_add(gap)))
    }

    fn size(&mut self) -> u32 {
        if let [(size, _)] = self.sizes[..] {
            return size;
        }
        let mut pick = rng::up_to(&mut self.rng, self.weights - 1);
        for (size, weight) in &self.sizes {
            match pick.checked_sub(u64::from(*weight)) {
                Some(rest) => pick = rest,
                None => return *size,
            }
        }
        unreachable!("pick is below the sum of the weights")
    }

    /// Length of the next burst in packets, at least one.
    fn burst(&mut self) -> u64 {
        ((self.burst_scale * self.pareto() + 0.5) as u64).max(1)
    }

    /// A Pareto number with scale 1. The system's `pow` may differ between machines
    /// in the last bit, which would change the whole run; `libm` does not.
    fn pareto(&mut self) -> f64 {
        libm::pow(unit_open(&mut self.rng), -1.0 / self.shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(config: &TrafficConfig, seed: u64) -> TrafficSource {
        TrafficSource::new(config, (0, 0), 0, seed, 0).expect("a valid source")
    }

    /// Bytes sent in `secs` seconds, per second and in bits.
    fn mean_rate(source: &mut TrafficSource, secs: u64) -> f64 {
        let (mut now, mut bytes) = (source.start, 0u64);
        while let Some((size, next)) = source.emit(now)
            && next < secs * 1_000_000_000
        {
            bytes += u64::from(size);
            now = next;
        }
        bytes as f64 * 8.0 / secs as f64
    }

    #[test]
    fn mean_rate_is_the_configured_one() {
        // A shape with finite variance, so that the mean settles.
        let config = TrafficConfig {
            shape: 2.5,
            ..TrafficConfig::caro_2003(1_000_000)
        };
        let rate = mean_rate(&mut source(&config, 1), 20_000);
        assert!((rate / 1e6 - 1.0).abs() < 0.03, "{rate} bit/s");
        // Longer bursts carry the same mean rate.
        let long = config.with_bursts(Duration::from_secs(3));
        assert_eq!(
            (long.mean_on, long.mean_off),
            (Duration::from_secs(3), Duration::from_secs(3))
        );
        let rate = mean_rate(&mut source(&long, 1), 100_000);
        assert!((rate / 1e6 - 1.0).abs() < 0.03, "{rate} bit/s");
    }

    #[test]
    fn sizes_follow_their_weights() {
        let mut s = source(&TrafficConfig::caro_2003(1_000_000), 3);
        let (mut now, mut seen) = (0, [0u32; 3]);
        for _ in 0..100_000 {
            let (size, next) = s.emit(now).expect("never stops");
            seen[match size {
                44 => 0,
                576 => 1,
                1500 => 2,
                other => panic!("size {other} is not in the mix"),
            }] += 1;
            now = next;
        }
        let share = |n: u32| f64::from(n) / 1e5;
        assert!((share(seen[0]) - 0.5).abs() < 0.01, "{seen:?}");
        assert!((share(seen[1]) - 0.25).abs() < 0.01, "{seen:?}");
    }

    #[test]
    fn an_edge_node_has_equal_packet_rates() {
        let sources = TrafficConfig::caro_2003_edge_node(2_000_000);
        let total: u64 = sources.iter().map(|s| s.rate / 2).sum();
        assert!((1_999_990..=2_000_000).contains(&total), "{total}");
        let packets = |s: &TrafficConfig| s.rate as f64 / f64::from(s.sizes[0].0);
        assert!((packets(&sources[0]) / packets(&sources[7]) - 1.0).abs() < 1e-3);
    }

    #[test]
    fn stops_at_its_time_and_checks_its_settings() {
        let mut config = TrafficConfig::caro_2003(1000);
        config.stop = Some(Instant::from_millis(5));
        assert_eq!(source(&config, 1).emit(5_000_000), None);
        let error = |config: &TrafficConfig| {
            TrafficSource::new(config, (0, 0), 0, 0, 0)
                .expect_err("invalid")
                .name
        };
        config.shape = 1.0;
        assert_eq!(error(&config), "shape");
        config.shape = 1.5;
        config.sizes.clear();
        assert_eq!(error(&config), "sum of the size weights");
    }
}
