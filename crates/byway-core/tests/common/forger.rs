//! Somebody who saw the set-up, and so knows the key of an association without shared keys
//! (RFC 4895 section 6.1): a peer whose packets a test writes by hand.

use super::{Passing, packet};
use byway_wire::{Auth, Checksum, Chunk, Packet, PacketBuilder, Params, param_type};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

pub(crate) struct Forger {
    key: Vec<u8>,
}

/// The key vector of the parameters of an INIT or INIT ACK.
fn vector(params: Params<'_>) -> Vec<u8> {
    let of = |kind| params.find(kind).map_or(&[][..], |p| p.bytes);
    let kinds = [
        param_type::RANDOM,
        param_type::CHUNK_LIST,
        param_type::HMAC_ALGO,
    ];
    kinds.into_iter().flat_map(of).copied().collect()
}

impl Forger {
    /// Reads the last INIT and INIT ACK of these packets.
    pub(crate) fn of(sent: &[Passing]) -> Forger {
        let mut vectors: [Vec<u8>; 2] = Default::default();
        for passing in sent {
            let packet = Packet::parse(&passing.bytes).expect("endpoints send packets");
            for raw in packet.chunks().map_while(Result::ok) {
                match raw.parse() {
                    Ok(Chunk::Init(i)) => vectors[0] = vector(i.params),
                    Ok(Chunk::InitAck(i)) => vectors[1] = vector(i.params),
                    _ => {}
                }
            }
        }
        assert!(vectors.iter().all(|v| !v.is_empty()), "AUTH was agreed");
        vectors.sort();
        Forger {
            key: vectors.concat(),
        }
    }

    fn hash(&self, bytes: &[u8]) -> Vec<u8> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).expect("keys of any length");
        mac.update(bytes);
        mac.finalize().into_bytes().to_vec()
    }

    /// A packet from `from` whose chunks stand behind an AUTH chunk.
    pub(crate) fn packet(
        &self,
        from: usize,
        tag: u32,
        write: impl FnOnce(&mut PacketBuilder<'_>),
    ) -> Vec<u8> {
        let mut bytes = packet(from, tag, write);
        let blank = Auth {
            shared_key_id: 0,
            hmac_id: 3,
            hmac: &[0; 32],
        };
        blank.seal(&mut bytes, 0, Checksum::Crc32c, |covered| {
            self.hash(covered)
        });
        bytes
    }
}
