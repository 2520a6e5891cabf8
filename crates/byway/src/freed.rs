//! When much memory has become free.

use crate::shared::Shared;
use crate::workers::Workers;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

/// Tells when the memory of associations ([`Endpoint::memory`](crate::Endpoint::memory)) has fallen, for a program
/// that then has its allocator give memory back to the system: most keep what a crowd of peers made them take.
/// It does not keep the endpoint open.
#[derive(Debug)]
pub struct Freed {
    workers: Workers,
    /// For each worker, what it had told when this last returned.
    seen: Vec<u64>,
}

impl Freed {
    pub(crate) fn new(workers: &Workers) -> Freed {
        let seen = |worker: &Arc<Shared>| worker.with(|state| state.falls.all());
        Freed {
            seen: workers.iter().map(seen).collect(),
            workers: workers.clone(),
        }
    }

    /// Waits until the memory, or that of one of several workers, is at least 64 KiB below the most that it
    /// was since it last fell so far. Returns by how many bytes it has fallen since this last returned, or `None`
    /// once the endpoint has ended. More may follow at once: a crowd leaves in many steps.
    ///
    /// Cancel safe: if the future is dropped, nothing is lost.
    pub async fn next(&mut self) -> Option<u64> {
        poll_fn(|cx| {
            let mut ended = true;
            for (worker, seen) in self.workers.iter().zip(&mut self.seen) {
                let fallen = worker.with(|state| match state.has_ended() {
                    true => None,
                    false => Some(state.falls.poll(*seen, cx.waker())),
                });
                match fallen {
                    None => {}
                    Some(Poll::Pending) => ended = false,
                    Some(Poll::Ready(bytes)) => {
                        *seen = seen.wrapping_add(bytes);
                        return Poll::Ready(Some(bytes));
                    }
                }
            }
            match ended {
                true => Poll::Ready(None),
                false => Poll::Pending,
            }
        })
        .await
    }
}
