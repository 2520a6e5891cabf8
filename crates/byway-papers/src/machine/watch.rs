//! Follows a running association along the edges of its machine.

use super::model::{Edge, Event, Machine, Phase, Role};
use byway_core::observe::Observation;
use byway_core::path::{PathId, PathState};
use std::collections::BTreeSet;

/// An association did what its machine knows nothing of.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Strange {
    /// The association.
    #[error("{0:?} is no edge of the association's machine")]
    Association(Edge),
    /// A destination.
    #[error("a path went from {from} to {to}, which is no edge of its machine")]
    Path {
        /// State before.
        from: PathState,
        /// State afterwards.
        to: PathState,
    },
}

/// Reads the observations of one association, in order, and lists the edges
/// that it takes.
#[derive(Clone, Debug)]
pub struct Watcher {
    states: Vec<PathState>,
    primary: PathId,
    data: PathId,
    closed: bool,
    /// What began the current step, with the phase, the path in use and the
    /// primary before it.
    step: Option<(Event, Phase, PathId, PathId)>,
    /// Edges taken so far.
    pub taken: BTreeSet<Edge>,
    /// Changes of the paths' states so far.
    pub path_changes: Vec<(PathState, PathState)>,
}

impl Default for Watcher {
    fn default() -> Watcher {
        Watcher {
            states: Vec::new(),
            primary: PathId(0),
            data: PathId(0),
            closed: false,
            step: None,
            taken: BTreeSet::new(),
            path_changes: Vec::new(),
        }
    }
}

fn index(path: PathId) -> usize {
    usize::from(path.0)
}

impl Watcher {
    /// One that has seen nothing yet: an association begins with path 0 as its
    /// primary.
    #[must_use]
    pub fn new() -> Watcher {
        Watcher::default()
    }

    fn state(&self, path: PathId) -> PathState {
        let known = self.states.get(index(path)).copied();
        known.unwrap_or(PathState::Unconfirmed)
    }

    fn phase(&self) -> Phase {
        let suspect = self.state(self.primary) == PathState::PotentiallyFailed;
        match self.state(self.data) {
            _ if self.closed => Phase::Closed,
            PathState::Active if self.data == self.primary => Phase::OnPrimary,
            PathState::Active if suspect => Phase::PrimarySuspect,
            PathState::Active => Phase::PrimaryFailed,
            PathState::PotentiallyFailed if suspect => Phase::NoneActive,
            PathState::PotentiallyFailed => Phase::SuspectAlternate,
            PathState::Inactive | PathState::Unconfirmed => Phase::Dormant,
        }
    }

    fn role(&self, path: PathId) -> Role {
        if path == self.primary {
            Role::Primary
        } else if path == self.data {
            Role::InUse
        } else {
            Role::Other
        }
    }

    fn begin(&mut self, event: Event) {
        self.end();
        self.step = Some((event, self.phase(), self.data, self.primary));
    }

    /// The current step is over: it is an edge if it changed something.
    fn end(&mut self) {
        let Some((event, from, data, primary)) = self.step.take() else {
            return;
        };
        let to = self.phase();
        let chosen = event == Event::UserPrimary && primary != self.primary;
        if from != to || data != self.data || event == Event::Switch || chosen {
            self.taken.insert(Edge { from, event, to });
        }
    }

    /// Takes the next observation.
    pub fn see(&mut self, what: &Observation) {
        match *what {
            Observation::PathState {
                path,
                from: None,
                to,
            } => {
                if index(path) == 0 {
                    // A new association, or one that was restarted.
                    *self = Watcher {
                        taken: core::mem::take(&mut self.taken),
                        path_changes: core::mem::take(&mut self.path_changes),
                        ..Watcher::default()
                    };
                }
                self.states.resize(index(path), PathState::Unconfirmed);
                self.states.push(to);
            }
            Observation::PathState {
                path,
                from: Some(from),
                to,
            } => {
                let role = self.role(path);
                self.begin(match to {
                    PathState::PotentiallyFailed => Event::Suspected(role),
                    PathState::Inactive | PathState::Unconfirmed => Event::Failed(role),
                    PathState::Active => Event::Responds(role),
                });
                self.path_changes.push((from, to));
                if let Some(state) = self.states.get_mut(index(path)) {
                    *state = to;
                }
            }
            Observation::TimerFired {
                path: Some(path), ..
            } => {
                let role = self.role(path);
                self.begin(Event::TimesOut(role));
            }
            Observation::DataPath { to } => self.data = to,
            Observation::Primary { to } if to == self.data && self.step.is_some() => {
                self.begin(Event::Switch);
                self.primary = to;
                self.end();
            }
            Observation::Primary { to } => {
                self.begin(Event::UserPrimary);
                self.primary = to;
            }
            Observation::State { name: "CLOSED" } => {
                self.begin(Event::Ends);
                self.closed = true;
                self.end();
            }
            Observation::Errors { .. } | Observation::Rto { .. } | Observation::Window { .. } => {}
            _ => self.end(),
        }
    }

    /// Ends the current step: nothing of it follows.
    ///
    /// # Errors
    /// The first step that is no edge of `machine`. Address verification is
    /// beside the machine and looked past.
    pub fn check(&mut self, machine: &Machine) -> Result<(), Strange> {
        self.end();
        if let Some(edge) = self.taken.difference(&machine.edges).next() {
            return Err(Strange::Association(*edge));
        }
        let known = |from, to| {
            let found = |e: &&super::model::PathEdge| e.from == from && e.to == to;
            from == PathState::Unconfirmed || machine.path_edges.iter().any(|e| found(&e))
        };
        match self.path_changes.iter().find(|c| !known(c.0, c.1)) {
            Some(&(from, to)) => Err(Strange::Path { from, to }),
            None => Ok(()),
        }
    }
}
