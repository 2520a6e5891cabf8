//! Received messages on their way to readers of one stream or of all streams.
//!
//! Without readers of single streams, messages stay in the core, whose buffer is
//! the window advertised to the peer. A reader of one stream has to get past the
//! messages of other streams. Those are parked here, up to a limit. Beyond it
//! they stay in the core and block the messages behind them.

use crate::wakers::Wakers;
use byway_core::Received;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::task::Waker;

/// Memory that messages parked for one association may take, in bytes.
pub(crate) const PARKED_BYTES: usize = 1 << 20;

/// Messages for which an empty lane keeps room.
const KEPT: usize = 4;

#[derive(Debug, Default)]
struct Lane {
    parked: VecDeque<Received>,
    readers: Wakers,
    /// Whether it has, or had, a reader: it stays. Others are there while they have something.
    opened: bool,
}

/// Messages parked by stream, and who waits for them.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    lanes: BTreeMap<u16, Lane>,
    /// The lanes that have something.
    filled: BTreeSet<u16>,
    /// Whether messages are sorted by stream.
    sorts: bool,
    /// Memory of the parked messages.
    bytes: usize,
    /// Readers of any stream.
    readers: Wakers,
}

/// Memory of a parked message: itself in a queue that may be half empty, and its payload
/// with what the allocator adds.
fn memory(received: &Received) -> usize {
    2 * size_of::<Received>() + received.payload.len() + 32
}

/// Memory of a lane that has something: itself, its first places, its entries in both tables.
const LANE: usize = size_of::<Lane>() + KEPT * size_of::<Received>() + 64;

impl Inbox {
    /// Memory that the parked messages take, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.bytes
    }

    /// Whether messages are sorted by stream.
    pub(crate) fn sorts(&self) -> bool {
        self.sorts
    }

    /// Sorts messages by stream from now on.
    pub(crate) fn open(&mut self, stream: u16) {
        self.lanes.entry(stream).or_default().opened = true;
        self.sorts = true;
    }

    /// Whether another message may be parked.
    pub(crate) fn has_room(&self) -> bool {
        self.bytes < PARKED_BYTES
    }

    /// Parks a message and wakes the readers of its stream, and of all.
    pub(crate) fn park(&mut self, received: Received, wake: &mut Vec<Waker>) {
        self.bytes += memory(&received);
        if self.filled.insert(received.stream) {
            self.bytes += LANE;
        }
        let lane = self.lanes.entry(received.stream).or_default();
        lane.parked.push_back(received);
        lane.readers.move_to(wake);
        self.readers.move_to(wake);
    }

    /// The next parked message of `stream`, or of the lowest stream that has one.
    pub(crate) fn take(&mut self, stream: Option<u16>) -> Option<Received> {
        let stream = match stream {
            Some(n) => n,
            None => *self.filled.first()?,
        };
        let lane = self.lanes.get_mut(&stream)?;
        let received = lane.parked.pop_front()?;
        self.bytes -= memory(&received);
        if lane.parked.is_empty() {
            self.filled.remove(&stream);
            self.bytes -= LANE;
            if !lane.opened {
                self.lanes.remove(&stream);
                return Some(received);
            }
        }
        // What is not counted any more is given back.
        let (len, room) = (lane.parked.len(), lane.parked.capacity());
        if room > KEPT && len * 4 <= room {
            lane.parked.shrink_to((2 * len).max(KEPT));
        }
        Some(received)
    }

    /// Drops what is parked. Who waits goes on to wait.
    pub(crate) fn clear(&mut self) {
        for stream in std::mem::take(&mut self.filled) {
            match self.lanes.get_mut(&stream) {
                Some(lane) if lane.opened => lane.parked = VecDeque::new(),
                _ => drop(self.lanes.remove(&stream)),
            }
        }
        self.bytes = 0;
    }

    /// Registers a task to be woken when a message for it arrives.
    pub(crate) fn register(&mut self, stream: Option<u16>, waker: &Waker) {
        match stream {
            Some(n) => {
                self.open(n);
                let lane = self.lanes.entry(n).or_default();
                lane.readers.register(waker);
            }
            None => self.readers.register(waker),
        }
    }

    /// Wakes readers of all streams.
    pub(crate) fn wake_any(&mut self, wake: &mut Vec<Waker>) {
        self.readers.move_to(wake);
    }

    /// Wakes every reader.
    pub(crate) fn wake_all(&mut self, wake: &mut Vec<Waker>) {
        self.readers.move_to(wake);
        for lane in self.lanes.values_mut() {
            lane.readers.move_to(wake);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(stream: u16, len: usize) -> Received {
        Received {
            stream,
            ssn: 0,
            ppid: 0,
            unordered: false,
            last: true,
            first: true,
            payload: vec![0; len].into(),
        }
    }

    #[test]
    fn a_message_goes_to_the_reader_of_its_stream_or_of_any() {
        let (mut inbox, mut wake) = (Inbox::default(), Vec::new());
        inbox.register(Some(3), Waker::noop());
        inbox.park(message(2, 5), &mut wake);
        assert!(wake.is_empty(), "the reader of stream 3 has nothing yet");
        inbox.park(message(3, 5), &mut wake);
        assert_eq!(wake.len(), 1);
        assert_eq!(inbox.take(Some(3)).map(|m| m.stream), Some(3));
        assert_eq!(inbox.take(Some(3)), None);
        assert_eq!(inbox.take(None).map(|m| m.stream), Some(2));
    }

    #[test]
    fn parking_is_bounded_and_room_returns() {
        let (mut inbox, mut wake) = (Inbox::default(), Vec::new());
        while inbox.has_room() {
            inbox.park(message(1, PARKED_BYTES / 4), &mut wake);
        }
        assert!((PARKED_BYTES..PARKED_BYTES * 5 / 4 + 200).contains(&inbox.memory()));
        inbox.take(Some(1)).unwrap();
        assert!(inbox.has_room());
        while inbox.take(None).is_some() {}
        assert_eq!(inbox.memory(), 0);
    }

    #[test]
    fn messages_of_one_byte_count_as_the_memory_that_they_take() {
        let (mut inbox, mut wake) = (Inbox::default(), Vec::new());
        let mut parked = 0;
        while inbox.has_room() {
            inbox.park(message(1, 1), &mut wake);
            parked += 1;
        }
        assert!(parked < PARKED_BYTES / 100, "{parked}");
    }

    /// What the queues hold room for is what the account says, but for a few places of a lane.
    #[test]
    fn drained_lanes_keep_no_memory() {
        let (mut inbox, mut wake) = (Inbox::default(), Vec::new());
        inbox.open(0);
        for round in 0..300 {
            while inbox.has_room() {
                inbox.park(message(round % 200, 1), &mut wake);
            }
            while inbox.take(Some(round % 200)).is_some() {
                let lane = inbox.lanes.get(&(round % 200));
                let room = lane.map_or(0, |l| l.parked.capacity());
                assert!(room * size_of::<Received>() <= 4 * inbox.memory() + LANE);
            }
        }
        assert_eq!(inbox.memory(), 0);
        assert_eq!(inbox.lanes.len(), 1, "the one that was opened");
        let room: usize = inbox.lanes.values().map(|l| l.parked.capacity()).sum();
        assert!(room <= KEPT, "{room} places");
    }

    #[test]
    fn the_lowest_stream_that_has_something_is_first() {
        let (mut inbox, mut wake) = (Inbox::default(), Vec::new());
        for stream in [9, 3, 7, 3] {
            inbox.park(message(stream, 1), &mut wake);
        }
        assert_eq!(inbox.take(Some(7)).map(|m| m.stream), Some(7));
        let rest: Vec<_> = std::iter::from_fn(|| inbox.take(None)).collect();
        assert_eq!(rest.iter().map(|m| m.stream).collect::<Vec<_>>(), [3, 3, 9]);
        assert_eq!((inbox.memory(), inbox.lanes.len()), (0, 0));
    }
}
