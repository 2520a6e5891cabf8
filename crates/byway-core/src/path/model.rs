//! Paths without an association, for tests of deciders.

use super::{Path, PathId, PathState, PathTable, PathsView};
use crate::config::Config;
use crate::time::Instant;

/// The facts of one path that a failover policy reads.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct PathFacts {
    /// Its state.
    pub state: PathState,
    /// Its consecutive errors (RFC 9260 section 8.2).
    pub errors: u32,
    /// Heartbeats that were sent after it stopped being active, and were lost.
    pub heartbeats_lost: u32,
}

/// Which path has which role.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct PathRoles {
    /// The primary.
    pub primary: PathId,
    /// Where new data goes.
    pub data: PathId,
    /// The last path that was active.
    pub last_active: PathId,
}

/// A table of paths whose states and counters are set by hand.
#[derive(Debug)]
pub struct PathModel {
    table: PathTable,
}

impl PathModel {
    /// A model with this number of paths, at least one, all confirmed and active. Path
    /// 0 is the primary and carries the data. No two paths share an address.
    #[must_use]
    pub fn new(paths: u8, config: &Config) -> PathModel {
        let path = |i: u8| {
            let at = |host: u8| core::net::SocketAddr::from(([10, i, 0, host], 0));
            Path::new(at(1), at(2), true, config, Instant::ZERO)
        };
        let mut table = PathTable::new(path(0));
        for i in 1..paths {
            table.push(path(i));
        }
        PathModel { table }
    }

    /// The view for deciders.
    #[must_use]
    pub fn view(&self) -> PathsView<'_> {
        self.table.view()
    }

    /// The state and the counters of a path of this model.
    #[must_use]
    pub fn facts(&self, id: PathId) -> PathFacts {
        let path = self.table.get(id);
        PathFacts {
            state: path.state,
            errors: path.errors.count(),
            heartbeats_lost: path.errors.heartbeats_lost(),
        }
    }

    /// Sets the state and the counters of a path, and nothing else.
    pub fn set_facts(&mut self, id: PathId, facts: PathFacts) {
        let path = self.table.get_mut(id);
        path.state = facts.state;
        path.errors.set_counts(facts.errors, facts.heartbeats_lost);
    }

    /// Which path has which role.
    #[must_use]
    pub fn roles(&self) -> PathRoles {
        PathRoles {
            primary: self.table.primary(),
            data: self.table.data(),
            last_active: self.table.last_active(),
        }
    }

    /// Gives the roles to paths of this model.
    pub fn set_roles(&mut self, roles: PathRoles) {
        self.table
            .set_roles(roles.primary, roles.data, roles.last_active);
    }

    /// Changes a path's state as an association does. This also updates its count of
    /// lost heartbeats and the last active path.
    pub fn enter(&mut self, id: PathId, state: PathState) {
        self.table.change_state(id, state, Instant::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_active_path_is_known_when_none_is_left() {
        let mut model = PathModel::new(2, &Config::default());
        model.enter(PathId(0), PathState::PotentiallyFailed);
        assert_eq!(model.view().alternate(PathId(0)), Some(PathId(1)));
        model.enter(PathId(1), PathState::Inactive);
        assert_eq!(model.roles().last_active, PathId(1));
        let lost = PathFacts {
            heartbeats_lost: 3,
            ..model.facts(PathId(0))
        };
        model.set_facts(PathId(0), lost);
        model.enter(PathId(0), PathState::Active);
        assert_eq!(model.facts(PathId(0)).heartbeats_lost, 0);
    }
}
