//! Tries another path while the one in use keeps losing packets (`failover.trial`;
//! `policy/trial.rs`).

use super::{Association, Ctx};
use crate::config::Config;
use crate::path::PathId;
use crate::policy::trial::{Meter, Report};
use crate::time::{Duration, Instant};

/// The trials of an association.
#[derive(Debug)]
pub(crate) struct Trials {
    /// What the path in use delivers.
    meter: Meter,
    /// The path that is measured.
    path: PathId,
    /// Retransmissions of the association at the last report.
    repeated: u64,
    /// Of them, those of which nobody knows yet whether they were lost, and when that is known.
    in_doubt: (u64, Instant),
    /// No trial begins before this time.
    hold_until: Instant,
    /// Trials in a row that failed.
    failed: u32,
    trial: Option<Running>,
}

/// A trial of a path.
#[derive(Copy, Clone, Debug)]
struct Running {
    /// The path before, and what it delivered, in bytes in a second.
    from: (PathId, f64),
    /// When the second half begins, and when the trial ends.
    half: Option<Instant>,
    ends: Instant,
}

impl Trials {
    pub(crate) fn of(cfg: &Config) -> Option<Box<Trials>> {
        let alone = cfg.concurrent.is_none() && cfg.failover.estimate.is_none();
        let rule = cfg.failover.trial.filter(|_| alone)?;
        Some(Box::new(Trials {
            meter: Meter::new(&rule, Instant::ZERO),
            path: PathId(0),
            repeated: 0,
            in_doubt: (0, Instant::ZERO),
            hold_until: Instant::ZERO,
            failed: 0,
            trial: None,
        }))
    }

    /// Measures `path` from now on.
    fn measure(&mut self, path: PathId, now: Instant) {
        self.path = path;
        self.in_doubt.0 = 0;
        self.meter = self.meter.afresh(now);
    }
}

impl Association {
    /// A SACK says this of a path.
    pub(super) fn measure_delivery(&mut self, now: Instant, path: PathId, mut report: Report) {
        let repeated = self.stats.data_chunks_retransmitted;
        let waits = !self.send.queue.is_empty();
        let srtt = self.paths.get(path).rtt.srtt().unwrap_or_default();
        let Some(t) = &mut self.optional.trials else {
            return;
        };
        report.repeated = repeated - t.repeated;
        t.repeated = repeated;
        if t.in_doubt.0 > 0 && now >= t.in_doubt.1 {
            report.repeated += std::mem::take(&mut t.in_doubt.0);
            report.lost = true;
        }
        report.srtt = srtt;
        // Without data that waits, the user is the limit and not the path.
        if path != t.path || !waits {
            t.measure(path, now);
        }
        t.meter.note(report, now);
    }

    /// A chunk leaves again on `path` although nothing says that it was lost. If it was not, its
    /// receiver reports a duplicate within about a round trip; else it counts as lost.
    pub(super) fn note_repeated_in_doubt(&mut self, now: Instant, path: PathId) {
        let p = self.paths.get(path);
        let answer = p.rtt.srtt().unwrap_or(p.rtt.rto()) * 2;
        if let Some(t) = &mut self.optional.trials {
            t.repeated += 1;
            if t.in_doubt.0 == 0 {
                t.in_doubt.1 = now + answer;
            }
            t.in_doubt.0 += 1;
        }
    }

    /// The peer received so many chunks twice: they were not lost.
    pub(super) fn refute_repeated(&mut self, duplicates: usize) {
        if let Some(t) = &mut self.optional.trials {
            t.in_doubt.0 = t.in_doubt.0.saturating_sub(duplicates as u64);
        }
    }

    /// A SACK was dealt with: a trial may begin or end.
    pub(super) fn judge_trial(&mut self, ctx: &mut Ctx<'_>) {
        let data = self.paths.data();
        let (Some(rule), Some(t)) = (self.cfg.failover.trial, &mut self.optional.trials) else {
            return;
        };
        if t.path != data {
            // A failover came between: it decides.
            t.trial = None;
            t.measure(data, ctx.now);
            return;
        }
        if t.trial.is_some() {
            self.continue_trial(ctx);
            return;
        }
        let lossy = rule.is_lossy(&t.meter) && ctx.now >= t.hold_until;
        let rate = t.meter.rate(ctx.now);
        if rule.is_over(&t.meter) {
            t.meter = t.meter.again(ctx.now);
        }
        if lossy && let Some(to) = self.untried() {
            self.begin_trial(ctx, (data, rate), to);
        }
    }

    /// The user or the peer chose the primary. No trial decides against that, and the next
    /// one waits as after one that failed.
    pub(super) fn end_trial(&mut self, now: Instant, chosen: PathId) {
        let (Some(rule), Some(t)) = (self.cfg.failover.trial, &mut self.optional.trials) else {
            return;
        };
        t.trial = None;
        t.hold_until = now + rule.wait(t.failed);
        t.measure(chosen, now);
    }

    /// The next active path without data in flight; not the one in use, which may have none now, too.
    fn untried(&self) -> Option<PathId> {
        let view = self.paths.view();
        let data = self.paths.data();
        view.ring(data).find(|id| {
            let p = self.paths.get(*id);
            *id != data && view.is_preferred(*id) && p.is_confirmed() && p.window().flight == 0
        })
    }

    fn begin_trial(&mut self, ctx: &mut Ctx<'_>, from: (PathId, f64), to: PathId) {
        let Some(rule) = self.cfg.failover.trial else {
            return;
        };
        let rtt = |id| self.paths.get(id).rtt.srtt().unwrap_or_default();
        let round = rtt(from.0).max(rtt(to)).max(Duration::from_millis(1));
        let lasts = round * rule.rounds;
        if let Some(t) = &mut self.optional.trials {
            t.trial = Some(Running {
                from,
                half: Some(ctx.now + lasts / 2),
                ends: ctx.now + lasts,
            });
            t.measure(to, ctx.now);
        }
        self.stats.trials += 1;
        self.make_primary(ctx, to);
        self.choose_data_path(ctx, None);
    }

    fn continue_trial(&mut self, ctx: &mut Ctx<'_>) {
        let (Some(rule), Some(t)) = (self.cfg.failover.trial, &mut self.optional.trials) else {
            return;
        };
        let Some(trial) = &mut t.trial else { return };
        if trial.half.is_some_and(|half| ctx.now >= half) {
            trial.half = None;
            t.meter = t.meter.afresh(ctx.now);
            return;
        }
        if ctx.now < trial.ends {
            return;
        }
        let (from, before) = trial.from;
        let stays = rule.stays(before, t.meter.rate(ctx.now));
        t.trial = None;
        t.failed = if stays { 0 } else { t.failed + 1 };
        t.hold_until = ctx.now + rule.wait(t.failed.saturating_sub(1));
        let path = if stays { t.path } else { from };
        t.measure(path, ctx.now);
        if stays {
            self.stats.trials_won += 1;
            return;
        }
        if self.is_confirmed(from) {
            self.make_primary(ctx, from);
            self.choose_data_path(ctx, None);
        }
    }
}
