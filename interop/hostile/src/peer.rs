//! A raw peer: it sets an association up by hand, and then does what it is told.

use crate::Target;
use crate::packets::{init_fields, message, packet};
use anyhow::{Context, Result, bail};
use byway_wire::{Chunk, Packet, PacketBuilder, ParamWriter, Params, Tsn, chunk_type, param_type};
use rand::Rng;
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
    /// What the other side said when it ended the association.
    pub(crate) aborted: Option<String>,
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
        socket.set_read_timeout(Some(Duration::from_millis(500)))?;
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
        let mut buffer = [0; 65_536];
        let until = Instant::now() + Duration::from_secs(10);
        while Instant::now() < until {
            socket.send_to(&init, to)?;
            let Some(read) = answer(&socket, &mut buffer, fields.initiate_tag) else {
                continue;
            };
            let Some((tag, tsn, cookie)) = init_ack(&buffer[..read])? else {
                continue;
            };
            let ack = buffer[..read].to_vec();
            let echo = packet(ports, tag, |p| p.cookie_echo(&cookie));
            socket.send_to(&echo, to)?;
            if answer(&socket, &mut buffer, fields.initiate_tag).is_none() {
                socket.send_to(&echo, to)?;
            }
            let mut vectors = [&init, &ack].map(|bytes| vector(bytes));
            vectors.sort();
            return Ok(Peer {
                key: vectors.concat(),
                asconf_acks: 0,
                aborted: None,
                socket,
                to,
                ports,
                tag,
                next: fields.initial_tsn,
                ssn: 0,
                last_in: Tsn(tsn.0.wrapping_sub(1)),
            });
        }
        bail!("{to} answers no INIT");
    }

    /// Sends a packet of this association.
    pub(crate) fn send(&self, write: impl FnOnce(&mut PacketBuilder<'_>)) -> Result<()> {
        self.send_bytes(&self.packet(write))
    }

    /// A packet of this association.
    pub(crate) fn packet(&self, write: impl FnOnce(&mut PacketBuilder<'_>)) -> Vec<u8> {
        packet(self.ports, self.tag, write)
    }

    /// Sends these bytes.
    pub(crate) fn send_bytes(&self, bytes: &[u8]) -> Result<()> {
        self.socket.send_to(bytes, self.to).context("cannot send")?;
        Ok(())
    }

    /// Sends one message.
    pub(crate) fn say(&mut self, payload: &[u8]) -> Result<()> {
        let (tsn, ssn) = (self.next, self.ssn);
        self.send(|p| p.data(&message(tsn, ssn, payload)))?;
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
                match raw.parse() {
                    Ok(Chunk::Abort(abort)) => {
                        let first = abort.causes.iter().next().and_then(Result::ok);
                        let text = first.map(|c| String::from_utf8_lossy(c.value).into_owned());
                        self.aborted = Some(text.unwrap_or_default());
                        return Ok(false);
                    }
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
            let aborted = Packet::parse(&buffer[..read]).is_ok_and(|packet| {
                let mut chunks = packet.chunks().map_while(Result::ok);
                chunks.any(|raw| matches!(raw.parse(), Ok(Chunk::Abort(_))))
            });
            if aborted {
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

/// The length of the next packet with our tag.
fn answer(socket: &UdpSocket, buffer: &mut [u8], tag: u32) -> Option<usize> {
    loop {
        let read = socket.recv(buffer).ok()?;
        let packet = Packet::parse(&buffer[..read]).ok()?;
        if packet.header().verification_tag == tag {
            return Some(read);
        }
    }
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
fn init_ack(bytes: &[u8]) -> Result<Option<(u32, Tsn, Vec<u8>)>> {
    let packet = Packet::parse(bytes)?;
    let Some(Ok(raw)) = packet.chunks().next() else {
        return Ok(None);
    };
    match raw.parse() {
        Ok(Chunk::InitAck(init)) => {
            let cookie = init.params.find(byway_wire::param_type::STATE_COOKIE);
            let cookie = cookie.context("the INIT ACK has no cookie")?;
            Ok(Some((
                init.initiate_tag,
                init.initial_tsn,
                cookie.value.to_vec(),
            )))
        }
        Ok(Chunk::Abort(_)) => bail!("the INIT was refused"),
        _ => Ok(None),
    }
}
