//! Peers of raw packets: many associations of a few sockets.

use byway_wire::{
    Checksum, Chunk, CommonHeader, InitFields, Packet, PacketBuilder, Param, ParamWriter, Tsn,
    chunk_type,
};
use std::cell::Cell;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

/// The SCTP port of the endpoint that is met.
pub(crate) const PORT: u16 = 7;

/// A socket of a stranger, with an association for each of some SCTP ports.
pub(crate) struct Stranger {
    socket: UdpSocket,
    /// The SCTP ports of this side, and the tags of the other.
    pub(crate) associations: Vec<(u16, u32)>,
    /// Bytes of all packets that it has sent.
    sent: Cell<usize>,
}

pub(crate) fn packet(port: u16, tag: u32, write: impl FnOnce(&mut PacketBuilder<'_>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    let header = CommonHeader {
        source_port: port,
        destination_port: PORT,
        verification_tag: tag,
    };
    let mut builder = PacketBuilder::new(&mut bytes, header);
    write(&mut builder);
    builder.finish(Checksum::Crc32c);
    bytes
}

pub(crate) fn init() -> InitFields {
    InitFields {
        initiate_tag: 9,
        a_rwnd: 65_536,
        outbound_streams: 1,
        inbound_streams: 1,
        initial_tsn: Tsn(1),
    }
}

impl Stranger {
    /// A socket at an address of its own, without an association.
    pub(crate) fn at(to: SocketAddr, from: [u8; 4]) -> Stranger {
        let socket = UdpSocket::bind(SocketAddr::from((from, 0))).unwrap();
        socket.connect(to).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        Stranger {
            socket,
            associations: Vec::new(),
            sent: Cell::new(0),
        }
    }

    /// The same with so many associations.
    pub(crate) fn new(to: SocketAddr, from: [u8; 4], associations: u16) -> Stranger {
        let mut stranger = Stranger::at(to, from);
        for port in 1000..1000 + associations {
            let up = stranger.set_up(port, &init(), |_| {});
            assert!(up, "the association of port {port} was refused");
        }
        stranger
    }

    /// Sets an association up from this SCTP port, with these parameters of the INIT. False if it
    /// is refused.
    pub(crate) fn set_up(
        &mut self,
        port: u16,
        fields: &InitFields,
        params: impl FnOnce(&mut ParamWriter<'_>),
    ) -> bool {
        self.send(&packet(port, 0, |b| b.init(false, fields, params)));
        let answer = self.hear_either(chunk_type::INIT_ACK, chunk_type::ABORT);
        let packet_of = Packet::parse(&answer).unwrap();
        let Some(Ok(Ok(Chunk::InitAck(ack)))) =
            packet_of.chunks().next().map(|c| c.map(|c| c.parse()))
        else {
            return false;
        };
        let cookie = ack.params.iter().find_map(|p| match p.ok()?.parse().ok()? {
            Param::StateCookie(c) => Some(c.to_vec()),
            _ => None,
        });
        let tag = ack.initiate_tag;
        let cookie = cookie.expect("a State Cookie");
        self.send(&packet(port, tag, |b| b.cookie_echo(&cookie)));
        self.hear_of(chunk_type::COOKIE_ACK);
        self.associations.push((port, tag));
        true
    }

    /// This address, with its UDP port.
    pub(crate) fn local(&self) -> SocketAddr {
        self.socket.local_addr().unwrap()
    }

    pub(crate) fn send(&self, bytes: &[u8]) {
        self.socket.send(bytes).unwrap();
        self.sent.set(self.sent.get() + bytes.len());
    }

    /// Bytes of all packets that it has sent.
    pub(crate) fn sent(&self) -> usize {
        self.sent.get()
    }

    /// The next packet that begins with a chunk of this type.
    pub(crate) fn hear_of(&self, kind: u8) -> Vec<u8> {
        self.hear_either(kind, kind)
    }

    fn hear_either(&self, kind: u8, other: u8) -> Vec<u8> {
        loop {
            let mut bytes = vec![0; 65_536];
            let len = self.socket.recv(&mut bytes).expect("an answer");
            bytes.truncate(len);
            let packet = Packet::parse(&bytes).unwrap();
            if [kind, other].contains(&packet.chunks().next().unwrap().unwrap().kind) {
                return bytes;
            }
        }
    }
}
