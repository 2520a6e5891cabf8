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
//! A folder is offered with version 2, so that a receiver that knows none says which version it
//! speaks. What is below it follows, a folder behind its entries, and last the folder itself. Paths, times
//! and permission bits are in [`super::entry`].
//!
//! ```text
//! OFFER version 2, sender id, files,
//!       bytes, name                     --->
//!                                       <---  DONE digests of files that are complete, until the last  or  REFUSE why
//! ENTRY file, mode, time, size, path    --->
//!                                       <---  HAVE bytes, SHA-256 of those    or  REFUSE why
//! START offset                          --->
//! DATA bytes, HOLE zeros                --->   a hole of the file is not sent as bytes
//! END SHA-256, or QUIT                  --->   QUIT: it has changed, cannot be read, or was refused
//!                                       <---  STORED                          or  REFUSE why
//! ENTRY folder or link                  --->
//!                                       <---  STORED                          or  REFUSE why
//! ENTRY the folder itself               --->   with the number of entries that were not sent
//!                                       <---  STORED: all that was stored is on the disk
//! ```
//! A REFUSE of an entry is for this entry alone: what follows of it up to END or QUIT is thrown away,
//! and the next one may be taken. DONE tells of what the same sender id completed of this folder, and
//! of nothing else.
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

use super::entry::Entry;
use super::names::check_name;
use bytes::{BufMut, Bytes, BytesMut};
use byway::text::shown;

/// Payload protocol identifier: "byf" and version 1 of the set.
pub(super) const PPID: u32 = 0x6279_6601;
/// Version of this protocol.
pub(super) const VERSION: u8 = 1;
/// Version with folders: that of the offer of a folder.
pub(super) const FOLDERS: u8 = 2;
/// Files that a DONE tells of.
pub(super) const MAX_DONE: usize = 2048;
/// Folders that one association may bring.
pub(super) const MAX_FOLDERS: usize = 100;
/// Zeros that a message may stand for: a receiver hashes them.
pub(super) const MAX_HOLE: u64 = 16 << 20;
/// A file of so many bytes is sent whole, whatever the receiver has of it. A longer one is worth
/// a round trip in which the receiver tells.
pub(super) const SMALL: u64 = 256 * 1024;
/// File bytes in a DATA message, at most.
pub(super) const BLOCK: usize = 32 * 1024;
/// Of the first one of an association; each has twice as many as the one before. A message is written when it is whole, and in
/// slow start over a long way 32 kB take three round trips.
pub(super) const FIRST_BLOCK: usize = 1024;
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
    /// A folder is offered.
    Folder {
        /// Who begins the folder, and who alone may go on with it.
        sender: [u8; 16],
        /// How many files it has, as far as they can be sent. It is shown and nothing else.
        files: u64,
        /// Bytes of these files, which is shown.
        bytes: u64,
        /// Its name, without folders.
        name: String,
    },
    /// Files of the folder that are complete.
    Done {
        /// [`Entry::digest`] of each.
        digests: Vec<u64>,
        /// Whether no others follow.
        last: bool,
    },
    /// An entry of the folder.
    Entry(Entry),
    /// Zeros that need not be written.
    Hole {
        /// How many.
        zeros: u64,
    },
    /// The rest of the file is not sent.
    Quit,
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
const ENTRY: u8 = 10;
const HOLE: u8 = 11;
const QUIT: u8 = 12;
const DONE: u8 = 13;

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
            Note::Folder { .. } => "OFFER of a folder",
            Note::Done { .. } => "DONE",
            Note::Entry(_) => "ENTRY",
            Note::Hole { .. } => "HOLE",
            Note::Quit => "QUIT",
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
            Note::Folder {
                sender,
                files,
                bytes,
                name,
            } => {
                out.put_u8(OFFER);
                out.put_u8(FOLDERS);
                out.put_slice(sender);
                out.put_u64(*files);
                out.put_u64(*bytes);
                out.put_slice(name.as_bytes());
            }
            Note::Done { digests, last } => {
                out.put_u8(DONE);
                out.put_u8(u8::from(*last));
                digests.iter().for_each(|digest| out.put_u64(*digest));
            }
            Note::Entry(entry) => {
                out.put_u8(ENTRY);
                entry.encode(&mut out);
            }
            Note::Hole { zeros } => {
                out.put_u8(HOLE);
                out.put_u64(*zeros);
            }
            Note::Quit => out.put_u8(QUIT),
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
            OFFER => Note::decode_offer(rest, short),
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
            ENTRY => Entry::decode(rest).map(Note::Entry),
            HOLE => match number(rest)? {
                zeros @ 1..=MAX_HOLE => Ok(Note::Hole { zeros }),
                zeros => Err(format!("a hole of {zeros} bytes; at most {MAX_HOLE}")),
            },
            QUIT if rest.is_empty() => Ok(Note::Quit),
            DONE => {
                let (&last, digests) = rest.split_first().ok_or_else(short)?;
                let (digests, cut) = digests.as_chunks::<8>();
                if last > 1 || !cut.is_empty() || digests.len() > MAX_DONE {
                    return Err(short());
                }
                Ok(Note::Done {
                    digests: digests.iter().map(|d| u64::from_be_bytes(*d)).collect(),
                    last: last == 1,
                })
            }
            _ => Err(short()),
        }
    }

    /// Reads the rest of an offer.
    fn decode_offer(rest: &[u8], short: impl Fn() -> String) -> Result<Note, String> {
        let (&version, rest) = rest.split_first().ok_or_else(&short)?;
        if ![VERSION, FOLDERS].contains(&version) {
            return Err(format!(
                "version {version} of the file protocol; this byway speaks versions {VERSION} and {FOLDERS}"
            ));
        }
        let (sender, rest) = rest.split_first_chunk::<16>().ok_or_else(&short)?;
        let (first, name) = rest.split_first_chunk::<8>().ok_or_else(&short)?;
        let (second, name) = match version {
            FOLDERS => name.split_first_chunk::<8>().ok_or_else(&short)?,
            _ => (&[0; 8], name),
        };
        let name =
            std::str::from_utf8(name).map_err(|_| "a file name that is not UTF-8".to_owned())?;
        check_name(name)?;
        let (sender, name) = (*sender, name.to_owned());
        let [first, second] = [*first, *second].map(u64::from_be_bytes);
        Ok(match version {
            FOLDERS => Note::Folder {
                sender,
                files: first,
                bytes: second,
                name,
            },
            _ => Note::Offer {
                sender,
                size: first,
                name,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::entry::What;

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
            Note::Folder {
                sender: [3; 16],
                files: 7,
                bytes: 70,
                name: "photos".to_owned(),
            },
            Note::Done {
                digests: vec![1, u64::MAX],
                last: true,
            },
            Note::Entry(Entry {
                path: "a/b".to_owned(),
                mode: 0o750,
                changed: (1, 2),
                what: What::File { size: 9 },
            }),
            Note::Hole { zeros: MAX_HOLE },
            Note::Quit,
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
        let mut hole = [&[HOLE][..], &(MAX_HOLE + 1).to_be_bytes()].concat();
        for bytes in [
            &[HAVE, 1][..],
            &[START],
            &[END, 0],
            &[STORED, 0],
            &[99],
            &[QUIT, 0],
            &[DONE, 2],
            &[DONE, 1, 0],
            &[ENTRY],
            &hole,
        ] {
            assert!(
                Note::decode(&Bytes::copy_from_slice(bytes)).is_err(),
                "{bytes:?}"
            );
        }
        assert!(
            Note::decode(&Bytes::from_static(&[OFFER, 9, 0]))
                .unwrap_err()
                .contains("speaks versions 1 and 2")
        );
        hole[1..].fill(0);
        assert!(Note::decode(&Bytes::from(hole)).is_err());
    }

    /// A byway that knows no folders looks at the version of each offer, and refuses this one by name.
    #[test]
    fn the_offer_of_a_folder_has_a_version_of_its_own() {
        let folder = Note::Folder {
            sender: [3; 16],
            files: 7,
            bytes: 70,
            name: "photos".to_owned(),
        };
        assert_eq!(folder.encode()[..2], [OFFER, 2]);
        for len in 0..35 {
            assert!(Note::decode(&folder.encode().slice(..len)).is_err());
        }
    }
}
