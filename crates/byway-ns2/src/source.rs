//! ns-2's sources of data: an endless one, and one of so many bytes.

use byway_core::{AssocId, Bytes, CommandError, Config, Event, Message};
use byway_sim::host::{AppCtx, Application};
use std::net::SocketAddr;

/// Messages that each make one DATA chunk.
#[derive(Debug)]
pub struct Source {
    peer: Vec<SocketAddr>,
    port: u16,
    config: Config,
    begin: byway_core::time::Instant,
    /// Bytes left; none for an endless source.
    left: Option<u64>,
    message: Bytes,
    streams: u16,
    next_stream: u16,
    unordered: bool,
    /// The association, once it was begun.
    pub assoc: Option<AssocId>,
    /// Why it could not be begun, or took no data.
    pub failure: Option<String>,
}

/// What a source sends.
#[derive(Copy, Clone, Debug)]
pub struct Load {
    /// When it begins.
    pub begin: byway_core::time::Instant,
    /// Bytes in all; none for no end.
    pub bytes: Option<u64>,
    /// Payload bytes of a chunk.
    pub message: u32,
    /// Streams, filled in turn.
    pub streams: u16,
    /// Whether delivery is unordered.
    pub unordered: bool,
}

impl Source {
    /// A source that connects to the peer, whose first address is its primary.
    #[must_use]
    pub fn new(peer: Vec<SocketAddr>, port: u16, config: Config, load: Load) -> Source {
        Source {
            peer,
            port,
            config,
            begin: load.begin,
            left: load.bytes,
            message: vec![0; load.message as usize].into(),
            streams: load.streams.max(1),
            next_stream: 0,
            unordered: load.unordered,
            assoc: None,
            failure: None,
        }
    }

    fn push(&mut self, ctx: &mut AppCtx<'_>, id: AssocId) {
        while self.left != Some(0) {
            let full = self.message.len() as u64;
            let len = self.left.map_or(full, |l| l.min(full));
            let mut message = Message::new(self.next_stream, self.message.slice(..len as usize));
            message.unordered = self.unordered;
            match ctx.endpoint.send(ctx.now, id, message) {
                Ok(()) => {
                    self.left = self.left.map(|l| l - len);
                    self.next_stream = (self.next_stream + 1) % self.streams;
                }
                Err(CommandError::WouldBlock { .. }) => return,
                Err(e) => {
                    self.failure = Some(e.to_string());
                    return;
                }
            }
        }
    }
}

impl Application for Source {
    fn start(&mut self, ctx: &mut AppCtx<'_>) {
        *ctx.timer = Some(self.begin);
    }

    fn on_timer(&mut self, ctx: &mut AppCtx<'_>) {
        let connected = ctx
            .endpoint
            .connect(ctx.now, &self.peer, self.port, self.config.clone());
        match connected {
            Ok(id) => {
                self.assoc = Some(id);
                self.push(ctx, id);
            }
            Err(e) => self.failure = Some(e.to_string()),
        }
    }

    fn on_event(&mut self, ctx: &mut AppCtx<'_>, id: AssocId, event: &Event) {
        if matches!(event, Event::Writable) {
            self.push(ctx, id);
        }
    }
}
