//! Heartbeats: when they are due, sent, answered and lost (RFC 9260 sections
//! 5.4 and 8.3).

use super::dispatch::Gathered;
use super::{Association, Control, Ctx, Inbound};
use crate::config::{FailedProbes, HbJitter, PathMaxRetransTest};
use crate::observe::{Observation, Timer};
use crate::path::{PathId, PathState, PathTimer, PathTrouble, Probe};
use crate::policy::probing::Evidence;
use crate::refusals::Rule;
use crate::time::{Duration, Instant};
use core::net::SocketAddr;
use rand::RngExt;

/// Bytes of our Heartbeat Info: path, sending time and nonce.
pub(super) const INFO_LEN: usize = 17;

/// After so many in a row an address that the user gave, and that is in doubt, is inactive.
const MOST_UNANSWERED: u32 = 5;

/// The value of our Heartbeat Info parameter.
pub(crate) fn heartbeat_info(path: PathId, probe: &Probe) -> [u8; INFO_LEN] {
    info_of(path, probe.sent, probe.nonce)
}

pub(super) fn info_of(path: PathId, sent: Instant, nonce: u64) -> [u8; INFO_LEN] {
    let mut info = [0; INFO_LEN];
    info[0] = path.0;
    info[1..9].copy_from_slice(&sent.as_nanos().to_be_bytes());
    info[9..].copy_from_slice(&nonce.to_be_bytes());
    info
}

fn read_info(info: &[u8]) -> Option<(PathId, u64, Instant)> {
    let info: &[u8; INFO_LEN] = info.try_into().ok()?;
    let word = |at: usize| info[at..at + 8].try_into().ok().map(u64::from_be_bytes);
    Some((PathId(info[0]), word(9)?, Instant::from_nanos(word(1)?)))
}

impl Association {
    /// A HEARTBEAT arrived. The answer returns its information unread.
    pub(super) fn on_heartbeat(
        &mut self,
        ctx: &mut Ctx<'_>,
        inbound: &Inbound<'_>,
        info: &[u8],
        gathered: &mut Gathered,
    ) {
        if !self.state.answers_heartbeats() {
            return;
        }
        self.note_asked(ctx.now, inbound.destination.ip());
        let path = self.paths.find_source(inbound.source);
        let along = |p: &PathId| self.paths.get(*p).local() == *inbound.destination;
        let Some(path) = path.filter(along) else {
            // The answer goes back the way the heartbeat came, also where that is not a
            // path: only this way does a translator let it through.
            if !core::mem::replace(&mut gathered.answered, true) {
                self.answer_pathless(ctx, inbound, info);
            }
            return;
        };
        // A peer that sends many heartbeats gets few answers (RFC 5062 section 8): at
        // most 8 answers wait.
        let waiting = |c: &Control| matches!(c, Control::HeartbeatAck(..));
        if self.control.iter().filter(|c| waiting(c)).count() < 8 {
            self.control
                .push_back(Control::HeartbeatAck(path, info.into()));
        } else {
            self.refuse(ctx, Rule::ReportRate);
        }
    }

    fn answer_pathless(&mut self, ctx: &mut Ctx<'_>, inbound: &Inbound<'_>, info: &[u8]) {
        let ours = self.addresses.local.contains(inbound.destination);
        if !ours && let Some(asconf) = &mut self.optional.asconf {
            // RFC 5061 section 5.3, F1 and F4: an address that comes or goes sends nothing.
            asconf.hold((*inbound.source, *inbound.destination), info);
            return;
        }
        self.answer_beside_paths(ctx, (*inbound.destination, *inbound.source), info);
    }

    /// A HEARTBEAT ACK from an address of this side to one of the peer.
    pub(super) fn answer_beside_paths(
        &self,
        ctx: &mut Ctx<'_>,
        back: (SocketAddr, SocketAddr),
        info: &[u8],
    ) {
        self.send_beside_paths(ctx, back, |p| {
            p.raw(byway_wire::chunk_type::HEARTBEAT_ACK, 0, info);
        });
    }

    /// A HEARTBEAT ACK arrived. It counts only if it carries the nonce of the
    /// unanswered heartbeat on the path that it names, or of the one before it that was taken
    /// for lost: its answer was only late, and shows how long the round trip is.
    pub(crate) fn on_heartbeat_ack(
        &mut self,
        ctx: &mut Ctx<'_>,
        inbound: &Inbound<'_>,
        info: &[u8],
    ) {
        let read = read_info(info);
        if let Some((path, nonce, _)) = read
            && self.answers_special_heartbeat(ctx, inbound, (path, nonce))
        {
            return;
        }
        let named = read.filter(|(path, ..)| self.paths.contains(*path));
        let answered = named.and_then(|(path, nonce, sent)| {
            let probe = self.paths.get_mut(path).answer_heartbeat(nonce)?;
            Some((path, sent, probe))
        });
        let Some((path, sent, probe)) = answered else {
            self.observe(ctx, || Observation::Discarded {
                why: "HEARTBEAT ACK that answers none of ours",
            });
            return;
        };
        let p = self.paths.get_mut(path);
        p.counters.heard(ctx.now);
        p.errors.heartbeat_answered();
        let full_sized = probe.full_sized;
        let rtt = ctx.now.since(sent.clamp(probe.first_sent, probe.sent));
        let first = p.rtt.srtt().is_none();
        p.rtt.sample(rtt, &self.cfg.rto);
        p.recovery.heartbeat_answered(rtt);
        if first {
            // What left before could not tell when its acknowledgement is overdue.
            self.note_owed_acknowledgement(ctx.now, path);
        }
        if let (Some(e), Some(cfg)) = (&mut self.optional.estimating, &self.cfg.failover.estimate) {
            e.measured(path, ctx.now, rtt);
            e.heartbeat(path, true, cfg.memory);
        }
        self.failure.errors = 0;
        self.note_small_answer(path);
        self.observe(ctx, || Observation::HeartbeatAcked { path, rtt });
        self.observe_rto(ctx, path, Some(rtt));
        if !self.paths.get(path).is_confirmed() {
            self.confirm_path(ctx, path);
        }
        self.tell_detector(ctx, path, Evidence::Heartbeat);
        if self.answer_proves(ctx, path, full_sized) {
            self.take_back(ctx, path, probe.sent);
        } else {
            self.choose_data_path(ctx, None);
        }
        if self.paths.get(path).heartbeat.under_way().is_none() {
            self.schedule_heartbeat(ctx, path);
        }
        if self.cfg.custom.failover.is_some() {
            self.choose_data_path(ctx, None);
        }
    }

    /// Whether a HEARTBEAT ACK answers a heartbeat to a source that is no path, a probe of
    /// a path's MTU or one for its estimate. If so, it was handled.
    fn answers_special_heartbeat(
        &mut self,
        ctx: &mut Ctx<'_>,
        inbound: &Inbound<'_>,
        (path, nonce): (PathId, u64),
    ) -> bool {
        if !self.paths.contains(path) {
            return self.on_source_verified(ctx, inbound, (path, nonce));
        }
        self.on_mtu_probe_answered(ctx, path, nonce)
            || self.optional.estimating.is_some() && self.on_probe_answered(ctx, path, nonce)
    }

    /// Schedules the next heartbeat of a path, counted from now.
    pub(crate) fn schedule_heartbeat(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        let dialect = self.optional.dialect.as_ref();
        let has_timers = dialect.is_none_or(|d| d.has_heartbeat_timers());
        let p = self.paths.get(path);
        // Unconfirmed and potentially failed paths are probed once per RTO (section
        // 5.4; RFC 7829).
        let eager = self.is_eager(path);
        // Only a heartbeat confirms an address, whatever the user wants of the others.
        let verifies = p.is_listed() && (p.state() != PathState::Inactive || self.optional.stalled);
        let regular = p.heartbeat.is_enabled() && has_timers || verifies;
        if !(eager || regular) {
            self.paths
                .get_mut(path)
                .timers
                .set(PathTimer::Heartbeat, None);
            return;
        }
        let rto = p.rtt.rto();
        let hb = &self.cfg.hb;
        let wait = match hb.jitter {
            _ if eager => Some(rto),
            _ if p.is_listed() => self.pause_of_listed(path),
            HbJitter::HalfRto => Some(hb.interval + vary(rto, ctx)),
            HbJitter::HalfInterval => Some(vary(hb.interval, ctx) + rto),
            HbJitter::Off => Some(hb.interval + rto),
        };
        self.paths
            .get_mut(path)
            .timers
            .set(PathTimer::Heartbeat, wait.map(|w| ctx.now + w));
    }

    /// The heartbeat timer of a path expired.
    pub(crate) fn on_heartbeat_due(&mut self, ctx: &mut Ctx<'_>, path: PathId, due: Instant) {
        self.paths
            .get_mut(path)
            .timers
            .set(PathTimer::Heartbeat, None);
        if !self.sends_heartbeats() {
            return;
        }
        if self.rests(path) {
            return self.on_resting(ctx, path);
        }
        let p = self.paths.get(path);
        // "Idle": nothing that measures the round trip has left since the timer was set.
        // The exact time of this is not stored, but the interval is close.
        let period = self.cfg.hb.interval;
        // While T3-rtx of a path runs, data probes the path. If a heartbeat did so as
        // well, one failure would count twice.
        let timed = due.since(p.rtt.last_timed()) < period || p.timers.t3().is_some();
        let busy = p.takes_data() && timed;
        if busy {
            let wait = period
                .saturating_sub(due.since(p.rtt.last_timed()))
                .max(p.rtt.rto());
            self.paths
                .get_mut(path)
                .timers
                .set(PathTimer::Heartbeat, Some(ctx.now + wait));
            return;
        }
        self.observe(ctx, || Observation::TimerFired {
            timer: Timer::HeartbeatDue,
            path: Some(path),
        });
        self.paths.want_heartbeat(path, true);
        self.give_idle_memory_back();
    }

    /// Nothing has left on a path for HB.interval. Queues that are empty keep room for a few messages, so that
    /// one message after the other needs no allocation; who is idle does not need it.
    #[cold]
    pub(super) fn give_idle_memory_back(&mut self) {
        self.send.give_idle_memory_back();
        self.recv.reassembly.give_idle_memory_back();
    }

    /// A heartbeat leaves: draws its nonce and starts its timer.
    pub(crate) fn begin_probe(&mut self, ctx: &mut Ctx<'_>, path: PathId) -> [u8; INFO_LEN] {
        let rto = self.paths.get(path).rtt.rto();
        let revival = self.revival_pace();
        let wait = revival.map_or(rto, |pace| pace.min(rto));
        // The detector, the revival, the probe timeout and the silence of the peer may send the next heartbeat before the last one
        // is answered. They share one nonce, so that a late answer counts.
        let p = self.paths.get(path);
        let under_way = p.heartbeat.under_way();
        let revives = self.cfg.failover.revival.is_some() && p.state() != PathState::Active;
        let asks_again = p.probe_timeout.asks_again() || self.failure.peers_flow.asks();
        let shared = under_way.filter(|_| p.detector.is_probing() || revives || asks_again);
        let probe = Probe {
            nonce: shared.map_or_else(|| ctx.rng.random(), |p| p.nonce),
            sent: ctx.now,
            first_sent: shared.map_or(ctx.now, |p| p.first_sent),
            full_sized: p.dead_data.is_dead(),
        };
        self.paths.want_heartbeat(path, false);
        let p = self.paths.get_mut(path);
        p.timers.set(PathTimer::Heartbeat, None);
        p.heartbeat.begin(probe);
        // One that asks the same again is lost with the first.
        let is_timed = p.timers.get(PathTimer::HeartbeatLost).is_some();
        if !(asks_again && shared.is_some() && is_timed) {
            p.timers.set(PathTimer::HeartbeatLost, Some(ctx.now + wait));
        }
        p.rtt.measurable_leaves(ctx.now);
        self.observe(ctx, || Observation::HeartbeatSent { path });
        heartbeat_info(path, &probe)
    }

    /// A heartbeat was not answered within the RTO.
    pub(crate) fn on_heartbeat_lost(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        let p = self.paths.get_mut(path);
        if p.detector.is_probing() {
            // Probes of the detector are not retransmitted and not counted, and do not
            // change the RTO (cortes-2008). Their nonce stays valid.
            p.timers.set(PathTimer::HeartbeatLost, None);
            return;
        }
        if self.repeat_revival_heartbeat(path) {
            return;
        }
        let p = self.paths.get_mut(path);
        let lost = p.lose_heartbeat();
        // What left after the heartbeat arrived: only the heartbeat is lost, or its answer.
        let newest = p.recovery.rack.as_ref().and_then(|r| r.newest());
        if lost.is_some_and(|probe| newest.is_some_and(|sent| sent > probe.sent)) {
            self.schedule_heartbeat(ctx, path);
            return;
        }
        if let Some(probe) = lost {
            p.errors.heartbeat_lost(probe.sent);
        }
        if self.data_counts_silence(path) {
            if self.is_eager(path) {
                self.want_heartbeat(path);
            } else {
                self.schedule_heartbeat(ctx, path);
            }
            return;
        }
        let p = self.paths.get_mut(path);
        p.rtt.back_off(&self.cfg.rto);
        if p.is_confirmed()
            && let (Some(e), Some(cfg)) =
                (&mut self.optional.estimating, &self.cfg.failover.estimate)
        {
            e.heartbeat(path, false, cfg.memory);
        }
        self.observe(ctx, || Observation::TimerFired {
            timer: Timer::HeartbeatLost,
            path: Some(path),
        });
        self.observe_rto(ctx, path, None);
        self.count_lost_heartbeat(ctx, path);
        if self.peer_is_unreachable(ctx) {
            return;
        }
        // A potentially failed path is probed once per RTO. The RTO has passed, so the
        // next probe leaves now.
        let eager = self.is_eager(path);
        if self.repeats_heartbeats() {
            self.want_heartbeat(path);
        } else if eager {
            self.paths
                .get_mut(path)
                .timers
                .set(PathTimer::Heartbeat, Some(ctx.now));
        } else {
            self.schedule_heartbeat(ctx, path);
        }
        self.choose_data_path(ctx, None);
        self.begin_revival(ctx);
    }

    /// Section 8.1: only heartbeats on the path that carries data count for the
    /// association. Section 5.4: those that verify an address never count.
    pub(super) fn count_lost_heartbeat(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        // While no address is confirmed, nothing else shows that the peer is gone.
        let counts = (self.paths.get(path).is_confirmed() || self.optional.stalled)
            && (path == self.paths.data() || self.cfg.failure.idle_heartbeats_count);
        let pmr = self.cfg.failure.path_max_retrans;
        let limit = match self.cfg.failure.heartbeat_test {
            PathMaxRetransTest::Exceeds => pmr,
            PathMaxRetransTest::Reaches => pmr.saturating_sub(1),
        };
        let p = self.paths.get(path);
        let limit = match p.is_confirmed() {
            true => limit,
            // The address had its heartbeats, maybe by an earlier path.
            false if self.is_silent(path) => 0,
            false => limit.min(MOST_UNANSWERED - 1),
        };
        self.blame(path, PathTrouble::HeartbeatLost);
        self.count_error(ctx, path, counts, limit);
    }

    /// Whether T3-rtx of a path runs that is not active: data probes the path, and its
    /// timeouts count the silence. If lost heartbeats counted, too, one silence would be
    /// two errors and double the RTO twice. Not where only heartbeats prove the path
    /// (natarajan-2006).
    fn data_counts_silence(&self, path: PathId) -> bool {
        let p = self.paths.get(path);
        p.timers.t3().is_some() && self.data_makes_active(path)
    }

    /// Whether a path is probed once per RTO: its address is unconfirmed, it is potentially
    /// failed, or it is failed and `hb.failed` says so. With `confirm_all_before_data` an
    /// active path may be unconfirmed. While no path may take data, all are probed so.
    fn is_eager(&self, path: PathId) -> bool {
        let p = self.paths.get(path);
        if p.is_listed() {
            return self.is_asked_often(path);
        }
        match p.state() {
            PathState::Unconfirmed => true,
            // Not where the user turned heartbeats off (RFC 7829 section 3.2, rule 5).
            PathState::PotentiallyFailed => p.heartbeat.is_enabled() || !p.is_confirmed(),
            PathState::Active => !p.is_confirmed(),
            PathState::Inactive if self.optional.stalled => true,
            PathState::Inactive => {
                let once_per_rto = self.cfg.hb.failed == FailedProbes::OncePerRto;
                p.heartbeat.is_enabled() && once_per_rto
            }
        }
    }

    /// Whether a heartbeat of a path is under way, or leaves in time, also as a probe of the
    /// detector (cortes-2008).
    pub(super) fn is_probed(&self, path: PathId) -> bool {
        use PathTimer::{DetectorProbe, Heartbeat, HeartbeatLost};
        let timers = &self.paths.get(path).timers;
        let all = [Heartbeat, HeartbeatLost, DetectorProbe];
        self.paths.wants_heartbeat(path) || all.iter().any(|t| timers.get(*t).is_some())
    }

    /// Whether heartbeats are sent. During the shutdown only where it waits for an address to
    /// be verified.
    pub(super) fn sends_heartbeats(&self) -> bool {
        use super::State::{ShutdownAckSent, ShutdownSent};
        let ends = matches!(self.state, ShutdownSent | ShutdownAckSent);
        self.state.sends_heartbeats() || self.optional.stalled && ends
    }

    /// A heartbeat leaves with the next packets.
    pub(super) fn want_heartbeat(&mut self, path: PathId) {
        self.paths.want_heartbeat(path, true);
    }
}

/// `d` times a random factor of 0.5 to 1.5.
fn vary(d: Duration, ctx: &mut Ctx<'_>) -> Duration {
    d.mul_f64(ctx.rng.random_range(0.5..1.5))
}
