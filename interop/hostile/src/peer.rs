//! A raw peer: it sets an association up by hand, and then does what it is told.

use crate::Target;
use crate::packets::{init_fields, message, packet};
use anyhow::{Context, Result, bail};
use byway_wire::{
    Causes, Chunk, Data, Packet, PacketBuilder, ParamWriter, Params, RawChunk, Tsn, chunk_type,
    param_type,
};
use rand::Rng;
use std::cell::Cell;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// One association of the raw peer.
pub(crate) struct Peer {
    pub(crate) socket: UdpSocket,
    to: SocketAddr,
    ports: (u16, u16),
    /// The tag of the other side, which our packets carry.
    tag: u32,
    /// The TSN of the next chunk.
    pub(crate) next: Tsn,
    ssn: u16,
    /// The highest TSN that came in order, if data came.
    last_in: Tsn,
    /// The key of AUTH (RFC 4895 section 6.1), if it was wished for.
    pub(crate) key: Vec<u8>,
    /// ASCONF-ACKs that came.
    pub(crate) asconf_acks: u64,
    /// How the other side has ended the association.
    pub(crate) ended: Option<End>,
    /// Bytes of UDP payload that this side has sent.
    bytes_sent: Cell<usize>,
}

/// How the other side has ended an association.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// By an ABORT with this reason.
    Abort(String),
    /// By a SHUTDOWN.
    Shutdown,
}

impl End {
    /// Its reason.
    pub(crate) fn text(&self) -> String {
        match self {
            End::Abort(why) => why.clone(),
            End::Shutdown => "SHUTDOWN".to_owned(),
        }
    }
}

/// What an INIT says.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub(crate) sctp_port: u16,
    pub(crate) a_rwnd: u32,
    pub(crate) streams: u16,
    /// Addresses that it lists.
    pub(crate) listed: Vec<IpAddr>,
    /// Whether it offers AUTH and ASCONF.
    pub(crate) keyed: bool,
    /// Whether it offers I-DATA and I-FORWARD-TSN.
    pub(crate) interleaved: bool,
}

impl Default for Wish {
    fn default() -> Wish {
        Wish {
            sctp_port: 5000,
            a_rwnd: 1 << 20,
            streams: 10,
            listed: Vec::new(),
            keyed: false,
            interleaved: false,
        }
    }
}

impl Peer {
    /// Sets an association up from this address, or this socket.
    pub(crate) fn connect(
        socket: UdpSocket,
        target: &Target,
        wish: &Wish,
        rng: &mut impl Rng,
    ) -> Result<Peer> {
        let (to, ports) = (target.to[0], (wish.sctp_port, target.sctp_port));
        let mut fields = init_fields(rng);
        fields.a_rwnd = wish.a_rwnd;
        (fields.outbound_streams, fields.inbound_streams) = (wish.streams, wish.streams);
        let listed = |w: &mut ParamWriter<'_>| {
            for &ip in &wish.listed {
                w.address(ip);
            }
            if wish.keyed {
                w.random(&[7; 32]);
                w.chunk_list(&[chunk_type::ASCONF, chunk_type::ASCONF_ACK]);
                w.hmac_algo(&[3, 1]);
            }
            let mut all = Vec::new();
            if wish.keyed {
                all.extend([chunk_type::ASCONF, chunk_type::ASCONF_ACK, chunk_type::AUTH]);
            }
            if wish.interleaved {
                all.extend([chunk_type::I_DATA, chunk_type::I_FORWARD_TSN]);
            }
            if !all.is_empty() {
                w.supported_extensions(&all);
            }
        };
        let init = packet(ports, 0, |p| p.init(false, &fields, listed));
        let mut line = Line {
            socket: &socket,
            to,
            own: fields.initiate_tag,
            sent: 0,
        };
        // A refusal says its reason, and whoever says nothing is not there.
        let (ack, (tag, tsn, cookie)) = line.ask(&init, None, init_ack)?;
        let echo = packet(ports, tag, |p| p.cookie_echo(&cookie));
        line.ask(&echo, Some(tag), |packet| Ok(cookie_ack(packet)))?;
        let sent = line.sent;
        let mut vectors = [&init, &ack].map(|bytes| vector(bytes));
        vectors.sort();
        Ok(Peer {
            key: vectors.concat(),
            asconf_acks: 0,
            ended: None,
            bytes_sent: Cell::new(sent),
            socket,
            to,
            ports,
            tag,
            next: fields.initial_tsn,
            ssn: 0,
            last_in: Tsn(tsn.0.wrapping_sub(1)),
        })
    }

    /// Sends a packet of this association.
    pub(crate) fn send(&self, write: impl FnOnce(&mut PacketBuilder<'_>)) -> Result<()> {
        self.send_bytes(&self.packet(write))
    }

    /// Bytes of UDP payload that this side has sent, those of the set-up as well.
    pub(crate) fn bytes_sent(&self) -> usize {
        self.bytes_sent.get()
    }

    /// A packet of this association.
    pub(crate) fn packet(&self, write: impl FnOnce(&mut PacketBuilder<'_>)) -> Vec<u8> {
        packet(self.ports, self.tag, write)
    }

    /// Sends these bytes.
    pub(crate) fn send_bytes(&self, bytes: &[u8]) -> Result<()> {
        self.socket.send_to(bytes, self.to).context("cannot send")?;
        self.bytes_sent.set(self.bytes_sent.get() + bytes.len());
        Ok(())
    }

    /// Sends one message.
    pub(crate) fn say(&mut self, payload: &[u8]) -> Result<()> {
        self.say_as(0, payload)
    }

    /// The same with this payload protocol identifier.
    pub(crate) fn say_as(&mut self, ppid: u32, payload: &[u8]) -> Result<()> {
        let (tsn, ssn) = (self.next, self.ssn);
        let data = Data {
            ppid,
            ..message(tsn, ssn, payload)
        };
        self.send(|p| p.data(&data))?;
        self.next = Tsn(tsn.0.wrapping_add(1));
        self.ssn = ssn.wrapping_add(1);
        Ok(())
    }

    /// Reads what has come, and does what a living peer does at least: answers heartbeats and,
    /// if it takes data, acknowledges them. Returns false once the other side has ended the
    /// association.
    pub(crate) fn live(&mut self, takes_data: Option<u32>) -> Result<bool> {
        self.socket.set_nonblocking(true)?;
        let mut buffer = [0; 65_536];
        while let Ok(read) = self.socket.recv(&mut buffer) {
            let Ok(packet) = Packet::parse(&buffer[..read]) else {
                continue;
            };
            for raw in packet.chunks().map_while(Result::ok) {
                self.ended = end(&raw);
                if self.ended.is_some() {
                    return Ok(false);
                }
                match raw.parse() {
                    Ok(Chunk::AsconfAck(_)) => self.asconf_acks += 1,
                    Ok(Chunk::Heartbeat(_)) => self.send(|p| p.raw(5, 0, raw.value))?,
                    Ok(Chunk::Data(data)) => {
                        if data.tsn.0 == self.last_in.0.wrapping_add(1) {
                            self.last_in = data.tsn;
                        }
                        if let Some(window) = takes_data {
                            self.acknowledge(window)?;
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(true)
    }

    /// Reads what has come without an answer. Returns false once the other side has ended the
    /// association.
    pub(crate) fn is_open(&mut self) -> Result<bool> {
        self.socket.set_nonblocking(true)?;
        let mut buffer = [0; 65_536];
        while let Ok(read) = self.socket.recv(&mut buffer) {
            let Ok(packet) = Packet::parse(&buffer[..read]) else {
                continue;
            };
            let mut chunks = packet.chunks().map_while(Result::ok);
            self.ended = chunks.find_map(|raw| end(&raw));
            if self.ended.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Acknowledges what came, with this window.
    pub(crate) fn acknowledge(&self, window: u32) -> Result<()> {
        let last = self.last_in;
        self.send(|p| p.sack(last, window, &[], &[]))
    }
}

/// RTO.Initial of this peer. It does not grow: a crowd shall be up soon.
const RTO: Duration = Duration::from_millis(500);
/// Max.Init.Retransmits (RFC 9260 section 16), and once more.
const TIMES: usize = 20;

/// A socket before the association is up.
struct Line<'a> {
    socket: &'a UdpSocket,
    to: SocketAddr,
    /// The tag that packets to this side have.
    own: u32,
    /// Bytes that were sent.
    sent: usize,
}

impl Line<'_> {
    /// Sends a packet until `answer` finds in one with our tag what it looks for, as T1-init and T1-cookie do: the
    /// packet, and what was found.
    ///
    /// # Errors
    /// When an ABORT is the answer, or none comes. The ABORT of a side that knows no such association has the tag
    /// that we sent, `theirs`.
    fn ask<T>(
        &mut self,
        request: &[u8],
        theirs: Option<u32>,
        answer: impl Fn(&Packet<'_>) -> Result<Option<T>>,
    ) -> Result<(Vec<u8>, T)> {
        let mut buffer = vec![0; 65_536];
        for _ in 0..TIMES {
            self.socket.send_to(request, self.to)?;
            self.sent += request.len();
            let until = Instant::now() + RTO;
            loop {
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                self.socket.set_read_timeout(Some(left))?;
                let Ok(read) = self.socket.recv(&mut buffer) else {
                    continue;
                };
                let Ok(packet) = Packet::parse(&buffer[..read]) else {
                    continue;
                };
                let tag = packet.header().verification_tag;
                if tag != self.own && Some(tag) != theirs {
                    continue;
                }
                if let Some(why) = aborted(&packet) {
                    bail!("the set-up was refused: {why}");
                }
                if tag != self.own {
                    continue;
                }
                if let Some(found) = answer(&packet)? {
                    return Ok((buffer[..read].to_vec(), found));
                }
            }
        }
        bail!("{} does not answer a set-up", self.to);
    }
}

/// The end of the association that a chunk tells.
fn end(raw: &RawChunk<'_>) -> Option<End> {
    match raw.parse() {
        Ok(Chunk::Abort(abort)) => Some(End::Abort(reason(abort.causes))),
        Ok(Chunk::Shutdown(_)) => Some(End::Shutdown),
        _ => None,
    }
}

/// The reason of the ABORT in a packet, if there is one.
fn aborted(packet: &Packet<'_>) -> Option<String> {
    let mut chunks = packet.chunks().map_while(Result::ok);
    chunks.find_map(|raw| match raw.parse() {
        Ok(Chunk::Abort(abort)) => Some(reason(abort.causes)),
        _ => None,
    })
}

/// The first of these causes that has words.
fn reason(causes: Causes<'_>) -> String {
    let mut causes = causes.iter().map_while(Result::ok);
    let words = causes.find(|c| !c.value.is_empty());
    let words = words.map(|c| String::from_utf8_lossy(c.value).into_owned());
    words.unwrap_or_default()
}

/// Whether there is a COOKIE ACK in a packet.
fn cookie_ack(packet: &Packet<'_>) -> Option<()> {
    let mut chunks = packet.chunks().map_while(Result::ok);
    chunks.find_map(|raw| matches!(raw.parse(), Ok(Chunk::CookieAck)).then_some(()))
}

/// The key vector of a packet with an INIT or INIT ACK.
fn vector(bytes: &[u8]) -> Vec<u8> {
    let of = |params: Params<'_>| {
        let kinds = [
            param_type::RANDOM,
            param_type::CHUNK_LIST,
            param_type::HMAC_ALGO,
        ];
        let of = |kind| params.find(kind).map_or(&[][..], |p| p.bytes);
        kinds.into_iter().flat_map(of).copied().collect()
    };
    let Ok(packet) = Packet::parse(bytes) else {
        return Vec::new();
    };
    match packet
        .chunks()
        .next()
        .and_then(Result::ok)
        .map(|c| c.parse())
    {
        Some(Ok(Chunk::Init(i) | Chunk::InitAck(i))) => of(i.params),
        _ => Vec::new(),
    }
}

/// Tag, initial TSN and cookie of an INIT ACK; `None` for another packet.
fn init_ack(packet: &Packet<'_>) -> Result<Option<(u32, Tsn, Vec<u8>)>> {
    let Some(Ok(raw)) = packet.chunks().next() else {
        return Ok(None);
    };
    let Ok(Chunk::InitAck(init)) = raw.parse() else {
        return Ok(None);
    };
    let cookie = init.params.find(param_type::STATE_COOKIE);
    let cookie = cookie.context("the INIT ACK has no cookie")?;
    Ok(Some((
        init.initiate_tag,
        init.initial_tsn,
        cookie.value.to_vec(),
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use byway_wire::InitFields;
    use chacha20::ChaCha8Rng;
    use chacha20::rand_core::SeedableRng;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    const TAG: u32 = 77;

    /// How a set-up goes with a side that answers each COOKIE ECHO with what `answer` makes of its number, from 1
    /// on, and of the tag of the peer; and how many there were.
    fn set_up(
        answer: impl Fn(u32, u32) -> Option<Vec<u8>> + Send + 'static,
    ) -> (Result<Peer>, u32) {
        let other = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = other.local_addr().unwrap();
        let ports = (5001, 5000);
        let all = Arc::new(AtomicU32::new(0));
        let echoes = all.clone();
        std::thread::spawn(move || {
            let (mut buffer, mut tag) = ([0; 2048], 0);
            while let Ok((read, from)) = other.recv_from(&mut buffer) {
                let packet_in = Packet::parse(&buffer[..read]).unwrap();
                let reply = match packet_in.chunks().next().unwrap().unwrap().parse() {
                    Ok(Chunk::Init(init)) => {
                        tag = init.initiate_tag;
                        let fields = InitFields {
                            initiate_tag: TAG,
                            a_rwnd: 1 << 20,
                            outbound_streams: 10,
                            inbound_streams: 10,
                            initial_tsn: Tsn(1),
                        };
                        Some(packet(ports, tag, |p| {
                            p.init(true, &fields, |w| {
                                w.state_cookie(&[1; 16]);
                            });
                        }))
                    }
                    Ok(Chunk::CookieEcho(_)) => {
                        answer(1 + echoes.fetch_add(1, Ordering::Relaxed), tag)
                    }
                    _ => return,
                };
                if let Some(reply) = reply {
                    other.send_to(&reply, from).unwrap();
                }
            }
        });
        let target = Target {
            to: vec![to],
            sctp_port: 5001,
        };
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut rng = ChaCha8Rng::from_seed([1; 32]);
        let peer = Peer::connect(socket, &target, &Wish::default(), &mut rng);
        (peer, all.load(Ordering::Relaxed))
    }

    #[test]
    fn only_a_cookie_ack_makes_it_up() {
        let ack = |tag| Some(packet((5001, 5000), tag, |p| p.cookie_ack()));
        let up = set_up(move |_, tag| ack(tag));
        assert!(up.0.is_ok() && up.1 == 1);
        // Of another association.
        let third = move |n, tag| if n < 3 { ack(tag ^ 1) } else { ack(tag) };
        let up = set_up(third);
        assert!(up.0.is_ok() && up.1 == 3, "{}", up.1);
        // The first answer is lost, and the second packet is none.
        let third = move |n, tag| match n {
            1 => None,
            2 => Some(packet((5001, 5000), tag, |p| p.heartbeat(&[1; 8]))),
            _ => ack(tag),
        };
        let up = set_up(third);
        assert!(up.0.is_ok() && up.1 == 3, "{}", up.1);
    }

    #[test]
    fn an_abort_in_place_of_a_cookie_ack_refuses_it() {
        for reflected in [false, true] {
            let refused = set_up(move |_, tag| {
                let tag = if reflected { TAG } else { tag };
                Some(packet((5001, 5000), tag, |p| {
                    p.abort(reflected, |c| {
                        c.user_initiated_abort(b"full");
                    });
                }))
            });
            let why = refused.0.err().unwrap().to_string();
            assert!(why.contains("full"), "{why}");
        }
    }
}
