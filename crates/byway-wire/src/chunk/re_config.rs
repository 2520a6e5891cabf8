//! RE-CONFIG: stream resets and stream count changes (RFC 6525 section 3.1).

use super::chunk_type;
use super::raw::RawChunk;
use crate::build::PacketBuilder;
use crate::param::{ParamWriter, Params};

/// One or two requests or responses. Which of them may be combined (RFC 6525
/// section 3.1) is not checked here.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ReConfig<'a> {
    /// The requests and responses.
    pub params: Params<'a>,
}

impl<'a> ReConfig<'a> {
    pub(super) fn parse(raw: &RawChunk<'a>) -> Self {
        ReConfig {
            params: Params::new(raw.value),
        }
    }
}

impl PacketBuilder<'_> {
    /// Writes a RE-CONFIG with what `params` writes.
    pub fn re_config(&mut self, params: impl FnOnce(&mut ParamWriter<'_>)) {
        self.put_params(chunk_type::RE_CONFIG, 0, &[], params);
    }
}
