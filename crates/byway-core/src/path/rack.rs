//! What loss detection by time knows of a path (RFC 8985 section 5.2;
//! `policy/rack.rs`).

use crate::policy::Rack;
use crate::send::record::Record;
use crate::time::{Duration, Instant};

/// Recoveries without a late chunk after which the reordering window is one share again
/// (RFC 8985 section 6.2, step 4).
const PERSISTS: u32 = 16;

/// A chunk that left so often is left to T3-rtx: no loss by chance takes so many of its sendings while newer chunks
/// pass, but a peer that does not acknowledge it would get it once in each round trip.
const SENDINGS: u8 = 16;

/// The newest chunk of a path that was acknowledged, and the path's round trips.
#[derive(Clone, Debug)]
pub(crate) struct RackState {
    cfg: Rack,
    /// The newest acknowledged chunk (RACK.xmit_ts and RACK.segment).
    newest: Option<Newest>,
    /// Its round trip (RACK.rtt).
    rtt: Duration,
    /// The least round trip of chunks that left once (RACK.min_RTT).
    least: Option<Duration>,
    /// The same of the last round trips.
    recent: Recent,
    /// The least round trip of heartbeats. A path that has carried only chunks that were sent
    /// elsewhere before has no other measure.
    least_of_heartbeats: Option<Duration>,
    /// How many shares of the least round trip the reordering window has
    /// (`RACK.reo_wnd_mult`).
    shares: u32,
    /// Recoveries until it is one share again (`RACK.reo_wnd_persist`).
    persists: u32,
    /// The window grows again when the chunks before this sequence are acknowledged.
    grows_after: u64,
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
            recent: Recent::default(),
            least_of_heartbeats: None,
            shares: 1,
            persists: 0,
            grows_after: 0,
            tail_probe: None,
        }
    }

    /// Steps 1 and 2: a chunk of the path was acknowledged.
    #[inline]
    pub(crate) fn acknowledged(&mut self, seq: u64, r: &Record, now: Instant) {
        let rtt = now.since(r.sent_at);
        let once = r.sends == 1;
        // An answer that is faster than the path can be is that of an earlier sending.
        if !once && (self.least().is_none_or(|least| rtt < least) || self.recent.excludes(rtt, now))
        {
            return;
        }
        if once {
            lower(&mut self.least, rtt);
            self.recent.measured(rtt, now);
        }
        let at = r.sent_at;
        if self.newest.is_none_or(|n| (at, seq) > (n.at, n.seq)) {
            self.newest = Some(Newest { at, seq, once });
            self.rtt = rtt;
        }
    }

    /// A heartbeat of the path was answered.
    pub(super) fn heartbeat_answered(&mut self, rtt: Duration) {
        lower(&mut self.least_of_heartbeats, rtt);
    }

    fn least(&self) -> Option<Duration> {
        self.least.or(self.least_of_heartbeats)
    }

    /// The newest acknowledged chunk was answered for an earlier sending.
    pub(super) fn forget_newest(&mut self) {
        self.newest = None;
    }

    /// When the newest acknowledged chunk left.
    pub(crate) fn newest(&self) -> Option<Instant> {
        self.newest.map(|newest| newest.at)
    }

    /// Step 5: when a chunk in flight counts as lost; none if no newer chunk was
    /// acknowledged, or if it left 16 times.
    pub(crate) fn overdue_at(
        &self,
        seq: u64,
        r: &Record,
        srtt: Option<Duration>,
    ) -> Option<Instant> {
        let counts = |newest: &Newest| r.sends < SENDINGS && newest.left_after(seq, r);
        let newest = self.newest.filter(counts);
        let least = self.least().unwrap_or(self.rtt);
        let window = self.cfg.window(least, self.shares, srtt);
        newest.map(|_| r.sent_at + self.rtt + window)
    }

    /// Step 4: a chunk that counted as lost had arrived. The reordering window grows by a
    /// share, once for each round trip.
    pub(super) fn arrived_late(&mut self, base: u64, end: u64) {
        self.persists = PERSISTS;
        if base >= self.grows_after {
            self.shares = self.shares.saturating_add(1);
            self.grows_after = end;
        }
    }

    /// A recovery begins. After some of them without a late chunk the window is one
    /// share again.
    pub(super) fn recovers(&mut self) {
        self.persists = self.persists.saturating_sub(1);
        if self.persists == 0 {
            self.shares = 1;
        }
    }

    /// Whether chunks of the path overtake each other, so that missing reports say
    /// nothing and only time decides (RFC 8985 section 6.2, step 4).
    #[inline]
    pub(crate) fn sees_reordering(&self) -> bool {
        self.persists > 0
    }

    /// Whether the answer to a chunk that was sent again came sooner than the path can
    /// answer: it is that to an earlier sending.
    #[inline]
    pub(crate) fn is_too_soon(&self, r: &Record, now: Instant) -> bool {
        r.sends > 1
            && self
                .least()
                .is_some_and(|least| now.since(r.sent_at) < least)
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
        !twice && self.least().is_some_and(|least| now.since(at) >= least)
    }
}

/// The newest chunk that was acknowledged.
#[derive(Copy, Clone, Debug)]
struct Newest {
    /// When it left.
    at: Instant,
    seq: u64,
    /// It left once.
    once: bool,
}

impl Newest {
    /// Whether it left after this chunk. What leaves at one instant leaves in order of sequence, but for a
    /// retransmission: that leaves after what had left when it was lost.
    fn left_after(&self, seq: u64, r: &Record) -> bool {
        if self.at != r.sent_at {
            return self.at > r.sent_at;
        }
        match self.once && r.sends > 1 {
            true => (r.reports.fast_retransmitted).is_some_and(|end| self.seq >= end),
            false => self.seq > seq,
        }
    }
}

/// The least round trip of the last one or two round trips. A queue makes it much longer than the least of all.
#[derive(Clone, Debug, Default)]
struct Recent {
    this: Option<Duration>,
    before: Option<Duration>,
    /// When `this` began, and when it was measured last.
    began: Instant,
    last: Instant,
}

impl Recent {
    /// A chunk that left once had this round trip.
    fn measured(&mut self, rtt: Duration, now: Instant) {
        if now.since(self.began) > rtt {
            self.before = self.this.take();
            self.began = now;
        }
        self.last = now;
        lower(&mut self.this, rtt);
    }

    /// Whether a chunk cannot have had this round trip: it is less than half of the least. A queue does not get so
    /// much shorter within a round trip or two; after that nothing is known.
    fn excludes(&self, rtt: Duration, now: Instant) -> bool {
        let least = [self.this, self.before].into_iter().flatten().min();
        least.is_some_and(|least| now.since(self.last) <= 2 * least && 2 * rtt < least)
    }
}

fn lower(least: &mut Option<Duration>, rtt: Duration) {
    *least = Some(least.map_or(rtt, |least| least.min(rtt)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::PathId;
    use crate::send::record::{Fate, Reports};
    use bytes::Bytes;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    /// A chunk that left last at this time, and how often.
    fn record(sent_us: u64, sends: u8, fast_retransmitted: Option<u64>) -> Record {
        Record {
            payload: Bytes::new(),
            ppid_or_fsn: 0,
            number: 0,
            stream: 0,
            unordered: false,
            begin: true,
            end: true,
            immediate: false,
            one_path: true,
            reneged: false,
            sends,
            bytes: 1000,
            path: PathId(0),
            fate: Fate::InFlight,
            reports: Reports {
                missing: 0,
                fast_retransmitted,
            },
            sent_at: at(sent_us),
        }
    }

    /// A path with a queue of 50 ms and little else: chunks 0 to 149 left each millisecond.
    fn queued() -> RackState {
        let mut rack = RackState::new(Rack::default());
        rack.acknowledged(0, &record(0, 1, None), at(200));
        for n in 1..150 {
            let sent = 1000 * n;
            rack.acknowledged(n, &record(sent, 1, None), at(sent + 50_000));
        }
        rack
    }

    #[test]
    fn what_leaves_at_one_instant_leaves_in_order_but_for_what_is_sent_again() {
        // Chunk 170 left once at 170 ms, and is the newest that was acknowledged.
        let mut rack = queued();
        rack.acknowledged(170, &record(170_000, 1, None), at(220_000));
        for (seq, sent, sends, fast_retransmitted, older) in [
            (169, 170_000, 1, None, true),
            (171, 170_000, 1, None, false),
            (171, 169_999, 1, None, true),
            (169, 170_001, 1, None, false),
            // Chunk 161 was sent again when the chunks up to 170, or up to 169, had left.
            (161, 170_000, 2, Some(171), false),
            (161, 170_000, 2, Some(170), true),
            // After a timeout: not known.
            (161, 170_000, 2, None, false),
            (161, 169_999, 2, None, true),
        ] {
            let r = record(sent, sends, fast_retransmitted);
            assert_eq!(
                rack.overdue_at(seq, &r, None).is_some(),
                older,
                "{seq}, {sent} us, {sends}, {fast_retransmitted:?}"
            );
        }
        // Two that were sent again leave in order.
        let again = record(180_000, 2, Some(190));
        rack.acknowledged(162, &again, at(230_000));
        assert!(rack.overdue_at(161, &again, None).is_some());
        assert!(rack.overdue_at(163, &again, None).is_none());
    }

    #[test]
    fn what_left_too_often_is_left_to_t3_rtx() {
        let mut rack = queued();
        rack.acknowledged(170, &record(170_000, 1, None), at(220_000));
        for (sends, timed) in [(15, true), (16, false), (255, false)] {
            let r = record(160_000, sends, Some(150));
            assert_eq!(rack.overdue_at(100, &r, None).is_some(), timed, "{sends}");
        }
    }

    /// It is answered a millisecond after it was sent again, behind a queue of 50 ms: that is the answer to its first sending.
    /// As an answer to the second one, all that left before that would be overdue, over and over.
    #[test]
    fn an_answer_that_is_faster_than_the_queue_is_that_of_an_earlier_sending() {
        for (answered, counts) in [(1000, false), (24_000, false), (26_000, true)] {
            let mut rack = queued();
            let before = rack.newest();
            rack.acknowledged(5, &record(200_000, 2, Some(150)), at(200_000 + answered));
            assert_eq!(rack.newest() != before, counts, "after {answered} us");
        }
        // The queue may be empty when nothing was measured for two round trips.
        let mut rack = queued();
        rack.acknowledged(5, &record(300_000, 2, Some(150)), at(300_300));
        assert_eq!(rack.newest(), Some(at(300_000)));
        // Faster than the path has ever been.
        rack.acknowledged(6, &record(310_000, 2, Some(150)), at(310_100));
        assert_eq!(rack.newest(), Some(at(300_000)));
    }
}
