//! One association: messages, streams, paths and its end.

use crate::error::{Closed, SendError};
use crate::events::Events;
use crate::shared::Shared;
use crate::stream::Stream;
use byway_core::{AssocId, AssocStats, Config, Message, PathId, PathStats, Received};
use std::future::poll_fn;
use std::sync::Arc;
use tokio::task::coop::cooperative;

/// What all handles of one association share; dropping it lets go of it.
#[derive(Debug)]
struct Handle {
    shared: Arc<Shared>,
    id: AssocId,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared
            .with(|state| state.drop_association(self.shared.now(), self.id));
    }
}

/// An association with a peer. Clones are handles of the same one; when the
/// last is dropped, a graceful shutdown begins in the background.
#[derive(Clone, Debug)]
pub struct Association(Arc<Handle>);

impl Association {
    pub(crate) fn new(shared: Arc<Shared>, id: AssocId) -> Association {
        Association(Arc::new(Handle { shared, id }))
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.0.shared
    }

    pub(crate) fn id(&self) -> AssocId {
        self.0.id
    }

    /// Sends a message, after waiting until it has room in the send buffer
    /// (`buffer.send` of [`Config`], 1 MiB). When it returns, the message is
    /// queued; [`Association::drained`] waits for its acknowledgement.
    ///
    /// Cancel safe: a dropped call has not sent the message. Now and then it
    /// lets other tasks of the runtime run although there is room.
    ///
    /// # Errors
    /// When the message cannot be sent at all, or the association shuts down or
    /// has ended.
    pub async fn send(&self, message: Message) -> Result<(), SendError> {
        cooperative(poll_fn(|cx| {
            self.shared()
                .with(|state| state.poll_send(self.shared().now(), self.id(), &message, cx.waker()))
        }))
        .await
    }

    /// Sends a message if it has room in the send buffer now.
    ///
    /// # Errors
    /// As [`Association::send`], and
    /// [`CommandError::WouldBlock`](crate::CommandError::WouldBlock) without room.
    pub fn try_send(&self, message: Message) -> Result<(), SendError> {
        let now = self.shared().now();
        self.shared()
            .with(|state| state.command(now, self.id(), |core| core.send(now, self.id(), message)))
    }

    /// The next message of any stream. A message that outgrows
    /// `buffer.partial_delivery_point` comes in parts (RFC 9260 section 6.9),
    /// of which the last has `last` set.
    ///
    /// None when the peer sends nothing more: it has shut down, or the
    /// association has ended, in which case [`Association::closed`] says
    /// whether gracefully.
    ///
    /// With several readers each message goes to one of them. What nobody reads
    /// fills the receive buffer, and then the peer has to wait.
    ///
    /// Cancel safe: a dropped call has taken no message.
    pub async fn recv(&self) -> Option<Received> {
        self.receive(None).await
    }

    pub(crate) async fn receive(&self, stream: Option<u16>) -> Option<Received> {
        cooperative(poll_fn(|cx| {
            self.shared().with(|state| {
                state.poll_receive(self.shared().now(), self.id(), stream, cx.waker())
            })
        }))
        .await
    }

    /// A handle of one stream, for sending and for reading its messages alone.
    ///
    /// From the first handle of a stream on, messages are sorted by stream, and
    /// every stream on which the peer sends must be read, by its own handle or
    /// by [`Association::recv`]: one that is not holds up the others once 1 MiB
    /// has gathered.
    #[must_use]
    pub fn stream(&self, number: u16) -> Stream {
        self.shared()
            .with(|state| state.open_stream(self.id(), number));
        Stream::new(self.clone(), number)
    }

    /// What happens to the association. All readers share one queue of the last
    /// 256 events: each event goes to one reader, and when nobody reads, the
    /// oldest are forgotten and counted.
    #[must_use]
    pub fn events(&self) -> Events {
        Events::new(self.clone())
    }

    /// The paths: their addresses, states, windows and counts.
    #[must_use]
    pub fn paths(&self) -> Vec<PathStats> {
        self.shared().with(|state| state.core.paths(self.id()))
    }

    /// Counts since the association began.
    #[must_use]
    pub fn stats(&self) -> AssocStats {
        self.shared()
            .with(|state| state.core.stats(self.id()))
            .unwrap_or_default()
    }

    /// The settings in use; none if the peer is not known any more.
    #[must_use]
    pub fn config(&self) -> Option<Config> {
        self.shared()
            .with(|state| state.core.config(self.id()).cloned())
    }

    /// Makes a path the primary: new data goes there while it is active.
    ///
    /// # Errors
    /// When there is no such path, its address is unconfirmed, or the
    /// association has ended.
    pub fn set_primary(&self, path: PathId) -> Result<(), SendError> {
        let now = self.shared().now();
        self.shared().with(|state| {
            state.command(now, self.id(), |core| {
                core.set_primary(now, self.id(), path)
            })
        })
    }

    /// Sends a heartbeat on a path now (RFC 9260 section 11.1.9).
    ///
    /// # Errors
    /// When there is no such path, or the association has ended.
    pub fn request_heartbeat(&self, path: PathId) -> Result<(), SendError> {
        let now = self.shared().now();
        self.shared().with(|state| {
            state.command(now, self.id(), |core| {
                core.request_heartbeat(now, self.id(), path)
            })
        })
    }

    /// Waits until the peer has acknowledged all that was sent.
    ///
    /// # Errors
    /// How the association ended, if it did before.
    pub async fn drained(&self) -> Result<(), Closed> {
        poll_fn(|cx| {
            self.shared()
                .with(|state| state.poll_drained(self.id(), cx.waker()))
        })
        .await
    }

    /// Shuts down gracefully (RFC 9260 section 9.2): what was sent is delivered
    /// first, nothing more can be sent. Waits until it is done, which takes at
    /// most as long as the peer answers, or five times RTO.Max.
    ///
    /// What the peer has yet to deliver must be read meanwhile, by another
    /// handle, if it is more than the receive buffer holds.
    ///
    /// # Errors
    /// How the association ended otherwise.
    pub async fn shutdown(&self) -> Result<(), Closed> {
        let now = self.shared().now();
        // Refused only if it is shutting down or over, which is waited for.
        let _ = self
            .shared()
            .with(|state| state.command(now, self.id(), |core| core.shutdown(now, self.id())));
        match self.closed().await {
            Closed::Gracefully => Ok(()),
            other => Err(other),
        }
    }

    /// Ends the association at once. The peer is told the reason; what is
    /// queued or unacknowledged is lost.
    ///
    /// # Errors
    /// When it has ended already.
    pub fn abort(&self, reason: &[u8]) -> Result<(), SendError> {
        let now = self.shared().now();
        self.shared()
            .with(|state| state.command(now, self.id(), |core| core.abort(now, self.id(), reason)))
    }

    /// Waits until the association has ended, and says how.
    pub async fn closed(&self) -> Closed {
        poll_fn(|cx| {
            self.shared()
                .with(|state| state.poll_closed(self.id(), cx.waker()))
        })
        .await
    }

    pub(crate) async fn up(&self) -> Result<(), Closed> {
        poll_fn(|cx| {
            self.shared()
                .with(|state| state.poll_up(self.id(), cx.waker()))
        })
        .await
    }
}
