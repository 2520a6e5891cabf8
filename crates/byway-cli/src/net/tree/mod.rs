//! Folders at the receiver: where their entries go, and which of them are complete.

mod beneath;
mod journal;
mod place;

pub(super) use journal::Cursor;
pub(super) use place::{Put, Taken, Tree};
