//! What one association makes this side keep for its connections.
//!
//! A peer may send as much as its windows allow, and a target that takes nothing keeps all of it here: 64 KiB for each
//! connection at first, and what windows have grown by (`window`). It is in the account of memory of the endpoint
//! ([`Association::charge`]), as what the association itself holds: above fifteen sixteenths of the ceiling the association that
//! keeps most is aborted.

use byway::{Association, Charge};
use std::sync::{Arc, Mutex, PoisonError};

/// The account is asked when so much more or less is kept: it has a lock that all associations share.
const STEP: usize = 4096;

/// What is kept for the connections of an association.
#[derive(Debug)]
pub(super) struct Kept(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    bytes: usize,
    charge: Charge,
}

/// Bytes that are kept, until it is dropped.
#[derive(Debug)]
pub(super) struct Held {
    kept: Arc<Kept>,
    bytes: usize,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.kept.change(|kept| kept - self.bytes);
    }
}

impl Kept {
    pub(super) fn new(association: &Association) -> Arc<Kept> {
        Arc::new(Kept(Mutex::new(Inner {
            bytes: 0,
            charge: association.charge(),
        })))
    }

    /// So much more is kept. The association may be let go before this returns. Returns how much is kept now, too.
    pub(super) fn hold(self: &Arc<Kept>, bytes: usize) -> (Held, usize) {
        let all = self.change(|kept| kept + bytes);
        let kept = self.clone();
        (Held { kept, bytes }, all)
    }

    fn change(&self, to: impl FnOnce(usize) -> usize) -> usize {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.bytes = to(inner.bytes);
        let charged = inner.bytes.next_multiple_of(STEP);
        inner.charge.set(charged);
        inner.bytes
    }
}
