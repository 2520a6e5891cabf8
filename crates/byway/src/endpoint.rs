//! An endpoint: its sockets, and the associations begun and accepted there.

use crate::association::Association;
use crate::batch::Outbox;
use crate::driver::Driver;
use crate::error::{BindError, ConnectError};
use crate::routes::KernelRoutes;
use crate::shared::Shared;
use crate::state::{DriverStats, State};
use crate::udp::{self, Socket};
use byway_core::{Config, EndpointConfig, EndpointStats};
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;

/// What an endpoint is told.
#[derive(Clone, Debug)]
pub struct EndpointOptions {
    /// The local addresses, 1 to 8, each with its UDP encapsulation port
    /// (RFC 6951; 9899 is the registered one). Port 0 is replaced by one that is
    /// free, the same on all addresses that ask for it. Wildcards are refused:
    /// an address that is not named is not advertised to peers.
    pub local: Vec<SocketAddr>,
    /// The SCTP port; 0 (the default) takes the number of the first UDP port.
    /// A peer tells associations apart by address and SCTP port alone, so two
    /// endpoints on one address need different ones, and UDP ports always are.
    pub sctp_port: u16,
    /// Whether associations that others set up are accepted (true).
    pub accept: bool,
    /// Most associations that may wait for [`Endpoint::accept`] (1024); more
    /// are aborted.
    pub backlog: usize,
    /// Most associations at once (65,536).
    pub max_associations: usize,
    /// Most associations at once that one peer address may set up (65,536).
    pub max_associations_per_peer: usize,
    /// Settings of all associations, unless [`Endpoint::connect_with`] is given
    /// others.
    pub config: Config,
}

impl EndpointOptions {
    /// Options for these local addresses.
    #[must_use]
    pub fn new(local: impl IntoIterator<Item = SocketAddr>) -> EndpointOptions {
        EndpointOptions {
            local: local.into_iter().collect(),
            sctp_port: 0,
            accept: true,
            backlog: 1024,
            max_associations: 65_536,
            max_associations_per_peer: 65_536,
            config: Config::default(),
        }
    }

    /// With this SCTP port.
    #[must_use]
    pub fn sctp_port(mut self, port: u16) -> EndpointOptions {
        self.sctp_port = port;
        self
    }

    /// With these settings of associations.
    #[must_use]
    pub fn config(mut self, config: Config) -> EndpointOptions {
        self.config = config;
        self
    }
}

/// What all handles of one endpoint share; dropping it stops accepting.
#[derive(Debug)]
struct Handle {
    shared: Arc<Shared>,
    local: Vec<SocketAddr>,
    sctp_port: u16,
    config: Config,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared
            .with(|state| state.close(self.shared.now(), false));
    }
}

/// One SCTP port on one or more local addresses. Clones are handles of the same
/// one; when the last is dropped, nothing more is accepted, and associations in
/// use go on.
#[derive(Clone, Debug)]
pub struct Endpoint(Arc<Handle>);

impl Endpoint {
    /// Binds the sockets and starts the driver as a task of the surrounding
    /// tokio runtime.
    ///
    /// # Errors
    /// The address that could not be bound and why, or the setting that cannot
    /// work.
    pub fn bind(options: EndpointOptions) -> Result<Endpoint, BindError> {
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| BindError::NoRuntime)?;
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|e| BindError::Random(e.to_string()))?;
        // Checked before sockets are bound, so that the setting is what the
        // error speaks of; with the real ports below.
        let port = if options.sctp_port == 0 {
            1
        } else {
            options.sctp_port
        };
        let mut config = EndpointConfig::new(port, options.local, seed);
        config.accept = options.accept;
        config.max_associations = options.max_associations;
        config.max_associations_per_peer = options.max_associations_per_peer;
        config.accepted = options.config.clone();
        config.check()?;
        let sockets = udp::bind_all(&config.local)?;
        config.local = sockets.iter().map(Socket::local).collect();
        let local = config.local.clone();
        if options.sctp_port == 0 {
            // The check above refuses an empty list.
            config.port = local[0].port();
        }
        let sctp_port = config.port;

        let mut core = byway_core::Endpoint::new(config)?;
        core.set_routes(Box::new(KernelRoutes::default()));
        let outbox = Outbox::new(sockets.iter().map(Socket::max_segments).collect());
        let state = State::new(core, local.clone(), outbox, options.backlog);
        let shared = Arc::new(Shared::new(state));
        runtime.spawn(Driver::new(shared.clone(), sockets));
        Ok(Endpoint(Arc::new(Handle {
            shared,
            local,
            sctp_port,
            config: options.config,
        })))
    }

    /// Sets up an association with the peer that has these addresses (with
    /// their UDP encapsulation ports) and this SCTP port, and waits until it
    /// stands. One address is enough: the peer tells its others.
    ///
    /// # Errors
    /// What cannot work, or how the set-up ended. A peer that does not answer is
    /// given up after Max.Init.Retransmits: minutes, unless
    /// [`SetupConfig`](byway_core::config::SetupConfig) says less.
    pub async fn connect(
        &self,
        remote: &[SocketAddr],
        port: u16,
    ) -> Result<Association, ConnectError> {
        self.connect_with(remote, port, self.0.config.clone()).await
    }

    /// As [`Endpoint::connect`], with settings of its own.
    ///
    /// # Errors
    /// As [`Endpoint::connect`].
    pub async fn connect_with(
        &self,
        remote: &[SocketAddr],
        port: u16,
        config: Config,
    ) -> Result<Association, ConnectError> {
        if let Some(bad) = remote.iter().find(|r| r.port() == 0) {
            return Err(ConnectError::NoUdpPort(*bad));
        }
        let shared = &self.0.shared;
        let id = shared.with(|state| state.connect(shared.now(), remote, port, config))?;
        let association = Association::new(shared.clone(), id);
        match association.up().await {
            Ok(()) => Ok(association),
            Err(closed) => Err(ConnectError::Failed {
                remote: remote.to_vec(),
                port,
                closed,
            }),
        }
    }

    /// The next association that a peer has set up; none once the endpoint is
    /// closed.
    ///
    /// Cancel safe: a dropped call has taken no association.
    pub async fn accept(&self) -> Option<Association> {
        let shared = &self.0.shared;
        let id = poll_fn(|cx| shared.with(|state| state.poll_accept(cx.waker()))).await?;
        Some(Association::new(shared.clone(), id))
    }

    /// The local addresses, with the UDP ports that they got.
    #[must_use]
    pub fn local_addresses(&self) -> Vec<SocketAddr> {
        self.0.local.clone()
    }

    /// The SCTP port.
    #[must_use]
    pub fn sctp_port(&self) -> u16 {
        self.0.sctp_port
    }

    /// Associations that exist, however far they are.
    #[must_use]
    pub fn association_count(&self) -> usize {
        self.0.shared.with(|state| state.core.association_count())
    }

    /// What the protocol has counted beyond associations.
    #[must_use]
    pub fn stats(&self) -> EndpointStats {
        self.0.shared.with(|state| state.core.endpoint_stats())
    }

    /// What the sockets have done.
    #[must_use]
    pub fn driver_stats(&self) -> DriverStats {
        self.0.shared.with(|state| state.stats)
    }

    /// Accepts nothing more, shuts down all associations gracefully, and waits
    /// until they have ended and the ports are free.
    pub async fn close(&self) {
        let shared = &self.0.shared;
        shared.with(|state| state.close(shared.now(), true));
        poll_fn(|cx| shared.with(|state| state.poll_driver_gone(cx.waker()))).await;
    }
}
