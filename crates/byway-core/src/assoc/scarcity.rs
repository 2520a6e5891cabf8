//! How full the memory of the endpoint is, as its associations see it.

/// How full the memory of an endpoint is, as an association sees it.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scarcity {
    /// The most that an association may hold to take more data, if memory is scarce.
    share: Option<usize>,
}

impl Scarcity {
    /// `share`: the most that an association may hold to take more data; `None` while there
    /// is enough memory.
    pub(crate) fn of(share: Option<usize>) -> Scarcity {
        Scarcity { share }
    }

    /// Whether an association that holds `memory` may take a DATA chunk. `first_missing`:
    /// no chunk before it is missing.
    #[inline]
    pub(crate) fn admits(self, memory: impl FnOnce() -> usize, first_missing: bool) -> bool {
        match self.share {
            None => true,
            Some(share) => first_missing && memory() < share,
        }
    }
}
