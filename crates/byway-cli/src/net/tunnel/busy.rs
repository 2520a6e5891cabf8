//! Whether an association of a `serve` carries anything.
//!
//! A stranger that only answers heartbeats would keep its association for good. A connection to a target
//! counts as long as it is there: an idle one is as good as any, and their number has a limit.

use std::time::Duration;
use tokio::sync::watch;

/// The connections to targets that an association carries.
pub(super) struct Busy(watch::Sender<usize>);

/// One of them, until it is dropped.
pub(super) struct Carried<'a>(&'a Busy);

impl Drop for Carried<'_> {
    fn drop(&mut self) {
        self.0.0.send_modify(|carried| *carried -= 1);
    }
}

impl Busy {
    pub(super) fn new() -> Busy {
        Busy(watch::Sender::new(0))
    }

    /// A connection has been made.
    pub(super) fn carries(&self) -> Carried<'_> {
        self.0.send_modify(|carried| *carried += 1);
        Carried(self)
    }

    /// Waits until there was no connection for so long.
    pub(super) async fn idle(&self, time: Duration) {
        let mut carried = self.0.subscribe();
        loop {
            // Errors would say that the sender is gone, and `self` holds it.
            let _ = carried.wait_for(|carried| *carried == 0).await;
            if tokio::time::timeout(time, carried.changed()).await.is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::{Instant, sleep};

    #[tokio::test(start_paused = true)]
    async fn an_association_is_idle_after_its_last_connection() {
        let (busy, begun) = (Busy::new(), Instant::now());
        let second = Duration::from_secs(1);
        let connections = async {
            sleep(second * 5).await;
            // Over before anybody looked.
            drop(busy.carries());
            sleep(second * 9).await;
            let (one, other) = (busy.carries(), busy.carries());
            sleep(second * 50).await;
            drop(one);
            sleep(second * 50).await;
            drop(other);
        };
        tokio::join!(busy.idle(second * 10), connections);
        assert_eq!(begun.elapsed().as_secs(), 5 + 9 + 50 + 50 + 10);
    }
}
