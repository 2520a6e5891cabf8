//! Runs one policy: two core endpoints on the simulated network, one that
//! sends the scenario's traffic and one that reads it.

use crate::collect::Collector;
use crate::network::{Built, instant, receiver_address, sender_address};
use crate::scenario::{Scenario, Traffic};
use bytes::Bytes;
use byway_core::time::Instant;
use byway_core::{
    AssocId, ChecksumMode, CommandError, Config, ConfigError, ConnectError, Endpoint,
    EndpointConfig, Event, Message,
};
use byway_sim::net::{Event as NetEvent, Network, NodeId, Outgoing, SendError, TimerId};
use std::net::{IpAddr, SocketAddr};

/// SCTP port of both.
const PORT: u16 = 5001;
/// Tokens of timers.
const ENDPOINT_DUE: u64 = 0;
const TRAFFIC_DUE: u64 = 1;

/// Why a run could not be done.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// An endpoint refuses its settings.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The association cannot be begun.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// A message of the scenario's traffic is refused.
    #[error("traffic: {0}")]
    Send(#[from] CommandError),
    /// The network does not take a packet.
    #[error(transparent)]
    Network(#[from] SendError),
}

/// How a run ended.
pub(crate) struct Ended {
    pub(crate) at: Instant,
    /// Why the sender lost the association, if it did.
    pub(crate) lost: Option<String>,
    pub(crate) net: Network,
}

struct Host {
    endpoint: Endpoint,
    timer: TimerId,
}

impl Host {
    fn new(
        net: &mut Network,
        node: NodeId,
        local: Vec<IpAddr>,
        seed: [u8; 32],
        config: &Config,
    ) -> Result<Host, ConfigError> {
        let local = local.into_iter().map(|ip| SocketAddr::new(ip, 0)).collect();
        let mut settings = EndpointConfig::new(PORT, local, seed);
        settings.accepted = config.clone();
        settings.checksum = ChecksumMode::Offloaded;
        settings.observe = true;
        let endpoint = Endpoint::new(settings)?;
        let timer = net.add_timer(node, ENDPOINT_DUE);
        Ok(Host { endpoint, timer })
    }

    /// Sends what there is to send and sets the timer.
    fn flush(&mut self, net: &mut Network, now: Instant) -> Result<(), SendError> {
        loop {
            let mut payload = net.buffer();
            let Some(transmit) = self.endpoint.poll_transmit(now, &mut payload) else {
                net.recycle(payload);
                break;
            };
            net.send(
                now,
                Outgoing::new(transmit.source.ip(), transmit.destination.ip(), payload),
            )?;
        }
        // It may be early but never late; a time that has passed is due now.
        let due = self.endpoint.poll_timeout().map(|at| at.max(now));
        net.set_timer(self.timer, due);
        Ok(())
    }
}

/// The application at the sender.
struct App {
    message: usize,
    streams: u16,
    /// Bytes not handed over yet.
    left: u64,
    sent: u64,
    /// Time between two messages, and when the next one is due.
    every: Option<(std::time::Duration, Instant)>,
}

impl App {
    fn new(traffic: &Traffic) -> App {
        match *traffic {
            Traffic::Bulk {
                size,
                message,
                streams,
                ..
            } => App {
                message: message.0 as usize,
                streams,
                left: size.0,
                sent: 0,
                every: None,
            },
            Traffic::Periodic {
                message,
                every,
                count,
                streams,
                ..
            } => {
                let every = Some((every, Instant::ZERO));
                App {
                    message: message.0 as usize,
                    streams,
                    left: message.0 * count,
                    sent: 0,
                    every,
                }
            }
        }
    }

    /// The first message is due at `now`.
    fn begin(&mut self, now: Instant) {
        if let Some((_, due)) = &mut self.every {
            *due = now;
        }
    }

    /// Hands over what is due and has room; when the next message is due.
    fn supply(
        &mut self,
        endpoint: &mut Endpoint,
        id: AssocId,
        now: Instant,
    ) -> Result<Option<Instant>, CommandError> {
        while self.left > 0 {
            if let Some((_, due)) = self.every
                && due > now
            {
                return Ok(Some(due));
            }
            let len = self
                .message
                .min(usize::try_from(self.left).unwrap_or(self.message));
            let stream = (self.sent % u64::from(self.streams)) as u16;
            match endpoint.send(now, id, Message::new(stream, Bytes::from(vec![0; len]))) {
                Ok(()) => {}
                // `Writable` follows.
                Err(CommandError::WouldBlock { .. }) => return Ok(None),
                // The event that says why follows.
                Err(CommandError::Gone | CommandError::ShuttingDown) => return Ok(None),
                Err(other) => return Err(other),
            }
            self.left -= len as u64;
            self.sent += 1;
            if let Some((every, due)) = &mut self.every {
                *due += *every;
            }
        }
        Ok(None)
    }
}

/// Seeds an endpoint; both must differ, and other runs of the scenario repeat it.
fn seed(scenario: u64, host: u8) -> [u8; 32] {
    let mut seed = [host; 32];
    seed[..8].copy_from_slice(&scenario.to_le_bytes());
    seed
}

/// Runs until all is delivered and acknowledged, the association is lost, or
/// the scenario's time is over. `progress` is told the simulated time.
pub(crate) fn drive(
    scenario: &Scenario,
    config: &Config,
    built: Built,
    collector: &mut Collector,
    progress: &dyn Fn(Instant),
) -> Result<Ended, DriveError> {
    let mut run = Run::new(scenario, config, built)?;
    let limit = instant(scenario.limit);
    let mut now = Instant::ZERO;
    let mut events: u64 = 0;
    while let Some((at, event)) = run.net.pop_until(limit) {
        now = at;
        events += 1;
        if events.is_multiple_of(4096) {
            progress(now);
        }
        let side = run.take(now, event)?;
        run.react(now, side, collector)?;
        if run.lost.is_some() || collector.is_complete() {
            return Ok(Ended {
                at: now,
                lost: run.lost,
                net: run.net,
            });
        }
    }
    // Nothing more happens, or the time is over.
    Ok(Ended {
        at: limit.max(now),
        lost: run.lost,
        net: run.net,
    })
}

/// Places in [`Run::hosts`].
const SENDER: usize = 0;
const RECEIVER: usize = 1;

/// A run under way.
struct Run {
    net: Network,
    receiver: NodeId,
    hosts: [Host; 2],
    app: App,
    config: Config,
    /// The receiver's addresses.
    remote: Vec<SocketAddr>,
    /// Wakes the application.
    wake: TimerId,
    /// The sender's association, and whether it stands.
    begun: Option<AssocId>,
    up: bool,
    /// The receiver's association.
    accepted: Option<AssocId>,
    lost: Option<String>,
}

impl Run {
    fn new(scenario: &Scenario, config: &Config, built: Built) -> Result<Run, ConfigError> {
        let Built {
            mut net,
            sender,
            receiver,
        } = built;
        let (Traffic::Bulk { streams, start, .. } | Traffic::Periodic { streams, start, .. }) =
            scenario.traffic;
        let mut config = config.clone();
        config.setup.outbound_streams = config.setup.outbound_streams.max(streams);
        let addresses =
            |of: fn(usize) -> IpAddr| (0..scenario.paths.len()).map(of).collect::<Vec<_>>();
        let mut host = |node, of, number| {
            Host::new(
                &mut net,
                node,
                addresses(of),
                seed(scenario.seed, number),
                &config,
            )
        };
        let hosts = [
            host(sender, sender_address, 1)?,
            host(receiver, receiver_address, 2)?,
        ];
        let wake = net.add_timer(sender, TRAFFIC_DUE);
        net.set_timer(wake, Some(instant(start)));
        Ok(Run {
            net,
            receiver,
            hosts,
            app: App::new(&scenario.traffic),
            config,
            remote: addresses(receiver_address)
                .into_iter()
                .map(|ip| SocketAddr::new(ip, 0))
                .collect(),
            wake,
            begun: None,
            up: false,
            accepted: None,
            lost: None,
        })
    }

    /// Hands an event of the network to its host; which one that is.
    fn take(&mut self, now: Instant, event: NetEvent) -> Result<usize, DriveError> {
        match event {
            NetEvent::Arrived(arrival) => {
                let side = self.side(arrival.node);
                // A receiver would see the wrong checksum.
                if !arrival.corrupted {
                    let (from, to) = (
                        SocketAddr::new(arrival.src, 0),
                        SocketAddr::new(arrival.dst, 0),
                    );
                    self.hosts[side]
                        .endpoint
                        .handle_datagram(now, from, to, &arrival.payload);
                }
                self.net.recycle(arrival.payload);
                Ok(side)
            }
            NetEvent::Timer {
                token: TRAFFIC_DUE, ..
            } => {
                if self.begun.is_none() {
                    let endpoint = &mut self.hosts[SENDER].endpoint;
                    self.begun =
                        Some(endpoint.connect(now, &self.remote, PORT, self.config.clone())?);
                } else {
                    self.supply(now)?;
                }
                Ok(SENDER)
            }
            NetEvent::Timer { node, .. } => {
                let side = self.side(node);
                self.hosts[side].endpoint.handle_timeout(now);
                Ok(side)
            }
        }
    }

    fn side(&self, node: NodeId) -> usize {
        if node == self.receiver {
            RECEIVER
        } else {
            SENDER
        }
    }

    /// Lets the application send what is due.
    fn supply(&mut self, now: Instant) -> Result<(), CommandError> {
        if let (true, Some(id)) = (self.up, self.begun) {
            let due = self.app.supply(&mut self.hosts[SENDER].endpoint, id, now)?;
            self.net.set_timer(self.wake, due);
        }
        Ok(())
    }

    /// Lets the applications react to what happened to the host `side`, sends
    /// its packets and gathers what was observed.
    fn react(
        &mut self,
        now: Instant,
        side: usize,
        collector: &mut Collector,
    ) -> Result<(), DriveError> {
        while let Some((id, event)) = self.hosts[side].endpoint.poll_event() {
            match (side, event) {
                (SENDER, Event::Up { .. }) => {
                    self.up = true;
                    self.app.begin(now);
                    self.supply(now)?;
                }
                (SENDER, Event::Writable) => self.supply(now)?,
                (SENDER, Event::Lost { reason, .. }) => self.lost = Some(reason.to_string()),
                (RECEIVER, _) => self.accepted = Some(id),
                _ => {}
            }
        }
        let host = &mut self.hosts[side];
        if let (RECEIVER, Some(id)) = (side, self.accepted) {
            // The reader is always there: what can be read is delivered.
            while let Some(part) = host.endpoint.receive(id) {
                collector.delivery(now, part.payload.len() as u64);
            }
        }
        host.flush(&mut self.net, now)?;
        for observed in host.endpoint.drain_observations() {
            if side == SENDER {
                collector.sender(&observed)
            } else {
                collector.receiver(&observed)
            }
        }
        Ok(())
    }
}
