//! Turns the observations of both ends into a result.

use crate::clock::nanos;
use crate::measures::Meter;
use crate::paths::PathNames;
use crate::result::{Detection, Outcome, PathSeries, PathTotals, RunResult, Series, Stall};
use crate::scenario::{Change, Policy, Scenario};
use crate::series::seconds;
use crate::truth::Truth;
use byway_core::observe::{Observation, Observed, Timer};
use byway_core::policy::retransmit::LossCause;
use byway_core::time::Instant;
use byway_core::{PathId, PathState};
use std::fmt::Write;

/// Most timeouts of a path that are marked in plots.
const MAX_MARKS: usize = 2000;

/// Why a run went no further.
pub(crate) enum Stop {
    /// All was delivered and acknowledged.
    Done,
    /// The sender lost the association, for this reason.
    Lost(String),
    /// The scenario's time was over, or nothing was left to happen.
    Time,
    /// The scenario's events were used up.
    Events,
}

/// What a run expects to deliver.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Expected {
    /// Payload bytes in all.
    pub(crate) bytes: u64,
    /// Whether values over time and the digest are wanted.
    pub(crate) detailed: bool,
}

/// Gathers what the sender and the receiver observe, each in order of time.
pub(crate) struct Collector {
    expected: Expected,
    initial_rto_s: f64,
    totals: Vec<PathTotals>,
    series: Series,
    digest: Digest,
    meter: Meter,
    first_data: Option<u64>,
    /// TSNs sent so far: the greatest place plus one.
    tsns: u64,
    first_time_bytes: u64,
    acked_at: Option<u64>,
    delivered: u64,
    delivered_at: Option<u64>,
    last_delivery: Option<u64>,
    stall: Option<(u64, u64)>,
    fast_retransmits: u64,
    failovers: u64,
    /// Since when data has waited for the peer's window, if it does.
    blocked_since: Option<u64>,
    /// How long it did before, nanoseconds, and how often it began to.
    blocked: (u64, u64),
    truth: Truth,
    /// Where new data goes; the primary at first.
    data_path: PathId,
    duplicates: u64,
    changes: Vec<(u64, PathId, PathState)>,
}

impl Collector {
    pub(crate) fn new(scenario: &Scenario, policy: &Policy, expected: Expected) -> Collector {
        let totals = scenario.paths.iter().map(|p| PathTotals {
            name: p.name.clone(),
            ..PathTotals::default()
        });
        let mut failures = scenario.events.iter().filter(|e| e.change == Change::Down);
        let failure = failures.next().map(|e| (nanos(e.at), e.path));
        let initial_rto_s = policy.config.rto.initial.as_secs_f64();
        Collector {
            expected,
            initial_rto_s,
            totals: totals.collect(),
            series: Series {
                paths: vec![PathSeries::default(); scenario.paths.len()],
                ..Series::default()
            },
            digest: Digest::default(),
            meter: Meter::new(scenario.paths.len(), initial_rto_s, failure),
            first_data: None,
            tsns: 0,
            first_time_bytes: 0,
            acked_at: None,
            delivered: 0,
            delivered_at: None,
            last_delivery: None,
            stall: None,
            fast_retransmits: 0,
            failovers: 0,
            blocked_since: None,
            blocked: (0, 0),
            truth: Truth::new(scenario),
            data_path: PathId(0),
            duplicates: 0,
            changes: Vec::new(),
        }
    }

    /// Payload bytes that a complete run delivers.
    pub(crate) fn expected_bytes(&self) -> u64 {
        self.expected.bytes
    }

    /// Whether values over time and the digest are wanted.
    pub(crate) fn is_detailed(&self) -> bool {
        self.expected.detailed
    }

    /// Whether all has been delivered and acknowledged.
    pub(crate) fn is_complete(&self) -> bool {
        self.acked_at.is_some() && self.delivered_at.is_some()
    }

    fn totals_of(&mut self, path: PathId) -> Option<&mut PathTotals> {
        self.totals.get_mut(usize::from(path.0))
    }

    /// How many DATA chunks are kept.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> usize {
        self.meter.kept()
    }

    /// Takes an observation of the sender.
    pub(crate) fn sender(&mut self, o: &Observed, names: &mut PathNames) {
        if self.expected.detailed {
            self.digest.observed('s', o);
        }
        let renumbered = names.renumbered(o);
        let o = renumbered.as_ref().unwrap_or(o);
        if self.expected.detailed {
            self.draw(o);
        }
        self.meter.sender(o);
        let at = o.at.as_nanos();
        self.count(&o.what);
        match &o.what {
            Observation::DataSent {
                path,
                seq,
                bytes,
                retransmission,
                ..
            } => {
                self.data_sent(at, *path, *seq, u64::from(*bytes), *retransmission);
            }
            Observation::SackReceived { acked, .. } => {
                let all_sent = self.first_time_bytes >= self.expected.bytes;
                if all_sent && *acked >= self.tsns && self.acked_at.is_none() {
                    self.acked_at = Some(at);
                }
            }
            Observation::PathState { path, to, .. } => {
                self.changes.push((at, *path, *to));
                self.truth.state(*path, *to);
            }
            Observation::Rto {
                path,
                sample: Some(_),
                ..
            } => self.truth.heard(*path, at),
            // The set-up may have gone to another path than the first.
            Observation::State { .. } if self.first_data.is_none() => {
                self.data_path = names.number(PathId(0));
            }
            Observation::SpuriousFailover { .. } => self.truth.known += 1,
            Observation::DataPath { to } => {
                self.truth.moved(at, self.data_path, *to);
                self.failovers += u64::from(self.data_path != *to);
                self.data_path = *to;
            }
            Observation::RwndBlocked { blocked: true } if self.blocked_since.is_none() => {
                self.blocked_since = Some(at);
                self.blocked.1 += 1;
            }
            Observation::RwndBlocked { blocked: false } => self.unblocked(at),
            _ => {}
        }
    }

    /// Counts what an observation of the sender adds to the totals of a path.
    fn count(&mut self, what: &Observation) {
        match what {
            Observation::PacketSent { path, bytes } => {
                if let Some(totals) = self.totals_of(*path) {
                    totals.packets += 1;
                    totals.bytes += u64::from(*bytes);
                }
            }
            Observation::TimerFired {
                timer: Timer::T3Rtx,
                path: Some(path),
            } => {
                if let Some(totals) = self.totals_of(*path) {
                    totals.timeouts += 1;
                }
            }
            Observation::HeartbeatSent { path } => {
                if let Some(totals) = self.totals_of(*path) {
                    totals.heartbeats += 1;
                }
            }
            Observation::ProbeSent { path, bytes } => {
                if let Some(totals) = self.totals_of(*path) {
                    let e = totals.estimate.get_or_insert_default();
                    e.probes += 1;
                    e.probe_bytes += u64::from(*bytes);
                }
            }
            Observation::Estimate {
                path,
                rtt,
                loss,
                samples,
            } => {
                if let Some(totals) = self.totals_of(*path) {
                    let e = totals.estimate.get_or_insert_default();
                    (e.rtt_s, e.loss, e.samples) = (rtt.as_secs_f64(), *loss, *samples);
                }
            }
            _ => {}
        }
    }

    /// Data no longer waits for the peer's window.
    fn unblocked(&mut self, at: u64) {
        if let Some(since) = self.blocked_since.take() {
            self.blocked.0 += at.saturating_sub(since);
        }
    }

    /// Keeps what an observation of the sender shows of values over time.
    fn draw(&mut self, o: &Observed) {
        let at = o.at.as_nanos();
        let initial = self.initial_rto_s;
        let Some(path) = path_of(&o.what) else {
            return;
        };
        let Some(series) = self.series.paths.get_mut(usize::from(path.0)) else {
            return;
        };
        match &o.what {
            Observation::PacketSent { bytes, .. } => series.sent.add(at, u64::from(*bytes)),
            Observation::TimerFired { .. } if series.timeouts.len() < MAX_MARKS => {
                series.timeouts.push(at);
            }
            Observation::Rto { rto, .. } => series.rto.push_change(at, rto.as_secs_f64()),
            Observation::Window { cwnd, .. } => series.cwnd.push_change(at, f64::from(*cwnd)),
            Observation::PathState { from, to, .. } => {
                if from.is_none() && series.rto.points().is_empty() {
                    series.rto.push(at, initial);
                }
                series.states.push((at, (*to).into()));
            }
            _ => {}
        }
    }

    fn data_sent(&mut self, at: u64, path: PathId, seq: u64, bytes: u64, cause: Option<LossCause>) {
        self.first_data.get_or_insert(at);
        self.tsns = self.tsns.max(seq + 1);
        match cause {
            None => self.first_time_bytes += bytes,
            Some(LossCause::FastRetransmit) => self.fast_retransmits += 1,
            Some(LossCause::Timeout | LossCause::ProbeTimeout) => {}
        }
        if let Some(totals) = self.totals_of(path) {
            if cause.is_some() {
                totals.retransmitted_bytes += bytes;
                totals.retransmissions += 1;
            } else {
                totals.data_bytes += bytes;
            }
        }
    }

    /// Takes an observation of the receiver.
    pub(crate) fn receiver(&mut self, o: &Observed, names: &mut PathNames) {
        if self.expected.detailed {
            self.digest.observed('r', o);
        }
        let renumbered = names.renumbered(o);
        let o = renumbered.as_ref().unwrap_or(o);
        self.meter.receiver(o);
        if let Observation::DataReceived { seq, duplicate, .. } = &o.what {
            if self.expected.detailed {
                self.series.received.push(o.at.as_nanos(), *seq as f64);
            }
            self.duplicates += u64::from(*duplicate);
        }
    }

    /// The reader has taken `bytes` at the receiver.
    pub(crate) fn delivery(&mut self, now: Instant, bytes: u64) {
        let at = now.as_nanos();
        self.note_gap(at);
        self.last_delivery = Some(at);
        self.delivered += bytes;
        if self.delivered >= self.expected.bytes && self.delivered_at.is_none() {
            self.delivered_at = Some(at);
        }
    }

    /// The time since the last delivery is over at `until`.
    fn note_gap(&mut self, until: u64) {
        if let Some(from) = self.last_delivery {
            let length = until.saturating_sub(from);
            if self.stall.is_none_or(|(_, longest)| length > longest) {
                self.stall = Some((from, length));
            }
        }
    }

    /// The result, when the run has ended at `end`.
    pub(crate) fn finish(
        mut self,
        scenario: &Scenario,
        policy: usize,
        end: u64,
        stopped: Stop,
    ) -> RunResult {
        let outcome = match stopped {
            _ if self.is_complete() => Outcome::Complete,
            Stop::Lost(reason) => Outcome::Lost { reason },
            Stop::Events => Outcome::OutOfEvents,
            Stop::Done | Stop::Time => Outcome::OutOfTime,
        };
        if outcome != Outcome::Complete {
            // The reader still waits: a stall that never ended counts to the end.
            self.last_delivery = self.last_delivery.or(self.first_data);
            self.note_gap(end);
        }
        self.unblocked(end);
        let detections = self.detections(scenario);
        let since_first = |at: Option<u64>| Some(seconds(at?.saturating_sub(self.first_data?)));
        let policy = &scenario.policies[policy];
        let sum = |f: fn(&PathTotals) -> u64| self.totals.iter().map(f).sum();
        RunResult {
            policy: policy.name.clone(),
            note: policy.note.clone(),
            outcome,
            transfer_s: since_first(self.acked_at),
            delivered_s: since_first(self.delivered_at),
            delivered_bytes: self.delivered,
            stall: self.stall.map(|(from, length)| Stall {
                from_s: seconds(from),
                length_s: seconds(length),
            }),
            detections,
            retransmissions: sum(|p| p.retransmissions),
            fast_retransmits: self.fast_retransmits,
            timeouts: sum(|p| p.timeouts),
            failovers: self.failovers,
            failovers_away: self.truth.away,
            spurious_failovers: self.truth.spurious,
            spurious_failovers_known: self.truth.known,
            duplicates: self.duplicates,
            rwnd_blocked_s: seconds(self.blocked.0),
            rwnd_blocked_episodes: self.blocked.1,
            end_s: seconds(end),
            measures: self.meter.finish(),
            digest: format!("{:016x}", self.digest.0),
            paths: self.totals,
            series: self.series,
        }
    }

    /// For each scripted failure, when the sender noticed: the first change of
    /// that path to either state, before the path is repaired.
    fn detections(&self, scenario: &Scenario) -> Vec<Detection> {
        let failures = scenario.events.iter().filter(|e| e.change == Change::Down);
        failures
            .map(|failure| {
                let at = nanos(failure.at);
                let repaired = scenario
                    .events
                    .iter()
                    .find(|e| {
                        e.path == failure.path && e.change == Change::Up && e.at >= failure.at
                    })
                    .map_or(u64::MAX, |e| nanos(e.at));
                let first = |state: PathState| {
                    self.changes
                        .iter()
                        .find(|(t, path, to)| {
                            (at..repaired).contains(t)
                                && usize::from(path.0) == failure.path
                                && *to == state
                        })
                        .map(|(t, ..)| seconds(t - at))
                };
                Detection {
                    at_s: seconds(at),
                    path: failure.path,
                    suspect_after_s: first(PathState::PotentiallyFailed),
                    inactive_after_s: first(PathState::Inactive),
                }
            })
            .collect()
    }
}

/// The path that an observation drawn over time is about.
fn path_of(what: &Observation) -> Option<PathId> {
    match what {
        Observation::PacketSent { path, .. }
        | Observation::Rto { path, .. }
        | Observation::Window { path, .. }
        | Observation::PathState { path, .. }
        | Observation::TimerFired {
            timer: Timer::T3Rtx,
            path: Some(path),
        } => Some(*path),
        _ => None,
    }
}

/// FNV-1a over the text of every observation.
struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Digest(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    fn observed(&mut self, side: char, o: &Observed) {
        // Writing here cannot fail: `write_str` below always succeeds.
        let _ = write!(self, "{side} {} {:?};", o.at.as_nanos(), o.what);
    }
}

impl Write for Digest {
    fn write_str(&mut self, s: &str) -> std::fmt::Result {
        for byte in s.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(())
    }
}
