//! `idle`: what idle associations cost a running `byway recv`, and what they take from a
//! transfer and from set-ups beside them.

use anyhow::{Context, Result, ensure};
use byway::{Association, Endpoint, EndpointOptions, Message};
use byway_tls::{
    Answer, Expect, HANDSHAKE_PPID, Handshake, Opened, SEALED_PPID, SecretKey, Ticket,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
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
    /// Let the associations, and the transfer, in by a ticket
    #[arg(long)]
    ticket: bool,
}

impl Arguments {
    fn ticket_file(&self) -> PathBuf {
        self.dir.join("ticket")
    }
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
        let mut command = Command::new(&arguments.byway);
        command.args(["recv", "--quiet", "--force", "--give-up", "1h"]);
        match arguments.ticket {
            true => command
                .args(["--uses", "any", "--ticket-to"])
                .arg(arguments.ticket_file()),
            false => command.arg("--unprotected"),
        };
        let child = command
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
    let pass = match arguments.ticket {
        true => Some(Pass::read(&arguments.ticket_file())?),
        false => None,
    };
    let alone = transfer(arguments)?;
    let (before, threads) = (receiver.status("VmRSS")?, receiver.status("Threads")?);
    let begun = Instant::now();
    let tenth = (arguments.associations / 10).max(1);
    let (mut all, mut first, mut last) = (Vec::new(), 0.0, 0.0);
    for n in 0..arguments.associations {
        let part = Instant::now();
        all.push(connect(arguments.port, pass.as_ref()).await?);
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
            "by_ticket": arguments.ticket,
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

/// What lets an association in.
struct Pass {
    ticket: Ticket,
    key: SecretKey,
}

impl Pass {
    fn read(file: &Path) -> Result<Pass> {
        let text = std::fs::read_to_string(file).context("no ticket was written")?;
        let ticket = Ticket::parse(text.trim()).map_err(|e| anyhow::anyhow!("the ticket: {e}"))?;
        let key = SecretKey::generate()?;
        Ok(Pass { ticket, key })
    }

    /// The TLS handshake, the ticket and its answer.
    async fn show(&self, association: &Association) -> Result<()> {
        let expect = Expect::fingerprint(self.ticket.server);
        let mut handshake = Handshake::client(&self.key, expect, self.ticket.service)?;
        loop {
            while let Some(bytes) = handshake.next_message() {
                say(association, HANDSHAKE_PPID, bytes.to_vec()).await?;
            }
            if handshake.is_done() {
                break;
            }
            let received = association
                .recv()
                .await
                .context("it ended in a handshake")?;
            handshake.receive(&received.payload)?;
        }
        let mut session = handshake.finish()?;
        let request = session.witness.request(Some(&self.ticket)).encode();
        let sealed = session.sealer.seal_admission(&request)?;
        say(association, SEALED_PPID, sealed.to_vec()).await?;
        let answer = association
            .recv()
            .await
            .context("it ended without an answer")?;
        let Opened::Admission(plain) = session.opener.open(0, &answer.payload)? else {
            anyhow::bail!("another message in place of the answer");
        };
        let welcome = matches!(Answer::decode(&plain), Some(Answer::Welcome(_)));
        ensure!(welcome, "it was not let in");
        Ok(())
    }
}

async fn say(association: &Association, ppid: u32, bytes: Vec<u8>) -> Result<()> {
    let mut message = Message::new(0, bytes);
    message.ppid = ppid;
    association.send(message).await?;
    Ok(())
}

/// An association from an endpoint of its own, which is let in.
async fn connect(port: u16, pass: Option<&Pass>) -> Result<(Endpoint, Association)> {
    let local: SocketAddr = ([127, 0, 0, 1], 0).into();
    let endpoint = Endpoint::bind(EndpointOptions::new([local]))?;
    let to = [([127, 0, 0, 1], port).into()];
    let association = endpoint.connect(&to, SCTP_PORT).await?;
    if let Some(pass) = pass {
        pass.show(&association).await?;
    }
    Ok((endpoint, association))
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
