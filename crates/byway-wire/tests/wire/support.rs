//! What the test files share.

use byway_wire::{Checksum, Chunk, CommonHeader, Packet, PacketBuilder};

/// A header for packets whose header does not matter.
pub(crate) const HEADER: CommonHeader = CommonHeader {
    source_port: 5_000,
    destination_port: 5_001,
    verification_tag: 0x1122_3344,
};

/// One packet with what `write` writes.
pub(crate) fn build(write: impl FnOnce(&mut PacketBuilder<'_>)) -> Vec<u8> {
    let mut buf = Vec::new();
    let mut builder = PacketBuilder::new(&mut buf, HEADER);
    write(&mut builder);
    builder.finish(Checksum::Crc32c);
    buf
}

/// The chunks of a packet that must be sound.
pub(crate) fn read(packet: &[u8]) -> Vec<Chunk<'_>> {
    let packet = Packet::parse(packet).expect("the test built a packet");
    assert!(packet.checksum_is_valid());
    packet
        .chunks()
        .map(|raw| {
            raw.and_then(|raw| raw.parse())
                .expect("the test built sound chunks")
        })
        .collect()
}

/// A packet of this header and these bytes as its chunks, checksum left zero.
pub(crate) fn packet_of(chunks: &[u8]) -> Vec<u8> {
    let mut buf = Vec::new();
    PacketBuilder::new(&mut buf, HEADER).finish(Checksum::Zero);
    buf.extend_from_slice(chunks);
    buf
}
