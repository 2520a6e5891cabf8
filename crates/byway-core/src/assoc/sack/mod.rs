//! A SACK arrives (RFC 9260 sections 6.2.1, 6.3.2, 7.2 and 8.2).
//!
//! It is processed in five steps; steps 1 to 4 have their own files:
//!
//! 1. The cumulative TSN is checked. `blocks` reads and checks the gap blocks.
//! 2. `acked`: the ledger applies the cumulative TSN and the gap blocks. Each newly
//!    acknowledged chunk leaves the flight size of its path, may measure the round trip,
//!    and may prove that the path works.
//! 3. `missing`: missing reports are counted. Chunks with enough of them are lost.
//!    `overdue`: so are chunks that are overdue, with loss detection by time.
//! 4. For each path, the round trip is updated. `window` grows or cuts cwnd, `t3`
//!    restarts or stops T3-rtx, and `errors` clears errors.
//! 5. a_rwnd is stored. The user is told of room in the send buffer and of the end of
//!    all data. If rwnd is not zero, the window probe timer stops. The estimates may
//!    choose another primary, and the shutdown continues.

mod acked;
mod blocks;
mod errors;
mod missing;
mod overdue;
mod path_sack;
mod spurious;
mod t3;
mod window;

use super::{Association, Ctx};
use crate::api::Event;
use crate::cc::PathAck;
use crate::dialect::Blocks;
use crate::observe::Observation;
use crate::path::{MAX_PATHS, PathId};
use crate::policy::concurrent::dac;
use crate::policy::trial::Report;
use crate::refusals::Rule;
use byway_wire::{Sack, Tsn};
use path_sack::PathSack;
use smallvec::SmallVec;
use window::GrowthTerms;

pub(super) use blocks::contains;

/// Payload that peers exchange to let each other in. Many of them are idle then, and the next ones need the memory.
const GREETING: u64 = 4096;

impl Association {
    /// A SACK arrived. It is ignored in CLOSED and COOKIE-WAIT, and if a newer SACK has
    /// already arrived.
    #[inline(never)]
    pub(super) fn on_sack(&mut self, ctx: &mut Ctx<'_>, sack: &Sack<'_>) {
        if self.state.is_closed() || matches!(self.state, super::State::CookieWait) {
            return;
        }
        // 1. Read and check.
        let Some(covered) = self.send.ledger.covered_by(sack.cumulative_tsn_ack) else {
            // The network reordered the SACKs: this one is older than the last.
            if let Some(d) = &mut self.optional.dialect {
                d.on_old_sack();
            }
            return;
        };
        let end = self.send.ledger.end();
        let mut blocks = Blocks::new();
        if covered > end || !blocks::read(sack, covered, end, &mut blocks) {
            self.violation(
                ctx,
                "a SACK acknowledged a TSN that was never sent, or contradicts itself",
            );
            return;
        }
        self.stats.sacks_received += 1;
        if self.comes_late(covered, &blocks) {
            self.discard(ctx, Rule::Misplaced, "a SACK that a newer one overtook");
            return;
        }
        self.guard_shutdown(ctx, covered);
        self.send.window_probe.on_sack();
        if self.has_optional_rules() {
            self.begin_sack(ctx, sack);
        }
        if self.cfg.retransmission.rack.is_some() {
            self.note_duplicates(ctx.now, sack);
        }
        self.refute_repeated(sack.duplicate_count());
        if self.cfg.retransmission.undo_spurious {
            self.refute_losses(sack);
        }
        // 2. to 4.
        self.acknowledge(ctx, covered, &blocks);
        // 5. A SHUTDOWN has no a_rwnd, so `after_ack` does not store it.
        self.send.set_a_rwnd(sack.a_rwnd);
        let gaps = sack.gap_block_count() as u16;
        let acked = self.send.ledger.base();
        self.observe(ctx, || Observation::SackReceived {
            cumulative: sack.cumulative_tsn_ack,
            acked,
            gaps,
            a_rwnd: sack.a_rwnd,
        });
        self.after_ack(ctx);
        if self.stats.bytes_acked < GREETING && self.send.ledger.is_empty() {
            self.give_idle_memory_back();
        }
    }

    /// The cumulative acknowledgement of a SHUTDOWN (section 9.2).
    pub(super) fn on_cumulative_ack(&mut self, ctx: &mut Ctx<'_>, cumulative: Tsn) {
        let Some(covered) = self.send.ledger.covered_by(cumulative) else {
            return;
        };
        if covered > self.send.ledger.end() {
            self.violation(ctx, "a SHUTDOWN acknowledged a TSN that was never sent");
            return;
        }
        // A SHUTDOWN has no gap blocks, so those of the last SACK stay.
        let known: Blocks = self.send.ledger.gaps_above(covered).collect();
        if let Some(c) = &mut self.send.concurrent {
            c.begin_sack(1);
        }
        self.acknowledge(ctx, covered, &known);
        self.after_ack(ctx);
    }

    /// Whether concurrent multipath transfer, path estimates or a dialect are in use.
    /// They do more with a SACK than RFC 9260. This one test guards most of that work.
    #[inline]
    fn has_optional_rules(&self) -> bool {
        self.send.concurrent.is_some()
            || self.optional.estimating.is_some()
            || self.optional.dialect.is_some()
    }

    /// A valid SACK is about to be applied.
    #[inline(never)]
    fn begin_sack(&mut self, ctx: &mut Ctx<'_>, sack: &Sack<'_>) {
        let by_dialect = self.ask(ctx, |d, i| {
            d.on_sack(i);
            d.packets_answered(sack.flags)
        });
        if let Some(c) = &mut self.send.concurrent {
            let packets = by_dialect.flatten();
            c.begin_sack(packets.unwrap_or_else(|| dac::packets(sack.flags)));
        }
        if let Some(e) = &mut self.optional.estimating {
            for tsn in sack.duplicates().take(super::estimating::MAX_DUPLICATES) {
                if let Some(seq) = self.send.ledger.place_of(tsn) {
                    e.loss_was_spurious(seq);
                }
            }
        }
    }

    /// Steps 2 to 4.
    fn acknowledge(&mut self, ctx: &mut Ctx<'_>, covered: u64, blocks: &Blocks) {
        let has_optional_rules = self.has_optional_rules();
        // Not an array, because every SACK would clear and move all eight entries.
        let mut on_path = SmallVec::<[PathSack; MAX_PATHS]>::new();
        on_path.extend(self.paths.iter().map(|p| {
            let outstanding = self
                .optional
                .dialect
                .as_ref()
                .map_or(p.window().flight, |d| d.outstanding(p.window()));
            PathSack {
                ack: PathAck {
                    // Includes the room that is reserved for the detector's heartbeats,
                    // and that of the next run of packets.
                    flight_before: p.used(outstanding) + self.room_for_run(outstanding),
                    ..PathAck::default()
                },
                ..PathSack::default()
            }
        }));
        if has_optional_rules {
            self.ask(ctx, |d, i| d.before_ledger(i, covered, blocks));
            self.advance_pseudo_cumulatives(covered, blocks);
        }
        let (applied, newest_sent) = self.apply_to_ledger(ctx, covered, blocks, &mut on_path);
        self.report_missing(ctx, (&applied, newest_sent), blocks, &mut on_path);
        let association_recovers = self.still_in_recovery();
        if self.cfg.retransmission.rack.is_some() {
            self.report_overdue(ctx.now, &mut on_path);
            self.judge_tail_probes(ctx.now, association_recovers);
        }
        self.feed_estimates(ctx.now, &on_path);
        self.feed_scheduler(ctx.now, &on_path);
        if self.optional.trials.is_some() {
            self.feed_trials(ctx.now, &on_path);
        }
        let steps = self.growth_steps(&on_path);
        for (i, s) in on_path.iter_mut().enumerate() {
            let id = PathId(i as u8);
            let growth = GrowthTerms {
                step: steps.map_or(1.0, |steps| steps[i]),
                association_recovers,
            };
            s.ack.cumulative_advanced = applied.cumulative_advanced;
            s.any_new = applied.highest_new.is_some();
            s.t3.rescan |= applied.reneged;
            if has_optional_rules || s.concerns(self.paths.get(id)) {
                self.acknowledge_path(ctx, id, s, growth);
            }
        }
        for (i, s) in on_path.iter().enumerate() {
            if s.ack.bytes > 0 {
                self.take_over(ctx.now, PathId(i as u8));
            }
        }
        if let Some(changed) = self.ask(ctx, |d, i| d.after_sack(i)) {
            for path in changed {
                self.observe_window(ctx, path);
            }
        }
    }

    /// Step 4: what the SACK changes for one path.
    fn acknowledge_path(
        &mut self,
        ctx: &mut Ctx<'_>,
        id: PathId,
        s: &mut PathSack,
        growth: GrowthTerms,
    ) {
        if let Some(rtt) = s.sample {
            self.paths.get_mut(id).rtt.sample(rtt, &self.cfg.rto);
        }
        if let Some(rtt) = s.round_trip {
            self.paths.get_mut(id).rtt.note_round_trip(rtt);
        }
        self.grow_window(ctx, id, s, growth);
        if s.lost {
            self.respond_to_loss(ctx.now, id, s);
        }
        s.t3.rescan |= self.undo_spurious(ctx, id);
        self.release_proportionally(id, s);
        self.restart_t3(ctx, id, s);
        self.end_recovery(id);
        if s.sample.is_some() {
            self.observe_rto(ctx, id, s.sample);
        }
        if s.ack.bytes > 0 || s.lost {
            self.observe_window(ctx, id);
            self.await_acknowledgement(ctx, id);
        }
        self.clear_proven_errors(ctx, id, s);
    }

    /// Updates the estimates of the paths with the acknowledgements and measurements
    /// (`failover.estimate`).
    fn feed_estimates(&mut self, now: crate::time::Instant, on_path: &[PathSack]) {
        let (Some(e), Some(cfg)) = (&mut self.optional.estimating, &self.cfg.failover.estimate)
        else {
            return;
        };
        // If several paths carry data, the SACK may have returned on another, shorter
        // path than its DATA took.
        let carries = |s: &&PathSack| s.ack.bytes > 0 || s.ack.flight_before > 0;
        let alone = on_path.iter().filter(carries).count() <= 1;
        for id in self.paths.ids() {
            let s = &on_path[id.index()];
            e.acknowledged(id, s.chunks, cfg.memory);
            if let Some(rtt) = s.sample.filter(|_| alone) {
                e.measured(id, now, rtt);
            }
        }
    }

    /// Measures what each path delivers, for the scheduler of new data.
    fn feed_scheduler(&mut self, now: crate::time::Instant, on_path: &[PathSack]) {
        let Some(c) = &mut self.send.concurrent else {
            return;
        };
        for id in self.paths.ids() {
            let s = &on_path[id.index()];
            if s.ack.bytes > 0 {
                let drained = self.paths.get(id).window().flight == 0;
                c.delivered(id, (s.ack.bytes, s.round_trip), drained, now);
            }
        }
    }

    /// Tells the trials of other paths what the path in use delivered.
    fn feed_trials(&mut self, now: crate::time::Instant, on_path: &[PathSack]) {
        let path = self.paths.data();
        let s = &on_path[path.index()];
        let report = Report {
            bytes: s.ack.bytes,
            chunks: s.chunks,
            // One overflow of a queue is one event, however many round trips its recovery takes.
            lost: s.lost && (s.new_loss_event || s.lost_again),
            ..Report::default()
        };
        self.measure_delivery(now, path, report);
    }

    /// Step 5, for a SACK or a SHUTDOWN: tells the user of room in the send buffer and of
    /// the end of all data. If rwnd is not zero, the window probe timer stops. Then the
    /// estimates may choose another primary, and the shutdown continues.
    fn after_ack(&mut self, ctx: &mut Ctx<'_>) {
        self.send.limit_buffer(ctx.scarcity.largest_send_buffer());
        let most_waiting = self.writable_at();
        if self.send.take_writable(most_waiting) {
            self.event(ctx, Event::Writable);
        }
        if self.send.take_drained() {
            self.event(ctx, Event::Drained);
        }
        if self.send.rwnd() > 0 {
            self.timers.window_probe = None;
        }
        if self.optional.estimating.is_some() {
            self.judge_paths(ctx);
        }
        if self.optional.trials.is_some() {
            self.judge_trial(ctx);
        }
        self.advance_shutdown(ctx);
    }
}
