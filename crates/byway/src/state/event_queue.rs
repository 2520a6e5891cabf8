//! Events that wait for a reader, within a number and within bytes.

use byway_core::Event;
use std::collections::VecDeque;

/// Events that are kept.
const MOST: usize = 256;

/// Bytes that the texts of kept events may take: what a peer says, escaped.
const MOST_TEXT: usize = 16 << 10;

/// Events of an association whose reader is slow or absent. The oldest give way.
#[derive(Debug, Default)]
pub(super) struct EventQueue {
    events: VecDeque<Event>,
    /// Bytes of their texts.
    text: usize,
    missed: u64,
}

impl EventQueue {
    pub(super) fn push(&mut self, event: Event) {
        self.text += event.text_memory();
        self.events.push_back(event);
        // The newest one stays, however long it is.
        while self.events.len() > MOST || self.text > MOST_TEXT && self.events.len() > 1 {
            self.missed += u64::from(self.pop().is_some());
        }
    }

    pub(super) fn pop(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        self.text -= event.text_memory();
        if self.events.is_empty() {
            // Events are rare, and an idle association has none.
            self.events = VecDeque::new();
        }
        Some(event)
    }

    /// Drops all that wait.
    pub(super) fn clear(&mut self) {
        self.missed += self.events.len() as u64;
        (self.events, self.text) = (VecDeque::new(), 0);
    }

    /// Events that were dropped unread.
    pub(super) fn missed(&self) -> u64 {
        self.missed
    }

    /// Memory that it takes beside itself, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.events.capacity() * size_of::<Event>() + self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(len: usize) -> Event {
        let cause = "x".repeat(len);
        Event::PeerError { cause }
    }

    #[test]
    fn events_and_their_texts_have_a_limit_and_the_newest_stays() {
        for len in [0, 10, 100, 2600, 2 * MOST_TEXT] {
            let mut queue = EventQueue::default();
            for n in 0..1000_u64 {
                queue.push(error(len));
                assert_eq!(queue.missed() + queue.events.len() as u64, n + 1);
                assert!(queue.events.len() <= MOST);
                assert!(queue.text <= MOST_TEXT || queue.events.len() == 1);
            }
            let text = MOST_TEXT.checked_div(len + 16).unwrap_or(MOST);
            let expected = text.clamp(1, MOST);
            assert_eq!(queue.events.len(), expected, "{len} bytes each");
            while queue.pop().is_some() {}
            assert_eq!(queue.memory(), 0);
        }
    }

    #[test]
    fn what_was_dropped_at_once_is_counted() {
        let mut queue = EventQueue::default();
        for _ in 0..7 {
            queue.push(error(9));
        }
        queue.clear();
        assert_eq!((queue.missed(), queue.memory()), (7, 0));
        assert_eq!(queue.pop(), None);
    }
}
