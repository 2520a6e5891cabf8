//! What can be wrong.

use crate::key::PublicKey;

/// Why a text is not a ticket of this version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TicketError {
    /// It does not begin as tickets do.
    #[error("not a ticket: tickets begin with \"byway1-\"")]
    NotATicket,
    /// It is a ticket of another version of byway.
    #[error(
        "a ticket of version {0}; this byway reads version 1: use the same byway on both sides"
    )]
    OtherVersion(String),
    /// A character that no ticket has.
    #[error(
        "mistyped: character {0} of the ticket is none that tickets have (letters and the digits 2 to 7)"
    )]
    Character(usize),
    /// Its end is missing.
    #[error("cut short: {have} of its {whole} characters are here; copy the whole ticket")]
    Cut {
        /// Characters after "byway1-", hyphens not counted.
        have: usize,
        /// Characters that it says it has.
        whole: usize,
    },
    /// Its checksum is wrong.
    #[error("mistyped: its checksum is wrong; copy the ticket again")]
    Checksum,
    /// Its checksum is right and its contents are not: something else made it.
    #[error("damaged: {0}; ask for a new ticket")]
    Damaged(&'static str),
}

/// Why a handshake failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandshakeError {
    /// The server has another key than was expected.
    #[error("the other side has the key {}, which is not the one expected", .0.fingerprint())]
    UnexpectedKey(PublicKey),
    /// The peer does not speak this protocol.
    #[error("no TLS handshake: {0}")]
    NotTls(&'static str),
    /// The peer speaks another version of this protocol.
    #[error("version {0} of the encryption; this byway speaks version 1")]
    OtherVersion(u8),
    /// The peer has given up, with this alert of TLS (RFC 8446 section 6).
    #[error("the other side ended the handshake: {}", alert_words(*.0))]
    Alert(u8),
    /// TLS says why.
    #[error("TLS: {0}")]
    Tls(String),
    /// The handshake is not finished.
    #[error("the handshake is not finished")]
    Unfinished,
}

/// Alert of a side that does not accept the other's key.
pub(crate) const BAD_KEY: u8 = 42;
/// Alert of a server that serves something else.
pub(crate) const OTHER_SERVICE: u8 = 120;

fn alert_words(code: u8) -> String {
    match code {
        BAD_KEY => "it expects another key: its ticket is of another run".to_owned(),
        OTHER_SERVICE => {
            "it serves something else (recv, listen and serve have tickets of their own)".to_owned()
        }
        other => format!("TLS alert {other}"),
    }
}

/// Why a sealed message cannot be opened. The association is not to be used any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// It is too short to be one.
    #[error("a sealed message of {0} bytes")]
    Short(usize),
    /// Its kind is unknown.
    #[error("a sealed message of kind {0}")]
    Kind(u8),
    /// Its keys are too far from those in use.
    #[error("a sealed message with keys of another time")]
    Generation,
    /// It was changed, repeated, moved to another stream, or is not from the peer.
    #[error("a message that was changed on the way, or is not from the other side")]
    Forged,
    /// It came after the end.
    #[error("a message after the end")]
    AfterEnd,
}

/// Why a message cannot be sealed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// The cipher refuses so much.
    #[error("the cipher does not take a message of {0} bytes")]
    TooLong(usize),
    /// The end was sealed.
    #[error("a message after the end")]
    AfterEnd,
}
