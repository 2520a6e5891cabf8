//! A packet in two parts reads as the same packet in one.

use byway_wire::{Checksum, Chunk, CommonHeader, Data, Packet, PacketBuilder, Tsn};

const HEADER: CommonHeader = CommonHeader {
    source_port: 1,
    destination_port: 2,
    verification_tag: 3,
};

fn data(tsn: u32, payload: &[u8]) -> Data<'_> {
    Data {
        tsn: Tsn(tsn),
        stream_id: 4,
        ssn: 5,
        ppid: 6,
        unordered: false,
        begin: true,
        end: true,
        immediate: false,
        payload,
    }
}

fn payloads<'a>(packet: &Packet<'a>) -> Option<Vec<&'a [u8]>> {
    packet
        .chunks()
        .map(|raw| match raw.ok()?.parse().ok()? {
            Chunk::Data(d) => Some(d.payload),
            _ => None,
        })
        .collect()
}

#[test]
fn the_tail_is_the_payload_of_the_last_chunk() {
    let (first, last) = ([7; 10], [8; 300]);
    let (mut whole, mut parts) = (Vec::new(), Vec::new());
    let mut packet = PacketBuilder::new(&mut whole, HEADER);
    packet.data(&data(1, &first));
    packet.data(&data(2, &last));
    let length = packet.finish(Checksum::Zero);
    let mut packet = PacketBuilder::new(&mut parts, HEADER);
    packet.data(&data(1, &first));
    packet.data_without_payload(&data(2, &last));
    assert_eq!(packet.len(), length);
    assert_eq!(packet.finish(Checksum::Zero), length);
    assert_eq!([&parts[..], &last].concat(), whole);

    let read = Packet::parse_parts(&parts, &last).expect("a header");
    assert_eq!(payloads(&read), Some(vec![&first[..], &last[..]]));
    assert!(!read.checksum_is_valid(), "it has none");
}

#[test]
fn a_payload_that_is_brought_in_after_all_leaves_room_for_another_chunk() {
    let mut bytes = Vec::new();
    let mut packet = PacketBuilder::new(&mut bytes, HEADER);
    packet.data_without_payload(&data(1, &[1; 8]));
    packet.append_payload(&[1; 8]);
    packet.data(&data(2, &[2; 4]));
    packet.finish(Checksum::Crc32c);
    let read = Packet::parse(&bytes).expect("a header");
    assert!(read.checksum_is_valid());
    assert_eq!(payloads(&read), Some(vec![&[1; 8][..], &[2; 4]]));
}

#[test]
fn a_tail_that_does_not_match_the_length_is_no_payload() {
    let mut bytes = Vec::new();
    let mut packet = PacketBuilder::new(&mut bytes, HEADER);
    packet.data_without_payload(&data(1, &[1; 300]));
    packet.finish(Checksum::Zero);
    for tail in [&[1; 296][..], &[1; 304], &[]] {
        let read = Packet::parse_parts(&bytes, tail).expect("a header");
        assert_eq!(payloads(&read), None, "{} bytes", tail.len());
    }
}
