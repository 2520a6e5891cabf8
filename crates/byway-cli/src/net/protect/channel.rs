//! An association that carries messages, sealed or plain.

use crate::failure::{Failure, Kind};
use crate::net::joiner::Joiner;
use bytes::Bytes;
use byway::{Association, Closed, CommandError, Message, Received, SendError};
use byway_tls::{
    HANDSHAKE_PPID, OVERHEAD, Opened, Opener, SEALED_PPID, SealError, Sealer, Session, Witness,
};
use std::sync::{Arc, Mutex, PoisonError};

/// Longest sealed message: more than any that is sent here.
const LONGEST: usize = 64 * 1024 + OVERHEAD;

/// Memory of a session, in bytes: two keys and the rest of the channel.
const SESSION: usize = 2048;

/// An association, and how its messages are sealed if they are.
#[derive(Clone)]
pub(in crate::net) struct Channel {
    association: Association,
    seals: Option<Arc<Seals>>,
}

struct Seals {
    /// Held until a message is queued, or thrown away because there is no room for it: its number is
    /// its place in its stream.
    sealer: Mutex<Sealer>,
    opening: Mutex<Opening>,
    /// What opened messages are given.
    ppid: u32,
}

struct Opening {
    opener: Opener,
    /// Messages that come in parts.
    joiner: Joiner,
}

impl Channel {
    /// Everybody on the way can read it.
    pub(in crate::net) fn plain(association: Association) -> Channel {
        Channel {
            association,
            seals: None,
        }
    }

    /// A channel of a session, and the witness of that.
    pub(super) fn sealed(
        association: Association,
        session: Session,
        ppid: u32,
    ) -> (Channel, Witness) {
        let seals = Seals {
            sealer: session.sealer.into(),
            opening: Mutex::new(Opening {
                opener: session.opener,
                joiner: Joiner::new(&association, LONGEST).beside(SESSION),
            }),
            ppid,
        };
        let channel = Channel {
            association,
            seals: Some(Arc::new(seals)),
        };
        (channel, session.witness)
    }

    /// For paths, figures and how it ends; messages go through the channel.
    pub(in crate::net) fn association(&self) -> &Association {
        &self.association
    }

    /// Sends a message. Waits for room in the send buffer.
    ///
    /// Cancel safe: if the future is dropped, the message is not sent, and the next one takes its number.
    pub(in crate::net) async fn send(&self, mut message: Message) -> Result<(), Failure> {
        let Some(seals) = &self.seals else {
            return self.association.send(message).await.map_err(Failure::from);
        };
        let (stream, payload) = (message.stream, std::mem::take(&mut message.payload));
        self.seal_and_queue(seals, &message, payload.len(), |sealer| {
            sealer.seal(stream, &payload)
        })
        .await
    }

    /// Sends a message of `len` bytes that `seal` seals. While there is no room for it, nobody else has
    /// to wait: there may be room for others (`streams.scheduler`). So it is sealed when there is.
    async fn seal_and_queue(
        &self,
        seals: &Seals,
        message: &Message,
        len: usize,
        seal: impl Fn(&mut Sealer) -> Result<Bytes, SealError>,
    ) -> Result<(), Failure> {
        let stream = message.stream;
        loop {
            self.association.writable(stream, len + OVERHEAD).await?;
            let mut sealer = lock(&seals.sealer);
            let mut sealed = message.clone();
            sealed.payload = seal(&mut sealer).map_err(unsealable)?;
            sealed.ppid = SEALED_PPID;
            match self.association.try_send(sealed) {
                Err(SendError::Refused(CommandError::WouldBlock { .. })) => {}
                sent => {
                    sent?;
                    sealer.sent(stream);
                    return Ok(());
                }
            }
        }
    }

    /// Sends a message if there is room for it now; whether it did.
    pub(in crate::net) fn try_send(&self, mut message: Message) -> bool {
        let Some(seals) = &self.seals else {
            return self.association.try_send(message).is_ok();
        };
        let mut sealer = lock(&seals.sealer);
        let stream = message.stream;
        let Ok(sealed) = sealer.seal(stream, &message.payload) else {
            return false;
        };
        (message.payload, message.ppid) = (sealed, SEALED_PPID);
        let sent = self.association.try_send(message).is_ok();
        if sent {
            sealer.sent(stream);
        }
        sent
    }

    /// Sends a request or an answer.
    pub(super) async fn send_admission(&self, payload: &[u8]) -> Result<(), Failure> {
        let Some(seals) = &self.seals else {
            return Ok(());
        };
        let message = Message::new(0, Bytes::new());
        self.seal_and_queue(seals, &message, payload.len(), |sealer| {
            sealer.seal_admission(payload)
        })
        .await
    }

    /// Keeps no key for sending until something is sent again.
    pub(super) fn rest(&self) {
        if let Some(seals) = &self.seals {
            lock(&seals.sealer).rest();
        }
    }

    /// Says that nothing more comes: the other side knows then that nothing was cut off.
    pub(in crate::net) async fn end(&self) -> Result<(), Failure> {
        let Some(seals) = &self.seals else {
            return Ok(());
        };
        // Nothing is sealed after it, so nothing can take its place while it waits for room.
        let sealed = lock(&seals.sealer).seal_end().map_err(unsealable)?;
        let mut message = Message::new(0, sealed);
        message.ppid = SEALED_PPID;
        self.association.send(message).await?;
        lock(&seals.sealer).sent(0);
        Ok(())
    }

    /// The next message of any stream; none when the other side has ended in good order, which may be before the
    /// association has. A message that was tampered with ends the association.
    ///
    /// Cancel safe: no message is lost.
    pub(in crate::net) async fn recv(&self) -> Result<Option<Received>, Failure> {
        while let Some(mut received) = self.association.recv().await {
            match self.open(&mut received) {
                Ok(Some(Opened::Data(payload))) => {
                    received.payload = payload;
                    return Ok(Some(received));
                }
                Ok(Some(Opened::Admission(_))) => {
                    return Err(self.broken("a request in the middle of a transfer".to_owned()));
                }
                Ok(Some(Opened::End)) if self.has_ended() => return Ok(None),
                // The end, and messages of other streams are still to come; or a part.
                Ok(Some(Opened::End) | None) => {}
                Err(failure) => return Err(failure),
            }
        }
        if self.has_ended() {
            return Ok(None);
        }
        match self.end_of_peer().await {
            Closed::Gracefully if self.seals.is_none() => Ok(None),
            Closed::Gracefully => Err(Failure::new(
                Kind::Refused,
                "the transfer was cut off: the association was ended, and not by the other side's program",
            )),
            lost => Err(lost.into()),
        }
    }

    /// The next request or answer; none when the other side has ended in good order.
    pub(super) async fn recv_admission(&self) -> Result<Option<Bytes>, Failure> {
        while let Some(mut received) = self.association.recv().await {
            match self.open(&mut received)? {
                Some(Opened::Admission(payload)) => return Ok(Some(payload)),
                None => {}
                Some(_) => return Err(self.broken("a message before it was let in".to_owned())),
            }
        }
        match self.end_of_peer().await {
            Closed::Gracefully => Ok(None),
            lost => Err(lost.into()),
        }
    }

    /// How the other side has ended. It sends SHUTDOWN when this side has all (RFC 9260 section 9.2), so the packets
    /// that follow do not matter.
    async fn end_of_peer(&self) -> Closed {
        match self.association.peer_has_shut_down() {
            true => Closed::Gracefully,
            false => self.association.closed().await,
        }
    }

    /// Whether the other side's program has said that it ends, and all has come: nobody else can say so, and nothing
    /// follows. How the association ends matters no more.
    fn has_ended(&self) -> bool {
        let complete = |seals: &Arc<Seals>| lock(&seals.opening).opener.is_complete();
        self.seals.as_ref().is_some_and(complete)
    }

    /// What a message carries; none of a part.
    fn open(&self, received: &mut Received) -> Result<Option<Opened>, Failure> {
        let Some(seals) = &self.seals else {
            if matches!(received.ppid, HANDSHAKE_PPID | SEALED_PPID) {
                self.association.count_violation();
                return Err(self.broken(
                    "TLS, and this side was started without: --unprotected, or an address in place of a ticket"
                        .to_owned(),
                ));
            }
            return Ok(Some(Opened::Data(std::mem::take(&mut received.payload))));
        };
        if received.ppid != SEALED_PPID || received.unordered {
            return Err(self.broken("a message that is not sealed".to_owned()));
        }
        received.ppid = seals.ppid;
        let mut opening = lock(&seals.opening);
        let whole = match opening.joiner.whole(received) {
            Ok(Some(whole)) => whole,
            Ok(None) => return Ok(None),
            Err(why) => return Err(self.broken(why.to_owned())),
        };
        (received.first, received.last) = (true, true);
        let opened = opening.opener.open(received.stream, &whole);
        opened.map(Some).map_err(|e| self.broken(e.to_string()))
    }

    /// Nothing of the other side can be believed any more.
    fn broken(&self, what: String) -> Failure {
        let failure = Failure::new(Kind::Refused, format!("the other side sent {what}"));
        // Refused when it has ended already.
        let _ = self.association.abort(failure.reason());
        failure
    }
}

fn unsealable(error: SealError) -> Failure {
    Failure::new(Kind::Failed, error.to_string())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
