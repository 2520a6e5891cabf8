//! Who sends to relays: each client has a socket of its own to the target, so that answers find it.

use crate::terminal::{counted, say};
use socket2::{Domain, Protocol, Socket, Type};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

/// Most clients of all relays. Each holds a file.
const MOST: usize = 256;
/// A client of whom nothing was heard for so long gives way to a new one, if there is no other place.
const SILENT: Duration = Duration::from_secs(10);
/// Room for what comes while the process does not run, if the system gives it.
const BUFFER: usize = 4 << 20;

/// A socket that never waits.
pub(super) fn bound(at: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(at), Type::DGRAM, Some(Protocol::UDP))?;
    // A system that gives less loses more in a burst, and says so nowhere.
    let _ = socket.set_recv_buffer_size(BUFFER);
    let _ = socket.set_send_buffer_size(BUFFER);
    socket.bind(&at.into())?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Where clients of a path send to.
#[derive(Debug)]
pub(super) struct Door {
    pub(super) listen: UdpSocket,
    pub(super) target: SocketAddr,
    source: Option<IpAddr>,
    refused: u64,
    not_sent: u64,
    too_long: u64,
}

impl Door {
    pub(super) fn new(listen: UdpSocket, target: SocketAddr, source: Option<IpAddr>) -> Door {
        Door {
            listen,
            target,
            source,
            refused: 0,
            not_sent: 0,
            too_long: 0,
        }
    }

    pub(super) fn listens(&self) -> SocketAddr {
        let local = self.listen.local_addr();
        local.unwrap_or_else(|_| (Ipv4Addr::UNSPECIFIED, 0).into())
    }

    /// The target's host says that nothing listens there.
    pub(super) fn refused(&mut self) {
        self.refused += 1;
        if self.refused == 1 {
            say(format_args!(
                "nothing listens at {} yet; what goes there is lost",
                self.target
            ));
        }
    }

    /// The system did not take a datagram, or its client has lost its place.
    pub(super) fn not_sent(&mut self) {
        self.not_sent += 1;
    }

    /// A datagram does not fit a packet.
    pub(super) fn too_long(&mut self, bytes: usize, mtu: usize) {
        self.too_long += 1;
        if self.too_long == 1 {
            say(format_args!(
                "a datagram of {bytes} bytes is dropped: with its headers it is longer than {mtu}; --mtu lets longer ones pass"
            ));
        }
    }

    pub(super) fn oddities(&self, path: &str) -> String {
        let mut out = String::new();
        if self.refused > 0 {
            out.push_str(&format!(
                "{path}: {} found nothing that listens at {}\n",
                counted_u64(self.refused),
                self.target
            ));
        }
        if self.too_long > 0 {
            out.push_str(&format!(
                "{path}: {} longer than the MTU\n",
                counted_u64(self.too_long)
            ));
        }
        if self.not_sent > 0 {
            out.push_str(&format!(
                "{path}: {} could not be sent on\n",
                counted_u64(self.not_sent)
            ));
        }
        out
    }

    /// A socket to the target, from this port if it is free.
    fn upstream(&self, port: Option<u16>) -> io::Result<UdpSocket> {
        let source = self.source.unwrap_or(match self.target {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        });
        let wanted = port.map(|port| bound((source, port).into()));
        let socket = match wanted {
            Some(Ok(socket)) => socket,
            Some(Err(_)) | None => bound((source, 0).into())?,
        };
        socket.connect(self.target)?;
        Ok(socket)
    }
}

fn counted_u64(n: u64) -> String {
    counted(
        usize::try_from(n).unwrap_or(usize::MAX),
        "datagram",
        "datagrams",
    )
}

/// Who sends to a door.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) door: usize,
    pub(super) address: SocketAddr,
    /// To the target.
    pub(super) socket: UdpSocket,
    /// When something came from it or for it.
    heard: Duration,
}

/// All clients, by a number that is never used again.
#[derive(Debug, Default)]
pub(super) struct Clients {
    by_number: BTreeMap<u64, Client>,
    by_address: HashMap<(usize, SocketAddr), u64>,
    next: u64,
    /// Datagrams of clients for whom there was no place, or no socket.
    turned_away: u64,
}

impl Clients {
    pub(super) fn get(&self, number: u64) -> Option<&Client> {
        self.by_number.get(&number)
    }

    /// Their sockets, in the order of their numbers.
    pub(super) fn sockets(&self) -> impl Iterator<Item = (u64, &UdpSocket)> {
        self.by_number
            .iter()
            .map(|(n, client)| (*n, &client.socket))
    }

    /// Something came for a client.
    pub(super) fn heard(&mut self, number: u64, now: Duration) {
        if let Some(client) = self.by_number.get_mut(&number) {
            client.heard = now;
        }
    }

    /// The number of who sent to a door from this address; none if there is no place.
    pub(super) fn of(
        &mut self,
        door: &Door,
        at: usize,
        address: SocketAddr,
        now: Duration,
    ) -> Option<u64> {
        if let Some(number) = self.by_address.get(&(at, address)).copied() {
            self.heard(number, now);
            return Some(number);
        }
        self.enter(door, at, address, now)
    }

    fn enter(&mut self, door: &Door, at: usize, address: SocketAddr, now: Duration) -> Option<u64> {
        if self.by_number.len() >= MOST && !self.make_room(now) {
            self.turn_away(format_args!(
                "there are {MOST} clients already, and the next ones are turned away until one is silent for {} s",
                SILENT.as_secs()
            ));
            return None;
        }
        // A multihomed client keeps one port at all paths, as its peer may expect.
        let same = |c: &&Client| c.address.port() == address.port() && c.door != at;
        let known = self.by_number.values().find(same);
        let port = known.and_then(|c| c.socket.local_addr().ok());
        let socket = match door.upstream(port.map(|p| p.port())) {
            Ok(socket) => socket,
            Err(e) => {
                let to = door.target;
                self.turn_away(format_args!("cannot send to {to} for {address}: {e}"));
                return None;
            }
        };
        let number = self.next;
        self.next += 1;
        self.by_address.insert((at, address), number);
        self.by_number.insert(
            number,
            Client {
                door: at,
                address,
                socket,
                heard: now,
            },
        );
        Some(number)
    }

    /// Lets the one go of whom nothing was heard for longest, if that is long enough.
    fn make_room(&mut self, now: Duration) -> bool {
        let longest = self.by_number.iter().min_by_key(|(_, client)| client.heard);
        let Some((number, client)) = longest else {
            return false;
        };
        if now.saturating_sub(client.heard) < SILENT {
            return false;
        }
        let (number, place) = (*number, (client.door, client.address));
        self.by_address.remove(&place);
        self.by_number.remove(&number);
        true
    }

    fn turn_away(&mut self, why: std::fmt::Arguments<'_>) {
        self.turned_away += 1;
        if self.turned_away == 1 {
            say(why);
        }
    }

    pub(super) fn oddities(&self) -> String {
        match self.turned_away {
            0 => String::new(),
            n => format!("{} of clients without a place\n", counted_u64(n)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(port: u16) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, port).into()
    }

    fn door() -> (Door, UdpSocket) {
        let target = bound(local(0)).unwrap();
        let at = target.local_addr().unwrap();
        (Door::new(bound(local(0)).unwrap(), at, None), target)
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn each_address_is_a_client_and_a_new_port_is_another_one() {
        let (door, _target) = door();
        let mut clients = Clients::default();
        let a = clients.of(&door, 0, local(1000), Duration::ZERO);
        assert_eq!(clients.of(&door, 0, local(1000), SECOND), a);
        let b = clients.of(&door, 0, local(1001), SECOND);
        let c = clients.of(&door, 1, local(1000), SECOND);
        assert!(a.is_some() && a != b && a != c && b != c);
        let port = |n: Option<u64>| {
            let client = clients.get(n.unwrap()).unwrap();
            client.socket.local_addr().unwrap().port()
        };
        assert_ne!(port(a), port(b), "answers find their client by it");
    }

    #[test]
    fn a_flood_of_addresses_has_a_bound_and_moves_nobody_who_is_heard() {
        let (door, _target) = door();
        let mut clients = Clients::default();
        let busy = clients.of(&door, 0, local(1), Duration::ZERO).unwrap();
        for port in 1000..3000 {
            clients.of(&door, 0, local(port), SECOND);
        }
        assert_eq!(clients.sockets().count(), MOST);
        assert_eq!(clients.turned_away, 2000 - (MOST as u64 - 1));
        assert!(clients.of(&door, 0, local(5000), SECOND * 9).is_none());
        clients.heard(busy, SECOND * 9);
        // The flood is over; its silent addresses give way one by one.
        for port in 5000..6000 {
            assert!(
                clients.of(&door, 0, local(port), SECOND * 12).is_some()
                    == (port < 5000 + MOST as u16 - 1)
            );
        }
        assert!(clients.get(busy).is_some());
        assert_eq!(clients.by_address.len(), clients.by_number.len());
    }
}
