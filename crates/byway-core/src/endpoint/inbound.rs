//! An arriving datagram is checked and passed to its association, or to the
//! procedures for INIT, COOKIE ECHO and packets out of the blue.

use super::{Endpoint, ctx};
use crate::assoc::{Ctx, Handled, Inbound};
use crate::config::ChecksumMode;
use crate::refusals::Rule;
use crate::scope::is_unicast;
use crate::time::Instant;
use bytes::Bytes;
use byway_wire::{Packet, chunk_type};
use core::net::SocketAddr;

impl Endpoint {
    /// Handles a datagram from `source` to the local address `destination`.
    /// Ports are UDP encapsulation ports (RFC 6951), 0 for SCTP directly over IP.
    pub fn handle_datagram(
        &mut self,
        now: Instant,
        source: SocketAddr,
        destination: SocketAddr,
        payload: &[u8],
    ) {
        self.handle_parts(now, source, destination, (payload, &Bytes::new()));
    }

    /// Handles a packet in two parts, as [`poll_transmit_parts`] gives it. The
    /// second part is kept without a copy, unless its message is fragmented.
    ///
    /// [`poll_transmit_parts`]: Self::poll_transmit_parts
    pub fn handle_parts(
        &mut self,
        now: Instant,
        source: SocketAddr,
        destination: SocketAddr,
        (payload, tail): (&[u8], &Bytes),
    ) {
        self.stats.datagrams_received += 1;
        let Ok(packet) = Packet::parse_parts(payload, tail) else {
            return self.drop_malformed(source);
        };
        if self.cfg.checksum == ChecksumMode::Crc32c && !packet.checksum_is_valid() {
            self.out.refuse(Rule::Checksum, source);
            return;
        }
        let mut others = packet.chunks();
        let Some(Ok(ref first)) = others.next() else {
            return self.drop_malformed(source);
        };
        let inbound = Inbound {
            source: &source,
            destination: &destination,
            packet,
            len: payload.len() + tail.len(),
            tail,
            first,
            others,
        };
        self.route(now, &inbound);
        self.shed(now);
    }

    /// Counts a packet, INIT or COOKIE ECHO that is dropped as invalid.
    #[cold]
    pub(super) fn drop_malformed(&mut self, source: SocketAddr) {
        self.out.refuse(Rule::Malformed, source);
    }

    /// Passes a packet to its association, or to the procedure for packets
    /// without one.
    #[inline]
    fn route(&mut self, now: Instant, inbound: &Inbound<'_>) {
        let header = inbound.packet.header();
        if header.source_port == 0 || header.destination_port == 0 {
            // Section 3.1: port 0 must not be used. Nothing could be sent back.
            return self.drop_malformed(*inbound.source);
        }
        if !is_unicast(inbound.source.ip()) || !is_unicast(inbound.destination.ip()) {
            // Section 8.4, rule 1: it is not answered. Nothing could be sent from there.
            return self.out.refuse(Rule::NotUnicast, *inbound.source);
        }
        if header.destination_port != self.cfg.port {
            self.out_of_the_blue(now, inbound);
            return;
        }
        let first = inbound.first;
        match first.kind {
            chunk_type::INIT => self.on_init(now, inbound, first),
            chunk_type::COOKIE_ECHO => self.on_cookie_echo(now, inbound, first),
            kind => match self.find_for(inbound) {
                Some(index) if kind == chunk_type::INIT_ACK && self.repeats(index, inbound) => {
                    self.give_up_repeated(now, index);
                }
                Some(index) => self.deliver(now, index, inbound),
                None => self.out_of_the_blue(now, inbound),
            },
        }
    }

    /// The association of a packet: by its verification tag, which is ours unless the
    /// T bit is set or the tag is wrong, or else by its source address (section 8.5).
    #[inline]
    fn find_for(&mut self, inbound: &Inbound<'_>) -> Option<u32> {
        let header = inbound.packet.header();
        let port = header.source_port;
        self.table
            .find_by_tag(header.verification_tag, port)
            .or_else(|| self.table.find_listed(*inbound.source, port))
    }

    /// Passes a packet to its association.
    fn deliver(&mut self, now: Instant, index: u32, inbound: &Inbound<'_>) {
        let scarcity = self.scarcity_for(index);
        let mut ctx = ctx!(self, now, scarcity);
        let a = &mut self.table[index].assoc;
        let handled = a.handle_packet(&mut ctx, inbound, false);
        if a.take_addresses_changed() {
            self.table.link(index);
        }
        self.wake(index);
        if handled == Handled::OutOfTheBlue {
            self.out_of_the_blue(now, inbound);
        }
    }
}
