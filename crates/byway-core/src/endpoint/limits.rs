//! Limits on the number of associations that peers set up.

use super::Endpoint;
use crate::assoc::Inbound;
use core::net::IpAddr;

impl Endpoint {
    /// Whether no further association with a peer at this address is accepted.
    pub(super) fn is_full(&self, ip: IpAddr) -> bool {
        self.table.live() >= self.cfg.max_associations
            || self.table.accepted_from(ip) >= self.cfg.max_associations_per_peer
    }

    /// Refuses an association because a limit was reached.
    pub(super) fn refuse(&mut self, inbound: &Inbound<'_>, tag: u32) {
        self.stats.refused += 1;
        self.reply(inbound, tag, |p| {
            p.abort(false, |c| {
                c.out_of_resource();
            });
        });
    }
}
