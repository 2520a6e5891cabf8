//! An endpoint, and strangers that make it keep what nobody reads.

use crate::ALLOCATOR;
use byway_core::time::{Duration, Instant};
use byway_core::{AssocId, Endpoint, EndpointConfig, Event, LossReason};
use byway_wire::{
    Checksum, Chunk, CommonHeader, Data, IData, InitFields, Packet, PacketBuilder, Param, Tsn,
    chunk_type,
};
use core::net::{Ipv4Addr, SocketAddr};

pub(crate) const PORT: u16 = 5001;

pub(crate) fn address(side: u8) -> SocketAddr {
    SocketAddr::new(Ipv4Addr::new(10, 0, 0, side).into(), 9899)
}

/// A victim, and what strangers did to it.
pub(crate) struct Victim {
    pub(crate) endpoint: Endpoint,
    pub(crate) now: Instant,
    /// Ends of associations, as events told them.
    pub(crate) lost: Vec<LossReason>,
    /// Whose they are.
    pub(crate) gone: Vec<AssocId>,
    pub(crate) ids: Vec<AssocId>,
    /// Whether strangers ask for I-DATA, and send it.
    pub(crate) interleaves: bool,
}

/// A stranger's side of an association.
pub(crate) struct Stranger {
    /// What the victim knows it by.
    pub(crate) id: AssocId,
    /// Its address.
    pub(crate) host: u8,
    pub(crate) port: u16,
    /// The victim's tag.
    pub(crate) tag: u32,
    /// The next TSN in order.
    pub(crate) tsn: Tsn,
    /// The SSN before the next one.
    pub(crate) ssn: u16,
    pub(crate) cookie: Vec<u8>,
    /// The victim's first TSN.
    pub(crate) first: Tsn,
}

pub(crate) fn packet(port: u16, tag: u32, write: impl FnOnce(&mut PacketBuilder<'_>)) -> Vec<u8> {
    let header = CommonHeader {
        source_port: port,
        destination_port: PORT,
        verification_tag: tag,
    };
    let mut bytes = Vec::new();
    let mut p = PacketBuilder::new(&mut bytes, header);
    write(&mut p);
    p.finish(Checksum::Crc32c);
    bytes
}

impl Victim {
    pub(crate) fn new(max_memory: usize) -> Victim {
        let mut cfg = EndpointConfig::new(PORT, vec![address(1)], [7; 32]);
        cfg.max_memory = max_memory;
        cfg.accepted.streams.interleaving = true;
        Victim {
            endpoint: Endpoint::new(cfg).unwrap(),
            now: Instant::ZERO,
            lost: Vec::new(),
            gone: Vec::new(),
            ids: Vec::new(),
            interleaves: false,
        }
    }

    /// Gives a packet of a host to the victim and returns the answers.
    pub(crate) fn take(&mut self, host: u8, bytes: &[u8]) -> Vec<Vec<u8>> {
        self.now += Duration::from_micros(100);
        self.endpoint
            .handle_datagram(self.now, address(host), address(1), bytes);
        self.endpoint.handle_timeout(self.now);
        let mut answers = Vec::new();
        let mut buffer = Vec::new();
        while self.endpoint.poll_transmit(self.now, &mut buffer).is_some() {
            answers.push(core::mem::take(&mut buffer));
        }
        while let Some((id, event)) = self.endpoint.poll_event() {
            match event {
                Event::Up { .. } => self.ids.push(id),
                Event::Lost { reason, .. } => {
                    self.gone.push(id);
                    self.lost.push(reason);
                }
                _ => {}
            }
        }
        answers
    }

    /// So many strangers of one host.
    pub(crate) fn meet_many(&mut self, host: u8, many: u16) -> Vec<Stranger> {
        (0..many)
            .filter_map(|n| self.meet(host, 6000 + n))
            .collect()
    }

    /// A stranger sets up an association; `None` if the victim refuses.
    pub(crate) fn meet(&mut self, host: u8, port: u16) -> Option<Stranger> {
        let tsn = Tsn(1000);
        let init = InitFields {
            initiate_tag: 1 + u32::from(port),
            a_rwnd: 1 << 20,
            outbound_streams: u16::MAX,
            inbound_streams: 10,
            initial_tsn: tsn,
        };
        let types: &[u8] = match self.interleaves {
            true => &[chunk_type::I_DATA, chunk_type::I_FORWARD_TSN],
            false => &[],
        };
        let first = packet(port, 0, |p| {
            p.init(false, &init, |w| {
                if !types.is_empty() {
                    w.supported_extensions(types);
                }
            });
        });
        let answers = self.take(host, &first);
        // Heartbeats of others may leave beside it.
        let first = answers.iter().map(|bytes| {
            let packet = Packet::parse(bytes).unwrap();
            packet.chunks().next().unwrap().unwrap()
        });
        let answer = first.into_iter().find(|c| c.kind == chunk_type::INIT_ACK)?;
        let Ok(Chunk::InitAck(ack)) = answer.parse() else {
            panic!("an INIT ACK that does not parse");
        };
        let cookie = ack
            .params
            .iter()
            .filter_map(Result::ok)
            .find_map(|p| match p.parse() {
                Ok(Param::StateCookie(c)) => Some(c.to_vec()),
                _ => None,
            })?;
        let before = self.ids.len();
        self.take(
            host,
            &packet(port, ack.initiate_tag, |p| p.cookie_echo(&cookie)),
        );
        (self.ids.len() > before).then(|| Stranger {
            id: self.ids[before],
            host,
            port,
            tag: ack.initiate_tag,
            tsn,
            ssn: 0,
            cookie,
            first: ack.initial_tsn,
        })
    }

    /// The same of one whose first message has SSN 0, as it should.
    pub(crate) fn meet_honest(&mut self, host: u8, port: u16) -> Stranger {
        let met = self.meet(host, port);
        let mut honest = met.expect("there is room for a newcomer");
        honest.ssn = u16::MAX;
        honest
    }

    /// What it holds of an association.
    pub(crate) fn holds_of(&self, stranger: &Stranger) -> usize {
        self.endpoint.memory_of(stranger.id).unwrap_or(0)
    }

    /// The user keeps so much for an association.
    pub(crate) fn keeps(&mut self, stranger: &Stranger, bytes: usize) {
        self.endpoint.charge(stranger.id, bytes);
    }

    /// DATA that was dropped because memory is scarce.
    pub(crate) fn dropped(&self) -> u64 {
        self.endpoint.endpoint_stats().data_shed
    }

    /// What the allocator counts beyond `before`.
    pub(crate) fn resident(before: usize) -> usize {
        ALLOCATOR.current_usage().saturating_sub(before)
    }
}

/// A DATA chunk that a stranger sends.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Shot {
    /// Of which stranger, modulo their number.
    pub(crate) who: usize,
    /// Chunks skipped before it.
    pub(crate) gap: u8,
    pub(crate) stream: u16,
    pub(crate) len: u16,
    pub(crate) begin: bool,
    pub(crate) end: bool,
    pub(crate) unordered: bool,
    pub(crate) times: u8,
}

/// Whole messages, each with a missing chunk before it: they cannot be acknowledged in order.
pub(crate) const HOARDED: Shot = Shot {
    who: 0,
    gap: 1,
    stream: 0,
    len: 1400,
    begin: true,
    end: true,
    unordered: true,
    times: 250,
};

/// So many of them in their order, with nothing missing.
pub(crate) fn in_order(times: u8) -> Shot {
    Shot {
        gap: 0,
        unordered: false,
        times,
        ..HOARDED
    }
}

/// The bytes of all messages.
static PAYLOAD: [u8; 1400] = [7; 1400];

/// Sends it, and gives the windows that the victim advertised meanwhile.
pub(crate) fn shoot(v: &mut Victim, s: &mut Stranger, shot: &Shot) -> Vec<u32> {
    let mut windows = Vec::new();
    for _ in 0..shot.times {
        let bytes = next(v, s, shot, |_| {});
        for answer in v.take(s.host, &bytes) {
            let packet = Packet::parse(&answer).unwrap();
            windows.extend(packet.chunks().filter_map(|c| match c.ok()?.parse() {
                Ok(Chunk::Sack(sack)) => Some(sack.a_rwnd),
                _ => None,
            }));
        }
    }
    windows
}

/// The next packet of a shot, with `first` before the DATA.
pub(crate) fn next(
    v: &Victim,
    s: &mut Stranger,
    shot: &Shot,
    first: impl FnOnce(&mut PacketBuilder<'_>),
) -> Vec<u8> {
    s.tsn = s.tsn.plus(u32::from(shot.gap));
    s.ssn = s.ssn.wrapping_add(1 + u16::from(shot.gap));
    let data = Data {
        tsn: s.tsn,
        stream_id: shot.stream,
        ssn: s.ssn,
        ppid: 0,
        unordered: shot.unordered,
        begin: shot.begin,
        end: shot.end,
        immediate: false,
        payload: &PAYLOAD[..usize::from(shot.len)],
    };
    s.tsn = s.tsn.plus(1);
    packet(s.port, s.tag, |p| {
        first(p);
        match v.interleaves {
            false => p.data(&data),
            true => p.i_data(&IData {
                tsn: data.tsn,
                stream_id: data.stream_id,
                mid: data.ssn.into(),
                // As if one fragment were missing.
                ppid_or_fsn: if data.begin { 0 } else { 2 },
                unordered: data.unordered,
                begin: data.begin,
                end: data.end,
                immediate: false,
                payload: data.payload,
            }),
        }
    })
}
