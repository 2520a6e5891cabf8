//! The content of a peer's INIT or INIT ACK (RFC 9260 sections 3.3.2 and 5.1.2),
//! checked and copied.

use super::InterleavingOffer;
use crate::auth::{MAX_HMACS, PeerAuth, RANDOM_LEN};
use crate::scope::{is_link_local, is_local, is_private, is_unicast};
use crate::time::Duration;
use byway_wire::{Init, Param, RawParam, Tsn, chunk_type};
use core::net::IpAddr;
use smallvec::SmallVec;

/// The content of an INIT or INIT ACK, checked and copied.
#[derive(Clone, Debug, Default)]
pub(crate) struct PeerInit {
    pub(crate) tag: u32,
    pub(crate) a_rwnd: u32,
    pub(crate) outbound: u16,
    pub(crate) inbound: u16,
    pub(crate) tsn: Tsn,
    pub(crate) addresses: SmallVec<[IpAddr; 4]>,
    pub(crate) cookie: Option<Box<[u8]>>,
    /// Requested with a Cookie Preservative.
    pub(crate) longer_life: Duration,
    /// Its Supported Extensions list TIMESTAMP.
    pub(crate) timestamps: bool,
    /// What its Supported Extensions list of RFC 8260.
    pub(crate) interleaving: InterleavingOffer,
    /// What it says of AUTH.
    pub(crate) auth: AuthOffer,
    /// Its Supported Extensions list ASCONF and ASCONF-ACK.
    pub(crate) asconf: bool,
    /// Parameters to report as unrecognized, with their headers.
    pub(crate) unrecognized: Vec<Vec<u8>>,
}

/// What an INIT or INIT ACK says of AUTH (RFC 4895 section 6.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum AuthOffer {
    /// Nothing, or not enough.
    #[default]
    None,
    /// Its random number has not 32 bytes, for which the association must be aborted.
    BadRandom,
    /// Its parameters.
    Given(Box<PeerAuth>),
}

impl AuthOffer {
    /// The parameters, if they are complete.
    pub(crate) fn given(&self) -> Option<&PeerAuth> {
        match self {
            AuthOffer::Given(auth) => Some(auth),
            _ => None,
        }
    }
}

/// The parameters of AUTH while they are read.
#[derive(Default)]
struct AuthParams<'a> {
    random: Option<&'a [u8]>,
    chunks: Option<&'a [u8]>,
    hmacs: Option<&'a [u8]>,
}

impl AuthParams<'_> {
    fn offer(&self) -> AuthOffer {
        let (Some(random), Some(hmacs)) = (self.random, self.hmacs) else {
            return AuthOffer::None;
        };
        let Ok(random) = <[u8; RANDOM_LEN]>::try_from(random) else {
            return AuthOffer::BadRandom;
        };
        let long = self.chunks.is_some_and(|c| c.len() > 255);
        if long || hmacs.len() > 2 * MAX_HMACS {
            return AuthOffer::None;
        }
        AuthOffer::Given(Box::new(PeerAuth {
            random,
            chunks: self.chunks.map(SmallVec::from_slice),
            hmacs: SmallVec::from_slice(hmacs),
        }))
    }
}

/// Why an INIT or INIT ACK cannot be used.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum BadInit<'a> {
    /// Drop it without an answer.
    Discard,
    /// Answer with an ABORT, Invalid Mandatory Parameter.
    InvalidMandatory,
    /// Answer with an ABORT, Unresolvable Address, with this parameter: a host name was given.
    HostName(&'a [u8]),
}

/// Most unknown parameters that are reported.
const MAX_REPORTED: usize = 8;
/// Longest unknown parameter that is reported, so that an answer is smaller than its
/// cause (CVE-2010-1173).
const MAX_REPORTED_LEN: usize = 256;

impl PeerInit {
    pub(crate) fn read<'a>(init: &Init<'a>) -> Result<PeerInit, BadInit<'a>> {
        if init.initiate_tag == 0 {
            return Err(BadInit::Discard);
        }
        if init.outbound_streams == 0 || init.inbound_streams == 0 || init.a_rwnd < 1500 {
            return Err(BadInit::InvalidMandatory);
        }
        let mut p = PeerInit {
            tag: init.initiate_tag,
            a_rwnd: init.a_rwnd,
            outbound: init.outbound_streams,
            inbound: init.inbound_streams,
            tsn: init.initial_tsn,
            ..PeerInit::default()
        };
        let mut auth = AuthParams::default();
        for raw in init.params.iter() {
            let raw = raw.map_err(|_| BadInit::InvalidMandatory)?;
            match raw.parse().map_err(|_| BadInit::InvalidMandatory)? {
                Param::Ipv4Address(a) => p.address(IpAddr::V4(a)),
                Param::Ipv6Address(a) => p.address(IpAddr::V6(a)),
                Param::StateCookie(c) => p.cookie = Some(c.into()),
                Param::CookiePreservative(ms) => {
                    p.longer_life = Duration::from_millis(u64::from(ms));
                }
                Param::SupportedAddressTypes(_) | Param::Padding(_) | Param::EcnCapable => {}
                Param::SupportedExtensions(types) => {
                    p.timestamps |= types.contains(&chunk_type::TIMESTAMP);
                    p.interleaving.i_data |= types.contains(&chunk_type::I_DATA);
                    p.interleaving.i_forward_tsn |= types.contains(&chunk_type::I_FORWARD_TSN);
                    let both = [chunk_type::ASCONF, chunk_type::ASCONF_ACK];
                    p.asconf |= both.iter().all(|kind| types.contains(kind));
                }
                Param::Random(random) => auth.random = Some(random),
                Param::ChunkList(types) => auth.chunks = Some(types),
                Param::HmacAlgo(ids) => auth.hmacs = Some(ids.as_bytes()),
                Param::HostName(_) => return Err(BadInit::HostName(raw.bytes)),
                Param::Unknown(u) => {
                    p.report(&u);
                    if RawParam::unknown_action(u.kind).stops() {
                        break;
                    }
                }
                // What is read but not spoken, such as Forward-TSN-Supported, is as good as
                // unknown to the peer (section 3.2.1).
                _ => p.report(&raw),
            }
        }
        p.auth = auth.offer();
        Ok(p)
    }

    /// Keeps a parameter for the report of the unrecognized ones, if its type asks for it.
    /// A long one is cut, and its length with it, so that the report can be read.
    fn report(&mut self, raw: &RawParam<'_>) {
        let wanted = RawParam::unknown_action(raw.kind).reports();
        if !wanted || self.unrecognized.len() == MAX_REPORTED {
            return;
        }
        let cut = raw.bytes.len().min(MAX_REPORTED_LEN);
        let mut bytes = raw.bytes[..cut].to_vec();
        bytes[2..4].copy_from_slice(&(cut as u16).to_be_bytes());
        self.unrecognized.push(bytes);
    }

    fn address(&mut self, a: IpAddr) {
        // More than 32 are never used: the table holds 8.
        if self.addresses.len() < 32 && !self.addresses.contains(&a) {
            self.addresses.push(a);
        }
    }
}

/// Whether an address that a peer lists may become a path. It must be unicast, and its
/// scope must not be narrower than that of the peer's source address. Otherwise a peer
/// could direct our packets to our own services or to other hosts on our link; and a private
/// address of a peer with a public one is of its own network, where a host of ours may have it.
pub(crate) fn acceptable_address(a: IpAddr, source: IpAddr) -> bool {
    // A mapped address (::ffff:127.0.0.1) would have the scope of no IPv6 address.
    let (a, source) = (a.to_canonical(), source.to_canonical());
    is_unicast(a)
        && (!a.is_loopback() || source.is_loopback())
        && (!is_link_local(a) || is_link_local(source))
        && (!is_private(a) || is_private(source) || is_local(source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_addresses_of_a_narrower_scope_are_ignored() {
        let rows = [
            ("10.0.0.2", "10.0.0.1", true),
            ("127.0.0.2", "127.0.0.1", true),
            ("127.0.0.1", "10.0.0.1", false),
            ("0.1.2.3", "10.0.0.1", false),
            ("255.255.255.255", "10.0.0.1", false),
            ("224.0.0.1", "10.0.0.1", false),
            ("169.254.1.1", "10.0.0.1", false),
            ("169.254.1.1", "169.254.1.2", true),
            ("::1", "fd00::1", false),
            ("fe80::1", "fd00::1", false),
            ("ff02::1", "fe80::2", false),
            ("fd00::2", "fd00::1", true),
            ("::ffff:127.0.0.1", "10.0.0.1", false),
            ("::ffff:127.0.0.1", "fd00::1", false),
            ("::ffff:224.0.0.1", "fd00::1", false),
            ("::ffff:10.0.0.2", "10.0.0.1", true),
            ("10.0.0.2", "198.51.100.1", false),
            ("192.168.1.1", "198.51.100.1", false),
            ("100.64.0.1", "198.51.100.1", false),
            ("100.128.0.1", "198.51.100.1", true),
            ("fd00::2", "2001:db8::1", false),
            ("10.0.0.2", "2001:db8::1", false),
            ("198.51.100.1", "10.0.0.1", true),
            ("10.0.0.2", "100.64.0.1", true),
            ("10.0.0.2", "fe80::1", true),
        ];
        for (address, source, expected) in rows {
            let accepted = acceptable_address(address.parse().unwrap(), source.parse().unwrap());
            assert_eq!(accepted, expected, "{address} from {source}");
        }
    }
}
