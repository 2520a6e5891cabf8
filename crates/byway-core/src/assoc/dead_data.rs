//! Paths that answer heartbeats but acknowledge no data (`policy/dead_data.rs`).

use super::ending::AbortReason;
use super::{Association, Ctx};
use crate::api::{Event, LossReason};
use crate::observe::Observation;
use crate::path::{PathId, PathState, PathTrouble};

impl Association {
    /// T3-rtx of a path expired. `largest` is the size of the largest chunk in flight.
    /// False if the association ended because of it.
    pub(super) fn note_data_timeout(
        &mut self,
        ctx: &mut Ctx<'_>,
        path: PathId,
        largest: u32,
    ) -> bool {
        let Some(rule) = self.cfg.failure.dead_data else {
            return true;
        };
        let first = (ctx.now, false);
        let (since, answered) = *self.failure.unacknowledged_since.get_or_insert(first);
        self.paths.get_mut(path).dead_data.on_timeout(largest);
        if rule.ends(since, ctx.now) && (answered || self.data_is_dead()) {
            self.abort(
                ctx,
                LossReason::DataUnacknowledged,
                AbortReason::User(b"no data acknowledged"),
            );
            return false;
        }
        self.judge_data(ctx, path);
        true
    }

    /// T3-rtx of a path expired, but the peer answers and has no room. So data reaches
    /// the peer, whose reader may wait for any time (RFC 9260 section 6.1, A). This clears
    /// the evidence against path and peer.
    pub(super) fn note_answer_without_room(&mut self, path: PathId) {
        self.failure.unacknowledged_since = None;
        self.paths.get_mut(path).dead_data.forget();
    }

    /// A heartbeat was answered. Returns whether this proves that the path works.
    /// `full_sized`: the heartbeat was as large as the path's packets.
    pub(super) fn answer_proves(
        &mut self,
        ctx: &mut Ctx<'_>,
        path: PathId,
        full_sized: bool,
    ) -> bool {
        if self.cfg.failure.dead_data.is_none() {
            return true;
        }
        if let Some((_, answered)) = &mut self.failure.unacknowledged_since {
            *answered = true;
        }
        self.paths.get_mut(path).dead_data.on_answer(full_sized);
        self.judge_data(ctx, path);
        !self.paths.get(path).dead_data.is_dead()
    }

    /// A chunk of this size, sent only to that path, was acknowledged.
    pub(super) fn note_data_acknowledged(&mut self, path: PathId, bytes: u32) {
        if self.cfg.failure.dead_data.is_some() {
            self.paths.get_mut(path).dead_data.on_acknowledged(bytes);
        }
    }

    /// Makes a path inactive if it is dead for data.
    fn judge_data(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        let p = self.paths.get_mut(path);
        let rule = self.cfg.failure.dead_data.as_ref();
        if !rule.is_some_and(|rule| p.dead_data.dies(rule)) {
            return;
        }
        let remote = p.remote();
        // The first heartbeat of full size leaves at once, because the losses may have
        // been chance.
        self.paths.want_heartbeat(path, true);
        self.stats.dead_for_data += 1;
        self.observe(ctx, || Observation::DeadForData { path });
        self.event(ctx, Event::PathDeadForData { path, remote });
        self.blame(path, PathTrouble::DeadForData);
        self.set_path_state(ctx, path, PathState::Inactive);
    }

    /// Whether some path answers but acknowledges no data. Then the peer is not
    /// unreachable.
    pub(super) fn data_is_dead(&self) -> bool {
        self.paths.iter().any(|p| p.dead_data.was_answered())
    }
}
