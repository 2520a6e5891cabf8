//! Which acknowledgements measure the round trip (RFC 9260 section 6.3.1, rules
//! C4 and C5, which is Karn's algorithm; caro-2004 section II.B, timestamps).
//!
//! If a chunk was sent twice, its acknowledgement does not show which transmission it
//! answers. So it gives no sample (Karn), and a path that carries only retransmissions
//! keeps its backed-off timer. A timestamp in every packet, echoed by the SACK, shows
//! which transmission was answered, so every acknowledgement can give a sample. RFC
//! 9260 has no timestamps and takes one sample per round trip, the default.

use serde::{Deserialize, Serialize};

/// Which chunks measure the round trip if there are no timestamps.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum RttSampling {
    /// One sample per round trip, and none if a chunk before the timed one was
    /// retransmitted in that time (RFC 9260 section 6.3.1, C4 and C5).
    #[default]
    OncePerRound,
    /// Every chunk that was sent only once, as the papers say.
    EveryChunk,
}

/// A chunk that is newly acknowledged.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Acknowledged {
    /// It was sent only once.
    pub once: bool,
    /// It is the chunk that is timed in this round.
    pub timed: bool,
    /// Its path has had no error since the chunk was sent.
    pub timely: bool,
    /// The timestamp of the last packet that carried it.
    pub stamp: u32,
}

/// The timestamp that a SACK's packet echoes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Echo {
    /// The association does not use timestamps.
    Unused,
    /// The association uses them. The packet echoes this timestamp, or none.
    Of(Option<u32>),
}

impl RttSampling {
    /// Whether the time since its last transmission is a sample of the round trip.
    #[must_use]
    pub fn measures(self, echo: Echo, chunk: Acknowledged) -> bool {
        match echo {
            Echo::Of(echo) => echo == Some(chunk.stamp),
            Echo::Unused => {
                let chosen = self == RttSampling::EveryChunk || chunk.timed;
                chosen && chunk.once && chunk.timely
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use RttSampling::{EveryChunk, OncePerRound};

    #[test]
    fn which_acknowledgements_measure() {
        let (none, of) = (Echo::Unused, |t| Echo::Of(Some(t)));
        // rule, echo, sent once, timed, timely, expected; the stamp is 7
        let rows = [
            (OncePerRound, none, true, true, true, true),
            (OncePerRound, none, true, false, true, false),
            (OncePerRound, none, false, true, true, false),
            (OncePerRound, none, true, true, false, false),
            (EveryChunk, none, true, false, true, true),
            (EveryChunk, none, false, false, true, false),
            // The echo shows which transmission was answered, so all may measure.
            (OncePerRound, of(7), true, false, true, true),
            (OncePerRound, of(7), false, false, false, true),
            (EveryChunk, of(7), false, false, true, true),
            // The echo answers the first transmission, or the chunk of another packet.
            (OncePerRound, of(6), false, true, true, false),
            (EveryChunk, of(6), true, true, true, false),
            (EveryChunk, Echo::Of(None), true, true, true, false),
        ];
        for (rule, echo, once, timed, timely, expected) in rows {
            let chunk = Acknowledged {
                once,
                timed,
                timely,
                stamp: 7,
            };
            assert_eq!(
                rule.measures(echo, chunk),
                expected,
                "{rule:?} {echo:?} {chunk:?}"
            );
        }
    }
}
