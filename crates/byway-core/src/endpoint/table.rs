//! The associations of an endpoint, by number and by the peer's addresses.

use crate::api::AssocId;
use crate::assoc::Association;
use crate::time::Instant;
use core::net::IpAddr;
use slab::Slab;
use std::collections::HashMap;

/// One association and what the endpoint keeps beside it.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) assoc: Box<Association>,
    pub(super) generation: u32,
    /// It is in the ready queue.
    pub(super) queued: bool,
    /// The time of its live entry in the timer queue; other entries are stale.
    pub(super) armed: Option<Instant>,
    /// The association has ended. Packets and commands no longer find it, but
    /// what has arrived can still be read.
    pub(super) ended: bool,
    /// The peer's address if the peer set it up: the association counts against
    /// `max_associations_per_peer` of that address.
    accepted_from: Option<IpAddr>,
}

/// All associations of an endpoint.
#[derive(Debug, Default)]
pub(super) struct AssociationTable {
    slots: Slab<Slot>,
    /// The peer's address and SCTP port to the index in `slots`. Only looked up
    /// and never iterated over, so its random order has no effect.
    by_peer: HashMap<(IpAddr, u16), u32>,
    /// The last address looked up. Successive packets often come from one address.
    last_found: Option<(IpAddr, u16, u32)>,
    /// How many live associations each peer address has set up.
    accepted_from: HashMap<IpAddr, usize>,
    /// The generation of the newest association.
    generation: u32,
    /// Associations that have not ended.
    live: usize,
}

impl AssociationTable {
    /// Associations that have not ended.
    pub(super) fn live(&self) -> usize {
        self.live
    }

    /// Live associations that a peer has set up from this address.
    pub(super) fn accepted_from(&self, ip: IpAddr) -> usize {
        self.accepted_from.get(&ip).copied().unwrap_or(0)
    }

    /// The id of the association that is inserted next.
    pub(super) fn next_id(&mut self) -> AssocId {
        self.generation = self.generation.wrapping_add(1).max(1);
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
        let index = self.slots.insert(Slot {
            assoc: Box::new(assoc),
            generation: id.generation,
            queued: false,
            armed: None,
            ended: false,
            accepted_from,
        });
        debug_assert_eq!(index, id.index as usize);
        if let Some(ip) = accepted_from {
            *self.accepted_from.entry(ip).or_default() += 1;
        }
        self.live += 1;
        self.link(id.index);
    }

    /// Lets packets from all addresses of the peer find the association.
    pub(super) fn link(&mut self, index: u32) {
        let a = &self.slots[index as usize].assoc;
        for ip in a.peer_addresses() {
            self.by_peer.entry((ip, a.peer_port())).or_insert(index);
        }
    }

    /// The opposite of [`link`](Self::link). Needed before the peer's addresses
    /// change.
    pub(super) fn unlink(&mut self, index: u32) {
        self.last_found = None;
        let a = &self.slots[index as usize].assoc;
        for ip in a.peer_addresses() {
            let key = (ip, a.peer_port());
            if self.by_peer.get(&key) == Some(&index) {
                self.by_peer.remove(&key);
            }
        }
    }

    /// The association with the peer that has this address and SCTP port.
    #[inline]
    pub(super) fn find(&mut self, ip: IpAddr, port: u16) -> Option<u32> {
        match self.last_found {
            Some((i, p, index)) if i == ip && p == port => Some(index),
            _ => {
                let index = *self.by_peer.get(&(ip, port))?;
                self.last_found = Some((ip, port, index));
                Some(index)
            }
        }
    }

    /// Whether an association with this address and SCTP port exists.
    pub(super) fn contains(&self, ip: IpAddr, port: u16) -> bool {
        self.by_peer.contains_key(&(ip, port))
    }

    /// An association has ended: packets and commands no longer find it.
    #[cold]
    pub(super) fn end(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        if core::mem::replace(&mut slot.ended, true) {
            return;
        }
        let accepted_from = slot.accepted_from;
        self.unlink(index);
        self.live -= 1;
        if let Some(ip) = accepted_from
            && let Some(n) = self.accepted_from.get_mut(&ip)
        {
            *n -= 1;
            if *n == 0 {
                self.accepted_from.remove(&ip);
            }
        }
    }

    /// Removes an association that has ended.
    pub(super) fn remove(&mut self, id: AssocId) {
        self.slots.remove(id.index());
    }

    /// The association of an id, ended or not.
    #[inline]
    pub(super) fn get(&self, id: AssocId) -> Option<&Slot> {
        self.slots
            .get(id.index())
            .filter(|s| s.generation == id.generation)
    }

    /// The association of an id, ended or not.
    #[inline]
    pub(super) fn get_mut(&mut self, id: AssocId) -> Option<&mut Slot> {
        self.slots
            .get_mut(id.index())
            .filter(|s| s.generation == id.generation)
    }

    /// The association of an id, if it has not ended.
    #[inline]
    pub(super) fn get_live_mut(&mut self, id: AssocId) -> Option<&mut Slot> {
        self.get_mut(id).filter(|s| !s.ended)
    }

    /// The association at an index, whatever its generation.
    #[inline]
    pub(super) fn at_index(&mut self, index: u32) -> Option<&mut Slot> {
        self.slots.get_mut(index as usize)
    }

    /// All associations, ended or not.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().map(|(_, slot)| slot)
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
