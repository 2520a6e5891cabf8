//! Spurious losses: the reduction of a window is undone when what counted as lost had
//! arrived (RFC 3708 for duplicates; RFC 5682, F-RTO, for timeouts; the response is that of
//! RFC 4015).
//!
//! Packets that overtake each other, and delays that grow at once, look like losses. A
//! SACK refutes the loss of a chunk in one of these ways:
//!
//! - It acknowledges the chunk before its retransmission left.
//! - It reports that the peer got the chunk twice (RFC 9260 section 3.3.4).
//! - It acknowledges the retransmission sooner than the path's least round trip.
//!
//! When all losses of a reduction are refuted, cwnd and ssthresh get back the values from
//! before it. A timeout counts all that is in flight as lost. One chunk that is acknowledged
//! before its retransmission left refutes it as a whole, unless the SACK acknowledges all
//! that was under way: then the SACKs were lost, and perhaps data, too. What did not leave
//! again stays in flight. Off by default.
//!
//! A chunk whose acknowledgement the peer took back (RFC 9260 section 6.2.1) is really gone from there. With one among the
//! losses nothing is undone.
//!
//! A peer that lies about duplicates gets the window that it had before (RFC 3708
//! section 5).

use crate::time::{Duration, Instant};
use smallvec::SmallVec;

/// Chunks of one reduction that are remembered. With more losses it is not undone.
const MOST: usize = 128;

/// What took the window down.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    /// Chunks were overdue, or reported missing.
    Loss,
    /// T3-rtx expired.
    Timeout,
}

/// A reduction that may have been spurious.
#[derive(Clone, Debug)]
pub(crate) struct Reduction {
    sign: Sign,
    /// cwnd and ssthresh before it, bytes.
    before: (u32, u32),
    /// When it happened last, and how long it may be undone.
    at: Instant,
    lasts: Duration,
    /// One past the last chunk that was under way.
    end: u64,
    /// Chunks that counted as lost and are not refuted.
    doubted: SmallVec<[u64; 8]>,
    /// More were lost than are remembered.
    too_many: bool,
    /// The peer reneged on one of the losses.
    reneged: bool,
    /// A chunk arrived that had not left again.
    unsent_arrived: bool,
    /// Some loss was refuted.
    refuted: bool,
}

impl Reduction {
    /// The window fell from `before`. `end` is one past the last chunk under way, `lasts`
    /// how long this may be undone.
    pub(crate) fn new(
        sign: Sign,
        before: (u32, u32),
        (at, lasts): (Instant, Duration),
        end: u64,
    ) -> Reduction {
        Reduction {
            sign,
            before,
            at,
            lasts,
            end,
            doubted: SmallVec::new(),
            too_many: false,
            reneged: false,
            unsent_arrived: false,
            refuted: false,
        }
    }

    /// The window falls once more before the first reduction is over. Both are undone
    /// together.
    /// `base`: all chunks before it are acknowledged.
    pub(crate) fn again(self, first: Option<Reduction>, base: u64) -> Reduction {
        let Some(first) = first.filter(|f| f.is_fresh(self.at) && base < f.end) else {
            return self;
        };
        Reduction {
            before: (
                self.before.0.max(first.before.0),
                self.before.1.max(first.before.1),
            ),
            doubted: first.doubted,
            too_many: first.too_many,
            reneged: first.reneged,
            refuted: first.refuted,
            ..self
        }
    }

    fn is_fresh(&self, now: Instant) -> bool {
        now.since(self.at) <= self.lasts
    }

    /// A chunk counts as lost. `reneged`: the peer had acknowledged it and took that back.
    pub(crate) fn lost(&mut self, seq: u64, reneged: bool) {
        self.reneged |= reneged;
        if self.doubted.len() >= MOST {
            self.too_many = true;
        } else if !self.doubted.contains(&seq) {
            self.doubted.push(seq);
        }
    }

    /// The loss of a chunk is refuted. `unsent`: it had not left again. Returns whether
    /// it was one of these losses.
    pub(crate) fn refute(&mut self, seq: u64, unsent: bool) -> bool {
        let Some(i) = self.doubted.iter().position(|&s| s == seq) else {
            return false;
        };
        self.doubted.swap_remove(i);
        self.unsent_arrived |= unsent;
        self.refuted = true;
        true
    }

    /// The cwnd and ssthresh to restore if the reduction was spurious, with `covered`
    /// chunks cumulatively acknowledged.
    pub(crate) fn verdict(&self, now: Instant, covered: u64) -> Option<(u32, u32)> {
        let all = self.doubted.is_empty() && !self.too_many;
        let by_frto = self.sign == Sign::Timeout && self.unsent_arrived && covered < self.end;
        (self.refuted && !self.reneged && (all || by_frto) && self.is_fresh(now))
            .then_some(self.before)
    }

    /// The SACK is dealt with: what it refuted does not refute a timeout later.
    pub(crate) fn sack_ends(&mut self) {
        self.unsent_arrived = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window fell from `before` at this millisecond, with `end` one past what was under way. A second passes until it stays.
    fn fell(sign: Sign, before: (u32, u32), ms: u64, end: u64) -> Reduction {
        let at = Instant::from_millis(ms);
        Reduction::new(sign, before, (at, Duration::from_secs(1)), end)
    }

    /// A reduction at 1 s from a window of 20,000 bytes, with the chunks 5 to 7 lost and
    /// 10 under way.
    fn reduction(sign: Sign) -> Reduction {
        let mut r = fell(sign, (20_000, 9000), 1000, 10);
        for seq in 5..8 {
            r.lost(seq, false);
        }
        r
    }

    #[test]
    fn a_reduction_is_undone_when_all_its_losses_are_refuted() {
        let now = Instant::from_millis(1500);
        let before = Some((20_000, 9000));
        // Refuted chunks (unsent or not), cumulatively acknowledged, verdict.
        type Row<'a> = (Sign, &'a [(u64, bool)], u64, Option<(u32, u32)>);
        let rows: [Row<'_>; 8] = [
            (Sign::Loss, &[], 5, None),
            (Sign::Loss, &[(5, true), (6, false)], 7, None),
            (Sign::Loss, &[(5, true), (6, false), (7, false)], 8, before),
            // A chunk that was not lost, reported twice.
            (Sign::Loss, &[(5, true), (6, true), (4, false)], 7, None),
            (Sign::Timeout, &[(5, true)], 6, before),
            (Sign::Timeout, &[(5, false)], 6, None),
            // All is acknowledged: 5 may have been lost.
            (Sign::Timeout, &[(6, true), (7, true)], 10, None),
            (
                Sign::Timeout,
                &[(6, true), (7, true), (5, false)],
                10,
                before,
            ),
        ];
        for (sign, refuted, covered, expected) in rows {
            let mut r = reduction(sign);
            for &(seq, unsent) in refuted {
                r.refute(seq, unsent);
            }
            assert_eq!(r.verdict(now, covered), expected, "{sign:?} {refuted:?}");
        }
    }

    #[test]
    fn an_old_reduction_stays() {
        let mut r = reduction(Sign::Timeout);
        r.refute(6, true);
        assert_eq!(r.verdict(Instant::from_millis(2001), 7), None);
    }

    #[test]
    fn reductions_one_after_the_other_are_undone_together() {
        let at = Instant::from_millis(1500);
        let second = fell(Sign::Loss, (14_000, 14_000), 1500, 20);
        let mut both = second.again(Some(reduction(Sign::Loss)), 5);
        both.lost(12, false);
        for seq in [5, 6, 7] {
            both.refute(seq, false);
        }
        assert_eq!(both.verdict(at, 12), None);
        both.refute(12, false);
        assert_eq!(both.verdict(at, 13), Some((20_000, 14_000)));
    }

    #[test]
    fn what_the_peer_reneged_on_is_lost() {
        let now = Instant::from_millis(1500);
        for (reneged, expected) in [(false, Some((20_000, 9000))), (true, None)] {
            let mut r = reduction(Sign::Timeout);
            r.lost(8, reneged);
            r.refute(5, true);
            assert_eq!(r.verdict(now, 6), expected, "{reneged}");
            // A second fall of the window forgets it no more than the first.
            let second = fell(Sign::Timeout, (5000, 5000), 1500, 10);
            let mut both = second.again(Some(r), 6);
            both.refute(6, true);
            assert_eq!(both.verdict(now, 7), expected, "{reneged}, again");
        }
    }

    #[test]
    fn too_many_losses_are_not_undone() {
        let mut r = reduction(Sign::Loss);
        for seq in 10..10 + MOST as u64 {
            r.lost(seq, false);
        }
        for seq in 0..10 + MOST as u64 {
            r.refute(seq, false);
        }
        assert_eq!(r.verdict(Instant::from_millis(1000), 300), None);
    }
}
