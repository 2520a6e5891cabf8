//! Probe-timeout failover (byway's own; the idea of RACK-TLP, RFC 8985 section
//! 7, and of QUIC's probe timeout, carried to another path).
//!
//! RTO.Min makes the retransmission timer wait a second where the path's own
//! round trips say after a tenth of it that an acknowledgement is overdue. So a
//! path is suspect as soon as one is: a heartbeat asks it, the oldest
//! outstanding chunk leaves at once on another path, new data follows it, and
//! no window is touched; when the heartbeat stays unanswered as long again, the
//! rest of what is outstanding follows, too. RFC 9260 waits for T3-rtx; off by
//! default.
//!
//! A SACK that the peer holds back (SACK.Delay) would hide a death, and spoil the
//! round trips that tell when one is overdue. So what is followed by nothing asks
//! for a SACK at once (the I bit, RFC 7053, which RFC 9260 section 6.2 takes in):
//! the last chunk of the queue, and one that leaves while nothing else is
//! outstanding. With traffic that does not fill its windows that is a SACK for
//! each packet instead of each second one. A peer that does not know the bit only
//! makes the round trips longer, and so the suspicion later.
//!
//! Losses that missing reports tell of while the path is suspect say nothing of
//! congestion, if it is dead: the window falls for them when the path answers.

use crate::time::Duration;
use crate::units;
use serde::{Deserialize, Serialize};

/// When an acknowledgement is overdue.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProbeTimeout {
    /// The longest that the peer holds back the acknowledgement of a single
    /// packet that did not ask for one at once (200 ms, SACK.Delay).
    #[serde(with = "units::duration")]
    pub ack_delay: Duration,
    /// The least that is allowed beyond the smoothed round trip (5 ms).
    #[serde(with = "units::duration")]
    pub margin: Duration,
}

impl Default for ProbeTimeout {
    fn default() -> ProbeTimeout {
        ProbeTimeout {
            ack_delay: Duration::from_millis(200),
            margin: Duration::from_millis(5),
        }
    }
}

impl ProbeTimeout {
    /// How long the answer to something that asks for one at once may take:
    /// SRTT, and the largest of four RTTVAR, an eighth of SRTT, and the margin.
    #[must_use]
    pub fn answer(&self, srtt: Duration, rttvar: Duration) -> Duration {
        srtt + (4 * rttvar).max(srtt / 8).max(self.margin)
    }

    /// How long an acknowledgement may take; `prompt`: the peer has a reason not
    /// to hold it back, as two packets are outstanding or the last one asked.
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
