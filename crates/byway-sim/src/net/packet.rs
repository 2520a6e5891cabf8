//! Packets in flight, kept in slots and moved by number.

use byway_core::Bytes;

/// What a packet carries.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum Content {
    /// An SCTP packet of a host: it is delivered.
    #[default]
    Sctp,
    /// Cross traffic: it is counted at its destination.
    Background,
}

/// A packet. Its addresses are numbers from the
/// [`AddressTable`](super::address::AddressTable), which are cheap to copy.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packet {
    pub(crate) src: u32,
    pub(crate) dst: u32,
    /// The column of `dst` in the routing table.
    pub(crate) column: u32,
    /// Bytes on the wire, IP header included.
    pub(crate) wire_size: u32,
    pub(crate) meta: u64,
    pub(crate) id: u64,
    pub(crate) sent_at: u64,
    pub(crate) payload: Vec<u8>,
    /// User data that follows `payload`, if the sender did not copy it.
    pub(crate) tail: Bytes,
    pub(crate) content: Content,
    pub(crate) corrupted: bool,
    pub(crate) duplicate: bool,
}

impl Packet {
    /// Initializes a packet that a host sends. Its bytes and addresses are in place.
    #[inline]
    pub(crate) fn set_off(&mut self, now: u64, id: u64) {
        self.meta = 0;
        self.id = id;
        self.sent_at = now;
        self.content = Content::Sctp;
        self.corrupted = false;
        self.duplicate = false;
    }

    /// Appends the tail to the payload.
    pub(crate) fn join(&mut self) {
        if !self.tail.is_empty() {
            self.payload.extend_from_slice(&self.tail);
            self.tail = Bytes::new();
        }
    }
}

/// Packet slots, which keep their buffers, and spare buffers. So a network in steady
/// state allocates nothing.
#[derive(Default, Debug)]
pub(crate) struct Pool {
    packets: Vec<Packet>,
    free: Vec<u32>,
    buffers: Vec<Vec<u8>>,
}

/// Spare buffers kept; more are given back to the allocator.
const MAX_SPARE_BUFFERS: usize = 4096;

impl Pool {
    /// A slot for a new packet. Its payload is empty; the other fields are those of
    /// an old packet.
    #[inline]
    pub(crate) fn claim(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.packets.push(Packet::default());
            (self.packets.len() - 1) as u32
        })
    }

    pub(crate) fn get(&self, slot: u32) -> &Packet {
        &self.packets[slot as usize]
    }

    pub(crate) fn get_mut(&mut self, slot: u32) -> &mut Packet {
        &mut self.packets[slot as usize]
    }

    /// Copies the packet in `slot` to a new slot.
    pub(crate) fn duplicate(&mut self, slot: u32) -> u32 {
        let copy = self.claim();
        let mut payload = std::mem::take(&mut self.get_mut(copy).payload);
        let original = self.get(slot);
        payload.extend_from_slice(&original.payload);
        let packet = Packet {
            payload,
            tail: original.tail.clone(),
            duplicate: true,
            ..*original
        };
        self.packets[copy as usize] = packet;
        copy
    }

    /// Frees the slot and keeps its buffer for reuse, unless many are spare.
    #[inline]
    pub(crate) fn discard(&mut self, slot: u32) {
        self.free.push(slot);
        let spare = self.free.len();
        let packet = &mut self.packets[slot as usize];
        if spare > MAX_SPARE_BUFFERS {
            packet.payload = Vec::new();
        }
        packet.payload.clear();
        if !packet.tail.is_empty() {
            packet.tail = Bytes::new();
        }
    }

    /// Frees the slot and returns the payload in one piece.
    pub(crate) fn take_payload(&mut self, slot: u32) -> Vec<u8> {
        self.free.push(slot);
        let packet = self.get_mut(slot);
        packet.join();
        std::mem::take(&mut packet.payload)
    }

    pub(crate) fn buffer(&mut self) -> Vec<u8> {
        self.buffers.pop().unwrap_or_default()
    }

    pub(crate) fn recycle(&mut self, mut buffer: Vec<u8>) {
        if buffer.capacity() > 0 && self.buffers.len() < MAX_SPARE_BUFFERS {
            buffer.clear();
            self.buffers.push(buffer);
        }
    }

    /// Packets now in the network.
    pub(crate) fn in_flight(&self) -> usize {
        self.packets.len() - self.free.len()
    }
}
