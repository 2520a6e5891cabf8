//! When a SACK is due (RFC 9260 section 6.2).

use crate::config::SackConfig;
use crate::path::PathId;
use crate::time::Instant;

/// The acknowledgement that is due.
#[derive(Clone, Debug, Default)]
pub struct Acker {
    /// Packets with DATA since the last SACK.
    pub packets: u32,
    /// A SACK leaves with the next packet.
    pub now: bool,
    /// The latest time for the SACK (SACK.Delay).
    pub timer: Option<Instant>,
    /// Where the last DATA came from.
    pub reply_path: Option<PathId>,
    /// Whether any DATA has arrived.
    seen_data: bool,
    /// Packets with DATA since the last SACK that left (DAC).
    pub answers: u32,
}

/// What a packet with DATA chunks contains.
#[derive(Copy, Clone, Debug, Default)]
pub struct Arrived {
    /// New chunks.
    pub new: bool,
    /// Chunks that had arrived before, or that were too far ahead.
    pub duplicate: bool,
    /// A chunk with the I bit.
    pub immediate: bool,
    /// There is a gap after this packet, or the packet filled one.
    pub gap: bool,
}

impl Acker {
    /// A packet with DATA was accepted.
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

    /// The window opened, or a state requires an answer.
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
    }

    pub(crate) fn due(&self) -> bool {
        self.now
    }

    /// How many packets with DATA the next SACK answers.
    pub(crate) fn answers(&self) -> u32 {
        self.answers
    }

    /// Whether a SACK should be bundled with other chunks (section 6.1).
    pub(crate) fn owed(&self) -> bool {
        self.now || self.packets > 0
    }

    /// Where the last DATA came from.
    pub(crate) fn reply_path(&self) -> Option<PathId> {
        self.reply_path
    }

    /// A SACK left.
    pub(crate) fn sent(&mut self) {
        self.now = false;
        self.answers = 0;
        self.packets = 0;
        self.timer = None;
    }
}
