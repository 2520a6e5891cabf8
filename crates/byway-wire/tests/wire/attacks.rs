//! Known attacks on SCTP stacks that a parser alone can stop. The numbers
//! are the CVEs that other stacks earned with them.

use crate::support::{HEADER, packet_of, read};
use byway_wire::{
    Cause, CauseError, Causes, Checksum, Chunk, ChunkError, InitFields, Packet, PacketBuilder,
    ParamError, Params, RawChunk, RawParam, TlvError, Tsn, UnknownAction, chunk_type,
};

/// CVE-2016-9555, CVE-2024-50299: an out-of-the-blue packet whose first chunk
/// is too short for a chunk. Its length is checked before reading its
/// type.
#[test]
fn out_of_the_blue_short_first_chunk() {
    for kind in 0..=255 {
        for tail in [
            &[kind][..],
            &[kind, 0],
            &[kind, 0, 0],
            &[kind, 0, 0, 0],
            &[kind, 0, 0, 3],
            &[kind, 0, 0, 5],
        ] {
            let packet = packet_of(tail);
            let mut chunks = Packet::parse(&packet).unwrap().chunks();
            assert!(
                matches!(chunks.next(), Some(Err(ChunkError::List(_)))),
                "{tail:?}"
            );
            assert_eq!(chunks.next(), None, "{tail:?}");
        }
    }
}

/// CVE-2010-0008, CVE-2026-99128: a chunk length of 0 to 3 must neither loop
/// nor hide what follows it.
#[test]
fn chunk_length_zero_to_three() {
    for length in 0..4 {
        // A -> COOKIE ACK, chunk of impossible length, COOKIE ACK -> Z
        let packet = packet_of(&[11, 0, 0, 4, 0xC5, 0, 0, length, 11, 0, 0, 4]);
        let chunks: Vec<_> = Packet::parse(&packet).unwrap().chunks().collect();
        let [Ok(first), Err(error)] = chunks[..] else {
            panic!("{chunks:?}")
        };
        assert_eq!(first.kind, chunk_type::COOKIE_ACK);
        assert_eq!(
            error,
            ChunkError::List(TlvError::LengthTooSmall {
                at: 4,
                length: length.into()
            })
        );
    }
}

/// CVE-2019-20503, CVE-2026-53225, CVE-2026-74287: parameters that reach past
/// their chunk, although bytes of the next chunk lie there.
#[test]
fn parameter_overrun_or_truncation() {
    let cases: [(&[u8], TlvError); 4] = [
        (
            &[0, 5, 0, 9, 10, 0, 0, 1],
            TlvError::Overrun {
                at: 0,
                length: 9,
                have: 8,
            },
        ),
        (
            &[0, 5, 0xFF, 0xFF],
            TlvError::Overrun {
                at: 0,
                length: 65_535,
                have: 4,
            },
        ),
        (
            &[0xC0, 0, 0, 4, 0, 5],
            TlvError::HeaderTruncated { at: 4, have: 2 },
        ),
        (
            &[0xC0, 0, 0, 4, 0, 5, 0, 1],
            TlvError::LengthTooSmall { at: 4, length: 1 },
        ),
    ];
    for (params, error) in cases {
        let mut init = vec![chunk_type::INIT, 0, 0, 20 + params.len() as u8];
        init.extend_from_slice(&[1; 16]);
        init.extend_from_slice(params);
        // What would be read if the walk left the chunk.
        init.extend_from_slice(&[0xEE; 64]);
        let packet = packet_of(&init);
        let chunk = Packet::parse(&packet)
            .unwrap()
            .chunks()
            .next()
            .unwrap()
            .unwrap()
            .parse()
            .unwrap();
        let Chunk::Init(init) = chunk else {
            panic!("{chunk:?}")
        };
        assert_eq!(
            init.params.iter().last(),
            Some(Err(ParamError::List(error)))
        );
        assert_eq!(init.params.as_bytes(), params);
    }
}

/// CVE-2010-1173: an INIT full of unknown parameters that all ask to be
/// reported. The reply stays within one PMTU, and is still sound.
#[test]
fn unknown_parameter_bomb() {
    let bomb = [0xFF, 0xFF, 0, 4].repeat(16_000);
    let mut buf = Vec::new();
    let mut reply = PacketBuilder::new(&mut buf, HEADER).with_limit(1_472);
    let fields = InitFields {
        initiate_tag: 1,
        a_rwnd: 2,
        outbound_streams: 1,
        inbound_streams: 1,
        initial_tsn: Tsn(1),
    };
    reply.init(true, &fields, |params| {
        assert!(
            params.state_cookie(&[7; 101]),
            "what matters is written first"
        );
        for unknown in Params::new(&bomb) {
            let unknown = unknown.unwrap();
            assert_eq!(
                RawParam::unknown_action(unknown.kind),
                UnknownAction::SkipAndReport
            );
            params.unrecognized_parameter(unknown.bytes);
        }
    });
    let len = reply.finish(Checksum::Crc32c);
    assert!(len <= 1_472 && len > 1_460, "{len}");
    let [Chunk::InitAck(init)] = read(&buf)[..] else {
        panic!("one INIT ACK")
    };
    assert!(
        init.params
            .iter()
            .all(|param| param.is_ok_and(|param| param.parse().is_ok()))
    );
}

/// The same through an ERROR: echoed parameters are cut at the PMTU.
#[test]
fn unknown_parameter_bomb_in_an_error() {
    let bomb = [0xFF, 0xFF, 0, 4].repeat(16_000);
    for limit in 0..80 {
        let mut buf = Vec::new();
        let mut reply = PacketBuilder::new(&mut buf, HEADER).with_limit(limit);
        let mut whole = true;
        reply.error(|causes| whole = causes.unrecognized_parameters(&bomb));
        assert!(!whole, "the caller learns that it was cut");
        let len = reply.finish(Checksum::Crc32c);
        assert!(len <= limit.max(16), "{len} of {limit}");
        let [Chunk::Error(error)] = read(&buf)[..] else {
            panic!("one ERROR")
        };
        assert!(error.causes.iter().all(|cause| cause.is_ok()));
    }
}

/// CVE-2012-6056, and a fix in dcsctp 0.1.11: a SACK whose counts promise more than it
/// holds. Refused, and the lists of an accepted one cost what it weighs.
#[test]
fn gap_block_or_duplicate_count_bomb() {
    let cases: [(u16, u16, usize, bool); 9] = [
        (0, 0, 0, true),
        (1, 0, 0, false),
        (0, 1, 0, false),
        (1, 1, 7, false),
        (1, 1, 8, true),
        (u16::MAX, 0, 8, false),
        (0, u16::MAX, 8, false),
        (u16::MAX, u16::MAX, 8, false),
        (2, u16::MAX, 8, false),
    ];
    for (gap_blocks, duplicates, have, sound) in cases {
        let length = (16 + have) as u16;
        let mut sack = vec![chunk_type::SACK, 0];
        sack.extend_from_slice(&length.to_be_bytes());
        sack.extend_from_slice(&[0; 8]);
        sack.extend_from_slice(&gap_blocks.to_be_bytes());
        sack.extend_from_slice(&duplicates.to_be_bytes());
        sack.resize(usize::from(length), 0);
        let raw = RawChunk {
            kind: chunk_type::SACK,
            flags: 0,
            value: &sack[4..],
            bytes: &sack,
            tail: &[],
        };
        match raw.parse() {
            Ok(Chunk::Sack(sack)) => {
                assert!(sound);
                assert_eq!(sack.gap_block_count(), usize::from(gap_blocks));
                assert_eq!(sack.duplicate_count(), usize::from(duplicates));
            }
            read => {
                assert!(!sound);
                assert_eq!(
                    read,
                    Err(ChunkError::SackCounts {
                        gap_blocks,
                        duplicates,
                        have
                    })
                );
            }
        }
    }
}

/// CVE-2026-64551: a Stale Cookie cause without its staleness. The chunk is
/// still an ERROR; the cause is refused.
#[test]
fn short_stale_cookie_cause() {
    for size in 0..4 {
        let cause = [&[0, 3, 0, 4 + size][..], &vec![0; size.into()]].concat();
        let read: Vec<_> = Causes::new(&cause)
            .iter()
            .map(|raw| raw.and_then(|raw| raw.parse()))
            .collect();
        assert!(
            matches!(read[..], [Err(CauseError::Length { code: 3, .. })]),
            "{read:?}"
        );
    }
    let cause = [0, 3, 0, 8, 0, 0, 0, 9];
    let read = Causes::new(&cause).iter().next().unwrap().unwrap().parse();
    assert_eq!(read, Ok(Cause::StaleCookie { staleness_us: 9 }));
}

/// The upper two bits say what happens to an unknown type (RFC 9260 section
/// 3.2), so a new chunk cannot be used to make a receiver chatter.
#[test]
fn unknown_types_follow_their_upper_bits() {
    let cases = [
        (0x00, UnknownAction::Stop, true, false),
        (0x40, UnknownAction::StopAndReport, true, true),
        (0x80, UnknownAction::Skip, false, false),
        (0xC0, UnknownAction::SkipAndReport, false, true),
    ];
    for (top, action, stops, reports) in cases {
        assert_eq!(RawChunk::unknown_action(top | 0x3F), action);
        assert_eq!(RawParam::unknown_action(u16::from(top | 0x3F) << 8), action);
        assert_eq!((action.stops(), action.reports()), (stops, reports));
    }
}
