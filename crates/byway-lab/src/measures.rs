//! Measures of a run that the papers talk about and a table of policies has no
//! room for: chunks sent again and again, timeouts by their length, the mean RTO.

use crate::series::{Buckets, seconds};
use byway_core::observe::{Observation, Observed, Timer};
use byway_core::{PathId, PathState};
use serde::Serialize;
use std::collections::VecDeque;

/// Lengths of T3-rtx that are counted separately (natarajan-2006 figure 14), seconds;
/// the last one includes all longer ones.
pub const PERIODS_S: [u32; 5] = [1, 2, 4, 8, 16];

/// Most errors after a failure that are noted.
const MAX_ERRORS: usize = 8;
/// DATA chunks whose paths are noted.
const NOTED_CHUNKS: usize = 32;

/// Further measures of a run, at the sender unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Measures {
    /// DATA chunks sent for the first time.
    pub originals: u64,
    /// DATA chunks sent at least twice.
    pub sent_again: u64,
    /// DATA chunks sent at least three times.
    pub sent_thrice: u64,
    /// T3-rtx expirations on active paths by length, as in [`PERIODS_S`].
    pub data_timeouts: [u64; PERIODS_S.len()],
    /// Times that the primary changed.
    pub primary_changes: u64,
    /// DATA chunks that were on their way when the first scripted failure
    /// began and did not arrive.
    pub caught_by_failure: u64,
    /// Seconds from that failure until all of these had arrived.
    pub caught_recovered_s: Option<f64>,
    /// When T3-rtx or a heartbeat's timer expired on the path that failed, from
    /// the first scripted failure on, seconds since the start of the run; the
    /// first eight.
    pub errors_after_failure_s: Vec<f64>,
    /// T3-rtx expirations of that path until the sender gave it up.
    pub timeouts_in_doubt: u64,
    /// Heartbeats sent to it until then.
    pub heartbeats_in_doubt: u64,
    /// The first DATA chunks in the order of their places.
    #[serde(skip)]
    pub first_chunks: Vec<ChunkPaths>,
    /// When the first DATA left, seconds since the start of the run.
    pub first_data_s: Option<f64>,
    /// TSNs over time that the sender knew to have arrived, with all before them.
    #[serde(skip)]
    pub acked: Buckets,
    /// For each path, the primary first.
    pub paths: Vec<PathMeasures>,
}

/// Where a DATA chunk was sent.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct ChunkPaths {
    /// Place of the path that it took first.
    pub first: u8,
    /// Place of the path that it took last.
    pub last: u8,
    /// When it was first sent, nanoseconds since the start of the run.
    pub at: u64,
}

/// Measures of one path.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PathMeasures {
    /// Mean RTO over the time from the first DATA to the last SACK, seconds.
    pub mean_rto_s: f64,
    /// Times that the RTO became longer by back-off.
    pub rto_raised: u64,
    /// Times that a sample made the RTO shorter.
    pub rto_lowered: u64,
    /// Heartbeats that were answered.
    pub heartbeats_acked: u64,
    /// Times that the path became inactive.
    pub failures: u64,
    /// Share of the packets of both ends on this path that did not arrive.
    pub loss: f64,
    /// Share of the sender's packets on it that did not: data, heartbeats and answers to them,
    /// not the SACKs that come back.
    pub forward_loss: f64,
}

/// Gathers [`Measures`] from what both ends observe, each in order of time.
pub(crate) struct Meter {
    initial_rto_s: f64,
    /// When the first scripted failure begins, nanoseconds, and of which path.
    failure: Option<(u64, usize)>,
    paths: Vec<PathMeter>,
    /// Those that can still be sent or arrive, by their places; `gone` stood before them.
    chunks: VecDeque<Chunk>,
    gone: u64,
    /// When the last of those that the failure caught and that are gone arrived.
    recovered: Option<u64>,
    measures: Measures,
    first_data: Option<u64>,
    last_ack: u64,
    acked: u64,
    /// Whether the path that failed has been given up.
    given_up: bool,
}

/// A DATA chunk's story.
#[derive(Copy, Clone)]
struct Chunk {
    sends: u8,
    first_sent: u64,
    arrived: u64,
}

impl Chunk {
    /// Whether it was on its way at `failure` and did not arrive before.
    fn is_caught(&self, failure: u64) -> bool {
        self.sends > 0 && self.first_sent < failure && self.arrived > failure
    }
}

#[derive(Clone, Default)]
struct PathMeter {
    measures: PathMeasures,
    /// RTO in seconds, since when, and its integral over time.
    rto: f64,
    since: u64,
    area: f64,
    active: bool,
    sent: [u64; 2],
    arrived: [u64; 2],
}

impl PathMeter {
    /// The RTO was so much until `at`.
    fn pass(&mut self, at: u64) {
        self.area += self.rto * at.saturating_sub(self.since) as f64 / 1e9;
        self.since = self.since.max(at);
    }
}

impl Meter {
    pub(crate) fn new(paths: usize, initial_rto_s: f64, failure: Option<(u64, usize)>) -> Meter {
        let path = PathMeter {
            rto: initial_rto_s,
            ..PathMeter::default()
        };
        Meter {
            initial_rto_s,
            failure,
            paths: vec![path; paths],
            chunks: VecDeque::new(),
            gone: 0,
            recovered: None,
            measures: Measures::default(),
            first_data: None,
            last_ack: 0,
            acked: 0,
            given_up: false,
        }
    }

    fn path(&mut self, path: PathId) -> Option<&mut PathMeter> {
        self.paths.get_mut(usize::from(path.0))
    }

    /// Takes an observation of the sender.
    pub(crate) fn sender(&mut self, o: &Observed) {
        let at = o.at.as_nanos();
        match &o.what {
            Observation::DataSent { seq, path, .. } => self.data_sent(at, *seq, *path),
            Observation::SackReceived { acked, .. } => {
                self.last_ack = at;
                let new = acked.saturating_sub(self.acked);
                self.measures.acked.add(at, new);
                self.acked += new;
                self.forget();
            }
            Observation::TimerFired {
                timer: timer @ (Timer::T3Rtx | Timer::HeartbeatLost),
                path: Some(path),
            } => {
                self.error(at, *path);
                let t3 = *timer == Timer::T3Rtx;
                self.measures.timeouts_in_doubt += u64::from(t3 && self.is_in_doubt(at, *path));
                if t3
                    && let Some(p) = self.path(*path)
                    && p.active
                {
                    let period = period(p.rto);
                    self.measures.data_timeouts[period] += 1;
                }
            }
            Observation::Rto {
                path, sample, rto, ..
            } => {
                let rto = rto.as_secs_f64();
                if let Some(p) = self.path(*path) {
                    p.pass(at);
                    p.measures.rto_raised += u64::from(sample.is_none() && rto > p.rto);
                    p.measures.rto_lowered += u64::from(sample.is_some() && rto < p.rto);
                    p.rto = rto;
                }
            }
            Observation::HeartbeatSent { path } => {
                self.measures.heartbeats_in_doubt += u64::from(self.is_in_doubt(at, *path));
            }
            Observation::HeartbeatAcked { path, .. } => {
                if let Some(p) = self.path(*path) {
                    p.measures.heartbeats_acked += 1;
                }
            }
            Observation::PathState { path, from, to } => {
                self.given_up |= *to == PathState::Inactive && self.is_in_doubt(at, *path);
                if let Some(p) = self.path(*path) {
                    p.active = *to == PathState::Active;
                    let failed = *to == PathState::Inactive && from.is_some();
                    p.measures.failures += u64::from(failed);
                }
            }
            Observation::Primary { .. } => self.measures.primary_changes += 1,
            Observation::PacketSent { path, .. } => self.count(Some(*path), |p| &mut p.sent[0]),
            Observation::PacketReceived { path, .. } => self.count(*path, |p| &mut p.arrived[1]),
            _ => {}
        }
    }

    /// Whether this is the path that has failed, and it has not been given up.
    fn is_in_doubt(&self, at: u64, path: PathId) -> bool {
        let failed = |(since, of)| at >= since && usize::from(path.0) == of;
        !self.given_up && self.failure.is_some_and(failed)
    }

    /// A timer expired on a path.
    fn error(&mut self, at: u64, path: PathId) {
        let errors = &mut self.measures.errors_after_failure_s;
        if let Some((failure, of)) = self.failure
            && at >= failure
            && usize::from(path.0) == of
            && errors.len() < MAX_ERRORS
        {
            errors.push(seconds(at));
        }
    }

    fn count(&mut self, path: Option<PathId>, of: impl Fn(&mut PathMeter) -> &mut u64) {
        if let Some(p) = path.and_then(|path| self.path(path)) {
            *of(p) += 1;
        }
    }

    /// Notes the path of one of the first chunks.
    fn note_path(&mut self, at: u64, seq: u64, path: PathId) {
        let noted = &mut self.measures.first_chunks;
        match usize::try_from(seq).ok() {
            Some(index) if index < noted.len() => noted[index].last = path.0,
            Some(index) if index == noted.len() && index < NOTED_CHUNKS => noted.push(ChunkPaths {
                first: path.0,
                last: path.0,
                at,
            }),
            _ => {}
        }
    }

    fn data_sent(&mut self, at: u64, seq: u64, path: PathId) {
        self.note_path(at, seq, path);
        if self.first_data.is_none() {
            self.first_data = Some(at);
            for p in &mut self.paths {
                p.pass(at);
                p.area = 0.0;
            }
        }
        let Some(chunk) = self.chunk(seq) else {
            return;
        };
        if chunk.sends == 0 {
            chunk.first_sent = at;
        }
        chunk.sends = chunk.sends.saturating_add(1);
        let sends = chunk.sends;
        match sends {
            1 => self.measures.originals += 1,
            2 => self.measures.sent_again += 1,
            3 => self.measures.sent_thrice += 1,
            _ => {}
        }
    }

    /// Forgets the first chunks that have arrived and are acknowledged: nothing more happens to them.
    /// A run of any length needs memory for the chunks in flight alone.
    fn forget(&mut self) {
        while self.gone < self.acked
            && let Some(chunk) = self.chunks.front()
            && chunk.arrived < u64::MAX
        {
            if let Some((failure, _)) = self.failure
                && chunk.is_caught(failure)
            {
                self.measures.caught_by_failure += 1;
                self.recovered = self.recovered.max(Some(chunk.arrived));
            }
            self.chunks.pop_front();
            self.gone += 1;
        }
    }

    /// How many chunks are kept.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> usize {
        self.chunks.len()
    }

    /// The chunk at a place, unless it is forgotten; they are sent in order for the first time.
    fn chunk(&mut self, seq: u64) -> Option<&mut Chunk> {
        let index = usize::try_from(seq.checked_sub(self.gone)?).ok()?;
        if index >= self.chunks.len() {
            // Places are handed out one by one, so that this adds one.
            self.chunks.resize(
                index + 1,
                Chunk {
                    sends: 0,
                    first_sent: 0,
                    arrived: u64::MAX,
                },
            );
        }
        self.chunks.get_mut(index)
    }

    /// Takes an observation of the receiver.
    pub(crate) fn receiver(&mut self, o: &Observed) {
        let at = o.at.as_nanos();
        match &o.what {
            Observation::DataReceived { seq, .. } => {
                if let Some(chunk) = self.chunk(*seq) {
                    chunk.arrived = chunk.arrived.min(at);
                }
            }
            Observation::PacketSent { path, .. } => self.count(Some(*path), |p| &mut p.sent[1]),
            Observation::PacketReceived { path, .. } => self.count(*path, |p| &mut p.arrived[0]),
            _ => {}
        }
    }

    /// The measures, when the run is over.
    pub(crate) fn finish(mut self) -> Measures {
        let mut m = self.measures;
        if let Some((failure, _)) = self.failure {
            let caught = || self.chunks.iter().filter(|c| c.is_caught(failure));
            m.caught_by_failure += caught().count() as u64;
            m.caught_recovered_s = caught()
                .map(|c| c.arrived)
                .chain(self.recovered)
                .max()
                .filter(|last| *last < u64::MAX)
                .map(|last| (last - failure) as f64 / 1e9);
        }
        m.first_data_s = self.first_data.map(seconds);
        let (from, until) = (self.first_data.unwrap_or(0), self.last_ack);
        let length = until.saturating_sub(from) as f64 / 1e9;
        for p in &mut self.paths {
            p.pass(until);
            p.measures.mean_rto_s = if length > 0.0 {
                p.area / length
            } else {
                self.initial_rto_s
            };
            let share =
                |sent: u64, arrived: u64| sent.saturating_sub(arrived) as f64 / sent.max(1) as f64;
            p.measures.loss = share(p.sent.iter().sum(), p.arrived.iter().sum());
            p.measures.forward_loss = share(p.sent[0], p.arrived[0]);
        }
        m.paths = self.paths.into_iter().map(|p| p.measures).collect();
        m
    }
}

/// The place in [`PERIODS_S`] of a timer of `rto` seconds: halfway, by
/// multiplication, to the next one a timer counts as that one.
fn period(rto: f64) -> usize {
    PERIODS_S
        .iter()
        .position(|p| rto <= f64::from(*p) * 1.5)
        .unwrap_or(PERIODS_S.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{RunOptions, run};
    use crate::scenario::Scenario;

    fn measured(rest: &str) -> Measures {
        let text = format!(
            "limit = \"100 s\"\n[protocol]\npreset = \"rfc2960\"\n\
             [traffic]\nkind = \"bulk\"\nsize = \"1 MB\"\n{rest}\n\
             [[path]]\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\n"
        );
        let scenario = Scenario::parse("small", &text).unwrap_or_else(|e| panic!("{e}"));
        let mut comparison = run(&scenario, RunOptions::default()).unwrap();
        comparison.results.remove(0).measures
    }

    const PATH: &str = "[[path]]\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\n";

    #[test]
    fn timers_are_told_apart_by_their_length() {
        for (rto, place) in [(1.0, 0), (1.2, 0), (2.0, 1), (4.4, 2), (16.0, 4), (60.0, 4)] {
            assert_eq!(period(rto), place, "{rto}");
        }
    }

    #[test]
    fn one_lost_chunk_is_sent_again_once() {
        let m = measured(&format!("{PATH}loss = {{ data = [9] }}\n"));
        assert_eq!((m.originals, m.sent_again, m.sent_thrice), (689, 1, 0));
        assert_eq!(m.data_timeouts, [0; 5]);
        let p = &m.paths[0];
        assert!((p.loss - 1.0 / 1035.0).abs() < 3e-4, "{}", p.loss);
        // RTO.Initial is left behind with the first SACK; the one path after
        // that stays at RTO.Min, the other one at RTO.Initial.
        assert!((1.0..1.6).contains(&p.mean_rto_s), "{}", p.mean_rto_s);
        assert_eq!((p.rto_raised, p.failures), (0, 0));
    }

    #[test]
    fn the_loss_of_the_sender_s_packets_is_told_from_that_of_both_ends() {
        // Three SACKs, of some 1035 packets.
        let m = measured(&format!(
            "{PATH}reverse = {{ loss = {{ packets = [9, 12, 20] }} }}\n"
        ));
        let p = &m.paths[0];
        assert!((p.loss - 3.0 / 1035.0).abs() < 3e-4, "{}", p.loss);
        // The last of the sender's 691 packets is on its way when the run ends.
        assert!(
            (p.forward_loss - 1.0 / 691.0).abs() < 1e-5,
            "{}",
            p.forward_loss
        );
        // That, and one DATA, which makes 692.
        let m = measured(&format!("{PATH}loss = {{ data = [9] }}\n"));
        let lost = m.paths[0].forward_loss;
        assert!((lost - 2.0 / 692.0).abs() < 1e-5, "{lost}");
    }

    #[test]
    fn what_a_failure_catches_is_followed_until_it_arrives() {
        let m = measured(&format!(
            "{PATH}[[event]]\nat = \"500 ms\"\npath = 1\ndo = \"down\"\n"
        ));
        assert!((20..60).contains(&m.caught_by_failure), "{m:?}");
        // AllRtxAlt: after the first timeout, of a second.
        let recovered = m.caught_recovered_s.unwrap();
        assert!((1.0..2.5).contains(&recovered), "{recovered}");
        assert_eq!(m.data_timeouts, [1, 1, 1, 1, 2]);
        assert_eq!(m.paths[0].failures, 1);
        assert!(m.paths[0].rto_raised >= 5);
    }
}
