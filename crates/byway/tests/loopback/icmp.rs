//! What ICMP says of packets in UDP, and what strangers say who have not seen them.

use crate::common::{PORT, any, bounded, client, pair};
use crate::skipped::skipped;
use byway::{
    Association, Closed, Config, ConnectError, Endpoint, EndpointOptions, LossReason, Message,
    PathState,
};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

#[tokio::test]
async fn a_set_up_with_a_port_where_nobody_listens_ends_at_once() {
    bounded(async {
        for here in ["127.0.0.1", "::1"] {
            let Ok(free) = UdpSocket::bind((here, 0)) else {
                skipped("::1, this machine has no IPv6");
                continue;
            };
            let nobody = free.local_addr().unwrap();
            drop(free);
            let endpoint = client(&[here], Config::byway());
            let began = Instant::now();
            let error = endpoint.connect(&[nobody], PORT).await.unwrap_err();
            let reason = match &error {
                ConnectError::Failed {
                    closed: Closed::Lost { reason, .. },
                    ..
                } => reason,
                other => panic!("{other}"),
            };
            assert_eq!(*reason, LossReason::PortUnreachable, "{here}");
            // Max.Init.Retransmits would be minutes.
            assert!(began.elapsed() < Duration::from_secs(20), "{here}");
            if here == "127.0.0.1" {
                // With an address where somebody listens, the set-up goes on there.
                let options = EndpointOptions::new(any(&["127.0.0.2"])).sctp_port(PORT);
                let server = Endpoint::bind(options).unwrap();
                let mut remote = vec![nobody];
                remote.extend(server.local_addresses());
                endpoint.connect(&remote, PORT).await.unwrap();
            }
        }
    })
    .await;
}

#[test]
fn a_peer_that_has_vanished_is_given_up_soon() {
    let start = || {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap()
    };
    let (here, there) = (start(), start());
    let server = there.block_on(async { crate::common::server(&["127.0.0.1"], Config::byway()) });
    let remote = server.local_addresses();
    let closed = here.block_on(bounded(async {
        let client = client(&["127.0.0.1"], Config::byway());
        let a = client.connect(&remote, PORT).await.unwrap();
        // Its sockets are closed without a word, as of a process that is killed.
        there.shutdown_background();
        while a.send(Message::new(0, vec![0; 1000])).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        a.closed().await
    }));
    let Closed::Lost { reason, .. } = closed else {
        panic!("{closed}");
    };
    assert_eq!(reason, LossReason::PortUnreachable);
}

/// Both ends of the forged messages' association.
const HERE: &str = "127.0.77.1:0";

/// A look at what passes on loopback, and a voice there; none without CAP_NET_RAW.
struct Wire {
    udp: Socket,
    icmp: Socket,
}

impl Wire {
    fn open() -> Option<Wire> {
        let open = |protocol| Socket::new(Domain::IPV4, Type::RAW, Some(protocol));
        match (open(Protocol::UDP), open(Protocol::ICMPV4)) {
            (Ok(udp), Ok(icmp)) => {
                // Not what other tests send.
                udp.bind(&HERE.parse::<SocketAddr>().unwrap().into())
                    .unwrap();
                udp.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
                Some(Wire { udp, icmp })
            }
            (Err(e), _) | (_, Err(e)) if e.kind() == ErrorKind::PermissionDenied => {
                skipped("no CAP_NET_RAW");
                None
            }
            (Err(e), _) | (_, Err(e)) => panic!("{e}"),
        }
    }

    /// The next packet from one UDP port to another, with its IP header.
    fn packet(&self, from: SocketAddr, to: SocketAddr) -> Vec<u8> {
        let ports = [from.port().to_be_bytes(), to.port().to_be_bytes()].concat();
        let mut room = vec![0; 65_536];
        loop {
            let len = (&self.udp).read(&mut room).unwrap();
            // A common header with a tag that is not 0, and a chunk.
            if room[20..24] == ports[..] && len >= 60 && room[32..36] != [0; 4] {
                return room[..len].to_vec();
            }
        }
    }

    /// Says this of a packet, of which the first bytes are quoted.
    fn say(&self, (kind, code, mtu): (u8, u8, u16), about: &[u8]) {
        let mut message = vec![kind, code, 0, 0, 0, 0];
        message.extend(mtu.to_be_bytes());
        message.extend(&about[..about.len().min(60)]);
        let sum: u32 = message
            .chunks(2)
            .map(|pair| u32::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)])))
            .sum();
        let folded = (sum & 0xffff) + (sum >> 16);
        let folded = (folded & 0xffff) + (folded >> 16);
        message[2..4].copy_from_slice(&(!(folded as u16)).to_be_bytes());
        let to: SocketAddr = HERE.parse().unwrap();
        self.icmp.send_to(&message, &to.into()).unwrap();
        (&self.icmp).flush().unwrap();
    }
}

async fn passes(from: &Association, to: &Association) {
    for n in 0..100_u8 {
        from.send(Message::new(0, vec![n; 3000])).await.unwrap();
    }
    for n in 0..100_u8 {
        assert_eq!(to.recv().await.unwrap().payload, vec![n; 3000]);
    }
}

/// The size of the client's packets, once it is this.
async fn pmtu_becomes(a: &Association, right: impl Fn(u32) -> bool) -> u32 {
    let mut found = 0;
    for _ in 0..3000 {
        found = a.paths()[0].pmtu;
        if right(found) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    found
}

#[tokio::test]
async fn too_big_counts_with_the_tag_and_forged_messages_do_nothing() {
    let Some(wire) = Wire::open() else { return };
    bounded(async {
        let p = pair(&["127.0.77.1"], Config::byway()).await;
        let at = |e: &Endpoint| e.local_addresses()[0];
        let (client, server) = (at(&p.client), at(&p.server));
        assert_eq!(pmtu_becomes(&p.a, |m| m == 9000).await, 9000);
        p.a.send(Message::new(0, vec![1; 100])).await.unwrap();
        p.z.recv().await.unwrap();
        let packet = wire.packet(client, server);
        let mut forged = packet.clone();
        // Behind the headers of IP and UDP and the ports of SCTP.
        forged[20 + 8 + 4] ^= 1;
        for _ in 0..100 {
            wire.say((3, 4, 1300), &forged);
            wire.say((3, 1, 0), &forged);
            wire.say((3, 3, 0), &forged);
            // Nobody can tell whose packet eight bytes are of.
            wire.say((3, 3, 0), &packet[..28]);
        }
        passes(&p.a, &p.z).await;
        tokio::time::sleep(Duration::from_millis(1200)).await;
        for _ in 0..100 {
            wire.say((3, 3, 0), &forged);
        }
        passes(&p.a, &p.z).await;
        let path = p.a.paths().remove(0);
        assert_eq!((path.pmtu, path.state), (9000, PathState::Active));
        // A size below the base is not believed, whoever says it.
        wire.say((3, 4, 600), &packet);
        passes(&p.a, &p.z).await;
        assert_eq!(p.a.paths()[0].pmtu, 9000);
        wire.say((3, 4, 1300), &packet);
        let found = pmtu_becomes(&p.a, |m| (1280..=1300).contains(&m)).await;
        assert!((1280..=1300).contains(&found), "{found}");
        passes(&p.a, &p.z).await;
    })
    .await;
}
