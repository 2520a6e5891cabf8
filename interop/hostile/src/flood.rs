//! Floods: packets of one kind at a stated rate, from many addresses and ports.

use crate::Target;
use crate::packets;
use anyhow::{Context, Result, ensure};
use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng;
use rustix::net::{MMsgHdr, SendAncillaryBuffer, SendFlags, sendmmsg};
use serde_json::{Value, json};
use socket2::SockRef;
use std::io::IoSlice;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// Packets that one call gives to the kernel.
const BATCH: usize = 32;
/// Different packets of a flood; they come round again.
const DIFFERENT: usize = 4096;

/// What a flood consists of.
#[derive(Copy, Clone, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Flood {
    /// INITs with random tags
    Init,
    /// DATA with tags that nobody gave out
    Ootb,
    /// Chunks of an unknown type that ask to be reported
    Unknown,
    /// HEARTBEATs with tags that nobody gave out
    Heartbeat,
    /// COOKIE ECHOs with random cookies
    Cookie,
    /// DATA of 1,400 bytes with a wrong CRC32c
    Checksum,
    /// Random bytes
    Noise,
}

impl Flood {
    fn packet(self, ports: (u16, u16), rng: &mut ChaCha8Rng) -> Vec<u8> {
        match self {
            Flood::Init => packets::init(ports, rng, |_| {}),
            Flood::Ootb => packets::out_of_the_blue(ports, rng),
            Flood::Unknown => packets::unknown_chunk(ports, rng),
            Flood::Heartbeat => packets::heartbeat(ports, rng),
            Flood::Cookie => packets::forged_cookie(ports, rng),
            Flood::Checksum => packets::wrong_checksum(ports, rng),
            Flood::Noise => packets::noise(rng),
        }
    }
}

/// Where a flood comes from, and how fast.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Pace {
    /// First source address; the following ones are counted up from it. On loopback any of
    /// 127.0.0.0/8 will do; elsewhere `ip route add local NET dev lo` lends a network
    #[arg(long, default_value = "127.66.0.1")]
    from: IpAddr,
    /// Source addresses
    #[arg(long, default_value_t = 64)]
    sources: u32,
    /// UDP ports of each source address
    #[arg(long, default_value_t = 4)]
    ports: u32,
    /// Packets a second; 0 for as many as one processor can send
    #[arg(long, default_value_t = 150_000)]
    rate: u64,
    /// Seconds
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
}

/// Sends the flood and reports what left.
pub(crate) fn run(kind: Flood, target: &Target, pace: &Pace) -> Result<Value> {
    let mut rng = ChaCha8Rng::from_seed([7; 32]);
    let all: Vec<Vec<u8>> = (0..DIFFERENT)
        .map(|n| {
            let port = 1024 + (n as u16 % 60_000);
            kind.packet((port, target.sctp_port), &mut rng)
        })
        .collect();
    let sockets = sockets(target.to[0], pace)?;
    let time = Duration::try_from_secs_f64(pace.seconds)?;
    let begun = Instant::now();
    let (mut sent, mut refused, mut round) = (0_u64, 0_u64, 0_usize);
    while begun.elapsed() < time {
        if pace.rate > 0 {
            // Behind time it sends without a pause, but does not make up for more than 10 ms.
            let due = begun.elapsed().as_secs_f64() * pace.rate as f64;
            let ahead = sent as f64 - due;
            if ahead > 0.0 {
                std::thread::sleep(Duration::from_secs_f64(ahead / pace.rate as f64));
            }
        }
        let first = round * BATCH % DIFFERENT;
        let batch = &all[first..first + BATCH];
        match send_batch(&sockets[round % sockets.len()], batch) {
            Ok(n) => sent += n as u64,
            // An ICMP message about an earlier packet, or a full queue.
            Err(_) => refused += BATCH as u64,
        }
        round += 1;
    }
    let seconds = begun.elapsed().as_secs_f64();
    Ok(json!({
        "sent": sent,
        "refused": refused,
        "seconds": seconds,
        "packets_per_second": sent as f64 / seconds,
        "bytes_each": all.iter().map(Vec::len).sum::<usize>() / DIFFERENT,
        "sources": pace.sources,
        "sockets": sockets.len(),
    }))
}

/// The sockets of all sources, connected to the target.
fn sockets(to: SocketAddr, pace: &Pace) -> Result<Vec<UdpSocket>> {
    let mut sockets = Vec::new();
    for n in 0..pace.sources {
        let ip = counted(pace.from, n).context("--sources: no such address")?;
        for _ in 0..pace.ports {
            let socket = UdpSocket::bind((ip, 0)).with_context(|| format!("cannot bind {ip}"))?;
            // Answers are not read. In a small buffer they cost least.
            SockRef::from(&socket).set_recv_buffer_size(1)?;
            socket.connect(to)?;
            socket.set_nonblocking(true)?;
            sockets.push(socket);
        }
    }
    ensure!(!sockets.is_empty(), "--sources and --ports must be above 0");
    Ok(sockets)
}

/// The address `n` behind this one.
pub(crate) fn counted(ip: IpAddr, n: u32) -> Option<IpAddr> {
    Some(match ip {
        IpAddr::V4(a) => IpAddr::V4(u32::from(a).checked_add(n)?.into()),
        IpAddr::V6(a) => IpAddr::V6(u128::from(a).checked_add(n.into())?.into()),
    })
}

/// Sends packets with one call, each as a datagram of its own.
fn send_batch(socket: &UdpSocket, packets: &[Vec<u8>]) -> rustix::io::Result<usize> {
    let slices: [[IoSlice<'_>; 1]; BATCH] =
        std::array::from_fn(|n| [IoSlice::new(&packets[n % packets.len()])]);
    let mut control: [SendAncillaryBuffer<'_, '_, '_>; BATCH] =
        std::array::from_fn(|_| SendAncillaryBuffer::default());
    let mut slots = slices.iter().zip(control.iter_mut());
    let mut headers: [MMsgHdr<'_>; BATCH] = std::array::from_fn(|_| {
        let (slice, control) = slots.next().expect("there is one for each");
        MMsgHdr::new(slice, control)
    });
    sendmmsg(socket, &mut headers[..packets.len()], SendFlags::empty())
}
