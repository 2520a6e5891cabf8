//! COOKIE ECHO, SHUTDOWN and SHUTDOWN ACK leave once more when their answer is overdue by the path's own round
//! trips (`failover.probe_timeout.tail_probe`).
//!
//! T1-cookie and T2-shutdown wait for RTO.Min at least, one second, and one of these chunks is in each association's
//! way. So a lost one costs as much time as many thousand packets take. They are small and their answers change
//! nothing the second time (RFC 9260 sections 5.2.4, D, and 9.2). Once is what a tail probe is to the tail (RFC 8985
//! section 7.3): T1 and T2 go on, no RTO backs off, and no error counts.

use super::{Association, Control, Ctx, State};
use crate::observe::{Observation, Timer};
use crate::path::PathId;
use crate::time::Duration;

impl Association {
    /// COOKIE ECHO is about to leave: the answer to INIT has shown how long its answer takes, if INIT left once.
    pub(super) fn await_cookie_ack(&mut self, ctx: &Ctx<'_>) {
        let asked = self.setup.asked.filter(|_| self.setup.asked_once);
        // The variation of the first sample (RFC 9260 section 6.3.1, C2).
        let sample = asked.map(|at| ctx.now.since(at)).map(|r| (r, r / 2));
        self.await_answer(ctx, sample);
    }

    /// SHUTDOWN or SHUTDOWN ACK is about to leave on this path.
    pub(super) fn await_answer_to_shutdown(&mut self, ctx: &Ctx<'_>, path: PathId) {
        let rtt = &self.paths.get(path).rtt;
        let sample = rtt.srtt().map(|srtt| (srtt, rtt.rttvar()));
        self.await_answer(ctx, sample);
    }

    fn await_answer(&mut self, ctx: &Ctx<'_>, round_trip: Option<(Duration, Duration)>) {
        let rule = self.cfg.failover.probe_timeout.filter(|r| r.tail_probe);
        self.timers.answer = rule
            .zip(round_trip)
            .map(|(rule, (srtt, rttvar))| ctx.now + rule.answer(srtt, rttvar));
    }

    /// The answer is overdue.
    pub(super) fn on_answer_overdue(&mut self, ctx: &mut Ctx<'_>) {
        self.timers.answer = None;
        if !self.awaits_control() {
            return;
        }
        let path = self.paths.data();
        self.observe(ctx, || Observation::TimerFired {
            timer: Timer::ProbeTimeout,
            path: Some(path),
        });
        self.control.push_back(Control::Again);
    }

    fn awaits_control(&self) -> bool {
        matches!(
            self.state,
            State::CookieEchoed(_) | State::ShutdownSent | State::ShutdownAckSent
        )
    }
}
