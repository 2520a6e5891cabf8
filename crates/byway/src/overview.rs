//! What the associations of an endpoint do, for displays and metrics: read without a handle of
//! them, and without holding the lock for long.

use crate::endpoint::Endpoint;
use crate::error::SendError;
use byway_core::{AssocId, AssocStats, Event, PathId, PathStats, PathTrouble};
use std::time::Duration;

/// What [`Endpoint::overview`] tells of an association.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Overview {
    /// The association, for [`Endpoint::overview`] and [`Endpoint::set_primary`].
    pub id: AssocId,
    /// Its state, as RFC 9260 section 4 names it.
    pub state: &'static str,
    /// Counters since it began.
    pub stats: AssocStats,
    /// Its paths.
    pub paths: Vec<PathStats>,
    /// What happened last.
    pub latest: Option<Latest>,
}

/// The latest event of an association.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Latest {
    /// How long ago it was.
    pub ago: Duration,
    /// The event.
    pub event: Event,
    /// Why the path that it is about, or that data left, was in doubt then.
    pub trouble: Option<PathTrouble>,
}

impl Endpoint {
    /// The associations that have not ended, at most `most` of them, in an order that does not
    /// change, from the one after `after` on. One call holds up the transfers for some
    /// microseconds for each of them: ask for a few at a time.
    ///
    /// It takes no event from [`Association::events`](crate::Association::events).
    ///
    /// ```
    /// # fn count(endpoint: &byway::Endpoint) -> usize {
    /// let (mut paths, mut after) = (0, None);
    /// loop {
    ///     let page = endpoint.overview(after, 16);
    ///     let Some(last) = page.last() else {
    ///         return paths;
    ///     };
    ///     after = Some(last.id);
    ///     paths += page.iter().map(|association| association.paths.len()).sum::<usize>();
    /// }
    /// # }
    /// ```
    #[must_use]
    pub fn overview(&self, after: Option<AssocId>, most: usize) -> Vec<Overview> {
        let workers = self.workers();
        let first = after.map_or(0, |id| workers.number_of(id));
        let mut after = after;
        let mut all = Vec::new();
        for worker in workers.iter().skip(first) {
            let (after, rest) = (after.take(), most - all.len());
            all.extend(worker.with(|state| state.overview(worker.now(), after, rest)));
            if all.len() == most {
                break;
            }
        }
        all
    }

    /// Makes a path of an association the primary path, as
    /// [`Association::set_primary`](crate::Association::set_primary) does, without a handle of it.
    ///
    /// # Errors
    /// When there is no such association or path, the path's address is unconfirmed, or the
    /// association has ended.
    pub fn set_primary(&self, id: AssocId, path: PathId) -> Result<(), SendError> {
        let worker = &self.workers()[self.workers().number_of(id)];
        let now = worker.now();
        let set = |core: &mut byway_core::Endpoint| core.set_primary(now, id, path);
        worker.with(|state| state.command(now, id, set))
    }

    /// Makes a path of an association a backup, or ends that, as
    /// [`Association::set_backup`](crate::Association::set_backup) does, without a handle of it.
    ///
    /// # Errors
    /// When there is no such association or path, or the association has ended.
    pub fn set_backup(&self, id: AssocId, path: PathId, backup: bool) -> Result<(), SendError> {
        let worker = &self.workers()[self.workers().number_of(id)];
        let now = worker.now();
        let set = |core: &mut byway_core::Endpoint| core.set_backup(now, id, path, backup);
        worker.with(|state| state.command(now, id, set))
    }
}
