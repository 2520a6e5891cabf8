//! The packet checksum: CRC32c over the packet (RFC 9260 section 6.8 and appendix A), in
//! hardware if the machine supports it.
//!
//! WebAssembly has no such hardware, and there the tables of `crc-fast` for all its polynomials would be
//! most of a web page: `crc32c` has those of one.

/// Offset of the checksum field in a packet.
const FIELD: core::ops::Range<usize> = 8..12;

/// CRC32c of plain bytes.
#[must_use]
#[inline]
pub fn checksum(bytes: &[u8]) -> u32 {
    #[cfg(not(target_family = "wasm"))]
    return crc_fast::crc32_iscsi(bytes);
    #[cfg(target_family = "wasm")]
    return crc32c::crc32c(bytes);
}

/// CRC32c of a packet, with its checksum field taken as zero. Bytes that are too
/// short to hold the field are summed as they are.
#[must_use]
#[inline]
pub fn packet_checksum(packet: &[u8]) -> u32 {
    let Some((head, rest)) = packet.split_first_chunk::<12>() else {
        return checksum(packet);
    };
    let mut head = *head;
    head[FIELD].fill(0);
    of_both(&head, rest)
}

/// CRC32c of `head` and the bytes after it.
#[cfg(not(target_family = "wasm"))]
#[inline]
fn of_both(head: &[u8], rest: &[u8]) -> u32 {
    let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
    digest.update(head);
    digest.update(rest);
    digest.finalize() as u32
}

/// CRC32c of `head` and the bytes after it.
#[cfg(target_family = "wasm")]
fn of_both(head: &[u8], rest: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(head), rest)
}
