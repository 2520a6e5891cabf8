//! The TLS 1.3 handshake, in messages of stream 0.
//!
//! ```text
//! 1   version of this protocol: 1
//! 1   0 handshake bytes; 1 handshake bytes, encrypted with the handshake keys; 2 alert
//!     the bytes, and with 1 a tag of 16; or 1 byte TLS alert
//! ```
//! With 1 the first two bytes are authenticated, and the packet number is the number of such messages
//! of this side before. TLS runs as in QUIC (RFC 9001 section 4): it hands over handshake bytes and
//! keys, and has no records of its own. Both sides show raw public keys (RFC 7250).

use crate::error::{BAD_KEY, HandshakeError, OTHER_SERVICE};
use crate::key::{PublicKey, SecretKey};
use crate::proof::{self, Answer, Exported, Prover, Request};
use crate::seal::{Opener, Sealer};
use crate::service::Service;
use crate::ticket::Ticket;
use crate::verify::{Expect, Unexpected, Verifier};
use bytes::Bytes;
use rustls::client::{AlwaysResolvesClientRawPublicKeys, Resumption};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::quic::{
    ClientConnection, Connection, KeyChange, Keys, PacketKey, Secrets, ServerConnection, Version,
};
use rustls::server::{AlwaysResolvesServerRawPublicKeys, NoServerSessionStorage};
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{ClientConfig, Error, KeyLog, ServerConfig};
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, PoisonError};

/// Payload protocol identifier of handshake messages: "byh" and version 1.
pub const HANDSHAKE_PPID: u32 = 0x6279_6801;
/// Version of the protocol.
pub const VERSION: u8 = 1;

const CLEAR: u8 = 0;
const SEALED: u8 = 1;
const ALERT: u8 = 2;
const HEADER: usize = 2;
/// Most bytes of a handshake message: all of a flight fits in it.
const LONGEST: usize = 16 * 1024;
/// Label of what proofs are made over.
const LABEL: &[u8] = b"EXPORTER-byway-ticket";
/// In place of QUIC's transport parameters, which TLS wants from both sides.
const PARAMETERS: &[u8] = b"byway 1";

/// A handshake under way.
pub struct Handshake {
    tls: Connection,
    side: Prover,
    /// What comes of a key that was not expected.
    unexpected: Unexpected,
    /// The handshake keys, and how many messages each side has sealed with them.
    keys: Option<Sealing>,
    /// Whether what this side sends is sealed.
    seals: bool,
    session: Option<(Keys, Secrets)>,
    outgoing: VecDeque<Bytes>,
}

struct Sealing {
    local: Box<dyn PacketKey>,
    remote: Box<dyn PacketKey>,
    sent: u64,
    received: u64,
}

/// What a finished handshake leaves.
#[derive(Debug)]
pub struct Session {
    /// Seals what this side sends.
    pub sealer: Sealer,
    /// Opens what the peer sends.
    pub opener: Opener,
    /// The key that the peer has proved to have.
    pub peer: PublicKey,
    /// Makes and checks proofs of a ticket's secret, which hold in this session alone.
    pub witness: Witness,
}

/// Makes and checks proofs of a ticket's secret.
pub struct Witness {
    side: Prover,
    exported: Exported,
}

impl fmt::Debug for Handshake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Handshake({:?}, done: {})", self.side, self.is_done())
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn verifier(provider: &CryptoProvider, expect: Option<Expect>) -> (Arc<Verifier>, Unexpected) {
    let unexpected = Unexpected::default();
    let verifier = Verifier {
        expect,
        unexpected: unexpected.clone(),
        algorithms: provider.signature_verification_algorithms,
    };
    (Arc::new(verifier), unexpected)
}

fn certified(key: &SecretKey) -> Arc<CertifiedKey> {
    let spki = CertificateDer::from(key.public_key().to_spki());
    Arc::new(CertifiedKey::new(vec![spki], key.signing()))
}

fn tls(error: &Error) -> HandshakeError {
    HandshakeError::Tls(error.to_string())
}

impl Handshake {
    /// The side that has connected. Its first message waits in [`Handshake::next_message`].
    ///
    /// # Errors
    /// When TLS does not take the settings, which does not happen with any known.
    pub fn client(
        key: &SecretKey,
        expect: Expect,
        service: Service,
    ) -> Result<Handshake, HandshakeError> {
        Handshake::client_logged(key, expect, service, None)
    }

    /// [`Handshake::client`] whose secrets are told to `log`: who has them and a capture of the packets can
    /// read everything.
    ///
    /// # Errors
    /// As [`Handshake::client`].
    pub fn client_logged(
        key: &SecretKey,
        expect: Expect,
        service: Service,
        log: Option<Arc<dyn KeyLog>>,
    ) -> Result<Handshake, HandshakeError> {
        let provider = provider();
        let (verifier, unexpected) = verifier(&provider, Some(expect));
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .map_err(|e| tls(&e))?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(
                certified(key),
            )));
        config.alpn_protocols = vec![service.alpn().to_vec()];
        config.resumption = Resumption::disabled();
        config.enable_sni = false;
        if let Some(log) = log {
            config.key_log = log;
        }
        // Not sent: there are no names here.
        let name = ServerName::try_from("byway.invalid")
            .map_err(|_| HandshakeError::Tls("no name".to_owned()))?;
        let parameters = PARAMETERS.to_vec();
        let tls = ClientConnection::new(Arc::new(config), Version::V1, name, parameters)
            .map_err(|e| tls(&e))?;
        Ok(Handshake::begin(tls.into(), Prover::Client, unexpected))
    }

    /// The side that was connected to. Any key of a client is taken: [`Session::peer`] says which it was.
    ///
    /// # Errors
    /// As [`Handshake::client`].
    pub fn server(key: &SecretKey, service: Service) -> Result<Handshake, HandshakeError> {
        Handshake::server_logged(key, service, None)
    }

    /// [`Handshake::server`] whose secrets are told to `log`, as [`Handshake::client_logged`].
    ///
    /// # Errors
    /// As [`Handshake::client`].
    pub fn server_logged(
        key: &SecretKey,
        service: Service,
        log: Option<Arc<dyn KeyLog>>,
    ) -> Result<Handshake, HandshakeError> {
        let provider = provider();
        let (verifier, unexpected) = verifier(&provider, None);
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .map_err(|e| tls(&e))?
            .with_client_cert_verifier(verifier)
            .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(certified(
                key,
            ))));
        config.alpn_protocols = vec![service.alpn().to_vec()];
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        if let Some(log) = log {
            config.key_log = log;
        }
        let parameters = PARAMETERS.to_vec();
        let tls = ServerConnection::new(Arc::new(config), Version::V1, parameters)
            .map_err(|e| tls(&e))?;
        Ok(Handshake::begin(tls.into(), Prover::Server, unexpected))
    }

    fn begin(tls: Connection, side: Prover, unexpected: Unexpected) -> Handshake {
        let mut handshake = Handshake {
            tls,
            side,
            unexpected,
            keys: None,
            seals: false,
            session: None,
            outgoing: VecDeque::new(),
        };
        handshake.write();
        handshake
    }

    /// The next message to send on stream 0; after an error, the alert.
    pub fn next_message(&mut self) -> Option<Bytes> {
        self.outgoing.pop_front()
    }

    /// Whether TLS has finished on this side. What waits in [`Handshake::next_message`] is still to be
    /// sent.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.session.is_some() && !self.tls.is_handshaking()
    }

    /// Takes a message of the peer.
    ///
    /// # Errors
    /// Why the handshake has failed. It is over.
    pub fn receive(&mut self, message: &[u8]) -> Result<(), HandshakeError> {
        let result = self.take(message);
        if let Err(error) = &result {
            self.outgoing.clear();
            let code = match error {
                HandshakeError::UnexpectedKey(_) => BAD_KEY,
                HandshakeError::Alert(_) => return result,
                _ => self.tls.alert().map_or(80, u8::from),
            };
            let alert = [VERSION, ALERT, code];
            self.outgoing.push_back(Bytes::copy_from_slice(&alert));
        }
        result
    }

    fn take(&mut self, message: &[u8]) -> Result<(), HandshakeError> {
        if message.len() > LONGEST {
            return Err(HandshakeError::NotTls("a message that is too long"));
        }
        let (header, body) = message
            .split_first_chunk::<HEADER>()
            .ok_or(HandshakeError::NotTls("a message that is too short"))?;
        if header[0] != VERSION {
            return Err(HandshakeError::OtherVersion(header[0]));
        }
        let mut opened = body.to_vec();
        match header[1] {
            CLEAR if self.keys.is_none() => {}
            SEALED => {
                let keys = self.keys.as_mut();
                let keys = keys.ok_or(HandshakeError::NotTls("a message out of order"))?;
                let number = keys.received;
                let plain = keys
                    .remote
                    .decrypt_in_place(number, header, &mut opened)
                    .map_err(|_| HandshakeError::NotTls("a message that was changed"))?;
                let length = plain.len();
                keys.received += 1;
                opened.truncate(length);
            }
            ALERT => {
                let code = body.first().copied().unwrap_or(0);
                return Err(HandshakeError::Alert(code));
            }
            _ => return Err(HandshakeError::NotTls("a message out of order")),
        }
        self.tls.read_hs(&opened).map_err(|e| self.failed(&e))?;
        self.write();
        Ok(())
    }

    fn failed(&self, error: &Error) -> HandshakeError {
        let unexpected = self.unexpected.lock();
        match *unexpected.unwrap_or_else(PoisonError::into_inner) {
            Some(key) => HandshakeError::UnexpectedKey(key),
            None if self.tls.alert().map(u8::from) == Some(OTHER_SERVICE) => {
                HandshakeError::Tls("it wants another service than this one has".to_owned())
            }
            None => tls(error),
        }
    }

    /// Takes what TLS wants to send, and its new keys.
    fn write(&mut self) {
        loop {
            let mut bytes = Vec::new();
            let change = self.tls.write_hs(&mut bytes);
            if !bytes.is_empty() {
                self.put(&mut bytes);
            }
            match change {
                Some(KeyChange::Handshake { keys }) => {
                    self.keys = Some(Sealing {
                        local: keys.local.packet,
                        remote: keys.remote.packet,
                        sent: 0,
                        received: 0,
                    });
                    self.seals = true;
                }
                Some(KeyChange::OneRtt { keys, next }) => self.session = Some((keys, next)),
                None if bytes.is_empty() => return,
                None => {}
            }
        }
    }

    fn put(&mut self, bytes: &mut [u8]) {
        let sealing = self.keys.as_mut().filter(|_| self.seals);
        let message = match sealing {
            None => [&[VERSION, CLEAR], &*bytes].concat(),
            Some(keys) => {
                let header = [VERSION, SEALED];
                let tag = keys.local.encrypt_in_place(keys.sent, &header, bytes);
                // Only far more bytes than a handshake has are refused.
                let Ok(tag) = tag else { return };
                keys.sent += 1;
                [&header, &*bytes, tag.as_ref()].concat()
            }
        };
        self.outgoing.push_back(message.into());
    }

    /// The session of a finished handshake.
    ///
    /// # Errors
    /// [`HandshakeError::Unfinished`], and what TLS says.
    pub fn finish(mut self) -> Result<Session, HandshakeError> {
        if !self.is_done() {
            return Err(HandshakeError::Unfinished);
        }
        let (keys, next) = self.session.take().ok_or(HandshakeError::Unfinished)?;
        let shown = self.tls.peer_certificates().and_then(<[_]>::first);
        let peer = shown.and_then(|spki| PublicKey::from_spki(spki));
        let peer = peer.ok_or(HandshakeError::NotTls("no key of the other side"))?;
        let mut exported = Exported::default();
        self.tls
            .export_keying_material(&mut *exported, LABEL, None)
            .map_err(|e| tls(&e))?;
        let next = Arc::new(next);
        Ok(Session {
            sealer: Sealer::new(keys.local.packet, next.clone()),
            opener: Opener::new(keys.remote.packet, next),
            peer,
            witness: Witness {
                side: self.side,
                exported,
            },
        })
    }
}

impl Witness {
    /// What a client asks for: to be let in with this ticket's secret, or with its key.
    #[must_use]
    pub fn request(&self, ticket: Option<&Ticket>) -> Request {
        let proof = ticket.and_then(|ticket| proof::prove(&self.exported, ticket, self.side));
        proof.map_or(Request::Key, Request::Ticket)
    }

    /// What a server says to a client that it lets in with this ticket, or with its key.
    #[must_use]
    pub fn welcome(&self, ticket: Option<&Ticket>) -> Answer {
        Answer::Welcome(ticket.and_then(|t| proof::prove(&self.exported, t, self.side)))
    }

    /// Whether the peer has proved to know the secret of this ticket.
    #[must_use]
    pub fn proves(&self, ticket: &Ticket, proof: &[u8; 32]) -> bool {
        let prover = match self.side {
            Prover::Client => Prover::Server,
            Prover::Server => Prover::Client,
        };
        proof::proves(&self.exported, ticket, prover, proof)
    }
}

impl fmt::Debug for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Witness({:?})", self.side)
    }
}

#[cfg(test)]
#[path = "handshake_tests.rs"]
pub(crate) mod tests;
