//! Opens sealed messages with the secret of a key log, for who reads a capture.

use crate::seal::OVERHEAD;
use rustls::crypto::ring::cipher_suite::TLS13_AES_256_GCM_SHA384;
use rustls::crypto::tls13::OkmBlock;
use rustls::quic::PacketKey;
use rustls::{SupportedCipherSuite, Tls13CipherSuite};
use std::collections::HashMap;
use std::fmt;
use zeroize::Zeroizing;

/// Bytes of a secret: those of SHA-384.
const SECRET: usize = 48;

/// Opens what one side has sealed, as its [`Opener`](crate::Opener) does, from `CLIENT_TRAFFIC_SECRET_0` or
/// `SERVER_TRAFFIC_SECRET_0` of a key log.
///
/// The messages of each stream must come in order and without a gap, from the first of the session on.
pub struct Reading {
    secret: Zeroizing<[u8; SECRET]>,
    key: Box<dyn PacketKey>,
    /// Another stream may lag behind.
    before: Option<Box<dyn PacketKey>>,
    generation: u8,
    opened: HashMap<u16, u64>,
}

impl Reading {
    /// With this secret; none if it is one of another cipher suite than byway's two sides agree on.
    #[must_use]
    pub fn new(secret: &[u8]) -> Option<Reading> {
        let secret = Zeroizing::new(<[u8; SECRET]>::try_from(secret).ok()?);
        Some(Reading {
            key: key_of(&secret)?,
            secret,
            before: None,
            generation: 0,
            opened: HashMap::new(),
        })
    }

    /// The next message of a stream, without its header and its tag; none if it is another one.
    pub fn open(&mut self, stream: u16, message: &[u8]) -> Option<Vec<u8>> {
        if message.len() < OVERHEAD {
            return None;
        }
        let (header, body) = message.split_at(2);
        let number = self.opened.get(&stream).copied().unwrap_or(0);
        let mut body = body.to_vec();
        let mut open = |key: &dyn PacketKey| {
            let opened = key.decrypt_in_place_for_path(stream.into(), number, header, &mut body);
            opened.map(<[u8]>::to_vec).ok()
        };
        let opened = if header[1] == self.generation {
            open(&*self.key)?
        } else if header[1] == self.generation.wrapping_add(1) {
            let next = next_of(&self.secret)?;
            let key = key_of(&next)?;
            let opened = open(&*key)?;
            self.secret = next;
            self.before = Some(std::mem::replace(&mut self.key, key));
            self.generation = self.generation.wrapping_add(1);
            opened
        } else {
            let lags = header[1] == self.generation.wrapping_sub(1);
            open(&**self.before.as_ref().filter(|_| lags)?)?
        };
        *self.opened.entry(stream).or_default() += 1;
        Some(opened)
    }
}

/// What byway's two sides agree on.
fn suite() -> Option<&'static Tls13CipherSuite> {
    match TLS13_AES_256_GCM_SHA384 {
        SupportedCipherSuite::Tls13(suite) => Some(suite),
        #[allow(unreachable_patterns, reason = "with TLS 1.2 there is another kind")]
        _ => None,
    }
}

/// HKDF-Expand-Label without a context (RFC 8446 section 7.1).
fn expand(secret: &[u8; SECRET], label: &str, out: &mut [u8]) -> Option<()> {
    let hkdf = suite()?.hkdf_provider;
    let expander = hkdf.expander_for_okm(&OkmBlock::new(secret));
    let label = format!("tls13 {label}");
    let lengths = [0, out.len() as u8, label.len() as u8];
    let info: [&[u8]; 3] = [&lengths, label.as_bytes(), &[0]];
    expander.expand_slice(&info, out).ok()
}

/// The key of a secret (RFC 9001 section 5.1).
fn key_of(secret: &[u8; SECRET]) -> Option<Box<dyn PacketKey>> {
    let (mut key, mut iv) = ([0; 32], [0; 12]);
    expand(secret, "quic key", &mut key)?;
    expand(secret, "quic iv", &mut iv)?;
    let quic = suite()?.quic?;
    Some(quic.packet_key(key.into(), iv.into()))
}

/// The secret of the next generation (RFC 9001 section 6.1).
fn next_of(secret: &[u8; SECRET]) -> Option<Zeroizing<[u8; SECRET]>> {
    let mut next = Zeroizing::new([0; SECRET]);
    expand(secret, "quic ku", &mut *next)?;
    Some(next)
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reading(generation {})", self.generation)
    }
}

#[cfg(test)]
#[path = "reading_tests.rs"]
mod tests;
