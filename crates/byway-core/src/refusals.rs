//! What is refused or shed, by rule, with the last peer that it met: for a log whose length no
//! peer decides.

use core::net::SocketAddr;

/// Why something was refused, dropped or ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// A packet, INIT or COOKIE ECHO was not well-formed.
    Malformed,
    /// The CRC32c was wrong.
    Checksum,
    /// The packet belongs to no association (RFC 9260 section 8.4).
    OutOfTheBlue,
    /// The packet came from or to an address that is not unicast (section 8.4).
    NotUnicast,
    /// The source, or all sources together, had used up their rate of answers.
    AnswerRate,
    /// The cookie was not made by this endpoint, or was changed.
    ForgedCookie,
    /// The cookie had expired, or its association has ended.
    StaleCookie,
    /// `max_associations` was reached.
    Associations,
    /// `max_associations_per_peer` was reached.
    AssociationsOfPeer,
    /// New associations were refused, because three quarters of `max_memory` are used (fifteen sixteenths
    /// for a host that has fewer than eight), or of the half that one host may use.
    Memory,
    /// An association was aborted, because more than fifteen sixteenths of `max_memory` were used, or of the half that
    /// one host may use, and it held most; or data that nobody had read was dropped of one that had ended and held most.
    Shed,
    /// A heartbeat to an address that has not proved to be the peer's had to wait, or was left out:
    /// all of them have at most three times the bytes that came in the association, and sources
    /// that are no paths get eight a second.
    HeartbeatAllowance,
    /// An answer was dropped, because 1,024 others waited to be sent.
    AnswerQueue,
    /// DATA was dropped for its sender to send again, because memory was scarce: seven eighths of
    /// `max_memory` were used, or of the half that one host may use.
    DataMemory,
    /// An association was refused, because the endpoint accepts none, or no more.
    NotAccepting,
    /// An association was aborted, because too many waited to be accepted. Counted by the
    /// driver.
    Backlog,
    /// An INIT of a peer that seems to have restarted was refused, because it has addresses that the
    /// association does not know (RFC 9260 section 5.2.2).
    NewAddresses,
    /// A packet from the address of a peer has not the verification tag of its association (section
    /// 8.5).
    WrongTag,
    /// A chunk of a peer was not well-formed; the rest of its packet was dropped.
    BadChunk,
    /// A chunk of a peer has a type that is unknown or not supported (section 3.2).
    UnknownChunk,
    /// A peer got no report of an error in what it sent, as there are eight a second, or no answer
    /// to a HEARTBEAT, as there is one for a packet and eight may wait.
    ReportRate,
    /// An ERROR of a peer was not told to the user: more than one in a packet, or than eight in a
    /// second.
    ErrorRate,
    /// A chunk of a peer does not fit the state of its association: too early, too late, or behind
    /// another one. Honest peers cause some, when packets overtake each other.
    Misplaced,
    /// A chunk of a peer was not authenticated as agreed (RFC 4895).
    Unauthenticated,
    /// DATA was dropped, because it was beyond the receive window. Probes of a closed window are.
    Window,
    /// An ICMP message quotes a packet that was not sent, or that is of no association.
    Icmp,
    /// A datagram came from UDP port 0, to which nothing can be sent back. Counted by the driver.
    PortZero,
    /// A datagram was dropped, because too many waited for their socket, which takes none at
    /// present. Counted by the driver.
    SendQueue,
    /// A handshake of a layer above, such as TLS, was refused: the host, or all hosts together, had
    /// used up their rate.
    Handshakes,
    /// A peer broke the protocol of a layer above, such as the frames of a tunnel; its association
    /// was ended.
    Violations,
    /// An association was refused, because its host had broken the protocol of a layer above too
    /// often.
    Violators,
}

impl Rule {
    /// All rules.
    pub const ALL: [Rule; 31] = [
        Rule::Malformed,
        Rule::Checksum,
        Rule::OutOfTheBlue,
        Rule::NotUnicast,
        Rule::AnswerRate,
        Rule::ForgedCookie,
        Rule::StaleCookie,
        Rule::Associations,
        Rule::AssociationsOfPeer,
        Rule::Memory,
        Rule::Shed,
        Rule::HeartbeatAllowance,
        Rule::AnswerQueue,
        Rule::DataMemory,
        Rule::NotAccepting,
        Rule::Backlog,
        Rule::NewAddresses,
        Rule::WrongTag,
        Rule::BadChunk,
        Rule::UnknownChunk,
        Rule::ReportRate,
        Rule::ErrorRate,
        Rule::Misplaced,
        Rule::Unauthenticated,
        Rule::Window,
        Rule::Icmp,
        Rule::PortZero,
        Rule::SendQueue,
        Rule::Handshakes,
        Rule::Violations,
        Rule::Violators,
    ];

    /// A name for programs. It does not change.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Rule::Malformed => "malformed",
            Rule::Checksum => "bad_checksums",
            Rule::OutOfTheBlue => "out_of_the_blue",
            Rule::NotUnicast => "not_unicast",
            Rule::AnswerRate => "answers_withheld",
            Rule::ForgedCookie => "forged_cookies",
            Rule::StaleCookie => "stale_cookies",
            Rule::Associations => "associations_of_all",
            Rule::AssociationsOfPeer => "associations_of_host",
            Rule::Memory => "associations_for_memory",
            Rule::Shed => "associations_shed",
            Rule::HeartbeatAllowance => "heartbeats_put_off",
            Rule::AnswerQueue => "answers_dropped",
            Rule::DataMemory => "data_shed",
            Rule::NotAccepting => "associations_not_accepted",
            Rule::Backlog => "associations_of_backlog",
            Rule::NewAddresses => "restarts_with_new_addresses",
            Rule::WrongTag => "wrong_tags",
            Rule::BadChunk => "bad_chunks",
            Rule::UnknownChunk => "unknown_chunks",
            Rule::ReportRate => "reports_withheld",
            Rule::ErrorRate => "errors_untold",
            Rule::Misplaced => "misplaced_chunks",
            Rule::Unauthenticated => "unauthenticated_chunks",
            Rule::Window => "data_beyond_window",
            Rule::Icmp => "icmp_ignored",
            Rule::PortZero => "from_port_zero",
            Rule::SendQueue => "datagrams_overflowed",
            Rule::Handshakes => "handshakes_refused",
            Rule::Violations => "violations_above",
            Rule::Violators => "violators_refused",
        }
    }
}

impl core::fmt::Display for Rule {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Rule::Malformed => "malformed packets",
            Rule::Checksum => "packets with a wrong CRC32c",
            Rule::OutOfTheBlue => "packets out of the blue",
            Rule::NotUnicast => "packets from or to an address that is not unicast",
            Rule::AnswerRate => "packets beyond the rate of answers",
            Rule::ForgedCookie => "forged cookies",
            Rule::StaleCookie => "stale or spent cookies",
            Rule::Associations => "associations beyond max_associations",
            Rule::AssociationsOfPeer => "associations beyond max_associations_per_peer",
            Rule::Memory => "associations while memory is scarce (max_memory)",
            Rule::Shed => "associations aborted, because memory is scarce (max_memory)",
            Rule::HeartbeatAllowance => "heartbeats to unproven addresses put off",
            Rule::AnswerQueue => "answers dropped, because too many waited",
            Rule::DataMemory => "DATA dropped while memory is scarce (max_memory)",
            Rule::NotAccepting => "associations where none is accepted",
            Rule::Backlog => "associations beyond the backlog",
            Rule::NewAddresses => "restarts that would add addresses",
            Rule::WrongTag => "packets with a wrong verification tag",
            Rule::BadChunk => "malformed chunks of peers",
            Rule::UnknownChunk => "unknown chunks of peers",
            Rule::ReportRate => "reports and heartbeat answers to peers beyond their rate",
            Rule::ErrorRate => "ERRORs of peers beyond what the user is told of",
            Rule::Misplaced => "chunks of peers that came too early, too late or in a wrong place",
            Rule::Unauthenticated => "chunks of peers without a valid AUTH",
            Rule::Window => "DATA beyond the receive window",
            Rule::Icmp => "ICMP messages about packets that were not sent",
            Rule::PortZero => "datagrams from UDP port 0",
            Rule::SendQueue => "datagrams dropped, because their socket takes none at present",
            Rule::Handshakes => "handshakes beyond their rate",
            Rule::Violations => "violations of the protocol of a layer above",
            Rule::Violators => {
                "associations of hosts that broke the protocol of a layer above too often"
            }
        })
    }
}

/// What one rule refused since it was last asked.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The rule.
    pub rule: Rule,
    /// How often.
    pub count: u64,
    /// The last peer; its address may be forged.
    pub last: SocketAddr,
}

/// How often each rule has refused something.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleCounts([u64; Rule::ALL.len()]);

impl RuleCounts {
    /// How often this one has.
    #[must_use]
    pub fn of(&self, rule: Rule) -> u64 {
        self.0[rule as usize]
    }

    /// All rules with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (Rule, u64)> + use<> {
        Rule::ALL.into_iter().zip(self.0)
    }
}

impl core::ops::AddAssign for RuleCounts {
    fn add_assign(&mut self, other: RuleCounts) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count += more;
        }
    }
}

/// Counts by rule. Their memory does not grow.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    /// Since they were taken last.
    of_rule: [Option<(u64, SocketAddr)>; Rule::ALL.len()],
    any: bool,
    /// Of all time.
    counts: RuleCounts,
}

impl Refusals {
    pub(crate) fn add(&mut self, rule: Rule, times: u64, from: SocketAddr) {
        let (count, last) = self.of_rule[rule as usize].get_or_insert((0, from));
        *count += times;
        *last = from;
        self.any = true;
        self.counts.0[rule as usize] += times;
    }

    /// Counts of all time.
    pub(crate) fn counts(&self) -> RuleCounts {
        self.counts
    }

    pub(crate) fn take(&mut self) -> Vec<Refusal> {
        if !self.any {
            return Vec::new();
        }
        self.any = false;
        let counts = core::mem::take(&mut self.of_rule);
        let rules = Rule::ALL.into_iter().zip(counts);
        let refusals = rules.filter_map(|(rule, of_rule)| {
            let (count, last) = of_rule?;
            Some(Refusal { rule, count, last })
        });
        refusals.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_counted_by_rule_with_the_last_peer() {
        for (at, rule) in Rule::ALL.into_iter().enumerate() {
            assert_eq!(rule as usize, at, "{rule}");
        }
        let names: std::collections::BTreeSet<_> = Rule::ALL.iter().map(|r| r.name()).collect();
        assert_eq!(names.len(), Rule::ALL.len());
        let words: std::collections::BTreeSet<_> =
            Rule::ALL.iter().map(ToString::to_string).collect();
        assert_eq!(words.len(), Rule::ALL.len(), "a log tells them apart");
        let from = |port| SocketAddr::from(([10, 0, 0, 1], port));
        let mut refusals = Refusals::default();
        for port in 1..=1000 {
            refusals.add(Rule::AnswerRate, 1, from(port));
        }
        refusals.add(Rule::Shed, 3, from(7));
        let refusal = |rule, count, port| Refusal {
            rule,
            count,
            last: from(port),
        };
        assert_eq!(
            refusals.take(),
            [
                refusal(Rule::AnswerRate, 1000, 1000),
                refusal(Rule::Shed, 3, 7)
            ]
        );
        assert!(refusals.take().is_empty());
        // All time goes on.
        refusals.add(Rule::Shed, 2, from(8));
        let counts = refusals.counts();
        assert_eq!(
            (counts.of(Rule::AnswerRate), counts.of(Rule::Shed)),
            (1000, 5)
        );
        assert_eq!(counts.iter().map(|(_, count)| count).sum::<u64>(), 1005);
    }
}
