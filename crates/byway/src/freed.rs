//! When much memory has become free.

use crate::shared::Shared;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

/// Tells when the memory of associations ([`Endpoint::memory`](crate::Endpoint::memory)) has fallen, for a program
/// that then has its allocator give memory back to the system: most keep what a crowd of peers made them take.
/// It does not keep the endpoint open.
#[derive(Debug)]
pub struct Freed {
    shared: Arc<Shared>,
    seen: u64,
}

impl Freed {
    pub(crate) fn new(shared: Arc<Shared>) -> Freed {
        let seen = shared.with(|state| state.falls.all());
        Freed { shared, seen }
    }

    /// Waits until the memory is at least 64 KiB below the most that it was since it last fell so far. Returns
    /// by how many bytes it has fallen since this last returned, or `None` once the endpoint has ended.
    /// More may follow at once: a crowd leaves in many steps.
    ///
    /// Cancel safe: if the future is dropped, nothing is lost.
    pub async fn next(&mut self) -> Option<u64> {
        let seen = self.seen;
        let bytes = poll_fn(|cx| {
            self.shared.with(|state| {
                if state.has_ended() {
                    return Poll::Ready(None);
                }
                state.falls.poll(seen, cx.waker()).map(Some)
            })
        })
        .await?;
        self.seen = seen.wrapping_add(bytes);
        Some(bytes)
    }
}
