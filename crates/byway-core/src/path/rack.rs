//! What loss detection by time knows of a path (RFC 8985 section 5.2;
//! `policy/rack.rs`).

use crate::policy::Rack;
use crate::send::record::Record;
use crate::time::{Duration, Instant};

/// The newest chunk of a path that was acknowledged, and the path's round trips.
#[derive(Clone, Debug)]
pub(crate) struct RackState {
    cfg: Rack,
    /// When the newest acknowledged chunk left, and its sequence (RACK.xmit_ts and
    /// RACK.segment).
    newest: Option<(Instant, u64)>,
    /// Its round trip (RACK.rtt).
    rtt: Duration,
    /// The least round trip of all (RACK.min_RTT).
    least: Option<Duration>,
    /// The chunk that was repeated as a tail probe, and when.
    tail_probe: Option<(u64, Instant)>,
}

impl RackState {
    pub(crate) fn new(cfg: Rack) -> RackState {
        RackState {
            cfg,
            newest: None,
            rtt: Duration::ZERO,
            least: None,
            tail_probe: None,
        }
    }

    /// Steps 1 and 2: a chunk of the path was acknowledged.
    #[inline]
    pub(crate) fn acknowledged(&mut self, seq: u64, r: &Record, now: Instant) {
        let rtt = now.since(r.sent_at);
        // An answer that is faster than the path can be is that of an earlier sending.
        if r.sends > 1 && self.least.is_none_or(|least| rtt < least) {
            return;
        }
        if r.sends == 1 {
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        }
        let this = (r.sent_at, seq);
        if self.newest.is_none_or(|newest| this > newest) {
            self.newest = Some(this);
            self.rtt = rtt;
        }
    }

    /// When the newest acknowledged chunk left.
    pub(crate) fn newest(&self) -> Option<Instant> {
        self.newest.map(|(at, _)| at)
    }

    /// Step 5: when a chunk in flight counts as lost; none if no newer chunk was
    /// acknowledged.
    pub(crate) fn overdue_at(
        &self,
        seq: u64,
        r: &Record,
        srtt: Option<Duration>,
    ) -> Option<Instant> {
        let newest = self.newest.filter(|&n| (r.sent_at, seq) < n);
        let window = self.cfg.window(self.least.unwrap_or(self.rtt), srtt);
        newest.map(|_| r.sent_at + self.rtt + window)
    }

    /// A chunk was repeated as a tail probe.
    pub(crate) fn sent_tail_probe(&mut self, seq: u64, now: Instant) {
        self.tail_probe = Some((seq, now));
    }

    /// The chunk under way as a tail probe.
    pub(crate) fn tail_probe(&self) -> Option<u64> {
        self.tail_probe.map(|(seq, _)| seq)
    }

    /// The tail probe is acknowledged, or arrived twice. Answers whether it repaired a
    /// loss: it did if the peer got it once and the answer is not that to the first
    /// sending (RFC 8985 section 7.4).
    pub(crate) fn end_tail_probe(&mut self, now: Instant, twice: bool) -> bool {
        let Some((_, at)) = self.tail_probe.take() else {
            return false;
        };
        !twice && self.least.is_some_and(|least| now.since(at) >= least)
    }
}
