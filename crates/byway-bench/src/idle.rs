//! `idle`: what idle associations cost a running `byway recv`, and what they take from a
//! transfer and from set-ups beside them; or what they cost a `byway listen`.

pub(crate) mod crowd;
mod descriptors;

use anyhow::{Context, Result, ensure};
use crowd::Crowd;
use serde_json::json;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Count what idle associations cost a `byway recv`, or a `byway listen`
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
    /// Let the associations, and the transfer, in by a ticket
    #[arg(long)]
    ticket: bool,
    /// No side sends heartbeats, but for those right after the set-up
    #[arg(long)]
    no_heartbeats: bool,
    /// Measure `byway listen`, without a transfer: it serves one association, and the others wait in its backlog
    #[arg(long, conflicts_with = "ticket")]
    listen: bool,
}

impl Arguments {
    fn ticket_file(&self) -> PathBuf {
        self.dir.join("ticket")
    }
}

/// The allocator of the receiver gives pages back that nobody needs within ten seconds.
const SETTLE: Duration = Duration::from_secs(15);

/// Associations at `listen` before those that are counted, as the transfer is at `recv`: what any first associations
/// take. It ends with its first one, so they stay.
const FIRST: usize = 24;

/// A setting with which no heartbeat is due while it is measured.
const NO_HEARTBEATS: [&str; 2] = ["--set", "hb.interval=3600 s"];

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
        let mut command = Command::new(&arguments.byway);
        match arguments.listen {
            true => command.arg("listen"),
            false => command
                .args(["recv", "--force", "--dir"])
                .arg(arguments.dir.join("inbox")),
        };
        command.args(["--quiet", "--give-up", "1h"]);
        if arguments.no_heartbeats {
            command.args(NO_HEARTBEATS);
        }
        match arguments.ticket {
            true => command
                .args(["--uses", "any", "--ticket-to"])
                .arg(arguments.ticket_file()),
            false => command.arg("--unprotected"),
        };
        let child = command
            .args(["--bind", &format!("127.0.0.1:{}", arguments.port)])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", arguments.byway.display()))?;
        std::thread::sleep(Duration::from_millis(500));
        // It begins late where other work runs.
        let ticket = arguments.ticket_file();
        let until = Instant::now() + Duration::from_secs(10);
        while arguments.ticket && !ticket.exists() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(100));
        }
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
    ensure!(
        arguments.associations > 0,
        "--associations must be at least 1"
    );
    let processes = descriptors::processes(arguments.associations)?;
    std::fs::create_dir_all(&arguments.dir)?;
    let receiver = Receiver::start(&arguments)?;
    let ticket = arguments.ticket.then(|| arguments.ticket_file());
    let peers = |associations| {
        let heartbeats = !arguments.no_heartbeats;
        Crowd::gather(arguments.port, associations, ticket.as_deref(), heartbeats)
    };
    let (alone, first_ones) = match arguments.listen {
        true => (None, Some(peers(FIRST)?)),
        false => (Some(transfer(&arguments)?), None),
    };
    // Pages of the transfer that are not given back yet would be taken by the associations.
    std::thread::sleep(SETTLE);
    let (before, threads) = (receiver.status("VmRSS")?, receiver.status("Threads")?);
    let begun = Instant::now();
    let (mut crowds, mut took) = (Vec::new(), Vec::new());
    for part in descriptors::parts(arguments.associations, processes) {
        let (crowd, times) = peers(part)?;
        crowds.push(crowd);
        took.extend(times);
    }
    let set_up = begun.elapsed().as_secs_f64();
    ensure!(
        took.len() == arguments.associations,
        "{} of {} were set up",
        took.len(),
        arguments.associations
    );
    let tenth = (took.len() / 10).max(1);
    let rate = |of: &[f64]| of.len() as f64 / of.iter().sum::<f64>();
    let (first, last) = (rate(&took[..tenth]), rate(&took[took.len() - tenth..]));
    // Paths are confirmed and first heartbeats answered.
    std::thread::sleep(Duration::from_secs(3));
    let each = (receiver.status("VmRSS")? - before) / arguments.associations as f64;
    let cpu = receiver.cpu()?;
    std::thread::sleep(Duration::from_secs(arguments.seconds));
    let spent = receiver.cpu()? - cpu;
    let settled = (receiver.status("VmRSS")? - before) / arguments.associations as f64;
    let threads = receiver.status("Threads")? - threads;
    let beside = alone.map(|_| transfer(&arguments)).transpose()?;
    let mut alive = 0;
    for crowd in crowds {
        alive += crowd.end()?;
    }
    // With the first of them `listen` ends.
    drop(first_ones);
    ensure!(
        alive == took.len(),
        "{} associations ended",
        took.len() - alive
    );
    println!(
        "{}",
        json!({
            "associations": arguments.associations,
            "by_ticket": arguments.ticket,
            "listen": arguments.listen,
            "heartbeats": !arguments.no_heartbeats,
            "processes_of_peers": processes,
            "kib_each": each,
            "kib_each_at_the_end": settled,
            "threads_more": threads,
            "cpu_share": spent / arguments.seconds as f64,
            "set_up_seconds": set_up,
            "set_up_rate_first_tenth": first,
            "set_up_rate_last_tenth": last,
            "mb_per_s_alone": alone,
            "mb_per_s_beside": beside,
            "ratio": beside.zip(alone).map(|(beside, alone)| beside / alone),
        })
    );
    Ok(())
}

/// The rate of `byway send`, in megabytes a second.
fn transfer(arguments: &Arguments) -> Result<f64> {
    let file = arguments.dir.join("idle.bin");
    let made = std::fs::File::create(&file)?;
    made.set_len(arguments.megabytes * 1_000_000)?;
    let begun = Instant::now();
    let to = match arguments.ticket {
        true => format!("@{}", arguments.ticket_file().display()),
        false => format!("127.0.0.1:{}", arguments.port),
    };
    let sent = Command::new(&arguments.byway)
        .args(["send", "--quiet", "--to", &to])
        .arg(&file)
        .status()?;
    ensure!(sent.success(), "byway send ended with {sent}");
    Ok(arguments.megabytes as f64 / begun.elapsed().as_secs_f64())
}
