//! So many connections at once, whoever makes them.

use std::collections::VecDeque;
use std::time::Duration;
use tokio::task::AbortHandle;

/// Most connections at once.
pub(super) const MOST: usize = 16;

/// How long a connection that says nothing stays.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// A pause after a connection that could not be accepted, for want of descriptors perhaps.
pub(super) const PAUSE: Duration = Duration::from_millis(100);

/// The connections under way. When there are too many, the oldest gives way: one that asks is served
/// at once, so those that are old say nothing.
#[derive(Debug, Default)]
pub(super) struct Connections(VecDeque<AbortHandle>);

impl Connections {
    /// One more, served by a task of its own.
    pub(super) fn add<F>(&mut self, served: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.0.retain(|task| !task.is_finished());
        while self.0.len() >= MOST
            && let Some(oldest) = self.0.pop_front()
        {
            oldest.abort();
        }
        let served = async {
            let _ = tokio::time::timeout(PATIENCE, served).await;
        };
        self.0.push_back(tokio::spawn(served).abort_handle());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Counts itself while it lives.
    struct One(Arc<AtomicUsize>);

    impl Drop for One {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_give_way_and_the_last_end_in_time() {
        let living = Arc::new(AtomicUsize::new(0));
        let mut all = Connections::default();
        for _ in 0..1000 {
            living.fetch_add(1, Ordering::Relaxed);
            let one = One(living.clone());
            all.add(async move {
                let _one = one;
                std::future::pending::<()>().await;
            });
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(living.load(Ordering::Relaxed), MOST);
        tokio::time::sleep(PATIENCE * 2).await;
        assert_eq!(living.load(Ordering::Relaxed), 0);
    }
}
