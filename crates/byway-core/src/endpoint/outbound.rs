//! The next packet to send: finished ones first, then those of the
//! associations in the order in which they became ready.

use super::{Endpoint, ctx};
use crate::api::Transmit;
use crate::assoc::Ctx;
use crate::config::ChecksumMode;
use crate::time::Instant;
use bytes::Bytes;

impl Endpoint {
    /// Appends the next packet to `buf` and returns its addresses and length;
    /// `None` if there is nothing to send.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.next_packet(now, buf, None)
    }

    /// [`poll_transmit`](Self::poll_transmit) for drivers that can send a packet
    /// from two places. The payload of the last chunk may be left in `tail`, as a
    /// reference to the message: the packet is `buf` followed by `tail`. `tail`
    /// stays empty with [`ChecksumMode::Crc32c`], whose sum needs the packet in
    /// one piece.
    #[inline]
    pub fn poll_transmit_parts(
        &mut self,
        now: Instant,
        buf: &mut Vec<u8>,
        tail: &mut Bytes,
    ) -> Option<Transmit> {
        let whole = self.cfg.checksum == ChecksumMode::Crc32c;
        self.next_packet(now, buf, (!whole).then_some(tail))
    }

    /// Inlined, because a driver calls until it gets `None`: the last call returns
    /// without entering `fill_packet`.
    #[inline]
    fn next_packet(
        &mut self,
        now: Instant,
        buf: &mut Vec<u8>,
        tail: Option<&mut Bytes>,
    ) -> Option<Transmit> {
        if self.schedule.ready.is_empty() && !self.out.has_finished() {
            return None;
        }
        self.fill_packet(now, buf, tail)
    }

    #[inline(never)]
    fn fill_packet(
        &mut self,
        now: Instant,
        buf: &mut Vec<u8>,
        mut tail: Option<&mut Bytes>,
    ) -> Option<Transmit> {
        if self.out.has_finished() {
            return self.next_finished(buf);
        }
        while let Some(&index) = self.schedule.ready.front() {
            if let Some(slot) = self.table.at_index(index)
                && slot.queued
            {
                if !slot.assoc.is_quiet() {
                    let mut ctx = Ctx {
                        payload_tail: tail.as_deref_mut(),
                        ..ctx!(self, now)
                    };
                    if let Some(sent) = slot.assoc.poll_transmit(&mut ctx, buf) {
                        // Copied here and not earlier, so that it happens once.
                        let (source, destination) = slot.assoc.addresses_of(sent.path);
                        return Some(Transmit {
                            source,
                            destination,
                            len: sent.len as usize,
                            may_fragment: sent.may_fragment,
                        });
                    }
                }
                slot.queued = false;
                self.recount(index);
                self.arm(index);
                self.shed_of_host(now, index);
                self.shed(now);
            }
            self.schedule.ready.pop_front();
            // What was shed says so.
            if self.out.has_finished() {
                return self.next_finished(buf);
            }
        }
        None
    }

    #[cold]
    fn next_finished(&mut self, buf: &mut Vec<u8>) -> Option<Transmit> {
        let reply = self.out.next_finished()?;
        self.recount_beside();
        buf.extend_from_slice(&reply.bytes);
        Some(Transmit {
            source: reply.source,
            destination: reply.destination,
            len: reply.bytes.len(),
            may_fragment: false,
        })
    }
}
