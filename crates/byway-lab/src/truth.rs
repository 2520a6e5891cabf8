//! Which failovers were spurious: the laboratory knows when a path was down.

use crate::clock::nanos;
use crate::scenario::{Change, Scenario};
use byway_core::{PathId, PathState};

/// Failovers against the scripted failures.
///
/// New data that leaves a potentially failed or inactive path for an active one is
/// a failover. It is spurious when the path was not away, in either direction, at
/// any time since it last measured a round trip: then nothing but losses or a
/// late answer made the sender leave it.
pub(crate) struct Truth {
    /// For each path, from when until when it was away.
    away_times: Vec<Vec<(u64, u64)>>,
    /// When each path last answered.
    answered: Vec<u64>,
    states: Vec<PathState>,
    /// Failovers.
    pub(crate) away: u64,
    /// Spurious ones.
    pub(crate) spurious: u64,
    /// Those that the sender found out itself.
    pub(crate) known: u64,
}

impl Truth {
    pub(crate) fn new(scenario: &Scenario) -> Truth {
        let n = scenario.paths.len();
        let mut away_times: Vec<Vec<(u64, u64)>> = vec![Vec::new(); n];
        for event in &scenario.events {
            let (at, Some(times)) = (nanos(event.at), away_times.get_mut(event.path)) else {
                continue;
            };
            match event.change {
                Change::Down => times.push((at, u64::MAX)),
                Change::Up => {
                    for time in times.iter_mut().filter(|t| t.1 == u64::MAX) {
                        time.1 = at;
                    }
                }
                _ => {}
            }
        }
        Truth {
            away_times,
            answered: vec![0; n],
            states: vec![PathState::Unconfirmed; n],
            away: 0,
            spurious: 0,
            known: 0,
        }
    }

    pub(crate) fn state(&mut self, path: PathId, to: PathState) {
        if let Some(state) = self.states.get_mut(usize::from(path.0)) {
            *state = to;
        }
    }

    pub(crate) fn heard(&mut self, path: PathId, at: u64) {
        if let Some(answered) = self.answered.get_mut(usize::from(path.0)) {
            *answered = at;
        }
    }

    /// New data went from one path to another.
    pub(crate) fn moved(&mut self, at: u64, from: PathId, to: PathId) {
        let state = |p: PathId| self.states.get(usize::from(p.0)).copied();
        let left = matches!(
            state(from),
            Some(PathState::PotentiallyFailed | PathState::Inactive)
        );
        if !left || state(to) != Some(PathState::Active) {
            return;
        }
        self.away += 1;
        let i = usize::from(from.0);
        let since = self.answered.get(i).copied().unwrap_or(0);
        let mut times = self.away_times.get(i).into_iter().flatten();
        let real = times.any(|&(down, up)| down <= at && up >= since);
        self.spurious += u64::from(!real);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failover_is_real_when_the_path_was_away_since_it_last_answered() {
        let text = "[[path]]\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\n\
                    [[path]]\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\n\
                    [[event]]\nat = \"2 s\"\npath = 1\ndo = \"down\"\n\
                    [[event]]\nat = \"3 s\"\npath = 1\ndo = \"up\"\n\
                    [traffic]\nkind = \"bulk\"\nsize = \"1 MB\"\n";
        let scenario = Scenario::parse("small", text).unwrap_or_else(|e| panic!("{e}"));
        let second = |s: u64| s * 1_000_000_000;
        // when it last answered, when data left it, whether that was spurious
        for (answered, left, spurious) in [(0, 1, 1), (1, 2, 0), (1, 4, 0), (4, 5, 1)] {
            let mut truth = Truth::new(&scenario);
            truth.state(PathId(0), PathState::PotentiallyFailed);
            truth.state(PathId(1), PathState::Active);
            truth.heard(PathId(0), second(answered));
            truth.moved(second(left), PathId(0), PathId(1));
            assert_eq!(
                (truth.away, truth.spurious),
                (1, spurious),
                "left at {left} s"
            );
            // A return is no failover.
            truth.state(PathId(0), PathState::Active);
            truth.moved(second(left + 1), PathId(1), PathId(0));
            assert_eq!(truth.away, 1);
        }
    }
}
