//! What a lost association has not delivered, message by message: SEND FAILURE,
//! RECEIVE_UNSENT and RECEIVE_UNACKED (RFC 9260 sections 11.2.2, 11.1.14 and 11.1.15).

use super::SendHalf;
use super::fronts::{MessageKey, key_of};
use super::kept::Kept;
use super::queue::Rest;
use super::record::Record;
use crate::api::Undelivered;
use bytes::{Bytes, BytesMut};
use std::collections::{BTreeMap, VecDeque};

/// What is left of a message that has left in part or whole.
struct Left {
    key: MessageKey,
    ppid: Option<u32>,
    context: u64,
    ended: bool,
    parts: Vec<Bytes>,
}

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
        if self.interleaves {
            return self.take_undelivered_interleaved(settle);
        }
        let acknowledged = self.ledger.acknowledged_front();
        let mut parts: Vec<Bytes> = Vec::new();
        while let Some((r, context)) = self.ledger.take() {
            settle(&r);
            parts.push(r.payload);
            if r.end {
                return Some(Undelivered {
                    stream: r.stream,
                    ssn: r.number as u16,
                    ppid: r.ppid_or_fsn,
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
            ssn: rest.number as u16,
            ppid: rest.ppid,
            unordered: rest.unordered,
            context: rest.context,
            sent: rest.cut > 0,
            acknowledged: if rest.cut > 0 { acknowledged } else { 0 },
            payload: join(parts),
        })
    }

    /// The same if messages interleave: the chunks of a message are not beside each other, so all
    /// are read at once, and what they make is kept.
    fn take_undelivered_interleaved(&mut self, settle: impl FnMut(&Record)) -> Option<Undelivered> {
        let mut kept = match self.undelivered.take() {
            Some(kept) => kept,
            None => Box::new(self.all_that_left(settle)),
        };
        let next = kept.take();
        self.undelivered = Some(kept);
        if next.is_some() {
            return next;
        }
        let rest = self.queue.take()?;
        Some(Undelivered {
            stream: rest.stream,
            ssn: ssn(rest.unordered, rest.number),
            ppid: rest.ppid,
            unordered: rest.unordered,
            context: rest.context,
            sent: rest.cut > 0,
            acknowledged: rest.cut as u64,
            payload: rest.payload,
        })
    }

    /// Messages that have left in part or whole and are not completely acknowledged, by the TSNs
    /// of their first chunks that are not.
    fn all_that_left(&mut self, mut settle: impl FnMut(&Record)) -> Kept {
        let mut all: Vec<Left> = Vec::new();
        let mut places: BTreeMap<MessageKey, usize> = BTreeMap::new();
        while let Some((r, context)) = self.ledger.take() {
            settle(&r);
            let key = key_of(&r);
            let place = *places.entry(key).or_insert(all.len());
            if place == all.len() {
                all.push(Left {
                    key,
                    ppid: r.begin.then_some(r.ppid_or_fsn),
                    context: 0,
                    ended: false,
                    parts: Vec::new(),
                });
            }
            let left = &mut all[place];
            left.parts.push(r.payload);
            if r.end {
                (left.ended, left.context) = (true, context);
            }
        }
        let messages: VecDeque<_> = all.into_iter().map(|l| self.put_together(l)).collect();
        Kept::new(messages)
    }

    /// A message, with what the peer has acknowledged of it, and what still waits.
    fn put_together(&mut self, mut left: Left) -> Undelivered {
        let (stream, unordered, number) = left.key;
        let fronts = self.ledger.fronts_mut();
        let front = fronts.map(|f| f.take(left.key)).unwrap_or_default();
        let rest = if left.ended {
            None
        } else {
            self.queue.take_begun(stream)
        };
        if let Some(rest) = rest {
            left.context = rest.context;
            left.parts.push(rest.payload);
        }
        Undelivered {
            stream,
            ssn: ssn(unordered, number),
            ppid: left.ppid.unwrap_or(front.ppid),
            unordered,
            context: left.context,
            sent: true,
            acknowledged: front.bytes,
            payload: join(left.parts),
        }
    }
}

/// The Stream Sequence Number of a message: the lower half of its Message Identifier (RFC 8260
/// section 4.1), and none of an unordered one.
fn ssn(unordered: bool, number: u32) -> u16 {
    if unordered { 0 } else { number as u16 }
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
