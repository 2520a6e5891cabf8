//! Where new data goes when paths fail or may have failed (RFC 9260 section 6.4.1; RFC
//! 7829 sections 3.2 and 4; caro-2006 section III.6).
//!
//! The primary carries data while it is active. Otherwise an active alternate does: the
//! one in use, if it is active. If no path is active, the potentially failed path with
//! the fewest errors carries data, or by caro-2006 section V the next one. If all paths
//! are inactive, the dormant rule applies. RFC 9260 leaves the last two cases open.

use crate::config::{AllPathsSuspect, Dormant, FailoverConfig, PrimarySwitch};
use crate::path::{PathId, PathState, PathsView};
use core::fmt;

/// Decides where new data goes, and which state a path with errors gets.
///
/// It only reads the paths: their states, errors and heartbeats. The association changes
/// states and moves the data. [`FailoverConfig`] is the built-in policy, and your own
/// may call it.
pub trait Failover: fmt::Debug + Send + Sync {
    /// Where new data goes. The association asks after each change of a path's state,
    /// after each timeout, and after each heartbeat that was answered or lost, but not
    /// for each packet. `timed_out` is the path whose T3-rtx expired, if that is the
    /// cause. Data does not move if the answer is an unconfirmed address or not a path.
    fn data_path(&self, paths: &PathsView<'_>, timed_out: Option<PathId>) -> PathId;

    /// The state of a path after its consecutive errors (RFC 9260 section 8.2). The
    /// association asks after each new error: a timeout or a lost heartbeat. `limit` is
    /// the number of errors that the settings allow (`failure.path_max_retrans`; no
    /// limit for the timeouts of a path whose detector does not count them). An
    /// unconfirmed address can only become inactive.
    fn judge(&self, paths: &PathsView<'_>, path: PathId, limit: u32) -> PathState;

    /// The path that becomes the primary, so that the failover is permanent (caro-2006
    /// section IV, RFC 7829 section 5). By default there is none. The association asks
    /// after each [`data_path`](Self::data_path).
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

/// The state of a path after its consecutive errors (RFC 9260 section 8.2; RFC 7829
/// section 3.2): inactive above `limit`, potentially failed above PFMR, else as before.
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

/// Where new data goes. `timed_out` is the path whose T3-rtx expired, if that is the
/// cause.
#[must_use]
pub fn data_path(cfg: &FailoverConfig, paths: &PathsView<'_>, timed_out: Option<PathId>) -> PathId {
    let now = paths.data_path();
    let primary = paths.primary();
    if paths.is_preferred(primary) {
        return primary;
    }
    if paths.is_preferred(now) {
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
    // An unconfirmed address takes no data (RFC 9260 section 5.4), also if it is all that was
    // left when the path before it was removed.
    let proven = |p: PathId| if paths.is_confirmed(p) { p } else { now };
    match cfg.dormant {
        Dormant::LeastErrors => {
            least_errors(cfg.all_paths_suspect, paths, |&p| paths.is_confirmed(p))
        }
        Dormant::Hop if timed_out == Some(now) => paths
            .ring(now)
            .find(|&p| paths.is_confirmed(p))
            .unwrap_or(now),
        Dormant::Hop => now,
        Dormant::Primary => proven(paths.primary()),
        Dormant::Last => proven(paths.last_active()),
    }
}

/// Whether the destination in use becomes the primary (caro-2006 section IV;
/// RFC 7829 section 5).
///
/// By CPT this also happens in the dormant state, as figure 9 shows. By PSMR it happens
/// only if the destination is active.
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
