//! How full the memory of the endpoint is, as its associations see it, and what they may take of it.

use super::Association;

/// So much may wait in any case, in each direction: a packet or two, so that no association stands still.
const LEAST: usize = 4096;

/// How full the memory of an endpoint is, as an association sees it.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scarcity {
    /// The most that an association may hold, if memory is scarce.
    share: Option<usize>,
    /// The largest receive buffer to which an association may grow.
    largest_buffer: u32,
}

impl Scarcity {
    /// `share`: the most that an association may hold; `None` while there
    /// is enough memory. `largest_buffer`: to which a receive buffer may grow.
    pub(crate) fn of(share: Option<usize>, largest_buffer: u32) -> Scarcity {
        Scarcity {
            share,
            largest_buffer,
        }
    }

    /// The largest receive buffer to which an association may grow; 0 if none may.
    pub(crate) fn largest_buffer(self) -> u32 {
        self.largest_buffer
    }

    /// The most that may be buffered for sending: half of the share while memory is scarce.
    #[inline]
    pub(super) fn largest_send_buffer(self) -> u32 {
        match self.share {
            None => u32::MAX,
            Some(share) => u32::try_from((share / 2).max(LEAST)).unwrap_or(u32::MAX),
        }
    }

    /// What both allow: all associations and those of one host. No buffer grows where one of
    /// them lets none grow; how large it may become is said by all.
    #[inline]
    pub(crate) fn and(self, host: Scarcity) -> Scarcity {
        let share = match (self.share, host.share) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let largest_buffer = match host.largest_buffer {
            0 => 0,
            _ => self.largest_buffer,
        };
        Scarcity {
            share,
            largest_buffer,
        }
    }
}

/// While memory is scarce: how much of it an association may use for DATA that waits.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Room(usize);

impl Room {
    /// The largest window to advertise: seven eighths, as data takes more memory than its bytes. What a sender
    /// that keeps to it says in small messages may be dropped all the same; it comes again.
    pub(super) fn window(self) -> u32 {
        u32::try_from((self.0 / 8 * 7).max(LEAST)).unwrap_or(u32::MAX)
    }

    /// Whether a DATA chunk that takes `chunk` bytes may come to what waits. `window` is what that takes of the receive
    /// window. The first missing chunk is taken while little waits, and up to twice the room if others wait behind it:
    /// with it they can be delivered.
    pub(super) fn admits(self, waiting: Waiting, chunk: usize) -> bool {
        let Waiting {
            memory,
            window,
            first_missing,
            behind_gap,
        } = waiting;
        let closes_gap = first_missing && behind_gap;
        memory + chunk < self.0.saturating_mul(1 + usize::from(closes_gap))
            || first_missing && window < LEAST as u64
    }
}

/// What waits when a DATA chunk comes.
#[derive(Copy, Clone, Debug)]
pub(super) struct Waiting {
    /// The memory that it takes.
    pub(super) memory: usize,
    /// What it takes of the receive window.
    pub(super) window: u64,
    /// The chunk is the first one that is missing.
    pub(super) first_missing: bool,
    /// Others have come with higher TSNs.
    pub(super) behind_gap: bool,
}

impl Association {
    /// How much memory DATA may use here, while memory is scarce: what the rest of the association leaves of its share.
    /// What the user sends counts up to half of the share, so it keeps no DATA out.
    #[inline]
    pub(super) fn room_for_data(&self, scarcity: Scarcity) -> Option<Room> {
        let share = scarcity.share?;
        Some(Room(self.left_of(share)))
    }

    #[cold]
    fn left_of(&self, share: usize) -> usize {
        let (data, sent) = (self.recv.reassembly.memory(), self.send.memory());
        let rest = self.memory() - data - sent + sent.min(share / 2);
        share.saturating_sub(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scarcer_of_all_and_of_one_host_counts() {
        let all = Scarcity::of(None, 900);
        assert_eq!(all.and(Scarcity::of(None, 400)), all);
        assert_eq!(all.and(Scarcity::of(Some(7), 0)), Scarcity::of(Some(7), 0));
        let scarce = Scarcity::of(Some(5), 0);
        assert_eq!(scarce.and(Scarcity::of(Some(7), 0)), scarce);
        assert_eq!(scarce.and(Scarcity::of(None, 400)), scarce);
    }

    #[test]
    fn what_waits_may_take_its_room() {
        let (room, waiting) = (
            Room(100_000),
            Waiting {
                memory: 98_000,
                window: 98_000,
                first_missing: false,
                behind_gap: true,
            },
        );
        assert_eq!(room.window(), 87_500);
        assert!(room.admits(waiting, 1999));
        assert!(!room.admits(waiting, 2000));
        // The first missing chunk, in order.
        let next = Waiting {
            first_missing: true,
            behind_gap: false,
            ..waiting
        };
        assert!(room.admits(next, 1999) && !room.admits(next, 2000));
        // With it others can be delivered.
        let closing = Waiting {
            memory: 198_000,
            first_missing: true,
            ..waiting
        };
        assert!(room.admits(closing, 1999) && !room.admits(closing, 2000));
    }

    #[test]
    fn without_room_what_is_next_is_taken_while_little_waits() {
        let room = Room(0);
        assert_eq!(room.window(), 4096);
        let next = |window, first_missing| {
            let memory = 100_000;
            let waiting = Waiting {
                memory,
                window,
                first_missing,
                behind_gap: !first_missing,
            };
            room.admits(waiting, 9000)
        };
        assert!(next(0, true) && next(4095, true));
        assert!(!next(4096, true) && !next(0, false));
    }

    #[test]
    fn half_of_a_share_is_for_what_is_sent() {
        assert_eq!(Scarcity::of(None, 0).largest_send_buffer(), u32::MAX);
        let scarce = Scarcity::of(Some(100_000), 0);
        assert_eq!(scarce.largest_send_buffer(), 50_000);
        assert_eq!(Scarcity::of(Some(1), 0).largest_send_buffer(), 4096);
    }
}
