//! Sends traffic over one association: a file, periodic messages, or messages at given
//! times.

use super::{AppCtx, Application};
use byway_core::time::{Duration, Instant};
use byway_core::{AssocId, Bytes, CommandError, Config, Event, LossReason, Message};
use core::net::SocketAddr;
use std::collections::VecDeque;

/// The source of messages. Their content does not matter, and a slice of this costs no
/// allocation.
static PATTERN: [u8; 1 << 16] = {
    let mut p = [0; 1 << 16];
    let mut i = 0;
    while i < p.len() {
        p[i] = (i % 251) as u8;
        i += 1;
    }
    p
};

/// `len` bytes of a fixed pattern, shared if possible.
fn pattern(len: usize) -> Bytes {
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

/// When messages are sent.
#[derive(Clone, Debug)]
enum Schedule {
    /// As fast as the association accepts them.
    Bulk,
    /// One each period, and when the next one is due. The first one is due when the
    /// association is established.
    Periodic { every: Duration, due: Instant },
    /// At these times.
    At(VecDeque<Instant>),
}

/// What the sender saw of its traffic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SenderReport {
    /// The association, once it was started.
    pub assoc: Option<AssocId>,
    /// When the association was established.
    pub up_at: Option<Instant>,
    /// Messages sent.
    pub sent: u64,
    /// Messages that were skipped because the send buffer was full.
    pub skipped: u64,
    /// When the last byte was acknowledged.
    pub acked_at: Option<Instant>,
    /// When the association ended.
    pub ended_at: Option<Instant>,
    /// Why it was lost, if it was.
    pub lost: Option<LossReason>,
    /// Why the association or a message was refused, if it was.
    pub refused: Option<String>,
}

/// The sending application of a host. By default it connects at once and queues messages
/// without delay. It waits while the send buffer is full, and shuts down when all data
/// is acknowledged.
#[derive(Debug)]
pub struct Sender {
    peer: Vec<SocketAddr>,
    port: u16,
    config: Config,
    /// When it connects; `None` means when the simulation starts.
    begin: Option<Instant>,
    schedule: Schedule,
    /// Bytes that are not sent yet; `None` for an endless source.
    left: Option<u64>,
    /// One message. The last one may be shorter.
    message: Bytes,
    streams: u16,
    next_stream: u16,
    unordered: bool,
    /// Whether messages wait until the association is established.
    waits_for_up: bool,
    /// Whether a message is skipped when the send buffer is full.
    skips: bool,
    shuts_down: bool,
    report: SenderReport,
}

impl Sender {
    /// Sends `bytes` in messages of at most `message` bytes to the peer at
    /// these addresses: a file transfer.
    #[must_use]
    pub fn bulk(
        peer: Vec<SocketAddr>,
        port: u16,
        config: Config,
        bytes: u64,
        message: usize,
    ) -> Sender {
        Sender {
            peer,
            port,
            config,
            begin: None,
            schedule: Schedule::Bulk,
            left: Some(bytes),
            message: pattern(message.max(1)),
            streams: 1,
            next_stream: 0,
            unordered: false,
            waits_for_up: false,
            skips: false,
            shuts_down: true,
            report: SenderReport::default(),
        }
    }

    /// Sends messages of `message` bytes without end.
    #[must_use]
    pub fn endless(peer: Vec<SocketAddr>, port: u16, config: Config, message: usize) -> Sender {
        let mut sender = Sender::bulk(peer, port, config, 0, message);
        sender.left = None;
        sender
    }

    /// Sends `count` messages of `message` bytes, one per `every`, like signalling
    /// traffic. The first one leaves when the association is established.
    #[must_use]
    pub fn periodic(
        peer: Vec<SocketAddr>,
        port: u16,
        config: Config,
        message: usize,
        every: Duration,
        count: u64,
    ) -> Sender {
        let bytes = count.saturating_mul(message.max(1) as u64);
        let mut sender = Sender::bulk(peer, port, config, bytes, message);
        let due = Instant::ZERO;
        sender.schedule = Schedule::Periodic { every, due };
        sender.waits_for_up = true;
        sender
    }

    /// Sends a message of `message` bytes at each of `times`, which are sorted. Messages
    /// that are due earlier wait until the association is established.
    #[must_use]
    pub fn at(
        peer: Vec<SocketAddr>,
        port: u16,
        config: Config,
        message: usize,
        times: &[Instant],
    ) -> Sender {
        let bytes = (times.len() as u64).saturating_mul(message.max(1) as u64);
        let mut sender = Sender::bulk(peer, port, config, bytes, message);
        sender.schedule = Schedule::At(times.iter().copied().collect());
        sender.waits_for_up = true;
        sender
    }

    /// Spreads the messages over this number of streams (1), in turn.
    #[must_use]
    pub fn streams(mut self, streams: u16) -> Sender {
        self.streams = streams.max(1);
        self
    }

    /// Begins at this time instead of at the start.
    #[must_use]
    pub fn begin_at(mut self, at: Instant) -> Sender {
        self.begin = Some(at);
        self
    }

    /// Asks for unordered delivery.
    #[must_use]
    pub fn unordered(mut self, unordered: bool) -> Sender {
        self.unordered = unordered;
        self
    }

    /// Sends nothing before the association is established.
    #[must_use]
    pub fn wait_for_up(mut self) -> Sender {
        self.waits_for_up = true;
        self
    }

    /// Skips a message if the send buffer is full at its time.
    #[must_use]
    pub fn skip_when_full(mut self) -> Sender {
        self.skips = true;
        self
    }

    /// Does not shut the association down when all data is acknowledged.
    #[must_use]
    pub fn keep_open(mut self) -> Sender {
        self.shuts_down = false;
        self
    }

    /// What the sender saw so far.
    #[must_use]
    pub fn report(&self) -> &SenderReport {
        &self.report
    }

    fn connect(&mut self, ctx: &mut AppCtx<'_>) {
        let connected = ctx
            .endpoint
            .connect(ctx.now, &self.peer, self.port, self.config.clone());
        match connected {
            Ok(id) => {
                self.report.assoc = Some(id);
                self.supply(ctx);
            }
            Err(e) => {
                self.report.refused = Some(e.to_string());
                self.report.ended_at = Some(ctx.now);
            }
        }
    }

    /// When the next message is due; `None` for at once.
    fn due(&self) -> Option<Instant> {
        match &self.schedule {
            Schedule::Bulk => None,
            Schedule::Periodic { due, .. } => Some(*due),
            Schedule::At(times) => times.front().copied(),
        }
    }

    /// The message that was due has been sent or skipped.
    fn pass(&mut self, len: usize) {
        self.left = self.left.map(|left| left - len as u64);
        match &mut self.schedule {
            Schedule::Bulk => {}
            Schedule::Periodic { every, due } => *due += *every,
            Schedule::At(times) => drop(times.pop_front()),
        }
    }

    /// Sends the messages that are due and fit the send buffer.
    fn supply(&mut self, ctx: &mut AppCtx<'_>) {
        let Some(id) = self.report.assoc else { return };
        let waits = self.waits_for_up && self.report.up_at.is_none();
        if waits || self.report.ended_at.is_some() {
            return;
        }
        while self.left != Some(0) && self.report.refused.is_none() {
            if let Some(due) = self.due()
                && due > ctx.now
            {
                *ctx.timer = Some(due);
                return;
            }
            let full = self.message.len();
            let len = self
                .left
                .map_or(full, |left| left.min(full as u64) as usize);
            let mut message = Message::new(self.next_stream, self.message.slice(..len));
            message.unordered = self.unordered;
            match ctx.endpoint.send(ctx.now, id, message) {
                Ok(()) => {
                    self.report.sent += 1;
                    self.next_stream += 1;
                    if self.next_stream >= self.streams {
                        self.next_stream = 0;
                    }
                }
                Err(CommandError::WouldBlock { .. }) if self.skips => self.report.skipped += 1,
                // `Writable` follows, or an event that says why the association ended.
                Err(
                    CommandError::WouldBlock { .. }
                    | CommandError::Gone
                    | CommandError::ShuttingDown,
                ) => return,
                // Only an invalid scenario can cause this.
                Err(e) => self.report.refused = Some(e.to_string()),
            }
            self.pass(len);
        }
    }
}

impl Application for Sender {
    fn start(&mut self, ctx: &mut AppCtx<'_>) {
        match self.begin {
            Some(_) => *ctx.timer = self.begin,
            None => self.connect(ctx),
        }
    }

    fn on_timer(&mut self, ctx: &mut AppCtx<'_>) {
        match self.report.assoc {
            None => self.connect(ctx),
            Some(_) => self.supply(ctx),
        }
    }

    fn on_event(&mut self, ctx: &mut AppCtx<'_>, id: AssocId, event: &Event) {
        match event {
            Event::Up { .. } => {
                self.report.up_at = Some(ctx.now);
                if let Schedule::Periodic { due, .. } = &mut self.schedule {
                    *due = ctx.now;
                }
                if self.waits_for_up {
                    self.supply(ctx);
                }
            }
            Event::Writable => self.supply(ctx),
            // One SACK may have told of room first, so that more was sent since.
            Event::Drained if ctx.endpoint.buffered(id) != Some(0) => {}
            Event::Drained if self.left == Some(0) && self.report.acked_at.is_none() => {
                self.report.acked_at = Some(ctx.now);
                if self.shuts_down {
                    // An error means that the association has ended already.
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
