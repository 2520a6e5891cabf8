//! The hosts that set up associations: how many each has, and how much memory these take.
//!
//! One host must not use up what all share. Its associations take at most half of the endpoint's
//! memory, by the rules that [`super::memory`] has for all: above three quarters of this half
//! the host sets up no further ones, above seven eighths DATA of those that hold their share is dropped, above fifteen
//! sixteenths its largest association is aborted. A host is an IPv4 address or the first 64 bits of an
//! IPv6 address, since a network of 64 bits is the least that a customer gets (RFC 6177).

use super::account::Account;
use crate::assoc::Scarcity;
use core::net::{IpAddr, Ipv6Addr};
use slab::Slab;
use std::collections::HashMap;

/// The part of the endpoint's memory that one host may use.
const SHARE: usize = 2;

/// A host that has set up associations.
#[derive(Debug)]
struct Host {
    ip: IpAddr,
    /// Those that have not ended.
    live: usize,
    /// Those that have not been released.
    held: usize,
    account: Account,
}

/// All hosts that have set up associations that are not released.
#[derive(Debug)]
pub(super) struct Hosts {
    hosts: Slab<Host>,
    /// Only looked up, so its random order has no effect.
    by_ip: HashMap<IpAddr, u32>,
    /// The memory that one host may use.
    most: usize,
}

impl Hosts {
    /// `max_memory`: the ceiling of all.
    pub(super) fn new(max_memory: usize) -> Hosts {
        Hosts {
            hosts: Slab::new(),
            by_ip: HashMap::new(),
            most: max_memory / SHARE,
        }
    }

    fn find(&self, ip: IpAddr) -> Option<&Host> {
        let at = *self.by_ip.get(&host_of(ip))?;
        self.hosts.get(at as usize)
    }

    /// Associations of the host of this address that have not ended.
    pub(super) fn live(&self, ip: IpAddr) -> usize {
        self.find(ip).map_or(0, |h| h.live)
    }

    /// Whether the host of this address uses so much memory that it may set up no further
    /// association.
    pub(super) fn refuses_associations(&self, ip: IpAddr) -> bool {
        (self.find(ip)).is_some_and(|h| h.account.refuses_associations(false))
    }

    /// The account of a host, by the number that [`begin`](Self::begin) gave.
    #[inline]
    pub(super) fn account(&mut self, host: u32) -> &mut Account {
        &mut self.hosts[host as usize].account
    }

    /// How full the memory of the host of this address is.
    pub(super) fn scarcity(&self, ip: IpAddr) -> Scarcity {
        match self.find(ip) {
            Some(host) => host.account.scarcity(),
            None => Account::new(self.most).scarcity(),
        }
    }

    /// The host of this address has set up an association. Gives the host's number.
    pub(super) fn begin(&mut self, ip: IpAddr) -> u32 {
        let ip = host_of(ip);
        let (hosts, most) = (&mut self.hosts, self.most);
        let at = *self.by_ip.entry(ip).or_insert_with(|| {
            hosts.insert(Host {
                ip,
                live: 0,
                held: 0,
                account: Account::new(most),
            }) as u32
        });
        let host = &mut self.hosts[at as usize];
        host.live += 1;
        host.held += 1;
        at
    }

    /// An association of the host has ended.
    pub(super) fn end(&mut self, host: u32) {
        self.hosts[host as usize].live -= 1;
    }

    /// An association of the host that took `charged` bytes is released.
    pub(super) fn release(&mut self, host: u32, charged: usize) {
        let h = &mut self.hosts[host as usize];
        h.account.change(charged, 0);
        h.held -= 1;
        if h.held == 0 {
            self.by_ip.remove(&h.ip);
            self.hosts.remove(host as usize);
        }
    }

    /// A crowd has gone.
    pub(super) fn give_back(&mut self) {
        self.hosts.shrink_to_fit();
        self.by_ip.shrink_to_fit();
    }
}

/// What counts as one host where each has a limit: an IPv4 address, mapped into IPv6 or not, or the
/// first 64 bits of an IPv6 address.
#[must_use]
pub fn host_of(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX)).into(),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_of_64_bits_is_one_host() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let mut hosts = Hosts::new(800);
        let first = hosts.begin(ip("2001:db8::1"));
        assert_eq!(hosts.begin(ip("2001:db8::ffff:2")), first);
        assert_ne!(hosts.begin(ip("2001:db8:0:1::1")), first);
        assert_ne!(hosts.begin(ip("10.0.0.1")), hosts.begin(ip("10.0.0.2")));
        assert_eq!(
            hosts.begin(ip("::ffff:10.0.0.3")),
            hosts.begin(ip("10.0.0.3"))
        );
        assert_eq!(hosts.live(ip("2001:db8::3")), 2);
    }

    #[test]
    fn a_host_is_forgotten_with_its_last_association() {
        let ip = IpAddr::from([10, 0, 0, 1]);
        let mut hosts = Hosts::new(800);
        let (a, b) = (hosts.begin(ip), hosts.begin(ip));
        hosts.account(a).change(0, 299);
        assert!(!hosts.refuses_associations(ip));
        hosts.account(b).change(0, 1);
        assert!(hosts.refuses_associations(ip));
        hosts.end(a);
        // What has ended holds its memory until it is released.
        assert!(hosts.refuses_associations(ip));
        hosts.release(a, 299);
        assert!(!hosts.refuses_associations(ip));
        hosts.end(b);
        hosts.release(b, 1);
        assert!(hosts.by_ip.is_empty() && hosts.hosts.is_empty());
    }
}
