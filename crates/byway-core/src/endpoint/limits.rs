//! Limits on the number of associations that peers set up.

use super::Endpoint;
use super::answers::Answer;
use crate::assoc::Inbound;
use crate::time::Instant;
use core::net::IpAddr;

impl Endpoint {
    /// Whether no further association with a peer at this address is accepted.
    pub(super) fn is_full(&self, ip: IpAddr) -> bool {
        self.account.refuses_associations()
            || self.table.live() >= self.cfg.max_associations
            || self.table.accepted_from(ip) >= self.cfg.max_associations_per_peer
    }

    /// Whether an answer to the sender of a packet may leave.
    pub(super) fn may_answer(&mut self, kind: Answer, now: Instant, inbound: &Inbound<'_>) -> bool {
        let may = self.answers.take(kind, inbound.source.ip(), now);
        self.stats.answers_withheld += u64::from(!may);
        may
    }

    /// Refuses an association because a limit was reached.
    pub(super) fn refuse(&mut self, now: Instant, inbound: &Inbound<'_>, tag: u32) {
        self.stats.refused += 1;
        if !self.may_answer(Answer::OutOfTheBlue, now, inbound) {
            return;
        }
        self.reply(inbound, tag, |p| {
            p.abort(false, |c| {
                c.out_of_resource();
            });
        });
    }
}
