//! An INIT for an association that exists (RFC 9260 sections 5.2.1 and 5.2.2).

use super::{Association, Control, State};
use crate::auth::Random;
use byway_wire::Tsn;
use core::net::IpAddr;

/// How the endpoint answers an INIT for an association that exists.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum InitAnswer {
    /// Not at all.
    Nothing,
    /// A SHUTDOWN ACK already waits in the association.
    ShutdownAck,
    /// With the tag and the initial TSN of our own INIT.
    OurFields {
        tag: u32,
        tsn: Tsn,
        tie_tags: (u32, u32),
        /// The random number of our INIT, if it offered AUTH.
        random: Option<Random>,
    },
    /// With a new tag and a new initial TSN.
    NewFields { tie_tags: (u32, u32) },
}

impl Association {
    /// An INIT arrived from this address of the peer.
    pub(crate) fn on_unexpected_init(&mut self, source: IpAddr) -> InitAnswer {
        let (tag, tsn) = (self.tags.local, self.send.ledger.tsn_of(0));
        let tie_tags = self.tags.tie;
        let random = self.own_random().copied();
        match self.state {
            // Section 5.2.1: the parameters of our own INIT. They are sent only to
            // an address that our user named. Otherwise an attacker at another
            // address could take the peer's place.
            State::CookieWait if self.paths.find(source).is_none() => InitAnswer::Nothing,
            State::CookieWait => InitAnswer::OurFields {
                tag,
                tsn,
                tie_tags: (0, 0),
                random,
            },
            State::CookieEchoed(_) => InitAnswer::OurFields {
                tag,
                tsn,
                tie_tags,
                random,
            },
            // Section 9.2: the SHUTDOWN COMPLETE may be lost. The INIT is discarded and the
            // SHUTDOWN ACK is sent again.
            State::ShutdownAckSent => {
                let to = self.paths.find(source).unwrap_or(self.paths.data());
                self.control.push_back(Control::ShutdownAck(to));
                InitAnswer::ShutdownAck
            }
            _ => InitAnswer::NewFields { tie_tags },
        }
    }
}
