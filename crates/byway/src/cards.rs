//! Which card (interface) a packet leaves by.
//!
//! The kernel's routes choose it by the destination. With two cards in one subnet, or two
//! default routes, one of them then sends everything, also from the address of the other: a
//! path of its own exists only with policy routing. So a packet leaves by the card that has its
//! source address, if that card has a route to the destination which is as specific as the
//! kernel's choice. A more specific route, to a tunnel for example, stays in force.

use crate::netlink::{Link, Netlink, Route};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// The packets of loopback count as this size: its MTU is that of no network.
const LOOPBACK_MTU: u32 = 9000;

/// How long an answer counts. Changes are told, so this is for what netlink has lost.
const LIFETIME: Duration = Duration::from_secs(30);

/// Most answers that are kept, a megabyte or two. Peers choose the addresses, so there is a bound;
/// it is above the peers of a busy server, whose every batch would ask the kernel otherwise.
const ANSWERS: usize = 16 << 10;

/// How packets from one address leave to another.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    /// The card.
    pub(crate) card: u32,
    /// Whether each packet must name the card, because the kernel would choose another one.
    pub(crate) named: bool,
    /// The largest packet, bytes.
    pub(crate) mtu: u32,
}

/// The cards of this host, and what the kernel answered about them.
#[derive(Debug)]
pub(crate) struct Cards {
    netlink: Option<Netlink>,
    links: Vec<Link>,
    /// The card of each address of this host, loopback included.
    addresses: BTreeMap<IpAddr, u32>,
    /// Whether there are several cards besides loopback.
    several: bool,
    answers: BTreeMap<(IpAddr, IpAddr), (Instant, Option<Way>)>,
}

impl Cards {
    /// Lists the cards.
    pub(crate) fn list() -> Cards {
        let open = || -> io::Result<(Netlink, Vec<Link>)> {
            let mut netlink = Netlink::open()?;
            let links = netlink.links()?;
            Ok((netlink, links))
        };
        let (netlink, links) = match open() {
            Ok((netlink, links)) => (Some(netlink), links),
            Err(error) => {
                tracing::debug!(%error, "the kernel tells nothing of its cards");
                (None, Vec::new())
            }
        };
        let mut addresses = BTreeMap::new();
        let mut indices = Vec::new();
        for card in if_addrs::get_if_addrs().unwrap_or_default() {
            let Some(index) = card.index else { continue };
            addresses.entry(card.ip()).or_insert(index);
            if !card.is_loopback() && !indices.contains(&index) {
                indices.push(index);
            }
        }
        Cards {
            netlink,
            links,
            addresses,
            several: indices.len() > 1,
            answers: BTreeMap::new(),
        }
    }

    /// The card that packets between these addresses must name; none if the kernel's own choice
    /// is right.
    pub(crate) fn named(&mut self, from: IpAddr, to: SocketAddr) -> Option<u32> {
        // With one card there is nothing to choose, and a link-local address names its own.
        if !self.several || from.is_loopback() || is_scoped(to) {
            return None;
        }
        let way = self.way(from, to.ip())?;
        way.named.then_some(way.card)
    }

    /// The MTU of packets between these addresses, if it is known.
    pub(crate) fn mtu(&mut self, from: SocketAddr, to: IpAddr) -> Option<u32> {
        if from.ip().is_loopback() || to.is_loopback() {
            return Some(LOOPBACK_MTU);
        }
        if let SocketAddr::V6(from) = from
            && from.ip().is_unicast_link_local()
        {
            return self.mtu_of(from.scope_id());
        }
        Some(self.way(from.ip(), to)?.mtu)
    }

    /// Whether packets between these addresses have a way. It has none when the address is gone
    /// or there is no route, and when they left by the address's own card `before` and that has
    /// no route any more: by another card they leave with a source that is not of its network.
    pub(crate) fn leads(&mut self, from: SocketAddr, to: IpAddr, before: &Cards) -> bool {
        if self.netlink.is_none() || is_scoped(from) || to.is_loopback() {
            return true;
        }
        let Some(own) = self.addresses.get(&from.ip()).copied() else {
            return false;
        };
        let now = self.way(from.ip(), to).map(|w| w.card);
        let then = before.answers.get(&(from.ip(), to));
        let then = then.and_then(|(_, way)| way.map(|w| w.card));
        now == Some(own) || now.is_some() && then != Some(own)
    }

    /// Whether packets between these addresses leave by the card of the first one.
    pub(crate) fn leads_by_own_card(&mut self, from: IpAddr, to: IpAddr) -> bool {
        let own = self.addresses.get(&from).copied();
        let way = self.way(from, to).map(|w| w.card);
        way.is_some() && way == own
    }

    /// Whether the kernel answers questions about routes.
    pub(crate) fn are_known(&self) -> bool {
        self.netlink.is_some()
    }

    /// Knows nothing.
    pub(crate) fn unknown() -> Cards {
        Cards {
            netlink: None,
            links: Vec::new(),
            addresses: BTreeMap::new(),
            several: false,
            answers: BTreeMap::new(),
        }
    }

    fn mtu_of(&self, card: u32) -> Option<u32> {
        let link = self.links.iter().find(|l| l.index == card)?;
        Some(link.mtu)
    }

    fn way(&mut self, from: IpAddr, to: IpAddr) -> Option<Way> {
        let now = Instant::now();
        if let Some((at, answer)) = self.answers.get(&(from, to))
            && now.saturating_duration_since(*at) < LIFETIME
        {
            return *answer;
        }
        let answer = self.ask(from, to);
        if self.answers.len() >= ANSWERS {
            self.answers.clear();
        }
        self.answers.insert((from, to), (now, answer));
        answer
    }

    fn ask(&mut self, from: IpAddr, to: IpAddr) -> Option<Way> {
        let own = self.addresses.get(&from).copied();
        let netlink = self.netlink.as_mut()?;
        let chosen = netlink.route(Some(from), to, None);
        if let Ok(route) = &chosen
            && route.is_local
        {
            let card = *route.cards.first()?;
            return Some(Way {
                card,
                named: false,
                mtu: LOOPBACK_MTU,
            });
        }
        let named = own.filter(|_| self.several).and_then(|own| {
            if chosen.as_ref().is_ok_and(|r| r.cards.contains(&own)) {
                return None;
            }
            let by_own = |route: &Route| route.cards.contains(&own);
            let route = netlink.route(Some(from), to, Some(own)).ok().filter(by_own);
            let route = route.or_else(|| {
                let route = to.is_ipv6().then(|| netlink.route(None, to, Some(own)))?;
                route.ok().filter(by_own)
            })?;
            prefers_own(chosen.as_ref().ok(), &route).then_some((own, route))
        });
        let (card, route, is_named) = match (named, chosen) {
            (Some((own, route)), _) => (own, route, true),
            (None, Ok(route)) => {
                let own = own.filter(|own| route.cards.contains(own));
                (own.or_else(|| route.cards.first().copied())?, route, false)
            }
            (None, Err(error)) => {
                tracing::debug!(%from, %to, %error, "no route");
                return None;
            }
        };
        let mtu = self.mtu_of(card)?;
        Some(Way {
            card,
            named: is_named,
            mtu: route.mtu.map_or(mtu, |m| m.min(mtu)),
        })
    }
}

/// The addresses of this host, with their cards, whose packets to `remote` name their card, because the kernel's
/// routes would take another one (docs/networks.md, "Sources and routes"). Where such a card has a strict
/// reverse-path filter (`rp_filter` = 1), the kernel drops what comes back by it.
#[must_use]
pub fn cards_beside_routes(remote: SocketAddr) -> Vec<(IpAddr, String)> {
    let mut cards = Cards::list();
    let all: Vec<IpAddr> = cards.addresses.keys().copied().collect();
    let of_family = all.iter().filter(|ip| ip.is_ipv4() == remote.is_ipv4());
    of_family
        .filter_map(|ip| Some((*ip, crate::scoped::card(cards.named(*ip, remote)?)?)))
        .collect()
}

/// Whether the route by the source's own card serves: none is more specific.
fn prefers_own(chosen: Option<&Route>, own: &Route) -> bool {
    !own.is_local && chosen.is_none_or(|c| own.prefix >= c.prefix)
}

/// Whether an address names its card.
fn is_scoped(address: SocketAddr) -> bool {
    matches!(address, SocketAddr::V6(a) if a.ip().is_unicast_link_local())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(prefix: u8, is_local: bool) -> Route {
        Route {
            cards: vec![1],
            prefix,
            mtu: None,
            is_local,
        }
    }

    #[test]
    fn a_more_specific_route_stays_in_force() {
        for (chosen, own, serves) in [
            (None, route(0, false), true),
            (Some(route(0, false)), route(0, false), true),
            (Some(route(24, false)), route(24, false), true),
            (Some(route(24, false)), route(0, false), false),
            (Some(route(1, false)), route(0, false), false),
            (Some(route(0, false)), route(32, true), false),
        ] {
            assert_eq!(prefers_own(chosen.as_ref(), &own), serves, "{chosen:?}");
        }
    }

    #[test]
    fn loopback_counts_as_a_network_of_ordinary_size() {
        let mut cards = Cards::list();
        let here: SocketAddr = "127.0.0.1:9".parse().unwrap();
        assert_eq!(cards.mtu(here, here.ip()), Some(LOOPBACK_MTU));
        assert_eq!(cards.named(here.ip(), here), None);
        let before = Cards::unknown();
        assert!(cards.leads(here, here.ip(), &before));
        let gone: SocketAddr = "198.51.100.77:9".parse().unwrap();
        assert!(!cards.leads(gone, [192, 0, 2, 1].into(), &before));
    }

    #[test]
    fn answers_are_bounded() {
        let mut cards = Cards::list();
        for i in 0..ANSWERS as u32 + 10 {
            let key = (IpAddr::from(i.to_be_bytes()), [127, 0, 0, 1].into());
            cards.answers.insert(key, (Instant::now(), None));
        }
        cards.way([127, 0, 0, 1].into(), [127, 0, 0, 2].into());
        assert!(cards.answers.len() <= ANSWERS);
    }
}
