//! A stranger's toolbox: a raw SCTP peer over UDP that does what it should not.
//!
//! Each attack is a word of the command line, and all run against any receiver. The last line
//! of output is one of JSON. The packets are built with `byway-wire` and never by the core, so
//! that no rule of the protocol stands in the way. Where the misuse is above SCTP (TLS, the frames of a
//! tunnel), the associations are those of the library.
#![forbid(unsafe_code)]

mod amplify;
mod asconf;
mod association;
mod file;
mod flood;
mod hold;
mod packets;
mod peer;
mod tls;
mod tunnel;

use anyhow::{Result, ensure};
use clap::{Parser, Subcommand};
use serde_json::{Value, json};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// Who is attacked.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Target {
    /// Address and UDP port of the receiver
    #[arg(long, required = true, value_delimiter = ',')]
    to: Vec<SocketAddr>,
    /// Its SCTP port
    #[arg(long, default_value_t = 5001)]
    sctp_port: u16,
}

/// Attack a running SCTP receiver over UDP (RFC 6951) with packets that no honest peer sends
///
/// Use it only against receivers of your own, best in a network namespace or on loopback.
#[derive(Parser)]
#[command(name = "byway-hostile", version)]
struct Arguments {
    #[command(subcommand)]
    attack: Attack,
}

#[derive(Subcommand)]
enum Attack {
    /// Packets of one kind at a stated rate, from many addresses and ports
    Flood {
        #[arg(value_enum)]
        kind: flood::Flood,
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        pace: flood::Pace,
    },
    /// Set associations up and misuse them, many at once
    Hold {
        #[arg(value_enum)]
        what: hold::Misuse,
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        crowd: hold::Crowd,
    },
    /// Count the bytes that come back for each kind of packet from an unverified address
    Amplify {
        #[command(flatten)]
        target: Target,
        /// First source address; each kind of packet has one of its own
        #[arg(long, default_value = "127.99.0.1")]
        from: IpAddr,
    },
    /// List victims as addresses of the peer, and count what they get (RFC 5062)
    Camp {
        #[command(flatten)]
        target: Target,
        /// Address of the attacker; the victims' are counted up from it
        #[arg(long, default_value = "127.111.0.1")]
        from: IpAddr,
        /// Victims
        #[arg(long, default_value_t = 31)]
        victims: u8,
        /// Seconds
        #[arg(long, default_value_t = 75.0)]
        seconds: f64,
    },
    /// Change the addresses of an association without end (RFC 5061)
    Asconf {
        #[arg(value_enum)]
        change: asconf::Change,
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        pace: asconf::Pace,
    },
    /// Ask to be let in by a ticket, in a way that must be refused
    Tls {
        #[arg(value_enum)]
        way: tls::Way,
        /// The ticket that the other side has printed
        #[arg(long)]
        ticket: String,
        #[command(flatten)]
        many: association::Many,
    },
    /// Frames that no `byway forward` sends, to a `byway serve --unprotected`
    Tunnel {
        #[arg(value_enum)]
        frames: tunnel::Frames,
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        many: association::Many,
    },
    /// Receive nothing: an unrelated socket that a flood can be sent to for comparison
    Sink {
        /// Its address
        #[arg(long)]
        bind: SocketAddr,
        /// Seconds
        #[arg(long, default_value_t = 10.0)]
        seconds: f64,
    },
    /// Set up associations one after the other, and count how many a second
    Handshakes {
        #[command(flatten)]
        target: Target,
        /// Address that they come from
        #[arg(long, default_value = "127.122.0.1")]
        from: IpAddr,
        /// Seconds
        #[arg(long, default_value_t = 5.0)]
        seconds: f64,
    },
}

fn main() -> Result<()> {
    // Many peers need many sockets.
    let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
    let limit = rustix::process::Rlimit {
        current: most,
        maximum: most,
    };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit)?;
    let line = match Arguments::parse().attack {
        Attack::Flood { kind, target, pace } => flood::run(kind, &target, &pace)?,
        Attack::Hold {
            what,
            target,
            crowd,
        } => hold::run(what, &target, &crowd)?,
        Attack::Amplify { target, from } => amplify::run(&target, from)?,
        Attack::Camp {
            target,
            from,
            victims,
            seconds,
        } => amplify::victims(&target, from, victims, seconds)?,
        Attack::Asconf {
            change,
            target,
            pace,
        } => asconf::run(change, &target, &pace)?,
        Attack::Tls { way, ticket, many } => tls::run(way, &ticket, &many)?,
        Attack::Tunnel {
            frames,
            target,
            many,
        } => tunnel::run(frames, &target, &many)?,
        Attack::Sink { bind, seconds } => {
            let _socket = UdpSocket::bind(bind)?;
            std::thread::sleep(Duration::try_from_secs_f64(seconds)?);
            json!({ "bound": bind.to_string() })
        }
        Attack::Handshakes {
            target,
            from,
            seconds,
        } => handshakes(&target, from, seconds)?,
    };
    println!("{line}");
    Ok(())
}

/// Sets up and aborts associations, one after the other.
fn handshakes(target: &Target, from: IpAddr, seconds: f64) -> Result<Value> {
    use chacha20::rand_core::SeedableRng;
    let mut rng = chacha20::ChaCha8Rng::from_seed([17; 32]);
    let time = Duration::try_from_secs_f64(seconds)?;
    let socket = UdpSocket::bind((from, 0))?;
    let (begun, mut done) = (Instant::now(), 0_u16);
    while begun.elapsed() < time {
        let wish = peer::Wish {
            sctp_port: 1024 + done % 60_000,
            ..peer::Wish::default()
        };
        socket.set_nonblocking(false)?;
        let mut peer = peer::Peer::connect(socket.try_clone()?, target, &wish, &mut rng)?;
        ensure!(peer.live(None)?, "it was aborted at once");
        peer.send(|p| p.abort(false, |_| {}))?;
        done = done.wrapping_add(1);
    }
    let seconds = begun.elapsed().as_secs_f64();
    Ok(json!({ "done": done, "seconds": seconds, "per_second": f64::from(done) / seconds }))
}
