//! The peer restarts (RFC 9260 section 5.2.4, action A) while it is being told of changes: its old association is gone with
//! all that was under way. It knows what the INIT ACK listed, and is told the rest.

use super::Change;
use crate::assoc::{Association, Ctx, Ours};
use crate::endpoint::cookie::Cookie;
use byway_wire::cause_code;
use core::net::SocketAddr;

/// The changes that the peer had not answered, and the addresses of which its new association does not know.
pub(in crate::assoc) struct Unanswered {
    changes: Vec<Change>,
    untold: Vec<SocketAddr>,
}

/// The changes that need no telling, each with the cause for which it failed, if it did.
pub(in crate::assoc) struct Settled(Vec<(Change, Option<u16>)>);

impl Association {
    /// Before the state of the changes is renewed: those that the peer had not answered. From now on the sources are the addresses
    /// that its new association knows.
    ///
    /// An addition that it had not answered is told again although the INIT ACK listed the address: a short INIT has no answer with
    /// all addresses, and the name of one behind a translator says nothing (RFC 5061 section 4.2.1). The peer takes an addition of
    /// one that it knows. It does know the address where it sent its INIT.
    pub(in crate::assoc) fn take_changes(&mut self, c: &Cookie, ours: &Ours) -> Unanswered {
        let mut changes: Vec<Change> = Vec::new();
        if let Some(asconf) = &mut self.optional.asconf {
            let under_way = asconf.request.take();
            changes.extend(under_way.iter().flat_map(|r| r.changes()));
            changes.extend(asconf.waiting.drain(..));
        }
        // What changed since a set-up of this side began is in the new INIT ACK, or told as what came after it.
        self.setup.changed.clear();
        let tells = c.auth.as_ref().is_some_and(|a| a.asconf);
        let is_untold = |a: &SocketAddr| {
            let (waited, listed) = (changes.contains(&Change::Add(*a)), ours.listed(a));
            // One of which nobody asked, where the peer cannot be told, serves as behind a translator.
            let unknown = if tells {
                waited || !listed
            } else {
                waited && !listed
            };
            unknown && *a != c.local
        };
        let (untold, known): (Vec<_>, Vec<_>) = ours.local.iter().partition(|a| is_untold(a));
        self.addresses.local = known.into();
        Unanswered { changes, untold }
    }

    /// The state of the changes is new: the peer is asked again, if it can be.
    pub(in crate::assoc) fn ask_again(&mut self, unanswered: Unanswered, ours: &Ours) -> Settled {
        let Unanswered { changes, untold } = unanswered;
        let is_ours = |a: &SocketAddr| ours.local.contains(a);
        let has_left = |a: &SocketAddr| ours.listed(a) && !is_ours(a);
        let mut again: Vec<Change> = untold.iter().map(|a| Change::Add(*a)).collect();
        let left = ours.changed.iter().map(|(_, a)| *a).filter(has_left);
        again.extend(left.map(Change::Delete));
        let mut settled = Vec::new();
        let can_ask = self.optional.asconf.is_some();
        for change in changes {
            let outcome = match change {
                Change::Add(a) if !is_ours(&a) => continue,
                // It is told when the peer denies what comes from there.
                Change::Name(_) => continue,
                Change::Add(a) if !untold.contains(&a) => None,
                Change::Delete(a) if !has_left(&a) => None,
                Change::SetPrimary(ip) if ours.local.iter().all(|a| a.ip() != ip) => {
                    Some(cause_code::UNRESOLVABLE_ADDRESS)
                }
                _ if can_ask => {
                    again.push(change);
                    continue;
                }
                _ => Some(cause_code::UNRECOGNIZED_CHUNK_TYPE),
            };
            settled.push((change, outcome));
        }
        if let Some(asconf) = &mut self.optional.asconf {
            asconf.want(again);
        }
        Settled(settled)
    }

    /// The association is established again: the user hears of what is settled, and the peer of the rest.
    pub(in crate::assoc) fn tell_again(&mut self, ctx: &mut Ctx<'_>, settled: Settled) {
        for (change, failed) in settled.0 {
            self.note_result(ctx, change, failed);
        }
        self.send_asconf_after_answer(ctx.now);
    }
}
