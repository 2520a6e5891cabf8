//! When a SACK is due (RFC 9260 section 6.2).

use crate::config::SackConfig;
use crate::path::PathId;
use crate::time::Instant;

/// The acknowledgement that is owed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Acker {
    /// Packets with DATA since the last SACK.
    packets: u32,
    /// A SACK leaves with the next packet.
    now: bool,
    /// At the latest then (SACK.Delay).
    timer: Option<Instant>,
    /// Where the last DATA came from.
    reply_path: Option<PathId>,
    /// Whether any DATA has arrived.
    seen_data: bool,
    /// Packets with DATA since the last SACK that left (DAC).
    answers: u32,
    /// A SACK does not end the counting of packets (`habits.counts_packets_apart`).
    counts_apart: bool,
    /// It does, but leaves the timer (`habits.concurrent_class`).
    counts_to_sack: bool,
}

/// What a packet with DATA chunks held.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Arrived {
    /// New chunks.
    pub(crate) new: bool,
    /// Chunks that had arrived before, or could not be taken.
    pub(crate) duplicate: bool,
    /// A chunk with the I bit.
    pub(crate) immediate: bool,
    /// There is a gap now, or one was filled.
    pub(crate) gap: bool,
    /// There was a gap behind one of the chunks.
    pub(crate) gap_between: bool,
    /// The association's first TSN.
    pub(crate) first: bool,
    /// Another one.
    pub(crate) others: bool,
}

impl Acker {
    /// A packet with DATA was taken.
    pub(crate) fn on_data(&mut self, now: Instant, from: PathId, a: &Arrived, cfg: &SackConfig) {
        self.reply_path = Some(from);
        self.answers += 1;
        let first = !self.seen_data;
        self.seen_data = true;
        self.packets += 1;
        let only_duplicates = a.duplicate && !a.new;
        if self.packets >= cfg.every
            || a.gap
            || a.immediate
            || only_duplicates
            || (first && cfg.first_at_once)
        {
            self.now = true;
        } else if self.timer.is_none() {
            self.timer = Some(now + cfg.delay);
        }
    }

    /// The same with ns-2's habit `counts_packets_apart`: every second packet
    /// and every gap begins the count anew, a duplicate hurries a SACK beside it.
    pub(crate) fn on_data_counted_apart(
        &mut self,
        now: Instant,
        from: PathId,
        a: &Arrived,
        cfg: &SackConfig,
    ) {
        self.reply_path = Some(from);
        self.answers += 1;
        self.counts_apart = true;
        let first = a.first && cfg.first_at_once;
        // Chunk by chunk: others count the packet that brings the first one.
        if (!first || a.others) && cfg.every > 1 {
            self.packets += 1;
            if self.packets == 1 {
                self.timer = Some(now + cfg.delay);
            }
        }
        let counted = self.packets >= cfg.every;
        let gap = a.gap || a.gap_between;
        if counted || gap {
            self.packets = 0;
            self.timer = None;
        }
        self.now = counted || first || cfg.every == 1 || gap || a.duplicate || a.immediate;
    }

    /// The window opened, or a state asks for an answer.
    pub(crate) fn want_now(&mut self) {
        self.now = true;
    }

    pub(crate) fn timer(&self) -> Option<Instant> {
        self.timer
    }

    /// SACK.Delay has passed.
    pub(crate) fn on_timer(&mut self) {
        self.timer = None;
        self.now = true;
        self.packets = 0;
        if self.counts_to_sack {
            // ns-2's CMT class says 0 then.
            self.answers = 0;
        }
    }

    /// As ns-2's CMT class counts.
    pub(crate) fn count_to_sack(&mut self) {
        self.counts_to_sack = true;
    }

    pub(crate) fn due(&self) -> bool {
        self.now
    }

    /// How many packets with DATA the next SACK answers.
    pub(crate) fn answers(&self) -> u32 {
        self.answers
    }

    /// Whether a SACK should ride along with other chunks (section 6.1).
    pub(crate) fn owed(&self) -> bool {
        self.now || self.packets > 0
    }

    /// Where a SACK that is owed shall go.
    pub(crate) fn reply_to(&mut self, path: PathId) {
        self.reply_path = Some(path);
    }

    /// Where the last DATA came from.
    pub(crate) fn reply_path(&self) -> Option<PathId> {
        self.reply_path
    }

    /// A SACK left.
    pub(crate) fn sent(&mut self) {
        self.now = false;
        self.answers = 0;
        if !self.counts_apart {
            self.packets = 0;
            self.timer = None;
        } else if self.counts_to_sack {
            self.packets = 0;
        }
    }
}
