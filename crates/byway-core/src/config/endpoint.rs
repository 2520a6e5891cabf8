//! What an endpoint (all associations of one SCTP port) is told.

use super::{Config, ConfigError};
use crate::dialect::DialectRef;
use core::net::SocketAddr;

/// Who makes and checks the CRC32c of a packet.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub enum ChecksumMode {
    /// The core: every packet is summed on its way out and checked on its way in.
    #[default]
    Crc32c,
    /// Somebody below, as with a card that offloads it. Packets leave with a
    /// zero checksum and are not checked. The simulator uses this: a corrupt
    /// packet is dropped there, and captures get their checksum when written.
    Offloaded,
}

/// What an endpoint is told.
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    /// The addresses that this host advertises and sends from. The port is the
    /// UDP encapsulation port (RFC 6951) of that address; 0 means plain SCTP
    /// over IP. Wildcards are refused: an address that is not named is not
    /// advertised.
    pub local: Vec<SocketAddr>,
    /// The SCTP port, 1 to 65535.
    pub port: u16,
    /// Whether associations that others set up are accepted.
    pub accept: bool,
    /// Most associations at once (65,536); further INITs are answered with an
    /// ABORT, Out of Resource.
    pub max_associations: usize,
    /// Most associations at once that one peer address may set up (65,536).
    pub max_associations_per_peer: usize,
    /// Settings of the associations that are accepted.
    pub accepted: Config,
    /// Another implementation's reading of the standard, for all associations; none
    /// by default.
    pub dialect: Option<DialectRef>,
    /// Who makes and checks checksums.
    pub checksum: ChecksumMode,
    /// Seeds every random choice (tags, TSNs, nonces, cookie keys, jitter). A
    /// driver must draw it from the system's generator; a simulation repeats
    /// exactly with the same seed.
    pub seed: [u8; 32],
    /// Whether observations are recorded (false).
    pub observe: bool,
    /// Whether these include [`Window`](crate::Observation::Window),
    /// [`SackSent`](crate::Observation::SackSent) and
    /// [`Delivered`](crate::Observation::Delivered), which come with nearly every
    /// packet (true): who does not look at them need not have them written.
    pub observe_details: bool,
}

impl EndpointConfig {
    /// An endpoint on `port` with these local addresses and RFC 9260's settings.
    #[must_use]
    pub fn new(port: u16, local: Vec<SocketAddr>, seed: [u8; 32]) -> EndpointConfig {
        EndpointConfig {
            local,
            port,
            accept: true,
            max_associations: 65_536,
            max_associations_per_peer: 65_536,
            accepted: Config::default(),
            dialect: None,
            checksum: ChecksumMode::Crc32c,
            seed,
            observe: false,
            observe_details: true,
        }
    }

    /// Refuses what cannot work.
    ///
    /// # Errors
    /// The field, its value and what would be right.
    pub fn check(&self) -> Result<(), ConfigError> {
        let fail = |field, value: String, problem: &str| {
            Err(ConfigError {
                field,
                value,
                problem: problem.to_owned(),
            })
        };
        if self.local.is_empty() || self.local.len() > 8 {
            return fail(
                "local",
                format!("{} addresses", self.local.len()),
                "give 1 to 8 addresses",
            );
        }
        for (i, a) in self.local.iter().enumerate() {
            if a.ip().is_unspecified() || a.ip().is_multicast() {
                return fail(
                    "local",
                    a.to_string(),
                    "name each address that peers shall see; a wildcard or multicast address cannot be a path",
                );
            }
            if self.local[..i].iter().any(|b| b.ip() == a.ip()) {
                return fail("local", a.to_string(), "is listed twice");
            }
        }
        if self.port == 0 {
            return fail("port", "0".into(), "an SCTP port is 1 to 65535");
        }
        self.accepted.check()
    }
}
