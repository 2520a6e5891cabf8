//! Random hostile programs.

use crate::server::PORT;
use byway_wire::{
    CauseWriter, Checksum, Chunk, CommonHeader, Data, InitFields, Packet, PacketBuilder, Param, Tsn,
};
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

/// xorshift64*, as in Vigna, "An experimental exploration of Marsaglia's xorshift generators".
struct Random(u64);

impl Random {
    fn below(&mut self, n: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as u32) % n
    }
}

/// Four causes, of control characters, which are shown escaped: what is kept is some 3 KB.
fn long_reasons(causes: &mut CauseWriter<'_>) {
    for _ in 0..4 {
        causes.protocol_violation(&[1; 300]);
    }
}

/// An association of a stranger.
struct Peer {
    socket: UdpSocket,
    port: u16,
    tag: u32,
    /// The first TSN of the other side, and the next one of this side.
    theirs: Tsn,
    next: Tsn,
}

const FIRST: Tsn = Tsn(100);

impl Peer {
    fn new(to: SocketAddr, random: &mut Random) -> Option<Peer> {
        let host = [127, 9, 0, 1 + random.below(20) as u8];
        let socket = UdpSocket::bind(SocketAddr::from((host, 0))).ok()?;
        socket.connect(to).ok()?;
        socket
            .set_read_timeout(Some(Duration::from_millis(200)))
            .ok()?;
        let mut peer = Peer {
            socket,
            port: 1 + random.below(60_000) as u16,
            tag: 0,
            theirs: Tsn(0),
            next: FIRST,
        };
        peer.set_up(random).then_some(peer)
    }

    /// Sets an association up, in the place of an older one if there is one.
    fn set_up(&mut self, random: &mut Random) -> bool {
        let (older, next) = (self.tag, self.next);
        (self.tag, self.next) = (0, FIRST);
        let up = self.shake_hands(random);
        if !up {
            (self.tag, self.next) = (older, next);
        }
        up
    }

    fn shake_hands(&mut self, random: &mut Random) -> bool {
        let fields = InitFields {
            initiate_tag: 9 + random.below(1 << 30),
            a_rwnd: 1500 << random.below(12),
            outbound_streams: 1 + random.below(65_535) as u16,
            inbound_streams: 10,
            initial_tsn: FIRST,
        };
        let listed = random.below(9) as u8;
        self.send(|b| {
            b.init(false, &fields, |w| {
                for n in 0..listed {
                    w.address([127, 10, 0, n].into());
                }
            });
        });
        let mut bytes = [0; 65_536];
        // What comes of an earlier association is passed over.
        for _ in 0..20 {
            let Ok(len) = self.socket.recv(&mut bytes) else {
                return false;
            };
            let Ok(packet) = Packet::parse(&bytes[..len]) else {
                continue;
            };
            let Some(Ok(Ok(Chunk::InitAck(ack)))) =
                packet.chunks().next().map(|c| c.map(|c| c.parse()))
            else {
                // An ABORT of this set-up: there is no room.
                if packet.header().verification_tag == fields.initiate_tag {
                    return false;
                }
                continue;
            };
            (self.tag, self.theirs) = (ack.initiate_tag, ack.initial_tsn);
            let cookie = ack.params.iter().find_map(|p| match p.ok()?.parse().ok()? {
                Param::StateCookie(c) => Some(c.to_vec()),
                _ => None,
            });
            let Some(cookie) = cookie else { return false };
            self.send(|b| b.cookie_echo(&cookie));
            return true;
        }
        false
    }

    fn send(&self, write: impl FnOnce(&mut PacketBuilder<'_>)) {
        let mut bytes = Vec::new();
        let header = CommonHeader {
            source_port: self.port,
            destination_port: PORT,
            verification_tag: self.tag,
        };
        let mut b = PacketBuilder::new(&mut bytes, header);
        write(&mut b);
        b.finish(Checksum::Crc32c);
        // Refused by the kernel when the server is gone, which the next sample says.
        let _ = self.socket.send(&bytes);
    }

    /// Packets of DATA that `change` makes hostile.
    fn data(&mut self, packets: u32, len: usize, change: impl Fn(&mut Data<'_>, u32)) {
        let payload = vec![7; len];
        for n in 0..packets {
            let first = self.next;
            let chunks = (1200 / (len as u32 + 16)).max(1);
            self.send(|b| {
                for m in 0..chunks {
                    let mut data = Data {
                        tsn: first.plus(m),
                        stream_id: 0,
                        ssn: 0,
                        ppid: 0,
                        unordered: true,
                        begin: true,
                        end: true,
                        immediate: false,
                        payload: &payload,
                    };
                    change(&mut data, n * chunks + m);
                    b.data(&data);
                }
            });
            self.next = first.plus(chunks);
        }
    }

    /// One hostile act.
    fn act(&mut self, random: &mut Random) {
        let (packets, len) = (1 + random.below(60), 1 << random.below(11));
        let stream = random.below(65_536) as u16;
        match random.below(14) {
            // Whole messages, which nobody reads, or somebody does.
            0 | 1 => self.data(packets, len, |_, _| {}),
            // Behind a gap, in order of a stream that waits, or with holes everywhere.
            2 => {
                self.next = self.next.plus(1 + random.below(3));
                self.data(packets, len, |_, _| {});
            }
            3 => self.data(packets, len, |d, n| {
                (d.unordered, d.stream_id, d.ssn) = (false, stream, 1 + n as u16);
            }),
            4 => {
                for _ in 0..packets {
                    self.data(1, len, |d, n| d.tsn = d.tsn.plus(n));
                }
            }
            // Messages on all streams, and those that begin, go on and do not end.
            5 => self.data(packets, len, |d, n| {
                (d.unordered, d.stream_id) = (false, (u32::from(stream) + n * 97) as u16);
            }),
            6 => self.data(1, len, |d, n| (d.begin, d.end) = (n == 0, false)),
            7 => self.data(packets, len, |d, _| (d.begin, d.end) = (false, false)),
            // Empty ones, or as many of which the user is told in a second, with long reasons.
            8 if stream.is_multiple_of(4) => self.send(|b| {
                for _ in 0..200 {
                    b.error(|_| {});
                }
            }),
            8 => {
                for _ in 0..8 {
                    self.send(|b| b.error(long_reasons));
                }
            }
            9 => self.send(|b| b.heartbeat(&[0x41; 1200])),
            10 => self.send(|b| b.raw(0xc7, 0, &[1; 1200])),
            11 => {
                let tsn = self.theirs.plus(u32::MAX);
                let twice: Vec<Tsn> = (0..300).map(Tsn).collect();
                self.send(|b| b.sack(tsn, 0, &[(2, 3)], &twice));
            }
            12 if random.below(4) == 0 => {
                self.set_up(random);
            }
            13 if random.below(6) == 0 => self.send(|b| b.shutdown(Tsn(0))),
            _ => {}
        }
    }
}

pub(crate) struct Program {
    random: Random,
    to: SocketAddr,
    peers: Vec<Peer>,
}

impl Program {
    pub(crate) fn new(seed: u64, to: SocketAddr) -> Program {
        Program {
            random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            to,
            peers: Vec::new(),
        }
    }

    /// Some set-ups, some acts, some ends.
    pub(crate) fn turn(&mut self) {
        for _ in 0..self.random.below(16) {
            self.peers.extend(Peer::new(self.to, &mut self.random));
        }
        let random = &mut self.random;
        for peer in &mut self.peers {
            if random.below(4) > 0 {
                peer.act(random);
            }
        }
        if self.peers.len() > 20 && self.random.below(4) == 0 {
            let at = self.random.below(self.peers.len() as u32) as usize;
            let gone = self.peers.swap_remove(at);
            gone.send(|b| b.abort(false, long_reasons));
        }
    }

    pub(crate) fn leave(&mut self) {
        // The kernel may drop a packet when many come.
        for _ in 0..3 {
            for gone in &self.peers {
                gone.send(|b| b.abort(false, |_| {}));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        self.peers.clear();
    }
}
