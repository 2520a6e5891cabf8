//! ICMP messages about packets that left without UDP (RFC 9260 section 10).
//!
//! A raw ICMP socket gets the whole message with the packet that it quotes, so nothing but plain
//! reads is needed. A filter in the kernel lets through messages about SCTP packets alone. What
//! they say is the core's to judge: it compares the quoted verification tag.

use crate::raw::{self, bpf};
use byway_core::IcmpMessage;
use socket2::SockFilter;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::task::{Context, Poll};
use tokio::io::ReadBuf;
use tokio::net::UdpSocket;

const ICMP: u8 = 1;
const ICMPV6: u8 = 58;

/// Destination Unreachable of IPv4 (RFC 792).
const V4_UNREACHABLE: u8 = 3;
/// Destination Unreachable, Packet Too Big and Parameter Problem of IPv6 (RFC 4443).
const V6_UNREACHABLE: u8 = 1;
const V6_TOO_BIG: u8 = 2;
const V6_PARAMETER_PROBLEM: u8 = 4;

/// Messages that are read at once. A flood of them must not keep the driver.
const AT_ONCE: usize = 16;

/// The ICMP messages to one local address.
#[derive(Debug)]
pub(crate) struct IcmpSocket {
    io: UdpSocket,
    local: SocketAddr,
}

/// What an ICMP message says of a packet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Told<'a> {
    /// Where the packet went.
    pub(crate) destination: SocketAddr,
    /// The first bytes of it, from the SCTP header on; at least 8.
    pub(crate) quoted: &'a [u8],
    pub(crate) message: IcmpMessage,
}

impl IcmpSocket {
    pub(crate) fn bind(local: SocketAddr) -> io::Result<IcmpSocket> {
        let socket = if local.is_ipv4() {
            raw::bound(local, ICMP, &ABOUT_SCTP_V4)?
        } else {
            raw::bound(local, ICMPV6, &ABOUT_SCTP_V6)?
        };
        Ok(IcmpSocket {
            io: UdpSocket::from_std(socket)?,
            local,
        })
    }

    /// Passes a few messages that have come to `told`, and wakes the task when more come.
    /// Returns whether there were any.
    pub(crate) fn receive(
        &self,
        cx: &mut Context<'_>,
        mut told: impl FnMut(Told<'_>),
    ) -> io::Result<bool> {
        // The longest message of IPv6 is 1280 bytes (RFC 4443 section 2.4).
        let mut room = [0; 2048];
        for read in 0..AT_ONCE {
            let mut buffer = ReadBuf::new(&mut room);
            match self.io.poll_recv(cx, &mut buffer) {
                Poll::Pending => return Ok(read > 0),
                Poll::Ready(Err(e)) => return Err(e),
                Poll::Ready(Ok(())) => {
                    if let Some(said) = read_message(self.local, buffer.filled()) {
                        told(said);
                    }
                }
            }
        }
        Ok(true)
    }
}

/// Messages of IPv4 that quote an SCTP packet. Its IP header begins 8 bytes behind the type.
const ABOUT_SCTP_V4: [SockFilter; 7] = [
    bpf::payload(true),
    bpf::byte(0),
    bpf::if_equal(V4_UNREACHABLE as u32, 0, 3),
    bpf::byte(8 + 9),
    bpf::if_equal(raw::SCTP as u32, 0, 1),
    bpf::pass(),
    bpf::drop(),
];

/// The same of IPv6.
const ABOUT_SCTP_V6: [SockFilter; 9] = [
    bpf::payload(false),
    bpf::byte(0),
    bpf::if_equal(V6_UNREACHABLE as u32, 2, 0),
    bpf::if_equal(V6_TOO_BIG as u32, 1, 0),
    bpf::if_equal(V6_PARAMETER_PROBLEM as u32, 0, 3),
    bpf::byte(8 + 6),
    bpf::if_equal(raw::SCTP as u32, 0, 1),
    bpf::pass(),
    bpf::drop(),
];

/// What a message says; none if it is not about a packet from `local`, or to be ignored.
fn read_message(local: SocketAddr, bytes: &[u8]) -> Option<Told<'_>> {
    if local.is_ipv4() {
        read_v4(local, bytes)
    } else {
        read_v6(local, bytes)
    }
}

fn read_v4(local: SocketAddr, bytes: &[u8]) -> Option<Told<'_>> {
    let icmp = bytes.get(raw::ipv4_header_len(bytes)?..)?;
    let ip = icmp.get(8..)?;
    let quoted = ip.get(raw::ipv4_header_len(ip)?..)?;
    // Only the first fragment has an SCTP header.
    let fragment = u16::from_be_bytes([ip[6], ip[7]]) & 0x1fff;
    let address = |at: usize| -> Option<IpAddr> {
        let octets: [u8; 4] = ip.get(at..at + 4)?.try_into().ok()?;
        Some(Ipv4Addr::from(octets).into())
    };
    let ours = ip[9] == raw::SCTP && fragment == 0 && address(12)? == local.ip();
    let mtu = u32::from(u16::from_be_bytes([icmp[6], icmp[7]]));
    let message = meaning_v4(icmp[0], icmp[1], mtu)?;
    (ours && quoted.len() >= 8).then_some(Told {
        destination: SocketAddr::new(address(16)?, 0),
        quoted,
        message,
    })
}

fn read_v6(local: SocketAddr, icmp: &[u8]) -> Option<Told<'_>> {
    let ip = icmp.get(8..)?;
    let quoted = ip.get(40..)?;
    let address = |at: usize| -> Option<Ipv6Addr> {
        let octets: [u8; 16] = ip.get(at..at + 16)?.try_into().ok()?;
        Some(Ipv6Addr::from(octets))
    };
    let ours = ip[0] >> 4 == 6 && ip[6] == raw::SCTP && address(8)? == local.ip();
    let mtu = u32::from_be_bytes(icmp.get(4..8)?.try_into().ok()?);
    let message = meaning_v6(icmp[0], icmp[1], mtu)?;
    let mut destination = SocketAddr::new(address(24)?.into(), 0);
    // A link-local address belongs to the card of its source.
    if let (SocketAddr::V6(to), SocketAddr::V6(from)) = (&mut destination, local)
        && to.ip().is_unicast_link_local()
    {
        to.set_scope_id(from.scope_id());
    }
    (ours && quoted.len() >= 8).then_some(Told {
        destination,
        quoted,
        message,
    })
}

/// What type and code of IPv4 say. "Port Unreachable" says nothing (ICMP3 of the section), and an
/// MTU of 0 comes from routers before RFC 1191.
fn meaning_v4(kind: u8, code: u8, mtu: u32) -> Option<IcmpMessage> {
    match (kind, code) {
        (V4_UNREACHABLE, 2) => Some(IcmpMessage::ProtocolUnreachable),
        (V4_UNREACHABLE, 4) if mtu > 0 => Some(IcmpMessage::TooBig { mtu }),
        (V4_UNREACHABLE, 3 | 4) => None,
        (V4_UNREACHABLE, 0..=15) => Some(IcmpMessage::Unreachable),
        _ => None,
    }
}

/// The same of IPv6.
fn meaning_v6(kind: u8, code: u8, mtu: u32) -> Option<IcmpMessage> {
    match (kind, code) {
        (V6_PARAMETER_PROBLEM, 1) => Some(IcmpMessage::ProtocolUnreachable),
        (V6_TOO_BIG, _) => Some(IcmpMessage::TooBig { mtu }),
        (V6_UNREACHABLE, 4) => None,
        (V6_UNREACHABLE, 0..=8) => Some(IcmpMessage::Unreachable),
        _ => None,
    }
}

/// What type and code of IPv4 say of a packet in UDP.
pub(crate) fn meaning_in_udp_v4(kind: u8, code: u8, mtu: u32) -> Option<IcmpMessage> {
    match (kind, code) {
        (V4_UNREACHABLE, 3) => Some(IcmpMessage::PortUnreachable),
        // The host has no UDP at all.
        (V4_UNREACHABLE, 2) => Some(IcmpMessage::Unreachable),
        _ => meaning_v4(kind, code, mtu),
    }
}

/// The same of IPv6.
pub(crate) fn meaning_in_udp_v6(kind: u8, code: u8, mtu: u32) -> Option<IcmpMessage> {
    match (kind, code) {
        (V6_UNREACHABLE, 4) => Some(IcmpMessage::PortUnreachable),
        (V6_PARAMETER_PROBLEM, _) => None,
        _ => meaning_v6(kind, code, mtu),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCTP: [u8; 8] = [0x0f, 0xa0, 0x13, 0x89, 1, 2, 3, 4];

    /// A message of IPv4 about a packet from 10.0.0.1 to 10.0.0.2.
    fn v4(kind: u8, code: u8, mtu: u16, protocol: u8, quoted: &[u8]) -> Vec<u8> {
        let mut ip = vec![0; 20];
        ip[0] = 0x45;
        let mut icmp = vec![kind, code, 0, 0, 0, 0];
        icmp.extend(mtu.to_be_bytes());
        let mut inner = ip.clone();
        inner[9] = protocol;
        inner[12..16].copy_from_slice(&[10, 0, 0, 1]);
        inner[16..20].copy_from_slice(&[10, 0, 0, 2]);
        [&ip, &icmp, &inner, quoted].concat()
    }

    /// A message of IPv6 about a packet from fe80::1 to fe80::2.
    fn v6(kind: u8, code: u8, mtu: u32, next_header: u8, quoted: &[u8]) -> Vec<u8> {
        let mut icmp = vec![kind, code, 0, 0];
        icmp.extend(mtu.to_be_bytes());
        let mut inner = vec![0; 40];
        inner[0] = 0x60;
        inner[6] = next_header;
        for (at, last) in [(8, 1), (24, 2)] {
            inner[at..at + 2].copy_from_slice(&[0xfe, 0x80]);
            inner[at + 15] = last;
        }
        [&icmp, &inner, quoted].concat()
    }

    #[test]
    fn what_section_10_says_of_each_type_and_code() {
        use IcmpMessage::{ProtocolUnreachable, TooBig, Unreachable};
        let local4 = "10.0.0.1:0".parse().unwrap();
        for (kind, code, mtu, expected) in [
            (3, 0, 0, Some(Unreachable)),
            (3, 1, 0, Some(Unreachable)),
            (3, 2, 0, Some(ProtocolUnreachable)),
            (3, 3, 0, None),
            (3, 4, 1400, Some(TooBig { mtu: 1400 })),
            (3, 4, 0, None),
            (3, 13, 0, Some(Unreachable)),
            (3, 16, 0, None),
            (11, 0, 0, None), // Time Exceeded
            (8, 0, 0, None),  // Echo
        ] {
            let bytes = v4(kind, code, mtu, 132, &SCTP);
            let told = read_message(local4, &bytes);
            assert_eq!(told.as_ref().map(|t| t.message), expected, "{kind}/{code}");
            if let Some(told) = told {
                assert_eq!(told.destination, "10.0.0.2:0".parse().unwrap());
                assert_eq!(told.quoted, SCTP);
            }
        }
        let local6 = "[fe80::1%3]:0".parse().unwrap();
        for (kind, code, mtu, expected) in [
            (1, 0, 0, Some(Unreachable)),
            (1, 3, 0, Some(Unreachable)),
            (1, 4, 0, None),
            (2, 0, 1280, Some(TooBig { mtu: 1280 })),
            (4, 0, 0, None),
            (4, 1, 40, Some(ProtocolUnreachable)),
            (4, 2, 0, None),
            (128, 0, 0, None), // Echo
        ] {
            let bytes = v6(kind, code, mtu, 132, &SCTP);
            let told = read_message(local6, &bytes);
            assert_eq!(told.as_ref().map(|t| t.message), expected, "{kind}/{code}");
            if let Some(told) = told {
                assert_eq!(told.destination, "[fe80::2%3]:0".parse().unwrap());
                assert_eq!(told.quoted, SCTP);
            }
        }
    }

    #[test]
    fn what_is_not_about_a_packet_of_ours_says_nothing() {
        let local4 = "10.0.0.1:0".parse().unwrap();
        let local6 = "[fe80::1]:0".parse().unwrap();
        assert_eq!(read_message(local4, &v4(3, 1, 0, 17, &SCTP)), None, "UDP");
        assert_eq!(read_message(local6, &v6(1, 0, 0, 17, &SCTP)), None, "UDP");
        let other4 = "10.0.0.9:0".parse().unwrap();
        assert_eq!(read_message(other4, &v4(3, 1, 0, 132, &SCTP)), None);
        let other6 = "[fe80::9]:0".parse().unwrap();
        assert_eq!(read_message(other6, &v6(1, 0, 0, 132, &SCTP)), None);
        let mut later = v4(3, 1, 0, 132, &SCTP);
        later[28 + 7] = 1;
        assert_eq!(read_message(local4, &later), None, "a later fragment");
        // Cut anywhere, nothing is read that is not there.
        let (whole4, whole6) = (v4(3, 1, 0, 132, &SCTP), v6(1, 0, 0, 132, &SCTP));
        for len in 0..whole4.len() {
            assert_eq!(read_message(local4, &whole4[..len]), None, "{len}");
        }
        for len in 0..whole6.len() {
            assert_eq!(read_message(local6, &whole6[..len]), None, "{len}");
        }
    }
}
