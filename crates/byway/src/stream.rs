//! One stream of an association, as messages or as bytes.

use crate::association::Association;
use crate::error::SendError;
use bytes::{Buf, Bytes};
use byway_core::{Message, Received};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::coop::poll_proceed;

/// Most bytes of one message that [`ByteStream`] makes.
const WRITE: usize = 16 << 10;

/// A stream of an association: one direction each way, same number.
#[derive(Clone, Debug)]
pub struct Stream {
    association: Association,
    number: u16,
}

impl Stream {
    pub(crate) fn new(association: Association, number: u16) -> Stream {
        Stream {
            association,
            number,
        }
    }

    /// Its number.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.number
    }

    /// Its association.
    #[must_use]
    pub fn association(&self) -> &Association {
        &self.association
    }

    /// Sends an ordered message, as [`Association::send`] does.
    ///
    /// # Errors
    /// As [`Association::send`].
    pub async fn send(&self, payload: impl Into<Bytes>) -> Result<(), SendError> {
        self.association
            .send(Message::new(self.number, payload))
            .await
    }

    /// Sends a message with other settings; its stream becomes this one.
    ///
    /// # Errors
    /// As [`Association::send`].
    pub async fn send_message(&self, mut message: Message) -> Result<(), SendError> {
        message.stream = self.number;
        self.association.send(message).await
    }

    /// The next message of this stream, as [`Association::recv`] gives it.
    pub async fn recv(&self) -> Option<Received> {
        self.association.receive(Some(self.number)).await
    }

    /// The stream as bytes: boundaries of messages are neither kept nor seen.
    #[must_use]
    pub fn into_bytes(self) -> ByteStream {
        ByteStream {
            stream: self,
            rest: Bytes::new(),
        }
    }
}

/// A stream as bytes, for code that reads and writes those. Each write becomes
/// an ordered message of at most 16 KiB.
///
/// Reading ends when the peer has shut down. SCTP cannot end one direction of
/// one stream, so `poll_shutdown` does nothing but say that writes are queued:
/// the end is [`Association::shutdown`].
#[derive(Debug)]
pub struct ByteStream {
    stream: Stream,
    rest: Bytes,
}

impl ByteStream {
    /// The stream as messages again. Bytes of a message that was read in part
    /// are returned with it.
    #[must_use]
    pub fn into_inner(self) -> (Stream, Bytes) {
        (self.stream, self.rest)
    }
}

impl AsyncRead for ByteStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let budget = ready!(poll_proceed(cx));
        if self.rest.is_empty() {
            let (association, number) = (&self.stream.association, self.stream.number);
            let shared = association.shared();
            let received = shared.with(|state| {
                state.poll_receive(shared.now(), association.id(), Some(number), cx.waker())
            });
            match ready!(received) {
                Some(received) => self.rest = received.payload,
                None => return Poll::Ready(self.stream.end()),
            }
        }
        let n = self.rest.len().min(buffer.remaining());
        buffer.put_slice(&self.rest[..n]);
        self.rest.advance(n);
        budget.made_progress();
        Poll::Ready(Ok(()))
    }
}

impl Stream {
    /// Nothing more arrives: well if the peer has shut down, else an error, so
    /// that a loss does not look like the end of the bytes.
    fn end(&self) -> io::Result<()> {
        use crate::error::Closed;
        let closed = self.association.shared().with(|state| {
            state
                .entry(self.association.id())
                .and_then(|e| e.closed.clone())
        });
        match closed {
            None | Some(Closed::Gracefully) => Ok(()),
            Some(other) => Err(SendError::Ended(other).into()),
        }
    }
}

impl AsyncWrite for ByteStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if bytes.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let budget = ready!(poll_proceed(cx));
        let n = bytes.len().min(WRITE);
        let association = &self.stream.association;
        let shared = association.shared();
        let message = Message::new(self.stream.number, Bytes::copy_from_slice(&bytes[..n]));
        let sent = shared
            .with(|state| state.poll_send(shared.now(), association.id(), &message, cx.waker()));
        if sent.is_ready() {
            budget.made_progress();
        }
        sent.map(|done| done.map(|()| n).map_err(io::Error::from))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
