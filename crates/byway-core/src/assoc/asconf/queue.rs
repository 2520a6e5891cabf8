//! The changes that wait, and those that leave together (RFC 5061 section 5.3, F5).

use super::wildcard::unspecified;
use super::{Asconf, Change};
use byway_wire::ParamWriter;
use core::net::{IpAddr, SocketAddr};
use smallvec::SmallVec;

/// Most changes of one ASCONF, so that it fits the smallest packets.
pub(super) const MOST: usize = 16;

impl Asconf {
    /// Whether nothing came back to the address that this change is about.
    pub(super) fn is_silent(&self, change: &Change) -> bool {
        match *change {
            Change::Add(a) => self.silent.contains(&a),
            Change::SetPrimary(ip) => self.silent.iter().any(|a| a.ip() == ip),
            Change::Name(_) | Change::Delete(_) => false,
        }
    }

    /// Whether the peer was told this address only so that it finds the association by it.
    pub(super) fn knows_name(&self, ip: IpAddr) -> bool {
        self.named.iter().any(|n| n.ip == ip)
    }

    /// The addresses that come, of the ASCONF under way first, without those that went
    /// again.
    pub(super) fn adding(&self) -> SmallVec<[SocketAddr; 4]> {
        let under_way = self.request.iter().flat_map(|r| r.changes());
        let under_way = under_way.filter(|c| match c {
            Change::Add(a) => !self.waiting.contains(&Change::Delete(*a)),
            _ => false,
        });
        let all = under_way.chain(self.waiting.iter().copied());
        all.filter_map(|c| match c {
            Change::Add(a) => Some(a),
            _ => None,
        })
        .collect()
    }

    /// An address came. Returns whether the peer has it still, because its deletion was not
    /// sent yet.
    pub(super) fn came(&mut self, address: SocketAddr) -> bool {
        let deletion = Change::Delete(address);
        let at = self.waiting.iter().position(|c| *c == deletion);
        match at {
            Some(at) => {
                self.waiting.remove(at);
                self.coming(&[address.ip()]).is_empty()
            }
            None => {
                self.want([Change::Add(address)]);
                false
            }
        }
    }

    /// Queues changes, unless the same one waits already.
    pub(super) fn want(&mut self, changes: impl IntoIterator<Item = Change>) {
        for change in changes {
            if !self.waiting.contains(&change) {
                self.waiting.push_back(change);
            }
        }
    }

    /// An address goes before its addition was sent.
    pub(super) fn forget_waiting(&mut self, ip: IpAddr) {
        self.silent.retain(|a| a.ip() != ip);
        self.waiting.retain(|c| match c {
            Change::Add(a) => a.ip() != ip,
            Change::SetPrimary(a) | Change::Name(a) => *a != ip,
            Change::Delete(_) => true,
        });
    }

    /// The addresses that the ASCONF under way adds, of these.
    pub(super) fn coming(&self, of: &[IpAddr]) -> SmallVec<[SocketAddr; 4]> {
        let all = self.request.iter().flat_map(|r| r.changes());
        all.filter_map(|c| match c {
            Change::Add(a) if of.contains(&a.ip()) => Some(a),
            _ => None,
        })
        .collect()
    }

    pub(super) fn adds(&self, ip: IpAddr) -> bool {
        let adds = |c: &Change| matches!(c, Change::Add(a) if a.ip() == ip);
        self.waiting.iter().any(adds) || !self.coming(&[ip]).is_empty()
    }

    /// How many of the changes that wait, in order, the next ASCONF has.
    fn most_together(
        &self,
        own_source: Option<SocketAddr>,
        wildcard: &impl Fn(IpAddr) -> bool,
    ) -> usize {
        let is_name = |c: &Change| matches!(c, Change::Name(_));
        let adds = |c: &&Change| matches!(c, Change::Add(_));
        let several = self.waiting.iter().filter(adds).count() > 1;
        // Where Linux finds the association by a name, it takes the named address for the source of the changes that
        // are not additions.
        let named = own_source.is_some_and(|own| self.knows_name(own.ip()));
        // Another address that the wildcard names would be another source.
        let other = self.waiting.iter().any(|c| match c {
            Change::SetPrimary(ip) => wildcard(*ip) && own_source.is_none_or(|o| o.ip() != *ip),
            _ => false,
        });
        let alone = self.waiting.front().is_some_and(is_name)
            || named
            || other
            || several && (own_source.is_some() || self.one_by_one);
        if alone {
            1
        } else {
            self.waiting.len().min(MOST)
        }
    }

    /// Takes changes that wait: additions first, deletions last (F5). Returns them with
    /// their identifiers and as parameters. `left`: the addresses of this side afterwards.
    pub(super) fn take_waiting(
        &mut self,
        left: usize,
        own_source: Option<SocketAddr>,
        wildcard: impl Fn(IpAddr) -> bool,
    ) -> (Vec<(u32, Change)>, Vec<u8>) {
        self.waiting.make_contiguous().sort_by_key(Change::rank);
        let most = self.most_together(own_source, &wildcard);
        let (mut changes, mut params) = (Vec::new(), Vec::new());
        let mut w = ParamWriter::over(&mut params);
        let name = |ip: IpAddr, may: bool| {
            if may && wildcard(ip) {
                unspecified(ip)
            } else {
                ip
            }
        };
        for change in self.waiting.drain(..most) {
            let id = self.correlation;
            self.correlation = id.wrapping_add(1);
            match change {
                Change::Name(ip) => w.add_ip(id, ip),
                Change::Add(a) => w.add_ip(id, name(a.ip(), true)),
                Change::SetPrimary(ip) => {
                    let is_source = own_source.is_some_and(|own| own.ip() == ip);
                    w.set_primary(id, name(ip, left == 1 || is_source))
                }
                // The wildcard deletes all but the source of the packet.
                Change::Delete(a) => w.delete_ip(id, name(a.ip(), left == 1)),
            };
            changes.push((id, change));
        }
        (changes, params)
    }
}

impl Change {
    /// The order of changes (F5).
    pub(super) fn rank(&self) -> u8 {
        match self {
            Change::Name(_) => 0,
            Change::Add(_) => 1,
            Change::SetPrimary(_) => 2,
            Change::Delete(_) => 3,
        }
    }

    /// Whether the peer takes the address from the source of the packet, if this one is named by the wildcard.
    pub(super) fn tells_of(&self, own: SocketAddr) -> bool {
        match self {
            Change::Add(a) => *a == own,
            Change::SetPrimary(ip) => *ip == own.ip(),
            Change::Name(_) | Change::Delete(_) => false,
        }
    }
}
