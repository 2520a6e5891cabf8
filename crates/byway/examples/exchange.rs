//! The other end of `interop/pion`: messages of many kinds both ways at once.
//!
//! ```text
//! cargo run -p byway --example exchange -- accept 127.0.0.1:9899
//! cargo run -p byway --example exchange -- connect 127.0.0.1:0 127.0.0.1:9899 graceful
//! ```
//!
//! The side that connects ends the association, `graceful` or by `abort`; the other one prints
//! how it ended. Each prints what it sent and received on each stream, with a SHA-256.

use byway::{Association, Closed, Config, Endpoint, EndpointOptions, Message};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;

/// pion/sctp has this port alone.
const PORT: u16 = 5000;
/// The stream of the last message of each side.
const CONTROL: u16 = 43;
const USAGE: &str = "usage: exchange connect LOCAL REMOTE graceful|abort | exchange accept LOCAL";

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

/// Bulk, many streams, unordered messages, large ones: as in `interop/pion/main.go`.
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

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let work = async {
        match words[..] {
            ["connect", local, remote, end @ ("graceful" | "abort")] => {
                connect(local, remote, end == "abort").await
            }
            ["accept", local] => accept(local).await,
            _ => Err(USAGE.into()),
        }
    };
    tokio::time::timeout(Duration::from_secs(60), work).await?
}

/// The defaults, with as many streams as the lanes need.
fn bind(local: &str) -> Result<Endpoint, Box<dyn Error>> {
    let mut config = Config::byway();
    config.setup.outbound_streams = CONTROL + 1;
    // pion/sctp drops an INIT that lists them.
    config.setup.supported_address_types = false;
    let options = EndpointOptions::new([local.parse()?]).sctp_port(PORT);
    Ok(Endpoint::bind(options.config(config))?)
}

async fn connect(local: &str, remote: &str, abort: bool) -> Result<(), Box<dyn Error>> {
    let endpoint = bind(local)?;
    let association = endpoint.connect(&[remote.parse()?], PORT).await?;
    exchange(&association, true).await?;
    if abort {
        association.abort(b"as asked")?;
        association.closed().await;
    } else {
        association.shutdown().await?;
    }
    endpoint.close().await;
    Ok(())
}

async fn accept(local: &str) -> Result<(), Box<dyn Error>> {
    let endpoint = bind(local)?;
    let association = endpoint.accept().await.ok_or("no association")?;
    exchange(&association, false).await?;
    match association.closed().await {
        Closed::Gracefully => println!("end graceful"),
        other => println!("end {other}"),
    }
    endpoint.close().await;
    Ok(())
}

/// Both directions, and a last message each. The side that connects has the first of these, so
/// that nothing of it is under way when it gets the answer and ends the association.
async fn exchange(association: &Association, connects: bool) -> Result<(), Box<dyn Error>> {
    tokio::try_join!(send_all(association), receive_all(association))?;
    if connects {
        association.send(Message::new(CONTROL, "done")).await?;
    }
    match association.recv().await {
        Some(last) if last.stream == CONTROL => {}
        Some(other) => {
            return Err(format!("a message on stream {}, which is complete", other.stream).into());
        }
        None => return Err("the association ended before its last message".into()),
    }
    if !connects {
        association.send(Message::new(CONTROL, "done")).await?;
    }
    Ok(())
}

/// The lanes take turns, so that messages of all kinds are under way together.
async fn send_all(association: &Association) -> Result<(), Box<dyn Error>> {
    let lanes = lanes();
    let mut sums: Vec<Sum> = lanes.iter().map(|_| Sum::default()).collect();
    let mut random = 1_u64;
    for i in 0..200 {
        for (lane, sum) in lanes.iter().zip(&mut sums).filter(|(l, _)| i < l.messages) {
            let mut payload = vec![0; (lane.size)(lane.stream, i)];
            for byte in &mut payload {
                // xorshift64
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                *byte = random as u8;
            }
            sum.add(&payload);
            let mut message = Message::new(lane.stream, payload);
            message.unordered = lane.unordered;
            association.send(message).await?;
        }
    }
    for (lane, sum) in lanes.iter().zip(sums) {
        println!("{}", sum.line("sent", lane));
    }
    Ok(())
}

async fn receive_all(association: &Association) -> Result<(), Box<dyn Error>> {
    let lanes = lanes();
    let mut sums: BTreeMap<u16, (Sum, Vec<u8>)> = BTreeMap::new();
    let mut left: usize = lanes.iter().map(|l| l.messages).sum();
    while left > 0 {
        let part = association
            .recv()
            .await
            .ok_or("the association ended too early")?;
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
    for lane in &lanes {
        let (sum, _) = sums.remove(&lane.stream).unwrap_or_default();
        println!("{}", sum.line("received", lane));
    }
    Ok(())
}
