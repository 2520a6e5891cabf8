//! Associations whose SCTP is honest: what is wrong is above it.

use crate::Target;
use crate::flood::counted;
use anyhow::{Context, Result};
use byway::{Association, Endpoint, EndpointOptions, Message};
use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many at once, from where, for how long.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Many {
    /// First source address; the following ones are counted up from it
    #[arg(long, default_value = "127.144.0.1")]
    from: IpAddr,
    /// Source addresses
    #[arg(long, default_value_t = 1)]
    sources: u32,
    /// Associations at once, spread over the source addresses
    #[arg(long, default_value_t = 16)]
    associations: u32,
    /// Seconds
    #[arg(long, default_value_t = 5.0)]
    pub(crate) seconds: f64,
}

/// What came of each association: how often, and after how many seconds at least and at most.
#[derive(Default)]
pub(crate) struct Outcomes(Mutex<BTreeMap<String, (u64, [f64; 2])>>);

impl Outcomes {
    /// An association that was begun at this time has come to this end.
    pub(crate) fn count(&self, what: &str, begun: Instant) {
        let took = begun.elapsed().as_secs_f64();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The texts are the other side's.
        if all.len() < 64 || all.contains_key(what) {
            let (times, [least, most]) = all.entry(what.to_owned()).or_insert((0, [took; 2]));
            *times += 1;
            (*least, *most) = (least.min(took), most.max(took));
        }
    }

    /// For the last line.
    pub(crate) fn json(&self, seconds: f64) -> serde_json::Value {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let done: u64 = all.values().map(|(times, _)| times).sum();
        let times: BTreeMap<_, _> = all.iter().map(|(what, (n, _))| (what, n)).collect();
        let took: BTreeMap<_, _> = all.iter().map(|(what, (_, took))| (what, took)).collect();
        serde_json::json!({
            "associations": done,
            "seconds": seconds,
            "per_second": done as f64 / seconds,
            "outcomes": times,
            "outcomes_took": took,
        })
    }
}

/// One who attacks: its endpoint, and whom it connects to.
pub(crate) struct Stranger {
    endpoint: Endpoint,
    to: SocketAddr,
    sctp_port: u16,
    pub(crate) until: Instant,
    pub(crate) rng: ChaCha8Rng,
}

impl Stranger {
    pub(crate) async fn connect(&self) -> Result<Association> {
        let left = self.until.saturating_duration_since(Instant::now());
        let to = [self.to];
        let connect = self.endpoint.connect(&to, self.sctp_port);
        let timeout = left.max(Duration::from_secs(1));
        Ok(tokio::time::timeout(timeout, connect).await??)
    }

    pub(crate) fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }
}

/// Runs `attack` for each stranger, all at once, until all have ended.
pub(crate) fn run<F, A>(target: &Target, many: &Many, attack: A) -> Result<()>
where
    A: Fn(Stranger) -> F,
    F: Future<Output = Result<()>> + Send + 'static,
{
    tokio::runtime::Runtime::new()?.block_on(async {
        let until = Instant::now() + Duration::try_from_secs_f64(many.seconds)?;
        let mut tasks = tokio::task::JoinSet::new();
        for n in 0..many.associations {
            let ip = counted(many.from, n % many.sources.max(1)).context("no such source")?;
            let mut options = EndpointOptions::new([SocketAddr::new(ip, 0)]);
            options.config.setup.outbound_streams = 64;
            options.accept = false;
            tasks.spawn(attack(Stranger {
                endpoint: Endpoint::bind(options)?,
                to: target.to[0],
                sctp_port: target.sctp_port,
                until,
                rng: ChaCha8Rng::seed_from_u64(n.into()),
            }));
        }
        while let Some(done) = tasks.join_next().await {
            done??;
        }
        Ok(())
    })
}

/// Sends a message; whether the association still takes it.
pub(crate) async fn say(association: &Association, stream: u16, ppid: u32, bytes: Vec<u8>) -> bool {
    let mut message = Message::new(stream, bytes);
    message.ppid = ppid;
    association.send(message).await.is_ok()
}

/// How the other side has ended an association, if it does by then.
pub(crate) async fn end(association: &Association, until: Instant) -> String {
    let closed = association.closed();
    match tokio::time::timeout_at(until.into(), closed).await {
        Ok(closed) => without_counts(&closed.to_string()),
        Err(_) => "it stays".to_owned(),
    }
}

/// The text of an end without the number of messages that it has cost, which is another each time.
fn without_counts(text: &str) -> String {
    match text.rsplit_once("; ") {
        Some((why, rest)) if rest.ends_with("not acknowledged") => why.to_owned(),
        _ => text.to_owned(),
    }
}
