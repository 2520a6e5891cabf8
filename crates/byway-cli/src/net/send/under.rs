//! What the sender knows of a folder that is under way.

use super::walk::{Failed, Sums};
use crate::net::protocol::Hash;
use std::collections::HashSet;
use std::rc::Rc;

/// In the place of the size of a file that has failed here: its refusal is known.
pub(super) const FAILED: u64 = u64::MAX;

/// An answer that the receiver owes for a folder.
pub(super) enum Awaited {
    /// What it has of it.
    Done,
    /// To the offer of a file of this path.
    Have(Rc<str>),
    /// To the end of a file of so many bytes.
    File(Rc<str>, u64),
    /// To a folder or link.
    Other(Rc<str>),
}

/// The folder under way.
#[derive(Default)]
pub(super) struct Under {
    pub(super) name: String,
    /// Files that the receiver has, by [`crate::net::entry::Entry::digest`].
    pub(super) finished: HashSet<u64>,
    /// How many of them there can be.
    pub(super) most: usize,
    /// Whether it has told all of them.
    pub(super) told: bool,
    pub(super) stored: Sums,
    /// What of that was stored before.
    pub(super) there: Sums,
    pub(super) all: Sums,
    pub(super) failed: Failed,
    /// Those of them that the receiver has refused.
    pub(super) refusals: u64,
    pub(super) left_out: Failed,
    /// The file that is being sent, what the receiver has of it, and whether it was refused.
    pub(super) current: Option<Rc<str>>,
    pub(super) have: Option<(u64, Hash)>,
    pub(super) refused: bool,
    /// Whether the folder itself was confirmed.
    pub(super) closed: bool,
}

impl Under {
    pub(super) fn is_current(&self, path: &Rc<str>) -> bool {
        self.current.as_ref().is_some_and(|c| Rc::ptr_eq(c, path))
    }
}
