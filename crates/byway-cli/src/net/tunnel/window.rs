//! How much of a connection may come before its reader has taken it.
//!
//! A window begins small and doubles while the reader keeps up, as TCP's receive buffers do. What
//! windows have grown by comes from a budget that all connections of the process share.

use super::frame::FIRST_WINDOW;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The largest window, as large as the association's receive buffer grows (`buffer.tuning.receive`). With all paths
/// in use at once a connection's bytes wait for the slowest one: beside 200 Mbit/s a path of 5 Mbit/s whose queue
/// holds 144 ms needs 5 MB.
const MOST: u32 = 16 * 1024 * 1024;
/// Bytes that all windows together may have grown by.
const BUDGET: u32 = 64 * 1024 * 1024;

/// What windows may still grow by.
#[derive(Debug)]
pub(super) struct Budget(AtomicU32);

impl Budget {
    pub(super) fn new() -> Arc<Budget> {
        Arc::new(Budget(AtomicU32::new(BUDGET)))
    }

    /// Takes so much, if there is so much.
    fn take(&self, bytes: u32) -> bool {
        let less = |left: u32| left.checked_sub(bytes);
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
            .is_ok()
    }
}

/// The window of what a side receives on one connection.
#[derive(Debug)]
pub(super) struct ReceiveWindow {
    size: u32,
    /// Taken by the reader, and not given back to the sender.
    taken: u32,
    /// Taken by the reader since the window last grew.
    since_growth: u32,
    budget: Arc<Budget>,
}

impl ReceiveWindow {
    pub(super) fn new(budget: Arc<Budget>) -> ReceiveWindow {
        ReceiveWindow {
            size: FIRST_WINDOW,
            taken: 0,
            since_growth: 0,
            budget,
        }
    }

    /// The reader has taken so much; `keeps_up` says that nothing more waits for it. Returns what the
    /// sender is to be told, if it is time: by how much the window has grown.
    pub(super) fn take(&mut self, bytes: u32, keeps_up: bool) -> Option<u32> {
        self.taken += bytes;
        self.since_growth = self.since_growth.saturating_add(bytes);
        let mut more = 0;
        if keeps_up && self.since_growth >= self.size && self.size < MOST {
            self.since_growth = 0;
            if self.budget.take(self.size) {
                more = self.size;
                self.size *= 2;
            }
        }
        if more == 0 && self.taken < self.size / 2 {
            return None;
        }
        more += self.taken;
        self.taken = 0;
        Some(more)
    }
}

impl Drop for ReceiveWindow {
    fn drop(&mut self) {
        let grown = self.size - FIRST_WINDOW;
        self.budget.0.fetch_add(grown, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_keeps_up_gets_a_window_that_doubles() {
        let mut window = ReceiveWindow::new(Budget::new());
        // Bytes under way: what was granted and not taken.
        let mut granted = u64::from(FIRST_WINDOW);
        let (mut taken, mut largest) = (0_u64, 0);
        for _ in 0..2_000 {
            granted += u64::from(window.take(16 * 1024, true).unwrap_or(0));
            taken += 16 * 1024;
            largest = largest.max(granted - taken);
        }
        assert!(
            largest > u64::from(MOST) / 2 && largest <= u64::from(MOST),
            "{largest}"
        );
    }

    #[test]
    fn a_reader_that_lags_keeps_the_first_window() {
        let mut window = ReceiveWindow::new(Budget::new());
        let mut granted = u64::from(FIRST_WINDOW);
        let mut taken = 0_u64;
        for _ in 0..2_000 {
            granted += u64::from(window.take(16 * 1024, false).unwrap_or(0));
            taken += 16 * 1024;
            assert!(granted - taken <= u64::from(FIRST_WINDOW));
        }
        assert!(granted > taken, "the sender is never left without a window");
    }

    #[test]
    fn all_windows_share_a_budget_and_give_it_back() {
        let budget = Budget::new();
        let mut windows: Vec<_> = (0..100)
            .map(|_| ReceiveWindow::new(budget.clone()))
            .collect();
        for window in &mut windows {
            for _ in 0..2_000 {
                window.take(16 * 1024, true);
            }
        }
        let grown: u32 = windows.iter().map(|w| w.size - FIRST_WINDOW).sum();
        assert!(grown <= BUDGET);
        assert!(grown > BUDGET / 2);
        drop(windows);
        assert_eq!(budget.0.load(Ordering::Relaxed), BUDGET);
    }
}
