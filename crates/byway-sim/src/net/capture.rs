//! Captures of links as one pcapng file.
//!
//! The format needs three types of blocks, so it is written without a library.
//! Layout: IETF draft "PCAP Next Generation Capture File Format", little-endian.

use super::packet::{Content, Packet};
use byway_wire::crc32c::packet_checksum;
use std::io;
use std::net::IpAddr;

/// Which packets of a link are written to the pcapng file.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Capture {
    /// Nothing. The default.
    #[default]
    Off,
    /// Every packet offered to the link, at that time, even if the link then loses it.
    Sent,
    /// Every packet that comes out of the link, at that time.
    Delivered,
}

/// Copies of packets, complete with IP header and checksums.
#[derive(Debug, Default)]
pub(crate) struct CaptureBuffer {
    bytes: Vec<u8>,
    records: Vec<Record>,
}

#[derive(Debug, Clone, Copy)]
struct Record {
    at: u64,
    link: u32,
    start: usize,
    end: usize,
}

const PROTOCOL_SCTP: u8 = 132;
const PROTOCOL_UDP: u8 = 17;
const UDP_HEADER: usize = 8;
const HOP_LIMIT: u8 = 64;
/// The discard service, as the destination port of cross traffic.
const DISCARD_PORT: u16 = 9;

impl CaptureBuffer {
    pub(crate) fn add(&mut self, at: u64, link: u32, packet: &Packet, ends: (IpAddr, IpAddr)) {
        let start = self.bytes.len();
        match packet.content {
            Content::Sctp => {
                let length = packet.payload.len() + packet.tail.len();
                self.ip_header(packet.id, ends, PROTOCOL_SCTP, length);
                let body = self.bytes.len();
                self.bytes.extend_from_slice(&packet.payload);
                self.bytes.extend_from_slice(&packet.tail);
                fill_checksum(&mut self.bytes[body..], packet.corrupted);
            }
            Content::Background => {
                let header = if ends.1.is_ipv4() { 20 } else { 40 };
                let length = (packet.wire_size as usize)
                    .saturating_sub(header)
                    .max(UDP_HEADER);
                self.ip_header(packet.id, ends, PROTOCOL_UDP, length);
                self.udp(packet.meta, ends, length);
            }
        }
        self.records.push(Record {
            at,
            link,
            start,
            end: self.bytes.len(),
        });
    }

    /// Appends an IP header in front of `length` bytes, which are at most 65,495.
    fn ip_header(&mut self, id: u64, ends: (IpAddr, IpAddr), protocol: u8, length: usize) {
        match ends {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                let mut header = [0u8; 20];
                header[0] = 0x45;
                header[2..4].copy_from_slice(&(length as u16 + 20).to_be_bytes());
                header[4..6].copy_from_slice(&(id as u16).to_be_bytes());
                header[6] = 0x40; // do not fragment
                header[8] = HOP_LIMIT;
                header[9] = protocol;
                header[12..16].copy_from_slice(&src.octets());
                header[16..20].copy_from_slice(&dst.octets());
                let sum = !ones_complement(0, &header);
                header[10..12].copy_from_slice(&sum.to_be_bytes());
                self.bytes.extend_from_slice(&header);
            }
            (src, dst) => {
                let mut header = [0u8; 40];
                header[0] = 0x60;
                header[4..6].copy_from_slice(&(length as u16).to_be_bytes());
                header[6] = protocol;
                header[7] = HOP_LIMIT;
                header[8..24].copy_from_slice(&v6_octets(src));
                header[24..40].copy_from_slice(&v6_octets(dst));
                self.bytes.extend_from_slice(&header);
            }
        }
    }

    /// Appends a UDP header and zeros, `length` bytes together.
    fn udp(&mut self, source: u64, ends: (IpAddr, IpAddr), length: usize) {
        let mut header = [0u8; UDP_HEADER];
        // The source's number distinguishes the flows.
        let source_port = 49152 | (source as u16 & 0x3FFF);
        header[0..2].copy_from_slice(&source_port.to_be_bytes());
        header[2..4].copy_from_slice(&DISCARD_PORT.to_be_bytes());
        header[4..6].copy_from_slice(&(length as u16).to_be_bytes());
        let pseudo = u32::from(PROTOCOL_UDP) + length as u32;
        let sum = match ends {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                let sum = ones_complement(pseudo, &src.octets());
                ones_complement(u32::from(sum), &dst.octets())
            }
            (src, dst) => {
                let sum = ones_complement(pseudo, &v6_octets(src));
                ones_complement(u32::from(sum), &v6_octets(dst))
            }
        };
        // The zeros behind the header add nothing. A sum of zero is written as
        // its other form (RFC 768).
        let sum = match !ones_complement(u32::from(sum), &header) {
            0 => 0xFFFF,
            sum => sum,
        };
        header[6..8].copy_from_slice(&sum.to_be_bytes());
        self.bytes.extend_from_slice(&header);
        let end = self.bytes.len() + length - UDP_HEADER;
        self.bytes.resize(end, 0);
    }

    /// Writes the file with all packets up to the time `until`: `links` are the
    /// captured links' numbers and names.
    pub(crate) fn write(
        &self,
        links: &[(u32, String)],
        until: u64,
        out: &mut impl io::Write,
    ) -> io::Result<()> {
        out.write_all(&section_header())?;
        for (_, name) in links {
            out.write_all(&interface(name))?;
        }
        let mut order: Vec<&Record> = self.records.iter().filter(|r| r.at <= until).collect();
        // Stable: packets of one instant on one link stay in their order.
        order.sort_by_key(|r| (r.at, r.link));
        for record in order {
            let number = links
                .binary_search_by_key(&record.link, |(link, _)| *link)
                .map_err(|_| io::Error::other("a packet of a link without capture"))?;
            let bytes = &self.bytes[record.start..record.end];
            out.write_all(&packet_block(number as u32, record.at, bytes))?;
        }
        out.flush()
    }
}

/// Writes the checksum that hosts leave zero in the simulator. A corrupted packet
/// gets one that does not match.
fn fill_checksum(sctp: &mut [u8], corrupted: bool) {
    if sctp.get(8..12) != Some(&[0; 4]) {
        return;
    }
    let mut sum = packet_checksum(sctp);
    if corrupted {
        sum = !sum;
    }
    sctp[8..12].copy_from_slice(&sum.to_le_bytes());
}

fn v6_octets(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V6(a) => a.octets(),
        IpAddr::V4(a) => a.to_ipv6_mapped().octets(),
    }
}

/// One's complement sum of 16-bit words (RFC 1071), starting from `sum`.
fn ones_complement(sum: u32, bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| {
        let low = pair.get(1).copied().unwrap_or(0);
        u32::from(u16::from_be_bytes([pair[0], low]))
    });
    let mut sum = sum + words.sum::<u32>();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    sum as u16
}

/// A block: type, length, body padded to four bytes, length again.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let length = (padded as u32 + 12).to_le_bytes();
    let mut out = Vec::with_capacity(padded + 12);
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&length);
    out.extend_from_slice(body);
    out.resize(8 + padded, 0);
    out.extend_from_slice(&length);
    out
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend_from_slice(&code.to_le_bytes());
    body.extend_from_slice(&(value.len() as u16).to_le_bytes());
    body.extend_from_slice(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

const END_OF_OPTIONS: u16 = 0;

fn section_header() -> Vec<u8> {
    const USER_APPLICATION: u16 = 4;
    let mut body = Vec::new();
    body.extend_from_slice(&0x1A2B_3C4Du32.to_le_bytes());
    body.extend_from_slice(&1u16.to_le_bytes());
    body.extend_from_slice(&0u16.to_le_bytes());
    body.extend_from_slice(&u64::MAX.to_le_bytes()); // section length: not given
    option(&mut body, USER_APPLICATION, b"byway");
    option(&mut body, END_OF_OPTIONS, b"");
    block(0x0A0D_0D0A, &body)
}

fn interface(name: &str) -> Vec<u8> {
    const LINKTYPE_RAW: u16 = 101;
    const NAME: u16 = 2;
    const TIME_RESOLUTION: u16 = 9;
    let name = &name.as_bytes()[..name.len().min(1024)];
    let mut body = Vec::new();
    body.extend_from_slice(&LINKTYPE_RAW.to_le_bytes());
    body.extend_from_slice(&[0; 2]);
    body.extend_from_slice(&0u32.to_le_bytes()); // no snap length
    option(&mut body, NAME, name);
    option(&mut body, TIME_RESOLUTION, &[9]); // 10^-9 s
    option(&mut body, END_OF_OPTIONS, b"");
    block(1, &body)
}

fn packet_block(interface: u32, at: u64, bytes: &[u8]) -> Vec<u8> {
    let length = (bytes.len() as u32).to_le_bytes();
    let mut body = Vec::with_capacity(20 + bytes.len());
    body.extend_from_slice(&interface.to_le_bytes());
    body.extend_from_slice(&((at >> 32) as u32).to_le_bytes());
    body.extend_from_slice(&(at as u32).to_le_bytes());
    body.extend_from_slice(&length);
    body.extend_from_slice(&length);
    body.extend_from_slice(bytes);
    block(6, &body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ip_header_sums_to_all_ones() {
        let mut buffer = CaptureBuffer::default();
        let packet = Packet {
            wire_size: 44,
            meta: 5,
            id: 0x1234,
            content: Content::Background,
            ..Packet::default()
        };
        let ends = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        buffer.add(0, 0, &packet, ends);
        assert_eq!(buffer.bytes.len(), 44);
        assert_eq!(ones_complement(0, &buffer.bytes[..20]), 0xFFFF);
    }

    #[test]
    fn blocks_are_padded_and_carry_their_length_twice() {
        let b = packet_block(1, 0x1_0000_0002, &[9; 5]);
        assert_eq!(b.len() % 4, 0);
        assert_eq!(b[4..8], b[b.len() - 4..]);
        assert_eq!(
            u32::from_le_bytes([b[4], b[5], b[6], b[7]]) as usize,
            b.len()
        );
        assert_eq!(b[12..20], [1, 0, 0, 0, 2, 0, 0, 0]);
    }

    #[test]
    fn checksums_are_filled_in_only_where_missing() {
        let mut good = vec![7u8; 20];
        good[8..12].fill(0);
        fill_checksum(&mut good, false);
        let mut again = good.clone();
        fill_checksum(&mut again, true);
        assert_eq!(good, again, "an existing checksum stays");
        assert_eq!(good[8..12], packet_checksum(&good).to_le_bytes());
    }
}
