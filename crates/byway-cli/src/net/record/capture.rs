//! `--pcap`: the packets of this side, as pcapng.

use super::writer::{Sink, Writer, Written};
use crate::failure::Failure;
use byway::Passing;
use byway_sim::pcapng::{self, Direction, PROTOCOL_SCTP, PROTOCOL_UDP, UDP_HEADER};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// What a packet takes beside its bytes.
const OVERHEAD: usize = size_of::<Packet>() + 32;

/// A copy of a packet.
struct Packet {
    /// Nanoseconds since 1970.
    at: u64,
    sent: bool,
    udp: bool,
    local: SocketAddr,
    remote: SocketAddr,
    bytes: Box<[u8]>,
}

/// A capture under way.
#[derive(Debug)]
pub(super) struct Capture(Writer<Packet>);

impl Capture {
    /// Begins a file, in place of one that is there.
    pub(super) fn begin(path: &Path, command: &str) -> Result<Capture, Failure> {
        let mut head = Vec::new();
        pcapng::section(
            &mut head,
            &format!(
                "{command}: the packets of one side, as its sockets sent and took them. The IP and UDP headers are \
                 made anew: TTL, DSCP, ECN and identification are not those of the wire."
            ),
        );
        let mut encoder = Encoder::default();
        let sink = Sink::file("--pcap", path, false)?;
        let writer = Writer::start(sink, &head, move |packet, out| encoder.add(&packet, out))?;
        Ok(Capture(writer))
    }

    /// Takes a packet.
    pub(super) fn packet(&self, passing: &Passing<'_>) {
        let bytes = passing.packet.len() + OVERHEAD;
        if self.0.is_full(bytes) {
            return;
        }
        let at = SystemTime::now().duration_since(UNIX_EPOCH);
        let packet = Packet {
            at: at.map_or(0, |at| at.as_nanos() as u64),
            sent: passing.sent,
            udp: passing.udp,
            local: passing.local,
            remote: passing.remote,
            bytes: passing.packet.into(),
        };
        self.0.give(packet, bytes);
    }

    pub(super) fn finish(&self) -> Option<Written> {
        self.0.finish()
    }
}

/// Each local address is an interface.
#[derive(Default)]
struct Encoder {
    interfaces: Vec<IpAddr>,
    packets: u16,
}

impl Encoder {
    fn add(&mut self, packet: &Packet, out: &mut Vec<u8>) {
        let local = packet.local.ip();
        let known = self.interfaces.iter().position(|ip| *ip == local);
        let interface = known.unwrap_or_else(|| {
            pcapng::interface(out, &local.to_string());
            self.interfaces.push(local);
            self.interfaces.len() - 1
        });
        self.packets = self.packets.wrapping_add(1);
        let (direction, from, to) = match packet.sent {
            true => (Direction::Outbound, packet.local, packet.remote),
            false => (Direction::Inbound, packet.remote, packet.local),
        };
        let ends = (from.ip(), to.ip());
        pcapng::packet(out, interface as u32, packet.at, Some(direction), |out| {
            if packet.udp {
                let length = UDP_HEADER + packet.bytes.len();
                pcapng::ip_header(out, self.packets, ends, PROTOCOL_UDP, length);
                pcapng::udp(out, from, to, &packet.bytes);
            } else {
                pcapng::ip_header(out, self.packets, ends, PROTOCOL_SCTP, packet.bytes.len());
                out.extend_from_slice(&packet.bytes);
            }
        });
    }
}
