//! Chunk types and TSNs of an SCTP packet, for loss models that choose packets by
//! them. Lengths are not trusted, and nothing else is decoded.

pub(super) const DATA: u8 = 0;
pub(super) const I_DATA: u8 = 64;
const INIT: u8 = 1;
const INIT_ACK: u8 = 2;

/// RFC 9260 section 3.1: ports, verification tag, checksum.
const COMMON_HEADER: usize = 12;

/// The packet's chunks, each with its 4-byte header, up to the first truncated
/// one. If the payload of the last chunk is in `tail`, that chunk is given
/// without it.
pub(super) fn chunks<'a>(packet: &'a [u8], tail: &[u8]) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = packet.get(COMMON_HEADER..).unwrap_or_default();
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_be_bytes([*rest.get(2)?, *rest.get(3)?]));
        if length < 4 {
            return None;
        }
        let split = length == rest.len() + tail.len();
        let here = length - if split { tail.len() } else { 0 };
        let chunk = rest.get(..here)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(chunk)
    })
}

/// TSN of a DATA (RFC 9260 section 3.3.1) or I-DATA (RFC 8260) chunk.
pub(super) fn data_tsn(chunk: &[u8]) -> Option<u32> {
    matches!(chunk.first()?, &(DATA | I_DATA)).then(|| word(chunk, 4))?
}

/// Initial TSN of an INIT or INIT ACK (RFC 9260 section 3.3.2).
pub(super) fn initial_tsn(chunk: &[u8]) -> Option<u32> {
    matches!(chunk.first()?, &(INIT | INIT_ACK)).then(|| word(chunk, 16))?
}

fn word(chunk: &[u8], at: usize) -> Option<u32> {
    let bytes = chunk.get(at..at + 4)?;
    Some(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}
