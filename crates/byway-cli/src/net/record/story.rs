//! What happens to the associations of a command, told by the core: lines of the log, and values over time.

use super::journal::{Line, journal};
use byway::{Event, PathId, PathState};
use byway_core::observe::{Observation, Observed, Timer};
use byway_core::policy::retransmit::LossCause;
use byway_core::time::Instant;
use byway_core::{AssocId, Endpoint};
use byway_lab::transfer::{AssociationRecord, EventRecord, PathRecord, push};
use byway_lab::units::format_duration;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

/// Associations of which values over time are kept: those that carry most.
const KEPT: usize = 8;
/// Paths of an association that are told apart, those that are gone included.
const PATHS: usize = 16;
/// Chunks that are sent again are told together, for each path once in such a time.
const TOGETHER: u64 = 1_000_000_000;

/// Endpoints of a command, counted from 0, and their associations.
type Key = (u32, AssocId);

/// The associations of a command.
#[derive(Debug)]
pub(super) struct Story {
    /// Whether values over time are kept.
    draws: bool,
    /// Those that are up.
    tracked: HashMap<Key, Tracked>,
    /// The records of those that have ended.
    ended: Vec<AssociationRecord>,
    count: u32,
    left_out: u64,
}

/// One association.
#[derive(Debug)]
struct Tracked {
    number: u32,
    paths: Vec<Path>,
    /// Values over time.
    record: Option<Box<AssociationRecord>>,
}

#[derive(Debug)]
struct Path {
    id: PathId,
    /// It is not one any more, and its number may be given again.
    gone: bool,
    ends: (SocketAddr, SocketAddr),
    state: PathState,
    errors: u32,
    rto: Duration,
    /// What last spoke against it, and for it.
    against: &'static str,
    answered: Option<Duration>,
    /// Chunks sent on it again, by cause, since when.
    resent: [u64; 3],
    since: u64,
}

/// What an event is told with.
#[derive(Default)]
struct Told<'a> {
    event: &'static str,
    path: Option<usize>,
    before: Option<PathState>,
    state: Option<PathState>,
    text: &'a str,
    cause: &'a str,
    bad: bool,
    marked: bool,
}

impl Story {
    pub(super) fn new(draws: bool) -> Story {
        Story {
            draws,
            tracked: HashMap::new(),
            ended: Vec::new(),
            count: 0,
            left_out: 0,
        }
    }

    /// `base`: nanoseconds from the begin of the command to that of the endpoint.
    pub(super) fn observed(
        &mut self,
        (endpoint, base): (u32, u64),
        all: &[Observed],
        core: &Endpoint,
    ) {
        for o in all {
            let key = (endpoint, o.assoc);
            let at = base + o.at.as_nanos();
            if let Observation::PathState {
                from: None, path, ..
            } = &o.what
            {
                self.begin(key, at);
                if let Some(tracked) = self.tracked.get_mut(&key) {
                    tracked.add_path(*path, at, o.assoc, core);
                }
            }
            if let Some(tracked) = self.tracked.get_mut(&key) {
                tracked.observed(at, &o.what);
            }
        }
    }

    pub(super) fn event(
        &mut self,
        (endpoint, base): (u32, u64),
        at: Instant,
        id: AssocId,
        event: &Event,
        core: &Endpoint,
    ) {
        let key = (endpoint, id);
        let at = base + at.as_nanos();
        let Some(tracked) = self.tracked.get_mut(&key) else {
            return;
        };
        tracked.event(at, id, event, core);
        let (outcome, lost) = match event {
            Event::Lost { reason, .. } => (byway::text::shown(&reason.to_string()), true),
            Event::ShutdownComplete => ("ended in good order".to_owned(), false),
            _ => return,
        };
        let Some(mut tracked) = self.tracked.remove(&key) else {
            return;
        };
        tracked.flush_all(at);
        if let Some(mut record) = tracked.record {
            record.to = Some(at);
            record.ended(at);
            record.outcome = Some(outcome);
            record.lost = lost;
            self.ended.push(*record);
        }
    }

    /// An association that is not known yet begins.
    fn begin(&mut self, key: Key, at: u64) {
        if self.tracked.contains_key(&key) {
            return;
        }
        self.count += 1;
        let record = self.draws && self.make_room();
        self.tracked.insert(
            key,
            Tracked {
                number: self.count,
                paths: Vec::new(),
                record: record.then(|| Box::new(AssociationRecord::new(self.count, at))),
            },
        );
    }

    /// Whether one more is drawn: in place of that which carried least, if there are as many as are kept.
    fn make_room(&mut self) -> bool {
        let drawn = self.tracked.values().filter(|t| t.record.is_some()).count();
        if drawn + self.ended.len() < KEPT {
            return true;
        }
        self.left_out += 1;
        let least = self
            .ended
            .iter()
            .enumerate()
            .min_by_key(|(_, a)| a.weight());
        let Some((at, _)) = least else { return false };
        self.ended.remove(at);
        true
    }

    /// The records, and how many are missing. `at`: the end of the command.
    pub(super) fn finish(&mut self, at: u64) -> (Vec<AssociationRecord>, u64) {
        let mut all = std::mem::take(&mut self.ended);
        for (_, mut tracked) in self.tracked.drain() {
            tracked.flush_all(at);
            if let Some(mut record) = tracked.record {
                record.ended(at);
                all.push(*record);
            }
        }
        all.sort_by_key(|a| a.number);
        (all, self.left_out)
    }
}

impl Tracked {
    fn place(&self, id: PathId) -> Option<usize> {
        self.paths.iter().rposition(|p| p.id == id && !p.gone)
    }

    fn add_path(&mut self, id: PathId, at: u64, assoc: AssocId, core: &Endpoint) {
        if self.place(id).is_some() || self.paths.len() == PATHS {
            return;
        }
        let Some(stats) = core.path_stats(assoc, id) else {
            return;
        };
        self.paths.push(Path {
            id,
            gone: false,
            ends: (stats.local, stats.remote),
            state: stats.state,
            errors: 0,
            rto: stats.rto,
            against: "",
            answered: None,
            resent: [0; 3],
            since: at,
        });
        if let Some(record) = &mut self.record {
            let mut path = PathRecord {
                name: name(stats.local, stats.remote),
                ..PathRecord::default()
            };
            push(&mut path.cwnd, at, f64::from(stats.cwnd));
            push(&mut path.rto, at, stats.rto.as_secs_f64());
            record.paths.push(path);
        }
    }

    fn path_record(&mut self, at: usize) -> Option<&mut PathRecord> {
        self.record.as_mut()?.paths.get_mut(at)
    }

    fn observed(&mut self, at: u64, what: &Observation) {
        match what {
            Observation::SackReceived { acked, .. } => {
                if let Some(record) = &mut self.record {
                    record.acknowledged(at, *acked);
                }
            }
            Observation::DataReceived {
                seq,
                bytes,
                duplicate: false,
                ..
            } => {
                if let Some(record) = &mut self.record {
                    record.data_came(at, *seq, u64::from(*bytes));
                }
            }
            _ => {
                if let Some(place) = path_of(what).and_then(|id| self.place(id)) {
                    self.of_path(at, place, what);
                }
            }
        }
    }

    fn of_path(&mut self, at: u64, place: usize, what: &Observation) {
        self.learn(at, place, what);
        if let Observation::DataSent {
            seq,
            bytes,
            retransmission,
            ..
        } = what
            && let Some(record) = &mut self.record
        {
            record.data_sent(at, *seq, u64::from(*bytes), retransmission.is_some());
        }
        let Some(record) = self.path_record(place) else {
            return;
        };
        match what {
            Observation::PacketSent { bytes, .. } => {
                record.packets_sent += 1;
                record.bytes_sent += u64::from(*bytes);
                record.sent.add(at, u64::from(*bytes));
            }
            Observation::PacketReceived { bytes, .. } => {
                record.packets_received += 1;
                record.bytes_received += u64::from(*bytes);
                record.received.add(at, u64::from(*bytes));
            }
            Observation::DataSent {
                retransmission: Some(_),
                ..
            } => record.resent += 1,
            Observation::Window { cwnd, flight, .. } => {
                push(&mut record.cwnd, at, f64::from(*cwnd));
                push(&mut record.flight, at, f64::from(*flight));
            }
            Observation::Rto {
                sample, srtt, rto, ..
            } => {
                push(&mut record.rto, at, rto.as_secs_f64());
                record.srtt_s = srtt.map_or(record.srtt_s, |srtt| Some(srtt.as_secs_f64()));
                if let Some(sample) = sample {
                    let sample = sample.as_secs_f64();
                    push(&mut record.rtt, at, sample);
                    record.least_rtt_s = Some(record.least_rtt_s.map_or(sample, |l| l.min(sample)));
                }
            }
            Observation::PathState { to, .. } => record.state(at, (*to).into()),
            Observation::TimerFired {
                timer: Timer::T3Rtx,
                ..
            } => record.timed_out(at),
            _ => {}
        }
    }

    /// Keeps what is told with the next event of this path, and tells what has no event.
    fn learn(&mut self, at: u64, place: usize, what: &Observation) {
        let path = &mut self.paths[place];
        match what {
            Observation::TimerFired { timer, .. } => {
                path.against = match timer {
                    Timer::T3Rtx => "T3-rtx expired",
                    Timer::ProbeTimeout => "no acknowledgement within the probe timeout",
                    Timer::HeartbeatLost => "a heartbeat was not answered within the RTO",
                    _ => return,
                };
                if *timer == Timer::T3Rtx {
                    let cause = format!(
                        "nothing was acknowledged within the RTO of {}",
                        short(path.rto)
                    );
                    self.tell(
                        at,
                        &Told {
                            event: "timeout",
                            path: Some(place),
                            text: "T3-rtx expired",
                            cause: &cause,
                            bad: true,
                            ..Told::default()
                        },
                    );
                }
            }
            Observation::DeadForData { .. } => {
                path.against = "it answers heartbeats, but acknowledges no data";
            }
            Observation::Errors { count, .. } => path.errors = *count,
            Observation::Rto { rto, sample, .. } => {
                path.rto = *rto;
                path.answered = sample.or(path.answered);
            }
            Observation::HeartbeatAcked { rtt, .. } => path.answered = Some(*rtt),
            Observation::DataSent {
                retransmission: Some(cause),
                ..
            } => {
                if path.resent == [0; 3] {
                    path.since = at;
                }
                let cause = match cause {
                    LossCause::FastRetransmit => 0,
                    LossCause::Timeout => 1,
                    LossCause::ProbeTimeout => 2,
                };
                path.resent[cause] += 1;
            }
            _ => {}
        }
        if self.paths[place].resent != [0; 3] && at - self.paths[place].since >= TOGETHER {
            self.flush(at, place);
        }
    }

    /// Tells which chunks were sent again.
    fn flush(&mut self, at: u64, place: usize) {
        let resent = std::mem::take(&mut self.paths[place].resent);
        let count: u64 = resent.iter().sum();
        if count == 0 {
            return;
        }
        let causes = ["missing reports", "T3-rtx", "the probe timeout"];
        let causes = causes.iter().zip(resent).filter(|(_, n)| *n > 0);
        let causes: Vec<String> = causes.map(|(what, n)| format!("{n} for {what}")).collect();
        let since = self.paths[place].since;
        let text = format!(
            "{count} {} sent again here within {}",
            if count == 1 { "chunk" } else { "chunks" },
            short(Duration::from_nanos(at.saturating_sub(since)))
        );
        self.tell(
            since,
            &Told {
                event: "resent",
                path: Some(place),
                text: &text,
                cause: &causes.join(", "),
                ..Told::default()
            },
        );
    }

    fn flush_all(&mut self, at: u64) {
        for place in 0..self.paths.len() {
            self.flush(at, place);
        }
    }

    fn event(&mut self, at: u64, id: AssocId, event: &Event, core: &Endpoint) {
        match event {
            Event::PathChanged { path, from, to, .. } => self.changed(at, *path, *from, *to),
            Event::PathMoved { path, .. } => self.moved(at, id, *path, core),
            Event::PathRemoved { path, .. } => {
                let place = self.place(*path);
                self.simple(at, "path_removed", place, "the path is gone", "", true);
                if let Some(place) = place {
                    self.paths[place].gone = true;
                }
            }
            Event::PathAdded { path, state, .. } => {
                let told = Told {
                    event: "path_added",
                    path: self.place(*path),
                    state: Some(*state),
                    text: "the path is known",
                    ..Told::default()
                };
                self.tell(at, &told);
            }
            Event::PathDeadForData { path, .. } => {
                let words = "answers heartbeats, but acknowledges no data";
                self.simple(at, "path_dead_for_data", self.place(*path), words, "", true);
            }
            Event::DataPathChanged { from, to } => {
                let cause = self.place(*from).map_or(String::new(), |place| {
                    let path = &self.paths[place];
                    format!("{} is {}", name(path.ends.0, path.ends.1), path.state)
                });
                let told = Told {
                    event: "data_path",
                    path: self.place(*to),
                    text: "new data goes here now",
                    cause: &cause,
                    marked: true,
                    ..Told::default()
                };
                self.tell(at, &told);
            }
            Event::PrimaryChanged { to, .. } => {
                let words = "this is the primary path now";
                self.simple(at, "primary", self.place(*to), words, "", false);
            }
            Event::Up { accepted, .. } => {
                let cause = match accepted {
                    true => "the other side set it up",
                    false => "this side set it up",
                };
                let with: Vec<String> = self.paths.iter().map(|p| p.ends.1.to_string()).collect();
                let words = format!("the association with {} is up", with.join(", "));
                self.simple(at, "association_up", None, &words, cause, false);
            }
            Event::Lost {
                reason,
                undelivered_messages: n,
            } => {
                let mut cause = reason.to_string();
                if *n > 0 {
                    cause += &format!("; messages not acknowledged: {n}");
                }
                let words = "the association is lost";
                self.simple(at, "association_lost", None, words, &cause, true);
            }
            Event::ShutdownComplete => {
                let words = "the association has ended in good order";
                self.simple(at, "association_ended", None, words, "", false);
            }
            Event::PeerShutdown => {
                let words = "the other side sends nothing more";
                self.simple(at, "peer_shutdown", None, words, "", false);
            }
            Event::Restarted { .. } => {
                let words = "the other side began the association anew";
                self.simple(at, "restarted", None, words, "", true);
            }
            Event::AddressChanged { what } => {
                let words = format!("the other side took {what}");
                self.simple(at, "address_changed", None, &words, "", false);
            }
            Event::AddressChangeRefused { what, cause } => {
                let words = format!("the other side refused {what}");
                let cause = format!("error cause {cause}");
                self.simple(at, "address_refused", None, &words, &cause, true);
            }
            Event::PeerError { cause } => {
                let words = "the other side reports an error";
                self.simple(at, "peer_error", None, words, cause, true);
            }
            _ => {}
        }
    }

    fn changed(&mut self, at: u64, id: PathId, from: PathState, to: PathState) {
        let Some(place) = self.place(id) else { return };
        self.flush(at, place);
        let path = &mut self.paths[place];
        path.state = to;
        let worse = matches!(to, PathState::PotentiallyFailed | PathState::Inactive);
        let cause = match (worse, path.answered) {
            (true, _) if path.against.is_empty() => {
                "no timer of this side: the kernel, ICMP or the other side said so".to_owned()
            }
            (true, _) => format!("{}; consecutive errors: {}", path.against, path.errors),
            (false, Some(rtt)) => format!("it answered after {}", short(rtt)),
            (false, None) => "it answered".to_owned(),
        };
        if !worse {
            path.against = "";
        } else {
            path.answered = None;
        }
        let told = Told {
            event: "path_changed",
            path: Some(place),
            before: Some(from),
            state: Some(to),
            cause: &cause,
            bad: worse,
            // That it is confirmed at the begin is no news.
            marked: from != PathState::Unconfirmed,
            ..Told::default()
        };
        self.tell(at, &told);
    }

    fn moved(&mut self, at: u64, assoc: AssocId, id: PathId, core: &Endpoint) {
        let Some(place) = self.place(id) else { return };
        let before = self.paths[place].ends;
        if let Some(stats) = core.path_stats(assoc, id) {
            self.paths[place].ends = (stats.local, stats.remote);
        }
        let now = self.paths[place].ends;
        let words = match before.0 == now.0 {
            true => format!("the other side's address was {} and is {}", before.1, now.1),
            false => format!("it left from {} and leaves from {}", before.0, now.0),
        };
        let told = Told {
            event: "path_moved",
            path: Some(place),
            text: &words,
            marked: true,
            ..Told::default()
        };
        self.tell(at, &told);
    }

    fn simple(
        &mut self,
        at: u64,
        event: &'static str,
        path: Option<usize>,
        text: &str,
        cause: &str,
        bad: bool,
    ) {
        let told = Told {
            event,
            path,
            text,
            cause,
            bad,
            ..Told::default()
        };
        self.tell(at, &told);
    }

    fn tell(&mut self, at: u64, told: &Told<'_>) {
        if let Some(journal) = journal() {
            journal.write(&Line {
                event: told.event,
                association: Some(self.number),
                path: told.path.map(|place| self.paths[place].ends),
                before: told.before.map(PathState::name),
                state: told.state.map(PathState::name),
                cause: told.cause,
                text: told.text,
                ..Line::default()
            });
        }
        if let Some(record) = &mut self.record {
            let words = match (told.before, told.state) {
                (Some(before), Some(state)) => format!("{before} → {state}"),
                (None, Some(state)) => format!("{}, {state}", told.text),
                _ => byway::text::shown(told.text),
            };
            record.happened(EventRecord {
                at,
                path: told.path,
                words,
                cause: byway::text::shown(told.cause),
                bad: told.bad,
                marked: told.marked,
            });
        }
    }
}

/// "12.3 ms".
fn short(time: Duration) -> String {
    match time.is_zero() {
        true => format_duration(time),
        false => byway_lab::show::time(time.as_secs_f64()),
    }
}

/// "10.0.0.1 → 10.0.0.2": addresses tell paths apart, ports seldom do.
fn name(local: SocketAddr, remote: SocketAddr) -> String {
    format!(
        "{} → {}",
        byway::shown_host(local),
        byway::shown_host(remote)
    )
}

fn path_of(what: &Observation) -> Option<PathId> {
    match what {
        Observation::PacketSent { path, .. }
        | Observation::DataSent { path, .. }
        | Observation::Rto { path, .. }
        | Observation::Window { path, .. }
        | Observation::PathState { path, .. }
        | Observation::Errors { path, .. }
        | Observation::DeadForData { path }
        | Observation::HeartbeatAcked { path, .. } => Some(*path),
        Observation::PacketReceived { path, .. } | Observation::TimerFired { path, .. } => *path,
        _ => None,
    }
}
