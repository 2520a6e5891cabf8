//! Counters of an endpoint that belong to no association.

use crate::refusals::RuleCounts;

/// Counts of received datagrams, and of the results of those that reached no
/// association.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct EndpointStats {
    /// Datagrams that the driver passed in.
    pub datagrams_received: u64,
    /// Packets without a well-formed header and first chunk, and INITs and COOKIE
    /// ECHOs that are discarded as invalid.
    pub malformed: u64,
    /// Packets with a wrong CRC32c.
    pub bad_checksums: u64,
    /// Packets out of the blue (RFC 9260 section 8.4).
    pub out_of_the_blue: u64,
    /// INITs answered with an INIT ACK.
    pub inits: u64,
    /// COOKIE ECHOs whose cookie is not from this endpoint, was changed, or does
    /// not match the packet's tag and ports.
    pub forged_cookies: u64,
    /// COOKIE ECHOs whose cookie had expired (RFC 9260 section 5.1.5).
    pub stale_cookies: u64,
    /// Associations refused because a limit was reached.
    pub refused: u64,
    /// Of these, because one peer address had set up as many as it may
    /// (`max_associations_per_peer`).
    pub refused_of_peer: u64,
    /// Of these, because memory was scarce: three quarters of `max_memory`, or of the half that one host may use, were
    /// used (fifteen sixteenths for a host that has fewer than eight).
    pub refused_for_memory: u64,
    /// Answers to INITs and packets out of the blue that were not given, because their
    /// source or all sources had used up their rate.
    pub answers_withheld: u64,
    /// Associations aborted because memory was scarce: more than fifteen sixteenths of `max_memory` were used, or of the
    /// half that one host may use.
    pub shed: u64,
    /// Heartbeats to addresses that have not proved to be the peer's which had to wait, or were
    /// left out, by the limits against floods of third hosts: three bytes for each that came in
    /// the association, and eight a second to sources that are no paths.
    pub heartbeats_put_off: u64,
    /// DATA chunks dropped because memory was scarce (seven eighths of `max_memory`, or of
    /// the half that one host may use). Their senders send them again.
    pub data_shed: u64,
    /// Replies outside any association that were dropped because too many were
    /// waiting.
    pub answers_dropped: u64,
    /// Everything that was refused, dropped or shed, by rule: those above, and what peers with an
    /// association sent that was not taken.
    pub refusals: RuleCounts,
}

/// The counters of the parts of a server ([`Part`](crate::config::Part)), added up.
impl core::ops::AddAssign for EndpointStats {
    fn add_assign(&mut self, other: EndpointStats) {
        // Named one by one, so that none is forgotten.
        let EndpointStats {
            datagrams_received,
            malformed,
            bad_checksums,
            out_of_the_blue,
            inits,
            forged_cookies,
            stale_cookies,
            refused,
            refused_of_peer,
            refused_for_memory,
            answers_withheld,
            shed,
            heartbeats_put_off,
            data_shed,
            answers_dropped,
            refusals,
        } = other;
        self.datagrams_received += datagrams_received;
        self.malformed += malformed;
        self.bad_checksums += bad_checksums;
        self.out_of_the_blue += out_of_the_blue;
        self.inits += inits;
        self.forged_cookies += forged_cookies;
        self.stale_cookies += stale_cookies;
        self.refused += refused;
        self.refused_of_peer += refused_of_peer;
        self.refused_for_memory += refused_for_memory;
        self.answers_withheld += answers_withheld;
        self.shed += shed;
        self.heartbeats_put_off += heartbeats_put_off;
        self.data_shed += data_shed;
        self.answers_dropped += answers_dropped;
        self.refusals += refusals;
    }
}
