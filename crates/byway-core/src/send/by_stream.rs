//! Messages that wait by stream, for a scheduler that chooses among streams
//! (`policy/streams`).

use super::pending::Pending;
use crate::policy::StreamScheduler;
use crate::policy::streams::{Rank, Round};
use std::collections::{BTreeMap, VecDeque};

/// Messages for which an empty stream keeps room.
const KEPT: usize = 8;

/// The messages of one stream.
#[derive(Debug, Default)]
struct Line {
    messages: VecDeque<Pending>,
    rank: Rank,
    /// Payload bytes that it has sent with this rank.
    sent: u64,
}

/// Messages that wait, by stream.
#[derive(Debug)]
pub(super) struct ByStream {
    scheduler: StreamScheduler,
    round: Round,
    /// The streams with messages and their ranks, the next one first.
    order: VecDeque<(Rank, u16)>,
    lines: BTreeMap<u16, Line>,
    /// The stream that nobody may interrupt: its message has left in part and messages do not
    /// interleave, or the packet that is being filled is its own.
    holder: Option<u16>,
}

impl ByStream {
    pub(super) fn new(scheduler: StreamScheduler) -> ByStream {
        ByStream {
            scheduler,
            round: Round::default(),
            order: VecDeque::new(),
            lines: BTreeMap::new(),
            holder: None,
        }
    }

    /// Memory beyond the messages, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.order.capacity() * size_of::<(Rank, u16)>()
            + self.lines.len() * 2 * (size_of::<(u16, Line)>() + KEPT * size_of::<Pending>())
    }

    /// All messages, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Pending> {
        self.lines.values().flat_map(|l| &l.messages)
    }

    /// The first message of a stream.
    pub(super) fn first_of(&self, stream: u16) -> Option<&Pending> {
        self.lines.get(&stream)?.messages.front()
    }

    pub(super) fn first_of_mut(&mut self, stream: u16) -> Option<&mut Pending> {
        self.lines.get_mut(&stream)?.messages.front_mut()
    }

    /// Puts a message behind those of its stream, whose value is `value`.
    pub(super) fn push(&mut self, m: Pending, value: u16) {
        let stream = m.stream;
        let line = self.lines.entry(stream).or_default();
        let holds = self.holder == Some(stream);
        if line.messages.is_empty() && !holds {
            line.rank = self.scheduler.joins(line.rank, value, &mut self.round);
            enter(&mut self.order, line.rank, stream);
        }
        line.messages.push_back(m);
    }

    /// The stream that sends next: the first whose first message `may` leave.
    pub(super) fn next(&self, may: impl Fn(&Pending) -> bool) -> Option<u16> {
        let able = |stream: &u16| self.first_of(*stream).is_some_and(&may);
        match self.holder {
            Some(holder) => Some(holder).filter(able),
            None => self.order.iter().map(|e| e.1).find(able),
        }
    }

    /// A chunk of this many bytes of the first message of a stream has left. `ended`: it was the
    /// last one, and the message is taken out.
    pub(super) fn leaves(
        &mut self,
        stream: u16,
        bytes: usize,
        (ended, interleaves): (bool, bool),
        value: u16,
    ) -> Option<Pending> {
        let line = self.lines.get_mut(&stream)?;
        line.sent += bytes as u64;
        self.round.served = line.rank.at;
        let message = if ended {
            line.messages.pop_front()
        } else {
            None
        };
        if line.messages.is_empty() && line.messages.capacity() > KEPT {
            line.messages = VecDeque::new();
        }
        let fills_packet = self.scheduler == StreamScheduler::RoundRobinPacket;
        if fills_packet || !(ended || interleaves) {
            if self.holder.is_none() {
                self.leave_order(stream);
                self.holder = Some(stream);
            }
        } else {
            self.turn_ends(stream, value);
        }
        message
    }

    /// A packet is complete: another stream fills the next one, if it may.
    pub(super) fn packet_ends(&mut self, interleaves: bool, value: impl Fn(u16) -> u16) {
        let Some(holder) = self.holder else { return };
        let begun = self.first_of(holder).is_some_and(|m| m.cut > 0);
        if self.scheduler == StreamScheduler::RoundRobinPacket && (interleaves || !begun) {
            self.turn_ends(holder, value(holder));
        }
    }

    /// The turn of a stream has ended: it gets another rank.
    fn turn_ends(&mut self, stream: u16, value: u16) {
        if self.holder == Some(stream) {
            self.holder = None;
        } else {
            self.leave_order(stream);
        }
        let Some(line) = self.lines.get_mut(&stream) else {
            return;
        };
        let sent = core::mem::take(&mut line.sent);
        line.rank = self
            .scheduler
            .served(line.rank, sent, value, &mut self.round);
        if !line.messages.is_empty() {
            enter(&mut self.order, line.rank, stream);
        }
    }

    fn leave_order(&mut self, stream: u16) {
        let Some(rank) = self.lines.get(&stream).map(|l| l.rank) else {
            return;
        };
        let from = self.order.partition_point(|e| e.0 < rank);
        let mut rest = self.order.range(from..);
        if let Some(at) = rest.position(|e| e.1 == stream) {
            self.order.remove(from + at);
        }
    }

    /// Takes the first message of a stream out, because it will never leave.
    pub(super) fn give_up(&mut self, stream: u16) -> Option<Pending> {
        let message = self.lines.get_mut(&stream)?.messages.pop_front();
        self.turn_ends(stream, 0);
        message
    }

    /// Whether each stream with messages has its place, once, and no other has one.
    pub(super) fn order_agrees(&self) -> bool {
        let sorted = self.order.iter().is_sorted_by_key(|e| e.0);
        let placed = |s: u16| self.order.iter().filter(|e| e.1 == s).count();
        let mut lines = self.lines.iter();
        sorted
            && lines.all(|(s, l)| {
                let waits = !l.messages.is_empty() && self.holder != Some(*s);
                placed(*s) == usize::from(waits)
            })
    }
}

/// Enters a stream behind all with the same rank.
fn enter(order: &mut VecDeque<(Rank, u16)>, rank: Rank, stream: u16) {
    let at = match order.back() {
        Some(last) if rank < last.0 => order.partition_point(|e| e.0 <= rank),
        _ => order.len(),
    };
    order.insert(at, (rank, stream));
}
