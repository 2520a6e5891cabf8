//! How much goes to addresses that have not proved to be the peer's.
//!
//! A peer lists addresses, and a source can be forged: both may be a victim's. Heartbeats go there
//! (RFC 9260 section 5.4, RFC 5062 section 5), HB.Max.Burst of them at once. Together they have at
//! most three times the bytes that came in this association, as RFC 9000 section 8.1 has it for
//! QUIC. A COOKIE ECHO alone pays for the first heartbeats to seven addresses.

use super::on_heartbeat::INFO_LEN;
use super::{Association, Ctx};
use crate::path::{PathId, PathTimer};
use crate::refusals::Rule;
use byway_wire::{CHUNK_HEADER_LEN, COMMON_HEADER_LEN};

/// Bytes that may go to unproven addresses for each that came.
const RATIO: u32 = 3;

/// Bytes of a packet with a HEARTBEAT, whose Heartbeat Info is a parameter.
const HEARTBEAT: usize = (COMMON_HEADER_LEN + CHUNK_HEADER_LEN + 4 + INFO_LEN).next_multiple_of(4);

/// Bytes of the AUTH chunk before it, if the peer requires one, with the longest hash (RFC 4895
/// section 4.1).
const AUTH: usize = CHUNK_HEADER_LEN + 4 + 32;

/// Bytes that may still go to unproven addresses.
#[derive(Debug, Default)]
pub(super) struct Allowance(u32);

impl Allowance {
    /// A packet with our tag came.
    #[inline]
    pub(super) fn heard(&mut self, bytes: usize) {
        self.0 = self.0.saturating_add(RATIO * bytes as u32);
    }

    /// Whether a packet of so many bytes may leave.
    fn covers(&self, bytes: usize) -> bool {
        self.0 as usize >= bytes
    }

    /// Whether a heartbeat to a new source may leave; if so, it counts.
    pub(super) fn take_heartbeat(&mut self) -> bool {
        let may = self.covers(HEARTBEAT);
        if may {
            self.spend(HEARTBEAT);
        }
        may
    }

    fn spend(&mut self, bytes: usize) {
        self.0 = self.0.saturating_sub(bytes as u32);
    }
}

impl Association {
    /// Whether the address of this path is perhaps not the peer's. Where all addresses of this
    /// side changed, the ones of the peer are what they were.
    fn is_unproven(&self, path: PathId) -> bool {
        !(self.paths.get(path).is_of_peer() || self.optional.stalled)
    }

    /// Whether a heartbeat to this path may leave.
    pub(super) fn may_probe(&self, path: PathId) -> bool {
        let p = self.paths.get(path);
        let auth = if self.optional.seals { AUTH } else { 0 };
        let bytes = match p.dead_data.is_dead() {
            true => p.packet_limit(),
            false => HEARTBEAT,
        } + auth;
        !self.is_unproven(path) || self.addresses.allowance.covers(bytes)
    }

    /// So many bytes leave to this path.
    pub(super) fn charge_unproven(&mut self, path: PathId, bytes: usize) {
        if self.is_unproven(path) {
            self.addresses.allowance.spend(bytes);
        }
    }

    /// A heartbeat must wait until the peer has sent more.
    #[cold]
    pub(super) fn put_heartbeat_off(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        ctx.out
            .refuse(Rule::HeartbeatAllowance, self.paths.get(path).remote());
        self.paths.want_heartbeat(path, false);
        if self.waits_for_confirmation() {
            // Data waits for this address, and nothing else shows that the peer is gone.
            self.count_lost_heartbeat(ctx, path);
            self.choose_data_path(ctx, None);
        }
        let wait = self.cfg.hb.interval.max(self.paths.get(path).rtt.rto());
        let timers = &mut self.paths.get_mut(path).timers;
        timers.set(PathTimer::Heartbeat, Some(ctx.now + wait));
    }
}
