//! Clients at the doors of a `byway forward`: crowds, hosts that take all places, and what is said of them.

use crate::open_metrics::scrape_anew;
use crate::peers::{byway, byway_after, metrics_at, signal, wait_until};
#[cfg(all(target_os = "linux", target_env = "gnu"))]
use crate::peers::{filled, raise_limit};
use crate::skipped;
use crate::tunnel::{Forward, echo, end, is_reset, serve, tcp_server};
use socket2::{Domain, Socket, Type};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::time::{Duration, Instant};

/// A client at this address of the loopback network. One that is refused at once may see it here.
fn connect_from(from: &str, door: &str) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let from: SocketAddr = format!("{from}:0").parse().unwrap();
    socket.bind(&from.into()).unwrap();
    let door: SocketAddr = door.parse().unwrap();
    socket.connect(&door.into())?;
    let tcp = TcpStream::from(socket);
    tcp.set_read_timeout(Some(Duration::from_secs(60)))?;
    Ok(tcp)
}

/// Whether what is sent comes back.
fn answers(mut tcp: &TcpStream, sent: &[u8]) -> bool {
    let mut came = vec![0; sent.len()];
    tcp.write_all(sent).is_ok() && tcp.read_exact(&mut came).is_ok() && came == sent
}

/// It went back only at the side that waits: `forward` had the memory of its largest crowd for good.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn what_a_crowd_of_clients_made_a_forward_take_goes_back() {
    raise_limit();
    let serve = serve(&[&tcp_server(echo)]);
    // Clients that send a lot, and clients of a proxy that greet it and ask for nothing.
    for (door, sent, answer) in [(0, vec![7; 60_000], 60_000), (1, vec![5, 1, 0], 2)] {
        let forward = Forward::start(&["", "--socks"], &serve.addresses);
        assert!(answers(&forward.connect(0), b"first"));
        let before = filled(&forward.server.child);
        let mut crowd: Vec<TcpStream> = (0..700).map(|_| forward.connect(door)).collect();
        for tcp in &mut crowd {
            tcp.write_all(&sent).unwrap();
        }
        for tcp in &mut crowd {
            tcp.read_exact(&mut vec![0; answer]).unwrap();
        }
        let most = filled(&forward.server.child);
        assert!(most > before + 1000, "{before} {most}");
        drop(crowd);
        wait_until(|| filled(&forward.server.child) < before + (most - before) / 2);
    }
    end(serve);
}

/// Each was a line, and the address was the door's own.
#[test]
fn refused_clients_of_a_door_are_a_line_a_second_with_their_address() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = listener.local_addr().unwrap().to_string();
    // Nobody listens there any more.
    drop(listener);
    let serve = serve(&[&gone]);
    let mut command = byway();
    command.args(["forward", "--metrics", "127.0.0.1:0"]);
    let mut forward = forward_by(command, "127.0.0.1:0", &serve.addresses);
    let metrics = forward.server.metrics.unwrap();
    let begun = Instant::now();
    for _ in 0..200 {
        assert!(connect_from("127.0.0.7", &forward.doors[0]).map_or(true, is_reset));
        let mut nonsense = connect_from("127.0.0.8", &forward.doors[1]).unwrap();
        nonsense.write_all(&[4, 1]).unwrap();
        assert!(is_reset(nonsense));
    }
    // Whether their connections were begun before the answer, or not.
    let refused = [("rule", "connections_refused")];
    wait_until(|| scrape_anew(metrics).values("byway_refused_total", &refused) == [400.0]);
    let most = begun.elapsed().as_secs() + 2;
    signal(&forward.server.child, "TERM");
    let mut said = String::new();
    forward.server.rest.read_to_string(&mut said).unwrap();
    for (from, why) in [
        ("(from 127.0.0.7:", "Connection refused"),
        ("(from 127.0.0.8:", "SOCKS version 4"),
    ] {
        let lines: Vec<&str> = said.lines().filter(|l| l.contains(from)).collect();
        // The first at once, the last with how many there were.
        assert!((2..=most as usize).contains(&lines.len()), "{said}");
        assert!(lines.iter().all(|l| l.contains(why)), "{said}");
        assert!(said.contains("such in a second)"), "{said}");
    }
    assert!((said.lines().count() as u64) < 2 * most + 10, "{said}");
    end(serve);
}

/// An address of this machine that is none of loopback: from there comes another host than from 127.0.0.1.
fn another_host() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    // Nothing is sent.
    let route = socket.connect("192.0.2.77:9").ok();
    let own = route.and_then(|()| socket.local_addr().ok());
    let own = own.map(|a| a.ip()).filter(|ip| !ip.is_loopback());
    if own.is_none() {
        skipped::skipped("there is no address but loopback");
    }
    own
}

/// With a door for TCP and one for a proxy at this address.
fn forward_at(at: IpAddr, mut command: Command, to: &str) -> Forward {
    command.arg("forward");
    forward_by(command, &format!("{at}:0"), to)
}

/// The same of a command that has `forward` and other options already.
fn forward_by(mut command: Command, door: &str, to: &str) -> Forward {
    command.args(["--listen", door, "--socks", door]);
    let mut forward = Forward::start_as(command, &[], to);
    while forward.doors.len() < 2 {
        let line = forward.server.says(" ");
        forward.server.metrics = forward.server.metrics.or(metrics_at(&line));
        if let Some(rest) = line.strip_prefix("forwarding ") {
            let door = rest.split(' ').next().unwrap();
            forward.doors.push(door.to_owned());
        }
    }
    forward
}

/// Nobody else got in until they went.
#[test]
fn a_host_that_takes_all_places_of_the_doors_keeps_nobody_out() {
    let Some(greedy_host) = another_host() else {
        return;
    };
    let from = greedy_host.to_string();
    let target = tcp_server(echo);
    let serve = serve(&[&target]);
    let few = "ulimit -n 160";
    // Those that say nothing to a proxy, nothing to a target, and those that have been answered.
    for (door, says) in [(1, false), (0, false), (0, true)] {
        let mut forward = forward_at(greedy_host, byway_after(few), &serve.addresses);
        let doors = forward.doors.clone();
        let greedy: Vec<TcpStream> = (0..160)
            .filter_map(|_| {
                let tcp = connect_from(&from, &doors[door]).ok()?;
                if says {
                    answers(&tcp, b"x");
                }
                Some(tcp)
            })
            .collect();
        forward.server.says("connections are under way, the most");
        let good: Vec<TcpStream> = (0..10)
            .map(|n| connect_from(&format!("127.0.0.{}", 10 + n % 3), &doors[0]).unwrap())
            .collect();
        for tcp in &good {
            assert!(answers(tcp, b"good"), "door {door}, {says}");
        }
        let line = forward.server.says("let go: another host needs the place");
        assert!(line.contains(&format!("(from {from}:")), "{line}");
        // Most of them are left alone, and so is who came.
        let reset = |tcp: &&TcpStream| {
            tcp.set_nonblocking(true).unwrap();
            let ended = tcp.peek(&mut [0]);
            !matches!(ended, Err(e) if e.kind() == io::ErrorKind::WouldBlock)
        };
        assert!(greedy.iter().filter(|tcp| !reset(tcp)).count() > 20);
        assert!(good.iter().all(|tcp| answers(tcp, b"again")));
    }
    end(serve);
}

/// `serve` had room for fewer than `forward`, and refused whoever came.
#[test]
fn a_host_that_takes_all_places_of_the_other_side_keeps_nobody_out() {
    let target = tcp_server(echo);
    let words = ["serve", "--allow", &target];
    let Some(greedy_host) = another_host() else {
        return;
    };
    let from = greedy_host.to_string();
    let serve = crate::peers::Server::start_with_descriptors(&words, 120);
    let mut forward = forward_at(greedy_host, byway(), &serve.addresses);
    let door = forward.doors[0].clone();
    let greedy: Vec<TcpStream> = (0..100)
        .filter_map(|_| connect_from(&from, &door).ok())
        .collect();
    forward.server.says("of this host are under way");
    // All are kept, so each needs a place that another one gives up.
    let good: Vec<TcpStream> = (0..8)
        .filter_map(|_| connect_from("127.0.0.8", &door).ok())
        .filter(|tcp| answers(tcp, b"good"))
        .collect();
    // Where the other side was asked once, it refused at least every other one. A busy machine may be late for one.
    assert!(good.len() >= 7, "{} of 8", good.len());
    drop(greedy);
    end(serve);
}
