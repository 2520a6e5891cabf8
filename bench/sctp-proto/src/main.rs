//! Two associations of the `sctp-proto` crate wired in memory: both ends in one thread, no
//! sockets, no loss, checksums on. Prints one line of JSON; rates are over the CPU time of the
//! thread, so that a busy machine changes them little.

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use clap::Parser;
use rustix::time::{ClockId, clock_gettime};
use sctp_proto::{
    Association, AssociationHandle, ClientConfig, DatagramEvent, Endpoint, EndpointConfig, Event,
    Payload, PayloadProtocolIdentifier, ServerConfig, TransportConfig,
};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// SCTP's common header and a DATA chunk's own header.
const DATA_OVERHEAD: u32 = 12 + 16;
/// IPv4 and UDP headers, which the MTU counts and these packets do not have.
const IP_AND_UDP: u32 = 20 + 8;
const STREAM: u16 = 1;
const KIND: PayloadProtocolIdentifier = PayloadProtocolIdentifier::Binary;

#[derive(Parser)]
struct Options {
    /// Bytes of each message
    #[arg(long, default_value_t = 16_384)]
    message: usize,
    /// Bytes that the sending application keeps queued and in flight
    #[arg(long, default_value_t = 262_144)]
    in_flight: usize,
    /// Bytes to transfer
    #[arg(long, default_value_t = 67_108_864)]
    bytes: u64,
    /// Packets that the receiver gets before its acknowledgements are collected
    #[arg(long, default_value_t = 2)]
    batch: usize,
    /// Largest IP packet, encapsulated in UDP over IPv4
    #[arg(long, default_value_t = 1500)]
    mtu: u32,
}

/// One end: an endpoint with, at most, one association.
struct End {
    endpoint: Endpoint,
    association: Option<(AssociationHandle, Association)>,
    address: SocketAddr,
}

impl End {
    fn association(&mut self) -> Result<&mut Association> {
        let (_, association) = self.association.as_mut().context("no association")?;
        Ok(association)
    }

    fn take_packet(&mut self, now: Instant, from: SocketAddr, packet: Bytes) {
        match self.endpoint.handle(now, from, None, None, packet) {
            Some((handle, DatagramEvent::NewAssociation(association))) => {
                self.association = Some((handle, association));
            }
            Some((_, DatagramEvent::AssociationEvent(event))) => {
                if let Some((_, association)) = &mut self.association {
                    association.handle_event(event);
                }
            }
            None => {}
        }
    }

    /// Moves everything this end wants to send into `queue`.
    fn collect(&mut self, now: Instant, queue: &mut VecDeque<Bytes>) {
        while let Some(transmit) = self.endpoint.poll_transmit() {
            if let Payload::RawEncode(packets) = transmit.payload {
                queue.extend(packets);
            }
        }
        if let Some((_, association)) = &mut self.association {
            while let Some(transmit) = association.poll_transmit(now) {
                if let Payload::RawEncode(packets) = transmit.payload {
                    queue.extend(packets);
                }
            }
        }
    }

    fn run_timers(&mut self, now: Instant) {
        if let Some((_, association)) = &mut self.association
            && association.poll_timeout().is_some_and(|at| at <= now)
        {
            association.handle_timeout(now);
        }
    }

    fn drain_events(&mut self) -> Result<()> {
        while let Some(event) = self.association()?.poll() {
            ensure!(
                !matches!(event, Event::AssociationLost { .. }),
                "association lost"
            );
        }
        Ok(())
    }
}

/// What a transfer did.
#[derive(Default)]
struct Outcome {
    messages: u64,
    data_packets: u64,
    other_packets: u64,
    /// Times that nothing was left to do but to wait for a timer.
    waits: u64,
}

fn set_up(options: &Options) -> Result<(End, End)> {
    let mut endpoint = EndpointConfig::new();
    endpoint.max_payload_size(options.mtu - IP_AND_UDP - DATA_OVERHEAD);
    let endpoint = Arc::new(endpoint);
    // Large enough that the window never limits what --in-flight asks for.
    let window = u32::try_from((options.in_flight * 2).max(5 << 20))?;
    let transport = Arc::new(
        TransportConfig::default()
            .with_max_receive_buffer_size(window)
            .with_max_send_message_size(1 << 20)
            .with_max_receive_message_size(1 << 20),
    );
    let mut server = ServerConfig::default();
    server.transport = transport.clone();
    let mut client = ClientConfig::default();
    client.transport = transport;

    let mut a = End {
        endpoint: Endpoint::new(endpoint.clone(), None),
        association: None,
        address: "192.0.2.1:5000".parse()?,
    };
    let mut z = End {
        endpoint: Endpoint::new(endpoint, Some(Arc::new(server))),
        association: None,
        address: "192.0.2.2:5000".parse()?,
    };
    a.association = Some(a.endpoint.connect(client, z.address)?);
    // A -> INIT -> Z -> INIT ACK -> A -> COOKIE ECHO -> Z -> COOKIE ACK -> A
    let mut packets = VecDeque::new();
    for _ in 0..4 {
        let now = Instant::now();
        a.collect(now, &mut packets);
        packets
            .drain(..)
            .for_each(|p| z.take_packet(now, a.address, p));
        z.collect(now, &mut packets);
        packets
            .drain(..)
            .for_each(|p| a.take_packet(now, z.address, p));
    }
    ensure!(
        !a.association()?.is_handshaking(),
        "the association did not come up"
    );
    a.association()?.open_stream(STREAM, KIND)?;
    a.drain_events()?;
    Ok((a, z))
}

/// Reads every whole message at `z`; returns how many.
fn deliver(z: &mut End, buffer: &mut [u8]) -> Result<u64> {
    z.drain_events()?;
    let association = z.association()?;
    while association.accept_stream().is_some() {}
    let Ok(mut stream) = association.stream(STREAM) else {
        return Ok(0); // nothing has arrived yet
    };
    let mut messages = 0;
    while let Ok(Some(chunks)) = stream.read_sctp() {
        ensure!(
            chunks.read(buffer)? == buffer.len(),
            "a message of a wrong length"
        );
        messages += 1;
    }
    Ok(messages)
}

fn is_data(packet: &[u8]) -> bool {
    packet.get(12) == Some(&0)
}

fn transfer(a: &mut End, z: &mut End, options: &Options) -> Result<Outcome> {
    let message = Bytes::from((0..options.message).map(|i| i as u8).collect::<Vec<_>>());
    let mut buffer = vec![0; options.message];
    let count = options.bytes / options.message as u64;
    let (mut forward, mut back) = (VecDeque::new(), VecDeque::new());
    let mut outcome = Outcome::default();
    let mut written = 0;
    // Time inside is the real clock, which jumps when there is nothing to do but wait.
    let mut skipped = Duration::ZERO;
    while outcome.messages < count {
        let now = Instant::now() + skipped;
        a.run_timers(now);
        z.run_timers(now);
        let mut stream = a.association()?.stream(STREAM)?;
        while written < count && stream.buffered_amount()? < options.in_flight {
            stream.write_sctp(&message, KIND)?;
            written += 1;
        }
        a.collect(now, &mut forward);
        let moved = forward.len().min(options.batch);
        for packet in forward.drain(..moved) {
            match is_data(&packet) {
                true => outcome.data_packets += 1,
                false => outcome.other_packets += 1,
            }
            z.take_packet(now, a.address, packet);
        }
        outcome.messages += deliver(z, &mut buffer)?;
        z.collect(now, &mut back);
        let answered = back.len();
        for packet in back.drain(..) {
            outcome.other_packets += 1;
            a.take_packet(now, z.address, packet);
        }
        a.drain_events()?;
        if moved + answered == 0 {
            let next = [
                a.association()?.poll_timeout(),
                z.association()?.poll_timeout(),
            ];
            let next = next
                .into_iter()
                .flatten()
                .min()
                .context("both ends are stuck")?;
            skipped += next.saturating_duration_since(Instant::now() + skipped);
            outcome.waits += 1;
        }
    }
    Ok(outcome)
}

fn cpu_seconds() -> f64 {
    let t = clock_gettime(ClockId::ThreadCPUTime);
    t.tv_sec as f64 + t.tv_nsec as f64 / 1e9
}

fn main() -> Result<()> {
    let options = Options::parse();
    ensure!(
        options.message > 0 && options.batch > 0,
        "--message and --batch must be at least 1"
    );
    ensure!(options.mtu > 500, "--mtu must be above 500");
    let (mut a, mut z) = set_up(&options)?;
    let begin = cpu_seconds();
    let outcome = transfer(&mut a, &mut z, &options)?;
    let cpu = cpu_seconds() - begin;
    let bytes = outcome.messages * options.message as u64;
    println!(
        "{}",
        serde_json::json!({
            "stack": "sctp-proto",
            "message": options.message,
            "in_flight": options.in_flight,
            "batch": options.batch,
            "bytes": bytes,
            "cpu_seconds": cpu,
            "mb_per_s": bytes as f64 / 1e6 / cpu,
            "ns_per_data_packet": cpu * 1e9 / outcome.data_packets as f64,
            "data_packets": outcome.data_packets,
            "other_packets": outcome.other_packets,
            "waits": outcome.waits,
        })
    );
    Ok(())
}
