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
    /// New associations were refused, because three quarters of `max_memory` are used, or of the
    /// half that one host may use.
    Memory,
    /// An association was aborted, because `max_memory` was used up and it held most.
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
}

impl Rule {
    /// All rules.
    const ALL: [Rule; 13] = [
        Rule::Malformed,
        Rule::Checksum,
        Rule::OutOfTheBlue,
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
    ];
}

impl core::fmt::Display for Rule {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Rule::Malformed => "malformed packets",
            Rule::Checksum => "packets with a wrong CRC32c",
            Rule::OutOfTheBlue => "packets out of the blue",
            Rule::AnswerRate => "packets beyond the rate of answers",
            Rule::ForgedCookie => "forged cookies",
            Rule::StaleCookie => "stale or spent cookies",
            Rule::Associations => "associations beyond max_associations",
            Rule::AssociationsOfPeer => "associations beyond max_associations_per_peer",
            Rule::Memory => "associations while memory is scarce (max_memory)",
            Rule::Shed => "associations aborted, because max_memory was used up",
            Rule::HeartbeatAllowance => "heartbeats to unproven addresses put off",
            Rule::AnswerQueue => "answers dropped, because too many waited",
            Rule::DataMemory => "DATA dropped while memory is scarce (max_memory)",
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

/// Counts by rule. Their memory does not grow.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    of_rule: [Option<(u64, SocketAddr)>; Rule::ALL.len()],
    any: bool,
}

impl Refusals {
    pub(crate) fn add(&mut self, rule: Rule, from: SocketAddr) {
        let (count, last) = self.of_rule[rule as usize].get_or_insert((0, from));
        *count += 1;
        *last = from;
        self.any = true;
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
        let from = |port| SocketAddr::from(([10, 0, 0, 1], port));
        let mut refusals = Refusals::default();
        for port in 1..=1000 {
            refusals.add(Rule::AnswerRate, from(port));
        }
        refusals.add(Rule::Shed, from(7));
        let refusal = |rule, count, port| Refusal {
            rule,
            count,
            last: from(port),
        };
        assert_eq!(
            refusals.take(),
            [
                refusal(Rule::AnswerRate, 1000, 1000),
                refusal(Rule::Shed, 1, 7)
            ]
        );
        assert!(refusals.take().is_empty());
    }
}
