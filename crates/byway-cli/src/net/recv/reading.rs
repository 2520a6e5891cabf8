//! What `byway recv` reads and hashes of what strangers have begun, in pieces and by turns.
//!
//! A hole of many gigabytes costs its sender a few bytes, and its hash takes minutes. So nobody has a
//! turn for longer than a piece, one host has one turn of all hosts', and the hash of an association that
//! ends goes no further.

use super::Job;
use super::aside::aside;
use crate::failure::Failure;
use crate::net::hashes::Front;
use crate::net::protocol::Hash;
use crate::net::store::{Found, Stamp};
use crate::net::turns::Turn;
use sha2::Digest;
use std::fs::{self, File};
use std::io;
use std::path::Path;

impl Job<'_> {
    /// Waits for this association's turn.
    ///
    /// # Errors
    /// When the association ends first.
    pub(super) async fn turn(&self) -> Result<Turn<'_>, Failure> {
        let Some(peer) = self.peer else {
            // It has no path any more.
            return Err(self.association.closed().await.into());
        };
        tokio::select! {
            biased;
            lost = self.association.closed() => Err(lost.into()),
            turn = self.ours(self.files.turns.take(peer.ip())) => Ok(turn),
        }
    }

    /// Does a piece of work when it is this association's turn.
    ///
    /// # Errors
    /// When the association ends first.
    pub(super) async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let _turn = self.turn().await?;
        self.ours(aside(work)).await
    }

    /// Hashes the front of a file.
    ///
    /// # Errors
    /// When the association ends first. That it cannot be read ends nothing.
    async fn hash(&self, mut front: Front) -> Result<io::Result<Front>, Failure> {
        loop {
            let step = move || (front.step(), front);
            let (more, back) = self.in_turn(step).await?;
            front = back;
            match more {
                Ok(true) => {}
                Ok(false) => return Ok(Ok(front)),
                Err(e) => return Ok(Err(e)),
            }
        }
    }

    /// What is there of a file of `size` bytes, whose partial file this is: what is known, or what is
    /// read.
    ///
    /// # Errors
    /// When the association ends first. That it cannot be read ends nothing.
    pub(super) async fn known_or_read(
        &self,
        part: &Path,
        size: u64,
        known: Option<Found>,
    ) -> Result<io::Result<Option<Found>>, Failure> {
        let plain = fs::symlink_metadata(part).ok().filter(|m| m.is_file());
        let Some(there) = plain.filter(|m| (1..=size).contains(&m.len())) else {
            return Ok(Ok(known));
        };
        let is_of = |known: &Found| known.is_of(Stamp::of(&there));
        if known.as_ref().is_some_and(is_of) {
            return Ok(Ok(known));
        }
        let opened = File::open(part).and_then(|file| Ok((file.metadata()?, file)));
        let (stamp, have, file) = match opened {
            Ok((there, file)) => (Stamp::of(&there), there.len(), file),
            Err(e) => return Ok(Err(e)),
        };
        let read = self.hash(Front::of(file, have)).await?;
        Ok(read.map(|front| Some(Found::of(have, front.hasher, stamp))))
    }

    /// Whether a file has this hash.
    ///
    /// # Errors
    /// When the association ends first.
    pub(super) async fn has_hash(
        &self,
        file: File,
        size: u64,
        hash: &Hash,
    ) -> Result<bool, Failure> {
        let read = self.hash(Front::of(file, size)).await?;
        Ok(read.is_ok_and(|front| Hash::from(front.hasher.finalize()) == *hash))
    }
}
