//! Addresses that the peer listed, in INIT, INIT ACK or ASCONF, and that have never answered.
//!
//! Such an address may be a victim's (RFC 5062 section 5). RFC 9260 section 5.4 probes it once an RTO until the
//! path is inactive, and then at the heartbeat rate for as long as the association lives. Here it gets five
//! heartbeats in all, [`MOST`], and they are spread, because the path may only have been down when the association
//! began: at once, after an RTO, after [`SOON`], after [`LATE`], and one that is kept. When no path takes data for
//! two timeouts, those that are left go once an RTO. Then both sides may be silent; it goes on when
//!
//! - a packet of the peer comes from there: one heartbeat for each such packet,
//! - the user asks for a heartbeat: this one,
//! - an address of this side comes, or the routes move the path to another one: five more. The peer cannot cause
//!   that.
//!
//! The count is one for an address and an association. It outlives the path, so that to delete the address and to
//! add it again gives nothing. Addresses that the user gave are not limited, nor those that answered once.

use super::{Association, Ctx};
use crate::path::{Path, PathId, PathState, PathTimer};
use crate::time::Duration;
use core::net::IpAddr;

/// Heartbeats to one address.
pub(super) const MOST: u8 = 5;
/// So many of them leave once an RTO.
const EAGER: u8 = 2;
/// The path is inactive when so many were lost.
const FAILS_AFTER: u8 = 3;
/// Before the third, and before the fourth.
const SOON: Duration = Duration::from_secs(15);
const LATE: Duration = Duration::from_secs(600);
/// Addresses whose heartbeats are counted. A peer that changes its addresses may list others without end: what it
/// lists beyond these is asked when it is heard.
const REMEMBERED: usize = 64;
/// Most addresses without a path that are known to be the peer's.
const KNOWN: usize = 32;

/// How many heartbeats went to which address.
#[derive(Debug, Default)]
pub(super) struct Listed {
    all: Vec<(IpAddr, u8)>,
    /// Addresses without a path that are the peer's all the same: the user gave them, or they answered before.
    known: Vec<IpAddr>,
}

impl Listed {
    /// Memory of it, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.all.capacity() * size_of::<(IpAddr, u8)>()
            + self.known.capacity() * size_of::<IpAddr>()
    }

    fn sent(&self, ip: IpAddr) -> u8 {
        match self.all.iter().find(|a| a.0 == ip.to_canonical()) {
            Some((_, sent)) => *sent,
            None if self.all.len() >= REMEMBERED => MOST,
            None => 0,
        }
    }

    fn count(&mut self, ip: IpAddr) {
        let ip = ip.to_canonical();
        if let Some((_, sent)) = self.all.iter_mut().find(|a| a.0 == ip) {
            *sent = sent.saturating_add(1);
        } else if self.all.len() < REMEMBERED {
            // A vector that grows by itself keeps room for four; most associations need none or one.
            self.all.reserve_exact(1);
            self.all.push((ip, 1));
        }
    }

    fn forget(&mut self, ip: IpAddr) {
        self.all.retain(|a| a.0 != ip.to_canonical());
    }

    /// Each address begins anew.
    pub(super) fn forget_all(&mut self) {
        self.all = Vec::new();
    }

    /// This address is the peer's, whether it has a path or not.
    pub(super) fn know(&mut self, ip: IpAddr) {
        if self.known.len() < KNOWN && !self.known.contains(&ip) {
            self.known.push(ip);
        }
    }

    /// Whether it is.
    pub(super) fn knows(&self, ip: IpAddr) -> bool {
        self.known.contains(&ip)
    }
}

impl Association {
    fn is_listed(&self, path: PathId) -> bool {
        self.paths.get(path).is_listed()
    }

    fn heartbeats_to(&self, path: PathId) -> u8 {
        let ip = self.paths.get(path).remote().ip();
        self.addresses.listed.sent(ip)
    }

    /// Whether nothing leaves to a listed address before something of the peer or of this side happens.
    pub(super) fn rests(&self, path: PathId) -> bool {
        let owed = self.paths.get(path).heartbeat.is_owed();
        self.is_listed(path) && !owed && self.heartbeats_to(path) >= MOST
    }

    /// Whether a listed address had its first heartbeats, beside those that answered what came from there.
    pub(super) fn is_silent(&self, path: PathId) -> bool {
        self.is_listed(path) && self.heartbeats_to(path) >= FAILS_AFTER
    }

    /// Whether the next heartbeat to a listed address does not follow within an RTO.
    pub(super) fn is_asked_rarely(&self, path: PathId) -> bool {
        self.is_listed(path) && self.heartbeats_to(path) >= EAGER
    }

    /// Whether the next heartbeat to a listed address leaves an RTO after the last one.
    pub(super) fn is_asked_often(&self, path: PathId) -> bool {
        let sent = self.heartbeats_to(path);
        self.paths.get(path).heartbeat.is_owed() || sent < EAGER || sent < MOST && self.is_cut_off()
    }

    /// Whether no path takes data, and the last one that did has been silent for two timeouts: a single one is no
    /// rare event.
    fn is_cut_off(&self) -> bool {
        let data = self.paths.get(self.paths.data());
        data.errors.count() >= 2 && !self.paths.iter().any(Path::takes_data)
    }

    /// Whether a listed address gets nothing at present, though the others are sought.
    pub(super) fn is_spared(&self, path: PathId) -> bool {
        self.is_listed(path) && !self.is_asked_often(path)
    }

    /// The time before the next heartbeat to a listed address that is not asked often.
    pub(super) fn pause_of_listed(&self, path: PathId) -> Option<Duration> {
        let rto = self.paths.get(path).rtt.rto();
        match self.heartbeats_to(path) {
            ..=EAGER => Some(SOON.max(rto)),
            3 => Some(LATE),
            // The association waits for an answer, and nothing else shows that none comes.
            _ => self.optional.stalled.then_some(rto),
        }
    }

    /// A heartbeat leaves.
    pub(super) fn count_listed(&mut self, path: PathId) {
        let p = self.paths.get_mut(path);
        let owed = p.heartbeat.take_owed();
        if p.is_listed() && !owed {
            let ip = p.remote().ip();
            self.addresses.listed.count(ip);
        }
    }

    /// A packet of the peer came from there, or the user wants a heartbeat: one may leave, however many did.
    pub(super) fn owe_heartbeat(&mut self, path: PathId) {
        let p = self.paths.get_mut(path);
        if p.is_listed() {
            p.heartbeat.owe();
        }
    }

    /// The address has answered.
    pub(super) fn forget_listed(&mut self, path: PathId) {
        let ip = self.paths.get(path).remote().ip();
        self.addresses.listed.forget(ip);
    }

    /// A heartbeat to an address that rests does not leave with the next packets. Its timer says what follows.
    #[cold]
    pub(super) fn hold_heartbeat(&mut self, ctx: &Ctx<'_>, path: PathId) {
        self.paths.want_heartbeat(path, false);
        let p = self.paths.get_mut(path);
        if p.timers.get(PathTimer::Heartbeat).is_none() {
            let at = ctx.now + p.rtt.rto();
            p.timers.set(PathTimer::Heartbeat, Some(at));
        }
    }

    /// A heartbeat to an address that rests is due: it counts as lost.
    #[cold]
    pub(super) fn on_resting(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        if self.optional.stalled {
            let rto = &self.cfg.rto;
            self.paths.get_mut(path).rtt.back_off(rto);
            self.count_lost_heartbeat(ctx, path);
            if !self.peer_is_unreachable(ctx) {
                self.schedule_heartbeat(ctx, path);
            }
            return;
        }
        // It may be a new path to an address that had all of its heartbeats before.
        if self.paths.get(path).state() != PathState::Inactive {
            self.set_path_state(ctx, path, PathState::Inactive);
            self.choose_data_path(ctx, None);
        }
    }

    /// If no path takes data any more, what is left for listed addresses leaves now.
    pub(super) fn ask_last_resorts(&mut self) {
        if !self.is_cut_off() || !self.state.sends_heartbeats() {
            return;
        }
        for path in self.paths.ids() {
            let under_way = self.paths.get(path).heartbeat.under_way().is_some();
            let asked = self.is_asked_rarely(path) && self.is_asked_often(path);
            // One that was put off, for want of bytes of the peer, is not wanted again at once.
            if asked && !under_way && self.may_probe(path) {
                self.want_heartbeat(path);
            }
        }
    }

    /// The network of this side is another one: what was silent may answer now.
    pub(super) fn ask_listed_again(&mut self, which: impl Fn(&Association, PathId) -> bool) {
        if !self.sends_heartbeats() {
            return;
        }
        for path in self.paths.ids() {
            if self.is_asked_rarely(path) && which(self, path) {
                self.forget_listed(path);
                self.want_heartbeat(path);
            }
        }
    }

    /// A path goes, and its address is kept.
    pub(super) fn keep_address_of(&mut self, path: PathId) {
        let p = self.paths.get(path);
        let (ip, listed) = (p.remote().ip(), p.is_listed());
        self.addresses.pathless.push(ip);
        if !listed {
            self.addresses.listed.know(ip);
        }
    }
}
