//! The applications of a run: one sends the scenario's traffic, one reads it.

use crate::network::instant;
use crate::scenario::Traffic;
use bytes::Bytes;
use byway_core::time::{Duration, Instant};
use byway_core::{AssocId, CommandError, Config, Event, Message};
use byway_sim::host::{AppCtx, Application};
use std::net::SocketAddr;

/// Sends the traffic and keeps the association, so that nothing but the
/// traffic is measured.
pub(crate) struct Source {
    peer: Vec<SocketAddr>,
    port: u16,
    config: Config,
    begin: Instant,
    /// One message; the last may be shorter.
    message: Bytes,
    streams: u16,
    /// Bytes not handed over yet.
    left: u64,
    sent: u64,
    /// Time between two messages, and when the next one is due.
    every: Option<(Duration, Instant)>,
    association: Option<AssocId>,
    up: bool,
    acked: bool,
    ended: Option<Ended>,
}

/// What messages up to this length are cut from: nobody counts who refers to it.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

fn zeros(len: usize) -> Bytes {
    match ZEROS.get(..len) {
        Some(zeros) => Bytes::from_static(zeros),
        None => Bytes::from(vec![0; len]),
    }
}

/// How the sender's association ended before its time.
#[derive(Clone, Debug)]
pub(crate) enum Ended {
    /// It was lost.
    Lost(String),
    /// A command was refused: the scenario asks for the impossible.
    Refused(String),
}

impl Source {
    pub(crate) fn new(
        traffic: &Traffic,
        peer: Vec<SocketAddr>,
        port: u16,
        config: Config,
    ) -> Source {
        let (message, left, streams, start, every) = match *traffic {
            Traffic::Bulk {
                size,
                message,
                streams,
                start,
            } => (message, size.0, streams, start, None),
            Traffic::Periodic {
                message,
                every,
                count,
                streams,
                start,
            } => (
                message,
                message.0.saturating_mul(count),
                streams,
                start,
                Some((every, Instant::ZERO)),
            ),
        };
        Source {
            peer,
            port,
            config,
            begin: instant(start),
            message: zeros(usize::try_from(message.0).unwrap_or(1)),
            streams,
            left,
            sent: 0,
            every,
            association: None,
            up: false,
            acked: false,
            ended: None,
        }
    }

    /// Whether the peer has acknowledged everything.
    pub(crate) fn is_acknowledged(&self) -> bool {
        self.acked
    }

    /// How it ended, if it did.
    pub(crate) fn ended(&self) -> Option<&Ended> {
        self.ended.as_ref()
    }

    fn connect(&mut self, ctx: &mut AppCtx<'_>) {
        match ctx
            .endpoint
            .connect(ctx.now, &self.peer, self.port, self.config.clone())
        {
            Ok(id) => self.association = Some(id),
            Err(e) => self.ended = Some(Ended::Refused(e.to_string())),
        }
    }

    /// Hands over what is due and has room.
    fn supply(&mut self, ctx: &mut AppCtx<'_>) {
        let (true, Some(id)) = (self.up, self.association) else {
            return;
        };
        while self.left > 0 && self.ended.is_none() {
            if let Some((_, due)) = self.every
                && due > ctx.now
            {
                *ctx.timer = Some(due);
                return;
            }
            let len = usize::try_from(self.left)
                .map_or(self.message.len(), |left| left.min(self.message.len()));
            let stream = (self.sent % u64::from(self.streams)) as u16;
            match ctx
                .endpoint
                .send(ctx.now, id, Message::new(stream, self.message.slice(..len)))
            {
                Ok(()) => {}
                // `Writable` follows, or the event that says how it ended.
                Err(
                    CommandError::WouldBlock { .. }
                    | CommandError::Gone
                    | CommandError::ShuttingDown,
                ) => return,
                Err(e) => self.ended = Some(Ended::Refused(e.to_string())),
            }
            self.left -= len as u64;
            self.sent += 1;
            if let Some((every, due)) = &mut self.every {
                *due += *every;
            }
        }
    }
}

impl Application for Source {
    fn start(&mut self, ctx: &mut AppCtx<'_>) {
        if self.begin > ctx.now {
            *ctx.timer = Some(self.begin);
        } else {
            self.connect(ctx);
        }
    }

    fn on_timer(&mut self, ctx: &mut AppCtx<'_>) {
        if self.association.is_none() {
            self.connect(ctx);
        } else {
            self.supply(ctx);
        }
    }

    fn on_event(&mut self, ctx: &mut AppCtx<'_>, _id: AssocId, event: &Event) {
        match event {
            Event::Up { .. } => {
                self.up = true;
                if let Some((_, due)) = &mut self.every {
                    *due = ctx.now;
                }
                self.supply(ctx);
            }
            Event::Writable => self.supply(ctx),
            Event::Drained => self.acked = self.left == 0,
            Event::Lost { reason, .. } => self.ended = Some(Ended::Lost(reason.to_string())),
            _ => {}
        }
    }
}

/// Reads all at once, and remembers when.
#[derive(Default)]
pub(crate) struct Reader {
    /// Times and payload bytes of the readings.
    pub(crate) deliveries: Vec<(Instant, u64)>,
    /// Their sum.
    pub(crate) bytes: u64,
}

impl Application for Reader {
    fn on_event(&mut self, ctx: &mut AppCtx<'_>, id: AssocId, _event: &Event) {
        let mut bytes = 0;
        while let Some(part) = ctx.endpoint.receive(id) {
            bytes += part.payload.len() as u64;
        }
        if bytes > 0 {
            self.deliveries.push((ctx.now, bytes));
            self.bytes += bytes;
        }
    }
}
