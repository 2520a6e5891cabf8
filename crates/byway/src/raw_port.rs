//! What a socket without UDP has beside itself.

use crate::claim::Claim;
use crate::error::BindError;
use crate::icmp::IcmpSocket;
use crate::raw;
use quinn_udp::UdpSocketState;
use std::io;
use std::net::SocketAddr;

/// The SCTP port of one local address, without UDP.
#[derive(Debug)]
pub(crate) struct RawPort {
    v4: bool,
    port: u16,
    icmp: IcmpSocket,
    _never_full: std::net::UdpSocket,
    _claim: Claim,
}

impl RawPort {
    /// Claims the SCTP port of an address and opens a raw socket for it.
    pub(crate) fn open(
        local: SocketAddr,
        port: u16,
    ) -> Result<(RawPort, std::net::UdpSocket, UdpSocketState), BindError> {
        // First, because it says more than an error of the claim.
        let failed = |e| BindError::raw(local, e);
        let never_full = raw::never_full(local).map_err(failed)?;
        let (socket, state) = raw::sctp(local, port).map_err(failed)?;
        let icmp = IcmpSocket::bind(local).map_err(failed)?;
        let claim = Claim::of(local.ip(), port).map_err(|e| match e.kind() {
            io::ErrorKind::AddrInUse => BindError::SctpPortInUse {
                address: local.ip(),
                port,
            },
            _ => failed(e),
        })?;
        let port = RawPort {
            v4: local.is_ipv4(),
            port,
            icmp,
            _never_full: never_full,
            _claim: claim,
        };
        Ok((port, socket, state))
    }

    /// How its packets are found in what the socket receives.
    pub(crate) fn cover(&self) -> Cover {
        Cover::Ip {
            v4: self.v4,
            port: self.port,
        }
    }

    /// The ICMP messages about its packets.
    pub(crate) fn icmp(&self) -> &IcmpSocket {
        &self.icmp
    }
}

/// What is around the packets in what a socket receives.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Cover {
    /// Nothing: the kernel has taken the UDP header off.
    #[default]
    None,
    /// A raw socket gives packets to all SCTP ports, with IPv4 behind their IP header.
    Ip { v4: bool, port: u16 },
}

impl Cover {
    /// The source without a port that is none, and the datagrams.
    pub(crate) fn remove(self, mut source: SocketAddr, bytes: &[u8]) -> (SocketAddr, &[u8]) {
        match self {
            Cover::None => (source, bytes),
            Cover::Ip { v4, port } => {
                source.set_port(0);
                (source, raw::packet(v4, port, bytes).unwrap_or_default())
            }
        }
    }
}
