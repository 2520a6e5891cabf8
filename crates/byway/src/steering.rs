//! Which worker of an endpoint has a packet.
//!
//! The peer's SCTP port says it. Every packet of an association has this port, from its INIT on,
//! whatever address it comes from and whichever tag it carries; so has the INIT of a peer that has
//! restarted, an ABORT with the T bit, or an INIT that crosses ours. So all that RFC 9260 section 5.2
//! looks for is at one worker, and no worker needs to know what the others have. By verification
//! tags it would not be so: an INIT has none, and a reflected one is the peer's.
//!
//! Peers choose their port at random, as a rule, and a hash spreads them. Peers that all have one port
//! have one worker.
//!
//! The kernel carries it out by a program in classic BPF on the group of sockets that share an
//! address (SO_ATTACH_REUSEPORT_CBPF), to which the packet begins at the payload of UDP. Where it
//! cannot, or where a buffer holds packets of several ports, the worker that got a packet hands it
//! over ([`crate::workers`]).

use nix::libc::{sock_filter, sock_fprog};
use nix::sys::socket::{setsockopt, sockopt::AttachReusePortCbpf};
use std::io;
use std::os::fd::AsFd;

/// 2^32 by the golden ratio: neighbouring ports, and those that are a step apart, spread evenly.
const SPREAD: u32 = 0x9e37_79b1;

/// The worker, of so many, that has the associations of peers with this SCTP port.
pub(crate) fn worker_of(port: u16, workers: usize) -> usize {
    let spread = u32::from(port).wrapping_mul(SPREAD) >> 16;
    // At most 64 workers: no overflow, and the upper bits of the product decide.
    ((spread * workers as u32) >> 16) as usize
}

/// The worker that a packet is for; the first, if it is too short to say.
pub(crate) fn worker_for(packet: &[u8], workers: usize) -> usize {
    port_at(packet, 0).map_or(0, |port| worker_of(port, workers))
}

/// The worker that had sent a packet, by what is left of it.
pub(crate) fn worker_from(packet: &[u8], workers: usize) -> usize {
    port_at(packet, 2).map_or(0, |port| worker_of(port, workers))
}

/// The port in the common header at this place (RFC 9260 section 3.1).
fn port_at(packet: &[u8], at: usize) -> Option<u16> {
    let bytes = packet.get(at..at + 2)?;
    Some(u16::from_be_bytes([bytes[0], bytes[1]]))
}

/// The same as [`worker_for`], for the kernel: its result is the place of a socket in the order in
/// which they were bound.
fn program(workers: usize) -> [sock_filter; 6] {
    let step = |code, k| sock_filter {
        code,
        jt: 0,
        jf: 0,
        k,
    };
    [
        step(0x28, 0),      // A = the two bytes at 0; 0 is the result of a packet without
        step(0x24, SPREAD), // A *= SPREAD
        step(0x74, 16),     // A >>= 16
        step(0x24, workers as u32), // A *= workers
        step(0x74, 16),     // A >>= 16
        step(0x16, 0),      // the result is A
    ]
}

/// Lets the kernel give each socket of a group its packets. The sockets were bound in the order of
/// their workers; this is one of them.
pub(crate) fn steer(socket: &impl AsFd, workers: usize) -> io::Result<()> {
    let mut steps = program(workers);
    let program = sock_fprog {
        len: steps.len() as u16,
        filter: steps.as_mut_ptr(),
    };
    // The kernel copies the steps.
    setsockopt(socket, AttachReusePortCbpf, &program).map_err(io::Error::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_spread_evenly_over_the_workers() {
        for workers in [1, 2, 3, 7, 64] {
            for step in [1_u16, 2, 4, 10, 54] {
                let ports: Vec<u16> = (0..600).map(|n| 32_768 + n * step).collect();
                let mut counts = vec![0; workers];
                for port in &ports {
                    counts[worker_of(*port, workers)] += 1;
                }
                let even = ports.len() / workers;
                let near = even / 2..=even + even / 2 + 2;
                assert!(
                    counts.iter().all(|n| near.contains(n)),
                    "{step}: {counts:?}"
                );
            }
        }
    }

    #[test]
    fn a_packet_that_says_no_port_is_the_first_worker_s() {
        for packet in [&[][..], &[200]] {
            assert_eq!(worker_for(packet, 64), 0);
        }
        let packet = [0x9c, 0x41, 0x13, 0x89];
        assert_eq!(worker_for(&packet, 64), worker_of(40_001, 64));
        assert_eq!(worker_from(&packet, 64), worker_of(5001, 64));
    }

    /// The kernel and this process agree on every port. Each worker's socket gets its own.
    #[test]
    fn the_kernel_steers_as_it_is_said_here() {
        use socket2::{Domain, SockAddr, Socket, Type};
        use std::net::{SocketAddr, UdpSocket};
        for local in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(free) = UdpSocket::bind(local) else {
                continue;
            };
            let address: SocketAddr = free.local_addr().unwrap();
            drop(free);
            const WORKERS: usize = 3;
            let group: Vec<Socket> = (0..WORKERS)
                .map(|_| {
                    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, None);
                    let socket = socket.unwrap();
                    socket.set_reuse_port(true).unwrap();
                    socket.bind(&SockAddr::from(address)).unwrap();
                    socket.set_nonblocking(true).unwrap();
                    socket
                })
                .collect();
            steer(&group[0], WORKERS).unwrap();
            let group: Vec<UdpSocket> = group.into_iter().map(UdpSocket::from).collect();
            let sender = UdpSocket::bind(local).unwrap();
            for port in (0..=u16::MAX).step_by(97) {
                sender.send_to(&port.to_be_bytes(), address).unwrap();
                let mut read = [0; 8];
                let got = |socket: &UdpSocket, read: &mut [u8]| socket.recv(read).is_ok();
                let by: Vec<bool> = group.iter().map(|s| got(s, &mut read)).collect();
                let expected: Vec<bool> = (0..WORKERS)
                    .map(|n| n == worker_of(port, WORKERS))
                    .collect();
                assert_eq!(by, expected, "port {port} at {address}");
            }
        }
    }
}
