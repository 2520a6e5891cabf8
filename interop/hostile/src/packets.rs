//! Hostile packets that need no association.

use byway_wire::{Checksum, CommonHeader, Data, InitFields, PacketBuilder, ParamWriter, Tsn};
use rand::{Rng, RngExt};

/// Largest packet of the toolbox: fits an Ethernet frame behind IP and UDP.
pub(crate) const MOST: usize = 1452;

/// One packet with a right checksum.
pub(crate) fn packet(
    (from, to): (u16, u16),
    tag: u32,
    write: impl FnOnce(&mut PacketBuilder<'_>),
) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(64);
    let header = CommonHeader {
        source_port: from,
        destination_port: to,
        verification_tag: tag,
    };
    let mut builder = PacketBuilder::new(&mut bytes, header);
    write(&mut builder);
    builder.finish(Checksum::Crc32c);
    bytes
}

/// The fixed fields of an INIT that any receiver takes.
pub(crate) fn init_fields(rng: &mut impl Rng) -> InitFields {
    InitFields {
        initiate_tag: rng.random_range(1..=u32::MAX),
        a_rwnd: 1 << 20,
        outbound_streams: 10,
        inbound_streams: 10,
        initial_tsn: Tsn(rng.random()),
    }
}

/// An INIT with these parameters.
pub(crate) fn init(
    ports: (u16, u16),
    rng: &mut impl Rng,
    params: impl FnOnce(&mut ParamWriter<'_>),
) -> Vec<u8> {
    let fields = init_fields(rng);
    packet(ports, 0, |p| p.init(false, &fields, params))
}

/// Parameters of a type that nobody knows and that asks to be reported, 1.3 KB in all.
pub(crate) fn unknown_parameters(w: &mut ParamWriter<'_>) {
    for n in 0..325_u16 {
        w.raw(0xC100 + n, &[]);
    }
}

/// One such parameter of 1.3 KB.
pub(crate) fn long_unknown_parameter(w: &mut ParamWriter<'_>) {
    w.raw(0xC100, &[0x41; 1296]);
}

/// DATA with a tag that nobody gave out.
pub(crate) fn out_of_the_blue(ports: (u16, u16), rng: &mut impl Rng) -> Vec<u8> {
    let tsn = Tsn(rng.random());
    packet(ports, rng.random(), |p| p.data(&message(tsn, 0, b"hello")))
}

/// A chunk of an unknown type that asks to be reported, with such a tag.
pub(crate) fn unknown_chunk(ports: (u16, u16), rng: &mut impl Rng) -> Vec<u8> {
    packet(ports, rng.random(), |p| p.raw(0xFE, 0, &[0x41; 8]))
}

/// A HEARTBEAT with such a tag.
pub(crate) fn heartbeat(ports: (u16, u16), rng: &mut impl Rng) -> Vec<u8> {
    packet(ports, rng.random(), |p| p.heartbeat(&[0x41; 24]))
}

/// A COOKIE ECHO with a cookie of random bytes.
pub(crate) fn forged_cookie(ports: (u16, u16), rng: &mut impl Rng) -> Vec<u8> {
    let mut cookie = [0; 96];
    rng.fill_bytes(&mut cookie);
    packet(ports, rng.random(), |p| p.cookie_echo(&cookie))
}

/// DATA of 1,400 bytes with a wrong CRC32c: the sum has to be computed to find out.
pub(crate) fn wrong_checksum(ports: (u16, u16), rng: &mut impl Rng) -> Vec<u8> {
    let tsn = Tsn(rng.random());
    let mut bytes = packet(ports, rng.random(), |p| {
        p.data(&message(tsn, 0, &[0x41; 1400]));
    });
    bytes[8] ^= 0xFF;
    bytes
}

/// Random bytes.
pub(crate) fn noise(rng: &mut impl Rng) -> Vec<u8> {
    let mut bytes = vec![0; rng.random_range(1..200)];
    rng.fill_bytes(&mut bytes);
    bytes
}

/// A whole message.
pub(crate) fn message(tsn: Tsn, ssn: u16, payload: &[u8]) -> Data<'_> {
    Data {
        tsn,
        stream_id: 0,
        ssn,
        ppid: 0,
        unordered: false,
        begin: true,
        end: true,
        immediate: false,
        payload,
    }
}
