//! The local address of a path and the MTU of its card, as the kernel's routing table has them.

use crate::cards::Cards;
use byway_core::Routes;
use byway_core::routes::LongestPrefix;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// How long an answer is cached, because routes change.
const LIFETIME: Duration = Duration::from_secs(5);

/// Most cached answers. Peers choose the addresses, so the cache is bounded.
const ANSWERS: usize = 1024;

/// Asks the kernel: for the source by connecting a temporary UDP socket, which sends nothing, for
/// the rest by netlink.
#[derive(Debug)]
pub(crate) struct KernelRoutes {
    cards: Cards,
    /// What was so before the last change.
    before: Cards,
    answers: BTreeMap<IpAddr, (Instant, Option<IpAddr>)>,
}

impl KernelRoutes {
    /// The routes of this moment.
    pub(crate) fn now() -> KernelRoutes {
        KernelRoutes {
            cards: Cards::list(),
            before: Cards::unknown(),
            answers: BTreeMap::new(),
        }
    }

    fn ask(&mut self, remote: IpAddr) -> Option<IpAddr> {
        let now = Instant::now();
        if let Some((at, answer)) = self.answers.get(&remote)
            && now.saturating_duration_since(*at) < LIFETIME
        {
            return *answer;
        }
        let answer = source(remote);
        if self.answers.len() >= ANSWERS {
            self.answers.clear();
        }
        self.answers.insert(remote, (now, answer));
        answer
    }
}

impl Routes for KernelRoutes {
    /// The bound address that the kernel would choose. The longest common prefix
    /// decides if that address is not bound, and for loopback: there the kernel
    /// answers 127.0.0.1 for every destination, although each loopback address
    /// can be a separate path.
    fn source(&mut self, local: &[SocketAddr], remote: IpAddr) -> Option<usize> {
        let asked = if remote.is_loopback() {
            None
        } else {
            self.ask(remote)
        };
        asked
            .and_then(|answer| local.iter().position(|l| l.ip() == answer))
            .or_else(|| LongestPrefix.source(local, remote))
    }

    /// Where the kernel's choice is used already: another address whose own card has a
    /// route to `remote`. Without one a packet from that address would leave by the first
    /// uplink, and its provider might drop it.
    fn source_beside(
        &mut self,
        local: &[SocketAddr],
        remote: IpAddr,
        used: &[SocketAddr],
    ) -> Option<usize> {
        let first = self.source(local, remote)?;
        if !used.contains(&local[first]) || remote.is_loopback() {
            return Some(first);
        }
        let free = |l: &SocketAddr| {
            l.is_ipv4() == remote.is_ipv4() && !l.ip().is_loopback() && !used.contains(l)
        };
        let other = local
            .iter()
            .position(|l| free(l) && self.cards.leads_by_own_card(l.ip(), remote));
        Some(other.unwrap_or(first))
    }

    fn interface_mtu(&mut self, local: SocketAddr, remote: IpAddr) -> Option<u32> {
        self.cards.mtu(local, remote)
    }

    fn leads(&mut self, local: SocketAddr, remote: IpAddr) -> bool {
        self.cards.leads(local, remote, &self.before)
    }

    fn leads_by_own_card(&mut self, local: SocketAddr, remote: IpAddr) -> bool {
        remote.is_loopback()
            || !self.cards.are_known()
            || self.cards.leads_by_own_card(local.ip(), remote)
    }

    fn changed(&mut self) {
        self.before = std::mem::replace(&mut self.cards, Cards::list());
        self.answers.clear();
    }
}

/// The source address of the kernel's route to `remote`.
fn source(remote: IpAddr) -> Option<IpAddr> {
    let any: IpAddr = match remote {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    // The discard port; no packet goes there.
    let socket = UdpSocket::bind((any, 0)).and_then(|s| s.connect((remote, 9)).map(|()| s));
    match socket.and_then(|s| s.local_addr()) {
        Ok(local) => Some(local.ip()),
        Err(error) => {
            tracing::debug!(%remote, %error, "the kernel has no route");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_names_the_source() {
        assert_eq!(source([127, 0, 0, 1].into()), Some([127, 0, 0, 1].into()));
    }

    #[test]
    fn loopback_and_unbound_sources_are_left_to_the_prefix() {
        let mut routes = KernelRoutes::now();
        let local = [
            "127.0.0.1:1".parse().unwrap(),
            "127.0.0.2:1".parse().unwrap(),
        ];
        assert_eq!(routes.source(&local, [127, 0, 0, 2].into()), Some(1));
        // Reserved for documentation, so no host has a special route to it.
        let documentation = [192, 0, 2, 1].into();
        assert_eq!(routes.source(&local, documentation), Some(0));
        assert_eq!(routes.source(&local, Ipv6Addr::LOCALHOST.into()), None);
    }

    #[test]
    fn answers_are_bounded() {
        let mut routes = KernelRoutes::now();
        for i in 0..ANSWERS as u32 + 10 {
            routes
                .answers
                .insert(IpAddr::from(i.to_be_bytes()), (Instant::now(), None));
        }
        routes.ask([127, 0, 0, 1].into());
        assert!(routes.answers.len() <= ANSWERS);
    }
}
