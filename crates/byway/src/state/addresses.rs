//! Local addresses come and go.

use super::State;
use crate::encapsulation::{self, Place};
use crate::socket::Socket;
use byway_core::time::Instant;
use std::net::{IpAddr, SocketAddr};

/// Associations that ask for routes under one lock: each question is a system call.
const AT_ONCE: usize = 64;

impl State {
    /// The local addresses.
    pub(crate) fn local_addresses(&self) -> Vec<SocketAddr> {
        encapsulation::addresses(self.local.iter().flatten().copied())
    }

    /// The routes of this host changed: some associations ask for them again, those from the
    /// place `from` on. Returns the place to go on from.
    pub(crate) fn ask_routes_again(&mut self, now: Instant, from: usize) -> Option<usize> {
        self.routes_changed |= from == 0;
        let rest = self.core.ask_routes_again(now, from, AT_ONCE);
        self.call_driver();
        self.dispatch(now);
        rest
    }

    /// These sockets were bound to addresses that came, and those addresses are gone.
    pub(crate) fn change_addresses(&mut self, now: Instant, sockets: Vec<Socket>, gone: &[IpAddr]) {
        let came = encapsulation::addresses(sockets.iter().map(Socket::place));
        if let Err(error) = self.core.change_local_addresses(now, &came, gone) {
            tracing::warn!(%error, "the addresses stay as they are");
            return;
        }
        for (place, local) in self.local.iter_mut().enumerate() {
            if let Some(Place { address, .. }) = *local
                && gone.contains(&address.ip())
            {
                tracing::info!(%address, "an address is gone");
                *local = None;
                // Without its driver they are closed already.
                if !self.driver_gone {
                    self.going.push(place);
                }
            }
        }
        for socket in sockets {
            let came = socket.place();
            tracing::info!(address = %came.address, "an address came");
            let segments = socket.max_segments();
            let place = match self.local.iter().position(Option::is_none) {
                Some(free) => free,
                None => {
                    self.local.push(None);
                    self.outbox.add_socket(segments);
                    self.local.len() - 1
                }
            };
            self.local[place] = Some(came);
            if !self.driver_gone {
                self.coming.push((place, socket));
            }
        }
        self.call_driver();
        self.dispatch(now);
    }
}
