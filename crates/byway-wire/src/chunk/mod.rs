//! Chunks: one file each, with its type, how it is read and how it is written.

mod abort;
mod any;
mod asconf;
mod auth;
pub mod chunk_type;
mod cookie;
mod data;
mod forward_tsn;
mod heartbeat;
mod i_data;
mod i_forward_tsn;
mod init;
mod pad;
mod raw;
mod re_config;
mod sack;
mod shutdown;
mod timestamp;

pub use abort::{Abort, ErrorChunk};
pub use any::Chunk;
pub use asconf::{Asconf, AsconfAck};
pub use auth::{Auth, AuthSlot};
pub use cookie::CookieEcho;
pub use data::Data;
pub use forward_tsn::ForwardTsn;
pub use heartbeat::Heartbeat;
pub use i_data::IData;
pub use i_forward_tsn::{IForwardTsn, SkippedMessage};
pub use init::{Init, InitFields};
pub use pad::Pad;
pub use raw::RawChunk;
pub use re_config::ReConfig;
pub use sack::Sack;
pub use shutdown::{Shutdown, ShutdownComplete};
pub use timestamp::{TIMESTAMP_LEN, Timestamp};
