//! Sealed messages.
//!
//! ```text
//! 1   kind: 0 data, 1 end, 2 request or answer
//! 1   generation of the keys, modulo 256
//!     the message, encrypted
//! 16  tag
//! ```
//! The first two bytes are authenticated. The nonce is that of multipath QUIC
//! (draft-ietf-quic-multipath section 2.4): the number of the stream in place of the path, and how many
//! messages were sealed on that stream before. Neither is sent: a stream keeps its order, so both
//! sides know them, and a message that was changed, left out, repeated or moved to another stream does
//! not open. Nothing is shared between streams, so none waits for another.

use crate::error::{OpenError, SealError};
use bytes::{BufMut, Bytes, BytesMut};
use rustls::quic::{PacketKey, Secrets};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Payload protocol identifier of sealed messages: "bye" and version 1.
pub const SEALED_PPID: u32 = 0x6279_6501;
/// Bytes that a sealed message is longer than what it carries.
pub const OVERHEAD: usize = HEADER + TAG;

const HEADER: usize = 2;
const TAG: usize = 16;

const DATA: u8 = 0;
const END: u8 = 1;
const ADMISSION: u8 = 2;

/// What a sealed message carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opened {
    /// A message of the user.
    Data(Bytes),
    /// A [`Request`](crate::Request) or an [`Answer`](crate::Answer).
    Admission(Bytes),
    /// Nothing more comes on this stream. [`Opener::is_complete`] says whether all came.
    End,
}

/// How many messages there were on each stream.
#[derive(Default)]
struct Counts {
    /// On stream 0, which handshakes and files take alone: most associations need no map.
    first: u64,
    others: HashMap<u16, u64>,
}

impl Counts {
    fn of(&self, stream: u16) -> u64 {
        match stream {
            0 => self.first,
            _ => self.others.get(&stream).copied().unwrap_or(0),
        }
    }

    /// One more.
    fn add(&mut self, stream: u16) {
        match stream {
            0 => self.first += 1,
            _ => *self.others.entry(stream).or_default() += 1,
        }
    }
}

/// Seals what one side sends.
pub struct Sealer {
    /// None while it [rests](Sealer::rest).
    key: Option<Box<dyn PacketKey>>,
    /// What the next keys come from: one copy with the [`Opener`], until one of them has used it.
    next: Arc<Secrets>,
    generation: u8,
    /// Messages sealed with this key, sent or not.
    with_key: u64,
    /// So many are sealed with one key.
    limit: u64,
    /// Messages that were sent on each stream.
    sent: Counts,
    total: u64,
    ended: bool,
}

impl Sealer {
    pub(crate) fn new(key: Box<dyn PacketKey>, next: Arc<Secrets>) -> Sealer {
        // Half of what the cipher allows (RFC 9001 section 6.6): 2^22 messages with AES-GCM.
        let limit = key.confidentiality_limit() / 2;
        Sealer {
            key: Some(key),
            next,
            generation: 0,
            with_key: 0,
            limit,
            sent: Counts::default(),
            total: 0,
            ended: false,
        }
    }

    /// Seals the next message of a stream. It must be sent before another one of this stream, and then
    /// [`Sealer::sent`] must be called; or it must be thrown away, and never leave this process: the next
    /// one takes its number.
    ///
    /// # Errors
    /// When the message is too long, or the end was sealed.
    pub fn seal(&mut self, stream: u16, payload: &[u8]) -> Result<Bytes, SealError> {
        self.seal_as(DATA, stream, payload)
    }

    /// Seals a request or an answer, as [`Sealer::seal`].
    ///
    /// # Errors
    /// As [`Sealer::seal`].
    pub fn seal_admission(&mut self, payload: &[u8]) -> Result<Bytes, SealError> {
        self.seal_as(ADMISSION, 0, payload)
    }

    /// Seals the end, for stream 0: it says how many messages were sent on all streams.
    ///
    /// # Errors
    /// As [`Sealer::seal`].
    pub fn seal_end(&mut self) -> Result<Bytes, SealError> {
        let total = self.total.to_be_bytes();
        let sealed = self.seal_as(END, 0, &total)?;
        self.ended = true;
        Ok(sealed)
    }

    /// The next message has the next keys.
    #[cfg(test)]
    pub(crate) fn turn_keys(&mut self) {
        self.with_key = self.limit;
    }

    /// Gives up the key, some 600 bytes, until a message is sealed again; that one has the next keys. For a side
    /// that may have nothing to say for long: thousands of associations wait in a receiver.
    pub fn rest(&mut self) {
        self.key = None;
    }

    /// The message that was sealed last on this stream has been sent.
    pub fn sent(&mut self, stream: u16) {
        self.sent.add(stream);
        self.total += 1;
    }

    fn seal_as(&mut self, kind: u8, stream: u16, payload: &[u8]) -> Result<Bytes, SealError> {
        if self.ended {
            return Err(SealError::AfterEnd);
        }
        let key = match &self.key {
            Some(key) if self.with_key < self.limit => key,
            _ => {
                let next = Arc::make_mut(&mut self.next).next_packet_keys().local;
                self.generation = self.generation.wrapping_add(1);
                self.with_key = 0;
                self.key.insert(next)
            }
        };
        self.with_key += 1;
        let number = self.sent.of(stream);
        let mut out = BytesMut::with_capacity(payload.len() + OVERHEAD);
        out.put_slice(&[kind, self.generation]);
        out.put_slice(payload);
        let (header, body) = out.split_at_mut(HEADER);
        let tag = key
            .encrypt_in_place_for_path(stream.into(), number, header, body)
            .map_err(|_| SealError::TooLong(payload.len()))?;
        out.put_slice(tag.as_ref());
        Ok(out.freeze())
    }
}

/// Opens what the other side has sealed.
pub struct Opener {
    /// Of this generation, of the one before, and what the next ones come from.
    key: Box<dyn PacketKey>,
    before: Option<Box<dyn PacketKey>>,
    next: Arc<Secrets>,
    generation: u8,
    /// Messages that were opened on each stream.
    opened: Counts,
    total: u64,
    /// What the end says.
    end: Option<u64>,
}

impl Opener {
    pub(crate) fn new(key: Box<dyn PacketKey>, next: Arc<Secrets>) -> Opener {
        Opener {
            key,
            before: None,
            next,
            generation: 0,
            opened: Counts::default(),
            total: 0,
            end: None,
        }
    }

    /// Opens the next message of a stream.
    ///
    /// # Errors
    /// When it is not what the peer sealed next on this stream. Nothing may be believed of the
    /// association after that.
    pub fn open(&mut self, stream: u16, message: &[u8]) -> Result<Opened, OpenError> {
        let short = OpenError::Short(message.len());
        let (header, body) = message.split_at_checked(HEADER).ok_or(short.clone())?;
        if body.len() < TAG {
            return Err(short);
        }
        let [kind, generation] = [header[0], header[1]];
        if kind > ADMISSION || stream != 0 && kind != DATA {
            return Err(OpenError::Kind(kind));
        }
        if self
            .end
            .is_some_and(|total| stream == 0 || self.total > total)
        {
            return Err(OpenError::AfterEnd);
        }
        let number = self.opened.of(stream);
        let mut body = BytesMut::from(body);
        let place = (stream, number);
        let length = if generation == self.generation {
            decrypt(&*self.key, place, header, &mut body)?
        } else if generation == self.generation.wrapping_add(1) {
            self.turn(place, header, &mut body)?
        } else if generation == self.generation.wrapping_sub(1)
            && let Some(before) = &self.before
        {
            // Another stream was faster.
            decrypt(&**before, place, header, &mut body)?
        } else {
            return Err(OpenError::Generation);
        };
        body.truncate(length);
        self.opened.add(stream);
        self.total += 1;
        self.read(kind, body.freeze())
    }

    fn read(&mut self, kind: u8, body: Bytes) -> Result<Opened, OpenError> {
        Ok(match kind {
            DATA => Opened::Data(body),
            ADMISSION => Opened::Admission(body),
            _ => {
                let total = body.as_ref().try_into().map(u64::from_be_bytes);
                self.end = Some(total.map_err(|_| OpenError::Kind(kind))?);
                Opened::End
            }
        })
    }

    /// The first message with the next keys: they are taken if it opens.
    fn turn(
        &mut self,
        place: (u16, u64),
        header: &[u8],
        body: &mut BytesMut,
    ) -> Result<usize, OpenError> {
        let mut next = Secrets::clone(&self.next);
        let key = next.next_packet_keys().remote;
        let length = decrypt(&*key, place, header, body)?;
        self.before = Some(std::mem::replace(&mut self.key, key));
        self.next = Arc::new(next);
        self.generation = self.generation.wrapping_add(1);
        Ok(length)
    }

    /// Whether the peer has said that it ends, and all that it sent before has come.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.end == Some(self.total.saturating_sub(1))
    }
}

fn decrypt(
    key: &dyn PacketKey,
    (stream, number): (u16, u64),
    header: &[u8],
    body: &mut [u8],
) -> Result<usize, OpenError> {
    let opened = key.decrypt_in_place_for_path(stream.into(), number, header, body);
    opened.map(<[u8]>::len).map_err(|_| OpenError::Forged)
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealer({} sent)", self.total)
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Opener({} opened)", self.total)
    }
}

#[cfg(test)]
#[path = "seal_tests.rs"]
mod tests;
