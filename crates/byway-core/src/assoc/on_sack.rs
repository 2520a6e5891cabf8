//! A SACK comes in (RFC 9260 sections 6.2.1, 6.3.2 and 7.2).
//!
//! Read from top to bottom: the ledger applies it and says what was newly
//! acknowledged; round trips; missing reports; windows; errors cleared; timers.

use super::concurrent::note_outcome;
use super::estimating::Estimating;
use super::timestamps::stamp;
use super::{Association, Ctx};
use crate::api::Event;
use crate::cc::{self, Moment, PathAck, coupled::Flow, reno};
use crate::config::{Coupling, ErrorClear, FastRecovery, PfClear};
use crate::observe::Observation;
use crate::path::{Alarm, Path, PathId, PathState};
use crate::policy::concurrent::dac;
use crate::policy::concurrent::sfr::NewlyAcked;
use crate::policy::retransmit::LossCause;
use crate::policy::rtt_sampling::{Acknowledged, Echo};
use crate::send::concurrent::Concurrent;
use crate::send::habits::HabitState;
use crate::send::ledger::{Applied, Change, Fate, Missing, Record};
use crate::time::Instant;
use byway_wire::{Sack, Tsn};
use smallvec::SmallVec;

/// An association has at most so many paths (`setup.max_paths`).
pub(crate) const MAX_PATHS: usize = 8;

pub(super) type Blocks = SmallVec<[(u64, u64); 16]>;

/// What a SACK did to one path.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Touched {
    ack: PathAck,
    /// What a window of acknowledged bytes adds, in PMDCS.
    step: f64,
    /// The earliest chunk in flight was acknowledged: T3 starts anew (R3).
    restart_t3: bool,
    /// Behind this one the next earliest is found.
    after: u64,
    /// It may be before, too: chunks came back.
    rescan: bool,
    /// Acknowledged chunks clear its error counter.
    clears: bool,
    /// The SACK acknowledged something new, on whatever path.
    any_new: bool,
    /// A chunk that was sent once, hence there, was acknowledged.
    unambiguous: bool,
    /// Bytes of the largest of them.
    largest: u32,
    /// Chunks that were newly acknowledged.
    chunks: u32,
    /// Round-trip sample.
    sample: Option<core::time::Duration>,
    /// Chunks were marked by missing reports.
    lost: bool,
    /// One of them left after the path's last loss was noticed.
    lost_anew: bool,
    /// cwnd was used up, by what was marked, too.
    full_before: bool,
    /// T3 stops, to start anew if anything is outstanding
    /// (`habits.restarts_t3_freely`).
    stop_t3: bool,
}

impl Touched {
    /// Whether the SACK can mean anything for that path: not where nothing was
    /// under way or waited for, as on an idle alternate.
    #[inline]
    fn concerns(&self, p: &Path) -> bool {
        self.chunks > 0
            || self.lost
            || p.window.flight > 0
            || p.t3.is_some()
            || p.recover.is_some()
            || p.doubted_since.is_some()
    }
}

/// What happens to records besides, where a SACK [is
/// hooked](Association::is_hooked).
struct Hooks {
    covered: u64,
    /// The first chunk of each path that was outstanding, of those before the end of
    /// the last gap block (`habits.restarts_t3_freely`).
    firsts: [Option<u64>; MAX_PATHS],
    /// `habits.concurrent_class`.
    class: bool,
    /// `habits.partial_bytes_late`.
    late: bool,
    /// The SACK advances the cumulative TSN.
    advances: bool,
}

/// The memories of what is hooked.
type Memories<'a> = (
    &'a mut Option<Box<Concurrent>>,
    &'a mut HabitState,
    &'a mut Option<Box<Estimating>>,
);

impl Hooks {
    /// The fate of a record changes, or its acknowledgement became final.
    #[inline(never)]
    fn note(
        &self,
        t: &mut Touched,
        p: &mut Path,
        (concurrent, habits, estimating): Memories<'_>,
        (seq, r, change): (u64, &Record, Change),
    ) {
        let path = r.path.index();
        if seq < self.covered {
            t.stop_t3 |= !self.class;
            habits.burst_limited |= r.fast_retransmitted.is_some();
            habits.window_left = habits.window_left.map(|left| left + r.bytes);
        } else {
            t.stop_t3 |= self.firsts[path] == Some(seq);
        }
        if self.class
            && let Some(c) = concurrent
        {
            let advanced = c.advanced[path];
            t.stop_t3 |= c.class.note(seq, self.covered, r, change, advanced);
        }
        if change != Change::Acked {
            return;
        }
        if self.late && seq >= self.covered && !(self.advances && p.window.avoids_congestion()) {
            habits.uncounted.insert(seq);
        }
        if let Some(c) = concurrent {
            NewlyAcked::join(&mut c.newly[path], seq, r.sent_at);
            note_outcome(&mut p.loss_rate, 0.0);
        }
        if let (Fate::Marked(_), Some(e)) = (r.fate, estimating) {
            e.arrived(seq);
        }
    }
}

impl Association {
    #[inline(never)]
    pub(super) fn on_sack(&mut self, ctx: &mut Ctx<'_>, sack: &Sack<'_>) {
        if self.state.is_closed() || matches!(self.state, super::State::CookieWait) {
            return;
        }
        let Some(covered) = self.send.ledger.covered_by(sack.cumulative_tsn_ack) else {
            // For ns-2 it releases new data all the same.
            self.send.habits.new_wanted = true;
            return; // older than one seen before: out of order on its way
        };
        let end = self.send.ledger.end();
        let mut blocks = Blocks::new();
        if covered > end || !read_blocks(sack, covered, end, &mut blocks) {
            self.violation(
                ctx,
                "a SACK acknowledged a TSN that was never sent, or contradicts itself",
            );
            return;
        };
        self.stats.sacks_received += 1;
        self.send.probe_answered = true;
        if self.is_hooked() {
            self.begin_sack(ctx, sack);
        }
        self.apply(ctx, covered, &blocks);
        self.send.a_rwnd = sack.a_rwnd;
        let gaps = sack.gap_block_count() as u16;
        let acked = self.send.ledger.base();
        self.observe(ctx, || Observation::SackReceived {
            cumulative: sack.cumulative_tsn_ack,
            acked,
            gaps,
            a_rwnd: sack.a_rwnd,
        });
        self.after_ack(ctx);
    }

    /// Whether a SACK means anything beyond RFC 9260: to concurrent multipath
    /// transfer, to the estimates of the paths, or by ns-2's habits. Asked once, so
    /// that who wants none of them does not pay for each.
    #[inline]
    fn is_hooked(&self) -> bool {
        self.send.habits.on || self.send.concurrent.is_some() || self.estimating.is_some()
    }

    /// A SACK is about to be applied, and [is hooked](Self::is_hooked).
    #[inline(never)]
    fn begin_sack(&mut self, ctx: &Ctx<'_>, sack: &Sack<'_>) {
        self.decay_windows(ctx);
        if let Some(c) = &mut self.send.concurrent {
            c.begin_sack(if self.cfg.habits.concurrent_class {
                sack.flags >> 6
            } else {
                dac::packets(sack.flags)
            });
        }
        if let Some(e) = &mut self.estimating {
            for tsn in sack.duplicates().take(super::estimating::MAX_DUPLICATES) {
                if let Some(seq) = self.send.ledger.place_of(tsn) {
                    e.arrived(seq);
                }
            }
        }
    }

    /// The cumulative acknowledgement of a SHUTDOWN.
    pub(super) fn on_cumulative_ack(&mut self, ctx: &mut Ctx<'_>, cumulative: Tsn) {
        let Some(covered) = self.send.ledger.covered_by(cumulative) else {
            return;
        };
        if covered > self.send.ledger.end() {
            self.violation(ctx, "a SHUTDOWN acknowledged a TSN that was never sent");
            return;
        }
        // It says nothing of gaps: those that are known stay.
        let known: Blocks = self.send.ledger.gaps_above(covered).collect();
        if let Some(c) = &mut self.send.concurrent {
            c.begin_sack(1);
        }
        self.apply(ctx, covered, &known);
        self.after_ack(ctx);
    }

    fn apply(&mut self, ctx: &mut Ctx<'_>, covered: u64, blocks: &Blocks) {
        let hooked = self.is_hooked();
        // Not an array: eight of them are a lot to clear for every SACK, or to move.
        let all = self.paths.iter().map(|p| Touched {
            ack: PathAck {
                flight_before: p.used(&self.cfg.habits),
                ..PathAck::default()
            },
            full_before: p.window.flight + p.window.marked >= p.window.cwnd,
            step: 1.0,
            ..Touched::default()
        });
        let mut touched = SmallVec::<[Touched; MAX_PATHS]>::new();
        touched.extend(all);
        let payload_before = self.send.ledger.payload();
        let mut hooks = hooked.then(|| self.prepare_hooks(covered, blocks));
        let (paths, cfg) = (&mut self.paths, &*self.cfg);
        let (send, estimating) = (&mut self.send, &mut self.estimating);
        let now = ctx.now;
        let echo = self.stamps.map_or(Echo::Unused, |s| Echo::Of(s.echoed));
        let mut newest_sent = Instant::ZERO;
        let (concurrent, habits) = (&mut send.concurrent, &mut send.habits);
        let applied = send.ledger.apply(covered, blocks, |seq, r, change| {
            let p = paths.get_mut(r.path);
            let t = &mut touched[r.path.index()];
            if let Some(hooks) = &mut hooks {
                hooks.note(t, p, (concurrent, habits, estimating), (seq, r, change));
            }
            match change {
                Change::Acked => {
                    newest_sent = newest_sent.max(r.sent_at);
                    t.ack.gap_bytes += if seq < covered { 0 } else { r.bytes };
                    note_acked(t, p, cfg, (seq, r), echo, now);
                }
                Change::Reneged => p.window.flight += r.bytes,
                Change::Passed => {}
            }
        });
        self.stats.bytes_acked += payload_before - self.send.ledger.payload();
        if applied.reneged {
            self.discard(ctx, "the peer took acknowledgements back");
        }
        let any_new = applied.highest_new.is_some();
        if any_new {
            self.errors = 0;
            self.unacknowledged_since = None;
            self.send.probing = false;
        }
        let lost = self.report_missing(now, &applied, blocks, newest_sent, &mut touched);
        let recovering = self.still_recovering();
        if applied.cumulative_advanced && !self.send.habits.uncounted.is_empty() {
            self.count_late_bytes();
        }
        self.feed_estimates(now, &touched);
        if self.cfg.congestion.coupled != Coupling::Off {
            self.couple_steps(&mut touched);
        }
        for (i, t) in touched.iter_mut().enumerate() {
            let id = PathId(i as u8);
            t.ack.cumulative_advanced = applied.cumulative_advanced;
            t.any_new = any_new;
            t.rescan |= applied.reneged;
            if hooked || t.concerns(self.paths.get(id)) {
                self.settle_path(ctx, id, recovering, t);
            }
        }
        if hooked {
            self.after_windows(ctx, lost);
        }
    }

    #[inline(never)]
    fn prepare_hooks(&mut self, covered: u64, blocks: &Blocks) -> Hooks {
        let firsts = if self.cfg.habits.restarts_t3_freely {
            // Behind the last block nothing is acknowledged.
            let end = blocks.last().map_or(covered, |b| b.1);
            self.first_outstanding(covered..end)
        } else {
            [None; MAX_PATHS]
        };
        self.advance_pseudo_cumulatives(covered, blocks);
        Hooks {
            covered,
            firsts,
            class: self.cfg.habits.concurrent_class,
            late: self.cfg.habits.partial_bytes_late,
            advances: covered > self.send.ledger.base(),
        }
    }

    /// Counts missing reports, by whoever's rules; whether anything was marked,
    /// where ns-2's habits ask.
    #[inline]
    fn report_missing(
        &mut self,
        now: Instant,
        applied: &Applied,
        blocks: &Blocks,
        newest_sent: Instant,
        touched: &mut [Touched],
    ) -> bool {
        if self.send.habits.on {
            if self.is_class() {
                return self.count_missing_as_class(now, applied, touched);
            }
            if self.cfg.habits.remembers_highest_new {
                return self.count_missing_as_ns2(now, applied, blocks, touched);
            }
        }
        if let (Some(highest), Some(last)) = (applied.highest_new, blocks.last()) {
            // In fast recovery, progress counts for all that is missing; not where
            // each path counts for itself.
            let sfr = self.cfg.concurrent.as_ref().is_some_and(|c| c.sfr);
            let recovering = self.send.recover.is_some();
            let all = recovering && applied.cumulative_advanced && !sfr;
            let below = if all { last.1 - 1 } else { highest };
            self.count_missing(now, below, highest, newest_sent, touched);
        }
        false
    }

    /// ns-2's habits at the end of a SACK; `lost`: it reported losses.
    fn after_windows(&mut self, ctx: &mut Ctx<'_>, lost: bool) {
        if self.cfg.habits.sack_clocked {
            self.release_by_sack(lost);
        }
        if lost && self.cfg.habits.cuts_beyond_exit {
            if self.is_class() {
                self.cut_as_class(ctx);
            } else {
                self.cut_beyond_exit(ctx);
            }
        }
    }

    /// Whether the association is in fast recovery yet, which ends at its exit
    /// point.
    fn still_recovering(&mut self) -> bool {
        let base = self.send.ledger.base();
        if self.send.recover.is_some_and(|r| base >= r) {
            self.send.recover = None;
        }
        if self.cfg.habits.cuts_beyond_exit {
            base < self.send.habits.exit
        } else {
            self.send.recover.is_some()
        }
    }

    /// What was acknowledged, and measured, tells of the paths.
    fn feed_estimates(&mut self, now: Instant, touched: &[Touched]) {
        let (Some(e), Some(cfg)) = (&mut self.estimating, &self.cfg.failover.estimate) else {
            return;
        };
        // Where several paths carry data the SACK may have come back over another
        // one than its DATA took, which may be shorter.
        let carries = |t: &&Touched| t.ack.bytes > 0 || t.ack.flight_before > 0;
        let alone = touched.iter().filter(carries).count() <= 1;
        for (id, t) in self.paths.ids().zip(touched) {
            e.acknowledged(id, t.chunks, cfg.memory);
            if let Some(rtt) = t.sample.filter(|_| alone) {
                e.measured(id, now, rtt);
            }
        }
    }

    /// How coupled paths share what their windows grow by.
    #[inline(never)]
    fn couple_steps(&mut self, touched: &mut [Touched]) {
        let mut flows = [None; MAX_PATHS];
        for ((p, t), flow) in self.paths.iter_mut().zip(&*touched).zip(&mut flows) {
            p.window.interval.on_acked(t.ack.bytes);
            *flow = Flow::new(&p.window, t.ack.flight_before, p.rtt.srtt());
        }
        let steps = self.cfg.congestion.coupled.steps(&flows);
        for (t, step) in touched.iter_mut().zip(steps) {
            t.step = step;
        }
    }

    /// The same by ns-2's habits; whether anything was marked.
    fn count_missing_as_ns2(
        &mut self,
        now: Instant,
        applied: &Applied,
        blocks: &Blocks,
        touched: &mut [Touched],
    ) -> bool {
        let forgets = self.fast_recovery() == FastRecovery::Off;
        let h = &mut self.send.habits;
        let new = applied.highest_new.map_or(0, |seq| seq + 1);
        // Before the module had a recovery, each SACK forgot that of the one before.
        h.highest_new = if applied.cumulative_new || forgets {
            new
        } else {
            h.highest_new.max(new)
        };
        let Some((last, highest)) = blocks.last().zip(h.highest_new.checked_sub(1)) else {
            return false;
        };
        let all = applied.cumulative_advanced && highest < h.exit;
        let below = if all {
            highest.max(last.1 - 1)
        } else {
            highest
        };
        // It counts whatever was sent when.
        self.count_missing(now, below, highest, Instant::FAR_FUTURE, touched)
    }

    /// Section 7.2.4: missing reports, and what they take for lost.
    pub(super) fn count_missing(
        &mut self,
        now: Instant,
        below: u64,
        highest_new: u64,
        newest_sent: Instant,
        touched: &mut [Touched],
    ) -> bool {
        let missing = Missing {
            newest_sent,
            below,
            highest_new,
            threshold: self.cfg.congestion.fast_retransmit_threshold,
            rule: self.cfg.retransmission.fast_retransmits,
            outstanding: if self.cfg.habits.cuts_beyond_exit {
                self.highest_outstanding()
            } else {
                self.send.ledger.end()
            },
            marked_too: self.cfg.habits.counts_marked,
            whenever: self.cfg.habits.remembers_highest_new,
            split: self.split(),
        };
        let mut marked = 0;
        let paths = &mut self.paths;
        let concurrent = self.send.concurrent.is_some();
        let estimating = &mut self.estimating;
        let estimate = self.cfg.failover.estimate.as_ref();
        let again = self.send.ledger.count_missing(&missing, |seq, r| {
            let p = paths.get_mut(r.path);
            if let (Some(e), Some(cfg)) = (&mut *estimating, estimate) {
                e.lost(seq, r.path, p.window.flight, p, now, cfg);
            }
            p.window.lose(r.bytes);
            if p.earliest == Some(seq) {
                p.earliest = None;
                touched[r.path.index()].restart_t3 = true;
                touched[r.path.index()].after = seq;
            }
            let t = &mut touched[r.path.index()];
            t.lost = true;
            t.lost_anew |= p.recover.is_none_or(|end| seq >= end);
            if concurrent {
                note_outcome(&mut p.loss_rate, 1.0);
            }
            marked += 1;
        });
        self.stats.fast_retransmits += marked;
        again || marked > 0
    }

    /// What the SACK means for one path: its round trip, window, errors, timer.
    /// `recovering`: the association was in fast recovery before.
    fn settle_path(&mut self, ctx: &mut Ctx<'_>, id: PathId, recovering: bool, t: &mut Touched) {
        let base = self.send.ledger.base();
        let all_acked = self.send.ledger.is_empty();
        let rule = self.fast_recovery();
        let grows = self.pseudo_cumulative_advanced(id);
        let is_class = self.is_class();
        let p = self.paths.get_mut(id);
        if p.recover.is_some_and(|r| base >= r) {
            p.recover = None;
        }
        let recovering = match rule {
            FastRecovery::PerAssociation => recovering,
            FastRecovery::PerDestination => p.recover.is_some(),
            FastRecovery::Off => false,
        };
        if let Some(rtt) = t.sample {
            p.rtt.sample(rtt, &self.cfg.rto);
        }
        if is_class {
            self.grow_as_class(id, t.full_before, t.ack.bytes);
        } else if self.cfg.habits.partial_bytes_when_full {
            t.ack.in_recovery = recovering;
            reno::on_ack_when_full(&mut p.window, t.ack, &self.cfg.congestion);
            if p.outstanding(&self.cfg.habits) == 0 {
                p.window.partial_bytes_acked = 0;
            }
        } else if t.ack.bytes > 0 {
            t.ack.in_recovery = recovering;
            t.ack.all_acked = all_acked;
            p.one_packet = false;
            let at = Moment {
                now: ctx.now,
                srtt: p.rtt.srtt().unwrap_or_default(),
                step: t.step,
            };
            t.ack.cumulative_advanced |= grows == Some(true);
            if grows != Some(false) {
                cc::on_ack(&mut p.window, t.ack, at, &self.cfg.congestion);
            }
        }
        let anew = !recovering || self.send.concurrent.is_some() && t.lost_anew;
        if t.lost && anew && !self.cfg.habits.cuts_beyond_exit {
            let p = self.paths.get_mut(id);
            if p.alarms.get(Alarm::Moves).is_some() {
                // A dead path tells nothing of congestion: that waits until the
                // probe timeout's doubt is over.
                p.cut_owed = true;
            } else {
                self.cut_window(id);
            }
            self.send.forced_packet = true;
        }
        if self.cfg.habits.restarts_t3_freely {
            let p = self.paths.get_mut(id);
            let outstanding = p.outstanding(&self.cfg.habits) > 0;
            let running = p.t3.filter(|_| outstanding && !t.stop_t3);
            p.t3 = running.or(outstanding.then_some(p.rtt.timeout(ctx.now)));
        } else if t.restart_t3 || self.paths.get(id).earliest.is_none() {
            let p = self.paths.get(id);
            let earliest = if p.window.flight > 0 {
                let from = if t.rescan { base } else { t.after };
                self.send.ledger.first_in_flight(id, from)
            } else {
                None
            };
            let p = self.paths.get_mut(id);
            p.earliest = earliest;
            // R2 and R3 of section 6.3.2.
            p.t3 = match earliest {
                None => None,
                Some(_) if t.restart_t3 => Some(p.rtt.timeout(ctx.now)),
                Some(_) => p.t3.or(Some(p.rtt.timeout(ctx.now))),
            };
        }
        self.end_recovery(id);
        if t.sample.is_some() {
            self.observe_rto(ctx, id, t.sample);
        }
        if t.ack.bytes > 0 || t.lost {
            self.observe_window(ctx, id);
            self.await_acknowledgement(ctx, id);
        }
        if t.largest > 0 && !self.paths.get(id).trial.is_clear() {
            self.note_data_acknowledged(id, t.largest);
        }
        if t.any_new {
            self.weigh_acknowledgement(ctx, id, t.clears);
        }
        if t.clears {
            let returns = t.unambiguous && self.data_ends_doubt(id);
            self.clear_errors(ctx, id, returns);
        }
    }

    /// Section 7.2.4, rule 2: the window falls, and fast recovery begins.
    pub(super) fn cut_window(&mut self, id: PathId) {
        let end = self.send.ledger.end();
        let rule = self.fast_recovery();
        let p = self.paths.get_mut(id);
        cc::on_fast_retransmit(&mut p.window, &self.cfg.congestion);
        match rule {
            FastRecovery::PerAssociation => self.send.recover = Some(end),
            FastRecovery::PerDestination => p.recover = Some(end),
            FastRecovery::Off => {}
        }
    }

    /// Whether an acknowledgement of data, sent to that path alone, brings it
    /// back (RFC 7829 section 3.2, rule 7, against natarajan-2006).
    fn data_ends_doubt(&self, id: PathId) -> bool {
        let pf = self.cfg.failover.potentially_failed.as_ref();
        match self.paths.get(id).state {
            PathState::PotentiallyFailed => pf.is_none_or(|pf| pf.clear == PfClear::Rfc7829),
            PathState::Inactive => !self.paths.get(id).dead_for_data,
            PathState::Active | PathState::Unconfirmed => false,
        }
    }

    /// After acknowledgements: who waits for room, for the end, or for a window.
    fn after_ack(&mut self, ctx: &mut Ctx<'_>) {
        let limit = u64::from(self.cfg.buffer.send);
        let buffered = self.send.buffered();
        if self.send.writable_wanted && buffered <= limit / 2 {
            self.send.writable_wanted = false;
            self.event(ctx, Event::Writable);
        }
        if self.send.is_drained() && self.send.drain_wanted {
            self.send.drain_wanted = false;
            self.event(ctx, Event::Drained);
        }
        if self.send.rwnd() > 0 {
            self.send.probe_at = None;
        }
        if self.estimating.is_some() {
            self.judge_paths(ctx);
        }
        self.advance_shutdown(ctx);
    }
}

/// One chunk is newly acknowledged.
fn note_acked(
    t: &mut Touched,
    p: &mut Path,
    cfg: &crate::config::Config,
    (seq, r): (u64, &Record),
    echo: Echo,
    now: Instant,
) {
    t.ack.bytes += r.bytes;
    t.chunks += 1;
    match r.fate {
        Fate::InFlight => p.window.flight -= r.bytes,
        Fate::Marked(_) => p.window.marked -= r.bytes,
        Fate::Acked => {}
    }
    if p.earliest == Some(seq) {
        p.earliest = None;
        t.restart_t3 = true;
        t.after = seq;
    }
    let once = r.sends == 1;
    // A chunk that left before the path's last error may have arrived before
    // the path died, its SACK lost on the way back: it proves nothing of now.
    let timely =
        p.last_error.is_none_or(|e| r.sent_at >= e) && r.fate != Fate::Marked(LossCause::Timeout);
    if r.one_path && timely {
        t.unambiguous = true;
        t.largest = t.largest.max(r.bytes);
    }
    if cfg.habits.clears_errors_freely {
        let clears = r.fate != Fate::Marked(LossCause::Timeout);
        t.clears |= clears;
        t.unambiguous |= clears;
    }
    // An inactive path's count is cleared by what went there alone (RFC 7829
    // section 3.2, rule 9).
    let any = cfg.failure.error_clear == ErrorClear::AnyAck
        && (r.one_path || p.state != PathState::Inactive);
    t.clears |= timely && (once || any);
    let timed = p.timed.is_some_and(|(timed, _)| timed == seq);
    if timed {
        p.timed = None;
    }
    let measures = if cfg.habits.rtt_flag && echo == Echo::Unused {
        let flagged = p.rtt_pending && r.timed && once;
        p.rtt_pending &= !flagged;
        flagged && r.fate != Fate::Marked(LossCause::Timeout)
    } else {
        let chunk = Acknowledged {
            once,
            timed,
            timely,
            stamp: stamp(r.sent_at),
        };
        cfg.rto.sampling.measures(echo, chunk)
    };
    if measures {
        t.sample = Some(now.since(r.sent_at));
    }
}

/// Reads the gap blocks into an empty list, as half-open ranges of sequences, in
/// order, joined where they touch. False if one reaches beyond what was sent or
/// touches the cumulative TSN. Blocks that end before they begin are skipped.
fn read_blocks(sack: &Sack<'_>, covered: u64, end: u64, blocks: &mut Blocks) -> bool {
    let mut in_order = true;
    for (first, last) in sack.gap_blocks() {
        if first == 0 || last < first {
            continue;
        }
        if first == 1 {
            // It would acknowledge what the cumulative TSN says is missing.
            return false;
        }
        // Offset 1 is the TSN behind the cumulative one, sequence `covered`.
        let (from, to) = (covered + u64::from(first) - 1, covered + u64::from(last));
        if to > end {
            return false;
        }
        in_order &= blocks.last().is_none_or(|b| b.1 < from);
        blocks.push((from, to));
    }
    if !in_order {
        blocks.sort_unstable();
        let mut joined: Blocks = SmallVec::new();
        for &b in &*blocks {
            match joined.last_mut() {
                Some(l) if l.1 >= b.0 => l.1 = l.1.max(b.1),
                _ => joined.push(b),
            }
        }
        *blocks = joined;
    }
    true
}
