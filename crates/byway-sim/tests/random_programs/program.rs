//! What a random program is made of. Everything is a small number, so that
//! failures shrink well and are short when written down.

use byway_core::Config;
use byway_core::config::{
    AllPathsSuspect, BurstRule, ConcurrentConfig, CwndGrowth, Dormant, ErrorClear, FailedProbes,
    FastRecovery, HbJitter, PfClear, PfConfig, PfReturnCwnd, Pmtu, PrimarySwitch, RttSampling,
    SackDestination,
};
use byway_core::policy::probing::{Detection, Probing, ProbingStop};
use byway_core::policy::{AfterRto, Cuc, RetransmitTarget, RtxPolicy};
use byway_core::time::Duration;
use proptest::collection::vec;
use proptest::prelude::*;

/// Two endpoints, the network between them, and what they do.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub(crate) seed: u8,
    /// Whether packets carry checksums; else the network drops what it damaged.
    pub(crate) checksums: bool,
    /// Whether both sides set up at once.
    pub(crate) both_connect: bool,
    pub(crate) paths: Vec<PathPlan>,
    pub(crate) settings: [Settings; 2],
    pub(crate) steps: Vec<Step>,
}

/// One path: a link each way.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathPlan {
    pub(crate) delay_ms: u8,
    /// Of packets, in percent.
    pub(crate) loss: u8,
    pub(crate) reorder: u8,
    pub(crate) duplicate: u8,
    pub(crate) corrupt: u8,
    /// Packets that wait at a 10 Mb/s link; 0 for an unlimited rate.
    pub(crate) queue: u8,
    /// Begin and length in units of 100 ms; a length of 0 is for ever. Of one
    /// direction: 0 and 1, or 2 for both.
    pub(crate) outages: Vec<(u8, u8, u8)>,
}

/// Choices of a configuration; 0 is always the default.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) old: bool,
    pub(crate) target: u8,
    pub(crate) pf: u8,
    pub(crate) dormant: u8,
    pub(crate) switch: u8,
    pub(crate) recovery: u8,
    pub(crate) growth: bool,
    pub(crate) burst: u8,
    pub(crate) receive: u8,
    pub(crate) send: u8,
    pub(crate) parts: u8,
    pub(crate) pmtu: u8,
    pub(crate) rto: u8,
    pub(crate) sack: u8,
    pub(crate) hb: u8,
    pub(crate) streams: u8,
    pub(crate) detection: u8,
    pub(crate) misc: u8,
    pub(crate) concurrent: u8,
}

#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// Time since the step before.
    pub(crate) wait_ms: u16,
    pub(crate) side: usize,
    pub(crate) op: Op,
}

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Send {
        stream: u8,
        len: u32,
        count: u8,
        unordered: bool,
        path: Option<u8>,
    },
    SetPrimary(u8),
    Heartbeat(u8),
    EnableHeartbeats(u8, bool),
    /// Stops or goes on reading.
    Reading(bool),
    Connect,
    Shutdown,
    Abort,
    /// The endpoint is replaced by a fresh one; the first side sets up again.
    Restart,
}

impl Settings {
    pub(crate) fn config(&self) -> Config {
        let mut c = if self.old {
            Config::rfc2960()
        } else {
            Config::rfc9260()
        };
        let ms = Duration::from_millis;
        c.setup.outbound_streams = [10, 1, 3, 100][usize::from(self.streams % 4)];
        c.setup.max_inbound_streams = [2048, 1, 2, 50][usize::from(self.streams / 4 % 4)];
        c.setup.max_paths = [8, 1, 2][usize::from(self.streams / 16 % 3)];
        c.retransmission.target = [
            c.retransmission.target,
            RetransmitTarget::AllRtxSame,
            RetransmitTarget::AllRtxAlt,
            RetransmitTarget::FrSameRtoAlt,
        ][usize::from(self.target % 4)];
        if self.target >= 4 {
            c.retransmission.after_rto = AfterRto::Heartbeat;
        }
        self.failover(&mut c);
        self.concurrent(&mut c);
        c.congestion.fast_recovery = [
            c.congestion.fast_recovery,
            FastRecovery::PerAssociation,
            FastRecovery::PerDestination,
            FastRecovery::Off,
        ][usize::from(self.recovery % 4)];
        if self.growth {
            c.congestion.growth = CwndGrowth::CumulativeAdvance;
        }
        c.congestion.max_burst = [Some(4), None, Some(1), Some(2)][usize::from(self.burst % 4)];
        c.congestion.burst_rule = [
            BurstRule::CountPackets,
            BurstRule::LimitWindow,
            BurstRule::ShrinkWindow,
        ][usize::from(self.burst / 4 % 3)];
        c.buffer.receive =
            [c.buffer.receive, 1500, 4000, 20_000, 65_536][usize::from(self.receive % 5)];
        c.buffer.receive_overhead =
            [c.buffer.receive_overhead, 0, 16, 256][usize::from(self.receive / 5 % 4)];
        c.buffer.peer_overhead =
            [c.buffer.peer_overhead, 0, 16][usize::from(self.receive / 20 % 3)];
        c.buffer.send = [c.buffer.send, 1, 5000, 100_000][usize::from(self.send % 4)];
        c.buffer.partial_delivery_point = [0, 1, 3000, u32::MAX][usize::from(self.parts % 4)];
        c.buffer.window_update_share = [4, 1, 100][usize::from(self.parts / 4 % 3)];
        c.pmtu = Pmtu([1500, 512, 577, 9000][usize::from(self.pmtu % 4)]);
        (c.rto.initial, c.rto.min, c.rto.max) = [
            (c.rto.initial, c.rto.min, c.rto.max),
            (ms(1000), ms(10), ms(5000)),
            (ms(200), ms(200), ms(400)),
            (ms(50), ms(1), ms(60_000)),
        ][usize::from(self.rto % 4)];
        if self.rto >= 4 {
            c.rto.sampling = RttSampling::EveryChunk;
        }
        c.sack.delay = ms([200, 0, 500][usize::from(self.sack % 3)]);
        c.sack.every = [2, 1, 5][usize::from(self.sack / 3 % 3)];
        c.sack.first_at_once = self.sack & 16 != 0;
        if self.sack & 32 != 0 {
            c.sack.destination = SackDestination::DataPath;
        }
        c.hb.interval = ms([30_000, 1000, 100][usize::from(self.hb % 3)]);
        c.hb.jitter = [HbJitter::HalfRto, HbJitter::HalfInterval, HbJitter::Off]
            [usize::from(self.hb / 3 % 3)];
        // A side that sends its SACKs where it would send data, and never tries
        // that path, does not find out that it is dead.
        c.hb.enabled = self.hb & 16 == 0 || self.sack & 32 != 0;
        c.hb.max_burst = [1, 4][usize::from(self.hb / 32 % 2)];
        c.setup.confirm_all_before_data = self.misc & 1 != 0;
        c.failure.idle_heartbeats_count |= self.misc & 2 != 0;
        c.failover.probe_timeout = (self.misc & 8 != 0).then(Default::default);
        if self.misc & 4 != 0 {
            c.failure.error_clear = ErrorClear::FirstTransmissionOnly;
        }
        c
    }

    /// Odd numbers switch it on.
    fn concurrent(&self, c: &mut Config) {
        let n = self.concurrent / 2;
        let concurrent = ConcurrentConfig {
            sfr: n & 1 == 0,
            dac: n & 2 == 0,
            cuc: [Cuc::V2, Cuc::V1, Cuc::Off][usize::from(n / 4 % 3)],
            rtx: [
                RtxPolicy::Ssthresh,
                RtxPolicy::Same,
                RtxPolicy::Asap,
                RtxPolicy::Cwnd,
                RtxPolicy::LossRate,
            ][usize::from(n / 12 % 5)],
        };
        let on = self.concurrent % 2 == 1 && c.setup.max_paths > 1;
        c.concurrent = on.then_some(concurrent);
    }

    fn failover(&self, c: &mut Config) {
        c.failover.potentially_failed = match self.pf % 5 {
            0 => c.failover.potentially_failed.clone(),
            1 => None,
            2 => Some(PfConfig::default()),
            3 => Some(PfConfig {
                clear: PfClear::HeartbeatAck,
                return_cwnd: PfReturnCwnd::Pmdcs(1),
                ..PfConfig::default()
            }),
            _ => Some(PfConfig {
                max_retrans: 2,
                return_cwnd: PfReturnCwnd::Pmdcs(2),
                ..PfConfig::default()
            }),
        };
        if self.pf >= 5 {
            c.failover.all_paths_suspect = [
                AllPathsSuspect::LeastErrorsThenDivergent,
                AllPathsSuspect::Hop,
            ][usize::from(self.dormant % 2)];
        }
        c.failover.dormant = [
            c.failover.dormant,
            Dormant::Hop,
            Dormant::Primary,
            Dormant::Last,
            Dormant::LeastErrors,
        ][usize::from(self.dormant % 5)];
        c.failover.primary_switch = [
            PrimarySwitch::Never,
            PrimarySwitch::Cpt(2),
            PrimarySwitch::Psmr(c.failure.path_max_retrans.max(3)),
            PrimarySwitch::CptHeartbeats(1),
        ][usize::from(self.switch % 4)];
        if self.switch >= 4 {
            c.hb.failed = FailedProbes::OncePerRto;
        }
        if self.detection == 1 {
            c.failure.detection = Detection::Probing(Probing {
                dmax: Duration::from_secs(2),
                n: 5,
                stop: [
                    ProbingStop::PathAck,
                    ProbingStop::HeartbeatAck,
                    ProbingStop::AnyAck,
                ][usize::from(self.dormant % 3)],
                beside_pmr: self.pf.is_multiple_of(2),
            });
        }
    }
}

fn settings() -> impl Strategy<Value = Settings> {
    // Half of all sides run plain defaults, so that a bug that needs one odd
    // setting is found beside plain ones.
    let odd = (
        (any::<bool>(), 0..8u8, 0..10u8, 0..5u8, 0..8u8, 0..4u8),
        (any::<bool>(), 0..12u8, 0..60u8, 0..4u8, 0..12u8, 0..4u8),
        (0..8u8, 0..64u8, 0..64u8, 0..48u8, 0..2u8, 0..16u8, 0..120u8),
    )
        .prop_map(|(a, b, c)| Settings {
            old: a.0,
            target: a.1,
            pf: a.2,
            dormant: a.3,
            switch: a.4,
            recovery: a.5,
            growth: b.0,
            burst: b.1,
            receive: b.2,
            send: b.3,
            parts: b.4,
            pmtu: b.5,
            rto: c.0,
            sack: c.1,
            hb: c.2,
            streams: c.3,
            detection: c.4,
            misc: c.5,
            concurrent: c.6,
        });
    prop_oneof![Just(Settings::default()), odd]
}

fn path() -> impl Strategy<Value = PathPlan> {
    let rarely = |most: u8| prop_oneof![3 => Just(0u8), 1 => 0..most];
    let outage = (0..200u8, 0..100u8, 0..3u8);
    (
        0..120u8,
        prop_oneof![2 => Just(0u8), 2 => 0..5u8, 1 => 0..40u8],
        rarely(30),
        rarely(30),
        rarely(20),
        // A queue of one packet lets a heartbeat through and never the data
        // behind it.
        prop_oneof![3 => Just(0u8), 1 => 3..60u8],
        prop_oneof![2 => Just(Vec::new()), 1 => vec(outage, 1..3)],
    )
        .prop_map(
            |(delay_ms, loss, reorder, duplicate, corrupt, queue, outages)| PathPlan {
                delay_ms,
                loss,
                reorder,
                duplicate,
                corrupt,
                queue,
                outages,
            },
        )
}

fn length() -> impl Strategy<Value = u32> {
    prop_oneof![
        4 => 1..200u32,
        4 => 200..5000u32,
        1 => 1440..1470u32,
        1 => 5000..200_000u32,
    ]
}

fn send() -> impl Strategy<Value = Op> {
    let path = prop_oneof![4 => Just(None), 1 => (0..4u8).prop_map(Some)];
    (0..12u8, length(), 1..20u8, any::<bool>(), path).prop_map(
        |(stream, len, count, unordered, path)| Op::Send {
            stream,
            len,
            // Many are small ones.
            count: if len > 5000 { 1 } else { count },
            unordered,
            path,
        },
    )
}

fn mild_op() -> impl Strategy<Value = Op> {
    prop_oneof![
        12 => send(),
        1 => (0..4u8).prop_map(Op::SetPrimary),
        1 => (0..4u8).prop_map(Op::Heartbeat),
        1 => (0..4u8, any::<bool>()).prop_map(|(p, on)| Op::EnableHeartbeats(p, on)),
        1 => any::<bool>().prop_map(Op::Reading),
    ]
}

fn any_op() -> impl Strategy<Value = Op> {
    prop_oneof![
        30 => mild_op(),
        2 => Just(Op::Connect),
        1 => Just(Op::Shutdown),
        1 => Just(Op::Restart),
        1 => Just(Op::Abort),
    ]
}

fn steps(op: impl Strategy<Value = Op>) -> impl Strategy<Value = Vec<Step>> {
    let wait = prop_oneof![2 => Just(0u16), 4 => 0..300u16, 1 => 0..20_000u16];
    let step = (wait, 0..2usize, op).prop_map(|(wait_ms, side, op)| Step { wait_ms, side, op });
    vec(step, 0..40)
}

/// Any program at all.
pub(crate) fn any_program() -> impl Strategy<Value = Program> {
    (
        any::<u8>(),
        any::<bool>(),
        prop_oneof![4 => Just(false), 1 => Just(true)],
        vec(path(), 1..=4),
        [settings(), settings()],
        steps(any_op()),
    )
        .prop_map(
            |(seed, checksums, both_connect, paths, settings, steps)| Program {
                seed,
                checksums,
                both_connect,
                paths,
                settings,
                steps,
            },
        )
}

/// A program whose network loses little, where nobody restarts or aborts: no
/// failure may be reported.
pub(crate) fn calm_program() -> impl Strategy<Value = Program> {
    let path =
        (0..120u8, 0..3u8, 0..20u8, 0..10u8).prop_map(|(delay_ms, loss, reorder, duplicate)| {
            PathPlan {
                delay_ms,
                loss,
                reorder,
                duplicate,
                ..PathPlan::default()
            }
        });
    (
        any::<u8>(),
        any::<bool>(),
        vec(path, 1..=4),
        [settings(), settings()],
        steps(mild_op()),
    )
        .prop_map(|(seed, both_connect, paths, mut settings, steps)| {
            for s in &mut settings {
                // All streams exist on both sides: a message for one that the
                // peer does not allow ends the association.
                s.streams -= s.streams % 16;
            }
            Program {
                seed,
                checksums: false,
                both_connect,
                paths,
                settings,
                steps,
            }
        })
}
