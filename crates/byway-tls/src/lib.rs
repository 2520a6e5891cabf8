//! TLS 1.3 for the messages of an SCTP association: tickets, keys, the handshake and sealed messages.
//!
//! Nothing here does IO. A [`Handshake`] says what to send and reads what came; it ends as a
//! [`Session`], whose [`Sealer`] and [`Opener`] turn messages into sealed ones and back. Each stream
//! keeps its own order, so a stream that waits does not stop the others. A [`Ticket`] names where to
//! connect, whose key is there, and a secret that its bearer proves to know; [`Request`] and
//! [`Answer`] carry the proof. `docs/encryption.md` of the repository describes the protocol.
//!
//! ```
//! use byway_tls::{Expect, Handshake, Opened, SecretKey, Service};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (mine, theirs) = (SecretKey::generate()?, SecretKey::generate()?);
//! let expect = Expect::fingerprint(theirs.public_key().fingerprint().short());
//! let mut client = Handshake::client(&mine, expect, Service::Files)?;
//! let mut server = Handshake::server(&theirs, Service::Files)?;
//! while !(client.is_done() && server.is_done()) {
//!     while let Some(message) = client.next_message() {
//!         server.receive(&message)?;
//!     }
//!     while let Some(message) = server.next_message() {
//!         client.receive(&message)?;
//!     }
//! }
//! let (mut client, mut server) = (client.finish()?, server.finish()?);
//! assert_eq!(server.peer, mine.public_key());
//!
//! let sealed = client.sealer.seal(3, b"a message of stream 3")?;
//! client.sealer.sent(3);
//! let opened = server.opener.open(3, &sealed)?;
//! assert_eq!(opened, Opened::Data("a message of stream 3".into()));
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod error;
mod handshake;
mod key;
mod proof;
mod reading;
mod seal;
mod service;
mod ticket;
mod verify;

pub use error::{HandshakeError, OpenError, SealError, TicketError};
pub use handshake::{HANDSHAKE_PPID, Handshake, Session, VERSION, Witness};
pub use key::{AuthorizedKeys, Fingerprint, KeyError, PublicKey, SecretKey};
pub use proof::{Answer, Refusal, Request};
pub use reading::Reading;
pub use rustls::KeyLog;
pub use seal::{OVERHEAD, Opened, Opener, SEALED_PPID, Sealer};
pub use service::Service;
pub use ticket::{MOST_ADDRESSES, Secret, TICKET_PREFIX, Ticket};
pub use verify::Expect;
