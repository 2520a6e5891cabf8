//! Hosts on a network, and the loop that drives them.

use crate::host::{AppCtx, Application};
use crate::net::{HostEvent, Network, NodeId, Outgoing, SendError, TimerId};
use byway_core::observe::Observed;
use byway_core::time::Instant;
use byway_core::{ChecksumMode, ConfigError, Endpoint, EndpointConfig};
use core::any::Any;

/// Identifies a host of a simulation.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostId(usize);

struct Host {
    endpoint: Endpoint,
    app: Box<dyn Application>,
    app_timer: Option<Instant>,
    timer: TimerId,
    /// When `timer` expires, if it is set.
    armed: Option<Instant>,
    /// Corrupted packets are dropped before they reach the endpoint, as by a network card
    /// that verifies checksums.
    offloaded: bool,
    /// It no longer receives or sends.
    silent: bool,
}

/// A network with endpoints and applications at its hosts.
///
/// [`step`](Simulation::step) passes one event of the network to its host and sends the
/// host's packets. [`run_until`](Simulation::run_until) repeats this up to a given time.
/// The same network, seeds and applications give the same run.
pub struct Simulation {
    net: Network,
    hosts: Vec<Host>,
    /// The host at each node, by node number.
    by_node: Vec<Option<usize>>,
    started: bool,
    /// Packets that the network refused because no interface has their source
    /// address.
    refused: u64,
    /// Timers are set exactly, not early.
    exact_timers: bool,
    /// Called with each packet before the network gets it.
    outgoing: Option<OutgoingHook>,
}

/// Called with each packet that leaves a host. It may change the size and `meta`.
type OutgoingHook = Box<dyn FnMut(&mut Outgoing) + Send>;

impl core::fmt::Debug for Simulation {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Simulation")
            .field("now", &self.net.now())
            .field("hosts", &self.hosts.len())
            .finish_non_exhaustive()
    }
}

impl Simulation {
    /// A simulation on a network, without hosts.
    #[must_use]
    pub fn new(net: Network) -> Simulation {
        Simulation {
            net,
            hosts: Vec::new(),
            by_node: Vec::new(),
            started: false,
            refused: 0,
            exact_timers: false,
            outgoing: None,
        }
    }

    /// Puts an endpoint and its application at a node. The endpoint's local addresses
    /// must be those of the node, with port 0 for plain SCTP over IP.
    ///
    /// # Errors
    /// When a setting of the endpoint is invalid. The error names it.
    pub fn add_host(
        &mut self,
        node: NodeId,
        config: EndpointConfig,
        app: impl Application,
    ) -> Result<HostId, ConfigError> {
        let host = HostId(self.hosts.len());
        let timer = self.net.add_timer(node, host.0 as u64);
        let offloaded = config.checksum == ChecksumMode::Offloaded;
        self.hosts.push(Host {
            endpoint: Endpoint::new(config)?,
            app: Box::new(app),
            app_timer: None,
            timer,
            armed: None,
            offloaded,
            silent: false,
        });
        if self.by_node.len() <= node.index() {
            self.by_node.resize(node.index() + 1, None);
        }
        self.by_node[node.index()] = Some(host.0);
        Ok(host)
    }

    /// The virtual time.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.net.now()
    }

    /// The network.
    #[must_use]
    pub fn network(&self) -> &Network {
        &self.net
    }

    /// The network, for its logs and captures.
    pub fn network_mut(&mut self) -> &mut Network {
        &mut self.net
    }

    /// A host's endpoint.
    #[must_use]
    pub fn endpoint(&self, host: HostId) -> &Endpoint {
        &self.hosts[host.0].endpoint
    }

    /// Packets that the network refused because no interface has their source
    /// address.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// A host's application, if it is of that type.
    #[must_use]
    pub fn app<A: Application>(&self, host: HostId) -> Option<&A> {
        let app: &dyn Any = &*self.hosts[host.0].app;
        app.downcast_ref()
    }

    /// A host's application, if it is of that type, to be changed.
    pub fn app_mut<A: Application>(&mut self, host: HostId) -> Option<&mut A> {
        let app: &mut dyn Any = &mut *self.hosts[host.0].app;
        app.downcast_mut()
    }

    /// Starts or stops the recording of a host's observations.
    pub fn observe(&mut self, host: HostId, on: bool) {
        self.hosts[host.0].endpoint.observe(on);
    }

    /// Calls `hook` with every packet before the network gets it. The hook may set
    /// [`Outgoing::wire_size`] and [`Outgoing::meta`], for example to give packets
    /// the sizes of another stack. It must not change addresses.
    pub fn on_outgoing(&mut self, hook: impl FnMut(&mut Outgoing) + Send + 'static) {
        self.outgoing = Some(Box::new(hook));
    }

    /// Wakes each host at the exact time of its earliest timer, and not at a time that
    /// may be early. So events at the same time are in the order in which they were
    /// scheduled ([`Simultaneous::AsScheduled`]). Default: off.
    ///
    /// [`Simultaneous::AsScheduled`]: crate::net::Simultaneous::AsScheduled
    pub fn exact_timers(&mut self, on: bool) {
        self.exact_timers = on;
    }

    /// Switches a host off, like a power failure: it no longer receives or sends, and its
    /// timers do not expire.
    pub fn silence(&mut self, host: HostId) {
        let host = &mut self.hosts[host.0];
        host.silent = true;
        host.armed = None;
        self.net.set_timer(host.timer, None);
    }

    /// Calls `run` with a host's endpoint at the current time. Then sends the packets and
    /// delivers the events that result.
    pub fn with_endpoint<T>(
        &mut self,
        host: HostId,
        run: impl FnOnce(Instant, &mut Endpoint) -> T,
    ) -> T {
        let now = self.net.now();
        let result = run(now, &mut self.hosts[host.0].endpoint);
        self.pump(host.0, now);
        result
    }

    /// Takes what a host has observed since the last time, oldest first, and changes
    /// nothing else. There is nothing unless the host records its observations.
    pub fn drain_observations(&mut self, host: HostId) -> impl Iterator<Item = Observed> + '_ {
        self.hosts[host.0].endpoint.drain_observations()
    }

    /// Starts the applications, once.
    pub fn start(&mut self) {
        if core::mem::replace(&mut self.started, true) {
            return;
        }
        let now = self.net.now();
        for i in 0..self.hosts.len() {
            call(&mut self.hosts[i], now, |app, ctx| app.start(ctx));
            self.pump(i, now);
        }
    }

    /// Handles the next event that is not later than `limit`. Returns false if there
    /// is none.
    pub fn step(&mut self, limit: Instant) -> bool {
        self.start();
        let Some(event) = self.net.next_host_event(limit) else {
            return false;
        };
        let now = self.net.now();
        match event {
            HostEvent::Arrived { link, slot } => self.arrived(now, link, slot),
            HostEvent::Timer { token, .. } => {
                let i = token as usize;
                let host = &mut self.hosts[i];
                host.armed = None;
                host.endpoint.handle_timeout(now);
                if host.app_timer.is_some_and(|t| t <= now) {
                    host.app_timer = None;
                    call(host, now, |app, ctx| app.on_timer(ctx));
                }
                self.pump(i, now);
            }
        }
        true
    }

    /// A packet has arrived at a host.
    #[inline]
    fn arrived(&mut self, now: Instant, link: u32, slot: u32) {
        let packet = self.net.arrived(link, slot);
        let host = self.by_node.get(packet.node.index()).copied().flatten();
        let taken = host.filter(|&i| {
            let host = &self.hosts[i];
            !(host.silent || packet.corrupted && host.offloaded)
        });
        if let Some(i) = taken {
            let endpoint = &mut self.hosts[i].endpoint;
            let parts = (packet.payload, packet.tail);
            endpoint.handle_parts(now, *packet.src, *packet.dst, parts);
        }
        self.net.discard(slot);
        if let Some(i) = taken {
            self.pump(i, now);
        }
    }

    /// Handles all events up to and including `limit`.
    pub fn run_until(&mut self, limit: Instant) {
        while self.step(limit) {}
    }

    /// Handles events until `done` returns true or no event is left up to `limit`.
    /// Returns what `done` says at the end.
    pub fn run_until_done(
        &mut self,
        limit: Instant,
        mut done: impl FnMut(&Simulation) -> bool,
    ) -> bool {
        self.start();
        loop {
            if done(self) {
                return true;
            }
            if !self.step(limit) {
                return done(self);
            }
        }
    }

    /// Takes all output of an endpoint: events go to the application, packets to the
    /// network, and the next timeout to the event queue.
    fn pump(&mut self, i: usize, now: Instant) {
        let host = &mut self.hosts[i];
        if host.silent {
            return;
        }
        loop {
            // Events come first, because an application that reads at once opens the
            // window that the next SACK advertises.
            while let Some((id, event)) = host.endpoint.poll_event() {
                call(host, now, |app, ctx| app.on_event(ctx, id, &event));
            }
            let sent = if let Some(hook) = &mut self.outgoing {
                let mut buffer = self.net.buffer();
                let Some(t) = host.endpoint.poll_transmit(now, &mut buffer) else {
                    self.net.recycle(buffer);
                    break;
                };
                let mut packet = Outgoing::new(t.source.ip(), t.destination.ip(), buffer);
                hook(&mut packet);
                self.net.send(now, packet)
            } else {
                let endpoint = &mut host.endpoint;
                let sent = self
                    .net
                    .send_written(|bytes, tail| endpoint.poll_transmit_parts(now, bytes, tail));
                let Some(sent) = sent else {
                    break;
                };
                sent
            };
            if let Err(e) = sent {
                debug_assert!(!matches!(e, SendError::InThePast { .. }));
                self.refused += 1;
            }
        }
        let timeout = if self.exact_timers {
            host.endpoint.earliest_timer()
        } else {
            host.endpoint.poll_timeout()
        };
        let next = match (timeout, host.app_timer) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        if host.armed != next {
            host.armed = next;
            self.net.set_timer(host.timer, next);
        }
    }
}

fn call(host: &mut Host, now: Instant, run: impl FnOnce(&mut dyn Application, &mut AppCtx<'_>)) {
    let mut ctx = AppCtx {
        now,
        endpoint: &mut host.endpoint,
        timer: &mut host.app_timer,
    };
    run(&mut *host.app, &mut ctx);
}
