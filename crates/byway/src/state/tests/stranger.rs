//! A peer of raw packets.

use super::super::State;
use super::PORT;
use byway_core::time::Instant;
use byway_wire::{
    Checksum, Chunk, CommonHeader, Data, InitFields, Packet, PacketBuilder, Param, Tsn,
};
use std::net::SocketAddr;

pub(super) struct Stranger {
    pub(super) address: SocketAddr,
    tag: u32,
    next: u32,
    /// The first TSN of the other side.
    theirs: Tsn,
    /// What came after the COOKIE ECHO.
    pub(super) told: Vec<Vec<u8>>,
}

impl Stranger {
    /// Sets an association up.
    pub(super) fn up(state: &mut State, now: Instant, address: SocketAddr) -> Stranger {
        let mut stranger = Stranger {
            address,
            tag: 0,
            next: 1,
            theirs: Tsn(0),
            told: Vec::new(),
        };
        let fields = InitFields {
            initiate_tag: 9,
            a_rwnd: 65_536,
            outbound_streams: 10,
            inbound_streams: 10,
            initial_tsn: Tsn(1),
        };
        stranger.send(state, now, |b| b.init(false, &fields, |_| {}));
        let answers = stranger.hear(state, now);
        let packet = Packet::parse(&answers[0]).unwrap();
        let Some(Ok(Ok(Chunk::InitAck(ack)))) =
            packet.chunks().next().map(|c| c.map(|c| c.parse()))
        else {
            panic!("no INIT ACK");
        };
        stranger.tag = ack.initiate_tag;
        stranger.theirs = ack.initial_tsn;
        let cookie = ack.params.iter().find_map(|p| match p.ok()?.parse().ok()? {
            Param::StateCookie(c) => Some(c.to_vec()),
            _ => None,
        });
        stranger.send(state, now, |b| b.cookie_echo(&cookie.unwrap()));
        stranger.told = stranger.hear(state, now);
        stranger
    }

    pub(super) fn send(
        &self,
        state: &mut State,
        now: Instant,
        write: impl FnOnce(&mut PacketBuilder<'_>),
    ) {
        let mut bytes = Vec::new();
        let header = CommonHeader {
            source_port: 4000,
            destination_port: PORT,
            verification_tag: self.tag,
        };
        let mut builder = PacketBuilder::new(&mut bytes, header);
        write(&mut builder);
        builder.finish(Checksum::Crc32c);
        let datagrams = std::iter::once(&bytes[..]);
        state.arrive(now, self.address, 0, datagrams);
        state.wake.clear();
    }

    /// A message of this length.
    pub(super) fn say(&mut self, state: &mut State, now: Instant, len: usize) {
        let data = Data {
            tsn: Tsn(self.next),
            stream_id: 0,
            ssn: 0,
            ppid: 0,
            unordered: true,
            begin: true,
            end: true,
            immediate: false,
            payload: &vec![7; len],
        };
        self.send(state, now, |b| b.data(&data));
        self.next += 1;
    }

    /// SHUTDOWN; the other side has sent nothing.
    pub(super) fn shut_down(&self, state: &mut State, now: Instant) {
        let nothing = Tsn(self.theirs.0.wrapping_sub(1));
        self.send(state, now, |b| b.shutdown(nothing));
    }

    /// The packets to this address that wait. Those to others are lost.
    pub(super) fn hear(&self, state: &mut State, now: Instant) -> Vec<Vec<u8>> {
        let mut heard = Vec::new();
        loop {
            let (_, more) = state.turn(now);
            for batch in state.outbox.drain(0) {
                if batch.destination == self.address {
                    heard.extend(batch.bytes.chunks(batch.segment).map(<[u8]>::to_vec));
                }
            }
            if !more {
                return heard;
            }
        }
    }
}
