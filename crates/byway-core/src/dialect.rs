//! Dialects: how another implementation reads the standard.
//!
//! byway follows RFC 9260. ns-2's SCTP module, which the papers used, differs from
//! it in some thirty places. To compare the two packet by packet, a [`Dialect`]
//! answers the questions in which implementations differ. It keeps its own state.
//! The default answer to each question is RFC 9260's, and an association without a
//! dialect asks none.
//!
//! The questions, in the order of the methods:
//!
//! 1. Which event releases data?
//! 2. What does a SACK mean: round trips, path errors, missing reports?
//! 3. What counts as outstanding when windows grow, and how do windows change?
//! 4. When does T3-rtx restart?
//! 5. Which retransmission leaves next, and where does it go?
//! 6. May new data leave?
//! 7. When is a SACK due, and where does it go?
//! 8. Where does data go after a failure, and what counts as a failure?
//! 9. How are heartbeats scheduled?
//! 10. Which addresses does set-up trust?
//!
//! A difference between the standards themselves (RFC 2960 and RFC 9260) is not a
//! dialect but a field of [`Config`].

use crate::api::{AssocId, Event};
use crate::config::{Config, FastRecovery};
use crate::observe::Observation;
use crate::outbox::Outbox;
use crate::path::{PathId, PathState, PathTable, PathsView};
use crate::policy::retransmit::LossCause;
use crate::send::concurrent::{fast_recovery, split};
use crate::time::{Duration, Instant};
use chacha20::ChaCha8Rng;
use core::fmt;
use smallvec::SmallVec;
use std::sync::Arc;

pub use crate::path::{MAX_PATHS, Window};
pub use crate::recv::acker::{Acker, Arrived};
pub use crate::send::concurrent::{Concurrent, Split};
pub use crate::send::ledger::Ledger;
pub use crate::send::lost::{Group, LostChunks};
pub use crate::send::record::{Applied, Change, Fate, Record, Reports};

/// Gap blocks as half-open ranges of sequences, in order.
pub type Blocks = SmallVec<[(u64, u64); 16]>;

/// Creates the dialect of each association that is configured with it.
pub trait StartDialect: fmt::Debug + Send + Sync {
    /// Creates the dialect of a new association with these settings.
    fn start(&self, cfg: &Config) -> Box<dyn Dialect>;
}

/// A dialect as a setting ([`EndpointConfig::dialect`]). All associations of an endpoint
/// share the setting, and each has its own [`Dialect`].
///
/// [`EndpointConfig::dialect`]: crate::EndpointConfig::dialect
#[derive(Clone)]
pub struct DialectRef(Arc<dyn StartDialect>);

impl DialectRef {
    /// Wraps a dialect as a setting.
    pub fn new(start: impl StartDialect + 'static) -> DialectRef {
        DialectRef(Arc::new(start))
    }

    pub(crate) fn start(&self, cfg: &Config) -> Box<dyn Dialect> {
        self.0.start(cfg)
    }
}

impl fmt::Debug for DialectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Two are equal if they are the same object.
impl PartialEq for DialectRef {
    fn eq(&self, other: &DialectRef) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// How another implementation reads the standard. The default of every method is
/// RFC 9260's behaviour.
#[expect(
    unused_variables,
    reason = "a default answer reads nothing of what it is told"
)]
pub trait Dialect: fmt::Debug + Send {
    // --- 1. events ---

    /// A packet of the association arrives. `from` is its path, if its source
    /// address has one.
    fn on_packet(&mut self, from: Option<PathId>, acker: &mut Acker) {}

    /// A timer expires.
    fn on_timer(&mut self) {}

    /// The user sends a message.
    fn on_message(&mut self) {}

    // --- 2. a SACK arrives ---

    /// A SACK arrives that is older than one seen before. It is ignored.
    fn on_old_sack(&mut self) {}

    /// A valid SACK arrives and is not processed yet. The cumulative TSN of a
    /// SHUTDOWN does not call this.
    fn on_sack(&mut self, inside: &mut Inside<'_>) {}

    /// How many packets with DATA a SACK with these chunk flags answers (DAC);
    /// `None` to read the flags as configured.
    fn packets_answered(&self, flags: u8) -> Option<u8> {
        None
    }

    /// The ledger is about to apply a SACK. Sequences below `covered` are
    /// cumulatively acknowledged, and `blocks` are its gap blocks.
    fn before_ledger(&mut self, inside: &mut Inside<'_>, covered: u64, blocks: &Blocks) {}

    /// The fate of a record changes, or its acknowledgement becomes final.
    /// `window` is the window of its path. `advanced` is the sequence from which
    /// the SACK advances the path's pseudo cumulative TSNs (CUC), if it does.
    fn on_record(
        &mut self,
        record: (u64, &Record),
        change: Change,
        window: &Window,
        advanced: Option<u64>,
    ) {
    }

    /// Whether a newly acknowledged chunk measures the round trip. Asked only if
    /// no timestamp measures it.
    fn measures_round_trip(&mut self, record: (u64, &Record)) -> Option<bool> {
        None
    }

    /// Whether a newly acknowledged chunk clears the error counter of its path
    /// even if RFC 9260 section 8.2 and RFC 7829 do not clear it.
    fn clears_errors(&self, record: &Record) -> bool {
        false
    }

    /// Counts missing reports (section 7.2.4) and returns the chunks that are lost.
    fn missing_reports(
        &mut self,
        inside: &mut Inside<'_>,
        applied: &Applied,
        blocks: &Blocks,
    ) -> Option<SmallVec<[u64; 8]>> {
        None
    }

    // --- 3. windows ---

    /// The outstanding bytes of a path when the rule asks whether its cwnd is fully
    /// used (section 7.2.1: the flight size).
    fn outstanding(&self, window: &Window) -> u32 {
        window.flight
    }

    /// Grows the window of one path after a SACK. `false` leaves this to the
    /// configured congestion control.
    fn grow(&mut self, inside: &mut Inside<'_>, path: PathId, growth: Growth) -> bool {
        false
    }

    /// Whether losses cut windows only in [`after_sack`](Self::after_sack).
    fn cuts_windows(&self) -> bool {
        false
    }

    /// A SACK has been processed. Returns the paths whose windows this call
    /// changed.
    fn after_sack(&mut self, inside: &mut Inside<'_>) -> SmallVec<[PathId; MAX_PATHS]> {
        SmallVec::new()
    }

    /// T3-rtx of a path expired. `harmless`: the peer answers, but its window is
    /// closed. `false` keeps the configured congestion control from cutting the
    /// window.
    fn on_t3(&mut self, inside: &mut Inside<'_>, path: PathId, harmless: bool) -> bool {
        true
    }

    /// All chunks in flight on the path whose T3-rtx expired are lost now.
    fn after_t3(&mut self, inside: &mut Inside<'_>, path: PathId) {}

    /// Whether the dialect shrinks the windows of idle paths itself (section
    /// 7.2.1, last rule).
    fn shrinks_idle_windows(&self) -> bool {
        false
    }

    // --- 4. T3-rtx ---

    /// Whether the dialect decides when T3-rtx restarts (section 6.3.2).
    fn restarts_t3(&self) -> bool {
        false
    }

    /// When T3-rtx of a path expires after a SACK, if it runs. Asked only if
    /// [`restarts_t3`](Self::restarts_t3).
    fn t3_after_sack(&mut self, inside: &Inside<'_>, path: PathId) -> Option<Instant> {
        None
    }

    /// Whether T3-rtx is handled before a heartbeat timeout of the same path at
    /// the same time.
    fn t3_goes_first(&self) -> bool {
        false
    }

    /// Whether the expiration of T3-rtx ends the handling of timers at this
    /// instant.
    fn t3_goes_alone(&self) -> bool {
        false
    }

    // --- 5. retransmissions ---

    /// Which lost chunk begins the next packet, and the path of that packet.
    fn next_retransmission(&mut self, inside: &mut Inside<'_>) -> NextRetransmission {
        NextRetransmission::AsConfigured
    }

    /// Whether a packet also takes lost chunks whose own target is another path.
    fn joins_retransmissions(&self) -> bool {
        false
    }

    /// A lost chunk that was last sent to `from` is about to be sent to `to`.
    fn on_retransmission(&mut self, inside: &mut Inside<'_>, seq: u64, from: PathId, to: PathId) {}

    /// Whether retransmissions leave before heartbeats.
    fn data_before_heartbeats(&self, lost: &LostChunks) -> bool {
        false
    }

    // --- 6. new data ---

    /// Whether this event may release new data.
    fn releases_new_data(&mut self, inside: &mut Inside<'_>) -> bool {
        true
    }

    /// Whether a packet of new data may begin on a path with this window (section
    /// 6.1, rules B and D).
    fn may_begin(&self, window: &Window) -> Option<bool> {
        None
    }

    /// Whether a packet that begins with a new chunk may leave on a path. Asked
    /// only if the rules of the standard allow it.
    fn may_send(&mut self, inside: &Inside<'_>, path: PathId, chunk_bytes: u32) -> bool {
        true
    }

    /// Bytes of the peer's window that are in use besides the bytes in flight.
    fn rwnd_taken(&self, inside: &Inside<'_>) -> u64 {
        0
    }

    /// Whether a closed window is probed as soon as nothing is in flight, and not
    /// after an RTO (section 6.1, A).
    fn probes_window_at_once(&self) -> bool {
        false
    }

    /// A new chunk is sent.
    fn on_new_chunk(&mut self, inside: &Inside<'_>, path: PathId, seq: u64, bytes: u32) {}

    /// No more new data may leave now.
    fn after_new_data(&mut self) {}

    /// The order of the paths for new data with concurrent multipath transfer.
    fn concurrent_order(
        &self,
        view: &PathsView<'_>,
        first: PathId,
    ) -> Option<SmallVec<[PathId; MAX_PATHS]>> {
        None
    }

    // --- 7. acknowledgements ---

    /// A DATA chunk arrived: `first` if it has the initial TSN, `gap` if it is
    /// new and some TSN before the highest is missing.
    fn on_data_chunk(&mut self, first: bool, gap: bool) {}

    /// A packet with DATA was received, `at` a time and from a path. Returns
    /// whether the dialect decides when it is acknowledged (section 6.2).
    fn on_data(
        &mut self,
        acker: &mut Acker,
        at: (Instant, PathId),
        arrived: &Arrived,
        cfg: &Config,
    ) -> bool {
        false
    }

    /// The delayed SACK's timer expired.
    fn on_sack_timer(&mut self, acker: &mut Acker) {}

    /// A SACK is sent. Returns whether the dialect updates the acker.
    fn on_sack_sent(&mut self, acker: &mut Acker) -> bool {
        false
    }

    /// Whether a packet that fills a gap is acknowledged at once (section 6.7).
    fn closing_gap_hurries_sack(&self) -> bool {
        true
    }

    // --- 8. failures ---

    /// Where new data goes after the state of a path changed.
    fn data_path(&self, view: &PathsView<'_>) -> Option<PathId> {
        None
    }

    /// A path became inactive. Returns where new data moves at once, if it moves.
    fn on_failed(&self, cfg: &Config, view: &PathsView<'_>, path: PathId) -> Option<PathId> {
        None
    }

    /// Whether an error of a path in this state also counts for the association
    /// (section 8.1).
    fn counts_for_association(&self, state: PathState) -> bool {
        true
    }

    /// Whether consecutive errors may change the state of a path.
    fn admits_failure(&mut self, inside: &Inside<'_>, path: PathId, to: PathState) -> bool {
        true
    }

    // --- 9. heartbeats ---

    /// Whether each path has a heartbeat timer (section 8.3).
    fn has_heartbeat_timers(&self) -> bool {
        true
    }

    /// Whether a lost heartbeat is repeated at once.
    fn repeats_heartbeats(&self) -> bool {
        false
    }

    /// When the dialect's own timer expires, if it runs.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// The dialect's own timer expired. Returns the path that gets a heartbeat, if
    /// any.
    fn on_deadline(&mut self, inside: &mut Inside<'_>) -> Option<PathId> {
        None
    }

    /// A heartbeat confirmed an address.
    fn on_confirmed(&mut self, inside: &mut Inside<'_>) {}

    /// A heartbeat made a path active again.
    fn on_returned(&mut self, inside: &mut Inside<'_>, path: PathId) {}

    // --- 10. set-up ---

    /// Whether the responder trusts all addresses that the INIT lists (section 5.4).
    fn trusts_listed_addresses(&self) -> bool {
        false
    }

    /// The association is established, and addresses are about to be verified.
    fn on_established(&mut self, inside: &mut Inside<'_>) {}
}

/// What a SACK means for the window of a path.
#[derive(Copy, Clone, Debug)]
pub struct Growth {
    /// Newly acknowledged bytes whose last transmission went to this path.
    pub bytes: u32,
    /// The part of them that gap blocks acknowledged.
    pub gap_bytes: u32,
    /// Bytes [outstanding](Dialect::outstanding) on this path before the SACK.
    pub outstanding_before: u32,
    /// Whether the cumulative TSN advanced.
    pub cumulative_advanced: bool,
    /// Whether the path is in fast recovery.
    pub in_recovery: bool,
    /// Whether the path's pseudo cumulative TSN advanced, with CUC.
    pub pseudo_cumulative_advanced: Option<bool>,
}

/// A dialect's answer about retransmissions.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum NextRetransmission {
    /// As `retransmission.target` and the windows say.
    AsConfigured,
    /// Nothing now.
    Nothing,
    /// This chunk, to this path.
    Chunk(PathId, u64),
}

/// What a dialect may see and change of an association.
pub struct Inside<'a> {
    /// The current time.
    pub now: Instant,
    /// The association's settings.
    pub cfg: &'a Config,
    /// The association's random numbers.
    pub rng: &'a mut ChaCha8Rng,
    pub(crate) id: AssocId,
    pub(crate) paths: &'a mut PathTable,
    pub(crate) ledger: &'a mut Ledger,
    pub(crate) concurrent: Option<&'a mut Concurrent>,
    /// The association is in fast recovery.
    pub(crate) recovering: bool,
    pub(crate) out: &'a mut Outbox,
}

impl fmt::Debug for Inside<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inside")
            .field("now", &self.now)
            .field("assoc", &self.id)
            .finish_non_exhaustive()
    }
}

impl Inside<'_> {
    /// The paths, as policies see them.
    #[must_use]
    pub fn view(&self) -> PathsView<'_> {
        self.paths.view()
    }

    /// The chunks that are not cumulatively acknowledged.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        self.ledger
    }

    /// The missing reports of a chunk.
    pub fn reports_mut(&mut self, seq: u64) -> Option<&mut Reports> {
        self.ledger.reports_mut(seq)
    }

    /// Changes the cause of a lost chunk.
    pub fn change_cause(&mut self, seq: u64, to: LossCause) {
        self.ledger.change_cause(seq, to);
    }

    /// Marks all chunks in flight on a path as lost, as its T3-rtx does.
    pub fn lose_flight(&mut self, path: PathId) {
        let p = self.paths.get_mut(path);
        self.ledger
            .lose_path(path, |_, r| p.lose_chunk(r.bytes, r.payload.len()));
    }

    /// The state of concurrent multipath transfer, if it is configured.
    pub fn concurrent(&mut self) -> Option<&mut Concurrent> {
        self.concurrent.as_deref_mut()
    }

    /// The same, to read.
    #[must_use]
    pub fn concurrent_ref(&self) -> Option<&Concurrent> {
        self.concurrent.as_deref()
    }

    /// Whether the association is in fast recovery (section 7.2.4).
    #[must_use]
    pub fn in_fast_recovery(&self) -> bool {
        self.recovering
    }

    /// The scope of fast recovery. With concurrent multipath transfer each path has
    /// its own.
    #[must_use]
    pub fn fast_recovery(&self) -> FastRecovery {
        fast_recovery(self.cfg, self.concurrent.is_some())
    }

    /// How this SACK counts missing reports with concurrent multipath transfer.
    #[must_use]
    pub fn split(&self) -> Option<Split> {
        split(self.cfg, self.concurrent.as_deref())
    }

    /// A loss cuts the window of a path (section 7.2.3).
    pub fn cut_window(&mut self, path: PathId) {
        let p = self.paths.get_mut(path);
        p.on_fast_retransmit(&self.cfg.congestion);
    }

    /// The window of a path.
    #[must_use]
    pub fn window(&self, path: PathId) -> &Window {
        self.paths.get(path).window()
    }

    /// The window of a path, to change.
    pub fn window_mut(&mut self, path: PathId) -> &mut Window {
        self.paths.get_mut(path).window_for_dialect()
    }

    /// The retransmission timeout of a path.
    #[must_use]
    pub fn rto(&self, path: PathId) -> Duration {
        self.paths.get(path).rtt.rto()
    }

    /// The time one RTO of the path from now.
    #[must_use]
    pub fn timeout(&self, path: PathId) -> Instant {
        self.paths.get(path).rtt.timeout(self.now)
    }

    /// When T3-rtx of a path expires, if it runs.
    #[must_use]
    pub fn t3(&self, path: PathId) -> Option<Instant> {
        self.paths.get(path).timers.t3()
    }

    /// Sets the time at which T3-rtx of a path expires; `None` stops it.
    pub fn set_t3(&mut self, path: PathId, at: Option<Instant>) {
        self.paths.get_mut(path).timers.set_t3(at);
    }

    /// When the last chunk or heartbeat left that can measure the path's round trip.
    #[must_use]
    pub fn last_timed(&self, path: PathId) -> Instant {
        self.paths.get(path).rtt.last_timed()
    }

    /// Stops the heartbeat timers of all paths, as if all were measured now.
    pub fn stop_heartbeat_timers(&mut self) {
        for p in self.paths.iter_mut() {
            p.rtt.measurable_leaves(self.now);
            p.timers.set(crate::path::PathTimer::Heartbeat, None);
        }
    }

    /// Stops waiting for a path's heartbeat, if one is outstanding, without an error.
    pub fn give_up_heartbeat(&mut self, path: PathId) {
        self.paths.get_mut(path).end_heartbeat();
    }

    /// Makes a path active again. Its timers stop; its error counter stays.
    pub fn revive(&mut self, path: PathId) {
        let p = self.paths.get_mut(path);
        p.timers.set_t3(None);
        p.end_heartbeat();
        p.timers.set(crate::path::PathTimer::Heartbeat, None);
        self.paths.want_heartbeat(path, false);
        self.set_state(path, PathState::Active);
    }

    /// Changes the state of a path, with an observation and an event.
    pub(crate) fn set_state(&mut self, path: PathId, to: PathState) {
        let Some(from) = self.paths.change_state(path, to, self.now) else {
            return;
        };
        let remote = self.paths.get(path).remote();
        self.observe(|| Observation::PathState {
            path,
            from: Some(from),
            to,
        });
        let event = Event::PathChanged {
            path,
            remote,
            from,
            to,
        };
        self.out.event(self.id, event);
    }

    fn observe(&mut self, what: impl FnOnce() -> Observation) {
        self.out.observe(self.now, self.id, what);
    }
}
