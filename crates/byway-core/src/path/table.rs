//! The paths of an association, one for each address of the peer.

use super::{MAX_PATHS, Path, PathId, PathState};
use crate::config::Config;
use crate::time::Instant;
use core::net::{IpAddr, SocketAddr};
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
        self.measure();
        id
    }

    /// Sets the detector of each path from the settings.
    pub(crate) fn detect_as(&mut self, cfg: &Config) {
        for (place, path) in self.paths.iter_mut().enumerate() {
            let rule = cfg.failure.detection_of(place);
            path.detector.set_rule(rule, cfg.detector(&rule).reserved());
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

    /// The peer's UDP port of a path changed, or the peer changed to or from plain IP. The
    /// size of the UDP header counts only with UDP (RFC 6951 section 5.6). Packets leave
    /// from `local` now.
    pub(crate) fn rebind(&mut self, id: PathId, local: SocketAddr, port: u16) {
        let p = self.get_mut(id);
        p.local = local;
        p.move_port(port);
        self.measure();
    }

    /// Reserves this number of bytes of each packet, which DATA chunks do not use. It is a
    /// multiple of 4. Only before any data has been sent.
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
        self.paths.iter().map(Path::local).collect()
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

    /// Gives the roles to paths by hand, for a model of paths.
    pub(super) fn set_roles(&mut self, primary: PathId, data: PathId, last_active: PathId) {
        self.primary = primary;
        self.data = data;
        self.last_active = last_active;
    }

    /// The address has proved that it is the peer's, or is trusted.
    pub(crate) fn confirm(&mut self, id: PathId) {
        self.get_mut(id).confirmed = true;
    }

    /// The address must prove again that it is the peer's.
    pub(crate) fn doubt(&mut self, id: PathId) {
        self.get_mut(id).confirmed = false;
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
                if !self.paths.iter().any(|p| p.state == PathState::Active) {
                    self.last_active = id;
                }
            }
            _ => {}
        }
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

    /// Puts another path in the place of one that never carried data.
    pub(crate) fn replace(&mut self, id: PathId, path: Path) {
        *self.get_mut(id) = path;
        self.want_heartbeat(id, false);
        self.want_mtu_probe(id, false);
        self.measure();
    }
}
