//! Replies outside any association.

use super::Endpoint;
use crate::assoc::Inbound;
use crate::config::ChecksumMode;
use crate::outbox::OutboundReply;
use byway_wire::{Checksum, CommonHeader, PacketBuilder};

impl Endpoint {
    /// Queues a packet to the sender of `inbound`. `write` adds its chunks.
    pub(super) fn reply(
        &mut self,
        inbound: &Inbound<'_>,
        verification_tag: u32,
        write: impl FnOnce(&mut PacketBuilder<'_>),
    ) {
        self.reply_within(inbound, verification_tag, usize::MAX, write);
    }

    /// [`reply`](Self::reply) with at most `most` bytes: parameters and causes that do not
    /// fit are left out.
    pub(super) fn reply_within(
        &mut self,
        inbound: &Inbound<'_>,
        verification_tag: u32,
        most: usize,
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
        )
        .with_limit(most);
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
