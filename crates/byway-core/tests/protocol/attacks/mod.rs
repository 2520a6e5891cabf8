//! One test for each known attack on a feature that the core has; ATTACKS.md lists
//! which test belongs to which row.

mod amplification;
mod data;
mod packets;
mod setup;

use byway_wire::{InitFields, Tsn};
use core::net::SocketAddr;

pub(super) fn init(tag: u32) -> InitFields {
    InitFields {
        initiate_tag: tag,
        a_rwnd: 65_536,
        outbound_streams: 1,
        inbound_streams: 1,
        initial_tsn: Tsn(1),
    }
}

pub(super) fn stranger(n: u8) -> SocketAddr {
    SocketAddr::new([172, 100 + n % 100, 0, 1].into(), 0)
}

/// Computes the checksum of a changed packet.
pub(super) fn summed(mut bytes: Vec<u8>) -> Vec<u8> {
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
