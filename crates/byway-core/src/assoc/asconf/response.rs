//! The peer changes its addresses (RFC 5061 sections 5.2 to 5.4).

use super::Association;
use crate::assoc::dispatch::Gathered;
use crate::assoc::{Ctx, Inbound, acceptable_address};
use crate::path::{PathId, PathState, PathTimer};
use crate::refusals::Rule;
use byway_wire::{Asconf, CauseWriter, PacketBuilder, Param, ParamWriter, RawParam};
use core::net::{IpAddr, SocketAddr};

/// Most answers that are kept. A peer has one ASCONF under way, and bundles few with it.
const MOST_ANSWERS: usize = 8;
/// Most changes of one ASCONF that are handled, so that its answer fits a packet. The
/// others count as refused, because the first one of them is.
const MOST_CHANGES: usize = 16;
/// Most addresses of a peer, as in its INIT.
const MOST_ADDRESSES: usize = 32;

/// Why a change is refused (section 4.3).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Refusal {
    LastAddress,
    SourceAddress,
    NoRoom,
    NotPermitted,
    /// There is no such address.
    Unresolvable,
    Unrecognized,
}

impl Refusal {
    fn write(self, w: &mut CauseWriter<'_>, param: &[u8]) -> bool {
        match self {
            Refusal::LastAddress => w.delete_last_address(param),
            Refusal::SourceAddress => w.delete_source_address(param),
            Refusal::NoRoom => w.resource_shortage(param),
            Refusal::NotPermitted => w.no_authorization(param),
            Refusal::Unresolvable => w.unresolvable_address(param.get(8..).unwrap_or_default()),
            Refusal::Unrecognized => w.unrecognized_parameters(param),
        }
    }
}

impl Association {
    /// An ASCONF behind a valid AUTH chunk (rules E1 to E5).
    #[cold]
    pub(in crate::assoc) fn on_asconf(
        &mut self,
        ctx: &mut Ctx<'_>,
        inbound: &Inbound<'_>,
        chunk: &Asconf<'_>,
        gathered: &mut Gathered,
    ) {
        if !self.changes_addresses() {
            return;
        }
        let Some(asconf) = &mut self.optional.asconf else {
            return;
        };
        let ahead = chunk.sequence.wrapping_sub(asconf.peer_last) as i32;
        if ahead > 1 {
            self.discard(ctx, Rule::Misplaced, "ASCONF beyond the next serial number");
            return;
        }
        if ahead == 1 {
            if gathered.asconfs.is_empty() {
                asconf.answers.clear();
            }
            asconf.peer_last = chunk.sequence;
            let answer = self.carry_out(ctx, inbound, chunk);
            let Some(asconf) = &mut self.optional.asconf else {
                return;
            };
            if asconf.answers.len() == MOST_ANSWERS {
                asconf.answers.pop_front();
            }
            asconf.answers.push_back((chunk.sequence, answer));
        } else {
            self.discard(ctx, Rule::Misplaced, "ASCONF that was handled before");
        }
        if gathered.asconfs.len() < MOST_ANSWERS {
            gathered.asconfs.push(chunk.sequence);
        }
    }

    /// The changes of an ASCONF, in order (V1 to V3). Returns the parameters of the answer.
    fn carry_out(
        &mut self,
        ctx: &mut Ctx<'_>,
        inbound: &Inbound<'_>,
        chunk: &Asconf<'_>,
    ) -> Vec<u8> {
        let mut answer = Vec::new();
        let mut w = ParamWriter::over(&mut answer);
        // Once an addition or deletion fails, all later ones fail (F11).
        let mut failing: Option<Refusal> = None;
        let mut any_failed = false;
        for (at, raw) in chunk.params.iter().enumerate() {
            let Ok(raw) = raw else { break };
            let Ok(param) = raw.parse() else { break };
            let late = (at >= MOST_CHANGES).then_some(Refusal::NoRoom);
            let (id, result) = match param {
                Param::AddIp {
                    correlation_id,
                    address,
                } => {
                    let refused = failing.or(late);
                    let result =
                        refused.map_or_else(|| self.add_remote(ctx, inbound, address), Err);
                    failing = result.err();
                    (correlation_id, result)
                }
                Param::DeleteIp {
                    correlation_id,
                    address,
                } => {
                    let refused = failing.or(late);
                    let result =
                        refused.map_or_else(|| self.delete_remote(ctx, inbound, address), Err);
                    failing = result.err();
                    (correlation_id, result)
                }
                Param::SetPrimary {
                    correlation_id,
                    address,
                } => {
                    let result =
                        late.map_or_else(|| self.prefer_remote(ctx, inbound, address), Err);
                    (correlation_id, result)
                }
                Param::Unknown(unknown) => {
                    let action = RawParam::unknown_action(unknown.kind);
                    if action.reports() {
                        any_failed = true;
                        let id = unknown
                            .value
                            .first_chunk()
                            .map_or(0, |b| u32::from_be_bytes(*b));
                        let cut = &unknown.bytes[..unknown.bytes.len().min(64)];
                        w.error_cause_indication(id, |c| {
                            Refusal::Unrecognized.write(c, cut);
                        });
                    }
                    if action.stops() || at >= MOST_CHANGES {
                        break;
                    }
                    continue;
                }
                _ => continue,
            };
            match result {
                Err(refusal) => {
                    any_failed = true;
                    w.error_cause_indication(id, |c| {
                        refusal.write(c, raw.bytes);
                    });
                }
                // What comes after a failure counts as failed if nothing is said (A7).
                Ok(()) if any_failed => {
                    w.success_indication(id);
                }
                Ok(()) => {}
            }
            if late.is_some() {
                break;
            }
        }
        answer
    }

    /// Adds an address of the peer: as an unconfirmed path (F14), or without one while there
    /// are enough paths, as set-up does.
    fn add_remote(
        &mut self,
        ctx: &mut Ctx<'_>,
        inbound: &Inbound<'_>,
        ip: IpAddr,
    ) -> Result<(), Refusal> {
        let source = inbound.source;
        let ip = if ip.is_unspecified() { source.ip() } else { ip };
        if self.paths.find(ip).is_some() {
            return Ok(());
        }
        let ours = &self.addresses.local;
        if !acceptable_address(ip, source.ip()) || ours.iter().any(|a| a.ip() == ip) {
            return Err(Refusal::NotPermitted);
        }
        let local = self.source_towards(ctx, inbound, ip);
        let local = local.ok_or(Refusal::NoRoom)?;
        if self.paths.has_room(self.cfg.setup.max_paths) {
            self.addresses.pathless.retain(|a| *a != ip);
            self.add_path(ctx, (local, SocketAddr::new(ip, source.port())));
        } else if self.addresses.pathless.contains(&ip) {
            return Ok(());
        } else if self.addresses.pathless.len() + self.paths.len() < MOST_ADDRESSES {
            self.addresses.pathless.push(ip);
        } else {
            return Err(Refusal::NoRoom);
        }
        Ok(())
    }

    /// Where packets to an address of the peer leave from: to the source of its ASCONF, from
    /// the address that this one arrived at.
    fn source_towards(
        &self,
        ctx: &mut Ctx<'_>,
        inbound: &Inbound<'_>,
        ip: IpAddr,
    ) -> Option<SocketAddr> {
        let ours = &self.addresses.local;
        let asked = Some(*inbound.destination);
        let own = asked.filter(|d| ip == inbound.source.ip() && ours.contains(d));
        own.or_else(|| {
            let used = self.paths.sources();
            let at = ctx.routes.source_beside(ours, ip, &used)?;
            ours.get(at).copied()
        })
    }

    fn add_path(&mut self, ctx: &mut Ctx<'_>, pair: (SocketAddr, SocketAddr)) {
        // The path's own heartbeat verifies it now.
        self.addresses.unverified_is_path(pair.1);
        self.begin_path(ctx, pair);
    }

    /// A new path begins, and its address is verified by heartbeats. A peer that adds many
    /// addresses has one of them probed per RTO.Initial.
    pub(super) fn begin_path(&mut self, ctx: &mut Ctx<'_>, pair: (SocketAddr, SocketAddr)) {
        let mut new = self.new_path(ctx, pair, false);
        if self.addresses.listed.knows(pair.1.ip()) {
            new.note_known();
        }
        let path = self.paths.insert(new);
        self.paths.detect_as(&self.cfg);
        if let Some(c) = &mut self.send.concurrent {
            c.forget_path(path);
        }
        self.addresses.changed = true;
        self.announce_path(ctx, path, pair.1, PathState::Unconfirmed);
        let from = self
            .optional
            .asconf
            .as_ref()
            .map_or(ctx.now, |a| a.verify_from);
        let at = from.max(ctx.now);
        if let Some(asconf) = &mut self.optional.asconf {
            asconf.verify_from = at + self.cfg.rto.initial;
        }
        self.paths
            .get_mut(path)
            .timers
            .set(PathTimer::Heartbeat, Some(at));
    }

    /// Deletes an address of the peer (F7, F8, F13).
    fn delete_remote(
        &mut self,
        ctx: &mut Ctx<'_>,
        inbound: &Inbound<'_>,
        ip: IpAddr,
    ) -> Result<(), Refusal> {
        let source = inbound.source.ip();
        if ip.is_unspecified() {
            return self.keep_only(ctx, inbound);
        }
        let Some(path) = self.paths.find(ip) else {
            if ip == source && self.addresses.pathless.contains(&ip) {
                return Err(Refusal::SourceAddress);
            }
            self.addresses.pathless.retain(|a| *a != ip);
            return Ok(());
        };
        let last = self.paths.ids().count() == 1;
        let next = if last {
            self.next_path(ctx, source)
        } else {
            None
        };
        if last && next.is_none() {
            return Err(Refusal::LastAddress);
        }
        if ip == source {
            return Err(Refusal::SourceAddress);
        }
        if let Some(next) = next {
            self.promote(ctx, inbound, next)?;
        }
        self.remove_path(ctx, path);
        self.adopt_pathless(ctx);
        Ok(())
    }

    /// Deletes all addresses of the peer but the source of its ASCONF (section 4.2.2).
    fn keep_only(&mut self, ctx: &mut Ctx<'_>, inbound: &Inbound<'_>) -> Result<(), Refusal> {
        let source = inbound.source.ip();
        let keep = match self.paths.find(source) {
            Some(path) => path,
            None if self.addresses.pathless.contains(&source) => {
                // Room for it, if the numbers of paths are used up.
                if !self.paths.has_room(u8::MAX)
                    && let Some(other) = self.paths.ids().find(|p| *p != self.paths.data())
                {
                    self.remove_path(ctx, other);
                }
                self.promote(ctx, inbound, source)?;
                self.paths.find(source).ok_or(Refusal::LastAddress)?
            }
            None => return Err(Refusal::LastAddress),
        };
        self.addresses.pathless.clear();
        for path in self.paths.ids().filter(|p| *p != keep) {
            self.remove_path(ctx, path);
        }
        Ok(())
    }

    /// The address that becomes a path when the last one goes: the source of the ASCONF, or
    /// the first without a path that one of ours can reach.
    fn next_path(&self, ctx: &mut Ctx<'_>, source: IpAddr) -> Option<IpAddr> {
        let all = &self.addresses.pathless;
        let ours = &self.addresses.local;
        let mut order = all.iter().filter(|ip| **ip == source).chain(all);
        let next = order.find(|ip| ctx.routes.source(ours, **ip).is_some());
        next.copied()
    }

    /// A known address of the peer becomes a path, because the last one goes.
    fn promote(
        &mut self,
        ctx: &mut Ctx<'_>,
        inbound: &Inbound<'_>,
        ip: IpAddr,
    ) -> Result<(), Refusal> {
        let local = self.source_towards(ctx, inbound, ip);
        let local = local.ok_or(Refusal::LastAddress)?;
        self.addresses.pathless.retain(|a| *a != ip);
        self.add_path(ctx, (local, SocketAddr::new(ip, inbound.source.port())));
        Ok(())
    }

    /// The peer prefers one of its addresses (section 5.4).
    fn prefer_remote(
        &mut self,
        ctx: &mut Ctx<'_>,
        inbound: &Inbound<'_>,
        ip: IpAddr,
    ) -> Result<(), Refusal> {
        let ip = if ip.is_unspecified() {
            inbound.source.ip()
        } else {
            ip
        };
        let path = self.paths.find(ip).ok_or(Refusal::Unresolvable)?;
        if self.is_confirmed(path) {
            self.prefer(ctx, path);
        } else if let Some(asconf) = &mut self.optional.asconf {
            asconf.wanted_primary = Some(ip);
        }
        Ok(())
    }

    fn prefer(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        if let Some(asconf) = &mut self.optional.asconf {
            asconf.wanted_primary = None;
        }
        self.choose_primary(ctx, path);
    }

    /// An address was confirmed. If the peer asked for it as primary, it becomes that.
    pub(in crate::assoc) fn on_confirmed_after_change(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        self.end_stall(ctx, path);
        let Some(asconf) = &self.optional.asconf else {
            return;
        };
        if asconf.wanted_primary == Some(self.paths.get(path).remote().ip()) {
            self.prefer(ctx, path);
        }
    }

    /// The answers to the ASCONFs of a packet go to its source (E6, E7).
    #[cold]
    pub(in crate::assoc) fn answer_asconfs(
        &mut self,
        ctx: &mut Ctx<'_>,
        inbound: &Inbound<'_>,
        serials: &[u32],
    ) {
        let Some(asconf) = &self.optional.asconf else {
            return;
        };
        let path = self.paths.find_source(inbound.source);
        let limit = self
            .paths
            .get(path.unwrap_or(self.paths.data()))
            .packet_limit();
        let mut bytes = Vec::new();
        let mut packet = PacketBuilder::new(&mut bytes, self.header());
        for serial in serials {
            let Some((_, answer)) = asconf.answers.iter().find(|a| a.0 == *serial) else {
                continue;
            };
            // 8 bytes of the chunk, and 40 of AUTH.
            if !packet.is_empty() && packet.len() + answer.len() + 48 > limit {
                break;
            }
            packet.asconf_ack_raw(*serial, answer);
        }
        if packet.is_empty() {
            return;
        }
        packet.finish(ctx.checksum());
        let ours = &self.addresses.local;
        let source = if ours.contains(inbound.destination) {
            *inbound.destination
        } else {
            let at = ctx.routes.source(ours, inbound.source.ip());
            let Some(other) = at.and_then(|i| ours.get(i).copied()) else {
                return;
            };
            other
        };
        self.send_authenticated(ctx, bytes, (source, *inbound.source), path);
    }
}
