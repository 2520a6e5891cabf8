//! Authenticated chunks (RFC 4895): what both sides agree on, and the AUTH chunks of
//! packets that come and go.
//!
//! This side takes ASCONF and ASCONF-ACK only behind an AUTH chunk, and puts one in front
//! of each packet with a chunk that the peer takes only so.
//!
//! Keys are made for each such packet: they are rare, and keys that are ready to hash take
//! more memory than all else here. Only where packets with DATA need AUTH chunks they are kept.

use super::dispatch::Gathered;
use super::{Association, Ctx, Inbound};
use crate::auth::{BadAuth, Keys, PeerAuth, Random};
use crate::endpoint::cookie::CookieAuth;
use crate::path::PathId;
use crate::refusals::Rule;
use byway_wire::{Auth, COMMON_HEADER_LEN, Packet, RawChunk, Tsn};
use rand::RngExt;
use std::borrow::Cow;

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
    peer: Box<PeerAuth>,
    /// The keys, if packets with DATA need them.
    keys: Option<Box<Keys>>,
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

    /// The keys that both sides agreed on.
    fn keys(&self) -> Option<Cow<'_, Keys>> {
        let auth = self.optional.auth.as_ref()?;
        let agreed = auth.agreed.as_ref()?;
        match &agreed.keys {
            Some(keys) => Some(Cow::Borrowed(keys)),
            None => Keys::new(&auth.own, &agreed.peer, &self.cfg.auth.keys).map(Cow::Owned),
        }
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
        let agreed = found.filter(|(_, peer)| peer.hash().is_some());
        let asconf = asconf && agreed.is_some();
        self.optional.seals = agreed.as_ref().is_some_and(|a| a.1.requires_others());
        self.optional.auth = agreed.map(|(own, peer)| {
            let kept = self.optional.seals;
            let keys = kept.then(|| Keys::new(&own, &peer, &self.cfg.auth.keys));
            let keys = keys.flatten().map(Box::new);
            let agreed = Some(Agreed { peer, keys });
            Box::new(Authentication { own, agreed })
        });
        self.begin_asconf(asconf, tsn);
    }

    /// Memory of what both sides agreed on, in bytes.
    #[inline]
    pub(super) fn authentication_memory(&self) -> usize {
        let agreed = self.agreed().map_or(0, |a| {
            size_of::<PeerAuth>() + a.keys.as_ref().map_or(0, |_| size_of::<Keys>())
        });
        let own = self.optional.auth.as_ref();
        own.map_or(0, |_| size_of::<Authentication>()) + agreed
    }

    /// Bytes that an AUTH chunk takes of each packet with DATA; 0 if such packets need none.
    pub(super) fn auth_bytes(&self) -> u32 {
        let kept = self.agreed().and_then(|a| a.keys.as_ref());
        kept.map_or(0, |keys| keys.chunk_len() as u32)
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
        let Some(keys) = self.keys() else {
            return false;
        };
        let after = bytes_after(inbound, raw);
        let verdict = keys.verify(auth, raw.bytes, &[after, inbound.tail]);
        drop(keys);
        match verdict {
            Ok(()) => {
                gathered.authenticated = true;
                return true;
            }
            Err(BadAuth::Hash) => {
                self.discard(
                    ctx,
                    Rule::Unauthenticated,
                    "AUTH with a hash that was not offered",
                );
                if !core::mem::replace(&mut gathered.reported, true) {
                    self.report(ctx, from, |w| {
                        w.unsupported_hmac(auth.hmac_id);
                    });
                }
            }
            Err(BadAuth::Key) => self.discard(
                ctx,
                Rule::Unauthenticated,
                "AUTH with an unknown shared key",
            ),
            Err(BadAuth::Wrong) => {
                self.discard(ctx, Rule::Unauthenticated, "AUTH with a wrong hash")
            }
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
        let Some(keys) = self.keys() else {
            return buf.len() - start;
        };
        keys.blank().seal(buf, start, ctx.checksum(), |covered| {
            keys.sign(&[covered, tail])
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
