//! Associations.

use super::errors;
use super::facts;
use super::message::{PyMessage, Unsent, bytes_of, poll_send, undelivered};
use super::operation::{Answer, Operation};
use super::process::Owned;
use super::reactor::{Gate, Reactor};
use bytes::Bytes;
use byway::{Association, Closed, PathId};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Most messages and bytes that are fetched at once.
const MESSAGES: usize = 256;
const BYTES: usize = 256 << 10;

/// An association.
#[pyclass(name = "Association", module = "byway._native", frozen)]
pub(super) struct PyAssociation {
    inner: Owned<Arc<Association>>,
}

impl PyAssociation {
    pub(super) fn new(association: Association, reactor: &Reactor) -> PyResult<PyAssociation> {
        let association = Arc::new(association);
        reactor.keep_association(&association)?;
        Ok(PyAssociation {
            inner: Owned::new(association),
        })
    }

    /// An operation on the association.
    fn operation<F>(&self, work: impl FnOnce(Arc<Association>) -> F) -> PyResult<Operation>
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        Ok(Operation::new(work(self.inner.get()?.clone())))
    }
}

/// How the association has ended, if it has.
fn ended(association: &Association) -> Option<Closed> {
    match pin!(association.closed()).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Pending => None,
        Poll::Ready(closed) => Some(closed),
    }
}

fn when_lost(closed: Closed) -> Answer {
    match closed {
        Closed::Gracefully => Box::new(|py| Ok(py.None())),
        other => Box::new(move |_| Err(errors::closed(&other))),
    }
}

#[pymethods]
impl PyAssociation {
    /// Queues a message. If there is no room, it is given back, to be polled.
    #[pyo3(signature = (data, stream, ppid, unordered, immediate_ack, path, context))]
    #[expect(clippy::too_many_arguments, reason = "those of Python")]
    fn send(
        &self,
        data: &Bound<'_, PyAny>,
        stream: u16,
        ppid: u32,
        unordered: bool,
        immediate_ack: bool,
        path: Option<u8>,
        context: u64,
    ) -> PyResult<Option<Unsent>> {
        let unsent = self.message(data, stream, ppid, unordered, immediate_ack, path, context)?;
        let (association, message) = unsent.inner.get()?;
        match association.try_send(message.clone()) {
            Ok(()) => Ok(None),
            Err(e) if errors::would_block(&e) => Ok(Some(unsent)),
            Err(e) => Err(errors::send(&e)),
        }
    }

    /// A message to be polled.
    #[pyo3(signature = (data, stream, ppid, unordered, immediate_ack, path, context))]
    #[expect(clippy::too_many_arguments, reason = "those of Python")]
    fn message(
        &self,
        data: &Bound<'_, PyAny>,
        stream: u16,
        ppid: u32,
        unordered: bool,
        immediate_ack: bool,
        path: Option<u8>,
        context: u64,
    ) -> PyResult<Unsent> {
        let association = self.inner.get()?.clone();
        let message = byway::Message {
            stream,
            ppid,
            unordered,
            immediate_ack,
            path: path.map(PathId),
            context,
            payload: bytes_of(data)?,
        };
        Ok(Unsent {
            inner: Owned::new((association, message)),
        })
    }

    /// Queues bytes from `start` on, in messages of at most `block` bytes, as many as there
    /// is room for. Returns where the rest starts. If there is one, the gate is woken when
    /// there is room.
    fn write(
        &self,
        data: &Bound<'_, PyAny>,
        start: usize,
        block: usize,
        stream: u16,
        gate: &Gate,
    ) -> PyResult<usize> {
        let association = self.inner.get()?;
        let data = data.cast::<pyo3::types::PyBytes>()?.as_bytes();
        let mut cx = gate.context()?;
        let mut at = start;
        while at < data.len() {
            let end = data.len().min(at + block.max(1));
            let message = byway::Message::new(stream, Bytes::copy_from_slice(&data[at..end]));
            if !poll_send(association, &message, &mut cx)? {
                break;
            }
            at = end;
        }
        Ok(at)
    }

    /// The messages that have arrived, of one stream or of all; at least one if any. `[]`
    /// when the peer sends nothing more. `None` if there are none yet: then the gate is
    /// woken.
    fn receive(
        &self,
        py: Python<'_>,
        stream: Option<u16>,
        most: usize,
        gate: &Gate,
    ) -> PyResult<Option<Vec<PyMessage>>> {
        let association = self.inner.get()?;
        let stream = stream.map(|number| association.stream(number));
        let mut cx = gate.context()?;
        let (mut messages, mut bytes) = (Vec::new(), 0);
        while messages.len() < most.min(MESSAGES) && bytes < BYTES {
            let received = match &stream {
                None => pin!(association.recv()).poll(&mut cx),
                Some(stream) => pin!(stream.recv()).poll(&mut cx),
            };
            match received {
                Poll::Ready(Some(received)) => {
                    bytes += received.payload.len();
                    messages.push(PyMessage::new(py, &received));
                    // The gate is for those who have to wait.
                    cx = Context::from_waker(Waker::noop());
                }
                Poll::Pending if messages.is_empty() => return Ok(None),
                Poll::Ready(None) | Poll::Pending => break,
            }
        }
        Ok(Some(messages))
    }

    /// Sorts messages by stream from now on.
    fn open_stream(&self, stream: u16) -> PyResult<()> {
        drop(self.inner.get()?.stream(stream));
        Ok(())
    }

    /// The next event, as its name and its fields; `False` after the last. `None` if there
    /// is none yet: then the gate is woken.
    fn event<'py>(&self, py: Python<'py>, gate: &Gate) -> PyResult<Option<Bound<'py, PyAny>>> {
        let events = self.inner.get()?.events();
        match pin!(events.next()).poll(&mut gate.context()?) {
            Poll::Pending => Ok(None),
            Poll::Ready(None) => Ok(Some(false.into_pyobject(py)?.to_owned().into_any())),
            Poll::Ready(Some(event)) => facts::event(py, &event).map(Some),
        }
    }

    /// How many events were dropped because nobody read them.
    fn events_missed(&self) -> PyResult<u64> {
        Ok(self.inner.get()?.events().missed())
    }

    /// The paths.
    fn paths<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let paths = self.inner.get()?.paths();
        let facts: PyResult<Vec<_>> = paths.iter().map(|p| facts::path(py, p)).collect();
        PyList::new(py, facts?)
    }

    /// Counters.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        facts::association(py, &self.inner.get()?.stats())
    }

    /// The settings in use, as text; empty if the association is no longer known.
    fn settings(&self) -> PyResult<String> {
        let config = self.inner.get()?.config();
        Ok(config.map_or_else(String::new, |c| super::settings::lines(&c)))
    }

    fn set_primary(&self, path: u8) -> PyResult<()> {
        let done = self.inner.get()?.set_primary(PathId(path));
        done.map_err(|e| errors::send(&e))
    }

    fn set_backup(&self, path: u8, backup: bool) -> PyResult<()> {
        let done = self.inner.get()?.set_backup(PathId(path), backup);
        done.map_err(|e| errors::send(&e))
    }

    /// Asks the peer to send to an address of this side, which `byway/aio.py` has read.
    fn set_peer_primary(&self, local: &str) -> PyResult<()> {
        let wrong = |_| errors::address(format!("\"{local}\" is not an address"), None);
        let local: IpAddr = local.parse().map_err(wrong)?;
        let done = self.inner.get()?.set_peer_primary(local);
        done.map_err(|e| errors::send(&e))
    }

    /// Whether messages of different streams interleave.
    fn interleaves(&self) -> PyResult<bool> {
        Ok(self.inner.get()?.interleaves())
    }

    fn set_stream_value(&self, stream: u16, value: u16) -> PyResult<()> {
        let done = self.inner.get()?.set_stream_value(stream, value);
        done.map_err(|e| errors::send(&e))
    }

    /// Whether to answer a handshake of the peer.
    fn take_handshake(&self) -> PyResult<bool> {
        Ok(self.inner.get()?.take_handshake())
    }

    fn give_handshake_back(&self) -> PyResult<()> {
        self.inner.get()?.give_handshake_back();
        Ok(())
    }

    fn count_violation(&self) -> PyResult<()> {
        self.inner.get()?.count_violation();
        Ok(())
    }

    /// Whether to refuse it for the violations of its host.
    fn bars_violator(&self) -> PyResult<bool> {
        Ok(self.inner.get()?.bars_violator())
    }

    fn request_heartbeat(&self, path: u8) -> PyResult<()> {
        let done = self.inner.get()?.request_heartbeat(PathId(path));
        done.map_err(|e| errors::send(&e))
    }

    /// Aborts; whether it had not ended before.
    fn abort(&self, reason: &[u8]) -> PyResult<bool> {
        Ok(self.inner.get()?.abort(reason).is_ok())
    }

    /// Whether it has ended, in whatever way.
    fn is_closed(&self) -> PyResult<bool> {
        Ok(ended(self.inner.get()?).is_some())
    }

    /// The messages that a lost association has not delivered; each once.
    fn undelivered<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let association = self.inner.get()?;
        let all = std::iter::from_fn(|| association.take_undelivered());
        all.map(|message| undelivered(py, &message)).collect()
    }

    /// Raises what explains why nothing more arrives.
    fn raise_end(&self) -> PyResult<()> {
        Err(match ended(self.inner.get()?) {
            None => errors::AssociationClosed::new_err(
                "the peer has shut the association down and sends nothing more",
            ),
            Some(closed) => errors::closed(&closed),
        })
    }

    /// Shuts it down gracefully, and waits for its end.
    fn shutdown(&self) -> PyResult<Operation> {
        self.operation(|association| async move {
            when_lost(
                association
                    .shutdown()
                    .await
                    .err()
                    .unwrap_or(Closed::Gracefully),
            )
        })
    }

    /// Waits for its end.
    fn wait_closed(&self) -> PyResult<Operation> {
        self.operation(|association| async move { when_lost(association.closed().await) })
    }

    /// Waits until the peer has acknowledged all messages.
    fn drained(&self) -> PyResult<Operation> {
        self.operation(|association| async move {
            when_lost(
                association
                    .drained()
                    .await
                    .err()
                    .unwrap_or(Closed::Gracefully),
            )
        })
    }
}
