//! A running link.

use super::config::LinkConfig;
use super::effect::{Corrupt, Duplicate, Reorder};
use super::fate::Fate;
use super::loss::LossState;
use super::losses::Losses;
use super::policer::{Bucket, Policer};
use super::queue::Queue;
use super::schedule::{Change, Timeline};
use super::times::TransmissionTimes;
use crate::net::clock::nanos;
use crate::net::error::BadValue;
use crate::net::log::{DropReason, LinkCounters};
use crate::net::packet::Packet;
use crate::net::rng::{self, Purpose, up_to};
use chacha20::ChaCha8Rng;

/// A running link. Most packets do not use `effects`.
#[derive(Debug)]
pub(crate) struct Link {
    /// When the last bit of the last accepted packet leaves (ns).
    busy_until: u64,
    /// Time of the next scheduled change, and of the next one that drops the
    /// packets in flight (ns).
    next_change: u64,
    next_kill: u64,
    /// Propagation delay (ns).
    delay: u64,
    times: TransmissionTimes,
    /// Packets that pass before the next one is inspected. Links without losses
    /// count too: one comparison serves all links.
    skip: u64,
    inspection: Inspection,
    queue: Queue,
    /// Delivered packets and bytes are not counted, because they follow from the others.
    counters: LinkCounters,
    /// Bytes of copies, and bytes lost.
    copied_bytes: u64,
    lost_bytes: u64,
    effects: Box<Effects>,
}

/// Which packets something other than the queue may affect.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Inspection {
    /// None.
    Never,
    /// Those that uniform loss drops. Losses are drawn ahead.
    AtLosses,
    /// All: an outage, another loss model, corruption, copies, a policer or
    /// reordering.
    Always,
}

/// Everything that can affect packets on a link besides the queue.
#[derive(Debug)]
struct Effects {
    timeline: Timeline,
    /// Index of the current rate in `timeline.rates`.
    rate: usize,
    down: bool,
    /// Whether someone outside has cut it ([`Link::cut`]), whatever the schedule says.
    cut: bool,
    losses: Losses,
    jitter: Jitter,
    reorder: Option<Reorder>,
    duplicate: Option<Duplicate>,
    corrupt: Option<Corrupt>,
    policer: Option<Bucket>,
    /// Fate of the copy of the last packet.
    copy: Option<Fate>,
    keeps_order: bool,
    rng: ChaCha8Rng,
}

/// Extra delay that keeps the order.
#[derive(Debug)]
struct Jitter {
    /// The most (ns); 0 for none.
    most: u64,
    /// When the last packet arrives (ns): none arrives before it.
    latest: u64,
}

impl Effects {
    /// What waited and what was on the wire at `at` is lost.
    fn emptied(&mut self, at: u64) {
        self.jitter.latest = self.jitter.latest.min(at);
        self.timeline.rates.iter_mut().for_each(|r| r.rewind(at));
    }
}

impl Link {
    pub(crate) fn new(config: &LinkConfig, seed: u64, id: u32) -> Result<Link, BadValue> {
        config.rate.check()?;
        config.loss.check()?;
        config.reorder.iter().try_for_each(Reorder::check)?;
        config.duplicate.iter().try_for_each(Duplicate::check)?;
        config.corrupt.iter().try_for_each(Corrupt::check)?;
        config.policer.iter().try_for_each(Policer::check)?;
        let timeline = Timeline::new(&config.rate, &config.schedule)?;
        let delay = nanos(config.delay);
        let losses = Losses::new(
            LossState::new(&config.loss),
            rng::stream(seed, Purpose::Loss, id),
        );
        let effects = Effects {
            rate: 0,
            down: false,
            cut: false,
            losses,
            jitter: Jitter {
                most: nanos(config.jitter),
                latest: 0,
            },
            reorder: config.reorder,
            duplicate: config.duplicate,
            corrupt: config.corrupt,
            policer: config.policer.as_ref().map(Bucket::new),
            copy: None,
            keeps_order: config.reorder.is_none() && timeline.keeps_order(delay),
            rng: rng::stream(seed, Purpose::Effects, id),
            timeline,
        };
        let mut link = Link {
            busy_until: 0,
            next_change: effects.timeline.next_change(),
            next_kill: 0,
            delay,
            times: TransmissionTimes::new(&effects.timeline.rates[0]),
            skip: 0,
            inspection: Inspection::Never,
            queue: Queue::new(config.queue),
            counters: LinkCounters::default(),
            copied_bytes: 0,
            lost_bytes: 0,
            effects: Box::new(effects),
        };
        link.update_fast_path();
        Ok(link)
    }

    /// Whether packets always arrive in the order in which they were sent.
    pub(crate) fn keeps_order(&self) -> bool {
        self.effects.keeps_order
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
        if self.skip > 0 {
            self.skip -= 1;
        } else if let Some(fate) = self.inspect(at, packet) {
            return fate;
        }
        self.transmit(at, size)
    }

    /// Applies the effects to a packet. `None` if it takes the plain way.
    #[inline(never)]
    fn inspect(&mut self, at: u64, packet: &mut Packet) -> Option<Fate> {
        match self.inspection {
            Inspection::Never => {
                self.skip = u64::MAX;
                None
            }
            Inspection::AtLosses => {
                let losses = &mut self.effects.losses;
                let lost = losses.draw_ahead();
                self.skip = core::mem::take(&mut losses.passing);
                lost.then(|| self.lose(at, packet.wire_size))
            }
            Inspection::Always => Some(self.pass_with_effects(at, packet)),
        }
    }

    #[cold]
    fn lose(&mut self, at: u64, size: u32) -> Fate {
        self.counters.dropped_loss += 1;
        self.lost_bytes += u64::from(size);
        Fate::dropped(DropReason::Loss, at)
    }

    /// Transmission time and propagation delay of a packet in seconds; the first
    /// is 0 if the rate is not constant.
    #[inline]
    pub(crate) fn seconds_for(&mut self, size: u32) -> (f64, f64) {
        self.times.seconds(size, self.delay)
    }

    /// Whether the link ever duplicates packets.
    pub(crate) fn makes_copies(&self) -> bool {
        let effects = &self.effects;
        effects.duplicate.is_some()
            || effects
                .timeline
                .will_change(|c| matches!(c, Change::Duplicate(Some(_))))
    }

    /// The fate of the copy that the last [`pass`](Link::pass) made, if it made one.
    #[inline]
    pub(crate) fn take_copy(&mut self) -> Option<Fate> {
        if self.inspection != Inspection::Always {
            return None;
        }
        self.effects.copy.take()
    }

    fn pass_with_effects(&mut self, at: u64, packet: &mut Packet) -> Fate {
        let effects = &mut *self.effects;
        if effects.down || effects.cut {
            self.counters.dropped_down += 1;
            self.lost_bytes += u64::from(packet.wire_size);
            return Fate::dropped(DropReason::LinkDown, at);
        }
        if effects.losses.loses(packet) {
            return self.lose(at, packet.wire_size);
        }
        if let Some(corrupt) = effects.corrupt {
            packet.join();
            if corrupt.apply(&mut packet.payload, &mut effects.rng) {
                packet.corrupted = true;
                self.counters.corrupted += 1;
            }
        }
        let twice = effects.duplicate.is_some_and(|d| d.draw(&mut effects.rng));
        let fate = self.transmit_with_effects(at, packet.wire_size);
        if twice {
            self.counters.duplicated += 1;
            self.copied_bytes += u64::from(packet.wire_size);
            self.effects.copy = Some(self.transmit_with_effects(at, packet.wire_size));
        }
        fate
    }

    fn transmit_with_effects(&mut self, at: u64, size: u32) -> Fate {
        let bucket = &mut self.effects.policer;
        if bucket.as_mut().is_some_and(|b| !b.admits(at, size)) {
            self.counters.dropped_policed += 1;
            self.lost_bytes += u64::from(size);
            return Fate::dropped(DropReason::Policed, at);
        }
        let mut fate = self.transmit(at, size);
        if fate.lost.is_none() && self.effects.jitter.most > 0 {
            fate = self.jittered(fate.at, size);
        }
        let (None, Some(reorder)) = (fate.lost, self.effects.reorder) else {
            return fate;
        };
        let extra = reorder.draw(&mut self.effects.rng);
        if extra == 0 {
            return fate;
        }
        self.counters.reordered += 1;
        self.arrives_by(fate.at.saturating_add(extra), size)
    }

    /// A packet that would arrive at `at` arrives later by a drawn time, and not before the one
    /// before it.
    fn jittered(&mut self, at: u64, size: u32) -> Fate {
        let effects = &mut *self.effects;
        let drawn = up_to(&mut effects.rng, effects.jitter.most);
        let late = at.saturating_add(drawn).max(effects.jitter.latest);
        if late < self.next_kill {
            effects.jitter.latest = late;
        }
        self.arrives_by(late, size)
    }

    /// A packet with extra delay arrives at `late`, unless an outage drops it before.
    fn arrives_by(&mut self, late: u64, size: u32) -> Fate {
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
        let mut departs = start.saturating_add(self.times.nanos(size));
        let mut delay = self.delay;
        // A packet that never departs also gets here, because no change is later.
        if departs >= self.next_change {
            let effects = &mut *self.effects;
            departs = effects.timeline.departure(effects.rate, start, size);
            delay = effects.timeline.delay_at(departs).unwrap_or(delay);
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

    /// Cuts the link at `now`, whatever its schedule says, or gives it back to its schedule. A cut
    /// empties the queue. Who cuts drops what is on the wire: its arrival is known already.
    pub(crate) fn cut(&mut self, now: u64, cut: bool) {
        if now >= self.next_change {
            self.advance(now);
        }
        self.effects.cut = cut;
        if cut {
            self.queue.clear();
            self.busy_until = self.busy_until.min(now);
            self.effects.emptied(now);
        }
        self.update_fast_path();
    }

    /// Applies all changes up to and including time `now`.
    #[cold]
    fn advance(&mut self, now: u64) {
        let effects = &mut *self.effects;
        while let Some((at, change)) = effects.timeline.changes.get_mut(effects.timeline.next) {
            if *at > now {
                break;
            }
            let at = *at;
            match change {
                Change::Up => effects.down = false,
                Change::Down { drop_in_flight } => {
                    effects.down = true;
                    if *drop_in_flight {
                        self.queue.clear();
                        self.busy_until = self.busy_until.min(at);
                        effects.emptied(at);
                    }
                }
                Change::Rate(rate) => effects.rate = *rate,
                Change::Delay(delay) => self.delay = *delay,
                Change::Loss(state) => {
                    effects.losses.model = std::mem::replace(state, LossState::None)
                }
                Change::Queue(limit) => self.queue.set_limit(*limit),
                Change::Reorder(e) => effects.reorder = *e,
                Change::Duplicate(e) => effects.duplicate = *e,
                Change::Corrupt(e) => effects.corrupt = *e,
            }
            effects.timeline.step();
        }
        self.update_fast_path();
    }

    /// Recomputes what the plain way through [`pass`](Link::pass) relies on, after
    /// a change.
    fn update_fast_path(&mut self) {
        let effects = &mut *self.effects;
        if self.inspection == Inspection::AtLosses {
            effects.losses.passing = self.skip;
        }
        self.next_change = effects.timeline.next_change();
        self.next_kill = effects.timeline.next_kill();
        self.times = TransmissionTimes::new(&effects.timeline.rates[effects.rate]);
        let others = effects.down
            || effects.cut
            || effects.jitter.most > 0
            || effects.reorder.is_some()
            || effects.duplicate.is_some()
            || effects.corrupt.is_some()
            || effects.policer.is_some();
        let losses = &mut effects.losses;
        // Drawing ahead would shift the numbers of a model that follows.
        losses.ahead = matches!(losses.model, LossState::Uniform(_))
            && !effects
                .timeline
                .will_change(|c| matches!(c, Change::Loss(_)));
        self.inspection = match losses.model {
            LossState::None if !others => Inspection::Never,
            LossState::Uniform(_) if !others && losses.ahead => Inspection::AtLosses,
            _ => Inspection::Always,
        };
        self.skip = match self.inspection {
            Inspection::Never => u64::MAX,
            Inspection::AtLosses => core::mem::take(&mut losses.passing),
            Inspection::Always => 0,
        };
    }
}
