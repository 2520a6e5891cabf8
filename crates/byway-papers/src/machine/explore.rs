//! Finds the edges of a machine: it asks the deciders about every table of paths
//! that can occur.

use super::model::{Cause, Edge, Event, Machine, PathEdge, Phase, Role};
use byway_core::config::{Config, PathMaxRetransTest, PrimarySwitch};
use byway_core::path::{PathFacts, PathId, PathModel, PathRoles, PathState};
use byway_core::policy::{Detection, failover};
use std::collections::{BTreeSet, HashSet};

/// What deciders read of a destination.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Default)]
struct One {
    /// 0 active, 1 suspect, 2 inactive.
    state: u8,
    errors: u8,
    heartbeats_lost: u8,
}

/// A table of paths.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Table {
    paths: [One; 4],
    primary: u8,
    data: u8,
    last: u8,
}

const STATES: [PathState; 3] = [
    PathState::Active,
    PathState::PotentiallyFailed,
    PathState::Inactive,
];

/// Something that happens to one path.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Happening {
    Timeout,
    HeartbeatLost,
    Overdue,
    Dmax,
    /// Data is found dead when a heartbeat is answered.
    DeadData,
    /// ... when data times out.
    DeadDataAtTimeout,
    Responds,
    /// Errors are cleared, the state stays (RFC 7829 section 3.2, rule 7).
    Cleared,
    ChosenByUser,
}

const HAPPENINGS: [Happening; 9] = [
    Happening::Timeout,
    Happening::HeartbeatLost,
    Happening::Overdue,
    Happening::Dmax,
    Happening::DeadData,
    Happening::DeadDataAtTimeout,
    Happening::Responds,
    Happening::Cleared,
    Happening::ChosenByUser,
];

struct Explorer {
    cfg: Config,
    n: u8,
    /// Counters stop here: no threshold lies beyond.
    most: u8,
    /// The table that the deciders read.
    table: PathModel,
    edges: BTreeSet<Edge>,
    path_edges: BTreeSet<(u8, Cause, u8)>,
}

/// The settings with thresholds so small that all counters can be tried, in the
/// same order. Between two of them lie as many counts as can make a difference:
/// two where suspect paths are compared by their errors.
fn small(config: &Config) -> Config {
    let mut c = config.clone();
    let pfmr = c
        .failover
        .potentially_failed
        .as_ref()
        .map(|p| p.max_retrans);
    let switch = switch_threshold(&c.failover.primary_switch);
    let pmr = c.failure.path_max_retrans;
    let all: BTreeSet<u32> = [Some(pmr), pfmr, switch].into_iter().flatten().collect();
    let most = if pfmr.is_some() { 2 } else { 1 };
    let mut shrunk = Vec::new();
    let (mut before, mut value) = (0, 0);
    for n in all {
        value += (n - before).min(most);
        before = n;
        shrunk.push((n, value));
    }
    let of = |n: u32| shrunk.iter().find(|s| s.0 == n).map_or(n, |s| s.1);
    c.failure.path_max_retrans = of(pmr);
    if let Some(pf) = &mut c.failover.potentially_failed {
        pf.max_retrans = of(pf.max_retrans);
    }
    if let PrimarySwitch::Cpt(n) | PrimarySwitch::CptHeartbeats(n) | PrimarySwitch::Psmr(n) =
        &mut c.failover.primary_switch
    {
        *n = of(*n);
    }
    c
}

fn switch_threshold(switch: &PrimarySwitch) -> Option<u32> {
    match *switch {
        PrimarySwitch::Cpt(n) | PrimarySwitch::CptHeartbeats(n) | PrimarySwitch::Psmr(n) => Some(n),
        _ => None,
    }
}

impl Machine {
    /// The machines of these settings with `paths` destinations, 1 to 4. Four
    /// are Di, Dj and two others: more of them have no other roles.
    #[must_use]
    pub fn of(config: &Config, paths: u8) -> Machine {
        explore(config, paths.clamp(1, 4))
    }
}

fn explore(config: &Config, n: u8) -> Machine {
    let cfg = small(config);
    let switch = switch_threshold(&cfg.failover.primary_switch).unwrap_or(0);
    // Beyond the last threshold two counts show all orders of two paths.
    let most = cfg.failure.path_max_retrans.max(switch) as u8 + 2;
    let mut explorer = Explorer {
        cfg,
        n,
        most,
        table: PathModel::new(n, config),
        edges: BTreeSet::new(),
        path_edges: BTreeSet::new(),
    };
    explorer.walk();
    let path_edges = explorer
        .path_edges
        .iter()
        .map(|&(from, cause, to)| PathEdge {
            from: STATES[from as usize],
            cause,
            to: STATES[to as usize],
        });
    Machine {
        config: config.clone(),
        paths: n,
        path_edges: path_edges.collect(),
        edges: explorer.edges,
    }
}

impl Explorer {
    fn walk(&mut self) {
        let first = Table {
            paths: [One::default(); 4],
            primary: 0,
            data: 0,
            last: 0,
        };
        // Used for look-ups only, so that its order has no effect.
        let mut seen = HashSet::from([first.clone()]);
        let mut open = vec![first];
        while let Some(table) = open.pop() {
            for path in 0..self.n {
                for what in HAPPENINGS {
                    if let Some(next) = self.step(&table, path, what)
                        && seen.insert(next.clone())
                    {
                        open.push(next);
                    }
                }
            }
        }
        let phases: BTreeSet<Phase> = self.edges.iter().flat_map(|e| [e.from, e.to]).collect();
        for from in phases.into_iter().chain([Phase::OnPrimary]) {
            self.edges.insert(Edge {
                from,
                event: Event::Ends,
                to: Phase::Closed,
            });
        }
    }

    /// The table after something happens to one of its paths; none if that cannot
    /// happen. Notes the edges.
    fn step(&mut self, from: &Table, path: u8, what: Happening) -> Option<Table> {
        self.load(from);
        let id = PathId(path);
        let phase = Phase::of(&self.table.view());
        let role = Role::of(id, &self.table.view());
        let before = self.table.facts(id).state;
        let cause = self.happen(id, what)?;
        let after = self.table.facts(id).state;
        if let (true, Some(cause)) = (before != after, cause) {
            let rank = |s| STATES.iter().position(|t| *t == s).unwrap_or(0) as u8;
            self.path_edges.insert((rank(before), cause, rank(after)));
        }
        if what != Happening::Cleared {
            let timer = matches!(
                what,
                Happening::Timeout | Happening::Dmax | Happening::DeadDataAtTimeout
            );
            let to =
                failover::data_path(&self.cfg.failover, &self.table.view(), timer.then_some(id));
            let moved = self.table.roles().data != to;
            self.move_data(to);
            let event = match (after, what) {
                (_, Happening::ChosenByUser) => Event::UserPrimary,
                _ if before == after => Event::TimesOut(role),
                (PathState::PotentiallyFailed, _) => Event::Suspected(role),
                (PathState::Inactive, _) => Event::Failed(role),
                _ => Event::Responds(role),
            };
            let chosen = what == Happening::ChosenByUser && role != Role::Primary;
            self.note(phase, event, moved || chosen);
            let phase = Phase::of(&self.table.view());
            if let Some(to) = failover::switch_primary(&self.cfg.failover, &self.table.view()) {
                self.make_primary(to);
                self.note(phase, Event::Switch, true);
            }
        }
        Some(self.store())
    }

    /// Changes the path; the cause if its state may have changed by it.
    fn happen(&mut self, id: PathId, what: Happening) -> Option<Option<Cause>> {
        match what {
            Happening::Timeout => Some(Some(self.time_out(id))),
            Happening::HeartbeatLost => Some(Some(self.lose_heartbeat(id))),
            Happening::Overdue => self.overdue(id).map(Some),
            Happening::Dmax => {
                let probing = self.cfg.failure.detection != Detection::ErrorCount;
                self.fail(id, probing, Cause::Dmax).map(Some)
            }
            Happening::DeadData | Happening::DeadDataAtTimeout => {
                let watched = self.cfg.failure.dead_data.is_some();
                self.fail(id, watched, Cause::DeadData).map(Some)
            }
            Happening::Responds => {
                self.clear_errors(id);
                self.change(id, PathState::Active);
                Some(Some(Cause::Responds))
            }
            // Only its own answer clears an inactive path, and makes it active.
            Happening::Cleared if self.table.facts(id).state == PathState::Inactive => None,
            Happening::Cleared => {
                self.clear_errors(id);
                Some(None)
            }
            Happening::ChosenByUser => {
                self.make_primary(id);
                Some(None)
            }
        }
    }

    fn time_out(&mut self, id: PathId) -> Cause {
        let failure = &self.cfg.failure;
        let limit = if failure.detection.counts_timeouts() {
            failure.path_max_retrans
        } else {
            u32::MAX
        };
        self.count(id, limit)
    }

    fn lose_heartbeat(&mut self, id: PathId) -> Cause {
        let p = self.table.facts(id);
        if let PrimarySwitch::CptHeartbeats(n) = self.cfg.failover.primary_switch
            && p.state != PathState::Active
        {
            let heartbeats_lost = (p.heartbeats_lost + 1).min(n + 1);
            let facts = PathFacts {
                heartbeats_lost,
                ..p
            };
            self.table.set_facts(id, facts);
        }
        let pmr = self.cfg.failure.path_max_retrans;
        let limit = match self.cfg.failure.heartbeat_test {
            PathMaxRetransTest::Exceeds => pmr,
            PathMaxRetransTest::Reaches => pmr.saturating_sub(1),
        };
        self.count(id, limit)
    }

    /// The probe timeout, if it is on and another path can take the data.
    fn overdue(&mut self, id: PathId) -> Option<Cause> {
        let elsewhere = self.table.view().alternate(id).is_some();
        let probing = self.cfg.failover.probe_timeout.is_some();
        let active = self.table.facts(id).state == PathState::Active;
        if !probing || !active || !elsewhere {
            return None;
        }
        self.change(id, PathState::PotentiallyFailed);
        Some(Cause::Overdue)
    }

    /// A detector that is `on` makes the path inactive.
    fn fail(&mut self, id: PathId, on: bool, cause: Cause) -> Option<Cause> {
        if !on || self.table.facts(id).state == PathState::Inactive {
            return None;
        }
        self.change(id, PathState::Inactive);
        Some(cause)
    }

    fn clear_errors(&mut self, id: PathId) {
        let p = self.table.facts(id);
        self.table.set_facts(id, PathFacts { errors: 0, ..p });
    }

    /// One more error.
    fn count(&mut self, id: PathId, limit: u32) -> Cause {
        let most = u32::from(self.most);
        let mut p = self.table.facts(id);
        p.errors = (p.errors + 1).min(most);
        self.table.set_facts(id, p);
        let to = failover::judge(&self.cfg.failover, p.state, p.errors, limit);
        self.change(id, to);
        if to == PathState::Inactive {
            Cause::ExceedsPmr
        } else {
            Cause::ExceedsPfmr
        }
    }

    fn change(&mut self, id: PathId, to: PathState) {
        self.table.enter(id, to);
    }

    fn move_data(&mut self, to: PathId) {
        let roles = self.table.roles();
        self.table.set_roles(PathRoles { data: to, ..roles });
    }

    fn make_primary(&mut self, to: PathId) {
        let roles = self.table.roles();
        let primary = to;
        self.table.set_roles(PathRoles { primary, ..roles });
    }

    /// An edge, if the phase is another now or data moved.
    fn note(&mut self, from: Phase, event: Event, moved: bool) {
        let to = Phase::of(&self.table.view());
        if from != to || moved {
            self.edges.insert(Edge { from, event, to });
        }
    }

    fn load(&mut self, t: &Table) {
        for (id, one) in (0..self.n).map(PathId).zip(t.paths) {
            let facts = PathFacts {
                state: STATES[usize::from(one.state)],
                errors: one.errors.into(),
                heartbeats_lost: one.heartbeats_lost.into(),
            };
            self.table.set_facts(id, facts);
        }
        self.table.set_roles(PathRoles {
            primary: PathId(t.primary),
            data: PathId(t.data),
            last_active: PathId(t.last),
        });
    }

    fn store(&self) -> Table {
        let mut paths = [One::default(); 4];
        for (one, id) in paths.iter_mut().zip((0..self.n).map(PathId)) {
            let p = self.table.facts(id);
            *one = One {
                state: STATES.iter().position(|s| *s == p.state).unwrap_or(0) as u8,
                errors: p.errors as u8,
                heartbeats_lost: p.heartbeats_lost as u8,
            };
        }
        let roles = self.table.roles();
        Table {
            paths,
            primary: roles.primary.0,
            data: roles.data.0,
            last: roles.last_active.0,
        }
    }
}
