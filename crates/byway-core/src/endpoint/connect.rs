//! The endpoint sets up an association.

use super::{Endpoint, ctx};
use crate::api::{AssocId, ConnectError};
use crate::assoc::{Association, Ctx};
use crate::config::Config;
use crate::time::Instant;
use core::net::SocketAddr;
use smallvec::SmallVec;
use std::sync::Arc;

/// Local and remote address of each path.
type AddressPairs = SmallVec<[(SocketAddr, SocketAddr); 4]>;

impl Endpoint {
    /// Starts an association with the peer that has these addresses, the first
    /// of which is the primary. `port` is the peer's SCTP port; the ports in
    /// `remote` are UDP encapsulation ports (RFC 6951), 0 for SCTP directly over
    /// IP. The INIT leaves with the next [`poll_transmit`](Self::poll_transmit).
    /// [`Event::Up`](crate::Event::Up) or [`Event::Lost`](crate::Event::Lost)
    /// follows.
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
        let pairs = self.address_pairs(&remote[..remote.len().min(most)], port)?;
        let id = self.table.next_id();
        let ports = (self.cfg.port, port);
        let local = self.local.clone();
        let mut ctx = ctx!(self, now);
        let assoc = Association::initiate(id, Arc::new(config), local, ports, &pairs, &mut ctx);
        self.table.insert(id, assoc, None);
        self.wake(id.index);
        Ok(id)
    }

    /// Checks the peer's addresses and chooses a local address for each.
    /// Repeated addresses count once.
    fn address_pairs(
        &mut self,
        remote: &[SocketAddr],
        port: u16,
    ) -> Result<AddressPairs, ConnectError> {
        let mut pairs = AddressPairs::new();
        for &r in remote {
            if r.ip().is_unspecified() || r.ip().is_multicast() || port == 0 {
                return Err(ConnectError::BadAddress(r));
            }
            if self.table.find_proven(r, port).is_some() {
                return Err(ConnectError::AlreadyConnected(r));
            }
            let used: SmallVec<[SocketAddr; 4]> = pairs.iter().map(|p| p.0).collect();
            let local = self.routes.source_beside(&self.local, r.ip(), &used);
            let local = local.ok_or(ConnectError::NoSource(r))?;
            if !pairs.iter().any(|p| p.1.ip() == r.ip()) {
                pairs.push((self.local[local], r));
            }
        }
        Ok(pairs)
    }
}
