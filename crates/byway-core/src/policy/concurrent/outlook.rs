//! What the schedulers know of the paths, and what waits.

use crate::path::{MAX_PATHS, PathId};
use crate::time::Duration;
use smallvec::SmallVec;

/// What a scheduler knows of a path that may carry new data. Bytes are those of DATA
/// chunks with their headers.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Outlook {
    /// The path.
    pub path: PathId,
    /// Smoothed round trip; `None` before the first measurement.
    pub srtt: Option<Duration>,
    /// Its mean deviation.
    pub rttvar: Duration,
    /// Congestion window.
    pub cwnd: u32,
    /// Bytes in flight.
    pub flight: u32,
    /// Bytes that may leave now: by the window, and in a recovery by proportional rate reduction.
    pub room: u32,
    /// The largest chunk.
    pub pmdcs: u32,
    /// The least round trip of all.
    pub least: Option<Duration>,
    /// What it delivers, bytes in a second; `None` before this was measured.
    pub rate: Option<f64>,
    /// For how long an acknowledgement has been overdue there.
    pub late: Duration,
    /// The last packet of new data went there.
    pub continues: bool,
}

/// What waits, and what may be outstanding.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// Payload bytes in the send queue.
    pub waiting: u64,
    /// The user waits for room in the send buffer, so more follows.
    pub more_follows: bool,
    /// The most payload that may be sent and not cumulatively acknowledged: the peer's
    /// receive window with what it holds behind gaps, or the send buffer.
    pub window: u64,
}

/// The paths of new data, in the order in which they are filled.
pub type Order = SmallVec<[PathId; MAX_PATHS]>;

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    pub(in super::super) const MS: Duration = Duration::from_millis(1);

    /// A path with this round trip, cwnd and flight in packets of 1000 bytes. Its rate is
    /// cwnd a round trip.
    pub(in super::super) fn path(number: u8, ms: u32, cwnd: u32, flight: u32) -> Outlook {
        Outlook {
            path: PathId(number),
            srtt: Some(ms * MS),
            rttvar: Duration::ZERO,
            cwnd: 1000 * cwnd,
            flight: 1000 * flight,
            room: 1000 * cwnd.saturating_sub(flight),
            pmdcs: 1000,
            least: Some(ms * MS),
            rate: Some(f64::from(1000 * cwnd) * 1000.0 / f64::from(ms)),
            late: Duration::ZERO,
            continues: false,
        }
    }

    pub(in super::super) fn numbers(order: &Order) -> Vec<u8> {
        order.iter().map(|p| p.0).collect()
    }
}
