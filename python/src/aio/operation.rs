//! Futures of byway that a loop polls.

use super::process;
use super::process::Guarded;
use super::reactor::Gate;
use pyo3::prelude::*;
use std::pin::Pin;
use std::task::Poll;

/// What an operation gives, made with the interpreter's lock.
pub(super) type Answer = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;
type Work = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// Something that takes time, such as to set up an association.
#[pyclass(module = "byway._native", frozen)]
pub(super) struct Operation(Guarded<Option<Work>>);

impl Operation {
    pub(super) fn new(work: impl Future<Output = Answer> + Send + 'static) -> Operation {
        Operation(Guarded::new(Some(Box::pin(work))))
    }
}

#[pymethods]
impl Operation {
    /// Its result in a tuple of one; `None` while it goes on: then the gate is woken.
    fn poll(&self, py: Python<'_>, gate: &Gate) -> PyResult<Option<(Py<PyAny>,)>> {
        let mut slot = self.0.lock();
        let work = slot.get_mut()?;
        let Some(future) = work else {
            return Ok(None);
        };
        // For its timers.
        let _inside = process::runtime(py)?.enter();
        match future.as_mut().poll(&mut gate.context()?) {
            Poll::Pending => Ok(None),
            Poll::Ready(answer) => {
                let future = work.take();
                drop(slot);
                drop(future);
                answer(py).map(|value| Some((value,)))
            }
        }
    }

    /// Gives up.
    fn cancel(&self) -> PyResult<()> {
        let work = self.0.lock().get_mut()?.take();
        drop(work);
        Ok(())
    }
}
