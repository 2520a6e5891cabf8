use super::*;
use crate::key::AuthorizedKeys;
use crate::seal::Opened;
use crate::ticket::Secret;

fn keys() -> (SecretKey, SecretKey) {
    (
        SecretKey::generate().unwrap(),
        SecretKey::generate().unwrap(),
    )
}

fn ticket_of(server: &SecretKey) -> Ticket {
    Ticket {
        service: Service::Files,
        sctp_port: 5001,
        server: server.public_key().fingerprint().short(),
        secret: Some(Secret::generate().unwrap()),
        expires: None,
        addresses: vec!["127.0.0.1:9899".parse().unwrap()],
    }
}

/// Runs a handshake; the failure of either side.
fn meet(client: &mut Handshake, server: &mut Handshake) -> Result<(), HandshakeError> {
    for _ in 0..10 {
        while let Some(message) = client.next_message() {
            server.receive(&message)?;
        }
        while let Some(message) = server.next_message() {
            client.receive(&message)?;
        }
    }
    Ok(())
}

pub(crate) fn sessions() -> (Session, Session) {
    let (mine, theirs) = keys();
    let expect = Expect::fingerprint(theirs.public_key().fingerprint().short());
    let mut client = Handshake::client(&mine, expect, Service::Files).unwrap();
    let mut server = Handshake::server(&theirs, Service::Files).unwrap();
    meet(&mut client, &mut server).unwrap();
    (client.finish().unwrap(), server.finish().unwrap())
}

#[test]
fn both_sides_know_each_others_key_and_prove_the_secret() {
    let (mine, theirs) = keys();
    let ticket = ticket_of(&theirs);
    let expect = Expect::fingerprint(ticket.server);
    let mut client = Handshake::client(&mine, expect, Service::Files).unwrap();
    let mut server = Handshake::server(&theirs, Service::Files).unwrap();
    assert!(!client.is_done() && !server.is_done());
    meet(&mut client, &mut server).unwrap();
    let (client, server) = (client.finish().unwrap(), server.finish().unwrap());
    assert_eq!(client.peer, theirs.public_key());
    assert_eq!(server.peer, mine.public_key());

    let Request::Ticket(proof) = client.witness.request(Some(&ticket)) else {
        panic!("a ticket with a secret");
    };
    assert!(server.witness.proves(&ticket, &proof));
    let mut other = ticket_of(&theirs);
    assert!(!server.witness.proves(&other, &proof), "another secret");
    other.secret = ticket.secret.clone();
    other.expires = Some(1);
    assert!(!server.witness.proves(&other, &proof), "another expiry");
    // It cannot be given back.
    assert!(!client.witness.proves(&ticket, &proof));
    let Answer::Welcome(Some(answer)) = server.witness.welcome(Some(&ticket)) else {
        panic!("a ticket with a secret");
    };
    assert!(client.witness.proves(&ticket, &answer));
    // In another session it says nothing.
    assert!(!sessions().1.witness.proves(&ticket, &proof));
    assert_eq!(client.witness.request(None), Request::Key);
}

#[test]
fn a_server_with_another_key_learns_nothing_of_the_client() {
    let (mine, theirs) = keys();
    for expect in [
        Expect::fingerprint([7; 16]),
        Expect::one_of(AuthorizedKeys::default()),
    ] {
        let mut client = Handshake::client(&mine, expect, Service::Files).unwrap();
        let mut server = Handshake::server(&theirs, Service::Files).unwrap();
        let found = meet(&mut client, &mut server);
        assert_eq!(
            found,
            Err(HandshakeError::UnexpectedKey(theirs.public_key()))
        );
        // It is told.
        let alert = client.next_message().unwrap();
        assert_eq!(server.receive(&alert), Err(HandshakeError::Alert(BAD_KEY)));
        assert!(!server.is_done() && server.finish().is_err());
    }
}

#[test]
fn keys_of_a_list_are_expected() {
    let (mine, theirs) = keys();
    let list = AuthorizedKeys::parse(&theirs.public_key().to_line("")).unwrap();
    let mut client = Handshake::client(&mine, Expect::one_of(list), Service::Pipe).unwrap();
    let mut server = Handshake::server(&theirs, Service::Pipe).unwrap();
    meet(&mut client, &mut server).unwrap();
    assert!(client.is_done() && server.is_done());
}

#[test]
fn both_sides_must_mean_the_same_service() {
    let (mine, theirs) = keys();
    let expect = Expect::fingerprint(theirs.public_key().fingerprint().short());
    let mut client = Handshake::client(&mine, expect, Service::Files).unwrap();
    let mut server = Handshake::server(&theirs, Service::Tunnel).unwrap();
    assert!(meet(&mut client, &mut server).is_err());
    let alert = server.next_message().unwrap();
    assert_eq!(
        client.receive(&alert),
        Err(HandshakeError::Alert(OTHER_SERVICE))
    );
}

#[test]
fn a_byte_changed_anywhere_ends_the_handshake() {
    let (mine, theirs) = keys();
    let expect = Expect::fingerprint(theirs.public_key().fingerprint().short());
    // The number of messages of a handshake, in both directions.
    let mut messages = 0;
    for turn in 0.. {
        let mut client = Handshake::client(&mine, expect.clone(), Service::Files).unwrap();
        let mut server = Handshake::server(&theirs, Service::Files).unwrap();
        let (mut seen, mut failed) = (0, false);
        'all: for _ in 0..10 {
            for toward_server in [true, false] {
                let (from, to) = match toward_server {
                    true => (&mut client, &mut server),
                    false => (&mut server, &mut client),
                };
                while let Some(message) = from.next_message() {
                    let mut message = message.to_vec();
                    if seen == turn {
                        let at = message.len() * 2 / 3;
                        message[at] ^= 1;
                    }
                    seen += 1;
                    if to.receive(&message).is_err() {
                        failed = true;
                        break 'all;
                    }
                }
            }
        }
        if seen <= turn {
            messages = seen;
            break;
        }
        assert!(failed, "message {turn}");
    }
    assert!(messages >= 4, "{messages}");
}

#[test]
fn strange_messages_are_refused() {
    let (_, theirs) = keys();
    for (message, words) in [
        (&[][..], "too short"),
        (&[1], "too short"),
        (&[2, 0, 1, 2, 3], "version 2"),
        (&[1, 1, 1, 2, 3], "out of order"),
        (&[1, 3, 1, 2, 3], "out of order"),
        (&[1, 2, 40], "TLS alert 40"),
        (&[1, 0, 9, 9, 9, 9], "TLS"),
    ] {
        let mut server = Handshake::server(&theirs, Service::Files).unwrap();
        let error = server.receive(message).unwrap_err().to_string();
        assert!(error.contains(words), "{message:?}: {error}");
    }
    let mut server = Handshake::server(&theirs, Service::Files).unwrap();
    assert!(server.receive(&vec![1; LONGEST + 1]).is_err());
    // A message that TLS waits to be completed is kept, up to a limit.
    let mut server = Handshake::server(&theirs, Service::Files).unwrap();
    let begin = [&[1, 0, 1, 0, 0xff, 0xff][..], &[0; 10_000]].concat();
    let mut many = 0;
    while server.receive(&begin).is_ok() && many < 100 {
        many += 1;
    }
    assert!(many < 100, "it takes without end");
}

#[test]
fn messages_pass_in_both_directions() {
    let (mut client, mut server) = sessions();
    for (from, to) in [(0_u8, 1_u8), (1, 0)] {
        let sessions = [&mut client, &mut server];
        let [a, b] = sessions;
        let (from, to) = if from < to { (a, b) } else { (b, a) };
        let sealed = from.sealer.seal(0, b"hello").unwrap();
        from.sealer.sent(0);
        assert!(!sealed.windows(5).any(|w| w == b"hello"));
        let opened = to.opener.open(0, &sealed).unwrap();
        assert_eq!(opened, Opened::Data("hello".into()));
    }
}

/// Shown keys that are none, or another's.
fn false_keys(signer: &SecretKey, other: &SecretKey) -> [(&'static str, Arc<CertifiedKey>); 3] {
    let shown = |spki: Vec<u8>| {
        let spki = CertificateDer::from(spki);
        Arc::new(CertifiedKey::new(vec![spki], signer.signing()))
    };
    let mut of_another_kind = other.public_key().to_spki();
    of_another_kind[8] ^= 1;
    [
        ("another's key", shown(other.public_key().to_spki())),
        ("a key of another kind", shown(of_another_kind)),
        ("no key", shown(b"no key".to_vec())),
    ]
}

/// A client that shows what it likes.
fn client_that_shows(key: Option<Arc<CertifiedKey>>, expect: Expect) -> Handshake {
    let provider = provider();
    let (verifier, unexpected) = verifier(&provider, Some(expect));
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let mut config = match key {
        Some(key) => {
            let shown = AlwaysResolvesClientRawPublicKeys::new(key);
            config.with_client_cert_resolver(Arc::new(shown))
        }
        None => config.with_no_client_auth(),
    };
    config.alpn_protocols = vec![Service::Files.alpn().to_vec()];
    let name = ServerName::try_from("byway.invalid").unwrap();
    let tls =
        ClientConnection::new(Arc::new(config), Version::V1, name, PARAMETERS.to_vec()).unwrap();
    Handshake::begin(tls.into(), Prover::Client, unexpected)
}

#[test]
fn who_shows_a_key_and_has_not_its_private_half_is_not_let_in() {
    let (mine, theirs) = keys();
    let other = SecretKey::generate().unwrap();
    let expect = Expect::fingerprint(theirs.public_key().fingerprint().short());
    let shown = false_keys(&mine, &other).map(|(what, key)| (what, Some(key)));
    for (what, key) in shown.into_iter().chain([("nothing", None)]) {
        let mut client = client_that_shows(key, expect.clone());
        let mut server = Handshake::server(&theirs, Service::Files).unwrap();
        let found = meet(&mut client, &mut server);
        assert!(
            matches!(found, Err(HandshakeError::Tls(_))),
            "{what}: {found:?}"
        );
        assert!(!server.is_done() && server.finish().is_err(), "{what}");
    }
    // Its own key is taken.
    let mut client = client_that_shows(Some(certified(&mine)), expect);
    let mut server = Handshake::server(&theirs, Service::Files).unwrap();
    meet(&mut client, &mut server).unwrap();
    assert_eq!(server.finish().unwrap().peer, mine.public_key());
}

#[test]
fn a_server_that_shows_the_expected_key_and_has_not_its_private_half_learns_nothing() {
    let (mine, theirs) = keys();
    let stranger = SecretKey::generate().unwrap();
    let expect = Expect::fingerprint(theirs.public_key().fingerprint().short());
    for (what, key) in false_keys(&stranger, &theirs) {
        let provider = provider();
        let (verifier, unexpected) = verifier(&provider, None);
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .unwrap()
            .with_client_cert_verifier(verifier)
            .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(key)));
        config.alpn_protocols = vec![Service::Files.alpn().to_vec()];
        let tls = ServerConnection::new(Arc::new(config), Version::V1, PARAMETERS.to_vec());
        let mut server = Handshake::begin(tls.unwrap().into(), Prover::Server, unexpected);
        let mut client = Handshake::client(&mine, expect.clone(), Service::Files).unwrap();
        let found = meet(&mut client, &mut server);
        assert!(
            matches!(found, Err(HandshakeError::Tls(_))),
            "{what}: {found:?}"
        );
        let alert = client.next_message().unwrap();
        assert_eq!((alert.len(), alert[1]), (3, ALERT), "{what}");
        assert_eq!(client.next_message(), None, "{what}");
        assert!(!client.is_done() && client.finish().is_err(), "{what}");
    }
}

#[test]
fn handshake_bytes_in_the_clear_are_refused_once_there_are_keys() {
    let (mine, theirs) = keys();
    let expect = Expect::fingerprint(theirs.public_key().fingerprint().short());
    let mut client = Handshake::client(&mine, expect, Service::Files).unwrap();
    let mut server = Handshake::server(&theirs, Service::Files).unwrap();
    let hello = client.next_message().unwrap();
    server.receive(&hello).unwrap();
    let found = server.receive(&hello);
    assert_eq!(found, Err(HandshakeError::NotTls("a message out of order")));
    assert_eq!(server.next_message().unwrap()[..2], [VERSION, ALERT]);
}
