//! What a key log is good for: who has it and the packets reads everything.

use super::*;
use crate::{Expect, Handshake, SecretKey, Service, Session};
use rustls::KeyLog;
use std::sync::{Arc, Mutex};

#[derive(Debug, Default)]
struct Kept(Mutex<Vec<(String, Vec<u8>)>>);

impl KeyLog for Kept {
    fn log(&self, label: &str, _random: &[u8], secret: &[u8]) {
        let line = (label.to_owned(), secret.to_vec());
        self.0.lock().unwrap().push(line);
    }
}

impl Kept {
    fn reading(&self, label: &str) -> Reading {
        let lines = self.0.lock().unwrap();
        let line = lines.iter().find(|line| line.0 == label);
        Reading::new(&line.unwrap_or_else(|| panic!("no {label}")).1).unwrap()
    }
}

fn sessions() -> ([Arc<Kept>; 2], Session, Session) {
    let [mine, theirs] = [(); 2].map(|()| SecretKey::generate().unwrap());
    let expect = Expect::fingerprint(theirs.public_key().fingerprint().short());
    let logs = [(); 2].map(|()| Arc::new(Kept::default()));
    let [of_client, of_server] = logs.clone().map(|log| Some(log as Arc<dyn KeyLog>));
    let mut client = Handshake::client_logged(&mine, expect, Service::Files, of_client).unwrap();
    let mut server = Handshake::server_logged(&theirs, Service::Files, of_server).unwrap();
    while !(client.is_done() && server.is_done()) {
        while let Some(message) = client.next_message() {
            server.receive(&message).unwrap();
        }
        while let Some(message) = server.next_message() {
            client.receive(&message).unwrap();
        }
    }
    (logs, client.finish().unwrap(), server.finish().unwrap())
}

#[test]
fn who_has_the_key_log_of_either_side_reads_what_was_sealed() {
    let (logs, mut client, mut server) = sessions();
    let mut up = Vec::new();
    for (stream, text) in [(3, "one"), (0, "two"), (3, "three")] {
        up.push((
            stream,
            text,
            client.sealer.seal(stream, text.as_bytes()).unwrap(),
        ));
        client.sealer.sent(stream);
    }
    let down = server.sealer.seal(0, b"down").unwrap();
    for log in logs {
        let mut from_client = log.reading("CLIENT_TRAFFIC_SECRET_0");
        let mut from_server = log.reading("SERVER_TRAFFIC_SECRET_0");
        // Another stream, the other side's secret, or one that comes later does not do.
        assert_eq!(from_client.open(4, &up[0].2), None);
        assert_eq!(from_server.open(3, &up[0].2), None);
        assert_eq!(from_client.open(3, &up[2].2), None);
        for (stream, text, sealed) in &up {
            let opened = from_client.open(*stream, sealed).unwrap();
            assert_eq!(opened, text.as_bytes());
        }
        assert_eq!(from_server.open(0, &down).unwrap(), b"down");
        assert_eq!(from_server.open(0, &down[..OVERHEAD - 1]), None);
    }
}

#[test]
fn a_reader_follows_the_keys_and_a_stream_that_lags() {
    let (logs, mut client, _) = sessions();
    let mut reading = logs[0].reading("CLIENT_TRAFFIC_SECRET_0");
    let lags = client.sealer.seal(7, b"old").unwrap();
    client.sealer.sent(7);
    for generation in 1..4_u8 {
        client.sealer.turn_keys();
        let sealed = client.sealer.seal(0, &[generation]).unwrap();
        client.sealer.sent(0);
        assert_eq!(sealed[1], generation);
        assert_eq!(reading.open(0, &sealed).unwrap(), [generation]);
        if generation == 1 {
            assert_eq!(reading.open(7, &lags).unwrap(), b"old");
        }
    }
}
