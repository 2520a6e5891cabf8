//! Two associations of the core wired in memory: both ends in one thread, no
//! sockets, no loss, checksums on. Rates are over the processor time of the
//! thread, so that a busy machine changes them little.

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use byway_core::time::{Duration, Instant};
use byway_core::{AssocId, CommandError, Config, Endpoint, EndpointConfig, Event, Message};
use serde_json::json;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Transfer messages between two associations in memory
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Bytes of each message
    #[arg(long, default_value_t = 16_384)]
    message: usize,
    /// Bytes that the sending application keeps queued and in flight
    #[arg(long, default_value_t = 262_144)]
    in_flight: u32,
    /// Bytes to transfer
    #[arg(long, default_value_t = 268_435_456)]
    bytes: u64,
    /// Packets that the receiver gets before its acknowledgements are collected
    #[arg(long, default_value_t = 2)]
    batch: usize,
    /// Largest IP packet, encapsulated in UDP over IPv4
    #[arg(long, default_value_t = 1500)]
    mtu: u32,
    /// Time the handling of each acknowledgement, which slows the rest a little
    #[arg(long)]
    time_sacks: bool,
}

/// Bytes of a batch: what a driver hands to the system in one call.
const BATCH: usize = 60_000;

/// Packets on their way, one behind the other as in a driver's batch.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    /// Where each packet ends.
    ends: Vec<usize>,
    /// Packets that were delivered.
    done: usize,
}

/// Packets on their way, in batches that are used again.
#[derive(Default)]
struct Wire {
    batches: VecDeque<Batch>,
    spare: Vec<Batch>,
}

impl Wire {
    /// Moves all that an endpoint wants to send onto the wire; how many packets.
    fn collect(&mut self, from: &mut Endpoint, now: Instant) -> u64 {
        let mut count = 0;
        loop {
            if self.batches.back().is_none_or(|b| b.bytes.len() > BATCH) {
                self.batches.push_back(self.spare.pop().unwrap_or_default());
            }
            let Some(batch) = self.batches.back_mut() else {
                return count;
            };
            if from.poll_transmit(now, &mut batch.bytes).is_none() {
                return count;
            }
            batch.ends.push(batch.bytes.len());
            count += 1;
        }
    }

    /// Hands at most `most` packets to an endpoint; how many.
    fn deliver(&mut self, to: &mut Endpoint, now: Instant, most: usize) -> u64 {
        let (source, destination) = if to.port() == 1 { (Z, A) } else { (A, Z) };
        let mut count = 0;
        while count < most {
            let Some(batch) = self.batches.front_mut() else {
                break;
            };
            let Some(&end) = batch.ends.get(batch.done) else {
                let mut empty = self.batches.pop_front().unwrap_or_default();
                empty.bytes.clear();
                empty.ends.clear();
                empty.done = 0;
                self.spare.push(empty);
                continue;
            };
            let begin = batch.done.checked_sub(1).map_or(0, |last| batch.ends[last]);
            to.handle_datagram(now, source, destination, &batch.bytes[begin..end]);
            batch.done += 1;
            count += 1;
        }
        count as u64
    }
}

const A: SocketAddr = address(1);
const Z: SocketAddr = address(2);

const fn address(host: u8) -> SocketAddr {
    let ip = std::net::Ipv4Addr::new(192, 0, 2, host);
    SocketAddr::new(std::net::IpAddr::V4(ip), 9899)
}

fn up(endpoint: &mut Endpoint) -> Option<AssocId> {
    std::iter::from_fn(|| endpoint.poll_event()).find_map(|(id, event)| match event {
        Event::Up { .. } => Some(id),
        _ => None,
    })
}

/// Two endpoints with an association between them.
struct Pair {
    a: Endpoint,
    z: Endpoint,
    at_a: AssocId,
    at_z: AssocId,
    now: Instant,
    /// From A to Z, and back.
    forward: Wire,
    back: Wire,
}

/// What the transfer of a [`Pair`] counted.
#[derive(Default)]
struct Counts {
    data_packets: u64,
    /// Packets of the receiver.
    other_packets: u64,
    sacks: u64,
    /// The time in which the sender handled SACKs, if it was measured.
    in_sacks: Duration,
}

impl Pair {
    fn connected(config: &Config) -> Result<Pair> {
        let end = |port, local| {
            let mut e = EndpointConfig::new(port, vec![local], [port as u8; 32]);
            e.accepted = config.clone();
            Endpoint::new(e)
        };
        let (mut a, mut z) = (end(1, A)?, end(2, Z)?);
        let now = Instant::ZERO;
        let (mut forward, mut back) = (Wire::default(), Wire::default());
        let at_a = a.connect(now, &[Z], 2, config.clone())?;
        // A -> INIT -> Z -> INIT ACK -> A -> COOKIE ECHO -> Z -> COOKIE ACK -> A
        for _ in 0..4 {
            forward.collect(&mut a, now);
            forward.deliver(&mut z, now, 9);
            back.collect(&mut z, now);
            back.deliver(&mut a, now, 9);
        }
        ensure!(up(&mut a).is_some(), "the association did not come up");
        let at_z = up(&mut z).context("the receiver has no association")?;
        Ok(Pair {
            a,
            z,
            at_a,
            at_z,
            now,
            forward,
            back,
        })
    }

    /// Transfers `count` messages from A to Z.
    fn transfer(&mut self, arguments: &Arguments, count: u64) -> Result<Counts> {
        let payload = Bytes::from(vec![7; arguments.message]);
        let mut counts = Counts::default();
        let (mut written, mut read) = (0, 0);
        while read < count {
            written += self.write(&payload, count - written)?;
            counts.data_packets += self.forward.collect(&mut self.a, self.now);
            if self.forward.deliver(&mut self.z, self.now, arguments.batch) == 0 {
                self.wait()?;
            }
            read += self.read(arguments.message)?;
            self.acknowledge(arguments.time_sacks, &mut counts);
            self.now += Duration::from_nanos(100);
        }
        Ok(counts)
    }

    /// Writes at most `most` messages, as many as the send buffer takes; how many.
    fn write(&mut self, payload: &Bytes, most: u64) -> Result<u64> {
        for written in 0..most {
            let message = Message::new(1, payload.clone());
            match self.a.send(self.now, self.at_a, message) {
                Ok(()) => {}
                Err(CommandError::WouldBlock { .. }) => return Ok(written),
                Err(e) => return Err(e.into()),
            }
        }
        Ok(most)
    }

    /// Goes on to the next timer.
    fn wait(&mut self) -> Result<()> {
        let due = [self.a.poll_timeout(), self.z.poll_timeout()];
        let next = due.into_iter().flatten().min();
        self.now = next.context("nothing is left to do")?;
        self.a.handle_timeout(self.now);
        self.z.handle_timeout(self.now);
        Ok(())
    }

    /// Reads all messages that have arrived; how many.
    fn read(&mut self, len: usize) -> Result<u64> {
        while self.z.poll_event().is_some() {}
        let mut count = 0;
        while let Some(m) = self.z.receive(self.at_z) {
            ensure!(m.payload.len() == len, "a message of a wrong length");
            count += 1;
        }
        Ok(count)
    }

    /// Delivers the receiver's packets to the sender.
    fn acknowledge(&mut self, timed: bool, counts: &mut Counts) {
        counts.other_packets += self.back.collect(&mut self.z, self.now);
        let begun = timed.then(std::time::Instant::now);
        counts.sacks += self.back.deliver(&mut self.a, self.now, usize::MAX);
        if let Some(begun) = begun {
            counts.in_sacks += begun.elapsed();
        }
        while self.a.poll_event().is_some() {}
    }
}

pub(crate) fn run(arguments: Arguments) -> Result<()> {
    let mut config = Config::default();
    config.pmtu.0 = arguments.mtu;
    config.buffer.send = arguments.in_flight;
    // Large enough that the window never limits what --in-flight asks for.
    config.buffer.receive = (arguments.in_flight * 2).max(5 << 20);
    let mut pair = Pair::connected(&config)?;
    let count = arguments.bytes / arguments.message as u64;
    let start = crate::figures::cpu_seconds();
    let counts = pair.transfer(&arguments, count)?;
    let cpu = crate::figures::cpu_seconds() - start;
    let bytes = count * arguments.message as u64;
    let stats = pair.a.stats(pair.at_a).context("the association is gone")?;
    let data = counts.data_packets as f64;
    let ns_per_sack = counts.in_sacks.as_nanos() as f64 / counts.sacks as f64;
    println!(
        "{}",
        json!({
            "bytes": bytes,
            "mb_per_s": bytes as f64 / 1e6 / cpu,
            "ns_per_data_packet": cpu * 1e9 / data,
            "data_packets": counts.data_packets,
            "sacks_per_data_packet": counts.other_packets as f64 / data,
            "ns_per_sack": arguments.time_sacks.then_some(ns_per_sack),
            "retransmitted": stats.data_chunks_retransmitted,
        })
    );
    Ok(())
}
