//! Buffers that tune themselves (`buffer.tuning`).

use super::{Association, Ctx};
use crate::path::PathState;

impl Association {
    /// The most that may be buffered for sending now. With tuning, what is unacknowledged
    /// does not count, up to `buffer.tuning.send`. While memory is scarce it is less.
    pub(super) fn send_limit(&self) -> u32 {
        let b = &self.cfg.buffer;
        let limit = b.tuning.map_or(b.send, |t| {
            let limit = u64::from(b.send) + self.send.ledger.payload();
            limit.min(t.send.into()).max(b.send.into()) as u32
        });
        limit.min(self.send.largest_buffer())
    }

    /// Writable is due when no more than this is buffered: half of `buffer.send` is free, or of what takes its place.
    pub(super) fn writable_at(&self) -> u64 {
        let limit = self.send_limit();
        u64::from(limit - limit.min(self.cfg.buffer.send).div_ceil(2))
    }

    /// The most that may be unacknowledged while the queue never runs empty.
    pub(super) fn most_outstanding(&self) -> u64 {
        let b = &self.cfg.buffer;
        let most = b.tuning.map_or(b.send, |t| t.send.max(b.send));
        u64::from(most - b.send.div_ceil(2))
    }

    /// DATA arrived: the receive buffer grows with what the user reads in a round trip, and with what waits behind gaps.
    #[inline]
    pub(super) fn tune_receive_buffer(&mut self, ctx: &Ctx<'_>) {
        if let Some(t) = self.cfg.buffer.tuning
            && self.recv.is_tuning_due(ctx.now)
        {
            let most = ctx.scarcity.largest_buffer().min(t.receive);
            let active = self.paths.iter().filter(|p| p.state() == PathState::Active);
            let longest = active.filter_map(|p| p.rtt.srtt()).max();
            let read = self.stats.bytes_delivered;
            self.recv.tune(ctx.now, (read, longest), most);
        }
    }
}
