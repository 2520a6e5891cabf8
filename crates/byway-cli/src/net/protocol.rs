//! How files travel: our own small protocol over SCTP messages.
//!
//! All messages take stream 0 in order, in both directions, with the payload
//! protocol identifier [`PPID`]. Each begins with one byte that names it.
//!
//! ```text
//! sender                                      receiver
//! OFFER version, sender id, size, name  --->
//!                                       <---  HAVE bytes, SHA-256 of those    or  REFUSE why
//! START offset                          --->   offset: as many, or 0 when the hash differs
//! DATA bytes                            --->   until the size is reached
//! END SHA-256 of the whole file         --->
//!                                       <---  STORED                          or  REFUSE why
//! ```
//! The next OFFER follows END at once. The answers come in the order of what they answer. A file
//! of up to [`SMALL`] bytes does not wait for HAVE: OFFER, START 0, DATA and END leave together.
//! After the last STORED the sender shuts down.
//!
//! HAVE tells of what the same sender id began or completed, and of nothing else: an
//! offer does not tell a stranger which files are there.
//!
//! `byway doctor` asks what the receiver sees of it, and measures a rate:
//!
//! ```text
//! ASK                                   --->
//!                                       <---  SEEN addresses of the asker, as packets come
//! DATA bytes                            --->   thrown away
//! END hash of nothing                   --->
//!                                       <---  STORED
//! ```

use bytes::{BufMut, Bytes, BytesMut};
use byway::text::{hides, shown};

/// Payload protocol identifier: "byf" and version 1 of the set.
pub(super) const PPID: u32 = 0x6279_6601;
/// Version of this protocol.
pub(super) const VERSION: u8 = 1;
/// A file of so many bytes is sent whole, whatever the receiver has of it. A longer one is worth
/// a round trip in which the receiver tells.
pub(super) const SMALL: u64 = 256 * 1024;
/// File bytes in a DATA message.
pub(super) const BLOCK: usize = 32 * 1024;
/// Longest name, as on common file systems, less some room.
pub(super) const MAX_NAME: usize = 250;
/// Longest reason.
const MAX_REASON: usize = 1000;

/// A SHA-256.
pub(super) type Hash = [u8; 32];

/// Lower-case hexadecimal, as sha256sum prints it.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// A message of the file protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Note {
    /// A file is offered.
    Offer {
        /// Who begins the file, and who alone may go on with it.
        sender: [u8; 16],
        /// Its size in bytes.
        size: u64,
        /// Its name, without folders.
        name: String,
    },
    /// This much is here already.
    Have {
        /// Bytes.
        offset: u64,
        /// Of those bytes.
        hash: Hash,
    },
    /// Bytes from this place on follow.
    Start {
        /// First byte.
        offset: u64,
    },
    /// Bytes.
    Data(Bytes),
    /// All bytes were sent.
    End {
        /// Of the whole file.
        hash: Hash,
    },
    /// The file is stored and its hash is right.
    Stored,
    /// The file is not taken.
    Refuse {
        /// Why.
        reason: String,
    },
    /// Which addresses does the receiver see?
    Ask,
    /// These, separated by commas.
    Seen {
        /// Addresses with UDP ports.
        addresses: String,
    },
}

const OFFER: u8 = 1;
const HAVE: u8 = 2;
const START: u8 = 3;
const DATA: u8 = 4;
const END: u8 = 5;
const STORED: u8 = 6;
const REFUSE: u8 = 7;
const ASK: u8 = 8;
const SEEN: u8 = 9;

impl Note {
    /// Its name, for messages.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Note::Offer { .. } => "OFFER",
            Note::Have { .. } => "HAVE",
            Note::Start { .. } => "START",
            Note::Data(_) => "DATA",
            Note::End { .. } => "END",
            Note::Stored => "STORED",
            Note::Refuse { .. } => "REFUSE",
            Note::Ask => "ASK",
            Note::Seen { .. } => "SEEN",
        }
    }

    /// As the payload of an SCTP message.
    pub(super) fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        match self {
            Note::Offer { sender, size, name } => {
                out.put_u8(OFFER);
                out.put_u8(VERSION);
                out.put_slice(sender);
                out.put_u64(*size);
                out.put_slice(name.as_bytes());
            }
            Note::Have { offset, hash } => {
                out.put_u8(HAVE);
                out.put_u64(*offset);
                out.put_slice(hash);
            }
            Note::Start { offset } => {
                out.put_u8(START);
                out.put_u64(*offset);
            }
            Note::Data(bytes) => {
                out.reserve(1 + bytes.len());
                out.put_u8(DATA);
                out.put_slice(bytes);
            }
            Note::End { hash } => {
                out.put_u8(END);
                out.put_slice(hash);
            }
            Note::Stored => out.put_u8(STORED),
            Note::Refuse { reason } => {
                out.put_u8(REFUSE);
                out.put_slice(
                    reason
                        .chars()
                        .take(MAX_REASON / 4)
                        .collect::<String>()
                        .as_bytes(),
                );
            }
            Note::Ask => out.put_u8(ASK),
            Note::Seen { addresses } => {
                out.put_u8(SEEN);
                out.put_slice(addresses.as_bytes());
            }
        }
        out.freeze()
    }

    /// Reads the payload of an SCTP message.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn decode(payload: &Bytes) -> Result<Note, String> {
        let (&kind, rest) = payload.split_first().ok_or("an empty message")?;
        let short = || {
            format!(
                "a message of kind {kind} with {} bytes, which is not its length",
                payload.len()
            )
        };
        let number = |bytes: &[u8]| {
            bytes
                .try_into()
                .map(u64::from_be_bytes)
                .map_err(|_| short())
        };
        let hash = |bytes: &[u8]| Hash::try_from(bytes).map_err(|_| short());
        match kind {
            OFFER => {
                let (&version, rest) = rest.split_first().ok_or_else(short)?;
                if version != VERSION {
                    return Err(format!(
                        "version {version} of the file protocol; this byway speaks version {VERSION}"
                    ));
                }
                let (sender, rest) = rest.split_at_checked(16).ok_or_else(short)?;
                let (size, name) = rest.split_at_checked(8).ok_or_else(short)?;
                let name = std::str::from_utf8(name)
                    .map_err(|_| "a file name that is not UTF-8".to_owned())?;
                check_name(name)?;
                Ok(Note::Offer {
                    sender: sender.try_into().map_err(|_| short())?,
                    size: number(size)?,
                    name: name.to_owned(),
                })
            }
            HAVE => {
                let (offset, rest) = rest.split_at_checked(8).ok_or_else(short)?;
                Ok(Note::Have {
                    offset: number(offset)?,
                    hash: hash(rest)?,
                })
            }
            START => Ok(Note::Start {
                offset: number(rest)?,
            }),
            DATA => Ok(Note::Data(payload.slice(1..))),
            END => Ok(Note::End { hash: hash(rest)? }),
            STORED if rest.is_empty() => Ok(Note::Stored),
            REFUSE if rest.len() <= MAX_REASON => Ok(Note::Refuse {
                reason: shown(&String::from_utf8_lossy(rest)),
            }),
            ASK if rest.is_empty() => Ok(Note::Ask),
            SEEN if rest.len() <= MAX_REASON => Ok(Note::Seen {
                addresses: shown(&String::from_utf8_lossy(rest)),
            }),
            _ => Err(short()),
        }
    }
}

/// Refuses names that would leave the receiver's folder, look like others, or that a file system
/// cannot hold. One that begins with a dot is the receiver's to refuse ([`check_dot`]).
///
/// # Errors
/// What is wrong with it.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let shown = shown(name);
    if name.is_empty() {
        return Err("a file without a name".to_owned());
    }
    if name.len() > MAX_NAME {
        return Err(format!(
            "a file name of {} bytes; at most {MAX_NAME}",
            name.len()
        ));
    }
    if name.contains(['/', '\\', '\0']) || name.chars().any(char::is_control) {
        return Err(format!(
            "the file name \"{shown}\"; it must not contain /, \\ or control characters"
        ));
    }
    // There a colon names a drive, or a part of another file.
    if cfg!(windows) && name.contains(':') {
        return Err(format!(
            "the file name \"{shown}\"; this system has no names with :"
        ));
    }
    if name.chars().any(hides) {
        return Err(format!(
            "the file name \"{shown}\"; it must not contain invisible characters or marks that change the direction of writing"
        ));
    }
    if name.ends_with(".part") || name.ends_with('.') {
        return Err(format!(
            "the file name \"{shown}\"; it must not end with a dot or with .part"
        ));
    }
    // White_Space of Unicode: a name must not be, begin or end with what cannot be seen.
    if name.trim() != name {
        return Err(format!(
            "the file name \"{shown}\"; it must not begin or end with a space"
        ));
    }
    Ok(())
}

/// Refuses a name that begins with a dot, unless this receiver takes such files: programs obey some
/// of them (`.bashrc`), and `ls` does not show them.
///
/// # Errors
/// What is wrong with it.
pub(super) fn check_dot(name: &str, takes_dot_files: bool) -> Result<(), String> {
    match name.starts_with('.') && !takes_dot_files {
        true => Err(format!(
            "the file name \"{}\" begins with a dot; this receiver takes such files with --dot-files only",
            shown(name)
        )),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_reads_back_the_same() {
        let hash = [7; 32];
        for note in [
            Note::Offer {
                sender: [3; 16],
                size: u64::MAX,
                name: "größe.bin".to_owned(),
            },
            Note::Have { offset: 5, hash },
            Note::Start { offset: 9 },
            Note::Data(Bytes::from_static(b"x")),
            Note::End { hash },
            Note::Stored,
            Note::Refuse {
                reason: "no".to_owned(),
            },
            Note::Ask,
            Note::Seen {
                addresses: "10.0.0.1:9899,[::1]:4242".to_owned(),
            },
        ] {
            assert_eq!(Note::decode(&note.encode()), Ok(note));
        }
    }

    #[test]
    fn no_cut_or_strange_message_is_taken() {
        let offer = Note::Offer {
            sender: [3; 16],
            size: 1,
            name: "a".to_owned(),
        }
        .encode();
        for len in 0..offer.len() {
            assert!(Note::decode(&offer.slice(..len)).is_err(), "{len}");
        }
        for bytes in [&[HAVE, 1][..], &[START], &[END, 0], &[STORED, 0], &[99]] {
            assert!(
                Note::decode(&Bytes::copy_from_slice(bytes)).is_err(),
                "{bytes:?}"
            );
        }
        assert!(
            Note::decode(&Bytes::from_static(&[OFFER, 9, 0]))
                .unwrap_err()
                .contains("speaks version 1")
        );
    }

    #[test]
    fn no_name_leaves_the_folder() {
        for bad in [
            "",
            "..",
            "../a",
            "a/b",
            "a\\b",
            "/etc/passwd",
            ".",
            "...",
            ".a/b",
            "a\n",
            "x.part",
            "a.",
            "\u{200b}",
            "fdp.\u{202e}exe",
            "a\u{2066}b",
            "\u{fe0f}",
            "evil.txt\u{e0101}",
            "\u{1d173}",
            "\u{2800}",
            "\u{a0}",
            "\u{2003}",
            "\u{3000}a",
            "a ",
            &"n".repeat(251),
        ] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
        let hidden = check_name("fdp.\u{202e}exe").unwrap_err();
        assert!(hidden.contains("\"fdp.\\u{202e}exe\""), "{hidden}");
        for good in [
            "a",
            "a.tar.gz",
            "two words.txt",
            "größe",
            ".bashrc",
            "12:30.log",
        ] {
            assert!(check_name(good).is_ok(), "{good:?}");
        }
        assert!(
            check_dot(".bashrc", false)
                .unwrap_err()
                .contains("--dot-files")
        );
        assert!(check_dot(".bashrc", true).is_ok() && check_dot("a.b", false).is_ok());
    }
}
