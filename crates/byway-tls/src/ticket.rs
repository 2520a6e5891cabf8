//! Tickets: one word that says where to connect, whose key is there, and a secret.
//!
//! The text is `byway1-` and base32 (RFC 4648) of these bytes, in groups of eight characters:
//!
//! ```text
//! 1   length of all of this in bytes
//! 1   bits 0 to 2: the service; bit 3: has a secret; bit 4: has an expiry; others 0
//! 2   SCTP port
//! 16  first half of the fingerprint of the server's key
//! 16  the secret, if bit 3 is set
//! 8   seconds since 1970 at which it expires, if bit 4 is set
//! 1   number of addresses, 1 to 8
//!     for each: 1 byte 4 or 6, the address (4 or 16 bytes), 2 bytes UDP port (0: without UDP)
//! 4   first bytes of the SHA-256 of "byway ticket 1" and all before
//! ```
//! Numbers are big-endian. Spaces, line breaks and hyphens between characters are ignored, and large
//! letters are small ones. 0, 1 and 8 are no characters of base32: they are read as o, l and b.

use crate::error::TicketError;
use crate::key::KeyError;
use crate::service::Service;
use data_encoding::{DecodeKind, Encoding, Specification};
use sha2::{Digest, Sha256};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::LazyLock;
use zeroize::Zeroizing;

/// Most addresses of a ticket.
pub const MOST_ADDRESSES: usize = 8;
/// Begins every ticket of this version.
pub const TICKET_PREFIX: &str = "byway1-";
/// Characters between two hyphens.
const GROUP: usize = 8;
const CHECKSUM: usize = 4;
/// Longest text that is looked at: no ticket is a tenth of that.
const LONGEST: usize = 4096;
/// A name of a host without a dot is shorter.
const LONGEST_HOST: usize = 63;
const HAS_SECRET: u8 = 8;
const HAS_EXPIRY: u8 = 16;

static BASE32: LazyLock<Encoding> = LazyLock::new(|| {
    let mut specification = Specification::new();
    specification
        .symbols
        .push_str("abcdefghijklmnopqrstuvwxyz234567");
    specification
        .translate
        .from
        .push_str("ABCDEFGHIJKLMNOPQRSTUVWXYZ018");
    specification
        .translate
        .to
        .push_str("abcdefghijklmnopqrstuvwxyzolb");
    specification.check_trailing_bits = false;
    specification
        .encoding()
        .expect("the symbols are 32 different ones; a test encodes")
});

/// Sixteen secret bytes. Their memory is wiped when they are dropped, and they are not shown.
#[derive(Clone)]
pub struct Secret(Zeroizing<[u8; 16]>);

impl Secret {
    /// A new secret.
    ///
    /// # Errors
    /// [`KeyError::Random`].
    pub fn generate() -> Result<Secret, KeyError> {
        let mut bytes = Zeroizing::new([0; 16]);
        getrandom::fill(&mut *bytes).map_err(|e| KeyError::Random(e.to_string()))?;
        Ok(Secret(bytes))
    }

    pub(crate) fn bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Where to connect, whose key is there, and a secret that its bearer proves to know.
#[derive(Clone, Debug)]
pub struct Ticket {
    /// What it is for.
    pub service: Service,
    /// SCTP port of the server.
    pub sctp_port: u16,
    /// First half of the fingerprint of the server's key.
    pub server: [u8; 16],
    /// The secret; a ticket without one names the server only, and needs an authorised key.
    pub secret: Option<Secret>,
    /// When it expires, in seconds since 1970.
    pub expires: Option<u64>,
    /// Addresses of the server with UDP ports; port 0 is SCTP directly over IP. At most
    /// [`MOST_ADDRESSES`].
    pub addresses: Vec<SocketAddr>,
}

impl Ticket {
    /// The text of the ticket. Addresses beyond [`MOST_ADDRESSES`] are left out.
    #[must_use]
    pub fn to_text(&self) -> Zeroizing<String> {
        let plain = Zeroizing::new(BASE32.encode(&self.to_bytes()));
        let mut text = Zeroizing::new(String::with_capacity(2 * plain.len()));
        text.push_str(TICKET_PREFIX);
        for (n, c) in plain.chars().enumerate() {
            if n > 0 && n % GROUP == 0 {
                text.push('-');
            }
            text.push(c);
        }
        text
    }

    fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut out = Zeroizing::new(Vec::with_capacity(256));
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        out.push(0);
        out.push(
            self.service.number()
                | flag(self.secret.is_some(), HAS_SECRET)
                | flag(self.expires.is_some(), HAS_EXPIRY),
        );
        out.extend_from_slice(&self.sctp_port.to_be_bytes());
        out.extend_from_slice(&self.server);
        if let Some(secret) = &self.secret {
            out.extend_from_slice(secret.bytes());
        }
        if let Some(expires) = self.expires {
            out.extend_from_slice(&expires.to_be_bytes());
        }
        let addresses = &self.addresses[..self.addresses.len().min(MOST_ADDRESSES)];
        out.push(addresses.len() as u8);
        for address in addresses {
            match address.ip() {
                IpAddr::V4(ip) => {
                    out.push(4);
                    out.extend_from_slice(&ip.octets());
                }
                IpAddr::V6(ip) => {
                    out.push(6);
                    out.extend_from_slice(&ip.octets());
                }
            }
            out.extend_from_slice(&address.port().to_be_bytes());
        }
        // At most 201 bytes and the checksum.
        out[0] = (out.len() + CHECKSUM) as u8;
        let sum = checksum(&out);
        out.extend_from_slice(&sum);
        out
    }

    /// What both sides prove of the ticket: all of it but the addresses, which a translator (NAT) may
    /// have made others of. Whose key is there, the handshake has checked.
    pub(crate) fn digest(&self) -> [u8; 32] {
        let bytes = Ticket {
            addresses: Vec::new(),
            ..self.clone()
        };
        Sha256::digest(&*bytes.to_bytes()).into()
    }

    /// Whether a text is meant as a ticket, of whatever version, and not as the name of a host.
    #[must_use]
    pub fn is_meant(text: &str) -> bool {
        let text = squeezed(text);
        let begins = text
            .get(..5)
            .is_some_and(|b| b.eq_ignore_ascii_case("byway"));
        let long = text.len() > LONGEST_HOST && !text.contains(['.', ':']);
        version(&text).is_some() || begins && long
    }

    /// Reads a ticket.
    ///
    /// # Errors
    /// What is wrong with it. No error quotes the ticket.
    pub fn parse(text: &str) -> Result<Ticket, TicketError> {
        let text = squeezed(text);
        let (version, rest) = version(&text).ok_or(TicketError::NotATicket)?;
        if version != "1" {
            return Err(TicketError::OtherVersion(version.to_owned()));
        }
        let symbols = Zeroizing::new(rest.replace('-', ""));
        let bytes = decode(&symbols)?;
        let cut = |whole: usize| TicketError::Cut {
            have: symbols.len(),
            whole: BASE32.encode_len(whole),
        };
        let whole = usize::from(*bytes.first().ok_or(cut(1))?);
        if bytes.len() < whole {
            return Err(cut(whole));
        }
        let (body, sum) = bytes
            .len()
            .checked_sub(CHECKSUM)
            .and_then(|at| bytes.split_at_checked(at))
            .ok_or(TicketError::Checksum)?;
        if bytes.len() != whole || checksum(body) != sum {
            return Err(TicketError::Checksum);
        }
        read(&body[1..]).map_err(TicketError::Damaged)
    }
}

/// Without what is between the characters, up to the most that is looked at.
fn squeezed(text: &str) -> Zeroizing<String> {
    let kept = text.chars().take(LONGEST).filter(|c| !c.is_whitespace());
    Zeroizing::new(kept.collect())
}

/// The version, and what follows it.
fn version(text: &str) -> Option<(&str, &str)> {
    let (prefix, rest) = text.split_at_checked("byway".len())?;
    let (version, rest) = rest.split_once('-')?;
    let sound =
        !version.is_empty() && version.len() <= 3 && version.bytes().all(|b| b.is_ascii_digit());
    (prefix.eq_ignore_ascii_case("byway") && sound).then_some((version, rest))
}

fn decode(symbols: &str) -> Result<Zeroizing<Vec<u8>>, TicketError> {
    let mut symbols = symbols.as_bytes();
    loop {
        match BASE32.decode(symbols) {
            Ok(bytes) => return Ok(Zeroizing::new(bytes)),
            // Cut within a byte: its end is missing, which its length tells.
            Err(e) if e.kind == DecodeKind::Length => symbols = &symbols[..e.position],
            Err(e) => return Err(TicketError::Character(e.position + 1)),
        }
    }
}

fn checksum(body: &[u8]) -> [u8; CHECKSUM] {
    let sum = Sha256::new()
        .chain_update(b"byway ticket 1")
        .chain_update(body);
    let mut out = [0; CHECKSUM];
    out.copy_from_slice(&sum.finalize()[..CHECKSUM]);
    out
}

/// Reads what is between the length and the checksum.
fn read(mut rest: &[u8]) -> Result<Ticket, &'static str> {
    let [flags] = take(&mut rest)?;
    if flags & 0xe0 != 0 {
        return Err("flags of another version");
    }
    let service = Service::of_number(flags & 7).ok_or("an unknown service")?;
    let sctp_port = u16::from_be_bytes(take(&mut rest)?);
    let server = take(&mut rest)?;
    let mut secret = None;
    if flags & HAS_SECRET != 0 {
        secret = Some(Secret(Zeroizing::new(take(&mut rest)?)));
    }
    let mut expires = None;
    if flags & HAS_EXPIRY != 0 {
        expires = Some(u64::from_be_bytes(take(&mut rest)?));
    }
    let [count] = take(&mut rest)?;
    if !(1..=MOST_ADDRESSES).contains(&usize::from(count)) {
        return Err("no address, or too many");
    }
    let mut addresses = Vec::new();
    for _ in 0..count {
        let ip: IpAddr = match take(&mut rest)? {
            [4] => take::<4>(&mut rest)?.into(),
            [6] => take::<16>(&mut rest)?.into(),
            _ => return Err("an address of an unknown kind"),
        };
        addresses.push(SocketAddr::new(ip, u16::from_be_bytes(take(&mut rest)?)));
    }
    if sctp_port == 0 || !rest.is_empty() {
        return Err("contents of another length");
    }
    Ok(Ticket {
        service,
        sctp_port,
        server,
        secret,
        expires,
        addresses,
    })
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], &'static str> {
    let (first, others) = rest.split_first_chunk().ok_or("contents too short")?;
    *rest = others;
    Ok(*first)
}

#[cfg(test)]
#[path = "ticket_tests.rs"]
mod tests;
