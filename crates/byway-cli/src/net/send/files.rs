//! The files of `byway send`, one behind the other.
//!
//! Nothing waits for a confirmation before the next file is offered. A file of up to
//! [`SMALL`] bytes does not wait for the answer to its offer either: it begins at its first byte.
//! So many small files take the time of their bytes, and not a round trip each.

use super::pace::Pace;
use super::source::{Source, Stored};
use super::under::{self, Under};
use super::walk::Folder;
use crate::failure::{Failure, Kind};
use crate::net::about::about;
use crate::net::exchange::{Exchange, strange};
use crate::net::progress::Progress;
use crate::net::protect::Channel;
use crate::net::protocol::{BLOCK, FIRST_BLOCK, Hash, Note, SMALL};
use crate::net::retries::Reached;
use byway_lab::show;
use sha2::{Digest, Sha256};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::pin::pin;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// The user is told of an answer that has not come for so long.
const UNANSWERED: Duration = Duration::from_secs(10);

/// Sends all that are not stored.
pub(super) async fn all_files(
    channel: &Channel,
    (sources, folders): (&mut [Source], &mut [Folder]),
    progress: &Progress,
    reached: &Reached,
    pace: Pace,
) -> Result<(), Failure> {
    let mut line = Line {
        exchange: Exchange::new(channel),
        answers: Exchange::new(channel),
        sources,
        progress,
        reached,
        pace,
        awaited: VecDeque::new(),
        have: None,
        under: Under::default(),
        block: FIRST_BLOCK,
    };
    for at in 0..line.sources.len() {
        if line.sources[at].stored.is_none() {
            line.one_file(at).await?;
        }
    }
    while !line.awaited.is_empty() {
        line.answer("confirmation").await?;
    }
    for folder in folders {
        if !folder.done {
            line.folder(folder).await?;
        }
    }
    Ok(())
}

/// An answer that the receiver owes. They come in this order.
pub(super) enum Awaited {
    /// To the offer of the file of this number.
    Have(usize),
    /// To its end, once that is sent.
    Stored(usize, Option<Stored>),
    /// For a folder; [`super::tree`] has those.
    OfFolder(under::Awaited),
}

/// Files under way.
pub(super) struct Line<'a> {
    exchange: Exchange<'a>,
    /// The same association: answers are taken while a message waits for room.
    answers: Exchange<'a>,
    sources: &'a mut [Source],
    pub(super) progress: &'a Progress,
    pub(super) reached: &'a Reached,
    pace: Pace,
    pub(super) awaited: VecDeque<Awaited>,
    /// What the receiver has of the file of this number: its last answer to an offer.
    have: Option<(usize, u64, Hash)>,
    /// The folder under way.
    pub(super) under: Under,
    /// File bytes in the next message.
    block: usize,
}

impl Line<'_> {
    async fn one_file(&mut self, at: usize) -> Result<(), Failure> {
        let source = &self.sources[at];
        let size = source.size;
        let file = File::open(&source.path).map_err(|e| self.unreadable(at, &e))?;
        let offer = Note::Offer {
            sender: source.sender,
            size,
            name: source.name.clone(),
        };
        self.send(offer).await?;
        self.awaited.push_back(Awaited::Have(at));
        self.awaited.push_back(Awaited::Stored(at, None));
        let mut hashed = Hashed::new(file);
        if size > SMALL {
            self.resume(at, &mut hashed).await?;
        }
        let resumed_from = hashed.at;
        let source = &self.sources[at];
        self.progress.begin(&source.name, size, resumed_from);
        self.reached.begin(resumed_from);
        let start = Note::Start {
            offset: resumed_from,
        };
        self.send(start).await?;
        self.send_rest(at, &mut hashed).await?;
        let hash = Hash::from(hashed.hasher.finalize());
        self.send(Note::End { hash }).await?;
        if let Some(Awaited::Stored(_, stored)) = self.awaited.back_mut() {
            *stored = Some(Stored { hash, resumed_from });
        }
        Ok(())
    }

    /// Skips what the receiver has, once it has said what that is.
    async fn resume(&mut self, at: usize, hashed: &mut Hashed) -> Result<(), Failure> {
        let (have, theirs) = loop {
            match self.have {
                Some((of, have, theirs)) if of == at => break (have, theirs),
                _ => {}
            }
            self.answer("answer to the offer").await?;
        };
        let source = &self.sources[at];
        if have == 0 || have > source.size {
            return Ok(());
        }
        let resumed = hashed.resume(have, theirs);
        if resumed.map_err(|e| self.unreadable(at, &e))? {
            let have = show::bytes(have);
            self.progress
                .say(&format!("{}: resumes at {have}", source.name));
        }
        Ok(())
    }

    /// Sends the file from where it was read to.
    async fn send_rest(&mut self, at: usize, hashed: &mut Hashed) -> Result<(), Failure> {
        let size = self.sources[at].size;
        let mut block = vec![0; BLOCK];
        while hashed.at < size {
            let rest = usize::try_from(size - hashed.at).unwrap_or(BLOCK);
            let want = self.next_block().min(rest);
            let read = hashed.file.read(&mut block[..want]);
            let n = read.map_err(|e| self.unreadable(at, &e))?;
            if n == 0 {
                return Err(Failure::new(
                    Kind::Failed,
                    format!(
                        "{} became shorter while it was sent ({} of {size} bytes)",
                        self.sources[at].path.display(),
                        hashed.at,
                    ),
                ));
            }
            hashed.hasher.update(&block[..n]);
            self.wait(n).await?;
            self.send(Note::Data(block[..n].to_vec().into())).await?;
            hashed.at += n as u64;
            self.reached.take(n as u64);
        }
        Ok(())
    }

    /// How many bytes of a file the next message has.
    pub(super) fn next_block(&mut self) -> usize {
        let bytes = self.block;
        self.block = BLOCK.min(2 * bytes);
        bytes
    }

    /// Waits until so many bytes may be sent.
    pub(super) async fn wait(&mut self, bytes: usize) -> Result<(), Failure> {
        let Some(due) = self.pace.next(Instant::now(), bytes) else {
            return Ok(());
        };
        loop {
            let answer = tokio::select! {
                () = tokio::time::sleep_until(due) => return Ok(()),
                answer = self.answers.receive() => answer?,
            };
            self.take(answer.ok_or_else(ended_early)?)?;
        }
    }

    /// Sends, and takes the answers that come meanwhile: with many files they would fill the
    /// receive buffer.
    pub(super) async fn send(&mut self, note: Note) -> Result<(), Failure> {
        loop {
            // Both are cancel safe. Sending goes first: an answer is rare.
            let answer = tokio::select! {
                biased;
                sent = self.exchange.send(&note) => return sent,
                answer = self.answers.receive() => answer?,
            };
            self.take(answer.ok_or_else(ended_early)?)?;
        }
    }

    /// Waits for the next answer. That takes as long as the receiver reads what it has, which has no bound; so the
    /// user is told of it, each time twice as late.
    pub(super) async fn answer(&mut self, waiting_for: &str) -> Result<(), Failure> {
        let answer = {
            let mut answer = pin!(self.answers.expect(waiting_for));
            let (mut waited, mut next) = (Duration::ZERO, UNANSWERED);
            loop {
                if let Ok(answer) = timeout(next, answer.as_mut()).await {
                    break answer?;
                }
                waited += next;
                next = waited;
                // Otherwise the paths or the receiver's window are what it waits for, and others say so.
                if self.exchange.is_acknowledged() {
                    let time = about(waited);
                    self.progress.say(&format!(
                        "no {waiting_for} for {time}: the receiver has all that was sent, and may be reading a file; Ctrl-C ends"
                    ));
                }
            }
        };
        self.take(answer)
    }

    /// An answer has come, to what was asked first.
    fn take(&mut self, answer: Note) -> Result<(), Failure> {
        let Some(awaited) = self.awaited.pop_front() else {
            return Err(strange(answer.name()));
        };
        match (awaited, answer) {
            (Awaited::OfFolder(awaited), answer) => return self.take_of_folder(awaited, answer),
            (Awaited::Have(at) | Awaited::Stored(at, _), Note::Refuse { reason }) => {
                let why = format!("{} was refused: {reason}", self.sources[at].name);
                return Err(Failure::new(Kind::Refused, why));
            }
            (Awaited::Have(at), Note::Have { offset, hash }) => {
                self.have = Some((at, offset, hash))
            }
            (Awaited::Stored(at, Some(stored)), Note::Stored) => {
                let source = &mut self.sources[at];
                source.stored = Some(stored);
                self.reached.stored();
                let size = show::bytes(source.size);
                self.progress
                    .say(&format!("{}: {size} stored and verified", source.name));
            }
            (_, other) => return Err(strange(other.name())),
        }
        Ok(())
    }

    fn unreadable(&self, at: usize, e: &std::io::Error) -> Failure {
        Failure::file("read", &self.sources[at].path, e)
    }
}

fn ended_early() -> Failure {
    Failure::new(Kind::Failed, "the other side ended in the middle of a file")
}

/// A file that is read and hashed up to `at`.
pub(super) struct Hashed {
    pub(super) file: File,
    pub(super) hasher: Sha256,
    pub(super) at: u64,
}

impl Hashed {
    pub(super) fn new(file: File) -> Hashed {
        Hashed {
            file,
            hasher: Sha256::new(),
            at: 0,
        }
    }

    /// Skips the first `len` bytes if their hash is `theirs`; else nothing. Whether
    /// it skipped them.
    pub(super) fn resume(&mut self, len: u64, theirs: Hash) -> std::io::Result<bool> {
        hash_front(&mut self.file, len, &mut self.hasher)?;
        let same = Hash::from(self.hasher.clone().finalize()) == theirs;
        if same {
            self.at = len;
        } else {
            self.hasher = Sha256::new();
            self.file.seek(SeekFrom::Start(0))?;
        }
        Ok(same)
    }
}

fn hash_front(file: &mut File, len: u64, hasher: &mut Sha256) -> std::io::Result<()> {
    let mut block = vec![0; 1 << 16];
    let mut front = file.take(len);
    loop {
        match front.read(&mut block)? {
            0 => return Ok(()),
            n => hasher.update(&block[..n]),
        }
    }
}
