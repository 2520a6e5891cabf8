//! Sends a small message each so often: signalling traffic (cortes-2008 sends
//! 40 bytes each 100 ms).

use super::bulk::pattern;
use super::{AppCtx, Application};
use byway_core::time::{Duration, Instant};
use byway_core::{AssocId, CommandError, Config, Event, LossReason, Message};
use core::net::SocketAddr;

/// What became of the traffic, as its sender saw it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeriodicReport {
    /// The association, once it was begun.
    pub assoc: Option<AssocId>,
    /// When the association stood.
    pub up_at: Option<Instant>,
    /// Messages handed over.
    pub sent: u64,
    /// Messages that the send buffer had no room for.
    pub refused: u64,
    /// When the last byte was acknowledged, after the last message.
    pub acked_at: Option<Instant>,
    /// When the association had ended.
    pub ended_at: Option<Instant>,
    /// Why it was lost, if it was.
    pub lost: Option<LossReason>,
}

/// A sender of periodic messages.
#[derive(Debug)]
pub struct Periodic {
    peer: Vec<SocketAddr>,
    port: u16,
    config: Config,
    bytes: usize,
    every: Duration,
    count: u64,
    report: PeriodicReport,
}

impl Periodic {
    /// Sends `count` messages of `bytes` bytes, one each `every`, then shuts
    /// down.
    #[must_use]
    pub fn new(
        peer: Vec<SocketAddr>,
        port: u16,
        config: Config,
        bytes: usize,
        every: Duration,
        count: u64,
    ) -> Periodic {
        Periodic {
            peer,
            port,
            config,
            bytes: bytes.max(1),
            every,
            count,
            report: PeriodicReport::default(),
        }
    }

    /// What became of it.
    #[must_use]
    pub fn report(&self) -> &PeriodicReport {
        &self.report
    }
}

impl Application for Periodic {
    fn start(&mut self, ctx: &mut AppCtx<'_>) {
        match ctx
            .endpoint
            .connect(ctx.now, &self.peer, self.port, self.config.clone())
        {
            Ok(id) => self.report.assoc = Some(id),
            Err(e) => {
                self.report.lost = Some(LossReason::Refused(e.to_string()));
                self.report.ended_at = Some(ctx.now);
            }
        }
    }

    fn on_timer(&mut self, ctx: &mut AppCtx<'_>) {
        let Some(id) = self.report.assoc else { return };
        if self.report.ended_at.is_some() || self.report.sent + self.report.refused >= self.count {
            return;
        }
        match ctx
            .endpoint
            .send(ctx.now, id, Message::new(0, pattern(self.bytes)))
        {
            Ok(()) => self.report.sent += 1,
            Err(CommandError::WouldBlock { .. }) => self.report.refused += 1,
            Err(_) => return,
        }
        if self.report.sent + self.report.refused < self.count {
            *ctx.timer = Some(ctx.now + self.every);
        }
    }

    fn on_event(&mut self, ctx: &mut AppCtx<'_>, id: AssocId, event: &Event) {
        match event {
            Event::Up { .. } => {
                self.report.up_at = Some(ctx.now);
                *ctx.timer = Some(ctx.now);
            }
            Event::Drained if self.report.sent + self.report.refused >= self.count => {
                self.report.acked_at = Some(ctx.now);
                // It may be on its way out already; that is as good.
                let _ = ctx.endpoint.shutdown(ctx.now, id);
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
