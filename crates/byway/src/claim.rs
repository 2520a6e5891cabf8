//! One endpoint at a time has an SCTP port of an address without UDP.
//!
//! UDP sockets keep their port to themselves; of raw sockets each gets every packet. So an
//! endpoint claims address and port by the name of a Unix socket in the abstract namespace
//! (unix(7)): the kernel allows one of a name in a network namespace, and takes it back when the
//! process ends, however that happens. It holds between byways; other programs with raw sockets
//! do not know of it.

use std::io;
use std::net::IpAddr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The claim; dropping it gives the port back.
#[derive(Debug)]
pub(crate) struct Claim {
    _name: UnixDatagram,
}

impl Claim {
    /// Claims the SCTP port of an address; `AddrInUse` if another has it.
    pub(crate) fn of(ip: IpAddr, port: u16) -> io::Result<Claim> {
        let name = SocketAddr::from_abstract_name(format!("byway sctp {ip} {port}"))?;
        let socket = UnixDatagram::bind_addr(&name)?;
        // Whoever knows the name could send to it: nothing is kept of that.
        socket.shutdown(std::net::Shutdown::Both)?;
        Ok(Claim { _name: socket })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_of_an_address_is_claimed_once_and_given_back() {
        let claim = |ip: &str, port| Claim::of(ip.parse().unwrap(), port);
        let first = claim("127.0.0.77", 7).unwrap();
        let second = claim("127.0.0.77", 7).unwrap_err();
        assert_eq!(second.kind(), io::ErrorKind::AddrInUse);
        claim("127.0.0.77", 8).expect("another port");
        claim("127.0.0.78", 7).expect("another address");
        claim("::77", 7).expect("another family");
        drop(first);
        claim("127.0.0.77", 7).expect("it is free again");
    }
}
