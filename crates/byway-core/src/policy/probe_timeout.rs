//! Probe-timeout failover (byway's own; the idea of RACK-TLP, RFC 8985 section 7, and
//! of QUIC's probe timeout, applied to another path).
//!
//! T3-rtx waits at least RTO.Min, one second, although the path's own round trips may
//! show much earlier that an acknowledgement is overdue. So a path becomes potentially
//! failed as soon as an acknowledgement is overdue. A heartbeat probes the path. The
//! oldest outstanding chunk leaves at once on another path, and new data follows it. No
//! window changes. If the heartbeat is not answered in the same time again, the rest of
//! the outstanding data follows. RFC 9260 waits for T3-rtx; this is off by default.
//!
//! `since` says what the wait begins with. The last acknowledgement is late: while data flows,
//! the next one is expected soon after it. With the chunk's own sending the wait ends most of a
//! round trip earlier, when only the variation of the round trips has passed in silence. So
//! nothing moves then before the acknowledgements have been silent for as long as an answer takes.
//!
//! A SACK that the peer delays (SACK.Delay) would hide a dead path and falsify the
//! round trips that show when an acknowledgement is overdue. So a chunk that no other
//! chunk follows asks for a SACK at once (the I bit, RFC 7053, part of RFC 9260 section
//! 6.2): the last chunk of the queue, and a chunk that leaves while no other one is
//! outstanding. With traffic that does not fill its windows this causes a SACK for each
//! packet instead of each second one. A peer that does not support the bit only makes
//! the round trips longer, and so the probe timeout later.
//!
//! Missing reports may announce losses while the path is potentially failed, because new data
//! left on another one. If the path is dead, they are no sign of congestion. So the window is
//! reduced for them only when the path answers.

use crate::time::Duration;
use crate::units;
use serde::{Deserialize, Serialize};

/// When an acknowledgement is overdue.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProbeTimeout {
    /// The longest time that the peer delays the acknowledgement of a single packet
    /// that did not ask for one at once (200 ms, SACK.Delay).
    #[serde(with = "units::duration")]
    pub ack_delay: Duration,
    /// The least time that is added to the smoothed round trip (5 ms).
    #[serde(with = "units::duration")]
    pub margin: Duration,
    /// Since when an acknowledgement is waited for.
    pub since: WaitsSince,
    /// When data leaves a path whose acknowledgement is overdue.
    pub moves: DataMove,
    /// What leaves on another path while data has not moved.
    pub repeats: Repeats,
    /// How many heartbeats ask a path whose acknowledgement is overdue before its data moves, with
    /// `moves` = [`DataMove::HeartbeatOverdue`] (1; at most 8). The first leaves at once, the others within the
    /// time that an answer may be late, so that all can be answered in the time that one has.
    /// Where packets are lost at random, one lost heartbeat, or its answer, moves nothing then.
    pub heartbeats: u8,
    /// Where no other path is active, repeat the oldest chunk in flight on its own path
    /// (a tail probe, RFC 8985 section 7; false). Its answer shows what was lost long
    /// before T3-rtx expires. Each probe without an answer doubles the wait for the next.
    /// COOKIE ECHO, SHUTDOWN and SHUTDOWN ACK leave once more, too, when their answers are
    /// overdue: T1-cookie and T2-shutdown wait for a second or longer.
    pub tail_probe: bool,
}

/// Since when an acknowledgement is waited for.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum WaitsSince {
    /// The last one, or the first sending after it.
    #[default]
    Acknowledgement,
    /// The sending of the second chunk above all that were acknowledged: a peer answers each
    /// second packet at once. While data flows, that is most of a round trip earlier. A
    /// pause of the acknowledgements that is longer than the round trips vary costs a heartbeat and
    /// one chunk that is sent twice.
    Sending,
}

/// When data leaves a path whose acknowledgement is overdue.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum DataMove {
    /// At once: the path becomes potentially failed.
    #[default]
    AtOnce,
    /// Only when a heartbeat is not answered, either. Until then the path stays active,
    /// and only the oldest chunk in flight leaves on another path, so that one lost
    /// packet moves nothing.
    HeartbeatOverdue,
}

/// What leaves on another path while an acknowledgement is overdue and data has not moved.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum Repeats {
    /// The oldest chunk in flight: its SACK says what had arrived.
    #[default]
    Oldest,
    /// When that SACK has come and the path is still silent, also the first chunks that it does
    /// not acknowledge, as many as the window of the other path takes, and more with each further SACK.
    /// So that window grows before all data moves.
    UntilAnswered,
}

impl Default for ProbeTimeout {
    fn default() -> ProbeTimeout {
        ProbeTimeout {
            ack_delay: Duration::from_millis(200),
            margin: Duration::from_millis(5),
            since: WaitsSince::default(),
            moves: DataMove::AtOnce,
            repeats: Repeats::default(),
            heartbeats: 1,
            tail_probe: false,
        }
    }
}

impl ProbeTimeout {
    /// The longest time for an answer that the peer does not delay: SRTT and its lateness.
    #[must_use]
    pub fn answer(&self, srtt: Duration, rttvar: Duration) -> Duration {
        srtt + self.lateness(srtt, rttvar)
    }

    /// The time for which an acknowledgement may be late: the largest of four RTTVAR, an
    /// eighth of SRTT, and the margin.
    #[must_use]
    pub fn lateness(&self, srtt: Duration, rttvar: Duration) -> Duration {
        (4 * rttvar).max(srtt / 8).max(self.margin)
    }

    /// The longest time for an acknowledgement. `prompt`: the peer has a reason not to
    /// delay it, because two packets are outstanding or the last one asked for it at
    /// once.
    #[must_use]
    pub fn acknowledgement(&self, srtt: Duration, rttvar: Duration, prompt: bool) -> Duration {
        let delayed = if prompt {
            Duration::ZERO
        } else {
            self.ack_delay
        };
        self.answer(srtt, rttvar) + delayed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overdue_by_the_paths_own_statistics() {
        let p = ProbeTimeout::default();
        let ms = Duration::from_millis;
        // srtt, rttvar, prompt, expected
        for (srtt, rttvar, prompt, expected) in [
            (80, 5, true, 100),
            (80, 1, true, 90),
            (8, 0, true, 13),
            (80, 5, false, 300),
        ] {
            assert_eq!(
                p.acknowledgement(ms(srtt), ms(rttvar), prompt),
                ms(expected),
                "{srtt} {rttvar} {prompt}"
            );
        }
    }
}
