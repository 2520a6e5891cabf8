//! `loopback-send`: sends messages of one size as fast as they are taken.

use crate::delays::{Pace, STAMP};
use crate::figures::{Common, cpu_seconds, transfer};
use crate::sealed::Sending;
use anyhow::ensure;
use bytes::Bytes;
use byway::{Endpoint, EndpointOptions};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Addresses of the receiver with their UDP ports
    #[arg(long, value_delimiter = ',', required = true)]
    to: Vec<SocketAddr>,
    /// Local addresses; by default those of --to, with any port
    #[arg(long, value_delimiter = ',')]
    bind: Vec<SocketAddr>,
    /// Bytes of each message
    #[arg(long, default_value_t = 16_384)]
    message: usize,
    /// Seconds to send for
    #[arg(long, default_value_t = 5.0, conflicts_with = "bytes")]
    secs: f64,
    /// Bytes to send, instead of a time
    #[arg(long)]
    bytes: Option<u64>,
    /// Messages a second, evenly spaced, each with the time when it was due for loopback-recv
    /// --delays [default: as fast as they are taken]
    #[arg(long)]
    rate: Option<f64>,
    #[command(flatten)]
    common: Common,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<()> {
    ensure!(
        arguments.message > 0,
        "--message 0: an SCTP message has at least one byte"
    );
    ensure!(
        arguments.rate.is_none() || arguments.message >= STAMP,
        "--message {}: with --rate a message has at least {STAMP} bytes",
        arguments.message
    );
    arguments.common.runtime()?.block_on(send(arguments))
}

async fn send(arguments: Arguments) -> anyhow::Result<()> {
    let local = if arguments.bind.is_empty() {
        arguments
            .to
            .iter()
            .map(|to| SocketAddr::new(to.ip(), 0))
            .collect()
    } else {
        arguments.bind
    };
    let options = EndpointOptions::new(local).config(arguments.common.config());
    let endpoint = Endpoint::bind(options)?;
    let association = endpoint
        .connect(&arguments.to, arguments.common.sctp_port)
        .await?;
    let mut sending = Sending::begin(&association, arguments.common.sealed).await?;

    let payload = Bytes::from(vec![0x5a; arguments.message]);
    let limit = arguments.bytes.unwrap_or(u64::MAX);
    let mut pace = arguments.rate.map(Pace::new).transpose()?;
    let time = Duration::try_from_secs_f64(arguments.secs)?;
    let (begin, cpu) = (Instant::now(), cpu_seconds());
    let mut bytes = 0;
    while bytes < limit && (arguments.bytes.is_some() || begin.elapsed() < time) {
        match &mut pace {
            None => sending.send(&association, &payload).await?,
            Some(pace) => {
                let stamped = pace.next(&payload).await?;
                sending.send(&association, &stamped).await?;
            }
        }
        bytes += payload.len() as u64;
    }
    association.drained().await?;
    let (taken, spent) = (begin.elapsed(), cpu_seconds() - cpu);
    let stats = association.stats();
    let done = association.shutdown().await;
    let mut line = transfer(bytes, taken, spent, endpoint.driver_stats());
    line["program"] = "loopback-send".into();
    line["closed"] = done
        .map_or_else(|e| e.to_string(), |()| "gracefully".to_owned())
        .into();
    line["data_chunks_sent"] = stats.data_chunks_sent.into();
    line["data_chunks_retransmitted"] = stats.data_chunks_retransmitted.into();
    line["fast_retransmits"] = stats.fast_retransmits.into();
    line["timeouts"] = stats.timeouts.into();
    line["sacks_received"] = stats.sacks_received.into();
    println!("{line}");
    endpoint.close().await;
    Ok(())
}
