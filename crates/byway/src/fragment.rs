//! Whether the packets of a socket may be fragmented.
//!
//! quinn-udp forbids it to all. A chunk that was sent in a larger packet before cannot be cut
//! again, so its packet must leave in fragments. Over IPv4 it leaves without Don't Fragment, and
//! routers cut it. Over IPv6 this host does, and it knows no smaller size than the MTU of its card
//! where the router of the narrow link is silent. So it cuts to 1280 bytes, which every link takes
//! (RFC 8200 section 5). The core has made the packet larger than the card's MTU: Linux heeds
//! IPV6_MTU only there.

use rustix::net::sockopt;
use std::io;
use std::os::fd::AsFd;

/// A socket whose packets may be fragmented or not.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Ipv4,
    Ipv6InUdp,
    Ipv6Raw,
}

/// Whether what leaves the socket from now on may be fragmented.
pub(crate) fn allow(socket: &impl AsFd, kind: Kind, may: bool) -> io::Result<()> {
    if kind == Kind::Ipv4 {
        use sockopt::Ipv4PathMtuDiscovery as Mode;
        let mode = if may { Mode::DONT } else { Mode::PROBE };
        return Ok(sockopt::set_ip_mtu_discover(socket, mode)?);
    }
    use sockopt::Ipv6PathMtuDiscovery as Mode;
    let mode = if may { Mode::DONT } else { Mode::PROBE };
    sockopt::set_ipv6_mtu_discover(socket, mode)?;
    #[cfg(target_os = "linux")]
    linux::allow(socket, kind, may)?;
    Ok(())
}

#[cfg(target_os = "linux")]
mod linux {
    use super::Kind;
    use nix::libc;
    use nix::sys::socket::{setsockopt, sockopt::Ipv6DontFrag};
    use std::io;
    use std::os::fd::AsFd;

    /// The least MTU of IPv6, bytes.
    const LEAST_MTU: libc::c_int = 1280;

    nix::setsockopt_impl!(
        Ipv6Mtu,
        libc::IPPROTO_IPV6,
        libc::IPV6_MTU,
        libc::c_int,
        nix::sys::socket::sockopt::SetStruct<'_, libc::c_int>
    );

    /// The size of fragments, headers included; 0: as large as the route allows.
    #[derive(Copy, Clone, Debug)]
    struct Ipv6Mtu;

    pub(super) fn allow(socket: &impl AsFd, kind: Kind, may: bool) -> io::Result<()> {
        setsockopt(socket, Ipv6Mtu, if may { &LEAST_MTU } else { &0 })?;
        // quinn-udp sets this, too, and with it the mode is not asked.
        if kind == Kind::Ipv6InUdp {
            setsockopt(socket, Ipv6DontFrag, &!may)?;
        }
        Ok(())
    }
}
