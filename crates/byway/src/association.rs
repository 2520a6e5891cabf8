//! One association: messages, streams, paths and its end.

use crate::error::{Closed, SendError};
use crate::shared::Shared;
use byway_core::{AssocId, AssocStats, Config, Message, PathId, PathStats, Received, Undelivered};
use std::future::poll_fn;
use std::net::IpAddr;
use std::sync::Arc;
use tokio::task::coop::cooperative;

/// What all handles of one association share. Dropping it starts a shutdown.
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

/// An association with a peer. Clones are handles of the same association. When
/// the last one is dropped, a graceful shutdown begins in the background.
#[derive(Clone, Debug)]
pub struct Association(Arc<Handle>);

impl Association {
    pub(crate) fn new(shared: Arc<Shared>, id: AssocId) -> Association {
        Association(Arc::new(Handle { shared, id }))
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.0.shared
    }

    /// Names it in its endpoint, as [`Overview::id`](crate::Overview::id) does.
    #[must_use]
    pub fn id(&self) -> AssocId {
        self.0.id
    }

    /// Sends a message. Waits until the send buffer has room for it (`buffer.send`
    /// of [`Config`], 1 MiB by default). When this returns, the message is queued;
    /// [`Association::drained`] waits for its acknowledgement.
    ///
    /// Cancel safe: if the future is dropped, the message is not sent. The call
    /// takes part in tokio's cooperative scheduling and may yield although there
    /// is room.
    ///
    /// # Errors
    /// When the message is not valid, or the association is shutting down or has
    /// ended.
    pub async fn send(&self, message: Message) -> Result<(), SendError> {
        cooperative(poll_fn(|cx| {
            self.shared()
                .with(|state| state.poll_send(self.shared().now(), self.id(), &message, cx.waker()))
        }))
        .await
    }

    /// Sends a message if the send buffer has room for it now.
    ///
    /// # Errors
    /// As [`Association::send`], and
    /// [`CommandError::WouldBlock`](crate::CommandError::WouldBlock) if there is no
    /// room.
    pub fn try_send(&self, message: Message) -> Result<(), SendError> {
        let now = self.shared().now();
        self.shared()
            .with(|state| state.command(now, self.id(), |core| core.send(now, self.id(), message)))
    }

    /// Waits until [`Association::try_send`] would accept a message of `len` bytes on this stream.
    /// Others may be quicker, so it may be refused all the same.
    ///
    /// # Errors
    /// As [`Association::send`].
    pub async fn writable(&self, stream: u16, len: usize) -> Result<(), SendError> {
        cooperative(poll_fn(|cx| {
            self.shared()
                .with(|state| state.poll_writable(self.id(), (stream, len), cx.waker()))
        }))
        .await
    }

    /// Whether messages of different streams interleave: both sides offered it
    /// (`streams.interleaving` of [`Config`]; RFC 8260). Then [`Association::recv`] may give parts
    /// of long messages of several streams in turn.
    #[must_use]
    pub fn interleaves(&self) -> bool {
        self.shared()
            .with(|state| state.core.interleaves(self.id()))
    }

    /// Sets the value of an outbound stream for `streams.scheduler` of [`Config`]: its priority
    /// (0, the default, is the highest) or its weight (0 counts as 1); other schedulers ignore it
    /// (RFC 8260 section 4.3.3).
    ///
    /// # Errors
    /// When there is no such stream, or the association has ended.
    pub fn set_stream_value(&self, stream: u16, value: u16) -> Result<(), SendError> {
        let now = self.shared().now();
        self.shared().with(|state| {
            state.command(now, self.id(), |core| {
                core.set_stream_value(now, self.id(), stream, value)
            })
        })
    }

    /// The next message of any stream. A message longer than
    /// `buffer.partial_delivery_point` is delivered in parts (RFC 9260 section
    /// 6.9); the last part has `last` set.
    ///
    /// `None` when the peer sends nothing more: it has shut down, or the
    /// association has ended. Then [`Association::closed`] says whether it ended
    /// gracefully.
    ///
    /// With several readers each message goes to one of them. Unread messages
    /// fill the receive buffer, and then the peer has to wait.
    ///
    /// Cancel safe: if the future is dropped, no message is lost.
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

    /// The paths: their addresses, states, windows and counters.
    #[must_use]
    pub fn paths(&self) -> Vec<PathStats> {
        self.shared().with(|state| state.core.paths(self.id()))
    }

    /// Counters since the association began.
    #[must_use]
    pub fn stats(&self) -> AssocStats {
        self.shared()
            .with(|state| state.core.stats(self.id()))
            .unwrap_or_default()
    }

    /// The settings in use; `None` if the association is no longer known.
    #[must_use]
    pub fn config(&self) -> Option<Config> {
        self.shared()
            .with(|state| state.core.config(self.id()).cloned())
    }

    /// Makes a path the primary path (RFC 9260 section 6.4): new data goes there
    /// while it is active. It is no backup any more.
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

    /// Makes a path a backup (`true`), or ends that: a backup carries data, new or
    /// retransmitted, only while no other path is active. It is monitored as before. SCTP has
    /// no such flag, so the peer does not know of it and sends where it wants to; MPTCP's has the
    /// same sense (RFC 8684 section 3.3.8).
    ///
    /// # Errors
    /// When there is no such path, or the association has ended.
    pub fn set_backup(&self, path: PathId, backup: bool) -> Result<(), SendError> {
        let now = self.shared().now();
        self.shared().with(|state| {
            state.command(now, self.id(), |core| {
                core.set_backup(now, self.id(), path, backup)
            })
        })
    }

    /// Asks the peer to send to this address of this side while it can (RFC 5061 section
    /// 4.2.4; RFC 6458 section 8.3.4). [`Event::AddressChanged`](crate::Event::AddressChanged)
    /// or [`Event::AddressChangeRefused`](crate::Event::AddressChangeRefused) says what became
    /// of it.
    ///
    /// # Errors
    /// When a side does not support changes of addresses, the address is not one of this side,
    /// or the association has ended.
    pub fn set_peer_primary(&self, local: IpAddr) -> Result<(), SendError> {
        let now = self.shared().now();
        self.shared().with(|state| {
            state.command(now, self.id(), |core| {
                core.set_peer_primary(now, self.id(), local)
            })
        })
    }

    /// Sends a heartbeat on a path now (RFC 9260 section 11.1.10).
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

    /// Takes the next message that a lost association could not deliver: the peer has not
    /// completely acknowledged it. `None` when there is none left, or the association has not
    /// ended. There are as many as [`Closed::Lost`] says.
    #[must_use]
    pub fn take_undelivered(&self) -> Option<Undelivered> {
        self.shared()
            .with(|state| state.take_undelivered(self.id()))
    }

    /// Waits until the peer has acknowledged all messages.
    ///
    /// # Errors
    /// How the association ended, if it ended before that.
    pub async fn drained(&self) -> Result<(), Closed> {
        poll_fn(|cx| {
            self.shared()
                .with(|state| state.poll_drained(self.id(), cx.waker()))
        })
        .await
    }

    /// Shuts the association down gracefully (RFC 9260 section 9.2): queued messages
    /// are delivered first, and nothing more can be sent. Waits until the
    /// association has ended. A peer that answers but does not finish is given up
    /// after five times RTO.Max, and one that goes on to take data, however little, after 50 times
    /// RTO.Max in all: 50 minutes, unless `rto.max` of [`Config`] says otherwise.
    ///
    /// If the peer still sends more than the receive buffer holds, another handle
    /// must read it meanwhile.
    ///
    /// # Errors
    /// How the association ended, if not gracefully.
    pub async fn shutdown(&self) -> Result<(), Closed> {
        let now = self.shared().now();
        // An error says that it is shutting down or has ended: waited for below.
        let _ = self
            .shared()
            .with(|state| state.command(now, self.id(), |core| core.shutdown(now, self.id())));
        match self.closed().await {
            Closed::Gracefully => Ok(()),
            other => Err(other),
        }
    }

    /// Whether the peer has shut down: it has sent SHUTDOWN, which an endpoint does when all that it sent was
    /// acknowledged (RFC 9260 section 9.2). What has come can still be [received](Self::recv), and nothing more
    /// comes. The association ends later: when the peer has all of this side, and its last packet has come, SHUTDOWN
    /// COMPLETE, which may be lost. It stays true when the association is lost then, but for
    /// [`LossReason::OutOfMemory`](crate::LossReason), which throws away what was not received.
    #[must_use]
    pub fn peer_has_shut_down(&self) -> bool {
        self.shared()
            .with(|state| state.peer_has_shut_down(self.id()))
    }

    /// Aborts the association (RFC 9260 section 9.1). The ABORT carries at most 256
    /// bytes of `reason`. Queued and unacknowledged messages are lost.
    ///
    /// # Errors
    /// When it has ended already.
    pub fn abort(&self, reason: &[u8]) -> Result<(), SendError> {
        let now = self.shared().now();
        self.shared()
            .with(|state| state.command(now, self.id(), |core| core.abort(now, self.id(), reason)))
    }

    /// Waits until the association has ended. Returns how it ended.
    pub async fn closed(&self) -> Closed {
        poll_fn(|cx| {
            self.shared()
                .with(|state| state.poll_closed(self.id(), cx.waker()))
        })
        .await
    }

    /// An entry in the account of memory for what the application keeps for this association
    /// outside of it: messages that it has received and not passed on, a buffer of TLS, a queue
    /// towards a target. What it charges counts as if the association held it
    /// ([`EndpointOptions::max_memory`](crate::EndpointOptions::max_memory)): there is one ceiling,
    /// and who makes both sides together keep most is let go first.
    ///
    /// ```
    /// # use tokio::io::{AsyncWrite, AsyncWriteExt};
    /// # async fn relay(association: byway::Association, mut target: impl AsyncWrite + Unpin)
    /// # -> std::io::Result<()> {
    /// let mut queued = association.charge();
    /// while let Some(received) = association.recv().await {
    ///     queued.set(received.payload.len());
    ///     target.write_all(&received.payload).await?;
    ///     queued.set(0);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn charge(&self) -> Charge {
        Charge {
            shared: self.0.shared.clone(),
            id: self.0.id,
            bytes: 0,
        }
    }

    /// Whether to answer a handshake of the peer, such as one of TLS, which costs a signature and a
    /// key exchange before the peer has proved anything. Ask before the first answer. It counts: a
    /// host gets 20 a second, and 256 after a pause; all hosts together get 200, and beyond that 100
    /// for those that ask seldom. What is refused is counted ([`Rule::Handshakes`](crate::Rule)) and
    /// logged; tell the peer so with [`abort`](Self::abort).
    #[must_use]
    pub fn take_handshake(&self) -> bool {
        let now = self.shared().now();
        self.shared()
            .with(|state| state.core.take_handshake(now, self.id()))
    }

    /// The peer has proved who it is: its handshake does not count any more. So good peers meet no
    /// limit. Call it at most once after each [`take_handshake`](Self::take_handshake).
    pub fn give_handshake_back(&self) {
        self.shared()
            .with(|state| state.core.give_handshake_back(self.id()));
    }

    /// The peer has broken the protocol that the application speaks over the association. Say so before
    /// you end it with [`abort`](Self::abort). It is counted ([`Rule::Violations`](crate::Rule)) and charged to
    /// the host: see [`bars_violator`](Self::bars_violator).
    pub fn count_violation(&self) {
        let now = self.shared().now();
        self.shared()
            .with(|state| state.core.count_violation(now, self.id()));
    }

    /// Whether to refuse this association, because its host has broken the protocol of the application too
    /// often: 20 times a second, and 64 times after a pause. Ask when you have accepted it. What is
    /// refused is counted ([`Rule::Violators`](crate::Rule)) and logged; tell the peer so with
    /// [`abort`](Self::abort). Associations that are up stay.
    #[must_use]
    pub fn bars_violator(&self) -> bool {
        let now = self.shared().now();
        self.shared()
            .with(|state| state.core.bars_violator(now, self.id()))
    }

    pub(crate) async fn up(&self) -> Result<(), Closed> {
        poll_fn(|cx| {
            self.shared()
                .with(|state| state.poll_up(self.id(), cx.waker()))
        })
        .await
    }
}

/// What an application keeps for an association outside of it, in the account of memory of the
/// endpoint. An association may have several; they are added up. Dropping one gives back what it
/// charged.
///
/// It is no handle of its association. It counts until the association is
/// [shed](crate::LossReason::OutOfMemory) or its last handle is dropped after its end: what it
/// stands for should be dropped then, too.
#[derive(Debug)]
pub struct Charge {
    shared: Arc<Shared>,
    id: AssocId,
    bytes: usize,
}

impl Charge {
    /// Charges `bytes` in place of what was charged before. Count what is allocated, and not only
    /// what is filled of it. If with it more than fifteen sixteenths of the endpoint's memory are used, or of
    /// the half that one host may use, the associations that hold most are aborted before this returns;
    /// this one may be among them, and then [`Association::closed`] says so.
    pub fn set(&mut self, bytes: usize) {
        let before = std::mem::replace(&mut self.bytes, bytes);
        if before != bytes {
            let now = self.shared.now();
            self.shared
                .with(|state| state.charge_application(now, self.id, before, bytes));
        }
    }

    /// What is charged, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.set(0);
    }
}
