//! The failover as explicit state machines (caro-2006 figures 1, 7, 9 and 13;
//! RFC 7829 section 3).
//!
//! An association decides with pure functions of its table of paths
//! ([`failover`](byway_core::policy::failover)); no variable of it is called
//! "phase". The machines here are what those functions amount to:
//! [`Machine::of`] asks them, with the settings at hand, about every table that
//! can come about, and writes down which phase follows upon which. So a machine
//! that is printed cannot differ from what runs. [`figures`] holds the papers'
//! figures as tables, which tests compare with what was found; [`Watcher`]
//! follows a running association along the edges.
//!
//! Letters as in the paper: Di is the primary, Dj the destination in use when
//! it is another, Dk any other one.

mod draw;
mod explore;
pub mod figures;
mod model;
mod page;
mod watch;

pub use draw::{Drawing, Format};
pub use model::{Cause, Edge, Event, Machine, PathEdge, Phase, Role};
pub use page::{names, page, render};
pub use watch::{Strange, Watcher};
