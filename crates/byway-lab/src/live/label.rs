//! What a packet carries, as a number that goes with it through the network.

use byway_sim::net::Outgoing;
use byway_wire::{Chunk, Packet, Tsn};

/// What a packet carries: the first of these that is in it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Load {
    /// DATA that was not sent before.
    Data,
    /// DATA that is sent again.
    Retransmission,
    /// HEARTBEAT.
    Heartbeat,
    /// HEARTBEAT ACK.
    HeartbeatAck,
    /// SACK.
    Sack,
    /// Anything else: set-up, shutdown, ABORT.
    Control,
}

impl Load {
    const ALL: [Load; 6] = [
        Load::Data,
        Load::Retransmission,
        Load::Heartbeat,
        Load::HeartbeatAck,
        Load::Sack,
        Load::Control,
    ];
}

/// Bits of the load, which is counted from 1: cross traffic has no label.
const LOAD_BITS: u32 = 3;
/// Bits of each end of a gap block, as an offset to the cumulative TSN.
const GAP_BITS: u32 = 14;

/// The label of a packet.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) load: Load,
    pub(super) tsn: u32,
    pub(super) gap: Option<(u32, u32)>,
}

impl Label {
    /// As the network carries it.
    fn write(self) -> u64 {
        let place = Load::ALL.iter().position(|l| *l == self.load).unwrap_or(0);
        let most = (1 << GAP_BITS) - 1;
        let offset = |tsn: u32| u64::from(tsn.saturating_sub(self.tsn).min(most));
        let (from, to) = self.gap.map_or((0, 0), |(a, b)| (offset(a), offset(b)));
        let tsn = u64::from(self.tsn) << LOAD_BITS;
        let gap = (from | to << GAP_BITS) << (LOAD_BITS + 32);
        (1 + place as u64) | tsn | gap
    }

    /// Reads what [`Label::write`] wrote; none for a packet without a label.
    pub(super) fn read(meta: u64) -> Option<Label> {
        let place = (meta & ((1 << LOAD_BITS) - 1)).checked_sub(1)?;
        let tsn = (meta >> LOAD_BITS) as u32;
        let end = |place: u32| (meta >> (LOAD_BITS + 32 + place)) as u32 & ((1 << GAP_BITS) - 1);
        let (from, to) = (end(0), end(GAP_BITS));
        Some(Label {
            load: *Load::ALL.get(usize::try_from(place).ok()?)?,
            tsn,
            gap: (from > 0).then(|| (tsn.saturating_add(from), tsn.saturating_add(to))),
        })
    }
}

/// What was seen of the DATA so far.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Seen {
    first: Option<Tsn>,
    greatest: Option<Tsn>,
}

impl Seen {
    /// A TSN, counted from the first one as 1; 0 before any was sent.
    fn number(&self, tsn: Tsn) -> u32 {
        self.first
            .map_or(0, |first| tsn.0.wrapping_sub(first.0).wrapping_add(1))
    }
}

/// Writes what a packet carries into its label.
pub(super) fn label(packet: &mut Outgoing, seen: &mut Seen) {
    packet.meta = read(&packet.payload, seen).write();
}

fn read(bytes: &[u8], seen: &mut Seen) -> Label {
    let only = |load| Label {
        load,
        tsn: 0,
        gap: None,
    };
    let mut found = only(Load::Control);
    let Ok(packet) = Packet::parse(bytes) else {
        return found;
    };
    for chunk in packet.chunks().flatten() {
        let tsn = match chunk.parse() {
            Ok(Chunk::Data(data)) => data.tsn,
            Ok(Chunk::IData(data)) => data.tsn,
            Ok(Chunk::Heartbeat(_)) => return only(Load::Heartbeat),
            Ok(Chunk::HeartbeatAck(_)) => return only(Load::HeartbeatAck),
            Ok(Chunk::Sack(sack)) => {
                let tsn = seen.number(sack.cumulative_tsn_ack);
                let at = |offset: u16| tsn.saturating_add(offset.into());
                found = Label {
                    load: Load::Sack,
                    tsn,
                    gap: sack.gap_blocks().next().map(|(a, b)| (at(a), at(b))),
                };
                continue;
            }
            _ => continue,
        };
        let new = seen.greatest.is_none_or(|g| g.is_before(tsn));
        if new {
            seen.first.get_or_insert(tsn);
            seen.greatest = Some(tsn);
        }
        let data = |load| Label {
            load,
            tsn: seen.number(tsn),
            gap: None,
        };
        if new {
            return data(Load::Data);
        }
        if found.load != Load::Retransmission {
            found = data(Load::Retransmission);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_read_as_it_was_written() {
        for gap in [None, Some((8, 8)), Some((9, 1200))] {
            for load in Load::ALL {
                let label = Label { load, tsn: 7, gap };
                assert_eq!(Label::read(label.write()), Some(label));
            }
        }
        let far = Label {
            load: Load::Sack,
            tsn: u32::MAX - 5,
            gap: Some((u32::MAX - 2, u32::MAX)),
        };
        assert_eq!(Label::read(far.write()), Some(far));
        assert_eq!(Label::read(0), None, "cross traffic");
    }
}
