//! Set-ups of this side that have met one of their peer (RFC 9260 section 5.2.1): the last four. A later INIT of the
//! peer may come from another address and list none, so it is known by its Initiate Tag.

use crate::api::AssocId;
use smallvec::SmallVec;

/// So many are known.
const MOST: usize = 4;

/// Initiate Tag and port of the peer's INIT, and the association of this side.
type One = ((u32, u16), AssocId);

/// The last ones, the newest first.
#[derive(Default)]
pub(super) struct Met(SmallVec<[One; MOST]>);

impl Met {
    /// The set-up of this association has met an INIT with this tag and port.
    pub(super) fn note(&mut self, init: (u32, u16), id: AssocId) {
        self.0.retain(|(other, _)| *other != init);
        self.0.truncate(MOST - 1);
        self.0.insert(0, (init, id));
    }

    /// The association whose set-up has met an INIT with this tag and port. It may have ended.
    pub(super) fn find(&self, init: (u32, u16)) -> Option<AssocId> {
        let met = self.0.iter().find(|(other, _)| *other == init);
        met.map(|(_, id)| *id)
    }
}
