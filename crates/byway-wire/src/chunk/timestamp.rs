//! TIMESTAMP: when a packet was sent, and the timestamp that it echoes. The
//! algorithm is that of caro-2004 section II.B, which specifies only the size of
//! the chunk. The layout and the type are byway's and not registered.
//!
//! ```text
//! | type 160 | flags: E T | length 12 |
//! | timestamp, if T                   |
//! | echo of a timestamp, if E         |
//! ```

use super::chunk_type;
use super::raw::RawChunk;
use crate::build::PacketBuilder;
use crate::error::ChunkError;

/// T: the timestamp is to be echoed.
const STAMPED: u8 = 1;
/// E: the echo is one.
const ECHOES: u8 = 2;

/// Bytes of a TIMESTAMP chunk.
pub const TIMESTAMP_LEN: usize = 12;

/// When a packet was sent, and the timestamp that it echoes. A peer that does not
/// know the type skips it without a report, as its upper two bits say.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Timestamp {
    /// The sender's clock, in a unit that only the sender needs to know.
    pub sent: Option<u32>,
    /// A timestamp of the receiver, echoed.
    pub echo: Option<u32>,
}

impl Timestamp {
    pub(super) fn parse(raw: &RawChunk<'_>) -> Result<Self, ChunkError> {
        let (&[a, b, c, d, e, f, g, h], _) = raw.fixed()?;
        let word = |flag, bytes| (raw.flags & flag != 0).then_some(u32::from_be_bytes(bytes));
        Ok(Timestamp {
            sent: word(STAMPED, [a, b, c, d]),
            echo: word(ECHOES, [e, f, g, h]),
        })
    }
}

impl PacketBuilder<'_> {
    /// Writes a TIMESTAMP. Absent fields are written as zero.
    pub fn timestamp(&mut self, stamp: Timestamp) {
        let flag = |word: Option<u32>, flag| if word.is_some() { flag } else { 0 };
        self.put(
            chunk_type::TIMESTAMP,
            flag(stamp.sent, STAMPED) | flag(stamp.echo, ECHOES),
            &[
                &stamp.sent.unwrap_or(0).to_be_bytes(),
                &stamp.echo.unwrap_or(0).to_be_bytes(),
            ],
        );
    }
}
