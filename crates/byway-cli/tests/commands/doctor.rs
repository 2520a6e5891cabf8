//! What `byway doctor` says of a pair of addresses that sets no association up.

use crate::peers::{Victim, run, text};
use crate::relay::{Relay, Way, chunks};
use std::net::{SocketAddr, UdpSocket};

const COOKIE_ACK: u8 = 11;

/// What is said of the only pair to this address, which does not answer.
fn told_of(to: SocketAddr) -> String {
    let to = to.to_string();
    let out = run(&["doctor", "--to", &to, "--wait", "1s", "--json"]);
    assert_eq!(out.status.code(), Some(1), "{}", text(&out.stderr));
    let said: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    said["findings"][0].as_str().unwrap().to_owned()
}

/// A UDP socket that calls this with each datagram's source, until the test ends.
fn answers(with: impl Fn(&UdpSocket, SocketAddr) + Send + 'static) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    std::thread::spawn(move || {
        while let Ok((_, from)) = socket.recv_from(&mut [0; 2000]) {
            with(&socket, from);
        }
    });
    address
}

#[test]
fn who_answers_and_speaks_no_sctp_is_told_apart_from_silence() {
    let garbage = answers(|socket, from| {
        let _ = socket.send_to(b"HTTP/1.1 400 Bad Request\r\n\r\n", from);
    });
    let said = told_of(garbage);
    assert!(said.contains("came back that no SCTP peer sends"), "{said}");
    let silent = answers(|_, _| {});
    let said = told_of(silent);
    assert!(said.contains("nothing comes back"), "{said}");
}

/// What answered there was said to be no SCTP, and its user was told to start what ran.
#[test]
fn a_peer_whose_cookie_ack_is_lost_answers() {
    let victim = Victim::new("doctor-loss");
    let relay = Relay::start(victim.to, |way, packet| {
        let is_cookie_ack = chunks(&packet).iter().any(|chunk| chunk.1 == COOKIE_ACK);
        // And the byte by which `doctor` asks the kernel is no packet.
        match way == Way::ToClient && is_cookie_ack || packet.len() < 12 {
            true => vec![],
            false => vec![(way, packet)],
        }
    });
    let said = told_of(relay.address);
    assert!(said.contains("the other side answers ("), "{said}");
    assert!(said.contains("no association was set up in time"), "{said}");
    victim.stays_well();
}

/// One packet of any host was an answer.
#[test]
fn what_another_host_sends_is_no_answer() {
    let another = UdpSocket::bind("127.0.0.2:0").unwrap();
    let silent = answers(move |_, from| {
        let _ = another.send_to(b"stray", from);
    });
    let said = told_of(silent);
    assert!(said.contains("nothing comes back"), "{said}");
}
