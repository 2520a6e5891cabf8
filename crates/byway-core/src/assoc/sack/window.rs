//! Step 4 of SACK reception, for each path: grows its congestion window, or reduces it
//! after a loss (RFC 9260 sections 7.2.1 to 7.2.4).

use super::path_sack::PathSack;
use crate::assoc::{Association, Ctx};
use crate::cc::Moment;
use crate::config::{Coupling, FastRecovery};
use crate::dialect::Growth;
use crate::path::{MAX_PATHS, PathId, PathState, PathTimer};
use crate::policy::spurious::Sign;
use crate::time::Instant;

/// What the growth of a path's window depends on, besides the path and the SACK.
#[derive(Copy, Clone, Debug)]
pub(super) struct GrowthTerms {
    /// How much one window of acknowledged bytes adds in congestion avoidance, in PMDCS.
    pub(super) step: f64,
    /// Whether the association is in fast recovery after the ledger step. A fast recovery
    /// that the losses of this SACK begin does not count.
    pub(super) association_recovers: bool,
}

impl Association {
    /// How much one window of acknowledged bytes adds to each path, in PMDCS, if the paths
    /// are coupled (`congestion.coupled`). Also counts the acknowledged bytes, which OLIA
    /// needs. `None` if they are not coupled: each path adds one PMDCS.
    #[inline]
    pub(super) fn growth_steps(&mut self, on_path: &[PathSack]) -> Option<[f64; MAX_PATHS]> {
        if self.cfg.congestion.coupled == Coupling::Off {
            return None;
        }
        let mut flows = [None; MAX_PATHS];
        for ((p, s), flow) in self.paths.iter_mut().zip(on_path).zip(&mut flows) {
            *flow = p.coupled_flow(s.ack.bytes, s.ack.flight_before);
        }
        Some(self.cfg.congestion.coupled.steps(&flows))
    }

    /// Ends fast recovery of the association if its exit point was acknowledged. Returns
    /// whether the association is still in fast recovery.
    pub(super) fn still_in_recovery(&mut self) -> bool {
        self.send.end_recovery_at_exit();
        self.send.in_recovery()
    }

    /// The window of a path grows by the data that the SACK acknowledged there.
    pub(super) fn grow_window(
        &mut self,
        ctx: &mut Ctx<'_>,
        id: PathId,
        s: &mut PathSack,
        growth: GrowthTerms,
    ) {
        s.ack.in_recovery = self.path_still_recovers(id, growth.association_recovers);
        let advanced = self.pseudo_cumulative_advanced(id);
        let by_dialect = self.ask(ctx, |d, i| {
            let change = Growth {
                bytes: s.ack.bytes,
                gap_bytes: s.ack.gap_bytes,
                outstanding_before: s.ack.flight_before,
                cumulative_advanced: s.ack.cumulative_advanced,
                in_recovery: s.ack.in_recovery,
                pseudo_cumulative_advanced: advanced,
            };
            d.grow(i, id, change)
        });
        if by_dialect == Some(true) || s.ack.bytes == 0 {
            return;
        }
        s.ack.all_acked = self.send.ledger.is_empty();
        s.ack.cumulative_advanced |= advanced == Some(true);
        let p = self.paths.get_mut(id);
        p.recovery.on_acknowledgement();
        if advanced != Some(false) {
            let at = Moment {
                now: ctx.now,
                srtt: p.rtt.srtt().unwrap_or_default(),
                round_trip: s.round_trip,
                step: growth.step,
            };
            p.on_ack(s.ack, at, &self.cfg.congestion);
        }
    }

    /// Ends a path's own fast recovery if its exit point was acknowledged. Returns whether
    /// the path is still in fast recovery, its own or that of the association.
    pub(super) fn path_still_recovers(&mut self, id: PathId, association_recovers: bool) -> bool {
        let base = self.send.ledger.base();
        let rule = self.fast_recovery();
        let p = self.paths.get_mut(id);
        p.recovery.all_arrived_before(base);
        match rule {
            FastRecovery::PerAssociation => association_recovers,
            FastRecovery::PerDestination => p.recovery.in_progress(),
            FastRecovery::Off => false,
        }
    }

    /// Section 7.2.4: missing reports made chunks of a path lost. Its window is reduced
    /// once for each fast recovery. With concurrent multipath transfer, the loss of a chunk
    /// at or beyond the exit point reduces it again, and so does the loss of a
    /// retransmission with loss detection by time. With each reduction, one packet of
    /// retransmissions may leave whatever cwnd is.
    pub(super) fn respond_to_loss(&mut self, now: Instant, id: PathId, s: &PathSack) {
        let is_new_event = !s.ack.in_recovery
            || s.lost_again
            || self.send.concurrent.is_some() && s.new_loss_event;
        let by_dialect = self.dialect_says(|d| d.cuts_windows());
        if !is_new_event || by_dialect {
            return;
        }
        let p = self.paths.get_mut(id);
        let doubted = p.timers.get(PathTimer::MoveHoldOff).is_some();
        if doubted && p.state() != PathState::Active {
            // New data left on another path, and its acknowledgement reports what is in flight
            // here as missing. Losses on a dead path are no sign of congestion. So the
            // reduction waits until the probe timeout has decided.
            p.probe_timeout.delay_cut();
        } else {
            self.cut_window(now, id);
            if self.cfg.congestion.proportional_rate_reduction {
                let p = self.paths.get_mut(id);
                let w = p.window();
                let flight = w.flight + w.lost + s.ack.bytes;
                p.recovery
                    .begin_proportional(flight, self.send.ledger.end());
            }
        }
        self.send.force_packet();
    }

    /// What a path in recovery may send after a SACK (`cc/prr.rs`).
    #[inline]
    pub(super) fn release_proportionally(&mut self, id: PathId, s: &PathSack) {
        let safe = s.ack.cumulative_advanced && !s.lost;
        let base = self.send.ledger.base();
        self.paths.get_mut(id).on_delivery(s.ack.bytes, safe, base);
    }

    /// Section 7.2.4, rule 2: the window is reduced, and fast recovery begins.
    pub(in crate::assoc) fn cut_window(&mut self, now: Instant, id: PathId) {
        let end = self.send.ledger.end();
        let rule = self.fast_recovery();
        let p = self.paths.get_mut(id);
        p.recovery.cut(now);
        self.remember_reduction(now, id, Sign::Loss);
        let p = self.paths.get_mut(id);
        p.on_fast_retransmit(&self.cfg.congestion);
        match rule {
            FastRecovery::PerAssociation => self.send.enter_recovery(),
            FastRecovery::PerDestination => p.recovery.enter(end),
            FastRecovery::Off => {}
        }
    }
}
