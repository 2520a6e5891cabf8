//! Packets written out by hand, byte by byte from the RFCs' figures.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::support::{self, build};
use byway_wire::{
    Auth, Cause, Checksum, Chunk, CommonHeader, Data, IData, InitFields, Packet, PacketBuilder,
    Param, SkippedMessage, Timestamp, Tsn, cause_code, chunk_type,
};

/// The bytes of spaced hex digits.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// What the builder wrote behind the common header.
fn chunks_of(write: impl FnOnce(&mut PacketBuilder<'_>)) -> Vec<u8> {
    build(write)[12..].to_vec()
}

fn parse(chunks: &[u8], check: impl FnOnce(&[Chunk<'_>])) {
    let packet = support::packet_of(chunks);
    let read: Vec<Chunk<'_>> = Packet::parse(&packet)
        .unwrap()
        .chunks()
        .map(|raw| raw.unwrap().parse().unwrap())
        .collect();
    check(&read);
}

// A -> INIT -> Z
#[test]
fn init_with_addresses_and_extensions() {
    let expected = hex("
        01 00 00 43  DEADBEEF  00020000  000A FFFF  01020304
        0005 0008  C0000201
        0006 0014  20010DB8 00000000 00000000 00000001
        000C 0008  0005 0006
        C000 0004
        8008 0007  C0 82 0F 00
    ");
    let fields = InitFields {
        initiate_tag: 0xDEAD_BEEF,
        a_rwnd: 131_072,
        outbound_streams: 10,
        inbound_streams: 65_535,
        initial_tsn: Tsn(0x0102_0304),
    };
    let v4 = Ipv4Addr::new(192, 0, 2, 1);
    let v6: Ipv6Addr = "2001:db8::1".parse().unwrap();
    let written = chunks_of(|packet| {
        packet.init(false, &fields, |params| {
            params.ipv4_address(v4);
            params.ipv6_address(v6);
            params.supported_address_types(&[5, 6]);
            params.forward_tsn_supported();
            params.supported_extensions(&[
                chunk_type::FORWARD_TSN,
                chunk_type::RE_CONFIG,
                chunk_type::AUTH,
            ]);
        });
    });
    // The chunk's length leaves out the padding of its last parameter.
    assert_eq!(written, expected);
    parse(&expected, |chunks| {
        let [Chunk::Init(init)] = chunks else {
            panic!("{chunks:?}")
        };
        assert_eq!(init.fields(), fields);
        let params: Vec<_> = init
            .params
            .iter()
            .map(|raw| raw.unwrap().parse().unwrap())
            .collect();
        assert_eq!(
            params[..2],
            [Param::Ipv4Address(v4), Param::Ipv6Address(v6)]
        );
        assert!(
            matches!(params[2], Param::SupportedAddressTypes(types) if types.iter().eq([5, 6]))
        );
        assert_eq!(
            params[3..],
            [
                Param::ForwardTsnSupported,
                Param::SupportedExtensions(&[0xC0, 0x82, 0x0F])
            ]
        );
    });
}

// Z -> INIT ACK -> A
#[test]
fn init_ack_with_cookie_and_unrecognized_parameter() {
    let bytes = hex("
        02 00 00 2C  00000001  0000FFFF  0001 0002  FFFFFFFF
        0007 0009  4142434445 000000
        0008 000C  FFFF 0006 ABCD 0000
    ");
    parse(&bytes, |chunks| {
        let [Chunk::InitAck(init)] = chunks else {
            panic!("{chunks:?}")
        };
        assert_eq!(
            (
                init.outbound_streams,
                init.inbound_streams,
                init.initial_tsn
            ),
            (1, 2, Tsn(u32::MAX))
        );
        let params: Vec<_> = init
            .params
            .iter()
            .map(|raw| raw.unwrap().parse().unwrap())
            .collect();
        let unknown = &[0xFF, 0xFF, 0, 6, 0xAB, 0xCD, 0, 0];
        assert_eq!(
            params,
            [
                Param::StateCookie(b"ABCDE"),
                Param::UnrecognizedParameter(unknown)
            ]
        );
    });
}

// Z -> SACK -> A
#[test]
fn sack_with_gaps_and_duplicates() {
    let bytes =
        hex("03 00 00 20  00000064  00010000  0002 0002  0002 0003  0005 0005  0000005A  00000064");
    let gaps = [(2, 3), (5, 5)];
    let dups = [Tsn(90), Tsn(100)];
    assert_eq!(
        chunks_of(|packet| packet.sack(Tsn(100), 65_536, &gaps, &dups)),
        bytes
    );
    parse(&bytes, |chunks| {
        let [Chunk::Sack(sack)] = chunks else {
            panic!("{chunks:?}")
        };
        assert_eq!((sack.cumulative_tsn_ack, sack.a_rwnd), (Tsn(100), 65_536));
        assert!(sack.gap_blocks().eq(gaps));
        assert!(sack.duplicates().eq(dups));
        assert_eq!((sack.gap_block_count(), sack.duplicate_count()), (2, 2));
    });
}

// A -> COOKIE ECHO, DATA -> Z
#[test]
fn cookie_echo_bundled_with_data() {
    let bytes = hex("
        0A 00 00 07  AABBCC 00
        00 0B 00 15  00000007  0003 0009  0000002E  68656C6C6F 000000
    ");
    let data = Data {
        tsn: Tsn(7),
        stream_id: 3,
        ssn: 9,
        ppid: 46,
        unordered: false,
        begin: true,
        end: true,
        immediate: true,
        payload: b"hello",
    };
    let written = chunks_of(|packet| {
        packet.cookie_echo(&[0xAA, 0xBB, 0xCC]);
        packet.data(&data);
    });
    assert_eq!(written, bytes);
    parse(&bytes, |chunks| {
        let [Chunk::CookieEcho(echo), Chunk::Data(read)] = chunks else {
            panic!("{chunks:?}")
        };
        assert_eq!(echo.cookie, [0xAA, 0xBB, 0xCC]);
        assert_eq!(*read, data);
    });
}

/// A whole packet, ports, tag and checksum included. The checksum was computed
/// bit by bit from the polynomial, not by this crate.
#[test]
fn whole_packet_with_checksum() {
    let header = CommonHeader {
        source_port: 9_899,
        destination_port: 36_412,
        verification_tag: 0x0BAD_CAFE,
    };
    let mut buf = Vec::new();
    let mut packet = PacketBuilder::new(&mut buf, header);
    packet.shutdown(Tsn(0x1020_3040));
    assert_eq!(packet.finish(Checksum::Crc32c), 20);
    assert_eq!(buf[..8], hex("26AB 8E3C 0BADCAFE")[..]);
    assert_eq!(buf[12..], hex("07 00 00 08 10203040")[..]);
    let sum = bit_by_bit(&[&buf[..8], &[0; 4], &buf[12..]].concat());
    assert_eq!(buf[8..12], sum.to_le_bytes());
    let packet = Packet::parse(&buf).unwrap();
    assert_eq!(packet.header(), header);
    assert!(packet.checksum_is_valid());
}

/// CRC32c as the definition has it: reflected polynomial 0x82F63B78.
fn bit_by_bit(bytes: &[u8]) -> u32 {
    let step = |sum: u32, _| {
        if sum & 1 == 1 {
            sum >> 1 ^ 0x82F6_3B78
        } else {
            sum >> 1
        }
    };
    !bytes.iter().fold(u32::MAX, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), step)
    })
}

// A -> HEARTBEAT -> Z -> HEARTBEAT ACK -> A
#[test]
fn heartbeat_and_its_echo() {
    let request = hex("04 00 00 0E  0001 000A  010203040506 0000");
    let answer = hex("05 00 00 0E  0001 000A  010203040506 0000");
    assert_eq!(
        chunks_of(|packet| packet.heartbeat(&[1, 2, 3, 4, 5, 6])),
        request
    );
    parse(&request, |chunks| {
        let [Chunk::Heartbeat(heartbeat)] = chunks else {
            panic!("{chunks:?}")
        };
        assert_eq!(
            chunks_of(|packet| packet.heartbeat_ack(heartbeat.info)),
            answer
        );
    });
}

// Z -> ABORT (T) -> A
#[test]
fn abort_with_reflected_tag_and_two_causes() {
    let bytes = hex("06 01 00 12  000C 0007 627965 00  000D 0006 0102 0000");
    let written = chunks_of(|packet| {
        packet.abort(true, |causes| {
            causes.user_initiated_abort(b"bye");
            causes.protocol_violation(&[1, 2]);
        });
    });
    assert_eq!(written, bytes);
    parse(&bytes, |chunks| {
        let [Chunk::Abort(abort)] = chunks else {
            panic!("{chunks:?}")
        };
        assert!(abort.tag_reflected);
        let causes: Vec<_> = abort
            .causes
            .iter()
            .map(|raw| raw.unwrap().parse().unwrap())
            .collect();
        assert_eq!(
            causes,
            [
                Cause::UserInitiatedAbort(b"bye"),
                Cause::ProtocolViolation(&[1, 2])
            ]
        );
    });
}

// Z -> ERROR -> A
#[test]
fn error_with_stale_cookie_and_missing_parameters() {
    let bytes = hex("09 00 00 16  0003 0008 000F4240  0002 000A 00000001 0007 0000");
    let written = chunks_of(|packet| {
        packet.error(|causes| {
            causes.stale_cookie(1_000_000);
            causes.missing_mandatory_parameter(&[7]);
        });
    });
    assert_eq!(written, bytes);
}

/// RFC 5061 section 4.1.1 and 4.2.1: the change wraps a whole address parameter.
#[test]
fn asconf_adds_an_address() {
    let bytes = hex("
        C1 00 00 20  00000100  0005 0008 0A000001
        C001 0010  00000007  0005 0008 0A000002
    ");
    let written = chunks_of(|packet| {
        packet.asconf(0x100, Ipv4Addr::new(10, 0, 0, 1).into(), |params| {
            params.add_ip(7, Ipv4Addr::new(10, 0, 0, 2).into());
        });
    });
    assert_eq!(written, bytes);
}

/// RFC 5061 section 4.3.1's example: the answer wraps a cause, which wraps the
/// parameter that was refused.
#[test]
fn asconf_ack_refuses_to_delete_the_last_address() {
    let refused = hex("C002 0010  00000007  0005 0008 0A000001");
    let bytes = [
        hex("80 00 00 24  00000100  C003 001C  00000007  00A0 0014"),
        refused.clone(),
    ]
    .concat();
    let written = chunks_of(|packet| {
        packet.asconf_ack(0x100, |params| {
            params.error_cause_indication(7, |causes| {
                causes.delete_last_address(&refused);
            });
        });
    });
    assert_eq!(written, bytes);
    parse(&bytes, |chunks| {
        let [Chunk::AsconfAck(ack)] = chunks else {
            panic!("{chunks:?}")
        };
        let param = ack.params.iter().next().unwrap().unwrap().parse().unwrap();
        let Param::ErrorCauseIndication {
            correlation_id: 7,
            causes,
        } = param
        else {
            panic!("{param:?}")
        };
        let cause = causes.iter().next().unwrap().unwrap().parse().unwrap();
        assert_eq!(cause, Cause::DeleteLastAddress(&refused));
    });
}

/// RFC 6525 section 4.1, three streams, so the parameter ends unpadded.
#[test]
fn re_config_resets_streams() {
    let bytes = hex("82 00 00 1A  000D 0016  00000001 00000002 00000003  0004 0005 0006 0000");
    let written = chunks_of(|packet| {
        packet.re_config(|params| {
            params.outgoing_ssn_reset(1, 2, Tsn(3), &[4, 5, 6]);
        });
    });
    assert_eq!(written, bytes);
}

#[test]
fn partial_reliability_and_interleaving() {
    let written = chunks_of(|packet| {
        packet.forward_tsn(Tsn(16), &[(1, 2)]);
        packet.i_forward_tsn(
            Tsn(16),
            &[SkippedMessage {
                stream_id: 1,
                unordered: true,
                mid: 2,
            }],
        );
        packet.i_data(&IData {
            tsn: Tsn(17),
            stream_id: 1,
            mid: 3,
            ppid_or_fsn: 4,
            unordered: true,
            begin: false,
            end: true,
            immediate: false,
            payload: &[0xFF],
        });
        packet.pad(4);
        packet.timestamp(Timestamp {
            sent: Some(7),
            echo: None,
        });
        packet.timestamp(Timestamp {
            sent: None,
            echo: Some(8),
        });
    });
    let bytes = hex("
        C0 00 00 0C  00000010  0001 0002
        C2 00 00 10  00000010  0001 0001 00000002
        40 05 00 15  00000011  0001 0000  00000003  00000004  FF 000000
        84 00 00 08  00000000
        A0 01 00 0C  00000007  00000000
        A0 02 00 0C  00000000  00000008
    ");
    assert_eq!(written, bytes);
    parse(&bytes, |chunks| {
        let [_, _, Chunk::IData(data), _, _, _] = chunks else {
            panic!("{chunks:?}")
        };
        assert_eq!((data.fsn(), data.ppid()), (4, None));
    });
}

/// RFC 4895 section 6.2: the hash covers the AUTH chunk, its hash zero, and all
/// chunks behind it.
#[test]
fn auth_covers_itself_and_what_follows() {
    let mut buf = Vec::new();
    let mut packet = PacketBuilder::new(&mut buf, support::HEADER);
    packet.cookie_echo(&[1, 2, 3, 4]);
    let slot = packet.auth(&Auth {
        shared_key_id: 2,
        hmac_id: 1,
        hmac: &[0; 20],
    });
    packet.asconf_ack(5, |_| {});
    let covered = hex(
        "0F 00 00 1C  0002 0001  00000000 00000000 00000000 00000000 00000000  80 00 00 08 00000005",
    );
    assert_eq!(packet.auth_covered(slot), covered);
    assert!(
        !packet.set_auth(slot, &[9; 19]),
        "a hash of another length is refused"
    );
    assert!(packet.set_auth(slot, &[9; 20]));
    packet.finish(Checksum::Crc32c);

    let mut chunks = Packet::parse(&buf).unwrap().chunks();
    let auth = chunks.nth(1).unwrap().unwrap();
    assert_eq!(
        auth.parse(),
        Ok(Chunk::Auth(Auth {
            shared_key_id: 2,
            hmac_id: 1,
            hmac: &[9; 20]
        }))
    );
    assert_eq!(chunks.rest(), &covered[28..]);
}

#[test]
fn names_are_those_of_the_rfcs() {
    assert_eq!(
        chunk_type::name(chunk_type::COOKIE_ECHO),
        Some("COOKIE ECHO")
    );
    assert_eq!((0..=u8::MAX).filter_map(chunk_type::name).count(), 24);
    assert_eq!(
        cause_code::name(cause_code::OUT_OF_RESOURCE),
        Some("Out of Resource")
    );
    assert_eq!((0..=u16::MAX).filter_map(cause_code::name).count(), 19);
}
