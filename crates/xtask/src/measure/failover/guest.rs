//! The guest whose kernel has SCTP. Its paths are bridges and not those of an emulation, so its
//! own netem delays what it sends, by the whole round trip.

use super::contender::both;
use super::flow::{EVERY, Load, MESSAGE, Owned, Receiver, Stall, stall};
use super::network::{QUEUE, RATE_MBIT, within};
use crate::peers::Workspace;
use crate::process::{output_of, run_quietly};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The host's addresses, and the guest's.
const OURS: &str = "10.71.1.1,10.71.2.1";
const THEIRS: &str = "10.71.1.2,10.71.2.2";
/// First UDP port of the receivers.
const FIRST_PORT: u16 = 9900;
/// Time for the receivers to begin, and then for the senders.
const OPENING: Duration = Duration::from_millis(500);

/// A guest that runs.
pub(super) struct Guest {
    folder: PathBuf,
    name: String,
    byway: PathBuf,
    pub(super) version: String,
}

impl Guest {
    /// Builds it if need be and boots it.
    pub(super) fn boot(workspace: &Workspace, byway: &Path) -> Result<Guest> {
        let folder = workspace.file("interop/linux-peer");
        let peer = workspace.target().join("peers/kernel-peer");
        run_quietly(&mut Command::new(folder.join("build")))?;
        let mut gcc = Command::new("gcc");
        gcc.args(["-O2", "-static", "-I"])
            .arg(workspace.file("interop/common"));
        gcc.arg("-o")
            .arg(&peer)
            .arg(folder.join("peer.c"))
            .args(["-lmd", "-lpthread"]);
        run_quietly(&mut gcc)?;
        let mut guest = Guest {
            folder,
            name: format!("bwf{}", std::process::id()),
            byway: byway.to_owned(),
            version: String::new(),
        };
        let mut boot = guest.script("boot");
        run_quietly(boot.args(["-n", &guest.name]))?;
        run_quietly(guest.guest().arg("-p").arg(&peer).arg("/root/peer"))?;
        guest.run("sysctl -qw net.sctp.udp_port=9899")?;
        guest.version = output_of(guest.guest().args(["uname", "-r"]))?
            .trim()
            .to_owned();
        Ok(guest)
    }

    fn script(&self, name: &str) -> Command {
        Command::new(self.folder.join(name))
    }

    fn guest(&self) -> Command {
        let mut command = self.script("guest");
        command.args(["-n", &self.name]);
        command
    }

    fn run(&self, line: &str) -> Result<()> {
        run_quietly(self.guest().arg(line))
    }

    fn first_path(&self, state: &str) -> Result<()> {
        let bridges = format!("{}-vm", self.name);
        run_quietly(Command::new("ip").args(["-n", &bridges, "link", "set", "br1", state]))
    }

    /// `phases` associations at once, whose first path dies.
    pub(super) fn stalls(
        &self,
        load: Load,
        rtt: Duration,
        phases: u16,
        watched: Duration,
    ) -> Result<Vec<Stall>> {
        let in_flight = rtt.as_secs_f64() * f64::from(RATE_MBIT) * 1e6 / 8.0 / 1500.0;
        let limit = in_flight as u32 + QUEUE;
        for path in 1..=2 {
            self.run(&format!(
                "tc qdisc replace dev path{path} root netem rate {RATE_MBIT}mbit delay {}us limit {limit}",
                rtt.as_micros()
            ))?;
        }
        let mut receivers = Vec::new();
        for port in (FIRST_PORT..).take(phases.into()) {
            let mut command = within(&self.name, &self.byway);
            command.args([
                "listen",
                "--unprotected",
                "--quiet",
                "--bind",
                &both(OURS, port),
            ]);
            receivers.push(Receiver::start(command)?);
        }
        std::thread::sleep(OPENING);
        let senders = Owned::start(&mut self.senders(load, phases))?;
        std::thread::sleep(OPENING + Duration::from_secs(3));
        let dead = Instant::now();
        self.first_path("down")?;
        std::thread::sleep(watched);
        let end = Instant::now();
        let stalls = receivers
            .into_iter()
            .map(|r| stall(&r.end(), dead, end))
            .collect();
        self.run("killall peer 2>/dev/null; true")?;
        drop(senders);
        self.first_path("up")?;
        stalls
    }

    /// Evenly spread over the time between two messages.
    fn senders(&self, load: Load, phases: u16) -> Command {
        let paced = match load {
            Load::Paced => format!("--message {MESSAGE} --every {}", EVERY.as_millis()),
            Load::Bulk => "--message 16384".to_owned(),
        };
        let mut script = String::new();
        for port in (FIRST_PORT..).take(phases.into()) {
            script.push_str(&format!(
                "/root/peer send --port 5001 --addr {THEIRS} --to {OURS} --in /dev/zero {paced} \
                 --buffer 0 --udp-port 9899 --peer-udp-port {port} --deadline 60 & sleep {};\n",
                EVERY.as_secs_f64() * (1.0 + 1.0 / f64::from(phases))
            ));
        }
        script.push_str("wait");
        let mut command = self.guest();
        command
            .arg(script)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // A guest that does not stop says so in its own log.
        let _ = run_quietly(self.script("stop").args(["-n", &self.name]));
    }
}

/// The guest, or why there is none.
pub(super) fn boot(workspace: &Workspace, byway: &Path) -> Result<Guest> {
    Guest::boot(workspace, byway).context("no guest with a Linux kernel")
}
