//! What a lost association has not delivered, message by message: SEND FAILURE,
//! RECEIVE_UNSENT and RECEIVE_UNACKED (RFC 9260 sections 11.2.2, 11.1.14 and 11.1.15).

use super::SendHalf;
use super::queue::Rest;
use super::record::Record;
use crate::api::Undelivered;
use bytes::{Bytes, BytesMut};

impl SendHalf {
    /// Takes the next message out that the peer has not completely acknowledged: those that
    /// have left first, in the order of their TSNs. `settle` is called with each of its chunks
    /// that have left.
    ///
    /// What was acknowledged by gap blocks alone counts as unacknowledged: the peer may have
    /// taken it back (section 6.3.3).
    pub(crate) fn take_undelivered(
        &mut self,
        mut settle: impl FnMut(&Record),
    ) -> Option<Undelivered> {
        let acknowledged = self.ledger.acknowledged_front();
        let mut parts: Vec<Bytes> = Vec::new();
        while let Some((r, context)) = self.ledger.take() {
            settle(&r);
            parts.push(r.payload);
            if r.end {
                return Some(Undelivered {
                    stream: r.stream,
                    ssn: r.ssn,
                    ppid: r.ppid,
                    unordered: r.unordered,
                    context,
                    sent: true,
                    acknowledged,
                    payload: join(parts),
                });
            }
        }
        // The rest of what has left in part, or a message that waits.
        let rest: Rest = self.queue.take()?;
        parts.push(rest.payload);
        Some(Undelivered {
            stream: rest.stream,
            ssn: rest.ssn,
            ppid: rest.ppid,
            unordered: rest.unordered,
            context: rest.context,
            sent: rest.cut > 0,
            acknowledged: if rest.cut > 0 { acknowledged } else { 0 },
            payload: join(parts),
        })
    }
}

/// The bytes of all parts; a single one is not copied.
fn join(mut parts: Vec<Bytes>) -> Bytes {
    if parts.len() == 1
        && let Some(one) = parts.pop()
    {
        return one;
    }
    let mut all = BytesMut::with_capacity(parts.iter().map(Bytes::len).sum());
    parts.iter().for_each(|p| all.extend_from_slice(p));
    all.freeze()
}
