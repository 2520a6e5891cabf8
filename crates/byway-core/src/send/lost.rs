//! The lost chunks that await retransmission, in groups by cause and by the path
//! that lost them. All chunks of a group have the same target, so its window is
//! checked once per group and not once per chunk.

use crate::path::PathId;
use crate::policy::retransmit::LossCause;
use std::collections::BTreeSet;

/// The lost chunks of one cause and path.
#[derive(Debug)]
pub struct Group {
    /// Why they are lost.
    pub cause: LossCause,
    /// Where they were sent last.
    pub path: PathId,
    seqs: BTreeSet<u64>,
}

impl Group {
    /// The lowest sequence; a group is never empty.
    #[must_use]
    pub fn first(&self) -> Option<u64> {
        self.seqs.first().copied()
    }

    /// All sequences, lowest first.
    pub(crate) fn seqs(&self) -> impl Iterator<Item = u64> + '_ {
        self.seqs.iter().copied()
    }
}

/// All chunks that await retransmission.
#[derive(Debug, Default)]
pub struct LostChunks {
    groups: Vec<Group>,
}

impl LostChunks {
    /// Whether no chunk awaits retransmission.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The groups. Their order has no meaning, but is the same in every run.
    #[must_use]
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    pub(crate) fn insert(&mut self, cause: LossCause, path: PathId, seq: u64) {
        match self.find(cause, path) {
            Some(i) => {
                self.groups[i].seqs.insert(seq);
            }
            None => self.groups.push(Group {
                cause,
                path,
                seqs: BTreeSet::from([seq]),
            }),
        }
    }

    pub(crate) fn remove(&mut self, cause: LossCause, path: PathId, seq: u64) {
        if let Some(i) = self.find(cause, path) {
            self.groups[i].seqs.remove(&seq);
            if self.groups[i].seqs.is_empty() {
                self.groups.remove(i);
            }
        }
    }

    fn find(&self, cause: LossCause, path: PathId) -> Option<usize> {
        self.groups
            .iter()
            .position(|g| g.cause == cause && g.path == path)
    }

    /// Whether exactly these chunks are lost.
    pub(crate) fn are_exactly(&self, all: impl Iterator<Item = (LossCause, PathId, u64)>) -> bool {
        let mut count = 0;
        for (cause, path, seq) in all {
            count += 1;
            let known = self
                .find(cause, path)
                .is_some_and(|i| self.groups[i].seqs.contains(&seq));
            if !known {
                return false;
            }
        }
        count == self.groups.iter().map(|g| g.seqs.len()).sum::<usize>()
    }
}
