//! State Cookies whose association has ended (RFC 9260 section 5.1.5).
//!
//! A cookie is valid for its whole life. Replayed after its association has ended, it
//! would set up a ghost that delivers old data again. So the verification tag of an
//! association that began with a cookie is kept until the cookie expires. There is a limit;
//! of those that are forgotten the latest expiry is kept, and every cookie that expires up to
//! then counts as spent. Its peer gets a Stale Cookie and begins again.

use super::crest::Crest;
use crate::time::Instant;
use std::collections::{HashSet, VecDeque};

/// Most tags that are kept, 512 KiB in all; the oldest are forgotten first.
const MOST: usize = 16_384;

/// The tags of spent cookies.
#[derive(Debug, Default)]
pub(super) struct SpentCookies {
    /// When each expires, oldest first.
    order: VecDeque<(Instant, u32)>,
    /// Only looked up, so its random order has no effect.
    tags: HashSet<u32>,
    /// No cookie of a forgotten tag expires later.
    forgotten: Option<Instant>,
    crest: Crest,
}

impl SpentCookies {
    /// The association with this tag of ours has ended; its cookie is valid until
    /// `expires`.
    pub(super) fn add(&mut self, tag: u32, expires: Instant) {
        if self.order.len() == MOST
            && let Some((until, oldest)) = self.order.pop_front()
        {
            self.tags.remove(&oldest);
            self.forgotten = self.forgotten.max(Some(until));
        }
        if self.tags.insert(tag) {
            self.order.push_back((expires, tag));
            self.crest.has_passed(self.order.len());
        }
    }

    /// Memory that this takes, in bytes. A table of hashes has a byte more for each place, and an eighth of them empty.
    pub(super) fn memory(&self) -> usize {
        self.order.capacity() * size_of::<(Instant, u32)>() + self.tags.capacity() * 6
    }

    /// Whether a cookie that expires then may have been used by an association whose tag is
    /// forgotten.
    pub(super) fn may_have_forgotten(&self, expires: Instant) -> bool {
        self.forgotten.is_some_and(|until| expires <= until)
    }

    /// Whether a cookie with this tag was used by an association that has ended.
    pub(super) fn contains(&mut self, tag: u32, now: Instant) -> bool {
        while let Some((_, old)) = self.order.pop_front_if(|(expires, _)| *expires <= now) {
            self.tags.remove(&old);
        }
        if self.crest.has_passed(self.order.len()) {
            self.order.shrink_to_fit();
            self.tags.shrink_to_fit();
        }
        self.tags.contains(&tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_kept_until_they_expire_and_bounded() {
        let at = Instant::from_millis;
        let mut spent = SpentCookies::default();
        spent.add(7, at(100));
        assert!(spent.contains(7, at(99)));
        assert!(!spent.contains(8, at(99)));
        assert!(!spent.contains(7, at(100)));
        for tag in 0..=MOST as u32 {
            spent.add(tag, at(200));
        }
        assert!(!spent.contains(0, at(100)));
        assert!(spent.may_have_forgotten(at(200)));
        assert!(!spent.may_have_forgotten(at(201)));
        assert!(spent.contains(1, at(100)));
        assert_eq!(spent.order.len(), spent.tags.len());
    }
}
