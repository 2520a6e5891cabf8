//! Chunks: one file each, with its type, how it is read and how it is written.

mod abort;
mod asconf;
mod auth;
mod cookie;
mod data;
mod forward_tsn;
mod heartbeat;
mod i_data;
mod i_forward_tsn;
mod init;
mod pad;
mod re_config;
mod sack;
mod shutdown;
mod timestamp;

pub use abort::{Abort, ErrorChunk};
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
pub use re_config::ReConfig;
pub use sack::Sack;
pub use shutdown::{Shutdown, ShutdownComplete};
pub use timestamp::{TIMESTAMP_LEN, Timestamp};

use crate::build::PacketBuilder;
use crate::error::ChunkError;

/// The chunk types (RFC 9260 section 3.2 and the extensions' own sections).
pub mod chunk_type {
    /// Payload data (RFC 9260 section 3.3.1).
    pub const DATA: u8 = 0;
    /// Initiation (RFC 9260 section 3.3.2).
    pub const INIT: u8 = 1;
    /// Initiation acknowledgement (RFC 9260 section 3.3.3).
    pub const INIT_ACK: u8 = 2;
    /// Selective acknowledgement (RFC 9260 section 3.3.4).
    pub const SACK: u8 = 3;
    /// Heartbeat request (RFC 9260 section 3.3.5).
    pub const HEARTBEAT: u8 = 4;
    /// Heartbeat acknowledgement (RFC 9260 section 3.3.6).
    pub const HEARTBEAT_ACK: u8 = 5;
    /// Abort (RFC 9260 section 3.3.7).
    pub const ABORT: u8 = 6;
    /// Shutdown (RFC 9260 section 3.3.8).
    pub const SHUTDOWN: u8 = 7;
    /// Shutdown acknowledgement (RFC 9260 section 3.3.9).
    pub const SHUTDOWN_ACK: u8 = 8;
    /// Operation error (RFC 9260 section 3.3.10).
    pub const ERROR: u8 = 9;
    /// State cookie (RFC 9260 section 3.3.11).
    pub const COOKIE_ECHO: u8 = 10;
    /// Cookie acknowledgement (RFC 9260 section 3.3.12).
    pub const COOKIE_ACK: u8 = 11;
    /// Reserved for explicit congestion notification echo.
    pub const ECNE: u8 = 12;
    /// Reserved for congestion window reduced.
    pub const CWR: u8 = 13;
    /// Shutdown complete (RFC 9260 section 3.3.13).
    pub const SHUTDOWN_COMPLETE: u8 = 14;
    /// Authentication (RFC 4895 section 5.1).
    pub const AUTH: u8 = 15;
    /// Payload data with interleaving (RFC 8260 section 2.1).
    pub const I_DATA: u8 = 64;
    /// Address configuration acknowledgement (RFC 5061 section 4.1.2).
    pub const ASCONF_ACK: u8 = 128;
    /// Stream reconfiguration (RFC 6525 section 3.1).
    pub const RE_CONFIG: u8 = 130;
    /// Padding (RFC 4820 section 3).
    pub const PAD: u8 = 132;
    /// Timestamps (byway's own, for caro-2004 section II.B; not registered).
    pub const TIMESTAMP: u8 = 160;
    /// Forward cumulative TSN (RFC 3758 section 3.2).
    pub const FORWARD_TSN: u8 = 192;
    /// Address configuration change (RFC 5061 section 4.1.1).
    pub const ASCONF: u8 = 193;
    /// Forward cumulative TSN with interleaving (RFC 8260 section 2.3.1).
    pub const I_FORWARD_TSN: u8 = 194;

    /// The name that the RFCs give to a chunk type, for logs and traces.
    #[must_use]
    pub const fn name(kind: u8) -> Option<&'static str> {
        Some(match kind {
            DATA => "DATA",
            INIT => "INIT",
            INIT_ACK => "INIT ACK",
            SACK => "SACK",
            HEARTBEAT => "HEARTBEAT",
            HEARTBEAT_ACK => "HEARTBEAT ACK",
            ABORT => "ABORT",
            SHUTDOWN => "SHUTDOWN",
            SHUTDOWN_ACK => "SHUTDOWN ACK",
            ERROR => "ERROR",
            COOKIE_ECHO => "COOKIE ECHO",
            COOKIE_ACK => "COOKIE ACK",
            ECNE => "ECNE",
            CWR => "CWR",
            SHUTDOWN_COMPLETE => "SHUTDOWN COMPLETE",
            AUTH => "AUTH",
            I_DATA => "I-DATA",
            ASCONF_ACK => "ASCONF-ACK",
            RE_CONFIG => "RE-CONFIG",
            PAD => "PAD",
            TIMESTAMP => "TIMESTAMP",
            FORWARD_TSN => "FORWARD TSN",
            ASCONF => "ASCONF",
            I_FORWARD_TSN => "I-FORWARD-TSN",
            _ => return None,
        })
    }
}

/// What a receiver does with a chunk or parameter type that it does not know;
/// the type's upper two bits say it (RFC 9260 sections 3.2 and 3.2.1).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum UnknownAction {
    /// `00`: stop, and drop what follows.
    Stop,
    /// `01`: stop, drop what follows, and report it in an ERROR (a chunk), or
    /// in an ERROR or INIT ACK (a parameter).
    StopAndReport,
    /// `10`: skip it and go on.
    Skip,
    /// `11`: skip it, go on, and report it.
    SkipAndReport,
}

impl UnknownAction {
    pub(crate) const fn from_top_bits(bits: u8) -> UnknownAction {
        match bits {
            0 => UnknownAction::Stop,
            1 => UnknownAction::StopAndReport,
            2 => UnknownAction::Skip,
            _ => UnknownAction::SkipAndReport,
        }
    }

    /// Whether the rest of the packet (or of the chunk's parameters) is dropped.
    #[must_use]
    pub const fn stops(self) -> bool {
        matches!(self, UnknownAction::Stop | UnknownAction::StopAndReport)
    }

    /// Whether the sender is told.
    #[must_use]
    pub const fn reports(self) -> bool {
        matches!(
            self,
            UnknownAction::StopAndReport | UnknownAction::SkipAndReport
        )
    }
}

/// A chunk whose bounds are known and whose contents have not been looked at.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct RawChunk<'a> {
    /// Chunk type, see [`chunk_type`].
    pub kind: u8,
    /// Chunk flags; their meaning depends on the type.
    pub flags: u8,
    /// What follows the chunk header, without padding.
    pub value: &'a [u8],
    /// Header and value, without padding.
    pub bytes: &'a [u8],
    /// User data of a DATA chunk that stands apart
    /// ([`Packet::parse_parts`](crate::Packet::parse_parts)), else empty: `value`
    /// and `bytes` end before it.
    pub apart: &'a [u8],
}

impl<'a> RawChunk<'a> {
    /// Reads the chunk by its type. Reserved flags and bits are ignored, and so
    /// are bytes behind a fixed-size chunk.
    ///
    /// # Errors
    /// When the value is too short for the type, or announces more entries than
    /// it has. Parameter and cause lists are checked while they are walked.
    #[inline]
    pub fn parse(&self) -> Result<Chunk<'a>, ChunkError> {
        match self.kind {
            chunk_type::DATA => Data::parse(self).map(Chunk::Data),
            chunk_type::SACK => Sack::parse(self).map(Chunk::Sack),
            _ => self.parse_control(),
        }
    }

    /// All types but DATA and SACK.
    fn parse_control(&self) -> Result<Chunk<'a>, ChunkError> {
        Ok(match self.kind {
            chunk_type::INIT => Chunk::Init(Init::parse(self)?),
            chunk_type::INIT_ACK => Chunk::InitAck(Init::parse(self)?),
            chunk_type::HEARTBEAT => Chunk::Heartbeat(Heartbeat::parse(self)?),
            chunk_type::HEARTBEAT_ACK => Chunk::HeartbeatAck(Heartbeat::parse(self)?),
            chunk_type::ABORT => Chunk::Abort(Abort::parse(self)),
            chunk_type::SHUTDOWN => Chunk::Shutdown(Shutdown::parse(self)?),
            chunk_type::SHUTDOWN_ACK => Chunk::ShutdownAck,
            chunk_type::ERROR => Chunk::Error(ErrorChunk::parse(self)),
            chunk_type::COOKIE_ECHO => Chunk::CookieEcho(CookieEcho { cookie: self.value }),
            chunk_type::COOKIE_ACK => Chunk::CookieAck,
            chunk_type::SHUTDOWN_COMPLETE => Chunk::ShutdownComplete(ShutdownComplete::parse(self)),
            chunk_type::AUTH => Chunk::Auth(Auth::parse(self)?),
            chunk_type::I_DATA => Chunk::IData(IData::parse(self)?),
            chunk_type::ASCONF => Chunk::Asconf(Asconf::parse(self)?),
            chunk_type::ASCONF_ACK => Chunk::AsconfAck(AsconfAck::parse(self)?),
            chunk_type::RE_CONFIG => Chunk::ReConfig(ReConfig::parse(self)),
            chunk_type::PAD => Chunk::Pad(Pad {
                padding: self.value,
            }),
            chunk_type::TIMESTAMP => Chunk::Timestamp(Timestamp::parse(self)?),
            chunk_type::FORWARD_TSN => Chunk::ForwardTsn(ForwardTsn::parse(self)?),
            chunk_type::I_FORWARD_TSN => Chunk::IForwardTsn(IForwardTsn::parse(self)?),
            _ => Chunk::Unknown(*self),
        })
    }

    /// What to do when this chunk type is not known.
    #[must_use]
    pub const fn unknown_action(kind: u8) -> UnknownAction {
        UnknownAction::from_top_bits(kind >> 6)
    }

    /// The fixed fields at the front of the value, and what follows them.
    #[inline]
    pub(crate) fn fixed<const N: usize>(&self) -> Result<(&'a [u8; N], &'a [u8]), ChunkError> {
        self.value.split_first_chunk().ok_or(ChunkError::TooShort {
            kind: self.kind,
            need: N,
            have: self.value.len(),
        })
    }

    /// `bytes` as entries of `N` bytes each, which they must fill exactly.
    pub(crate) fn entries<const N: usize>(
        &self,
        bytes: &'a [u8],
    ) -> Result<&'a [[u8; N]], ChunkError> {
        match bytes.as_chunks() {
            (entries, []) => Ok(entries),
            _ => Err(ChunkError::PartialEntry {
                kind: self.kind,
                entry: N,
                have: bytes.len(),
            }),
        }
    }
}

/// A chunk, read.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Chunk<'a> {
    /// User data.
    Data(Data<'a>),
    /// First packet of the handshake.
    Init(Init<'a>),
    /// Second packet of the handshake.
    InitAck(Init<'a>),
    /// What has arrived.
    Sack(Sack<'a>),
    /// Path probe.
    Heartbeat(Heartbeat<'a>),
    /// Path probe, echoed.
    HeartbeatAck(Heartbeat<'a>),
    /// End of the association at once.
    Abort(Abort<'a>),
    /// Begin of the orderly end.
    Shutdown(Shutdown),
    /// Answer to SHUTDOWN.
    ShutdownAck,
    /// Trouble that does not end the association by itself.
    Error(ErrorChunk<'a>),
    /// Third packet of the handshake.
    CookieEcho(CookieEcho<'a>),
    /// Fourth packet of the handshake.
    CookieAck,
    /// Answer to SHUTDOWN ACK.
    ShutdownComplete(ShutdownComplete),
    /// Abandoned data is to be skipped.
    ForwardTsn(ForwardTsn<'a>),
    /// Proof for what follows in the packet.
    Auth(Auth<'a>),
    /// Changes of the sender's addresses.
    Asconf(Asconf<'a>),
    /// Answer to ASCONF.
    AsconfAck(AsconfAck<'a>),
    /// Stream reset and stream count changes, and their answers.
    ReConfig(ReConfig<'a>),
    /// Filler.
    Pad(Pad<'a>),
    /// When the packet was sent, and which one it answers.
    Timestamp(Timestamp),
    /// User data of messages that may interleave.
    IData(IData<'a>),
    /// Abandoned interleaved messages are to be skipped.
    IForwardTsn(IForwardTsn<'a>),
    /// A type without a meaning here; see [`RawChunk::unknown_action`].
    Unknown(RawChunk<'a>),
}

impl PacketBuilder<'_> {
    /// Writes a chunk that was read elsewhere. Its reserved bits become zero;
    /// its parameters and causes are copied as they are.
    ///
    /// # Panics
    /// When the chunk would be longer than 65,535 bytes, which one that came
    /// from [`RawChunk::parse`] never is.
    pub fn chunk(&mut self, chunk: &Chunk<'_>) {
        match chunk {
            Chunk::Data(data) => self.data(data),
            Chunk::Init(init) => self.copy_init(false, init),
            Chunk::InitAck(init) => self.copy_init(true, init),
            Chunk::Sack(sack) => self.copy_sack(sack),
            Chunk::Heartbeat(heartbeat) => self.heartbeat(heartbeat.info),
            Chunk::HeartbeatAck(heartbeat) => self.heartbeat_ack(heartbeat.info),
            Chunk::Abort(abort) => self.copy_abort(abort),
            Chunk::Shutdown(shutdown) => self.shutdown(shutdown.cumulative_tsn_ack),
            Chunk::ShutdownAck => self.shutdown_ack(),
            Chunk::Error(error) => self.raw(chunk_type::ERROR, 0, error.causes.as_bytes()),
            Chunk::CookieEcho(echo) => self.cookie_echo(echo.cookie),
            Chunk::CookieAck => self.cookie_ack(),
            Chunk::ShutdownComplete(complete) => self.shutdown_complete(complete.tag_reflected),
            Chunk::ForwardTsn(forward) => self.copy_forward_tsn(forward),
            Chunk::Auth(auth) => {
                self.auth(auth);
            }
            Chunk::Asconf(asconf) => self.copy_asconf(asconf),
            Chunk::AsconfAck(ack) => self.copy_asconf_ack(ack),
            Chunk::ReConfig(config) => self.raw(chunk_type::RE_CONFIG, 0, config.params.as_bytes()),
            Chunk::Pad(pad) => self.raw(chunk_type::PAD, 0, pad.padding),
            Chunk::Timestamp(stamp) => self.timestamp(*stamp),
            Chunk::IData(data) => self.i_data(data),
            Chunk::IForwardTsn(forward) => self.copy_i_forward_tsn(forward),
            Chunk::Unknown(raw) => self.raw(raw.kind, raw.flags, raw.value),
        }
    }
}
