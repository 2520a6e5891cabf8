//! Step 2 of SACK reception: the ledger applies the SACK. Each newly acknowledged chunk
//! may measure and prove its path (RFC 9260 sections 6.2.1, 6.3.1 and 8.2).

use super::path_sack::PathSack;
use crate::assoc::timestamps::stamp;
use crate::assoc::{Association, Ctx};
use crate::config::{Config, ErrorClear};
use crate::dialect::{Blocks, Dialect};
use crate::path::{Path, PathState};
use crate::policy::retransmit::LossCause;
use crate::policy::rtt_sampling::{Acknowledged, Echo};
use crate::refusals::Rule;
use crate::send::record::{Applied, Change, Fate, Record};
use crate::time::Instant;

impl Association {
    /// Applies the cumulative TSN and the gap blocks to the ledger. Returns what changed,
    /// and when the newest of the newly acknowledged chunks was sent.
    pub(super) fn apply_to_ledger(
        &mut self,
        ctx: &mut Ctx<'_>,
        covered: u64,
        blocks: &Blocks,
        on_path: &mut [PathSack],
    ) -> (Applied, Instant) {
        let payload_before = self.send.ledger.payload();
        let has_optional_rules = self.has_optional_rules();
        let echo = self.stamps.map_or(Echo::Unused, |s| Echo::Of(s.echoed));
        let (paths, cfg, now) = (&mut self.paths, &*self.cfg, ctx.now);
        let (concurrent, estimating) = (&mut self.send.concurrent, &mut self.optional.estimating);
        let dialect = &mut self.optional.dialect;
        let (base, end) = (self.send.ledger.base(), self.send.ledger.end());
        let mut newest_sent = Instant::ZERO;
        let applied = self.send.ledger.apply(covered, blocks, |seq, r, change| {
            let p = paths.get_mut(r.path);
            if has_optional_rules {
                let acked = change == Change::Acked;
                let mut advanced = None;
                if let Some(c) = concurrent {
                    advanced = c.advanced(r.path);
                    if acked {
                        c.newly_acknowledged(r.path, seq, r.sent_at);
                        p.counters.chunk_acknowledged();
                    }
                    if change == Change::Reneged {
                        c.may_expect(r.path, seq);
                    }
                }
                if let Some(d) = dialect {
                    d.on_record((seq, r), change, p.window(), advanced);
                }
                if let (true, Fate::Lost(_), Some(e)) = (acked, r.fate, &mut *estimating) {
                    e.loss_was_spurious(seq);
                }
            }
            match change {
                Change::Acked => {
                    newest_sent = newest_sent.max(r.sent_at);
                    let s = &mut on_path[r.path.index()];
                    s.ack.gap_bytes += if seq < covered { 0 } else { r.bytes };
                    let chunk = Chunk {
                        seq,
                        base,
                        end,
                        record: r,
                        echo,
                        now,
                    };
                    chunk.note(s, p, cfg, dialect);
                }
                Change::Reneged => p.chunk_taken_back(r.bytes),
                Change::Passed => {}
            }
        });
        self.stats.bytes_acked += payload_before - self.send.ledger.payload();
        if applied.reneged {
            self.discard(ctx, Rule::Misplaced, "the peer took acknowledgements back");
        }
        if applied.highest_new.is_some() {
            self.failure.clear();
            self.send.window_probe.data_acknowledged();
        }
        (applied, newest_sent)
    }
}

/// A chunk that is newly acknowledged.
struct Chunk<'a> {
    seq: u64,
    /// The first chunk that was under way before the SACK, and one past the last.
    base: u64,
    end: u64,
    record: &'a Record,
    /// The echo of the packet's TIMESTAMP.
    echo: Echo,
    now: Instant,
}

impl Chunk<'_> {
    /// Removes the chunk from its path's window, and records what it shows about the
    /// path.
    #[inline]
    fn note(
        &self,
        s: &mut PathSack,
        p: &mut Path,
        cfg: &Config,
        dialect: &mut Option<Box<dyn Dialect>>,
    ) {
        let r = self.record;
        if p.recovery.reduction.is_some() {
            self.refute(p);
        }
        if let Some(rack) = &mut p.recovery.rack {
            rack.acknowledged(self.seq, r, self.now);
        }
        s.ack.bytes += r.bytes;
        s.chunks += 1;
        match r.fate {
            Fate::InFlight => p.chunk_acknowledged(r.bytes),
            Fate::Lost(_) => p.lost_chunk_settled(r.bytes),
            Fate::Acked => {}
        }
        if p.timers.chunk_gone(self.seq) {
            s.t3.restart = true;
            s.t3.after = self.seq;
        }
        let once = r.sends == 1;
        if once {
            s.round_trip = Some(self.now.since(r.sent_at));
        }
        // A chunk that left before the path's last error may have arrived before the
        // path died, and its SACK was lost on the way back. So it does not prove that
        // the path works now. The same holds for a chunk that a timeout made lost, even
        // if the timeout counted as no error (section 6.1, A).
        let timely =
            p.errors.trusts_answer_to(r.sent_at) && r.fate != Fate::Lost(LossCause::Timeout);
        self.prove(s, p, timely, cfg);
        if let Some(d) = dialect {
            let clears = d.clears_errors(r);
            s.proof.clears |= clears;
            s.proof.unambiguous |= clears;
        }
        let timed = p.rtt.end_timing(self.seq);
        let by_dialect = match dialect {
            Some(d) if self.echo == Echo::Unused => d.measures_round_trip((self.seq, r)),
            _ => None,
        };
        let measures = by_dialect.unwrap_or_else(|| {
            let chunk = Acknowledged {
                once,
                timed,
                timely,
                stamp: stamp(r.sent_at),
            };
            cfg.rto.sampling.measures(self.echo, chunk)
        });
        if measures {
            s.sample = Some(self.now.since(r.sent_at));
        }
    }

    /// The window fell. The chunk may show that it was not lost.
    #[cold]
    fn refute(&self, p: &mut Path) {
        let r = self.record;
        let soon = || {
            let rack = p.recovery.rack.as_deref();
            rack.is_some_and(|rack| rack.is_too_soon(r, self.now))
        };
        if (matches!(r.fate, Fate::Lost(_)) || soon()) && p.recovery.refute(self.seq, true) {
            p.recovery.arrived_late(self.base, self.end);
        }
    }

    /// What the chunk proves about its path.
    #[inline]
    fn prove(&self, s: &mut PathSack, p: &Path, timely: bool, cfg: &Config) {
        let r = self.record;
        if !timely {
            return;
        }
        if r.one_path {
            s.proof.unambiguous = true;
            s.proof.largest = s.proof.largest.max(r.bytes);
        }
        // The count of an inactive path is cleared only by a chunk that was never sent to
        // another path (RFC 7829 section 3.2, rule 9).
        let any = cfg.failure.error_clear == ErrorClear::AnyAck
            && (r.one_path || p.state() != PathState::Inactive);
        s.proof.clears |= r.sends == 1 || any;
    }
}
