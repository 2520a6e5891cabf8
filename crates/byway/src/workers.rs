//! The workers of an endpoint: each has sockets, associations, a lock and a driver of its own, and so
//! can use a processor of its own.
//!
//! What comes to one goes to the sockets of the worker that has it ([`crate::steering`]). What comes to
//! another one all the same is handed over under the lock of the first: with the program of the
//! kernel these are packets that the kernel has joined to one buffer, or that came to a socket of a
//! busy peer whose other SCTP port they have, and ICMP messages, which no program sees.

use crate::encapsulation::Place;
use crate::icmp::Told;
use crate::shared::Shared;
use crate::steering;
use byway_core::AssocId;
use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// All workers of an endpoint, in their order.
#[derive(Clone, Debug)]
pub(crate) struct Workers(Arc<[Arc<Shared>]>);

impl Deref for Workers {
    type Target = [Arc<Shared>];

    fn deref(&self) -> &[Arc<Shared>] {
        &self.0
    }
}

impl Workers {
    /// At least one.
    pub(crate) fn new(all: Vec<Shared>) -> Workers {
        Workers(all.into_iter().map(Arc::new).collect())
    }

    /// The first one, where all know the same.
    pub(crate) fn first(&self) -> &Shared {
        &self.0[0]
    }

    /// The one with the associations of peers that have this SCTP port.
    pub(crate) fn of_port(&self, port: u16) -> &Arc<Shared> {
        &self.0[steering::worker_of(port, self.len())]
    }

    /// The number of the one that has an association.
    pub(crate) fn number_of(&self, id: AssocId) -> usize {
        id.part(self.len() as u32) as usize
    }

    /// Waits until no driver runs any more.
    pub(crate) fn poll_gone(&self, waker: &Waker) -> Poll<()> {
        let gone = |shared: &Arc<Shared>| shared.with(|state| state.poll_driver_gone(waker));
        match self.iter().all(|shared| gone(shared).is_ready()) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

/// One of the workers.
#[derive(Clone, Debug)]
pub(crate) struct Worker {
    all: Workers,
    number: usize,
}

impl Worker {
    pub(crate) fn new(all: &Workers, number: usize) -> Worker {
        Worker {
            all: all.clone(),
            number,
        }
    }

    /// What it shares with the handles.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.all[self.number]
    }

    /// Whether it is the one that a packet is for.
    #[inline]
    pub(crate) fn has(&self, packet: &[u8]) -> bool {
        let workers = self.all.len();
        workers == 1 || steering::worker_for(packet, workers) == self.number
    }

    /// Passes packets that came to this place to the workers that have them. Not while the lock of
    /// this one is held: another may hand something over in return.
    pub(crate) fn hand_over(&self, place: Place, packets: &[(SocketAddr, &[u8])]) {
        for &(source, packet) in packets {
            let to = &self.all[steering::worker_for(packet, self.all.len())];
            to.with(|state| state.take_over(to.now(), source, place, packet));
        }
    }

    /// Passes what ICMP says of a packet in UDP to the worker that sent it.
    pub(crate) fn told(&self, told: &Told<'_>) {
        let to = &self.all[steering::worker_from(told.quoted, self.all.len())];
        to.with(|state| state.told(to.now(), told));
    }
}
