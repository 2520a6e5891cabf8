//! The peers of `idle`: processes that hold idle associations.

use crate::sealed::{say, shake_hands};
use anyhow::{Context, Result, ensure};
use byway::{Association, Endpoint, EndpointOptions};
use byway_tls::{Answer, Expect, Handshake, Opened, SEALED_PPID, SecretKey, Ticket};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// SCTP port of `byway recv`.
const SCTP_PORT: u16 = 5001;

/// Hold idle associations with a `byway recv`, until standard input ends
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Port of the receiver
    #[arg(long)]
    port: u16,
    /// How many
    #[arg(long)]
    associations: usize,
    /// The file with the ticket that lets them in
    #[arg(long)]
    ticket: Option<PathBuf>,
    /// End each as soon as it is up, or let in: newcomers one after the other
    #[arg(long)]
    leave: bool,
    /// Send no heartbeats, but for those right after the set-up
    #[arg(long)]
    no_heartbeats: bool,
}

/// Sets them up one after the other, each from an endpoint of its own, and prints how long each took;
/// at the end, how many are still there.
pub(crate) fn run(arguments: Arguments) -> Result<()> {
    if !arguments.leave {
        super::descriptors::enough_for(arguments.associations)?;
    }
    let pass = arguments.ticket.as_deref().map(Pass::read).transpose()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let (mut all, mut took) = (Vec::new(), Vec::new());
    for _ in 0..arguments.associations {
        let begun = Instant::now();
        let up = connect(&arguments, pass.as_ref());
        let (endpoint, association) = runtime.block_on(up)?;
        took.push(begun.elapsed().as_secs_f64());
        if arguments.leave {
            // It may have ended.
            let _ = association.abort(b"enough");
            runtime.block_on(endpoint.close());
        } else {
            all.push((endpoint, association));
        }
    }
    let per_second = took.len() as f64 / took.iter().sum::<f64>();
    println!("{}", json!({ "took": took, "per_second": per_second }));
    if arguments.leave {
        return Ok(());
    }
    std::io::stdin().read_to_end(&mut Vec::new())?;
    let alive = all.iter().filter(|(_, a)| !a.paths().is_empty()).count();
    println!("{}", json!({ "alive": alive }));
    Ok(())
}

/// A process with idle associations; killed when it is dropped.
pub(super) struct Crowd {
    process: Child,
    says: BufReader<ChildStdout>,
}

impl Crowd {
    /// Starts one with so many associations, and waits until they are up; how many seconds the set-up of
    /// each took.
    pub(super) fn gather(
        port: u16,
        associations: usize,
        ticket: Option<&Path>,
        heartbeats: bool,
    ) -> Result<(Crowd, Vec<f64>)> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["idle-crowd", "--port", &port.to_string()])
            .args(["--associations", &associations.to_string()]);
        if let Some(ticket) = ticket {
            command.arg("--ticket").arg(ticket);
        }
        if !heartbeats {
            command.arg("--no-heartbeats");
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().context("cannot start the peers")?;
        let says = process.stdout.take().context("no standard output")?;
        let mut crowd = Crowd {
            process,
            says: BufReader::new(says),
        };
        let took = crowd.line()?["took"].take();
        let took = serde_json::from_value(took).context("no times of the peers")?;
        Ok((crowd, took))
    }

    /// Ends it; how many associations there were.
    pub(super) fn end(mut self) -> Result<usize> {
        drop(self.process.stdin.take());
        let alive = self.line()?["alive"].as_u64().context("no count")?;
        Ok(usize::try_from(alive)?)
    }

    fn line(&mut self) -> Result<Value> {
        let mut line = String::new();
        self.says.read_line(&mut line)?;
        ensure!(!line.is_empty(), "the process of the peers has ended");
        serde_json::from_str(&line).with_context(|| format!("no line of JSON: {line}"))
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
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
        let handshake = Handshake::client(&self.key, expect, self.ticket.service)?;
        let mut session = shake_hands(association, handshake).await?;
        let request = session.witness.request(Some(&self.ticket)).encode();
        let sealed = session.sealer.seal_admission(&request)?;
        say(association, SEALED_PPID, sealed).await?;
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

/// An association from an endpoint of its own, which is let in.
async fn connect(arguments: &Arguments, pass: Option<&Pass>) -> Result<(Endpoint, Association)> {
    let local: SocketAddr = ([127, 0, 0, 1], 0).into();
    let mut options = EndpointOptions::new([local]);
    if arguments.no_heartbeats {
        options.config.hb.interval = Duration::from_secs(3600);
    }
    let endpoint = Endpoint::bind(options)?;
    let to = [([127, 0, 0, 1], arguments.port).into()];
    let association = endpoint.connect(&to, SCTP_PORT).await?;
    if let Some(pass) = pass {
        pass.show(&association).await?;
    }
    Ok((endpoint, association))
}
