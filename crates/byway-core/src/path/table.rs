//! The paths of an association: one per address of the peer.

use super::{PathId, PathState, PathTimer, PathTimers, RttEstimator, Window};
use crate::cc::PathControl;
use crate::config::Config;
use crate::policy::Detection;
use crate::policy::dead_data::Trial;
use crate::time::{Duration, Instant};
use core::net::{IpAddr, SocketAddr};

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

/// One destination, with all that the association knows of it.
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

/// How large the packets of a path may be.
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

/// How much the current event may still release (section 6.1, D).
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
        // Chunks are padded to 4 bytes, so a PMTU that is no multiple of 4
        // cannot be used to its last byte.
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

    fn move_port(&mut self, port: u16) {
        let before = header_bytes(self.remote);
        self.remote.set_port(port);
        if header_bytes(self.remote) != before {
            self.window.pmdcs = self.pmdcs();
        }
    }

    fn pmdcs(&self) -> u32 {
        ((self.mtu.pmtu - header_bytes(self.remote)) & !3) - self.mtu.beside_data
    }

    fn keep_beside_data(&mut self, bytes: u32, cfg: &Config, now: Instant) {
        self.mtu.beside_data = bytes;
        (self.control, self.window) =
            PathControl::begin(cfg, self.pmdcs(), self.remote.is_ipv6(), now);
    }

    /// Rule B of section 6.1: a packet may begin while the flight size is below cwnd,
    /// and may then exceed it by less than one chunk. After a timeout it may begin only
    /// while nothing is in flight.
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

    /// The bytes that count as used when a full window grows: the outstanding data, the
    /// room for the detector's heartbeats, and the rest behind the last whole packet.
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

/// All paths, the primary, and the path that carries new data.
#[derive(Debug)]
pub(crate) struct PathTable {
    paths: Vec<Path>,
    /// PMDCS of the narrowest path, stored because every packet needs it.
    least_pmdcs: u32,
    /// The paths to which a heartbeat leaves with the next packets, one bit for each
    /// path. One test covers all paths, because every packet needs it.
    heartbeats: u8,
    /// Chosen by the user or by a permanent failover.
    pub(crate) primary: PathId,
    /// Where new data goes now.
    pub(crate) data: PathId,
    /// The last destination that was active, for the dormant state.
    pub(crate) last_active: PathId,
}

impl PathTable {
    pub(crate) fn new(first: Path) -> PathTable {
        PathTable {
            least_pmdcs: first.window.pmdcs,
            heartbeats: 0,
            paths: vec![first],
            primary: PathId(0),
            data: PathId(0),
            last_active: PathId(0),
        }
    }

    pub(crate) fn push(&mut self, path: Path) -> PathId {
        let id = PathId(self.paths.len() as u8);
        self.paths.push(path);
        self.measure();
        id
    }

    /// Sets the detector of each path from the settings.
    pub(crate) fn detect_as(&mut self, cfg: &Config) {
        for (place, path) in self.paths.iter_mut().enumerate() {
            path.detector.rule = cfg.failure.detection_of(place);
            path.detector.reserved = cfg.detector(&path.detector.rule).reserved();
        }
    }

    fn measure(&mut self) {
        let all = self.paths.iter().map(|p| p.window.pmdcs);
        self.least_pmdcs = all.min().unwrap_or_default();
    }

    /// PMDCS of the narrowest path, bytes.
    pub(crate) fn least_pmdcs(&self) -> u32 {
        self.least_pmdcs
    }

    /// The peer's UDP port changed, or the peer changed to or from plain IP. The size
    /// of the UDP header counts only with UDP (RFC 6951 section 5.6).
    #[inline]
    pub(crate) fn move_port(&mut self, id: PathId, port: u16) {
        let p = self.get_mut(id);
        if port != p.remote.port() {
            p.move_port(port);
            self.measure();
        }
    }

    /// Reserves this number of bytes of each packet, a multiple of 4, which DATA chunks
    /// do not use. Only before anything has been sent.
    pub(crate) fn keep_beside_data(&mut self, bytes: u32, cfg: &Config, now: Instant) {
        for p in &mut self.paths {
            p.keep_beside_data(bytes, cfg, now);
        }
        self.measure();
    }

    /// Sets whether a heartbeat leaves to that path with the next packets.
    pub(crate) fn want_heartbeat(&mut self, id: PathId, wanted: bool) {
        let bit = 1 << id.0;
        self.heartbeats = self.heartbeats & !bit | if wanted { bit } else { 0 };
    }

    /// Whether a heartbeat leaves to that path with the next packets.
    pub(crate) fn wants_heartbeat(&self, id: PathId) -> bool {
        self.heartbeats >> id.0 & 1 == 1
    }

    /// The first path to which a heartbeat leaves with the next packets.
    #[inline]
    pub(crate) fn next_heartbeat(&self) -> Option<PathId> {
        (self.heartbeats != 0).then(|| PathId(self.heartbeats.trailing_zeros() as u8))
    }

    pub(crate) fn len(&self) -> usize {
        self.paths.len()
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = PathId> + use<> {
        (0..self.paths.len() as u8).map(PathId)
    }

    pub(crate) fn iter(&self) -> core::slice::Iter<'_, Path> {
        self.paths.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> core::slice::IterMut<'_, Path> {
        self.paths.iter_mut()
    }

    pub(crate) fn get(&self, id: PathId) -> &Path {
        &self.paths[id.index()]
    }

    pub(crate) fn get_mut(&mut self, id: PathId) -> &mut Path {
        &mut self.paths[id.index()]
    }

    pub(crate) fn contains(&self, id: PathId) -> bool {
        id.index() < self.paths.len()
    }

    /// The path of a peer's address. Addresses are compared without the UDP
    /// port: a translator may change it (RFC 6951 section 5.4).
    pub(crate) fn find(&self, remote: IpAddr) -> Option<PathId> {
        self.paths
            .iter()
            .position(|p| p.remote.ip() == remote)
            .map(|i| PathId(i as u8))
    }

    /// Changes the state of a path. Returns the old state if it was another one.
    pub(crate) fn change_state(
        &mut self,
        id: PathId,
        to: PathState,
        now: Instant,
    ) -> Option<PathState> {
        let p = self.get_mut(id);
        let from = core::mem::replace(&mut p.state, to);
        match (from, to) {
            _ if from == to => return None,
            (_, PathState::Active) => {
                p.errors.left_at = None;
                p.errors.heartbeats_lost = 0;
            }
            (PathState::Active, _) => {
                p.errors.left_at = Some(now);
                if !self.paths.iter().any(|p| p.state == PathState::Active) {
                    self.last_active = id;
                }
            }
            _ => {}
        }
        Some(from)
    }

    /// The same for the source address of a packet, read in place.
    #[inline]
    pub(crate) fn find_source(&self, source: &SocketAddr) -> Option<PathId> {
        let same = |p: &Path| match (&p.remote, source) {
            (SocketAddr::V4(a), SocketAddr::V4(b)) => a.ip() == b.ip(),
            (SocketAddr::V6(a), SocketAddr::V6(b)) => a.ip() == b.ip(),
            _ => false,
        };
        self.paths.iter().position(same).map(|i| PathId(i as u8))
    }

    pub(crate) fn view(&self) -> PathsView<'_> {
        PathsView { table: self }
    }
}

/// What deciders may read of the paths.
#[derive(Copy, Clone, Debug)]
pub struct PathsView<'a> {
    table: &'a PathTable,
}

impl PathsView<'_> {
    /// The number of paths.
    #[must_use]
    pub fn count(&self) -> usize {
        self.table.len()
    }

    /// The state of a path.
    #[must_use]
    pub fn state(&self, id: PathId) -> PathState {
        self.table.get(id).state
    }

    /// Its consecutive errors.
    #[must_use]
    pub fn errors(&self, id: PathId) -> u32 {
        self.table.get(id).errors.count
    }

    /// Lost heartbeats of a path that were sent after it stopped being active.
    #[must_use]
    pub fn heartbeats_lost(&self, id: PathId) -> u32 {
        self.table.get(id).errors.heartbeats_lost
    }

    /// Heartbeats answered on a path since its last error.
    #[must_use]
    pub fn heartbeats_answered(&self, id: PathId) -> u32 {
        self.table.get(id).errors.heartbeats_answered
    }

    /// Smoothed round trip of a path; none before the first measurement.
    #[must_use]
    pub fn srtt(&self, id: PathId) -> Option<Duration> {
        self.table.get(id).rtt.srtt()
    }

    /// Retransmission timeout of a path (RFC 9260 section 6.3.1).
    #[must_use]
    pub fn rto(&self, id: PathId) -> Duration {
        self.table.get(id).rtt.rto()
    }

    /// Whether data may be sent on a path: it is confirmed and not inactive.
    #[must_use]
    pub fn is_usable(&self, id: PathId) -> bool {
        matches!(
            self.state(id),
            PathState::Active | PathState::PotentiallyFailed
        )
    }

    /// Where new data goes now.
    #[must_use]
    pub fn data_path(&self) -> PathId {
        self.table.data
    }

    /// The primary.
    #[must_use]
    pub fn primary(&self) -> PathId {
        self.table.primary
    }

    /// The last destination that was active.
    #[must_use]
    pub fn last_active(&self) -> PathId {
        self.table.last_active
    }

    /// All paths in table order.
    pub fn all(&self) -> impl Iterator<Item = PathId> + use<> {
        self.table.ids()
    }

    /// Congestion window of a path, bytes.
    #[must_use]
    pub fn cwnd(&self, id: PathId) -> u32 {
        self.table.get(id).window.cwnd
    }

    /// Slow start threshold of a path, bytes.
    #[must_use]
    pub fn ssthresh(&self, id: PathId) -> u32 {
        self.table.get(id).window.ssthresh
    }

    /// The free part of a path's congestion window, bytes.
    #[must_use]
    pub fn room(&self, id: PathId) -> u32 {
        let w = &self.table.get(id).window;
        w.cwnd.saturating_sub(w.flight)
    }

    /// Estimated share of a path's chunks that are lost, 0 to 1. It is updated only
    /// with concurrent multipath transfer.
    #[must_use]
    pub fn loss_rate(&self, id: PathId) -> f32 {
        self.table.get(id).counters.loss_rate
    }

    /// All paths in table order, from the one behind `after` to `after` itself.
    pub fn ring(&self, after: PathId) -> impl Iterator<Item = PathId> + use<> {
        let n = self.table.len() as u8;
        (1..=n).map(move |k| PathId((after.0 + k) % n))
    }

    /// The active destination that differs most from `after` in its two addresses (RFC
    /// 9260 section 6.4.1). Among equals it is the next one in table order. It is never
    /// `after` itself.
    #[must_use]
    pub fn alternate(&self, after: PathId) -> Option<PathId> {
        self.ring(after)
            .filter(|&p| p != after && self.state(p) == PathState::Active)
            .min_by_key(|&p| 2 - self.divergence(p, after))
    }

    /// The number of addresses in which a path differs from another one: 0 to 2.
    #[must_use]
    pub fn divergence(&self, a: PathId, b: PathId) -> u32 {
        let (a, b) = (self.table.get(a), self.table.get(b));
        u32::from(a.local.ip() != b.local.ip()) + u32::from(a.remote.ip() != b.remote.ip())
    }

    /// Whether the address was ever confirmed.
    #[must_use]
    pub fn is_confirmed(&self, id: PathId) -> bool {
        self.table.get(id).confirmed
    }
}
