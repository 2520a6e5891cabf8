//! Whose key is accepted in the handshake: raw public keys (RFC 7250), no certificates.

use crate::key::{AuthorizedKeys, PublicKey};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, PeerIncompatible,
    SignatureScheme,
};
use std::sync::{Arc, Mutex, PoisonError};

/// Which key a client expects of its server.
#[derive(Clone, Debug)]
pub struct Expect(Keys);

#[derive(Clone, Debug)]
enum Keys {
    Short([u8; 16]),
    OneOf(AuthorizedKeys),
}

impl Expect {
    /// The key with this fingerprint, as a ticket names it.
    #[must_use]
    pub fn fingerprint(short: [u8; 16]) -> Expect {
        Expect(Keys::Short(short))
    }

    /// One of these keys.
    #[must_use]
    pub fn one_of(keys: AuthorizedKeys) -> Expect {
        Expect(Keys::OneOf(keys))
    }

    fn accepts(&self, key: &PublicKey) -> bool {
        match &self.0 {
            Keys::Short(short) => key.fingerprint().short() == *short,
            Keys::OneOf(keys) => keys.contains(key),
        }
    }
}

/// A key that was not accepted, for the error.
pub(crate) type Unexpected = Arc<Mutex<Option<PublicKey>>>;

/// Checks that the peer has the private half of the key that it shows; and of a server, which key
/// that is. Of a client it is asked later: then it can be told what is wrong.
#[derive(Debug)]
pub(crate) struct Verifier {
    pub(crate) expect: Option<Expect>,
    pub(crate) unexpected: Unexpected,
    pub(crate) algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    fn key(&self, spki: &CertificateDer<'_>) -> Result<PublicKey, Error> {
        let key = PublicKey::from_spki(spki)
            .ok_or(Error::InvalidCertificate(CertificateError::BadEncoding))?;
        if self.expect.as_ref().is_none_or(|e| e.accepts(&key)) {
            return Ok(key);
        }
        *self
            .unexpected
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(key);
        Err(Error::InvalidCertificate(
            CertificateError::ApplicationVerificationFailure,
        ))
    }

    fn signature(
        &self,
        message: &[u8],
        spki: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let spki = SubjectPublicKeyInfoDer::from(spki.as_ref());
        verify_tls13_signature_with_raw_key(message, &spki, signed, &self.algorithms)
    }
}

/// TLS 1.2 is not compiled in.
fn old() -> Result<HandshakeSignatureValid, Error> {
    Err(Error::PeerIncompatible(PeerIncompatible::Tls12NotOffered))
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        spki: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.key(spki).map(|_| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        old()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        spki: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signature(message, spki, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for Verifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        spki: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.key(spki).map(|_| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        old()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        spki: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signature(message, spki, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
