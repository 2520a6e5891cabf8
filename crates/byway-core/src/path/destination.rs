//! One destination with its state, in groups.

use super::burst::Burst;
use super::counters::PathCounters;
use super::dead_data::DeadDataTrial;
use super::detector::{OwedToProbeTimeout, PathDetector};
use super::errors::PathErrors;
use super::heartbeat::{Heartbeat, Probe};
use super::mtu::PathMtu;
use super::pacer::Pacer;
use super::recovery::Recovery;
use super::{PathState, PathTimer, PathTimers, RttEstimator, Window};
use crate::cc::PathControl;
use crate::config::Config;
use crate::time::Instant;
use core::net::SocketAddr;

/// One destination, with all that the association knows of it.
#[derive(Debug)]
pub(crate) struct Path {
    pub(super) local: SocketAddr,
    pub(super) remote: SocketAddr,
    pub(super) state: PathState,
    /// Whether the address has proved that it is the peer's.
    pub(super) confirmed: bool,
    /// Whether it carries data only while no other path is active, as the user wants it.
    pub(super) backup: bool,
    /// Whether it is not confirmed because the peer does not know the source of its packets: its address is the peer's.
    pub(super) unknown_source: bool,
    /// Whether only the peer says that the address is its own, and it has never answered.
    pub(super) listed: bool,
    /// Whether the peer has answered between these two addresses: in the set-up, or a heartbeat beside all paths.
    pub(super) answered_here: bool,
    pub(crate) mtu: PathMtu,
    pub(crate) rtt: RttEstimator,
    pub(super) window: Window,
    /// The congestion control that changes its window.
    pub(super) control: PathControl,
    pub(crate) recovery: Recovery,
    pub(crate) burst: Burst,
    /// Pacing, if it is configured.
    pub(super) pacer: Option<Box<Pacer>>,
    pub(crate) timers: PathTimers,
    pub(crate) heartbeat: Heartbeat,
    pub(crate) errors: PathErrors,
    pub(crate) detector: PathDetector,
    pub(crate) probe_timeout: OwedToProbeTimeout,
    pub(crate) dead_data: DeadDataTrial,
    pub(crate) counters: PathCounters,
}

/// Bytes of IP and UDP headers of a packet to `remote`.
pub(crate) fn lower_header_bytes(remote: SocketAddr) -> u32 {
    let ip = if remote.is_ipv4() { 20 } else { 40 };
    let udp = if remote.port() == 0 { 0 } else { 8 };
    ip + udp
}

/// Bytes of IP, UDP and SCTP headers of a packet to `remote`.
pub(crate) fn header_bytes(remote: SocketAddr) -> u32 {
    lower_header_bytes(remote) + byway_wire::COMMON_HEADER_LEN as u32
}

/// A link-local address with the scope of ours: a peer lists addresses without one.
fn with_scope(remote: SocketAddr, local: SocketAddr) -> SocketAddr {
    match (remote, local) {
        (SocketAddr::V6(mut r), SocketAddr::V6(l))
            if r.ip().is_unicast_link_local() && r.scope_id() == 0 =>
        {
            r.set_scope_id(l.scope_id());
            r.into()
        }
        _ => remote,
    }
}

impl Path {
    pub(crate) fn new(
        local: SocketAddr,
        remote: SocketAddr,
        confirmed: bool,
        cfg: &Config,
        now: Instant,
    ) -> Path {
        let mtu = PathMtu::new(cfg);
        let remote = with_scope(remote, local);
        // Chunks are padded to 4 bytes, so a PMTU that is not a multiple of 4 cannot be
        // filled.
        let pmdcs = (mtu.pmtu() - header_bytes(remote)) & !3;
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
            backup: false,
            unknown_source: false,
            listed: !confirmed,
            answered_here: false,
            mtu,
            rtt: RttEstimator::new(&cfg.rto, now),
            window,
            control,
            recovery: Recovery::new(cfg),
            burst: Burst::default(),
            pacer: cfg.congestion.pacing.map(|c| Box::new(Pacer::new(c))),
            timers: PathTimers::default(),
            heartbeat: Heartbeat::new(cfg.hb.enabled),
            errors: PathErrors::default(),
            detector: PathDetector::new(cfg.failure.detection, cfg),
            probe_timeout: OwedToProbeTimeout::default(),
            dead_data: DeadDataTrial::default(),
            counters: PathCounters::default(),
        }
    }

    /// Gives up the heartbeat under way, if any: no answer is waited for.
    pub(crate) fn end_heartbeat(&mut self) {
        self.timers.set(PathTimer::HeartbeatLost, None);
        self.heartbeat.end();
    }

    /// The heartbeat under way, if any, was not answered in time.
    pub(crate) fn lose_heartbeat(&mut self) -> Option<Probe> {
        self.timers.set(PathTimer::HeartbeatLost, None);
        self.heartbeat.lose()
    }

    /// The detector is done. Its last heartbeat has no timer that ends it: it is taken for lost, or nobody would be
    /// asked as long as it is under way. A late answer counts.
    pub(crate) fn end_probing(&mut self) {
        self.detector.end_probing();
        if self.timers.get(PathTimer::HeartbeatLost).is_none() {
            self.heartbeat.lose();
        }
    }

    /// A HEARTBEAT ACK with this nonce arrived. Gives the heartbeat that it answers.
    pub(crate) fn answer_heartbeat(&mut self, nonce: u64) -> Option<Probe> {
        let answered = self.heartbeat.answered(nonce)?;
        if self.heartbeat.under_way().is_none() {
            self.timers.set(PathTimer::HeartbeatLost, None);
        }
        Some(answered)
    }

    /// Whether new data may leave on this path: it is active, and its address is verified.
    pub(crate) fn takes_data(&self) -> bool {
        self.state == PathState::Active && self.confirmed
    }

    /// Whether chunks have to fit this path. Before the search of its MTU it has the size of the base,
    /// and one that died before keeps that: it counts while it takes data.
    pub(crate) fn bounds_chunks(&self) -> bool {
        self.mtu.is_found() || self.takes_data()
    }

    /// The probe of the path's MTU is taken for lost, or another one comes first. A late answer counts.
    pub(crate) fn lose_mtu_probe(&mut self) {
        self.timers.set(PathTimer::MtuProbe, None);
        self.mtu.lose_probe();
    }

    /// Gives up the probe of the path's MTU, if any.
    pub(crate) fn end_mtu_probe(&mut self) {
        self.timers.set(PathTimer::MtuProbe, None);
        self.mtu.end_probe();
    }

    /// The association has ended: all timers of the path stop.
    pub(crate) fn stop_timers(&mut self) {
        self.timers = PathTimers::default();
        self.heartbeat.end();
    }

    /// The source address of the packets to this path.
    #[inline]
    pub(crate) fn local(&self) -> SocketAddr {
        self.local
    }

    /// The peer's address.
    #[inline]
    pub(crate) fn remote(&self) -> SocketAddr {
        self.remote
    }

    /// Its packets leave from another source address.
    pub(crate) fn send_from(&mut self, local: SocketAddr) {
        self.local = local;
    }

    /// The peer answers between the two addresses of this path, though this gives no sample of the round-trip time.
    pub(crate) fn note_answer_here(&mut self) {
        self.answered_here = true;
    }

    /// Whether the peer has answered what left from this source: a heartbeat or data, or in the set-up.
    pub(crate) fn has_answered_here(&self) -> bool {
        self.answered_here || self.rtt.srtt().is_some()
    }

    /// Whether it may take data (RFC 9260 section 5.4; RFC 7829).
    #[inline]
    pub(crate) fn state(&self) -> PathState {
        self.state
    }

    /// Whether the address has proved that it is the peer's.
    #[inline]
    pub(crate) fn is_confirmed(&self) -> bool {
        self.confirmed
    }

    /// Whether the address is the peer's, though the peer may not know the source of what leaves to it.
    pub(crate) fn is_of_peer(&self) -> bool {
        self.confirmed || self.unknown_source
    }

    /// Whether only the peer says that the address is its own, and it has never answered.
    pub(crate) fn is_listed(&self) -> bool {
        self.listed
    }

    /// The user gave the address, or it answered before, though it must be verified.
    pub(crate) fn note_known(&mut self) {
        self.listed = false;
    }

    pub(super) fn move_port(&mut self, port: u16) {
        let before = header_bytes(self.remote);
        self.remote.set_port(port);
        if header_bytes(self.remote) != before {
            self.window.pmdcs = self.pmdcs();
        }
    }

    fn pmdcs(&self) -> u32 {
        let room = (self.mtu.pmtu() - header_bytes(self.remote)) & !3;
        room - self.mtu.beside_data() - self.mtu.for_auth()
    }

    /// Reserves bytes of each packet for a TIMESTAMP and for an AUTH chunk.
    pub(crate) fn keep_beside_data(
        &mut self,
        (timestamp, auth): (u32, u32),
        cfg: &Config,
        now: Instant,
    ) {
        self.mtu.keep_beside_data(timestamp, auth);
        (self.control, self.window) =
            PathControl::begin(cfg, self.pmdcs(), self.remote.is_ipv6(), now);
    }

    /// Rule B of section 6.1: a packet may begin while the flight size is below cwnd, and
    /// may exceed it by less than one PMDCS. After a timeout it may begin only while
    /// nothing is in flight.
    pub(crate) fn open(&self) -> bool {
        let w = &self.window;
        if w.flight == 0 {
            return w.cwnd > 0;
        }
        // In the recovery, cwnd stands for flight + sndcnt of RFC 9937.
        let room = self.recovery.proportion_allows();
        room.unwrap_or(w.flight < w.cwnd) && !self.recovery.one_packet()
    }

    /// Whether `bytes` more leave room in the window for the detector's heartbeats
    /// (cortes-2008). A packet may always leave if nothing is in flight.
    pub(crate) fn keeps_room(&self, bytes: u32) -> bool {
        let w = &self.window;
        self.detector.reserved() == 0
            || w.flight == 0
            || w.flight
                .saturating_add(bytes)
                .saturating_add(self.detector.reserved())
                <= w.cwnd
    }

    /// The bytes that count as used when growth needs a full window: the outstanding data,
    /// the room for the detector's heartbeats, and the rest after the last full packet.
    /// Data cannot use the last two.
    /// A window for which data waits that pacing holds back is used as a whole.
    pub(crate) fn used(&self, outstanding: u32) -> u32 {
        if self.timers.get(PathTimer::Pacing).is_some() {
            return outstanding.max(self.window.cwnd);
        }
        if self.detector.reserved() == 0 || outstanding == 0 {
            return outstanding;
        }
        let unusable = self
            .detector
            .reserved()
            .saturating_add(self.window.pmdcs - 1);
        outstanding.saturating_add(unusable)
    }

    /// The most SCTP bytes of one packet, common header included.
    pub(crate) fn packet_limit(&self) -> usize {
        (self.window.pmdcs + self.mtu.beside_data()) as usize + byway_wire::COMMON_HEADER_LEN
    }

    /// The most SCTP bytes of one packet that chunks other than TIMESTAMP may take.
    pub(crate) fn limit_beside_timestamp(&self) -> usize {
        self.packet_limit() - self.mtu.beside_data() as usize
    }

    /// Largest IP packet, bytes.
    pub(super) fn pmtu(&self) -> u32 {
        self.mtu.pmtu()
    }

    /// Its packets may have this size from now on.
    pub(super) fn set_pmtu(&mut self, bytes: u32) {
        self.mtu.set_pmtu(bytes);
        self.window.pmdcs = self.pmdcs();
    }

    /// SCTP bytes of an IP packet of this size to the path, a multiple of 4.
    pub(crate) fn sctp_bytes(&self, ip: u32) -> usize {
        let headers = lower_header_bytes(self.remote);
        (ip.saturating_sub(headers) & !3) as usize
    }

    /// The least SCTP bytes of a packet that must be larger than the path's packets: an IPv6
    /// packet must not fit the interface either. Routers of IPv6 do not fragment. The host does,
    /// and Linux only what its interface would not take. None if any size will do.
    pub(crate) fn least_to_fragment(&self) -> Option<usize> {
        let interface = self.mtu.interface().filter(|_| self.remote.is_ipv6())?;
        let least = self.sctp_bytes(interface) + 4;
        let fits_ip = least as u32 + lower_header_bytes(self.remote) <= u16::MAX.into();
        fits_ip.then_some(least)
    }

    /// Whether a packet of these SCTP bytes is larger than the path's packets.
    #[inline]
    pub(crate) fn is_too_large(&self, sctp: usize) -> bool {
        sctp > self.packet_limit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parameters of an INIT have no place for a scope, and a link-local address leads nowhere without one.
    #[test]
    fn a_link_local_address_that_the_peer_lists_has_the_scope_of_ours() {
        let of = |text: &str| -> SocketAddr { text.parse().unwrap() };
        let ours = of("[fe80::1%3]:9899");
        for (listed, expected) in [
            ("[fe80::2]:9899", "[fe80::2%3]:9899"),
            ("[fe80::2%5]:9899", "[fe80::2%5]:9899"),
            ("[2001:db8::2]:9899", "[2001:db8::2]:9899"),
            ("192.0.2.1:9899", "192.0.2.1:9899"),
        ] {
            assert_eq!(with_scope(of(listed), ours), of(expected));
        }
    }
}
