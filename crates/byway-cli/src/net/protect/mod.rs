//! Who may speak with this side, and that nobody else can read it: tickets, keys, TLS.
//!
//! `to` reads what --to says. `gate` is what a side that waits lets in, `meetings` are those that ask,
//! and `admission` the exchange by which each side finds out about the other. What comes of it is a [`Channel`].

mod admission;
mod args;
mod channel;
mod gate;
mod keys;
mod meetings;
mod offer;
mod to;

pub(super) use admission::{NotAdmitted, admit, enter};
pub(crate) use args::{ClientArgs, GateArgs, Uses};
pub(super) use channel::Channel;
pub(super) use gate::{Gate, Place};
pub(crate) use keys::{EXAMPLES as KEY_EXAMPLES, KeyArgs, key};
pub(super) use offer::Output;
pub(crate) use to::To;
pub(super) use to::{Credentials, Destination};

use byway_tls::Service;

/// What an association is for, and the payload protocol identifier of its messages.
#[derive(Copy, Clone, Debug)]
pub(super) struct Purpose {
    pub(super) service: Service,
    pub(super) ppid: u32,
}

/// Who makes tickets of a service, and who takes them.
fn commands(service: Service) -> (&'static str, &'static str) {
    match service {
        Service::Files => ("byway recv", "byway send"),
        Service::Pipe => ("byway listen", "byway cat"),
        Service::Tunnel => ("byway serve", "byway forward"),
    }
}

/// What plain mode says, on both sides.
pub(super) const PLAIN: &str =
    "not encrypted: whoever is on the way can read and change what is sent";
