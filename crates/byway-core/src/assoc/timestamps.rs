//! TIMESTAMP chunks (caro-2004 section II.B): which packets carry them, and which time
//! they echo.
//!
//! Both sides list the chunk's type in Supported Extensions (RFC 5061 section 4.2.7) of
//! INIT and INIT ACK. If one side does not, no packet has a timestamp. A packet with
//! DATA carries its sending time. A packet with a SACK echoes the time of the first
//! packet that it answers. That packet waited longest for its SACK, and the RTO must
//! include this delay (RFC 7323 section 4.3 echoes the earliest for the same reason).
//! DATA chunks leave room for the TIMESTAMP chunk in each packet.

use super::Association;
use crate::path::PathId;
use crate::time::Instant;
use byway_wire::{PacketBuilder, TIMESTAMP_LEN, Timestamp};

/// The state of the TIMESTAMP chunks of an association.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Stamps {
    /// The peer's timestamp that the next SACK echoes.
    owed: Option<u32>,
    /// The timestamp that the current packet echoes.
    pub(super) echoed: Option<u32>,
}

/// A time as a TIMESTAMP chunk carries it: microseconds in 32 bits, which wrap in 71
/// minutes.
pub(crate) fn stamp(at: Instant) -> u32 {
    (at.as_nanos() / 1000) as u32
}

impl Association {
    /// Whether packets carry timestamps.
    #[inline]
    pub(super) fn stamps_packets(&self) -> bool {
        self.stamps.is_some()
    }

    /// Both INITs are known: decides whether timestamps are used.
    pub(super) fn agree_on_timestamps(&mut self, peer_wants: bool) {
        let agreed = peer_wants && self.cfg.rto.timestamps;
        self.stamps = agreed.then(Stamps::default);
    }

    /// Bytes of each packet for a TIMESTAMP and for an AUTH chunk.
    pub(super) fn bytes_beside_data(&self) -> (u32, u32) {
        let timestamp = self.stamps.map_or(0, |_| TIMESTAMP_LEN as u32);
        (timestamp, self.auth_bytes())
    }

    /// The association is established. Packets on its paths leave room for these chunks.
    pub(super) fn make_room_for_timestamps(&mut self, now: Instant) {
        let bytes = self.bytes_beside_data();
        if bytes != (0, 0) {
            self.paths.keep_beside_data(bytes, &self.cfg, now);
        }
    }

    /// A new packet arrived: clears the echo of the last one.
    pub(super) fn forget_echo(&mut self) {
        if let Some(s) = &mut self.stamps {
            s.echoed = None;
        }
    }

    /// A TIMESTAMP arrived.
    pub(super) fn on_timestamp(&mut self, t: Timestamp) {
        if let Some(s) = &mut self.stamps {
            s.owed = s.owed.or(t.sent);
            s.echoed = t.echo;
        }
    }

    /// Writes the TIMESTAMP of a new packet, if any.
    pub(super) fn write_timestamp(
        &mut self,
        packet: &mut PacketBuilder<'_>,
        now: Instant,
        (data, sack): (bool, bool),
    ) {
        if let Some(s) = &mut self.stamps {
            packet.timestamp(Timestamp {
                sent: data.then_some(stamp(now)),
                echo: if sack { s.owed.take() } else { None },
            });
        }
    }

    /// Bytes of a packet to `path` that chunks other than TIMESTAMP may take.
    pub(super) fn room_beside_timestamp(&self, path: PathId) -> usize {
        self.paths.get(path).limit_beside_timestamp()
    }
}
