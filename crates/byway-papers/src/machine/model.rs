//! What the machines consist of: phases, events and edges.

use byway_core::config::Config;
use byway_core::path::{PathState, PathsView};
use std::collections::BTreeSet;

/// The state of an association with regard to its primary.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Phase {
    /// The primary is active and carries the data.
    OnPrimary,
    /// The primary is suspect, an active alternate carries the data.
    PrimarySuspect,
    /// The primary is inactive, an active alternate carries the data.
    PrimaryFailed,
    /// No destination is active; the primary is suspect, and a suspect
    /// destination carries the data.
    NoneActive,
    /// No destination is active; the primary is inactive, a suspect alternate
    /// carries the data.
    SuspectAlternate,
    /// All destinations are inactive: the dormant state.
    Dormant,
    /// The association has ended.
    Closed,
}

impl Phase {
    /// All of them.
    pub const ALL: [Phase; 7] = [
        Phase::OnPrimary,
        Phase::PrimarySuspect,
        Phase::PrimaryFailed,
        Phase::NoneActive,
        Phase::SuspectAlternate,
        Phase::Dormant,
        Phase::Closed,
    ];

    /// The phase that a table of paths is in, once new data goes where the
    /// policy wants it.
    #[must_use]
    pub fn of(paths: &PathsView<'_>) -> Phase {
        let (primary, data) = (paths.primary(), paths.data_path());
        let suspect = paths.state(primary) == PathState::PotentiallyFailed;
        match paths.state(data) {
            PathState::Active if data == primary => Phase::OnPrimary,
            PathState::Active if suspect => Phase::PrimarySuspect,
            PathState::Active => Phase::PrimaryFailed,
            PathState::PotentiallyFailed if suspect => Phase::NoneActive,
            PathState::PotentiallyFailed => Phase::SuspectAlternate,
            PathState::Inactive | PathState::Unconfirmed => Phase::Dormant,
        }
    }

    /// A name of one word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Phase::OnPrimary => "Primary",
            Phase::PrimarySuspect => "PrimarySuspect",
            Phase::PrimaryFailed => "PrimaryFailed",
            Phase::NoneActive => "NoneActive",
            Phase::SuspectAlternate => "SuspectAlternate",
            Phase::Dormant => "Dormant",
            Phase::Closed => "Closed",
        }
    }

    /// What it means.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Phase::OnPrimary => "Di is active; new data goes to Di",
            Phase::PrimarySuspect => "Di is suspect and probed; new data goes to Dj, active",
            Phase::PrimaryFailed => "Di is inactive and probed; new data goes to Dj, active",
            Phase::NoneActive => "none is active, Di is suspect; new data goes to a suspect one",
            Phase::SuspectAlternate => {
                "none is active, Di is inactive; new data goes to Dj, suspect"
            }
            Phase::Dormant => "all are inactive; new data goes by the dormant rule",
            Phase::Closed => "the association has ended",
        }
    }
}

/// Which destination an event is about.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Role {
    /// The primary, Di.
    Primary,
    /// The alternate that carries the data, Dj.
    InUse,
    /// Any other one, Dk.
    Other,
}

impl Role {
    pub(super) fn of(path: byway_core::PathId, paths: &PathsView<'_>) -> Role {
        if path == paths.primary() {
            Role::Primary
        } else if path == paths.data_path() {
            Role::InUse
        } else {
            Role::Other
        }
    }

    /// Its letter in the paper.
    #[must_use]
    pub const fn letter(self) -> &'static str {
        match self {
            Role::Primary => "Di",
            Role::InUse => "Dj",
            Role::Other => "Dk",
        }
    }
}

/// What makes an association move from one phase to another, or its data from
/// one destination to another.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Event {
    /// A destination becomes suspect.
    Suspected(Role),
    /// A destination becomes inactive.
    Failed(Role),
    /// A timeout that leaves the destination in the state that it had.
    TimesOut(Role),
    /// A destination answers, and is active again.
    Responds(Role),
    /// The failover becomes permanent: Dj is the primary now.
    Switch,
    /// The user chooses the primary (RFC 9260 section 11.1.6).
    UserPrimary,
    /// The errors exceed AMR, or the association is ended by either side.
    Ends,
}

/// One step: in `from`, `event` leads to `to`.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Edge {
    /// Phase before.
    pub from: Phase,
    /// What happens.
    pub event: Event,
    /// Phase afterwards.
    pub to: Phase,
}

/// Why a destination changes its state.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Cause {
    /// Its consecutive errors exceed PFMR.
    ExceedsPfmr,
    /// Its consecutive errors exceed PMR.
    ExceedsPmr,
    /// An acknowledgement is overdue (`failover.probe_timeout`).
    Overdue,
    /// Dmax has passed (`failure.detection`).
    Dmax,
    /// It answers heartbeats, but acknowledges no data (`failure.dead_data`).
    DeadData,
    /// It answers.
    Responds,
}

/// One step of a destination.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct PathEdge {
    /// State before.
    pub from: PathState,
    /// Why.
    pub cause: Cause,
    /// State afterwards.
    pub to: PathState,
}

/// The machines of one configuration: that of the association, and that of each
/// of its destinations.
#[derive(Clone, PartialEq, Debug)]
pub struct Machine {
    /// With which settings.
    pub config: Config,
    /// Destinations that were looked at.
    pub paths: u8,
    /// Steps of the association.
    pub edges: BTreeSet<Edge>,
    /// Steps of a destination, in order.
    pub path_edges: Vec<PathEdge>,
}

impl Machine {
    /// The phases that can be reached.
    #[must_use]
    pub fn phases(&self) -> BTreeSet<Phase> {
        self.edges.iter().flat_map(|e| [e.from, e.to]).collect()
    }
}
