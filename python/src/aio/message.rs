//! Messages, as they arrive and as they leave.

use super::errors;
use super::process::Owned;
use super::reactor::Gate;
use bytes::Bytes;
use byway::{Association, Received};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyMemoryView};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A message that has arrived, or a part of a long one.
#[pyclass(name = "Message", module = "byway.aio", frozen)]
pub(super) struct PyMessage {
    data: Py<PyBytes>,
    #[pyo3(get)]
    stream: u16,
    #[pyo3(get)]
    ssn: u16,
    #[pyo3(get)]
    ppid: u32,
    #[pyo3(get)]
    unordered: bool,
    #[pyo3(get)]
    first: bool,
    #[pyo3(get)]
    last: bool,
}

impl PyMessage {
    pub(super) fn new(py: Python<'_>, received: &Received) -> PyMessage {
        PyMessage {
            data: PyBytes::new(py, &received.payload).unbind(),
            stream: received.stream,
            ssn: received.ssn,
            ppid: received.ppid,
            unordered: received.unordered,
            first: received.first,
            last: received.last,
        }
    }
}

/// A message that a lost association has not delivered.
pub(super) fn undelivered<'py>(
    py: Python<'py>,
    message: &byway::Undelivered,
) -> PyResult<Bound<'py, PyDict>> {
    let facts = PyDict::new(py);
    facts.set_item("data", PyBytes::new(py, &message.payload))?;
    facts.set_item("stream", message.stream)?;
    facts.set_item("ssn", message.ssn)?;
    facts.set_item("ppid", message.ppid)?;
    facts.set_item("unordered", message.unordered)?;
    facts.set_item("sent", message.sent)?;
    facts.set_item("acknowledged", message.acknowledged)?;
    facts.set_item("context", message.context)?;
    Ok(facts)
}

#[pymethods]
impl PyMessage {
    #[getter]
    fn data(&self, py: Python<'_>) -> Py<PyBytes> {
        self.data.clone_ref(py)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.data.bind(py).len()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mut text = format!(
            "<Message of {} bytes on stream {}, ppid {}",
            self.data.bind(py).len()?,
            self.stream,
            self.ppid
        );
        if self.unordered {
            text += ", unordered";
        }
        match (self.first, self.last) {
            (true, true) => {}
            (true, false) => text += ", the first part",
            (false, true) => text += ", the last part",
            (false, false) => text += ", a part",
        }
        text.push('>');
        Ok(text)
    }
}

/// The bytes of anything with a buffer, copied.
pub(super) fn bytes_of(data: &Bound<'_, PyAny>) -> PyResult<Bytes> {
    if let Ok(bytes) = data.cast::<PyBytes>() {
        return Ok(Bytes::copy_from_slice(bytes.as_bytes()));
    }
    if let Ok(array) = data.cast::<PyByteArray>() {
        return Ok(array.to_vec().into());
    }
    if PyUntypedBuffer::get(data).is_err() {
        let name = data.get_type().name()?;
        let hint = if name == "str" {
            "; encode text first: text.encode()"
        } else {
            ""
        };
        return Err(PyTypeError::new_err(format!(
            "expected bytes, bytearray, memoryview or another buffer, not {name}{hint}"
        )));
    }
    // Also of arrays with gaps, in the order of their items.
    let copy = PyMemoryView::from(data)?.call_method0("tobytes")?;
    Ok(Bytes::copy_from_slice(copy.cast::<PyBytes>()?.as_bytes()))
}

/// Whether the message is queued now. If not, the context is woken when there is room.
pub(super) fn poll_send(
    association: &Association,
    message: &byway::Message,
    cx: &mut Context<'_>,
) -> PyResult<bool> {
    match pin!(association.send(message.clone())).poll(cx) {
        Poll::Pending => Ok(false),
        Poll::Ready(done) => done.map(|()| true).map_err(|e| errors::send(&e)),
    }
}

/// A message that has to wait for room in the send buffer.
#[pyclass(module = "byway._native", frozen)]
pub(super) struct Unsent {
    pub(super) inner: Owned<(Arc<Association>, byway::Message)>,
}

#[pymethods]
impl Unsent {
    /// Whether it is queued now. If not, the gate is woken when there is room.
    fn poll(&self, gate: &Gate) -> PyResult<Option<bool>> {
        let (association, message) = self.inner.get()?;
        let sent = poll_send(association, message, &mut gate.context()?)?;
        Ok(sent.then_some(true))
    }
}

/// A copy of anything with a buffer.
#[pyfunction]
pub(super) fn to_bytes<'py>(data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(data.py(), &bytes_of(data)?))
}
