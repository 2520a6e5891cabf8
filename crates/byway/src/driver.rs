//! The task that moves datagrams between the sockets and the core.
//!
//! One turn: receive a batch from every socket, hand it to the core buffer by
//! buffer, run what is due, gather what the core wants to send into batches,
//! send them. The lock is held for one buffer, or one fill, at a time and never
//! during a system call, so that handles on other threads get in between.

use crate::batch::Waiting;
use crate::shared::Shared;
use crate::udp::{Received, Refused, Socket};
use byway_core::time::Instant;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::Sleep;

/// Turns in a row before other tasks of the runtime get theirs.
const TURNS: usize = 8;

/// How long a socket rests after an error of receiving, so that an error that
/// stays does not keep a core busy.
const REST: Duration = Duration::from_millis(100);

/// A socket, and what waits for it.
struct Port {
    socket: Socket,
    waiting: Waiting,
    resting: Option<Pin<Box<Sleep>>>,
    /// Whether it was said that packets are too large for the interface.
    warned_of_size: bool,
}

/// What the core left behind after a turn.
struct Turn {
    /// When it wants to be looked at again.
    due: Option<Instant>,
    /// Whether it has more to send.
    more: bool,
    /// Whether all is over once everything is sent.
    finished: bool,
}

/// The driver of one endpoint.
pub(crate) struct Driver {
    shared: Arc<Shared>,
    ports: Vec<Port>,
    received: Received,
    /// Buffers that were sent, on their way back to the outbox.
    sent: Vec<Vec<u8>>,
    timer: Pin<Box<Sleep>>,
    /// What the timer is set to; none while it is not needed.
    armed: Option<Instant>,
}

impl Driver {
    /// A driver of these sockets, in the order in which the state knows them.
    /// Must be made inside of a runtime.
    pub(crate) fn new(shared: Arc<Shared>, sockets: Vec<Socket>) -> Driver {
        let port = |socket| Port {
            socket,
            waiting: Waiting::default(),
            resting: None,
            warned_of_size: false,
        };
        Driver {
            shared,
            ports: sockets.into_iter().map(port).collect(),
            received: Received::new(),
            sent: Vec::new(),
            timer: Box::pin(tokio::time::sleep(Duration::ZERO)),
            armed: None,
        }
    }

    /// Receives at most one batch from every socket. Says whether there may be
    /// more.
    fn receive(&mut self, cx: &mut Context<'_>) -> bool {
        let mut more = false;
        for (index, port) in self.ports.iter_mut().enumerate() {
            if let Some(rest) = &mut port.resting {
                if rest.as_mut().poll(cx).is_pending() {
                    continue;
                }
                port.resting = None;
            }
            match port.socket.poll_receive(cx, &mut self.received) {
                Poll::Pending => {}
                Poll::Ready(Ok(n)) => {
                    more = true;
                    for (source, datagrams) in self.received.buffers(n) {
                        self.shared.with(|state| {
                            state.arrive(self.shared.now(), source, index, datagrams);
                        });
                    }
                }
                Poll::Ready(Err(error)) if is_icmp(&error) => more = true,
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

    /// Lets the core do what is due and takes over what it wants to send.
    fn turn(&mut self) -> Turn {
        self.shared.with(|state| {
            state.outbox.recycle(&mut self.sent);
            let (due, more) = state.turn(self.shared.now());
            for (index, port) in self.ports.iter_mut().enumerate() {
                state.outbox.set_most(index, port.socket.max_segments());
                let dropped = port
                    .waiting
                    .take_over(&mut state.outbox, index, &mut self.sent);
                state.stats.datagrams_overflowed += dropped;
            }
            Turn {
                due,
                more,
                finished: state.finished(),
            }
        })
    }

    /// Sends what waits, as far as the sockets take it. Says whether any did.
    fn send(&mut self, cx: &mut Context<'_>) -> bool {
        let (mut datagrams, mut batches, mut refused) = (0, 0, 0);
        for port in &mut self.ports {
            while let Some(batch) = port.waiting.first() {
                let count = batch.datagrams() as u64;
                match port.socket.poll_send(cx, batch) {
                    Poll::Pending => break,
                    Poll::Ready(Ok(())) => datagrams += count,
                    Poll::Ready(Err(Refused {
                        error,
                        datagrams: n,
                    })) => {
                        datagrams += count - n;
                        refused += n;
                        let from = port.socket.local();
                        let to = batch.destination;
                        tracing::debug!(%from, %to, %error, "datagrams not sent");
                        if quinn_udp::is_msg_size_err(&error) && !port.warned_of_size {
                            port.warned_of_size = true;
                            let bytes = batch.segment;
                            tracing::warn!(%from, %to, bytes, "the interface's MTU is smaller than Config::pmtu; lower that");
                        }
                    }
                }
                batches += 1;
                port.waiting.remove_first(&mut self.sent);
            }
        }
        if batches > 0 {
            self.shared.with(|state| {
                state.stats.datagrams_sent += datagrams;
                state.stats.batches_sent += batches;
                state.stats.datagrams_refused += refused;
            });
        }
        batches > 0
    }

    /// Sets the timer to `due` unless it fires earlier anyway: timers mostly
    /// move into the future, and setting one costs more than an early look.
    /// Says whether the time has come already.
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

/// Whether an error of receiving is the echo of an ICMP message about an
/// earlier datagram. SCTP over UDP must not take those for the peer's word
/// (RFC 6951 section 5.5), and its timers notice a dead path anyway.
fn is_icmp(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, ConnectionReset, HostUnreachable, NetworkUnreachable};
    matches!(
        error.kind(),
        ConnectionRefused | ConnectionReset | HostUnreachable | NetworkUnreachable
    )
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
            if turn.finished && this.ports.iter().all(|p| p.waiting.is_empty()) {
                return Poll::Ready(());
            }
            let fired = this.wait_until(cx, turn.due);
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
        // First, so that whoever waits for the end finds the ports free.
        self.ports.clear();
        self.shared.with(|state| state.end_driver());
    }
}
