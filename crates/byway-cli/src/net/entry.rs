//! What a folder consists of, as the file protocol tells it: files, folders and links below it.
//!
//! An entry has a path, permission bits and the time of its last change. Its owner, extended
//! attributes, access times and which files are hard links of each other are not told.

use super::names::{check_path, check_target};
use bytes::{BufMut, BytesMut};
use sha2::{Digest, Sha256};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// The permission bits that are carried: no setuid, setgid or sticky bit.
const PERMISSIONS: u16 = 0o777;

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A plain file of so many bytes.
    File {
        /// Bytes.
        size: u64,
    },
    /// A folder, whose entries have all come.
    Folder {
        /// Of the outermost folder: entries that were not sent.
        missing: u64,
    },
    /// A symbolic link.
    Link {
        /// Where it leads; [`check_target`] has the rule.
        target: String,
    },
}

/// One entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Below the folder, separated by `/`; empty for the folder itself.
    pub(super) path: String,
    /// Permission bits.
    pub(super) mode: u16,
    /// Last change, in seconds since 1970 and nanoseconds.
    pub(super) changed: (i64, u32),
    pub(super) what: What,
}

const FILE: u8 = 1;
const FOLDER: u8 = 2;
const LINK: u8 = 3;

impl Entry {
    /// An entry with what the file system says of it.
    pub(super) fn of(path: String, metadata: &Metadata, what: What) -> Entry {
        Entry {
            path,
            // The cast keeps the bits that are masked.
            mode: metadata.mode() as u16 & PERMISSIONS,
            changed: (
                metadata.mtime(),
                u32::try_from(metadata.mtime_nsec()).unwrap_or(0),
            ),
            what,
        }
    }

    /// As the rest of a message.
    pub(super) fn encode(&self, out: &mut BytesMut) {
        let (kind, number, target) = match &self.what {
            What::File { size } => (FILE, *size, ""),
            What::Folder { missing } => (FOLDER, *missing, ""),
            What::Link { target } => (LINK, 0, &**target),
        };
        out.put_u8(kind);
        out.put_u16(self.mode);
        out.put_i64(self.changed.0);
        out.put_u32(self.changed.1);
        out.put_u64(number);
        // A path has at most `MAX_PATH` bytes.
        out.put_u16(self.path.len() as u16);
        out.put_slice(self.path.as_bytes());
        out.put_slice(target.as_bytes());
    }

    /// Reads the rest of a message.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn decode(bytes: &[u8]) -> Result<Entry, String> {
        fn front<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], String> {
            let (front, rest) = bytes
                .split_first_chunk::<N>()
                .ok_or("an entry of a folder that is cut short")?;
            *bytes = rest;
            Ok(*front)
        }
        let text = |bytes: &[u8]| {
            let text = std::str::from_utf8(bytes).map(str::to_owned);
            text.map_err(|_| "a file name that is not UTF-8".to_owned())
        };
        let rest = &mut &*bytes;
        let [kind] = front(rest)?;
        let mode = u16::from_be_bytes(front(rest)?);
        let changed = (
            i64::from_be_bytes(front(rest)?),
            u32::from_be_bytes(front(rest)?),
        );
        let number = u64::from_be_bytes(front(rest)?);
        let len = u16::from_be_bytes(front(rest)?);
        let (path, target) = rest
            .split_at_checked(usize::from(len))
            .ok_or("an entry of a folder that is cut short")?;
        let (path, target) = (text(path)?, text(target)?);
        let what = match kind {
            FILE => What::File { size: number },
            FOLDER => What::Folder { missing: number },
            LINK => What::Link { target },
            _ => return Err(format!("an entry of kind {kind}")),
        };
        let entry = Entry {
            path,
            mode,
            changed,
            what,
        };
        entry.check()?;
        Ok(entry)
    }

    /// Refuses what no sender of this protocol says.
    fn check(&self) -> Result<(), String> {
        if self.mode & !PERMISSIONS != 0 {
            return Err(format!("the mode {:o}; only 777 is carried", self.mode));
        }
        if self.changed.1 >= 1_000_000_000 {
            return Err("a time with more than a second of nanoseconds".to_owned());
        }
        match &self.what {
            What::Folder { .. } if self.path.is_empty() => Ok(()),
            What::Link { target } => {
                check_path(&self.path)?;
                check_target(&self.path, target)
            }
            _ => check_path(&self.path),
        }
    }

    /// Whether the receiver has this file already: what it says that it has.
    ///
    /// 64 bits of a SHA-256 of path, size, mode and time.
    pub(super) fn digest(&self) -> u64 {
        let What::File { size } = self.what else {
            return 0;
        };
        let digest = Sha256::new()
            .chain_update(size.to_be_bytes())
            .chain_update(self.mode.to_be_bytes())
            .chain_update(self.changed.0.to_be_bytes())
            .chain_update(self.changed.1.to_be_bytes())
            .chain_update(&self.path)
            .finalize();
        digest
            .first_chunk::<8>()
            .map_or(0, |first| u64::from_be_bytes(*first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::names::MAX_DEPTH;

    fn entry(path: &str, what: What) -> Entry {
        Entry {
            path: path.to_owned(),
            mode: 0o640,
            changed: (-5, 999_999_999),
            what,
        }
    }

    fn back(entry: &Entry) -> Result<Entry, String> {
        let mut bytes = BytesMut::new();
        entry.encode(&mut bytes);
        Entry::decode(&bytes)
    }

    #[test]
    fn entries_read_back_the_same_and_cut_ones_do_not() {
        for one in [
            entry("sub/größe.bin", What::File { size: u64::MAX }),
            entry("", What::Folder { missing: 3 }),
            entry("sub", What::Folder { missing: 0 }),
            entry(
                "a/b/link",
                What::Link {
                    target: "../../c/./d".to_owned(),
                },
            ),
        ] {
            assert_eq!(back(&one).as_ref(), Ok(&one));
        }
        let mut bytes = BytesMut::new();
        entry("sub/a", What::File { size: 1 }).encode(&mut bytes);
        for len in 0..bytes.len() {
            assert!(Entry::decode(&bytes[..len]).is_err(), "{len}");
        }
    }

    #[test]
    fn no_path_leaves_the_folder() {
        let deep = |n: usize| vec!["d"; n].join("/");
        for bad in [
            "",
            "/etc/passwd",
            "..",
            "../a",
            "a/../b",
            "a/..",
            "./a",
            "a//b",
            "a/",
            "a\\b",
            "a\nb",
            "fdp.\u{202e}exe",
            "sub.part/a",
            "a/x.part",
            "a/b.",
            "a / b/c",
            &deep(MAX_DEPTH + 1),
            &deep(300),
            &vec!["n".repeat(200); 21].join("/"),
        ] {
            assert!(
                back(&entry(bad, What::File { size: 1 })).is_err(),
                "{bad:?}"
            );
        }
        for good in ["a", "a/b", ".git/config", &deep(MAX_DEPTH)] {
            assert!(
                back(&entry(good, What::File { size: 1 })).is_ok(),
                "{good:?}"
            );
        }
    }

    #[test]
    fn bits_that_give_rights_are_not_taken() {
        for mode in [0o4755, 0o2755, 0o1777] {
            let mut one = entry("a", What::File { size: 1 });
            one.mode = mode;
            assert!(back(&one).unwrap_err().contains("only 777"), "{mode:o}");
        }
    }

    #[test]
    fn another_size_mode_time_or_name_is_another_file() {
        let one = entry("a", What::File { size: 1 });
        let mut others = vec![
            one.clone(),
            one.clone(),
            one.clone(),
            one.clone(),
            one.clone(),
        ];
        others[0].path = "b".to_owned();
        others[1].mode = 0o600;
        others[2].changed.0 += 1;
        others[3].changed.1 -= 1;
        others[4].what = What::File { size: 2 };
        assert_eq!(one.digest(), one.clone().digest());
        for other in others {
            assert_ne!(one.digest(), other.digest(), "{other:?}");
        }
    }
}
