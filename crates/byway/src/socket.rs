//! Sockets with batches, and with segmentation offload where they are UDP ones, through quinn-udp.
//!
//! To quinn-udp a raw socket is one without offload: its calls and options for receiving and
//! sending are those of UDP.

use crate::batch::Batch;
use crate::by_card;
use crate::encapsulation::Place;
use crate::error::BindError;
use crate::fragment;
use crate::icmp::Told;
use crate::pages::Pages;
use crate::quoted::{self, ErrorQueue, Quoted};
use crate::raw;
use crate::raw_port::{Cover, RawPort};
use crate::refused::Refused;
use crate::steering;
use byway_core::time::Instant;
use quinn_udp::{BATCH_SIZE, RecvMeta, UdpSockRef, UdpSocketState};
use socket2::{Domain, Protocol, SockRef, Socket as NewSocket, Type};
use std::cell::Cell;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::UdpSocket;

/// Room for one receive, coalesced or not: the largest UDP datagram.
const RECEIVE_LEN: usize = 1 << 16;

/// The system gives memory in pages of so many bytes.
const PAGE: usize = 4096;

/// Whether a call that fills less than a batch leaves nothing behind, as recvmmsg does.
const READS_ALL: bool = cfg!(any(target_os = "linux", target_os = "android"));

/// Memory that received datagrams may hold while little comes, in bytes: a page for each of the buffers
/// of a call, twice.
const KEPT: usize = 2 * BATCH_SIZE * PAGE;

/// Memory that is needed no more is given back after such a time.
const TRIM_INTERVAL: Duration = Duration::from_secs(1);

/// Requested size of the socket buffers in bytes. The kernel grants at most
/// `net.core.rmem_max` and `net.core.wmem_max`.
const SOCKET_BUFFER: usize = 4 << 20;

/// How often a call is made again that failed for an ICMP message about another packet.
const TRIES: u32 = 16;

/// Packets of a batch that leaves one by one.
const BATCH_WITHOUT_OFFLOAD: usize = 64;

/// A socket of a card.
#[derive(Debug)]
struct OfCard {
    card: u32,
    /// None if the kernel does not allow it: that is asked once.
    socket: Option<Box<Socket>>,
    /// Whether it is read next, so that neither socket waits for the other.
    next: Cell<bool>,
}

/// One bound socket.
#[derive(Debug)]
pub(crate) struct Socket {
    io: Arc<UdpSocket>,
    state: UdpSocketState,
    place: Place,
    /// What ICMP says of its packets, if it is one of UDP.
    errors: Option<ErrorQueue>,
    /// Of the same address and one card, where packets of IPv6 must leave by it.
    of_card: Option<OfCard>,
    /// What it has beside itself if it is a raw one.
    raw: Option<RawPort>,
    /// Other workers have sockets of this address: the port stays shared with them.
    of_workers: bool,
    /// Datagrams that one call can send. Kept here because quinn-udp disables
    /// segmentation after any EINVAL, which a peer could cause by listing an
    /// address to which nothing can be sent.
    segments: usize,
}

/// Memory for one call that receives a batch.
pub(crate) struct Received {
    storage: Pages,
    metas: [RecvMeta; BATCH_SIZE],
    cover: Cover,
    /// The most memory that was filled of each buffer since the storage was new, in bytes.
    filled: [usize; BATCH_SIZE],
    /// Their sum.
    touched: usize,
    /// Memory that one call has filled since `since`, at most, in bytes.
    lately: usize,
    since: Instant,
    /// What ICMP said of packets of the sockets.
    pub(crate) told: Vec<Quoted>,
}

impl Received {
    /// Memory for a whole batch.
    pub(crate) fn new() -> Received {
        Received {
            storage: Pages::new(BATCH_SIZE * RECEIVE_LEN),
            metas: [RecvMeta::default(); BATCH_SIZE],
            cover: Cover::None,
            filled: [0; BATCH_SIZE],
            touched: 0,
            lately: 0,
            since: Instant::ZERO,
            told: Vec::new(),
        }
    }

    /// The first `n` buffers were filled.
    fn note(&mut self, n: usize) {
        let mut all = 0;
        for (filled, meta) in self.filled.iter_mut().zip(&self.metas[..n]) {
            let pages = meta.len.next_multiple_of(PAGE);
            all += pages;
            if pages > *filled {
                self.touched += pages - *filled;
                *filled = pages;
            }
        }
        self.lately = self.lately.max(all);
    }

    /// Gives the pages back that nobody needs any more: a burst fills two megabytes, and what comes
    /// to those that are idle a few pages. Returns when to ask again, if the storage holds much.
    pub(crate) fn trim(&mut self, now: Instant) -> Option<Instant> {
        if now.since(self.since) >= TRIM_INTERVAL {
            if self.touched > KEPT && self.lately <= KEPT {
                self.storage = Pages::new(BATCH_SIZE * RECEIVE_LEN);
                (self.filled, self.touched) = ([0; BATCH_SIZE], 0);
            }
            (self.lately, self.since) = (0, now);
        }
        (self.touched > KEPT).then(|| self.since + TRIM_INTERVAL)
    }

    /// Bytes in the first `n` buffers.
    pub(crate) fn len(&self, n: usize) -> usize {
        self.metas[..n].iter().map(|m| m.len).sum()
    }

    /// The source and the datagrams of each of the first `n` buffers.
    pub(crate) fn buffers(
        &self,
        n: usize,
    ) -> impl Iterator<Item = (SocketAddr, impl Iterator<Item = &[u8]> + Clone)> {
        self.metas
            .iter()
            .zip(self.storage.chunks(RECEIVE_LEN))
            .take(n)
            .map(|(meta, buffer)| {
                let filled = &buffer[..meta.len.min(buffer.len())];
                let (source, datagrams) = self.cover.remove(meta.addr, filled);
                // The stride of an empty datagram is 0, which `chunks` does not allow.
                (source, datagrams.chunks(meta.stride.max(1)))
            })
    }
}

impl Socket {
    /// Binds UDP to one address. Port 0 means any free port.
    pub(crate) fn bind(address: SocketAddr) -> Result<Socket, BindError> {
        let (std, state) = bound(address, &Share::No).map_err(|e| BindError::socket(address, e))?;
        Socket::adopt(std, state).map_err(|e| BindError::socket(address, e))
    }

    /// Binds a raw socket to one address: it gets the packets to this SCTP port that come
    /// without UDP. The core knows it by `address`, whose port is the UDP port of the other
    /// socket of this address, or 0.
    pub(crate) fn bind_raw(address: SocketAddr, sctp_port: u16) -> Result<Socket, BindError> {
        let (raw, std, state) = RawPort::open(address, sctp_port)?;
        enlarge(&std, address);
        Ok(Socket {
            io: Arc::new(UdpSocket::from_std(std).map_err(|e| BindError::raw(address, e))?),
            state,
            place: Place { address, raw: true },
            errors: None,
            of_card: None,
            raw: Some(raw),
            of_workers: false,
            segments: 1,
        })
    }

    fn adopt(std: std::net::UdpSocket, state: UdpSocketState) -> io::Result<Socket> {
        let address = std.local_addr()?;
        let segments = state.max_gso_segments().max(1);
        if let Err(error) = state.enable_transport_errors(UdpSockRef::from(&std)) {
            tracing::debug!(%address, %error, "ICMP messages are not told");
        }
        let io = Arc::new(UdpSocket::from_std(std)?);
        Ok(Socket {
            errors: Some(ErrorQueue::of(io.clone())),
            of_card: None,
            io,
            state,
            place: Place {
                address,
                raw: false,
            },
            raw: None,
            of_workers: false,
            segments,
        })
    }

    /// Another socket of the same address, which gets what this peer sends from now on. What
    /// the others send still comes to this one.
    #[cfg(target_os = "linux")]
    pub(crate) fn connected_to(&self, peer: SocketAddr) -> io::Result<Socket> {
        self.another(&Share::Peer(peer))
    }

    #[cfg(target_os = "linux")]
    fn another(&self, share: &Share) -> io::Result<Socket> {
        let this = SockRef::from(&*self.io);
        this.set_reuse_port(true)?;
        let made = bound(self.local(), share);
        // The port is shared for this moment only: later nobody else can bind it.
        if !self.of_workers {
            this.set_reuse_port(false)?;
        }
        let (std, state) = made?;
        Socket::adopt(std, state)
    }

    /// Sockets of the same address for so many further workers. From now on the port is shared, and
    /// the kernel gives each what is for it.
    pub(crate) fn for_workers(&mut self, further: usize) -> io::Result<Vec<Socket>> {
        self.of_workers = true;
        let made: io::Result<Vec<Socket>> = (0..further)
            .map(|_| {
                let mut socket = self.another(&Share::Workers)?;
                socket.of_workers = true;
                Ok(socket)
            })
            .collect();
        let made = made?;
        if let Err(error) = steering::steer(&*self.io, 1 + further) {
            let address = self.local();
            tracing::warn!(%address, %error, "the kernel does not steer packets to workers; they hand them over");
        }
        Ok(made)
    }

    /// A socket of this address that sends by a card.
    fn by_card(&self, name: String) -> io::Result<Socket> {
        if !self.place.raw {
            return self.another(&Share::Card(name));
        }
        let (std, state) = raw::by_card(self.local(), &name)?;
        enlarge(&std, self.local());
        Ok(Socket {
            io: Arc::new(UdpSocket::from_std(std)?),
            state,
            place: self.place,
            errors: None,
            of_card: None,
            raw: None,
            of_workers: false,
            segments: 1,
        })
    }

    /// The socket of this address by which packets of IPv6 leave by a card; none if the kernel
    /// does not allow it (Linux before 5.7, without CAP_NET_RAW).
    ///
    /// A packet that names its card does so in vain where it has a source, too: then IPv6 prefers
    /// the route with the best metric (`ip6_route_output_flags`). In UDP, what comes by the card
    /// comes to this socket, and what comes by another one, or from this host, to the first. A raw
    /// socket would get a copy, so that of a card takes nothing.
    fn of_card(&mut self, card: u32) -> Option<&mut Socket> {
        if self.of_card.as_ref().is_none_or(|of| of.card != card) {
            let name = rustix::net::netdevice::index_to_name(&*self.io, card);
            let made = name.map_err(io::Error::from).and_then(|n| self.by_card(n));
            let made = made.inspect_err(|error| {
                let address = self.local();
                tracing::warn!(%address, card, %error, "packets leave by the card of the kernel's choice");
            });
            self.of_card = Some(OfCard {
                card,
                socket: made.ok().map(Box::new),
                next: Cell::new(true),
            });
        }
        self.of_card.as_mut()?.socket.as_deref_mut()
    }

    /// Not here.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn connected_to(&self, _peer: SocketAddr) -> io::Result<Socket> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The address with the UDP port that is bound.
    pub(crate) fn local(&self) -> SocketAddr {
        self.place.address
    }

    /// What it is bound to.
    pub(crate) fn place(&self) -> Place {
        self.place
    }

    /// Datagrams of a batch. One call sends it where there is segmentation offload; a raw
    /// socket, which never has it, sends them one by one.
    pub(crate) fn max_segments(&self) -> usize {
        if self.place.raw {
            BATCH_WITHOUT_OFFLOAD
        } else {
            self.segments
        }
    }

    /// Whether a peer can get a socket of its own. Raw sockets would each get its packets.
    pub(crate) fn can_be_split(&self) -> bool {
        !self.place.raw
    }

    /// Passes ICMP messages about packets without UDP to `told`. Returns whether there were any.
    /// Those about packets in UDP come with what is received.
    pub(crate) fn receive_icmp(
        &self,
        cx: &mut Context<'_>,
        told: impl FnMut(Told<'_>),
    ) -> io::Result<bool> {
        match &self.raw {
            Some(raw) => raw.icmp().receive(cx, told),
            None => Ok(false),
        }
    }

    /// Moves what ICMP said of packets in UDP since the last call to `into`.
    pub(crate) fn take_told(&self, into: &mut Vec<Quoted>) {
        if let Some(errors) = &self.errors {
            errors.take(into);
        }
    }

    /// Most buffers that can wait in this socket. The kernel counts at least 768 bytes for
    /// each.
    pub(crate) fn most_buffers(&self) -> usize {
        const LEAST: usize = 768;
        let room = SockRef::from(&*self.io).recv_buffer_size();
        room.unwrap_or(2 * SOCKET_BUFFER).div_ceil(LEAST)
    }

    /// Receives up to a batch of buffers, or waits. Returns how many.
    pub(crate) fn poll_receive(
        &self,
        cx: &mut Context<'_>,
        into: &mut Received,
    ) -> Poll<io::Result<usize>> {
        let of_card = self.of_card.as_ref().filter(|_| !self.place.raw);
        let Some((of_card, socket)) = of_card.and_then(|of| Some((of, of.socket.as_ref()?))) else {
            return self.poll_receive_own(cx, into);
        };
        of_card.next.set(!of_card.next.get());
        let order: [&Socket; 2] = match of_card.next.get() {
            true => [self, socket],
            false => [socket, self],
        };
        for socket in order {
            if let Poll::Ready(got) = socket.poll_receive_own(cx, into) {
                return Poll::Ready(got);
            }
        }
        Poll::Pending
    }

    /// Receives what comes to this socket itself.
    fn poll_receive_own(
        &self,
        cx: &mut Context<'_>,
        into: &mut Received,
    ) -> Poll<io::Result<usize>> {
        into.cover = self.raw.as_ref().map_or(Cover::None, RawPort::cover);
        if let Some(errors) = &self.errors {
            errors.poll(cx);
            errors.take(&mut into.told);
        }
        loop {
            ready!(self.io.poll_recv_ready(cx))?;
            let mut chunks = into.storage.chunks_mut(RECEIVE_LEN);
            let mut slices: [IoSliceMut<'_>; BATCH_SIZE] = std::array::from_fn(|_| {
                IoSliceMut::new(chunks.next().expect("storage holds BATCH_SIZE chunks"))
            });
            let metas = &mut into.metas;
            let mut all = None;
            let got = self.io.try_io(Interest::READABLE, || {
                let n = self
                    .state
                    .recv(UdpSockRef::from(&*self.io), &mut slices, metas)?;
                if READS_ALL && n < BATCH_SIZE {
                    // Nothing is left. To say so here spares the call that would: what arrives from now on makes
                    // the socket readable again.
                    all = Some(n);
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                Ok(n)
            });
            match all.map_or(got, Ok) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Err(e) if self.is_told(&e) => self.take_told(&mut into.told),
                Ok(n) => {
                    into.note(n);
                    return Poll::Ready(Ok(n));
                }
                Err(e) => return Poll::Ready(Err(e)),
            }
        }
    }

    /// Whether an error of a call came from an ICMP message about another packet, so that the call
    /// is to be made again. What the messages say is kept.
    fn is_told(&self, error: &io::Error) -> bool {
        let errors = self.errors.as_ref().filter(|_| quoted::may_be_told(error));
        errors.is_some_and(ErrorQueue::drain)
    }

    /// Sends a batch, or waits until the socket is writable. Fails with the number
    /// of datagrams that the kernel refused and the first error. They are not sent
    /// again; the protocol sees them as lost. `card`: the interface by which it leaves, where the
    /// kernel would choose another one.
    pub(crate) fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        batch: &mut Batch,
        card: Option<u32>,
    ) -> Poll<Result<(), Refused>> {
        if let Some(card) = card
            && batch.destination.is_ipv6()
            && let Some(socket) = self.of_card(card)
        {
            return socket.poll_send(cx, batch, None);
        }
        if !batch.may_fragment {
            return self.poll_send_batch(cx, batch, card);
        }
        self.let_fragment(true);
        let sent = self.poll_send_batch(cx, batch, card);
        self.let_fragment(false);
        sent
    }

    /// Whether what leaves now may be fragmented.
    fn let_fragment(&self, may: bool) {
        let kind = match (self.local().is_ipv4(), !self.place.raw) {
            (true, _) => fragment::Kind::Ipv4,
            (false, true) => fragment::Kind::Ipv6InUdp,
            (false, false) => fragment::Kind::Ipv6Raw,
        };
        if let Err(error) = fragment::allow(&*self.io, kind, may) {
            let address = self.local();
            tracing::debug!(%address, may, %error, "cannot change whether packets are fragmented");
        }
    }

    fn poll_send_batch(
        &mut self,
        cx: &mut Context<'_>,
        batch: &mut Batch,
        card: Option<u32>,
    ) -> Poll<Result<(), Refused>> {
        let count = batch.datagrams();
        let to = (batch.destination, card);
        if batch.sent == 0 && count <= self.segments {
            match ready!(self.poll_send_bytes(cx, to, batch.segment, &batch.bytes)) {
                Ok(()) => return Poll::Ready(Ok(())),
                Err(error) if count > 1 && may_be_segmentation(&error) => batch.in_doubt = true,
                Err(error) => {
                    let datagrams = count as u64;
                    return Poll::Ready(Err(Refused { error, datagrams }));
                }
            }
        }
        while batch.sent < batch.bytes.len() {
            let end = batch.bytes.len().min(batch.sent + batch.segment);
            let datagram = &batch.bytes[batch.sent..end];
            let sent = self.poll_send_bytes(cx, to, datagram.len(), datagram);
            match ready!(sent) {
                Ok(()) => {}
                Err(error) => match &mut batch.refused {
                    Some(refused) => refused.datagrams += 1,
                    none => {
                        *none = Some(Refused {
                            error,
                            datagrams: 1,
                        })
                    }
                },
            }
            batch.sent = end;
        }
        match batch.refused.take() {
            Some(refused) => Poll::Ready(Err(refused)),
            None => {
                if batch.in_doubt && self.segments > 1 {
                    // Sent one by one without error: segmentation was the cause.
                    let address = self.local();
                    tracing::info!(%address, "no segmentation offload here");
                    self.segments = 1;
                }
                Poll::Ready(Ok(()))
            }
        }
    }

    fn poll_send_bytes(
        &self,
        cx: &mut Context<'_>,
        (destination, card): (SocketAddr, Option<u32>),
        segment: usize,
        contents: &[u8],
    ) -> Poll<io::Result<()>> {
        let transmit = quinn_udp::Transmit {
            destination,
            ecn: None,
            contents,
            segment_size: Some(segment),
            src_ip: None,
        };
        let mut tries = 0;
        loop {
            let sent = self.io.try_io(Interest::WRITABLE, || match card {
                Some(card) => by_card::send(&*self.io, card, destination, (segment, contents)),
                None => self.state.try_send(UdpSockRef::from(&*self.io), &transmit),
            });
            match sent {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    ready!(self.io.poll_send_ready(cx))?;
                }
                // Strangers can make such messages, so not for ever.
                Err(e) if tries < TRIES && self.is_told(&e) => tries += 1,
                other => return Poll::Ready(other),
            }
        }
    }
}

/// Whether an error may mean that the kernel or the card cannot segment:
/// EINVAL and, from drivers, EIO.
fn may_be_segmentation(error: &io::Error) -> bool {
    const EIO: i32 = 5;
    error.kind() == io::ErrorKind::InvalidInput || error.raw_os_error() == Some(EIO)
}

/// Whether a socket has an address and port alone, or beside another one of this process that
/// shares its port.
enum Share {
    No,
    /// It gets what this peer sends.
    Peer(SocketAddr),
    /// It gets what comes by this card, and sends by it.
    Card(String),
    /// It gets what is for its worker.
    Workers,
}

/// A socket that is bound to an address.
fn bound(address: SocketAddr, share: &Share) -> io::Result<(std::net::UdpSocket, UdpSocketState)> {
    let raw = NewSocket::new(
        Domain::for_address(address),
        Type::DGRAM,
        Some(Protocol::UDP),
    )?;
    if address.is_ipv6() {
        raw.set_only_v6(true)?;
    }
    if !matches!(share, Share::No) {
        raw.set_reuse_port(true)?;
    }
    if let Share::Card(name) = share {
        raw.bind_device(Some(name.as_bytes()))?;
    }
    raw.bind(&address.into())?;
    if let Share::Peer(peer) = share {
        raw.connect(&(*peer).into())?;
    }
    let std = std::net::UdpSocket::from(raw);
    let state = UdpSocketState::new(UdpSockRef::from(&std))?;
    enlarge(&std, address);
    Ok((std, state))
}

/// Larger buffers are optional: with less, bursts are lost and retransmitted.
fn enlarge(socket: &std::net::UdpSocket, address: SocketAddr) {
    let sock = SockRef::from(socket);
    if let Err(error) = sock
        .set_recv_buffer_size(SOCKET_BUFFER)
        .and_then(|()| sock.set_send_buffer_size(SOCKET_BUFFER))
    {
        tracing::debug!(%address, %error, "the socket buffers keep their default size");
    }
}

#[cfg(test)]
#[path = "socket_tests.rs"]
mod tests;
