//! What the kernel answers about routes and interfaces (rtnetlink(7)).
//!
//! The kernel answers while the question is sent, so the calls do not wait. They need no
//! privilege.

use netlink_packet_core::{
    NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::link::{InfoKind, LinkAttribute, LinkInfo, LinkMessage};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteMessage, RouteMetric, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily as Family, SocketFlags, SocketType};
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// Room for an answer; the kernel fills at most 32 KiB at once.
const ROOM: usize = 32 << 10;

/// No answer takes so long.
const PATIENCE: Duration = Duration::from_millis(500);

/// A socket for questions to the kernel.
#[derive(Debug)]
pub(crate) struct Netlink {
    fd: OwnedFd,
    sequence: u32,
    room: Box<[u8]>,
}

/// A route of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// Its interfaces; several if it spreads packets.
    pub(crate) cards: Vec<u32>,
    /// How specific it is: the length of its prefix.
    pub(crate) prefix: u8,
    /// The largest packet, if the route itself bounds it.
    pub(crate) mtu: Option<u32>,
    /// Whether it leads to an address of this host.
    pub(crate) is_local: bool,
}

/// An interface.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) index: u32,
    pub(crate) mtu: u32,
    /// A bridge in software, such as those of containers and virtual machines.
    pub(crate) is_bridge: bool,
}

impl Netlink {
    /// Opens a socket for questions.
    pub(crate) fn open() -> io::Result<Netlink> {
        let fd = rustix::net::socket_with(
            Family::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            None, // NETLINK_ROUTE is 0
        )?;
        set_socket_timeout(&fd, Timeout::Recv, Some(PATIENCE))?;
        Ok(Netlink {
            fd,
            sequence: 0,
            room: vec![0; ROOM].into_boxed_slice(),
        })
    }

    /// The route of packets from an address of this host to `to`, as the kernel chooses it, or by
    /// one interface. An error if there is none: then the kernel might still send, as if `to`
    /// were its neighbour. With an address of IPv6 in `from` the interface is only a wish.
    pub(crate) fn route(
        &mut self,
        from: Option<IpAddr>,
        to: IpAddr,
        card: Option<u32>,
    ) -> io::Result<Route> {
        let bits = if to.is_ipv4() { 32 } else { 128 };
        let mut question = RouteMessage::default();
        question.header.address_family = family(to);
        question.header.destination_prefix_length = bits;
        question.header.source_prefix_length = from.map_or(0, |_| bits);
        question.header.flags = RouteFlags::FibMatch;
        let address = RouteAddress::from;
        question.attributes = vec![RouteAttribute::Destination(address(to))];
        let from = from.map(|from| RouteAttribute::Source(address(from)));
        question.attributes.extend(from);
        question.attributes.extend(card.map(RouteAttribute::Oif));
        let mut found = None;
        self.ask(RouteNetlinkMessage::GetRoute(question), 0, |answer| {
            if let RouteNetlinkMessage::NewRoute(route) = answer {
                found = read_route(&route);
            }
        })?;
        found.ok_or_else(|| io::ErrorKind::NetworkUnreachable.into())
    }

    /// All interfaces.
    pub(crate) fn links(&mut self) -> io::Result<Vec<Link>> {
        let question = RouteNetlinkMessage::GetLink(LinkMessage::default());
        let mut found = Vec::new();
        self.ask(question, NLM_F_DUMP, |answer| {
            if let RouteNetlinkMessage::NewLink(link) = answer {
                found.extend(read_link(&link));
            }
        })?;
        Ok(found)
    }

    /// The interfaces of default routes, of both families.
    pub(crate) fn default_cards(&mut self) -> io::Result<Vec<u32>> {
        let question = RouteNetlinkMessage::GetRoute(RouteMessage::default());
        let mut found = Vec::new();
        self.ask(question, NLM_F_DUMP, |answer| {
            if let RouteNetlinkMessage::NewRoute(route) = answer
                && route.header.destination_prefix_length == 0
            {
                found.extend(read_route(&route).map_or_else(Vec::new, |r| r.cards));
            }
        })?;
        Ok(found)
    }

    /// Asks, and passes the answers on. An answer that cannot be read is passed over.
    fn ask(
        &mut self,
        question: RouteNetlinkMessage,
        flags: u16,
        mut answer: impl FnMut(RouteNetlinkMessage),
    ) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        header.sequence_number = self.sequence;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(question));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        rustix::io::write(&self.fd, &bytes)?;
        loop {
            let len = rustix::io::read(&self.fd, &mut self.room[..])?;
            let mut rest = &self.room[..len];
            while let Some((one, others)) = split(rest) {
                rest = others;
                let Ok(read) = NetlinkMessage::<RouteNetlinkMessage>::deserialize(one) else {
                    if flags & NLM_F_DUMP == 0 {
                        return Err(io::ErrorKind::InvalidData.into());
                    }
                    continue;
                };
                if read.header.sequence_number != self.sequence {
                    continue; // an answer that came too late
                }
                match read.payload {
                    NetlinkPayload::Error(error) => {
                        return match error.code {
                            Some(code) => Err(io::Error::from_raw_os_error(code.get().abs())),
                            None => Ok(()),
                        };
                    }
                    NetlinkPayload::Done(_) => return Ok(()),
                    NetlinkPayload::InnerMessage(one) => {
                        answer(one);
                        if flags & NLM_F_DUMP == 0 {
                            return Ok(());
                        }
                    }
                    _ => {}
                }
            }
        }
    }
}

/// The first message, and those behind it. They are aligned to 4 bytes.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let len = u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
    let one = bytes.get(..len).filter(|_| len >= 16)?;
    let next = len.next_multiple_of(4).min(bytes.len());
    Some((one, &bytes[next..]))
}

fn family(ip: IpAddr) -> AddressFamily {
    match ip {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}

fn read_route(route: &RouteMessage) -> Option<Route> {
    let kind = route.header.kind;
    let is_local = kind == RouteType::Local;
    if kind != RouteType::Unicast && !is_local {
        return None; // forbidden, or not for one host
    }
    let mut cards = Vec::new();
    let mut mtu = None;
    for attribute in &route.attributes {
        match attribute {
            RouteAttribute::Oif(card) => cards.push(*card),
            RouteAttribute::MultiPath(hops) => {
                cards.extend(hops.iter().map(|h| h.interface_index));
            }
            RouteAttribute::Metrics(metrics) => {
                mtu = metrics.iter().find_map(|m| match m {
                    RouteMetric::Mtu(mtu) if *mtu > 0 => Some(*mtu),
                    _ => None,
                });
            }
            _ => {}
        }
    }
    Some(Route {
        cards,
        prefix: route.header.destination_prefix_length,
        mtu,
        is_local,
    })
}

fn read_link(link: &LinkMessage) -> Option<Link> {
    let mtu = link.attributes.iter().find_map(|a| match a {
        LinkAttribute::Mtu(mtu) => Some(*mtu),
        _ => None,
    })?;
    let is_bridge = link.attributes.iter().any(|a| match a {
        LinkAttribute::LinkInfo(infos) => infos
            .iter()
            .any(|i| matches!(i, LinkInfo::Kind(InfoKind::Bridge))),
        _ => false,
    });
    Some(Link {
        index: link.header.index,
        mtu,
        is_bridge,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_knows_the_way_to_loopback() {
        let mut netlink = Netlink::open().unwrap();
        let here = [127, 0, 0, 1].into();
        let route = netlink.route(Some(here), here, None).unwrap();
        assert!(route.is_local);
        let links = netlink.links().unwrap();
        let loopback = links.iter().find(|l| route.cards.contains(&l.index));
        assert!(loopback.is_some_and(|l| l.mtu >= 1500 && !l.is_bridge));
        netlink.default_cards().unwrap();
    }

    #[test]
    fn no_route_is_an_error() {
        let mut netlink = Netlink::open().unwrap();
        let here = [127, 0, 0, 1].into();
        // By a card that does not exist.
        let error = netlink.route(Some(here), [192, 0, 2, 1].into(), Some(u32::MAX >> 1));
        assert!(error.is_err());
        // An address that is not ours sends nothing.
        let stranger = netlink.route(Some([198, 51, 100, 77].into()), here, None);
        assert!(stranger.is_err(), "{stranger:?}");
    }
}
