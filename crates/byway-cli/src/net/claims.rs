//! Which association writes which file, and who may take it over.
//!
//! A sender that comes back after a loss has its sender id: its file is its own.
//! A new run of `byway send` has another one, and must show that it has the same
//! file: the same name and size, and the same beginning, as far as it has
//! arrived, by SHA-256. Then the older association ends, be it alive or not.

use super::store::Found;
use crate::failure::{Failure, Kind};
use byway::Association;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How long a sender that came back waits for an earlier association to let go
/// of its file.
const LET_GO: Duration = Duration::from_secs(5);

/// How long an earlier association may take to have a first byte, without which
/// a new sender cannot show that its file is the same.
const FIRST_BYTE: Duration = Duration::from_secs(1);

/// Between two looks at another association.
const LOOK: Duration = Duration::from_millis(10);

/// The files that are being written.
#[derive(Default)]
pub(super) struct Claims(Mutex<BTreeMap<String, Arc<Holder>>>);

/// An association that writes a file.
struct Holder {
    sender: [u8; 16],
    size: u64,
    association: Association,
    /// How far the file is; none while that is being found out.
    found: Mutex<Option<Found>>,
    taken: watch::Sender<bool>,
}

/// The right to write a file, until it is dropped.
pub(super) struct Claim<'a> {
    claims: &'a Claims,
    name: String,
    holder: Arc<Holder>,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.claims.map().remove(&self.name);
    }
}

impl Claim<'_> {
    /// How far the file is now.
    pub(super) fn shows(&self, found: Found) {
        *lock(&self.holder.found) = Some(found);
    }

    /// Waits until another sender has taken the file over.
    pub(super) async fn taken(&self) {
        // An error would say that the holder is gone, and `self` holds it.
        let _ = self.holder.taken.subscribe().wait_for(|taken| *taken).await;
    }
}

/// What an offer meets.
pub(super) enum Offered<'a> {
    /// Nobody writes the file.
    Free(Claim<'a>),
    /// Another sender has begun it.
    Begun(Begun<'a>),
}

/// A file that another sender has begun.
pub(super) struct Begun<'a> {
    claims: &'a Claims,
    name: String,
    older: Arc<Holder>,
    /// How far it was when it was looked at.
    pub(super) found: Found,
}

/// What is offered, and by whom.
pub(super) struct Offer<'a> {
    pub(super) name: &'a str,
    pub(super) size: u64,
    pub(super) sender: [u8; 16],
    pub(super) association: &'a Association,
}

impl Claims {
    fn map(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Holder>>> {
        lock(&self.0)
    }

    /// # Errors
    /// Why the file cannot be had, for the sender.
    pub(super) async fn offered(&self, offer: &Offer<'_>) -> Result<Offered<'_>, Failure> {
        let begun = Instant::now();
        loop {
            let older = match self.take_free(offer) {
                Ok(claim) => return Ok(Offered::Free(claim)),
                Err(older) => older,
            };
            if older.sender == offer.sender {
                // Refused when it has ended already.
                let _ = older.association.abort(b"the sender came back");
                if begun.elapsed() > LET_GO {
                    return Err(still_held(offer.name));
                }
            } else if older.size != offer.size {
                return Err(busy(offer.name));
            } else {
                let found = lock(&older.found).clone();
                // It may be hashing what is there of a long file.
                let known = found.filter(|f| f.have() > 0 || begun.elapsed() > FIRST_BYTE);
                if let Some(found) = known {
                    return Ok(Offered::Begun(Begun {
                        claims: self,
                        name: offer.name.to_owned(),
                        older,
                        found,
                    }));
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    fn take_free(&self, offer: &Offer<'_>) -> Result<Claim<'_>, Arc<Holder>> {
        let mut map = self.map();
        if let Some(older) = map.get(offer.name) {
            return Err(older.clone());
        }
        let holder = Arc::new(Holder {
            sender: offer.sender,
            size: offer.size,
            association: offer.association.clone(),
            found: Mutex::new(None),
            taken: watch::Sender::new(false),
        });
        map.insert(offer.name.to_owned(), holder.clone());
        Ok(Claim {
            claims: self,
            name: offer.name.to_owned(),
            holder,
        })
    }
}

impl<'a> Begun<'a> {
    /// The new sender begins at `offset`: if that is where the older one is,
    /// they have the same file, and it is taken over.
    ///
    /// # Errors
    /// Why not, for the sender.
    pub(super) async fn take_over(
        &self,
        offset: u64,
        offer: &Offer<'_>,
    ) -> Result<Claim<'a>, Failure> {
        if offset != self.found.have() {
            return Err(busy(&self.name));
        }
        self.older.taken.send_replace(true);
        let begun = Instant::now();
        loop {
            match self.claims.take_free(offer) {
                Ok(claim) => return Ok(claim),
                Err(other) if !Arc::ptr_eq(&other, &self.older) => return Err(busy(&self.name)),
                Err(_) if begun.elapsed() > LET_GO => return Err(still_held(&self.name)),
                Err(_) => tokio::time::sleep(LOOK).await,
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn busy(name: &str) -> Failure {
    Failure::new(
        Kind::Refused,
        format!(
            "another file named {name} is being received from another sender; send this one later, or under another name"
        ),
    )
}

fn still_held(name: &str) -> Failure {
    Failure::new(
        Kind::Refused,
        format!("{name} is still held by an earlier association; send it again in a moment"),
    )
}
