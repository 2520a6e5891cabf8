//! Loss models: what a link loses before its queue.

use super::chunk_scan;
use crate::net::error::{BadValue, check_probability};
use crate::net::packet::{Content, Packet};
use crate::net::rng::Chance;
use chacha20::ChaCha8Rng;
use std::sync::Arc;

/// Which packets a link loses, before its queue as with ns-2's `lossmodel`.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum LossModel {
    /// None. The default.
    #[default]
    None,
    /// Each packet with this probability, independently.
    Uniform(f64),
    /// A two-state chain that makes losses come in bursts. Starts in the good
    /// state. The current state decides about a packet, then the state may change.
    GilbertElliott {
        /// Probability, per packet, of going from good to bad.
        to_bad: f64,
        /// Probability, per packet, of going from bad to good; bursts last 1/`to_good` packets on average.
        to_good: f64,
        /// Loss probability in the good state.
        loss_good: f64,
        /// Loss probability in the bad state.
        loss_bad: f64,
    },
    /// The packets at these positions, counted from 1 among those that match.
    Positions {
        /// Which packets count.
        of: PacketMatch,
        /// Positions, from 1, in any order.
        positions: Vec<u64>,
    },
    /// Transmissions of particular DATA chunks: the packet with the TSN `offset`
    /// after the association's initial one is lost the first `times` times.
    ///
    /// The initial TSN is taken from the INIT or INIT ACK seen on this link, else
    /// it is the first TSN seen. For links that carry one association.
    Tsns(Vec<TsnDrop>),
    /// A recorded trace: for each packet whether it is lost.
    Trace {
        /// One entry a packet.
        lost: Arc<[bool]>,
        /// Whether to start again at the end. Otherwise nothing more is lost.
        repeat: bool,
    },
    /// Every packet that matches.
    All(PacketMatch),
    /// Every packet with more bytes on the wire than this, IP header included. This is a
    /// black hole, as caused by a smaller MTU on the path without ICMP messages.
    LargerThan(u32),
    /// Several models in sequence. A packet lost by one does not reach the next.
    Several(Vec<LossModel>),
}

/// Which packets a position list counts.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum PacketMatch {
    /// Every packet, cross traffic included.
    Any,
    /// SCTP packets with a DATA or I-DATA chunk.
    Data,
    /// SCTP packets with a chunk of this type (RFC 9260 section 3.2).
    Chunk(u8),
}

/// How often the packet with one TSN is lost.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct TsnDrop {
    /// TSN minus the association's initial TSN.
    pub offset: u32,
    /// How many of its transmissions over this link are lost.
    pub times: u32,
}

impl LossModel {
    /// Reads a recorded trace: `1` is a lost packet, `0` one that passes. Whitespace
    /// is ignored.
    ///
    /// # Errors
    /// The first other character.
    pub fn from_trace_text(text: &str, repeat: bool) -> Result<LossModel, char> {
        let lost: Result<Vec<bool>, char> = text
            .chars()
            .filter(|c| !c.is_whitespace())
            .map(|c| match c {
                '0' => Ok(false),
                '1' => Ok(true),
                other => Err(other),
            })
            .collect();
        Ok(LossModel::Trace {
            lost: lost?.into(),
            repeat,
        })
    }

    /// Bursts of `mean_burst` packets (at least 1), all lost, that make up `rate` of
    /// all packets (below 1) in the long run.
    #[must_use]
    pub fn bursts(rate: f64, mean_burst: f64) -> LossModel {
        let to_good = 1.0 / mean_burst;
        LossModel::GilbertElliott {
            to_bad: rate * to_good / (1.0 - rate),
            to_good,
            loss_good: 0.0,
            loss_bad: 1.0,
        }
    }

    /// The packets with a DATA chunk at these positions, from 1.
    #[must_use]
    pub fn data_packets(positions: &[u64]) -> LossModel {
        LossModel::Positions {
            of: PacketMatch::Data,
            positions: positions.to_vec(),
        }
    }

    pub(super) fn check(&self) -> Result<(), BadValue> {
        match self {
            LossModel::None
            | LossModel::Tsns(_)
            | LossModel::Trace { .. }
            | LossModel::All(_)
            | LossModel::LargerThan(_) => Ok(()),
            LossModel::Uniform(p) => check_probability("loss rate", *p),
            LossModel::GilbertElliott {
                to_bad,
                to_good,
                loss_good,
                loss_bad,
            } => {
                check_probability("to_bad", *to_bad)?;
                check_probability("to_good", *to_good)?;
                check_probability("loss_good", *loss_good)?;
                check_probability("loss_bad", *loss_bad)
            }
            LossModel::Positions { positions, .. } => match positions.iter().find(|p| **p == 0) {
                Some(_) => Err(BadValue {
                    name: "position of a lost packet",
                    value: 0.0,
                    range: "at least 1",
                }),
                None => Ok(()),
            },
            LossModel::Several(models) => models.iter().try_for_each(LossModel::check),
        }
    }
}

/// A loss model with its state.
#[derive(Clone, Debug)]
pub(super) enum LossState {
    None,
    Uniform(Chance),
    GilbertElliott {
        bad: bool,
        leave: [Chance; 2],
        loss: [Chance; 2],
    },
    Positions {
        of: PacketMatch,
        /// Sorted, the next one last.
        pending: Vec<u64>,
        seen: u64,
    },
    Tsns {
        initial: Option<u32>,
        drops: Vec<TsnDrop>,
    },
    Trace {
        lost: Arc<[bool]>,
        repeat: bool,
        next: usize,
    },
    All(PacketMatch),
    LargerThan(u32),
    Several(Vec<LossState>),
}

impl LossState {
    pub(super) fn new(model: &LossModel) -> LossState {
        match model {
            LossModel::None => LossState::None,
            LossModel::Uniform(p) => LossState::Uniform(Chance::new(*p)),
            LossModel::GilbertElliott {
                to_bad,
                to_good,
                loss_good,
                loss_bad,
            } => LossState::GilbertElliott {
                bad: false,
                leave: [Chance::new(*to_bad), Chance::new(*to_good)],
                loss: [Chance::new(*loss_good), Chance::new(*loss_bad)],
            },
            LossModel::Positions { of, positions } => {
                let mut pending = positions.clone();
                pending.sort_unstable_by(|a, b| b.cmp(a));
                pending.dedup();
                LossState::Positions {
                    of: *of,
                    pending,
                    seen: 0,
                }
            }
            LossModel::Tsns(drops) => LossState::Tsns {
                initial: None,
                drops: drops.clone(),
            },
            LossModel::Trace { lost, repeat } => LossState::Trace {
                lost: lost.clone(),
                repeat: *repeat,
                next: 0,
            },
            LossModel::All(of) => LossState::All(*of),
            LossModel::LargerThan(bytes) => LossState::LargerThan(*bytes),
            LossModel::Several(models) => {
                LossState::Several(models.iter().map(LossState::new).collect())
            }
        }
    }

    /// Whether this packet is lost.
    pub(super) fn loses(&mut self, packet: &Packet, rng: &mut ChaCha8Rng) -> bool {
        match self {
            LossState::None => false,
            LossState::Uniform(chance) => chance.draw(rng),
            LossState::GilbertElliott { bad, leave, loss } => {
                let state = usize::from(*bad);
                let lost = loss[state].draw(rng);
                *bad ^= leave[state].draw(rng);
                lost
            }
            LossState::Positions { of, pending, seen } => {
                if !matches(*of, packet) {
                    return false;
                }
                *seen += 1;
                let lost = pending.last() == Some(seen);
                if lost {
                    pending.pop();
                }
                lost
            }
            LossState::Tsns { initial, drops } => loses_tsn(initial, drops, packet),
            LossState::Trace { lost, repeat, next } => {
                if *next >= lost.len() && *repeat {
                    *next = 0;
                }
                let hit = lost.get(*next).copied().unwrap_or(false);
                *next = next.saturating_add(1);
                hit
            }
            LossState::All(of) => matches(*of, packet),
            LossState::LargerThan(bytes) => packet.wire_size > *bytes,
            LossState::Several(models) => models.iter_mut().any(|m| m.loses(packet, rng)),
        }
    }
}

fn matches(of: PacketMatch, packet: &Packet) -> bool {
    let sctp = packet.content == Content::Sctp;
    let mut types = chunk_scan::chunks(&packet.payload, &packet.tail).map(|c| c[0]);
    match of {
        PacketMatch::Any => true,
        PacketMatch::Data => {
            sctp && types.any(|t| t == chunk_scan::DATA || t == chunk_scan::I_DATA)
        }
        PacketMatch::Chunk(wanted) => sctp && types.any(|t| t == wanted),
    }
}

fn loses_tsn(initial: &mut Option<u32>, drops: &mut [TsnDrop], packet: &Packet) -> bool {
    if packet.content != Content::Sctp {
        return false;
    }
    let mut lost = false;
    for chunk in chunk_scan::chunks(&packet.payload, &packet.tail) {
        if let Some(tsn) = chunk_scan::initial_tsn(chunk) {
            *initial = Some(tsn);
        } else if let Some(tsn) = chunk_scan::data_tsn(chunk) {
            let offset = tsn.wrapping_sub(*initial.get_or_insert(tsn));
            let hit = drops.iter_mut().find(|d| d.offset == offset && d.times > 0);
            if let Some(hit) = hit {
                hit.times -= 1;
                lost = true;
            }
        }
    }
    lost
}
