//! An endpoint: its sockets, and the associations that it sets up and accepts.

use crate::association::Association;
use crate::driver::Driver;
use crate::encapsulation::{self, Encapsulation, Place};
use crate::error::{BindError, ConnectError};
use crate::freed::Freed;
use crate::outbox::Outbox;
use crate::routes::KernelRoutes;
use crate::shared::Shared;
use crate::socket::Socket;
use crate::state::{DriverStats, State};
use crate::watcher::Watcher;
use crate::workers::{Worker, Workers};
use crate::{bind, kernel_drops, watch, wildcard};
use byway_core::config::Part;
use byway_core::{Config, EndpointConfig, EndpointStats};
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

/// How to set up an [`Endpoint`]. Defaults are those of [`EndpointOptions::new`].
#[derive(Clone, Debug)]
pub struct EndpointOptions {
    /// The local addresses, 1 to 8, each with its UDP encapsulation port (RFC
    /// 6951; the registered port is 9899). Port 0 means any free port, the same
    /// for all addresses with port 0. Peers get exactly these addresses.
    ///
    /// A wildcard stands for the addresses of this host and follows them while they come
    /// and go: `0.0.0.0` for those of IPv4, `::` for those of IPv6, without loopback and
    /// bridges that have no default route (unless there is nothing else), link-local addresses
    /// and cards that are down, at most 8 in all.
    pub local: Vec<SocketAddr>,
    /// What carries the packets. Default: [`Encapsulation::Udp`].
    pub encapsulation: Encapsulation,
    /// Without UDP, bind although the kernel's own SCTP (`sctp.ko`) is loaded. It gets the same
    /// packets, and its ABORTs end the associations of this endpoint unless a filter keeps them
    /// back. Default: false, and then [`Endpoint::bind`] fails with [`BindError::KernelSctp`].
    pub beside_kernel_sctp: bool,
    /// The SCTP port. 0, the default, means the number of the first UDP port, or without UDP
    /// one from 49152 on that is free. A peer distinguishes associations by address and SCTP
    /// port only, so two endpoints on one address need different SCTP ports. Their UDP ports
    /// always differ; without UDP the second one is refused.
    pub sctp_port: u16,
    /// Whether peers may set up associations. Default: true.
    pub accept: bool,
    /// Most associations that wait for [`Endpoint::accept`]; further ones are
    /// aborted. Default: 1024.
    pub backlog: usize,
    /// Most associations at once. Default: 65,536.
    pub max_associations: usize,
    /// Most associations at once that one peer address may set up. Default:
    /// 16,384. Handshakes are limited, too: see
    /// [`EndpointConfig::max_associations_per_peer`].
    pub max_associations_per_peer: usize,
    /// Most memory that all associations may take, in bytes; what is shed, and in which
    /// order, is told at [`EndpointConfig::max_memory`]. Default: 256 MiB.
    pub max_memory: usize,
    /// Settings of all associations. [`Endpoint::connect_with`] can override them.
    /// Default: [`Config::byway`].
    pub config: Config,
    /// How many workers share the associations, 1 to 64. Each has sockets of its own on the same
    /// addresses and ports (SO_REUSEPORT) and a task of its own that moves their packets, so that a
    /// runtime with as many threads uses as many processors. For the application there is one endpoint,
    /// as with one worker.
    ///
    /// The peer's SCTP port decides which worker has an association, and the kernel steers packets
    /// accordingly. Associations with peers that all have one SCTP port, such as those that
    /// [`Endpoint::connect`] sets up with one port, are at one worker.
    ///
    /// Each worker has an equal share of [`backlog`](Self::backlog), of the limits on
    /// associations and memory, and of the rates of answers
    /// ([`EndpointConfig::max_associations_per_peer`]): all together stay within them, and one may be
    /// at its share before the others are. Several workers need [`Encapsulation::Udp`]. While there
    /// are several, another process of the same user could join the port and steer otherwise.
    /// Default: 1.
    pub workers: usize,
    /// Who sees its packets and what happens to its associations. Several
    /// [`workers`](Self::workers) call it from several threads. Default: nobody, which costs nothing.
    pub watcher: Option<Arc<dyn Watcher>>,
}

impl EndpointOptions {
    /// Options with these local addresses and defaults for all else.
    #[must_use]
    pub fn new(local: impl IntoIterator<Item = SocketAddr>) -> EndpointOptions {
        EndpointOptions {
            local: local.into_iter().collect(),
            encapsulation: Encapsulation::Udp,
            beside_kernel_sctp: false,
            sctp_port: 0,
            accept: true,
            backlog: 1024,
            max_associations: 65_536,
            max_associations_per_peer: 16_384,
            max_memory: 256 << 20,
            config: Config::byway(),
            workers: 1,
            watcher: None,
        }
    }

    /// Sets what carries the packets.
    #[must_use]
    pub fn encapsulation(mut self, encapsulation: Encapsulation) -> EndpointOptions {
        self.encapsulation = encapsulation;
        self
    }

    /// Sets the SCTP port.
    #[must_use]
    pub fn sctp_port(mut self, port: u16) -> EndpointOptions {
        self.sctp_port = port;
        self
    }

    /// Sets how many workers share the associations.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> EndpointOptions {
        self.workers = workers;
        self
    }

    /// Sets the settings of associations.
    #[must_use]
    pub fn config(mut self, config: Config) -> EndpointOptions {
        self.config = config;
        self
    }
}

/// What all handles of one endpoint share. Dropping it stops accepting.
#[derive(Debug)]
struct Handle {
    workers: Workers,
    /// The worker that is asked first for the next association, so that each has its turn.
    turn: AtomicUsize,
    encapsulation: Encapsulation,
    sctp_port: u16,
    config: Config,
}

impl Drop for Handle {
    fn drop(&mut self) {
        for worker in self.workers.iter() {
            worker.with(|state| state.close(worker.now(), false));
        }
    }
}

/// A seed of the system's random generator.
fn seed() -> Result<[u8; 32], BindError> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|e| BindError::Random(e.to_string()))?;
    Ok(seed)
}

/// One SCTP port on one or more local addresses. Clones are handles of the same
/// endpoint. When the last one is dropped, the endpoint stops accepting, and
/// associations in use continue.
#[derive(Clone, Debug)]
pub struct Endpoint(Arc<Handle>);

impl Endpoint {
    /// Binds the sockets and spawns a driver task for each worker on the current tokio runtime.
    ///
    /// # Errors
    /// When an address cannot be bound, a setting cannot work, or there is no
    /// runtime.
    pub fn bind(options: EndpointOptions) -> Result<Endpoint, BindError> {
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| BindError::NoRuntime)?;
        // Checked before the sockets are bound, so that the error names the
        // setting. The ports are still those of the options.
        let port = if options.sctp_port == 0 {
            1
        } else {
            options.sctp_port
        };
        let wanted = options.local;
        let listed = wildcard::expand(&wanted).map_err(BindError::Addresses)?;
        if listed.is_empty() && wildcard::any(&wanted) {
            return Err(BindError::NoAddress);
        }
        let mut config = EndpointConfig::new(port, listed, seed()?);
        config.accept = options.accept;
        config.max_associations = options.max_associations;
        config.max_associations_per_peer = options.max_associations_per_peer;
        config.max_memory = options.max_memory;
        config.accepted = options.config.clone();
        let watching = |w: &Arc<dyn Watcher>| w.wants_observations();
        config.observe = options.watcher.as_ref().is_some_and(watching);
        config.check()?;
        let (encapsulation, workers) = (options.encapsulation, options.workers);
        bind::check_workers(workers, encapsulation)?;
        bind::check(&config.local, encapsulation, options.beside_kernel_sctp)?;
        let (sockets, sctp_port) = bind::all(&config.local, encapsulation, options.sctp_port)?;
        let sockets = bind::for_workers(sockets, workers)?;
        let places: Vec<Place> = sockets[0].iter().map(Socket::place).collect();
        config.local = encapsulation::addresses(places.iter().copied());
        config.port = sctp_port;

        let started = std::time::Instant::now();
        let mut all = Vec::with_capacity(workers);
        for (number, sockets) in (0..).zip(&sockets) {
            let part = Part {
                number,
                of: workers as u32,
            };
            let mut config = config.clone();
            (config.part, config.seed) = (part, seed()?);
            let mut core = byway_core::Endpoint::new(config)?;
            core.set_routes(Box::new(KernelRoutes::now()));
            let outbox = Outbox::new(sockets.iter().map(Socket::max_segments).collect());
            let backlog = part.share(options.backlog);
            let mut state = State::new(core, places.clone(), outbox, backlog);
            state.watch(options.watcher.clone());
            all.push(Shared::new(state, started));
        }
        let workers = Workers::new(all);
        for (number, sockets) in sockets.into_iter().enumerate() {
            runtime.spawn(Driver::new(Worker::new(&workers, number), sockets));
        }
        let bound = watch::Bound {
            wanted,
            encapsulation,
            sctp_port,
        };
        runtime.spawn(watch::follow(workers.clone(), bound));
        Ok(Endpoint(Arc::new(Handle {
            workers,
            turn: AtomicUsize::new(0),
            encapsulation,
            sctp_port,
            config: options.config,
        })))
    }

    /// Sets up an association with a peer and waits until it is established.
    /// `remote` has the peer's addresses with their UDP encapsulation ports, 0 for those that
    /// are reached without UDP ([`Encapsulation`]); one is enough, as the peer lists its others,
    /// which are tried as the one that answered. `port` is the peer's SCTP port.
    ///
    /// # Errors
    /// When an address or a setting cannot work, or the association is not
    /// established. A peer that does not answer is given up after
    /// Max.Init.Retransmits (RFC 9260 section 5.1.6), which takes minutes unless
    /// [`SetupConfig`](byway_core::config::SetupConfig) says less.
    pub async fn connect(
        &self,
        remote: &[SocketAddr],
        port: u16,
    ) -> Result<Association, ConnectError> {
        self.connect_with(remote, port, self.0.config.clone()).await
    }

    /// [`Endpoint::connect`] with settings for this association.
    ///
    /// # Errors
    /// As [`Endpoint::connect`].
    pub async fn connect_with(
        &self,
        remote: &[SocketAddr],
        port: u16,
        config: Config,
    ) -> Result<Association, ConnectError> {
        let encapsulation = self.0.encapsulation;
        for address in remote {
            if address.port() == 0 && !encapsulation.has_raw() {
                return Err(ConnectError::NoUdpPort(*address));
            }
            if address.port() != 0 && !encapsulation.has_udp() {
                return Err(ConnectError::UdpPort(*address));
            }
        }
        let shared = self.0.workers.of_port(port);
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

    /// The next association that a peer has set up; `None` once the endpoint is
    /// closed.
    ///
    /// Cancel safe: if the future is dropped, no association is lost.
    pub async fn accept(&self) -> Option<Association> {
        poll_fn(|cx| self.poll_accept(cx)).await
    }

    fn poll_accept(&self, cx: &Context<'_>) -> Poll<Option<Association>> {
        let workers = self.workers();
        let turn = self.0.turn.fetch_add(1, Ordering::Relaxed) % workers.len();
        let (before, from) = workers.split_at(turn);
        let mut closed = true;
        for worker in from.iter().chain(before) {
            match worker.with(|state| state.poll_accept(cx.waker())) {
                Poll::Ready(Some(id)) => {
                    return Poll::Ready(Some(Association::new(worker.clone(), id)));
                }
                Poll::Ready(None) => {}
                Poll::Pending => closed = false,
            }
        }
        match closed {
            true => Poll::Ready(None),
            false => Poll::Pending,
        }
    }

    /// The local addresses with their UDP ports, as they are bound now; 0 without UDP.
    #[must_use]
    pub fn local_addresses(&self) -> Vec<SocketAddr> {
        self.workers().first().with(|state| state.local_addresses())
    }

    /// The SCTP port.
    #[must_use]
    pub fn sctp_port(&self) -> u16 {
        self.0.sctp_port
    }

    /// Associations that have not ended, established or not.
    #[must_use]
    pub fn association_count(&self) -> usize {
        let count = |worker: &Arc<Shared>| worker.with(|state| state.core.association_count());
        self.workers().iter().map(count).sum()
    }

    /// Counters of the protocol outside associations.
    #[must_use]
    pub fn stats(&self) -> EndpointStats {
        let mut all = EndpointStats::default();
        for worker in self.workers().iter() {
            all += worker.with(|state| state.core.endpoint_stats());
        }
        all
    }

    /// Memory that all associations take, in bytes: what peers can make this side keep,
    /// ended associations included as long as a handle of them lives.
    #[must_use]
    pub fn memory(&self) -> usize {
        let memory = |worker: &Arc<Shared>| worker.with(|state| state.core.memory());
        self.workers().iter().map(memory).sum()
    }

    /// Tells when much of [`memory`](Self::memory) has become free.
    #[must_use]
    pub fn freed(&self) -> Freed {
        Freed::new(self.workers())
    }

    /// Datagrams that the kernel dropped, because nobody had read their socket for too long: a
    /// flood, or a process without a processor. Those of sockets that are open now. Reads a table
    /// of the kernel, so it is not for every packet; `None` where there is none (it is Linux's).
    #[must_use]
    pub fn dropped_by_kernel(&self) -> Option<u64> {
        kernel_drops::of(&self.local_addresses())
    }

    pub(crate) fn workers(&self) -> &Workers {
        &self.0.workers
    }

    /// Counters of the sockets.
    #[must_use]
    pub fn driver_stats(&self) -> DriverStats {
        let mut all = DriverStats::default();
        for worker in self.workers().iter() {
            all += worker.with(|state| state.stats);
        }
        all
    }

    /// Stops accepting, shuts all associations down gracefully, and waits until
    /// they have ended and the ports are free. Whatever the peers do, this takes at most 50 times
    /// RTO.Max ([`Association::shutdown`]), and for set-ups that have not ended their own limits
    /// before; [`Endpoint::abort`] waits for nobody.
    pub async fn close(&self) {
        let workers = self.workers();
        for worker in workers.iter() {
            worker.with(|state| state.close(worker.now(), true));
        }
        poll_fn(|cx| workers.poll_gone(cx.waker())).await;
    }

    /// Stops accepting, aborts all associations (RFC 9260 section 9.1), and waits
    /// until the ABORTs are sent and the ports are free. They carry at most 256
    /// bytes of `reason`.
    ///
    /// No peer is waited for. If there were associations, packets of peers that
    /// have missed their ABORT are answered with another for a fifth of a second.
    /// The associations have ended when this is first polled.
    pub async fn abort(&self, reason: &[u8]) {
        let workers = self.workers();
        let mut lingers = false;
        for worker in workers.iter() {
            lingers |= worker.with(|state| state.abort_all(worker.now(), reason));
        }
        if lingers {
            let _end = Lingering(workers);
            tokio::time::sleep(LINGER).await;
        }
        poll_fn(|cx| workers.poll_gone(cx.waker())).await;
    }
}

/// How long packets that come after an abort are answered.
const LINGER: Duration = Duration::from_millis(200);

/// While it lives, the drivers that had associations run on although nothing is left.
struct Lingering<'a>(&'a Workers);

impl Drop for Lingering<'_> {
    fn drop(&mut self) {
        for worker in self.0.iter() {
            worker.with(State::end_linger);
        }
    }
}
