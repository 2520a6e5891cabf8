use super::*;
use crate::handshake::Session;
use crate::handshake::tests::sessions;
use proptest::prelude::*;

fn sent(session: &mut Session, stream: u16, payload: &[u8]) -> Bytes {
    let sealed = session.sealer.seal(stream, payload).unwrap();
    session.sealer.sent(stream);
    sealed
}

fn data(payload: &[u8]) -> Result<Opened, OpenError> {
    Ok(Opened::Data(Bytes::copy_from_slice(payload)))
}

#[test]
fn streams_are_opened_in_any_order_and_each_in_its_own() {
    let (mut client, mut server) = sessions();
    let one: Vec<Bytes> = (0..3).map(|n| sent(&mut client, 1, &[n])).collect();
    let two: Vec<Bytes> = (0..3).map(|n| sent(&mut client, 2, &[n])).collect();
    for (n, message) in (0..).zip(&two) {
        assert_eq!(server.opener.open(2, message), data(&[n]));
    }
    for (n, message) in (0..).zip(&one) {
        assert_eq!(server.opener.open(1, message), data(&[n]));
    }
}

#[test]
fn what_was_repeated_left_out_swapped_moved_or_sent_back_does_not_open() {
    for (name, stream, which) in [
        ("repeated", 1, 0),
        ("left out", 1, 2),
        ("moved to another stream", 2, 1),
    ] {
        let (mut client, mut server) = sessions();
        let messages: Vec<Bytes> = (0..3).map(|n| sent(&mut client, 1, &[n])).collect();
        assert_eq!(server.opener.open(1, &messages[0]), data(&[0]));
        let found = server.opener.open(stream, &messages[which]);
        assert_eq!(found, Err(OpenError::Forged), "{name}");
    }
    let (mut client, _) = sessions();
    let mine = sent(&mut client, 1, b"x");
    assert_eq!(client.opener.open(1, &mine), Err(OpenError::Forged));
    let (_, mut other) = sessions();
    assert_eq!(other.opener.open(1, &mine), Err(OpenError::Forged));
}

#[test]
fn a_message_that_was_not_sent_gives_its_number_to_the_next() {
    let (mut client, mut server) = sessions();
    let _ = client.sealer.seal(1, b"thrown away").unwrap();
    let next = sent(&mut client, 1, b"sent");
    assert_eq!(server.opener.open(1, &next), data(b"sent"));
}

#[test]
fn keys_change_before_their_limit_and_streams_may_lag() {
    let (mut client, mut server) = sessions();
    assert_eq!(client.sealer.limit, 1 << 22, "half of RFC 9001's limit");
    client.sealer.limit = 3;
    let lags = sent(&mut client, 9, b"slow");
    // 300 generations and more: the byte in the header begins again.
    for n in 0..1000_u32 {
        let message = sent(&mut client, 1, &n.to_be_bytes());
        if n == 3 {
            assert_eq!(server.opener.open(9, &lags), data(b"slow"));
        }
        assert_eq!(server.opener.open(1, &message), data(&n.to_be_bytes()));
    }
    assert_eq!(client.sealer.generation, server.opener.generation);
    assert_eq!(client.sealer.generation, (1000_u32 / 3) as u8);
}

#[test]
fn after_a_rest_the_next_keys_seal_and_streams_may_lag() {
    let (mut client, mut server) = sessions();
    let before = sent(&mut client, 0, b"welcome");
    for generation in 1..=3 {
        client.sealer.rest();
        let message = sent(&mut client, 1, b"file");
        assert_eq!(message[1], generation);
        assert_eq!(server.opener.open(1, &message), data(b"file"));
        if generation == 1 {
            assert_eq!(server.opener.open(0, &before), data(b"welcome"));
        }
    }
}

#[test]
fn a_forged_change_of_keys_changes_nothing() {
    let (mut client, mut server) = sessions();
    let message = sent(&mut client, 1, b"x");
    for generation in [1, 2, 255] {
        let mut forged = message.to_vec();
        forged[1] = generation;
        let found = server.opener.open(1, &forged);
        let expected = match generation {
            1 => OpenError::Forged,
            _ => OpenError::Generation,
        };
        assert_eq!(found, Err(expected));
    }
    assert_eq!(server.opener.open(1, &message), data(b"x"));
}

#[test]
fn the_end_tells_whether_all_came() {
    let (mut client, mut server) = sessions();
    let one = sent(&mut client, 5, b"x");
    let end = client.sealer.seal_end().unwrap();
    client.sealer.sent(0);
    assert_eq!(client.sealer.seal(5, b"y"), Err(SealError::AfterEnd));
    assert!(!server.opener.is_complete());
    assert_eq!(server.opener.open(0, &end), Ok(Opened::End));
    assert!(!server.opener.is_complete(), "a message is missing");
    assert_eq!(server.opener.open(5, &one), data(b"x"));
    assert!(server.opener.is_complete());
    assert_eq!(server.opener.open(0, &end), Err(OpenError::AfterEnd));
}

#[test]
fn only_stream_0_carries_ends_and_requests() {
    let (mut client, mut server) = sessions();
    let request = client.sealer.seal_admission(b"please").unwrap();
    client.sealer.sent(0);
    assert_eq!(server.opener.open(1, &request), Err(OpenError::Kind(2)));
    let opened = server.opener.open(0, &request);
    assert_eq!(opened, Ok(Opened::Admission("please".into())));
    for short in [&[][..], &[0], &[0, 0, 1]] {
        let found = server.opener.open(0, short);
        assert_eq!(found, Err(OpenError::Short(short.len())));
    }
}

#[test]
fn ends_and_kinds_that_a_peer_makes_up_are_refused() {
    // Of a kind that there is not.
    let (mut client, mut server) = sessions();
    let strange = client.sealer.seal_as(3, 0, b"x").unwrap();
    assert_eq!(server.opener.open(0, &strange), Err(OpenError::Kind(3)));
    // An end that says no number.
    for length in [0, 7, 9] {
        let (mut client, mut server) = sessions();
        let end = client.sealer.seal_as(END, 0, &vec![0; length]).unwrap();
        assert_eq!(server.opener.open(0, &end), Err(OpenError::Kind(END)));
        assert!(!server.opener.is_complete());
    }
    // An end that says fewer messages than come.
    let (mut client, mut server) = sessions();
    let late: Vec<Bytes> = (0..3).map(|n| sent(&mut client, 5, &[n])).collect();
    let end = client.sealer.seal_as(END, 0, &1_u64.to_be_bytes()).unwrap();
    assert_eq!(server.opener.open(0, &end), Ok(Opened::End));
    assert!(!server.opener.is_complete());
    assert_eq!(server.opener.open(5, &late[0]), data(&[0]));
    assert!(server.opener.is_complete());
    assert_eq!(server.opener.open(5, &late[1]), Err(OpenError::AfterEnd));
    // More than can be.
    let (mut client, mut server) = sessions();
    let end = client.sealer.seal_as(END, 0, &[255; 8]).unwrap();
    assert_eq!(server.opener.open(0, &end), Ok(Opened::End));
    assert!(!server.opener.is_complete());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_changed_bit_is_found(payload: Vec<u8>, at: prop::sample::Index, bit in 0..8_u8) {
        let (mut client, mut server) = sessions();
        let sealed = sent(&mut client, 1, &payload);
        let mut forged = sealed.to_vec();
        let at = at.index(forged.len());
        forged[at] ^= 1 << bit;
        prop_assert!(server.opener.open(1, &forged).is_err());
        prop_assert_eq!(server.opener.open(1, &sealed), data(&payload));
    }
}
