//! How a dead path is detected (`failure.detection`), and what a path owes to the probe
//! timeout (`failover.probe_timeout`).

use crate::config::Config;
use crate::policy::Detection;
use crate::time::{Duration, Instant};

/// How a dead path is detected (`failure.detection`).
#[derive(Copy, Clone, Debug)]
pub(crate) struct PathDetector {
    rule: Detection,
    /// Bytes of the window that data leaves free for the detector's heartbeats.
    reserved: u32,
    /// When the detector began to probe the path.
    probing_since: Option<Instant>,
}

impl PathDetector {
    pub(super) fn new(rule: Detection, cfg: &Config) -> PathDetector {
        PathDetector {
            rule,
            reserved: cfg.detector(&rule).reserved(),
            probing_since: None,
        }
    }

    /// The rule in use.
    #[inline]
    pub(crate) fn rule(&self) -> &Detection {
        &self.rule
    }

    /// Sets another rule, which keeps `reserved` bytes of the window free for heartbeats.
    pub(crate) fn set_rule(&mut self, rule: Detection, reserved: u32) {
        self.rule = rule;
        self.reserved = reserved;
    }

    /// Bytes of the window that data leaves free for the detector's heartbeats.
    #[inline]
    pub(super) fn reserved(&self) -> u32 {
        self.reserved
    }

    /// Whether the detector probes the path.
    #[inline]
    pub(crate) fn is_probing(&self) -> bool {
        self.probing_since.is_some()
    }

    /// When the detector began to probe the path.
    pub(crate) fn probing_since(&self) -> Option<Instant> {
        self.probing_since
    }

    /// The detector begins to probe the path.
    pub(crate) fn begin_probing(&mut self, now: Instant) {
        self.probing_since = Some(now);
    }

    /// The detector stops probing the path.
    pub(crate) fn end_probing(&mut self) {
        self.probing_since = None;
    }
}

/// Most tail probes without an acknowledgement between them.
const MOST_TAIL_PROBES: u8 = 6;
/// Most tail probes because the peer's data arrives, until T3-rtx expires.
const MOST_WHEN_HEARD: u8 = 3;

/// The state of the probe timeout of a path (`failover.probe_timeout`).
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct OwedToProbeTimeout {
    /// The last chunk sent there asked for a SACK at once.
    asked_at_once: bool,
    /// Missing reports announced losses while the path was potentially failed by the
    /// probe timeout: the window is reduced if the path answers.
    cut_delayed: bool,
    /// Tail probes since the last acknowledgement.
    tail_probes: u8,
    /// Tail probes because the peer's data arrived, since the last acknowledgement or expiration of T3-rtx.
    when_heard: u8,
    /// When the last tail probe left.
    probed_at: Instant,
    /// When a chunk of the path was last acknowledged.
    acknowledged: Option<Instant>,
    /// The heartbeats that ask the path while its data has not moved.
    asks: Asks,
}

/// The heartbeats that ask a path whose acknowledgement is overdue (`failover.probe_timeout.heartbeats`).
#[derive(Copy, Clone, Debug, Default)]
struct Asks {
    /// How many are still to leave.
    left: u8,
    /// One that has left asks again.
    again: bool,
    /// The time between two of them.
    pace: Duration,
    /// When the data moves.
    moves_at: Instant,
}

impl OwedToProbeTimeout {
    /// A tail probe left: the wait for the next one doubles.
    pub(crate) fn sent_tail_probe(&mut self, now: Instant) {
        self.tail_probes = self.tail_probes.saturating_add(1);
        self.probed_at = now;
    }

    /// A tail probe left because the peer's data arrived.
    pub(crate) fn sent_when_heard(&mut self, now: Instant) {
        self.when_heard += 1;
        self.probed_at = now;
    }

    /// Whether a tail probe was not answered.
    #[inline]
    pub(crate) fn waits_for_tail_probe(&self) -> bool {
        self.tail_probes > 0
    }

    /// Whether the peer's data that arrives now is a reason for a tail probe. `answer`: the longest time for an answer; the
    /// wait doubles with each one.
    pub(crate) fn may_probe_when_heard(&self, now: Instant, answer: Duration) -> bool {
        self.when_heard < MOST_WHEN_HEARD
            && now.since(self.probed_at) >= answer * (1 << self.when_heard)
    }

    /// T3-rtx expired.
    pub(crate) fn timed_out(&mut self) {
        self.when_heard = 0;
    }

    /// A heartbeat asks the path now, and `more` follow within `lateness`; its data moves at `moves_at`. Returns when
    /// the next of both is due.
    pub(crate) fn ask(
        &mut self,
        now: Instant,
        more: u8,
        lateness: Duration,
        moves_at: Instant,
    ) -> Instant {
        self.asks = Asks {
            left: more,
            again: false,
            pace: lateness / (u32::from(more) + 1),
            moves_at,
        };
        self.next_ask(now)
    }

    /// Another heartbeat asks the path, if one is left. Returns when the next one, or the move, is due.
    pub(crate) fn ask_again(&mut self, now: Instant) -> Option<Instant> {
        self.asks.left = self.asks.left.checked_sub(1)?;
        self.asks.again = true;
        Some(self.next_ask(now))
    }

    fn next_ask(&self, now: Instant) -> Instant {
        match self.asks.left {
            0 => self.asks.moves_at,
            _ => now + self.asks.pace,
        }
    }

    /// Whether a heartbeat that leaves asks the same as the one under way.
    pub(crate) fn asks_again(&self) -> bool {
        self.asks.again
    }

    /// The path answers, or its data has moved.
    pub(crate) fn end_asking(&mut self) {
        self.asks = Asks::default();
    }

    /// A chunk of the path was acknowledged.
    #[inline]
    pub(crate) fn acknowledged(&mut self, now: Instant) {
        self.tail_probes = 0;
        self.when_heard = 0;
        self.acknowledged = Some(now);
    }

    /// When a chunk of the path was last acknowledged.
    pub(crate) fn last_acknowledged(&self) -> Option<Instant> {
        self.acknowledged
    }

    /// Whether another tail probe may leave. Each restarts T3-rtx. So they end, or T3-rtx
    /// would never count the silence of a peer that is gone.
    pub(crate) fn may_probe_tail(&self) -> bool {
        self.tail_probes < MOST_TAIL_PROBES
    }

    /// How much longer than usual to wait for an acknowledgement.
    #[inline]
    pub(crate) fn backed_off(&self) -> u32 {
        1 << self.tail_probes.min(MOST_TAIL_PROBES)
    }

    /// A chunk leaves. `at_once`: whether it asks for a SACK at once.
    #[inline]
    pub(crate) fn chunk_left(&mut self, at_once: bool) {
        self.asked_at_once = at_once;
    }

    /// Whether the last chunk sent there asked for a SACK at once.
    #[inline]
    pub(crate) fn asked_at_once(&self) -> bool {
        self.asked_at_once
    }

    /// The window is reduced only if the path answers.
    pub(crate) fn delay_cut(&mut self) {
        self.cut_delayed = true;
    }

    /// The path answers. Returns whether its window must be reduced now.
    pub(crate) fn take_delayed_cut(&mut self) -> bool {
        core::mem::take(&mut self.cut_delayed)
    }
}
