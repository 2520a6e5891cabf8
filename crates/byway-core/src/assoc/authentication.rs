//! Authenticated chunks (RFC 4895): what both sides agree on, and the AUTH chunks of
//! packets that come and go.
//!
//! This side takes ASCONF and ASCONF-ACK only behind an AUTH chunk, and puts one in front
//! of each packet with a chunk that the peer takes only so.

use super::dispatch::Gathered;
use super::{Association, Ctx, Inbound};
use crate::auth::{BadAuth, Keys, PeerAuth, Random};
use crate::endpoint::cookie::CookieAuth;
use crate::path::PathId;
use byway_wire::{Auth, COMMON_HEADER_LEN, Packet, RawChunk, Tsn};
use rand::RngExt;

/// The state of authentication in one association.
#[derive(Debug)]
pub(crate) struct Authentication {
    /// The random number of this side.
    own: Random,
    /// What both sides agreed on, once both INITs are known.
    agreed: Option<Agreed>,
}

#[derive(Debug)]
struct Agreed {
    keys: Keys,
    peer: Box<PeerAuth>,
}

impl Authentication {
    /// What this side offers in its INIT.
    pub(super) fn offer(ctx: &mut Ctx<'_>) -> Box<Authentication> {
        Box::new(Authentication {
            own: ctx.rng.random(),
            agreed: None,
        })
    }
}

impl Association {
    /// The random number of our INIT, if it offered AUTH.
    pub(super) fn own_random(&self) -> Option<&Random> {
        self.optional.auth.as_ref().map(|a| &a.own)
    }

    fn agreed(&self) -> Option<&Agreed> {
        self.optional.auth.as_ref()?.agreed.as_ref()
    }

    /// The INIT ACK is known: decides on AUTH, and with `asconf` on changes of addresses.
    pub(super) fn agree_on_auth(&mut self, peer: Option<&PeerAuth>, asconf: bool, tsn: Tsn) {
        let found = match (self.own_random().copied(), peer) {
            (Some(own), Some(peer)) => Some((own, Box::new(peer.clone()))),
            _ => None,
        };
        self.take_agreement(found, asconf && self.cfg.asconf.enabled, tsn);
    }

    /// A cookie was taken: what it says of AUTH holds from now on.
    pub(super) fn adopt_auth(&mut self, auth: Option<&CookieAuth>, tsn: Tsn) {
        let found = auth.map(|a| (a.own, a.peer.clone()));
        self.take_agreement(found, auth.is_some_and(|a| a.asconf), tsn);
    }

    fn take_agreement(&mut self, found: Option<(Random, Box<PeerAuth>)>, asconf: bool, tsn: Tsn) {
        let agreed = found.and_then(|(own, peer)| {
            let keys = Keys::new(&own, &peer, &self.cfg.auth.keys)?;
            Some((own, Agreed { keys, peer }))
        });
        let asconf = asconf && agreed.is_some();
        self.optional.seals = agreed.as_ref().is_some_and(|a| a.1.peer.requires_others());
        self.optional.auth = agreed.map(|(own, agreed)| {
            Box::new(Authentication {
                own,
                agreed: Some(agreed),
            })
        });
        self.begin_asconf(asconf, tsn);
    }

    /// Bytes that an AUTH chunk takes of each packet with DATA; 0 if such packets need none.
    pub(super) fn auth_bytes(&self) -> u32 {
        match self.agreed() {
            Some(a) if self.optional.seals => a.keys.chunk_len() as u32,
            _ => 0,
        }
    }

    /// An AUTH chunk arrived (section 6.3). False if it and the rest of the packet are
    /// discarded.
    pub(super) fn on_auth(
        &mut self,
        ctx: &mut Ctx<'_>,
        (inbound, from): (&Inbound<'_>, Option<PathId>),
        (auth, raw): (&Auth<'_>, &RawChunk<'_>),
        gathered: &mut Gathered,
    ) -> bool {
        let Some(agreed) = self.agreed() else {
            return false;
        };
        let after = bytes_after(inbound, raw);
        match agreed.keys.verify(auth, raw.bytes, &[after, inbound.tail]) {
            Ok(()) => {
                gathered.authenticated = true;
                return true;
            }
            Err(BadAuth::Hash) => {
                self.discard(ctx, "AUTH with a hash that was not offered");
                if !core::mem::replace(&mut gathered.reported, true) {
                    self.report(from, |w| {
                        w.unsupported_hmac(auth.hmac_id);
                    });
                }
            }
            Err(BadAuth::Key) => self.discard(ctx, "AUTH with an unknown shared key"),
            Err(BadAuth::Wrong) => self.discard(ctx, "AUTH with a wrong hash"),
        }
        false
    }

    /// Whether both sides agreed on AUTH.
    pub(super) fn authenticates(&self) -> bool {
        self.agreed().is_some()
    }

    /// Puts an AUTH chunk in front of the packet that begins at `start` of `buf`. `tail`
    /// is the rest of a packet in two parts. Returns the length of the packet without it.
    pub(super) fn seal(
        &self,
        ctx: &Ctx<'_>,
        (buf, start): (&mut Vec<u8>, usize),
        tail: &[u8],
    ) -> usize {
        let Some(agreed) = self.agreed() else {
            return buf.len() - start;
        };
        let blank = agreed.keys.blank();
        blank.seal(buf, start, ctx.checksum(), |covered| {
            agreed.keys.sign(&[covered, tail])
        })
    }

    /// The same, if the packet has a chunk that the peer takes only behind an AUTH chunk.
    #[cold]
    pub(super) fn seal_if_required(
        &self,
        ctx: &Ctx<'_>,
        (buf, start): (&mut Vec<u8>, usize),
        tail: &[u8],
    ) -> usize {
        let required = self.agreed().is_some_and(|agreed| {
            let packet = Packet::parse_parts(&buf[start..], tail);
            packet.is_ok_and(|p| {
                let mut kinds = p.chunks().map_while(Result::ok).map(|c| c.kind);
                kinds.any(|kind| agreed.peer.requires(kind))
            })
        });
        if required {
            self.seal(ctx, (buf, start), tail)
        } else {
            buf.len() - start
        }
    }
}

/// The bytes of a packet behind one of its chunks, with padding, without the tail of a
/// packet in two parts.
fn bytes_after<'a>(inbound: &Inbound<'a>, raw: &RawChunk<'_>) -> &'a [u8] {
    let all = inbound.packet.as_bytes();
    let mut chunks = inbound.packet.chunks();
    while let Some(Ok(chunk)) = chunks.next() {
        if core::ptr::eq(chunk.bytes, raw.bytes) {
            return chunks.rest();
        }
    }
    &all[COMMON_HEADER_LEN.min(all.len())..]
}
