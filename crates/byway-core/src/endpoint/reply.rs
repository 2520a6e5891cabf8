//! Replies outside any association. Their bytes may go to a forged source (RFC 5062 section 9): so
//! none is longer than three times the packet that it answers.

use super::Endpoint;
use crate::assoc::Inbound;
use crate::config::ChecksumMode;
use crate::outbox::Finished;
use byway_wire::{Checksum, CommonHeader, PacketBuilder};

/// Most bytes that answer one byte of a packet.
pub(super) const AMPLIFICATION: usize = 3;

/// What the ABORT says that answers an INIT to an SCTP port on which no association is accepted.
/// Where a connect fails with [`LossReason::AbortedByPeer`](crate::LossReason::AbortedByPeer) and
/// this text, the port is wrong or nothing listens any more.
pub const NOTHING_LISTENS: &str = "nothing listens on this SCTP port";

impl Endpoint {
    /// Queues a packet to the sender of `inbound`. `write` adds its chunks. Parameters and causes
    /// that do not fit are left out.
    pub(super) fn reply(
        &mut self,
        inbound: &Inbound<'_>,
        verification_tag: u32,
        write: impl FnOnce(&mut PacketBuilder<'_>),
    ) {
        self.reply_within(inbound, verification_tag, usize::MAX, write);
    }

    /// Refuses what the sender of `inbound` wants, with the reason in words. No cause of RFC 9260
    /// but the User-Initiated Abort has room for them (section 3.3.10.12).
    pub(super) fn refuse_because(&mut self, inbound: &Inbound<'_>, tag: u32, why: &str) {
        self.reply(inbound, tag, |p| {
            p.abort(false, |c| {
                c.user_initiated_abort(why.as_bytes());
            });
        });
    }

    /// [`reply`](Self::reply) with at most `most` bytes.
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
        .with_limit(most.min(AMPLIFICATION * inbound.len));
        write(&mut packet);
        packet.finish(match self.cfg.checksum {
            ChecksumMode::Crc32c => Checksum::Crc32c,
            ChecksumMode::Offloaded => Checksum::Zero,
        });
        self.out.queue_reply(Finished {
            source: *inbound.destination,
            destination: *inbound.source,
            bytes,
        });
        self.recount_beside();
    }
}
