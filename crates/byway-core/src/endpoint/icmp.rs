//! ICMP messages about packets without UDP (RFC 9260 section 10): which association they are
//! about.

use super::{Endpoint, ctx};
use crate::api::IcmpMessage;
use crate::assoc::{Ctx, Quoted};
use crate::refusals::Rule;
use crate::time::Instant;
use core::net::SocketAddr;

impl Endpoint {
    /// An ICMP message came about a packet to `destination`, of which it quotes the first bytes
    /// from the SCTP header on. It counts only if the quoted verification tag, or the Initiate
    /// Tag of a quoted INIT, is that of an association with this destination; others are
    /// ignored. The driver passes no other types and codes than those of [`IcmpMessage`].
    pub fn handle_icmp(
        &mut self,
        now: Instant,
        destination: SocketAddr,
        quoted: &[u8],
        message: IcmpMessage,
    ) {
        let quoted = Quoted::read(quoted).filter(|q| q.ports.0 == self.cfg.port);
        let found = quoted.and_then(|quoted| {
            let index = self.table.find_listed(destination, quoted.ports.1)?;
            Some((quoted, index))
        });
        let Some((quoted, index)) = found else {
            return self.out.refuse(Rule::Icmp, destination);
        };
        let mut ctx = ctx!(self, now);
        let a = &mut self.table[index].assoc;
        if !a.is_closed() {
            a.on_icmp(&mut ctx, &destination, &quoted, message);
        }
        self.wake(index);
    }
}
