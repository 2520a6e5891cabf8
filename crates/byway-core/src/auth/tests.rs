use super::*;

fn peer(random: u8, chunks: Option<&[u8]>, hmacs: &[u16]) -> PeerAuth {
    PeerAuth {
        random: [random; 32],
        chunks: chunks.map(SmallVec::from_slice),
        hmacs: hmacs.iter().flat_map(|h| h.to_be_bytes()).collect(),
    }
}

/// RFC 4895 section 6.1: type, length and value of each parameter, and no padding.
#[test]
fn the_vector_of_a_side_is_its_three_parameters_without_padding() {
    let own = own_vector(&[7; 32]);
    assert_eq!(own[..4], [0x80, 0x02, 0, 36]);
    assert_eq!(own[4..36], [7; 32]);
    // CHUNKS with two types has length 6; its padding is left out.
    assert_eq!(
        own[36..],
        [0x80, 0x03, 0, 6, 193, 128, 0x80, 0x04, 0, 8, 0, 3, 0, 1]
    );
    // A parameter that was not sent is omitted.
    assert_eq!(peer(7, None, &[1]).vector()[36..], [0x80, 0x04, 0, 6, 0, 1]);
    assert_eq!(peer(7, Some(&REQUIRED), &[3, 1]).vector(), own);
}

#[test]
fn the_written_parameters_are_those_of_the_vector() {
    let mut bytes = Vec::new();
    write_params(&mut ParamWriter::over(&mut bytes), &[7; 32]);
    bytes.drain(42..44); // the padding of CHUNKS
    assert_eq!(bytes, own_vector(&[7; 32]));
}

/// Section 6.1: the smaller number first; of two equal numbers the shorter one.
#[test]
fn the_order_of_the_vectors_in_the_key() {
    let rows: [(&[u8], &[u8], &[u8]); 5] = [
        (&[1, 2], &[1, 3], &[9, 1, 2, 1, 3]),
        (&[1, 3], &[1, 2], &[9, 1, 2, 1, 3]),
        (&[2], &[1, 0], &[9, 2, 1, 0]),
        (&[0, 5], &[5], &[9, 5, 0, 5]),
        (&[0, 9], &[1, 0, 0], &[9, 0, 9, 1, 0, 0]),
    ];
    for (a, b, expected) in rows {
        assert_eq!(association_key(&[9], a, b), expected, "{a:?} {b:?}");
        assert_eq!(association_key(&[9], b, a), expected, "{b:?} {a:?}");
    }
}

/// Both sides find the same key, and the hash covers every bit.
#[test]
fn what_one_side_signs_the_other_verifies() {
    for hmacs in [&[1_u16][..], &[3, 1], &[1, 3], &[77, 3]] {
        let of = |own: u8, other: u8| {
            let peer = peer(other, Some(&REQUIRED), &[3, 1]);
            Keys::new(&[own; 32], &peer, &[]).unwrap()
        };
        // A peer with another list than ours: both vectors differ, too.
        let z = peer(2, Some(&[193, 128, 0]), hmacs);
        let a_keys = Keys::new(&[1; 32], &z, &[]).unwrap();
        assert_eq!(a_keys.hash, z.hash().unwrap());
        let (a, b) = (of(1, 2), of(2, 1));
        let blank = a.blank();
        let mut chunk = vec![15, 0, 0, 40, 0, 0, 0, 3];
        chunk.extend_from_slice(blank.hmac);
        let hash = a.sign(&[&chunk, b"after"]);
        let auth = Auth {
            hmac: &hash,
            ..blank
        };
        assert_eq!(b.verify(&auth, &chunk, &[b"af", b"ter"]), Ok(()));
        assert_eq!(b.verify(&auth, &chunk, &[b"aftfr"]), Err(BadAuth::Wrong));
        for bit in 0..256 {
            let mut forged = hash.clone();
            forged[bit / 8] ^= 1 << (bit % 8);
            let auth = Auth {
                hmac: &forged,
                ..blank
            };
            assert_eq!(b.verify(&auth, &chunk, &[b"after"]), Err(BadAuth::Wrong));
        }
    }
}

#[test]
fn a_short_hash_or_another_key_or_algorithm_is_refused() {
    let keys = Keys::new(&[1; 32], &peer(2, None, &[3]), &[]).unwrap();
    let chunk = [0; 40];
    let hash = [0; 32];
    let auth = Auth {
        shared_key_id: 0,
        hmac_id: 3,
        hmac: &hash,
    };
    let verify = |auth: Auth<'_>| keys.verify(&auth, &chunk[..8 + auth.hmac.len()], &[]);
    assert_eq!(verify(Auth { hmac_id: 2, ..auth }), Err(BadAuth::Hash));
    assert_eq!(
        verify(Auth {
            shared_key_id: 1,
            ..auth
        }),
        Err(BadAuth::Key)
    );
    assert_eq!(
        verify(Auth {
            hmac: &hash[..31],
            ..auth
        }),
        Err(BadAuth::Wrong)
    );
    assert_eq!(verify(Auth { hmac: &[], ..auth }), Err(BadAuth::Wrong));
    assert_eq!(verify(auth), Err(BadAuth::Wrong));
    assert!(Keys::new(&[1; 32], &peer(2, None, &[2, 9]), &[]).is_none());
}

/// Section 6.3: with configured keys the empty key 0 opens nothing.
#[test]
fn configured_keys_replace_the_empty_one() {
    use crate::config::SharedKey;
    let shared = [SharedKey::new(4, b"secret"), SharedKey::new(5, b"next")];
    let with = |own: u8, other: u8, shared: &[SharedKey]| {
        Keys::new(&[own; 32], &peer(other, Some(&REQUIRED), &[3, 1]), shared).unwrap()
    };
    let (a, z, none) = (
        with(1, 2, &shared),
        with(2, 1, &shared[..1]),
        with(2, 1, &[]),
    );
    let blank = a.blank();
    assert_eq!(blank.shared_key_id, 4);
    let mut chunk = vec![15, 0, 0, 40, 0, 4, 0, 3];
    chunk.extend_from_slice(blank.hmac);
    let hash = a.sign(&[&chunk]);
    let auth = Auth {
        hmac: &hash,
        ..blank
    };
    assert_eq!(z.verify(&auth, &chunk, &[]), Ok(()));
    assert_eq!(none.verify(&auth, &chunk, &[]), Err(BadAuth::Key));
    assert_eq!(z.verify(&none.blank(), &chunk, &[]), Err(BadAuth::Key));
}

/// HMAC-SHA-1 and HMAC-SHA-256 of a key that another program computed:
/// `printf 'Hi There' | openssl dgst -mac HMAC -macopt hexkey:0b…`(RFC 2202 and RFC 4231,
/// first test case).
#[test]
fn the_hashes_are_those_of_the_standards() {
    let key = |hash| Keys {
        keys: SmallVec::from_iter([Key::new(0, &[0x0b; 20])]),
        hash,
    };
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    assert_eq!(
        hex(&key(HashKind::Sha1).sign(&[b"Hi There"])),
        "b617318655057264e28bc0b6fb378c8ef146be00"
    );
    assert_eq!(
        hex(&key(HashKind::Sha256).sign(&[b"Hi ", b"There"])),
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
    );
}

/// RFC 4895 section 3.3: the first hash of the peer's list that this side understands, here SHA-1.
#[test]
fn a_peer_that_prefers_sha_1_gets_it() {
    let z = peer(2, Some(&REQUIRED), &[1, 3]);
    let keys = Keys::new(&[1; 32], &z, &[]).unwrap();
    let blank = keys.blank();
    assert_eq!((blank.hmac_id, blank.hmac.len()), (1, 20));
    assert_eq!(keys.chunk_len(), 28);
    let mut chunk = vec![15, 0, 0, 28, 0, 0, 0, 1];
    chunk.extend_from_slice(blank.hmac);
    let key = association_key(&[], &own_vector(&[1; 32]), &z.vector());
    let mut mac = Hmac::<Sha1>::new_from_slice(&key).unwrap();
    mac.update(&chunk);
    mac.update(b"after");
    let expected = mac.finalize().into_bytes();
    assert_eq!(keys.sign(&[&chunk, b"after"])[..], expected[..]);
    let auth = Auth {
        hmac: &expected,
        ..blank
    };
    assert_eq!(keys.verify(&auth, &chunk, &[b"after"]), Ok(()));
    assert_eq!(keys.verify(&auth, &chunk, &[b"later"]), Err(BadAuth::Wrong));
}

/// A log must not have what would let its reader forge chunks.
#[test]
fn keys_are_not_printed() {
    let shared = crate::config::SharedKey::new(9, b"secret");
    assert_eq!(format!("{shared:?}"), "SharedKey { id: 9, .. }");
    let keys = Keys::new(&[1; 32], &peer(2, None, &[3]), &[shared]).unwrap();
    assert_eq!(format!("{keys:?}"), "Keys { hash: Sha256, .. }");
}
