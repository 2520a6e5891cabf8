//! A folder that `byway recv` takes.

use super::aside::aside;
use super::outcome::{FolderDone, FolderOffer};
use super::{Job, refuse};
use crate::failure::Failure;
use crate::net::claims::{Claim, Claims, Key};
use crate::net::entry::{Entry, What};
use crate::net::exchange::Exchange;
use crate::net::names::check_dot;
use crate::net::parts::Parts;
use crate::net::protocol::{Hash, MAX_FOLDERS, Note};
use crate::net::slots::Slot;
use crate::net::store::Store;
use crate::net::tree::{Cursor, Tree};
use std::net::IpAddr;
use std::sync::Arc;

/// A folder and the right to write it.
struct OpenTree<'a> {
    tree: Arc<Tree>,
    sender: [u8; 16],
    /// The name of its journal.
    journal: String,
    parts: &'a Parts,
    host: Option<IpAddr>,
    claim: Claim<'a>,
}

impl Drop for OpenTree<'_> {
    fn drop(&mut self) {
        self.parts.let_go(&self.journal, self.host);
    }
}

/// A file of a folder under way.
struct OpenFile<'a> {
    store: Option<Store>,
    key: Key,
    /// The name of the partial file.
    part: String,
    claims: &'a Claims,
    parts: &'a Parts,
    host: Option<IpAddr>,
    /// Last: it counts the descriptor.
    slot: Option<Slot<'a>>,
}

impl Drop for OpenFile<'_> {
    fn drop(&mut self) {
        if let Some(store) = &mut self.store {
            store.let_go();
            // Files of which nothing is there are many in a folder.
            let found = Some(store.found()).filter(|found| found.have() > 0);
            self.claims.remember(&self.key, found);
        }
        // Its file is closed by now.
        self.store = None;
        self.parts.let_go(&self.part, self.host);
    }
}

/// How a file of a folder ended.
enum Came {
    Whole,
    /// Its sender does not go on with it.
    Quit,
    /// Not taken, for this reason. All that was sent of it was thrown away.
    Refused(String),
    /// The same, and more of it may come.
    RefusedMidway(String),
}

impl<'a> Job<'a> {
    /// Takes a folder until its own entry has come.
    ///
    /// # Errors
    /// What ends the association. Refused entries do not.
    pub(super) async fn folder(
        &self,
        exchange: &mut Exchange<'_>,
        offer: &FolderOffer,
    ) -> Result<FolderDone, Failure> {
        check_dot(&offer.name, self.args.dot_files).map_err(refuse)?;
        if self.folders.borrow().len() == MAX_FOLDERS {
            return Err(exchange.strange(&format!("more than {MAX_FOLDERS} folders")));
        }
        let open = self.begin_tree(offer).await?;
        let mut done = FolderDone {
            path: open.tree.path(),
            ..FolderDone::default()
        };
        let there = self.tell(exchange, &open, &mut done).await?;
        self.here.set(there);
        self.progress().begin(&offer.name, offer.bytes, there);
        loop {
            let all = offer.files.max(done.were_there + done.files);
            let so_far = done.were_there + done.files;
            self.progress()
                .label(&format!("{} {so_far}/{all}", offer.name));
            let entry = match self.hear(exchange, &open, "end of the folder").await? {
                Note::Entry(entry) => entry,
                other => return Err(exchange.strange(other.name())),
            };
            match entry.what {
                What::File { size } => {
                    self.file_of(exchange, &open, (&entry, size), &mut done)
                        .await?
                }
                _ => self.other_of(exchange, &open, &entry, &mut done).await?,
            }
            if entry.path.is_empty() {
                break;
            }
        }
        if open.tree.is_senders() {
            open.claim.complete();
        }
        // A sender that comes back for what is missing needs the journal.
        if done.lacking() == 0 {
            let closed = (open.tree.clone(), open.journal.clone());
            self.closed.borrow_mut().push(closed);
        }
        Ok(done)
    }

    /// The sender has all confirmations: journals are needed no more.
    pub(super) fn forget_journals(&self) {
        for (tree, journal) in self.closed.borrow_mut().drain(..) {
            self.files.parts.begun(&journal);
            tree.forget();
        }
    }

    async fn begin_tree(&self, offer: &FolderOffer) -> Result<OpenTree<'a>, Failure> {
        let name = &offer.name;
        let claim = self.claim(offer.sender, &format!("{name}/")).await?;
        let journal = claim.key.journal(name);
        self.files.parts.begun(&journal);
        let folder = &self.files.folder;
        let tree = Tree::new(folder, name, &journal, claim.has_completed());
        Ok(OpenTree {
            tree: Arc::new(tree),
            sender: offer.sender,
            journal,
            parts: &self.files.parts,
            host: self.peer.map(|p| p.ip()),
            claim,
        })
    }

    /// Tells the sender what is complete; how many bytes that is.
    async fn tell(
        &self,
        exchange: &mut Exchange<'_>,
        open: &OpenTree<'_>,
        done: &mut FolderDone,
    ) -> Result<u64, Failure> {
        let (mut at, mut bytes) = (Cursor::default(), 0);
        loop {
            let tree = open.tree.clone();
            let turn = self.in_turn(move || tree.finished(at));
            // A journal that cannot be read tells nothing.
            let (finished, next) = turn.await?.unwrap_or_default();
            bytes += finished.bytes;
            done.were_there += finished.digests.len() as u64;
            let note = Note::Done {
                digests: finished.digests,
                last: next.is_none(),
            };
            exchange.send(&note).await?;
            match next {
                Some(next) => at = next,
                None => return Ok(bytes),
            }
        }
    }

    /// The next message, while no other association of the sender takes the folder over.
    async fn hear(
        &self,
        exchange: &mut Exchange<'_>,
        open: &OpenTree<'_>,
        waiting_for: &str,
    ) -> Result<Note, Failure> {
        tokio::select! {
            note = exchange.expect(waiting_for) => note,
            () = open.claim.taken() => {
                Err(self.overtaken(&open.tree.path().display().to_string()))
            }
        }
    }

    /// A folder or a link.
    async fn other_of(
        &self,
        exchange: &mut Exchange<'_>,
        open: &OpenTree<'_>,
        entry: &Entry,
        done: &mut FolderDone,
    ) -> Result<(), Failure> {
        let (tree, one) = (open.tree.clone(), entry.clone());
        let put = move || match &one.what {
            What::Link { target } => tree.put_link(&one, target),
            // The folder is confirmed when all of it is on the disk.
            _ if one.path.is_empty() => tree.put_folder(&one).and_then(|()| tree.sync()),
            _ => tree.put_folder(&one),
        };
        let put = match self.dots(open, entry) {
            Ok(()) => self.ours(aside(put)).await?,
            hidden => hidden,
        };
        if let What::Folder { missing } = entry.what
            && entry.path.is_empty()
        {
            done.missing = missing;
        }
        self.made(1);
        let answer = match put {
            Ok(()) => Note::Stored,
            Err(reason) => {
                self.say_refused(&reason);
                done.refuse(&reason, &self.reasons);
                Note::Refuse { reason }
            }
        };
        exchange.send(&answer).await
    }

    /// A file.
    async fn file_of(
        &self,
        exchange: &mut Exchange<'_>,
        open: &OpenTree<'_>,
        (entry, size): (&Entry, u64),
        done: &mut FolderDone,
    ) -> Result<(), Failure> {
        let (reason, midway) = match self.take_file(exchange, open, (entry, size)).await? {
            Came::Whole => {
                done.files += 1;
                done.bytes += size;
                self.made(1);
                return exchange.send(&Note::Stored).await;
            }
            Came::Quit => {
                // The sender counts it among those that are missing.
                let reason = "its sender did not go on with it".to_owned();
                return exchange.send(&Note::Refuse { reason }).await;
            }
            Came::Refused(reason) => (reason, false),
            Came::RefusedMidway(reason) => (reason, true),
        };
        self.say_refused(&reason);
        done.refuse(&reason, &self.reasons);
        exchange.send(&Note::Refuse { reason }).await?;
        // What is thrown away is no step: the rest of a refused file has the time of one.
        if midway {
            loop {
                match self.hear(exchange, open, "END").await? {
                    Note::Start { .. } | Note::Data(_) | Note::Hole { .. } => {}
                    Note::End { .. } => break,
                    Note::Quit => return Ok(()),
                    other => return Err(exchange.strange(other.name())),
                }
            }
        }
        // It has ended.
        self.advance();
        Ok(())
    }

    async fn take_file(
        &self,
        exchange: &mut Exchange<'_>,
        open: &OpenTree<'_>,
        (entry, size): (&Entry, u64),
    ) -> Result<Came, Failure> {
        if let Err(hidden) = self.dots(open, entry) {
            return Ok(Came::RefusedMidway(hidden));
        }
        let name = entry.path.rsplit('/').next().unwrap_or_default();
        let key = Key::of(open.sender, &open.tree.shown(entry));
        let part = key.part(name);
        self.files.parts.begun(&part);
        let mut file = OpenFile {
            store: None,
            key,
            part,
            claims: &self.files.claims,
            parts: &self.files.parts,
            host: open.host,
            slot: None,
        };
        let (tree, one, part) = (open.tree.clone(), entry.clone(), file.part.clone());
        let (claims, path) = (&self.files.claims, self.files.folder.dir.join(&part));
        let known = claims.known(&file.key);
        let store = match self.known_or_read(&path, size, known).await? {
            Ok(known) => Store::open_in(&tree, &one, &part, size, known),
            Err(e) => Err(format!("{}: {e}", tree.shown(entry))),
        };
        let store = match store {
            Ok(store) => file.store.insert(store),
            Err(reason) => return Ok(Came::RefusedMidway(reason)),
        };
        let have = Note::Have {
            offset: store.found().have(),
            hash: store.found().hash(),
        };
        exchange.send(&have).await?;
        let offset = match self.hear(exchange, open, "START").await? {
            Note::Start { offset } => offset,
            Note::Quit => return Ok(Came::Quit),
            other => return Err(exchange.strange(other.name())),
        };
        file.slot = Some(self.slot().await?);
        if let Err(reason) = store.start(offset) {
            return Ok(Came::RefusedMidway(reason));
        }
        let came = self.contents_of(exchange, open, &mut file).await?;
        self.under_way.set(false);
        let hash = match came {
            Ok(hash) => hash,
            Err(came) => return Ok(came),
        };
        let Some(store) = file.store.take() else {
            unreachable!("it was put there above");
        };
        claims.remember(&file.key, None);
        let finished = self.finish(store, &hash).await?;
        Ok(match finished {
            Ok(_) => Came::Whole,
            Err(reason) => Came::Refused(reason),
        })
    }

    /// Writes what comes; the hash that the sender names at the end, or why there is none.
    async fn contents_of(
        &self,
        exchange: &mut Exchange<'_>,
        open: &OpenTree<'_>,
        file: &mut OpenFile<'_>,
    ) -> Result<Result<Hash, Came>, Failure> {
        let Some(slot) = &file.slot else {
            unreachable!("the caller has taken it");
        };
        loop {
            let note = tokio::select! {
                note = self.hear(exchange, open, "END") => note?,
                why = slot.taken_back() => return Err(why),
            };
            let Some(mut store) = file.store.take() else {
                unreachable!("it is put back below");
            };
            let (written, bytes) = match note {
                Note::Data(bytes) => (store.write(&bytes), bytes.len() as u64),
                Note::Hole { zeros } => {
                    // Their hash takes a while.
                    let _turn = match self.turn().await {
                        Ok(turn) => turn,
                        Err(lost) => {
                            file.store = Some(store);
                            return Err(lost);
                        }
                    };
                    let skip = move || (store.skip(zeros), store);
                    let (skipped, back) = self.ours(aside(skip)).await?;
                    store = back;
                    (skipped, zeros)
                }
                Note::End { hash } => {
                    slot.ends();
                    file.store = Some(store);
                    return Ok(Ok(hash));
                }
                Note::Quit => {
                    file.store = Some(store);
                    return Ok(Err(Came::Quit));
                }
                other => {
                    file.store = Some(store);
                    return Err(exchange.strange(other.name()));
                }
            };
            file.store = Some(store);
            if let Err(reason) = written {
                return Ok(Err(Came::RefusedMidway(reason)));
            }
            self.came(bytes, slot);
        }
    }

    /// Refuses names that begin with a dot, unless this receiver takes them.
    fn dots(&self, open: &OpenTree<'_>, entry: &Entry) -> Result<(), String> {
        let mut names = entry.path.split('/');
        let all = names.try_for_each(|name| check_dot(name, self.args.dot_files));
        all.map_err(|e| format!("{}: {e}", open.tree.shown(entry)))
    }

    fn say_refused(&self, reason: &str) {
        self.progress().say(&format!("refused: {reason}"));
    }
}
