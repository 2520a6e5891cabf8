//! A folder of `byway send`.
//!
//! The receiver says first which files it has complete. The others follow as files do, small ones
//! without waiting. What cannot be sent or is refused is named, and the others go on.

use super::files::{Awaited as InLine, Hashed, Line};
use super::under::{Awaited, FAILED, Under};
use super::walk::{Folder, Found, Sums, Walk};
use crate::failure::{Failure, Kind};
use crate::net::entry::{Entry, What};
use crate::net::exchange::strange;
use crate::net::hashes::hash_zeros;
use crate::net::protocol::{BLOCK, Hash, MAX_HOLE, Note, SMALL};
use byway::text::shown;
use byway_lab::show;
use rustix::fs::{OFlags, SeekFrom, seek};
use sha2::Digest;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::rc::Rc;

impl Line<'_> {
    /// Sends a folder.
    ///
    /// # Errors
    /// What ends the association. What did not arrive is in the folder's `failed`.
    pub(super) async fn folder(&mut self, folder: &mut Folder) -> Result<(), Failure> {
        self.under = Under {
            name: folder.name.clone(),
            // It may have more than are there now, if some were removed or changed.
            most: usize::try_from(folder.all.files.saturating_mul(2))
                .unwrap_or(usize::MAX)
                .max(1 << 20),
            all: folder.all,
            ..Under::default()
        };
        let sent = self.entries(folder).await;
        folder.failed = std::mem::take(&mut self.under.failed);
        folder.left_out = std::mem::take(&mut self.under.left_out);
        (folder.stored, folder.there) = (self.under.stored, self.under.there);
        folder.done = self.under.closed;
        sent?;
        let Sums { files, bytes } = folder.stored;
        let bytes = show::bytes(bytes);
        let there = match folder.there.files {
            0 => String::new(),
            n => format!(", of which {n} were there"),
        };
        let lacks = match folder.failed.count {
            0 => String::new(),
            1 => "; 1 entry did not arrive".to_owned(),
            n => format!("; {n} entries did not arrive"),
        };
        let name = &folder.name;
        let words = format!("{name}: {files} files, {bytes} stored and verified{there}{lacks}");
        self.progress.say(&words);
        Ok(())
    }

    async fn entries(&mut self, folder: &Folder) -> Result<(), Failure> {
        let offer = Note::Folder {
            sender: folder.sender,
            files: folder.all.files,
            bytes: folder.all.bytes,
            name: folder.name.clone(),
        };
        self.send(offer).await?;
        self.awaited.push_back(InLine::OfFolder(Awaited::Done));
        while !self.under.told {
            self.answer("answer to the offer of a folder").await?;
        }
        self.progress.begin(&folder.name, folder.all.bytes, 0);
        self.reached.begin(0);
        self.label();
        let walk = Walk::new(&folder.path, &folder.name, false);
        for step in walk.map_err(|e| Failure::file("read the folder", &folder.path, &e))? {
            match step {
                Found::Skipped(words, lacks) => {
                    if lacks {
                        self.fails(words);
                    } else {
                        self.progress.say(&words);
                        self.under.left_out.add(words);
                    }
                }
                Found::Entry(_, entry) if entry.path.is_empty() => self.close(entry).await?,
                Found::Entry(at, entry) => match entry.what {
                    What::File { size } if self.under.finished.contains(&entry.digest()) => {
                        self.under.stored.add(size);
                        self.under.there.add(size);
                        self.reached.skip(size);
                        self.label();
                    }
                    What::File { .. } => self.file_of_folder(&at, entry.path).await?,
                    _ => {
                        let path = entry.path.as_str().into();
                        self.send(Note::Entry(entry)).await?;
                        self.await_of_folder(Awaited::Other(path));
                    }
                },
            }
        }
        Ok(())
    }

    /// The folder itself: all else is confirmed or has failed.
    async fn close(&mut self, mut entry: Entry) -> Result<(), Failure> {
        while !self.awaited.is_empty() {
            self.answer("confirmation").await?;
        }
        // The receiver knows what it has refused.
        let missing = self.under.failed.count - self.under.refusals;
        entry.what = What::Folder { missing };
        self.send(Note::Entry(entry)).await?;
        self.await_of_folder(Awaited::Other("".into()));
        while !self.awaited.is_empty() {
            self.answer("confirmation of the folder").await?;
        }
        Ok(())
    }

    async fn file_of_folder(&mut self, at: &Path, path: String) -> Result<(), Failure> {
        // Not a link that took its place, and no wait for a pipe.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let mut options = OpenOptions::new();
        let opened = options
            .read(true)
            .custom_flags(flags.bits() as i32)
            .open(at);
        let opened = opened.and_then(|file| {
            let metadata = file.metadata()?;
            Ok((file, metadata))
        });
        let (file, metadata) = match opened {
            Ok((file, metadata)) if metadata.is_file() => (file, metadata),
            Ok(_) => {
                self.fails(self.words(&path, "is no file any more"));
                return Ok(());
            }
            Err(e) => {
                self.fails(self.words(&path, format!("cannot be read: {e}")));
                return Ok(());
            }
        };
        let size = metadata.len();
        let shared: Rc<str> = path.as_str().into();
        let entry = Entry::of(path, &metadata, What::File { size });
        self.send(Note::Entry(entry)).await?;
        self.under.current = Some(shared.clone());
        (self.under.have, self.under.refused) = (None, false);
        self.await_of_folder(Awaited::Have(shared.clone()));
        self.await_of_folder(Awaited::File(shared.clone(), size));
        let sent = self.contents_of_folder(file, &metadata, &shared).await?;
        self.under.current = None;
        match sent {
            Sent::Whole(hash) => self.send(Note::End { hash }).await,
            Sent::Refused => self.send(Note::Quit).await,
            Sent::Failed(why) => {
                self.fails(self.words(&shared, why));
                self.under.refused = true;
                // Its refusal has been told.
                for awaited in &mut self.awaited {
                    if let InLine::OfFolder(Awaited::File(path, size)) = awaited
                        && Rc::ptr_eq(path, &shared)
                    {
                        *size = FAILED;
                    }
                }
                self.send(Note::Quit).await
            }
        }
    }

    /// Sends what the receiver has not.
    async fn contents_of_folder(
        &mut self,
        file: File,
        metadata: &Metadata,
        path: &Rc<str>,
    ) -> Result<Sent, Failure> {
        let size = metadata.len();
        let mut hashed = Hashed::new(file);
        if size > SMALL {
            while self.under.have.is_none() && !self.under.refused {
                self.answer("answer to the offer").await?;
            }
            if let Some((have, theirs)) = self.under.have
                && (1..=size).contains(&have)
            {
                match hashed.resume(have, theirs) {
                    Err(e) => return Ok(Sent::Failed(format!("cannot be read: {e}"))),
                    Ok(false) => {}
                    Ok(true) => {
                        self.reached.skip(have);
                        let (name, have) = (&self.under.name, show::bytes(have));
                        self.progress
                            .say(&format!("{name}/{path}: resumes at {have}"));
                    }
                }
            }
        }
        if self.under.refused {
            return Ok(Sent::Refused);
        }
        let offset = hashed.at;
        self.send(Note::Start { offset }).await?;
        let mut block = vec![0; BLOCK];
        // Of a file with fewer blocks than bytes.
        let sparse = metadata.blocks().saturating_mul(512) < size;
        let mut extent = Extent::Data(if sparse { offset } else { size });
        while hashed.at < size {
            if self.under.refused {
                return Ok(Sent::Refused);
            }
            if hashed.at == extent.end() {
                extent = Extent::at(&hashed.file, hashed.at, size);
            }
            let left = extent.end() - hashed.at;
            if let Extent::Hole(_) = extent {
                let zeros = left.min(MAX_HOLE);
                hash_zeros(&mut hashed.hasher, zeros);
                self.send(Note::Hole { zeros }).await?;
                hashed.at += zeros;
                self.reached.take(zeros);
                continue;
            }
            let want = self
                .next_block()
                .min(usize::try_from(left).unwrap_or(BLOCK));
            let n = match hashed.file.read_at(&mut block[..want], hashed.at) {
                Ok(0) => return Ok(Sent::Failed("became shorter while it was sent".to_owned())),
                Ok(n) => n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Ok(Sent::Failed(format!("cannot be read: {e}"))),
            };
            hashed.hasher.update(&block[..n]);
            self.wait(n).await?;
            self.send(Note::Data(block[..n].to_vec().into())).await?;
            hashed.at += n as u64;
            self.reached.take(n as u64);
        }
        let version = |m: &Metadata| (m.len(), m.mtime(), m.mtime_nsec());
        match hashed.file.metadata() {
            Ok(now) if version(&now) == version(metadata) => {}
            _ => return Ok(Sent::Failed("changed while it was sent".to_owned())),
        }
        Ok(match self.under.refused {
            true => Sent::Refused,
            false => Sent::Whole(hashed.hasher.finalize().into()),
        })
    }

    fn await_of_folder(&mut self, awaited: Awaited) {
        self.awaited.push_back(InLine::OfFolder(awaited));
    }

    /// An answer about the folder has come.
    pub(super) fn take_of_folder(&mut self, awaited: Awaited, answer: Note) -> Result<(), Failure> {
        match (awaited, answer) {
            (Awaited::Done, Note::Done { digests, last }) => {
                self.under.finished.extend(digests);
                if self.under.finished.len() > self.under.most {
                    return Err(strange("more complete files than the folder has"));
                }
                self.under.told = last;
                if !last {
                    self.awaited.push_front(InLine::OfFolder(Awaited::Done));
                }
            }
            (Awaited::Done, Note::Refuse { reason }) => {
                let why = format!("{} was refused: {reason}", self.under.name);
                return Err(Failure::new(Kind::Refused, why));
            }
            (Awaited::Have(path), Note::Have { offset, hash }) => {
                if self.under.is_current(&path) {
                    self.under.have = Some((offset, hash));
                }
            }
            (Awaited::Have(path), Note::Refuse { reason }) => {
                // There is no other answer to it then.
                let stored = self.awaited.pop_front();
                let failed = matches!(&stored, Some(InLine::OfFolder(Awaited::File(_, FAILED))));
                self.refused(&path, reason, failed);
            }
            (Awaited::File(path, size), Note::Refuse { reason }) => {
                self.refused(&path, reason, size == FAILED);
            }
            (Awaited::File(path, size), Note::Stored)
                if !self.under.is_current(&path) && size != FAILED =>
            {
                self.under.stored.add(size);
                self.reached.stored();
                self.label();
            }
            (Awaited::Other(path), Note::Stored) => {
                self.under.closed |= path.is_empty();
                self.reached.stored();
            }
            (Awaited::Other(path), Note::Refuse { reason }) => {
                self.under.closed |= path.is_empty();
                self.refused(&path, reason, false);
            }
            (_, other) => return Err(strange(other.name())),
        }
        Ok(())
    }

    /// An entry was refused; whether it has failed before.
    fn refused(&mut self, path: &Rc<str>, reason: String, failed: bool) {
        self.under.refused |= self.under.is_current(path);
        if !failed {
            let about = self.words(path, "");
            let reason = reason.strip_prefix(&about).unwrap_or(&reason);
            self.under.refusals += 1;
            self.fails(self.words(path, format!("refused: {reason}")));
        }
    }

    fn words(&self, path: &str, why: impl std::fmt::Display) -> String {
        let below = if path.is_empty() { "" } else { "/" };
        shown(&format!("{}{below}{path}: {why}", self.under.name))
    }

    fn fails(&mut self, words: String) {
        self.progress.complain(&format!("not sent: {words}"));
        self.under.failed.add(words);
    }

    fn label(&self) {
        let Under {
            name, stored, all, ..
        } = &self.under;
        self.progress
            .label(&format!("{name} {}/{} files", stored.files, all.files));
    }
}

/// What became of a file.
enum Sent {
    Whole(Hash),
    Refused,
    /// Why it cannot be sent.
    Failed(String),
}

/// A part of a file, up to here.
enum Extent {
    Data(u64),
    Hole(u64),
}

impl Extent {
    fn end(&self) -> u64 {
        match self {
            Extent::Data(end) | Extent::Hole(end) => *end,
        }
    }

    /// What begins at `at`. A file system that knows no holes has data only.
    fn at(file: &File, at: u64, size: u64) -> Extent {
        use rustix::io::Errno;
        match seek(file, SeekFrom::Data(at)) {
            Ok(data) if data > at => Extent::Hole(data.min(size)),
            // Nothing but a hole up to the end.
            Err(Errno::NXIO) => Extent::Hole(size),
            Err(_) => Extent::Data(size),
            Ok(_) => {
                let hole = seek(file, SeekFrom::Hole(at)).unwrap_or(size);
                Extent::Data(if hole > at { hole.min(size) } else { size })
            }
        }
    }
}
