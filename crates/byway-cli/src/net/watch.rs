//! Watches an association: shows what happens to it, and gives it up when it does not get on.
//!
//! Heartbeats are answered by a kernel or a library whatever its application does. So what counts
//! is progress; a sign of life counts only where nobody has anything to do.

use super::patience::{Patience, about};
use super::progress::{Progress, ends};
use super::refused::Refused;
use super::stall::StallMeter;
use super::standstill::{Limit, Standstill};
use super::traffic::Traffic;
use crate::failure::{Failure, Kind};
use byway::{Association, Events, PathId, PathState, PathStats};
use std::cell::RefCell;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Between two looks at a transfer that gets on.
const TICK: Duration = Duration::from_millis(20);

/// The longest time between two looks at a transfer that does not.
const SLOW_TICK: Duration = Duration::from_secs(1);

/// A longer silence is an outage: [`GiveUp::Refusing`] counts so much of it.
const OUTAGE: Duration = Duration::from_secs(30);

/// What an association that is watched must do within a time, or it is given up.
#[derive(Copy, Clone, Debug)]
pub(super) enum GiveUp {
    /// `recv`: the transfer must get on, by a byte that counts or by a file or folder that begins or ends,
    /// except while the other side waits for this one. Outages are excused of a file under way alone, which has one of few places
    /// (`slots.rs`) and gives it to whoever needs it: strangers hold no more by silence.
    NoProgress(Limit),
    /// `listen`: the first byte must come, whether the paths answer or not. Then the other side may have
    /// nothing to say, and must be heard from; with a limit that was set, another byte must come each time.
    NothingCame(Limit),
    /// `cat`: something of what waits must be acknowledged. While nothing waits, the other side
    /// must be heard from.
    NothingTaken(Limit),
    /// `send`: a side that is heard from must acknowledge something of what waits. An outage has
    /// the time that the association itself gives it.
    Refusing(Duration),
}

impl GiveUp {
    /// What has to change, whether the other side has something to do, within which time, and whether outages of
    /// all paths are excused.
    fn asks(self, step: &Step, stats: &Stats) -> ((bool, u64), Duration, bool) {
        let (sign, limit, excuses) = match self {
            GiveUp::NoProgress(limit) => ((true, step.done), limit, step.under_way),
            GiveUp::NothingCame(limit) if step.done == 0 || limit.is_set => {
                ((true, step.done), limit, false)
            }
            GiveUp::NothingTaken(limit) if stats.waits() => ((true, stats.acked), limit, true),
            GiveUp::NothingCame(limit) | GiveUp::NothingTaken(limit) => {
                ((false, stats.heard), limit, true)
            }
            GiveUp::Refusing(limit) => return ((stats.waits(), stats.acked), limit, false),
        };
        (sign, limit.time, excuses && !limit.is_set)
    }
}

/// What of an association's figures counts.
#[derive(Copy, Clone, Debug)]
struct Stats {
    queued: u64,
    acked: u64,
    /// Packets.
    heard: u64,
}

impl Stats {
    fn of(association: &Association) -> Stats {
        let stats = association.stats();
        Stats {
            queued: stats.bytes_queued,
            acked: stats.bytes_acked,
            heard: stats.packets_received,
        }
    }

    /// Whether something waits for its acknowledgement.
    fn waits(&self) -> bool {
        self.queued > self.acked
    }
}

/// How far a transfer is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Steps: bytes, and files that are complete.
    pub(super) done: u64,
    /// Bytes of the file under way, for the bar.
    pub(super) position: u64,
    /// When the last step was made, if that is known.
    pub(super) at: Option<Instant>,
    /// Whether somebody looks at it again and again.
    pub(super) seen: bool,
    /// Whether the other side waits for this one.
    pub(super) ours: bool,
    /// Whether a file has its place, and bytes of it have come.
    pub(super) under_way: bool,
}

impl Step {
    /// A transfer of bytes, looked at all the time.
    pub(super) fn of(done: u64) -> Step {
        Step {
            done,
            position: done,
            at: None,
            seen: true,
            ours: false,
            under_way: false,
        }
    }
}

/// The watch over one association.
pub(super) struct Watch<'a> {
    association: &'a Association,
    /// What its paths carry.
    traffic: Option<&'a Traffic>,
    states: States,
    /// The path of new data, and its ends.
    in_use: Option<(PathId, String)>,
    /// What counts, and how long it has not changed.
    sign: (bool, u64),
    still: Standstill,
    /// Packets heard, and since when there are no more.
    heard: (u64, Instant),
    /// How long a side that was heard from took nothing.
    refusing: Duration,
    /// How long an outage of all paths may last.
    patience: Option<Patience>,
    /// Whether that has been said of the outage under way.
    said: bool,
}

impl<'a> Watch<'a> {
    pub(super) fn new(association: &'a Association, traffic: Option<&'a Traffic>) -> Watch<'a> {
        let now = Instant::now();
        Watch {
            association,
            traffic,
            states: States::default(),
            in_use: None,
            sign: (false, 0),
            still: Standstill::new(now),
            heard: (0, now),
            refusing: Duration::ZERO,
            patience: None,
            said: false,
        }
    }

    /// An outage of all paths is told, with the time that the settings give it.
    pub(super) fn with_patience(self, patience: Patience) -> Watch<'a> {
        let patience = Some(patience);
        Watch { patience, ..self }
    }

    /// Runs until it is dropped, or until the association is given up: then it is aborted.
    /// `step` says how far the transfer is; `moves` tells to look. `progress` shows it, once
    /// there is something to show. Nobody looks at what is not seen before the time is up, or a
    /// path changes.
    // Not an `async fn`, whose future keeps what it is given twice.
    pub(super) fn run<'p>(
        &mut self,
        progress: impl Fn() -> Option<&'p Progress>,
        meter: &RefCell<StallMeter>,
        step: impl Fn() -> Step,
        moves: Option<&Notify>,
        give_up: GiveUp,
    ) -> impl Future<Output = Failure> {
        let mut events = Some(self.association.events());
        async move {
            loop {
                let pause = match self.look(progress(), meter, &step(), give_up) {
                    Ok(pause) => pause,
                    Err(failure) => return failure,
                };
                tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    () = told(moves) => {}
                    () = changed(&mut events) => {}
                }
            }
        }
    }

    /// Looks how far the transfer is, and how long nobody needs to look again.
    ///
    /// # Errors
    /// Why it was given up.
    fn look(
        &mut self,
        progress: Option<&Progress>,
        meter: &RefCell<StallMeter>,
        step: &Step,
        give_up: GiveUp,
    ) -> Result<Duration, Failure> {
        let paths = self.association.paths();
        let stats = Stats::of(self.association);
        let left = self.time_left(step, &stats, &paths, give_up);
        if let Some(progress) = progress {
            meter.borrow_mut().update(step.done, || progress.place());
            progress.position(step.position);
            let by_give_up = match give_up {
                // It counts no silence.
                GiveUp::Refusing(_) => None,
                _ => left.as_ref().ok().copied(),
            };
            self.show(progress, &paths, stats.waits(), by_give_up);
        }
        let left = left?;
        Ok(match give_up {
            _ if !step.seen => left,
            // It tells how long it stood still.
            GiveUp::Refusing(_) => TICK.min(left),
            _ => {
                let still = self.still.since().elapsed();
                (still / 8).clamp(TICK, SLOW_TICK).min(left)
            }
        })
    }

    /// How long the association may go on like this.
    ///
    /// # Errors
    /// Why it was given up.
    fn time_left(
        &mut self,
        step: &Step,
        stats: &Stats,
        paths: &[PathStats],
        give_up: GiveUp,
    ) -> Result<Duration, Failure> {
        let now = Instant::now();
        let (sign, limit, excuses) = give_up.asks(step, stats);
        let new = sign != self.sign || step.ours;
        if new {
            self.sign = sign;
            self.still.moved(now);
        }
        if let Some(at) = step.at.filter(|_| !step.ours) {
            self.still.moved(at);
        }
        if new || !stats.waits() {
            self.refusing = Duration::ZERO;
        } else if stats.heard != self.heard.0 {
            let silence = now.saturating_duration_since(self.heard.1);
            self.refusing += silence.min(OUTAGE);
        }
        if new || stats.heard != self.heard.0 {
            self.heard = (stats.heard, now);
        }
        let longest = self.patience.filter(|_| is_outage(paths));
        let longest = longest.map(|patience| patience.longest_outage(paths));
        self.still.outage(now, longest);
        let left = match give_up {
            GiveUp::Refusing(_) => limit.checked_sub(self.refusing),
            _ => self.still.left(now, limit, excuses),
        };
        // A timer may be early by less than a millisecond.
        let left = left.map(|left| left.max(Duration::from_millis(1)));
        let excused = match excuses {
            true => self.still.excused(now),
            false => Duration::ZERO,
        };
        left.ok_or_else(|| self.give_up(give_up, sign.0, (limit, excused)))
    }

    fn give_up(
        &self,
        rule: GiveUp,
        has_to: bool,
        (limit, excused): (Duration, Duration),
    ) -> Failure {
        let what = match rule {
            GiveUp::NothingTaken(_) if self.heard.1 <= self.still.since() => {
                "nothing was heard from the other side"
            }
            GiveUp::NoProgress(_) => "the other side sent nothing more",
            GiveUp::NothingCame(_) if has_to && self.sign.1 == 0 => "the other side sent nothing",
            GiveUp::NothingCame(_) if has_to => "the other side sent nothing more",
            GiveUp::NothingTaken(_) | GiveUp::Refusing(_) if has_to => {
                "the other side took nothing of what waits"
            }
            _ => "nothing was heard from the other side",
        };
        let mut limit = byway_lab::units::format_duration(limit);
        if excused >= Duration::from_secs(1) {
            limit += &format!(" besides an outage of all paths of {}", about(excused));
        }
        let why = format!("the association was given up: {what} for {limit} (--give-up)");
        let failure = Failure::new(Kind::Lost, why);
        Refused::GivenUp.count();
        // Refused only when it has ended already.
        let _ = self.association.abort(failure.reason());
        failure
    }

    /// Shows what changed since the last look.
    pub(super) fn show_changes(&mut self, progress: &Progress) {
        self.show(progress, &self.association.paths(), false, None);
    }

    /// The same. Whether data waits, and how long `--give-up` leaves, if it counts.
    fn show(
        &mut self,
        progress: &Progress,
        paths: &[PathStats],
        waits: bool,
        by_give_up: Option<Duration>,
    ) {
        if paths.is_empty() {
            return;
        }
        if let Some(traffic) = self.traffic {
            traffic.note(paths);
        }
        let now = paths.iter().map(|p| (p.remote, p.state));
        for (remote, before, state) in self.states.changes(now) {
            if let Some(path) = paths.iter().find(|p| p.remote == remote) {
                progress.say(&format!("path {}: {state}, was {before}", ends(path)));
            }
        }
        let outage = paths.iter().all(|p| p.state != PathState::Active);
        if let Some(patience) = self.patience.filter(|_| outage && !self.said) {
            progress.say(&patience.words(paths, waits, by_give_up));
        }
        self.said = outage;
        if let Some(path) = paths.iter().find(|p| p.in_use) {
            let now = (path.path, ends(path));
            if let Some(before) = self.in_use.take_if(|before| *before != now) {
                progress.say(&moved(&before, path, paths));
            }
            self.in_use = Some(now);
        }
        progress.show_paths(paths);
    }
}

/// Whether no path answers. Where heartbeats are answered and data is not, the peer is there.
fn is_outage(paths: &[PathStats]) -> bool {
    let silent = |p: &PathStats| p.state != PathState::Active && !p.dead_for_data;
    !paths.is_empty() && paths.iter().all(silent)
}

/// Where data goes now, and why, as far as the paths show it.
fn moved((id, from): &(PathId, String), to: &PathStats, paths: &[PathStats]) -> String {
    // The number of a path that was removed may be given again.
    let before = paths.iter().find(|p| p.path == *id && ends(p) == *from);
    let why = match before {
        Some(p) if p.state != PathState::Active => format!("{from} is {}", p.state),
        Some(_) if to.primary => "it is the primary path".to_owned(),
        Some(_) => format!("{from} loses packets, and this one is tried"),
        None if *id == to.path => format!("the path no longer leaves as {from}"),
        None => format!("there is no path {from} any more"),
    };
    format!("data moves to {}: {why}", ends(to))
}

/// The states of the paths at the last look.
#[derive(Debug, Default)]
struct States(Vec<(SocketAddr, PathState)>);

impl States {
    /// The paths whose state is another one than at the last look, with both. What is no path any
    /// more is forgotten: a peer may change its address without end.
    fn changes(
        &mut self,
        now: impl Iterator<Item = (SocketAddr, PathState)>,
    ) -> Vec<(SocketAddr, PathState, PathState)> {
        let before = std::mem::take(&mut self.0);
        self.0 = now.collect();
        let changed = |(remote, state): &(SocketAddr, PathState)| {
            let (_, last) = before.iter().find(|(r, s)| r == remote && s != state)?;
            Some((*remote, *last, *state))
        };
        self.0.iter().filter_map(changed).collect()
    }
}

async fn told(moves: Option<&Notify>) {
    match moves {
        Some(moves) => moves.notified().await,
        None => std::future::pending().await,
    }
}

/// Waits for the next event; an association that has ended has none.
async fn changed(events: &mut Option<Events>) {
    if let Some(some) = events {
        if some.next().await.is_some() {
            return;
        }
        *events = None;
    }
    std::future::pending().await
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use PathState::{Active, Inactive, PotentiallyFailed};

    pub(in crate::net) fn path(
        number: u8,
        local: u8,
        state: PathState,
        primary: bool,
    ) -> PathStats {
        let at = |last| SocketAddr::from(([10, 0, 0, last], 9899));
        PathStats {
            path: PathId(number),
            local: at(local),
            remote: at(10 + number),
            state,
            trouble: None,
            primary,
            in_use: false,
            backup: false,
            cwnd: 0,
            ssthresh: 0,
            flight: 0,
            srtt: None,
            rto: Duration::ZERO,
            error_count: 0,
            dead_for_data: false,
            pmtu: 0,
            largest_pmtu: 0,
            packets_sent: 0,
            bytes_sent: 0,
            bytes_received: 0,
            data_bytes_sent: 0,
            data_bytes_retransmitted: 0,
            data_bytes_lost: 0,
            failures: 0,
            timeouts: 0,
            last_heard: None,
            estimate: None,
            probes_sent: 0,
            probe_bytes: 0,
        }
    }

    #[test]
    fn data_that_moves_is_told_with_both_ends_and_the_reason() {
        let before = (PathId(0), "10.0.0.1 -> 10.0.0.10:9899".to_owned());
        let other = path(1, 2, Active, false);
        let to = "data moves to 10.0.0.2 -> 10.0.0.11:9899: ";
        for (paths, why) in [
            (
                vec![path(0, 1, PotentiallyFailed, true)],
                "10.0.0.1 -> 10.0.0.10:9899 is potentially failed",
            ),
            (
                vec![path(0, 1, Inactive, true)],
                "10.0.0.1 -> 10.0.0.10:9899 is inactive",
            ),
            (
                vec![path(0, 1, Active, true)],
                "10.0.0.1 -> 10.0.0.10:9899 loses packets, and this one is tried",
            ),
            (
                vec![],
                "there is no path 10.0.0.1 -> 10.0.0.10:9899 any more",
            ),
        ] {
            assert_eq!(moved(&before, &other, &paths), format!("{to}{why}"));
        }
        let back = path(0, 1, Active, true);
        let from = (PathId(1), ends(&other));
        assert_eq!(
            moved(&from, &back, &[back, other]),
            "data moves to 10.0.0.1 -> 10.0.0.10:9899: it is the primary path"
        );
        let elsewhere = path(0, 3, Active, true);
        assert_eq!(
            moved(&before, &elsewhere, &[elsewhere, other]),
            "data moves to 10.0.0.3 -> 10.0.0.10:9899: the path no longer leaves as \
             10.0.0.1 -> 10.0.0.10:9899"
        );
    }

    #[test]
    fn changes_are_of_paths_that_were_there_and_nothing_is_kept_of_others() {
        let of = |port| SocketAddr::from(([10, 0, 0, 1], port));
        let mut states = States::default();
        assert_eq!(states.changes([(of(1), Active)].into_iter()), []);
        let both = [(of(1), Inactive), (of(2), Active)];
        let changed = (of(1), Active, Inactive);
        assert_eq!(states.changes(both.into_iter()), [changed]);
        assert_eq!(states.changes(both.into_iter()), []);
        // A peer that moves its UDP port without end.
        for port in 1000..60_000 {
            states.changes([(of(2), Active), (of(port), Active)].into_iter());
        }
        assert_eq!(states.0.len(), 2);
        // It is seen anew.
        assert_eq!(states.changes([(of(1), Active)].into_iter()), []);
    }

    #[test]
    fn outages_are_excused_where_nobody_holds_more_by_silence() {
        let (idle, waits) = (stats(0), stats(7));
        let step = Step::of(0);
        let came = Step::of(9);
        let file = Step {
            under_way: true,
            ..came
        };
        let unset = Limit::of(None);
        let two_minutes = Duration::from_secs(120);
        for (rule, step, stats, sign, excuses) in [
            (GiveUp::NoProgress(unset), step, idle, (true, 0), false),
            (GiveUp::NoProgress(unset), came, idle, (true, 9), false),
            (GiveUp::NoProgress(unset), file, idle, (true, 9), true),
            (GiveUp::NothingCame(unset), step, idle, (true, 0), false),
            (GiveUp::NothingCame(unset), came, idle, (false, 5), true),
            (GiveUp::NothingTaken(unset), step, idle, (false, 5), true),
            (GiveUp::NothingTaken(unset), step, waits, (true, 0), true),
        ] {
            assert_eq!(
                rule.asks(&step, &stats),
                (sign, two_minutes, excuses),
                "{rule:?}"
            );
        }
        let set = Limit::of(Some(two_minutes));
        for rule in [
            GiveUp::NoProgress(set),
            GiveUp::NothingCame(set),
            GiveUp::NothingTaken(set),
        ] {
            assert!(!rule.asks(&file, &waits).2, "{rule:?}");
        }
        let ((bytes, sign), _, _) = GiveUp::NothingCame(set).asks(&came, &idle);
        assert_eq!((bytes, sign), (true, 9));
    }

    fn stats(queued: u64) -> Stats {
        Stats {
            queued,
            acked: 0,
            heard: 5,
        }
    }

    #[test]
    fn a_peer_that_answers_heartbeats_is_no_outage() {
        let silent = path(0, 1, PotentiallyFailed, true);
        let gone = path(1, 2, Inactive, false);
        let dead = PathStats {
            dead_for_data: true,
            ..gone
        };
        assert!(is_outage(&[silent, gone]));
        assert!(!is_outage(&[silent, path(1, 2, Active, false)]));
        assert!(!is_outage(&[silent, dead]));
        assert!(!is_outage(&[]));
    }
}
