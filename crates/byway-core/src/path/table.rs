//! The paths of an association, one for each address of the peer.

use super::{MAX_PATHS, Path, PathId, PathState};
use crate::config::Config;
use crate::time::Instant;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use smallvec::SmallVec;

/// All paths, the primary, and the path that carries new data.
#[derive(Debug)]
pub(crate) struct PathTable {
    paths: Vec<Path>,
    /// PMDCS of the narrowest path, stored because every packet needs it.
    least_pmdcs: u32,
    /// The paths to which a heartbeat leaves with the next packets, one bit for each
    /// path. One test covers all paths, because every packet needs it.
    heartbeats: u8,
    /// The same for probes of the path's MTU.
    mtu_probes: u8,
    /// The paths that have not been removed, one bit for each. The place of a removed path
    /// stays, so that the others keep their numbers.
    live: u8,
    /// Chosen by the user or by a permanent failover.
    primary: PathId,
    /// Where new data goes now.
    data: PathId,
    /// The last destination that was active, for the dormant state.
    last_active: PathId,
}

impl PathTable {
    /// Memory of the table, in bytes.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        self.paths.capacity() * size_of::<Path>()
    }

    pub(crate) fn new(first: Path) -> PathTable {
        PathTable {
            least_pmdcs: first.window.pmdcs,
            heartbeats: 0,
            mtu_probes: 0,
            live: 1,
            paths: vec![first],
            primary: PathId(0),
            data: PathId(0),
            last_active: PathId(0),
        }
    }

    pub(crate) fn push(&mut self, path: Path) -> PathId {
        let id = PathId(self.paths.len() as u8);
        // A vector that grows by itself keeps room for four; most associations have two.
        self.paths.reserve_exact(1);
        self.paths.push(path);
        self.live |= 1 << id.0;
        self.measure();
        id
    }

    /// The paths that have not been removed, one bit for each.
    pub(super) fn live(&self) -> u8 {
        self.live
    }

    /// Whether there are fewer than `most` paths.
    pub(crate) fn has_room(&self, most: u8) -> bool {
        self.live.count_ones() < u32::from(most).min(MAX_PATHS as u32)
    }

    /// Adds a path: behind all others, or in the place of a removed one if no more places
    /// are left.
    pub(crate) fn insert(&mut self, path: Path) -> PathId {
        if self.paths.len() < MAX_PATHS {
            return self.push(path);
        }
        let id = PathId(self.live.trailing_ones() as u8);
        self.replace(id, path);
        self.live |= 1 << id.0;
        self.measure();
        id
    }

    /// Removes a path on which nothing is in flight and no loss is counted. It keeps its
    /// place, its number and its counters, and nothing else: what it waited for and what was
    /// learned of it must not act any more.
    pub(crate) fn remove(&mut self, id: PathId, cfg: &Config, now: Instant) {
        let p = self.get_mut(id);
        debug_assert_eq!((p.window.flight, p.window.lost), (0, 0));
        // No packet comes from there.
        let nowhere = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0);
        let counters = core::mem::take(&mut p.counters);
        *p = Path::new(p.local, nowhere, false, cfg, now);
        p.counters = counters;
        self.want_heartbeat(id, false);
        self.want_mtu_probe(id, false);
        self.live &= !(1 << id.0);
        self.measure();
    }

    /// Lost bytes of one path count as lost by another one from now on.
    pub(crate) fn hand_over_lost(&mut self, from: PathId, to: PathId, bytes: u32) {
        self.get_mut(from).window.lost -= bytes;
        self.get_mut(to).window.lost += bytes;
    }

    /// The packets of a path leave from another network of this side: what was learned of
    /// the way says nothing of the new one. Nothing may be in flight there.
    pub(crate) fn move_source(
        &mut self,
        id: PathId,
        local: SocketAddr,
        cfg: &Config,
        now: Instant,
    ) {
        let p = self.get_mut(id);
        debug_assert_eq!(p.window.flight, 0);
        let fresh = Path::new(local, p.remote, p.confirmed, cfg, now);
        let lost = p.window.lost;
        let (beside, auth) = (p.mtu.beside_data(), p.mtu.for_auth());
        (p.local, p.mtu, p.rtt) = (local, fresh.mtu, fresh.rtt);
        p.answered_here = false;
        (p.control, p.window, p.recovery) = (fresh.control, fresh.window, fresh.recovery);
        p.keep_beside_data((beside, auth), cfg, now);
        p.window.lost = lost;
        p.end_heartbeat();
        p.end_mtu_probe();
        self.want_mtu_probe(id, false);
        self.measure();
    }

    /// Sets the detector of each path from the settings.
    pub(crate) fn detect_as(&mut self, cfg: &Config) {
        for (place, path) in self.paths.iter_mut().enumerate() {
            let rule = cfg.failure.detection_of(place);
            path.detector.set_rule(rule, cfg.detector(&rule).reserved());
        }
    }

    /// A chunk has to fit all paths (RFC 9260 section 6.9) but those that bound none. Where it moves to
    /// one of these later, its packet may be fragmented.
    fn measure(&mut self) {
        let all = || self.ids().map(|id| self.get(id));
        let of = |p: &Path| p.window.pmdcs;
        let least = all().filter(|p| p.bounds_chunks()).map(of).min();
        self.least_pmdcs = least.or_else(|| all().map(of).min()).unwrap_or_default();
    }

    /// PMDCS of the narrowest path, bytes, without those whose MTU is not found and that take no data.
    pub(crate) fn least_pmdcs(&self) -> u32 {
        self.least_pmdcs
    }

    /// The peer's UDP port of a path changed, or the peer changed to or from plain IP. The
    /// size of the UDP header counts only with UDP (RFC 6951 section 5.6). Packets leave
    /// from `local` now.
    pub(crate) fn rebind(&mut self, id: PathId, local: SocketAddr, port: u16) {
        let p = self.get_mut(id);
        p.local = local;
        p.move_port(port);
        self.measure();
    }

    /// Reserves these numbers of bytes of each packet, for a TIMESTAMP and for an AUTH
    /// chunk, which DATA chunks do not use. They are multiples of 4. Only before any data
    /// has been sent.
    pub(crate) fn keep_beside_data(&mut self, bytes: (u32, u32), cfg: &Config, now: Instant) {
        for p in &mut self.paths {
            p.keep_beside_data(bytes, cfg, now);
        }
        self.measure();
    }

    /// Sets whether a path is a backup.
    pub(crate) fn set_backup(&mut self, id: PathId, backup: bool) {
        self.get_mut(id).backup = backup;
    }

    /// Sets whether a heartbeat leaves to that path with the next packets.
    pub(crate) fn want_heartbeat(&mut self, id: PathId, wanted: bool) {
        let bit = 1 << id.0;
        self.heartbeats = self.heartbeats & !bit | if wanted { bit } else { 0 };
    }

    /// Sets whether a probe of that path's MTU leaves with the next packets.
    pub(crate) fn want_mtu_probe(&mut self, id: PathId, wanted: bool) {
        let bit = 1 << id.0;
        self.mtu_probes = self.mtu_probes & !bit | if wanted { bit } else { 0 };
    }

    /// The first path to which a probe of its MTU leaves with the next packets.
    pub(crate) fn next_mtu_probe(&self) -> Option<PathId> {
        (self.mtu_probes != 0).then(|| PathId(self.mtu_probes.trailing_zeros() as u8))
    }

    /// Whether a heartbeat or a probe of an MTU leaves with the next packets.
    #[inline]
    pub(crate) fn has_probes(&self) -> bool {
        self.heartbeats | self.mtu_probes != 0
    }

    /// A path's packets may have this size from now on.
    pub(crate) fn set_pmtu(&mut self, id: PathId, bytes: u32) {
        self.get_mut(id).set_pmtu(bytes);
        self.measure();
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

    /// The local addresses at which the paths start.
    pub(crate) fn sources(&self) -> SmallVec<[SocketAddr; MAX_PATHS]> {
        self.ids().map(|id| self.get(id).local).collect()
    }

    /// The number of places, removed paths included.
    pub(crate) fn len(&self) -> usize {
        self.paths.len()
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = PathId> + use<> {
        let live = self.live;
        (0..self.paths.len() as u8)
            .filter(move |i| live >> i & 1 == 1)
            .map(PathId)
    }

    /// All places, those of removed paths included.
    pub(crate) fn iter(&self) -> core::slice::Iter<'_, Path> {
        self.paths.iter()
    }

    /// All places, those of removed paths included.
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
        id.index() < self.paths.len() && self.live >> id.0 & 1 == 1
    }

    /// The path of a peer's address. Addresses are compared without the UDP
    /// port: a translator may change it (RFC 6951 section 5.4).
    pub(crate) fn find(&self, remote: IpAddr) -> Option<PathId> {
        self.paths
            .iter()
            .position(|p| p.remote.ip() == remote)
            .map(|i| PathId(i as u8))
    }

    /// The primary.
    #[inline]
    pub(crate) fn primary(&self) -> PathId {
        self.primary
    }

    /// Where new data goes now.
    #[inline]
    pub(crate) fn data(&self) -> PathId {
        self.data
    }

    /// The last destination that was active.
    pub(crate) fn last_active(&self) -> PathId {
        self.last_active
    }

    /// Another path becomes the primary. Returns the one before.
    pub(crate) fn make_primary(&mut self, to: PathId) -> PathId {
        core::mem::replace(&mut self.primary, to)
    }

    /// New data goes to another path. Returns the one before.
    pub(crate) fn move_data(&mut self, to: PathId) -> PathId {
        core::mem::replace(&mut self.data, to)
    }

    /// The last active destination was removed: another one takes its place.
    pub(crate) fn forget_last_active(&mut self, removed: PathId, heir: PathId) {
        if self.last_active == removed {
            self.last_active = heir;
        }
    }

    /// Gives the roles to paths by hand, for a model of paths.
    pub(super) fn set_roles(&mut self, primary: PathId, data: PathId, last_active: PathId) {
        self.primary = primary;
        self.data = data;
        self.last_active = last_active;
    }

    /// The address has proved that it is the peer's, or is trusted.
    pub(crate) fn confirm(&mut self, id: PathId) {
        let p = self.get_mut(id);
        (p.confirmed, p.unknown_source, p.listed) = (true, false, false);
        self.measure();
    }

    /// The peer does not know the source of what leaves there: it takes no data before it has answered.
    pub(crate) fn doubt_source(&mut self, id: PathId) {
        let p = self.get_mut(id);
        p.unknown_source |= p.confirmed;
        self.doubt(id);
    }

    /// The address must prove again that it is the peer's.
    pub(crate) fn doubt(&mut self, id: PathId) {
        self.get_mut(id).confirmed = false;
        self.measure();
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
                p.errors.became_active();
            }
            (PathState::Active, _) => {
                p.errors.left_active(now);
                p.counters.failed();
                if !self.paths.iter().any(|p| p.state == PathState::Active) {
                    self.last_active = id;
                }
            }
            _ => {}
        }
        self.measure();
        Some(from)
    }

    /// The path of a packet's source address and UDP port, read in place.
    #[inline]
    pub(crate) fn find_source(&self, source: &SocketAddr) -> Option<PathId> {
        let same = |p: &Path| match (&p.remote, source) {
            (SocketAddr::V4(a), SocketAddr::V4(b)) => a == b,
            // Flow label and scope may differ between packets of one address.
            (SocketAddr::V6(a), SocketAddr::V6(b)) => a.ip() == b.ip() && a.port() == b.port(),
            _ => false,
        };
        self.paths.iter().position(same).map(|i| PathId(i as u8))
    }

    /// Puts another path in the place of one on which nothing is in flight. What was lost
    /// there, or handed over to it, counts as lost by the new one.
    pub(crate) fn replace(&mut self, id: PathId, mut path: Path) {
        debug_assert_eq!(self.get(id).window.flight, 0);
        path.window.lost = self.get(id).window.lost;
        *self.get_mut(id) = path;
        self.want_heartbeat(id, false);
        self.want_mtu_probe(id, false);
        self.measure();
    }
}
