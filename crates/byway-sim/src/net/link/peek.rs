//! A glance at an SCTP packet's chunks, for drop lists only. It trusts nothing
//! and decodes nothing beyond types and TSNs.

pub(super) const DATA: u8 = 0;
pub(super) const I_DATA: u8 = 64;
const INIT: u8 = 1;
const INIT_ACK: u8 = 2;

/// RFC 9260 section 3.1: ports, verification tag, checksum.
const COMMON_HEADER: usize = 12;

/// The packet's chunks, each with its 4-byte header; stops at the first that is cut
/// short. Of a last chunk whose data stands apart, `tail`, only the front is shown.
pub(super) fn chunks<'a>(packet: &'a [u8], tail: &[u8]) -> impl Iterator<Item = &'a [u8]> {
    let apart = tail.len();
    let mut rest = packet.get(COMMON_HEADER..).unwrap_or_default();
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_be_bytes([*rest.get(2)?, *rest.get(3)?]));
        if length < 4 {
            return None;
        }
        let here = length
            - if length == rest.len() + apart {
                apart
            } else {
                0
            };
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
