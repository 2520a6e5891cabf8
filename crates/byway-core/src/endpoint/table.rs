//! The associations of an endpoint: by number, by verification tag, and by the peer's
//! addresses.
//!
//! A packet carries our verification tag, so the tag finds its association, whatever
//! address the packet came from: a translator (NAT) may have changed it. Addresses find
//! an association only for packets without our tag: INIT, COOKIE ECHO and those with
//! the T bit. Then the UDP port counts, too: hosts behind one translator share its
//! address and may share an SCTP port.

use super::crest::Crest;
use super::hosts::Hosts;
use super::largest::{Largest, most};
use super::owners::{Owner, Owners};
use super::spent_cookies::SpentCookies;
use crate::api::AssocId;
use crate::assoc::Association;
use crate::config::Part;
use crate::time::Instant;
use core::net::{IpAddr, SocketAddr};
use core::num::NonZeroU32;
use slab::Slab;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// One association and what the endpoint keeps beside it.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) assoc: Association,
    pub(super) generation: u32,
    /// It is in the ready queue.
    pub(super) queued: bool,
    /// The time of its live entry in the timer queue; other entries are stale.
    pub(super) armed: Option<Instant>,
    /// The association has ended. Packets and commands no longer find it, but
    /// what has arrived can still be read.
    pub(super) ended: bool,
    /// Its memory as the endpoint's account has it, in bytes.
    pub(super) charged: usize,
    /// The number of the host that set it up, if the peer did.
    pub(super) host: Option<u32>,
    /// What finds the association in `by_tag` and `by_peer`.
    linked: Linked,
}

/// The keys under which an association is found.
#[derive(Debug, Default)]
struct Linked {
    tag: Option<NonZeroU32>,
    addresses: SmallVec<[SocketAddr; 2]>,
    /// The peer's SCTP port.
    port: u16,
}

/// All associations of an endpoint.
#[derive(Debug)]
pub(super) struct AssociationTable {
    /// Each in a box of its own: a slot that stays must not hold the memory of all below it.
    slots: Slab<Box<Slot>>,
    /// Our verification tag to the index in `slots`. The maps are only looked up and
    /// never iterated over, so their random order has no effect.
    by_tag: HashMap<u32, u32>,
    by_peer: Owners,
    /// The last tag looked up, because packets arrive in trains.
    last_found: Option<(u32, u32)>,
    /// The hosts that have set up associations.
    pub(super) hosts: Hosts,
    /// The generation of the newest association; 0 if there was none. In each part of a server they
    /// are other numbers: `of` apart, and from its own number on.
    generation: u32,
    part: Part,
    /// Associations that have not ended.
    live: usize,
    spent_cookies: SpentCookies,
    crest: Crest,
    largest: Largest,
}

impl AssociationTable {
    /// `max_memory`: the ceiling of all.
    pub(super) fn new(max_memory: usize, part: Part) -> AssociationTable {
        AssociationTable {
            slots: Slab::new(),
            by_tag: HashMap::new(),
            by_peer: Owners::default(),
            last_found: None,
            hosts: Hosts::new(max_memory),
            generation: 0,
            part,
            live: 0,
            spent_cookies: SpentCookies::default(),
            crest: Crest::default(),
            largest: Largest::default(),
        }
    }

    /// Associations that have not ended.
    pub(super) fn live(&self) -> usize {
        self.live
    }

    /// The id of the association that is inserted next.
    pub(super) fn next_id(&mut self) -> AssocId {
        let first = self.part.number + 1;
        self.generation = match self.generation.checked_add(self.part.of) {
            Some(next) if self.generation > 0 => next,
            _ => first,
        };
        AssocId {
            index: self.slots.vacant_key() as u32,
            generation: self.generation,
        }
    }

    /// Adds an association under the id that [`next_id`](Self::next_id) gave.
    /// `accepted_from` is the peer's address if the peer set it up.
    pub(super) fn insert(
        &mut self,
        id: AssocId,
        assoc: Association,
        accepted_from: Option<IpAddr>,
    ) {
        let index = self.slots.insert(Box::new(Slot {
            assoc,
            generation: id.generation,
            queued: false,
            armed: None,
            ended: false,
            charged: 0,
            host: accepted_from.map(|ip| self.hosts.begin(ip)),
            linked: Linked::default(),
        }));
        debug_assert_eq!(index, id.index as usize);
        self.live += 1;
        self.crest.has_passed(self.slots.len());
        self.link(id.index);
    }

    /// Lets packets with our tag, and INITs from the peer's addresses, find the
    /// association. Needed again when its tags or addresses have changed.
    pub(super) fn link(&mut self, index: u32) {
        let owned = self.unlink(index);
        let slot = &mut self.slots[index as usize];
        let a = &slot.assoc;
        let (tag, port) = (a.local_tag(), a.peer_port());
        let mut linked = Linked {
            tag: None,
            addresses: SmallVec::new(),
            port,
        };
        // Should two associations have drawn one tag, the addresses find the second.
        if let Entry::Vacant(e) = self.by_tag.entry(tag) {
            e.insert(index);
            linked.tag = NonZeroU32::new(tag);
        }
        for (remote, proven) in a.peer_addresses() {
            let owner = Owner { index, proven };
            self.by_peer
                .add((remote, port), owner, owned.contains(&remote));
            linked.addresses.push(remote);
        }
        slot.linked = linked;
    }

    /// The opposite of [`link`](Self::link). Returns the addresses that found this association.
    fn unlink(&mut self, index: u32) -> SmallVec<[SocketAddr; 2]> {
        self.last_found = None;
        let linked = core::mem::take(&mut self.slots[index as usize].linked);
        if let Some(tag) = linked.tag {
            self.by_tag.remove(&tag.get());
        }
        let mut owned = linked.addresses;
        owned.retain(|remote| self.by_peer.remove((*remote, linked.port), index));
        owned
    }

    /// The association whose packets carry this verification tag, from a peer with this
    /// SCTP port.
    #[inline]
    pub(super) fn find_by_tag(&mut self, tag: u32, port: u16) -> Option<u32> {
        let index = match self.last_found {
            Some((t, index)) if t == tag => index,
            _ => {
                let index = *self.by_tag.get(&tag)?;
                self.last_found = Some((tag, index));
                index
            }
        };
        (self.slots[index as usize].linked.port == port).then_some(index)
    }

    /// The association with the peer that has this address, UDP port and SCTP port. An
    /// address that was only listed does not count: whoever lists it first could
    /// shut its owner out (RFC 5062 section 2).
    pub(super) fn find_proven(&self, remote: SocketAddr, port: u16) -> Option<u32> {
        let owner = self.by_peer.get((remote, port))?;
        owner.proven.then_some(owner.index)
    }

    /// The association with a peer that has, or has listed, this address.
    pub(super) fn find_listed(&self, remote: SocketAddr, port: u16) -> Option<u32> {
        self.by_peer.get((remote, port)).map(|o| o.index)
    }

    /// An association has ended: packets and commands no longer find it.
    #[cold]
    pub(super) fn end(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        if core::mem::replace(&mut slot.ended, true) {
            return;
        }
        let host = slot.host;
        if let Some((tag, expires)) = slot.assoc.cookie_tag() {
            self.spent_cookies.add(tag, expires);
        }
        self.unlink(index);
        self.live -= 1;
        if let Some(host) = host {
            self.hosts.end(host);
        }
    }

    /// A restart gave an association another tag: the cookie of the old one is spent.
    pub(super) fn spend_cookie(&mut self, (tag, expires): (u32, Instant)) {
        self.spent_cookies.add(tag, expires);
    }

    /// Memory of what is kept of associations that have ended, in bytes.
    pub(super) fn memory_of_spent_cookies(&self) -> usize {
        self.spent_cookies.memory()
    }

    /// Whether an association has this tag of ours, or had it so lately that its cookie is still valid.
    pub(super) fn is_taken(&mut self, tag: u32, now: Instant) -> bool {
        self.by_tag.contains_key(&tag) || self.is_spent(tag, now)
    }

    /// Whether the association of a cookie with this tag has ended.
    pub(super) fn is_spent(&mut self, tag: u32, now: Instant) -> bool {
        self.spent_cookies.contains(tag, now)
    }

    /// Whether an association of a cookie that expires then may have ended and be forgotten.
    pub(super) fn may_be_spent(&self, expires: Instant) -> bool {
        self.spent_cookies.may_have_forgotten(expires)
    }

    /// The association that holds most memory, of all or of those of one host: one that lives, or has ended and
    /// holds data that nobody has read.
    #[cold]
    pub(super) fn largest(&mut self, host: Option<u32>) -> Option<u32> {
        let memory = |s: &Slot| (!s.ended || s.assoc.holds_received()).then_some(s.charged);
        let all = self.slots.iter();
        let those = all.filter_map(|(index, s)| Some((s.host, (memory(s)?, index as u32))));
        if host.is_some() {
            return most(those.filter(|(h, _)| *h == host).map(|(_, held)| held));
        }
        let found = self
            .largest
            .find(|index| memory(self.slots.get(index as usize)?));
        found.or_else(|| self.largest.look(those.map(|(_, held)| held)))
    }

    /// Sets what an association holds. Gives what it held before.
    #[inline]
    pub(super) fn charge(&mut self, index: u32, memory: usize) -> usize {
        self.largest.note(index, memory);
        core::mem::replace(&mut self[index].charged, memory)
    }

    /// Removes an association that has ended. Returns whether it was one of a crowd that has
    /// gone, so that all tables are to give memory back; those here have done so.
    pub(super) fn remove(&mut self, id: AssocId) -> bool {
        let slot = self.slots.remove(id.index());
        if let Some(host) = slot.host {
            self.hosts.release(host, slot.charged);
        }
        let passed = self.crest.has_passed(self.slots.len());
        if passed {
            self.slots.shrink_to_fit();
            self.by_tag.shrink_to_fit();
            self.by_peer.shrink_to_fit();
            self.hosts.give_back();
            self.largest = Largest::default();
        }
        passed
    }

    /// The association of an id, ended or not.
    #[inline]
    pub(super) fn get(&self, id: AssocId) -> Option<&Slot> {
        self.slots
            .get(id.index())
            .map(|s| &**s)
            .filter(|s| s.generation == id.generation)
    }

    /// The association of an id, ended or not.
    #[inline]
    pub(super) fn get_mut(&mut self, id: AssocId) -> Option<&mut Slot> {
        self.slots
            .get_mut(id.index())
            .map(|s| &mut **s)
            .filter(|s| s.generation == id.generation)
    }

    /// The association of an id, if it has not ended.
    #[inline]
    pub(super) fn get_live_mut(&mut self, id: AssocId) -> Option<&mut Slot> {
        self.get_mut(id).filter(|s| !s.ended)
    }

    /// The association at an index, whatever its generation.
    pub(super) fn at(&self, index: u32) -> Option<&Slot> {
        self.slots.get(index as usize).map(|s| &**s)
    }

    /// The association at an index, whatever its generation.
    #[inline]
    pub(super) fn at_index(&mut self, index: u32) -> Option<&mut Slot> {
        self.slots.get_mut(index as usize).map(|s| &mut **s)
    }

    /// The indices of the associations that have not ended.
    pub(super) fn live_indices(&self) -> Vec<u32> {
        let live = self.slots.iter().filter(|(_, slot)| !slot.ended);
        live.map(|(index, _)| index as u32).collect()
    }

    /// All associations, ended or not.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().map(|(_, slot)| &**slot)
    }
}

/// The association at an index that [`find`](AssociationTable::find) gave.
impl core::ops::Index<u32> for AssociationTable {
    type Output = Slot;

    #[inline]
    fn index(&self, index: u32) -> &Slot {
        &self.slots[index as usize]
    }
}

impl core::ops::IndexMut<u32> for AssociationTable {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut Slot {
        &mut self.slots[index as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A quick succession of set-ups drew a spent tag once in some hundred thousand, and that peer got no answer
    /// for a minute.
    #[test]
    fn a_tag_is_taken_until_the_cookie_of_its_association_expires() {
        let at = Instant::from_millis;
        let mut table = AssociationTable::new(1 << 20, Part::WHOLE);
        assert!(!table.is_taken(7, at(0)));
        table.spend_cookie((7, at(100)));
        assert!(table.is_taken(7, at(99)) && !table.is_taken(8, at(99)));
        assert!(!table.is_taken(7, at(100)));
        table.by_tag.insert(9, 0);
        assert!(table.is_taken(9, at(100)));
    }
}
