//! Messages that wait to be sent, and their fragmentation (RFC 9260 sections 6.5,
//! 6.6 and 6.9; RFC 8260 sections 2.2.2 and 3).
//!
//! Each path to which the user binds messages has a lane, and all other messages share
//! one, so a blocked path delays only its own messages and later ones of their streams. A
//! lane is a first-in, first-out list, unless a scheduler chooses among streams
//! (`streams.scheduler`).
//!
//! Messages of a stream get their TSNs in stream order. Otherwise the receive
//! buffer could fill with messages that wait for an earlier one, for which there is
//! no room left. The fragments of a message need consecutive TSNs, so no other
//! message begins before its last fragment. With user message interleaving they need
//! not, and only messages of its own stream wait for it.

use super::by_stream::ByStream;
use super::pending::Pending;
use crate::api::Message;
use crate::path::PathId;
use crate::policy::StreamScheduler;
use bytes::{Buf, Bytes};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The messages of a lane.
#[derive(Debug)]
enum Waits {
    /// In the order in which the user sent them.
    InOrder(VecDeque<Pending>),
    /// By stream.
    ByStream(Box<ByStream>),
}

#[derive(Debug)]
struct Lane {
    path: Option<PathId>,
    messages: Waits,
}

impl Lane {
    /// A message that has left in part and waits here.
    fn begun_in(&self, stream: u16) -> bool {
        let first = match &self.messages {
            Waits::InOrder(all) => all.front().filter(|m| m.stream == stream),
            Waits::ByStream(all) => all.first_of(stream),
        };
        first.is_some_and(|m| m.cut > 0)
    }
}

/// A fragment, ready to get its TSN.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    pub(crate) stream: u16,
    /// The Message Identifier; its lower 16 bits are the Stream Sequence Number.
    pub(crate) number: u32,
    /// The payload protocol identifier; with interleaving the Fragment Sequence Number of
    /// all but the first fragment.
    pub(crate) ppid_or_fsn: u32,
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
    pub(crate) number: u32,
    pub(crate) ppid: u32,
    pub(crate) unordered: bool,
    pub(crate) context: u64,
    /// Bytes of the message that have left.
    pub(crate) cut: usize,
    /// The bytes behind them.
    pub(crate) payload: Bytes,
}

impl Rest {
    fn of(mut m: Pending) -> Rest {
        m.payload.advance(m.cut);
        Rest {
            stream: m.stream,
            number: m.number,
            ppid: m.ppid,
            unordered: m.unordered,
            context: m.context,
            cut: m.cut,
            payload: m.payload,
        }
    }
}

impl Cut {
    #[inline]
    fn of(m: &Pending, payload: Bytes, (begin, end): (bool, bool)) -> Cut {
        Cut {
            stream: m.stream,
            number: m.number,
            ppid_or_fsn: m.ppid_or_fsn,
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

/// The numbers of the ordered messages of one stream.
#[derive(Copy, Clone, Debug, Default)]
struct Numbers {
    /// The number of the next message that the user sends.
    next: u32,
    /// The number of the message that may leave next.
    turn: u32,
}

/// What few associations need: those with a scheduler that chooses among streams, with messages
/// that interleave, or with a value of a stream.
#[derive(Debug, Default)]
struct Extra {
    /// The numbers of the next unordered messages, by stream.
    unordered: Vec<u32>,
    /// What the user set for a stream (RFC 8260 section 4.3.3).
    values: BTreeMap<u16, u16>,
    /// Streams of which a message was refused because the buffer is full.
    refused: BTreeSet<u16>,
    /// Nothing waits any more of one of these.
    has_place_again: bool,
}

/// The longest message that a stream of which nothing waits may queue although the buffer is
/// full.
const LONGEST_BESIDE: usize = 64 << 10;

/// The number of the next unordered message of a stream.
#[cold]
#[inline(never)]
fn number_unordered(extra: &mut Option<Box<Extra>>, stream: u16) -> u32 {
    let numbers = &mut extra.get_or_insert_default().unordered;
    let i = usize::from(stream);
    if numbers.len() <= i {
        numbers.resize(i + 1, 0);
    }
    let number = numbers[i];
    numbers[i] = number.wrapping_add(1);
    number
}

/// All messages that wait to be sent.
#[derive(Debug, Default)]
pub(crate) struct SendQueue {
    lanes: Vec<Lane>,
    /// The lane whose first message has left in part, if no other one may interrupt it.
    begun: Option<usize>,
    /// The numbers of messages, up to the highest stream with ordered messages.
    numbers: Vec<Numbers>,
    bytes: u64,
    messages: u64,
    /// The highest stream that a message was ever queued for.
    highest_stream: Option<u16>,
    scheduler: StreamScheduler,
    /// Messages of different streams interleave.
    interleaves: bool,
    extra: Option<Box<Extra>>,
}

impl SendQueue {
    pub(crate) fn new(scheduler: StreamScheduler) -> SendQueue {
        SendQueue {
            scheduler,
            extra: (scheduler != StreamScheduler::FirstCome).then(Box::default),
            ..SendQueue::default()
        }
    }

    /// Whether messages of different streams interleave. Set before the first one leaves.
    pub(crate) fn interleave(&mut self, interleaves: bool) {
        self.interleaves = interleaves;
        if interleaves {
            self.extra.get_or_insert_default();
        }
    }

    /// The user sets the value of a stream: its priority, or its weight.
    pub(crate) fn set_value(&mut self, stream: u16, value: u16) {
        let values = &mut self.extra.get_or_insert_default().values;
        if value == 0 {
            values.remove(&stream);
        } else {
            values.insert(stream, value);
        }
    }

    /// The values that the user set go to another queue.
    pub(crate) fn hand_values_to(&mut self, other: &mut SendQueue) {
        if let Some(extra) = &mut self.extra
            && !extra.values.is_empty()
        {
            other.extra.get_or_insert_default().values = core::mem::take(&mut extra.values);
        }
    }

    fn value(extra: Option<&Extra>, stream: u16) -> u16 {
        let value = extra.and_then(|e| e.values.get(&stream));
        value.copied().unwrap_or(0)
    }

    /// Whether a stream may queue a message although the buffer is full. If a scheduler chooses
    /// among streams, one of which nothing waits may: it need not wait for what others queue.
    #[cold]
    #[inline(never)]
    pub(crate) fn has_place_beside(&self, stream: u16, len: usize) -> bool {
        let waits = |l: &Lane| match &l.messages {
            Waits::InOrder(_) => true,
            Waits::ByStream(all) => all.first_of(stream).is_some(),
        };
        self.scheduler != StreamScheduler::FirstCome
            && len <= LONGEST_BESIDE
            && !self.lanes.iter().any(waits)
    }

    /// A message of this stream was refused, because the buffer is full.
    #[inline]
    pub(crate) fn refuse(&mut self, stream: u16) {
        if let Some(extra) = &mut self.extra
            && self.scheduler != StreamScheduler::FirstCome
        {
            extra.refused.insert(stream);
        }
    }

    /// Whether nothing waits any more of a stream of which a message was refused.
    #[inline]
    pub(crate) fn has_place_again(&self) -> bool {
        self.extra.as_ref().is_some_and(|e| e.has_place_again)
    }

    /// The user is told that there is room.
    pub(crate) fn forget_refused(&mut self) {
        if let Some(extra) = &mut self.extra {
            extra.refused.clear();
            extra.has_place_again = false;
        }
    }

    /// Memory of the messages that wait and of the streams' numbers, in bytes, without
    /// [`extra_memory`](Self::extra_memory).
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        self.bytes as usize
            + self.messages as usize * size_of::<Pending>()
            + self.numbers.capacity() * size_of::<Numbers>()
    }

    /// Whether messages leave in the order in which the user sent them, in DATA chunks. Then
    /// [`memory`](Self::memory) is all.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.extra.is_none()
    }

    /// Memory of what few associations need, in bytes.
    pub(crate) fn extra_memory(&self) -> usize {
        let extra = self.extra.as_ref().map_or(0, |e| {
            size_of::<Extra>()
                + e.unordered.capacity() * size_of::<u32>()
                + e.values.len() * 2 * size_of::<(u16, u16)>()
                + e.refused.len() * 2 * size_of::<u16>()
        });
        extra + self.lanes.iter().map(Lane::memory).sum::<usize>()
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

    /// Messages that wait, including those that have left in part.
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
        let number = if m.unordered {
            0
        } else {
            let i = usize::from(m.stream);
            if self.numbers.len() <= i {
                self.numbers.resize(i + 1, Numbers::default());
            }
            let number = self.numbers[i].next;
            self.numbers[i].next = number.wrapping_add(1);
            number
        };
        self.bytes += m.payload.len() as u64;
        self.messages += 1;
        self.highest_stream = self.highest_stream.max(Some(m.stream));
        let path = m.path;
        // Built where it is put: built before that, it would be copied.
        let pending = move || Pending {
            stream: m.stream,
            number,
            ppid: m.ppid,
            ppid_or_fsn: m.ppid,
            unordered: m.unordered,
            immediate: m.immediate_ack,
            context: m.context,
            payload: m.payload,
            cut: 0,
        };
        match self.lanes.iter_mut().find(|l| l.path == path) {
            Some(Lane {
                messages: Waits::InOrder(all),
                ..
            }) => all.push_back(pending()),
            _ => self.push_elsewhere(path, pending()),
        }
    }

    /// Puts a message into a lane that may be new, or whose messages wait by stream.
    #[inline(never)]
    fn push_elsewhere(&mut self, path: Option<PathId>, pending: Pending) {
        let at = self.lanes.iter().position(|l| l.path == path);
        let at = at.unwrap_or_else(|| {
            let messages = match self.scheduler {
                StreamScheduler::FirstCome => Waits::InOrder(VecDeque::new()),
                other => Waits::ByStream(Box::new(ByStream::new(other))),
            };
            self.lanes.push(Lane { path, messages });
            self.lanes.len() - 1
        });
        match &mut self.lanes[at].messages {
            Waits::InOrder(all) => all.push_back(pending),
            Waits::ByStream(all) => {
                let value = SendQueue::value(self.extra.as_deref(), pending.stream);
                all.push(pending, value);
            }
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

    /// The next message of a lane, if its turn in its stream has come.
    #[inline(always)]
    fn front(&self, lane: LaneId) -> Option<&Pending> {
        match &self.lanes.get(lane.0)?.messages {
            Waits::InOrder(all) => all.front().filter(|m| self.has_its_turn(m)),
            Waits::ByStream(all) => self.front_by_stream(lane, all),
        }
    }

    #[inline(never)]
    fn front_by_stream<'a>(&'a self, lane: LaneId, all: &'a ByStream) -> Option<&'a Pending> {
        all.first_of(self.next_stream(lane, all)?)
    }

    /// Whether a message may leave: it has begun, or it is the next one of its stream.
    #[inline]
    fn has_its_turn(&self, m: &Pending) -> bool {
        m.unordered || m.cut > 0 || self.numbers[usize::from(m.stream)].turn == m.number
    }

    /// The stream of a lane that sends next.
    fn next_stream(&self, lane: LaneId, all: &ByStream) -> Option<u16> {
        all.next(|m| {
            // A stream has one message under way (RFC 8260 section 2.2.2). In other lanes it
            // may have another one.
            let begun_elsewhere = || {
                let mut lanes = self.lanes.iter().enumerate();
                m.cut == 0 && lanes.any(|(i, l)| i != lane.0 && l.begun_in(m.stream))
            };
            self.has_its_turn(m) && (self.lanes.len() == 1 || !begun_elsewhere())
        })
    }

    /// Whether the lane's next message needs more than one fragment of `max_payload` bytes, and
    /// its next fragment may be shorter than others: it is the first one, or messages interleave.
    pub(crate) fn begins_long(&self, lane: LaneId, max_payload: usize) -> bool {
        self.front(lane).is_some_and(|m| {
            (m.cut == 0 || self.interleaves) && m.payload.len() - m.cut > max_payload
        })
    }

    /// Payload bytes of the next fragment of a lane, at most `max_payload`.
    pub(crate) fn next_len(&self, lane: LaneId, max_payload: usize) -> Option<usize> {
        let first = self.front(lane)?;
        Some((first.payload.len() - first.cut).min(max_payload))
    }

    /// Cuts the next fragment of a lane, of at most `max_payload` bytes.
    #[cfg(test)]
    fn cut(&mut self, lane: LaneId, max_payload: usize) -> Option<Cut> {
        let in_order = self.cut_in_order(lane, max_payload);
        in_order.or_else(|| self.cut_by_stream(lane, max_payload))
    }

    /// Cuts the next fragment of a lane whose messages wait in order, of at most `max_payload`
    /// bytes. `None` if there is none, or the messages wait by stream.
    #[inline]
    pub(crate) fn cut_in_order(&mut self, lane: LaneId, max_payload: usize) -> Option<Cut> {
        debug_assert!(
            self.lanes.get(lane.0).is_none_or(Lane::is_empty) || self.front(lane).is_some()
        );
        let interleaves = self.interleaves;
        let Waits::InOrder(queue) = &mut self.lanes.get_mut(lane.0)?.messages else {
            return None;
        };
        let m = queue.front_mut()?;
        if m.cut == 0 {
            begin(m, &mut self.numbers, &mut self.extra, interleaves);
        }
        let left = m.payload.len() - m.cut;
        let begin = m.cut == 0;
        if left > max_payload {
            let payload = m.payload.slice(m.cut..m.cut + max_payload);
            let cut = Cut::of(m, payload, (begin, false));
            m.leaves(max_payload, interleaves);
            self.bytes -= max_payload as u64;
            self.begun = Some(lane.0);
            return Some(cut);
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
        Some(Cut::of(&m, payload, (begin, true)))
    }

    /// The same where messages wait by stream.
    #[inline(never)]
    pub(crate) fn cut_by_stream(&mut self, lane: LaneId, max_payload: usize) -> Option<Cut> {
        let Waits::ByStream(all) = &self.lanes.get(lane.0)?.messages else {
            return None;
        };
        let stream = self.next_stream(lane, all)?;
        let interleaves = self.interleaves;
        let value = SendQueue::value(self.extra.as_deref(), stream);
        let Waits::ByStream(all) = &mut self.lanes.get_mut(lane.0)?.messages else {
            return None;
        };
        let m = all.first_of_mut(stream)?;
        if m.cut == 0 {
            begin(m, &mut self.numbers, &mut self.extra, interleaves);
        }
        let first = m.cut == 0;
        let left = m.payload.len() - m.cut;
        if left > max_payload {
            let payload = m.payload.slice(m.cut..m.cut + max_payload);
            let cut = Cut::of(m, payload, (first, false));
            m.leaves(max_payload, interleaves);
            all.leaves(stream, max_payload, (false, interleaves), value);
            self.bytes -= max_payload as u64;
            self.begun = (!interleaves).then_some(lane.0);
            return Some(cut);
        }
        let mut m = all.leaves(stream, left, (true, interleaves), value)?;
        if let Some(extra) = &mut self.extra
            && all.first_of(stream).is_none()
        {
            extra.has_place_again |= extra.refused.remove(&stream);
        }
        self.bytes -= left as u64;
        self.messages -= 1;
        self.begun = None;
        if self.messages == 0 && all.memory() > 1 << 14 {
            self.lanes.clear();
        }
        m.payload.advance(m.cut);
        let payload = core::mem::take(&mut m.payload);
        Some(Cut::of(&m, payload, (first, true)))
    }

    /// A packet with chunks of this lane is complete.
    #[inline]
    pub(crate) fn packet_ends(&mut self, lane: LaneId) {
        if self.scheduler == StreamScheduler::RoundRobinPacket {
            self.turn_ends(lane);
        }
    }

    #[inline(never)]
    fn turn_ends(&mut self, lane: LaneId) {
        if let Some(Lane {
            messages: Waits::ByStream(all),
            ..
        }) = self.lanes.get_mut(lane.0)
        {
            let extra = self.extra.as_deref();
            all.packet_ends(self.interleaves, |s| SendQueue::value(extra, s));
        }
    }

    /// Takes a message out, because it will never leave: the one that has left in part, or else
    /// the first whose turn in its stream has come.
    pub(crate) fn take(&mut self) -> Option<Rest> {
        let begun = self.begun.take();
        let lane = begun.or_else(|| {
            let mut all = 0..self.lanes.len();
            all.find(|i| self.front(LaneId(*i)).is_some())
        })?;
        let stream = match &self.lanes.get(lane)?.messages {
            Waits::InOrder(_) => None,
            Waits::ByStream(all) => Some(self.next_stream(LaneId(lane), all)?),
        };
        self.give_up(lane, stream)
    }

    /// Takes a message out that has left in part.
    pub(crate) fn take_begun(&mut self, stream: u16) -> Option<Rest> {
        let lane = self.lanes.iter().position(|l| l.begun_in(stream))?;
        self.give_up(lane, Some(stream))
    }

    /// Takes the first message of a lane out, or of one of its streams.
    fn give_up(&mut self, lane: usize, stream: Option<u16>) -> Option<Rest> {
        let m = match &mut self.lanes.get_mut(lane)?.messages {
            Waits::InOrder(all) => all.pop_front()?,
            Waits::ByStream(all) => all.give_up(stream?)?,
        };
        self.begun = self.begun.filter(|b| *b != lane);
        if !m.unordered {
            self.numbers[usize::from(m.stream)].turn = m.number.wrapping_add(1);
        }
        let rest = Rest::of(m);
        self.bytes -= rest.payload.len() as u64;
        self.messages -= 1;
        if self.messages == 0 {
            self.lanes.clear();
        }
        Some(rest)
    }

    /// Whether the running totals match the messages.
    pub(crate) fn totals_agree(&self) -> bool {
        let mut bytes = 0;
        let mut messages = 0;
        let mut count = |m: &Pending| {
            bytes += (m.payload.len() - m.cut) as u64;
            messages += 1;
        };
        let mut in_order = true;
        for lane in &self.lanes {
            match &lane.messages {
                Waits::InOrder(all) => all.iter().for_each(&mut count),
                Waits::ByStream(all) => {
                    all.iter().for_each(&mut count);
                    in_order &= all.order_agrees();
                }
            }
        }
        in_order && bytes == self.bytes && messages == self.messages
    }
}

impl Lane {
    fn is_empty(&self) -> bool {
        match &self.messages {
            Waits::InOrder(all) => all.is_empty(),
            Waits::ByStream(all) => all.iter().next().is_none(),
        }
    }

    /// Memory beyond the messages, in bytes.
    #[inline]
    fn memory(&self) -> usize {
        match &self.messages {
            Waits::InOrder(_) => 0,
            Waits::ByStream(all) => all.memory(),
        }
    }
}

/// A message begins: the next one of its stream may follow, or it gets its number.
#[inline(always)]
fn begin(
    m: &mut Pending,
    numbers: &mut [Numbers],
    extra: &mut Option<Box<Extra>>,
    interleaves: bool,
) {
    if !m.unordered {
        numbers[usize::from(m.stream)].turn = m.number.wrapping_add(1);
    } else if interleaves {
        m.number = number_unordered(extra, m.stream);
    }
}

#[cfg(test)]
mod tests;
