//! The memory of an endpoint, and its ceiling.
//!
//! Every association counts the memory that its peer can make it keep, and the user of
//! the endpoint may add what it keeps for an association. Answers to strangers and the tags of
//! spent cookies count as well; both have limits of their own. The sum has a ceiling,
//! [`EndpointConfig::max_memory`](crate::EndpointConfig::max_memory). What is shed, in
//! this order:
//!
//! 1. Above three quarters, hosts that have eight associations set up no further ones.
//! 2. Above seven eighths, each association may use its max-min share of seven eighths (`super::account`). DATA that
//!    comes beyond it is dropped (unacknowledged, so it comes again), but for what lets the association go on
//!    (`crate::assoc::Scarcity`). Windows are seven eighths of what is left of the share at most.
//! 3. Above fifteen sixteenths, the association that holds most is aborted, with the cause Out of
//!    Resource. One that has ended counts while nobody has read its data, which is dropped. The rest is for
//!    new associations; above fifteen sixteenths none is set up.
//!
//! The associations of one host have half of the ceiling, and the same three rules
//! ([`super::hosts`]): so one host keeps no other out.

use super::{Endpoint, ctx};
use crate::api::{AssocId, LossReason};
use crate::assoc::{AbortReason, Ctx, Scarcity};
use crate::refusals::Rule;
use crate::time::Instant;

impl Endpoint {
    /// Memory that peers can make this side keep, in bytes: that of associations, what
    /// [`charge`](Self::charge) added, answers to strangers that wait, and the tags of spent cookies.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.account.used()
    }

    /// Memory that an association takes, in bytes, ended or not.
    #[must_use]
    pub fn memory_of(&self, id: AssocId) -> Option<usize> {
        self.table.get(id).map(|s| s.charged)
    }

    /// The user of the endpoint keeps `bytes` for this association outside of the
    /// endpoint, such as messages that it has taken with [`receive`](Self::receive) and
    /// no reader has read. It replaces what was charged before.
    pub fn charge(&mut self, id: AssocId, bytes: usize) {
        let Some(slot) = self.table.get_mut(id) else {
            return;
        };
        slot.assoc.keep_by_user(bytes);
        self.recount(id.index);
    }

    /// Aborts the associations that hold most, if with what was
    /// [charged](Self::charge) to this one a ceiling was passed, that of all or that of its host.
    /// Returns whether one was. The endpoint asks by itself when an association has handled a packet or a timer and has
    /// nothing more to send.
    pub fn shed_over_ceiling(&mut self, now: Instant, id: AssocId) -> bool {
        let before = self.out.counts().of(Rule::Shed);
        if self.table.get(id).is_some() {
            self.shed_of_host(now, id.index);
            self.shed(now);
        }
        self.out.counts().of(Rule::Shed) > before
    }

    /// What an association may still take of the memory of all, and of that of its host if the peer set it up.
    #[inline]
    pub(super) fn scarcity_for(&mut self, index: u32) -> Scarcity {
        let all = self.account.scarcity();
        match self.table[index].host {
            None => all,
            Some(host) => all.and(self.table.hosts.account(host).scarcity()),
        }
    }

    /// Counts the memory of an association again.
    #[inline]
    pub(super) fn recount(&mut self, index: u32) {
        let slot = &self.table[index];
        let (memory, host) = (slot.assoc.memory(), slot.host);
        let before = self.table.charge(index, memory);
        self.account.change(before, memory);
        if let Some(host) = host {
            self.table.hosts.account(host).change(before, memory);
        }
    }

    /// Counts again what is held beside associations: answers to strangers that wait, at most 1,024, and the tags of
    /// spent cookies, at most 16,384. No shedding frees it.
    #[cold]
    pub(super) fn recount_beside(&mut self) {
        let bytes = self.out.memory_of_replies() + self.table.memory_of_spent_cookies();
        self.account.hold_beside(bytes);
    }

    /// Aborts the associations that hold most until the rest fits under the ceiling.
    #[inline]
    pub(super) fn shed(&mut self, now: Instant) {
        while self.account.is_over() && self.shed_one(now, None) {}
    }

    /// The same for the associations of this one's host and their half.
    #[inline]
    pub(super) fn shed_of_host(&mut self, now: Instant, index: u32) {
        let Some(host) = self.table[index].host else {
            return;
        };
        while self.table.hosts.account(host).is_over() && self.shed_one(now, Some(host)) {}
    }

    /// Aborts the association that holds most, of all or of one host. Its unread data is lost
    /// with it, so that its memory is free at once. Of one that has ended, this data is what there is to free.
    /// Returns false if nothing is left to free.
    #[cold]
    fn shed_one(&mut self, now: Instant, host: Option<u32>) -> bool {
        let Some(index) = self.table.largest(host) else {
            return false;
        };
        let mut ctx = ctx!(self, now);
        let a = &mut self.table[index].assoc;
        a.refuse(&mut ctx, Rule::Shed);
        if a.is_closed() {
            // The peer has gone.
            a.lose_received(&mut ctx);
        } else {
            a.abort(
                &mut ctx,
                LossReason::OutOfMemory,
                AbortReason::OutOfResource,
            );
        }
        a.forget_received();
        self.wake(index);
        true
    }
}
