//! When a SACK is due (`duplicate_sack_keeps_count`).

use byway_core::dialect::{Acker, Arrived};
use byway_core::time::Instant;
use byway_core::{Config, PathId};

/// What the current packet with DATA contains.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Acks {
    /// One of its new chunks left a gap before the highest TSN.
    gap_between: bool,
    /// It has the association's first TSN.
    first: bool,
    /// It has another TSN.
    others: bool,
}

impl Acks {
    pub(crate) fn note_chunk(&mut self, first: bool, gap: bool) {
        self.first |= first;
        self.others |= !first;
        self.gap_between |= gap;
    }

    /// A packet with DATA was received. Every second packet and every gap restart the
    /// count. A duplicate causes a SACK at once and leaves the count.
    pub(crate) fn on_data(
        &self,
        acker: &mut Acker,
        (now, from): (Instant, PathId),
        a: &Arrived,
        cfg: &Config,
    ) {
        let dac = cfg.concurrent.as_ref().is_some_and(|c| c.dac);
        let cfg = &cfg.sack;
        acker.reply_path = Some(from);
        acker.answers += 1;
        let first = self.first && cfg.first_at_once;
        // The module counts chunk by chunk: if the packet also has other TSNs than the
        // first, it counts.
        if (!first || self.others) && cfg.every > 1 {
            acker.packets += 1;
            if acker.packets == 1 {
                acker.timer = Some(now + cfg.delay);
            }
        }
        let counted = acker.packets >= cfg.every;
        let gap = a.gap || self.gap_between && !dac;
        if counted || gap {
            acker.packets = 0;
            acker.timer = None;
        }
        acker.now = counted || first || cfg.every == 1 || gap || a.duplicate || a.immediate;
    }
}
