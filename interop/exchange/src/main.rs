//! The other end of the peers in `interop`: messages of many kinds both ways at once.
//!
//! ```text
//! cargo run -p byway-exchange -- accept --bind 127.0.0.1:9899
//! cargo run -p byway-exchange -- connect --bind 127.0.0.1:0 --to 127.0.0.1:9899
//! ```
//!
//! The side that connects ends the association, by `--end abort` or gracefully. Each prints what it
//! sent and received on each stream, with a SHA-256, the longest time (ms) in which nothing came, and
//! how the association ended. When the association is lost or the peer restarts, another exchange
//! follows, up to `--again` times.
//! A run of the exchange has a number, which its messages carry as their payload protocol identifier.
//!
//! Each end's bytes follow from the run, from `--seed` and from the role, so that data that comes to the
//! wrong association is seen. A side that serves several (`--at-once`) adds their number to its seed, and
//! prints `association N` before the lines of each.

use byway::{
    Association, Closed, Encapsulation, Endpoint, EndpointOptions, LossReason, Message, Received,
    StreamScheduler,
};
use byway_core::config::{SharedKey, Wildcard};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tokio::task::{JoinSet, LocalSet};

/// The stream of the last message of each side.
const CONTROL: u16 = 43;
const USAGE: &str = "usage: exchange connect --to IP:PORT[,...] OPTIONS | exchange accept OPTIONS
  --bind IP:PORT[,...]   UDP ports, 0 without UDP; a wildcard follows the host
  --encapsulation udp|none|both   (udp)
  --port N --peer-port N   SCTP ports (5000)
  --end graceful|abort   of the side that connects
  --run N   number of the first run (1)
  --seed N   what this end sends, at most 65535; clients side by side need unlike ones (0)
  --again N   other associations that may follow (0)
  --at-once N   so many associations side by side, of the side that accepts (1)
  --wildcard always|private|never   when changes of addresses name the source of the packet (private)
  --prefer IP   asks the peer to send to this address, once it is one of this host
  --auth-key SECRET   a shared key with identifier 1
  --plain yes   no Supported Address Types in the INIT
  --interleave yes   offers I-DATA; streams share the paths fairly (RFC 8260)
  --longest BYTES   messages are cut to this length
  --hold FILE   the last messages wait until there is such a file
  --limit SECONDS   (60)";

/// What a stream carries.
struct Lane {
    stream: u16,
    messages: usize,
    unordered: bool,
    size: fn(u16, usize) -> usize,
}

fn lane(stream: u16, messages: usize, size: fn(u16, usize) -> usize) -> Lane {
    Lane {
        stream,
        messages,
        unordered: stream == 41,
        size,
    }
}

/// Bulk, many streams, unordered messages, large ones: as in `interop/common/exchange.h`.
fn lanes() -> Vec<Lane> {
    let mut all = vec![lane(0, 200, |_, _| 16384)];
    all.extend((1..=40).map(|s| lane(s, 10, |s, i| 1 + (usize::from(s) * 37 + i * 1013) % 3000)));
    all.push(lane(41, 200, |_, _| 500));
    all.push(lane(42, 4, |_, i| 250_000 + i));
    all
}

/// The sums of a stream's messages.
#[derive(Default)]
struct Sum {
    each: Vec<[u8; 32]>,
    bytes: usize,
}

impl Sum {
    fn add(&mut self, message: &[u8]) {
        let length = (message.len() as u32).to_be_bytes();
        let one = Sha256::new().chain_update(length).chain_update(message);
        self.each.push(one.finalize().into());
        self.bytes += message.len();
    }

    /// Of unordered messages the sorted sums count.
    fn line(mut self, word: &str, lane: &Lane) -> String {
        if lane.unordered {
            self.each.sort_unstable();
        }
        let all = Sha256::digest(self.each.concat());
        let hex: String = all.iter().map(|b| format!("{b:02x}")).collect();
        let (stream, messages) = (lane.stream, self.each.len());
        format!("{word} {stream} {messages} {} {hex}", self.bytes)
    }
}

/// What the command line says.
#[derive(Clone)]
struct Options {
    connects: bool,
    endpoint: EndpointOptions,
    to: Vec<SocketAddr>,
    peer_port: u16,
    abort: bool,
    run: u32,
    seed: u32,
    again: u32,
    at_once: usize,
    prefer: Option<IpAddr>,
    longest: usize,
    hold: Option<PathBuf>,
    limit: Duration,
}

fn addresses(text: &str) -> Result<Vec<SocketAddr>, Box<dyn Error>> {
    text.split(',').map(|a| Ok(a.parse()?)).collect()
}

impl Options {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Options, Box<dyn Error>> {
        let connects = match words.next().as_deref() {
            Some("connect") => true,
            Some("accept") => false,
            _ => return Err(USAGE.into()),
        };
        let mut options = Options {
            connects,
            endpoint: EndpointOptions::new([]).sctp_port(5000),
            to: Vec::new(),
            peer_port: 5000,
            abort: false,
            run: 1,
            seed: 0,
            again: 0,
            at_once: 1,
            prefer: None,
            longest: usize::MAX,
            hold: None,
            limit: Duration::from_secs(60),
        };
        options.endpoint.config.setup.outbound_streams = CONTROL + 1;
        while let Some(name) = words.next() {
            let value = words.next().ok_or(format!("nothing after {name}"))?;
            options.take(&name, &value)?;
        }
        if options.endpoint.local.is_empty() || connects == options.to.is_empty() {
            return Err(USAGE.into());
        }
        Ok(options)
    }

    fn take(&mut self, name: &str, value: &str) -> Result<(), Box<dyn Error>> {
        match name {
            "--bind" => self.endpoint.local = addresses(value)?,
            "--to" => self.to = addresses(value)?,
            "--encapsulation" => {
                self.endpoint.encapsulation = match value {
                    "udp" => Encapsulation::Udp,
                    "none" => Encapsulation::None,
                    "both" => Encapsulation::Both,
                    _ => return Err(USAGE.into()),
                }
            }
            "--port" => self.endpoint.sctp_port = value.parse()?,
            "--peer-port" => self.peer_port = value.parse()?,
            "--end" => self.abort = value == "abort",
            "--run" => self.run = value.parse()?,
            "--seed" => self.seed = value.parse::<u16>()?.into(),
            "--again" => self.again = value.parse()?,
            "--at-once" => self.at_once = value.parse()?,
            "--prefer" => self.prefer = Some(value.parse()?),
            "--auth-key" => {
                self.endpoint.config.auth.keys = vec![SharedKey::new(1, value.as_bytes())];
            }
            "--longest" => self.longest = value.parse()?,
            "--hold" => self.hold = Some(value.into()),
            "--limit" => self.limit = Duration::from_secs(value.parse()?),
            "--wildcard" => {
                self.endpoint.config.asconf.wildcard = match value {
                    "always" => Wildcard::Always,
                    "private" => Wildcard::Private,
                    "never" => Wildcard::Never,
                    _ => return Err(USAGE.into()),
                }
            }
            "--plain" => {
                // pion/sctp drops an INIT that lists them.
                self.endpoint.config.setup.supported_address_types = value != "yes";
            }
            "--interleave" => {
                let streams = &mut self.endpoint.config.streams;
                streams.interleaving = value == "yes";
                streams.scheduler = StreamScheduler::FairCapacity;
            }
            _ => return Err(format!("unknown option {name}\n{USAGE}").into()),
        }
        Ok(())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse(std::env::args().skip(1))?;
    tokio::time::timeout(options.limit, work(&options)).await?
}

async fn work(options: &Options) -> Result<(), Box<dyn Error>> {
    let endpoint = Endpoint::bind(options.endpoint.clone())?;
    if !options.connects && options.at_once > 1 {
        LocalSet::new()
            .run_until(side_by_side(&endpoint, options))
            .await?;
        endpoint.close().await;
        return Ok(());
    }
    let mut run = options.run;
    loop {
        let association = if options.connects {
            endpoint.connect(&options.to, options.peer_port).await?
        } else {
            endpoint.accept().await.ok_or("no association")?
        };
        if let Some(own) = options.prefer {
            tokio::spawn(prefer(association.clone(), own));
        }
        match exchange(&association, options, run).await {
            Ok(lines) => {
                lines.iter().for_each(|line| println!("{line}"));
                end(&association, options).await?;
                break;
            }
            Err(problem) if run - options.run == options.again => return Err(problem),
            Err(problem) => {
                eprintln!("run {run}: {problem}");
                let restarted = matches!(
                    association.closed().await,
                    Closed::Lost {
                        reason: LossReason::PeerRestarted,
                        ..
                    }
                );
                println!("{}", if restarted { "restarted" } else { "lost" });
                run += 1;
            }
        }
    }
    endpoint.close().await;
    Ok(())
}

/// Several exchanges at the same time, each with a client of its own.
async fn side_by_side(endpoint: &Endpoint, options: &Options) -> Result<(), Box<dyn Error>> {
    let mut open = JoinSet::new();
    for number in 1..=options.at_once {
        let association = endpoint.accept().await.ok_or("no association")?;
        let mut options = options.clone();
        options.seed += u32::try_from(number)?;
        open.spawn_local(async move {
            let lines = exchange(&association, &options, options.run).await;
            let lines = lines.map_err(|e| e.to_string())?;
            end(&association, &options)
                .await
                .map_err(|e| e.to_string())?;
            Ok::<_, String>((number, lines))
        });
    }
    while let Some(done) = open.join_next().await {
        let (number, lines) = done??;
        println!("association {number}");
        lines.iter().for_each(|line| println!("{line}"));
    }
    Ok(())
}

/// Asks the peer to send to an address of this side as soon as it is one.
async fn prefer(association: Association, own: IpAddr) {
    while association.set_peer_primary(own).is_err() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn end(association: &Association, options: &Options) -> Result<(), Box<dyn Error>> {
    if options.connects && options.abort {
        association.abort(b"as asked")?;
        association.closed().await;
    } else if options.connects {
        association.shutdown().await?;
    } else {
        match association.closed().await {
            Closed::Gracefully => println!("end graceful"),
            other => println!("end aborted: {other}"),
        }
    }
    Ok(())
}

/// Both directions, and a last message each. The side that connects has the first of these, so
/// that nothing of it is under way when it gets the answer and ends the association.
async fn exchange(
    association: &Association,
    options: &Options,
    run: u32,
) -> Result<Vec<String>, Box<dyn Error>> {
    let (sent, (received, answered)) = tokio::try_join!(
        send_all(association, options, run),
        receive_all(association, run)
    )?;
    let mut done = Message::new(CONTROL, "done");
    done.ppid = run;
    if options.connects {
        association.send(done.clone()).await?;
    }
    if !answered {
        let last = next(association, run).await?;
        if last.stream != CONTROL {
            return Err(format!("a message on stream {}, which is complete", last.stream).into());
        }
    }
    if !options.connects {
        association.send(done).await?;
    }
    Ok([sent, received].concat())
}

/// What an earlier run left behind is passed over.
async fn next(association: &Association, run: u32) -> Result<Received, Box<dyn Error>> {
    loop {
        match association.recv().await {
            None => return Err("the association ended too early".into()),
            Some(part) if part.ppid == run => return Ok(part),
            Some(_) => {}
        }
    }
}

/// Where the generator of an end's bytes begins: never at 0, where it would stay.
fn first_state(connects: bool, seed: u32, run: u32) -> u64 {
    u64::from(connects) << 63 | u64::from(seed) << 32 | u64::from(run.max(1))
}

/// The lanes take turns, so that messages of all kinds are under way together.
async fn send_all(
    association: &Association,
    options: &Options,
    run: u32,
) -> Result<Vec<String>, Box<dyn Error>> {
    let lanes = lanes();
    let mut sums: Vec<Sum> = lanes.iter().map(|_| Sum::default()).collect();
    let hold = options.hold.as_deref();
    let mut random = first_state(options.connects, options.seed, run);
    for i in 0..200 {
        while i == 199 && hold.is_some_and(|file| !file.exists()) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        for (lane, sum) in lanes.iter().zip(&mut sums).filter(|(l, _)| i < l.messages) {
            let mut payload = vec![0; (lane.size)(lane.stream, i).min(options.longest)];
            for byte in &mut payload {
                // xorshift64
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                *byte = random as u8;
            }
            sum.add(&payload);
            let mut message = Message::new(lane.stream, payload);
            message.ppid = run;
            message.unordered = lane.unordered;
            association.send(message).await?;
        }
    }
    Ok(lanes
        .iter()
        .zip(sums)
        .map(|(lane, sum)| sum.line("sent", lane))
        .collect())
}

/// The lanes of the peer, and whether its last message, which waits for none of them here, came
/// before their end.
async fn receive_all(
    association: &Association,
    run: u32,
) -> Result<(Vec<String>, bool), Box<dyn Error>> {
    let lanes = lanes();
    let mut sums: BTreeMap<u16, (Sum, Vec<u8>)> = BTreeMap::new();
    let mut answered = false;
    let mut left: usize = lanes.iter().map(|l| l.messages).sum();
    let (mut heard, mut pause) = (None, Duration::ZERO);
    while left > 0 {
        let part = next(association, run).await?;
        let now = Instant::now();
        pause = pause.max(now - heard.replace(now).unwrap_or(now));
        if part.stream == CONTROL {
            answered = true;
            continue;
        }
        let lane = lanes
            .iter()
            .find(|l| l.stream == part.stream)
            .ok_or("a strange stream")?;
        if part.unordered != lane.unordered {
            return Err(format!("stream {}: the U bit is not as it was sent", part.stream).into());
        }
        // Large messages come in parts, those of a stream one after the other.
        let (sum, parts) = sums.entry(part.stream).or_default();
        parts.extend_from_slice(&part.payload);
        if part.last {
            sum.add(parts);
            parts.clear();
            left -= 1;
        }
    }
    let mut lines: Vec<String> = lanes
        .iter()
        .map(|lane| {
            let (sum, _) = sums.remove(&lane.stream).unwrap_or_default();
            sum.line("received", lane)
        })
        .collect();
    lines.push(format!("pause {}", pause.as_millis()));
    Ok((lines, answered))
}
