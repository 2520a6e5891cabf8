//! Max.Burst: the most packets that one event may release on a path (RFC 9260 section
//! 6.1, D). The count is reset here; `path/burst` counts.

use crate::assoc::Association;
use crate::config::BurstRule;

impl Association {
    /// Marks that an event begins, which may release Max.Burst packets of new data on each
    /// path (section 6.1, D).
    ///
    /// The paths are reset only when the event first tries to send new data, because most
    /// events send none. A timer resets them at once.
    #[inline]
    pub(crate) fn new_burst(&mut self) {
        self.send.begin_event(self.paths.len());
    }

    /// Resets the paths, once for each event that [`new_burst`](Self::new_burst) marked.
    #[inline]
    pub(in crate::assoc) fn begin_burst(&mut self) {
        if self.send.take_burst() {
            self.reset_bursts();
        }
    }

    #[inline(never)]
    fn reset_bursts(&mut self) {
        let packets = match self.cfg.congestion.burst_rule {
            BurstRule::CountPackets => self.cfg.congestion.max_burst.unwrap_or(u32::MAX),
            BurstRule::LimitWindow | BurstRule::ShrinkWindow => u32::MAX,
        };
        for p in self.paths.iter_mut() {
            p.burst.begin(packets);
        }
    }
}
