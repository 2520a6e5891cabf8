//! Where data goes after a failure (`keeps_destination`).

use byway_core::config::Dormant;
use byway_core::path::PathsView;
use byway_core::policy::retransmit::LossCause;
use byway_core::{Config, PathId, PathState};

/// The next destination after `after` that has not failed; `after` itself comes last. In
/// the dormant state the dormant rule decides.
pub(crate) fn next_destination(cfg: &Config, view: &PathsView<'_>, after: PathId) -> PathId {
    let alive = |p: &PathId| view.state(*p) != PathState::Inactive;
    if let Some(p) = view.ring(after).find(alive) {
        return p;
    }
    match cfg.failover.dormant {
        Dormant::Hop => view.ring(after).next().unwrap_or(after),
        Dormant::Primary => view.primary(),
        Dormant::Last | Dormant::LeastErrors => after,
    }
}

/// Where a chunk goes that was lost on `last`.
pub(crate) fn retransmission_target(
    cfg: &Config,
    view: &PathsView<'_>,
    cause: LossCause,
    last: PathId,
) -> PathId {
    let stays = cfg.retransmission.target.stays(cause);
    if stays && view.state(last) == PathState::Active {
        last
    } else {
        next_destination(cfg, view, last)
    }
}

/// Where new data goes. Only the primary's recovery changes this here.
pub(crate) fn kept(view: &PathsView<'_>) -> PathId {
    let primary = view.primary();
    if view.state(primary) == PathState::Active {
        primary
    } else {
        view.data_path()
    }
}
