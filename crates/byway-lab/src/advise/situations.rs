//! The scenarios that settings meet.

use super::candidates::Draw;
use super::describe::{self, FASTEST, Load};
use super::request::Request;
use crate::scenario::{Change, Direction, EventSpec, PathSpec, Policy, Scenario, Traffic};
use crate::units::{Rate, Share, Size};
use serde::Serialize;
use std::time::Duration;

/// What happens to the paths.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Situation {
    /// The first path dies at a random phase of the traffic and stays dead. With one path
    /// alone it comes back after ten seconds.
    Death,
    /// Nothing fails: every move is needless.
    Quiet,
    /// The first path dies and comes back after ten seconds.
    Return,
    /// Nothing fails, on paths with shorter round trips and lower rates than described.
    Shorter,
    /// Nothing fails, on paths with longer round trips and higher rates than described,
    /// losses in bursts (0.1 % where the description has none), and sparse traffic in place
    /// of bulk.
    Longer,
    /// Nothing fails, and paths without loss lose 0.1 %. For the rate of bulk traffic alone.
    Lossy,
}

/// How long the first path is away in [`Situation::Return`].
pub(super) const AWAY: Duration = Duration::from_secs(10);
/// How long traffic goes on after its return.
const AFTER_RETURN: Duration = Duration::from_secs(60);
/// The longest stall that is told from no delivery at all.
pub(super) const LONGEST: Duration = Duration::from_secs(150);
/// Payload of a packet of bulk traffic.
const MESSAGE: u64 = 1452;
/// Packets of a quiet run, about.
const QUIET_PACKETS: u64 = 10_000;
/// How far [`Situation::Shorter`] and [`Situation::Longer`] are from the description.
const NEARBY: [f64; 2] = [0.7, 1.35];
/// Losses of [`Situation::Longer`] that come together on average.
const NEARBY_BURST: f64 = 2.0;
/// Loss each way of [`Situation::Longer`] and [`Situation::Lossy`] on paths that are
/// described without any.
const LEAST_LOSS: Share = Share(0.001);
const QUIET_LONGEST: Duration = Duration::from_secs(600);

impl Situation {
    /// All there are.
    pub const ALL: [Situation; 6] = [
        Situation::Death,
        Situation::Quiet,
        Situation::Return,
        Situation::Shorter,
        Situation::Longer,
        Situation::Lossy,
    ];
    /// Those of traffic whose rate the sender does not decide: without [`Situation::Lossy`].
    const OF_MESSAGES: [Situation; 5] = [
        Situation::Death,
        Situation::Quiet,
        Situation::Return,
        Situation::Shorter,
        Situation::Longer,
    ];

    /// Those that traffic is run in.
    #[must_use]
    pub const fn of(load: Load) -> &'static [Situation] {
        match load {
            Load::Bulk => &Situation::ALL,
            Load::Paced { .. } => &Situation::OF_MESSAGES,
        }
    }

    /// Whether no path dies.
    const fn is_quiet(self) -> bool {
        !matches!(self, Situation::Death | Situation::Return)
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Situation::Death => "death",
            Situation::Quiet => "quiet",
            Situation::Return => "return",
            Situation::Shorter => "shorter",
            Situation::Longer => "longer",
            Situation::Lossy => "lossy",
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Situation::Death => "The first path dies at a random phase of the traffic.",
            Situation::Quiet => "Nothing fails: every move to another path is needless.",
            Situation::Return => "The first path dies and is back after ten seconds.",
            Situation::Shorter => "Nothing fails; shorter round trips, lower rates than described.",
            Situation::Longer => {
                "Nothing fails; longer round trips, higher rates, losses in bursts."
            }
            Situation::Lossy => "Nothing fails; paths described without loss lose 0.1 %.",
        }
    }
}

/// When things happen, from the paths and the traffic.
struct Times {
    /// When the first path dies at the earliest.
    warm: Duration,
    /// How much later at the latest.
    spread: Duration,
    /// Traffic after that.
    tail: Duration,
}

impl Times {
    fn of(request: &Request) -> Times {
        let rtt = |p: &PathSpec| p.forward.delay + p.reverse.delay;
        let longest = request.paths.iter().map(rtt).max().unwrap_or_default();
        let every = match request.load {
            Load::Bulk => Duration::ZERO,
            Load::Paced { every, .. } => every,
        };
        Times {
            warm: Duration::from_secs(1).max(longest * 6).max(every * 4),
            spread: Duration::from_secs(1).max(longest * 2).max(every),
            // Without the potentially failed state a dead path is left after 63 s.
            tail: Duration::from_millis(500)
                .max(longest * 2)
                .max(every * 3)
                .max((every * 1400).min(Duration::from_secs(70))),
        }
    }
}

/// The scenario of a situation, with these policies.
#[must_use]
pub fn scenario(request: &Request, situation: Situation, policies: Vec<Policy>) -> Scenario {
    let changed = nearby(request, situation);
    let request = changed.as_ref().unwrap_or(request);
    let times = Times::of(request);
    let paths: Vec<PathSpec> = request.paths.iter().map(slower).collect();
    let traffic = traffic(request, situation, &paths, &times);
    let longest = times.warm + times.spread + LONGEST;
    let limit = match situation {
        Situation::Death => longest,
        _ if situation.is_quiet() => QUIET_LONGEST * 2,
        _ => longest + AWAY + AFTER_RETURN,
    };
    let mut events = failure(request, situation, &times);
    let until = match situation {
        _ if situation.is_quiet() => QUIET_LONGEST,
        _ => times.warm + times.spread + times.tail + AWAY,
    };
    events.extend(wander(request, until));
    events.sort_by_key(|e| e.at);
    Scenario {
        name: format!("advise: {}", situation.name()),
        description: situation.words().to_owned(),
        seed: 1,
        limit,
        max_events: 200_000_000,
        ties_as_scheduled: false,
        paths,
        events,
        traffic,
        cross: Vec::new(),
        policies,
    }
}

/// The request with the paths of [`Situation::Shorter`], [`Situation::Longer`] and
/// [`Situation::Lossy`]; a description is never exact, and settings that fit it too closely are bad advice.
fn nearby(request: &Request, situation: Situation) -> Option<Request> {
    let factor = match situation {
        Situation::Shorter => NEARBY[0],
        Situation::Longer => NEARBY[1],
        Situation::Lossy => 1.0,
        _ => return None,
    };
    let mut other = request.clone();
    for path in &mut other.paths {
        let share = describe::mean_loss(&path.forward.loss);
        for link in [&mut path.forward, &mut path.reverse] {
            link.delay = link.delay.mul_f64(factor);
            link.rate = Rate((link.rate.0 as f64 * factor) as u64);
            match (situation, share) {
                (Situation::Longer, share) => {
                    link.loss = describe::loss_spec(share.unwrap_or(LEAST_LOSS), NEARBY_BURST);
                }
                (Situation::Lossy, None) => link.loss = describe::loss_spec(LEAST_LOSS, 1.0),
                _ => {}
            }
        }
    }
    other.load = match request.load {
        Load::Bulk if situation == Situation::Longer => Load::Paced {
            message: Size(1000),
            every: Duration::from_millis(50),
        },
        Load::Paced { message, every } => Load::Paced {
            message,
            // What the description carries, slower paths carry in the same share.
            every: every.div_f64(factor.min(1.0)),
        },
        Load::Bulk => Load::Bulk,
    };
    Some(other)
}

/// The path, at most as fast as [`FASTEST`].
fn slower(path: &PathSpec) -> PathSpec {
    let mut path = path.clone();
    path.forward.rate = path.forward.rate.min(FASTEST);
    path.reverse.rate = path.reverse.rate.min(FASTEST);
    path
}

fn failure(request: &Request, situation: Situation, times: &Times) -> Vec<EventSpec> {
    let event = |at, change| EventSpec {
        at,
        spread: times.spread,
        path: 0,
        direction: Direction::Both,
        change,
    };
    let down = event(times.warm, Change::Down);
    let up = event(times.warm + AWAY, Change::Up);
    match situation {
        _ if situation.is_quiet() => Vec::new(),
        Situation::Death if request.paths.len() > 1 => vec![down],
        _ => vec![down, up],
    }
}

/// Changes of the delay of paths with jitter: twice a second to a new value, from the least
/// round trip to that and the jitter.
fn wander(request: &Request, until: Duration) -> Vec<EventSpec> {
    let mut events = Vec::new();
    let step = Duration::from_millis(500).max(until / 400);
    for (i, jitter) in request.jitter.iter().enumerate() {
        let mut draw = Draw(i as u64);
        let mut at = step;
        while !jitter.is_zero() && at < until {
            let delay = request.paths[i].forward.delay + (*jitter / 2).mul_f64(draw.share());
            events.push(EventSpec {
                at,
                spread: step,
                path: i,
                direction: Direction::Both,
                change: Change::Set {
                    rate: None,
                    delay: Some(delay),
                    loss: None,
                },
            });
            at += step;
        }
    }
    events
}

fn traffic(request: &Request, situation: Situation, paths: &[PathSpec], times: &Times) -> Traffic {
    let start = Duration::from_millis(200);
    let periodic = |message: Size, every: Duration, time: Duration| Traffic::Periodic {
        message,
        every,
        count: (time.as_secs_f64() / every.as_secs_f64()).ceil().max(1.0) as u64,
        streams: 1,
        start,
    };
    // Measures when traffic is back: the fewer packets the faster.
    let thin = Duration::from_millis(50);
    let whole = times.warm + times.spread + AWAY + AFTER_RETURN;
    match (request.load, situation) {
        (Load::Bulk, Situation::Return) => periodic(Size(1000), thin, whole),
        (Load::Bulk, _) => Traffic::Bulk {
            size: bulk_size(situation, paths, times),
            message: Size(MESSAGE),
            streams: 1,
            start,
        },
        (Load::Paced { message, every }, Situation::Return) => {
            periodic(message, every.max(thin), whole)
        }
        (Load::Paced { message, every }, Situation::Death) => {
            periodic(message, every, times.warm + times.spread + times.tail)
        }
        (Load::Paced { message, every }, _) => {
            let time = every.mul_f64(QUIET_PACKETS as f64).min(QUIET_LONGEST);
            periodic(message, every, time)
        }
    }
}

/// A file that the paths cannot finish before the first one dies.
fn bulk_size(situation: Situation, paths: &[PathSpec], times: &Times) -> Size {
    let rates = paths.iter().map(|p| p.forward.rate.0 as f64 / 8.0);
    let first = rates.clone().next().unwrap_or(0.0);
    let others = rates.skip(1).fold(0.0, f64::max);
    let bytes = match situation {
        _ if situation.is_quiet() => {
            (first * QUIET_LONGEST.as_secs_f64() / 2.0).min((QUIET_PACKETS * MESSAGE) as f64)
        }
        _ => {
            let before = (times.warm + times.spread).as_secs_f64();
            before * (first + others) + times.tail.as_secs_f64() * first
        }
    };
    Size((bytes as u64).max(MESSAGE))
}
