//! The events of an association.

use crate::association::Association;
use byway_core::Event;
use std::future::poll_fn;
use std::task::Poll;

/// The events of one association: its beginning and end, paths that are confirmed,
/// fail and recover, changes of the active and the primary path, and errors.
#[derive(Clone, Debug)]
pub struct Events(Association);

impl Association {
    /// The events of the association. All readers share one queue, so each event
    /// goes to one reader. The queue keeps the last 256 events, and of the texts of a peer
    /// 16 KiB; older unread ones are dropped and counted ([`Events::missed`]). What it keeps
    /// is part of the memory of the association
    /// ([`EndpointOptions::max_memory`](crate::EndpointOptions::max_memory)).
    #[must_use]
    pub fn events(&self) -> Events {
        Events(self.clone())
    }
}

impl Events {
    /// The next event; `None` after the last event of an association that has
    /// ended. Events about readable or writable data are not included.
    ///
    /// Cancel safe: if the future is dropped, no event is lost.
    pub async fn next(&self) -> Option<Event> {
        poll_fn(|cx| {
            self.0.shared().with(|state| {
                if let Some(event) = state.next_event(self.0.id()) {
                    return Poll::Ready(Some(event));
                }
                match state.entry(self.0.id()) {
                    Some(entry) if entry.closed.is_none() => {
                        entry.watchers.register(cx.waker());
                        Poll::Pending
                    }
                    _ => Poll::Ready(None),
                }
            })
        })
        .await
    }

    /// The next event, if there is one now.
    #[must_use]
    pub fn try_next(&self) -> Option<Event> {
        self.0.shared().with(|state| state.next_event(self.0.id()))
    }

    /// How many events have been dropped because they were not read in time.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.0
            .shared()
            .with(|state| state.events_missed(self.0.id()))
    }
}
