//! What the peer has acknowledged of the front of each message, while messages interleave (RFC
//! 8260). Without interleaving at most one message is acknowledged in part, and a number is enough.

use super::record::Record;
use std::collections::BTreeMap;

/// A message: its stream, whether it is unordered, and its Message Identifier.
pub(super) type MessageKey = (u16, bool, u32);

/// The message of a chunk.
pub(super) fn key_of(r: &Record) -> MessageKey {
    (r.stream, r.unordered, r.number)
}

/// The acknowledged front of a message.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Front {
    /// Its payload protocol identifier, which only its first chunk carries.
    pub(super) ppid: u32,
    /// Payload bytes.
    pub(super) bytes: u64,
}

/// The messages that are acknowledged in part.
#[derive(Debug, Default)]
pub(crate) struct Fronts(BTreeMap<MessageKey, Front>);

impl Fronts {
    /// The cumulative TSN passed a chunk. The chunks of a message have ascending TSNs.
    #[cold]
    #[inline(never)]
    pub(super) fn acknowledged(&mut self, r: &Record) {
        match (r.begin, r.end) {
            (true, true) => {}
            (_, true) => {
                self.0.remove(&key_of(r));
            }
            (begin, false) => {
                let front = self.0.entry(key_of(r)).or_default();
                if begin {
                    front.ppid = r.ppid_or_fsn;
                }
                front.bytes += r.payload.len() as u64;
            }
        }
    }

    /// Takes out what is known of a message.
    pub(super) fn take(&mut self, key: MessageKey) -> Front {
        self.0.remove(&key).unwrap_or_default()
    }

    /// Memory, in bytes.
    pub(super) fn memory(&self) -> usize {
        size_of::<Fronts>() + self.0.len() * 2 * size_of::<(MessageKey, Front)>()
    }
}
