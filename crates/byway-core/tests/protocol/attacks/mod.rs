//! One test for each known attack on a feature that the core has; ATTACKS.md lists
//! which test belongs to which row.

mod amplification;
mod data;
mod packets;
mod patience;
mod rates;
mod refusals;
mod setup;

use core::net::SocketAddr;

pub(super) fn stranger(n: u8) -> SocketAddr {
    SocketAddr::new([172, 100 + n % 100, 0, 1].into(), 0)
}

/// Computes the checksum of a changed packet.
/// The same bytes with the right CRC32c.
pub(crate) fn summed(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes[8..12].fill(0);
    let sum = byway_wire::crc32c::checksum(&bytes);
    bytes[8..12].copy_from_slice(&sum.to_le_bytes());
    bytes
}

pub(super) fn summed_or_short(bytes: &[u8]) -> Vec<u8> {
    if bytes.len() < 12 {
        bytes.to_vec()
    } else {
        summed(bytes.to_vec())
    }
}
