//! COOKIE ECHO and COOKIE ACK (RFC 9260 sections 3.3.11 and 3.3.12).

use super::chunk_type;
use crate::build::PacketBuilder;

/// The State Cookie, returned to its sender.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct CookieEcho<'a> {
    /// The value of the State Cookie parameter that the INIT ACK carried.
    pub cookie: &'a [u8],
}

impl PacketBuilder<'_> {
    /// Writes a COOKIE ECHO.
    ///
    /// # Panics
    /// When the cookie is longer than 65,531 bytes, which no State Cookie
    /// parameter can hold either.
    pub fn cookie_echo(&mut self, cookie: &[u8]) {
        self.put(chunk_type::COOKIE_ECHO, 0, &[cookie]);
    }

    /// Writes a COOKIE ACK.
    pub fn cookie_ack(&mut self) {
        self.put(chunk_type::COOKIE_ACK, 0, &[]);
    }
}
