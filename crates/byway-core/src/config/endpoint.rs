//! Settings of an endpoint (all associations of one SCTP port).

use super::{Config, ConfigError};
use crate::dialect::DialectRef;
use crate::scope::is_unicast;
use core::net::SocketAddr;

/// Most local addresses of an endpoint.
pub const MAX_LOCAL: usize = 8;

/// Which layer computes and checks the CRC32c of a packet.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub enum ChecksumMode {
    /// The core computes it for each outgoing packet and checks it in each incoming
    /// one.
    #[default]
    Crc32c,
    /// A lower layer does this, such as a network card with checksum offload. Packets
    /// leave with a zero checksum and are not checked. The simulator uses this: it drops
    /// corrupt packets itself and computes the checksum when it writes a capture.
    Offloaded,
}

/// Which part of a server an endpoint is, where several endpoints serve one SCTP port together,
/// each on a processor of its own.
///
/// All packets of peers with one SCTP port must come to the same part: associations are told apart
/// by the peer's port first, and what one packet has to do with another association
/// (RFC 9260 section 5.2) is found in one part alone. The parts share the limits of
/// [`EndpointConfig`] and those on answers in equal shares, so that all of them together stay
/// within.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its number, from 0 on.
    pub number: u32,
    /// How many there are, 1 to [`MAX_PARTS`].
    pub of: u32,
}

/// Most parts of a server.
pub const MAX_PARTS: u32 = 64;

impl Part {
    /// An endpoint that is alone: the default.
    pub const WHOLE: Part = Part { number: 0, of: 1 };

    /// This part's share of a limit. At least one of what there is.
    #[must_use]
    pub fn share(self, limit: usize) -> usize {
        (limit / self.of as usize).max(limit.min(1))
    }
}

/// Settings of an endpoint.
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    /// The addresses that this host advertises and sends from. The port is the UDP
    /// encapsulation port (RFC 6951) of that address; 0 means plain SCTP over IP.
    /// Wildcards are refused, because an address must be named to be advertised.
    pub local: Vec<SocketAddr>,
    /// The SCTP port, 1 to 65535.
    pub port: u16,
    /// Whether this side accepts associations that a peer sets up.
    pub accept: bool,
    /// Most associations at the same time (65,536). Above this, an INIT is answered with
    /// an ABORT, Out of Resource.
    pub max_associations: usize,
    /// Most associations at the same time that one host may set up (16,384, a quarter of all, as
    /// many may share one address behind a translator; of IPv6, 64 bits are one host). Above this,
    /// an INIT from that address is answered with an ABORT, Out of Resource.
    ///
    /// The handshakes of one address have a limit of their own, which is no setting: an
    /// endpoint answers at most 500 INITs a second from one host (1,000 at once) and 4,000 from
    /// all, not counting those whose COOKIE ECHO follows. Beyond that it answers 1,000 of
    /// newcomers, of one host eight, and then one a second. The same holds, in a count of its
    /// own, for packets out of the blue (RFC 9260 section 8.4).
    pub max_associations_per_peer: usize,
    /// Most memory that all associations may take, in bytes (256 MiB): what peers can make
    /// this side keep. Above three quarters of it hosts with eight associations set up no further one;
    /// above seven eighths each association may use its max-min share of these, and DATA beyond it is dropped (the peer
    /// sends it again); above fifteen sixteenths the association that holds most is aborted (Out of Resource), so
    /// new ones find room. The associations of one host take at most half of it, by the same three steps.
    /// docs/networks.md, "Memory", has the rules in full. A host is an IPv4 address or 64
    /// bits of an IPv6 address.
    pub max_memory: usize,
    /// Settings of the associations that are accepted.
    pub accepted: Config,
    /// The dialect of all associations: how another implementation reads the standard.
    /// None by default.
    pub dialect: Option<DialectRef>,
    /// Which part of a server it is, and so how much of the limits above it has
    /// ([`Part::WHOLE`]).
    pub part: Part,
    /// Which layer computes and checks checksums.
    pub checksum: ChecksumMode,
    /// Seed of all random choices (tags, TSNs, nonces, cookie keys, jitter). A driver
    /// must draw it from the system's random generator. A simulation with the same seed
    /// repeats exactly.
    pub seed: [u8; 32],
    /// Whether observations are recorded (false).
    pub observe: bool,
    /// Whether observations include [`Window`](crate::Observation::Window),
    /// [`SackSent`](crate::Observation::SackSent) and
    /// [`Delivered`](crate::Observation::Delivered) (true). They occur with nearly
    /// every packet, so `false` saves time if nobody reads them.
    pub observe_details: bool,
}

impl EndpointConfig {
    /// An endpoint on `port` with these local addresses and the settings of RFC 9260.
    #[must_use]
    pub fn new(port: u16, local: Vec<SocketAddr>, seed: [u8; 32]) -> EndpointConfig {
        EndpointConfig {
            local,
            port,
            accept: true,
            max_associations: 65_536,
            max_associations_per_peer: 16_384,
            max_memory: 256 << 20,
            accepted: Config::default(),
            dialect: None,
            part: Part::WHOLE,
            checksum: ChecksumMode::Crc32c,
            seed,
            observe: false,
            observe_details: true,
        }
    }

    /// Refuses invalid settings.
    ///
    /// # Errors
    /// Names the field, its value and a valid value.
    pub fn check(&self) -> Result<(), ConfigError> {
        let fail = |field, value: String, problem: &str| {
            Err(ConfigError {
                field,
                value,
                problem: problem.to_owned(),
            })
        };
        if self.local.is_empty() || self.local.len() > MAX_LOCAL {
            return fail(
                "local",
                format!("{} addresses", self.local.len()),
                "give 1 to 8 addresses",
            );
        }
        for (i, a) in self.local.iter().enumerate() {
            if !is_unicast(a.ip()) {
                return fail(
                    "local",
                    a.to_string(),
                    "name each address that peers shall see; a wildcard, broadcast or multicast address cannot be a path",
                );
            }
            if self.local[..i].iter().any(|b| b.ip() == a.ip()) {
                return fail("local", a.to_string(), "is listed twice");
            }
        }
        if self.port == 0 {
            return fail("port", "0".into(), "an SCTP port is 1 to 65535");
        }
        let Part { number, of } = self.part;
        if of == 0 || of > MAX_PARTS || number >= of {
            return fail(
                "part",
                format!("{number} of {of}"),
                "there are 1 to 64 parts, numbered from 0 on",
            );
        }
        self.accepted.check()
    }
}
