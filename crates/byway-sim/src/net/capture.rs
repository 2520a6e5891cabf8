//! Captures of links as one pcapng file.

use super::packet::{Content, Packet};
use crate::pcapng::{self, PROTOCOL_SCTP, PROTOCOL_UDP, UDP_HEADER};
use byway_wire::crc32c::packet_checksum;
use std::io;
use std::net::{IpAddr, SocketAddr};

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

/// The discard service, as the destination port of cross traffic.
const DISCARD_PORT: u16 = 9;

impl CaptureBuffer {
    pub(crate) fn add(&mut self, at: u64, link: u32, packet: &Packet, ends: (IpAddr, IpAddr)) {
        let start = self.bytes.len();
        match packet.content {
            Content::Sctp => {
                let length = packet.payload.len() + packet.tail.len();
                pcapng::ip_header(
                    &mut self.bytes,
                    packet.id as u16,
                    ends,
                    PROTOCOL_SCTP,
                    length,
                );
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
                pcapng::ip_header(
                    &mut self.bytes,
                    packet.id as u16,
                    ends,
                    PROTOCOL_UDP,
                    length,
                );
                // The source's number distinguishes the flows.
                let from = SocketAddr::new(ends.0, 49152 | (packet.meta as u16 & 0x3FFF));
                let to = SocketAddr::new(ends.1, DISCARD_PORT);
                let zeros = vec![0; length - UDP_HEADER];
                pcapng::udp(&mut self.bytes, from, to, &zeros);
            }
        }
        self.records.push(Record {
            at,
            link,
            start,
            end: self.bytes.len(),
        });
    }

    /// Writes the file with all packets up to the time `until`: `links` are the
    /// captured links' numbers and names.
    pub(crate) fn write(
        &self,
        links: &[(u32, String)],
        until: u64,
        out: &mut impl io::Write,
    ) -> io::Result<()> {
        let mut head = Vec::new();
        pcapng::section(&mut head, "");
        for (_, name) in links {
            pcapng::interface(&mut head, name);
        }
        out.write_all(&head)?;
        let mut order: Vec<&Record> = self.records.iter().filter(|r| r.at <= until).collect();
        // Stable: packets of one instant on one link stay in their order.
        order.sort_by_key(|r| (r.at, r.link));
        let mut block = Vec::new();
        for record in order {
            let number = links
                .binary_search_by_key(&record.link, |(link, _)| *link)
                .map_err(|_| io::Error::other("a packet of a link without capture"))?;
            let bytes = &self.bytes[record.start..record.end];
            block.clear();
            pcapng::packet(&mut block, number as u32, record.at, None, |out| {
                out.extend_from_slice(bytes);
            });
            out.write_all(&block)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cross_traffic_is_captured_with_its_length() {
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
