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

/// Most bytes of a message that [`ByteStream`] sends.
const WRITE: usize = 16 << 10;

/// A stream of an association: the inbound and the outbound stream of one number.
#[derive(Clone, Debug)]
pub struct Stream {
    association: Association,
    number: u16,
}

impl Association {
    /// A handle of one stream, for sending on it and for reading only its messages.
    ///
    /// From the first such handle on, messages are sorted by stream. Then every
    /// stream on which the peer sends must be read, by its own handle or by
    /// [`Association::recv`]: once 1 MiB is unread, it blocks the other streams.
    #[must_use]
    pub fn stream(&self, number: u16) -> Stream {
        self.shared()
            .with(|state| state.open_stream(self.id(), number));
        Stream {
            association: self.clone(),
            number,
        }
    }
}

impl Stream {
    /// The stream number.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.number
    }

    /// The association of the stream.
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

    /// Sends a message on this stream, whatever stream it names.
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

    /// The stream as bytes, without message boundaries.
    #[must_use]
    pub fn into_bytes(self) -> ByteStream {
        ByteStream {
            stream: self,
            rest: Bytes::new(),
        }
    }
}

/// A stream as bytes, for code that uses [`AsyncRead`] and [`AsyncWrite`]. Each
/// write becomes an ordered message of at most 16 KiB.
///
/// Reading ends when the peer has shut down. SCTP cannot end one direction of one
/// stream, so `poll_shutdown` only returns that writes are queued. Use
/// [`Association::shutdown`] to end the association.
#[derive(Debug)]
pub struct ByteStream {
    stream: Stream,
    rest: Bytes,
}

impl ByteStream {
    /// The stream as messages again, and the unread rest of the last message.
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
    /// Nothing more arrives. That is an error unless the peer has shut down, so
    /// that a lost association does not look like the end of the bytes.
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
