//! ICMP messages (RFC 9260 section 10, ICMP5 to ICMP9; RFC 6951 section 5.5 for packets in UDP).
//!
//! Routers quote the packet that they are about. Whoever has not seen it cannot know its
//! verification tag; without that check anybody could end an association or slow it down.
//!
//! "Protocol Unreachable" is to count as an ABORT (ICMP8). But Linux sends it also for a program
//! with raw sockets whose receive buffer is full (`raw_v4_input`, `ipv6_raw_deliver`), in the
//! middle of a transfer. So it ends an established association only when it is said again after
//! RTO.Initial and nothing was heard from the peer in between. It must be about an address that is
//! confirmed; the same counts for "Port Unreachable".
//!
//! The side that accepted hears "Port Unreachable" also from a translator that has forgotten the
//! binding of a peer behind it (RFC 6951 section 5.1): in an outage, or while it sends and the
//! translator has restarted. The peer is there, and sends again by itself. So there it never ends
//! the association.

use super::{Association, Control, Ctx};
use crate::api::{IcmpMessage, LossReason};
use crate::path::PathId;
use crate::refusals::Rule;
use crate::time::Instant;
use byway_wire::chunk_type;
use core::net::SocketAddr;

/// What an ICMP message quotes of a packet of ours.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Quoted {
    /// Our SCTP port and the peer's.
    pub(crate) ports: (u16, u16),
    tag: u32,
    /// The Initiate Tag, if the packet begins with an INIT and so much of it is quoted.
    initiate_tag: Option<u32>,
}

impl Quoted {
    /// Reads the first bytes of a packet. None if they are fewer than 8, the least that a
    /// router quotes (RFC 792).
    pub(crate) fn read(bytes: &[u8]) -> Option<Quoted> {
        let half = |at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        let word = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        // The common header is 12 bytes, the header of a chunk 4.
        let is_init = bytes.get(12) == Some(&chunk_type::INIT);
        Some(Quoted {
            ports: (half(0)?, half(2)?),
            tag: word(4)?,
            initiate_tag: word(16).filter(|_| is_init),
        })
    }
}

impl Association {
    /// An ICMP message about a packet to this destination.
    #[cold]
    pub(crate) fn on_icmp(
        &mut self,
        ctx: &mut Ctx<'_>,
        destination: &SocketAddr,
        quoted: &Quoted,
        message: IcmpMessage,
    ) {
        if !self.has_sent(quoted) {
            return self.discard(
                ctx,
                Rule::Icmp,
                "ICMP message with a wrong verification tag",
            );
        }
        let Some(path) = self.paths.find_source(destination) else {
            return;
        };
        match message {
            IcmpMessage::TooBig { mtu } => {
                // What is said to pass is not believed below the base: a wrong or old
                // message would make packets tiny. Below it black holes are found by probes.
                let base = self.cfg.mtu_discovery.map(|rule| rule.base);
                if base.is_some_and(|base| mtu >= base) {
                    self.on_too_large(ctx, path, mtu + 1);
                }
            }
            IcmpMessage::ProtocolUnreachable if quoted.tag == 0 => {
                self.on_init_refused(ctx, path, LossReason::ProtocolUnreachable);
            }
            IcmpMessage::PortUnreachable if quoted.tag == 0 => {
                self.on_init_refused(ctx, path, LossReason::PortUnreachable);
            }
            // The address may not be the peer's, and its UDP port is taken to be that of another
            // (RFC 6951 section 5.1): that nothing is there says nothing of the peer.
            IcmpMessage::ProtocolUnreachable | IcmpMessage::PortUnreachable
                if !self.paths.get(path).is_confirmed() => {}
            IcmpMessage::ProtocolUnreachable => {
                if self.has_lost_its_stack(ctx.now) {
                    self.lose(ctx, LossReason::ProtocolUnreachable);
                }
            }
            IcmpMessage::PortUnreachable => {
                if !self.setup.accepted && self.has_lost_its_stack(ctx.now) {
                    self.lose(ctx, LossReason::PortUnreachable);
                } else {
                    self.on_unreachable(ctx, path);
                }
            }
            IcmpMessage::Unreachable => self.on_unreachable(ctx, path),
        }
    }

    /// Nothing listens on the UDP port to which the INIT went, or nothing takes SCTP without UDP: it leaves to the
    /// next address, which may be in UDP where this one is not, and the set-up ends when none is left.
    fn on_init_refused(&mut self, ctx: &mut Ctx<'_>, path: PathId, reason: LossReason) {
        if !self.awaits_init_ack() {
            return;
        }
        self.setup.refused |= 1 << path.index();
        let refused = |p: PathId| self.setup.refused >> p.index() & 1 == 1;
        if self.paths.ids().all(refused) {
            self.lose(ctx, reason);
        } else if path == self.paths.data() && !self.cfg.setup.first_address_only {
            let view = self.paths.view();
            if let Some(next) = view.ring(path).find(|p| !refused(*p)) {
                self.paths.move_data(next);
                self.control.push_back(Control::Init);
            }
        }
    }

    /// The peer's host says that it has no SCTP. Whether it said so RTO.Initial ago, too, and
    /// the peer was silent since.
    fn has_lost_its_stack(&mut self, now: Instant) -> bool {
        let heard = self.paths.iter().filter_map(|p| p.counters.last_heard());
        let heard = heard.max();
        let since = self.failure.no_sctp_since;
        match since.filter(|since| heard.is_none_or(|heard| heard <= *since)) {
            Some(since) => now.since(since) >= self.cfg.rto.initial,
            None => {
                self.failure.no_sctp_since = Some(now);
                false
            }
        }
    }

    /// Whether this association sent the packet (ICMP6): it has the peer's tag, or it is our
    /// INIT, which has none.
    fn has_sent(&self, quoted: &Quoted) -> bool {
        match quoted.tag {
            0 => quoted.initiate_tag == Some(self.tags.local),
            tag => tag == self.tags.peer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_bytes_have_ports_and_tag_and_twenty_an_initiate_tag() {
        let mut bytes = vec![0x13, 0x89, 0x13, 0x8a, 0, 0, 0, 0, 9, 9, 9, 9];
        bytes.extend([chunk_type::INIT, 0, 0, 20, 1, 2, 3, 4]);
        for len in 0..8 {
            assert_eq!(Quoted::read(&bytes[..len]), None, "{len}");
        }
        for len in 8..=20 {
            let quoted = Quoted::read(&bytes[..len]).unwrap();
            assert_eq!((quoted.ports, quoted.tag), ((5001, 5002), 0));
            let whole = (len == 20).then_some(0x0102_0304);
            assert_eq!(quoted.initiate_tag, whole, "{len}");
        }
        bytes[12] = chunk_type::DATA;
        assert_eq!(Quoted::read(&bytes).unwrap().initiate_tag, None);
    }
}
