//! Messages that interleave (RFC 8260): what both sides agree on, and I-DATA and I-FORWARD-TSN of the
//! peer.
//!
//! Both sides list I-DATA in Supported Extensions (RFC 5061 section 4.2.7) of INIT and INIT ACK. Then
//! I-DATA takes the place of DATA in both directions, and whoever sends the other one violates the
//! protocol. The same holds for I-FORWARD-TSN and FORWARD-TSN. This side gives up no messages, so it
//! sends neither of these. Without `streams.interleaving` all of these but DATA are unknown chunks (RFC
//! 9260 section 3.2).

use super::dispatch::Gathered;
use super::{Association, Ctx};
use crate::api::{CommandError, Event};
use crate::path::PathId;
use crate::refusals::Rule;
use byway_wire::{Data, IData, IForwardTsn};
use core::ops::ControlFlow;

/// What an INIT or INIT ACK lists of RFC 8260.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct InterleavingOffer {
    /// I-DATA.
    pub(crate) i_data: bool,
    /// I-FORWARD-TSN.
    pub(crate) i_forward_tsn: bool,
}

impl Association {
    /// Both INITs are known: decides whether messages interleave. Both halves are new.
    pub(super) fn agree_on_interleaving(&mut self, peer: InterleavingOffer) {
        let agreed = self.knows_interleaving() && peer.i_data;
        self.send.interleave(agreed);
        self.recv
            .reassembly
            .interleave(agreed, agreed && peer.i_forward_tsn);
    }

    /// Whether this side supports interleaving.
    #[inline]
    pub(super) fn knows_interleaving(&self) -> bool {
        self.cfg.streams.interleaving
    }

    /// Whether I-DATA takes the place of DATA.
    pub(crate) fn interleaves(&self) -> bool {
        self.send.interleaves()
    }

    /// The user sets the value of a stream for its scheduler.
    pub(crate) fn set_stream_value(&mut self, stream: u16, value: u16) -> Result<(), CommandError> {
        let streams = self.send.streams();
        if stream >= streams {
            return Err(CommandError::NoSuchStream { stream, streams });
        }
        self.send.queue.set_value(stream, value);
        Ok(())
    }

    /// Handles one I-DATA chunk; false ends the packet.
    #[inline(never)]
    pub(super) fn on_i_data(
        &mut self,
        ctx: &mut Ctx<'_>,
        from: Option<PathId>,
        d: &IData<'_>,
        gathered: &mut Gathered,
    ) -> bool {
        let data = Data {
            tsn: d.tsn,
            stream_id: d.stream_id,
            // RFC 8260 section 4.1.
            ssn: d.mid as u16,
            ppid: d.ppid_or_fsn,
            unordered: d.unordered,
            begin: d.begin,
            end: d.end,
            immediate: d.immediate,
            payload: d.payload,
        };
        match self.admit_data(ctx, from, (&data, true), gathered) {
            ControlFlow::Continue(_) => self.pass_by_fsn(ctx, from, (&data, d.mid), gathered),
            ControlFlow::Break(goes_on) => goes_on,
        }
    }

    /// I-FORWARD-TSN: the peer has given messages up (section 2.3.1; RFC 3758 section 3.6). False
    /// ends the packet.
    pub(super) fn on_i_forward_tsn(
        &mut self,
        ctx: &mut Ctx<'_>,
        forward: &IForwardTsn<'_>,
        gathered: &mut Gathered,
    ) -> bool {
        if !self.state.takes_data() {
            self.discard(
                ctx,
                Rule::Misplaced,
                "I-FORWARD-TSN in a state that takes no data",
            );
            return true;
        }
        if !self.recv.reassembly.forwards() {
            self.violation(ctx, "I-FORWARD-TSN, which was not agreed on");
            return false;
        }
        // It is acknowledged as DATA is.
        gathered.has_data = true;
        match self.recv.tsns.skip_to(forward.new_cumulative_tsn) {
            None => {
                self.discard(ctx, Rule::Window, "I-FORWARD-TSN too far ahead");
                return true;
            }
            Some(false) => {
                gathered.data.duplicate = true;
                return true;
            }
            Some(true) => gathered.data.new = true,
        }
        let streams = self.recv.streams();
        for skipped in forward.skipped().filter(|s| s.stream_id < streams) {
            let (stream, unordered) = (skipped.stream_id, skipped.unordered);
            if self.recv.reassembly.skip(stream, unordered, skipped.mid) {
                self.event(ctx, Event::PartsGivenUp { stream, unordered });
            }
        }
        true
    }
}
