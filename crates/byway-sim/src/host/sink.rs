//! Reads all data that arrives, and records when.

use super::{AppCtx, Application};
use byway_core::time::{Duration, Instant};
use byway_core::{AssocId, Event};

/// Bytes that were read at one time.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The time.
    pub at: Instant,
    /// Payload bytes.
    pub bytes: u64,
}

/// What a receiver saw of its traffic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SinkReport {
    /// The last association that was accepted.
    pub assoc: Option<AssocId>,
    /// Payload bytes read.
    pub bytes: u64,
    /// Complete messages read.
    pub messages: u64,
    /// When the first byte was read.
    pub first_at: Option<Instant>,
    /// When the last byte was read.
    pub last_at: Option<Instant>,
    /// The longest time between two reads.
    pub longest_stall: Duration,
    /// When the longest stall began.
    pub stall_began: Instant,
    /// Every read, if they are kept and until they are [taken](Sink::take_deliveries).
    pub deliveries: Vec<Delivery>,
}

/// A receiver that accepts every association and reads all data.
#[derive(Debug, Default)]
pub struct Sink {
    keep: bool,
    report: SinkReport,
}

impl Sink {
    /// A receiver that keeps totals.
    #[must_use]
    pub fn new() -> Sink {
        Sink::default()
    }

    /// Also keeps every read.
    #[must_use]
    pub fn keep_deliveries(mut self) -> Sink {
        self.keep = true;
        self
    }

    /// What the receiver saw so far.
    #[must_use]
    pub fn report(&self) -> &SinkReport {
        &self.report
    }

    /// The reads that are kept and were not taken before. They are no longer in the report.
    pub fn take_deliveries(&mut self) -> Vec<Delivery> {
        std::mem::take(&mut self.report.deliveries)
    }

    fn read(&mut self, ctx: &mut AppCtx<'_>, id: AssocId) {
        let mut bytes = 0;
        while let Some(m) = ctx.endpoint.receive(id) {
            bytes += m.payload.len() as u64;
            self.report.messages += u64::from(m.last);
        }
        if bytes == 0 {
            return;
        }
        let r = &mut self.report;
        if let Some(last) = r.last_at {
            let stall = ctx.now.since(last);
            if stall > r.longest_stall {
                r.longest_stall = stall;
                r.stall_began = last;
            }
        }
        r.first_at.get_or_insert(ctx.now);
        r.last_at = Some(ctx.now);
        r.bytes += bytes;
        if self.keep {
            r.deliveries.push(Delivery { at: ctx.now, bytes });
        }
    }
}

impl Application for Sink {
    fn on_event(&mut self, ctx: &mut AppCtx<'_>, id: AssocId, event: &Event) {
        match event {
            Event::Up { .. } => self.report.assoc = Some(id),
            Event::Readable => self.read(ctx, id),
            Event::Lost { .. } | Event::ShutdownComplete => self.read(ctx, id),
            _ => {}
        }
    }
}
