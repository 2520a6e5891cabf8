//! Handshake messages and sealed messages, as somebody on the way can make them.
#![no_main]

use byway_tls::{Expect, Handshake, Opened, SecretKey, Service, Session};
use libfuzzer_sys::fuzz_target;
use std::collections::VecDeque;
use std::sync::LazyLock;

static KEYS: LazyLock<(SecretKey, SecretKey)> = LazyLock::new(|| {
    let key = |seed| SecretKey::from_seed(&[seed; 32]).expect("any bytes are a key");
    (key(1), key(2))
});

fn begin() -> (Handshake, Handshake) {
    let (mine, theirs) = &*KEYS;
    let expect = Expect::fingerprint(theirs.public_key().fingerprint().short());
    let client = Handshake::client(mine, expect, Service::Files);
    let server = Handshake::server(theirs, Service::Files);
    (
        client.expect("the settings are sound"),
        server.expect("the settings are sound"),
    )
}

/// Passes a message on; false when there is none.
fn step(from: &mut Handshake, to: &mut Handshake) -> bool {
    let Some(message) = from.next_message() else {
        return false;
    };
    to.receive(&message).expect("an honest message");
    true
}

fn sessions() -> (Session, Session) {
    let (mut client, mut server) = begin();
    while step(&mut client, &mut server) || step(&mut server, &mut client) {}
    let (client, server) = (client.finish(), server.finish());
    (client.expect("it is done"), server.expect("it is done"))
}

/// Invented messages after so many honest ones.
fn handshake(data: &[u8]) {
    let Some((&honest, data)) = data.split_first() else {
        return;
    };
    let (mut client, mut server) = begin();
    for _ in 0..honest & 7 {
        let _ = step(&mut client, &mut server) || step(&mut server, &mut client);
    }
    let victim = if honest & 8 == 0 {
        &mut server
    } else {
        &mut client
    };
    let was_done = victim.is_done();
    for message in data.split(|b| *b == 0xff) {
        let failed = victim.receive(message).is_err();
        while victim.next_message().is_some() {}
        if failed {
            break;
        }
    }
    // Nobody else has the keys.
    assert!(
        was_done || !victim.is_done(),
        "an invented handshake was finished"
    );
}

/// What is sealed on three streams and meets somebody on the way.
fn messages(data: &[u8]) {
    let (mut client, mut server) = sessions();
    let mut ways: [VecDeque<(Vec<u8>, Vec<u8>)>; 3] = Default::default();
    let mut old: Option<Vec<u8>> = None;
    for op in data.as_chunks::<3>().0 {
        let stream = u16::from(op[0] >> 4) % 3;
        let way = &mut ways[usize::from(stream)];
        match op[0] & 7 {
            0..=2 => {
                let payload = vec![op[1]; usize::from(op[2])];
                let sealed = client.sealer.seal(stream, &payload).expect("short");
                if op[0] & 8 != 0 {
                    // Thrown away: the next one takes its number.
                    continue;
                }
                client.sealer.sent(stream);
                way.push_back((payload, sealed.to_vec()));
            }
            3 | 4 => {
                let Some((payload, sealed)) = way.pop_front() else {
                    continue;
                };
                let opened = server.opener.open(stream, &sealed);
                assert_eq!(opened, Ok(Opened::Data(payload.into())));
                old = Some(sealed);
            }
            5 => {
                let Some((_, sealed)) = way.front() else {
                    continue;
                };
                let mut forged = sealed.clone();
                let at = usize::from(op[1]) % forged.len();
                forged[at] ^= op[2];
                if forged != *sealed {
                    assert!(server.opener.open(stream, &forged).is_err());
                }
            }
            6 => {
                if let Some(old) = &old {
                    assert!(server.opener.open(stream, old).is_err());
                }
            }
            _ => {
                if let Some((_, second)) = way.get(1) {
                    assert!(server.opener.open(stream, second).is_err());
                }
                assert!(server.opener.open(stream, op).is_err());
            }
        }
    }
}

fuzz_target!(|data: &[u8]| {
    match data.split_first() {
        Some((0, data)) => handshake(data),
        Some((_, data)) => messages(data),
        None => {}
    }
});
