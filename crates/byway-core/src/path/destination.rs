//! One destination with its state, in groups.

use super::{PathState, PathTimer, PathTimers, RttEstimator, Window};
use crate::cc::PathControl;
use crate::config::Config;
use crate::policy::Detection;
use crate::policy::dead_data::Trial;
use crate::time::Instant;
use core::net::SocketAddr;

/// A heartbeat that has not been answered yet.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Probe {
    /// 64 random bits that the answer must carry (RFC 9260 section 5.4).
    pub(crate) nonce: u64,
    pub(crate) sent: Instant,
    /// When the first heartbeat with this nonce left.
    pub(crate) first_sent: Instant,
    /// It is as large as the path's packets.
    pub(crate) full_sized: bool,
}

/// One destination and its state.
#[derive(Debug)]
pub(crate) struct Path {
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    pub(crate) state: PathState,
    /// Whether the address has proved that it is the peer's.
    pub(crate) confirmed: bool,
    pub(crate) mtu: PathMtu,
    pub(crate) rtt: RttEstimator,
    pub(crate) window: Window,
    /// The congestion control that changes its window.
    pub(crate) control: PathControl,
    pub(crate) recovery: Recovery,
    pub(crate) burst: Burst,
    pub(crate) timers: PathTimers,
    pub(crate) heartbeat: Heartbeat,
    pub(crate) errors: PathErrors,
    pub(crate) detector: PathDetector,
    pub(crate) probe_timeout: OwedToProbeTimeout,
    pub(crate) dead_data: DeadDataTrial,
    pub(crate) counters: PathCounters,
}

/// The size of a path's packets.
#[derive(Copy, Clone, Debug)]
pub(crate) struct PathMtu {
    /// Largest IP packet, bytes.
    pub(crate) pmtu: u32,
    /// Bytes of each packet that DATA chunks leave free for a TIMESTAMP.
    pub(crate) beside_data: u32,
}

/// Losses that a path has not recovered from (section 7.2.4).
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Recovery {
    /// Until this sequence is acknowledged, a loss belongs to the last loss event (fast
    /// recovery per destination).
    pub(crate) exit: Option<u64>,
    /// One packet at a time, from a timeout until an acknowledgement (section 7.2.3).
    pub(crate) one_packet: bool,
}

/// What the current event may still release (section 6.1, D).
#[derive(Copy, Clone, Debug)]
pub(crate) struct Burst {
    /// Packets of new data.
    pub(crate) packets_left: u32,
    /// New data may leave up to this flight size; none before the event's first packet.
    pub(crate) flight_limit: Option<u32>,
}

/// Heartbeats of a path (section 8.3).
#[derive(Copy, Clone, Debug)]
pub(crate) struct Heartbeat {
    /// The one that is not answered yet.
    pub(crate) under_way: Option<Probe>,
    /// Whether the user wants heartbeats here.
    pub(crate) enabled: bool,
}

/// Errors of a path and their results (section 8.2; RFC 7829).
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct PathErrors {
    /// Consecutive errors.
    pub(crate) count: u32,
    /// When the last of them happened. An answer to something sent before proves
    /// nothing.
    pub(crate) last_at: Option<Instant>,
    /// When the path stopped being active; none while it is active.
    pub(crate) left_at: Option<Instant>,
    /// Heartbeats that were sent after this time and lost.
    pub(crate) heartbeats_lost: u32,
    /// Heartbeats answered since the last error.
    pub(crate) heartbeats_answered: u32,
    /// New data left the path for an active one. If the path answers before this time,
    /// the failover was spurious.
    pub(crate) abandoned_until: Option<Instant>,
}

/// How a dead path is detected (`failure.detection`).
#[derive(Copy, Clone, Debug)]
pub(crate) struct PathDetector {
    pub(crate) rule: Detection,
    /// Bytes of the window that data leaves free for the detector's heartbeats.
    pub(crate) reserved: u32,
    /// When the detector began to probe the path.
    pub(crate) probing_since: Option<Instant>,
}

/// The state of the probe timeout of a path (`failover.probe_timeout`).
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct OwedToProbeTimeout {
    /// The last chunk sent there asked for a SACK at once.
    pub(crate) asked_at_once: bool,
    /// Missing reports announced losses while the path was potentially failed by the
    /// probe timeout: the window is reduced if the path answers.
    pub(crate) cut_owed: bool,
}

/// Whether a path that answers heartbeats carries data (`failure.dead_data`).
#[derive(Clone, Debug, Default)]
pub(crate) struct DeadDataTrial {
    /// What happened to its data since the last acknowledgement.
    pub(crate) trial: Trial,
    /// It answers, but acknowledges no data. It returns only when a heartbeat as large
    /// as its packets is answered, or data is acknowledged.
    pub(crate) dead: bool,
}

/// Measurements of a path, for statistics and policies.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathCounters {
    pub(crate) packets_sent: u64,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    pub(crate) data_bytes_sent: u64,
    pub(crate) data_bytes_retransmitted: u64,
    pub(crate) timeouts: u64,
    pub(crate) last_heard: Option<Instant>,
    /// Share of the chunks sent here that were lost, smoothed (`concurrent.rtx`).
    pub(crate) loss_rate: f32,
}

/// Bytes of IP, UDP and SCTP headers of a packet to `remote`.
pub(crate) fn header_bytes(remote: SocketAddr) -> u32 {
    let ip = if remote.is_ipv4() { 20 } else { 40 };
    let udp = if remote.port() == 0 { 0 } else { 8 };
    ip + udp + byway_wire::COMMON_HEADER_LEN as u32
}

impl Path {
    pub(crate) fn new(
        local: SocketAddr,
        remote: SocketAddr,
        confirmed: bool,
        cfg: &Config,
        now: Instant,
    ) -> Path {
        let pmtu = cfg.pmtu.0;
        // Chunks are padded to 4 bytes, so a PMTU that is not a multiple of 4 cannot be
        // filled.
        let pmdcs = (pmtu - header_bytes(remote)) & !3;
        let (control, window) = PathControl::begin(cfg, pmdcs, remote.is_ipv6(), now);
        Path {
            local,
            remote,
            state: if confirmed {
                PathState::Active
            } else {
                PathState::Unconfirmed
            },
            confirmed,
            mtu: PathMtu {
                pmtu,
                beside_data: 0,
            },
            rtt: RttEstimator::new(&cfg.rto, now),
            window,
            control,
            recovery: Recovery::default(),
            burst: Burst {
                packets_left: u32::MAX,
                flight_limit: None,
            },
            timers: PathTimers::default(),
            heartbeat: Heartbeat {
                under_way: None,
                enabled: cfg.hb.enabled,
            },
            errors: PathErrors::default(),
            detector: PathDetector {
                rule: cfg.failure.detection,
                reserved: cfg.detector(&cfg.failure.detection).reserved(),
                probing_since: None,
            },
            probe_timeout: OwedToProbeTimeout::default(),
            dead_data: DeadDataTrial::default(),
            counters: PathCounters::default(),
        }
    }

    /// Ends the heartbeat in progress, if any: it is answered, lost or given up.
    pub(crate) fn end_heartbeat(&mut self) -> Option<Probe> {
        self.timers.set(PathTimer::HeartbeatLost, None);
        self.heartbeat.under_way.take()
    }

    pub(super) fn move_port(&mut self, port: u16) {
        let before = header_bytes(self.remote);
        self.remote.set_port(port);
        if header_bytes(self.remote) != before {
            self.window.pmdcs = self.pmdcs();
        }
    }

    fn pmdcs(&self) -> u32 {
        ((self.mtu.pmtu - header_bytes(self.remote)) & !3) - self.mtu.beside_data
    }

    pub(super) fn keep_beside_data(&mut self, bytes: u32, cfg: &Config, now: Instant) {
        self.mtu.beside_data = bytes;
        (self.control, self.window) =
            PathControl::begin(cfg, self.pmdcs(), self.remote.is_ipv6(), now);
    }

    /// Rule B of section 6.1: a packet may begin while the flight size is below cwnd, and
    /// may exceed it by less than one PMDCS. After a timeout it may begin only while
    /// nothing is in flight.
    pub(crate) fn open(&self) -> bool {
        let w = &self.window;
        w.flight < w.cwnd && (w.flight == 0 || !self.recovery.one_packet)
    }

    /// Whether `bytes` more leave room in the window for the detector's heartbeats
    /// (cortes-2008). A packet may always leave if nothing is in flight.
    pub(crate) fn keeps_room(&self, bytes: u32) -> bool {
        let w = &self.window;
        self.detector.reserved == 0
            || w.flight == 0
            || w.flight
                .saturating_add(bytes)
                .saturating_add(self.detector.reserved)
                <= w.cwnd
    }

    /// The bytes that count as used when growth needs a full window: the outstanding data,
    /// the room for the detector's heartbeats, and the rest after the last full packet.
    /// Data cannot use the last two.
    pub(crate) fn used(&self, outstanding: u32) -> u32 {
        if self.detector.reserved == 0 || outstanding == 0 {
            return outstanding;
        }
        let unusable = self.detector.reserved.saturating_add(self.window.pmdcs - 1);
        outstanding.saturating_add(unusable)
    }

    /// The most SCTP bytes of one packet, common header included.
    pub(crate) fn packet_limit(&self) -> usize {
        (self.window.pmdcs + self.mtu.beside_data) as usize + byway_wire::COMMON_HEADER_LEN
    }
}
