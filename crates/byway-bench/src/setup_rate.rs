//! `setup-serve` and `setup-rate`: how many associations two processes set up in a second.

use crate::figures::{cpu_seconds, preset};
use anyhow::{Context, ensure};
use byway::{Endpoint, EndpointOptions};
use serde_json::json;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// SCTP port of the server.
const SCTP_PORT: u16 = 5001;

/// Take associations until the process is stopped
#[derive(clap::Args)]
pub(crate) struct Serve {
    /// Local address with its UDP port
    #[arg(long)]
    bind: SocketAddr,
    /// Settings: byway or rfc9260
    #[arg(long, default_value = "rfc9260", value_parser = preset)]
    preset: byway::Config,
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
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}

pub(crate) fn serve(arguments: Serve) -> anyhow::Result<()> {
    runtime()?.block_on(async {
        let options = EndpointOptions::new([arguments.bind])
            .sctp_port(SCTP_PORT)
            .config(arguments.preset);
        let endpoint = Endpoint::bind(options)?;
        while let Some(association) = endpoint.accept().await {
            // A handle, so that it stays until the peer ends it.
            tokio::spawn(async move { association.closed().await });
        }
        Ok(())
    })
}

pub(crate) fn rate(arguments: Rate) -> anyhow::Result<()> {
    ensure!(arguments.at_once > 0, "--at-once must be at least 1");
    let seconds = Duration::try_from_secs_f64(arguments.seconds)?;
    runtime()?.block_on(async {
        let (begun, cpu) = (Instant::now(), cpu_seconds());
        let tasks: Vec<_> = (0..arguments.at_once)
            .map(|_| {
                let options = EndpointOptions::new([SocketAddr::new(arguments.to.ip(), 0)]);
                let options = options.config(arguments.preset.clone());
                tokio::spawn(again_and_again(options, arguments.to, begun + seconds))
            })
            .collect();
        let mut all = 0;
        for task in tasks {
            all += task.await.context("a task has ended early")??;
        }
        let taken = begun.elapsed().as_secs_f64();
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
