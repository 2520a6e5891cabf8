//! SCTP without UDP (protocol 132), and beside it. These tests need CAP_NET_RAW.

use crate::common::{PORT, any, bounded};
use crate::skipped::skipped;
use byway::{
    Association, BindError, Closed, Config, ConnectError, Encapsulation, Endpoint, EndpointOptions,
    LossReason, Message, PathId, PathState, Rule,
};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{ErrorKind, Read};
use std::net::SocketAddr;
use std::time::Duration;

/// An endpoint, or none if this process may not open raw sockets. Each test has addresses of its
/// own: without UDP a port of an address is in use once on a host.
fn endpoint(ips: &[&str], encapsulation: Encapsulation, sctp_port: u16) -> Option<Endpoint> {
    match bind(any(ips), encapsulation, sctp_port) {
        Ok(endpoint) => Some(endpoint),
        Err(BindError::Raw { source, .. }) if source.kind() == ErrorKind::PermissionDenied => {
            skipped("no CAP_NET_RAW");
            None
        }
        Err(BindError::KernelSctp) => {
            skipped("the kernel's SCTP is loaded");
            None
        }
        Err(e) => panic!("{e}"),
    }
}

fn bind(
    local: Vec<SocketAddr>,
    encapsulation: Encapsulation,
    sctp_port: u16,
) -> Result<Endpoint, BindError> {
    let options = EndpointOptions::new(local)
        .encapsulation(encapsulation)
        .sctp_port(sctp_port)
        .config(Config::byway());
    Endpoint::bind(options)
}

/// Sends messages to the other end and reads them there.
async fn passes(from: &Association, to: &Association) {
    for n in 0..200_u8 {
        from.send(Message::new(0, vec![n; 3000])).await.unwrap();
    }
    for n in 0..200_u8 {
        assert_eq!(to.recv().await.unwrap().payload, vec![n; 3000]);
    }
}

/// Waits until both sides have these paths, as the addresses of the other side, and all are active.
async fn has_paths(a: &Association, expected: &[SocketAddr]) {
    let mut found = Vec::new();
    for _ in 0..500 {
        let paths = a.paths();
        found = paths.iter().map(|p| (p.remote, p.state)).collect();
        let there = |e: &SocketAddr| found.contains(&(*e, PathState::Active));
        if found.len() == expected.len() && expected.iter().all(there) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{found:?} in place of {expected:?}");
}

#[tokio::test]
async fn messages_pass_without_udp() {
    bounded(async {
        for ips in [&["127.0.1.1", "127.0.1.2"][..], &["::1"]] {
            let Some(server) = endpoint(ips, Encapsulation::None, PORT) else {
                return;
            };
            assert_eq!(server.local_addresses(), any(ips));
            let client = endpoint(ips, Encapsulation::None, 0).unwrap();
            assert!(client.sctp_port() >= 49_152);
            let remote = any(ips);
            let (a, z) = tokio::join!(client.connect(&remote, PORT), server.accept());
            let (a, z) = (a.unwrap(), z.unwrap());
            has_paths(&a, &any(ips)).await;
            has_paths(&z, &any(ips)).await;
            passes(&a, &z).await;
            passes(&z, &a).await;
            a.shutdown().await.unwrap();
            assert_eq!(z.closed().await, Closed::Gracefully);
            tokio::join!(client.close(), server.close());
        }
    })
    .await;
}

// client ==UDP== server 127.0.2.1
//   \==IP=== server 127.0.2.2
#[tokio::test]
async fn one_association_has_paths_of_both_kinds() {
    bounded(async {
        let ips = ["127.0.2.1", "127.0.2.2"];
        let Some(server) = endpoint(&ips, Encapsulation::Both, PORT) else {
            return;
        };
        let client = endpoint(&ips, Encapsulation::Both, 0).unwrap();
        let there = server.local_addresses();
        let remote = [there[0], any(&ips)[1]];
        let (a, z) = tokio::join!(client.connect(&remote, PORT), server.accept());
        let (a, z) = (a.unwrap(), z.unwrap());
        has_paths(&a, &remote).await;
        // The server took the client's second address for one in UDP, until it was heard without.
        let here = client.local_addresses();
        has_paths(&z, &[here[0], any(&ips)[1]]).await;
        for path in a.paths() {
            a.set_primary(path.path).unwrap();
            passes(&a, &z).await;
        }
        for path in z.paths() {
            z.set_primary(path.path).unwrap();
            passes(&z, &a).await;
        }
        // They stay as they are.
        has_paths(&a, &remote).await;
        has_paths(&z, &[here[0], any(&ips)[1]]).await;
    })
    .await;
}

#[tokio::test]
async fn an_answer_leaves_as_the_packet_came() {
    bounded(async {
        let Some(server) = endpoint(&["127.0.3.1"], Encapsulation::Both, PORT) else {
            return;
        };
        for (encapsulation, remote) in [
            (Encapsulation::Udp, server.local_addresses()),
            (Encapsulation::None, any(&["127.0.3.1"])),
        ] {
            let client = endpoint(&["127.0.3.2"], encapsulation, 0).unwrap();
            let (a, z) = tokio::join!(client.connect(&remote, PORT), server.accept());
            let (a, z) = (a.unwrap(), z.unwrap());
            passes(&a, &z).await;
            passes(&z, &a).await;
            assert_eq!(z.paths()[0].remote, client.local_addresses()[0]);
        }
    })
    .await;
}

#[tokio::test]
async fn a_port_of_an_address_is_in_use_once_and_others_are_not_disturbed() {
    bounded(async {
        let ip = ["127.0.4.1"];
        let Some(first) = endpoint(&ip, Encapsulation::None, PORT) else {
            return;
        };
        for encapsulation in [Encapsulation::None, Encapsulation::Both] {
            let error = bind(any(&ip), encapsulation, PORT).unwrap_err();
            let said = error.to_string();
            assert!(said.contains("SCTP port 5001 of 127.0.4.1"), "{said}");
        }
        // Two servers on one address. Neither answers what is for the other.
        let second = endpoint(&ip, Encapsulation::None, PORT + 1).unwrap();
        let client = endpoint(&["127.0.4.2"], Encapsulation::None, 0).unwrap();
        let mut kept = Vec::new();
        for (server, port) in [(&first, PORT), (&second, PORT + 1)] {
            let remote = any(&ip);
            let (a, z) = tokio::join!(client.connect(&remote, port), server.accept());
            let (a, z) = (a.unwrap(), z.unwrap());
            passes(&a, &z).await;
            kept.push((a, z));
        }
        assert_eq!(first.stats().out_of_the_blue, 0);
        assert_eq!(second.stats().out_of_the_blue, 0);
        assert_eq!(client.stats().out_of_the_blue, 0);
        first.abort(b"").await;
        endpoint(&ip, Encapsulation::None, PORT).expect("it is free again");
    })
    .await;
}

#[tokio::test]
async fn where_nobody_takes_sctp_the_set_up_fails_at_once() {
    bounded(async {
        let Some(client) = endpoint(&["127.0.5.1"], Encapsulation::None, 0) else {
            return;
        };
        let remote = any(&["127.0.5.2"]);
        let error = client.connect(&remote, PORT).await.unwrap_err();
        let ConnectError::Failed { closed, .. } = error else {
            panic!("{error}");
        };
        let reason = match closed {
            Closed::Lost { reason, .. } => reason,
            other => panic!("{other}"),
        };
        assert_eq!(reason, LossReason::ProtocolUnreachable);
    })
    .await;
}

#[tokio::test]
async fn forged_icmp_ends_no_association_without_udp() {
    bounded(async {
        let (ours, theirs) = (["127.0.7.1"], ["127.0.7.2"]);
        let Some(server) = endpoint(&theirs, Encapsulation::None, PORT) else {
            return;
        };
        let client = endpoint(&ours, Encapsulation::None, 0).unwrap();
        let remote = any(&theirs);
        let (a, z) = tokio::join!(client.connect(&remote, PORT), server.accept());
        let (a, z) = (a.unwrap(), z.unwrap());
        let forger = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4)).unwrap();
        let say = |code: u8, tag: [u8; 4]| {
            let mut message = vec![3, code, 0, 0, 0, 0, 5, 20];
            message.extend([0x45, 0, 0, 40, 0, 0, 0, 0, 64, 132, 0, 0]);
            message.extend([127, 0, 7, 1, 127, 0, 7, 2]);
            message.extend(client.sctp_port().to_be_bytes());
            message.extend(PORT.to_be_bytes());
            message.extend(tag);
            message.extend([0; 4]);
            let to = any(&ours)[0].into();
            forger.send_to(&message, &to).unwrap();
        };
        let tag = tag_towards(&server, &a).await;
        // Everything is right but the verification tag, which a stranger has to guess.
        let wrong = [tag[0] ^ 1, tag[1], tag[2], tag[3]];
        let ignored = || client.stats().refusals.of(Rule::Icmp);
        assert_eq!(ignored(), 0);
        for round in 0..12 {
            (0..16).for_each(|code| say(code, wrong));
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert_eq!(a.paths()[0].state, PathState::Active, "{round}");
        }
        passes(&a, &z).await;
        assert_eq!(a.paths()[0].pmtu, 9000);
        // Each of them came; "Port Unreachable" says nothing here.
        while ignored() < 12 * 15 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // What has the right tag counts: "Fragmentation Needed", 1300.
        say(4, tag);
        while a.paths()[0].pmtu > 1300 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(ignored(), 12 * 15);
        passes(&a, &z).await;
    })
    .await;
}

/// The tag of the packets of this association to an endpoint without UDP, as they pass.
async fn tag_towards(to: &Endpoint, from: &Association) -> [u8; 4] {
    let wire = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(132))).unwrap();
    wire.bind(&to.local_addresses()[0].into()).unwrap();
    wire.set_nonblocking(true).unwrap();
    from.request_heartbeat(PathId(0)).unwrap();
    let mut room = [0; 9000];
    loop {
        // Behind the headers of IPv4, and ports: not those of what the endpoint itself sends.
        if let Ok(28..) = (&wire).read(&mut room)
            && room[22..24] == to.sctp_port().to_be_bytes()
        {
            return room[24..28].try_into().unwrap();
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn ports_that_cannot_be_are_refused() {
    let address: SocketAddr = "127.0.6.1:9899".parse().unwrap();
    let error = bind(vec![address], Encapsulation::None, PORT).unwrap_err();
    assert!(matches!(error, BindError::UdpPort(a) if a == address));
    let Some(client) = endpoint(&["127.0.6.1"], Encapsulation::None, 0) else {
        return;
    };
    let error = client.connect(&[address], PORT).await.unwrap_err();
    assert_eq!(error, ConnectError::UdpPort(address));
}
