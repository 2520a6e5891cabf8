//! Bytes out for bytes in: what one packet from an unverified address brings back.

use crate::packets::{self, MOST};
use crate::{Target, flood::counted, peer};
use anyhow::Result;
use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng;
use serde_json::{Value, json};
use std::net::{IpAddr, UdpSocket};
use std::time::{Duration, Instant};

/// Times that each packet is sent, from a socket of its own.
const TIMES: usize = 20;

/// How long answers are waited for after the last packet of a kind, so that repeats of an answer are counted, too.
const WAIT: Duration = Duration::from_millis(300);

/// The packets, by name. Their sizes are told with the answers.
fn requests(target: &Target, rng: &mut ChaCha8Rng) -> Vec<(&'static str, Vec<u8>)> {
    let ports = (5000, target.sctp_port);
    let addresses = |w: &mut byway_wire::ParamWriter<'_>| {
        for n in 0..32_u8 {
            w.address([127, 77, 0, n + 1].into());
        }
    };
    vec![
        ("INIT", packets::init(ports, rng, |_| {})),
        (
            "INIT with 32 addresses",
            packets::init(ports, rng, addresses),
        ),
        (
            "INIT with 325 unknown parameters",
            packets::init(ports, rng, packets::unknown_parameters),
        ),
        (
            "INIT with an unknown parameter of 1.3 KB",
            packets::init(ports, rng, packets::long_unknown_parameter),
        ),
        (
            "INIT with AUTH",
            packets::init(ports, rng, |w| {
                w.random(&[7; 32]);
                w.chunk_list(&[0xC1, 0x80]);
                w.hmac_algo(&[3, 1]);
                w.supported_extensions(&[0xC1, 0x80, 0x0F]);
            }),
        ),
        ("DATA out of the blue", packets::out_of_the_blue(ports, rng)),
        ("HEARTBEAT out of the blue", packets::heartbeat(ports, rng)),
        (
            "unknown chunk out of the blue",
            packets::unknown_chunk(ports, rng),
        ),
        ("forged COOKIE ECHO", packets::forged_cookie(ports, rng)),
        (
            "SHUTDOWN ACK out of the blue",
            packets::packet(ports, 7, |p| p.shutdown_ack()),
        ),
        (
            "INIT to a port where nobody listens",
            packets::init((5000, target.sctp_port.wrapping_add(1)), rng, |_| {}),
        ),
    ]
}

/// Sends each request from fresh sockets and counts what comes back, in bytes of UDP payload.
pub(crate) fn run(target: &Target, from: IpAddr) -> Result<Value> {
    let mut rng = ChaCha8Rng::from_seed([9; 32]);
    let mut rows = Vec::new();
    let mut worst = 0.0_f64;
    for (n, (name, bytes)) in requests(target, &mut rng).into_iter().enumerate() {
        debug_assert!(bytes.len() <= MOST);
        let ip = counted(from, n as u32).unwrap_or(from);
        let mut sockets = Vec::new();
        for _ in 0..TIMES {
            let socket = UdpSocket::bind((ip, 0))?;
            socket.send_to(&bytes, target.to[0])?;
            sockets.push(socket);
        }
        std::thread::sleep(WAIT);
        let (mut answers, mut out, mut most) = (0, 0, 0);
        for socket in &sockets {
            let got = waiting(socket)?;
            answers += got.0;
            out += got.1;
            most = most.max(got.1);
        }
        let ratio = out as f64 / (TIMES * bytes.len()) as f64;
        worst = worst.max(most as f64 / bytes.len() as f64);
        rows.push(json!({
            "request": name,
            "bytes_in": bytes.len(),
            "answers": answers as f64 / TIMES as f64,
            "bytes_out": out as f64 / TIMES as f64,
            "ratio": ratio,
        }));
    }
    Ok(json!({ "rows": rows, "worst": worst }))
}

/// How many packets and bytes wait at a socket.
fn waiting(socket: &UdpSocket) -> Result<(usize, usize)> {
    socket.set_nonblocking(true)?;
    let mut buffer = [0; 65_536];
    let (mut packets, mut bytes) = (0, 0);
    // A port that is closed at the other side is an error of the socket.
    while let Ok(read) = socket.recv(&mut buffer) {
        packets += 1;
        bytes += read;
    }
    Ok((packets, bytes))
}

/// Lists victims in an INIT, and counts what they get: RFC 5062 sections 2 and 5.
pub(crate) fn victims(target: &Target, from: IpAddr, count_of: u8, seconds: f64) -> Result<Value> {
    let mut rng = ChaCha8Rng::from_seed([11; 32]);
    let socket = UdpSocket::bind((from, 0))?;
    let port = socket.local_addr()?.port();
    let victims: Vec<IpAddr> = (0..u32::from(count_of))
        .filter_map(|n| counted(from, n + 1))
        .collect();
    // A victim's packets go to the UDP port of the attacker.
    let sockets: Vec<UdpSocket> = victims
        .iter()
        .map(|&ip| UdpSocket::bind((ip, port)))
        .collect::<Result<_, _>>()?;
    let wish = peer::Wish {
        listed: victims,
        ..peer::Wish::default()
    };
    let mut attacker = peer::Peer::connect(socket, target, &wish, &mut rng)?;
    let until = Instant::now() + Duration::try_from_secs_f64(seconds)?;
    let mut alive = true;
    while Instant::now() < until {
        // The attacker keeps the association alive for as long as it is let.
        alive = alive && attacker.live(Some(1 << 20))?;
        std::thread::sleep(Duration::from_millis(50));
    }
    let (mut packets, mut bytes, mut most) = (0, 0, 0);
    for socket in &sockets {
        let got = waiting(socket)?;
        packets += got.0;
        bytes += got.1;
        most = most.max(got.0);
    }
    Ok(json!({
        "listed": sockets.len(),
        "seconds": seconds,
        "packets": packets,
        "bytes": bytes,
        "most_to_one": most,
        "bytes_sent": attacker.bytes_sent(),
        "alive": alive,
        "reason": attacker.ended.as_ref().map(peer::End::text),
    }))
}
