//! Reading and writing SCTP packets: chunks, parameters and error causes.
//!
//! Reading borrows. [`Packet::parse`] reads the common header, [`Packet::chunks`]
//! iterates over the chunks, and [`RawChunk::parse`] reads one according to its
//! type. Nothing is copied or allocated. Every list of the format (chunks in a
//! packet, parameters in a chunk, causes in an ERROR) uses the same bounded
//! iterator, which ends at the first wrong length.
//!
//! Writing appends to a caller's buffer through [`PacketBuilder`].
//!
//! The crate keeps no state and does not check protocol rules. `byway-core` decides which
//! chunks may be bundled, which tags are valid and how to respond.
//!
//! RFC 9260 (SCTP), 3758 (FORWARD TSN), 4820 (PAD), 4895 (AUTH), 5061 (ASCONF),
//! 6525 (RE-CONFIG), 8260 (I-DATA) and 9653 (zero checksum) are covered.
//!
//! ```
//! use byway_wire::{Checksum, Chunk, CommonHeader, Packet, PacketBuilder, Tsn};
//!
//! let header = CommonHeader { source_port: 5000, destination_port: 5001, verification_tag: 7 };
//! let mut bytes = Vec::new();
//! let mut packet = PacketBuilder::new(&mut bytes, header);
//! packet.sack(Tsn(10), 65_536, &[(2, 3)], &[]);
//! packet.finish(Checksum::Crc32c);
//!
//! let packet = Packet::parse(&bytes)?;
//! assert!(packet.checksum_is_valid());
//! for raw in packet.chunks() {
//!     if let Chunk::Sack(sack) = raw?.parse()? {
//!         assert_eq!(sack.cumulative_tsn_ack, Tsn(10));
//!         assert!(sack.gap_blocks().eq([(2, 3)]));
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod build;
pub mod cause;
pub mod chunk;
pub mod crc32c;
pub mod error;
mod header;
pub mod packet;
pub mod param;
mod tlv;
pub mod tsn;
mod u16_list;
mod unknown_action;

pub use build::{Checksum, PacketBuilder};
pub use cause::{Cause, CauseWriter, Causes, RawCause, cause_code};
pub use chunk::{
    Abort, Asconf, AsconfAck, Auth, AuthSlot, Chunk, CookieEcho, Data, ErrorChunk, ForwardTsn,
    Heartbeat, IData, IForwardTsn, Init, InitFields, Pad, RawChunk, ReConfig, Sack, Shutdown,
    ShutdownComplete, SkippedMessage, TIMESTAMP_LEN, Timestamp, chunk_type,
};
pub use error::{CauseError, ChunkError, PacketError, ParamError, TlvError};
pub use header::{CHUNK_HEADER_LEN, COMMON_HEADER_LEN, CommonHeader, DATA_HEADER_LEN};
pub use packet::{Chunks, Packet};
pub use param::{
    AddStreams, IncomingSsnReset, OutgoingSsnReset, Param, ParamWriter, Params, RawParam,
    ReconfigResponse, SsnTsnReset, param_type,
};
pub use tlv::padded;
pub use tsn::Tsn;
pub use u16_list::{U16Iter, U16List};
pub use unknown_action::UnknownAction;
