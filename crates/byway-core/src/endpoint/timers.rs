//! Schedules associations: now if they may have something to send, later when a
//! timer expires.

use super::{Endpoint, ctx};
use crate::assoc::Ctx;
use crate::time::Instant;
use core::cmp::Reverse;

impl Endpoint {
    /// Schedules an association after a packet, a command or a timer. It may have
    /// something to send or another timer, or it may have ended.
    #[inline]
    pub(super) fn wake(&mut self, index: u32) {
        let slot = &mut self.table[index];
        if slot.assoc.is_closed() {
            self.table.end(index);
            self.recount(index);
            self.recount_beside();
        } else if !slot.queued {
            slot.queued = true;
            self.schedule.ready.push_back(index);
        }
        // `fill_packet` arms its timer when it has nothing more to send.
    }

    /// Puts an association's earliest timer into the timer queue, unless an
    /// earlier entry is there. That entry is put back when it expires.
    pub(super) fn arm(&mut self, index: u32) {
        let slot = &mut self.table[index];
        if let Some(t) = slot.assoc.next_timeout()
            && slot.armed.is_none_or(|a| t < a)
        {
            slot.armed = Some(t);
            let entry = (t, index, slot.generation);
            self.schedule.timers.push(Reverse(entry));
        }
    }

    /// Runs the timers that have expired.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.shed(now);
        while let Some(&Reverse((at, index, generation))) = self.schedule.timers.peek() {
            if at > now {
                break;
            }
            self.schedule.timers.pop();
            let Some(slot) = self.table.at_index(index) else {
                continue;
            };
            if slot.generation != generation || slot.armed != Some(at) {
                continue;
            }
            slot.armed = None;
            if slot.assoc.next_timeout().is_some_and(|t| t <= now) {
                let mut ctx = ctx!(self, now);
                self.table[index].assoc.handle_timeout(&mut ctx);
                self.wake(index);
            } else {
                self.arm(index);
            }
        }
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) at the latest;
    /// `None` if no timer runs. The time may be too early, never too late: a
    /// timer that has moved to a later time is put back then.
    pub fn poll_timeout(&mut self) -> Option<Instant> {
        while let Some(&Reverse((at, index, generation))) = self.schedule.timers.peek() {
            let live = self
                .table
                .at_index(index)
                .is_some_and(|s| s.generation == generation && s.armed == Some(at));
            if live {
                return Some(at);
            }
            self.schedule.timers.pop();
        }
        None
    }

    /// The exact time of the earliest timer, where
    /// [`poll_timeout`](Self::poll_timeout) may be early; `None` if no timer
    /// runs. It visits every association, so it is for simulations in which the
    /// moment at which a timer was set matters.
    #[must_use]
    pub fn earliest_timer(&self) -> Option<Instant> {
        self.table
            .iter()
            .filter_map(|slot| slot.assoc.next_timeout())
            .min()
    }
}
