//! `idle`: what idle associations cost a running `byway recv`, and what they take from a
//! transfer and from set-ups beside them.

use anyhow::{Context, Result, ensure};
use byway::{Association, Endpoint, EndpointOptions};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Count what idle associations cost a `byway recv`
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The command `byway` to measure
    #[arg(long)]
    byway: PathBuf,
    /// Idle associations
    #[arg(long, default_value_t = 10_000)]
    associations: usize,
    /// Seconds for which the processor time of the idle ones is counted
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// Megabytes of the transfer beside them
    #[arg(long, default_value_t = 500)]
    megabytes: u64,
    /// Port of the receiver
    #[arg(long, default_value_t = 19_899)]
    port: u16,
    /// Folder for the files
    #[arg(long)]
    dir: PathBuf,
}

/// SCTP port of `byway recv`.
const SCTP_PORT: u16 = 5001;

/// The receiver; killed when it is dropped.
struct Receiver(Child);

impl Drop for Receiver {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Receiver {
    fn start(arguments: &Arguments) -> Result<Receiver> {
        let child = Command::new(&arguments.byway)
            .args([
                "recv",
                "--unprotected",
                "--quiet",
                "--force",
                "--give-up",
                "1h",
            ])
            .args(["--bind", &format!("127.0.0.1:{}", arguments.port)])
            .arg("--dir")
            .arg(arguments.dir.join("inbox"))
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", arguments.byway.display()))?;
        std::thread::sleep(Duration::from_millis(500));
        Ok(Receiver(child))
    }

    fn file(&self, name: &str) -> Result<String> {
        let path = format!("/proc/{}/{name}", self.0.id());
        std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))
    }

    /// A line of its status, a number.
    fn status(&self, key: &str) -> Result<f64> {
        let text = self.file("status")?;
        let line = text
            .lines()
            .find_map(|l| l.strip_prefix(key)?.strip_prefix(':'));
        let word = line.and_then(|l| l.split_ascii_whitespace().next());
        Ok(word.with_context(|| format!("no {key}"))?.parse()?)
    }

    /// Its processor time so far, in seconds.
    fn cpu(&self) -> Result<f64> {
        let text = self.file("stat")?;
        // After the name, which may hold spaces: utime and stime are fields 14 and 15.
        let rest = text.rsplit(')').next().unwrap_or_default();
        let mut ticks = rest.split_ascii_whitespace().skip(11);
        let mut next = || -> Result<f64> { Ok(ticks.next().context("no time")?.parse()?) };
        Ok((next()? + next()?) / rustix::param::clock_ticks_per_second() as f64)
    }
}

pub(crate) fn run(arguments: Arguments) -> Result<()> {
    let most = getrlimit(Resource::Nofile).maximum;
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: most,
            maximum: most,
        },
    )?;
    std::fs::create_dir_all(&arguments.dir)?;
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?
        .block_on(measure(&arguments))
}

async fn measure(arguments: &Arguments) -> Result<()> {
    let receiver = Receiver::start(arguments)?;
    let alone = transfer(arguments)?;
    let (before, threads) = (receiver.status("VmRSS")?, receiver.status("Threads")?);
    let begun = Instant::now();
    let tenth = (arguments.associations / 10).max(1);
    let (mut all, mut first, mut last) = (Vec::new(), 0.0, 0.0);
    for n in 0..arguments.associations {
        let part = Instant::now();
        all.push(connect(arguments.port).await?);
        let took = part.elapsed().as_secs_f64();
        if n < tenth {
            first += took;
        } else if n >= arguments.associations - tenth {
            last += took;
        }
    }
    let set_up = begun.elapsed().as_secs_f64();
    // Paths are confirmed and first heartbeats answered.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let each = (receiver.status("VmRSS")? - before) / arguments.associations as f64;
    let cpu = receiver.cpu()?;
    tokio::time::sleep(Duration::from_secs(arguments.seconds)).await;
    let spent = receiver.cpu()? - cpu;
    let threads = receiver.status("Threads")? - threads;
    let beside = transfer(arguments)?;
    let alive = all.iter().filter(|(_, a)| !a.paths().is_empty()).count();
    ensure!(
        alive == all.len(),
        "{} associations ended",
        all.len() - alive
    );
    println!(
        "{}",
        json!({
            "associations": arguments.associations,
            "kib_each": each,
            "threads_more": threads,
            "cpu_share": spent / arguments.seconds as f64,
            "set_up_seconds": set_up,
            "set_up_rate_first_tenth": tenth as f64 / first,
            "set_up_rate_last_tenth": tenth as f64 / last,
            "mb_per_s_alone": alone,
            "mb_per_s_beside": beside,
            "ratio": beside / alone,
        })
    );
    Ok(())
}

/// An association from an endpoint of its own.
async fn connect(port: u16) -> Result<(Endpoint, Association)> {
    let local: SocketAddr = ([127, 0, 0, 1], 0).into();
    let endpoint = Endpoint::bind(EndpointOptions::new([local]))?;
    let to = [([127, 0, 0, 1], port).into()];
    let association = endpoint.connect(&to, SCTP_PORT).await?;
    Ok((endpoint, association))
}

/// The rate of `byway send`, in megabytes a second.
fn transfer(arguments: &Arguments) -> Result<f64> {
    let file = arguments.dir.join("idle.bin");
    let made = std::fs::File::create(&file)?;
    made.set_len(arguments.megabytes * 1_000_000)?;
    let begun = Instant::now();
    let sent = Command::new(&arguments.byway)
        .args([
            "send",
            "--quiet",
            "--to",
            &format!("127.0.0.1:{}", arguments.port),
        ])
        .arg(&file)
        .status()?;
    ensure!(sent.success(), "byway send ended with {sent}");
    Ok(arguments.megabytes as f64 / begun.elapsed().as_secs_f64())
}
