//! The options of tickets and keys.

use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// Of a side that connects.
#[derive(Debug, Default, Args)]
pub(crate) struct ClientArgs {
    /// File of the private key that proves who this is
    ///
    /// `byway key new` makes one. Without it, a key for this ticket alone, or where keys are asked for
    /// ~/.config/byway/key.
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// For --to ADDR: encrypt, and accept the other side if its public key is in this file
    ///
    /// The file has one on each line. A ticket names the key itself.
    #[arg(long, value_name = "FILE")]
    pub(crate) authorized: Option<PathBuf>,
}

/// Of a side that waits.
#[derive(Debug, Args)]
pub(crate) struct GateArgs {
    /// Let the ticket expire after this time, such as 10min or 12h [default: when the command ends]
    #[arg(long, value_name = "TIME", value_parser = byway_lab::units::parse_duration)]
    pub(crate) valid_for: Option<Duration>,
    /// Write the ticket to this file, which only you can read, and not to the screen
    #[arg(long, value_name = "FILE")]
    pub(crate) ticket_to: Option<PathBuf>,
    /// Let in those whose public keys are in this file (see `byway key`)
    ///
    /// One on each line, and nobody else: the ticket has no secret then.
    #[arg(long, value_name = "FILE")]
    pub(crate) authorized: Option<PathBuf>,
    /// File of the private key that proves who this is
    ///
    /// Without it, a new key, or with --authorized ~/.config/byway/key.
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// Encrypt nothing and let in whoever reaches the addresses
    ///
    /// As on a private network or for other SCTP programs. No ticket is made.
    #[arg(long, conflicts_with_all = ["key", "authorized", "ticket_to", "valid_for"])]
    pub(crate) unprotected: bool,
}

/// How many may use a ticket: each is known by its key, and may come back until it is done.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Uses {
    Any,
    AtMost(u32),
}

impl Uses {
    /// Reads --uses.
    pub(crate) fn parse(text: &str) -> Result<Uses, String> {
        match (text, text.parse()) {
            ("any", _) => Ok(Uses::Any),
            (_, Ok(n)) if n > 0 => Ok(Uses::AtMost(n)),
            _ => Err("a number from 1 on, or any".to_owned()),
        }
    }
}
