//! What ns-2's packets look like: their sizes, and their chunks as a trace
//! shows them.

use crate::trace::{Chunk, Kind};
use byway_wire::{Chunk as WireChunk, Packet, Tsn};

/// IP and SCTP common header.
const HEADERS: u32 = 32;
/// A DATA chunk without its payload.
const DATA_HEADER: u32 = 16;

/// What is noted of a packet that leaves a host.
#[derive(Clone, Debug, Default)]
pub struct Note {
    /// Its size in ns-2, IP header included.
    pub size: u32,
    /// Its DATA and SACK chunks.
    pub chunks: Vec<Chunk>,
}

/// Makes notes of packets. TSNs are counted from 1, as ns-2 does, so the first
/// one is taken from the INIT.
#[derive(Debug, Default)]
pub struct Notary {
    initial: Option<Tsn>,
}

impl Notary {
    /// Notes a packet, an SCTP packet without its IP header.
    pub fn note(&mut self, payload: &[u8]) -> Note {
        let mut note = Note {
            size: HEADERS,
            chunks: Vec::new(),
        };
        let Ok(packet) = Packet::parse(payload) else {
            note.size = payload.len() as u32 + 20;
            return note;
        };
        for chunk in packet.chunks().flatten() {
            let Ok(chunk) = chunk.parse() else { continue };
            note.size += self.chunk(&chunk, &mut note.chunks);
        }
        note
    }

    /// The size of a chunk in ns-2 (trap 12 of the reference's notes); a DATA
    /// or SACK chunk is noted.
    fn chunk(&mut self, chunk: &WireChunk<'_>, noted: &mut Vec<Chunk>) -> u32 {
        match chunk {
            WireChunk::Data(d) => {
                noted.push(Chunk {
                    kind: Kind::Data,
                    tsn: self.number(d.tsn),
                    stream: Some((d.stream_id, if d.unordered { 0 } else { d.ssn })),
                });
                (DATA_HEADER + d.payload.len() as u32).next_multiple_of(4)
            }
            WireChunk::Sack(s) => {
                noted.push(Chunk {
                    kind: Kind::Sack,
                    tsn: self.number(s.cumulative_tsn_ack),
                    stream: None,
                });
                16 + 4 * (s.gap_blocks().count() + s.duplicates().count()) as u32
            }
            WireChunk::Init(i) => {
                self.initial = Some(i.initial_tsn);
                24
            }
            WireChunk::InitAck(_) | WireChunk::Heartbeat(_) | WireChunk::HeartbeatAck(_) => 24,
            WireChunk::Timestamp(_) => 12,
            _ => 4,
        }
    }

    fn number(&self, tsn: Tsn) -> u32 {
        let first = self.initial.unwrap_or(tsn);
        tsn.0.wrapping_sub(first.0).wrapping_add(1)
    }
}
