//! How far an address is known.

use core::net::IpAddr;

/// Whether an address belongs to one network and may stand for another host elsewhere: RFC 1918, RFC 6598
/// (behind a provider's translator), RFC 4193. An address that is mapped into IPv6 counts as its IPv4 address.
#[must_use]
pub fn is_private(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(v4) => {
            let [first, second, ..] = v4.octets();
            v4.is_private() || first == 100 && (64..128).contains(&second)
        }
        IpAddr::V6(v6) => v6.is_unique_local(),
    }
}

/// Whether an address is known on one link alone (RFC 3927, RFC 4291), also one that is mapped into IPv6.
#[must_use]
pub fn is_link_local(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

/// Whether an address is of one host: neither unspecified, broadcast nor multicast. The broadcast address of a subnet
/// is not known here.
pub(crate) fn is_unicast(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(v4) => v4.octets()[0] != 0 && !v4.is_broadcast() && !v4.is_multicast(),
        IpAddr::V6(v6) => !v6.is_unspecified() && !v6.is_multicast(),
    }
}

/// Of this host or this link.
pub(crate) fn is_local(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback() || is_link_local(ip)
}
