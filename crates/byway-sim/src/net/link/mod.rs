//! One-way links. A packet that is offered to a link learns at once whether
//! and when it arrives at the other end.
//!
//! The order of the effects is ns-2's: outage, loss model, corruption and
//! duplication, drop-tail queue, transmission, propagation, reordering.
//! Packets must be offered in time order; the link then needs no events of its
//! own, since all changes are known in advance.

mod config;
mod effect;
mod loss;
mod peek;
mod queue;
mod rate;
mod schedule;
#[cfg(test)]
mod tests;

pub use config::LinkConfig;
pub use effect::{Corrupt, Duplicate, Reorder};
pub use loss::{LossModel, PacketMatch, TsnDrop};
pub use queue::QueueLimit;
pub use rate::{DeliveryTrace, Rate};
pub use schedule::LinkChange;

use super::error::BadValue;
use super::log::{DropReason, LinkCounters};
use super::packet::Packet;
use super::rng::{self, Purpose};
use byway_core::time::Duration;
use chacha20::ChaCha8Rng;
use loss::LossState;
use queue::Queue;
use rate::RateState;
use schedule::{Change, Timeline};

/// A duration in nanoseconds, saturating at 584 years.
pub(crate) fn nanos(d: Duration) -> u64 {
    u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)
}

/// What becomes of one packet on a link.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fate {
    /// When it comes out, or is lost (ns).
    pub(crate) at: u64,
    /// Why it is lost; `None` if it comes out.
    pub(crate) lost: Option<DropReason>,
}

impl Fate {
    const fn arrives(at: u64) -> Fate {
        Fate { at, lost: None }
    }

    const fn dropped(reason: DropReason, at: u64) -> Fate {
        Fate {
            at,
            lost: Some(reason),
        }
    }
}

/// A running link. The first fields are all that a plain packet touches.
#[derive(Debug)]
pub(crate) struct Link {
    /// When the last bit of the last accepted packet leaves.
    busy_until: u64,
    /// Time of the next scheduled change and of the next one that drops what is in flight.
    next_change: u64,
    next_kill: u64,
    delay: u64,
    /// Bits per second; `UNLIMITED`, or 0 when the rate needs the long way.
    simple_rate: u64,
    /// What a byte takes to transmit, where that is a whole number; else 0.
    nanos_per_byte: u64,
    /// Transmission time of the last size seen, as most packets repeat it.
    last_size: u32,
    last_transmission: u64,
    /// So many packets pass before one is looked at. Counted on links without
    /// losses, too: links of all kinds take turns in what a packet goes through,
    /// and this is one question for all of them.
    free: u64,
    /// What needs a look beside the queue.
    effects: Effects,
    queue: Queue,
    /// Without what is delivered, which follows from the others.
    counters: LinkCounters,
    /// Bytes of copies, and bytes lost.
    copied_bytes: u64,
    lost_bytes: u64,
    /// Those of [`seconds_for`](Link::seconds_for) the last size seen there.
    seconds_size: u32,
    seconds: (f64, f64),
    rest: Box<Rest>,
}

/// What a packet may meet on a link, beside its queue.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Effects {
    None,
    /// Uniform loss that no later change replaces: how many packets pass until
    /// the next is lost is drawn ahead, with the numbers that they would draw
    /// one by one.
    Lots,
    /// Outage, other losses, corruption, copies, reordering.
    Any,
}

/// Packets whose loss is drawn ahead at most, so that a loss of next to nothing
/// does not draw for ever.
const MOST_SPARED: u64 = 256;

/// What only special packets touch.
#[derive(Debug)]
struct Rest {
    timeline: Timeline,
    /// Index of the rate in force in `timeline.rates`.
    rate: usize,
    down: bool,
    loss: LossState,
    /// Uniform loss is drawn ahead.
    lots: bool,
    /// With other effects beside it: so many packets are not lost.
    spared: u64,
    /// The packet after those that are spared, or [`Link::free`], is lost.
    lot: bool,
    reorder: Option<Reorder>,
    duplicate: Option<Duplicate>,
    corrupt: Option<Corrupt>,
    /// Fate of the copy of the packet passed last.
    copy: Option<Fate>,
    keeps_order: bool,
    loss_rng: ChaCha8Rng,
    effect_rng: ChaCha8Rng,
}

impl Rest {
    /// Whether uniform loss hits the next packet.
    fn drawn_to_be_lost(&mut self) -> bool {
        if self.spared > 0 {
            self.spared -= 1;
            return false;
        }
        self.draw_lots()
    }

    /// Whether the packet is lost that follows those that were spared; draws for
    /// those that come next, if that is not known.
    fn draw_lots(&mut self) -> bool {
        if core::mem::take(&mut self.lot) {
            return true;
        }
        let LossState::Uniform(chance) = self.loss else {
            // Lots are for nothing else.
            return false;
        };
        for spared in 0..MOST_SPARED {
            if chance.draw(&mut self.loss_rng) {
                // The first of them is the one that asks.
                self.lot = spared > 0;
                self.spared = spared.saturating_sub(1);
                return spared == 0;
            }
        }
        self.spared = MOST_SPARED - 1;
        false
    }
}

const UNLIMITED: u64 = u64::MAX;

impl Link {
    pub(crate) fn new(config: &LinkConfig, seed: u64, id: u32) -> Result<Link, BadValue> {
        config.rate.check()?;
        config.loss.check()?;
        config.reorder.iter().try_for_each(Reorder::check)?;
        config.duplicate.iter().try_for_each(Duplicate::check)?;
        config.corrupt.iter().try_for_each(Corrupt::check)?;
        let timeline = Timeline::new(&config.rate, &config.schedule)?;
        let delay = nanos(config.delay);
        let rest = Rest {
            rate: 0,
            down: false,
            loss: LossState::new(&config.loss),
            lots: false,
            spared: 0,
            lot: false,
            reorder: config.reorder,
            duplicate: config.duplicate,
            corrupt: config.corrupt,
            copy: None,
            keeps_order: config.reorder.is_none() && timeline.keeps_order(delay),
            loss_rng: rng::stream(seed, Purpose::Loss, id),
            effect_rng: rng::stream(seed, Purpose::Effects, id),
            timeline,
        };
        let mut link = Link {
            busy_until: 0,
            next_change: rest.timeline.next_change(),
            next_kill: 0,
            delay,
            simple_rate: 0,
            nanos_per_byte: 0,
            last_size: 0,
            last_transmission: 0,
            free: 0,
            effects: Effects::None,
            queue: Queue::new(config.queue),
            counters: LinkCounters::default(),
            copied_bytes: 0,
            lost_bytes: 0,
            seconds_size: u32::MAX,
            seconds: (0.0, 0.0),
            rest: Box::new(rest),
        };
        link.settle_state();
        Ok(link)
    }

    /// Whether packets always come out in the order in which they went in.
    pub(crate) fn keeps_order(&self) -> bool {
        self.rest.keeps_order
    }

    /// The totals so far.
    pub(crate) fn counters(&self) -> LinkCounters {
        let c = self.counters;
        LinkCounters {
            delivered_packets: c.offered_packets + c.duplicated - c.dropped(),
            delivered_bytes: c.offered_bytes + self.copied_bytes - self.lost_bytes,
            ..c
        }
    }

    /// Offers a packet to the link at time `at`, not before any earlier offer.
    #[inline(always)]
    pub(crate) fn pass(&mut self, at: u64, packet: &mut Packet) -> Fate {
        let size = packet.wire_size;
        if at >= self.next_change {
            self.advance(at);
        }
        self.counters.offered_packets += 1;
        self.counters.offered_bytes += u64::from(size);
        if self.free > 0 {
            self.free -= 1;
        } else if let Some(fate) = self.look(at, packet) {
            return fate;
        }
        self.transmit(at, size)
    }

    /// What effects do to a packet, if that is not to go through as any other.
    #[inline(never)]
    fn look(&mut self, at: u64, packet: &mut Packet) -> Option<Fate> {
        match self.effects {
            Effects::None => {
                self.free = u64::MAX;
                None
            }
            Effects::Lots => {
                let lost = self.rest.draw_lots();
                self.free = core::mem::take(&mut self.rest.spared);
                lost.then(|| self.lose(at, packet.wire_size))
            }
            Effects::Any => Some(self.pass_special(at, packet)),
        }
    }

    #[cold]
    fn lose(&mut self, at: u64, size: u32) -> Fate {
        self.counters.dropped_loss += 1;
        self.lost_bytes += u64::from(size);
        Fate::dropped(DropReason::Loss, at)
    }

    /// Transmission time and propagation delay of a packet in seconds, as far as
    /// the rate is plain.
    #[inline]
    pub(crate) fn seconds_for(&mut self, size: u32) -> (f64, f64) {
        if size != self.seconds_size {
            let sends = match self.simple_rate {
                UNLIMITED | 0 => 0.0,
                rate => 8.0 * f64::from(size) / rate as f64,
            };
            self.seconds_size = size;
            self.seconds = (sends, super::event::seconds(self.delay));
        }
        self.seconds
    }

    /// Whether it ever may.
    pub(crate) fn makes_copies(&self) -> bool {
        let later = |c: &(u64, Change)| matches!(c.1, Change::Duplicate(Some(_)));
        self.rest.duplicate.is_some() || self.rest.timeline.changes.iter().any(later)
    }

    /// The fate of the copy that the last [`pass`](Link::pass) made, if it made one.
    #[inline]
    pub(crate) fn take_copy(&mut self) -> Option<Fate> {
        if self.effects != Effects::Any {
            return None;
        }
        self.rest.copy.take()
    }

    fn pass_special(&mut self, at: u64, packet: &mut Packet) -> Fate {
        let rest = &mut *self.rest;
        if rest.down {
            self.counters.dropped_down += 1;
            self.lost_bytes += u64::from(packet.wire_size);
            return Fate::dropped(DropReason::LinkDown, at);
        }
        let lost = match rest.lots {
            true => rest.drawn_to_be_lost(),
            false => rest.loss.loses(packet, &mut rest.loss_rng),
        };
        if lost {
            return self.lose(at, packet.wire_size);
        }
        let rest = &mut *self.rest;
        if let Some(corrupt) = rest.corrupt {
            packet.join();
            if corrupt.apply(&mut packet.payload, &mut rest.effect_rng) {
                packet.corrupted = true;
                self.counters.corrupted += 1;
            }
        }
        let twice = rest.duplicate.is_some_and(|d| d.draw(&mut rest.effect_rng));
        let fate = self.transmit_reordering(at, packet.wire_size);
        if twice {
            self.counters.duplicated += 1;
            self.copied_bytes += u64::from(packet.wire_size);
            self.rest.copy = Some(self.transmit_reordering(at, packet.wire_size));
        }
        fate
    }

    fn transmit_reordering(&mut self, at: u64, size: u32) -> Fate {
        let fate = self.transmit(at, size);
        let (None, Some(reorder)) = (fate.lost, self.rest.reorder) else {
            return fate;
        };
        let extra = reorder.draw(&mut self.rest.effect_rng);
        if extra == 0 {
            return fate;
        }
        self.counters.reordered += 1;
        let late = fate.at.saturating_add(extra);
        if late >= self.next_kill {
            self.counters.dropped_in_flight += 1;
            self.lost_bytes += u64::from(size);
            return Fate::dropped(DropReason::InFlight, self.next_kill);
        }
        Fate::arrives(late)
    }

    /// Queue, transmission and propagation.
    #[inline(always)]
    fn transmit(&mut self, at: u64, size: u32) -> Fate {
        self.queue.settle(at);
        if !self.queue.admits(size) {
            self.counters.dropped_queue += 1;
            self.lost_bytes += u64::from(size);
            return Fate::dropped(DropReason::QueueFull, at);
        }
        let start = self.busy_until.max(at);
        let sends = match self.nanos_per_byte {
            0 => self.transmission(size),
            // Neither is more than 32 bits long.
            nanos => u64::from(size) * nanos,
        };
        let mut departs = start.saturating_add(sends);
        let mut delay = self.delay;
        // So is what never departs: no change is later than that.
        if departs >= self.next_change {
            departs = self.departure_across_changes(start, size);
            delay = self.delay_at(departs);
        }
        self.busy_until = departs;
        if departs > at {
            self.queue.push(departs, size);
            if self.queue.packets() > self.counters.max_queue_packets {
                self.counters.max_queue_packets = self.queue.packets();
            }
            if self.queue.bytes() > self.counters.max_queue_bytes {
                self.counters.max_queue_bytes = self.queue.bytes();
            }
        }
        let arrival = departs.saturating_add(delay);
        if arrival >= self.next_kill {
            return self.never_arrives(at, size);
        }
        Fate::arrives(arrival)
    }

    /// Transmission time where a byte does not take whole nanoseconds.
    fn transmission(&mut self, size: u32) -> u64 {
        if size != self.last_size {
            self.last_size = size;
            self.last_transmission = match self.simple_rate {
                UNLIMITED => 0,
                // Found out the long way, every time.
                0 => u64::MAX,
                rate => rate::transmission(u64::from(size) * 8, rate),
            };
        }
        self.last_transmission
    }

    #[cold]
    fn never_arrives(&mut self, at: u64, size: u32) -> Fate {
        self.lost_bytes += u64::from(size);
        if self.next_kill == u64::MAX {
            self.counters.dropped_never_sent += 1;
            return Fate::dropped(DropReason::NeverSent, at);
        }
        self.counters.dropped_in_flight += 1;
        Fate::dropped(DropReason::InFlight, self.next_kill)
    }

    /// When the last of `size` bytes leaves whose transmission starts at
    /// `start`, with the rates that will then be in force.
    #[cold]
    fn departure_across_changes(&mut self, start: u64, size: u32) -> u64 {
        let Timeline {
            changes,
            next,
            rates,
            ..
        } = &mut self.rest.timeline;
        let mut coming = changes[*next..]
            .iter()
            .filter_map(|(at, change)| match change {
                Change::Rate(rate) => Some((*at, *rate)),
                _ => None,
            })
            .peekable();
        let mut rate = self.rest.rate;
        while let Some((_, new)) = coming.next_if(|(at, _)| *at <= start) {
            rate = new;
        }
        let mut now = start;
        let mut bits = u64::from(size) * 8;
        loop {
            let (end, then) = coming.next().unwrap_or((u64::MAX, rate));
            match &mut rates[rate] {
                RateState::Unlimited => return now,
                RateState::Bits(0) => {}
                RateState::Bits(speed) => {
                    let done = now.saturating_add(rate::transmission(bits, *speed));
                    if done <= end {
                        return done;
                    }
                    // Less than all bits fit before `end`, as `done` is later.
                    bits -= rate::bits_in(end - now, *speed).min(bits);
                }
                // A trace is followed to the end of the packet: opportunities
                // come often, and a replaced trace no longer matters then.
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

    /// Propagation delay in force at `at`, which may be in the future.
    fn delay_at(&self, at: u64) -> u64 {
        let timeline = &self.rest.timeline;
        timeline.changes[timeline.next..]
            .iter()
            .take_while(|(when, _)| *when <= at)
            .filter_map(|(_, change)| match change {
                Change::Delay(delay) => Some(*delay),
                _ => None,
            })
            .last()
            .unwrap_or(self.delay)
    }

    /// Lets all changes up to and including time `now` take effect.
    #[cold]
    fn advance(&mut self, now: u64) {
        let rest = &mut *self.rest;
        while let Some((at, change)) = rest.timeline.changes.get_mut(rest.timeline.next) {
            if *at > now {
                break;
            }
            let at = *at;
            match change {
                Change::Up => rest.down = false,
                Change::Down { drop_in_flight } => {
                    rest.down = true;
                    if *drop_in_flight {
                        self.queue.clear();
                        self.busy_until = self.busy_until.min(at);
                        rest.timeline.rates.iter_mut().for_each(|r| r.rewind(at));
                    }
                }
                Change::Rate(rate) => rest.rate = *rate,
                Change::Delay(delay) => self.delay = *delay,
                Change::Loss(state) => rest.loss = std::mem::replace(state, LossState::None),
                Change::Queue(limit) => self.queue.set_limit(*limit),
                Change::Reorder(e) => rest.reorder = *e,
                Change::Duplicate(e) => rest.duplicate = *e,
                Change::Corrupt(e) => rest.corrupt = *e,
            }
            rest.timeline.step();
        }
        self.settle_state();
    }

    /// Recomputes what the short way through [`pass`](Link::pass) relies on.
    fn settle_state(&mut self) {
        let rest = &mut *self.rest;
        if self.effects == Effects::Lots {
            rest.spared = self.free;
        }
        self.next_change = rest.timeline.next_change();
        self.next_kill = rest.timeline.next_kill();
        self.simple_rate = match &rest.timeline.rates[rest.rate] {
            RateState::Unlimited => UNLIMITED,
            RateState::Bits(rate) => (*rate).min(UNLIMITED - 1),
            RateState::Trace(_) => 0,
        };
        self.nanos_per_byte = match self.simple_rate {
            UNLIMITED | 0 => 0,
            rate => rate::whole_nanos_per_byte(rate).map_or(0, u64::from),
        };
        // Forget the transmission times of the old rate.
        self.last_size = u32::MAX;
        self.seconds_size = u32::MAX;
        let others = rest.down
            || rest.reorder.is_some()
            || rest.duplicate.is_some()
            || rest.corrupt.is_some();
        // Drawing ahead would shift the numbers of a model that follows.
        let to_come = &rest.timeline.changes[rest.timeline.next..];
        rest.lots = matches!(rest.loss, LossState::Uniform(_))
            && !to_come.iter().any(|c| matches!(c.1, Change::Loss(_)));
        self.effects = match rest.loss {
            LossState::None if !others => Effects::None,
            LossState::Uniform(_) if !others && rest.lots => Effects::Lots,
            _ => Effects::Any,
        };
        self.free = match self.effects {
            Effects::None => u64::MAX,
            Effects::Lots => core::mem::take(&mut rest.spared),
            Effects::Any => 0,
        };
    }
}
