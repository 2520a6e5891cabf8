//! COOKIE ECHOs, invented or changed, against an endpoint. The first byte says
//! whether the cookie gets a valid MAC, so that its contents are read too.
#![no_main]

use byway_core::time::{Duration, Instant};
use byway_core::{Endpoint, EndpointConfig};
use byway_wire::{Checksum, CommonHeader, InitFields, Packet, PacketBuilder, Tsn};
use libfuzzer_sys::fuzz_target;
use std::net::SocketAddr;

fn packet(tag: u32, write: impl FnOnce(&mut PacketBuilder<'_>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    let header = CommonHeader {
        source_port: 1,
        destination_port: 2,
        verification_tag: tag,
    };
    let mut p = PacketBuilder::new(&mut bytes, header);
    write(&mut p);
    p.finish(Checksum::Crc32c);
    bytes
}

fuzz_target!(|data: &[u8]| {
    let Some((&how, data)) = data.split_first() else {
        return;
    };
    let peer = SocketAddr::new([10, 0, 0, 1].into(), 0);
    let local = SocketAddr::new([10, 0, 0, 2].into(), 0);
    let mut now = Instant::ZERO;
    let mut e = Endpoint::new(EndpointConfig::new(2, vec![local], [3; 32]))
        .expect("the settings are sound");
    let init = packet(0, |p| {
        let fields = InitFields {
            initiate_tag: 9,
            a_rwnd: 65_536,
            outbound_streams: 3,
            inbound_streams: 3,
            initial_tsn: Tsn(u32::MAX - 1),
        };
        p.init(false, &fields, |_| {});
    });
    e.handle_datagram(now, peer, local, &init);
    let mut ack = Vec::new();
    e.poll_transmit(now, &mut ack).expect("an INIT is answered");
    let cookie = |ack: &[u8]| {
        let chunk = Packet::parse(ack)
            .ok()?
            .chunks()
            .next()?
            .ok()?
            .parse()
            .ok()?;
        let byway_wire::Chunk::InitAck(i) = chunk else {
            return None;
        };
        let found = i.params.iter().find_map(|p| match p.ok()?.parse().ok()? {
            byway_wire::Param::StateCookie(c) => Some(c.to_vec()),
            _ => None,
        });
        Some((i.initiate_tag, found?))
    };
    let (tag, genuine) = cookie(&ack).expect("our own INIT ACK is sound");
    now += Duration::from_millis(u64::from(how & 0xf0) * 400);
    let echoed = match how & 3 {
        // Arbitrary bytes.
        0 => data.to_vec(),
        // A cookie of the endpoint, changed at places that the input names.
        1 => {
            let mut c = genuine;
            for change in data.as_chunks::<2>().0 {
                let at = usize::from(change[0]) % c.len();
                c[at] ^= change[1];
            }
            c
        }
        // Arbitrary contents with a valid MAC.
        2 => e.seal_for_fuzzing(data, tag, 1),
        // The contents of a real cookie, changed, with a valid MAC.
        _ => {
            let mut c = genuine[..genuine.len() - 16].to_vec();
            for change in data.as_chunks::<2>().0 {
                let at = usize::from(change[0]) % c.len();
                c[at] ^= change[1];
            }
            e.seal_for_fuzzing(&c, tag, 1)
        }
    };
    for tag in [tag, 0x0102_0304] {
        let bytes = packet(tag, |p| p.cookie_echo(&echoed));
        e.handle_datagram(now, peer, local, &bytes);
        let mut out = Vec::new();
        let mut packets = 0;
        while e.poll_transmit(now, &mut out).is_some() {
            packets += 1;
            assert!(packets < 100, "one cookie is answered without end");
        }
        while let Some((id, _)) = e.poll_event() {
            e.check_totals(id).expect("totals agree");
        }
        if let Some(t) = e.poll_timeout() {
            now = now.max(t);
            e.handle_timeout(now);
        }
    }
});
