//! Settings of authenticated chunks (RFC 4895) and of changes of addresses (RFC 5061).

use core::fmt;
use serde::{Deserialize, Serialize};

/// A secret that both sides know (RFC 4895 section 6.1). It is not printed and not
/// serialized.
#[derive(Clone, PartialEq, Eq)]
pub struct SharedKey {
    id: u16,
    secret: Vec<u8>,
}

impl SharedKey {
    /// A key with this Shared Key Identifier. The peer needs the same secret with the same
    /// identifier.
    #[must_use]
    pub fn new(id: u16, secret: &[u8]) -> SharedKey {
        SharedKey {
            id,
            secret: secret.to_vec(),
        }
    }

    /// The Shared Key Identifier.
    #[must_use]
    pub fn id(&self) -> u16 {
        self.id
    }

    pub(crate) fn secret(&self) -> &[u8] {
        &self.secret
    }
}

impl fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedKey")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// Authenticated chunks (RFC 4895).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AuthConfig {
    /// Whether set-up offers AUTH (false; true in the preset `byway`). Changes of addresses
    /// need it.
    pub enabled: bool,
    /// Secrets that both sides know; none by default. The first one authenticates what
    /// this side sends. Without any, both sides use the empty key 0: then only somebody
    /// who saw the set-up can authenticate chunks.
    #[serde(skip)]
    pub keys: Vec<SharedKey>,
}

/// When this side names itself by the wildcard address (0.0.0.0 or ::) in its changes, so
/// that the peer takes the source of the packet (RFC 5061 sections 4.2.1 to 4.2.4). Unless it is
/// never used, it also tells of an address that the peer showed not to know, by an ABORT with the T bit.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Wildcard {
    /// If a translator (NAT) must be between: the address is private (RFC 1918, RFC 6598,
    /// RFC 4193) and the peer's is not.
    #[default]
    Private,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Addresses that come and go during an association (RFC 5061).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AsconfConfig {
    /// Whether set-up offers changes of addresses (false; true in the preset `byway`).
    /// Needs `auth.enabled`. Without it, or with a peer that does not support it, the
    /// addresses of set-up stay.
    pub enabled: bool,
    /// When this side names itself by the wildcard address.
    pub wildcard: Wildcard,
}
