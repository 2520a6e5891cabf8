//! How full the memory of the endpoint is, as its associations see it.

/// How full the memory of an endpoint is, as an association sees it.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scarcity {
    /// The most that an association may hold to take more data, if memory is scarce.
    share: Option<usize>,
    /// The largest receive buffer to which an association may grow.
    largest_buffer: u32,
}

impl Scarcity {
    /// `share`: the most that an association may hold to take more data; `None` while there
    /// is enough memory. `largest_buffer`: to which a receive buffer may grow.
    pub(crate) fn of(share: Option<usize>, largest_buffer: u32) -> Scarcity {
        Scarcity {
            share,
            largest_buffer,
        }
    }

    /// The largest receive buffer to which an association may grow; 0 if none may.
    pub(crate) fn largest_buffer(self) -> u32 {
        self.largest_buffer
    }

    /// The largest window to advertise: seven eighths of the share, as data takes more memory than its bytes. What a sender
    /// that keeps to it says in small messages may be dropped all the same; it comes again.
    #[inline]
    pub(crate) fn largest_window(self) -> u32 {
        /// With less, no chunk fits.
        const LEAST: usize = 4096;
        match self.share {
            None => u32::MAX,
            Some(share) => u32::try_from((share / 8 * 7).max(LEAST)).unwrap_or(u32::MAX),
        }
    }

    /// What both allow: all associations and those of one host. No buffer grows where one of
    /// them lets none grow; how large it may become is said by all.
    #[inline]
    pub(crate) fn and(self, host: Scarcity) -> Scarcity {
        let share = match (self.share, host.share) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let largest_buffer = match host.largest_buffer {
            0 => 0,
            _ => self.largest_buffer,
        };
        Scarcity {
            share,
            largest_buffer,
        }
    }

    /// Whether an association that holds `memory` may take a DATA chunk of so many bytes. The first
    /// missing one, for which all behind the gap waits, is taken up to twice the share.
    #[inline]
    pub(crate) fn admits(
        self,
        memory: impl FnOnce() -> usize,
        chunk: usize,
        closes_gap: bool,
    ) -> bool {
        match self.share {
            None => true,
            Some(share) => memory() + chunk < share.saturating_mul(1 + usize::from(closes_gap)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scarcer_of_all_and_of_one_host_counts() {
        let all = Scarcity::of(None, 900);
        assert_eq!(all.and(Scarcity::of(None, 400)), all);
        assert_eq!(all.and(Scarcity::of(Some(7), 0)), Scarcity::of(Some(7), 0));
        let scarce = Scarcity::of(Some(5), 0);
        assert_eq!(scarce.and(Scarcity::of(Some(7), 0)), scarce);
        assert_eq!(scarce.and(Scarcity::of(None, 400)), scarce);
    }

    #[test]
    fn who_holds_less_than_its_share_may_take_more() {
        assert_eq!(Scarcity::of(None, 0).largest_window(), u32::MAX);
        assert!(Scarcity::of(None, 0).admits(|| usize::MAX, 1, false));
        let scarce = Scarcity::of(Some(100_000), 0);
        assert_eq!(scarce.largest_window(), 87_500);
        assert!(scarce.admits(|| 98_000, 1000, false));
        assert!(!scarce.admits(|| 98_000, 2000, false));
        // What closes a gap frees more than it takes.
        assert!(scarce.admits(|| 198_000, 1000, true));
        assert!(!scarce.admits(|| 198_000, 2000, true));
        assert_eq!(Scarcity::of(Some(1), 0).largest_window(), 4096);
    }
}
