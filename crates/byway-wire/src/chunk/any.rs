//! Reading and writing a chunk of any type.

use super::chunk_type;
use super::raw::RawChunk;
use super::{
    Abort, Asconf, AsconfAck, Auth, CookieEcho, Data, ErrorChunk, ForwardTsn, Heartbeat, IData,
    IForwardTsn, Init, Pad, ReConfig, Sack, Shutdown, ShutdownComplete, Timestamp,
};
use crate::build::PacketBuilder;
use crate::error::ChunkError;

/// A chunk of any type.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Chunk<'a> {
    /// User data.
    Data(Data<'a>),
    /// First packet of the handshake.
    Init(Init<'a>),
    /// Second packet of the handshake.
    InitAck(Init<'a>),
    /// Which TSNs have arrived.
    Sack(Sack<'a>),
    /// Path probe.
    Heartbeat(Heartbeat<'a>),
    /// Path probe, echoed.
    HeartbeatAck(Heartbeat<'a>),
    /// Ends the association at once.
    Abort(Abort<'a>),
    /// Begins the graceful shutdown.
    Shutdown(Shutdown),
    /// Answer to SHUTDOWN.
    ShutdownAck,
    /// Reports an error that does not end the association by itself.
    Error(ErrorChunk<'a>),
    /// Third packet of the handshake.
    CookieEcho(CookieEcho<'a>),
    /// Fourth packet of the handshake.
    CookieAck,
    /// Answer to SHUTDOWN ACK.
    ShutdownComplete(ShutdownComplete),
    /// Abandoned data is to be skipped.
    ForwardTsn(ForwardTsn<'a>),
    /// Authenticates the chunks after it.
    Auth(Auth<'a>),
    /// Changes of the sender's addresses.
    Asconf(Asconf<'a>),
    /// Answer to ASCONF.
    AsconfAck(AsconfAck<'a>),
    /// Stream resets, changes of the number of streams, and responses.
    ReConfig(ReConfig<'a>),
    /// Padding.
    Pad(Pad<'a>),
    /// When the packet was sent, and the timestamp that it echoes.
    Timestamp(Timestamp),
    /// User data of messages that may interleave.
    IData(IData<'a>),
    /// Abandoned interleaved messages are to be skipped.
    IForwardTsn(IForwardTsn<'a>),
    /// A type that this crate does not know; see [`RawChunk::unknown_action`].
    Unknown(RawChunk<'a>),
}

impl<'a> RawChunk<'a> {
    /// Reads the chunk according to its type. Reserved flags and bits are ignored,
    /// and so are bytes after a fixed-size chunk.
    ///
    /// # Errors
    /// When the value is too short for the type, or announces more entries than
    /// it has. Lists of parameters and causes are checked when they are iterated
    /// over.
    #[inline]
    pub fn parse(&self) -> Result<Chunk<'a>, ChunkError> {
        match self.kind {
            chunk_type::DATA => Data::parse(self).map(Chunk::Data),
            chunk_type::SACK => Sack::parse(self).map(Chunk::Sack),
            _ => self.parse_control(),
        }
    }

    /// All types except DATA and SACK.
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
}

impl PacketBuilder<'_> {
    /// Writes a chunk that has been read from another packet. Reserved bits become
    /// zero; parameters and causes are copied unchanged.
    ///
    /// # Panics
    /// When the chunk is longer than 65,535 bytes, which a chunk from
    /// [`RawChunk::parse`] never is.
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
