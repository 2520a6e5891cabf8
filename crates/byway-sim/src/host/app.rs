//! What an application on a simulated host may do.

use byway_core::time::Instant;
use byway_core::{AssocId, Endpoint, Event};
use core::any::Any;

/// What an application works with while it is called.
#[derive(Debug)]
pub struct AppCtx<'a> {
    /// The time.
    pub now: Instant,
    /// The host's endpoint: commands may be given to it.
    pub endpoint: &'a mut Endpoint,
    /// When [`Application::on_timer`] is to be called; none for never. Stays as
    /// it is until it fires or is set again.
    pub timer: &'a mut Option<Instant>,
}

/// An application on a simulated host. All that it does follows from what it is
/// told, so a run repeats.
pub trait Application: Any + Send {
    /// The simulation begins.
    fn start(&mut self, ctx: &mut AppCtx<'_>) {
        let _ = ctx;
    }

    /// Something happened to an association.
    fn on_event(&mut self, ctx: &mut AppCtx<'_>, id: AssocId, event: &Event);

    /// The application's timer fired; it is unset now.
    fn on_timer(&mut self, ctx: &mut AppCtx<'_>) {
        let _ = ctx;
    }
}

/// Does nothing: for hosts that are driven from outside.
#[derive(Copy, Clone, Debug, Default)]
pub struct Idle;

impl Application for Idle {
    fn on_event(&mut self, _ctx: &mut AppCtx<'_>, _id: AssocId, _event: &Event) {}
}
