//! Which destination new data takes when paths are in doubt (RFC 9260 section
//! 6.4.1; RFC 7829 sections 3.2 and 4; caro-2006 section III.6).
//!
//! The primary serves while it is active. When it is not, an active alternate
//! takes over, the one in use if there is one; when none is active, the
//! suspect path with the fewest errors, or by caro-2006 section V the next one;
//! when all are inactive, the dormant rule. RFC 9260 leaves the last two open.

use crate::config::{AllPathsSuspect, Dormant, FailoverConfig, PrimarySwitch};
use crate::path::{PathId, PathState, PathsView};
use core::fmt;

/// Decides where new data goes, and what errors make of a path.
///
/// It reads the paths and answers; the association changes states and moves the
/// data. What is to be remembered of a path is in the view: its state, its
/// errors, its heartbeats. [`FailoverConfig`] is the built-in one; another one
/// may leave questions to it.
pub trait Failover: fmt::Debug + Send + Sync {
    /// Where new data goes. Asked whenever the state of a path has changed, after
    /// each timeout and after each heartbeat that was answered or lost; not for
    /// each packet. `timed_out` is the path whose T3-rtx expired, if that is why.
    /// An address that is not confirmed, or no path, counts as
    /// [`PathsView::data_path`]: data stays where it is.
    fn data_path(&self, paths: &PathsView<'_>, timed_out: Option<PathId>) -> PathId;

    /// What its consecutive errors make of a path (RFC 9260 section 8.2). Asked
    /// after each new error: a timeout or a lost heartbeat. `limit`: what the
    /// settings allow (`failure.path_max_retrans`; endless for the timeouts of a
    /// path whose detector does not count them). An address that is not confirmed
    /// can only become inactive.
    fn judge(&self, paths: &PathsView<'_>, path: PathId, limit: u32) -> PathState;

    /// The path that becomes the primary, so that the failover is permanent (none
    /// by default; caro-2006 section IV, RFC 7829 section 5). Asked after each
    /// [`data_path`](Self::data_path).
    fn switch_primary(&self, paths: &PathsView<'_>) -> Option<PathId> {
        let _ = paths;
        None
    }
}

impl Failover for FailoverConfig {
    fn data_path(&self, paths: &PathsView<'_>, timed_out: Option<PathId>) -> PathId {
        data_path(self, paths, timed_out)
    }

    fn judge(&self, paths: &PathsView<'_>, path: PathId, limit: u32) -> PathState {
        judge(self, paths.state(path), paths.errors(path), limit)
    }

    fn switch_primary(&self, paths: &PathsView<'_>) -> Option<PathId> {
        switch_primary(self, paths)
    }
}

/// What a path's consecutive errors make of it (RFC 9260 section 8.2; RFC 7829
/// section 3.2): inactive above `limit`, suspect above PFMR, else what it was.
#[must_use]
pub fn judge(cfg: &FailoverConfig, state: PathState, errors: u32, limit: u32) -> PathState {
    let suspect_after = cfg.potentially_failed.as_ref();
    if errors > limit {
        PathState::Inactive
    } else if state == PathState::Active && suspect_after.is_some_and(|pf| errors > pf.max_retrans)
    {
        PathState::PotentiallyFailed
    } else {
        state
    }
}

/// Where new data goes, seen from a table in which states have just changed.
/// `timed_out` is the path whose timer expired, if that is why it is asked.
#[must_use]
pub fn data_path(cfg: &FailoverConfig, paths: &PathsView<'_>, timed_out: Option<PathId>) -> PathId {
    let now = paths.data_path();
    let primary = paths.primary();
    if paths.state(primary) == PathState::Active {
        return primary;
    }
    if paths.state(now) == PathState::Active {
        return now;
    }
    if let Some(p) = paths.alternate(now) {
        return p;
    }
    let suspect = |p: &PathId| paths.state(*p) == PathState::PotentiallyFailed;
    if let Some(next) = paths.ring(now).find(suspect) {
        if cfg.all_paths_suspect == AllPathsSuspect::Hop {
            let stays = suspect(&now) && timed_out != Some(now);
            return if stays { now } else { next };
        }
        return least_errors(cfg.all_paths_suspect, paths, suspect);
    }
    dormant(cfg, paths, timed_out)
}

fn least_errors(
    tie: AllPathsSuspect,
    paths: &PathsView<'_>,
    among: impl Fn(&PathId) -> bool,
) -> PathId {
    let last = paths.last_active();
    paths
        .ring(last)
        .filter(|p| among(p))
        .min_by_key(|&p| {
            let tie = match tie {
                AllPathsSuspect::LeastErrorsThenLastActive | AllPathsSuspect::Hop => {
                    u32::from(p != last)
                }
                AllPathsSuspect::LeastErrorsThenDivergent => 2 - paths.divergence(last, p),
            };
            (paths.errors(p), tie)
        })
        .unwrap_or(paths.data_path())
}

fn dormant(cfg: &FailoverConfig, paths: &PathsView<'_>, timed_out: Option<PathId>) -> PathId {
    let now = paths.data_path();
    match cfg.dormant {
        Dormant::LeastErrors => {
            least_errors(cfg.all_paths_suspect, paths, |&p| paths.is_confirmed(p))
        }
        Dormant::Hop if timed_out == Some(now) => paths
            .ring(now)
            .find(|&p| paths.is_confirmed(p))
            .unwrap_or(now),
        Dormant::Hop => now,
        Dormant::Primary => paths.primary(),
        Dormant::Last => paths.last_active(),
    }
}

/// Whether the destination in use becomes the primary (caro-2006 section IV;
/// RFC 7829 section 5).
///
/// By CPT it does so in the dormant state, too: figure 9 draws that edge. By
/// PSMR only for an active destination.
#[must_use]
pub fn switch_primary(cfg: &FailoverConfig, paths: &PathsView<'_>) -> Option<PathId> {
    let (primary, now) = (paths.primary(), paths.data_path());
    if now == primary {
        return None;
    }
    let switch = match cfg.primary_switch {
        PrimarySwitch::Never => false,
        PrimarySwitch::Cpt(n) => {
            paths.state(primary) == PathState::Inactive && paths.errors(primary) > n
        }
        PrimarySwitch::CptHeartbeats(n) => paths.heartbeats_lost(primary) > n,
        PrimarySwitch::Psmr(n) => {
            paths.state(now) == PathState::Active && paths.errors(primary) > n
        }
    };
    switch.then_some(now)
}

#[cfg(test)]
mod tests;
