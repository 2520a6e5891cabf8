//! The fields of a DATA chunk that reassembly reads.

use bytes::Bytes;

/// A DATA chunk as reassembly reads it.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Fragment<'a> {
    /// The TSN as a sequence number that does not wrap (see
    /// [`TsnMap`](crate::recv::tsn_map::TsnMap)).
    pub(crate) seq: u64,
    pub(crate) stream: u16,
    pub(crate) ssn: u16,
    pub(crate) ppid: u32,
    pub(crate) unordered: bool,
    /// B bit: first fragment of its message.
    pub(crate) begin: bool,
    /// E bit: last fragment of its message.
    pub(crate) end: bool,
    pub(crate) payload: &'a [u8],
    /// The same payload, if it can be kept without a copy.
    pub(crate) shared: Option<&'a Bytes>,
}

/// A fragment that contradicts other fragments: the peer violates the protocol. The text
/// is the reason for the ABORT.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct InconsistentFragment(pub(crate) &'static str);
