//! ABORT and ERROR: lists of error causes (RFC 9260 sections 3.3.7 and 3.3.10).

use super::chunk_type;
use super::raw::RawChunk;
use crate::build::PacketBuilder;
use crate::cause::{CauseWriter, Causes};

/// The T bit: the sender has no association, so the verification tag is that of the
/// packet it answers (RFC 9260 section 8.5.1).
pub(super) const TAG_REFLECTED: u8 = 0x01;

/// The association ends now.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Abort<'a> {
    /// T bit: the verification tag is reflected from the receiver's packet.
    pub tag_reflected: bool,
    /// The reasons; often empty.
    pub causes: Causes<'a>,
}

impl<'a> Abort<'a> {
    pub(super) fn parse(raw: &RawChunk<'a>) -> Self {
        Abort {
            tag_reflected: raw.flags & TAG_REFLECTED != 0,
            causes: Causes::new(raw.value),
        }
    }
}

/// Something went wrong, but the association may continue.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ErrorChunk<'a> {
    /// What went wrong.
    pub causes: Causes<'a>,
}

impl<'a> ErrorChunk<'a> {
    pub(super) fn parse(raw: &RawChunk<'a>) -> Self {
        ErrorChunk {
            causes: Causes::new(raw.value),
        }
    }
}

impl PacketBuilder<'_> {
    /// Writes an ABORT with the causes that `causes` writes.
    pub fn abort(&mut self, tag_reflected: bool, causes: impl FnOnce(&mut CauseWriter<'_>)) {
        self.put_causes(
            chunk_type::ABORT,
            u8::from(tag_reflected) * TAG_REFLECTED,
            causes,
        );
    }

    /// Writes an ERROR with the causes that `causes` writes.
    pub fn error(&mut self, causes: impl FnOnce(&mut CauseWriter<'_>)) {
        self.put_causes(chunk_type::ERROR, 0, causes);
    }

    pub(super) fn copy_abort(&mut self, abort: &Abort<'_>) {
        self.raw(
            chunk_type::ABORT,
            u8::from(abort.tag_reflected) * TAG_REFLECTED,
            abort.causes.as_bytes(),
        );
    }
}
