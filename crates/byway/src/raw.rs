//! Raw sockets: SCTP directly over IP (protocol 132).
//!
//! A raw socket gets every SCTP packet to its address. A filter in the kernel (classic BPF) lets
//! through what is for its SCTP port, so that the endpoints of a host do not wake each other. With
//! IPv4 the IP header comes with the packet, with IPv6 it does not.

use quinn_udp::{UdpSockRef, UdpSocketState};
use socket2::{Domain, Protocol, SockAddr, SockFilter, Socket, Type};
use std::io;
use std::net::SocketAddr;

/// SCTP (IANA).
pub(crate) const SCTP: u8 = 132;

/// Instructions of classic BPF (linux/filter.h).
pub(crate) mod bpf {
    use socket2::SockFilter;

    /// X = four times the low half of the byte at `k`: the length of the IPv4 header at 0.
    pub(crate) const fn skip_ipv4_header() -> SockFilter {
        SockFilter::new(0xb1, 0, 0, 0)
    }

    /// X = 0.
    pub(crate) const fn skip_nothing() -> SockFilter {
        SockFilter::new(0x01, 0, 0, 0)
    }

    /// A = the byte at X + `k`. A packet that is too short for it is dropped.
    pub(crate) const fn byte(k: u32) -> SockFilter {
        SockFilter::new(0x50, 0, 0, k)
    }

    /// A = the two bytes at X + `k`.
    pub(crate) const fn half(k: u32) -> SockFilter {
        SockFilter::new(0x48, 0, 0, k)
    }

    /// Skips so many instructions if A is `k`, or else so many.
    pub(crate) const fn if_equal(k: u32, then: u8, or_else: u8) -> SockFilter {
        SockFilter::new(0x15, then, or_else, k)
    }

    /// The whole packet passes.
    pub(crate) const fn pass() -> SockFilter {
        SockFilter::new(0x06, 0, 0, u32::MAX)
    }

    /// The packet is dropped.
    pub(crate) const fn drop() -> SockFilter {
        SockFilter::new(0x06, 0, 0, 0)
    }

    /// The begin of a filter: X is where the payload of IP begins.
    pub(crate) const fn payload(v4: bool) -> SockFilter {
        if v4 {
            skip_ipv4_header()
        } else {
            skip_nothing()
        }
    }
}

/// Packets to this SCTP port.
fn to_port(v4: bool, port: u16) -> [SockFilter; 5] {
    [
        bpf::payload(v4),
        bpf::half(2),
        bpf::if_equal(port as u32, 0, 1),
        bpf::pass(),
        bpf::drop(),
    ]
}

/// A raw socket of this protocol, bound to the address of `local`; its port does not matter.
/// `filter` is attached before it is bound.
pub(crate) fn bound(
    local: SocketAddr,
    protocol: u8,
    filter: &[SockFilter],
) -> io::Result<std::net::UdpSocket> {
    let raw = opened(local, protocol, filter)?;
    bind(raw, local)
}

fn opened(local: SocketAddr, protocol: u8, filter: &[SockFilter]) -> io::Result<Socket> {
    let protocol = Protocol::from(i32::from(protocol));
    let raw = Socket::new(Domain::for_address(local), Type::RAW, Some(protocol))?;
    raw.attach_filter(filter)?;
    if local.is_ipv6() {
        // Packets to ff02::1 and the like come to raw IPv6 sockets of every address, and a peer is one
        // host (RFC 9260 section 8.4, rule 1). Linux before 4.20 has no such option.
        let _ = raw.set_multicast_all_v6(false);
    }
    Ok(raw)
}

fn bind(raw: Socket, local: SocketAddr) -> io::Result<std::net::UdpSocket> {
    let mut address = local;
    address.set_port(0);
    raw.bind(&SockAddr::from(address))?;
    raw.set_nonblocking(true)?;
    // The type says UDP. Its calls are those of any socket that sends and receives datagrams.
    Ok(std::net::UdpSocket::from(raw))
}

/// A raw socket for what comes to this address and SCTP port. Its packets leave with Don't
/// Fragment.
pub(crate) fn sctp(
    local: SocketAddr,
    port: u16,
) -> io::Result<(std::net::UdpSocket, UdpSocketState)> {
    let socket = bound(local, SCTP, &to_port(local.is_ipv4(), port))?;
    let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
    Ok((socket, state))
}

/// A raw socket that takes no packet, so that the buffer of this one is never full. Linux answers
/// a packet for which all raw sockets are full (6.18 does, in `raw_v4_input`) with
/// ICMP "Protocol Unreachable", which is to end the association (RFC 9260 section 10, ICMP8).
pub(crate) fn never_full(local: SocketAddr) -> io::Result<std::net::UdpSocket> {
    bound(local, SCTP, &[bpf::drop()])
}

/// A raw socket whose packets leave by this card, with Don't Fragment. It takes none: what comes by
/// any card comes to the socket of the address.
pub(crate) fn by_card(
    local: SocketAddr,
    card: &str,
) -> io::Result<(std::net::UdpSocket, UdpSocketState)> {
    let raw = opened(local, SCTP, &[bpf::drop()])?;
    raw.bind_device(Some(card.as_bytes()))?;
    let socket = bind(raw, local)?;
    let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
    Ok((socket, state))
}

/// The SCTP packet in what a raw socket received; none if it is for another port. Such a one may
/// have come before the filter was attached.
pub(crate) fn packet(v4: bool, port: u16, received: &[u8]) -> Option<&[u8]> {
    let packet = if v4 {
        received.get(ipv4_header_len(received)?..)?
    } else {
        received
    };
    (packet.get(2..4)? == port.to_be_bytes()).then_some(packet)
}

/// The length of the IPv4 header with which these bytes begin.
pub(crate) fn ipv4_header_len(bytes: &[u8]) -> Option<usize> {
    let first = *bytes.first()?;
    let len = usize::from(first & 0x0f) * 4;
    (first >> 4 == 4 && len >= 20).then_some(len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skipped::skipped;
    use std::io::ErrorKind;

    /// How many of 1000 packets of 1000 bytes to a socket with a small buffer are answered with
    /// ICMP "Protocol Unreachable"; none if this process may not open raw sockets.
    fn refused(host: u8, guarded: bool) -> Option<usize> {
        let ip = |last| SocketAddr::from(([127, 0, host, last], 0));
        let open = |local, filter: &[SockFilter]| match bound(local, SCTP, filter) {
            Err(e) if e.kind() == ErrorKind::PermissionDenied => None,
            other => Some(other.unwrap()),
        };
        let full = open(ip(2), &to_port(true, 5001))?;
        socket2::SockRef::from(&full)
            .set_recv_buffer_size(4096)
            .unwrap();
        let _never_full = guarded.then(|| never_full(ip(2)).unwrap());
        let sender = open(ip(1), &[bpf::drop()])?;
        let icmp = bound(ip(1), 1, &[bpf::pass()]).unwrap();
        let mut packet = vec![0; 1000];
        packet[2..4].copy_from_slice(&5001_u16.to_be_bytes());
        for _ in 0..1000 {
            // "Connection refused" is what ICMP said of an earlier one.
            let _ = sender.send_to(&packet, ip(2));
        }
        let (mut room, mut told) = ([0; 2048], 0);
        while let Ok(len) = icmp.recv(&mut room) {
            told += usize::from(len > 22 && room[20..22] == [3, 2]);
        }
        Some(told)
    }

    #[test]
    fn a_full_socket_is_not_taken_for_a_host_without_sctp() {
        let Some(told) = refused(91, true) else {
            skipped("no CAP_NET_RAW");
            return;
        };
        assert_eq!(told, 0);
        // Older kernels say nothing in either case.
        println!(
            "without the second socket: {:?} of 1000",
            refused(92, false)
        );
    }

    /// The packets to port 5003 in the buffer of a socket. Beside them may be any that came before its
    /// filter was attached.
    fn took(socket: &std::net::UdpSocket, local: SocketAddr) -> Vec<Vec<u8>> {
        let (mut room, mut packets) = ([0; 2048], Vec::new());
        loop {
            match socket.recv(&mut room) {
                Ok(len) => {
                    let for_5003 = packet(local.is_ipv4(), 5003, &room[..len]);
                    packets.extend(for_5003.map(<[u8]>::to_vec));
                }
                Err(e) => {
                    assert_eq!(e.kind(), ErrorKind::WouldBlock);
                    return packets;
                }
            }
        }
    }

    #[test]
    fn a_socket_of_a_card_sends_and_takes_nothing() {
        for here in ["127.0.93.1:0", "[::1]:0"] {
            let here: SocketAddr = here.parse().unwrap();
            let to = match sctp(here, 5003) {
                Ok((to, _)) => to,
                Err(e) if e.kind() == ErrorKind::PermissionDenied => {
                    skipped("no CAP_NET_RAW");
                    return;
                }
                Err(e) => {
                    skipped(&format!("{here}: {e}"));
                    continue;
                }
            };
            let (from, _) = by_card(here, "lo").unwrap();
            let packet = [0, 9, 0x13, 0x8b, 1, 2, 3, 4];
            from.send_to(&packet, here).unwrap();
            assert_eq!(took(&to, here), [packet], "{here}");
            assert!(took(&from, here).is_empty(), "{here}");
            assert!(by_card(here, "no-such-card").is_err());
        }
    }

    #[test]
    fn a_packet_is_found_behind_the_header_of_ipv4() {
        let sctp = [0x0f, 0xa0, 0x13, 0x89, 1, 2, 3, 4];
        let with = |header: &[u8]| [header, &sctp].concat();
        let mut plain = vec![0; 20];
        plain[0] = 0x45;
        let mut options = vec![0; 24];
        options[0] = 0x46;
        assert_eq!(packet(true, 5001, &with(&plain)), Some(&sctp[..]));
        assert_eq!(packet(true, 5001, &with(&options)), Some(&sctp[..]));
        assert_eq!(packet(false, 5001, &sctp), Some(&sctp[..]));
        assert_eq!(packet(true, 5002, &with(&plain)), None, "another port");
        assert_eq!(packet(false, 5002, &sctp), None, "another port");
        for (what, bytes) in [
            ("nothing", &[][..]),
            ("a header alone", &plain),
            ("half a port", &with(&plain)[..23]),
            ("no IPv4", &[0x60; 40]),
            ("a header of 4 bytes", &[0x41; 40]),
            ("a header beyond the end", &[0x4f; 40]),
        ] {
            assert_eq!(packet(true, 5001, bytes), None, "{what}");
        }
        assert_eq!(packet(false, 5001, &sctp[..3]), None);
    }
}
