//! Which addresses a wildcard stands for.
//!
//! 0.0.0.0 stands for the IPv4 addresses of this host, and :: for its IPv6 addresses. A
//! peer gets them, so only those count that a peer elsewhere may reach: of cards that are
//! up, and neither loopback nor link-local (fe80::/10, 169.254.0.0/16), which need no
//! wildcard to be named. A bridge without a default route leads to the containers and virtual
//! machines of this host, and counts only if there is nothing else. If the host has loopback
//! addresses only, these count. At most 8 count: cards are taken in the order of their numbers,
//! global addresses before private ones, point-to-point cards behind the others.

use crate::netlink::Netlink;
use byway_core::config::MAX_LOCAL;
use byway_core::{is_link_local, is_private};
use if_addrs::Interface;
use std::io;
use std::net::SocketAddr;

/// Whether one of these is a wildcard.
pub(crate) fn any(local: &[SocketAddr]) -> bool {
    local.iter().any(|a| a.ip().is_unspecified())
}

/// The addresses that these stand for now, each once, at most 8.
///
/// # Errors
/// When the addresses of this host cannot be listed.
pub(crate) fn expand(local: &[SocketAddr]) -> io::Result<Vec<SocketAddr>> {
    if !any(local) {
        return Ok(expand_with(local, &[], &[]));
    }
    let cards = if_addrs::get_if_addrs()?;
    let inner = inner_bridges().unwrap_or_else(|error| {
        tracing::debug!(%error, "the kernel does not tell which cards are bridges");
        Vec::new()
    });
    Ok(expand_with(local, &cards, &inner))
}

/// The bridges without a default route, by number.
fn inner_bridges() -> io::Result<Vec<u32>> {
    let mut netlink = Netlink::open()?;
    let bridges = netlink.links()?.into_iter().filter(|l| l.is_bridge);
    let mut bridges: Vec<u32> = bridges.map(|l| l.index).collect();
    if !bridges.is_empty() {
        let outside = netlink.default_cards()?;
        bridges.retain(|index| !outside.contains(index));
    }
    Ok(bridges)
}

/// `inner`: numbers of cards that lead nowhere but into this host.
fn expand_with(local: &[SocketAddr], cards: &[Interface], inner: &[u32]) -> Vec<SocketAddr> {
    let mut all: Vec<SocketAddr> = Vec::new();
    let add = |all: &mut Vec<SocketAddr>, a: SocketAddr| {
        if !all.iter().any(|b| b.ip() == a.ip()) {
            all.push(a);
        }
    };
    for named in local.iter().filter(|a| !a.ip().is_unspecified()) {
        add(&mut all, *named);
    }
    let mut up: Vec<&Interface> = cards
        .iter()
        .filter(|c| c.oper_status != if_addrs::IfOperStatus::Down)
        .collect();
    up.sort_by_key(|c| (is_private(c.ip()), c.is_p2p(), c.index));
    let is_inner = |c: &Interface| c.index.is_some_and(|index| inner.contains(&index));
    let outside = |c: &Interface| !c.ip().is_loopback() && !is_link_local(c.ip());
    let wild = local.iter().filter(|a| a.ip().is_unspecified());
    let kinds: [&dyn Fn(&Interface) -> bool; 3] =
        [&|c| outside(c) && !is_inner(c), &outside, &|c| {
            c.ip().is_loopback()
        }];
    let before = all.len();
    for counts in kinds {
        for wild in wild.clone() {
            for card in up.iter().filter(|c| counts(c)) {
                if card.ip().is_ipv4() == wild.is_ipv4() {
                    add(&mut all, SocketAddr::new(card.ip(), wild.port()));
                }
            }
        }
        if all.len() > before {
            break;
        }
    }
    all.truncate(MAX_LOCAL);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use if_addrs::{IfAddr, IfOperStatus, Ifv4Addr, Ifv6Addr};
    use std::net::IpAddr;

    fn card(index: u32, ip: &str, up: bool) -> Interface {
        let addr = match ip.parse().unwrap() {
            IpAddr::V4(ip) => IfAddr::V4(Ifv4Addr {
                ip,
                netmask: [255, 255, 255, 0].into(),
                prefixlen: 24,
                broadcast: None,
            }),
            IpAddr::V6(ip) => IfAddr::V6(Ifv6Addr {
                ip,
                netmask: 0.into(),
                prefixlen: 64,
                broadcast: None,
            }),
        };
        Interface {
            name: format!("card{index}"),
            addr,
            index: Some(index),
            oper_status: if up {
                IfOperStatus::Up
            } else {
                IfOperStatus::Down
            },
            is_p2p: false,
        }
    }

    fn expanded(local: &[&str], cards: &[Interface]) -> Vec<String> {
        let local: Vec<SocketAddr> = local.iter().map(|a| a.parse().unwrap()).collect();
        expand_with(&local, cards, &[9])
            .iter()
            .map(SocketAddr::to_string)
            .collect()
    }

    #[test]
    fn a_wildcard_stands_for_what_a_peer_may_reach() {
        let cards = [
            card(1, "127.0.0.1", true),
            card(1, "::1", true),
            card(2, "192.168.1.5", true),
            card(2, "fe80::5", true),
            card(2, "2001:db8::5", true),
            card(3, "10.0.0.5", false),
            card(4, "169.254.7.7", true),
            card(5, "198.51.100.5", true),
        ];
        let v4 = ["198.51.100.5:9", "192.168.1.5:9"];
        assert_eq!(expanded(&["0.0.0.0:9"], &cards), v4);
        assert_eq!(expanded(&["[::]:9"], &cards), ["[2001:db8::5]:9"]);
        assert_eq!(
            expanded(&["0.0.0.0:9", "[::]:9"], &cards),
            [v4[0], v4[1], "[2001:db8::5]:9"]
        );
        // The address behind a provider's translator (RFC 6598) is no global one.
        let shared = [card(1, "100.64.3.4", true), card(2, "198.51.100.5", true)];
        let global_first = ["198.51.100.5:9", "100.64.3.4:9"];
        assert_eq!(expanded(&["0.0.0.0:9"], &shared), global_first);
        // What is named stays, whatever it is.
        let named = expanded(&["127.0.0.1:7", "0.0.0.0:9"], &cards);
        assert_eq!(named, ["127.0.0.1:7", v4[0], v4[1]]);
        // Nothing but loopback: that. Of both families, if there is nothing else in either.
        assert_eq!(expanded(&["0.0.0.0:9"], &cards[..2]), ["127.0.0.1:9"]);
        let both = ["0.0.0.0:9", "[::]:9"];
        assert_eq!(expanded(&both, &cards[..2]), ["127.0.0.1:9", "[::1]:9"]);
        assert_eq!(expanded(&both, &cards[..3]), ["192.168.1.5:9"]);
        assert_eq!(expanded(&["0.0.0.0:9"], &[]), [""; 0]);
    }

    #[test]
    fn a_bridge_to_containers_counts_only_if_there_is_nothing_else() {
        let cards = [
            card(1, "127.0.0.1", true),
            card(2, "192.168.1.5", true),
            card(9, "172.17.0.1", true),
        ];
        assert_eq!(expanded(&["0.0.0.0:9"], &cards), ["192.168.1.5:9"]);
        let without = [cards[0].clone(), cards[2].clone()];
        assert_eq!(expanded(&["0.0.0.0:9"], &without), ["172.17.0.1:9"]);
        // Named, it counts.
        let named = expanded(&["172.17.0.1:9", "0.0.0.0:9"], &cards);
        assert_eq!(named, ["172.17.0.1:9", "192.168.1.5:9"]);
    }

    #[test]
    fn at_most_eight_addresses_count() {
        let cards: Vec<Interface> = (0..20)
            .map(|n| card(n, &format!("10.0.{n}.1"), true))
            .collect();
        assert_eq!(expanded(&["0.0.0.0:9"], &cards).len(), 8);
    }
}
