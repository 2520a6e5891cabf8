//! The book of messages: who sent what, and what has arrived.
//!
//! A message carries its number in the payload protocol identifier, so that
//! even one byte long ones are told apart. An epoch is what one side sends in
//! the life of one association.

use byway_core::{AssocId, Received, Undelivered};
use std::collections::BTreeMap;

/// Messages of one epoch at most: the rest of the identifier is the epoch.
const EPOCH: u32 = 1 << 16;

struct Sent {
    stream: u16,
    len: usize,
    unordered: bool,
    delivered: bool,
}

struct Epoch {
    side: usize,
    sent: Vec<Sent>,
    /// A failure was reported: what has not arrived yet need not.
    excused: bool,
}

/// A message that is being handed over in parts.
struct Parts {
    ppid: u32,
    bytes: Vec<u8>,
}

#[derive(Default)]
pub(crate) struct Book {
    epochs: Vec<Epoch>,
    current: [Option<usize>; 2],
    /// By side, association and stream; of a stream that has no number, if messages do not
    /// interleave: then one message at a time is in parts.
    parts: BTreeMap<(usize, AssocId, Option<u16>), Parts>,
}

/// The bytes of a message.
pub(crate) fn pattern(ppid: u32, len: usize) -> Vec<u8> {
    (0..len as u32)
        .map(|i| {
            (ppid
                .wrapping_mul(0x9E37_79B1)
                .wrapping_add(i.wrapping_mul(167))
                >> 8) as u8
        })
        .collect()
}

impl Book {
    /// A new association of that side begins to send.
    pub(crate) fn begin(&mut self, side: usize) {
        self.current[side] = Some(self.epochs.len());
        self.epochs.push(Epoch {
            side,
            sent: Vec::new(),
            excused: false,
        });
    }

    /// The number of the side's next message.
    pub(crate) fn next(&self, side: usize) -> Option<u32> {
        let epoch = self.current[side]?;
        Some(epoch as u32 * EPOCH + self.epochs[epoch].sent.len() as u32)
    }

    /// The next message was handed over.
    pub(crate) fn sent(&mut self, side: usize, stream: u16, len: usize, unordered: bool) {
        let epoch = self.current[side].expect("a number was drawn from it");
        self.epochs[epoch].sent.push(Sent {
            stream,
            len,
            unordered,
            delivered: false,
        });
    }

    /// A message of which its sender says that it was not delivered: it was sent like that.
    pub(crate) fn not_delivered(&self, u: &Undelivered) {
        let epoch = &self.epochs[(u.ppid / EPOCH) as usize];
        let sent = &epoch.sent[(u.ppid % EPOCH) as usize];
        let len = u.acknowledged as usize + u.payload.len();
        let found = (u.stream, len, u.unordered);
        assert_eq!(found, (sent.stream, sent.len, sent.unordered));
        // Nobody can have what never left.
        assert!(u.sent || !sent.delivered);
    }

    /// A failure was reported that concerns what `side` sent, or all.
    pub(crate) fn excuse(&mut self, side: Option<usize>) {
        for e in &mut self.epochs {
            e.excused |= side.is_none_or(|s| e.side == s);
        }
    }

    /// The association begins anew: what was in parts stays so.
    pub(crate) fn forget_parts(&mut self, side: usize, id: AssocId) {
        self.parts.retain(|key, _| (key.0, key.1) != (side, id));
    }

    /// A message or part was read of an association whose messages may interleave.
    pub(crate) fn received(&mut self, side: usize, (id, mixed): (AssocId, bool), r: &Received) {
        let whole = r.first && r.last;
        let bytes = if whole {
            r.payload.to_vec()
        } else {
            let key = (side, id, mixed.then_some(r.stream));
            if r.first {
                let begun = Parts {
                    ppid: r.ppid,
                    bytes: Vec::new(),
                };
                let other = self.parts.insert(key, begun);
                assert!(other.is_none(), "two messages in parts at once");
            }
            let parts = self
                .parts
                .get_mut(&key)
                .expect("a part without a first one");
            assert_eq!(parts.ppid, r.ppid, "a part of another message");
            parts.bytes.extend_from_slice(&r.payload);
            if !r.last {
                return;
            }
            self.parts.remove(&key).expect("looked up above").bytes
        };
        self.complete(side, r, &bytes);
    }

    fn complete(&mut self, side: usize, r: &Received, bytes: &[u8]) {
        let (epoch, index) = ((r.ppid / EPOCH) as usize, (r.ppid % EPOCH) as usize);
        let epoch = self.epochs.get_mut(epoch).expect("an epoch nobody began");
        assert_ne!(epoch.side, side, "one's own message came back");
        let before = &epoch.sent[..index];
        let m = &epoch.sent[index];
        if m.delivered && epoch.excused {
            // A late COOKIE ECHO set up the association once more after an abort,
            // as its cookie was still valid: SCTP has no TIME-WAIT.
            return;
        }
        assert!(!m.delivered, "message {index} was delivered twice");
        assert_eq!((r.stream, r.unordered), (m.stream, m.unordered));
        assert!(
            bytes == pattern(r.ppid, m.len),
            "message {index} of {} bytes was changed ({} arrived)",
            m.len,
            bytes.len()
        );
        if !m.unordered {
            let skipped = before
                .iter()
                .position(|b| !b.unordered && b.stream == r.stream && !b.delivered);
            assert_eq!(skipped, None, "message {index} overtook in its stream");
        }
        epoch.sent[index].delivered = true;
    }

    /// What has not arrived; with `excused` also what need not.
    pub(crate) fn missing(&self, excused: bool) -> Vec<(usize, usize)> {
        let all = self.epochs.iter().enumerate();
        let all = all.filter(|e| excused || !e.1.excused);
        all.flat_map(|(n, e)| {
            let open = e.sent.iter().enumerate().filter(|s| !s.1.delivered);
            open.map(move |(i, _)| (n, i))
        })
        .collect()
    }
}
