//! The driver could not send a packet: what the kernel says of its path counts at once.

use super::{Association, Ctx};
use crate::api::SendFailure;
use crate::path::{PathId, PathState, PathTrouble};
use crate::policy::retransmit::LossCause;
use core::net::SocketAddr;

impl Association {
    /// A packet of this many IP bytes to an address of the peer did not leave.
    pub(crate) fn on_send_failure(
        &mut self,
        ctx: &mut Ctx<'_>,
        destination: &SocketAddr,
        bytes: u32,
        why: SendFailure,
    ) {
        let Some(path) = self.paths.find_source(destination) else {
            return;
        };
        match why {
            SendFailure::TooLarge => self.on_too_large(ctx, path, bytes),
            SendFailure::Unreachable => self.on_unreachable(ctx, path),
        }
    }

    /// There is no way to the path's address now. Its data moves to another path at once,
    /// without waiting for a timeout; a heartbeat per RTO finds out when it is back.
    pub(super) fn on_unreachable(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        let p = self.paths.get(path);
        let elsewhere = self.paths.view().alternate(path).is_some();
        let doubts = self.cfg.failover.potentially_failed.is_some();
        if !elsewhere && doubts {
            self.ask_other_sources(ctx, path, true);
            return;
        }
        if p.state() != PathState::Active || !doubts {
            return;
        }
        self.paths.get_mut(path).errors.distrust_before(ctx.now);
        self.blame(path, PathTrouble::Unreachable);
        self.set_path_state(ctx, path, PathState::PotentiallyFailed);
        self.take_flight_for_lost(path, LossCause::ProbeTimeout);
        self.observe_window(ctx, path);
        self.schedule_heartbeat(ctx, path);
        self.choose_data_path(ctx, None);
    }
}
