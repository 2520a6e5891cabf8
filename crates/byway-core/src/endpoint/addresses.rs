//! The endpoint's own addresses come and go.

use super::{Endpoint, ctx};
use crate::api::{AddressError, AssocId, CommandError};
use crate::assoc::{Ctx, Ours};
use crate::config::MAX_LOCAL;
use crate::scope::is_unicast;
use crate::time::Instant;
use core::net::{IpAddr, SocketAddr};

/// Changes that are remembered for set-ups under way.
const REMEMBERED: usize = 32;

impl Endpoint {
    /// The addresses of this side, and which came or went since it listed them at `then`.
    pub(super) fn ours_since(&self, then: Instant) -> Ours {
        let late = self.changed.iter().filter(|c| c.0 >= then);
        Ours {
            local: self.local.clone(),
            changed: late.map(|c| (c.1, c.2)).collect(),
        }
    }

    /// Changes the addresses of this side. New associations have the new ones at once. Each
    /// existing association tells its peer with one ASCONF, if both sides support that (RFC
    /// 5061): an address that comes is a source when the peer has acknowledged it; one that
    /// goes sends nothing from now on. An address that is added and was there, or is removed
    /// and was not, is passed over.
    ///
    /// Where one address takes the place of another, use one call: with two calls, the first
    /// ASCONF would leave from the address that is gone.
    ///
    /// [`Event::AddressChanged`](crate::Event::AddressChanged) or
    /// [`Event::AddressChangeRefused`](crate::Event::AddressChangeRefused) follows for each
    /// association and address.
    ///
    /// # Errors
    /// When an address cannot be one, or none or too many would be left. Nothing changes
    /// then.
    pub fn change_local_addresses(
        &mut self,
        now: Instant,
        add: &[SocketAddr],
        remove: &[IpAddr],
    ) -> Result<(), AddressError> {
        let bad = |a: &&SocketAddr| !is_unicast(a.ip());
        if let Some(a) = add.iter().find(bad) {
            return Err(AddressError::Bad(*a));
        }
        let mut local = self.local.to_vec();
        local.retain(|a| !remove.contains(&a.ip()));
        for a in add {
            if !local.iter().any(|l| l.ip() == a.ip()) {
                local.push(*a);
            }
        }
        if local.is_empty() {
            return Err(AddressError::NoneLeft);
        }
        if local.len() > MAX_LOCAL {
            return Err(AddressError::TooMany);
        }
        let went = self
            .local
            .iter()
            .filter(|l| !local.contains(l))
            .map(|a| (now, false, *a));
        let came = local
            .iter()
            .filter(|a| !self.local.contains(a))
            .map(|a| (now, true, *a));
        let news: Vec<_> = went.chain(came).collect();
        self.changed.extend(news);
        let old = self.changed.len().saturating_sub(REMEMBERED);
        self.changed.drain(..old);
        self.local = local.into();
        for index in self.table.live_indices() {
            let mut ctx = ctx!(self, now);
            let a = &mut self.table[index].assoc;
            a.change_local(&mut ctx, add, remove);
            if a.take_addresses_changed() {
                self.table.link(index);
            }
            self.wake(index);
        }
        Ok(())
    }

    /// The routes of this host, or the MTUs of its interfaces, have changed: what
    /// [`Routes`](crate::Routes) remember of them is old. [`ask_routes_again`](Self::ask_routes_again)
    /// is to follow.
    pub fn forget_routes(&mut self) {
        self.routes.changed();
    }

    /// After a change of the routes ([`forget_routes`](Self::forget_routes)) each path asks which
    /// MTU its interface has, and whether its source still leads to its address. A path whose
    /// source does not leaves from another address of this side that does
    /// ([`Event::PathMoved`](crate::Event::PathMoved)). Without one the path is in doubt at once, as
    /// after [`send_failed`](Self::send_failed), while another path has a way.
    ///
    /// Routes that ask an operating system take their time, so `most` associations do so at
    /// once, those from the place `from` on (0 is the first one). Returns the place to go on
    /// from, `None` at the end.
    pub fn ask_routes_again(&mut self, now: Instant, from: usize, most: usize) -> Option<usize> {
        let mut live = self.table.live_indices();
        live.retain(|index| *index as usize >= from);
        let rest = live.get(most).map(|index| *index as usize);
        for index in live.into_iter().take(most) {
            let mut ctx = ctx!(self, now);
            self.table[index].assoc.on_routes_changed(&mut ctx);
            self.wake(index);
        }
        rest
    }

    /// [`change_local_addresses`](Self::change_local_addresses) with one address that
    /// comes.
    ///
    /// # Errors
    /// As there.
    pub fn add_local_address(
        &mut self,
        now: Instant,
        address: SocketAddr,
    ) -> Result<(), AddressError> {
        self.change_local_addresses(now, &[address], &[])
    }

    /// [`change_local_addresses`](Self::change_local_addresses) with one address that goes.
    ///
    /// # Errors
    /// As there.
    pub fn remove_local_address(
        &mut self,
        now: Instant,
        address: IpAddr,
    ) -> Result<(), AddressError> {
        self.change_local_addresses(now, &[], &[address])
    }

    /// Asks the peer to send to this address of ours while it can (RFC 5061 section 4.2.4).
    ///
    /// # Errors
    /// When a side does not support changes of addresses, or the address is not ours.
    pub fn set_peer_primary(
        &mut self,
        now: Instant,
        id: AssocId,
        local: IpAddr,
    ) -> Result<(), CommandError> {
        self.command(now, id, |a, ctx| a.ask_for_primary(ctx, local))
    }

    /// Whether the addresses of an association can change: both sides support it.
    #[must_use]
    pub fn changes_addresses(&self, id: AssocId) -> bool {
        self.table
            .get(id)
            .is_some_and(|s| s.assoc.can_change_addresses())
    }
}
