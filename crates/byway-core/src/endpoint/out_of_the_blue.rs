//! Packets out of the blue (RFC 9260 section 8.4).

use super::Endpoint;
use crate::assoc::{Inbound, OutboundReply};
use crate::config::ChecksumMode;
use crate::time::Instant;
use byway_wire::{Cause, Checksum, Chunk, CommonHeader, PacketBuilder, chunk_type};

impl Endpoint {
    /// A packet of no association.
    #[cold]
    pub(super) fn out_of_the_blue(&mut self, _now: Instant, inbound: &Inbound<'_>) {
        self.stats.out_of_the_blue += 1;
        let ip = inbound.source.ip();
        if ip.is_multicast() || ip.is_unspecified() {
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
                chunk_type::SHUTDOWN_ACK => shutdown_ack = true,
                chunk_type::INIT => return self.refuse_init(inbound, &raw),
                chunk_type::ERROR if has_stale_cookie(&raw) => return,
                _ => {}
            }
        }
        let tag = inbound.packet.header().verification_tag;
        self.answer(inbound, tag, |p| {
            if shutdown_ack {
                p.shutdown_complete(true);
            } else {
                p.abort(true, |_| {});
            }
        });
    }

    /// An INIT to a port where nobody listens. The ABORT carries the peer's own
    /// tag and no T bit (section 8.4, rule 3), or the peer would not take it.
    fn refuse_init(&mut self, inbound: &Inbound<'_>, raw: &byway_wire::RawChunk<'_>) {
        let Ok(Chunk::Init(init)) = raw.parse() else {
            return;
        };
        if init.initiate_tag != 0 && inbound.packet.header().verification_tag == 0 {
            self.answer(inbound, init.initiate_tag, |p| p.abort(false, |_| {}));
        }
    }

    /// Queues one packet of answer, with the ports turned round.
    pub(super) fn answer(
        &mut self,
        inbound: &Inbound<'_>,
        verification_tag: u32,
        write: impl FnOnce(&mut PacketBuilder<'_>),
    ) {
        let header = inbound.packet.header();
        let mut bytes = Vec::new();
        let mut packet = PacketBuilder::new(
            &mut bytes,
            CommonHeader {
                source_port: header.destination_port,
                destination_port: header.source_port,
                verification_tag,
            },
        );
        write(&mut packet);
        packet.finish(match self.cfg.checksum {
            ChecksumMode::Crc32c => Checksum::Crc32c,
            ChecksumMode::Offloaded => Checksum::Zero,
        });
        self.out.queue_reply(OutboundReply {
            source: *inbound.destination,
            destination: *inbound.source,
            bytes,
        });
    }
}

fn has_stale_cookie(raw: &byway_wire::RawChunk<'_>) -> bool {
    let Ok(Chunk::Error(e)) = raw.parse() else {
        return false;
    };
    e.causes
        .iter()
        .map_while(Result::ok)
        .any(|c| matches!(c.parse(), Ok(Cause::StaleCookie { .. })))
}
