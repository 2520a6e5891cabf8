//! Packets out of the blue (RFC 9260 section 8.4).

use super::Endpoint;
use super::answers::Answer;
use super::reply::NOTHING_LISTENS;
use crate::assoc::Inbound;
use crate::refusals::Rule;
use crate::time::Instant;
use byway_wire::{Cause, Chunk, RawChunk, chunk_type};

impl Endpoint {
    /// Answers a packet that belongs to no association, or drops it.
    #[cold]
    pub(super) fn out_of_the_blue(&mut self, now: Instant, inbound: &Inbound<'_>) {
        self.out.refuse(Rule::OutOfTheBlue, *inbound.source);
        if !self.may_answer(Answer::OutOfTheBlue, now, inbound) {
            return;
        }
        let mut shutdown_ack = false;
        for chunk in inbound.packet.chunks() {
            let Ok(raw) = chunk else {
                // A malformed packet gets no answer.
                return;
            };
            match raw.kind {
                chunk_type::ABORT | chunk_type::SHUTDOWN_COMPLETE | chunk_type::COOKIE_ACK => {
                    return;
                }
                // Not as rule 8 has it. Who sent it keeps nothing for it, so an ABORT says nothing to a peer
                // without an association. And it ends a good one that the peer is setting up at the same time:
                // where both begin, the INIT of this side and its answer to the peer's have one tag, and its
                // set-up may have ended since, while the peer's COOKIE ECHO is under way.
                chunk_type::INIT_ACK => return,
                chunk_type::SHUTDOWN_ACK => shutdown_ack = true,
                chunk_type::INIT => return self.refuse_init(inbound, &raw),
                chunk_type::ERROR if has_stale_cookie(&raw) => return,
                _ => {}
            }
        }
        let tag = inbound.packet.header().verification_tag;
        self.reply(inbound, tag, |p| {
            if shutdown_ack {
                p.shutdown_complete(true);
            } else {
                p.abort(true, |c| {
                    c.user_initiated_abort(b"no such association");
                });
            }
        });
    }

    /// Refuses an INIT to a port on which nothing listens. The ABORT carries the
    /// peer's Initiate Tag and no T bit (section 8.4, rule 3), or the peer would
    /// discard it.
    fn refuse_init(&mut self, inbound: &Inbound<'_>, raw: &RawChunk<'_>) {
        let Ok(Chunk::Init(init)) = raw.parse() else {
            return;
        };
        if init.initiate_tag != 0 && inbound.packet.header().verification_tag == 0 {
            self.refuse_because(inbound, init.initiate_tag, NOTHING_LISTENS);
        }
    }
}

fn has_stale_cookie(raw: &RawChunk<'_>) -> bool {
    let Ok(Chunk::Error(e)) = raw.parse() else {
        return false;
    };
    e.causes
        .iter()
        .map_while(Result::ok)
        .any(|c| matches!(c.parse(), Ok(Cause::StaleCookie { .. })))
}
