//! Max.Burst: the most packets that one event may release (RFC 9260 section 6.1, D).

use crate::assoc::Association;
use crate::config::BurstRule;

impl Association {
    /// Packets of new data that this event may release (section 6.1, D).
    ///
    /// The paths are updated only when the first of them is used, because most events
    /// release nothing.
    #[inline]
    pub(crate) fn new_burst(&mut self) {
        self.send.begin_event(self.paths.len());
    }

    /// The update that [`new_burst`](Self::new_burst) delayed.
    #[inline]
    pub(in crate::assoc) fn begin_burst(&mut self) {
        if self.send.take_burst() {
            self.reset_bursts();
        }
    }

    #[inline(never)]
    fn reset_bursts(&mut self) {
        let most = match self.cfg.congestion.burst_rule {
            BurstRule::CountPackets => self.cfg.congestion.max_burst.unwrap_or(u32::MAX),
            BurstRule::LimitWindow | BurstRule::ShrinkWindow => u32::MAX,
        };
        for p in self.paths.iter_mut() {
            p.burst.begin(most);
        }
    }
}
