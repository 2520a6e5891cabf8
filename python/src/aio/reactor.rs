//! How byway's threads wake an asyncio loop without the interpreter's lock.

use super::process::{self, Owned};
use byway::{Association, Endpoint};
use pyo3::prelude::*;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Wake, Waker};

/// Gates that were woken, for the loop to fetch.
#[derive(Debug)]
struct Mailbox {
    woken: Mutex<Vec<u64>>,
    /// Whether the loop has been told and has not fetched yet.
    told: AtomicBool,
    bell: UnixStream,
}

impl Mailbox {
    fn put(&self, gate: u64) {
        let mut woken = self.woken.lock().unwrap_or_else(PoisonError::into_inner);
        woken.push(gate);
        drop(woken);
        if !self.told.swap(true, Ordering::AcqRel) {
            // It is empty, so there is room; without a reader nobody waits any more.
            let _ = (&self.bell).write(&[1]);
        }
    }
}

struct Ring {
    mailbox: Arc<Mailbox>,
    gate: u64,
}

impl Wake for Ring {
    fn wake(self: Arc<Self>) {
        self.mailbox.put(self.gate);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.mailbox.put(self.gate);
    }
}

/// One thing that tasks of a loop wait for.
#[pyclass(module = "byway._native", frozen)]
pub(super) struct Gate {
    waker: Owned<Waker>,
    number: u64,
}

#[pymethods]
impl Gate {
    /// Its number, which `Reactor.take` gives.
    #[getter]
    fn number(&self) -> u64 {
        self.number
    }
}

impl Gate {
    /// A context that rings the gate.
    pub(super) fn context(&self) -> PyResult<Context<'_>> {
        Ok(Context::from_waker(self.waker.get()?))
    }
}

/// What has to be aborted when the loop ends.
#[derive(Default)]
struct Alive {
    endpoints: Vec<Weak<Endpoint>>,
    associations: Vec<Weak<Association>>,
}

/// The wake-ups of one asyncio loop, and what lives in it.
#[pyclass(module = "byway._native", frozen)]
pub(super) struct Reactor {
    mailbox: Owned<Arc<Mailbox>>,
    ear: UnixStream,
    gates: AtomicU64,
    alive: Mutex<Owned<Alive>>,
}

#[pymethods]
impl Reactor {
    #[new]
    fn new() -> io::Result<Reactor> {
        let (bell, ear) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        ear.set_nonblocking(true)?;
        let mailbox = Mailbox {
            woken: Mutex::default(),
            told: AtomicBool::new(false),
            bell,
        };
        Ok(Reactor {
            mailbox: Owned::new(Arc::new(mailbox)),
            ear,
            gates: AtomicU64::new(0),
            alive: Mutex::new(Owned::new(Alive::default())),
        })
    }

    /// Readable when there is something to take.
    fn fileno(&self) -> i32 {
        self.ear.as_raw_fd()
    }

    /// A new gate.
    fn gate(&self) -> PyResult<Gate> {
        let number = self.gates.fetch_add(1, Ordering::Relaxed);
        let ring = Ring {
            mailbox: self.mailbox.get()?.clone(),
            gate: number,
        };
        Ok(Gate {
            waker: Owned::new(Waker::from(Arc::new(ring))),
            number,
        })
    }

    /// The gates that have been woken.
    fn take(&self) -> PyResult<Vec<u64>> {
        let mailbox = self.mailbox.get()?;
        // At most one byte waits. An error says that there is none.
        let _ = (&self.ear).read(&mut [0; 8]);
        // Told again from here on; what was put before is taken below.
        mailbox.told.store(false, Ordering::Release);
        let mut woken = mailbox.woken.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(std::mem::take(&mut *woken))
    }

    /// Aborts all endpoints and associations of the loop. Returns at once; the ABORTs are
    /// sent in the background.
    fn abort(&self, py: Python<'_>, reason: &str) -> PyResult<()> {
        let mut alive = self.alive.lock().unwrap_or_else(PoisonError::into_inner);
        // In a forked process there is nothing to abort.
        let Ok(alive) = alive.get_mut() else {
            return Ok(());
        };
        let runtime = process::runtime(py)?;
        for endpoint in alive.endpoints.drain(..).filter_map(|e| e.upgrade()) {
            let reason = reason.as_bytes().to_vec();
            process::in_background(runtime, async move { endpoint.abort(&reason).await });
        }
        for association in alive.associations.drain(..).filter_map(|a| a.upgrade()) {
            // An error says that it has ended.
            let _ = association.abort(reason.as_bytes());
        }
        Ok(())
    }
}

impl Reactor {
    /// Aborts it when the loop ends.
    pub(super) fn keep_endpoint(&self, endpoint: &Arc<Endpoint>) -> PyResult<()> {
        let mut alive = self.alive.lock().unwrap_or_else(PoisonError::into_inner);
        push(&mut alive.get_mut()?.endpoints, endpoint);
        Ok(())
    }

    /// As above.
    pub(super) fn keep_association(&self, association: &Arc<Association>) -> PyResult<()> {
        let mut alive = self.alive.lock().unwrap_or_else(PoisonError::into_inner);
        push(&mut alive.get_mut()?.associations, association);
        Ok(())
    }
}

/// Adds one, and forgets those that are gone before the list has to grow.
fn push<T>(list: &mut Vec<Weak<T>>, item: &Arc<T>) {
    if list.len() == list.capacity() {
        list.retain(|i| i.strong_count() > 0);
    }
    list.push(Arc::downgrade(item));
}
