//! Endpoints.

use super::association::PyAssociation;
use super::errors;
use super::facts;
use super::operation::{Answer, Operation};
use super::process::{self, Owned};
use super::reactor::{Gate, Reactor};
use super::settings::SocketSettings;
use byway::{Encapsulation, Endpoint, EndpointOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

/// An endpoint.
#[pyclass(name = "Endpoint", module = "byway._native", frozen)]
pub(super) struct PyEndpoint {
    inner: Owned<Arc<Endpoint>>,
    reactor: Py<Reactor>,
}

/// Addresses that `byway/aio.py` has resolved.
fn addresses(texts: &[String]) -> PyResult<Vec<SocketAddr>> {
    let parse = |text: &String| {
        let wrong =
            |_| errors::address(format!("\"{text}\" is not an address with its port"), None);
        text.parse().map_err(wrong)
    };
    texts.iter().map(parse).collect()
}

#[pymethods]
impl PyEndpoint {
    /// Binds the sockets.
    #[new]
    #[pyo3(signature = (reactor, local, encapsulation, beside_kernel_sctp, port, settings, accept,
                        backlog, max_associations, max_associations_per_peer, max_memory, workers))]
    #[expect(
        clippy::too_many_arguments,
        reason = "one for each parameter of `byway.aio.bind`, its only caller"
    )]
    fn new(
        py: Python<'_>,
        reactor: Py<Reactor>,
        local: Vec<String>,
        encapsulation: &str,
        beside_kernel_sctp: bool,
        port: u16,
        settings: &SocketSettings,
        accept: bool,
        backlog: usize,
        max_associations: usize,
        max_associations_per_peer: usize,
        max_memory: usize,
        workers: usize,
    ) -> PyResult<PyEndpoint> {
        let encapsulation = match encapsulation {
            "udp" => Encapsulation::Udp,
            "none" => Encapsulation::None,
            "both" => Encapsulation::Both,
            // `byway/aio.py` has checked it.
            other => return Err(PyValueError::new_err(other.to_owned())),
        };
        let mut options = EndpointOptions::new(addresses(&local)?)
            .encapsulation(encapsulation)
            .sctp_port(port)
            .config(settings.config.clone())
            .workers(workers);
        options.beside_kernel_sctp = beside_kernel_sctp;
        options.accept = accept;
        options.backlog = backlog;
        options.max_associations = max_associations;
        options.max_associations_per_peer = max_associations_per_peer;
        options.max_memory = max_memory;
        let _inside = process::runtime_for(py, workers)?.enter();
        let endpoint = Arc::new(Endpoint::bind(options).map_err(errors::bind)?);
        reactor.get().keep_endpoint(&endpoint)?;
        Ok(PyEndpoint {
            inner: Owned::new(endpoint),
            reactor,
        })
    }

    /// The local addresses as they are bound.
    fn addresses(&self) -> PyResult<Vec<String>> {
        let local = self.inner.get()?.local_addresses();
        Ok(local.iter().map(SocketAddr::to_string).collect())
    }

    /// The SCTP port.
    fn port(&self) -> PyResult<u16> {
        Ok(self.inner.get()?.sctp_port())
    }

    /// Associations that have not ended.
    fn association_count(&self) -> PyResult<usize> {
        Ok(self.inner.get()?.association_count())
    }

    /// Memory that all associations take, in bytes.
    fn memory(&self) -> PyResult<usize> {
        Ok(self.inner.get()?.memory())
    }

    /// Counters of the protocol outside associations, and of the sockets.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let endpoint = self.inner.get()?;
        let dropped = endpoint.dropped_by_kernel();
        facts::endpoint(py, &endpoint.stats(), endpoint.driver_stats(), dropped)
    }

    /// The next association that a peer has set up; `False` once the endpoint is closed.
    /// `None` if there is none yet: then the gate is woken.
    fn accept<'py>(&self, py: Python<'py>, gate: &Gate) -> PyResult<Option<Bound<'py, PyAny>>> {
        let accepted = pin!(self.inner.get()?.accept()).poll(&mut gate.context()?);
        match accepted {
            Poll::Pending => Ok(None),
            Poll::Ready(None) => Ok(Some(false.into_pyobject(py)?.to_owned().into_any())),
            Poll::Ready(Some(association)) => {
                let association = PyAssociation::new(association, self.reactor.get())?;
                Ok(Some(association.into_pyobject(py)?.into_any()))
            }
        }
    }

    /// Sets up an association.
    #[pyo3(signature = (remote, port, settings))]
    fn connect(
        &self,
        py: Python<'_>,
        remote: Vec<String>,
        port: u16,
        settings: &SocketSettings,
    ) -> PyResult<Operation> {
        let endpoint = self.inner.get()?.clone();
        let remote = addresses(&remote)?;
        let reactor = self.reactor.clone_ref(py);
        let config = settings.config.clone();
        Ok(Operation::new(async move {
            let done = endpoint.connect_with(&remote, port, config).await;
            let answer: Answer = Box::new(move |py| match done {
                Ok(association) => {
                    let association = PyAssociation::new(association, reactor.get())?;
                    Ok(association.into_pyobject(py)?.into_any().unbind())
                }
                Err(e) => Err(errors::connect(&e)),
            });
            answer
        }))
    }

    /// Shuts all associations down, and waits until the ports are free.
    fn close(&self) -> PyResult<Operation> {
        let endpoint = self.inner.get()?.clone();
        Ok(Operation::new(async move {
            endpoint.close().await;
            let answer: Answer = Box::new(|py| Ok(py.None()));
            answer
        }))
    }

    /// Aborts all associations, and waits until the ports are free.
    fn abort(&self, reason: Vec<u8>) -> PyResult<Operation> {
        let endpoint = self.inner.get()?.clone();
        Ok(Operation::new(async move {
            endpoint.abort(&reason).await;
            let answer: Answer = Box::new(|py| Ok(py.None()));
            answer
        }))
    }
}
