//! Which data an event releases: in the module only SACKs and timeouts do
//! (`sack_clocked`, `burst_after_fast_retransmit`, `send_window`).

use byway_core::PathId;
use byway_core::dialect::{Inside, LostChunks};

/// Which retransmissions this event may release.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub(crate) enum Retransmissions {
    #[default]
    None,
    /// One packet, at any cwnd.
    OnePacket,
    /// As much as cwnd allows.
    Window,
}

/// What this event may release.
#[derive(Debug, Default)]
pub(crate) struct Release {
    pub(crate) retransmissions: Retransmissions,
    /// A SACK released new data, and it has not been sent yet.
    pub(crate) new_wanted: bool,
    /// This event may release new data.
    pub(crate) new_allowed: bool,
    /// The target of the event's retransmissions, after the first one.
    target: Option<PathId>,
    /// A fast retransmitted chunk was acknowledged, so Max.Burst applies.
    pub(crate) burst_limited: bool,
    /// Packets of this burst.
    pub(crate) burst: u32,
    /// Bytes left of the send window; `None` before its first use.
    window_left: Option<u32>,
}

impl Release {
    pub(crate) fn begin_event(&mut self, new_allowed: bool) {
        self.retransmissions = Retransmissions::None;
        self.target = None;
        self.new_allowed = new_allowed;
    }

    /// A SACK was applied. `reports_losses`: its missing reports made chunks lost.
    pub(crate) fn by_sack(&mut self, reports_losses: bool, lost: &LostChunks) {
        self.retransmissions = if reports_losses {
            Retransmissions::OnePacket
        } else {
            Retransmissions::Window
        };
        self.new_wanted = true;
        if !lost.is_empty() {
            self.burst = 0;
        }
    }

    /// T3-rtx expired.
    pub(crate) fn by_timeout(&mut self) {
        self.retransmissions = Retransmissions::OnePacket;
        self.burst = 0;
    }

    /// A heartbeat made a path active again.
    pub(crate) fn by_heartbeat(&mut self) {
        self.retransmissions = Retransmissions::OnePacket;
        self.new_wanted = true;
    }

    pub(crate) fn is_one_packet(&self) -> bool {
        self.retransmissions == Retransmissions::OnePacket
    }

    /// Counts one more packet of a burst. Returns whether it exceeds `most`, which ends
    /// the limit.
    pub(crate) fn exceeds_burst(&mut self, most: Option<u32>) -> bool {
        let (true, Some(most)) = (self.burst_limited, most) else {
            return false;
        };
        let before = self.burst;
        self.burst += 1;
        if before >= most {
            self.burst_limited = false;
        }
        before >= most
    }

    /// Whether a send window of `window` bytes lets a packet begin with a chunk of
    /// `bytes`.
    pub(crate) fn window_allows(&self, window: u32, bytes: u32) -> bool {
        window == 0 || self.window_left.unwrap_or(window) >= bytes
    }

    /// A new chunk takes its bytes from the send window.
    pub(crate) fn take(&mut self, window: u32, bytes: u32) {
        if window > 0 {
            let left = self.window_left.unwrap_or(window);
            // The chunks of one packet may take more than is left. The excess is not
            // stored, but they give all their bytes back.
            self.window_left = Some(left.saturating_sub(bytes));
        }
    }

    /// A chunk is cumulatively acknowledged.
    pub(crate) fn give_back(&mut self, bytes: u32) {
        self.window_left = self.window_left.map(|left| left + bytes);
    }
}

impl Release {
    /// The next lost chunk that the event may release. Its target is that of the event's
    /// first one.
    pub(crate) fn next_retransmission(
        &mut self,
        keeps_destination: bool,
        inside: &Inside<'_>,
    ) -> Option<(PathId, u64)> {
        let groups = inside.ledger().lost().groups().iter();
        let (seq, cause, last) = groups
            .filter_map(|g| Some((g.first()?, g.cause, g.path)))
            .min_by_key(|g| g.0)?;
        let rule = inside.cfg.retransmission.target;
        let view = inside.view();
        let path = self.target.unwrap_or_else(|| {
            if keeps_destination {
                crate::failures::retransmission_target(inside.cfg, &view, cause, last)
            } else {
                rule.target(cause, last, &view)
            }
        });
        self.target = Some(path);
        let w = inside.window(path);
        let may = match self.retransmissions {
            Retransmissions::None => false,
            Retransmissions::OnePacket => {
                self.retransmissions = Retransmissions::None;
                true
            }
            Retransmissions::Window => w.flight < w.cwnd,
        };
        if may && self.exceeds_burst(inside.cfg.congestion.max_burst) {
            // This packet still leaves.
            self.retransmissions = Retransmissions::None;
        }
        may.then_some((path, seq))
    }
}
