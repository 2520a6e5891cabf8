//! The largest of everything: what fits is written whole, what does not is
//! left out, cut or refused as documented.

use crate::support::{build, read};
use byway_wire::{CauseWriter, Causes, Chunk, Data, ParamWriter, Params, Tsn};

/// Everything that can arrive in one chunk can be echoed in one chunk.
#[test]
fn echoes_of_the_largest_chunk() {
    let cookie = vec![1; 65_531];
    let info = vec![2; 65_527];
    let packet = build(|packet| {
        packet.cookie_echo(&cookie);
        packet.heartbeat(&info);
    });
    let [Chunk::CookieEcho(echo), Chunk::Heartbeat(heartbeat)] = read(&packet)[..] else {
        panic!("two chunks")
    };
    assert_eq!((echo.cookie, heartbeat.info), (&cookie[..], &info[..]));
    assert_eq!(
        build(|packet| packet.heartbeat_ack(heartbeat.info)).len(),
        12 + 65_536
    );
}

/// A cause that would be longer than a chunk is truncated, not refused: whoever sent
/// what it echoes decides its size.
#[test]
fn oversized_cause_is_cut() {
    let chunk = vec![3; 65_535];
    let packet = build(|packet| {
        packet.error(|causes| {
            assert!(!causes.unrecognized_chunk_type(&chunk));
            assert!(!causes.stale_cookie(1), "nothing fits behind it");
        });
    });
    let [Chunk::Error(error)] = read(&packet)[..] else {
        panic!("one ERROR")
    };
    let causes: Vec<_> = error.causes.iter().map(Result::unwrap).collect();
    assert!(matches!(causes[..], [cause] if cause.value.len() == 65_527));
}

#[test]
fn oversized_parameter_is_left_out() {
    let mut buf = Vec::new();
    let mut params = ParamWriter::over(&mut buf);
    assert!(!params.random(&vec![0; 65_532]));
    assert!(params.random(&[1, 2, 3]));
    assert_eq!(params.room(), 65_535 - 8);
    let kept: Vec<_> = Params::new(&buf)
        .iter()
        .map(|param| param.unwrap().value)
        .collect();
    assert_eq!(kept, [[1, 2, 3]]);
}

/// Half of a list would say something else, so a list is written whole or not at all.
#[test]
fn list_of_numbers_that_does_not_fit_is_left_out() {
    let mut buf = Vec::new();
    let mut params = ParamWriter::over(&mut buf);
    assert!(!params.hmac_algo(&[3; 32_766]));
    assert!(params.hmac_algo(&[3; 32_765]));
    assert!(!params.error_cause_indication(1, |_| panic!("no room for causes")));
    assert_eq!(buf.len(), 65_534);
    let mut buf = Vec::new();
    let mut causes = CauseWriter::over(&mut buf);
    assert!(!causes.missing_mandatory_parameter(&[7; 32_764]));
    assert_eq!(causes.room(), 65_535);
    assert!(causes.missing_mandatory_parameter(&[7, 8]));
    assert_eq!(causes.room(), 65_535 - 12);
    assert_eq!(Causes::new(&buf).iter().count(), 1);
}

#[test]
fn largest_data_chunk() {
    let payload = vec![4; 65_519];
    let data = Data {
        tsn: Tsn(1),
        stream_id: 0,
        ssn: 0,
        ppid: 0,
        unordered: false,
        begin: true,
        end: true,
        immediate: false,
        payload: &payload,
    };
    let packet = build(|packet| packet.data(&data));
    assert_eq!(read(&packet), [Chunk::Data(data)]);
}

#[test]
#[should_panic(expected = "a chunk's value is at most 65531 bytes")]
fn larger_data_chunk_is_refused() {
    let payload = vec![4; 65_520];
    let data = Data {
        tsn: Tsn(1),
        stream_id: 0,
        ssn: 0,
        ppid: 0,
        unordered: false,
        begin: true,
        end: true,
        immediate: false,
        payload: &payload,
    };
    build(|packet| packet.data(&data));
}
