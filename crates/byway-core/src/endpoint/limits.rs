//! Limits on the number of associations that peers set up, and on what they ask for.

use super::Endpoint;
use super::answers::Answer;
use crate::api::AssocId;
use crate::assoc::Inbound;
use crate::refusals::Rule;
use crate::time::Instant;
use core::net::IpAddr;

/// A host that has fewer associations may set up one while memory is scarce, so that hosts which make this side keep
/// much do not keep newcomers out.
const FEW: usize = 8;

impl Endpoint {
    /// The rule by which no further association with a peer at this address is accepted.
    pub(super) fn full_by(&self, ip: IpAddr) -> Option<Rule> {
        let few = self.table.hosts.live(ip) < FEW;
        if self.account.refuses_associations(few) || self.table.hosts.refuses_associations(ip) {
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

    /// Whether the user of the endpoint may answer a handshake of this peer, which costs a signature
    /// and a key exchange and proves nothing before it has ended. It counts, for the host and for
    /// all; without a token there is a [`Rule::Handshakes`] more. An association that is not known
    /// any more gets none.
    pub fn take_handshake(&mut self, now: Instant, id: AssocId) -> bool {
        let Some(peer) = self.first_remote(id) else {
            return false;
        };
        let may = self.answers.take(Answer::Handshake, peer.ip(), now);
        if !may {
            self.out.refuse(Rule::Handshakes, peer);
        }
        may
    }

    /// The peer has proved with its handshake that it is let in: what
    /// [`take_handshake`](Self::take_handshake) counted is given back. Call it once for each.
    pub fn give_handshake_back(&mut self, id: AssocId) {
        if let Some(peer) = self.first_remote(id) {
            self.answers.proved(Answer::Handshake, peer.ip());
        }
    }

    /// The peer has broken the protocol of a layer above: a [`Rule::Violations`] more. It counts for its
    /// host; the layer above ends the association. Nothing happens if it is not known any more.
    pub fn count_violation(&mut self, now: Instant, id: AssocId) {
        if let Some(peer) = self.first_remote(id) {
            self.answers.violated(peer.ip(), now);
            self.out.refuse(Rule::Violations, peer);
        }
    }

    /// Whether the layer above shall refuse this association, as its host has used up the rate of
    /// [`count_violation`](Self::count_violation); then there is a [`Rule::Violators`] more, and the host gets
    /// fewer answers to INITs. An association that is not known any more is not refused.
    pub fn bars_violator(&mut self, now: Instant, id: AssocId) -> bool {
        let Some(peer) = self.first_remote(id) else {
            return false;
        };
        let bars = self.answers.bars(peer.ip(), now);
        if bars {
            self.out.refuse(Rule::Violators, peer);
        }
        bars
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
