//! UDP relays: what comes to a port goes through a path of the scenario to a target, and what the
//! target answers goes back. They need no rights.

use super::clients::{Clients, Door, bound};
use super::cuts::Cuts;
use super::due::until_due;
use super::links::{BATCH, LARGEST};
use crate::failure::{Failure, Kind};
use crate::waiting::wait;
use byway_lab::emulation::{Emulation, End, Out};
use byway_lab::scenario::Scenario;
use rustix::event::{PollFd, PollFlags};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Longest packet, if nothing else is said: that of most networks.
pub(crate) const MTU: u16 = 1500;
/// The headers of UDP and of IPv4 or IPv6.
const HEADERS: [usize; 2] = [28, 48];

/// `LISTEN=TARGET[@SOURCE]` of `--relay`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct RelayArg {
    /// Where clients send to.
    pub(crate) listen: SocketAddr,
    /// Where it goes.
    pub(crate) target: SocketAddr,
    /// From which address; the system's choice without it.
    pub(crate) source: Option<IpAddr>,
}

impl RelayArg {
    pub(crate) fn parse(text: &str) -> Result<RelayArg, String> {
        let form = "LISTEN=TARGET, such as 7001=127.0.0.1:9899, or LISTEN=TARGET@SOURCE";
        let (listen, rest) = text
            .split_once('=')
            .ok_or_else(|| format!("expected {form}"))?;
        let (target, source) = match rest.split_once('@') {
            Some((target, source)) => (target, Some(source)),
            None => (rest, None),
        };
        let (listen, target) = (socket_address(listen)?, socket_address(target)?);
        let source = source
            .map(|source| {
                let ip = source.trim().parse::<IpAddr>();
                ip.map_err(|_| format!("found \"{source}\" after @, expected an IP address"))
            })
            .transpose()?;
        if target.port() == 0 {
            return Err("the target has port 0, and nothing can listen there".to_owned());
        }
        if listen == target {
            return Err(format!("{listen} would relay to itself"));
        }
        match source {
            Some(ip) if ip.is_ipv4() != target.is_ipv4() => Err(format!(
                "packets to {target} cannot come from {ip}: one is IPv4, the other IPv6"
            )),
            source => Ok(RelayArg {
                listen,
                target,
                source,
            }),
        }
    }
}

/// An address with its port, or a port of this host.
fn socket_address(text: &str) -> Result<SocketAddr, String> {
    let text = text.trim();
    if let Ok(port) = text.parse::<u16>() {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    text.parse().map_err(|_| {
        format!("found \"{text}\", expected a port, or an address with one: 7001, 127.0.0.1:7001, [::1]:7001")
    })
}

/// The relays of a scenario's paths.
#[derive(Debug)]
pub(crate) struct Relays {
    doors: Vec<Door>,
    clients: Clients,
    /// Bytes of the headers that a datagram has on the wire; those of UDP and IP without it.
    headers: Option<usize>,
    /// Longest packet, headers included: longer ones are dropped, as by a path when Don't Fragment is set.
    mtu: usize,
}

impl Relays {
    /// Opens one for each of the first paths.
    pub(crate) fn open(relays: &[RelayArg], scenario: &Scenario) -> Result<Relays, Failure> {
        if relays.len() > scenario.paths.len() {
            return Err(Failure::wrong(format!(
                "--relay is given {} times, and the scenario has {}; one for each, in their order",
                relays.len(),
                crate::terminal::counted(scenario.paths.len(), "path", "paths"),
            )));
        }
        let open = |relay: &RelayArg| -> Result<Door, Failure> {
            let listen = bound(relay.listen).map_err(|e| {
                let remedy = match e.kind() {
                    io::ErrorKind::AddrInUse => {
                        "; another program has this port, choose another one"
                    }
                    io::ErrorKind::AddrNotAvailable => "; this host does not have the address",
                    io::ErrorKind::PermissionDenied => "; ports below 1024 are root's",
                    _ => "",
                };
                let at = relay.listen;
                Failure::new(Kind::Failed, format!("cannot listen at {at}: {e}{remedy}"))
            })?;
            Ok(Door::new(listen, relay.target, relay.source))
        };
        Ok(Relays {
            doors: relays.iter().map(open).collect::<Result<_, _>>()?,
            clients: Clients::default(),
            headers: None,
            mtu: MTU.into(),
        })
    }

    /// Where clients send to.
    pub(crate) fn listens(&self) -> Vec<SocketAddr> {
        self.doors.iter().map(Door::listens).collect()
    }

    /// Knows these clients, one for each path, before they send: the target may send first.
    pub(crate) fn expect(&mut self, clients: &[SocketAddr]) {
        for (at, (door, client)) in self.doors.iter().zip(clients).enumerate() {
            self.clients.of(door, at, *client, Duration::ZERO);
        }
    }

    /// Counts so many bytes of headers for each datagram.
    pub(crate) fn headers(mut self, bytes: usize) -> Relays {
        self.headers = Some(bytes);
        self
    }

    /// Drops longer packets than this, headers included.
    pub(super) fn mtu(mut self, bytes: u16) -> Relays {
        self.mtu = bytes.into();
        self
    }

    /// Whether a datagram fits a packet; if not, it is counted.
    fn fits(&mut self, at: usize, bytes: usize, headers: usize) -> bool {
        let fits = bytes + headers <= self.mtu;
        if !fits {
            self.doors[at].too_long(bytes, self.mtu);
        }
        fits
    }

    /// What they could not carry, a line each.
    pub(super) fn oddities(&self, scenario: &Scenario) -> String {
        let mut out = String::new();
        for (door, path) in self.doors.iter().zip(&scenario.paths) {
            out.push_str(&door.oddities(&path.name));
        }
        out.push_str(&self.clients.oddities());
        out
    }

    /// Relays until `stop`, from `begun` on; the emulation comes back with its counters.
    pub(crate) fn carry(
        mut self,
        mut emulation: Emulation,
        cuts: &Cuts,
        begun: Instant,
        stop: &AtomicBool,
    ) -> Result<(Emulation, Relays), Failure> {
        let mut block = vec![0; LARGEST];
        while !stop.load(Ordering::Relaxed) {
            for from in self.wait(until_due(&emulation, begun))? {
                match from {
                    Place::Door(door) => {
                        self.take_from_clients(&mut emulation, door, begun, &mut block)
                    }
                    Place::Target(client) => {
                        self.take_from_target(&mut emulation, client, begun, &mut block);
                    }
                }
            }
            self.deliver(&mut emulation, begun.elapsed());
            cuts.apply(&mut emulation);
        }
        Ok((emulation, self))
    }

    /// Waits for datagrams; where there are some.
    fn wait(&self, time: Duration) -> Result<Vec<Place>, Failure> {
        let doors = self.doors.iter().map(|d| &d.listen);
        let sockets = doors.chain(self.clients.sockets().map(|(_, socket)| socket));
        let mut fds: Vec<PollFd<'_>> = sockets.map(|s| PollFd::new(s, PollFlags::IN)).collect();
        wait(&mut fds, time)
            .map_err(|e| Failure::new(Kind::Failed, format!("cannot wait for datagrams: {e}")))?;
        let doors = (0..self.doors.len()).map(Place::Door);
        let clients = self.clients.sockets().map(|(id, _)| Place::Target(id));
        let all = doors.chain(clients).zip(&fds);
        Ok(all
            .filter(|(_, fd)| !fd.revents().is_empty())
            .map(|(from, _)| from)
            .collect())
    }

    fn headers_of(&self, address: SocketAddr) -> usize {
        self.headers
            .unwrap_or(HEADERS[usize::from(address.is_ipv6())])
    }

    /// Takes what clients have sent to a door.
    fn take_from_clients(
        &mut self,
        emulation: &mut Emulation,
        at: usize,
        begun: Instant,
        block: &mut [u8],
    ) {
        for _ in 0..BATCH {
            let (n, from) = match self.doors[at].listen.recv_from(block) {
                Ok(found) => found,
                // Nothing more; or what another host says of an earlier answer.
                Err(_) => return,
            };
            // What is due comes out before the next one goes in.
            let now = begun.elapsed();
            self.deliver(emulation, now);
            let headers = self.headers_of(from);
            if !self.fits(at, n, headers) {
                continue;
            }
            if let Some(client) = self.clients.of(&self.doors[at], at, from, now) {
                emulation.offer_part(now, (End::Sender, at), &block[..n], (headers, client));
            }
        }
    }

    /// Takes what the target has sent to a client.
    fn take_from_target(
        &mut self,
        emulation: &mut Emulation,
        id: u64,
        begun: Instant,
        block: &mut [u8],
    ) {
        for _ in 0..BATCH {
            // Another one may have got its place.
            let Some(client) = self.clients.get(id) else {
                return;
            };
            let at = client.door;
            let n = match client.socket.recv(block) {
                Ok(n) => n,
                Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {
                    self.doors[at].refused();
                    continue;
                }
                Err(_) => return,
            };
            let now = begun.elapsed();
            self.deliver(emulation, now);
            self.clients.heard(id, now);
            let headers = self.headers_of(self.doors[at].target);
            if !self.fits(at, n, headers) {
                continue;
            }
            emulation.offer_part(now, (End::Receiver, at), &block[..n], (headers, id));
        }
    }

    /// Sends on what has come out.
    fn deliver(&mut self, emulation: &mut Emulation, now: Duration) {
        while let Some(out) = emulation.take(now) {
            let Out {
                end,
                path,
                tag,
                packet,
                ..
            } = out;
            let sent = match (self.clients.get(tag), end) {
                (None, _) => false,
                (Some(client), End::Receiver) => match client.socket.send(&packet) {
                    Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {
                        self.doors[path].refused();
                        // That was told of an earlier one.
                        client.socket.send(&packet).is_ok()
                    }
                    sent => sent.is_ok(),
                },
                (Some(client), End::Sender) => {
                    let listen = &self.doors[path].listen;
                    listen.send_to(&packet, client.address).is_ok()
                }
            };
            if !sent {
                self.doors[path].not_sent();
            }
            emulation.recycle(packet);
        }
    }
}

/// Where datagrams wait.
#[derive(Copy, Clone, Debug)]
enum Place {
    Door(usize),
    /// The socket of this client.
    Target(u64),
}
