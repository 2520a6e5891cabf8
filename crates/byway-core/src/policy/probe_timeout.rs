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

use crate::time::Duration;
use crate::units;
use serde::{Deserialize, Serialize};

/// When an acknowledgement is overdue.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProbeTimeout {
    /// The longest that the peer holds back the acknowledgement of a single
    /// packet (200 ms, SACK.Delay).
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
