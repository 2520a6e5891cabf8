//! Addresses that the peer is told of by the wildcard address, because a translator may be between (RFC 5061 sections
//! 4.2.1 and 4.2.2), and by a name where it finds associations by addresses alone.

use super::{Change, LONGEST_HOLD, Named};
use crate::assoc::{Association, Ctx};
use crate::config::Wildcard;
use crate::path::PathId;
use crate::scope::{is_local, is_private};
use byway_wire::cause_code;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use smallvec::SmallVec;

impl Association {
    /// Whether the peer is told of this address by the wildcard. Only a packet from it can tell, so there must be an address of the
    /// peer in its family.
    pub(super) fn is_wild(&self, own: IpAddr) -> bool {
        let of_family = |r: &IpAddr| r.is_ipv4() == own.is_ipv4();
        let data = self.paths.get(self.paths.data()).remote().ip();
        let others = self.paths.iter().map(|p| p.remote().ip());
        let Some(peer) = core::iter::once(data).chain(others).find(of_family) else {
            return false;
        };
        let asconf = self.optional.asconf.as_ref();
        uses_wildcard(self.cfg.asconf.wildcard, own, peer)
            || asconf.is_some_and(|a| a.translated.contains(&own))
    }

    /// The addresses in the changes that wait which the wildcard stands for.
    pub(super) fn wild_changes(&self) -> SmallVec<[IpAddr; 8]> {
        let waiting = self.optional.asconf.iter().flat_map(|a| a.waiting.iter());
        let addresses = waiting.map(|c| match *c {
            Change::Name(ip) | Change::SetPrimary(ip) => ip,
            Change::Add(a) | Change::Delete(a) => a.ip(),
        });
        addresses.filter(|ip| self.is_wild(*ip)).collect()
    }

    /// The source that the next ASCONF must have, as the wildcard in it stands for it: the address that comes, or the one
    /// that is to be the primary. If no path leads by the card of the latter, it is named.
    pub(super) fn wildcard_stands_for(&self, ctx: &mut Ctx<'_>) -> Option<SocketAddr> {
        let asconf = self.optional.asconf.as_ref()?;
        let next = asconf.waiting.iter().min_by_key(|c| c.rank())?;
        match *next {
            Change::Add(a) => Some(a).filter(|a| self.is_wild(a.ip())),
            Change::SetPrimary(ip) => {
                let mut ours = self.addresses.local.iter().copied();
                let own = ours.find(|a| a.ip() == ip && self.is_wild(ip))?;
                let mut of_peer = self.paths.iter().filter(|p| p.is_of_peer());
                let leads = of_peer.any(|p| {
                    let remote = p.remote().ip();
                    remote.is_ipv4() == ip.is_ipv4() && ctx.routes.leads_by_own_card(own, remote)
                });
                leads.then_some(own)
            }
            _ => None,
        }
    }

    /// An address of ours by which the peer may find the association (sections 4.1.1 and 5.3.2). Behind a translator it
    /// knows none but those that it was told by name. Then it is the wildcard address, and the peer may look by the rest of the
    /// packet; usrsctp does so by the verification tag.
    pub(super) fn known_address(&self, source: SocketAddr, path: PathId) -> IpAddr {
        let asconf = self.optional.asconf.as_ref();
        let named = |ip: IpAddr| asconf.is_some_and(|a| a.knows_name(ip));
        let own = if self.addresses.local.contains(&source) || named(source.ip()) {
            source.ip()
        } else {
            self.paths.get(path).local().ip()
        };
        if self.is_wild(own) && !named(own) {
            unspecified(own)
        } else {
            own
        }
    }

    /// Takes out the additions that the wildcard tells of and whose cards have no way to the peer yet: from another
    /// card they would add the source that the peer knows. They wait for routes while there is another address. Those
    /// from which nothing came back wait for all other changes. And the deletions that the peer would not survive.
    ///
    /// Where the way leads to an address of the peer that is not confirmed, an ASCONF cannot take it (RFC 9260 section 5.4). Then
    /// another card serves, unless a translator is known to be before the address.
    pub(super) fn put_aside(&mut self, ctx: &mut Ctx<'_>) -> Vec<Change> {
        let remotes: SmallVec<[(IpAddr, bool); 8]> = self
            .paths
            .ids()
            .map(|p| self.paths.get(p))
            .map(|p| (p.remote().ip(), p.is_of_peer()))
            .collect();
        let Some(asconf) = &self.optional.asconf else {
            return Vec::new();
        };
        let has_another = !self.addresses.local.is_empty();
        let lacks_way = |c: &Change, ctx: &mut Ctx<'_>| match *c {
            Change::Add(a) if has_another && self.is_wild(a.ip()) => {
                let strict = asconf.translated.contains(&a.ip());
                let mut same = remotes
                    .iter()
                    .filter(|(r, of_peer)| r.is_ipv4() == a.is_ipv4() && (*of_peer || !strict))
                    .peekable();
                same.peek().is_some() && !same.any(|(r, _)| ctx.routes.leads_by_own_card(a, *r))
            }
            _ => false,
        };
        let mut aside: Vec<Change> = asconf
            .waiting
            .iter()
            .filter(|c| lacks_way(c, ctx))
            .copied()
            .collect();
        let goes = |c: &&Change| !aside.contains(c) && !asconf.is_silent(c);
        let adds = asconf.waiting.iter().filter(goes);
        let adds = adds.filter(|c| matches!(c, Change::Add(_))).count();
        // The wildcard deletes all addresses but one. Linux (6.1) hung when it had several at that moment, all unconfirmed,
        // likely as it never ends to look for a path (`sctp_assoc_update_retran_path`): the name, which a translator hides, and the new one, which its
        // next heartbeat confirms.
        let last = match *self.addresses.local {
            [last] => Some(last.ip()),
            _ => None,
        };
        let unasked = |n: &Named| last == Some(n.ip) && !n.asked;
        let hangs = adds == 0 && asconf.named.iter().any(unasked);
        let held = |c: &&Change| hangs && matches!(c, Change::Delete(_));
        let others_go = asconf.waiting.iter().any(|c| goes(&c) && !held(&c));
        let silent = |c: &&Change| {
            others_go && matches!(c, Change::Add(_)) && asconf.is_silent(c) && !aside.contains(c)
        };
        let later = asconf.waiting.iter().filter(|c| held(c) || silent(c));
        let later: Vec<Change> = later.copied().collect();
        aside.extend(later);
        let of_these = |c: &&Change| match c {
            Change::SetPrimary(ip) => {
                let adds = |a: &Change| matches!(a, Change::Add(a) if a.ip() == *ip);
                aside.iter().any(adds)
            }
            _ => false,
        };
        let primary = asconf.waiting.iter().find(of_these).copied();
        aside.extend(primary);
        if let Some(asconf) = &mut self.optional.asconf {
            asconf.waiting.retain(|c| !aside.contains(c));
        }
        aside
    }

    /// Deletions wait for the HEARTBEAT of the peer, but not for ever: then they are refused.
    pub(super) fn hold_deletions(&mut self, ctx: &mut Ctx<'_>) {
        let Some(asconf) = &mut self.optional.asconf else {
            return;
        };
        let until = *asconf.held_until.get_or_insert(ctx.now + LONGEST_HOLD);
        if ctx.now < until {
            self.timers.t4 = Some(until);
            return;
        }
        asconf.held_until = None;
        let deletes = |c: &Change| matches!(c, Change::Delete(_));
        let held = asconf.waiting.iter().copied().filter(deletes);
        let held: SmallVec<[Change; 4]> = held.collect();
        asconf.waiting.retain(|c| !deletes(c));
        for change in held {
            self.note_result(ctx, change, Some(cause_code::UNRESOLVABLE_ADDRESS));
        }
    }

    /// The peer finds no association by the wildcard address and a source that it does not know (section 5.2, D1 and D2), as
    /// Linux does not: it did not take this change. It is told the address by name, from a source that it knows, and then the
    /// same again from the new source, with that name. If that did not help either, the change failed.
    #[cold]
    pub(super) fn name_source(&mut self, ctx: &mut Ctx<'_>, change: Change) {
        let Some(asconf) = &mut self.optional.asconf else {
            return;
        };
        match change {
            Change::Add(own) if asconf.waiting.contains(&Change::Delete(own)) => {}
            Change::Add(own) if !asconf.knows_name(own.ip()) => {
                asconf.want([Change::Name(own.ip()), change]);
            }
            Change::SetPrimary(_) if !asconf.waiting.contains(&change) => asconf.want([change]),
            _ => self.note_result(ctx, change, Some(cause_code::UNRESOLVABLE_ADDRESS)),
        }
    }

    /// Nothing came back to a source of this side, so the peer was not told of it. An address that comes is told of
    /// again, each time for longer; a primary is not.
    #[cold]
    pub(super) fn try_source_again(&mut self, ctx: &mut Ctx<'_>, change: Change) {
        match (&mut self.optional.asconf, change) {
            (Some(asconf), Change::Add(own)) => {
                if !asconf.waiting.contains(&Change::Delete(own)) {
                    asconf.want([change]);
                    if !asconf.silent.contains(&own) {
                        asconf.silent.push(own);
                    }
                }
            }
            _ => self.note_result(ctx, change, Some(cause_code::UNRESOLVABLE_ADDRESS)),
        }
    }

    /// The peer knows an address by name, or not.
    #[cold]
    pub(super) fn note_named(&mut self, ctx: &mut Ctx<'_>, ip: IpAddr, failed: Option<u16>) {
        let Some(asconf) = &mut self.optional.asconf else {
            return;
        };
        let Some(cause) = failed else {
            asconf.named.push(Named { ip, asked: false });
            return;
        };
        let waits = |c: &Change| matches!(c, Change::Add(a) if a.ip() == ip);
        let add = asconf.waiting.iter().position(waits);
        if let Some(add) = add.and_then(|at| asconf.waiting.remove(at)) {
            self.note_result(ctx, add, Some(cause));
        }
    }
}

/// Whether this side is named by the wildcard address: a translator must be between.
fn uses_wildcard(rule: Wildcard, own: IpAddr, peer: IpAddr) -> bool {
    let not_unique = |ip| is_private(ip) || is_local(ip);
    match rule {
        Wildcard::Always => true,
        Wildcard::Never => false,
        Wildcard::Private => not_unique(own) && !not_unique(peer),
    }
}

/// The wildcard address of a family.
pub(super) fn unspecified(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    /// RFC 5061 section 4.2.1: the wildcard is for who is behind a translator. One must be between a private address and a
    /// public one, and is not known to be between others.
    #[test]
    fn the_wildcard_stands_for_a_private_address_towards_a_public_one() {
        for (own, peer, private) in [
            // Private (RFC 1918, 6598, 4193), towards a public address.
            ("10.0.0.1", "203.0.113.10", true),
            ("172.16.0.1", "203.0.113.10", true),
            ("172.31.255.255", "203.0.113.10", true),
            ("192.168.8.1", "203.0.113.10", true),
            ("100.64.0.1", "203.0.113.10", true),
            ("100.127.255.255", "203.0.113.10", true),
            ("fd00::1", "2001:db8::10", true),
            // Of one link or host: the peer cannot have it from there either.
            ("169.254.1.1", "203.0.113.10", true),
            ("fe80::1", "2001:db8::10", true),
            ("127.0.0.1", "203.0.113.10", true),
            // Mapped into IPv6, it is what it is.
            ("::ffff:192.168.8.1", "203.0.113.10", true),
            ("192.168.8.1", "::ffff:203.0.113.10", true),
            ("192.168.8.1", "::ffff:10.0.0.1", false),
            // Just beside the private ranges.
            ("172.15.255.255", "203.0.113.10", false),
            ("172.32.0.1", "203.0.113.10", false),
            ("100.63.255.255", "203.0.113.10", false),
            ("100.128.0.1", "203.0.113.10", false),
            ("192.167.0.1", "203.0.113.10", false),
            ("fe00::1", "2001:db8::10", false),
            // Both private: one network, or who knows. Both public: no translator. The peer alone private: it is theirs.
            ("192.168.8.1", "10.0.0.1", false),
            ("fd00::1", "fd00::2", false),
            ("198.51.100.1", "203.0.113.10", false),
            ("2001:db8::1", "2001:db8::10", false),
            ("203.0.113.10", "192.168.8.1", false),
            // A peer on this link is met without a translator.
            ("192.168.8.1", "169.254.1.1", false),
            ("fd00::1", "fe80::2", false),
        ] {
            for (rule, expected) in [
                (Wildcard::Private, private),
                (Wildcard::Always, true),
                (Wildcard::Never, false),
            ] {
                let used = uses_wildcard(rule, ip(own), ip(peer));
                assert_eq!(used, expected, "{rule:?}: {own} towards {peer}");
            }
        }
    }

    #[test]
    fn each_family_has_a_wildcard() {
        assert_eq!(unspecified(ip("10.0.0.1")), ip("0.0.0.0"));
        assert_eq!(unspecified(ip("fd00::1")), ip("::"));
    }
}
