//! A peer of raw packets: it does what no stack would do.

use byway_wire::{
    Checksum, Chunk, CommonHeader, Data, IData, InitFields, Packet, PacketBuilder, Param,
    ParamWriter, Tsn, chunk_type,
};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// The tag and the first TSN of this side.
pub(crate) const TAG: u32 = 0x0102_0304;
const FIRST: u32 = 1000;
/// Of the request that closes what is listened to.
const CLOSING_TAG: u32 = 0x0a0b_0c0d;
const CLOSING_PORT: u16 = 64_999;
/// How long to wait for what must come, on a machine however busy.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Raw {
    socket: UdpSocket,
    pub(crate) port: u16,
    /// What the other side chose: its tag, its first TSN, its cookie.
    pub(crate) tag: u32,
    pub(crate) tsn: u32,
    pub(crate) cookie: Vec<u8>,
    /// The next TSN of this side.
    next: u32,
}

pub(crate) fn init_fields() -> InitFields {
    InitFields {
        initiate_tag: TAG,
        a_rwnd: 65_536,
        outbound_streams: 10,
        inbound_streams: 10,
        initial_tsn: Tsn(FIRST),
    }
}

impl Raw {
    /// A socket towards this address, without an association.
    pub(crate) fn new(to: SocketAddr) -> Raw {
        Raw::from_host(1, to)
    }

    /// The same at the address 127.0.0.`host`, which is another host to the other side.
    pub(crate) fn from_host(host: u8, to: SocketAddr) -> Raw {
        Raw::from_address([127, 0, 0, host].into(), to)
    }

    /// The same at this address.
    pub(crate) fn from_address(own: IpAddr, to: SocketAddr) -> Raw {
        let socket = UdpSocket::bind(SocketAddr::new(own, 0)).unwrap();
        socket.connect(to).unwrap();
        let wait = Some(Duration::from_millis(300));
        socket.set_read_timeout(wait).unwrap();
        Raw {
            socket,
            port: 4000,
            tag: 0,
            tsn: 0,
            cookie: Vec::new(),
            next: FIRST,
        }
    }

    /// An association.
    pub(crate) fn up(to: SocketAddr) -> Raw {
        Raw::up_with(to, |_| {})
    }

    /// The same with these parameters of the INIT.
    pub(crate) fn up_with(to: SocketAddr, params: impl FnOnce(&mut ParamWriter<'_>)) -> Raw {
        let mut raw = Raw::new(to);
        raw.ask_with(params);
        raw.echo();
        raw
    }

    /// INIT and INIT ACK.
    pub(crate) fn ask(&mut self) {
        self.ask_with(|_| {});
    }

    /// The same with these parameters of the INIT; the INIT and the INIT ACK.
    pub(crate) fn ask_with(&mut self, params: impl FnOnce(&mut ParamWriter<'_>)) -> [Vec<u8>; 2] {
        self.ask_as(TAG, params)
    }

    /// The same with this tag of ours.
    pub(crate) fn ask_as(
        &mut self,
        tag: u32,
        params: impl FnOnce(&mut ParamWriter<'_>),
    ) -> [Vec<u8>; 2] {
        let fields = InitFields {
            initiate_tag: tag,
            ..init_fields()
        };
        self.ask_for(&fields, params)
    }

    /// The same with these fields of the INIT.
    pub(crate) fn ask_for(
        &mut self,
        fields: &InitFields,
        params: impl FnOnce(&mut ParamWriter<'_>),
    ) -> [Vec<u8>; 2] {
        let init = self.packet(0, |b| b.init(false, fields, params));
        self.send_bytes(&init);
        let answer = self.hear_within(PATIENCE).expect("an INIT ACK");
        self.learn(&answer);
        [init, answer]
    }

    /// Takes what the INIT ACK says.
    fn learn(&mut self, answer: &[u8]) {
        let packet = Packet::parse(answer).unwrap();
        let Some(Ok(Ok(Chunk::InitAck(ack)))) =
            packet.chunks().next().map(|c| c.map(|c| c.parse()))
        else {
            panic!("no INIT ACK: {answer:?}");
        };
        (self.tag, self.tsn) = (ack.initiate_tag, ack.initial_tsn.0);
        let cookie = ack.params.iter().find_map(|p| match p.ok()?.parse().ok()? {
            Param::StateCookie(c) => Some(c.to_vec()),
            _ => None,
        });
        self.cookie = cookie.expect("a State Cookie");
    }

    /// The association that was asked for.
    pub(crate) fn echo(&self) {
        let cookie = self.cookie.clone();
        self.send(self.tag, |b| b.cookie_echo(&cookie));
        assert_eq!(self.hear_some_of(chunk_type::COOKIE_ACK), 1);
    }

    /// Another association of this socket, from this SCTP port, without a wait for silence.
    pub(crate) fn join(&mut self, port: u16) {
        self.port = port;
        let init = self.packet(0, |b| b.init(false, &init_fields(), |_| {}));
        self.learn(&self.answer_of(chunk_type::INIT_ACK, &init));
        let echo = self.packet(self.tag, |b| b.cookie_echo(&self.cookie));
        self.answer_of(chunk_type::COOKIE_ACK, &echo);
    }

    /// The answer that begins with a chunk of this type. It must come; what asks for it leaves again each second, as
    /// by T1: the buffer of a socket that others flood has no room for it at first.
    fn answer_of(&self, kind: u8, request: &[u8]) -> Vec<u8> {
        let second = Duration::from_secs(1);
        for _ in 0..PATIENCE.as_secs() {
            self.send_bytes(request);
            let asked = Instant::now();
            while asked.elapsed() < second {
                match self.hear_within(second) {
                    Some(bytes) if kinds(&bytes).first() == Some(&kind) => return bytes,
                    _ => {}
                }
            }
        }
        panic!("no answer of type {kind} to {request:?}");
    }

    /// The next packet that begins with a chunk of this type. It must come.
    pub(crate) fn hear_next(&self, kind: u8) -> Vec<u8> {
        self.hear_where(|kinds| kinds.first() == Some(&kind))
    }

    /// The same of one that has such a chunk anywhere, as behind AUTH.
    pub(crate) fn hear_next_with(&self, kind: u8) -> Vec<u8> {
        self.hear_where(|kinds| kinds.contains(&kind))
    }

    fn hear_where(&self, right: impl Fn(&[u8]) -> bool) -> Vec<u8> {
        loop {
            let bytes = self.hear_within(PATIENCE).expect("a packet");
            if right(&kinds(&bytes)) {
                return bytes;
            }
        }
    }

    fn hear_within(&self, time: Duration) -> Option<Vec<u8>> {
        let silence = self.socket.read_timeout().unwrap();
        self.wait(time);
        let heard = self.hear();
        self.socket.set_read_timeout(silence).unwrap();
        heard
    }

    /// How long to wait for a packet that need not come.
    pub(crate) fn wait(&self, time: Duration) {
        self.socket.set_read_timeout(Some(time)).unwrap();
    }

    /// This address, and its UDP port.
    pub(crate) fn local(&self) -> SocketAddr {
        self.socket.local_addr().unwrap()
    }

    pub(crate) fn packet(&self, tag: u32, write: impl FnOnce(&mut PacketBuilder<'_>)) -> Vec<u8> {
        let mut bytes = Vec::new();
        let header = CommonHeader {
            source_port: self.port,
            destination_port: 5001,
            verification_tag: tag,
        };
        let mut b = PacketBuilder::new(&mut bytes, header);
        write(&mut b);
        b.finish(Checksum::Crc32c);
        bytes
    }

    pub(crate) fn send(&self, tag: u32, write: impl FnOnce(&mut PacketBuilder<'_>)) {
        self.send_bytes(&self.packet(tag, write));
    }

    /// With the right tag.
    pub(crate) fn inject(&self, write: impl FnOnce(&mut PacketBuilder<'_>)) {
        self.send(self.tag, write);
    }

    /// A packet of so many chunks, each with a TSN of its own and its number.
    pub(crate) fn inject_many(
        &mut self,
        many: u32,
        mut write: impl FnMut(&mut PacketBuilder<'_>, Tsn, u32),
    ) {
        let first = self.next;
        self.next += many;
        self.inject(|b| (0..many).for_each(|n| write(b, Tsn(first + n), n)));
    }

    /// Sends a packet of DATA until `last` is acknowledged, with all before it.
    pub(crate) fn deliver(&self, bytes: &[u8], last: Tsn) {
        self.is_taken(bytes, last).unwrap();
    }

    /// The same; why not, if it is not acknowledged, or if the other side ends the association before.
    fn is_taken(&self, bytes: &[u8], last: Tsn) -> Result<(), String> {
        let mut heard_last = String::from("nothing was heard");
        for _ in 0..100 {
            self.send_bytes(bytes);
            // Until nothing comes any more.
            while let Some(heard) = self.hear() {
                let packet = Packet::parse(&heard).unwrap();
                for chunk in packet.chunks() {
                    let chunk = chunk.unwrap().parse();
                    heard_last = format!("heard last: {chunk:?}");
                    match chunk {
                        Ok(Chunk::Sack(s)) if s.cumulative_tsn_ack == last => return Ok(()),
                        Ok(Chunk::Shutdown(_) | Chunk::ShutdownAck | Chunk::Abort(_)) => {
                            return Err(heard_last);
                        }
                        _ => {}
                    }
                }
            }
        }
        Err(format!("{last:?} is not acknowledged; {heard_last}"))
    }

    /// The association is where it was, ESTABLISHED: data is acknowledged up to it, and nothing of a shutdown comes. An
    /// answer to a heartbeat shows less: it comes in most states.
    pub(crate) fn goes_on(&mut self, what: &str) {
        let tsn = self.next_tsn();
        // The begin of a message, which nobody is given.
        let data = Data {
            tsn,
            stream_id: 0,
            ssn: 0,
            ppid: 0,
            unordered: false,
            begin: true,
            end: false,
            immediate: true,
            payload: &[7],
        };
        let packet = self.packet(self.tag, |b| b.data(&data));
        self.is_taken(&packet, tsn)
            .unwrap_or_else(|why| panic!("{what}: {why}"));
    }

    /// The same where messages interleave.
    pub(crate) fn goes_on_interleaved(&mut self, what: &str) {
        let tsn = self.next_tsn();
        let data = IData {
            tsn,
            stream_id: 0,
            mid: 1000,
            ppid_or_fsn: 0,
            unordered: false,
            begin: true,
            end: false,
            immediate: true,
            payload: &[7],
        };
        let packet = self.packet(self.tag, |b| b.i_data(&data));
        self.is_taken(&packet, tsn)
            .unwrap_or_else(|why| panic!("{what}: {why}"));
    }

    /// The code of the first cause of the ABORT that must come.
    pub(crate) fn hear_cause(&self) -> u16 {
        let bytes = self.hear_next(chunk_type::ABORT);
        let packet = Packet::parse(&bytes).unwrap();
        let abort = packet.chunks().next().unwrap().unwrap();
        u16::from_be_bytes(abort.value[..2].try_into().expect("a cause"))
    }

    /// One chunk of bytes as they are, lengths included.
    pub(crate) fn inject_bytes(&self, tag: u32, chunks: &[u8]) {
        let mut bytes = self.packet(tag, |_| {});
        bytes.extend_from_slice(chunks);
        let sum = byway_wire::crc32c::packet_checksum(&bytes);
        bytes[8..12].copy_from_slice(&sum.to_le_bytes());
        self.send_bytes(&bytes);
    }

    pub(crate) fn send_bytes(&self, bytes: &[u8]) {
        self.socket.send(bytes).unwrap();
    }

    pub(crate) fn next_tsn(&mut self) -> Tsn {
        self.next += 1;
        Tsn(self.next - 1)
    }

    /// The next packet; none when nothing comes for 300 ms.
    pub(crate) fn hear(&self) -> Option<Vec<u8>> {
        let mut bytes = vec![0; 65_536];
        let len = self.socket.recv(&mut bytes).ok()?;
        bytes.truncate(len);
        Some(bytes)
    }

    /// Drops what has come, so that the buffer of the socket has room.
    pub(crate) fn forget_heard(&self) {
        self.socket.set_nonblocking(true).unwrap();
        while self.hear().is_some() {}
        self.socket.set_nonblocking(false).unwrap();
    }

    /// The types of all chunks that come, and bytes: until a request that is sent now has an answer, and then nothing
    /// comes for 300 ms. So who is slow does not pass for one who says nothing.
    pub(crate) fn hear_all(&self) -> (Vec<u8>, usize) {
        let (mut all, mut bytes) = (Vec::new(), 0);
        let mut count = |heard: &[u8]| {
            bytes += heard.len();
            all.extend(kinds(heard));
        };
        // An INIT of another port, which sets nothing up.
        let closing = Raw {
            socket: self.socket.try_clone().unwrap(),
            port: CLOSING_PORT,
            cookie: Vec::new(),
            ..*self
        };
        let fields = InitFields {
            initiate_tag: CLOSING_TAG,
            ..init_fields()
        };
        let is_answer = |heard: &[u8]| heard[4..8] == CLOSING_TAG.to_be_bytes();
        let answered = (0..100).any(|_| {
            closing.send(0, |b| b.init(false, &fields, |_| {}));
            while let Some(heard) = self.hear() {
                if is_answer(&heard) {
                    return true;
                }
                count(&heard);
            }
            false
        });
        assert!(answered, "an INIT has no answer");
        while let Some(heard) = self.hear() {
            if !is_answer(&heard) {
                count(&heard);
            }
        }
        (all, bytes)
    }

    /// How many chunks of a type come before the silence.
    pub(crate) fn hear_of(&self, kind: u8) -> usize {
        self.hear_all().0.iter().filter(|k| **k == kind).count()
    }

    /// The same of a type of which one must come, however late.
    pub(crate) fn hear_some_of(&self, kind: u8) -> usize {
        let first = kinds(&self.hear_next(kind));
        first.iter().filter(|k| **k == kind).count() + self.hear_of(kind)
    }

    /// How many chunks of a type come before a heartbeat of the association is answered.
    pub(crate) fn hear_until_answered(&self, kind: u8) -> usize {
        self.inject(|b| b.heartbeat(b"and now"));
        let mut all = 0;
        loop {
            let heard = kinds(&self.hear_within(PATIENCE).expect("a packet"));
            all += heard.iter().filter(|k| **k == kind).count();
            if heard.contains(&chunk_type::HEARTBEAT_ACK) {
                return all;
            }
        }
    }

    /// Whether the association lives: it answers a heartbeat.
    pub(crate) fn lives(&self) -> bool {
        self.inject(|b| b.heartbeat(b"are you there"));
        let mut patience = true;
        loop {
            let heard = match patience {
                true => self.hear_within(PATIENCE),
                false => self.hear(),
            };
            let Some(heard) = heard.map(|bytes| kinds(&bytes)) else {
                return false;
            };
            if heard.contains(&chunk_type::HEARTBEAT_ACK) {
                while self.hear().is_some() {}
                return true;
            }
            // Of what is no more there is nothing else to hear.
            patience &= !heard.contains(&chunk_type::ABORT);
        }
    }
}

/// The types of the chunks of a packet.
pub(crate) fn kinds(bytes: &[u8]) -> Vec<u8> {
    let packet = Packet::parse(bytes).unwrap();
    packet.chunks().map(|c| c.unwrap().kind).collect()
}
