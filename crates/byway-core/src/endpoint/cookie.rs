//! State Cookies (RFC 9260 sections 5.1.3 to 5.1.5). A cookie holds everything that
//! an association needs to begin, authenticated with a key of this endpoint. So the
//! endpoint keeps no state for a peer that has only sent an INIT.

use crate::auth::{MAX_HMACS, PeerAuth, Random};
use crate::time::{Duration, Instant};
use byway_wire::Tsn;
use chacha20::ChaCha8Rng;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use hmac::{Hmac, KeyInit, Mac};
use rand::RngExt;
use sha2::Sha256;
use smallvec::SmallVec;

const MAC_LEN: usize = 32;
/// How long a key makes cookies. The previous key still opens them.
const KEY_LIFE: Duration = Duration::from_secs(3600);
/// Most addresses of the peer in a cookie.
const MAX_ADDRESSES: usize = 32;
/// Flag in the byte that counts the addresses: the peer supports TIMESTAMP.
const TIMESTAMPS: u8 = 0x80;
/// Flag in the same byte: the parameters of AUTH follow the addresses.
const AUTH: u8 = 0x40;
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

/// The key of this hour and the previous one.
#[derive(Debug)]
pub(crate) struct CookieKeys {
    current: [u8; 32],
    previous: [u8; 32],
    since: Instant,
}

impl CookieKeys {
    pub(crate) fn new(rng: &mut ChaCha8Rng) -> CookieKeys {
        CookieKeys {
            current: rng.random(),
            previous: rng.random(),
            since: Instant::ZERO,
        }
    }

    fn rotate(&mut self, now: Instant, rng: &mut ChaCha8Rng) {
        if now.since(self.since) >= KEY_LIFE {
            self.previous = core::mem::replace(&mut self.current, rng.random());
            self.since = now;
        }
    }

    /// Encodes a cookie and appends its MAC.
    pub(crate) fn seal(&mut self, c: &Cookie, now: Instant, rng: &mut ChaCha8Rng) -> Vec<u8> {
        self.rotate(now, rng);
        let mut bytes = c.encode();
        let mac = mac(&self.current, &bytes).finalize().into_bytes();
        bytes.extend_from_slice(&mac);
        bytes
    }

    /// Appends a MAC to any bytes, so that a fuzzer gets past the check.
    #[cfg(fuzzing)]
    pub(crate) fn seal_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let mac = mac(&self.current, bytes).finalize().into_bytes();
        [bytes, &mac].concat()
    }

    /// Opens a cookie: checks its MAC in constant time, then decodes it without
    /// trusting its contents.
    pub(crate) fn open(&self, bytes: &[u8]) -> Result<Cookie, BadCookie> {
        let Some(split) = bytes.len().checked_sub(MAC_LEN) else {
            return Err(BadCookie::Forged);
        };
        let (body, tag) = bytes.split_at(split);
        let genuine = [&self.current, &self.previous]
            .into_iter()
            .any(|key| mac(key, body).verify_slice(tag).is_ok());
        if !genuine {
            return Err(BadCookie::Forged);
        }
        Cookie::decode(body).ok_or(BadCookie::Forged)
    }
}

fn mac(key: &[u8; 32], bytes: &[u8]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(bytes);
    mac
}

impl Cookie {
    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(160);
        out.extend_from_slice(&self.created.as_nanos().to_be_bytes());
        out.extend_from_slice(&(self.life.as_millis() as u32).to_be_bytes());
        for word in [
            self.local_tag,
            self.peer_tag,
            self.tie_tags.0,
            self.tie_tags.1,
            self.local_tsn.0,
            self.peer_tsn.0,
            self.a_rwnd,
        ] {
            out.extend_from_slice(&word.to_be_bytes());
        }
        for half in [self.local_port, self.peer_port, self.outbound, self.inbound] {
            out.extend_from_slice(&half.to_be_bytes());
        }
        for a in [self.source, self.local] {
            put_ip(&mut out, a.ip());
            out.extend_from_slice(&a.port().to_be_bytes());
        }
        let listed = &self.addresses[..self.addresses.len().min(MAX_ADDRESSES)];
        let stamps = if self.timestamps { TIMESTAMPS } else { 0 };
        let auth = if self.auth.is_some() { AUTH } else { 0 };
        out.push(listed.len() as u8 | stamps | auth);
        for &ip in listed {
            put_ip(&mut out, ip);
        }
        if let Some(auth) = &self.auth {
            auth.encode(&mut out);
        }
        out
    }

    fn decode(bytes: &[u8]) -> Option<Cookie> {
        let mut r = Reader(bytes);
        let created = Instant::from_nanos(u64::from_be_bytes(r.take()?));
        let life = Duration::from_millis(u64::from(r.word()?));
        let (local_tag, peer_tag) = (r.word()?, r.word()?);
        let tie_tags = (r.word()?, r.word()?);
        let (local_tsn, peer_tsn) = (Tsn(r.word()?), Tsn(r.word()?));
        let a_rwnd = r.word()?;
        let (local_port, peer_port) = (r.half()?, r.half()?);
        let (outbound, inbound) = (r.half()?, r.half()?);
        let source = SocketAddr::new(r.ip()?, r.half()?);
        let local = SocketAddr::new(r.ip()?, r.half()?);
        let [count] = r.take()?;
        let mut addresses = SmallVec::new();
        for _ in 0..usize::from(count & !(TIMESTAMPS | AUTH)).min(MAX_ADDRESSES) {
            addresses.push(r.ip()?);
        }
        let auth = if count & AUTH == 0 {
            None
        } else {
            Some(CookieAuth::decode(&mut r)?)
        };
        let valid = local_tag != 0 && peer_tag != 0 && outbound != 0 && inbound != 0;
        (r.0.is_empty() && valid).then_some(Cookie {
            created,
            life,
            local_tag,
            peer_tag,
            tie_tags,
            local_port,
            peer_port,
            local_tsn,
            peer_tsn,
            a_rwnd,
            outbound,
            inbound,
            source,
            local,
            addresses,
            timestamps: count & TIMESTAMPS != 0,
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

    #[test]
    fn what_both_sides_said_of_auth_comes_back() {
        let mut c = cookie();
        for chunks in [None, Some(&[][..]), Some(&[0; 255])] {
            for asconf in [false, true] {
                let auth = c.auth.as_mut().unwrap();
                auth.asconf = asconf;
                auth.peer.chunks = chunks.map(SmallVec::from_slice);
                assert_eq!(Cookie::decode(&c.encode()), Some(c.clone()));
            }
        }
        let with = c.encode().len();
        c.auth = None;
        assert_eq!(Cookie::decode(&c.encode()), Some(c.clone()));
        assert!(c.encode().len() + 64 < with, "nothing is kept without AUTH");
    }

    #[test]
    fn a_cookie_opens_as_it_was_sealed_and_for_two_hours() {
        let mut rng = ChaCha8Rng::from_seed([1; 32]);
        let mut keys = CookieKeys::new(&mut rng);
        let sealed = keys.seal(&cookie(), Instant::ZERO, &mut rng);
        assert_eq!(keys.open(&sealed), Ok(cookie()));
        let hour = |n: u64| Instant::from_millis(3_600_000 * n);
        keys.seal(&cookie(), hour(1), &mut rng);
        assert_eq!(
            keys.open(&sealed),
            Ok(cookie()),
            "the key of the hour before"
        );
        keys.seal(&cookie(), hour(2), &mut rng);
        assert_eq!(
            keys.open(&sealed),
            Err(BadCookie::Forged),
            "its key is gone"
        );
    }

    #[test]
    fn attack_forged_cookie_any_changed_bit_or_length_is_refused() {
        let mut rng = ChaCha8Rng::from_seed([1; 32]);
        let mut keys = CookieKeys::new(&mut rng);
        let sealed = keys.seal(&cookie(), Instant::ZERO, &mut rng);
        for bit in 0..sealed.len() * 8 {
            let mut forged = sealed.clone();
            forged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(keys.open(&forged), Err(BadCookie::Forged));
        }
        for len in 0..sealed.len() {
            assert_eq!(keys.open(&sealed[..len]), Err(BadCookie::Forged));
        }
    }

    #[test]
    fn attack_malformed_cookie_contents_are_bounded_even_behind_a_valid_mac() {
        let body = cookie().encode();
        for len in 0..body.len() {
            assert_eq!(Cookie::decode(&body[..len]), None);
        }
        let mut long = body.clone();
        long.push(0);
        assert_eq!(Cookie::decode(&long), None);
        for at in 0..body.len() {
            let mut changed = body.clone();
            changed[at] = 0xff;
            let _ = Cookie::decode(&changed);
        }
    }
}
