//! `bare-recv` and `bare-send`: what UDP sockets carry without a protocol. The same calls as the
//! driver of `byway` (segmentation offload, through quinn-udp) and a CRC32c of each datagram at
//! both ends. Nothing is lost: the receiver says now and then how much has come, and the sender
//! keeps to what the receiver's socket holds.

use crate::figures::cpu_seconds;
use anyhow::{Context, Result, ensure};
use byway_wire::crc32c::checksum;
use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use serde_json::json;
use socket2::SockRef;
use std::io::IoSliceMut;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::io::Interest;
use tokio::net::UdpSocket;

/// Of a datagram: an IP packet of 1500 bytes.
const PAYLOAD: usize = 1472;
/// CRC32c, and the number of the datagram.
const HEADER: usize = 4 + 8;
/// Datagrams of a call: those of a batch of `byway`.
const DATAGRAMS: usize = 65_000 / PAYLOAD;
/// Requested size of the socket buffers in bytes, as `byway` requests it.
const BUFFER: usize = 4 << 20;
/// Longer than any machine is busy: something was lost.
const PATIENCE: Duration = Duration::from_secs(10);

/// Receive what bare-send sends
#[derive(clap::Args)]
pub(crate) struct Recv {
    /// Local address with its UDP port
    #[arg(long)]
    bind: SocketAddr,
    /// Bytes that will come
    #[arg(long)]
    bytes: u64,
}

/// Send datagrams as fast as the receiver takes them
#[derive(clap::Args)]
pub(crate) struct Send {
    /// Address of bare-recv with its UDP port
    #[arg(long)]
    to: SocketAddr,
    /// Bytes to send
    #[arg(long)]
    bytes: u64,
}

/// A socket as `byway` opens it.
struct Socket {
    io: UdpSocket,
    state: UdpSocketState,
}

impl Socket {
    fn bind(address: SocketAddr) -> Result<Socket> {
        let std = std::net::UdpSocket::bind(address)?;
        let state = UdpSocketState::new(UdpSockRef::from(&std))?;
        let sock = SockRef::from(&std);
        sock.set_recv_buffer_size(BUFFER)?;
        sock.set_send_buffer_size(BUFFER)?;
        Ok(Socket {
            io: UdpSocket::from_std(std)?,
            state,
        })
    }

    async fn send(&self, to: SocketAddr, segment: usize, contents: &[u8]) -> Result<()> {
        let transmit = Transmit {
            destination: to,
            ecn: None,
            contents,
            segment_size: Some(segment),
            src_ip: None,
        };
        let send = || self.state.try_send(UdpSockRef::from(&self.io), &transmit);
        Ok(self.io.async_io(Interest::WRITABLE, send).await?)
    }
}

/// The datagrams of a run, rounded up to whole calls.
fn datagrams(bytes: u64) -> u64 {
    bytes.div_ceil((PAYLOAD * DATAGRAMS) as u64) * DATAGRAMS as u64
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}

pub(crate) fn recv(arguments: Recv) -> Result<()> {
    runtime()?.block_on(receive(arguments))
}

async fn receive(arguments: Recv) -> Result<()> {
    let socket = Socket::bind(arguments.bind)?;
    // The kernel reports twice what it lets the bytes of datagrams take.
    let room = SockRef::from(&socket.io).recv_buffer_size()? as u64 / 4;
    let mut storage = vec![0; BATCH_SIZE << 16];
    let mut metas = [RecvMeta::default(); BATCH_SIZE];
    let expected = datagrams(arguments.bytes);
    let (mut count, mut told) = (0, None);
    let (mut begin, mut cpu) = (Instant::now(), cpu_seconds());
    while count < expected {
        let mut chunks = storage.chunks_mut(1 << 16);
        let mut slices: [IoSliceMut<'_>; BATCH_SIZE] =
            std::array::from_fn(|_| IoSliceMut::new(chunks.next().unwrap_or_default()));
        let receive = || {
            socket
                .state
                .recv(UdpSockRef::from(&socket.io), &mut slices, &mut metas)
        };
        let got = socket.io.async_io(Interest::READABLE, receive);
        let n = tokio::time::timeout(PATIENCE, got)
            .await
            .context("datagrams were lost")??;
        if told.is_none() {
            (begin, cpu) = (Instant::now(), cpu_seconds());
        }
        for (meta, buffer) in metas[..n].iter().zip(storage.chunks(1 << 16)) {
            for datagram in buffer[..meta.len].chunks(meta.stride.max(1)) {
                check(datagram, count)?;
                count += 1;
            }
        }
        let unknown = (count - told.unwrap_or(0)) * PAYLOAD as u64;
        if told.is_none() || unknown >= room / 8 || count == expected {
            let mut credit = [0; 16];
            credit[..8].copy_from_slice(&(count * PAYLOAD as u64).to_be_bytes());
            credit[8..].copy_from_slice(&room.to_be_bytes());
            socket.send(metas[0].addr, credit.len(), &credit).await?;
            told = Some(count);
        }
    }
    let (bytes, seconds) = (count * PAYLOAD as u64, begin.elapsed().as_secs_f64());
    println!(
        "{}",
        json!({
            "bytes": bytes,
            "seconds": seconds,
            "mb_per_s": bytes as f64 / 1e6 / seconds,
            "cpu_seconds": cpu_seconds() - cpu,
        })
    );
    Ok(())
}

/// Gives a datagram its number and its checksum.
fn number(datagram: &mut [u8], number: u64) {
    datagram[4..HEADER].copy_from_slice(&number.to_be_bytes());
    let sum = checksum(&datagram[4..]);
    datagram[..4].copy_from_slice(&sum.to_be_bytes());
}

/// Whether it is the datagram with this number, undamaged.
fn check(datagram: &[u8], number: u64) -> Result<()> {
    ensure!(datagram.len() == PAYLOAD, "a datagram of another length");
    let (sum, rest) = datagram.split_at(4);
    ensure!(
        sum == checksum(rest).to_be_bytes(),
        "a datagram was damaged"
    );
    ensure!(
        rest[..8] == number.to_be_bytes(),
        "datagram {number} was lost"
    );
    Ok(())
}

pub(crate) fn send(arguments: Send) -> Result<()> {
    runtime()?.block_on(transmit(arguments))
}

async fn transmit(arguments: Send) -> Result<()> {
    let socket = Socket::bind(SocketAddr::new(arguments.to.ip(), 0))?;
    ensure!(
        socket.state.max_gso_segments() >= DATAGRAMS,
        "this kernel has no segmentation offload"
    );
    let mut batch = vec![0x5a; PAYLOAD * DATAGRAMS];
    let (count, mut sent) = (datagrams(arguments.bytes), 0);
    // The first call makes the receiver say how much its socket holds.
    let (mut taken, mut room) = (0, batch.len() as u64);
    while sent < count || taken < count * PAYLOAD as u64 {
        let after = (sent + DATAGRAMS as u64) * PAYLOAD as u64;
        if sent < count && after - taken <= room {
            for datagram in batch.chunks_mut(PAYLOAD) {
                number(datagram, sent);
                sent += 1;
            }
            socket.send(arguments.to, PAYLOAD, &batch).await?;
            continue;
        }
        let mut credit = [0; 16];
        let got = socket.io.recv(&mut credit);
        let n = tokio::time::timeout(PATIENCE, got)
            .await
            .context("datagrams were lost")??;
        ensure!(n == credit.len(), "a credit of {n} bytes");
        let (first, second) = credit.split_at(8);
        taken = u64::from_be_bytes(first.try_into()?);
        room = u64::from_be_bytes(second.try_into()?).max(batch.len() as u64);
    }
    println!("{}", json!({ "bytes": count * PAYLOAD as u64 }));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lost_or_damaged_is_seen() {
        let mut datagram = vec![7; PAYLOAD];
        number(&mut datagram, 3);
        assert!(check(&datagram, 3).is_ok());
        for at in [0, 4, HEADER, PAYLOAD - 1] {
            let mut damaged = datagram.clone();
            damaged[at] ^= 1;
            assert!(check(&damaged, 3).is_err(), "byte {at}");
        }
        assert!(check(&datagram, 2).is_err());
        assert!(check(&datagram[..PAYLOAD - 1], 3).is_err());
    }
}
