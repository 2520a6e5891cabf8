//! The local address from which a packet to a peer's address leaves.

use core::net::{IpAddr, SocketAddr};

/// Chooses the local address for a new path. A driver asks the kernel's routes; the
/// default compares addresses.
pub trait Routes: Send {
    /// The index in `local` of the best source address for `remote`; `None` if no local
    /// address can reach it.
    fn source(&mut self, local: &[SocketAddr], remote: IpAddr) -> Option<usize>;

    /// The same for a further path of an association whose paths already start at `used`:
    /// an unused local address, if packets from it leave to `remote` by a way of their
    /// own. By default the other paths do not matter.
    fn source_beside(
        &mut self,
        local: &[SocketAddr],
        remote: IpAddr,
        used: &[SocketAddr],
    ) -> Option<usize> {
        let _ = used;
        self.source(local, remote)
    }

    /// The MTU of the interface by which packets from `local` leave to `remote`, in bytes of
    /// an IP packet; `None`, the default, if it is not known. It bounds the search of
    /// `mtu_discovery`.
    fn interface_mtu(&mut self, local: SocketAddr, remote: IpAddr) -> Option<u32> {
        let _ = (local, remote);
        None
    }

    /// Whether packets from `local` leave to `remote` by the card that has `local`. An address that the peer is to take
    /// from the source of a packet is told of by such a packet only. Default: true.
    fn leads_by_own_card(&mut self, local: SocketAddr, remote: IpAddr) -> bool {
        let _ = (local, remote);
        true
    }

    /// The routes of this host have changed: what is remembered of them is old. Default: nothing
    /// is remembered.
    fn changed(&mut self) {}

    /// Whether packets from `local` still have a way to `remote`. Asked when routes have
    /// changed: a path whose source has none leaves from another one. Default: true.
    fn leads(&mut self, local: SocketAddr, remote: IpAddr) -> bool {
        let _ = (local, remote);
        true
    }
}

/// Chooses the local address that has the longest common prefix with the remote one, in
/// the same address family. The first one wins a tie.
#[derive(Copy, Clone, Debug, Default)]
pub struct LongestPrefix;

impl Routes for LongestPrefix {
    fn source(&mut self, local: &[SocketAddr], remote: IpAddr) -> Option<usize> {
        local
            .iter()
            .enumerate()
            .filter_map(|(i, l)| Some((common_prefix(l.ip(), remote)?, i)))
            .max_by_key(|&(bits, i)| (bits, usize::MAX - i))
            .map(|(_, i)| i)
    }
}

fn common_prefix(a: IpAddr, b: IpAddr) -> Option<u32> {
    match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => Some((a.to_bits() ^ b.to_bits()).leading_zeros()),
        (IpAddr::V6(a), IpAddr::V6(b)) => Some((a.to_bits() ^ b.to_bits()).leading_zeros()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_common_prefix_of_the_same_family_wins() {
        let local: Vec<SocketAddr> = ["10.0.1.1:1", "10.0.2.1:1", "[fd00:1::1]:1", "10.0.2.9:1"]
            .iter()
            .map(|a| a.parse().unwrap())
            .collect();
        for (remote, expected) in [
            ("10.0.1.7", Some(0)),
            ("10.0.2.2", Some(1)),
            ("192.168.0.1", Some(0)),
            ("fd00:1::2", Some(2)),
        ] {
            let remote = remote.parse().unwrap();
            assert_eq!(LongestPrefix.source(&local, remote), expected, "{remote}");
        }
        assert_eq!(
            LongestPrefix.source(&local[..2], "::1".parse().unwrap()),
            None
        );
    }
}
