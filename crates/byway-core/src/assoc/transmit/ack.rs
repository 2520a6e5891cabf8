//! Sends SACKs, alone or with data (RFC 9260 sections 6.2, 6.4 and 6.10).

use super::Sent;
use crate::assoc::{Association, Ctx};
use crate::observe::Observation;
use crate::path::PathId;
use byway_wire::{COMMON_HEADER_LEN, PacketBuilder};

/// Bytes of a SACK without gaps and duplicates.
const SACK_LEN: usize = 16;
/// Most gap blocks of a SACK that is bundled with other chunks. A SACK in its own
/// packet lists as many as fit (section 6.2).
pub(super) const MAX_BUNDLED_GAPS: usize = 64;

impl Association {
    /// Where a SACK goes (section 6.4).
    pub(super) fn sack_path(&self) -> PathId {
        match self.cfg.sack.destination {
            crate::config::SackDestination::DataPath => self.paths.data(),
            crate::config::SackDestination::ReplyPath => {
                let reply = self.recv.acker.reply_path().unwrap_or(self.paths.data());
                self.reply_to(reply)
            }
        }
    }

    /// Writes the SACK that leaves now, with at most `max_gaps` gap blocks. Returns the
    /// advertised window and the number of gap blocks.
    #[inline]
    pub(super) fn write_sack(
        &mut self,
        packet: &mut PacketBuilder<'_>,
        max_gaps: usize,
    ) -> (u32, usize) {
        let (a_rwnd, flags) = (self.recv.a_rwnd(), self.sack_flags());
        let tsns = &mut self.recv.tsns;
        let (gaps, duplicates) = (tsns.gap_blocks(max_gaps), tsns.duplicates().iter().copied());
        let count = gaps.len();
        packet.sack_from(flags, tsns.cumulative(), a_rwnd, gaps, duplicates);
        tsns.forget_duplicates();
        (a_rwnd, count)
    }

    /// Number of gap blocks that fit into a packet without other chunks.
    fn gaps_that_fit(&self, path: PathId) -> usize {
        let room = self.room_beside_timestamp(path) - COMMON_HEADER_LEN - SACK_LEN;
        (room / 4).saturating_sub(self.recv.tsns.duplicate_count())
    }

    /// Bytes of a SACK chunk that is bundled with data, if this is allowed.
    pub(super) fn bundled_sack_len(&self) -> Option<usize> {
        let gaps = self.recv.tsns.gap_count();
        let len = SACK_LEN + 4 * gaps + 4 * self.recv.tsns.duplicate_count();
        (gaps <= MAX_BUNDLED_GAPS).then_some(len)
    }

    /// A SACK left: the acker starts again, and the SACK is counted.
    #[inline]
    pub(super) fn sack_sent(&mut self, ctx: &mut Ctx<'_>, path: PathId, a_rwnd: u32, gaps: usize) {
        self.end_acknowledgement();
        self.recv.advertise(a_rwnd);
        self.stats.sacks_sent += 1;
        let cumulative = self.recv.tsns.cumulative();
        self.observe_detail(ctx, || Observation::SackSent {
            path,
            cumulative,
            gaps: gaps as u16,
            a_rwnd,
        });
    }

    /// Sends a packet with a SACK and no DATA, with as many gap blocks as fit.
    #[inline(never)]
    pub(super) fn send_sack(&mut self, ctx: &mut Ctx<'_>, buf: &mut Vec<u8>) -> Sent {
        let path = self.sack_path();
        let max_gaps = self.gaps_that_fit(path);
        let mut packet = PacketBuilder::new(buf, self.header());
        self.write_timestamp(&mut packet, ctx.now, (false, true));
        let (a_rwnd, gaps) = self.write_sack(&mut packet, max_gaps);
        let len = packet.finish(ctx.checksum());
        self.sack_sent(ctx, path, a_rwnd, gaps);
        self.sent(ctx, path, len)
    }

    /// A SACK left: resets the count of packets and stops SACK.Delay.
    #[inline]
    fn end_acknowledgement(&mut self) {
        if let Some(d) = &mut self.optional.dialect
            && d.on_sack_sent(&mut self.recv.acker)
        {
            return;
        }
        self.recv.acker.sent();
    }
}
