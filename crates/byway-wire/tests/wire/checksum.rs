//! CRC32c against published values, another implementation and RFC 9260's byte
//! order.

use crate::support::{HEADER, build};
use byway_wire::crc32c::{checksum, packet_checksum};
use byway_wire::{Checksum, Packet, PacketBuilder, Tsn};
use proptest::collection::vec;
use proptest::prelude::*;

/// RFC 3720 section B.4, and the catalogue's check value.
#[test]
fn known_values() {
    let ascending: Vec<u8> = (0..32).collect();
    let descending: Vec<u8> = (0..32).rev().collect();
    let cases: [(&[u8], u32); 6] = [
        (&[0; 32], 0x8A91_36AA),
        (&[0xFF; 32], 0x62A8_AB43),
        (&ascending, 0x46DD_794E),
        (&descending, 0x113F_DB5C),
        (b"123456789", 0xE306_9283),
        (b"", 0),
    ];
    for (bytes, sum) in cases {
        assert_eq!(checksum(bytes), sum, "of {bytes:?}");
    }
}

/// The field holds the sum least significant byte first (RFC 9260 appendix A).
#[test]
fn field_is_little_endian() {
    let mut packet = build(|packet| packet.cookie_ack());
    let sum = packet_checksum(&packet);
    assert_eq!(packet[8..12], sum.to_le_bytes());
    assert_eq!(Packet::parse(&packet).unwrap().checksum(), sum);
    packet[8..12].fill(0);
    assert_eq!(checksum(&packet), sum, "the field counts as zero");
}

/// RFC 9653: a zero field is distinguished from a valid sum; accepting it is not
/// this crate's decision.
#[test]
fn zero_checksum_is_not_valid_by_itself() {
    let mut buf = Vec::new();
    let mut packet = PacketBuilder::new(&mut buf, HEADER);
    packet.shutdown(Tsn(9));
    packet.finish(Checksum::Zero);
    let packet = Packet::parse(&buf).unwrap();
    assert_eq!(packet.checksum(), 0);
    assert!(!packet.checksum_is_valid());
}

proptest! {
    #[test]
    fn agrees_with_another_implementation(bytes in vec(any::<u8>(), 0..3_000)) {
        prop_assert_eq!(checksum(&bytes), crc32c::crc32c(&bytes));
        let mut cleared = bytes.clone();
        if let Some(field) = cleared.get_mut(8..12) {
            field.fill(0);
        }
        prop_assert_eq!(packet_checksum(&bytes), crc32c::crc32c(&cleared));
    }
}
