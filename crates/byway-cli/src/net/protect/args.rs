//! The options of tickets and keys.

use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// Of a side that connects.
#[derive(Debug, Default, Args)]
pub(crate) struct ClientArgs {
    /// File of the private key that proves who this is (`byway key new` makes one); without it, a key
    /// for this ticket alone, or where keys are asked for ~/.config/byway/key
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// For --to ADDR: encrypt, and accept the other side if its public key is in this file, which has
    /// one on each line. A ticket names the key itself
    #[arg(long, value_name = "FILE")]
    pub(crate) authorized: Option<PathBuf>,
}

/// Of a side that waits.
#[derive(Debug, Args)]
pub(crate) struct GateArgs {
    /// Encrypt nothing and let in whoever reaches the addresses, as on a private network or for other
    /// SCTP programs; no ticket is made
    #[arg(long, conflicts_with_all = ["key", "authorized", "ticket_to", "valid_for"])]
    pub(crate) unprotected: bool,
    /// Write the ticket to this file, which only you can read, and not to the screen
    #[arg(long, value_name = "FILE")]
    pub(crate) ticket_to: Option<PathBuf>,
    /// Let the ticket expire after this time, such as 10min or 12h [default: when the command ends]
    #[arg(long, value_name = "TIME", value_parser = byway_lab::units::parse_duration)]
    pub(crate) valid_for: Option<Duration>,
    /// Let in those whose public keys are in this file, one on each line (see `byway key`), and
    /// nobody else: the ticket has no secret then
    #[arg(long, value_name = "FILE")]
    pub(crate) authorized: Option<PathBuf>,
    /// File of the private key that proves who this is; without it, a new key, or with --authorized
    /// ~/.config/byway/key
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
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
