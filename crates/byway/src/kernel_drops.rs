//! What the kernel dropped, because the buffer of a socket was full: its own table of UDP sockets
//! says it.

use std::net::{IpAddr, SocketAddr};

/// The tables of this thread's network namespace, for IPv4 and IPv6.
const TABLES: [&str; 2] = ["/proc/thread-self/net/udp", "/proc/thread-self/net/udp6"];

/// Datagrams that sockets bound to these addresses have lost. `None` where the kernel has no such
/// table.
pub(crate) fn of(local: &[SocketAddr]) -> Option<u64> {
    let mut any = None;
    for table in TABLES {
        let Ok(lines) = std::fs::read_to_string(table) else {
            continue;
        };
        let drops = lines.lines().filter_map(|line| drops(line, local));
        any = Some(any.unwrap_or(0) + drops.sum::<u64>());
    }
    any
}

/// The drops of a line, if its socket is bound to one of these addresses: the second column has the
/// address, the last one the count.
fn drops(line: &str, local: &[SocketAddr]) -> Option<u64> {
    let mut columns = line.split_ascii_whitespace();
    let address = columns.nth(1)?;
    let ours = local.iter().any(|l| shown(*l) == address);
    columns.last().filter(|_| ours)?.parse().ok()
}

/// An address as the table shows it: words in the byte order of the host, and the port.
fn shown(address: SocketAddr) -> String {
    let word = |bytes: &[u8]| match bytes.try_into() {
        Ok(bytes) => format!("{:08X}", u32::from_ne_bytes(bytes)),
        Err(_) => String::new(),
    };
    let ip = match address.ip() {
        IpAddr::V4(ip) => word(&ip.octets()),
        IpAddr::V6(ip) => ip.octets().chunks(4).map(word).collect(),
    };
    format!("{ip}:{:04X}", address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_that_is_not_read_loses_what_does_not_fit() {
        if !std::path::Path::new(TABLES[0]).exists() {
            return;
        }
        let mut locals = vec!["127.0.0.1:0"];
        if std::net::UdpSocket::bind("[::1]:0").is_ok() {
            locals.push("[::1]:0");
        }
        for local in locals {
            let socket = std::net::UdpSocket::bind(local).unwrap();
            let to = socket.local_addr().unwrap();
            assert_eq!(of(&[to]), Some(0), "{to}");
            let sender = std::net::UdpSocket::bind(local).unwrap();
            let mut sent = 0;
            while of(&[to]) == Some(0) {
                for _ in 0..1000 {
                    sender.send_to(&[0; 1000], to).unwrap();
                }
                sent += 1000;
                assert!(sent < 1_000_000, "{to}");
            }
            assert!(of(&[to]).is_some_and(|lost| lost <= sent), "{to}");
        }
    }
}
