//! All timers of an association: when each one expires, and the code that handles it.
//!
//! | timer | stored in | expires when | procedure |
//! |---|---|---|---|
//! | T1-init, T1-cookie | `Timers::t1` | INIT or COOKIE ECHO is not answered (RFC 9260 section 5.1) | `setup` |
//! | T2-shutdown | `Timers::t2` | SHUTDOWN or SHUTDOWN ACK is not answered (9.2) | `teardown` |
//! | overdue answer | `Timers::answer` | COOKIE ECHO, SHUTDOWN or SHUTDOWN ACK is not answered by the path's own round trips | `answer` |
//! | T4-rto | `Timers::t4` | an ASCONF is not answered (RFC 5061 section 5.1) | `asconf/sending` |
//! | T5-shutdown-guard | `Timers::t5` | the shutdown takes too long (9.2) | `teardown` |
//! | SACK.Delay | `recv::acker` | a SACK was delayed for this time (6.2) | the next SACK |
//! | window probe | `Timers::window_probe` | the peer's window was closed for an RTO (6.1, A) | `transmit` |
//! | T3-rtx | `PathTimers::t3` | the earliest chunk in flight is not acknowledged (6.3.3) | `t3` |
//! | heartbeat | `PathTimer::Heartbeat` | HB.interval and an RTO have passed (8.3) | `on_heartbeat` |
//! | heartbeat lost | `PathTimer::HeartbeatLost` | a heartbeat is not answered for an RTO (8.3) | `on_heartbeat` |
//! | detector probe | `PathTimer::DetectorProbe` | Dmax/n have passed (cortes-2008) | `probing` |
//! | probe timeout | `PathTimer::ProbeTimeout` | an acknowledgement is overdue | `probe_timeout` |
//! | reordering | `PathTimer::Reordering` | a chunk is overdue beside newer acknowledged ones (RFC 8985) | `sack/overdue` |
//! | MTU probe | `PathTimer::MtuProbe` | a probe of the path's MTU is not answered, or the raise timer of RFC 8899 | `mtu_discovery` |
//! | pacing | `PathTimer::Pacing` | the path's rate lets more new data leave | the next packets |
//! | silence | `PathTimer::Silence` | the peer's data may have stopped in the middle of a flow | `silence` |
//! | move hold-off | `PathTimer::MoveHoldOff` | the heartbeat after the probe timeout is overdue | `probe_timeout` |
//!
//! A dialect may have one more.

use super::{Association, Ctx};
use crate::observe::{Observation, Timer};
use crate::path::{PathId, PathTimer};
use crate::time::Instant;
use core::ops::ControlFlow;

/// The timers of the association itself, not of a path.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    /// T1-init or T1-cookie, by state.
    pub(super) t1: Option<Instant>,
    /// T2-shutdown.
    pub(super) t2: Option<Instant>,
    /// COOKIE ECHO, SHUTDOWN or SHUTDOWN ACK leaves once more.
    pub(super) answer: Option<Instant>,
    /// T4-rto: an ASCONF unanswered.
    pub(super) t4: Option<Instant>,
    /// T5-shutdown-guard.
    pub(super) t5: Option<Instant>,
    /// The next window probe.
    pub(super) window_probe: Option<Instant>,
    /// Retransmissions of INIT or COOKIE ECHO so far.
    pub(super) init_retransmits: u32,
}

impl Timers {
    /// The earliest of them.
    #[inline]
    fn earliest(&self) -> Option<Instant> {
        let set = [
            self.t1,
            self.t2,
            self.answer,
            self.t4,
            self.t5,
            self.window_probe,
        ];
        // Usually none of them runs while data flows.
        if set == [None; 6] {
            return None;
        }
        set.into_iter().flatten().min()
    }
}

impl Association {
    /// The earliest of all timers.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        let mut next = Instant::FAR_FUTURE;
        let mut consider = |t: Option<Instant>| next = next.min(t.unwrap_or(Instant::FAR_FUTURE));
        consider(self.timers.earliest());
        consider(self.recv.acker.timer());
        for p in self.paths.iter() {
            consider(p.timers.t3());
            consider(p.timers.earliest_other());
        }
        if let Some(d) = &self.optional.dialect {
            consider(d.deadline());
        }
        (next != Instant::FAR_FUTURE).then_some(next)
    }

    /// Runs the procedure of every timer that has expired, in a fixed order.
    pub(crate) fn handle_timeout(&mut self, ctx: &mut Ctx<'_>) {
        if self.next_timeout().is_none_or(|t| t > ctx.now) {
            return;
        }
        if let Some(d) = &mut self.optional.dialect {
            d.on_timer();
        }
        self.new_burst();
        self.begin_burst();
        self.handle_association_timers(ctx);
        for path in self.paths.ids() {
            if self.state.is_closed() || self.handle_path_timers(ctx, path).is_break() {
                return;
            }
        }
    }

    fn handle_association_timers(&mut self, ctx: &mut Ctx<'_>) {
        let now = ctx.now;
        let due = |t: Option<Instant>| t.is_some_and(|t| t <= now);
        if due(self.timers.t1) {
            self.on_t1(ctx);
        }
        if due(self.timers.t2) {
            self.on_t2(ctx);
        }
        if due(self.timers.answer) {
            self.on_answer_overdue(ctx);
        }
        if due(self.timers.t4) {
            self.on_t4(ctx);
        }
        if due(self.timers.t5) {
            self.on_t5(ctx);
        }
        if due(self.recv.acker.timer()) {
            self.recv.acker.on_timer();
            if let Some(d) = &mut self.optional.dialect {
                d.on_sack_timer(&mut self.recv.acker);
            }
            self.note_timer(ctx, Timer::SackDelay, None);
        }
        if due(self.timers.window_probe) {
            self.timers.window_probe = None;
            self.send.window_probe.fall_due();
            self.note_timer(ctx, Timer::ZeroWindowProbe, None);
        }
        if self.dialect_says(|d| due(d.deadline())) {
            self.on_dialect_deadline(ctx);
        }
    }

    /// Breaks if the other timers of this instant must not be checked.
    fn handle_path_timers(&mut self, ctx: &mut Ctx<'_>, path: PathId) -> ControlFlow<()> {
        let now = ctx.now;
        let due = |t: Option<Instant>| t.is_some_and(|t| t <= now);
        let t3_first = self.dialect_says(|d| d.t3_goes_first());
        let t3_alone = self.dialect_says(|d| d.t3_goes_alone());
        if t3_first && due(self.paths.get(path).timers.t3()) {
            self.on_t3(ctx, path);
            if self.state.is_closed() || t3_alone {
                return ControlFlow::Break(());
            }
        }
        if due(self.path_timer(path, PathTimer::HeartbeatLost)) {
            self.on_heartbeat_lost(ctx, path);
            self.ask_other_sources(ctx, path, true);
        }
        if self.state.is_closed() {
            return ControlFlow::Break(());
        }
        if due(self.paths.get(path).timers.t3()) {
            self.on_t3(ctx, path);
            if t3_alone {
                return ControlFlow::Break(());
            }
            self.ask_other_sources(ctx, path, false);
        }
        if due(self.path_timer(path, PathTimer::MtuProbe)) {
            self.on_mtu_timer(ctx, path);
        }
        if due(self.path_timer(path, PathTimer::Pacing)) {
            let timers = &mut self.paths.get_mut(path).timers;
            timers.set(PathTimer::Pacing, None);
        }
        if due(self.path_timer(path, PathTimer::Reordering)) {
            self.on_reordering_timer(ctx, path);
        }
        if due(self.path_timer(path, PathTimer::ProbeTimeout)) {
            self.on_probe_timeout(ctx, path);
            self.ask_other_sources(ctx, path, false);
        }
        if due(self.path_timer(path, PathTimer::MoveHoldOff)) {
            self.on_move_hold_off(ctx, path);
            self.on_silence_of_source(ctx, path);
        }
        if due(self.path_timer(path, PathTimer::Silence)) {
            self.on_silence(ctx, path);
        }
        if due(self.path_timer(path, PathTimer::DetectorProbe)) {
            self.on_detector_probe(ctx, path);
        }
        if let Some(at) = self
            .path_timer(path, PathTimer::Heartbeat)
            .filter(|t| *t <= now)
        {
            self.on_heartbeat_due(ctx, path, at);
        }
        ControlFlow::Continue(())
    }

    fn path_timer(&self, path: PathId, which: PathTimer) -> Option<Instant> {
        self.paths.get(path).timers.get(which)
    }

    fn note_timer(&self, ctx: &mut Ctx<'_>, timer: Timer, path: Option<PathId>) {
        self.observe(ctx, || Observation::TimerFired { timer, path });
    }

    /// The timer of a dialect expired.
    #[cold]
    fn on_dialect_deadline(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(Some(path)) = self.ask(ctx, |d, i| d.on_deadline(i)) {
            self.note_timer(ctx, Timer::HeartbeatDue, Some(path));
            self.want_heartbeat(path);
        }
    }

    /// Whether a lost heartbeat is sent again at once, by the rule of a dialect.
    pub(super) fn repeats_heartbeats(&self) -> bool {
        self.dialect_says(|d| d.repeats_heartbeats())
    }
}
