//! What `byway send` sends, and what became of it.

use crate::net::protocol::Hash;
use std::path::PathBuf;

/// A file that shall be sent.
pub(super) struct Source {
    pub(super) path: PathBuf,
    /// Who begins it at this receiver.
    pub(super) sender: [u8; 16],
    pub(super) name: String,
    pub(super) size: u64,
    pub(super) stored: Option<Stored>,
}

/// A file that the receiver has confirmed.
pub(super) struct Stored {
    pub(super) hash: Hash,
    /// Bytes that were there before this association.
    pub(super) resumed_from: u64,
}
