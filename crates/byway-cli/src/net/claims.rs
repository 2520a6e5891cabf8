//! Which association writes which partial file, and who may go on with it.
//!
//! A partial file belongs to the sender who began it: to the sender id of its offer, which
//! only that sender knows ([`super::identity`]). The same sender takes it over from an
//! older association, be it alive or not. Another sender with a file of the same name has a
//! partial file of its own, and learns nothing of the first.

use super::protocol::hex;
use super::store::Found;
use crate::failure::{Failure, Kind};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// How long a sender that came back waits for an earlier association to let go
/// of its file.
const LET_GO: Duration = Duration::from_secs(5);

/// Files of which it is remembered how far they are, so that nothing is read again for
/// an offer. A few hundred bytes each.
const REMEMBERED: usize = 1024;

/// Bytes of a file name on common file systems.
const FILE_NAME: usize = 255;

/// A file of one sender: a digest of the sender id and the name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key([u8; 8]);

impl Key {
    pub(super) fn of(sender: [u8; 16], name: &str) -> Key {
        let digest = Sha256::new()
            .chain_update(sender)
            .chain_update(name)
            .finalize();
        let mut key = [0; 8];
        key.copy_from_slice(&digest[..8]);
        Key(key)
    }

    /// The name of the partial file: `NAME.KEY.part`, a long name cut short.
    pub(super) fn part(&self, name: &str) -> String {
        self.file(name, "part")
    }

    /// The name of the journal of a folder, `NAME.KEY.tree.part`: no partial file has such a name,
    /// so nobody can send a journal.
    pub(super) fn journal(&self, name: &str) -> String {
        self.file(name, "tree.part")
    }

    fn file(&self, name: &str, end: &str) -> String {
        let end = format!(".{}.{end}", hex(&self.0));
        let mut most = name.len().min(FILE_NAME - end.len());
        while !name.is_char_boundary(most) {
            most -= 1;
        }
        name[..most].to_owned() + &end
    }
}

/// The files that are being written, and how far others are.
#[derive(Default)]
pub(super) struct Claims {
    held: Mutex<BTreeMap<Key, Arc<watch::Sender<bool>>>>,
    known: Mutex<VecDeque<(Key, Found)>>,
    /// Folders that their senders have completed: they may add to them.
    folders: Mutex<VecDeque<Key>>,
}

/// The right to write a file, until it is dropped.
pub(super) struct Claim<'a> {
    claims: &'a Claims,
    pub(super) key: Key,
    taken: Arc<watch::Sender<bool>>,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        lock(&self.claims.held).remove(&self.key);
    }
}

impl Claim<'_> {
    /// How far the file was when it was let go of; none if that is not known.
    pub(super) fn known(&self) -> Option<Found> {
        self.claims.known(&self.key)
    }

    /// Remembers how far the file is, or with none that it is not there any more.
    pub(super) fn remember(&self, found: Option<Found>) {
        self.claims.remember(&self.key, found);
    }

    /// Whether the sender has completed this folder before.
    pub(super) fn has_completed(&self) -> bool {
        lock(&self.claims.folders).contains(&self.key)
    }

    /// The sender has completed this folder.
    pub(super) fn complete(&self) {
        let mut folders = lock(&self.claims.folders);
        folders.retain(|key| *key != self.key);
        if folders.len() == REMEMBERED {
            folders.pop_front();
        }
        folders.push_back(self.key.clone());
    }

    /// Waits until its sender goes on in another association.
    pub(super) async fn taken(&self) {
        // An error would say that the channel is gone, and `self` holds it.
        let _ = self.taken.subscribe().wait_for(|taken| *taken).await;
    }
}

impl Claims {
    /// The right to write this file. An older association of the same sender loses it.
    ///
    /// # Errors
    /// When the older one does not let go of it, for the sender.
    pub(super) async fn claim(&self, sender: [u8; 16], name: &str) -> Result<Claim<'_>, Failure> {
        let (key, until) = (Key::of(sender, name), Instant::now() + LET_GO);
        loop {
            let older = match self.take_free(&key) {
                Ok(claim) => return Ok(claim),
                Err(older) => older,
            };
            older.send_replace(true);
            let mut held = older.subscribe();
            // The older claim has the last one then.
            drop(older);
            let gone = async { while held.changed().await.is_ok() {} };
            if timeout_at(until, gone).await.is_err() {
                return Err(Failure::new(
                    Kind::Refused,
                    format!(
                        "{name} is still held by an earlier association; send it again in a moment"
                    ),
                ));
            }
        }
    }

    /// How far a file was when it was let go of, also one in a folder, whose claim is the folder's; none
    /// if that is not known.
    pub(super) fn known(&self, file: &Key) -> Option<Found> {
        let known = lock(&self.known);
        let found = known.iter().find(|(key, _)| key == file);
        found.map(|(_, found)| found.clone())
    }

    /// Remembers how far a file is, or with none that it is not there any more.
    pub(super) fn remember(&self, file: &Key, found: Option<Found>) {
        let mut known = lock(&self.known);
        known.retain(|(key, _)| key != file);
        if let Some(found) = found {
            if known.len() == REMEMBERED {
                known.pop_front();
            }
            known.push_back((file.clone(), found));
        }
    }

    fn take_free(&self, key: &Key) -> Result<Claim<'_>, Arc<watch::Sender<bool>>> {
        let mut held = lock(&self.held);
        if let Some(older) = held.get(key) {
            return Err(older.clone());
        }
        let taken = Arc::new(watch::Sender::new(false));
        held.insert(key.clone(), taken.clone());
        Ok(Claim {
            claims: self,
            key: key.clone(),
            taken,
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_files_have_names_of_their_own_that_fit() {
        let part = |sender: u8, name: &str| Key::of([sender; 16], name).part(name);
        assert_eq!(part(1, "a"), part(1, "a"));
        assert_ne!(part(1, "a"), part(2, "a"));
        assert_ne!(part(1, "a"), part(1, "b"));
        let (one, other) = (part(1, &"ü".repeat(125)), part(2, &"ü".repeat(125)));
        assert!(one.len() <= FILE_NAME && one != other, "{one}");
        assert!(one.starts_with("üü") && one.ends_with(".part"));
        let journal = Key::of([1; 16], "a/").journal("a");
        assert!(
            journal.ends_with(".tree.part") && journal.starts_with("a."),
            "{journal}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_sender_takes_over_its_own_file_only() {
        let claims = Claims::default();
        let first = claims.claim([1; 16], "a").await.unwrap();
        let stranger = claims.claim([2; 16], "a").await.unwrap();
        assert!(!*first.taken.borrow() && !*stranger.taken.borrow());
        let asked = Instant::now();
        let again = tokio::join!(claims.claim([1; 16], "a"), async move {
            first.taken().await;
            drop(first);
        });
        let held = again.0.unwrap();
        assert_eq!(
            asked.elapsed(),
            Duration::ZERO,
            "it is told, and does not look"
        );
        let refused = claims.claim([1; 16], "a").await.err().unwrap();
        assert!(refused.message.contains("is still held"), "{refused}");
        assert_eq!(asked.elapsed(), LET_GO);
        drop(held);
        assert!(!*stranger.taken.borrow());
    }
}
