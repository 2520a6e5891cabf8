//! Writing and reading agree, for every chunk, parameter and cause.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::exercise::exercise;
use crate::support::{self, build, read};
use byway_wire::{
    AddStreams, Auth, Cause, Causes, Chunk, ChunkError, Data, IData, IncomingSsnReset, InitFields,
    OutgoingSsnReset, Packet, PacketBuilder, Param, Params, RawCause, RawParam, ReconfigResponse,
    SkippedMessage, SsnTsnReset, Timestamp, Tsn, U16List, padded,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// Raw material from which any chunk, parameter or cause can be made.
#[derive(Clone, Debug)]
struct Seed {
    which: usize,
    a: u32,
    b: u32,
    c: u32,
    bits: [bool; 4],
    bytes: Vec<u8>,
    pairs: Vec<(u16, u16)>,
    inner: Vec<Inner>,
}

/// Raw material for one parameter or cause inside a chunk.
#[derive(Clone, Debug)]
struct Inner {
    which: usize,
    a: u32,
    b: u32,
    c: u32,
    v6: bool,
    bytes: Vec<u8>,
}

fn inner() -> impl Strategy<Value = Inner> {
    (
        any::<usize>(),
        any::<u32>(),
        any::<u32>(),
        any::<u32>(),
        any::<bool>(),
        vec(any::<u8>(), 0..40),
    )
        .prop_map(|(which, a, b, c, v6, bytes)| Inner {
            which,
            a,
            b,
            c,
            v6,
            bytes,
        })
}

fn seed() -> impl Strategy<Value = Seed> {
    let numbers = (
        any::<usize>(),
        any::<u32>(),
        any::<u32>(),
        any::<u32>(),
        any::<[bool; 4]>(),
    );
    (
        numbers,
        vec(any::<u8>(), 0..300),
        vec(any::<(u16, u16)>(), 0..20),
        vec(inner(), 0..8),
    )
        .prop_map(|((which, a, b, c, bits), bytes, pairs, inner)| Seed {
            which,
            a,
            b,
            c,
            bits,
            bytes,
            pairs,
            inner,
        })
}

impl Inner {
    fn address(&self) -> IpAddr {
        match self.v6 {
            true => IpAddr::V6(Ipv6Addr::from(
                u128::from(self.b) << 64 | u128::from(self.c),
            )),
            false => IpAddr::V4(Ipv4Addr::from(self.b)),
        }
    }

    fn numbers(&self) -> U16List<'_> {
        U16List::new(&self.bytes[..self.bytes.len() & !1]).expect("an even count")
    }

    fn param(&self) -> Param<'_> {
        let (bytes, id) = (&self.bytes[..], self.a);
        match self.which % 29 {
            0 => Param::HeartbeatInfo(bytes),
            1 => Param::Ipv4Address(Ipv4Addr::from(id)),
            2 => Param::Ipv6Address(Ipv6Addr::from(u128::from(id) << 77)),
            3 => Param::StateCookie(bytes),
            4 => Param::UnrecognizedParameter(bytes),
            5 => Param::CookiePreservative(id),
            6 => Param::HostName(bytes),
            7 => Param::SupportedAddressTypes(self.numbers()),
            which @ 8..=13 => self.reconfiguration(which),
            14 => Param::EcnCapable,
            15 => Param::ZeroChecksumAcceptable(id),
            16 => Param::Random(bytes),
            17 => Param::ChunkList(bytes),
            18 => Param::HmacAlgo(self.numbers()),
            19 => Param::Padding(bytes),
            20 => Param::SupportedExtensions(bytes),
            21 => Param::ForwardTsnSupported,
            which @ 22..=27 => self.address_change(which),
            // The header is not part of a parameter built by hand, so the value
            // replaces it; `same_param` compares type and value.
            // No type from 0x4000 to 0x7FFF has a meaning.
            _ => Param::Unknown(RawParam {
                kind: 0x4000 | (self.b as u16 & 0x3FFF),
                value: bytes,
                bytes,
            }),
        }
    }

    /// The parameters of RFC 6525, 8 to 13.
    fn reconfiguration(&self, which: usize) -> Param<'_> {
        let request_sequence = self.a;
        let add = AddStreams {
            request_sequence,
            count: self.b as u16,
        };
        match which {
            8 => Param::OutgoingSsnReset(OutgoingSsnReset {
                request_sequence,
                response_sequence: self.b,
                last_assigned_tsn: Tsn(self.c),
                streams: self.numbers(),
            }),
            9 => Param::IncomingSsnReset(IncomingSsnReset {
                request_sequence,
                streams: self.numbers(),
            }),
            10 => Param::SsnTsnReset(SsnTsnReset { request_sequence }),
            11 => Param::ReconfigResponse(ReconfigResponse {
                response_sequence: self.a,
                result: self.b,
                next_tsns: self.v6.then_some((Tsn(self.b), Tsn(self.c))),
            }),
            12 => Param::AddOutgoingStreams(add),
            _ => Param::AddIncomingStreams(add),
        }
    }

    /// The parameters of RFC 5061, 22 to 27.
    fn address_change(&self, which: usize) -> Param<'_> {
        let (correlation_id, address) = (self.a, self.address());
        match which {
            22 => Param::AddIp {
                correlation_id,
                address,
            },
            23 => Param::DeleteIp {
                correlation_id,
                address,
            },
            24 => Param::ErrorCauseIndication {
                correlation_id,
                causes: Causes::new(&self.bytes),
            },
            25 => Param::SetPrimary {
                correlation_id,
                address,
            },
            26 => Param::SuccessIndication { correlation_id },
            _ => Param::AdaptationIndication(self.a),
        }
    }

    fn cause(&self) -> Cause<'_> {
        let bytes = &self.bytes[..];
        match self.which % 20 {
            0 => Cause::InvalidStreamIdentifier {
                stream_id: self.a as u16,
            },
            1 => Cause::MissingMandatoryParameter {
                missing: self.numbers(),
            },
            2 => Cause::StaleCookie {
                staleness_us: self.a,
            },
            3 => Cause::OutOfResource,
            4 => Cause::UnresolvableAddress(bytes),
            5 => Cause::UnrecognizedChunkType(bytes),
            6 => Cause::InvalidMandatoryParameter,
            7 => Cause::UnrecognizedParameters(bytes),
            8 => Cause::NoUserData { tsn: Tsn(self.a) },
            9 => Cause::CookieReceivedWhileShuttingDown,
            10 => Cause::RestartWithNewAddresses(bytes),
            11 => Cause::UserInitiatedAbort(bytes),
            12 => Cause::ProtocolViolation(bytes),
            13 => Cause::DeleteLastAddress(bytes),
            14 => Cause::ResourceShortage(bytes),
            15 => Cause::DeleteSourceAddress(bytes),
            16 => Cause::IllegalAsconfAck,
            17 => Cause::NoAuthorization(bytes),
            18 => Cause::UnsupportedHmac {
                hmac_id: self.a as u16,
            },
            _ => Cause::Unknown(RawCause {
                code: 0x4000 | self.b as u16,
                value: bytes,
                bytes,
            }),
        }
    }
}

fn same_param(read: &Param<'_>, written: &Param<'_>) -> bool {
    match (read, written) {
        (Param::Unknown(one), Param::Unknown(other)) => {
            (one.kind, one.value) == (other.kind, other.value)
        }
        _ => read == written,
    }
}

fn same_cause(read: &Cause<'_>, written: &Cause<'_>) -> bool {
    match (read, written) {
        (Cause::Unknown(one), Cause::Unknown(other)) => {
            (one.code, one.value) == (other.code, other.value)
        }
        _ => read == written,
    }
}

fn assert_params(list: Params<'_>, seeds: &[Inner]) {
    let read: Result<Vec<_>, _> = list
        .iter()
        .map(|raw| raw.and_then(|raw| raw.parse()))
        .collect();
    let read = read.expect("written parameters can be read");
    assert_eq!(read.len(), seeds.len());
    for (param, seed) in read.iter().zip(seeds) {
        assert!(
            same_param(param, &seed.param()),
            "{param:?} is not {:?}",
            seed.param()
        );
    }
}

fn assert_causes(list: Causes<'_>, seeds: &[Inner]) {
    let read: Result<Vec<_>, _> = list
        .iter()
        .map(|raw| raw.and_then(|raw| raw.parse()))
        .collect();
    let read = read.expect("written causes can be read");
    assert_eq!(read.len(), seeds.len());
    for (cause, seed) in read.iter().zip(seeds) {
        assert!(
            same_cause(cause, &seed.cause()),
            "{cause:?} is not {:?}",
            seed.cause()
        );
    }
}

impl Seed {
    fn init(&self) -> InitFields {
        InitFields {
            initiate_tag: self.a,
            a_rwnd: self.b,
            outbound_streams: self.c as u16,
            inbound_streams: (self.c >> 16) as u16,
            initial_tsn: Tsn(self.a ^ self.b),
        }
    }

    fn data(&self) -> Data<'_> {
        let [unordered, begin, end, immediate] = self.bits;
        let (stream_id, ssn) = (self.b as u16, (self.b >> 16) as u16);
        Data {
            tsn: Tsn(self.a),
            stream_id,
            ssn,
            ppid: self.c,
            unordered,
            begin,
            end,
            immediate,
            payload: &self.bytes,
        }
    }

    fn i_data(&self) -> IData<'_> {
        let [unordered, begin, end, immediate] = self.bits;
        IData {
            tsn: Tsn(self.a),
            stream_id: self.b as u16,
            mid: self.b ^ self.c,
            ppid_or_fsn: self.c,
            unordered,
            begin,
            end,
            immediate,
            payload: &self.bytes,
        }
    }

    fn auth(&self) -> Auth<'_> {
        Auth {
            shared_key_id: self.a as u16,
            hmac_id: self.b as u16,
            hmac: &self.bytes,
        }
    }

    fn timestamp(&self) -> Timestamp {
        Timestamp {
            sent: self.bits[0].then_some(self.a),
            echo: self.bits[1].then_some(self.b),
        }
    }

    fn dups(&self) -> Vec<Tsn> {
        self.pairs
            .iter()
            .map(|&(x, y)| Tsn(u32::from(x) << 16 | u32::from(y)))
            .collect()
    }

    fn skipped(&self) -> Vec<SkippedMessage> {
        let message = |&(stream_id, y): &(u16, u16)| SkippedMessage {
            stream_id,
            unordered: y & 1 == 1,
            mid: y.into(),
        };
        self.pairs.iter().map(message).collect()
    }

    fn address(&self) -> IpAddr {
        if self.bits[0] {
            Ipv4Addr::from(self.b).into()
        } else {
            Ipv6Addr::from(u128::from(self.b) << 50).into()
        }
    }

    fn write(&self, packet: &mut PacketBuilder<'_>) {
        let params = |writer: &mut byway_wire::ParamWriter<'_>| {
            assert!(self.inner.iter().all(|inner| writer.param(&inner.param())));
        };
        let causes = |writer: &mut byway_wire::CauseWriter<'_>| {
            assert!(self.inner.iter().all(|inner| writer.cause(&inner.cause())));
        };
        match self.which % 23 {
            0 => packet.data(&self.data()),
            1 => packet.init(false, &self.init(), params),
            2 => packet.init(true, &self.init(), params),
            3 => packet.sack(Tsn(self.a), self.b, &self.pairs, &self.dups()),
            4 => packet.heartbeat(&self.bytes),
            5 => packet.heartbeat_ack(&self.bytes),
            6 => packet.abort(self.bits[0], causes),
            7 => packet.shutdown(Tsn(self.a)),
            8 => packet.shutdown_ack(),
            9 => packet.error(causes),
            10 => packet.cookie_echo(&self.bytes),
            11 => packet.cookie_ack(),
            12 => packet.shutdown_complete(self.bits[0]),
            13 => packet.forward_tsn(Tsn(self.a), &self.pairs),
            14 => drop(packet.auth(&self.auth())),
            15 => packet.asconf(self.a, self.address(), params),
            16 => packet.asconf_ack(self.a, params),
            17 => packet.re_config(params),
            18 => packet.pad(self.bytes.len()),
            19 => packet.i_data(&self.i_data()),
            20 => packet.i_forward_tsn(Tsn(self.a), &self.skipped()),
            21 => packet.timestamp(self.timestamp()),
            _ => packet.raw(0x3F, self.a as u8, &self.bytes),
        }
    }

    fn check(&self, chunk: &Chunk<'_>) {
        match (self.which % 23, chunk) {
            (0, Chunk::Data(data)) => assert_eq!(*data, self.data()),
            (1, Chunk::Init(init)) | (2, Chunk::InitAck(init)) => {
                assert_eq!(init.fields(), self.init());
                assert_params(init.params, &self.inner);
            }
            (3, Chunk::Sack(sack)) => {
                assert_eq!(
                    (sack.cumulative_tsn_ack, sack.a_rwnd),
                    (Tsn(self.a), self.b)
                );
                assert!(sack.gap_blocks().eq(self.pairs.iter().copied()));
                assert!(sack.duplicates().eq(self.dups()));
            }
            (4, Chunk::Heartbeat(heartbeat)) | (5, Chunk::HeartbeatAck(heartbeat)) => {
                assert_eq!(heartbeat.info, self.bytes);
            }
            (6, Chunk::Abort(abort)) => {
                assert_eq!(abort.tag_reflected, self.bits[0]);
                assert_causes(abort.causes, &self.inner);
            }
            (7, Chunk::Shutdown(shutdown)) => assert_eq!(shutdown.cumulative_tsn_ack, Tsn(self.a)),
            (8, Chunk::ShutdownAck) | (11, Chunk::CookieAck) => {}
            (9, Chunk::Error(error)) => assert_causes(error.causes, &self.inner),
            (10, Chunk::CookieEcho(echo)) => assert_eq!(echo.cookie, self.bytes),
            (12, Chunk::ShutdownComplete(complete)) => {
                assert_eq!(complete.tag_reflected, self.bits[0])
            }
            (13, Chunk::ForwardTsn(forward)) => {
                assert_eq!(forward.new_cumulative_tsn, Tsn(self.a));
                assert!(forward.skipped().eq(self.pairs.iter().copied()));
            }
            (14, Chunk::Auth(auth)) => assert_eq!(*auth, self.auth()),
            (15, Chunk::Asconf(asconf)) => {
                assert_eq!((asconf.sequence, asconf.address), (self.a, self.address()));
                assert_params(asconf.params, &self.inner);
            }
            (16, Chunk::AsconfAck(ack)) => {
                assert_eq!(ack.sequence, self.a);
                assert_params(ack.params, &self.inner);
            }
            (17, Chunk::ReConfig(config)) => assert_params(config.params, &self.inner),
            (18, Chunk::Pad(pad)) => assert_eq!(pad.padding, vec![0; self.bytes.len()]),
            (19, Chunk::IData(data)) => assert_eq!(*data, self.i_data()),
            (20, Chunk::IForwardTsn(forward)) => {
                assert_eq!(forward.new_cumulative_tsn, Tsn(self.a));
                assert!(forward.skipped().eq(self.skipped()));
            }
            (21, Chunk::Timestamp(stamp)) => assert_eq!(*stamp, self.timestamp()),
            (22, Chunk::Unknown(raw)) => {
                assert_eq!(
                    (raw.kind, raw.flags, raw.value),
                    (0x3F, self.a as u8, &self.bytes[..])
                );
            }
            (which, other) => panic!("wrote chunk {which}, read {other:?}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// What is written is read back field by field.
    #[test]
    fn chunks_are_read_as_written(seeds in vec(seed(), 1..6)) {
        let packet = build(|packet| seeds.iter().for_each(|seed| seed.write(packet)));
        prop_assert_eq!(packet.len() % 4, 0);
        let chunks = read(&packet);
        prop_assert_eq!(chunks.len(), seeds.len());
        for (chunk, seed) in chunks.iter().zip(&seeds) {
            seed.check(chunk);
        }
    }

    /// What was read is written back to the same bytes.
    #[test]
    fn copied_packets_are_identical(seeds in vec(seed(), 1..6)) {
        let packet = build(|packet| seeds.iter().for_each(|seed| seed.write(packet)));
        let copy = build(|copy| read(&packet).iter().for_each(|chunk| copy.chunk(chunk)));
        prop_assert_eq!(copy, packet);
    }

    /// A packet does not depend on what its buffer holds before it.
    #[test]
    fn earlier_bytes_of_the_buffer_stay_and_do_not_matter(seeds in vec(seed(), 1..4), before in vec(any::<u8>(), 0..9)) {
        let alone = build(|packet| seeds.iter().for_each(|seed| seed.write(packet)));
        let mut buf = before.clone();
        let mut packet = PacketBuilder::new(&mut buf, support::HEADER);
        seeds.iter().for_each(|seed| seed.write(&mut packet));
        prop_assert_eq!(packet.len(), alone.len());
        prop_assert_eq!(packet.finish(byway_wire::Checksum::Crc32c), alone.len());
        prop_assert_eq!(buf, [before, alone].concat());
    }

    /// Reading anything ends, without panic, and what was read can be written.
    #[test]
    fn any_bytes_can_be_read(bytes in vec(any::<u8>(), 0..400)) {
        exercise(&bytes);
    }

    /// The same for bytes that come close to being packets.
    #[test]
    fn damaged_packets_can_be_read(
        seeds in vec(seed(), 1..5),
        hits in vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
        cutting in any::<bool>(),
    ) {
        let mut packet = build(|packet| seeds.iter().for_each(|seed| seed.write(packet)));
        for (place, value) in hits {
            let place = place.index(packet.len());
            packet[place] = value;
        }
        if cutting {
            packet.truncate(cut.index(packet.len()));
        }
        exercise(&packet);
    }

    /// One wrong bit is always noticed.
    #[test]
    fn checksum_notices_a_flipped_bit(seed in seed(), bit in any::<prop::sample::Index>()) {
        let mut packet = build(|packet| seed.write(packet));
        let bit = bit.index(packet.len() * 8);
        packet[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(!Packet::parse(&packet).unwrap().checksum_is_valid());
    }

    /// The two ways to name a list of numbers agree, and padding is exact.
    #[test]
    fn number_lists_are_padded_to_four(numbers in vec(any::<u16>(), 0..20)) {
        let packet = build(|packet| packet.init(false, &InitFields {
            initiate_tag: 1, a_rwnd: 2, outbound_streams: 3, inbound_streams: 4, initial_tsn: Tsn(5),
        }, |params| {
            params.supported_address_types(&numbers);
            params.hmac_algo(&numbers);
        }));
        prop_assert_eq!(packet.len(), 12 + 20 + 2 * padded(4 + 2 * numbers.len()));
        let [Chunk::Init(init)] = read(&packet)[..] else { panic!("one INIT") };
        for param in init.params {
            match param.unwrap().parse().unwrap() {
                Param::SupportedAddressTypes(list) | Param::HmacAlgo(list) => {
                    prop_assert!(list.iter().eq(numbers.iter().copied()));
                    prop_assert_eq!(list.len(), numbers.len());
                    prop_assert_eq!(list.iter().len(), numbers.len());
                    prop_assert_eq!(list.into_iter().collect::<Vec<_>>(), &*numbers);
                    prop_assert_eq!(list.is_empty(), numbers.is_empty());
                    prop_assert!(numbers.iter().all(|&number| list.contains(number)));
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

/// The walk itself reports the place where a list breaks off.
#[test]
fn error_names_the_offset() {
    let mut packet = build(|packet| packet.shutdown(Tsn(1)));
    packet.extend_from_slice(&[7, 0, 0, 2]);
    let last = Packet::parse(&packet).unwrap().chunks().last();
    let error = byway_wire::TlvError::LengthTooSmall { at: 8, length: 2 };
    assert_eq!(last, Some(Err(ChunkError::List(error))));
    assert_eq!(
        error.to_string(),
        "length field at offset 8 says 2, the smallest is 4"
    );
}
