//! Path verification: an address carries no data until it has answered a heartbeat (RFC
//! 9260 section 5.4).

use super::{Association, Ctx};
use crate::path::{PathId, PathState, PathTimer};

impl Association {
    /// Section 5.4: verification begins when the association is established.
    /// HB.Max.Burst heartbeats leave at once, and the others one RTO later each.
    pub(crate) fn begin_verification(&mut self, ctx: &mut Ctx<'_>) {
        if !self.cfg.setup.verify_addresses {
            self.trust_addresses(ctx);
        }
        let burst = self.cfg.hb.max_burst.max(1);
        let mut started = 0;
        let trusts = self.setup.accepted && self.trusts_listed_addresses();
        let all = self.cfg.setup.confirm_all_before_data && !trusts;
        for path in self.paths.ids() {
            if all {
                self.paths.doubt(path);
                self.paths.want_heartbeat(path, true);
                continue;
            }
            if self.paths.get(path).is_confirmed() {
                self.schedule_heartbeat(ctx, path);
                self.learn_mtu(ctx, path);
                let p = self.paths.get(path);
                if self.cfg.hb.at_establishment && p.heartbeat.is_enabled() {
                    self.paths.want_heartbeat(path, true);
                }
            } else {
                let wait = self.paths.get(path).rtt.rto() * (started / burst);
                self.paths
                    .get_mut(path)
                    .timers
                    .set(PathTimer::Heartbeat, Some(ctx.now + wait));
                started += 1;
            }
        }
        self.ask(ctx, |d, i| d.on_established(i));
    }

    /// RFC 2960: every address of the peer may carry data at once.
    fn trust_addresses(&mut self, ctx: &mut Ctx<'_>) {
        for path in self.paths.ids() {
            if self.paths.get(path).state() == PathState::Unconfirmed {
                self.paths.confirm(path);
                self.forget_listed(path);
                self.set_path_state(ctx, path, PathState::Active);
            }
        }
    }

    /// A heartbeat proved that an address is the peer's (section 5.4).
    pub(super) fn confirm_path(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        self.paths.confirm(path);
        self.forget_listed(path);
        self.paths.get_mut(path).errors.clear();
        self.addresses.changed = true;
        self.set_path_state(ctx, path, PathState::Active);
        self.learn_mtu(ctx, path);
        self.ask(ctx, |d, i| d.on_confirmed(i));
        self.choose_data_path(ctx, None);
        self.on_confirmed_after_change(ctx, path);
    }
}
