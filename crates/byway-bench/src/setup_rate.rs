//! `setup-serve`, `setup-rate` and `bulk-rate`: how many associations two processes set up in a
//! second, and what many associations carry.

use crate::figures::{cpu_seconds, preset, runtime};
use anyhow::{Context, ensure};
use bytes::Bytes;
use byway::{Endpoint, EndpointOptions, Message};
use serde_json::json;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// SCTP port of the server.
const SCTP_PORT: u16 = 5001;

/// Bytes of the messages of `bulk-rate`.
const MESSAGE: usize = 16 << 10;

/// Take associations, and what they send, until the process is stopped
#[derive(clap::Args)]
pub(crate) struct Serve {
    /// Local address with its UDP port
    #[arg(long)]
    bind: SocketAddr,
    /// Settings: byway or rfc9260
    #[arg(long, default_value = "rfc9260", value_parser = preset)]
    preset: byway::Config,
    /// Workers of the endpoint
    #[arg(long, default_value_t = 1)]
    workers: usize,
    /// Threads of the runtime
    #[arg(long, default_value_t = 1)]
    threads: usize,
}

/// Set associations up and abort them, again and again
#[derive(clap::Args)]
pub(crate) struct Rate {
    /// Address of setup-serve with its UDP port
    #[arg(long)]
    to: SocketAddr,
    /// Set-ups at once, each from an endpoint of its own
    #[arg(long, default_value_t = 1)]
    at_once: usize,
    /// Seconds to go on for
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Settings: byway or rfc9260
    #[arg(long, default_value = "rfc9260", value_parser = preset)]
    preset: byway::Config,
    /// Threads of the runtime
    #[arg(long, default_value_t = 1)]
    threads: usize,
}

impl Rate {
    /// Runs as many tasks as there are set-ups at once, each with an endpoint of its own until the
    /// time is over. The sum of what they return, and how long they took, in seconds.
    pub(crate) async fn run<F>(
        &self,
        task: impl Fn(EndpointOptions, SocketAddr, Instant) -> F,
    ) -> anyhow::Result<(u64, f64)>
    where
        F: Future<Output = anyhow::Result<u64>> + Send + 'static,
    {
        ensure!(self.at_once > 0, "--at-once must be at least 1");
        let seconds = Duration::try_from_secs_f64(self.seconds)?;
        let begun = Instant::now();
        let tasks: Vec<_> = (0..self.at_once)
            .map(|_| {
                let options = EndpointOptions::new([SocketAddr::new(self.to.ip(), 0)]);
                let options = options.config(self.preset.clone());
                tokio::spawn(task(options, self.to, begun + seconds))
            })
            .collect();
        let mut all = 0;
        for task in tasks {
            all += task.await.context("a task has ended early")??;
        }
        Ok((all, begun.elapsed().as_secs_f64()))
    }
}

pub(crate) fn serve(arguments: Serve) -> anyhow::Result<()> {
    runtime(arguments.threads)?.block_on(async {
        let options = EndpointOptions::new([arguments.bind])
            .sctp_port(SCTP_PORT)
            .workers(arguments.workers)
            .config(arguments.preset);
        let endpoint = Endpoint::bind(options)?;
        while let Some(association) = endpoint.accept().await {
            // Until the peer ends it.
            tokio::spawn(async move { while association.recv().await.is_some() {} });
        }
        Ok(())
    })
}

pub(crate) fn rate(arguments: Rate) -> anyhow::Result<()> {
    runtime(arguments.threads)?.block_on(async {
        let cpu = cpu_seconds();
        let (all, taken) = arguments.run(again_and_again).await?;
        println!(
            "{}",
            json!({
                "associations": all,
                "seconds": taken,
                "per_s": all as f64 / taken,
                "cpu_us_each": (cpu_seconds() - cpu) * 1e6 / all as f64,
            })
        );
        Ok(())
    })
}

/// `bulk-rate`: each of the endpoints sets one association up and sends 16 KiB messages.
pub(crate) fn bulk(arguments: Rate) -> anyhow::Result<()> {
    runtime(arguments.threads)?.block_on(async {
        let (all, taken) = arguments.run(send_until).await?;
        println!(
            "{}",
            json!({
                "bytes": all,
                "seconds": taken,
                "mb_per_s": all as f64 / 1e6 / taken,
            })
        );
        Ok(())
    })
}

/// Sends until `end`, and waits until all of it has arrived; how many bytes.
async fn send_until(options: EndpointOptions, to: SocketAddr, end: Instant) -> anyhow::Result<u64> {
    let endpoint = Endpoint::bind(options)?;
    let association = endpoint.connect(&[to], SCTP_PORT).await?;
    let message = Bytes::from(vec![7; MESSAGE]);
    let mut bytes = 0;
    while Instant::now() < end {
        association.send(Message::new(0, message.clone())).await?;
        bytes += message.len() as u64;
    }
    association.shutdown().await?;
    Ok(bytes)
}

/// Sets associations up with one endpoint until `end`; how many.
async fn again_and_again(
    options: EndpointOptions,
    to: SocketAddr,
    end: Instant,
) -> anyhow::Result<u64> {
    let endpoint = Endpoint::bind(options)?;
    let mut count = 0;
    while Instant::now() < end {
        let association = endpoint.connect(&[to], SCTP_PORT).await?;
        association.abort(b"")?;
        count += 1;
    }
    endpoint.abort(b"").await;
    Ok(count)
}
