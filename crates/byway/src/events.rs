//! What happens to an association, as a stream of events.

use crate::association::Association;
use byway_core::Event;
use std::future::poll_fn;
use std::task::Poll;

/// The events of one association: paths that come, fail and return, moves of
/// the traffic and of the primary, errors, the beginning and the end.
#[derive(Clone, Debug)]
pub struct Events(Association);

impl Events {
    pub(crate) fn new(association: Association) -> Events {
        Events(association)
    }

    /// The next event; none after the last one of an association that ended.
    /// What concerns reading and writing alone is not among them.
    ///
    /// Cancel safe: a dropped call has taken no event.
    pub async fn next(&self) -> Option<Event> {
        poll_fn(|cx| {
            self.0.shared().with(|state| {
                let Some(entry) = state.entry(self.0.id()) else {
                    return Poll::Ready(None);
                };
                match entry.events.pop_front() {
                    None if entry.closed.is_none() => {
                        entry.watchers.register(cx.waker());
                        Poll::Pending
                    }
                    event => Poll::Ready(event),
                }
            })
        })
        .await
    }

    /// The next event, if there is one now.
    #[must_use]
    pub fn try_next(&self) -> Option<Event> {
        self.0
            .shared()
            .with(|state| state.entry(self.0.id())?.events.pop_front())
    }

    /// How many events have been forgotten because nobody read them in time.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.0
            .shared()
            .with(|state| state.entry(self.0.id()).map_or(0, |e| e.events_missed))
    }
}
