//! Associations whose messages are sealed.

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use byway::{Association, Message, Received};
use byway_tls::{
    Expect, HANDSHAKE_PPID, Handshake, Opened, Opener, SEALED_PPID, Sealer, SecretKey, Service,
    Session,
};

/// The stream of handshakes and of all messages here.
const STREAM: u16 = 0;

/// A handshake over an association, to its end.
pub(crate) async fn shake_hands(
    association: &Association,
    mut handshake: Handshake,
) -> Result<Session> {
    loop {
        while let Some(bytes) = handshake.next_message() {
            say(association, HANDSHAKE_PPID, bytes).await?;
        }
        if handshake.is_done() {
            return Ok(handshake.finish()?);
        }
        let received = association
            .recv()
            .await
            .context("it ended in a handshake")?;
        handshake.receive(&received.payload)?;
    }
}

/// Sends a message with this payload protocol identifier.
pub(crate) async fn say(association: &Association, ppid: u32, bytes: Bytes) -> Result<()> {
    let mut message = Message::new(STREAM, bytes);
    message.ppid = ppid;
    association.send(message).await?;
    Ok(())
}

/// The key of both sides. It protects nothing: it is written here.
fn known_key() -> Result<SecretKey> {
    Ok(SecretKey::from_seed(&[7; 32])?)
}

/// What a sender does with its messages.
pub(crate) enum Sending {
    Plain,
    Sealed(Box<Sealer>),
}

impl Sending {
    /// Of the side that has connected.
    pub(crate) async fn begin(association: &Association, sealed: bool) -> Result<Sending> {
        if !sealed {
            return Ok(Sending::Plain);
        }
        let key = known_key()?;
        let expect = Expect::fingerprint(key.public_key().fingerprint().short());
        let handshake = Handshake::client(&key, expect, Service::Files)?;
        let session = shake_hands(association, handshake).await?;
        Ok(Sending::Sealed(Box::new(session.sealer)))
    }

    /// Sends a message.
    pub(crate) async fn send(&mut self, association: &Association, payload: &Bytes) -> Result<()> {
        match self {
            Sending::Plain => {
                association
                    .send(Message::new(STREAM, payload.clone()))
                    .await?;
            }
            Sending::Sealed(sealer) => {
                let sealed = sealer.seal(STREAM, payload)?;
                say(association, SEALED_PPID, sealed).await?;
                sealer.sent(STREAM);
            }
        }
        Ok(())
    }
}

/// What a receiver does with them.
pub(crate) enum Receiving {
    Plain,
    Sealed(Box<Opener>),
}

impl Receiving {
    /// Of the side that was connected to.
    pub(crate) async fn begin(association: &Association, sealed: bool) -> Result<Receiving> {
        if !sealed {
            return Ok(Receiving::Plain);
        }
        let handshake = Handshake::server(&known_key()?, Service::Files)?;
        let session = shake_hands(association, handshake).await?;
        Ok(Receiving::Sealed(Box::new(session.opener)))
    }

    /// What a message carries.
    pub(crate) fn open(&mut self, received: Received) -> Result<Bytes> {
        let Receiving::Sealed(opener) = self else {
            return Ok(received.payload);
        };
        ensure!(received.last, "a sealed message came in parts");
        match opener.open(STREAM, &received.payload)? {
            Opened::Data(payload) => Ok(payload),
            other => bail!("a sealed message of another kind: {other:?}"),
        }
    }
}
