//! Scheduled changes of a link.

use super::effect::{Corrupt, Duplicate, Reorder};
use super::loss::{LossModel, LossState};
use super::queue::QueueLimit;
use super::rate::{self, Rate, RateState};
use crate::net::clock::nanos;
use crate::net::error::BadValue;
use byway_core::time::{Duration, Instant};

/// A change of one property of a link at a given time. It applies to packets that reach
/// the part of the link with this property at that time or later.
#[derive(Clone, PartialEq, Debug)]
pub enum LinkChange {
    /// The link carries packets again.
    Up,
    /// The link drops every packet offered to it.
    Down {
        /// Whether packets in the queue and on the wire are lost too, as in
        /// ns-2; otherwise they still arrive.
        drop_in_flight: bool,
    },
    /// A new rate. The packet being transmitted continues at the new rate.
    Rate(Rate),
    /// A new propagation delay, for packets whose last bit leaves from now on.
    /// After a decrease they may overtake earlier ones.
    Delay(Duration),
    /// A new loss model in its initial state.
    Loss(LossModel),
    /// A new queue limit. Packets already queued stay.
    Queue(QueueLimit),
    /// New reordering, or none.
    Reorder(Option<Reorder>),
    /// New duplication, or none.
    Duplicate(Option<Duplicate>),
    /// New corruption, or none.
    Corrupt(Option<Corrupt>),
}

impl LinkChange {
    /// The link goes down and drops the packets in flight.
    pub const DOWN: LinkChange = LinkChange::Down {
        drop_in_flight: true,
    };

    fn check(&self) -> Result<(), BadValue> {
        match self {
            LinkChange::Up
            | LinkChange::Down { .. }
            | LinkChange::Delay(_)
            | LinkChange::Queue(_)
            | LinkChange::Reorder(None)
            | LinkChange::Duplicate(None)
            | LinkChange::Corrupt(None) => Ok(()),
            LinkChange::Rate(rate) => rate.check(),
            LinkChange::Loss(model) => model.check(),
            LinkChange::Reorder(Some(e)) => e.check(),
            LinkChange::Duplicate(Some(e)) => e.check(),
            LinkChange::Corrupt(Some(e)) => e.check(),
        }
    }
}

/// A change in the form that the running link uses.
#[derive(Debug)]
pub(super) enum Change {
    Up,
    Down {
        drop_in_flight: bool,
    },
    /// Index into [`Timeline::rates`].
    Rate(usize),
    Delay(u64),
    Loss(LossState),
    Queue(QueueLimit),
    Reorder(Option<Reorder>),
    Duplicate(Option<Duplicate>),
    Corrupt(Option<Corrupt>),
}

/// All changes of a link in time order.
#[derive(Debug)]
pub(super) struct Timeline {
    pub(super) changes: Vec<(u64, Change)>,
    /// Index of the first change that has not taken effect.
    pub(super) next: usize,
    /// The first rate, then the rates of the schedule.
    pub(super) rates: Vec<RateState>,
    /// Times of the changes that drop the packets in flight.
    kills: Vec<u64>,
    next_kill: usize,
}

impl Timeline {
    pub(super) fn new(
        rate: &Rate,
        schedule: &[(Instant, LinkChange)],
    ) -> Result<Timeline, BadValue> {
        let mut sorted: Vec<&(Instant, LinkChange)> = schedule.iter().collect();
        // Stable: changes of the same instant keep the order in which they were given.
        sorted.sort_by_key(|(at, _)| *at);
        let mut rates = vec![RateState::new(rate)];
        let mut kills = Vec::new();
        let mut changes = Vec::new();
        for (at, change) in sorted {
            change.check()?;
            let at = at.as_nanos();
            let change = match change {
                LinkChange::Up => Change::Up,
                LinkChange::Down { drop_in_flight } => {
                    if *drop_in_flight {
                        kills.push(at);
                    }
                    Change::Down {
                        drop_in_flight: *drop_in_flight,
                    }
                }
                LinkChange::Rate(rate) => {
                    rates.push(RateState::new(rate));
                    Change::Rate(rates.len() - 1)
                }
                LinkChange::Delay(delay) => Change::Delay(nanos(*delay)),
                LinkChange::Loss(model) => Change::Loss(LossState::new(model)),
                LinkChange::Queue(limit) => Change::Queue(*limit),
                LinkChange::Reorder(e) => Change::Reorder(*e),
                LinkChange::Duplicate(e) => Change::Duplicate(*e),
                LinkChange::Corrupt(e) => Change::Corrupt(*e),
            };
            changes.push((at, change));
        }
        Ok(Timeline {
            changes,
            next: 0,
            rates,
            kills,
            next_kill: 0,
        })
    }

    /// Time of the next change that has not taken effect; `u64::MAX` if none.
    pub(super) fn next_change(&self) -> u64 {
        self.changes.get(self.next).map_or(u64::MAX, |(at, _)| *at)
    }

    /// The next change has taken effect.
    pub(super) fn step(&mut self) {
        if let Some((
            _,
            Change::Down {
                drop_in_flight: true,
            },
        )) = self.changes.get(self.next)
        {
            self.next_kill += 1;
        }
        self.next += 1;
    }

    /// Time of the next outage that drops the packets in flight; `u64::MAX` if none.
    pub(super) fn next_kill(&self) -> u64 {
        self.kills.get(self.next_kill).copied().unwrap_or(u64::MAX)
    }

    /// When the last of `size` bytes leaves if their transmission starts at `start`, with
    /// the rates at that time. `rate` is the index of the current one.
    #[cold]
    pub(super) fn departure(&mut self, rate: usize, start: u64, size: u32) -> u64 {
        let mut coming = self.changes[self.next..]
            .iter()
            .filter_map(|(at, change)| match change {
                Change::Rate(rate) => Some((*at, *rate)),
                _ => None,
            })
            .peekable();
        let mut rate = rate;
        while let Some((_, new)) = coming.next_if(|(at, _)| *at <= start) {
            rate = new;
        }
        let mut now = start;
        let mut bits = u64::from(size) * 8;
        loop {
            let (end, then) = coming.next().unwrap_or((u64::MAX, rate));
            match &mut self.rates[rate] {
                RateState::Unlimited => return now,
                RateState::Bits(0) => {}
                RateState::Bits(speed) => {
                    let done = now.saturating_add(rate::transmission(bits, *speed));
                    if done <= end {
                        return done;
                    }
                    // Fewer than all bits fit before `end`, as `done` is later.
                    bits -= rate::bits_in(end - now, *speed).min(bits);
                }
                // A trace is followed to the end of the packet. Opportunities
                // come often, so a change of the rate does not matter then.
                RateState::Trace(trace) => {
                    return trace.serve(now, bits.div_ceil(8) as u32);
                }
            }
            if end == u64::MAX {
                return u64::MAX;
            }
            now = end;
            rate = then;
        }
    }

    /// The propagation delay that a change up to `at` sets; `None` if there is no
    /// such change.
    pub(super) fn delay_at(&self, at: u64) -> Option<u64> {
        self.changes[self.next..]
            .iter()
            .take_while(|(when, _)| *when <= at)
            .filter_map(|(_, change)| match change {
                Change::Delay(delay) => Some(*delay),
                _ => None,
            })
            .last()
    }

    /// Whether a change still to come satisfies `test`.
    pub(super) fn will_change(&self, test: impl Fn(&Change) -> bool) -> bool {
        self.changes[self.next..].iter().any(|(_, c)| test(c))
    }

    /// Whether packets always leave the link in the order in which they entered it.
    pub(super) fn keeps_order(&self, first_delay: u64) -> bool {
        let mut delay = first_delay;
        self.changes.iter().all(|(_, change)| match change {
            Change::Reorder(e) => e.is_none(),
            Change::Delay(new) => {
                let shorter = *new < delay;
                delay = *new;
                !shorter
            }
            _ => true,
        })
    }
}
