//! An association that carries messages, sealed or plain.

use crate::failure::{Failure, Kind};
use bytes::{Bytes, BytesMut};
use byway::{Association, Closed, Message, Received};
use byway_tls::{HANDSHAKE_PPID, OVERHEAD, Opened, Opener, SEALED_PPID, Sealer, Session, Witness};
use std::sync::{Arc, Mutex, PoisonError};

/// Longest sealed message: more than any that is sent here.
const LONGEST: usize = 64 * 1024 + OVERHEAD;

/// An association, and how its messages are sealed if they are.
#[derive(Clone)]
pub(in crate::net) struct Channel {
    association: Association,
    seals: Option<Arc<Seals>>,
}

struct Seals {
    /// Held until a message is queued: its number is its place in its stream.
    sealer: tokio::sync::Mutex<Sealer>,
    opening: Mutex<Opening>,
    /// What opened messages are given.
    ppid: u32,
}

struct Opening {
    opener: Opener,
    /// The stream and the parts of a message that comes in parts (RFC 9260 section 6.9).
    parts: Option<(u16, BytesMut)>,
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
                parts: None,
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
        let mut sealer = seals.sealer.lock().await;
        let stream = message.stream;
        let sealed = sealer.seal(stream, &message.payload);
        message.payload = sealed.map_err(unsealable)?;
        self.queue(message).await?;
        sealer.sent(stream);
        Ok(())
    }

    /// Sends a message if there is room for it now; whether it did.
    pub(in crate::net) fn try_send(&self, mut message: Message) -> bool {
        let Some(seals) = &self.seals else {
            return self.association.try_send(message).is_ok();
        };
        let Ok(mut sealer) = seals.sealer.try_lock() else {
            return false;
        };
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
        let mut sealer = seals.sealer.lock().await;
        let sealed = sealer.seal_admission(payload).map_err(unsealable)?;
        self.queue(Message::new(0, sealed)).await?;
        sealer.sent(0);
        Ok(())
    }

    /// Says that nothing more comes: the other side knows then that nothing was cut off.
    pub(in crate::net) async fn end(&self) -> Result<(), Failure> {
        let Some(seals) = &self.seals else {
            return Ok(());
        };
        let mut sealer = seals.sealer.lock().await;
        let sealed = sealer.seal_end().map_err(unsealable)?;
        self.queue(Message::new(0, sealed)).await?;
        sealer.sent(0);
        Ok(())
    }

    async fn queue(&self, mut sealed: Message) -> Result<(), Failure> {
        sealed.ppid = SEALED_PPID;
        self.association.send(sealed).await.map_err(Failure::from)
    }

    /// The next message of any stream; none when the other side has ended in good order. A message that
    /// was tampered with ends the association.
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
                // The end, which counts when the association ends; or a part.
                Ok(Some(Opened::End) | None) => {}
                Err(failure) => return Err(failure),
            }
        }
        match self.association.closed().await {
            Closed::Gracefully if self.is_complete() => Ok(None),
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
        match self.association.closed().await {
            Closed::Gracefully => Ok(None),
            lost => Err(lost.into()),
        }
    }

    fn is_complete(&self) -> bool {
        let complete = |seals: &Arc<Seals>| lock(&seals.opening).opener.is_complete();
        self.seals.as_ref().is_none_or(complete)
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
        let whole = match opening.whole(received) {
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

impl Opening {
    /// Puts parts together; none until the last one has come.
    fn whole(&mut self, received: &Received) -> Result<Option<Bytes>, &'static str> {
        if received.first && received.last && self.parts.is_none() {
            return Ok(Some(received.payload.clone()));
        }
        let stream = received.stream;
        let (of, parts) = self.parts.get_or_insert((stream, BytesMut::new()));
        if *of != stream || received.first != parts.is_empty() {
            return Err("parts of two messages at once");
        }
        if parts.len() + received.payload.len() > LONGEST {
            return Err("a message that is too long");
        }
        parts.extend_from_slice(&received.payload);
        if !received.last {
            return Ok(None);
        }
        Ok(self.parts.take().map(|(_, parts)| parts.freeze()))
    }
}

fn unsealable(error: byway_tls::SealError) -> Failure {
    Failure::new(Kind::Failed, error.to_string())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
