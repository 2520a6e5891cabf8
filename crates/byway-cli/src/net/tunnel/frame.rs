//! How TCP connections travel: frames, one in each SCTP message.
//!
//! Each message has the payload protocol identifier [`PPID`], is ordered, and begins with a byte that
//! names the frame and with the number of the connection, big-endian. The side that listens for TCP
//! opens connections and numbers them from 1 on; a number is not used again in an association. All
//! frames of a connection take the stream on which its OPEN came.
//!
//! ```text
//! forward                                     serve
//! OPEN target              --->               connects to the target
//! DATA bytes               --->               DATA need not wait for the answer
//!                          <---  OPENED       or  RESET cause, why
//!                          <---  DATA bytes
//! WINDOW_UPDATE bytes      --->               so much more may come
//! END                      --->               this direction has ended (a FIN of TCP)
//!                          <---  END
//! ```
//! RESET ends a connection at once, in both directions, from either side; what follows under its number
//! is ignored. It has a byte for its [`Cause`] and a text for people. Each direction has a window of its own (the idea and the names are HTTP/2's, RFC 9113
//! section 5.2), so that a connection whose reader stands still does not stop the others.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// Payload protocol identifier: "byt" and version 1.
pub(super) const PPID: u32 = 0x6279_7401;
/// Most bytes of a DATA frame.
pub(super) const BLOCK: usize = 16 * 1024;
/// Bytes before what a frame carries.
pub(super) const HEADER: usize = 5;
/// Bytes of a window that a DATA frame takes beyond its own: what small frames cost in memory.
pub(super) const FRAME_COST: u32 = 128;
/// The window of each direction when a connection is opened.
pub(super) const FIRST_WINDOW: u32 = 64 * 1024;
/// Longest target, and longest reason.
const LONGEST_TEXT: usize = 300;

const OPEN: u8 = 1;
const OPENED: u8 = 2;
const DATA: u8 = 3;
const WINDOW_UPDATE: u8 = 4;
const END: u8 = 5;
const RESET: u8 = 6;

/// What a frame says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// Connect to this target, HOST:PORT; to the only one that is allowed, if empty.
    Open(String),
    /// The target has accepted the connection.
    Opened,
    /// Bytes of the connection, at least one.
    Data(Bytes),
    /// The window has grown by so many bytes.
    WindowUpdate(u32),
    /// No more bytes come in this direction.
    End,
    /// The connection has failed.
    Reset(Reset),
}

/// Why a connection has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reset {
    /// For programs.
    pub(super) cause: Cause,
    /// For people.
    pub(super) why: String,
}

impl Reset {
    pub(super) fn new(cause: Cause, why: impl Into<String>) -> Reset {
        let why = why.into();
        Reset { cause, why }
    }
}

/// The cause of a RESET.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Cause {
    /// None of the others, or one that this version does not know.
    Failed = 0,
    /// No rule allows the target.
    NotAllowed = 1,
    /// Its name has no address.
    UnknownHost = 2,
    /// There is no route to its network.
    NetworkUnreachable = 3,
    /// Its network does not reach it.
    HostUnreachable = 4,
    /// It does not accept connections at this port.
    Refused = 5,
    /// It did not answer in time.
    TimedOut = 6,
    /// There are too many connections.
    Busy = 7,
}

impl Cause {
    fn of(byte: u8) -> Cause {
        let all = [
            Cause::NotAllowed,
            Cause::UnknownHost,
            Cause::NetworkUnreachable,
            Cause::HostUnreachable,
            Cause::Refused,
            Cause::TimedOut,
            Cause::Busy,
        ];
        let known = all.into_iter().find(|cause| *cause as u8 == byte);
        known.unwrap_or(Cause::Failed)
    }
}

impl Frame {
    /// The message of this frame of a connection.
    pub(super) fn encode(&self, connection: u32) -> Bytes {
        let mut out = BytesMut::with_capacity(64);
        match self {
            Frame::Open(target) => {
                header(&mut out, OPEN, connection);
                out.put_slice(cut(target).as_bytes());
            }
            Frame::Opened => header(&mut out, OPENED, connection),
            Frame::Data(bytes) => {
                header(&mut out, DATA, connection);
                out.put_slice(bytes);
            }
            Frame::WindowUpdate(more) => {
                header(&mut out, WINDOW_UPDATE, connection);
                out.put_u32(*more);
            }
            Frame::End => header(&mut out, END, connection),
            Frame::Reset(reset) => {
                header(&mut out, RESET, connection);
                out.put_u8(reset.cause as u8);
                out.put_slice(cut(&reset.why).as_bytes());
            }
        }
        out.freeze()
    }

    /// Reads a message: the connection's number and the frame.
    ///
    /// # Errors
    /// What is wrong with it. An association on which such a message came is aborted.
    pub(super) fn decode(mut message: Bytes) -> Result<(u32, Frame), String> {
        if message.len() < HEADER {
            return Err(format!("a frame of {} bytes", message.len()));
        }
        let kind = message.get_u8();
        let connection = message.get_u32();
        let frame = match kind {
            OPEN => Frame::Open(text(&message)?),
            DATA if message.is_empty() => return Err("a DATA frame without bytes".to_owned()),
            DATA if message.len() > BLOCK => {
                return Err(format!("a DATA frame of {} bytes", message.len()));
            }
            DATA => Frame::Data(message),
            WINDOW_UPDATE if message.len() == 4 => Frame::WindowUpdate(message.get_u32()),
            OPENED if message.is_empty() => Frame::Opened,
            END if message.is_empty() => Frame::End,
            RESET if !message.is_empty() => {
                let cause = Cause::of(message.get_u8());
                Frame::Reset(Reset::new(cause, text(&message)?))
            }
            OPENED | END | WINDOW_UPDATE | RESET => {
                return Err(format!("a frame {kind} of {} bytes", message.len()));
            }
            _ => return Err(format!("an unknown frame {kind}")),
        };
        Ok((connection, frame))
    }
}

/// Begins a DATA frame; its bytes follow.
pub(super) fn begin_data(out: &mut BytesMut, connection: u32) {
    header(out, DATA, connection);
}

/// What a DATA frame of so many bytes takes of the window.
pub(super) fn cost(bytes: usize) -> u32 {
    // At most a block: see `decode`.
    bytes as u32 + FRAME_COST
}

fn header(out: &mut BytesMut, kind: u8, connection: u32) {
    out.put_u8(kind);
    out.put_u32(connection);
}

fn text(bytes: &[u8]) -> Result<String, String> {
    if bytes.len() > LONGEST_TEXT {
        return Err(format!("a text of {} bytes", bytes.len()));
    }
    String::from_utf8(bytes.to_vec()).map_err(|_| "a text that is not UTF-8".to_owned())
}

/// The beginning that fits.
fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST_TEXT)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_as_they_were_written() {
        for frame in [
            Frame::Open("db.example:5432".to_owned()),
            Frame::Open(String::new()),
            Frame::Opened,
            Frame::Data(Bytes::from_static(b"x")),
            Frame::Data(vec![7; BLOCK].into()),
            Frame::WindowUpdate(u32::MAX),
            Frame::End,
            Frame::Reset(Reset::new(Cause::Refused, "Connection refused")),
            Frame::Reset(Reset::new(Cause::Failed, "")),
        ] {
            assert_eq!(Frame::decode(frame.encode(9)), Ok((9, frame)));
        }
    }

    #[test]
    fn what_no_peer_of_ours_sends_is_refused() {
        for (bytes, why) in [
            (&[][..], "a frame of 0 bytes"),
            (&[DATA, 0, 0, 0], "a frame of 4 bytes"),
            (&[DATA, 0, 0, 0, 1], "a DATA frame without bytes"),
            (&[0, 0, 0, 0, 1], "an unknown frame 0"),
            (&[WINDOW_UPDATE, 0, 0, 0, 1, 9], "a frame 4 of 1 bytes"),
            (&[END, 0, 0, 0, 1, 9], "a frame 5 of 1 bytes"),
            (&[RESET, 0, 0, 0, 1], "a frame 6 of 0 bytes"),
            (&[RESET, 0, 0, 0, 1, 0, 0xff], "a text that is not UTF-8"),
        ] {
            let found = Frame::decode(Bytes::copy_from_slice(bytes));
            assert_eq!(found, Err(why.to_owned()), "{bytes:?}");
        }
        let mut long = vec![DATA, 0, 0, 0, 1];
        long.resize(HEADER + BLOCK + 1, 0);
        assert!(Frame::decode(long.into()).is_err());
        let mut wordy = vec![OPEN, 0, 0, 0, 1];
        wordy.resize(HEADER + LONGEST_TEXT + 1, b'a');
        assert!(Frame::decode(wordy.into()).is_err());
    }

    #[test]
    fn a_long_reason_is_cut_between_characters() {
        let reset = |length| Frame::Reset(Reset::new(Cause::Busy, "ü".repeat(length)));
        let (_, frame) = Frame::decode(reset(LONGEST_TEXT).encode(1)).unwrap();
        assert_eq!(frame, reset(LONGEST_TEXT / 2));
    }

    #[test]
    fn causes_keep_their_numbers_and_new_ones_are_failures() {
        for byte in 0..=255 {
            let cause = Cause::of(byte);
            let known = cause as u8 == byte;
            assert_eq!(known, byte <= 7, "{byte}");
            assert!(known || cause == Cause::Failed);
        }
    }
}
