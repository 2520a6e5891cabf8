//! One message of the file protocol at a time.

use super::protect::{Channel, Purpose};
use super::protocol::{BLOCK, Note, PPID};
use crate::failure::{Failure, Kind};
use bytes::{Bytes, BytesMut};
use byway::Message;
use byway_tls::Service;

/// More than any message of the protocol has. It is below the partial delivery point of the
/// default buffers (half of them), so a stranger's message that never ends is refused with its
/// first part: what is kept here is in no account of memory.
const MAX_NOTE: usize = BLOCK + 1024;

/// What these associations are for.
pub(super) const FILES: Purpose = Purpose {
    service: Service::Files,
    ppid: PPID,
};

/// The association, as a carrier of [`Note`]s.
pub(super) struct Exchange<'a> {
    channel: &'a Channel,
    /// Parts of a message that came in parts (RFC 9260 section 6.9).
    parts: BytesMut,
}

impl<'a> Exchange<'a> {
    pub(super) fn new(channel: &'a Channel) -> Exchange<'a> {
        Exchange {
            channel,
            parts: BytesMut::new(),
        }
    }

    pub(super) async fn send(&self, note: &Note) -> Result<(), Failure> {
        let mut message = Message::new(0, note.encode());
        message.ppid = PPID;
        self.channel.send(message).await
    }

    /// Whether the peer has acknowledged all that was sent.
    pub(super) fn is_acknowledged(&self) -> bool {
        let stats = self.channel.association().stats();
        stats.bytes_acked >= stats.bytes_queued
    }

    /// The next message; none when the peer has shut down in good order.
    ///
    /// Cancel safe: parts that have come are kept.
    pub(super) async fn receive(&mut self) -> Result<Option<Note>, Failure> {
        loop {
            let Some(received) = self.channel.recv().await? else {
                return Ok(None);
            };
            if received.ppid != PPID {
                return Err(self.strange(&format!("payload protocol identifier {}", received.ppid)));
            }
            let payload = if received.last && self.parts.is_empty() {
                received.payload
            } else {
                if self.parts.len() + received.payload.len() > MAX_NOTE {
                    return Err(self.strange("a message that never ends"));
                }
                self.parts.extend_from_slice(&received.payload);
                if !received.last {
                    continue;
                }
                self.parts.split().freeze()
            };
            return self.read(&payload).map(Some);
        }
    }

    fn read(&self, payload: &Bytes) -> Result<Note, Failure> {
        Note::decode(payload).map_err(|what| self.strange(&what))
    }

    /// The peer does not speak our protocol. It counts for its host.
    pub(super) fn strange(&self, what: &str) -> Failure {
        self.channel.association().count_violation();
        strange(what)
    }

    /// The next message, where the peer must not end yet.
    pub(super) async fn expect(&mut self, waiting_for: &str) -> Result<Note, Failure> {
        match self.receive().await? {
            Some(note) => Ok(note),
            None => Err(Failure::new(
                Kind::Failed,
                format!("the other side ended before its {waiting_for}"),
            )),
        }
    }
}

/// The peer does not speak our protocol.
pub(super) fn strange(what: &str) -> Failure {
    Failure::new(
        Kind::Failed,
        format!("the other side sent {what}; is it `byway send` or `byway recv` of this version?"),
    )
}
