//! Missing reports and the exit point of fast recovery (`remembers_highest_new`,
//! `counts_lost`, `cuts_beyond_exit`).

use crate::Ns2Config;
use byway_core::PathId;
use byway_core::config::FastRecovery;
use byway_core::dialect::{Applied, Blocks, Fate, Inside, MAX_PATHS, Record, Split};
use byway_core::policy::FastRetransmits;
use byway_core::policy::retransmit::LossCause;
use byway_core::time::Instant;
use smallvec::SmallVec;

/// The module's state for missing reports.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    /// One past the highest sequence that was newly acknowledged.
    highest_new: u64,
    /// One past the last sequence of the fast recovery.
    pub(crate) exit: u64,
    /// One past the highest sequence that was ever seen outstanding.
    highest_sent: u64,
    /// When the newest chunk was sent that this SACK newly acknowledges.
    pub(crate) newest_sent: Instant,
    /// This SACK reported losses, new or known ones.
    pub(crate) lost: bool,
}

/// Which chunks a SACK reports missing.
struct Rule {
    /// Chunks below this sequence.
    below: u64,
    /// The highest sequence newly acknowledged.
    highest_new: u64,
    /// Also chunks that were retransmitted, no matter when.
    whenever: bool,
}

impl Reports {
    /// Counts missing reports. Returns the chunks in flight that are lost.
    pub(crate) fn count(
        &mut self,
        cfg: &Ns2Config,
        cmt: bool,
        inside: &mut Inside<'_>,
        (applied, blocks): (&Applied, &Blocks),
    ) -> SmallVec<[u64; 8]> {
        self.lost = false;
        let rule = if cmt {
            // With SFR, `split` counts only newly acknowledged chunks of the same
            // destination.
            applied.highest_new.map(|highest| Rule {
                below: highest,
                highest_new: highest,
                whenever: cfg.remembers_highest_new,
            })
        } else if cfg.remembers_highest_new {
            self.remembered_rule(inside, applied, blocks)
        } else {
            self.standard_rule(cfg, inside, applied, blocks)
        };
        let Some(rule) = rule else {
            return SmallVec::new();
        };
        let lost = self.count_by(cfg, cmt, inside, &rule);
        self.lost |= !lost.is_empty();
        lost
    }

    fn remembered_rule(
        &mut self,
        inside: &Inside<'_>,
        applied: &Applied,
        blocks: &Blocks,
    ) -> Option<Rule> {
        let forgets = inside.fast_recovery() == FastRecovery::Off;
        let reports = self;
        let new = applied.highest_new.map_or(0, |seq| seq + 1);
        // Releases of the module without fast recovery did not keep it.
        reports.highest_new = if applied.cumulative_new || forgets {
            new
        } else {
            reports.highest_new.max(new)
        };
        let (last, highest) = blocks.last().zip(reports.highest_new.checked_sub(1))?;
        let all = applied.cumulative_advanced && highest < reports.exit;
        let below = if all {
            highest.max(last.1 - 1)
        } else {
            highest
        };
        Some(Rule {
            below,
            highest_new: highest,
            whenever: true,
        })
    }

    /// RFC 9260's rule, with the exit point of the module.
    fn standard_rule(
        &self,
        cfg: &Ns2Config,
        inside: &Inside<'_>,
        applied: &Applied,
        blocks: &Blocks,
    ) -> Option<Rule> {
        let (highest_new, last) = applied.highest_new.zip(blocks.last())?;
        let sfr = inside.cfg.concurrent.as_ref().is_some_and(|c| c.sfr);
        let recovering = if cfg.cuts_beyond_exit {
            inside.ledger().base() < self.exit
        } else {
            inside.in_fast_recovery()
        };
        let all = recovering && applied.cumulative_advanced && !sfr;
        Some(Rule {
            below: if all { last.1 - 1 } else { highest_new },
            highest_new,
            whenever: false,
        })
    }

    fn count_by(
        &mut self,
        cfg: &Ns2Config,
        cmt: bool,
        inside: &mut Inside<'_>,
        rule: &Rule,
    ) -> SmallVec<[u64; 8]> {
        let outstanding = if cfg.cuts_beyond_exit {
            self.highest_outstanding(inside)
        } else {
            inside.ledger().end()
        };
        let split = split(inside, cmt);
        let retransmits = inside.cfg.retransmission.fast_retransmits;
        let threshold = inside.cfg.congestion.fast_retransmit_threshold;
        let mut lost = SmallVec::new();
        let end = inside.ledger().end().min(rule.below);
        for seq in inside.ledger().base()..end {
            let Some(r) = inside.ledger().get(seq) else {
                break;
            };
            let again = r.reports.fast_retransmitted.is_some();
            if !may_be_missing(r, cfg) || again && !retransmits.repeats() {
                continue;
            }
            let reports = self.reports(seq, r, rule, retransmits, split.as_ref());
            if reports == 0 {
                continue;
            }
            let in_flight = r.fate == Fate::InFlight;
            let Some(of) = inside.reports_mut(seq) else {
                continue;
            };
            of.missing = of.missing.saturating_add(reports);
            if of.missing < threshold {
                continue;
            }
            of.fast_retransmitted = Some(outstanding);
            if in_flight {
                lost.push(seq);
            } else {
                inside.change_cause(seq, LossCause::FastRetransmit);
                self.lost = true;
            }
        }
        lost
    }

    /// How many missing reports the SACK at hand gives a chunk.
    fn reports(
        &self,
        seq: u64,
        r: &Record,
        rule: &Rule,
        retransmits: FastRetransmits,
        split: Option<&Split>,
    ) -> u8 {
        let outlived = r.sends == 1 || rule.whenever || r.sent_at < self.newest_sent;
        let reported = seq < rule.below && outlived;
        match split {
            None => {
                let again = retransmits.counts(r.reports.fast_retransmitted, rule.highest_new);
                u8::from(reported && again)
            }
            Some(split) => {
                let sent_again = (r.sends > 1 && !rule.whenever).then_some(r.sent_at);
                let htna = (reported, rule.highest_new);
                split.reports(seq, r, (retransmits, htna, sent_again))
            }
        }
    }

    /// One past the highest sequence that was ever seen outstanding.
    fn highest_outstanding(&mut self, inside: &Inside<'_>) -> u64 {
        let ledger = inside.ledger();
        let outstanding = |seq: &u64| {
            let r = ledger.get(*seq);
            r.is_some_and(|r| !matches!(r.fate, Fate::Lost(_)))
        };
        let mut all = (ledger.base()..ledger.end()).rev();
        let highest = all.find(outstanding).map_or(0, |seq| seq + 1);
        self.highest_sent = self.highest_sent.max(highest);
        self.highest_sent
    }

    /// A SACK reported losses: cuts the window of each path with a lost chunk beyond the
    /// exit point, and moves the exit point to the highest outstanding sequence. Returns
    /// these paths.
    pub(crate) fn cut_beyond_exit(
        &mut self,
        inside: &mut Inside<'_>,
        timing: &mut [bool; MAX_PATHS],
    ) -> SmallVec<[PathId; MAX_PATHS]> {
        let mut cut = SmallVec::new();
        for seq in inside.ledger().base()..inside.ledger().end() {
            let Some(r) = inside.ledger().get(seq) else {
                break;
            };
            let path = r.path;
            let lost = matches!(r.fate, Fate::Lost(_));
            if !lost || cut.contains(&path) || seq < self.exit {
                continue;
            }
            cut.push(path);
            if inside.fast_recovery() != FastRecovery::Off {
                self.exit = self.highest_outstanding(inside);
            }
            inside.cut_window(path);
            timing[path.index()] = false;
        }
        cut
    }
}

/// Whether the fate of a chunk lets missing reports count.
fn may_be_missing(r: &Record, cfg: &Ns2Config) -> bool {
    match r.fate {
        Fate::InFlight => true,
        Fate::Lost(_) => cfg.counts_lost,
        Fate::Acked => false,
    }
}

/// Split Fast Retransmit, if it is on, with the module's count of destinations.
fn split(inside: &Inside<'_>, cmt: bool) -> Option<Split> {
    let mut split = inside.split()?;
    if cmt {
        // The class looks at gap blocks only here.
        let base = inside.ledger().base();
        let by_gaps = split.newly.iter().flatten().filter(|n| n.highest >= base);
        split.destinations = by_gaps.count() as u32;
    }
    Some(split)
}
