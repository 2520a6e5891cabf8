//! One policy of a session, and what it showed so far.

use crate::packets::Packets;
use byway_core::PathState;
use byway_core::observe::{Observation, Observed, Timer};
use byway_lab::live::{Live, Side};
use byway_lab::result::{PathCondition, RunResult};
use byway_lab::scenario::{Policy, Scenario};
use byway_lab::series::Curve;
use std::time::Duration;

/// Most changes of state and timeouts of a path that are drawn.
const MAX_MARKS: usize = 2000;

/// Events are handled, and counted, so many at a time.
const BATCH: u64 = 200;

/// What is drawn over time.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum CurveKind {
    /// Congestion window of a path, bytes.
    Cwnd,
    /// Place of each DATA chunk sent first on a path.
    Sent,
    /// Place of each DATA chunk sent again on a path.
    SentAgain,
    /// TSNs cumulatively acknowledged at the sender.
    Acked,
    /// Bytes that the reader has taken.
    Read,
}

impl CurveKind {
    /// By its number in the page.
    #[must_use]
    pub fn from_number(n: u32) -> Option<CurveKind> {
        use CurveKind::{Acked, Cwnd, Read, Sent, SentAgain};
        [Cwnd, Sent, SentAgain, Acked, Read]
            .get(n as usize)
            .copied()
    }
}

/// What is known of a path at the moment, and of its past.
#[derive(Debug)]
pub(crate) struct PathTrace {
    pub(crate) state: PathCondition,
    pub(crate) cwnd: u32,
    pub(crate) flight: u32,
    pub(crate) rto_s: f64,
    pub(crate) errors: u32,
    pub(crate) timeouts: u64,
    /// How often it became inactive.
    pub(crate) given_up: u64,
    /// From when, nanoseconds, and which.
    pub(crate) states: Vec<(u64, PathCondition)>,
    pub(crate) fired: Vec<u64>,
    windows: Curve,
    sent: Curve,
    again: Curve,
}

/// What one policy showed so far.
#[derive(Debug)]
pub(crate) struct Trace {
    pub(crate) paths: Vec<PathTrace>,
    pub(crate) data_path: usize,
    pub(crate) failovers: u64,
    pub(crate) retransmissions: u64,
    /// Name of the association's state (RFC 9260 section 4).
    pub(crate) association: &'static str,
    acked: Curve,
    read: Curve,
    pub(crate) read_bytes: u64,
    /// When DATA first left, and when the reader last took some, nanoseconds.
    pub(crate) first_data: Option<u64>,
    pub(crate) last_read: Option<u64>,
    /// The longest stall that is over: from when, and how long, nanoseconds.
    pub(crate) longest: Option<(u64, u64)>,
}

impl Trace {
    fn new(scenario: &Scenario, policy: &Policy) -> Trace {
        let path = |_| PathTrace {
            state: PathCondition::Unconfirmed,
            cwnd: 0,
            flight: 0,
            rto_s: policy.config.rto.initial.as_secs_f64(),
            errors: 0,
            timeouts: 0,
            given_up: 0,
            states: Vec::new(),
            fired: Vec::new(),
            windows: Curve::default(),
            sent: Curve::default(),
            again: Curve::default(),
        };
        Trace {
            paths: (0..scenario.paths.len()).map(path).collect(),
            data_path: 0,
            failovers: 0,
            retransmissions: 0,
            association: "CLOSED",
            acked: Curve::default(),
            read: Curve::default(),
            read_bytes: 0,
            first_data: None,
            last_read: None,
            longest: None,
        }
    }

    fn see(&mut self, o: &Observed, number: impl Fn(byway_core::PathId) -> usize) {
        let at = o.at.as_nanos();
        match &o.what {
            Observation::SackReceived { acked, .. } => self.acked.push_change(at, *acked as f64),
            Observation::State { name } => {
                self.association = name;
                // The set-up may have gone to another path than the first.
                if self.first_data.is_none() {
                    self.data_path = number(byway_core::PathId(0));
                }
            }
            Observation::DataPath { to } => {
                let to = number(*to);
                self.failovers += u64::from(to != self.data_path);
                self.data_path = to;
            }
            what => {
                if let Some((path, what)) = of_path(what)
                    && let Some(trace) = self.paths.get_mut(number(path))
                {
                    trace.see(at, what);
                }
            }
        }
        if let Observation::DataSent { retransmission, .. } = &o.what {
            self.first_data.get_or_insert(at);
            self.retransmissions += u64::from(retransmission.is_some());
        }
    }

    fn read_on(&mut self, live: &mut Live) {
        for delivery in live.deliveries() {
            let at = delivery.at.as_nanos();
            self.stalled_until(at);
            self.last_read = Some(at);
            self.read_bytes += delivery.bytes;
            self.read.push(at, self.read_bytes as f64);
        }
    }

    fn stalled_until(&mut self, at: u64) {
        if let Some(from) = self.last_read {
            let length = at - from;
            if self.longest.is_none_or(|(_, l)| length > l) {
                self.longest = Some((from, length));
            }
        }
    }

    /// A curve, thinned to about `points` points.
    pub(crate) fn curve(&self, kind: CurveKind, path: usize, points: usize) -> Option<Curve> {
        let path = || self.paths.get(path);
        let curve = match kind {
            CurveKind::Cwnd => &path()?.windows,
            CurveKind::Sent => &path()?.sent,
            CurveKind::SentAgain => &path()?.again,
            CurveKind::Acked => &self.acked,
            CurveKind::Read => &self.read,
        };
        Some(curve.thinned(points))
    }
}

/// The path that an observation is about, if it is drawn.
fn of_path(what: &Observation) -> Option<(byway_core::PathId, &Observation)> {
    match what {
        Observation::Window { path, .. }
        | Observation::Rto { path, .. }
        | Observation::Errors { path, .. }
        | Observation::PathState { path, .. }
        | Observation::DataSent { path, .. }
        | Observation::TimerFired {
            timer: Timer::T3Rtx,
            path: Some(path),
        } => Some((*path, what)),
        _ => None,
    }
}

impl PathTrace {
    fn see(&mut self, at: u64, what: &Observation) {
        match what {
            Observation::Window { cwnd, flight, .. } => {
                (self.cwnd, self.flight) = (*cwnd, *flight);
                self.windows.push_change(at, f64::from(*cwnd));
            }
            Observation::Rto { rto, .. } => self.rto_s = rto.as_secs_f64(),
            Observation::Errors { count, .. } => self.errors = *count,
            Observation::PathState { from, to, .. } => {
                self.given_up += u64::from(from.is_some() && *to == PathState::Inactive);
                self.enter(at, *to);
            }
            Observation::DataSent {
                seq,
                retransmission,
                ..
            } => match retransmission {
                None => self.sent.push(at, *seq as f64),
                Some(_) => self.again.push(at, *seq as f64),
            },
            Observation::TimerFired { .. } => {
                self.timeouts += 1;
                if self.fired.len() < MAX_MARKS {
                    self.fired.push(at);
                }
            }
            _ => {}
        }
    }

    fn enter(&mut self, at: u64, to: PathState) {
        self.state = to.into();
        if self.states.len() < MAX_MARKS {
            self.states.push((at, self.state));
        }
    }
}

/// One policy, and what it showed so far.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) trace: Trace,
    pub(crate) packets: Packets,
    live: Option<Live>,
    pub(crate) result: Option<RunResult>,
    /// Events that were handled, at most: the last of each call are counted as a whole batch.
    pub(crate) handled: u64,
}

impl Lane {
    pub(crate) fn new(scenario: &Scenario, index: usize) -> Result<Lane, String> {
        let live = Live::new(scenario, index).map_err(|e| e.to_string())?;
        Ok(Lane {
            trace: Trace::new(scenario, &scenario.policies[index]),
            packets: Packets::default(),
            live: Some(live),
            result: None,
            handled: 0,
        })
    }

    /// Runs up to `until`, at most `events` events. Packets that were gone before `oldest` are not kept.
    pub(crate) fn run_to(
        &mut self,
        scenario: &Scenario,
        until: Duration,
        events: u64,
        oldest: u64,
    ) -> Result<bool, String> {
        let Some(live) = &mut self.live else {
            return Ok(true);
        };
        let trace = &mut self.trace;
        let mut seen = Vec::new();
        let (mut reached, mut left) = (false, events);
        while !reached && left > 0 {
            let batch = left.min(BATCH);
            left -= batch;
            self.handled += batch;
            reached = live
                .run_to(until, batch, &mut |side, o: &Observed| {
                    if side == Side::Sender {
                        seen.push(o.clone());
                    }
                })
                .map_err(|e| e.to_string())?;
        }
        for o in &seen {
            trace.see(o, |path| live.path(path));
        }
        trace.read_on(live);
        for passage in live.passages() {
            self.packets.add(scenario, passage, oldest);
        }
        if live.is_over()
            && let Some(live) = self.live.take()
        {
            self.result = live.finish().map_err(|e| e.to_string())?;
        }
        Ok(reached)
    }
}
