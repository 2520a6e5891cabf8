//! The settings of a side: every policy, each a small number.
//!
//! Not drawn, as they are no policies: the `dialect` (readings of ns-2, which the
//! comparison with its traces covers), the times of cookies, `max_message`,
//! `fill_packets`, `association_max_retrans` (whether a failure is reported
//! follows from it), the gains of the RTO, and the thresholds of slow start and
//! fast retransmit that no paper varies.

use byway_core::Config;
use byway_core::config::{
    AllPathsSuspect, BufferTuning, BurstRule, ConcurrentConfig, CongestionAlgorithm, Coupling,
    Cubic, CwndGrowth, Dormant, ErrorClear, FailedProbes, FastRecovery, HbJitter, InitialCwnd,
    PathMaxRetransTest, PfClear, PfConfig, PfReturnCwnd, Pmtu, PrimarySwitch, RttSampling,
    SackDestination, Wildcard,
};
use byway_core::policy::Formula;
use byway_core::policy::estimate::ProbeSize;
use byway_core::policy::probing::{Detection, Probing, ProbingStop};
use byway_core::policy::{
    AfterRto, Choice, Cuc, DataMove, DeadData, EstimateConfig, FastRetransmits, FillOrder, Pacing,
    ProbeTimeout, Rack, Repeats, RetransmitTarget, Revival, RtxPolicy, Scheduler, StreamScheduler,
    Trial,
};
use byway_core::time::Duration;
use proptest::prelude::*;

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
    /// The scheduler of concurrent multipath transfer, and buffers that tune themselves.
    pub(crate) scheduler: u8,
    /// Multiple Fast Retransmit, timestamps.
    pub(crate) scheme: u8,
    /// The algorithm, coupling, and the windows that it begins with.
    pub(crate) windows: u8,
    /// PMR, and how lost heartbeats count towards it.
    pub(crate) pmr: u8,
    pub(crate) dead_data: u8,
    /// Odd numbers switch it on.
    pub(crate) estimate: u8,
    /// How single paths are watched.
    pub(crate) of_path: u8,
    /// What the preset `byway` adds; 255 is all of it.
    pub(crate) byway: u8,
    /// Changes of addresses (RFC 5061), and how this side names itself in them; 0 is off. With 8 more an association outlives a
    /// restart of its peer.
    pub(crate) asconf: u8,
    /// Odd numbers switch interleaving on; the rest is the scheduler of streams (RFC 8260).
    pub(crate) interleaving: u8,
}

impl Settings {
    pub(crate) fn config(&self) -> Config {
        let mut c = if self.old {
            Config::rfc2960()
        } else {
            Config::rfc9260()
        };
        self.streams_and_paths(&mut c);
        self.retransmission(&mut c);
        self.failure(&mut c);
        self.failover(&mut c);
        self.estimate(&mut c);
        self.windows(&mut c);
        self.concurrent(&mut c);
        self.growth_and_bursts(&mut c);
        self.buffers(&mut c);
        self.timeouts(&mut c);
        self.sacks(&mut c);
        self.heartbeats(&mut c);
        self.others(&mut c);
        c
    }

    fn streams_and_paths(&self, c: &mut Config) {
        c.setup.outbound_streams = [10, 1, 3, 100][usize::from(self.streams % 4)];
        c.setup.max_inbound_streams = [2048, 1, 2, 50][usize::from(self.streams / 4 % 4)];
        c.setup.max_paths = [8, 1, 2][usize::from(self.streams / 16 % 3)];
        c.streams.interleaving = self.interleaving % 2 == 1;
        c.streams.scheduler = [
            StreamScheduler::FirstCome,
            StreamScheduler::RoundRobin,
            StreamScheduler::FairCapacity,
            StreamScheduler::RoundRobinPacket,
            StreamScheduler::WeightedFair,
            StreamScheduler::Priority,
        ][usize::from(self.interleaving / 2 % 6)];
    }

    fn retransmission(&self, c: &mut Config) {
        c.retransmission.target = [
            c.retransmission.target,
            RetransmitTarget::AllRtxSame,
            RetransmitTarget::AllRtxAlt,
            RetransmitTarget::FrSameRtoAlt,
        ][usize::from(self.target % 4)];
        if self.target >= 4 {
            c.retransmission.after_rto = AfterRto::Heartbeat;
        }
        if self.scheme & 1 != 0 {
            c.retransmission.fast_retransmits = FastRetransmits::Multiple;
        }
        c.rto.timestamps = self.scheme & 2 != 0;
        c.retransmission.new_data_at_rto ^= self.scheme & 4 != 0;
    }

    fn growth_and_bursts(&self, c: &mut Config) {
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
    }

    fn buffers(&self, c: &mut Config) {
        c.buffer.receive =
            [c.buffer.receive, 1500, 4000, 20_000, 65_536][usize::from(self.receive % 5)];
        c.buffer.receive_overhead =
            [c.buffer.receive_overhead, 0, 16, 256][usize::from(self.receive / 5 % 4)];
        c.buffer.peer_overhead =
            [c.buffer.peer_overhead, 0, 16][usize::from(self.receive / 20 % 3)];
        c.buffer.send = [c.buffer.send, 1, 5000, 100_000][usize::from(self.send % 4)];
        c.buffer.tuning = (self.scheduler / 5 == 1).then_some(BufferTuning {
            receive: 100_000,
            send: 200_000,
        });
        c.buffer.partial_delivery_point = [0, 1, 3000, u32::MAX][usize::from(self.parts % 4)];
        c.buffer.window_update_share = [4, 1, 100][usize::from(self.parts / 4 % 3)];
        c.pmtu = Pmtu([1500, 512, 577, 9000][usize::from(self.pmtu % 4)]);
    }

    fn timeouts(&self, c: &mut Config) {
        let ms = Duration::from_millis;
        (c.rto.initial, c.rto.min, c.rto.max) = [
            (c.rto.initial, c.rto.min, c.rto.max),
            (ms(1000), ms(10), ms(5000)),
            (ms(200), ms(200), ms(400)),
            (ms(50), ms(1), ms(60_000)),
        ][usize::from(self.rto % 4)];
        if self.rto >= 4 {
            c.rto.sampling = RttSampling::EveryChunk;
        }
    }

    fn sacks(&self, c: &mut Config) {
        let ms = Duration::from_millis;
        c.sack.delay = ms([200, 0, 500][usize::from(self.sack % 3)]);
        c.sack.every = [2, 1, 5][usize::from(self.sack / 3 % 3)];
        c.sack.first_at_once = self.sack & 16 != 0;
        if self.sack & 32 != 0 {
            c.sack.destination = SackDestination::DataPath;
        }
    }

    fn heartbeats(&self, c: &mut Config) {
        let ms = Duration::from_millis;
        c.hb.interval = ms([30_000, 1000, 100][usize::from(self.hb % 3)]);
        c.hb.jitter = [HbJitter::HalfRto, HbJitter::HalfInterval, HbJitter::Off]
            [usize::from(self.hb / 3 % 3)];
        // A side that sends its SACKs where it would send data, and never tries
        // that path, does not find out that it is dead.
        c.hb.enabled = self.hb & 16 == 0 || self.sack & 32 != 0;
        c.hb.max_burst = [1, 4][usize::from(self.hb / 32 % 2)];
    }

    /// After `failure` and `failover`, whose choices it adds to.
    fn others(&self, c: &mut Config) {
        let ms = Duration::from_millis;
        c.setup.confirm_all_before_data = self.misc & 1 != 0;
        c.failure.idle_heartbeats_count |= self.misc & 2 != 0;
        c.failover.probe_timeout = (self.misc & 8 != 0).then(|| ProbeTimeout {
            // Shorter than the peer may hold back its SACKs, too.
            ack_delay: ms([200, 0][usize::from(self.misc / 16 % 2)]),
            ..ProbeTimeout::default()
        });
        self.byway(c);
        if self.misc & 4 != 0 {
            c.failure.error_clear = ErrorClear::FirstTransmissionOnly;
        }
    }

    /// After `failover` and the probe timeout.
    fn byway(&self, c: &mut Config) {
        c.retransmission.rack = (self.byway & 1 != 0).then(|| Rack {
            reordering: [0.25, 0.0][usize::from(self.scheme % 2)],
        });
        if let Some(rule) = &mut c.failover.probe_timeout {
            rule.tail_probe = self.byway & 2 != 0;
            rule.heartbeats = if self.byway & 20 == 20 { 3 } else { 1 };
            if self.byway & 4 != 0 {
                rule.moves = DataMove::HeartbeatOverdue;
                rule.repeats =
                    [Repeats::Oldest, Repeats::UntilAnswered][usize::from(self.scheme % 2)];
            }
        }
        c.congestion.proportional_rate_reduction = self.byway & 32 != 0;
        c.congestion.pacing = (self.byway & 64 != 0).then(Pacing::default);
        c.retransmission.undo_spurious = self.byway & 128 != 0;
        c.failover.revival = (self.byway & 8 != 0).then(Revival::default);
        c.hb.at_establishment = self.byway & 16 != 0;
        let asconf = self.asconf % 8;
        c.setup.keep_on_restart = self.asconf >= 8;
        c.auth.enabled = asconf > 0;
        c.asconf.enabled = asconf > 1;
        c.asconf.wildcard = match asconf {
            7 => Wildcard::Always,
            _ => Wildcard::Private,
        };
        // Easily begun, so that programs meet it.
        c.failover.trial = (self.byway & 136 == 136).then(|| Trial {
            loss: 0.01,
            events: 1,
            hold: Duration::from_secs(1),
            ..Trial::default()
        });
        if let CongestionAlgorithm::Cubic(cubic) = &mut c.congestion.algorithm {
            cubic.hystart = self.byway & 1 != 0;
        }
    }

    fn failure(&self, c: &mut Config) {
        c.failure.path_max_retrans =
            [c.failure.path_max_retrans, 0, 1, 8][usize::from(self.pmr % 4)];
        if self.pmr >= 4 {
            c.failure.heartbeat_test = PathMaxRetransTest::Reaches;
        }
        c.failure.dead_data = match self.dead_data % 4 {
            0 => c.failure.dead_data,
            1 => None,
            n => Some(DeadData {
                timeouts: u32::from(n) - 1,
                give_up: Duration::from_secs(60),
            }),
        };
        let probing = |secs, n| {
            Detection::Probing(Probing {
                dmax: Duration::from_secs(secs),
                n,
                stop: [
                    ProbingStop::PathAck,
                    ProbingStop::HeartbeatAck,
                    ProbingStop::AnyAck,
                ][usize::from(self.dormant % 3)],
                beside_pmr: self.pf.is_multiple_of(2),
            })
        };
        if self.detection == 1 {
            c.failure.detection = probing(2, 5);
        }
        c.failure.path_detection = match self.of_path % 4 {
            0 => Vec::new(),
            1 => vec![probing(1, 1)],
            2 => vec![Detection::ErrorCount, probing(3, 30)],
            _ => vec![probing(1, 100)],
        };
        c.failure
            .path_detection
            .truncate(usize::from(c.setup.max_paths));
    }

    /// After `failover`, as one choice needs a permanent failover to judge.
    fn estimate(&self, c: &mut Config) {
        let n = self.estimate / 2;
        let permanent = c.failover.primary_switch != PrimarySwitch::Never;
        let d = EstimateConfig::default();
        let bold = n / 6 % 2 == 1;
        let estimate = EstimateConfig {
            choice: match n % 3 {
                0 => Choice::Best,
                1 if permanent => Choice::PermanentFailover,
                _ => Choice::Nothing,
            },
            formula: [Formula::Simple, Formula::WithTimeouts][usize::from(n / 3 % 2)],
            factor: if bold { 1.0 } else { d.factor },
            deviations: if bold { 0.0 } else { d.deviations },
            min_samples: if bold { 1 } else { d.min_samples },
            hold: if bold { Duration::ZERO } else { d.hold },
            memory: if bold { 10 } else { d.memory },
            probe_share: [d.probe_share, 1.0, 0.0][usize::from(n / 12 % 3)],
            own_queue: if bold { 0 } else { d.own_queue },
            probes_per_second: if bold { 1000 } else { d.probes_per_second },
            probe_size: [ProbeSize::Small, ProbeSize::Packet][usize::from(n / 36 % 2)],
        };
        c.failover.estimate = (self.estimate % 2 == 1).then_some(estimate);
    }

    fn windows(&self, c: &mut Config) {
        let (algorithm, coupled) = [
            (CongestionAlgorithm::Rfc9260, Coupling::Off),
            (CongestionAlgorithm::Cubic(Cubic::default()), Coupling::Off),
            (CongestionAlgorithm::Rfc9260, Coupling::Lia),
            (CongestionAlgorithm::Rfc9260, Coupling::Olia),
        ][usize::from(self.windows % 4)];
        (c.congestion.algorithm, c.congestion.coupled) = (algorithm, coupled);
        c.congestion.initial_cwnd = [
            c.congestion.initial_cwnd,
            InitialCwnd::Pmdcs(1),
            InitialCwnd::Pmdcs(10),
        ][usize::from(self.windows / 4 % 3)];
        c.congestion.initial_ssthresh = (self.windows / 12 % 2 == 1).then_some(5000);
        c.congestion.idle_decay ^= self.windows / 24 % 2 == 1;
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
            order: [FillOrder::BehindLast, FillOrder::InTurn][usize::from(n / 60 % 2)],
        };
        let on = self.concurrent % 2 == 1 && c.setup.max_paths > 1;
        c.concurrent = on.then_some(concurrent);
        c.scheduler = [
            Scheduler::Fill,
            Scheduler::Earliest,
            Scheduler::LowestRtt,
            Scheduler::Ecf,
            Scheduler::Blest,
        ][usize::from(self.scheduler % 5)];
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
                max_retrans: 2.min(c.failure.path_max_retrans),
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
    }
}

pub(crate) fn settings() -> impl Strategy<Value = Settings> {
    // Half of all sides run plain defaults, so that a bug that needs one odd
    // setting is found beside plain ones.
    let odd = (
        (any::<bool>(), 0..8u8, 0..10u8, 0..5u8, 0..8u8, 0..4u8),
        (any::<bool>(), 0..12u8, 0..60u8, 0..4u8, 0..12u8, 0..4u8),
        (0..8u8, 0..64u8, 0..64u8, 0..48u8, 0..2u8, 0..32u8, 0..240u8),
        (
            0..8u8,
            0..48u8,
            0..8u8,
            0..4u8,
            0..144u8,
            0..4u8,
            any::<u8>(),
        ),
        (0..16u8, 0..10u8, 0..12u8),
    )
        .prop_map(|(a, b, c, d, (asconf, scheduler, interleaving))| Settings {
            asconf,
            scheduler,
            interleaving,
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
            scheme: d.0,
            windows: d.1,
            pmr: d.2,
            dead_data: d.3,
            estimate: d.4,
            of_path: d.5,
            byway: d.6,
        });
    let plain = (0..16u8, 0..4u8).prop_map(|(asconf, interleaving)| Settings {
        asconf,
        interleaving,
        ..Settings::default()
    });
    prop_oneof![plain, odd]
}
