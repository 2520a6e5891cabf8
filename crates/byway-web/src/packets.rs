//! Where packets are drawn.

use byway_lab::live::{Load, Passage};
use byway_lab::scenario::{Change, Scenario};
use byway_sim::net::DropReason;
use std::collections::VecDeque;
use std::time::Duration;

/// Most packets that are drawn of a policy.
const MOST: usize = 4000;

/// What a packet does at the moment.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Motion {
    /// It waits in the queue of the bottleneck.
    Waiting = 0,
    /// It is on its way.
    Flying = 1,
    /// It was lost a moment ago.
    Lost = 2,
}

/// A packet to draw.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Mark {
    /// The path's place.
    pub path: usize,
    /// Whether it goes from the sender to the receiver.
    pub forward: bool,
    /// What it carries.
    pub load: Load,
    /// What it does.
    pub motion: Motion,
    /// How far it has come, 0 to 1; or how far it had come when it was lost.
    pub place: f32,
    /// How much of the time that a loss is shown has passed, 0 to 1.
    pub faded: f32,
}

/// Numbers of a [`Mark`] in a list for JavaScript.
pub const MARK_NUMBERS: usize = 6;

impl Mark {
    /// As numbers: path, 1 towards the receiver, load, motion, place, faded.
    #[must_use]
    pub fn numbers(&self) -> [f32; MARK_NUMBERS] {
        [
            self.path as f32,
            f32::from(u8::from(self.forward)),
            f32::from(self.load as u8),
            f32::from(self.motion as u8),
            self.place,
            self.faded,
        ]
    }
}

/// The packets that are on their way or were lost a moment ago.
#[derive(Debug, Default)]
pub(crate) struct Packets {
    passages: VecDeque<(Passage, u64)>,
}

impl Packets {
    /// Adds a packet, unless it was gone `shown` nanoseconds before `now`.
    pub(crate) fn add(&mut self, scenario: &Scenario, passage: Passage, oldest: u64) {
        if passage.to < oldest {
            return;
        }
        if self.passages.len() >= MOST {
            self.passages.pop_front();
        }
        let delay = delay(scenario, passage.path, passage.forward, passage.from);
        self.passages.push_back((passage, delay));
    }

    /// What there is to draw at `now`, when losses are shown for `shown` nanoseconds. Forgets the rest.
    pub(crate) fn marks(&mut self, now: u64, shown: u64) -> Vec<Mark> {
        self.passages
            .retain(|(p, delay)| p.to.saturating_add(shown).saturating_add(*delay) > now);
        let marks = self.passages.iter();
        marks
            .filter_map(|(p, delay)| mark(p, *delay, now, shown.max(1)))
            .collect()
    }
}

fn mark(p: &Passage, delay: u64, now: u64, shown: u64) -> Option<Mark> {
    let delay = delay.max(1);
    // When it left the queue, and where and when it was lost.
    let (left, end) = match p.lost {
        None => (p.to.saturating_sub(delay).max(p.from), None),
        Some(DropReason::InFlight) => {
            let share = (p.to - p.from) as f64 / delay as f64;
            (p.from, Some((share.min(0.97), p.to)))
        }
        Some(DropReason::QueueFull | DropReason::Policed | DropReason::NeverSent) => {
            (p.from, Some((0.0, p.from)))
        }
        Some(DropReason::LinkDown) => (p.from, Some((0.5, p.from + delay / 2))),
        // The model of losses names no place: they are spread over the way.
        Some(_) => {
            let share = 0.25 + (p.from % 1009) as f64 / 2018.0;
            (
                p.from,
                Some((share, p.from + (share * delay as f64) as u64)),
            )
        }
    };
    if now < p.from {
        return None;
    }
    let flown = (now.saturating_sub(left) as f64 / delay as f64).min(1.0);
    let (motion, place, faded) = match end {
        Some((share, at)) if now >= at => {
            let faded = (now - at) as f64 / shown as f64;
            (Motion::Lost, share, faded)
        }
        None if now >= p.to => return None,
        _ if now < left => (Motion::Waiting, 0.0, 0.0),
        _ => (Motion::Flying, flown, 0.0),
    };
    (faded < 1.0).then_some(Mark {
        path: p.path,
        forward: p.forward,
        load: p.load,
        motion,
        place: place as f32,
        faded: faded as f32,
    })
}

/// The one-way delay of a path at a time, nanoseconds.
fn delay(scenario: &Scenario, path: usize, forward: bool, at: u64) -> u64 {
    let spec = &scenario.paths[path];
    let link = if forward {
        &spec.forward
    } else {
        &spec.reverse
    };
    let mut delay = link.delay;
    for event in scenario.events.iter().filter(|e| e.path == path) {
        let covers = match forward {
            true => event.direction.forward(),
            false => event.direction.reverse(),
        };
        if event.at.as_nanos() > u128::from(at) || !covers {
            continue;
        }
        if let Change::Set { delay: Some(d), .. } = &event.change {
            delay = *d;
        }
    }
    nanos(delay)
}

/// The nanoseconds of a duration.
pub(crate) fn nanos(d: Duration) -> u64 {
    u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn passage(to: u64, lost: Option<DropReason>) -> Passage {
        Passage {
            path: 0,
            forward: true,
            load: Load::Data,
            tsn: 1,
            gap: None,
            from: 10 * MS,
            to,
            lost,
            bytes: 1500,
        }
    }

    fn at(p: &Passage, ms: u64) -> Option<(Motion, f32)> {
        let seen = mark(p, 40 * MS, ms * MS, 100 * MS)?;
        Some((seen.motion, seen.place))
    }

    #[test]
    fn a_packet_waits_and_flies_and_is_gone() {
        let p = passage(60 * MS, None);
        assert_eq!(at(&p, 9), None);
        assert_eq!(at(&p, 10), Some((Motion::Waiting, 0.0)));
        assert_eq!(at(&p, 40), Some((Motion::Flying, 0.5)));
        assert_eq!(at(&p, 60), None);
    }

    #[test]
    fn a_lost_packet_is_shown_where_it_was_lost() {
        let cut = passage(30 * MS, Some(DropReason::InFlight));
        assert_eq!(at(&cut, 20), Some((Motion::Flying, 0.25)));
        assert_eq!(at(&cut, 30), Some((Motion::Lost, 0.5)));
        assert_eq!(at(&cut, 131), None);
        let full = passage(10 * MS, Some(DropReason::QueueFull));
        assert_eq!(at(&full, 10), Some((Motion::Lost, 0.0)));
        let down = passage(10 * MS, Some(DropReason::LinkDown));
        assert_eq!(at(&down, 31), Some((Motion::Lost, 0.5)));
    }
}
