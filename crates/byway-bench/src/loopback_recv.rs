//! `loopback-recv`: takes one association and counts what arrives.

use crate::delays::Delays;
use crate::figures::{Common, cpu_seconds, transfer};
use crate::sealed::Receiving;
use anyhow::Context;
use byway::{Endpoint, EndpointOptions};
use std::net::SocketAddr;
use std::time::Instant;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Local addresses with their UDP ports
    #[arg(long, value_delimiter = ',', required = true)]
    bind: Vec<SocketAddr>,
    /// Report how long messages took that loopback-send --rate sends
    #[arg(long)]
    delays: bool,
    #[command(flatten)]
    common: Common,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<()> {
    arguments.common.runtime()?.block_on(receive(arguments))
}

async fn receive(arguments: Arguments) -> anyhow::Result<()> {
    let options = EndpointOptions::new(arguments.bind)
        .sctp_port(arguments.common.sctp_port)
        .config(arguments.common.config());
    let endpoint = Endpoint::bind(options)?;
    let association = endpoint.accept().await.context("the endpoint closed")?;
    let mut receiving = Receiving::begin(&association, arguments.common.sealed).await?;
    let mut delays = arguments.delays.then(Delays::default);
    // From the first message, as the sender may take its time to begin, to the last one: the end of the association may
    // wait 200 ms for a delayed SACK.
    let mut bytes = 0;
    let mut received = association.recv().await;
    let (begin, cpu) = (Instant::now(), cpu_seconds());
    let mut end = begin;
    while let Some(message) = received {
        let payload = receiving.open(message)?;
        bytes += payload.len() as u64;
        if let Some(delays) = &mut delays {
            delays.note(&payload)?;
        }
        end = Instant::now();
        received = association.recv().await;
    }
    let spent = cpu_seconds() - cpu;
    let stats = association.stats();
    let closed = association.closed().await;
    let mut line = transfer(bytes, end - begin, spent, endpoint.driver_stats());
    line["program"] = "loopback-recv".into();
    line["closed"] = closed.to_string().into();
    line["sacks_sent"] = stats.sacks_sent.into();
    line["duplicates_received"] = stats.duplicates_received.into();
    // What it got beside the transfer, if anybody sends that.
    let refusals = endpoint.stats().refusals;
    let refused = refusals.iter().filter(|(_, times)| *times > 0);
    let refused = refused.map(|(rule, times)| (rule.name().to_owned(), times.into()));
    line["refused"] = serde_json::Value::Object(refused.collect());
    line["dropped_by_kernel"] = endpoint.dropped_by_kernel().into();
    if let Some(delays) = delays {
        line["delays"] = delays.json();
    }
    println!("{line}");
    endpoint.close().await;
    Ok(())
}
