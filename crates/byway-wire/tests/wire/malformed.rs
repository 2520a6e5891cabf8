//! Bytes that lie about themselves. Each case says which error ends it, because
//! the core answers them differently.

use crate::support::packet_of;
use byway_wire::{
    CauseError, Causes, Chunk, ChunkError, Packet, PacketError, ParamError, Params, RawCause,
    RawParam, TlvError, chunk_type,
};

/// The first chunk of these bytes, read.
fn first(chunks: &[u8]) -> Result<(), ChunkError> {
    let packet = packet_of(chunks);
    let packet = Packet::parse(&packet).expect("a common header is there");
    packet
        .chunks()
        .next()
        .expect("bytes follow")
        .and_then(|raw| raw.parse())
        .map(|_| ())
}

#[test]
fn packet_shorter_than_its_header() {
    for have in 0..12 {
        assert_eq!(
            Packet::parse(&[0; 12][..have]),
            Err(PacketError::TooShort { have })
        );
    }
    assert_eq!(
        Packet::parse(&[0; 12])
            .expect("just a header")
            .chunks()
            .count(),
        0
    );
}

#[test]
fn chunk_list_that_breaks_off() {
    let cases: [(&[u8], TlvError); 7] = [
        (&[6], TlvError::HeaderTruncated { at: 0, have: 1 }),
        (&[6, 0, 0], TlvError::HeaderTruncated { at: 0, have: 3 }),
        (&[6, 0, 0, 0], TlvError::LengthTooSmall { at: 0, length: 0 }),
        (&[6, 0, 0, 3], TlvError::LengthTooSmall { at: 0, length: 3 }),
        (
            &[6, 0, 0, 5],
            TlvError::Overrun {
                at: 0,
                length: 5,
                have: 4,
            },
        ),
        (
            &[6, 0, 0xFF, 0xFF, 0, 0],
            TlvError::Overrun {
                at: 0,
                length: 65_535,
                have: 6,
            },
        ),
        // Padding of three bytes is skipped before the next header.
        (
            &[6, 0, 0, 5, 1, 0, 0, 0, 6, 0],
            TlvError::HeaderTruncated { at: 8, have: 2 },
        ),
    ];
    for (chunks, error) in cases {
        let packet = packet_of(chunks);
        let last = Packet::parse(&packet).unwrap().chunks().last();
        assert_eq!(last, Some(Err(ChunkError::List(error))), "of {chunks:?}");
    }
}

/// Some peers leave out the padding of the last chunk. Nothing lies behind it,
/// so this is read.
#[test]
fn missing_padding_of_the_last_chunk_is_accepted() {
    assert_eq!(first(&[10, 0, 0, 5, 0xAA]), Ok(()));
    let params = Params::new(&[0, 7, 0, 6, 1, 2]);
    assert_eq!(
        params
            .iter()
            .map(|raw| raw.unwrap().value)
            .collect::<Vec<_>>(),
        [[1, 2]]
    );
}

/// Padding is skipped whatever it holds (RFC 9260 section 3.2).
#[test]
fn contents_of_padding_are_ignored() {
    let packet = packet_of(&[10, 0, 0, 5, 0xAA, 0xFF, 0xFF, 0xFF, 11, 0, 0, 4]);
    let chunks: Vec<_> = Packet::parse(&packet)
        .unwrap()
        .chunks()
        .map(|raw| raw.unwrap().parse().unwrap())
        .collect();
    assert!(
        matches!(chunks[..], [Chunk::CookieEcho(echo), Chunk::CookieAck] if echo.cookie == [0xAA])
    );
}

#[test]
fn chunk_too_short_for_its_fixed_fields() {
    let needs = [
        (chunk_type::DATA, 12),
        (chunk_type::INIT, 16),
        (chunk_type::INIT_ACK, 16),
        (chunk_type::SACK, 12),
        (chunk_type::SHUTDOWN, 4),
        (chunk_type::AUTH, 4),
        (chunk_type::I_DATA, 16),
        (chunk_type::ASCONF, 4),
        (chunk_type::ASCONF_ACK, 4),
        (chunk_type::TIMESTAMP, 8),
        (chunk_type::FORWARD_TSN, 4),
        (chunk_type::I_FORWARD_TSN, 4),
    ];
    for (kind, need) in needs {
        for have in 0..need {
            let chunk = [&[kind, 0, 0, have as u8 + 4][..], &vec![0; have]].concat();
            assert_eq!(
                first(&chunk),
                Err(ChunkError::TooShort { kind, need, have })
            );
        }
    }
}

/// A receiver answers this with "No User Data" and the TSN, so it has to be
/// read (RFC 9260 section 6.2).
#[test]
fn data_without_user_data_is_read() {
    let packet = packet_of(&[0, 3, 0, 16, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0]);
    let chunk = Packet::parse(&packet)
        .unwrap()
        .chunks()
        .next()
        .unwrap()
        .unwrap()
        .parse()
        .unwrap();
    assert!(matches!(chunk, Chunk::Data(data) if data.tsn.0 == 7 && data.payload.is_empty()));
}

#[test]
fn entries_that_are_cut() {
    let forward = [192, 0, 0, 10, 0, 0, 0, 1, 0, 1];
    assert_eq!(
        first(&forward),
        Err(ChunkError::PartialEntry {
            kind: 192,
            entry: 4,
            have: 2
        })
    );
    let interleaved = [194, 0, 0, 12, 0, 0, 0, 1, 0, 1, 0, 0];
    assert_eq!(
        first(&interleaved),
        Err(ChunkError::PartialEntry {
            kind: 194,
            entry: 8,
            have: 4
        })
    );
}

#[test]
fn heartbeat_without_its_information() {
    for kind in [chunk_type::HEARTBEAT, chunk_type::HEARTBEAT_ACK] {
        let missing = Err(ChunkError::MandatoryParamMissing { kind });
        let overrun = TlvError::Overrun {
            at: 0,
            length: 9,
            have: 4,
        };
        assert_eq!(first(&[kind, 0, 0, 4]), missing);
        assert_eq!(
            first(&[kind, 0, 0, 8, 0, 7, 0, 4]),
            missing,
            "another parameter is in its place"
        );
        assert_eq!(
            first(&[kind, 0, 0, 8, 0, 1, 0, 9]),
            Err(ChunkError::Param {
                kind,
                error: ParamError::List(overrun)
            })
        );
    }
}

#[test]
fn asconf_without_its_address() {
    let kind = chunk_type::ASCONF;
    assert_eq!(
        first(&[kind, 0, 0, 8, 0, 0, 0, 1]),
        Err(ChunkError::MandatoryParamMissing { kind })
    );
    let other = [kind, 0, 0, 16, 0, 0, 0, 1, 0xC0, 5, 0, 8, 0, 0, 0, 0];
    assert_eq!(
        first(&other),
        Err(ChunkError::MandatoryParamMissing { kind })
    );
    let short = [kind, 0, 0, 14, 0, 0, 0, 1, 0, 5, 0, 6, 10, 0];
    let error = ParamError::Length {
        kind: 5,
        have: 2,
        rule: "an IPv4 address has 4",
    };
    assert_eq!(first(&short), Err(ChunkError::Param { kind, error }));
    // An address that reaches beyond the chunk.
    let beyond = [kind, 0, 0, 16, 0, 0, 0, 1, 0, 5, 0, 12, 10, 0, 0, 1];
    assert!(
        matches!(
            first(&beyond),
            Err(ChunkError::Param {
                kind: chunk_type::ASCONF,
                error: ParamError::List(_)
            })
        ),
        "{:?}",
        first(&beyond)
    );
}

#[test]
fn parameter_values_of_wrong_size() {
    // Type, sizes that are right; all others up to 24 are wrong.
    let cases: [(u16, &[usize]); 17] = [
        (5, &[4]),
        (6, &[16]),
        (9, &[4]),
        (12, &[0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24]),
        (13, &[12, 14, 16, 18, 20, 22, 24]),
        (14, &[4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24]),
        (15, &[4]),
        (16, &[8, 16]),
        (17, &[8]),
        (18, &[8]),
        (0x8000, &[0]),
        (0x8001, &[4]),
        (0x8004, &[0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24]),
        (0xC000, &[0]),
        (
            0xC003,
            &[
                4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
            ],
        ),
        (0xC005, &[4]),
        (0xC006, &[4]),
    ];
    for (kind, right) in cases {
        for size in 0..=24 {
            let value = vec![0; size];
            let read = RawParam {
                kind,
                value: &value,
                bytes: &[],
            }
            .parse();
            assert_eq!(
                read.is_ok(),
                right.contains(&size),
                "{kind:#06x} of {size} bytes: {read:?}"
            );
        }
    }
}

#[test]
fn address_change_without_an_address() {
    let read = |value: &[u8]| {
        RawParam {
            kind: 0xC001,
            value,
            bytes: &[],
        }
        .parse()
        .map(|_| ())
        .unwrap_err()
    };
    assert!(matches!(read(&[0; 3]), ParamError::Length { have: 3, .. }));
    assert!(matches!(read(&[0; 4]), ParamError::Length { have: 4, .. }));
    let nested = [0, 0, 0, 1, 0xC0, 1, 0, 8, 0, 0, 0, 1];
    assert_eq!(
        read(&nested),
        ParamError::NotAnAddress {
            kind: 0xC001,
            inner: 0xC001
        }
    );
    let overrun = TlvError::Overrun {
        at: 0,
        length: 8,
        have: 6,
    };
    assert_eq!(
        read(&[0, 0, 0, 1, 0, 5, 0, 8, 10, 0]),
        ParamError::List(overrun)
    );
    // An IPv4 address of three bytes, and of all kinds of requests.
    for kind in [0xC001, 0xC002, 0xC004] {
        let raw = RawParam {
            kind,
            value: &[0, 0, 0, 1, 0, 5, 0, 7, 10, 0, 0, 0],
            bytes: &[],
        };
        let error = raw.parse().map(|_| ()).unwrap_err();
        assert!(
            matches!(error, ParamError::Length { have: 3, .. }),
            "{error:?}"
        );
    }
}

#[test]
fn cause_values_of_wrong_size() {
    let cases: [(u16, usize); 9] = [
        (1, 4),
        (3, 4),
        (4, 0),
        (7, 0),
        (9, 4),
        (10, 0),
        (0x00A3, 0),
        (0x0105, 2),
        (2, 4),
    ];
    for (code, right) in cases {
        for size in 0..=8 {
            let value = vec![0; size];
            let read = RawCause {
                code,
                value: &value,
                bytes: &[],
            }
            .parse();
            assert_eq!(
                read.is_ok(),
                size == right,
                "{code} of {size} bytes: {read:?}"
            );
        }
    }
}

/// The count is not believed (RFC 9260 section 3.3.10.2).
#[test]
fn missing_parameter_count_beyond_the_cause() {
    for count in [0_u32, 2, 0x8000_0001, u32::MAX] {
        let value = [&count.to_be_bytes()[..], &[0, 7]].concat();
        let read = RawCause {
            code: 2,
            value: &value,
            bytes: &[],
        }
        .parse();
        assert!(
            matches!(
                read,
                Err(CauseError::Length {
                    code: 2,
                    have: 6,
                    ..
                })
            ),
            "{count}: {read:?}"
        );
    }
}

#[test]
fn cause_list_that_breaks_off_keeps_what_came_before() {
    let mut causes = Causes::new(&[0, 4, 0, 4, 0, 3, 0, 2]).iter();
    assert_eq!(
        causes.next().map(|cause| cause.map(|cause| cause.code)),
        Some(Ok(4))
    );
    let error = CauseError::List(TlvError::LengthTooSmall { at: 4, length: 2 });
    assert_eq!(causes.next(), Some(Err(error)));
    assert_eq!(causes.next(), None);
}
