//! A scenario's data.

use super::trace::Trace;
use crate::units::{QueueLimit, Rate, Share, Size};
use byway_core::config::ConfigError;
use byway_dialect_ns2::Settings;
use std::time::Duration;

/// The greatest seed: what a whole number in TOML can be, so that each run has a file.
pub const GREATEST_SEED: u64 = i64::MAX as u64;

/// A scenario, read and checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// A short name.
    pub name: String,
    /// What it shows, in a sentence or two.
    pub description: String,
    /// Seeds all chance; at most [`GREATEST_SEED`].
    pub seed: u64,
    /// When a run ends that has not finished.
    pub limit: Duration,
    /// Most events of the simulator in a run: a guard against scenarios that
    /// never get anywhere. What is one event is the simulator's affair, a few
    /// for each packet.
    pub max_events: u64,
    /// Whether what happens at the same nanosecond does so in the order in which
    /// it was scheduled, as in ns-2 (`ties = "as-scheduled"`); else packets go by
    /// their link's number.
    pub ties_as_scheduled: bool,
    /// The paths; the first is the primary.
    pub paths: Vec<PathSpec>,
    /// What happens to them, in order of time.
    pub events: Vec<EventSpec>,
    /// What is sent.
    pub traffic: Traffic,
    /// Other traffic on the paths.
    pub cross: Vec<CrossSpec>,
    /// What is compared, in the order of the file; at least one.
    pub policies: Vec<Policy>,
}

impl Scenario {
    /// What works but contradicts itself, with the policy's name: its settings
    /// among themselves ([`Config::warnings`]), and with this network.
    ///
    /// [`Config::warnings`]: byway_core::Config::warnings
    #[must_use]
    pub fn warnings(&self) -> Vec<(&str, ConfigError)> {
        let mut found = Vec::new();
        for policy in &self.policies {
            let mut of_policy = policy.config.warnings();
            if policy.config.concurrent.is_some() && self.paths.len() < 2 {
                of_policy.push(ConfigError {
                    field: "concurrent",
                    value: "on".to_owned(),
                    problem: "uses several paths at once, and this network has one: add a \
                              [[path]], or set concurrent = \"off\""
                        .to_owned(),
                });
            }
            let own = policy.config.failure.path_detection.len();
            if own > self.paths.len() {
                of_policy.push(ConfigError {
                    field: "failure.path_detection",
                    value: format!("a list of {own}"),
                    problem: format!(
                        "this network has {}, so the last of the list mean nothing: one \
                         for each [[path]], in their order",
                        match self.paths.len() {
                            1 => "one path".to_owned(),
                            n => format!("{n} paths"),
                        }
                    ),
                });
            }
            found.extend(of_policy.into_iter().map(|w| (policy.name.as_str(), w)));
        }
        found
    }
}

/// A path between the two hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct PathSpec {
    /// Its name.
    pub name: String,
    /// From the sender to the receiver.
    pub forward: LinkSpec,
    /// From the receiver to the sender.
    pub reverse: LinkSpec,
    /// A faster link at either end, as in the papers' networks.
    pub access: Option<Access>,
}

/// The link between each host and the path's core.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Rate.
    pub rate: Rate,
    /// One-way delay of one of the two; part of the path's delay.
    pub delay: Duration,
}

/// One direction of a path.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSpec {
    /// Rate of the bottleneck; with a trace, its mean.
    pub rate: Rate,
    /// A recording that gives the rate.
    pub trace: Option<Trace>,
    /// One-way delay from end to end, access links included.
    pub delay: Duration,
    /// The most that each packet is late besides, drawn evenly from zero on; none overtakes another.
    pub jitter: Duration,
    /// Room in front of the bottleneck.
    pub queue: QueueLimit,
    /// What drops packets above a rate, before they reach the queue.
    pub policer: Option<PolicerSpec>,
    /// What gets lost.
    pub loss: LossSpec,
}

/// A policer: a token bucket that drops what exceeds it and delays nothing.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct PolicerSpec {
    /// The rate that passes for long.
    pub rate: Rate,
    /// The bytes that pass at once after a pause, IP headers included.
    pub burst: Size,
}

/// What gets lost on a link.
#[derive(Clone, Debug, PartialEq)]
pub enum LossSpec {
    /// Nothing but what the queue cannot hold.
    Nothing,
    /// Each packet with this probability, independently.
    Random(Share),
    /// Gilbert-Elliott: a good and a bad state, each with its own loss.
    Burst {
        /// Probability to turn bad, per packet.
        to_bad: Share,
        /// Probability to turn good again, per packet.
        to_good: Share,
        /// Loss in the good state.
        good: Share,
        /// Loss in the bad state.
        bad: Share,
    },
    /// These packets, counted from 1.
    List {
        /// Which of the packets that carry DATA.
        data: Vec<u64>,
        /// Which of all packets.
        packets: Vec<u64>,
    },
    /// Every packet of more bytes than this, IP header included: the black hole
    /// of a link with a smaller MTU that sends no ICMP message.
    LargerThan(Size),
}

/// Which way.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub enum Direction {
    /// Both.
    #[default]
    Both,
    /// From the sender to the receiver.
    Forward,
    /// From the receiver to the sender.
    Reverse,
}

impl Direction {
    /// Whether it covers the way from the sender to the receiver.
    #[must_use]
    pub const fn forward(self) -> bool {
        matches!(self, Direction::Both | Direction::Forward)
    }

    /// Whether it covers the way back.
    #[must_use]
    pub const fn reverse(self) -> bool {
        matches!(self, Direction::Both | Direction::Reverse)
    }
}

/// Something that happens to a path.
#[derive(Clone, Debug, PartialEq)]
pub struct EventSpec {
    /// When, at the earliest.
    pub at: Duration,
    /// How much later it may be: each run draws one share of it from its seed, the same
    /// for all events, so that events with one spread keep their distance (0).
    pub spread: Duration,
    /// To which path: its place in [`Scenario::paths`].
    pub path: usize,
    /// Which way.
    pub direction: Direction,
    /// What.
    pub change: Change,
}

/// What happens to a path.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// It swallows everything, silently.
    Down,
    /// It carries again.
    Up,
    /// Some of its properties change.
    Set {
        /// New rate.
        rate: Option<Rate>,
        /// New one-way delay.
        delay: Option<Duration>,
        /// New loss.
        loss: Option<LossSpec>,
    },
}

impl Change {
    /// In a word or a few.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Change::Down => "fails".to_owned(),
            Change::Up => "is repaired".to_owned(),
            Change::Set { rate, delay, loss } => {
                let mut parts = Vec::new();
                parts.extend(rate.map(|r| format!("rate {r}")));
                parts.extend(delay.map(|d| format!("delay {}", crate::units::format_duration(d))));
                parts.extend(loss.as_ref().map(|_| "other loss".to_owned()));
                format!("changes: {}", parts.join(", "))
            }
        }
    }
}

/// What is sent.
#[derive(Clone, Debug, PartialEq)]
pub enum Traffic {
    /// A file, as fast as the windows allow.
    Bulk {
        /// Its size.
        size: Size,
        /// Bytes of each message.
        message: Size,
        /// Streams that the messages take in turn.
        streams: u16,
        /// When it begins.
        start: Duration,
    },
    /// A message every so often.
    Periodic {
        /// Bytes of each message.
        message: Size,
        /// Time between two.
        every: Duration,
        /// How many.
        count: u64,
        /// Streams that the messages take in turn.
        streams: u16,
        /// When it begins.
        start: Duration,
    },
}

/// Other traffic that shares a path's bottleneck.
#[derive(Clone, Debug, PartialEq)]
pub struct CrossSpec {
    /// On which path: its place in [`Scenario::paths`].
    pub path: usize,
    /// Which way.
    pub direction: Direction,
    /// Mean rate.
    pub rate: Rate,
    /// Bytes of a packet.
    pub packet: Size,
    /// How it comes.
    pub shape: CrossShape,
    /// Mean length of its bursts, and of the pauses between them; 500 ms, ns-2's default,
    /// unless said. Nothing to what comes evenly.
    pub bursts: Duration,
    /// When it begins.
    pub from: Duration,
    /// When it ends.
    pub until: Option<Duration>,
}

/// How other traffic comes.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub enum CrossShape {
    /// Evenly.
    #[default]
    Constant,
    /// In bursts and pauses of heavy-tailed length (Pareto, shape 1.5).
    Pareto,
    /// That of the four edge nodes of caro-2003 section 2: eight Pareto sources
    /// each, half of whose packets have 44 bytes, a quarter 576 and a quarter
    /// 1500, over links of 100 Mbit/s and 5 to 20 ms at either end.
    EdgeNodes,
}

/// One of the policies that are compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Its name in tables and plots.
    pub name: String,
    /// What it is about.
    pub note: String,
    /// The settings of both ends.
    pub config: Settings,
}
