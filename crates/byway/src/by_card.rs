//! Sends by a certain card.
//!
//! quinn-udp does not name the interface of a packet. The control message IP_PKTINFO does, and
//! needs no privilege. Unlike SO_BINDTODEVICE it changes nothing for what is received: a packet to
//! one address may come by the card of another. IPv6 obeys it only where routes have one metric, so
//! there a socket of the card sends ([`Socket::poll_send`](crate::socket::Socket::poll_send)).

use nix::errno::Errno;
use nix::libc::{in_addr, in_pktinfo, in6_addr, in6_pktinfo};
use nix::sys::socket::{ControlMessage, MsgFlags, SockaddrStorage, sendmsg};
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, RawFd};

/// Sends datagrams of `segment` bytes, the last one perhaps shorter, with one call by this card.
pub(crate) fn send(
    socket: &impl AsRawFd,
    card: u32,
    destination: SocketAddr,
    (segment, contents): (usize, &[u8]),
) -> io::Result<()> {
    let to = SockaddrStorage::from(destination);
    let bytes = [IoSlice::new(contents)];
    let segment = u16::try_from(segment)
        .ok()
        .filter(|_| contents.len() > segment);
    let fd = socket.as_raw_fd();
    match destination {
        SocketAddr::V4(_) => {
            let info = in_pktinfo {
                ipi_ifindex: i32::try_from(card).map_err(|_| io::ErrorKind::InvalidInput)?,
                ipi_spec_dst: in_addr { s_addr: 0 },
                ipi_addr: in_addr { s_addr: 0 },
            };
            let card = ControlMessage::Ipv4PacketInfo(&info);
            send_with(fd, &bytes, card, segment.as_ref(), &to)
        }
        SocketAddr::V6(_) => {
            let info = in6_pktinfo {
                ipi6_addr: in6_addr { s6_addr: [0; 16] },
                ipi6_ifindex: card,
            };
            let card = ControlMessage::Ipv6PacketInfo(&info);
            send_with(fd, &bytes, card, segment.as_ref(), &to)
        }
    }
}

fn send_with(
    fd: RawFd,
    bytes: &[IoSlice<'_>],
    card: ControlMessage<'_>,
    segment: Option<&u16>,
    to: &SockaddrStorage,
) -> io::Result<()> {
    let both: [ControlMessage<'_>; 2];
    let alone: [ControlMessage<'_>; 1];
    let control: &[ControlMessage<'_>] = match segment {
        Some(segment) => {
            both = [card, ControlMessage::UdpGsoSegments(segment)];
            &both
        }
        None => {
            alone = [card];
            &alone
        }
    };
    loop {
        match sendmsg(fd, bytes, control, MsgFlags::empty(), Some(to)) {
            Ok(_) => return Ok(()),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn a_packet_leaves_by_the_card_that_is_named() {
        let loopback = if_addrs::get_if_addrs()
            .unwrap()
            .into_iter()
            .find(|c| c.is_loopback())
            .and_then(|c| c.index)
            .unwrap();
        for here in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(to) = UdpSocket::bind(here) else {
                crate::skipped::skipped("::1, this machine has no IPv6");
                continue;
            };
            let from = UdpSocket::bind(here).unwrap();
            let address = to.local_addr().unwrap();
            send(&from, loopback, address, (3, b"abcdef")).unwrap();
            let mut got = [0; 16];
            assert_eq!(to.recv(&mut got).unwrap(), 3, "{here}");
            assert_eq!(to.recv(&mut got).unwrap(), 3, "{here}");
            // A card that does not exist sends nothing.
            assert!(send(&from, 99_999, address, (3, b"abc")).is_err());
        }
    }
}
