//! SCTP packets, chunks, parameters and error causes to and from bytes.
//!
//! Reading borrows: [`Packet::parse`] looks at the common header only, then
//! [`Packet::chunks`] walks the chunks and [`RawChunk::parse`] gives one its
//! type. Nothing is copied or allocated, and every list of the format (chunks
//! in a packet, parameters in a chunk, causes in an ERROR) is walked by the same
//! bounded iterator, which ends at the first bad length.
//!
//! Writing appends to a caller's buffer through [`PacketBuilder`].
//!
//! The crate keeps no state and decides nothing about protocol: which chunks
//! may be bundled, which tags are right and what to answer is the core's
//! business.
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
pub mod packet;
pub mod param;
mod tlv;
pub mod tsn;

pub use build::{Checksum, PacketBuilder};
pub use cause::{Cause, CauseWriter, Causes, RawCause, cause_code};
pub use chunk::{
    Abort, Asconf, AsconfAck, Auth, AuthSlot, Chunk, CookieEcho, Data, ErrorChunk, ForwardTsn,
    Heartbeat, IData, IForwardTsn, Init, InitFields, Pad, RawChunk, ReConfig, Sack, Shutdown,
    ShutdownComplete, SkippedMessage, TIMESTAMP_LEN, Timestamp, UnknownAction, chunk_type,
};
pub use error::{CauseError, ChunkError, PacketError, ParamError, TlvError};
pub use packet::{
    CHUNK_HEADER_LEN, COMMON_HEADER_LEN, Chunks, CommonHeader, DATA_HEADER_LEN, Packet,
};
pub use param::{
    AddStreams, IncomingSsnReset, OutgoingSsnReset, Param, ParamWriter, Params, RawParam,
    ReconfigResponse, SsnTsnReset, U16List, param_type,
};
pub use tlv::padded;
pub use tsn::Tsn;
