//! The chunk types (RFC 9260 section 3.2 and the sections of the extensions).

/// Payload data (RFC 9260 section 3.3.1).
pub const DATA: u8 = 0;
/// Initiation (RFC 9260 section 3.3.2).
pub const INIT: u8 = 1;
/// Initiation acknowledgement (RFC 9260 section 3.3.3).
pub const INIT_ACK: u8 = 2;
/// Selective acknowledgement (RFC 9260 section 3.3.4).
pub const SACK: u8 = 3;
/// Heartbeat request (RFC 9260 section 3.3.5).
pub const HEARTBEAT: u8 = 4;
/// Heartbeat acknowledgement (RFC 9260 section 3.3.6).
pub const HEARTBEAT_ACK: u8 = 5;
/// Abort (RFC 9260 section 3.3.7).
pub const ABORT: u8 = 6;
/// Shutdown (RFC 9260 section 3.3.8).
pub const SHUTDOWN: u8 = 7;
/// Shutdown acknowledgement (RFC 9260 section 3.3.9).
pub const SHUTDOWN_ACK: u8 = 8;
/// Operation error (RFC 9260 section 3.3.10).
pub const ERROR: u8 = 9;
/// State cookie (RFC 9260 section 3.3.11).
pub const COOKIE_ECHO: u8 = 10;
/// Cookie acknowledgement (RFC 9260 section 3.3.12).
pub const COOKIE_ACK: u8 = 11;
/// Reserved for explicit congestion notification echo.
pub const ECNE: u8 = 12;
/// Reserved for congestion window reduced.
pub const CWR: u8 = 13;
/// Shutdown complete (RFC 9260 section 3.3.13).
pub const SHUTDOWN_COMPLETE: u8 = 14;
/// Authentication (RFC 4895 section 5.1).
pub const AUTH: u8 = 15;
/// Payload data with interleaving (RFC 8260 section 2.1).
pub const I_DATA: u8 = 64;
/// Address configuration acknowledgement (RFC 5061 section 4.1.2).
pub const ASCONF_ACK: u8 = 128;
/// Stream reconfiguration (RFC 6525 section 3.1).
pub const RE_CONFIG: u8 = 130;
/// Padding (RFC 4820 section 3).
pub const PAD: u8 = 132;
/// Timestamps (byway's own, for caro-2004 section II.B; not registered).
pub const TIMESTAMP: u8 = 160;
/// Forward cumulative TSN (RFC 3758 section 3.2).
pub const FORWARD_TSN: u8 = 192;
/// Address configuration change (RFC 5061 section 4.1.1).
pub const ASCONF: u8 = 193;
/// Forward cumulative TSN with interleaving (RFC 8260 section 2.3.1).
pub const I_FORWARD_TSN: u8 = 194;

/// The name that the RFCs give to a chunk type, for logs and traces.
#[must_use]
pub const fn name(kind: u8) -> Option<&'static str> {
    Some(match kind {
        DATA => "DATA",
        INIT => "INIT",
        INIT_ACK => "INIT ACK",
        SACK => "SACK",
        HEARTBEAT => "HEARTBEAT",
        HEARTBEAT_ACK => "HEARTBEAT ACK",
        ABORT => "ABORT",
        SHUTDOWN => "SHUTDOWN",
        SHUTDOWN_ACK => "SHUTDOWN ACK",
        ERROR => "ERROR",
        COOKIE_ECHO => "COOKIE ECHO",
        COOKIE_ACK => "COOKIE ACK",
        ECNE => "ECNE",
        CWR => "CWR",
        SHUTDOWN_COMPLETE => "SHUTDOWN COMPLETE",
        AUTH => "AUTH",
        I_DATA => "I-DATA",
        ASCONF_ACK => "ASCONF-ACK",
        RE_CONFIG => "RE-CONFIG",
        PAD => "PAD",
        TIMESTAMP => "TIMESTAMP",
        FORWARD_TSN => "FORWARD TSN",
        ASCONF => "ASCONF",
        I_FORWARD_TSN => "I-FORWARD-TSN",
        _ => return None,
    })
}
