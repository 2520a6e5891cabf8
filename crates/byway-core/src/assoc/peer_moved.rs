//! Own data goes where the peer is heard.
//!
//! A side that mostly receives sends too little to notice that its primary is dead: what it
//! says at the end, such as the confirmation of a file, would be lost there and leave again a
//! round trip and a margin later. But the peer noticed: its data came on that path, comes on
//! another one now, and the path is silent. Then own data leaves where the peer is heard, and
//! a heartbeat asks the silent path; its answer brings the data back. Nothing is done before
//! there is own data, because the peer may only have repeated one chunk elsewhere.

use super::{Association, Ctx};
use crate::path::{PathId, PathState};
use crate::time::{Duration, Instant};

/// Where DATA of the peer comes.
#[derive(Debug, Default)]
pub(super) struct PeersData {
    /// The path on which DATA came last while new data of this side goes there, too.
    with_ours: Option<PathId>,
    /// That path, if DATA came on another one since.
    left: Option<PathId>,
    /// No doubt before this time.
    not_before: Option<Instant>,
}

/// The least time between two doubts. Two sides with different primaries would otherwise follow each
/// other for ever.
const PAUSE: Duration = Duration::from_secs(60);

impl Association {
    /// A packet with DATA came on a path.
    #[inline]
    pub(super) fn note_data_from(&mut self, ctx: &mut Ctx<'_>, from: PathId) {
        self.note_peers_flow(ctx.now, from);
        let ours = self.paths.data();
        if from == ours {
            self.failure.peers_data.with_ours = Some(ours);
            self.failure.peers_data.left = None;
        } else if self.failure.peers_data.with_ours == Some(ours) {
            self.failure.peers_data.left = Some(ours);
            if self.paths.get(ours).window().flight > 0 {
                self.doubt_left_path(ctx);
            }
        }
    }

    /// Own data is about to leave, or has left on a path that the peer has left. Returns whether it
    /// goes elsewhere now, and perhaps counts as lost.
    #[inline]
    pub(super) fn check_left_path(&mut self, ctx: &mut Ctx<'_>) -> bool {
        self.failure.peers_data.left.is_some() && self.doubt_left_path(ctx)
    }

    #[cold]
    fn doubt_left_path(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let Some(path) = self.failure.peers_data.left else {
            return false;
        };
        if path != self.paths.data() || !self.paths.contains(path) {
            self.failure.peers_data.left = None;
            return false;
        }
        let Some(rule) = self.cfg.failover.probe_timeout else {
            return false;
        };
        let p = self.paths.get(path);
        let Some(heard) = p.counters.last_heard() else {
            return false;
        };
        let answer = self.answer_time(rule, path);
        // With data on all paths at once, it leaves none.
        let too_soon = self
            .failure
            .peers_data
            .not_before
            .is_some_and(|t| ctx.now < t);
        if too_soon || ctx.now.since(heard) < answer || self.send.concurrent.is_some() {
            return false;
        }
        self.failure.peers_data = PeersData {
            not_before: Some(ctx.now + PAUSE),
            ..PeersData::default()
        };
        let leaves = p.state() == PathState::Active;
        if leaves {
            self.on_unreachable(ctx, path);
            self.want_heartbeat(path);
        }
        leaves
    }
}
