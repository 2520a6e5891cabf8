//! State Cookies (RFC 9260 sections 5.1.3 to 5.1.5). A cookie holds everything that
//! an association needs to begin, authenticated with a key of this endpoint. So the
//! endpoint keeps no state for a peer that has only sent an INIT.
//!
//! A cookie is packed: an INIT ACK must not be much larger than the INIT, whose source may be
//! forged (RFC 5062 section 9). What the packet with the COOKIE ECHO carries anyway (the tag
//! and the ports) is authenticated, but not in the cookie. The whole of a usual one is 48
//! bytes long, or 60 for a peer with an IPv6 address.

use crate::assoc::InterleavingOffer;
use crate::auth::{MAX_HMACS, PeerAuth, Random};
use crate::time::{Duration, Instant};
use byway_wire::Tsn;
use chacha20::ChaCha8Rng;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use hmac::{Hmac, KeyInit, Mac};
use rand::RngExt;
use sha2::Sha256;
use smallvec::SmallVec;

/// HMAC-SHA-256, truncated to half of its length (RFC 2104 section 5).
const MAC_LEN: usize = 16;
/// How long a key makes cookies. The previous key still opens them.
const KEY_LIFE: Duration = Duration::from_secs(3600);
/// How long after its first cookie a key opens them. It is much less than the time after
/// which the clock of the cookies begins again (49 days).
const OPENS_FOR: Duration = Duration::from_secs(3 * 3600);
/// Most addresses of the peer in a cookie.
const MAX_ADDRESSES: usize = 32;
/// Flags in the first byte. The peer supports TIMESTAMP.
const TIMESTAMPS: u8 = 0x80;
/// The parameters of AUTH are at the end.
const AUTH: u8 = 0x40;
/// The Tie-Tags are not zero.
const TIED: u8 = 0x20;
/// The cookie does not live as long as the endpoint's settings say.
const OTHER_LIFE: u8 = 0x10;
/// The peer listed addresses.
const LISTED: u8 = 0x08;
/// The INIT came over IPv6.
const IPV6: u8 = 0x04;
/// The peer supports I-DATA, and I-FORWARD-TSN (RFC 8260).
const I_DATA: u8 = 0x02;
const I_FORWARD_TSN: u8 = 0x01;
/// Flags in the first byte of the parameters of AUTH: both sides may change addresses;
/// the peer sent a CHUNKS parameter.
const ASCONF: u8 = 1;
const CHUNKS: u8 = 2;

/// The contents of a cookie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cookie {
    pub(crate) created: Instant,
    pub(crate) life: Duration,
    pub(crate) local_tag: u32,
    pub(crate) peer_tag: u32,
    /// Local and peer's Tie-Tag (section 5.2.2); zeros if no association existed.
    pub(crate) tie_tags: (u32, u32),
    pub(crate) local_port: u16,
    pub(crate) peer_port: u16,
    pub(crate) local_tsn: Tsn,
    pub(crate) peer_tsn: Tsn,
    pub(crate) a_rwnd: u32,
    pub(crate) outbound: u16,
    pub(crate) inbound: u16,
    /// Where the INIT came from and went to.
    pub(crate) source: SocketAddr,
    pub(crate) local: SocketAddr,
    pub(crate) addresses: SmallVec<[IpAddr; 4]>,
    /// The peer listed TIMESTAMP among its extensions.
    pub(crate) timestamps: bool,
    /// What the peer listed of RFC 8260.
    pub(crate) interleaving: InterleavingOffer,
    /// What both sides said of AUTH, if both support it.
    pub(crate) auth: Option<CookieAuth>,
}

/// What both sides said of AUTH (RFC 4895 section 6.1). Never a shared key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CookieAuth {
    pub(crate) own: Random,
    pub(crate) peer: Box<PeerAuth>,
    /// Both sides may change addresses.
    pub(crate) asconf: bool,
}

/// Why a cookie is refused.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum BadCookie {
    /// Not made by this endpoint, truncated or changed.
    Forged,
}

/// What is known beside the cookie where one is sealed or opened: the fields of the packet
/// that carries it, and the addresses of the endpoint.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Beside<'a> {
    pub(crate) local_tag: u32,
    pub(crate) local_port: u16,
    pub(crate) peer_port: u16,
    /// Where the packet came.
    pub(crate) destination: SocketAddr,
    /// The local addresses of the endpoint.
    pub(crate) local: &'a [SocketAddr],
}

impl Beside<'_> {
    /// The local address that the INIT went to; where this packet came if it is no address of the endpoint any more.
    /// Addresses come and go, so the cookie has no place in their list. Of several with the same fingerprint it is
    /// the one where the packet came, as a COOKIE ECHO usually leaves to where the INIT did.
    fn local_of(&self, print: u8) -> SocketAddr {
        let is_it = |l: &&SocketAddr| fingerprint(l) == print;
        let others = self.local.iter();
        let found = core::iter::once(&self.destination)
            .chain(others)
            .find(is_it);
        found.copied().unwrap_or(self.destination)
    }
}

/// A byte that tells local addresses apart in a cookie. Two addresses that differ in one byte never have the same.
fn fingerprint(address: &SocketAddr) -> u8 {
    let fold = |bytes: &[u8], seed: u8| bytes.iter().fold(seed, |h, b| h.rotate_left(3) ^ b);
    let ip = match address.ip() {
        IpAddr::V4(a) => fold(&a.octets(), 0),
        IpAddr::V6(a) => fold(&a.octets(), 0),
    };
    fold(&address.port().to_be_bytes(), ip)
}

/// A key and when it made its first cookie.
#[derive(Debug)]
struct Key {
    bytes: [u8; 32],
    since: Instant,
}

impl Key {
    fn new(rng: &mut ChaCha8Rng, since: Instant) -> Key {
        Key {
            bytes: rng.random(),
            since,
        }
    }

    fn mac(&self, body: &[u8], beside: Beside<'_>) -> Hmac<Sha256> {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.bytes).expect("HMAC takes keys of any length");
        mac.update(&beside.local_tag.to_be_bytes());
        mac.update(&beside.local_port.to_be_bytes());
        mac.update(&beside.peer_port.to_be_bytes());
        mac.update(body);
        mac
    }
}

/// The key of this hour and the previous one.
#[derive(Debug)]
pub(crate) struct CookieKeys {
    current: Key,
    previous: Key,
    /// How long cookies live that do not say it.
    life: Duration,
}

impl CookieKeys {
    /// New keys. `life`: the life of most cookies.
    pub(crate) fn new(rng: &mut ChaCha8Rng, life: Duration) -> CookieKeys {
        CookieKeys {
            current: Key::new(rng, Instant::ZERO),
            previous: Key::new(rng, Instant::ZERO),
            life,
        }
    }

    fn rotate(&mut self, now: Instant, rng: &mut ChaCha8Rng) {
        if now.since(self.current.since) >= KEY_LIFE {
            self.previous = core::mem::replace(&mut self.current, Key::new(rng, now));
        }
    }

    /// Encodes a cookie and appends its MAC.
    pub(crate) fn seal(
        &mut self,
        c: &Cookie,
        local: &[SocketAddr],
        now: Instant,
        rng: &mut ChaCha8Rng,
    ) -> Vec<u8> {
        self.rotate(now, rng);
        let beside = c.beside(local);
        self.seal_bytes(&c.encode(self.life), beside)
    }

    /// Appends a MAC to any bytes.
    pub(crate) fn seal_bytes(&self, bytes: &[u8], beside: Beside<'_>) -> Vec<u8> {
        let mac = self.current.mac(bytes, beside).finalize().into_bytes();
        [bytes, &mac[..MAC_LEN]].concat()
    }

    /// Opens a cookie that came in a packet with these fields: checks its MAC in constant
    /// time, then decodes it without trusting its contents.
    pub(crate) fn open(
        &self,
        bytes: &[u8],
        beside: Beside<'_>,
        now: Instant,
    ) -> Result<Cookie, BadCookie> {
        let Some(split) = bytes.len().checked_sub(MAC_LEN) else {
            return Err(BadCookie::Forged);
        };
        let (body, tag) = bytes.split_at(split);
        let genuine = [&self.current, &self.previous]
            .into_iter()
            .filter(|key| now.since(key.since) < OPENS_FOR)
            .any(|key| key.mac(body, beside).verify_truncated_left(tag).is_ok());
        if !genuine {
            return Err(BadCookie::Forged);
        }
        Cookie::decode(body, beside, now, self.life).ok_or(BadCookie::Forged)
    }
}

impl Cookie {
    /// What the packet with the COOKIE ECHO will carry.
    fn beside<'a>(&self, local: &'a [SocketAddr]) -> Beside<'a> {
        Beside {
            local_tag: self.local_tag,
            local_port: self.local_port,
            peer_port: self.peer_port,
            destination: self.local,
            local,
        }
    }

    fn encode(&self, usual_life: Duration) -> Vec<u8> {
        let mut out = Vec::with_capacity(64);
        let listed = &self.addresses[..self.addresses.len().min(MAX_ADDRESSES)];
        let flag = |is: bool, flag: u8| if is { flag } else { 0 };
        out.push(
            flag(self.timestamps, TIMESTAMPS)
                | flag(self.auth.is_some(), AUTH)
                | flag(self.tie_tags != (0, 0), TIED)
                | flag(self.life != usual_life, OTHER_LIFE)
                | flag(!listed.is_empty(), LISTED)
                | flag(self.source.is_ipv6(), IPV6)
                | flag(self.interleaving.i_data, I_DATA)
                | flag(self.interleaving.i_forward_tsn, I_FORWARD_TSN),
        );
        out.push(fingerprint(&self.local));
        for word in [
            stamp(self.created),
            self.peer_tag,
            self.local_tsn.0,
            self.peer_tsn.0,
            self.a_rwnd,
        ] {
            out.extend_from_slice(&word.to_be_bytes());
        }
        for half in [self.outbound, self.inbound, self.source.port()] {
            out.extend_from_slice(&half.to_be_bytes());
        }
        match self.source.ip() {
            IpAddr::V4(a) => out.extend_from_slice(&a.octets()),
            IpAddr::V6(a) => out.extend_from_slice(&a.octets()),
        }
        if self.tie_tags != (0, 0) {
            out.extend_from_slice(&self.tie_tags.0.to_be_bytes());
            out.extend_from_slice(&self.tie_tags.1.to_be_bytes());
        }
        if self.life != usual_life {
            let ms = u32::try_from(self.life.as_millis()).unwrap_or(u32::MAX);
            out.extend_from_slice(&ms.to_be_bytes());
        }
        if !listed.is_empty() {
            out.push(listed.len() as u8);
            for &ip in listed {
                put_ip(&mut out, ip);
            }
        }
        if let Some(auth) = &self.auth {
            auth.encode(&mut out);
        }
        out
    }

    fn decode(bytes: &[u8], beside: Beside<'_>, now: Instant, life: Duration) -> Option<Cookie> {
        let mut r = Reader(bytes);
        let [flags, print] = r.take()?;
        let created = created(r.word()?, now);
        let peer_tag = r.word()?;
        let (local_tsn, peer_tsn) = (Tsn(r.word()?), Tsn(r.word()?));
        let a_rwnd = r.word()?;
        let (outbound, inbound, port) = (r.half()?, r.half()?, r.half()?);
        let source = match flags & IPV6 {
            0 => IpAddr::V4(Ipv4Addr::from(r.take::<4>()?)),
            _ => IpAddr::V6(Ipv6Addr::from(r.take::<16>()?)),
        };
        let tie_tags = match flags & TIED {
            0 => (0, 0),
            _ => (r.word()?, r.word()?),
        };
        let life = match flags & OTHER_LIFE {
            0 => life,
            _ => Duration::from_millis(u64::from(r.word()?)),
        };
        let mut addresses = SmallVec::new();
        if flags & LISTED != 0 {
            let [count] = r.take()?;
            for _ in 0..usize::from(count).min(MAX_ADDRESSES) {
                addresses.push(r.ip()?);
            }
        }
        let auth = match flags & AUTH {
            0 => None,
            _ => Some(CookieAuth::decode(&mut r)?),
        };
        let valid = beside.local_tag != 0 && peer_tag != 0 && outbound != 0 && inbound != 0;
        (r.0.is_empty() && valid).then_some(Cookie {
            created,
            life,
            local_tag: beside.local_tag,
            peer_tag,
            tie_tags,
            local_port: beside.local_port,
            peer_port: beside.peer_port,
            local_tsn,
            peer_tsn,
            a_rwnd,
            outbound,
            inbound,
            source: SocketAddr::new(source, port),
            local: beside.local_of(print),
            addresses,
            timestamps: flags & TIMESTAMPS != 0,
            interleaving: InterleavingOffer {
                i_data: flags & I_DATA != 0,
                i_forward_tsn: flags & I_FORWARD_TSN != 0,
            },
            auth,
        })
    }

    /// How long ago the cookie expired; `None` if it is still valid (section
    /// 5.1.5, step 4).
    pub(crate) fn staleness(&self, now: Instant) -> Option<Duration> {
        now.since(self.created)
            .checked_sub(self.life)
            .filter(|d| !d.is_zero())
    }
}

/// A time as a cookie has it: milliseconds, which begin again after 49 days.
fn stamp(at: Instant) -> u32 {
    (at.as_nanos() / 1_000_000) as u32
}

/// The time of a stamp, which is less than 49 days ago.
fn created(stamped: u32, now: Instant) -> Instant {
    let now_ms = now.as_nanos() / 1_000_000;
    let ago = u64::from((now_ms as u32).wrapping_sub(stamped));
    Instant::from_millis(now_ms.saturating_sub(ago))
}

impl CookieAuth {
    fn encode(&self, out: &mut Vec<u8>) {
        let asconf = if self.asconf { ASCONF } else { 0 };
        let chunks = if self.peer.chunks.is_some() {
            CHUNKS
        } else {
            0
        };
        out.push(asconf | chunks);
        out.extend_from_slice(&self.own);
        out.extend_from_slice(&self.peer.random);
        let chunks = self.peer.chunks.as_deref().unwrap_or_default();
        // `PeerInit` reads at most so many.
        for list in [&chunks[..chunks.len().min(255)], &self.peer.hmacs] {
            out.push(list.len() as u8);
            out.extend_from_slice(list);
        }
    }

    fn decode(r: &mut Reader<'_>) -> Option<CookieAuth> {
        let [flags] = r.take()?;
        let (own, random) = (r.take()?, r.take()?);
        let (chunks, hmacs) = (r.list()?, r.list()?);
        let peer = PeerAuth {
            random,
            chunks: (flags & CHUNKS != 0).then(|| SmallVec::from_slice(chunks)),
            hmacs: SmallVec::from_slice(hmacs),
        };
        (hmacs.len() <= 2 * MAX_HMACS).then(|| CookieAuth {
            own,
            peer: Box::new(peer),
            asconf: flags & ASCONF != 0,
        })
    }
}

fn put_ip(out: &mut Vec<u8>, ip: IpAddr) {
    match ip {
        IpAddr::V4(a) => {
            out.push(4);
            out.extend_from_slice(&a.octets());
        }
        IpAddr::V6(a) => {
            out.push(6);
            out.extend_from_slice(&a.octets());
        }
    }
}

/// Reads from the front. No read goes past the end.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// A list behind its length.
    fn list(&mut self) -> Option<&'a [u8]> {
        let [len] = self.take()?;
        let (head, rest) = self.0.split_at_checked(usize::from(len))?;
        self.0 = rest;
        Some(head)
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn word(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    fn half(&mut self) -> Option<u16> {
        self.take().map(u16::from_be_bytes)
    }

    fn ip(&mut self) -> Option<IpAddr> {
        match self.take::<1>()? {
            [4] => Some(IpAddr::V4(Ipv4Addr::from(self.take::<4>()?))),
            [6] => Some(IpAddr::V6(Ipv6Addr::from(self.take::<16>()?))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::rand_core::SeedableRng;

    fn cookie() -> Cookie {
        Cookie {
            created: Instant::from_millis(5),
            life: Duration::from_secs(60),
            local_tag: 1,
            peer_tag: 2,
            tie_tags: (3, 4),
            local_port: 5,
            peer_port: 6,
            local_tsn: Tsn(7),
            peer_tsn: Tsn(8),
            a_rwnd: 9,
            outbound: 10,
            inbound: 11,
            source: "10.0.0.1:9899".parse().unwrap(),
            local: "[fd00::1]:0".parse().unwrap(),
            addresses: SmallVec::from_slice(&[
                "10.1.0.1".parse().unwrap(),
                "fd00::2".parse().unwrap(),
            ]),
            timestamps: true,
            interleaving: InterleavingOffer {
                i_data: true,
                i_forward_tsn: false,
            },
            auth: Some(CookieAuth {
                own: [1; 32],
                peer: Box::new(PeerAuth {
                    random: [2; 32],
                    chunks: Some(SmallVec::from_slice(&[193, 128])),
                    hmacs: SmallVec::from_slice(&[0, 3, 0, 1]),
                }),
                asconf: true,
            }),
        }
    }

    const USUAL: Duration = Duration::from_secs(60);

    /// The addresses of the endpoint.
    fn local() -> [SocketAddr; 2] {
        ["10.9.0.1:0", "[fd00::1]:0"].map(|a| a.parse().unwrap())
    }

    fn encoded(c: &Cookie) -> Vec<u8> {
        c.encode(USUAL)
    }

    fn decoded(c: &Cookie) -> Option<Cookie> {
        let local = local();
        let beside = c.beside(&local);
        Cookie::decode(&encoded(c), beside, Instant::from_millis(7), USUAL)
    }

    /// A cookie as most are.
    fn usual() -> Cookie {
        Cookie {
            tie_tags: (0, 0),
            addresses: SmallVec::new(),
            auth: None,
            ..cookie()
        }
    }

    #[test]
    fn what_is_in_a_cookie_comes_back() {
        let v6 = "[fd00::1]:9899".parse().unwrap();
        let other_life = Duration::from_secs(65);
        for c in [
            cookie(),
            usual(),
            Cookie {
                source: v6,
                ..usual()
            },
            Cookie {
                source: v6,
                ..cookie()
            },
            Cookie {
                life: other_life,
                ..usual()
            },
            Cookie {
                tie_tags: (0, 4),
                ..usual()
            },
            Cookie {
                timestamps: false,
                ..cookie()
            },
            Cookie {
                interleaving: InterleavingOffer {
                    i_data: true,
                    i_forward_tsn: true,
                },
                ..usual()
            },
        ] {
            assert_eq!(decoded(&c), Some(c));
        }
    }

    #[test]
    fn a_local_address_that_went_is_where_the_echo_came() {
        let (c, local) = (cookie(), local());
        let body = c.encode(USUAL);
        let other: SocketAddr = "10.9.0.7:0".parse().unwrap();
        let beside = Beside {
            destination: other,
            local: &[other],
            ..c.beside(&local)
        };
        let opened = Cookie::decode(&body, beside, Instant::from_millis(7), USUAL);
        assert_eq!(opened, Some(Cookie { local: other, ..c }));
    }

    /// The addresses before it went, and the echo came to another one.
    #[test]
    fn a_local_address_is_found_wherever_it_stands_in_the_list() {
        let addresses: Vec<SocketAddr> = ["10.9.0.1:0", "10.9.0.2:0", "10.8.0.1:0", "[fd00::1]:0"]
            .map(|a| a.parse().unwrap())
            .to_vec();
        for at in 0..addresses.len() {
            let c = Cookie {
                local: addresses[at],
                ..cookie()
            };
            let body = c.encode(USUAL);
            for destination in &addresses {
                let beside = Beside {
                    destination: *destination,
                    local: &addresses[at..],
                    ..c.beside(&addresses)
                };
                let opened = Cookie::decode(&body, beside, Instant::from_millis(7), USUAL);
                assert_eq!(opened.unwrap().local, addresses[at], "{destination}");
            }
        }
    }

    #[test]
    fn a_usual_cookie_is_short() {
        assert_eq!(encoded(&usual()).len() + MAC_LEN, 48);
        let source = "[fd00::1]:9899".parse().unwrap();
        let v6 = Cookie { source, ..usual() };
        assert_eq!(encoded(&v6).len() + MAC_LEN, 60);
    }

    #[test]
    fn the_clock_of_cookies_begins_again_without_harm() {
        let wrap = 1 << 32;
        for (made, now) in [(5, 9), (wrap - 3, wrap + 4), (wrap + 7, wrap + 7)] {
            let (made, now) = (Instant::from_millis(made), Instant::from_millis(now));
            assert_eq!(created(stamp(made), now), made);
        }
    }

    #[test]
    fn what_both_sides_said_of_auth_comes_back() {
        let mut c = cookie();
        for chunks in [None, Some(&[][..]), Some(&[0; 255])] {
            for asconf in [false, true] {
                let auth = c.auth.as_mut().unwrap();
                auth.asconf = asconf;
                auth.peer.chunks = chunks.map(SmallVec::from_slice);
                assert_eq!(decoded(&c), Some(c.clone()));
            }
        }
        let with = encoded(&c).len();
        c.auth = None;
        assert_eq!(decoded(&c), Some(c.clone()));
        assert!(
            encoded(&c).len() + 64 < with,
            "nothing is kept without AUTH"
        );
    }

    #[test]
    fn a_cookie_opens_as_it_was_sealed_and_for_two_hours() {
        let mut rng = ChaCha8Rng::from_seed([1; 32]);
        let mut keys = CookieKeys::new(&mut rng, USUAL);
        let made = Instant::from_millis(5);
        let sealed = keys.seal(&cookie(), &local(), made, &mut rng);
        let (c, local) = (cookie(), local());
        let beside = c.beside(&local);
        assert_eq!(keys.open(&sealed, beside, made), Ok(cookie()));
        let hour = |n: u64| Instant::from_millis(3_600_000 * n);
        keys.seal(&cookie(), &local, hour(1), &mut rng);
        assert_eq!(
            keys.open(&sealed, beside, hour(1)),
            Ok(cookie()),
            "the key of the hour before"
        );
        keys.seal(&cookie(), &local, hour(2), &mut rng);
        assert_eq!(
            keys.open(&sealed, beside, hour(2)),
            Err(BadCookie::Forged),
            "its key is gone"
        );
    }

    #[test]
    fn attack_old_cookie_does_not_open_when_the_clock_begins_again() {
        let mut rng = ChaCha8Rng::from_seed([1; 32]);
        let mut keys = CookieKeys::new(&mut rng, USUAL);
        let made = Instant::from_millis(5);
        let sealed = keys.seal(&cookie(), &local(), made, &mut rng);
        // No INIT came since, so the key is still the current one.
        let again = Instant::from_millis(5 + (1 << 32));
        let opened = keys.open(&sealed, cookie().beside(&local()), again);
        assert_eq!(opened, Err(BadCookie::Forged));
    }

    #[test]
    fn attack_forged_cookie_any_changed_bit_or_length_is_refused() {
        let mut rng = ChaCha8Rng::from_seed([1; 32]);
        let mut keys = CookieKeys::new(&mut rng, USUAL);
        let now = Instant::from_millis(5);
        let sealed = keys.seal(&cookie(), &local(), now, &mut rng);
        let (c, local) = (cookie(), local());
        let beside = c.beside(&local);
        for bit in 0..sealed.len() * 8 {
            let mut forged = sealed.clone();
            forged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(keys.open(&forged, beside, now), Err(BadCookie::Forged));
        }
        for len in 0..sealed.len() {
            let cut = keys.open(&sealed[..len], beside, now);
            assert_eq!(cut, Err(BadCookie::Forged));
        }
        for other in [
            Beside {
                local_tag: 2,
                ..beside
            },
            Beside {
                local_port: 6,
                ..beside
            },
            Beside {
                peer_port: 5,
                ..beside
            },
        ] {
            assert_eq!(keys.open(&sealed, other, now), Err(BadCookie::Forged));
        }
    }

    #[test]
    fn attack_malformed_cookie_contents_are_bounded_even_behind_a_valid_mac() {
        let (c, local) = (cookie(), local());
        let decode = |body: &[u8]| Cookie::decode(body, c.beside(&local), c.created, USUAL);
        let body = encoded(&c);
        for len in 0..body.len() {
            assert_eq!(decode(&body[..len]), None);
        }
        let mut long = body.clone();
        long.push(0);
        assert_eq!(decode(&long), None);
        for at in 0..body.len() {
            let mut changed = body.clone();
            changed[at] = 0xff;
            let _ = decode(&changed);
        }
    }
}
