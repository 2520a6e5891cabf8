//! The task that moves datagrams between the sockets and the core of one worker.
//!
//! One turn: receive a batch from every socket, first from those of busy peers, pass it to
//! the core buffer by buffer, run expired timers, gather the core's packets into batches, and
//! send these. The lock is held for one buffer, a few small ones or one fill at a time and
//! never during a system call, so that handles on other threads get their turn.

use crate::batch::Batch;
use crate::busy_peers::BusyPeers;
use crate::cards::Cards;
use crate::icmp::Told;
use crate::quoted::{self, Quoted};
use crate::refused::{self, Refused};
use crate::shared::Shared;
use crate::socket::{Received, Socket};
use crate::socket_queue::SocketQueue;
use crate::state::Source;
use crate::strangers::Strangers;
use crate::watcher::{Passing, Watcher};
use crate::workers::Worker;
use byway_core::time::Instant;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::Sleep;

/// Turns in a row before the driver yields to other tasks of the runtime.
const TURNS: usize = 8;

/// While busy peers send, the socket that all share is read in one turn of so many. What a
/// flood sends beyond that is dropped by the kernel, which costs this process nothing.
const STRANGERS_EVERY: u32 = 4;

/// Buffers of at most so many bytes together are passed to the core under one lock: small
/// packets, such as those of a flood.
const LITTLE: usize = 16 << 10;

/// How long a socket is not read after a receive error, so that a permanent error
/// does not keep a processor busy.
const REST: Duration = Duration::from_millis(100);

/// A socket and the batches that wait for it.
struct Port {
    socket: Socket,
    busy: BusyPeers,
    /// Turns in a row in which busy peers had sent something.
    passed: u32,
    strangers: Strangers,
    /// Strangers sent more than is read when it was looked at last.
    flooded: bool,
    queue: SocketQueue,
    resting: Option<Pin<Box<Sleep>>>,
}

impl Port {
    fn new(socket: Socket) -> Port {
        Port {
            socket,
            busy: BusyPeers::default(),
            passed: 0,
            strangers: Strangers::new(),
            flooded: false,
            queue: SocketQueue::default(),
            resting: None,
        }
    }

    /// Passes what ICMP says of packets without UDP to the core. Returns whether there may be
    /// more. What it says of packets in UDP comes with what is received.
    fn receive_icmp(&self, cx: &mut Context<'_>, shared: &Shared) -> bool {
        let told = |told: Told<'_>| shared.with(|state| state.told(shared.now(), &told));
        match self.socket.receive_icmp(cx, told) {
            Ok(more) => more,
            Err(error) => {
                let address = self.socket.local();
                tracing::debug!(%address, %error, "cannot receive ICMP messages");
                false
            }
        }
    }

    /// Passes the first `n` buffers that the shared socket received to the core, and gives
    /// peers that have become busy a socket of their own.
    fn pass(&mut self, worker: &Worker, index: usize, received: &Received, n: usize) {
        let shared = worker.shared();
        let at_once = if received.len(n) <= LITTLE { n } else { 1 };
        let mut buffers = received.buffers(n);
        let (mut busy, mut unknown) = (Vec::new(), 0);
        let mut of_others = Vec::new();
        for _ in 0..n.div_ceil(at_once) {
            let now = shared.now();
            let flood = self.strangers.flood(now);
            let begins = flood && !self.flooded;
            self.flooded = flood;
            shared.with(|state| {
                if begins {
                    busy.extend(state.heard_lately(now, index));
                }
                for (source, datagrams) in buffers.by_ref().take(at_once) {
                    let seen = datagrams.clone().filter(|datagram| worker.has(datagram));
                    let datagrams = own(worker, source, datagrams, &mut of_others);
                    match state.arrive_shared(now, source, index, seen, datagrams, flood) {
                        Source::Unknown(datagrams) => unknown += datagrams,
                        Source::Known => {}
                        Source::Busy(peer) => busy.push(peer),
                    }
                }
            });
        }
        worker.hand_over(self.socket.place(), &of_others);
        self.strangers.were_read(unknown);
        for peer in busy.into_iter().filter(|_| self.socket.can_be_split()) {
            self.busy.add(&self.socket, peer, shared.now());
        }
    }
}

/// Those of the datagrams that this worker has; the others are collected.
fn own<'a>(
    worker: &Worker,
    source: SocketAddr,
    datagrams: impl Iterator<Item = &'a [u8]>,
    of_others: &mut Vec<(SocketAddr, &'a [u8])>,
) -> impl Iterator<Item = &'a [u8]> {
    datagrams.filter(move |datagram| {
        let own = worker.has(datagram);
        if !own {
            of_others.push((source, *datagram));
        }
        own
    })
}

/// The result of a turn of the core.
struct Turn {
    /// When the core has to run again.
    due: Option<Instant>,
    /// Whether the core has more to send.
    more: bool,
    /// Whether the driver ends once everything is sent.
    finished: bool,
}

/// The driver of one worker of an endpoint.
pub(crate) struct Driver {
    worker: Worker,
    shared: Arc<Shared>,
    /// The sockets; none where one was closed.
    ports: Vec<Option<Port>>,
    received: Received,
    /// Buffers that have been sent, on their way back to the outbox.
    sent: Vec<Vec<u8>>,
    timer: Pin<Box<Sleep>>,
    /// What the timer is set to; `None` while it is not needed.
    armed: Option<Instant>,
    /// When a socket that was passed over because of strangers is read again.
    again: Option<Instant>,
    /// By which card packets leave.
    cards: Cards,
    /// Who sees packets.
    watcher: Option<Arc<dyn Watcher>>,
}

impl Driver {
    /// A driver of these sockets, in the order of the state's local addresses. Must
    /// be created inside a runtime.
    pub(crate) fn new(worker: Worker, sockets: Vec<Socket>) -> Driver {
        let shared = worker.shared().clone();
        let watcher = shared.with(|state| state.sees_packets.clone());
        Driver {
            worker,
            shared,
            ports: sockets.into_iter().map(|s| Some(Port::new(s))).collect(),
            received: Received::new(),
            sent: Vec::new(),
            timer: Box::pin(tokio::time::sleep(Duration::ZERO)),
            armed: None,
            again: None,
            cards: Cards::list(),
            watcher,
        }
    }

    /// Receives at most one batch from every socket. Returns whether there may be
    /// more.
    fn receive(&mut self, cx: &mut Context<'_>) -> bool {
        let mut more = false;
        self.again = None;
        for (index, port) in self.ports.iter_mut().enumerate() {
            let Some(port) = port else { continue };
            if let Some(rest) = &mut port.resting {
                if rest.as_mut().poll(cx).is_pending() {
                    continue;
                }
                port.resting = None;
            }
            let (worker, shared) = (&self.worker, &self.shared);
            more |= port.receive_icmp(cx, shared);
            let place = port.socket.place();
            let was_busy =
                port.busy
                    .receive(cx, &mut self.received, shared.now(), |from, datagrams| {
                        let mut of_others = Vec::new();
                        let datagrams = own(worker, from, datagrams, &mut of_others);
                        shared.with(|state| state.arrive(shared.now(), from, index, datagrams));
                        worker.hand_over(place, &of_others);
                    });
            more |= was_busy;
            more |= pass_told(worker, &mut self.received.told);
            port.passed = if was_busy {
                port.passed.wrapping_add(1)
            } else {
                0
            };
            let waits = port.busy.waits();
            if port.passed % STRANGERS_EVERY != 0 && !waits {
                continue;
            }
            let now = shared.now();
            if port.busy.sends(now)
                && !waits
                && let Err(then) = port.strangers.may_be_read(now)
            {
                self.again = Some(self.again.map_or(then, |again| again.min(then)));
                continue;
            }
            let received = port.socket.poll_receive(cx, &mut self.received);
            more |= pass_told(worker, &mut self.received.told);
            match received {
                Poll::Pending => {
                    more |= waits;
                    port.busy.shared_was_read(None);
                }
                Poll::Ready(Ok(n)) => {
                    more = true;
                    port.busy.shared_was_read(Some(n));
                    port.pass(worker, index, &self.received, n);
                }
                Poll::Ready(Err(error)) if quoted::may_be_told(&error) => more = true,
                Poll::Ready(Err(error)) => {
                    let address = port.socket.local();
                    tracing::warn!(%address, %error, "cannot receive; resting");
                    let mut rest = Box::pin(tokio::time::sleep(REST));
                    // Polled so that it wakes this task; it cannot be over yet.
                    let _ = rest.as_mut().poll(cx);
                    port.resting = Some(rest);
                }
            }
        }
        more
    }

    /// Runs the core's expired timers and takes over the packets to send.
    fn turn(&mut self) -> Turn {
        let mut routes_changed = false;
        let turn = self.shared.with(|state| {
            state.outbox.recycle(&mut self.sent);
            let (due, more) = state.turn(self.shared.now());
            // In this order: a place may have been given again.
            routes_changed = std::mem::take(&mut state.routes_changed);
            for place in state.going.drain(..) {
                self.ports[place] = None;
            }
            for (place, socket) in state.coming.drain(..) {
                if place == self.ports.len() {
                    self.ports.push(None);
                }
                self.ports[place] = Some(Port::new(socket));
            }
            let queues = self.ports.iter().flatten().map(|p| &p.queue);
            let mut waiting: usize = queues.map(SocketQueue::memory).sum();
            let sockets = self.ports.iter().flatten().count();
            for (index, port) in self.ports.iter_mut().enumerate() {
                let Some(port) = port else {
                    state.outbox.drain(index).for_each(drop);
                    continue;
                };
                state.outbox.set_most(index, port.socket.max_segments());
                let of_others = waiting - port.queue.memory();
                let room = SocketQueue::room(sockets, of_others);
                let dropped = port
                    .queue
                    .fill_from(&mut state.outbox, index, room, &mut self.sent);
                waiting = of_others + port.queue.memory();
                if let Some((count, to)) = dropped {
                    state.overflowed(count, to);
                }
            }
            Turn {
                due,
                more,
                // The last packets are sent before it ends.
                finished: !more && state.finished(),
            }
        });
        if routes_changed {
            self.cards = Cards::list();
        }
        turn
    }

    /// Sends waiting batches while the sockets are writable. Returns whether any
    /// was sent.
    fn send(&mut self, cx: &mut Context<'_>) -> bool {
        let (mut datagrams, mut batches, mut not_sent) = (0, 0, 0);
        let watcher = self.watcher.as_deref();
        for port in self.ports.iter_mut().flatten() {
            while let Some(batch) = port.queue.first() {
                let count = batch.datagrams() as u64;
                let card = self
                    .cards
                    .named(port.socket.local().ip(), batch.destination);
                match port.socket.poll_send(cx, batch, card) {
                    Poll::Pending => break,
                    Poll::Ready(Ok(())) => {
                        datagrams += count;
                        show(watcher, &port.socket, batch);
                    }
                    Poll::Ready(Err(Refused {
                        error,
                        datagrams: n,
                    })) => {
                        datagrams += count - n;
                        if n < count {
                            show(watcher, &port.socket, batch);
                        }
                        not_sent += n;
                        let from = port.socket.local();
                        let to = batch.destination;
                        tracing::debug!(%from, %to, %error, "datagrams not sent");
                        if let Some(why) = refused::failure(&error) {
                            let first = &batch.bytes[..batch.segment.min(batch.bytes.len())];
                            self.shared.with(|state| {
                                state.send_failed(self.shared.now(), to, first, why);
                            });
                        }
                    }
                }
                batches += 1;
                port.queue.remove_first(&mut self.sent);
            }
        }
        if batches > 0 {
            self.shared.with(|state| {
                state.stats.datagrams_sent += datagrams;
                state.stats.batches_sent += batches;
                state.stats.datagrams_refused += not_sent;
            });
        }
        batches > 0
    }

    /// Sets the timer to `due` unless it fires earlier anyway: deadlines mostly move
    /// to later times, and setting a timer costs more than waking up early. Returns
    /// whether the timer has fired.
    fn wait_until(&mut self, cx: &mut Context<'_>, due: Option<Instant>) -> bool {
        if let Some(due) = due
            && self.armed.is_none_or(|armed| due < armed)
        {
            let Some(at) = self.shared.at(due) else {
                return false;
            };
            self.timer.as_mut().reset(at.into());
            self.armed = Some(due);
        }
        let fired = self.armed.is_some() && self.timer.as_mut().poll(cx).is_ready();
        if fired {
            self.armed = None;
        }
        fired
    }
}

/// Shows a batch that has left to who watches.
fn show(watcher: Option<&dyn Watcher>, socket: &Socket, batch: &Batch) {
    let Some(watcher) = watcher else { return };
    for packet in batch.bytes.chunks(batch.segment.max(1)) {
        watcher.packet(Passing {
            sent: true,
            local: socket.local(),
            remote: batch.destination,
            udp: !socket.place().raw,
            packet,
        });
    }
}

/// Passes what ICMP says of packets in UDP to the core. Returns whether there was something.
fn pass_told(worker: &Worker, told: &mut Vec<Quoted>) -> bool {
    let any = !told.is_empty();
    for quoted in told.drain(..) {
        worker.told(&quoted.told());
    }
    any
}

impl Future for Driver {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        this.shared.with(|state| state.set_driver(cx.waker()));
        for _ in 0..TURNS {
            let received = this.receive(cx);
            let turn = this.turn();
            let sent = this.send(cx);
            if turn.finished && this.ports.iter().flatten().all(|p| p.queue.is_empty()) {
                return Poll::Ready(());
            }
            let trim = this.received.trim(this.shared.now());
            let due = [turn.due, this.again, trim].into_iter().flatten().min();
            let fired = this.wait_until(cx, due);
            if !(received || turn.more || sent || fired) {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // First, so that the ports are free when waiting tasks wake up.
        self.ports.clear();
        self.shared.with(|state| state.end_driver());
    }
}
