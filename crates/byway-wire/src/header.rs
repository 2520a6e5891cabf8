//! The common header and the sizes of the fixed headers (RFC 9260 sections 3.1,
//! 3.2 and 3.3.1).

/// Bytes of the common header (RFC 9260 section 3.1).
pub const COMMON_HEADER_LEN: usize = 12;
/// Bytes of a chunk header: type, flags, length (RFC 9260 section 3.2).
pub const CHUNK_HEADER_LEN: usize = 4;
/// Bytes of a DATA chunk before its user data (RFC 9260 section 3.3.1).
pub const DATA_HEADER_LEN: usize = 16;

/// The common header without its checksum, which belongs to the packet bytes.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct CommonHeader {
    /// The sender's SCTP port.
    pub source_port: u16,
    /// The receiver's SCTP port.
    pub destination_port: u16,
    /// The tag that the receiver chose in its INIT or INIT ACK; zero in a packet
    /// that carries an INIT (RFC 9260 section 8.5).
    pub verification_tag: u32,
}
