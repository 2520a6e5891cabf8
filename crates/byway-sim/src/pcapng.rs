//! Packet captures as pcapng, which Wireshark and tshark read.
//!
//! The format needs three types of blocks, so it is written without a library.
//! Layout: IETF draft "PCAP Next Generation Capture File Format", little-endian. Packets begin with their
//! IP header (LINKTYPE_RAW); times are nanoseconds since 1970.

use std::net::{IpAddr, SocketAddr};

/// SCTP, as a protocol of IP.
pub const PROTOCOL_SCTP: u8 = 132;
/// UDP, as a protocol of IP.
pub const PROTOCOL_UDP: u8 = 17;

/// Bytes of a UDP header.
pub const UDP_HEADER: usize = 8;

const HOP_LIMIT: u8 = 64;

/// Whether an interface took a packet in or sent it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// It came.
    Inbound,
    /// It left.
    Outbound,
}

/// The begin of a file. `comment` is for people; an empty one is left out.
pub fn section(out: &mut Vec<u8>, comment: &str) {
    const COMMENT: u16 = 1;
    const USER_APPLICATION: u16 = 4;
    block(out, 0x0A0D_0D0A, |body| {
        body.extend_from_slice(&0x1A2B_3C4Du32.to_le_bytes());
        body.extend_from_slice(&1u16.to_le_bytes());
        body.extend_from_slice(&0u16.to_le_bytes());
        body.extend_from_slice(&u64::MAX.to_le_bytes()); // section length: not given
        if !comment.is_empty() {
            option(body, COMMENT, cut(comment));
        }
        option(body, USER_APPLICATION, b"byway");
        option(body, END_OF_OPTIONS, b"");
    });
}

/// An interface. Those of a file are numbered from 0, in their order.
pub fn interface(out: &mut Vec<u8>, name: &str) {
    const LINKTYPE_RAW: u16 = 101;
    const NAME: u16 = 2;
    const TIME_RESOLUTION: u16 = 9;
    block(out, 1, |body| {
        body.extend_from_slice(&LINKTYPE_RAW.to_le_bytes());
        body.extend_from_slice(&[0; 2]);
        body.extend_from_slice(&0u32.to_le_bytes()); // no snap length
        option(body, NAME, cut(name));
        option(body, TIME_RESOLUTION, &[9]); // 10^-9 s
        option(body, END_OF_OPTIONS, b"");
    });
}

/// A packet of an interface, which `write` appends from its IP header on. `at`: nanoseconds since 1970.
pub fn packet(
    out: &mut Vec<u8>,
    interface: u32,
    at: u64,
    direction: Option<Direction>,
    write: impl FnOnce(&mut Vec<u8>),
) {
    const FLAGS: u16 = 2;
    block(out, 6, |body| {
        body.extend_from_slice(&interface.to_le_bytes());
        body.extend_from_slice(&((at >> 32) as u32).to_le_bytes());
        body.extend_from_slice(&(at as u32).to_le_bytes());
        let lengths = body.len();
        body.extend_from_slice(&[0; 8]);
        let start = body.len();
        write(body);
        let length = ((body.len() - start) as u32).to_le_bytes();
        body[lengths..lengths + 4].copy_from_slice(&length);
        body[lengths + 4..start].copy_from_slice(&length);
        if let Some(direction) = direction {
            pad(body, start);
            let flags: u32 = match direction {
                Direction::Inbound => 1,
                Direction::Outbound => 2,
            };
            option(body, FLAGS, &flags.to_le_bytes());
            option(body, END_OF_OPTIONS, b"");
        }
    });
}

/// An IP header in front of `length` bytes of a protocol: at most 65,515 over IPv4.
pub fn ip_header(out: &mut Vec<u8>, id: u16, ends: (IpAddr, IpAddr), protocol: u8, length: usize) {
    match ends {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let mut header = [0u8; 20];
            header[0] = 0x45;
            header[2..4].copy_from_slice(&(length as u16).wrapping_add(20).to_be_bytes());
            header[4..6].copy_from_slice(&id.to_be_bytes());
            header[6] = 0x40; // do not fragment
            header[8] = HOP_LIMIT;
            header[9] = protocol;
            header[12..16].copy_from_slice(&src.octets());
            header[16..20].copy_from_slice(&dst.octets());
            let sum = !ones_complement(0, &header);
            header[10..12].copy_from_slice(&sum.to_be_bytes());
            out.extend_from_slice(&header);
        }
        (src, dst) => {
            let mut header = [0u8; 40];
            header[0] = 0x60;
            header[4..6].copy_from_slice(&(length as u16).to_be_bytes());
            header[6] = protocol;
            header[7] = HOP_LIMIT;
            header[8..24].copy_from_slice(&v6_octets(src));
            header[24..40].copy_from_slice(&v6_octets(dst));
            out.extend_from_slice(&header);
        }
    }
}

/// A UDP datagram with its header and checksum.
pub fn udp(out: &mut Vec<u8>, from: SocketAddr, to: SocketAddr, payload: &[u8]) {
    let length = UDP_HEADER + payload.len();
    let mut header = [0u8; UDP_HEADER];
    header[0..2].copy_from_slice(&from.port().to_be_bytes());
    header[2..4].copy_from_slice(&to.port().to_be_bytes());
    header[4..6].copy_from_slice(&(length as u16).to_be_bytes());
    let start = out.len();
    out.extend_from_slice(&header);
    out.extend_from_slice(payload);
    let sum = udp_checksum((from.ip(), to.ip()), &out[start..]);
    out[start + 6..start + 8].copy_from_slice(&sum.to_be_bytes());
}

/// The checksum of a UDP datagram in which it is still zero.
#[must_use]
pub fn udp_checksum(ends: (IpAddr, IpAddr), datagram: &[u8]) -> u16 {
    let pseudo = u32::from(PROTOCOL_UDP) + datagram.len() as u32;
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
    // A sum of zero is written as its other form (RFC 768).
    match !ones_complement(u32::from(sum), datagram) {
        0 => 0xFFFF,
        sum => sum,
    }
}

fn v6_octets(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V6(a) => a.octets(),
        IpAddr::V4(a) => a.to_ipv6_mapped().octets(),
    }
}

/// One's complement sum of 16-bit words (RFC 1071), starting from `sum`.
pub(crate) fn ones_complement(sum: u32, bytes: &[u8]) -> u16 {
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
fn block(out: &mut Vec<u8>, kind: u32, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    write(out);
    pad(out, start);
    let length = ((out.len() - start + 4) as u32).to_le_bytes();
    out[start + 4..start + 8].copy_from_slice(&length);
    out.extend_from_slice(&length);
}

const END_OF_OPTIONS: u16 = 0;

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend_from_slice(&code.to_le_bytes());
    body.extend_from_slice(&(value.len() as u16).to_le_bytes());
    let start = body.len();
    body.extend_from_slice(value);
    pad(body, start);
}

/// Zeros up to a multiple of four bytes after `start`.
fn pad(out: &mut Vec<u8>, start: usize) {
    let length = (out.len() - start).next_multiple_of(4);
    out.resize(start + length, 0);
}

/// At most 1024 bytes of a text.
fn cut(text: &str) -> &[u8] {
    let end = text.floor_char_boundary(1024);
    &text.as_bytes()[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ip_header_sums_to_all_ones() {
        let mut out = Vec::new();
        let ends = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        ip_header(&mut out, 0x1234, ends, PROTOCOL_SCTP, 24);
        assert_eq!(out.len(), 20);
        assert_eq!(ones_complement(0, &out), 0xFFFF);
    }

    #[test]
    fn a_datagram_sums_to_all_ones_with_its_pseudo_header() {
        for ends in [["10.0.0.1:9", "10.0.0.2:7"], ["[fe80::1]:9", "[fe80::2]:7"]] {
            let [from, to]: [SocketAddr; 2] = ends.map(|a| a.parse().unwrap());
            let mut out = Vec::new();
            udp(&mut out, from, to, &[1, 2, 3]);
            let mut pseudo = Vec::new();
            for end in [from.ip(), to.ip()] {
                match end {
                    IpAddr::V4(a) => pseudo.extend_from_slice(&a.octets()),
                    IpAddr::V6(a) => pseudo.extend_from_slice(&a.octets()),
                }
            }
            pseudo.extend_from_slice(&[0, PROTOCOL_UDP, 0, 11]);
            pseudo.extend_from_slice(&out);
            assert_eq!(ones_complement(0, &pseudo), 0xFFFF, "{ends:?}");
        }
    }

    #[test]
    fn blocks_are_padded_and_carry_their_length_twice() {
        for direction in [None, Some(Direction::Outbound)] {
            let mut b = Vec::new();
            packet(&mut b, 1, 0x1_0000_0002, direction, |out| {
                out.extend_from_slice(&[9; 5]);
            });
            assert_eq!(b.len() % 4, 0);
            assert_eq!(b[4..8], b[b.len() - 4..]);
            let length = u32::from_le_bytes([b[4], b[5], b[6], b[7]]);
            assert_eq!(length as usize, b.len());
            assert_eq!(b[8..20], [1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0]);
            assert_eq!(b[20..28], [5, 0, 0, 0, 5, 0, 0, 0]);
        }
    }

    #[test]
    fn a_long_comment_is_cut_between_two_characters() {
        assert_eq!(cut(&"ä".repeat(600)).len(), 1024);
        assert_eq!(cut(&format!("x{}", "ä".repeat(600))).len(), 1023);
    }
}
