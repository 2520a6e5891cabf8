//! One file that `byway recv` takes.

use super::aside::aside;
use super::outcome::Done;
use super::{Job, Offer, refuse};
use crate::failure::Failure;
use crate::net::claims::Claim;
use crate::net::exchange::Exchange;
use crate::net::names::check_dot;
use crate::net::parts::Parts;
use crate::net::protocol::{Hash, Note, hex};
use crate::net::slots::Slot;
use crate::net::store::{Finished, Found, Store};
use std::net::IpAddr;
use std::path::PathBuf;

/// A file and the right to write it. How far it is stays known when it is let go of.
struct Open<'a> {
    // First: what waits is written before another association has the right.
    store: Option<Store>,
    /// The name of the partial file.
    part: String,
    parts: &'a Parts,
    host: Option<IpAddr>,
    claim: Claim<'a>,
    /// Last: it counts the descriptor.
    slot: Option<Slot<'a>>,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if let Some(store) = &mut self.store {
            store.let_go();
            self.claim.remember(Some(store.found()));
        }
        // Its file is closed by now.
        self.store = None;
        self.parts.let_go(&self.part, self.host);
    }
}

impl<'a> Job<'a> {
    pub(super) async fn one_file(
        &self,
        exchange: &mut Exchange<'_>,
        offer: &Offer,
    ) -> Result<Done, Failure> {
        check_dot(&offer.name, self.args.dot_files).map_err(refuse)?;
        let claim = self.claim(offer.sender, &offer.name).await?;
        let part = claim.key.part(&offer.name);
        self.files.parts.begun(&part);
        let mut open = Open {
            store: None,
            part,
            parts: &self.files.parts,
            host: self.peer.map(|p| p.ip()),
            claim,
            slot: None,
        };
        let store = self.open(offer, &open.part, &open.claim).await?;
        let store = open.store.insert(store);
        let (offset, hash) = tokio::select! {
            result = self.take(exchange, (store, &mut open.slot), offer) => result?,
            () = open.claim.taken() => return Err(self.overtaken(&offer.name)),
        };
        let Some(store) = open.store.take() else {
            unreachable!("it was put there above");
        };
        let finished = self.finish(store, &hash).await?;
        // After a failure what is there is looked at again.
        let whole = finished.as_ref().ok().map(|(_, whole)| whole.clone());
        open.claim.remember(whole);
        let (path, _) = finished.map_err(refuse)?;
        exchange.send(&Note::Stored).await?;
        Ok(Done {
            path,
            size: offer.size,
            hash: hex(&hash),
            resumed_from: offset,
        })
    }

    /// The right to write a file or folder.
    pub(super) async fn claim(&self, sender: [u8; 16], name: &str) -> Result<Claim<'a>, Failure> {
        // Until it is ours, an earlier association of its sender may go on.
        self.yields.set(true);
        let claim = tokio::select! {
            claim = self.ours(self.files.claims.claim(sender, name)) => claim?,
            lost = self.association.closed() => return Err(lost.into()),
        };
        self.yields.set(false);
        Ok(claim)
    }

    /// Opens the file of an offer.
    async fn open(&self, offer: &Offer, part: &str, claim: &Claim<'_>) -> Result<Store, Failure> {
        let (folder, name, size) = (self.files.folder.clone(), offer.name.clone(), offer.size);
        let path = folder.dir.join(part);
        let read = self.known_or_read(&path, size, claim.known());
        let known = tokio::select! {
            read = read => read?.map_err(|e| refuse(format!("{name}: {e}")))?,
            () = claim.taken() => return Err(self.overtaken(&name)),
        };
        Store::open(&folder, &name, part, size, known).map_err(refuse)
    }

    /// Checks a file that has come and gives it its place.
    ///
    /// # Errors
    /// When the association ends first. Why it cannot have its place ends nothing.
    pub(super) async fn finish(
        &self,
        store: Store,
        hash: &Hash,
    ) -> Result<Result<(PathBuf, Found), String>, Failure> {
        let hash = *hash;
        let (compare, there) = match self.ours(aside(move || store.finish(&hash))).await? {
            Ok(Finished::Named(path, whole)) => return Ok(Ok((path, whole))),
            Ok(Finished::Compare(compare, there)) => (compare, there),
            Err(reason) => return Ok(Err(reason)),
        };
        // Not while files get their names: it may take minutes.
        let same = self.has_hash(there, compare.size(), &hash).await?;
        self.ours(aside(move || compare.end(same))).await
    }

    /// Agrees where the sender begins, and takes what comes: from where, and the hash of
    /// the whole that the sender names.
    async fn take(
        &self,
        exchange: &mut Exchange<'_>,
        (store, slot): (&mut Store, &mut Option<Slot<'a>>),
        offer: &Offer,
    ) -> Result<(u64, Hash), Failure> {
        let offset = self.agree(exchange, &store.found()).await?;
        let slot = &*slot.insert(self.slot().await?);
        store.start(offset).map_err(refuse)?;
        let hash = tokio::select! {
            hash = self.contents(exchange, (store, slot), &offer.name) => hash?,
            why = slot.taken_back() => return Err(why),
        };
        slot.ends();
        self.under_way.set(false);
        Ok((offset, hash))
    }

    /// A slot for one more file of this host.
    pub(super) async fn slot(&self) -> Result<Slot<'a>, Failure> {
        let Some(peer) = self.peer else {
            // It has no path any more.
            return Err(self.association.closed().await.into());
        };
        tokio::select! {
            slot = self.ours(self.files.slots.take(peer.ip())) => slot,
            lost = self.association.closed() => Err(lost.into()),
        }
    }

    /// Tells the sender what is there; where it begins.
    async fn agree(&self, exchange: &mut Exchange<'_>, found: &Found) -> Result<u64, Failure> {
        let have = Note::Have {
            offset: found.have(),
            hash: found.hash(),
        };
        exchange.send(&have).await?;
        match exchange.expect("START").await? {
            Note::Start { offset } => Ok(offset),
            other => Err(exchange.strange(other.name())),
        }
    }

    /// Writes what comes; the hash that the sender names at the end.
    async fn contents(
        &self,
        exchange: &mut Exchange<'_>,
        (store, slot): (&mut Store, &Slot<'_>),
        name: &str,
    ) -> Result<Hash, Failure> {
        self.here.set(store.written());
        self.progress().begin(name, store.size(), store.written());
        loop {
            match exchange.expect("END").await? {
                Note::Data(bytes) => {
                    store.write(&bytes).map_err(refuse)?;
                    self.came(bytes.len() as u64, slot);
                }
                Note::End { hash } => return Ok(hash),
                other => return Err(exchange.strange(other.name())),
            }
        }
    }

    pub(super) fn overtaken(&self, name: &str) -> Failure {
        self.yields.set(true);
        refuse(format!(
            "another run of `byway send` with the same file or folder has taken {name} over"
        ))
    }
}
