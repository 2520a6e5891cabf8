//! Limits on the number of associations that peers set up.

use super::Endpoint;
use super::answers::Answer;
use crate::assoc::Inbound;
use crate::refusals::Rule;
use crate::time::Instant;
use core::net::IpAddr;

impl Endpoint {
    /// The rule by which no further association with a peer at this address is accepted.
    pub(super) fn full_by(&self, ip: IpAddr) -> Option<Rule> {
        if self.account.refuses_associations() || self.table.hosts.refuses_associations(ip) {
            Some(Rule::Memory)
        } else if self.table.live() >= self.cfg.max_associations {
            Some(Rule::Associations)
        } else if self.table.hosts.live(ip) >= self.cfg.max_associations_per_peer {
            Some(Rule::AssociationsOfPeer)
        } else {
            None
        }
    }

    /// Whether an answer to the sender of a packet may leave.
    pub(super) fn may_answer(&mut self, kind: Answer, now: Instant, inbound: &Inbound<'_>) -> bool {
        let may = self.answers.take(kind, inbound.source.ip(), now);
        if !may {
            self.out.refuse(Rule::AnswerRate, *inbound.source);
        }
        may
    }

    /// Refuses an association because a limit was reached.
    pub(super) fn refuse(&mut self, now: Instant, inbound: &Inbound<'_>, tag: u32, rule: Rule) {
        self.out.refuse(rule, *inbound.source);
        if !self.may_answer(Answer::OutOfTheBlue, now, inbound) {
            return;
        }
        self.reply(inbound, tag, |p| {
            p.abort(false, |c| {
                c.out_of_resource();
                c.user_initiated_abort(words(rule).as_bytes());
            });
        });
    }
}

/// What the peer is told of a limit beside the cause, which has no room for words.
fn words(rule: Rule) -> &'static str {
    match rule {
        Rule::Associations => "as many associations as it takes",
        Rule::AssociationsOfPeer => "as many associations with your host as it takes",
        _ => "memory is scarce",
    }
}
