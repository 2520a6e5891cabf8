//! Sends so many bytes as fast as the association takes them, then shuts down:
//! the papers' file transfer.

use super::{AppCtx, Application};
use byway_core::time::Instant;
use byway_core::{AssocId, Bytes, CommandError, Config, Event, LossReason, Message};
use core::net::SocketAddr;

/// What messages are cut from; their bytes do not matter, only that none of
/// them costs an allocation.
static PATTERN: [u8; 1 << 16] = {
    let mut p = [0; 1 << 16];
    let mut i = 0;
    while i < p.len() {
        p[i] = (i % 251) as u8;
        i += 1;
    }
    p
};

/// `len` bytes of a fixed pattern, shared as far as possible.
pub(super) fn pattern(len: usize) -> Bytes {
    if len <= PATTERN.len() {
        Bytes::from_static(&PATTERN[..len])
    } else {
        let mut all = Vec::with_capacity(len);
        while all.len() < len {
            all.extend_from_slice(&PATTERN[..(len - all.len()).min(PATTERN.len())]);
        }
        all.into()
    }
}

/// What became of a transfer, as its sender saw it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BulkReport {
    /// The association, once it was begun.
    pub assoc: Option<AssocId>,
    /// When the association stood.
    pub up_at: Option<Instant>,
    /// When the last byte was acknowledged.
    pub acked_at: Option<Instant>,
    /// When the association had ended.
    pub ended_at: Option<Instant>,
    /// Why it was lost, if it was.
    pub lost: Option<LossReason>,
}

/// The sender of a bulk transfer.
#[derive(Debug)]
pub struct Bulk {
    peer: Vec<SocketAddr>,
    port: u16,
    config: Config,
    begin: Instant,
    left: u64,
    message: usize,
    streams: u16,
    next_stream: u16,
    shut_down: bool,
    report: BulkReport,
}

impl Bulk {
    /// Sends `bytes` in messages of at most `message` bytes to the peer at
    /// these addresses.
    #[must_use]
    pub fn new(
        peer: Vec<SocketAddr>,
        port: u16,
        config: Config,
        bytes: u64,
        message: usize,
    ) -> Bulk {
        Bulk {
            peer,
            port,
            config,
            begin: Instant::ZERO,
            left: bytes,
            message: message.max(1),
            streams: 1,
            next_stream: 0,
            shut_down: true,
            report: BulkReport::default(),
        }
    }

    /// Spreads the messages over so many streams (1).
    #[must_use]
    pub fn streams(mut self, streams: u16) -> Bulk {
        self.streams = streams.max(1);
        self
    }

    /// Begins at this time instead of at the start.
    #[must_use]
    pub fn begin_at(mut self, at: Instant) -> Bulk {
        self.begin = at;
        self
    }

    /// Keeps the association when all is acknowledged.
    #[must_use]
    pub fn keep_open(mut self) -> Bulk {
        self.shut_down = false;
        self
    }

    /// What became of it.
    #[must_use]
    pub fn report(&self) -> &BulkReport {
        &self.report
    }

    fn connect(&mut self, ctx: &mut AppCtx<'_>) {
        let id = ctx
            .endpoint
            .connect(ctx.now, &self.peer, self.port, self.config.clone());
        match id {
            Ok(id) => {
                self.report.assoc = Some(id);
                self.push(ctx, id);
            }
            Err(e) => {
                self.report.lost = Some(LossReason::Refused(e.to_string()));
                self.report.ended_at = Some(ctx.now);
            }
        }
    }

    fn push(&mut self, ctx: &mut AppCtx<'_>, id: AssocId) {
        while self.left > 0 {
            let len = self.left.min(self.message as u64) as usize;
            let message = Message::new(self.next_stream, pattern(len));
            match ctx.endpoint.send(ctx.now, id, message) {
                Ok(()) => {
                    self.left -= len as u64;
                    self.next_stream += 1;
                    if self.next_stream >= self.streams {
                        self.next_stream = 0;
                    }
                }
                Err(CommandError::WouldBlock { .. }) => return,
                Err(e) => {
                    // Only a scenario that asks for the impossible comes here.
                    self.report.lost = Some(LossReason::Refused(e.to_string()));
                    self.left = 0;
                }
            }
        }
    }
}

impl Application for Bulk {
    fn start(&mut self, ctx: &mut AppCtx<'_>) {
        if self.begin > ctx.now {
            *ctx.timer = Some(self.begin);
        } else {
            self.connect(ctx);
        }
    }

    fn on_timer(&mut self, ctx: &mut AppCtx<'_>) {
        self.connect(ctx);
    }

    fn on_event(&mut self, ctx: &mut AppCtx<'_>, id: AssocId, event: &Event) {
        match event {
            Event::Up { .. } => self.report.up_at = Some(ctx.now),
            Event::Writable => self.push(ctx, id),
            Event::Drained if self.left == 0 && self.report.acked_at.is_none() => {
                self.report.acked_at = Some(ctx.now);
                if self.shut_down {
                    // It may be on its way out already; that is as good.
                    let _ = ctx.endpoint.shutdown(ctx.now, id);
                }
            }
            Event::Lost { reason, .. } => {
                self.report.ended_at = Some(ctx.now);
                self.report.lost = Some(reason.clone());
            }
            Event::ShutdownComplete => self.report.ended_at = Some(ctx.now),
            _ => {}
        }
    }
}
