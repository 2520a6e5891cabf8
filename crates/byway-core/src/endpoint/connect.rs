//! The endpoint sets up an association.

use super::{Endpoint, ctx};
use crate::api::{AssocId, ConnectError, LossReason};
use crate::assoc::{Association, Ctx, Inbound};
use crate::config::Config;
use crate::scope::is_unicast;
use crate::time::Instant;
use byway_wire::{Chunk, Param};
use core::net::{IpAddr, SocketAddr};
use smallvec::SmallVec;
use std::sync::Arc;

/// Where an association may go.
#[derive(Default)]
struct Ways {
    /// Local and remote address of each path.
    pairs: SmallVec<[(SocketAddr, SocketAddr); 4]>,
    /// Addresses that no local address reaches.
    pathless: Vec<IpAddr>,
}

impl Endpoint {
    /// Starts an association with the peer that has these addresses, the first
    /// of which is the primary. `port` is the peer's SCTP port; the ports in
    /// `remote` are UDP encapsulation ports (RFC 6951), 0 for SCTP directly over
    /// IP. The INIT leaves with the next [`poll_transmit`](Self::poll_transmit).
    /// [`Event::Up`](crate::Event::Up) or [`Event::Lost`](crate::Event::Lost)
    /// follows.
    ///
    /// An address of a family that no local address has is left out, unless it is so with all: it
    /// becomes a path when a local address of its family comes.
    ///
    /// # Errors
    /// When an address or a setting is invalid. Nothing is started then.
    pub fn connect(
        &mut self,
        now: Instant,
        remote: &[SocketAddr],
        port: u16,
        config: Config,
    ) -> Result<AssocId, ConnectError> {
        config.check()?;
        if remote.is_empty() {
            return Err(ConnectError::NoAddress);
        }
        if self.table.live() >= self.cfg.max_associations {
            return Err(ConnectError::TooMany(self.cfg.max_associations));
        }
        let most = usize::from(config.setup.max_paths);
        let ways = self.ways_to(&remote[..remote.len().min(most)], port)?;
        let id = self.table.next_id();
        let ports = (self.cfg.port, port);
        let local = self.local.clone();
        let mut ctx = ctx!(self, now);
        let mut assoc =
            Association::initiate(id, Arc::new(config), local, ports, &ways.pairs, &mut ctx);
        assoc.await_source_for(ways.pathless);
        self.table.insert(id, assoc, None);
        self.wake(id.index);
        Ok(id)
    }

    /// Checks the peer's addresses and chooses a local address for each.
    /// Repeated addresses count once.
    fn ways_to(&mut self, remote: &[SocketAddr], port: u16) -> Result<Ways, ConnectError> {
        let mut ways = Ways::default();
        for &r in remote {
            if !is_unicast(r.ip()) || port == 0 {
                return Err(ConnectError::BadAddress(r));
            }
            if self.table.find_proven(r, port).is_some() {
                return Err(ConnectError::AlreadyConnected(r));
            }
            let used: SmallVec<[SocketAddr; 4]> = ways.pairs.iter().map(|p| p.0).collect();
            match self.routes.source_beside(&self.local, r.ip(), &used) {
                Some(local) if !ways.pairs.iter().any(|p| p.1.ip() == r.ip()) => {
                    ways.pairs.push((self.local[local], r));
                }
                None if !ways.pathless.contains(&r.ip()) => ways.pathless.push(r.ip()),
                _ => {}
            }
        }
        match ways.pairs.is_empty() {
            true => Err(ConnectError::NoSource(remote[0])),
            false => Ok(ways),
        }
    }

    /// Whether an INIT ACK for this association comes from a peer with which another one
    /// exists: it lists an address that the other one's peer has proved to be its own. Two
    /// addresses of one host were connected to. If the set-up went on, the peer would take it
    /// for a restart of the other one (RFC 9260 section 5.2.2).
    ///
    /// The other one must have heard of its peer. Otherwise who answers here could end it.
    #[cold]
    pub(super) fn repeats(&self, index: u32, inbound: &Inbound<'_>) -> bool {
        let a = &self.table[index].assoc;
        let header = inbound.packet.header();
        if !a.awaits_init_ack() || header.verification_tag != a.local_tag() {
            return false;
        }
        let Ok(Chunk::InitAck(init)) = inbound.first.parse() else {
            return false;
        };
        let listed = init.params.iter().map_while(|p| p.ok()?.parse().ok());
        let mut addresses = listed.filter_map(|p| match p {
            Param::Ipv4Address(ip) => Some(IpAddr::V4(ip)),
            Param::Ipv6Address(ip) => Some(IpAddr::V6(ip)),
            _ => None,
        });
        addresses.any(|ip| {
            let remote = SocketAddr::new(ip, inbound.source.port());
            let other = self.table.find_proven(remote, header.source_port);
            other.is_some_and(|i| i != index && !self.table[i].assoc.awaits_init_ack())
        })
    }

    /// Ends a set-up that [`repeats`](Self::repeats) another association. The peer keeps
    /// nothing of it.
    #[cold]
    pub(super) fn give_up_repeated(&mut self, now: Instant, index: u32) {
        let mut ctx = ctx!(self, now);
        let a = &mut self.table[index].assoc;
        a.lose(&mut ctx, LossReason::AlreadyConnected);
        self.wake(index);
    }
}
