//! The errors of reading.

use thiserror::Error;

/// A packet that cannot even be split into common header and chunks.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
pub enum PacketError {
    /// Shorter than the common header (RFC 9260 section 3.1).
    #[error("packet has {have} bytes, the common header alone needs 12")]
    TooShort {
        /// Bytes that arrived.
        have: usize,
    },
}

/// A type-length-value list (chunks, parameters or causes) that breaks off.
/// Offsets count bytes from the start of that list.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
pub enum TlvError {
    /// One to three bytes are left, a header needs four.
    #[error("{have} bytes left at offset {at}, an element header needs 4")]
    HeaderTruncated {
        /// Where the element would begin.
        at: usize,
        /// Bytes left.
        have: usize,
    },
    /// The length field counts its own four header bytes, so 0 to 3 is wrong.
    #[error("length field at offset {at} says {length}, the smallest is 4")]
    LengthTooSmall {
        /// Where the element begins.
        at: usize,
        /// What its length field says.
        length: usize,
    },
    /// The length field reaches past the end of the list.
    #[error("length field at offset {at} says {length}, only {have} bytes are left")]
    Overrun {
        /// Where the element begins.
        at: usize,
        /// What its length field says.
        length: usize,
        /// Bytes left, header included.
        have: usize,
    },
}

/// A chunk that cannot be found or read.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
pub enum ChunkError {
    /// The chunk list of the packet breaks off.
    #[error("chunk list is broken: {0}")]
    List(#[from] TlvError),
    /// The chunk is too short for the fixed fields of its type.
    #[error("chunk of type {kind} has {have} bytes after its header, needs at least {need}")]
    TooShort {
        /// Chunk type.
        kind: u8,
        /// Bytes that the fixed fields take.
        need: usize,
        /// Bytes in the chunk value.
        have: usize,
    },
    /// The chunk ends in a part of a fixed-size entry.
    #[error(
        "chunk of type {kind} has {have} bytes of {entry}-byte entries, which is no whole number"
    )]
    PartialEntry {
        /// Chunk type.
        kind: u8,
        /// Size of one entry.
        entry: usize,
        /// Bytes present for entries.
        have: usize,
    },
    /// A SACK announces more gap blocks and duplicates than it carries
    /// (RFC 9260 section 3.3.4).
    #[error(
        "SACK announces {gap_blocks} gap blocks and {duplicates} duplicates, but has only {have} bytes for them"
    )]
    SackCounts {
        /// Announced gap ack blocks.
        gap_blocks: u16,
        /// Announced duplicate TSNs.
        duplicates: u16,
        /// Bytes present for both.
        have: usize,
    },
    /// A parameter that is needed to read the chunk is broken.
    #[error("chunk of type {kind}: {error}")]
    Param {
        /// Chunk type.
        kind: u8,
        /// What is wrong with the parameter.
        error: ParamError,
    },
    /// The mandatory parameter at the start of the chunk is missing, or another one
    /// is there instead.
    #[error("chunk of type {kind} does not begin with its mandatory parameter")]
    MandatoryParamMissing {
        /// Chunk type.
        kind: u8,
    },
}

/// A parameter that cannot be found or read.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
pub enum ParamError {
    /// The parameter list of the chunk breaks off.
    #[error("parameter list is broken: {0}")]
    List(#[from] TlvError),
    /// The parameter value has a size that its type does not allow.
    #[error("parameter {kind:#06x} has a value of {have} bytes, {rule}")]
    Length {
        /// Parameter type.
        kind: u16,
        /// Bytes in the parameter value.
        have: usize,
        /// The size that is required.
        rule: &'static str,
    },
    /// The address inside an address-change parameter is neither IPv4 nor IPv6.
    #[error(
        "parameter {kind:#06x} holds a parameter of type {inner:#06x} where an address belongs"
    )]
    NotAnAddress {
        /// Parameter type.
        kind: u16,
        /// Type of the parameter inside.
        inner: u16,
    },
}

/// An error cause that cannot be found or read.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
pub enum CauseError {
    /// The cause list of the chunk breaks off.
    #[error("cause list is broken: {0}")]
    List(#[from] TlvError),
    /// The cause value has a size that its code does not allow.
    #[error("cause {code} has a value of {have} bytes, {rule}")]
    Length {
        /// Cause code.
        code: u16,
        /// Bytes in the cause value.
        have: usize,
        /// The size that is required.
        rule: &'static str,
    },
}
