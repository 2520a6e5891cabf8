//! What an application on a simulated host may do.

use byway_core::time::Instant;
use byway_core::{AssocId, Endpoint, Event};
use core::any::Any;

/// What an application may use during a call.
#[derive(Debug)]
pub struct AppCtx<'a> {
    /// The time.
    pub now: Instant,
    /// The host's endpoint, for commands.
    pub endpoint: &'a mut Endpoint,
    /// When to call [`Application::on_timer`]; `None` for never. It stays set until it
    /// expires or is set again.
    pub timer: &'a mut Option<Instant>,
}

/// An application on a simulated host. It must depend only on its calls, so that every
/// run is the same.
pub trait Application: Any + Send {
    /// The simulation begins.
    fn start(&mut self, ctx: &mut AppCtx<'_>) {
        let _ = ctx;
    }

    /// Something happened to an association.
    fn on_event(&mut self, ctx: &mut AppCtx<'_>, id: AssocId, event: &Event);

    /// The application's timer expired. It is no longer set.
    fn on_timer(&mut self, ctx: &mut AppCtx<'_>) {
        let _ = ctx;
    }
}

/// Does nothing, for hosts whose endpoints the caller drives.
#[derive(Copy, Clone, Debug, Default)]
pub struct Idle;

impl Application for Idle {
    fn on_event(&mut self, _ctx: &mut AppCtx<'_>, _id: AssocId, _event: &Event) {}
}
