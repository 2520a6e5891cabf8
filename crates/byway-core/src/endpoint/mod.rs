//! An endpoint: all associations of one SCTP port.
//!
//! A datagram comes in through `inbound`, which finds its association or calls
//! `init`, `cookie_echo` or `out_of_the_blue`. Packets leave through `outbound`.
//! `table` finds associations, `timers` serves them in the order of `schedule`, and
//! `commands` and `queries` are what the user calls.

mod account;
mod addresses;
mod answers;
mod commands;
mod connect;
pub(crate) mod cookie;
mod cookie_echo;
mod crest;
mod hosts;
mod icmp;
mod inbound;
mod init;
mod largest;
mod limits;
mod memory;
mod met;
mod out_of_the_blue;
mod outbound;
mod owners;
mod queries;
mod reply;
mod schedule;
mod spent_cookies;
mod stats;
mod table;
mod timers;

pub use hosts::host_of;
pub use reply::NOTHING_LISTENS;
pub use stats::EndpointStats;

use crate::api::{AssocId, Event};
use crate::config::{Config, ConfigError, EndpointConfig};
use crate::observe::Observed;
use crate::outbox::Outbox;
use crate::routes::{LongestPrefix, Routes};
use crate::time::Instant;
use account::Account;
use answers::Answers;
use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng;
use cookie::CookieKeys;
use core::net::SocketAddr;
use met::Met;
use schedule::Schedule;
use std::collections::VecDeque;
use std::sync::Arc;
use table::AssociationTable;

/// All associations of one SCTP port, without IO and without a clock.
///
/// Commands and `handle_*` take input, `poll_*` give output. After each command
/// and each `handle_*`, call [`poll_transmit`](Endpoint::poll_transmit) and
/// [`poll_event`](Endpoint::poll_event) until they return `None`. Call
/// [`handle_timeout`](Endpoint::handle_timeout) no later than
/// [`poll_timeout`](Endpoint::poll_timeout) says. The same seed and the same
/// inputs at the same times give the same bytes.
pub struct Endpoint {
    cfg: EndpointConfig,
    /// Our addresses, shared with every association.
    local: Arc<[SocketAddr]>,
    /// The last addresses that came (true) or went, and when.
    changed: VecDeque<(Instant, bool, SocketAddr)>,
    /// The settings of associations that peers set up.
    accepted_config: Arc<Config>,
    rng: ChaCha8Rng,
    keys: CookieKeys,
    out: Outbox,
    table: AssociationTable,
    schedule: Schedule,
    stats: EndpointStats,
    account: Account,
    answers: Answers,
    /// The last set-ups that met one of their peer.
    met: Met,
    routes: Box<dyn Routes>,
}

impl core::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Endpoint")
            .field("port", &self.cfg.port)
            .field("local", &self.local)
            .field("associations", &self.table.live())
            .finish_non_exhaustive()
    }
}

/// Borrows the parts of an endpoint that an association works with. Only where a packet is handled is it asked how full
/// the memory is.
macro_rules! ctx {
    ($self:ident, $now:expr) => {
        ctx!($self, $now, crate::assoc::Scarcity::default())
    };
    ($self:ident, $now:expr, $scarcity:expr) => {
        Ctx {
            now: $now,
            rng: &mut $self.rng,
            out: &mut $self.out,
            checksum: $self.cfg.checksum,
            routes: &mut *$self.routes,
            dialect: $self.cfg.dialect.as_ref(),
            scarcity: $scarcity,
            payload_tail: None,
        }
    };
}
use ctx;

impl Endpoint {
    /// An endpoint without associations.
    ///
    /// # Errors
    /// When a setting is invalid; the error names it.
    pub fn new(mut cfg: EndpointConfig) -> Result<Endpoint, ConfigError> {
        cfg.check()?;
        let part = cfg.part;
        for limit in [
            &mut cfg.max_associations,
            &mut cfg.max_associations_per_peer,
            &mut cfg.max_memory,
        ] {
            *limit = part.share(*limit);
        }
        let mut rng = ChaCha8Rng::from_seed(cfg.seed);
        let keys = CookieKeys::new(&mut rng, cfg.accepted.setup.valid_cookie_life);
        Ok(Endpoint {
            local: cfg.local.clone().into(),
            changed: VecDeque::new(),
            accepted_config: Arc::new(cfg.accepted.clone()),
            out: Outbox::new(cfg.observe, cfg.observe_details),
            account: Account::new(cfg.max_memory),
            answers: Answers::new(cfg.seed, part.of),
            met: Met::default(),
            table: AssociationTable::new(cfg.max_memory, part),
            cfg,
            rng,
            keys,
            schedule: Schedule::default(),
            stats: EndpointStats::default(),
            routes: Box::new(LongestPrefix),
        })
    }

    /// Replaces the rule that chooses the local address of a new path.
    /// Default: [`LongestPrefix`].
    pub fn set_routes(&mut self, routes: Box<dyn Routes>) {
        self.routes = routes;
    }

    /// The next event, and the association that it concerns.
    pub fn poll_event(&mut self) -> Option<(AssocId, Event)> {
        // Those of a released association are passed over here. To look for them when it is
        // released would cost the square of many that end at once.
        loop {
            let (id, event) = self.out.next_event()?;
            if self.table.get(id).is_some() {
                return Some((id, event));
            }
        }
    }

    /// Starts or stops the recording of observations.
    pub fn observe(&mut self, on: bool) {
        self.out.watch(on);
    }

    /// The observations since the last call, oldest first. There are none unless
    /// `EndpointConfig::observe` or [`observe`](Self::observe) asks for them.
    pub fn drain_observations(&mut self) -> std::vec::Drain<'_, Observed> {
        self.out.drain_observations()
    }
}
