//! What the endpoint asks an association.

use super::{Association, State};
use crate::api::{AssocStats, PathStats};
use crate::config::Config;
use crate::path::PathId;
use crate::time::Instant;
use core::net::SocketAddr;
use std::sync::Arc;

impl Association {
    /// The settings of the association.
    pub(crate) fn config(&self) -> &Arc<Config> {
        &self.cfg
    }

    /// The verification tag of the packets that the peer sends.
    pub(crate) fn local_tag(&self) -> u32 {
        self.tags.local
    }

    /// Our tag if a cookie has it, and when the last such cookie expires: the one with which the association
    /// began, and those that the peer got while this side was setting up.
    ///
    /// None for a set-up of whose end the peer is told nothing: its cookie may begin another association.
    pub(crate) fn cookie_tag(&self) -> Option<(u32, Instant)> {
        let expires = self
            .setup
            .cookie_expires
            .filter(|_| self.setup.was_up_or_aborted)?;
        Some((self.tags.local, expires))
    }

    /// The peer gets a cookie with our tag, which expires then.
    pub(crate) fn note_cookie(&mut self, expires: Instant) {
        self.setup.cookie_expires = self.setup.cookie_expires.max(Some(expires));
    }

    /// The peer's SCTP port.
    pub(crate) fn peer_port(&self) -> u16 {
        self.tags.peer_port
    }

    /// Whether INIT was sent and not answered yet.
    #[inline]
    pub(crate) fn awaits_init_ack(&self) -> bool {
        matches!(self.state, State::CookieWait)
    }

    /// Whether this side's set-up goes on.
    pub(crate) fn is_setting_up(&self) -> bool {
        matches!(self.state, State::CookieWait | State::CookieEchoed(_))
    }

    /// Whether the association has ended.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.state.is_closed()
    }

    /// The state, as RFC 9260 section 4 names it.
    pub(crate) fn state_name(&self) -> &'static str {
        self.state.name()
    }

    /// Whether both sides support changes of addresses (RFC 5061).
    pub(crate) fn can_change_addresses(&self) -> bool {
        self.optional.asconf.is_some()
    }

    /// Whether a SACK must leave now.
    #[inline]
    pub(crate) fn owes_sack(&self) -> bool {
        self.recv.acker.due()
    }

    /// Payload bytes that wait or are not cumulatively acknowledged.
    pub(crate) fn buffered(&self) -> u64 {
        self.send.buffered()
    }

    /// Source and destination of the packets of a path.
    #[inline]
    pub(crate) fn addresses_of(&self, path: PathId) -> (SocketAddr, SocketAddr) {
        let p = self.paths.get(path);
        (p.local(), p.remote())
    }

    /// The counters of the association.
    pub(crate) fn stats(&self) -> AssocStats {
        self.stats
    }

    /// The figures of a path, if there is one with this number.
    pub(crate) fn stats_of_path(&self, path: PathId) -> Option<PathStats> {
        self.paths.contains(path).then(|| self.path_stats(path))
    }

    /// The figures of all paths.
    pub(crate) fn stats_of_paths(&self) -> impl Iterator<Item = PathStats> + '_ {
        self.paths.ids().map(|p| self.path_stats(p))
    }
}
