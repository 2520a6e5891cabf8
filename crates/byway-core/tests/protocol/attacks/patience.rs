//! Peers that live and do nothing, or next to nothing: how long each is borne with.

use crate::common::stranger::{data, set_up};
use crate::common::{A, Pair, Z, address, packet, plain};
use byway_core::{Config, Message};
use byway_wire::{Chunk, Packet, Tsn, chunk_type};

/// What the peer does with the data that it gets. It answers all heartbeats.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Takes {
    Nothing,
    /// SACKs that acknowledge nothing, with these windows in turn.
    Windows(&'static [u32]),
    /// A chunk behind a gap, and then it was never there.
    Reneging,
    /// One chunk more each 100 s, with a window of 1.
    Sips,
    All,
}

/// Who shuts down.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Ends {
    Nobody,
    /// Z does; the peer does not answer SHUTDOWN.
    Z,
    /// The same, and the peer sends DATA each second, which restarts T2.
    ZAndPeerSends,
    /// The peer does, again each second; it does not answer SHUTDOWN ACK.
    Peer,
}

const CHUNKS: u32 = 5;

/// A peer of Z at A's address.
struct Peer {
    tag: u32,
    takes: Takes,
    /// Its next TSN, the SACKs so far, and the chunks that it has.
    next: Tsn,
    sacks: usize,
    has: u32,
}

impl Peer {
    fn send(&self, p: &mut Pair, write: impl FnOnce(&mut byway_wire::PacketBuilder<'_>)) {
        let bytes = packet(A, self.tag, write);
        p.inject_bytes(Z, address(0, A), &bytes);
    }

    fn cumulative(&self, p: &Pair) -> Tsn {
        p.reader.tsn(Z, self.has)
    }

    fn sack(&mut self, p: &mut Pair) {
        self.sacks += 1;
        let (window, gaps): (_, &[(u16, u16)]) = match self.takes {
            Takes::Nothing => return,
            Takes::Windows(all) => (all[self.sacks % all.len()], &[]),
            Takes::Reneging if self.sacks.is_multiple_of(2) => (65_536, &[(2, 2)]),
            Takes::Reneging => (65_536, &[]),
            Takes::Sips => (1, &[]),
            Takes::All => {
                self.has = CHUNKS;
                (65_536, &[])
            }
        };
        let cumulative = self.cumulative(p);
        self.send(p, |b| b.sack(cumulative, window, gaps, &[]));
    }

    /// Answers what came.
    fn answer(&mut self, p: &mut Pair) {
        for passing in core::mem::take(&mut p.sent) {
            if passing.from != Z {
                continue;
            }
            let heard = Packet::parse(&passing.bytes).unwrap();
            for raw in heard.chunks().map(Result::unwrap) {
                match raw.parse() {
                    Ok(Chunk::Heartbeat(_)) => {
                        let info = raw.value;
                        self.send(p, |b| b.raw(chunk_type::HEARTBEAT_ACK, 0, info));
                    }
                    Ok(Chunk::Data(_)) => self.sack(p),
                    _ => {}
                }
            }
        }
    }
}

/// After how many seconds Z lets go of the peer; none if it does not within half a day.
fn borne(config: &Config, takes: Takes, ends: Ends) -> Option<u64> {
    let pair = [A, Z].map(|side| crate::common::endpoint(1, side, side as u8 + 1, config));
    let mut p = Pair::of(pair, 1);
    p.lose(|_| true);
    let tag = set_up(&mut p, address(0, A), 9, |_| {});
    let mut peer = Peer {
        tag,
        takes,
        next: Tsn(1),
        sacks: 0,
        has: 0,
    };
    for _ in 0..CHUNKS {
        p.send(Z, Message::new(0, vec![1; 1000]));
    }
    peer.answer(&mut p);
    if matches!(ends, Ends::Z | Ends::ZAndPeerSends) {
        p.shutdown(Z);
    }
    for second in 0..12 * 3600 {
        if p.state(Z) == "CLOSED" {
            return Some(second);
        }
        if ends == Ends::Peer {
            let cumulative = peer.cumulative(&p);
            peer.send(&mut p, |b| b.shutdown(cumulative));
        }
        if ends == Ends::ZAndPeerSends {
            let tsn = peer.next;
            peer.next = tsn.plus(1);
            peer.send(&mut p, |b| b.data(&data(tsn)));
        }
        if takes == Takes::Sips && second % 100 == 99 && peer.has < CHUNKS {
            peer.has += 1;
            peer.sack(&mut p);
        }
        p.run(1000);
        peer.answer(&mut p);
    }
    None
}

#[test]
fn attack_patience_with_a_peer_that_lives_and_takes_nothing_has_an_end() {
    const CLOSED: Takes = Takes::Windows(&[0]);
    const GAMES: Takes = Takes::Windows(&[0, 1]);
    const OPEN: Takes = Takes::Windows(&[65_536]);
    // RTO.Max is 60 s: T5 has five times that, and what came before it some seconds.
    const T5: u64 = 310;
    // Nobody shuts down: the timeouts of data, whose heartbeats are answered, and `dead_data`.
    const TIMEOUTS: u64 = 370;
    // A window of 1 takes a chunk, whose timeouts end the association where answered heartbeats do not count against
    // them.
    for (config, games) in [(plain(), Some(1000)), (Config::default(), None)] {
        let rows = [
            (Takes::Nothing, Some(TIMEOUTS), TIMEOUTS),
            (OPEN, Some(TIMEOUTS), T5),
            // RFC 9260 section 6.1, A: a closed window is probed for ever, and who acknowledges a chunk
            // now and then has done what he must. How long a transfer may stand still is for the
            // user to say (`--give-up`), except where it ends.
            (CLOSED, None, T5),
            (GAMES, games, T5),
            (Takes::Reneging, None, T5),
            (Takes::All, None, T5),
            // Each chunk that is acknowledged is progress; T5 runs from the last one.
            (Takes::Sips, None, 100 * u64::from(CHUNKS) + T5),
        ];
        for (takes, while_up, at_the_end) in rows {
            let while_it_is_up = borne(&config, takes, Ends::Nobody);
            let as_stated = match while_up {
                Some(most) => while_it_is_up.is_some_and(|borne| borne <= most),
                None => while_it_is_up.is_none(),
            };
            assert!(as_stated, "{takes:?}: {while_it_is_up:?}");
            for ends in [Ends::Z, Ends::ZAndPeerSends, Ends::Peer] {
                let borne = borne(&config, takes, ends);
                let in_time = borne.is_some_and(|b| b <= at_the_end);
                assert!(in_time, "{takes:?}, {ends:?}: {borne:?}");
            }
        }
    }
}
