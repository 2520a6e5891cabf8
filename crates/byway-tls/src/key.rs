//! Keys of hosts and users: Ed25519, as files and as lines.

use data_encoding::{BASE64, BASE64_NOPAD};
use rustls::crypto::ring::sign::any_eddsa_type;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, pem::PemObject};
use rustls::sign::SigningKey;
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::Arc;
use zeroize::{Zeroize, Zeroizing};

/// PKCS #8 of an Ed25519 key, before its 32 bytes (RFC 8410 section 7).
const PKCS8: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];
/// SubjectPublicKeyInfo of an Ed25519 key, before its 32 bytes (RFC 8410 section 4).
const SPKI: [u8; 12] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
];
/// Begins a line with a public key.
const ALGORITHM: &str = "byway-ed25519";

/// Why a key cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The system's random generator failed.
    #[error("the system's random generator failed: {0}")]
    Random(String),
    /// The file is no Ed25519 key in PKCS #8.
    #[error("no Ed25519 key in PEM (PKCS #8), as `byway key new` writes it")]
    NotASecretKey,
    /// A line is no public key.
    #[error("no public key: a line is `byway-ed25519 KEY NAME`, as `byway key show` prints it")]
    NotAPublicKey,
}

/// A private Ed25519 key. Its memory is wiped when it is dropped.
#[derive(Clone)]
pub struct SecretKey {
    seed: Zeroizing<[u8; 32]>,
    signing: Arc<dyn SigningKey>,
    public: PublicKey,
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey({})", self.public.fingerprint())
    }
}

impl SecretKey {
    /// A new key.
    ///
    /// # Errors
    /// [`KeyError::Random`].
    pub fn generate() -> Result<SecretKey, KeyError> {
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *seed).map_err(|e| KeyError::Random(e.to_string()))?;
        SecretKey::from_seed(&seed)
    }

    /// The key of 32 secret bytes.
    ///
    /// # Errors
    /// [`KeyError::NotASecretKey`] does not happen with any bytes known.
    pub fn from_seed(seed: &[u8; 32]) -> Result<SecretKey, KeyError> {
        let mut der = Zeroizing::new(PKCS8.to_vec());
        der.extend_from_slice(seed);
        let signing = any_eddsa_type(&PrivatePkcs8KeyDer::from(der.as_slice()))
            .map_err(|_| KeyError::NotASecretKey)?;
        let public = signing
            .public_key()
            .and_then(|spki| PublicKey::from_spki(&spki))
            .ok_or(KeyError::NotASecretKey)?;
        Ok(SecretKey {
            seed: Zeroizing::new(*seed),
            signing,
            public,
        })
    }

    /// Reads a private key in PEM (PKCS #8, RFC 5958).
    ///
    /// # Errors
    /// [`KeyError::NotASecretKey`].
    pub fn from_pem(pem: &[u8]) -> Result<SecretKey, KeyError> {
        let Ok(PrivateKeyDer::Pkcs8(mut der)) = PrivateKeyDer::from_pem_slice(pem) else {
            return Err(KeyError::NotASecretKey);
        };
        // Version 1 has the public key behind the private one.
        let bytes = der.secret_pkcs8_der();
        let rest = bytes.get(PKCS8.len()..PKCS8.len() + 32);
        let same = bytes.get(5..16) == Some(&PKCS8[5..]);
        let seed: Option<[u8; 32]> = rest.filter(|_| same).and_then(|s| s.try_into().ok());
        let seed = seed.map(Zeroizing::new);
        der.zeroize();
        SecretKey::from_seed(&*seed.ok_or(KeyError::NotASecretKey)?)
    }

    /// The key in PEM (PKCS #8), for a file that only its owner reads.
    #[must_use]
    pub fn to_pem(&self) -> Zeroizing<String> {
        let mut der = Zeroizing::new(PKCS8.to_vec());
        der.extend_from_slice(&*self.seed);
        let body = Zeroizing::new(BASE64.encode(&der));
        Zeroizing::new(format!(
            "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
            &*body
        ))
    }

    /// Its public half.
    #[must_use]
    pub fn public_key(&self) -> PublicKey {
        self.public
    }

    pub(crate) fn signing(&self) -> Arc<dyn SigningKey> {
        self.signing.clone()
    }
}

/// A public Ed25519 key.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// The key of a SubjectPublicKeyInfo (RFC 7250 section 3); none if it is of another kind.
    pub(crate) fn from_spki(spki: &[u8]) -> Option<PublicKey> {
        let key = spki.strip_prefix(&SPKI)?;
        key.try_into().ok().map(PublicKey)
    }

    pub(crate) fn to_spki(self) -> Vec<u8> {
        [&SPKI[..], &self.0].concat()
    }

    /// The SHA-256 of its SubjectPublicKeyInfo.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint(Sha256::digest(self.to_spki()).into())
    }

    /// The line for a file of authorised keys.
    #[must_use]
    pub fn to_line(&self, name: &str) -> String {
        let line = format!("{ALGORITHM} {} {name}", BASE64.encode(&self.0));
        line.trim_end().to_owned()
    }

    /// Reads such a line.
    ///
    /// # Errors
    /// [`KeyError::NotAPublicKey`].
    pub fn from_line(line: &str) -> Result<PublicKey, KeyError> {
        let mut words = line.split_whitespace();
        let (algorithm, key) = (words.next(), words.next());
        let bytes = key.and_then(|key| BASE64.decode(key.as_bytes()).ok());
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        match (algorithm, bytes) {
            (Some(ALGORITHM), Some(bytes)) => Ok(PublicKey(bytes)),
            _ => Err(KeyError::NotAPublicKey),
        }
    }
}

/// The SHA-256 of a public key. It is shown as ssh shows those of its keys.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The first 16 bytes: what a ticket has. To find another key with the same takes 2^128 attempts.
    #[must_use]
    pub fn short(&self) -> [u8; 16] {
        let mut short = [0; 16];
        short.copy_from_slice(&self.0[..16]);
        short
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SHA256:{}", BASE64_NOPAD.encode(&self.0))
    }
}

/// The keys of a file: one on each line, as `~/.ssh/authorized_keys` has them. Empty lines and lines
/// that begin with `#` say nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthorizedKeys(Vec<PublicKey>);

impl AuthorizedKeys {
    /// Reads the text of such a file.
    ///
    /// # Errors
    /// The number of the first line that is wrong, counted from 1, and what is wrong with it.
    pub fn parse(text: &str) -> Result<AuthorizedKeys, (usize, KeyError)> {
        let lines = (1..).zip(text.lines().map(str::trim));
        let keys = lines.filter(|(_, line)| !(line.is_empty() || line.starts_with('#')));
        let keys = keys.map(|(n, line)| PublicKey::from_line(line).map_err(|e| (n, e)));
        keys.collect::<Result<Vec<_>, _>>().map(AuthorizedKeys)
    }

    /// Whether this key is one of them.
    #[must_use]
    pub fn contains(&self, key: &PublicKey) -> bool {
        self.0.contains(key)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_were_written() {
        let key = SecretKey::generate().unwrap();
        let again = SecretKey::from_pem(key.to_pem().as_bytes()).unwrap();
        assert_eq!(key.public_key(), again.public_key());
        let line = key.public_key().to_line("me@host");
        assert_eq!(PublicKey::from_line(&line), Ok(key.public_key()));
        assert!(line.starts_with("byway-ed25519 ") && line.ends_with(" me@host"));
    }

    // RFC 8032 section 7.1, test 1; RFC 8410 section 10.3 has the form of the file.
    #[test]
    fn the_key_of_the_standard_has_its_public_half() {
        let seed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
        let public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
        let hex = |text: &str| data_encoding::HEXLOWER.decode(text.as_bytes()).unwrap();
        let key = SecretKey::from_seed(&hex(seed).try_into().unwrap()).unwrap();
        assert_eq!(key.public_key().0.to_vec(), hex(public));
        let pem = "-----BEGIN PRIVATE KEY-----\n\
            MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n\
            -----END PRIVATE KEY-----\n";
        let key = SecretKey::from_pem(pem.as_bytes()).unwrap();
        assert_eq!(&**key.to_pem(), pem);
    }

    #[test]
    fn nothing_secret_is_in_debug_output() {
        let key = SecretKey::from_seed(&[7; 32]).unwrap();
        assert_eq!(
            format!("{key:?}"),
            format!("SecretKey({})", key.public_key().fingerprint())
        );
    }

    #[test]
    fn a_file_of_keys_tells_which_line_is_wrong() {
        let one = SecretKey::generate().unwrap().public_key();
        let other = SecretKey::generate().unwrap().public_key();
        let text = format!("# mine\n\n  {}\n", one.to_line("a b c"));
        let keys = AuthorizedKeys::parse(&text).unwrap();
        assert!(keys.contains(&one) && !keys.contains(&other) && !keys.is_empty());
        for wrong in ["ssh-ed25519 AAAA", "byway-ed25519", "byway-ed25519 AAAA"] {
            let text = format!("{}\n{wrong}\n", one.to_line(""));
            assert_eq!(
                AuthorizedKeys::parse(&text),
                Err((2, KeyError::NotAPublicKey))
            );
        }
        for wrong in ["", "-----BEGIN PRIVATE KEY-----\nAAAA\n"] {
            assert!(SecretKey::from_pem(wrong.as_bytes()).is_err());
        }
    }
}
