//! What the programs of this crate report, and what they share to run.

use anyhow::Context;
use byway::DriverStats;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use std::time::Duration;

/// Settings of both ends of a transfer.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Common {
    /// SCTP port of the receiver
    #[arg(long, default_value_t = 5001)]
    pub(crate) sctp_port: u16,
    /// Send and receive buffer of the association, in bytes
    #[arg(long, default_value_t = 1 << 20)]
    pub(crate) buffer: u32,
    /// Largest IP packet, in bytes
    #[arg(long, default_value_t = 1500)]
    pub(crate) mtu: u32,
    /// Most packets of new data that one event may release; 0 for no limit
    #[arg(long, default_value_t = 4)]
    pub(crate) max_burst: u32,
    /// Threads of the runtime
    #[arg(long, default_value_t = 1)]
    pub(crate) threads: usize,
    /// Settings to begin with: byway or rfc9260
    #[arg(long, default_value = "rfc9260", value_parser = preset)]
    pub(crate) preset: byway::Config,
    /// Seal the messages with TLS 1.3, as a ticket does
    #[arg(long)]
    pub(crate) sealed: bool,
}

/// The preset with this name.
pub(crate) fn preset(name: &str) -> Result<byway::Config, String> {
    byway::Config::preset(name).map_err(|e| e.to_string())
}

impl Common {
    /// The settings of the association.
    pub(crate) fn config(&self) -> byway::Config {
        let mut config = self.preset.clone();
        config.buffer.send = self.buffer;
        config.buffer.receive = self.buffer;
        config.pmtu.0 = self.mtu;
        config.congestion.max_burst = (self.max_burst > 0).then_some(self.max_burst);
        config
    }

    /// The runtime: one thread alone, or several.
    pub(crate) fn runtime(&self) -> anyhow::Result<tokio::runtime::Runtime> {
        runtime(self.threads)
    }
}

/// A runtime with so many threads: one alone, or several.
pub(crate) fn runtime(threads: usize) -> anyhow::Result<tokio::runtime::Runtime> {
    let mut builder = match threads {
        0 | 1 => tokio::runtime::Builder::new_current_thread(),
        n => {
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            builder.worker_threads(n);
            builder
        }
    };
    Ok(builder.enable_all().build()?)
}

/// A line of this process's status, in KiB: `VmRSS` is resident memory, `VmHWM`
/// the most that it ever was.
pub(crate) fn status_kib(name: &str) -> anyhow::Result<f64> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let value = text
        .lines()
        .find_map(|l| l.strip_prefix(name)?.strip_prefix(':'))
        .with_context(|| format!("no {name} in /proc/self/status"))?;
    let number = value.split_ascii_whitespace().next().context("no number")?;
    Ok(number.parse()?)
}

/// Processor time of this process so far, user and system, in seconds.
pub(crate) fn cpu_seconds() -> f64 {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    spent.tv_sec as f64 + spent.tv_nsec as f64 / 1e9
}

/// The figures of a transfer: payload bytes, time, rate in 10^6 bytes per
/// second, processor time of this process.
pub(crate) fn transfer(bytes: u64, time: Duration, cpu: f64, driver: DriverStats) -> Value {
    let seconds = time.as_secs_f64();
    json!({
        "bytes": bytes,
        "seconds": seconds,
        "mb_per_s": if seconds > 0.0 { bytes as f64 / 1e6 / seconds } else { 0.0 },
        "cpu_seconds": cpu,
        "cpu_seconds_per_gb": if bytes > 0 { cpu / (bytes as f64 / 1e9) } else { 0.0 },
        "datagrams_sent": driver.datagrams_sent,
        "batches_sent": driver.batches_sent,
        "datagrams_received": driver.datagrams_received,
        "buffers_received": driver.buffers_received,
        "datagrams_refused": driver.datagrams_refused,
        "datagrams_overflowed": driver.datagrams_overflowed,
    })
}
