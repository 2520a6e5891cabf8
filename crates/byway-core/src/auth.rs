//! Authenticated chunks (RFC 4895): parameters, keys and hashes, without the state of an
//! association.
//!
//! Each side draws a random number and lists in its INIT or INIT ACK which chunk types it
//! takes only behind an AUTH chunk, and which hashes it understands. The three parameters
//! of a side, without padding, are its key vector. A shared key, empty unless the user
//! configures one, and both vectors make the key of the association (section 6.1).

use byway_wire::{Auth, ParamWriter, chunk_type};
use core::fmt;
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::Sha256;
use smallvec::SmallVec;

/// Bytes of a random number (section 6.1).
pub(crate) const RANDOM_LEN: usize = 32;

/// The chunk types that this side takes only behind an AUTH chunk: those that change
/// addresses (RFC 5061 section 4.1).
pub(crate) const REQUIRED: [u8; 2] = [chunk_type::ASCONF, chunk_type::ASCONF_ACK];

/// Most hash identifiers of a peer that are read. RFC 4895 has two.
pub(crate) const MAX_HMACS: usize = 16;

/// A hash of section 3.3.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum HashKind {
    Sha1,
    Sha256,
}

impl HashKind {
    /// Those that this side understands, the preferred one first. SHA-1 must be listed.
    const ALL: [HashKind; 2] = [HashKind::Sha256, HashKind::Sha1];

    /// Its HMAC identifier.
    pub(crate) fn id(self) -> u16 {
        match self {
            HashKind::Sha1 => 1,
            HashKind::Sha256 => 3,
        }
    }

    pub(crate) fn of(id: u16) -> Option<HashKind> {
        HashKind::ALL.into_iter().find(|h| h.id() == id)
    }

    /// Bytes of a hash, a multiple of 4.
    pub(crate) fn len(self) -> usize {
        match self {
            HashKind::Sha1 => 20,
            HashKind::Sha256 => 32,
        }
    }
}

/// A random number of this side.
pub(crate) type Random = [u8; RANDOM_LEN];

/// Writes the parameters of this side.
pub(crate) fn write_params(w: &mut ParamWriter<'_>, random: &Random) {
    w.random(random);
    w.chunk_list(&REQUIRED);
    w.hmac_algo(&HashKind::ALL.map(HashKind::id));
}

/// The key vector of this side.
pub(crate) fn own_vector(random: &Random) -> Vec<u8> {
    let hmacs: Vec<u8> = HashKind::ALL
        .iter()
        .flat_map(|h| h.id().to_be_bytes())
        .collect();
    key_vector(random, Some(&REQUIRED), &hmacs)
}

/// The three parameters with their headers and without padding.
fn key_vector(random: &[u8], chunks: Option<&[u8]>, hmacs: &[u8]) -> Vec<u8> {
    use byway_wire::param_type::{CHUNK_LIST, HMAC_ALGO, RANDOM};
    let params = [
        (RANDOM, Some(random)),
        (CHUNK_LIST, chunks),
        (HMAC_ALGO, Some(hmacs)),
    ];
    let mut vector = Vec::with_capacity(64);
    for (kind, value) in params {
        let Some(value) = value else { continue };
        vector.extend_from_slice(&kind.to_be_bytes());
        vector.extend_from_slice(&(value.len() as u16 + 4).to_be_bytes());
        vector.extend_from_slice(value);
    }
    vector
}

/// What a peer's INIT or INIT ACK says of AUTH.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PeerAuth {
    pub(crate) random: Random,
    /// The value of its CHUNKS parameter, if there is one.
    pub(crate) chunks: Option<SmallVec<[u8; 8]>>,
    /// The value of its HMAC-ALGO parameter.
    pub(crate) hmacs: SmallVec<[u8; 8]>,
}

impl PeerAuth {
    /// The first hash of the peer's list that this side understands.
    pub(crate) fn hash(&self) -> Option<HashKind> {
        let ids = self.hmacs.chunks_exact(2);
        ids.map(|id| u16::from_be_bytes([id[0], id[1]]))
            .find_map(HashKind::of)
    }

    pub(crate) fn vector(&self) -> Vec<u8> {
        key_vector(&self.random, self.chunks.as_deref(), &self.hmacs)
    }

    /// Whether it takes a chunk type only behind an AUTH chunk. INIT, INIT ACK, SHUTDOWN
    /// COMPLETE and AUTH never are (section 3.2).
    pub(crate) fn requires(&self, kind: u8) -> bool {
        let never = [
            chunk_type::INIT,
            chunk_type::INIT_ACK,
            chunk_type::SHUTDOWN_COMPLETE,
            chunk_type::AUTH,
        ];
        self.chunks.as_ref().is_some_and(|c| c.contains(&kind)) && !never.contains(&kind)
    }

    /// Whether it lists more than what changes addresses.
    pub(crate) fn requires_others(&self) -> bool {
        let others = |kind: &u8| !REQUIRED.contains(kind) && self.requires(*kind);
        self.chunks.as_ref().is_some_and(|c| c.iter().any(others))
    }
}

/// The key of an association (section 6.1): the shared key, then the vector that is the
/// smaller number, then the other one. The shorter one of two equal numbers goes first.
fn association_key(shared: &[u8], a: &[u8], b: &[u8]) -> Vec<u8> {
    let number = |v: &[u8]| {
        let zeros = v.iter().take_while(|x| **x == 0).count();
        v[zeros..].to_vec()
    };
    let (na, nb) = (number(a), number(b));
    let order = na
        .len()
        .cmp(&nb.len())
        .then(na.cmp(&nb))
        .then(a.len().cmp(&b.len()));
    let (first, second) = if order.is_le() { (a, b) } else { (b, a) };
    [shared, first, second].concat()
}

/// A key of an association, ready to hash.
#[derive(Clone)]
struct Key {
    id: u16,
    sha1: Hmac<Sha1>,
    sha256: Hmac<Sha256>,
}

impl Key {
    fn new(id: u16, bytes: &[u8]) -> Key {
        const ANY: &str = "HMAC takes keys of any length";
        Key {
            id,
            sha1: Hmac::new_from_slice(bytes).expect(ANY),
            sha256: Hmac::new_from_slice(bytes).expect(ANY),
        }
    }
}

/// The keys of an association.
#[derive(Clone)]
pub(crate) struct Keys {
    keys: SmallVec<[Key; 1]>,
    /// With this hash the peer wants chunks to be authenticated.
    hash: HashKind,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys")
            .field("hash", &self.hash)
            .finish_non_exhaustive()
    }
}

/// Why an AUTH chunk is refused.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum BadAuth {
    /// This side did not list the hash.
    Hash,
    /// No key has this identifier.
    Key,
    /// The hash is another one.
    Wrong,
}

impl Keys {
    /// The keys between two vectors. `shared`: the user's keys, of which the first one
    /// sends; without any the empty key 0 is used. None if the peer lists no hash that
    /// this side understands.
    pub(crate) fn new(
        own: &Random,
        peer: &PeerAuth,
        shared: &[crate::config::SharedKey],
    ) -> Option<Keys> {
        let hash = peer.hash()?;
        let (a, b) = (own_vector(own), peer.vector());
        let key = |id, secret: &[u8]| Key::new(id, &association_key(secret, &a, &b));
        let mut keys: SmallVec<[Key; 1]> = shared.iter().map(|s| key(s.id(), s.secret())).collect();
        if keys.is_empty() {
            keys.push(key(0, &[]));
        }
        Some(Keys { keys, hash })
    }

    /// An AUTH chunk without its hash, for what this side sends.
    pub(crate) fn blank(&self) -> Auth<'static> {
        const ZEROS: [u8; 32] = [0; 32];
        Auth {
            shared_key_id: self.keys[0].id,
            hmac_id: self.hash.id(),
            hmac: &ZEROS[..self.hash.len()],
        }
    }

    /// Bytes of an AUTH chunk of this side.
    pub(crate) fn chunk_len(&self) -> usize {
        Auth::HEADER_LEN + self.hash.len()
    }

    /// The hash of the covered bytes, in parts.
    pub(crate) fn sign(&self, covered: &[&[u8]]) -> SmallVec<[u8; 32]> {
        fn run<M: Mac + Clone>(mac: &M, covered: &[&[u8]]) -> SmallVec<[u8; 32]> {
            let mut mac = mac.clone();
            covered.iter().for_each(|part| mac.update(part));
            SmallVec::from_slice(&mac.finalize().into_bytes())
        }
        match self.hash {
            HashKind::Sha1 => run(&self.keys[0].sha1, covered),
            HashKind::Sha256 => run(&self.keys[0].sha256, covered),
        }
    }

    /// Checks an AUTH chunk, in constant time. `after`: the bytes of the packet behind it.
    pub(crate) fn verify(
        &self,
        auth: &Auth<'_>,
        chunk: &[u8],
        after: &[&[u8]],
    ) -> Result<(), BadAuth> {
        fn run<M: Mac + Clone>(mac: &M, covered: &[&[u8]], hash: &[u8]) -> bool {
            let mut mac = mac.clone();
            covered.iter().for_each(|part| mac.update(part));
            mac.verify_slice(hash).is_ok()
        }
        let hash = HashKind::of(auth.hmac_id).ok_or(BadAuth::Hash)?;
        let key = self.keys.iter().find(|k| k.id == auth.shared_key_id);
        let key = key.ok_or(BadAuth::Key)?;
        if auth.hmac.len() != hash.len() || chunk.len() != Auth::HEADER_LEN + hash.len() {
            return Err(BadAuth::Wrong);
        }
        const ZEROS: [u8; 32] = [0; 32];
        let mut covered: SmallVec<[&[u8]; 4]> =
            SmallVec::from_slice(&[&chunk[..Auth::HEADER_LEN], &ZEROS[..hash.len()]]);
        covered.extend_from_slice(after);
        let genuine = match hash {
            HashKind::Sha1 => run(&key.sha1, &covered, auth.hmac),
            HashKind::Sha256 => run(&key.sha256, &covered, auth.hmac),
        };
        if genuine { Ok(()) } else { Err(BadAuth::Wrong) }
    }
}

#[cfg(test)]
mod tests;
