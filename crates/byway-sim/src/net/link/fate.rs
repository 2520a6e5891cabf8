//! The fate of one packet on a link.

use crate::net::log::DropReason;

/// The fate of one packet on a link.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fate {
    /// When it arrives at the other end, or is lost (ns).
    pub(crate) at: u64,
    /// Why it is lost; `None` if it arrives.
    pub(crate) lost: Option<DropReason>,
}

impl Fate {
    pub(super) const fn arrives(at: u64) -> Fate {
        Fate { at, lost: None }
    }

    pub(super) const fn dropped(reason: DropReason, at: u64) -> Fate {
        Fate {
            at,
            lost: Some(reason),
        }
    }
}
