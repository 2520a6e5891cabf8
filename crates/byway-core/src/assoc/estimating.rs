//! Estimates of the paths' throughput: measured, and used to choose the primary
//! (`failover.estimate`; `policy/estimate.rs`, `policy/choice.rs`).
//!
//! Probes need no timer. Packets with DATA earn them, and each such packet checks
//! whether a probe is due. So no probe leaves while no data leaves, and the share of
//! probes is bounded at any time.

use super::{Association, Ctx};
use crate::config::Config;
use crate::observe::Observation;
use crate::path::{Path, PathId, PathState};
use crate::policy::choice;
use crate::policy::estimate::{Choice, Estimate, EstimateConfig, PathEstimate, ProbeSize};
use crate::time::{Duration, Instant};
use rand::RngExt;
use smallvec::SmallVec;
use std::collections::{BTreeSet, VecDeque};

/// Losses that are stored, so that spurious ones can be undone.
const MAX_REMEMBERED: usize = 256;
/// Probes of a path that may be unanswered at the same time.
const MAX_UNANSWERED: usize = 64;
/// Most duplicates of one SACK that are looked up.
pub(super) const MAX_DUPLICATES: usize = 64;
/// The interval of round-trip probes on the path that carries data. They are needed
/// because the SACKs of sparse data are delayed and a heartbeat's answer is not.
const ROUND_TRIP_EVERY: Duration = Duration::from_secs(5);
/// The most probes for which credit accumulates.
const MAX_SAVED: f64 = 8.0;

/// A probe that is not answered yet.
#[derive(Copy, Clone, Debug)]
struct Sent {
    nonce: u64,
    at: Instant,
    /// After this time it counts as lost.
    until: Instant,
    full_sized: bool,
}

/// The state of one path.
#[derive(Debug, Default)]
struct Watched {
    estimate: PathEstimate,
    under_way: VecDeque<Sent>,
    probes: u64,
    probe_bytes: u64,
    probed_at: Instant,
}

/// The estimates of an association.
#[derive(Debug)]
pub(crate) struct Estimating {
    paths: SmallVec<[Watched; 2]>,
    /// Chunks that were counted as lost: sequence, number, path.
    counted: BTreeSet<(u64, u64, PathId)>,
    count: u64,
    /// Bytes that probes may still use.
    credit: f64,
    /// No probe leaves before this time.
    next_at: Instant,
    /// The path of the last probe.
    last: PathId,
    /// A probe leaves for this path with the next packets.
    due: Option<PathId>,
    /// The estimates are not used before this time.
    judge_at: Instant,
    /// When the primary changed last.
    moved_at: Option<Instant>,
}

impl Estimating {
    pub(crate) fn of(cfg: &Config) -> Option<Box<Estimating>> {
        cfg.failover.estimate.as_ref()?;
        Some(Box::new(Estimating {
            paths: SmallVec::new(),
            counted: BTreeSet::new(),
            count: 0,
            credit: 0.0,
            next_at: Instant::ZERO,
            last: PathId(0),
            due: None,
            judge_at: Instant::ZERO,
            moved_at: None,
        }))
    }

    /// A path was removed.
    pub(crate) fn forget_path(&mut self, path: PathId) {
        self.counted.retain(|c| c.2 != path);
        *self.path(path) = Watched::default();
        self.due = self.due.filter(|p| *p != path);
    }

    fn path(&mut self, path: PathId) -> &mut Watched {
        if self.paths.len() <= path.index() {
            self.paths.resize_with(path.index() + 1, Watched::default);
        }
        &mut self.paths[path.index()]
    }

    /// A chunk was lost on `path`, which is `p`, while `flight` bytes were in flight
    /// there.
    pub(crate) fn lost(
        &mut self,
        seq: u64,
        path: PathId,
        flight: u32,
        p: &Path,
        now: Instant,
        cfg: &EstimateConfig,
    ) {
        let srtt = p.rtt.srtt().unwrap_or_default();
        let packets = flight / p.window().pmdcs;
        let estimate = &mut self.path(path).estimate;
        if !estimate.taken_for_lost(now, srtt, packets, cfg) {
            return;
        }
        self.count += 1;
        self.counted.insert((seq, self.count, path));
        if self.counted.len() > MAX_REMEMBERED {
            self.counted.pop_first();
        }
    }

    /// One of the losses that were counted for this chunk was spurious: the chunk was
    /// acknowledged before its retransmission, or the peer received it twice. Most likely
    /// it was the first of them, so this one is undone.
    pub(crate) fn loss_was_spurious(&mut self, seq: u64) {
        let first = self.counted.range((seq, 0, PathId(0))..).next().copied();
        if let Some(found) = first.filter(|f| f.0 == seq) {
            self.counted.remove(&found);
            self.path(found.2).estimate.had_arrived();
        }
    }

    pub(crate) fn measured(&mut self, path: PathId, now: Instant, rtt: Duration) {
        self.path(path).estimate.measured(now, rtt);
    }

    pub(crate) fn acknowledged(&mut self, path: PathId, chunks: u32, memory: u32) {
        self.path(path).estimate.acknowledged(chunks, memory);
    }

    /// An ordinary heartbeat was answered or lost.
    pub(crate) fn heartbeat(&mut self, path: PathId, answered: bool, memory: u32) {
        let estimate = &mut self.path(path).estimate;
        if answered {
            estimate.answered(memory);
        } else {
            estimate.unanswered(memory);
        }
    }

    /// Whether a probe leaves with the next packets.
    pub(crate) fn is_due(&self) -> bool {
        self.due.is_some()
    }

    /// Number of probes of a path so far, and their bytes.
    pub(crate) fn probes(&self, path: PathId) -> (u64, u64) {
        let w = self.paths.get(path.index());
        w.map_or((0, 0), |w| (w.probes, w.probe_bytes))
    }

    /// The estimate of a path.
    pub(crate) fn estimate(&self, path: PathId, p: &Path, cfg: &Config) -> Option<Estimate> {
        let rto = p.rtt.srtt()? + 4 * p.rtt.rttvar();
        let rto = rto.clamp(cfg.rto.min, cfg.rto.max);
        self.paths.get(path.index())?.estimate.estimate(rto)
    }

    /// Counts the probes of a path that were not answered in time as lost. Returns their
    /// number.
    fn settle(&mut self, path: PathId, now: Instant, memory: u32) -> usize {
        let w = self.path(path);
        let late = w.under_way.iter().take_while(|s| s.until <= now).count();
        for _ in 0..late {
            w.under_way.pop_front();
            w.estimate.unanswered(memory);
        }
        late
    }
}

impl Association {
    fn estimate_config(&self) -> Option<&EstimateConfig> {
        self.cfg.failover.estimate.as_ref()
    }

    /// Number of passages that an estimate remembers.
    pub(super) fn estimate_memory(&self) -> u32 {
        self.estimate_config().map_or(1, |c| c.memory)
    }

    /// A packet with DATA of this size left. It adds credit for probes, and one may be
    /// due.
    pub(super) fn earn_probes(&mut self, ctx: &Ctx<'_>, len: usize) {
        let (Some(cfg), Some(e)) = (&self.cfg.failover.estimate, &mut self.optional.estimating)
        else {
            return;
        };
        self.stats.data_packet_bytes += len as u64;
        let cost = |p: &Path| match cfg.probe_size {
            ProbeSize::Small => SMALL_PROBE,
            ProbeSize::Packet => p.packet_limit(),
        } as f64;
        e.credit += cfg.probe_share * len as f64;
        if ctx.now < e.next_at || e.due.is_some() {
            return;
        }
        let data = self.paths.data();
        let wants = |id: &PathId| {
            let p = self.paths.get(*id);
            let usable = matches!(p.state(), PathState::Active | PathState::PotentiallyFailed);
            let idle = *id != data && p.window().flight == 0;
            let stale = || {
                let before = e.paths.get(id.index()).map(|w| w.probed_at);
                ctx.now.since(before.unwrap_or_default()) >= ROUND_TRIP_EVERY
            };
            usable && p.is_confirmed() && (idle || stale())
        };
        let Some(path) = self.paths.view().ring(e.last).find(wants) else {
            return;
        };
        let cost = cost(self.paths.get(path));
        e.credit = e.credit.min(MAX_SAVED * cost);
        if e.credit < cost || e.path(path).under_way.len() >= MAX_UNANSWERED {
            return;
        }
        e.credit -= cost;
        e.last = path;
        e.due = Some(path);
        e.next_at = ctx.now + Duration::from_secs(1) / cfg.probes_per_second.max(1);
    }

    /// The path to which a probe leaves now.
    pub(super) fn probe_due(&mut self) -> Option<PathId> {
        self.optional.estimating.as_mut()?.due.take()
    }

    /// A probe leaves. Returns its Heartbeat Information, and whether it is padded.
    pub(super) fn begin_estimate_probe(
        &mut self,
        ctx: &mut Ctx<'_>,
        path: PathId,
    ) -> ([u8; super::on_heartbeat::INFO_LEN], bool) {
        let memory = self.estimate_memory();
        let full_sized = self
            .estimate_config()
            .is_some_and(|c| c.probe_size == ProbeSize::Packet);
        let sent = Sent {
            nonce: ctx.rng.random(),
            at: ctx.now,
            until: ctx.now + self.paths.get(path).rtt.rto(),
            full_sized,
        };
        let late = self.optional.estimating.as_mut().map_or(0, |e| {
            let late = e.settle(path, ctx.now, memory);
            e.path(path).under_way.push_back(sent);
            e.path(path).probed_at = ctx.now;
            late
        });
        if late > 0 {
            self.note_estimate(ctx, path);
        }
        let info = super::on_heartbeat::info_of(path, sent.at, sent.nonce);
        (info, full_sized)
    }

    /// A probe of this number of bytes left.
    pub(super) fn count_probe(&mut self, ctx: &mut Ctx<'_>, path: PathId, len: usize) {
        if let Some(e) = &mut self.optional.estimating {
            let w = e.path(path);
            w.probes += 1;
            w.probe_bytes += len as u64;
        }
        self.stats.probes_sent += 1;
        self.stats.probe_bytes += len as u64;
        let bytes = len as u32;
        self.observe(ctx, || Observation::ProbeSent { path, bytes });
    }

    /// Whether a HEARTBEAT ACK answers a probe. If so, it counts like any other (section
    /// 8.3): it measures the round trip. It also clears errors, unless the probe left
    /// before the last error.
    pub(super) fn on_probe_answered(
        &mut self,
        ctx: &mut Ctx<'_>,
        path: PathId,
        nonce: u64,
    ) -> bool {
        let memory = self.estimate_memory();
        let Some(e) = &mut self.optional.estimating else {
            return false;
        };
        let w = e.path(path);
        let Some(i) = w.under_way.iter().position(|s| s.nonce == nonce) else {
            return false;
        };
        let Some(sent) = w.under_way.remove(i) else {
            return false;
        };
        w.estimate.answered(memory);
        let rtt = ctx.now.since(sent.at);
        w.estimate.measured(ctx.now, rtt);
        self.stats.probes_answered += 1;
        let p = self.paths.get_mut(path);
        p.counters.heard(ctx.now);
        p.rtt.sample(rtt, &self.cfg.rto);
        self.failure.errors = 0;
        self.observe(ctx, || Observation::HeartbeatAcked { path, rtt });
        self.observe_rto(ctx, path, Some(rtt));
        if self.paths.get(path).errors.trusts_answer_to(sent.at) {
            if self.answer_proves(ctx, path, sent.full_sized) {
                self.take_back(ctx, path, sent.at);
            } else {
                self.choose_data_path(ctx, None);
            }
        }
        self.note_estimate(ctx, path);
        true
    }

    /// Records an observation of the estimates of a path and of the path in use.
    fn note_estimate(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        for id in [path, self.paths.data()] {
            if let Some(e) = self.estimate(id) {
                self.observe(ctx, || Observation::Estimate {
                    path: id,
                    rtt: e.rtt,
                    loss: e.loss(),
                    samples: e.trials,
                });
            }
        }
    }

    /// A SACK arrived. The estimates may now say that another path should be the
    /// primary, or that an earlier failover should be permanent. They are checked as
    /// often as probes may leave.
    pub(super) fn judge_paths(&mut self, ctx: &mut Ctx<'_>) {
        let (Some(cfg), Some(e)) = (&self.cfg.failover.estimate, &mut self.optional.estimating)
        else {
            return;
        };
        if ctx.now < e.judge_at || cfg.choice == Choice::Nothing {
            return;
        }
        e.judge_at = ctx.now + Duration::from_secs(1) / cfg.probes_per_second.max(1);
        if !self.holds_no_longer(ctx.now) {
            return;
        }
        let Some(cfg) = self.estimate_config().filter(|c| c.choice == Choice::Best) else {
            self.choose_data_path(ctx, None);
            return;
        };
        if let Some(to) = choice::best(cfg, &self.paths.view(), |p| self.estimate(p)) {
            self.stats.moved_by_estimate += 1;
            self.make_primary(ctx, to);
        }
        self.choose_data_path(ctx, None);
    }

    /// The estimate of a path.
    pub(crate) fn estimate(&self, path: PathId) -> Option<Estimate> {
        self.optional
            .estimating
            .as_ref()?
            .estimate(path, self.paths.get(path), &self.cfg)
    }

    /// Whether a failover to `to` may become permanent.
    pub(super) fn may_become_permanent(&mut self, now: Instant, to: PathId) -> bool {
        let Some(cfg) = self
            .estimate_config()
            .filter(|c| c.choice != Choice::Nothing)
        else {
            return true;
        };
        let (from, to) = (self.estimate(self.paths.primary()), self.estimate(to));
        let better = from
            .zip(to)
            .is_some_and(|(from, to)| choice::is_better(cfg, &from, &to));
        better && self.holds_no_longer(now)
    }

    fn holds_no_longer(&self, now: Instant) -> bool {
        let hold = self.estimate_config().map(|c| c.hold).unwrap_or_default();
        let moved = self.optional.estimating.as_ref().and_then(|e| e.moved_at);
        moved.is_none_or(|at| now.since(at) >= hold)
    }

    /// The primary changed.
    pub(super) fn note_new_primary(&mut self, now: Instant) {
        if let Some(e) = &mut self.optional.estimating {
            e.moved_at = Some(now);
        }
    }

    /// When T3-rtx expires, a chunk of this age or older is surely lost. The age is the
    /// RTO that its path would have without RTO.Min.
    pub(super) fn surely_lost_after(&self, path: PathId) -> Duration {
        let rtt = &self.paths.get(path).rtt;
        rtt.srtt().map_or(rtt.rto(), |srtt| srtt + 4 * rtt.rttvar())
    }
}

/// Bytes of a packet with one of our HEARTBEATs: common header, chunk and parameter
/// header, padded Heartbeat Info.
const SMALL_PROBE: usize =
    byway_wire::COMMON_HEADER_LEN + 8 + byway_wire::padded(super::on_heartbeat::INFO_LEN);
