//! Messages that wait to be sent, and their fragmentation (RFC 9260 sections 6.5,
//! 6.6 and 6.9).
//!
//! A lane is a first-in, first-out list. Each path to which the user binds messages
//! has one, and all other messages share one, so a blocked path delays only its own
//! messages and later ones of their streams.
//!
//! Messages of a stream get their TSNs in stream order. Otherwise the receive
//! buffer could fill with messages that wait for an earlier one, for which there is
//! no room left. The fragments of a message need consecutive TSNs, so no other
//! message begins before its last fragment.

use crate::api::Message;
use crate::path::PathId;
use bytes::{Buf, Bytes};
use std::collections::VecDeque;

/// A message that waits, or the rest of one.
#[derive(Debug)]
struct Pending {
    stream: u16,
    ssn: u16,
    ppid: u32,
    unordered: bool,
    immediate: bool,
    context: u64,
    payload: Bytes,
    /// Bytes that have left already as fragments.
    cut: usize,
}

#[derive(Debug)]
struct Lane {
    path: Option<PathId>,
    messages: VecDeque<Pending>,
}

/// A fragment, ready to get its TSN.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    pub(crate) stream: u16,
    pub(crate) ssn: u16,
    pub(crate) ppid: u32,
    pub(crate) unordered: bool,
    pub(crate) immediate: bool,
    pub(crate) begin: bool,
    pub(crate) end: bool,
    pub(crate) context: u64,
    pub(crate) payload: Bytes,
}

/// A message that waits, or the rest of one, taken from the queue.
#[derive(Debug)]
pub(crate) struct Rest {
    pub(crate) stream: u16,
    pub(crate) ssn: u16,
    pub(crate) ppid: u32,
    pub(crate) unordered: bool,
    pub(crate) context: u64,
    /// Bytes of the message that have left.
    pub(crate) cut: usize,
    /// The bytes behind them.
    pub(crate) payload: Bytes,
}

impl Cut {
    #[inline]
    fn of(m: &Pending, payload: Bytes, begin: bool, end: bool) -> Cut {
        Cut {
            stream: m.stream,
            ssn: m.ssn,
            ppid: m.ppid,
            unordered: m.unordered,
            immediate: m.immediate && end,
            begin,
            end,
            context: m.context,
            payload,
        }
    }
}

/// A lane; valid until the queue changes.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd)]
pub(crate) struct LaneId(usize);

/// The next message of a lane.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Waiting {
    pub(crate) lane: LaneId,
    /// The path to which the user bound it.
    pub(crate) path: Option<PathId>,
    /// Payload bytes of it that have not left yet.
    pub(crate) left: usize,
}

/// The stream sequence numbers of one stream.
#[derive(Copy, Clone, Debug, Default)]
struct Ssns {
    /// The number of the next message that the user sends.
    next: u16,
    /// The number of the message that may leave next.
    turn: u16,
}

/// All messages that wait to be sent.
#[derive(Debug, Default)]
pub(crate) struct SendQueue {
    lanes: Vec<Lane>,
    /// The lane whose first message has left in part.
    begun: Option<usize>,
    /// Stream sequence numbers, up to the highest stream with ordered messages.
    ssns: Vec<Ssns>,
    bytes: u64,
    messages: u64,
    /// The highest stream that a message was ever queued for.
    highest_stream: Option<u16>,
}

impl SendQueue {
    /// Memory of the messages that wait and of the streams' numbers, in bytes.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        self.bytes as usize
            + self.messages as usize * size_of::<Pending>()
            + self.ssns.capacity() * size_of::<Ssns>()
    }

    /// Frees the memory of lanes, if no message waits.
    pub(crate) fn give_idle_memory_back(&mut self) {
        if self.messages == 0 {
            self.lanes = Vec::new();
        }
    }

    /// Payload bytes of all messages that wait.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Messages that wait, including one that has left in part.
    pub(crate) fn messages(&self) -> u64 {
        self.messages
    }

    /// The highest stream that a message was ever queued for.
    pub(crate) fn highest_stream(&self) -> Option<u16> {
        self.highest_stream
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.messages == 0
    }

    /// Puts a message at the end of its lane and numbers it.
    pub(crate) fn push(&mut self, m: Message) {
        let ssn = if m.unordered {
            0
        } else {
            let i = usize::from(m.stream);
            if self.ssns.len() <= i {
                self.ssns.resize(i + 1, Ssns::default());
            }
            let ssn = self.ssns[i].next;
            self.ssns[i].next = ssn.wrapping_add(1);
            ssn
        };
        self.bytes += m.payload.len() as u64;
        self.messages += 1;
        self.highest_stream = self.highest_stream.max(Some(m.stream));
        let pending = Pending {
            stream: m.stream,
            ssn,
            ppid: m.ppid,
            unordered: m.unordered,
            immediate: m.immediate_ack,
            context: m.context,
            payload: m.payload,
            cut: 0,
        };
        match self.lanes.iter_mut().find(|l| l.path == m.path) {
            Some(lane) => lane.messages.push_back(pending),
            None => self.lanes.push(Lane {
                path: m.path,
                messages: VecDeque::from([pending]),
            }),
        }
    }

    /// The first lane from `from` on that has something to send now.
    #[inline]
    pub(crate) fn next_lane(&self, from: usize) -> Option<Waiting> {
        let mut i = from;
        while let Some(l) = self.lanes.get(i) {
            if self.begun.is_none_or(|b| b == i)
                && let Some(m) = self.front(LaneId(i))
            {
                return Some(Waiting {
                    lane: LaneId(i),
                    path: l.path,
                    left: m.payload.len() - m.cut,
                });
            }
            i += 1;
        }
        None
    }

    /// The first lane after `lane` that has something to send now.
    #[inline]
    pub(crate) fn lane_after(&self, lane: LaneId) -> Option<Waiting> {
        self.next_lane(lane.0 + 1)
    }

    /// The first message of a lane, if its turn in its stream has come.
    #[inline]
    fn front(&self, lane: LaneId) -> Option<&Pending> {
        let m = self.lanes.get(lane.0)?.messages.front()?;
        let turn = m.unordered || m.cut > 0 || self.ssns[usize::from(m.stream)].turn == m.ssn;
        turn.then_some(m)
    }

    /// Whether the lane's next message has not begun and needs more than one
    /// fragment of `max_payload` bytes.
    pub(crate) fn begins_long(&self, lane: LaneId, max_payload: usize) -> bool {
        self.front(lane)
            .is_some_and(|m| m.cut == 0 && m.payload.len() > max_payload)
    }

    /// Payload bytes of the next fragment of a lane, at most `max_payload`.
    pub(crate) fn next_len(&self, lane: LaneId, max_payload: usize) -> Option<usize> {
        let first = self.front(lane)?;
        Some((first.payload.len() - first.cut).min(max_payload))
    }

    /// Cuts the next fragment of a lane, of at most `max_payload` bytes.
    pub(crate) fn cut(&mut self, lane: LaneId, max_payload: usize) -> Option<Cut> {
        debug_assert!(
            self.lanes.get(lane.0).is_none_or(|l| l.messages.is_empty())
                || self.front(lane).is_some()
        );
        let queue = &mut self.lanes.get_mut(lane.0)?.messages;
        let m = queue.front_mut()?;
        if m.cut == 0 && !m.unordered {
            self.ssns[usize::from(m.stream)].turn = m.ssn.wrapping_add(1);
        }
        let left = m.payload.len() - m.cut;
        let begin = m.cut == 0;
        if left > max_payload {
            let payload = m.payload.slice(m.cut..m.cut + max_payload);
            m.cut += max_payload;
            self.bytes -= max_payload as u64;
            self.begun = Some(lane.0);
            return Some(Cut::of(m, payload, begin, false));
        }
        // The last fragment moves the payload out of the queue, so its reference
        // count does not change.
        let mut m = queue.pop_front()?;
        self.bytes -= left as u64;
        self.messages -= 1;
        self.begun = None;
        if self.messages == 0 && queue.capacity() > 64 {
            // An idle association must not keep the memory of its busy time.
            self.lanes.clear();
        }
        m.payload.advance(m.cut);
        let payload = core::mem::take(&mut m.payload);
        Some(Cut::of(&m, payload, begin, true))
    }

    /// Takes a message out, because it will never leave: the one that has left in part, or else
    /// the first whose turn in its stream has come.
    pub(crate) fn take(&mut self) -> Option<Rest> {
        let begun = self.begun.take();
        let lane = begun.or_else(|| {
            let mut all = 0..self.lanes.len();
            all.find(|i| self.front(LaneId(*i)).is_some())
        })?;
        let mut m = self.lanes.get_mut(lane)?.messages.pop_front()?;
        if !m.unordered {
            self.ssns[usize::from(m.stream)].turn = m.ssn.wrapping_add(1);
        }
        m.payload.advance(m.cut);
        self.bytes -= m.payload.len() as u64;
        self.messages -= 1;
        if self.messages == 0 {
            self.lanes.clear();
        }
        Some(Rest {
            stream: m.stream,
            ssn: m.ssn,
            ppid: m.ppid,
            unordered: m.unordered,
            context: m.context,
            cut: m.cut,
            payload: m.payload,
        })
    }

    /// Whether the running totals match the messages.
    pub(crate) fn totals_agree(&self) -> bool {
        let all = || self.lanes.iter().flat_map(|l| &l.messages);
        let bytes: u64 = all().map(|m| (m.payload.len() - m.cut) as u64).sum();
        bytes == self.bytes && all().count() as u64 == self.messages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane_of(q: &SendQueue, path: Option<PathId>) -> Option<LaneId> {
        let all = core::iter::successors(q.next_lane(0), |w| q.lane_after(w.lane));
        let mut here = all.filter(|w| w.path == path);
        here.next().map(|w| w.lane)
    }

    #[test]
    fn a_long_message_is_cut_and_marked_at_its_ends() {
        let mut q = SendQueue::default();
        q.push(Message::new(3, vec![7; 25]));
        let lane = lane_of(&q, None).unwrap();
        let cuts: Vec<_> = core::iter::from_fn(|| q.cut(lane, 10))
            .map(|c| (c.payload.len(), c.begin, c.end, c.ssn))
            .collect();
        assert_eq!(
            cuts,
            [
                (10, true, false, 0),
                (10, false, false, 0),
                (5, false, true, 0)
            ]
        );
        assert!(q.is_empty() && q.totals_agree());
    }

    #[test]
    fn lanes_without_messages_give_their_memory_back_and_what_waits_stays() {
        let mut q = SendQueue::default();
        q.push(Message::new(3, vec![7; 25]));
        let lane = lane_of(&q, None).unwrap();
        q.cut(lane, 10);
        q.give_idle_memory_back();
        assert!(q.cut(lane, 15).unwrap().end, "a message that has begun");
        assert!(q.lanes.capacity() > 0);
        q.give_idle_memory_back();
        assert_eq!(q.lanes.capacity(), 0);
        q.push(Message::new(3, vec![7; 5]));
        let lane = lane_of(&q, None).unwrap();
        assert_eq!(q.cut(lane, 10).unwrap().ssn, 1, "the stream goes on");
    }

    #[test]
    fn a_begun_message_is_finished_before_another_lane_moves() {
        let mut q = SendQueue::default();
        q.push(Message::new(0, vec![0; 30]));
        let mut pinned = Message::new(1, vec![1; 5]);
        pinned.path = Some(PathId(1));
        q.push(pinned);
        let main = lane_of(&q, None).unwrap();
        q.cut(main, 10);
        assert_eq!(lane_of(&q, Some(PathId(1))), None, "held until the end");
        q.cut(main, 20);
        assert!(lane_of(&q, Some(PathId(1))).is_some());
    }

    #[test]
    fn a_message_waits_for_earlier_ones_of_its_stream_in_other_lanes() {
        let mut q = SendQueue::default();
        let mut pinned = Message::new(4, vec![0; 9]);
        pinned.path = Some(PathId(1));
        q.push(pinned);
        q.push(Message::new(4, vec![1; 9]));
        assert_eq!(lane_of(&q, None), None, "the first one is pinned");
        q.cut(lane_of(&q, Some(PathId(1))).unwrap(), 9);
        assert!(lane_of(&q, None).is_some());
    }

    #[test]
    fn ordered_messages_are_numbered_per_stream_and_unordered_ones_are_not() {
        let mut q = SendQueue::default();
        for stream in [0, 5, 5, 0] {
            q.push(Message::new(stream, vec![1]));
        }
        let mut loose = Message::new(5, vec![1]);
        loose.unordered = true;
        q.push(loose);
        let lane = lane_of(&q, None).unwrap();
        let ssns: Vec<_> = core::iter::from_fn(|| q.cut(lane, 10))
            .map(|c| (c.stream, c.ssn))
            .collect();
        assert_eq!(ssns, [(0, 0), (5, 0), (5, 1), (0, 1), (5, 0)]);
    }
}
