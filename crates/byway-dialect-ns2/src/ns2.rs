//! The dialect: the module's state of an association, and its answer to each question.

use crate::Ns2Config;
use crate::acks::Acks;
use crate::cmt::Cmt;
use crate::heartbeats::{self, Round};
use crate::missing::Reports;
use crate::release::Release;
use crate::t3::{self, T3};
use crate::windows::{self, Windows};
use byway_core::dialect::{
    Acker, Applied, Arrived, Blocks, Change, Dialect, Fate, Growth, Inside, LostChunks, MAX_PATHS,
    NextRetransmission, Record, StartDialect, Window,
};
use byway_core::path::PathsView;
use byway_core::policy::retransmit::LossCause;
use byway_core::time::Instant;
use byway_core::{Config, PathId, PathState};
use smallvec::SmallVec;

impl StartDialect for Ns2Config {
    fn start(&self, cfg: &Config) -> Box<dyn Dialect> {
        Box::new(Ns2::new(self, cfg))
    }
}

/// The state of ns-2's module for an association.
#[derive(Debug)]
pub struct Ns2 {
    pub(crate) cfg: Ns2Config,
    /// Which data this event may release.
    pub(crate) release: Release,
    /// Missing reports and the exit point of fast recovery.
    pub(crate) reports: Reports,
    /// Idle windows, and bytes that count late in partial_bytes_acked.
    pub(crate) windows: Windows,
    /// T3-rtx, and the chunk that is timed.
    pub(crate) t3: T3,
    /// The current packet with DATA.
    pub(crate) acks: Acks,
    /// The single heartbeat timer.
    pub(crate) round: Option<Round>,
    /// The state of the CMT class, if the association uses it.
    pub(crate) cmt: Option<Box<Cmt>>,
    /// This SACK cumulatively acknowledges the sequences below this one.
    pub(crate) covered: u64,
    /// This SACK advances the cumulative TSN.
    pub(crate) advances: bool,
}

impl Ns2 {
    fn new(ns2: &Ns2Config, cfg: &Config) -> Ns2 {
        let cmt = ns2.cmt_class && cfg.concurrent.is_some();
        Ns2 {
            release: Release::default(),
            reports: Reports::default(),
            windows: Windows::default(),
            t3: T3::default(),
            acks: Acks::default(),
            round: None,
            cmt: cmt.then(|| Box::new(Cmt::new(ns2))),
            covered: 0,
            advances: false,
            cfg: ns2.clone(),
        }
    }

    fn begin_event(&mut self, new_allowed: bool) {
        self.release.begin_event(new_allowed);
        if let Some(cmt) = &mut self.cmt {
            cmt.begin_event();
        }
    }
}

impl Dialect for Ns2 {
    // --- 1. events ---

    fn on_packet(&mut self, from: Option<PathId>, acker: &mut Acker) {
        if self.cfg.sack_to_last_packet && from.is_some() {
            acker.reply_path = from;
        }
        self.acks = Acks::default();
        self.begin_event(true);
    }

    fn on_timer(&mut self) {
        self.begin_event(false);
    }

    fn on_message(&mut self) {
        // Not a new event: the user often sends because a SACK made room, and the data that
        // this SACK released has not left yet.
        self.release.new_allowed = true;
    }

    // --- 2. a SACK arrives ---

    fn on_old_sack(&mut self) {
        // It still releases new data.
        self.release.new_wanted = true;
    }

    fn on_sack(&mut self, inside: &mut Inside<'_>) {
        self.windows.shrink_idle(&self.cfg, inside);
    }

    fn packets_answered(&self, flags: u8) -> Option<u8> {
        self.cfg.cmt_class.then_some(flags >> 6)
    }

    fn before_ledger(&mut self, inside: &mut Inside<'_>, covered: u64, blocks: &Blocks) {
        self.covered = covered;
        self.advances = covered > inside.ledger().base();
        self.reports.newest_sent = Instant::ZERO;
        self.windows.before_ledger(inside.ledger().base());
        let any_chunk = self.cfg.restarts_t3_at_any_chunk;
        self.t3
            .before_ledger(any_chunk, inside.ledger(), covered, blocks);
        if let Some(cmt) = &mut self.cmt {
            cmt.before_ledger(inside);
        }
    }

    fn on_record(
        &mut self,
        (seq, r): (u64, &Record),
        change: Change,
        window: &Window,
        advanced: Option<u64>,
    ) {
        let below = seq < self.covered;
        self.t3
            .on_record((seq, r), change, (below, self.cfg.cmt_class));
        if below {
            self.release.burst_limited |= r.reports.fast_retransmitted.is_some();
            self.release.give_back(r.bytes);
        }
        // In congestion avoidance each chunk of a gap block counts once in partial_bytes_acked.
        let by_gap = change == Change::Acked && !below && window.avoids_congestion();
        let advances = match &self.cmt {
            Some(_) => advanced.is_some_and(|from| from <= seq),
            None => self.advances,
        };
        let counts = by_gap && advances && self.windows.counts(seq, r.path, r.bytes);
        if let Some(cmt) = &mut self.cmt {
            let passed = cmt.on_record(seq, self.covered, r, change, counts);
            self.t3.stops[r.path.index()] |= passed;
        }
        if change != Change::Acked {
            return;
        }
        self.reports.newest_sent = self.reports.newest_sent.max(r.sent_at);
        let counted = self.advances && window.avoids_congestion();
        if self.cfg.partial_bytes_late && !below && !counted {
            self.windows.uncounted.insert(seq);
        }
    }

    fn measures_round_trip(&mut self, (seq, r): (u64, &Record)) -> Option<bool> {
        let below = seq < self.covered;
        self.cfg.rtt_flag.then(|| self.t3.measures(seq, r, below))
    }

    fn clears_errors(&self, r: &Record) -> bool {
        self.cfg.any_ack_clears_errors && r.fate != Fate::Lost(LossCause::Timeout)
    }

    fn missing_reports(
        &mut self,
        inside: &mut Inside<'_>,
        applied: &Applied,
        blocks: &Blocks,
    ) -> Option<SmallVec<[u64; 8]>> {
        let lost = self
            .reports
            .count(&self.cfg, self.cmt.is_some(), inside, (applied, blocks));
        if applied.cumulative_advanced && !self.windows.uncounted.is_empty() {
            self.windows.count_late_bytes(inside);
        }
        Some(lost)
    }

    // --- 3. windows ---

    fn outstanding(&self, window: &Window) -> u32 {
        windows::outstanding(&self.cfg, window)
    }

    fn grow(&mut self, inside: &mut Inside<'_>, path: PathId, growth: Growth) -> bool {
        if let Some(cmt) = &mut self.cmt {
            cmt.grow(inside, path, &growth);
            return true;
        }
        self.cfg.partial_bytes_when_full && {
            let before = self.windows.counted_before(path);
            windows::grow_when_full(
                &self.cfg,
                self.reports.exit,
                inside,
                (path, &growth),
                before,
            );
            true
        }
    }

    fn cuts_windows(&self) -> bool {
        self.cfg.cuts_beyond_exit
    }

    fn after_sack(&mut self, inside: &mut Inside<'_>) -> SmallVec<[PathId; MAX_PATHS]> {
        let lost = self.reports.lost;
        if self.cfg.sack_clocked {
            self.release.by_sack(lost, inside.ledger().lost());
        }
        match (&mut self.cmt, lost && self.cfg.cuts_beyond_exit) {
            (_, false) => SmallVec::new(),
            (Some(cmt), true) => cmt.cut(inside, &mut self.t3.timing),
            (None, true) => self.reports.cut_beyond_exit(inside, &mut self.t3.timing),
        }
    }

    fn on_t3(&mut self, inside: &mut Inside<'_>, path: PathId, harmless: bool) -> bool {
        self.windows.shrink_idle(&self.cfg, inside);
        self.t3.timing[path.index()] = false;
        self.windows.shrink_at[path.index()] = None;
        harmless || windows::falls_as_configured(&self.cfg, inside, path)
    }

    fn after_t3(&mut self, inside: &mut Inside<'_>, path: PathId) {
        if self.cfg.counts_lost {
            let ledger = inside.ledger();
            let lost = |seq: &u64| {
                let r = ledger.get(*seq);
                r.is_some_and(|r| r.path == path && matches!(r.fate, Fate::Lost(_)))
            };
            let all: Vec<u64> = (ledger.base()..ledger.end()).filter(lost).collect();
            for seq in all {
                inside.change_cause(seq, LossCause::Timeout);
            }
        }
        self.release.by_timeout();
    }

    fn shrinks_idle_windows(&self) -> bool {
        self.cfg.decays_above > 0
    }

    // --- 4. T3-rtx ---

    fn restarts_t3(&self) -> bool {
        self.cfg.restarts_t3_at_any_chunk
    }

    fn t3_after_sack(&mut self, inside: &Inside<'_>, path: PathId) -> Option<Instant> {
        let outstanding = windows::outstanding(&self.cfg, inside.window(path)) > 0;
        let stops = self.t3.stops[path.index()];
        let running = inside.t3(path).filter(|_| outstanding && !stops);
        running.or(outstanding.then(|| inside.timeout(path)))
    }

    fn t3_goes_first(&self) -> bool {
        self.cfg.repeats_heartbeats
    }

    fn t3_goes_alone(&self) -> bool {
        // Its packet leaves before the next timer is checked.
        self.cfg.sack_clocked
    }

    // --- 5. retransmissions ---

    fn next_retransmission(&mut self, inside: &mut Inside<'_>) -> NextRetransmission {
        if !self.cfg.sack_clocked {
            return NextRetransmission::AsConfigured;
        }
        let next = match &mut self.cmt {
            Some(cmt) => cmt.next_retransmission(inside, &mut self.release),
            None => self
                .release
                .next_retransmission(self.cfg.keeps_destination, inside),
        };
        next.map_or(NextRetransmission::Nothing, |(path, seq)| {
            NextRetransmission::Chunk(path, seq)
        })
    }

    fn joins_retransmissions(&self) -> bool {
        self.cfg.sack_clocked
    }

    fn on_retransmission(&mut self, inside: &mut Inside<'_>, seq: u64, from: PathId, to: PathId) {
        self.t3.forget_timing(seq, from);
        if self.cfg.restarts_t3_at_any_chunk {
            t3::restart(inside, seq, from, to);
        }
        if self.cmt.is_some() {
            crate::cmt::bar_fast_retransmit(inside, seq);
        }
        self.windows.note_use(&self.cfg, inside, to);
    }

    fn data_before_heartbeats(&self, lost: &LostChunks) -> bool {
        self.cfg.sack_clocked && self.release.is_one_packet() && !lost.is_empty()
    }

    // --- 6. new data ---

    fn releases_new_data(&mut self, inside: &mut Inside<'_>) -> bool {
        if self.cfg.sack_clocked && !(self.release.new_allowed && self.release.new_wanted) {
            return false;
        }
        if let Some(cmt) = &mut self.cmt {
            if cmt.waits_for_lost(inside.ledger().lost()) {
                self.release.new_wanted = false;
                return false;
            }
            cmt.revive_one(inside);
        }
        true
    }

    fn may_begin(&self, window: &Window) -> Option<bool> {
        let held = if self.cmt.is_some() { window.lost } else { 0 };
        self.cfg
            .sack_clocked
            .then(|| window.flight.saturating_add(held) < window.cwnd)
    }

    fn may_send(&mut self, inside: &Inside<'_>, path: PathId, chunk_bytes: u32) -> bool {
        if self.cfg.send_window == 0 && !self.cfg.burst_after_fast_retransmit {
            return true;
        }
        let most = inside.cfg.congestion.max_burst;
        let limited = self.release.burst_limited;
        let exceeds = match &mut self.cmt {
            Some(cmt) => cmt.exceeds_burst(path, most.filter(|_| limited)),
            None => self.cfg.burst_after_fast_retransmit && self.release.exceeds_burst(most),
        };
        !exceeds
            && self
                .release
                .window_allows(self.cfg.send_window, chunk_bytes)
    }

    fn rwnd_taken(&self, inside: &Inside<'_>) -> u64 {
        if self.cmt.is_none() {
            return 0;
        }
        let lost = |p| u64::from(inside.window(p).lost);
        inside.view().all().map(lost).sum()
    }

    fn probes_window_at_once(&self) -> bool {
        self.cfg.probes_window_at_once
    }

    fn on_new_chunk(&mut self, inside: &Inside<'_>, path: PathId, seq: u64, bytes: u32) {
        self.release.take(self.cfg.send_window, bytes);
        self.t3.begin_timing(seq, path, self.cfg.rtt_flag);
        self.windows.note_use(&self.cfg, inside, path);
    }

    fn after_new_data(&mut self) {
        if self.cfg.sack_clocked {
            self.release.new_wanted = false;
            self.release.burst = 0;
        }
    }

    fn concurrent_order(
        &self,
        view: &PathsView<'_>,
        first: PathId,
    ) -> Option<SmallVec<[PathId; MAX_PATHS]>> {
        self.cmt.as_ref().map(|_| crate::cmt::order(view, first))
    }

    // --- 7. acknowledgements ---

    fn on_data_chunk(&mut self, first: bool, gap: bool) {
        self.acks.note_chunk(first, gap);
    }

    fn on_data(
        &mut self,
        acker: &mut Acker,
        at: (Instant, PathId),
        arrived: &Arrived,
        cfg: &Config,
    ) -> bool {
        let keeps = self.cfg.duplicate_sack_keeps_count;
        if keeps {
            self.acks.on_data(acker, at, arrived, cfg);
        }
        keeps
    }

    fn on_sack_timer(&mut self, acker: &mut Acker) {
        if self.cmt.is_some() {
            acker.answers = 0;
        }
    }

    fn on_sack_sent(&mut self, acker: &mut Acker) -> bool {
        if !self.cfg.duplicate_sack_keeps_count {
            return false;
        }
        acker.now = false;
        acker.answers = 0;
        if self.cmt.is_some() {
            acker.packets = 0;
        }
        true
    }

    fn closing_gap_hurries_sack(&self) -> bool {
        !self.cfg.closed_gap_waits
    }

    // --- 8. failures ---

    fn data_path(&self, view: &PathsView<'_>) -> Option<PathId> {
        self.cfg
            .keeps_destination
            .then(|| crate::failures::kept(view))
    }

    fn on_failed(&self, cfg: &Config, view: &PathsView<'_>, path: PathId) -> Option<PathId> {
        let leaves = self.cfg.keeps_destination && path == view.data_path();
        leaves.then(|| crate::failures::next_destination(cfg, view, path))
    }

    fn counts_for_association(&self, state: PathState) -> bool {
        !self.cfg.counts_active_only || state == PathState::Active
    }

    fn admits_failure(&mut self, inside: &Inside<'_>, path: PathId, to: PathState) -> bool {
        let view = inside.view();
        if self.cfg.unconfirmed_never_fails && !view.is_confirmed(path) {
            return false;
        }
        match (&mut self.cmt, to) {
            (Some(cmt), PathState::PotentiallyFailed) => {
                cmt.admits_suspicion(inside.now, path, view.errors(path))
            }
            _ => true,
        }
    }

    // --- 9. heartbeats ---

    fn has_heartbeat_timers(&self) -> bool {
        !self.cfg.one_heartbeat_timer
    }

    fn repeats_heartbeats(&self) -> bool {
        self.cfg.repeats_heartbeats
    }

    fn deadline(&self) -> Option<Instant> {
        self.round.map(|r| r.due)
    }

    fn on_deadline(&mut self, inside: &mut Inside<'_>) -> Option<PathId> {
        heartbeats::end_round(&mut self.round, inside)
    }

    fn on_confirmed(&mut self, inside: &mut Inside<'_>) {
        self.release.new_wanted |= heartbeats::all_confirmed(inside);
        let wanted = self.cfg.one_heartbeat_timer;
        heartbeats::begin_rounds(&mut self.round, wanted, inside);
    }

    fn on_returned(&mut self, inside: &mut Inside<'_>, path: PathId) {
        if let Some(cmt) = &mut self.cmt {
            cmt.on_returned(inside, path);
            self.release.by_heartbeat();
        }
    }

    // --- 10. set-up ---

    fn trusts_listed_addresses(&self) -> bool {
        self.cfg.trusts_listed_addresses
    }

    fn on_established(&mut self, inside: &mut Inside<'_>) {
        self.release.new_wanted |= !inside.cfg.setup.verify_addresses;
        let wanted = self.cfg.one_heartbeat_timer;
        heartbeats::begin_rounds(&mut self.round, wanted, inside);
    }
}
