//! Clients at the doors of a `byway forward`.

use crate::peers::{filled, wait_until};
use crate::tunnel::{Forward, echo, end, serve, tcp_server};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::{Read, Write};
use std::net::TcpStream;

/// This process has both ends of each connection.
fn raise_limit() {
    let most = getrlimit(Resource::Nofile).maximum;
    let limit = Rlimit {
        current: most,
        maximum: most,
    };
    setrlimit(Resource::Nofile, limit).unwrap();
}

/// Whether what is sent comes back.
fn answers(mut tcp: &TcpStream, sent: &[u8]) -> bool {
    let mut came = vec![0; sent.len()];
    tcp.write_all(sent).is_ok() && tcp.read_exact(&mut came).is_ok() && came == sent
}

/// It went back only at the side that waits: `forward` had the memory of its largest crowd for good.
#[test]
fn what_a_crowd_of_clients_made_a_forward_take_goes_back() {
    raise_limit();
    let serve = serve(&[&tcp_server(echo)]);
    let forward = Forward::start(&[""], &serve.addresses);
    assert!(answers(&forward.connect(0), b"first"));
    for (door, sent) in [(0, 60_000)] {
        let before = filled(&forward.server.child);
        let mut crowd: Vec<TcpStream> = (0..700).map(|_| forward.connect(door)).collect();
        for tcp in &mut crowd {
            tcp.write_all(&vec![7; sent]).unwrap();
        }
        for tcp in &mut crowd {
            tcp.read_exact(&mut vec![0; sent]).unwrap();
        }
        wait_until(|| filled(&forward.server.child) > before + 1000);
        let most = filled(&forward.server.child);
        drop(crowd);
        wait_until(|| filled(&forward.server.child) < before + (most - before) / 3);
    }
    end(serve);
}
