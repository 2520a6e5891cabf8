//! Queries about an endpoint and its associations.

use super::{Endpoint, EndpointStats};
use crate::api::{AssocId, AssocStats, PathStats};
use crate::config::Config;
use crate::path::PathId;
use crate::refusals::{Refusal, Rule};
use core::net::SocketAddr;

impl Endpoint {
    /// The settings of an association.
    #[must_use]
    pub fn config(&self, id: AssocId) -> Option<&Config> {
        self.table.get(id).map(|s| &**s.assoc.config())
    }

    /// The state of an association, as RFC 9260 section 4 names it.
    #[must_use]
    pub fn state_name(&self, id: AssocId) -> Option<&'static str> {
        self.table.get(id).map(|s| s.assoc.state_name())
    }

    /// Counters of an association.
    #[must_use]
    pub fn stats(&self, id: AssocId) -> Option<AssocStats> {
        self.table.get(id).map(|s| s.assoc.stats())
    }

    /// What was refused or shed since the last call, at most one entry for each rule. A driver
    /// logs it now and then, so that a flood does not fill the log.
    pub fn take_refusals(&mut self) -> Vec<Refusal> {
        self.out.take_refusals()
    }

    /// State and counters of a path.
    #[must_use]
    pub fn path_stats(&self, id: AssocId, path: PathId) -> Option<PathStats> {
        self.table.get(id)?.assoc.stats_of_path(path)
    }

    /// State and counters of all paths, in the order of their ids.
    #[must_use]
    pub fn paths(&self, id: AssocId) -> Vec<PathStats> {
        let slot = self.table.get(id);
        slot.map_or_else(Vec::new, |s| s.assoc.stats_of_paths().collect())
    }

    /// The peer's address of the first path, if there is one.
    #[must_use]
    pub fn first_remote(&self, id: AssocId) -> Option<SocketAddr> {
        let first = self.table.get(id)?.assoc.stats_of_paths().next();
        first.map(|p| p.remote)
    }

    /// Whether messages of different streams interleave: both sides offered it
    /// (`streams.interleaving`; RFC 8260).
    #[must_use]
    pub fn interleaves(&self, id: AssocId) -> bool {
        self.table.get(id).is_some_and(|s| s.assoc.interleaves())
    }

    /// Payload bytes that are queued or not yet cumulatively acknowledged.
    #[must_use]
    pub fn buffered(&self, id: AssocId) -> Option<u64> {
        self.table.get(id).map(|s| s.assoc.buffered())
    }

    /// Associations that have not ended.
    #[must_use]
    pub fn association_count(&self) -> usize {
        self.table.live()
    }

    /// Whether a packet carries the verification tag of an association and comes from an
    /// address that has proved to be its peer's. A driver asks to serve known peers first;
    /// nothing else of the packet is checked.
    #[must_use]
    pub fn is_from_known_peer(&mut self, source: SocketAddr, packet: &[u8]) -> bool {
        let Some(&[s0, s1, _, _, t0, t1, t2, t3]) = packet.first_chunk() else {
            return false;
        };
        let port = u16::from_be_bytes([s0, s1]);
        let tag = u32::from_be_bytes([t0, t1, t2, t3]);
        let tagged = self.table.find_by_tag(tag, port);
        tagged.is_some() && tagged == self.table.find_proven(source, port)
    }

    /// Our own addresses.
    #[must_use]
    pub fn local_addresses(&self) -> &[SocketAddr] {
        &self.local
    }

    /// Our SCTP port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.cfg.port
    }

    /// Counters of the endpoint outside its associations.
    #[must_use]
    pub fn endpoint_stats(&self) -> EndpointStats {
        let refusals = self.out.counts();
        let of = |rule| refusals.of(rule);
        let (of_peer, for_memory) = (of(Rule::AssociationsOfPeer), of(Rule::Memory));
        EndpointStats {
            malformed: of(Rule::Malformed),
            bad_checksums: of(Rule::Checksum),
            out_of_the_blue: of(Rule::OutOfTheBlue),
            forged_cookies: of(Rule::ForgedCookie),
            stale_cookies: of(Rule::StaleCookie),
            refused: of(Rule::Associations) + of_peer + for_memory,
            refused_of_peer: of_peer,
            refused_for_memory: for_memory,
            answers_withheld: of(Rule::AnswerRate),
            shed: of(Rule::Shed),
            heartbeats_put_off: of(Rule::HeartbeatAllowance),
            data_shed: of(Rule::DataMemory),
            answers_dropped: of(Rule::AnswerQueue),
            refusals,
            ..self.stats
        }
    }

    /// The driver has refused or dropped something of this peer by a rule, so many times. It is
    /// counted and told with what the endpoint refuses.
    pub fn count_refusals(&mut self, rule: Rule, times: u64, from: SocketAddr) {
        self.out.refuse_many(rule, times, from);
    }

    /// A cookie with these contents and a valid MAC, for a COOKIE ECHO with this tag from a
    /// peer with this SCTP port. Only for fuzzing.
    #[cfg(fuzzing)]
    #[doc(hidden)]
    #[must_use]
    pub fn seal_for_fuzzing(&self, contents: &[u8], local_tag: u32, peer_port: u16) -> Vec<u8> {
        let beside = super::cookie::Beside {
            local_tag,
            local_port: self.cfg.port,
            peer_port,
            destination: self.local[0],
            local: &self.local,
        };
        self.keys.seal_bytes(contents, beside)
    }

    /// Recomputes every running total of an association (flight sizes, windows,
    /// buffers) and compares. For tests, because it visits all outstanding data.
    ///
    /// # Errors
    /// When a total is wrong; the error names the first one.
    pub fn check_totals(&self, id: AssocId) -> Result<(), String> {
        self.table
            .get(id)
            .map_or(Ok(()), |s| s.assoc.check_totals())
    }

    /// Checks that an association goes on: that whatever it has to do waits for a timer that
    /// runs, on a path that there is. For tests, after
    /// [`poll_transmit`](Self::poll_transmit) gave `None`.
    ///
    /// # Errors
    /// When something waits for ever; the error names the first such thing.
    pub fn check_progress(&mut self, id: AssocId) -> Result<(), String> {
        let routes = &mut *self.routes;
        self.table
            .get(id)
            .map_or(Ok(()), |s| s.assoc.check_progress(routes))
    }
}
