//! Two hosts with two paths that have a delay: `byway emulate`, or the guest with a Linux kernel.

use super::flow::Owned;
use anyhow::{Context, Result, bail, ensure};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Time from the start of an emulation to the death of its first path.
pub(super) const DEATH: Duration = Duration::from_secs(3);
/// Rate of each path.
pub(super) const RATE_MBIT: u32 = 50;
/// Packets of the queue of each path: 15 ms.
pub(super) const QUEUE: u32 = 64;

/// An emulated network, whose first path dies silently: in both directions at once, with what is
/// on its way, and no card goes down.
pub(super) struct Emulated {
    // Ends the namespaces.
    process: Owned,
    name: String,
    file: PathBuf,
    /// When the first path dies, or some milliseconds later.
    pub(super) dead: Instant,
}

fn scenario(rtt: Duration) -> String {
    let path = |name: &str| {
        format!(
            "[[path]]\nname = \"{name}\"\nrate = \"{RATE_MBIT} Mbit/s\"\ndelay = \"{} us\"\nqueue = \"{QUEUE} packets\"\n",
            rtt.as_micros() / 2
        )
    };
    format!(
        "limit = \"600 s\"\n[traffic]\nkind = \"bulk\"\nsize = \"8 MiB\"\n{}{}[[event]]\nat = \"{} s\"\npath = \"primary\"\ndo = \"down\"\n",
        path("primary"),
        path("alternate"),
        DEATH.as_secs()
    )
}

impl Emulated {
    /// Begins; `name` must be the only one of its kind.
    pub(super) fn begin(byway: &Path, name: String, rtt: Duration) -> Result<Emulated> {
        let file = std::env::temp_dir().join(format!("{name}.toml"));
        std::fs::write(&file, scenario(rtt)).context("writing a scenario")?;
        let begun = Instant::now();
        let mut command = Command::new(byway);
        command
            .arg("emulate")
            .arg(&file)
            .args(["--quiet", "--name", &name, "--", "sleep", "600"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let process = Owned::start(&mut command)?;
        let mut network = Emulated {
            process,
            name,
            file,
            dead: begun + DEATH,
        };
        network.wait_until_up()?;
        Ok(network)
    }

    /// The last device is that of the receiver's second path.
    fn wait_until_up(&mut self) -> Result<()> {
        let begun = Instant::now();
        loop {
            let shown = Command::new("ip")
                .args([
                    "-n",
                    &self.host(End::Receiver),
                    "-o",
                    "-4",
                    "addr",
                    "show",
                    "dev",
                    "path2",
                    "up",
                ])
                .stderr(Stdio::null())
                .output();
            if shown.is_ok_and(|o| String::from_utf8_lossy(&o.stdout).contains("10.2.0.2")) {
                return Ok(());
            }
            if self.process.0.try_wait()?.is_some() {
                let mut said = String::new();
                if let Some(mut errors) = self.process.0.stderr.take() {
                    errors.read_to_string(&mut said)?;
                }
                bail!("byway emulate has ended: {}", said.trim());
            }
            ensure!(
                begun.elapsed() < Duration::from_secs(2),
                "byway emulate has no network after two seconds"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn host(&self, end: End) -> String {
        let end = match end {
            End::Sender => "sender",
            End::Receiver => "receiver",
        };
        format!("{}-{end}", self.name)
    }

    /// A program at an end.
    pub(super) fn program(&self, end: End, program: &Path) -> Command {
        within(&self.host(end), program)
    }

    /// Bytes that the sender has handed to each path.
    pub(super) fn sent(&self) -> Result<[u64; 2]> {
        let mut sent = [0; 2];
        for (path, sent) in sent.iter_mut().enumerate() {
            let file = format!("/sys/class/net/path{}/statistics/tx_bytes", path + 1);
            let output = self
                .program(End::Sender, Path::new("cat"))
                .arg(file)
                .output()?;
            *sent = String::from_utf8_lossy(&output.stdout)
                .trim()
                .parse()
                .context("no counter of a path")?;
        }
        Ok(sent)
    }
}

impl Drop for Emulated {
    fn drop(&mut self) {
        // It ends its namespaces when it is asked to.
        if let Ok(pid) = i32::try_from(self.process.0.id()) {
            let pid = nix::unistd::Pid::from_raw(pid);
            if nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).is_ok() {
                let _ = self.process.0.wait();
            }
        }
        let _ = std::fs::remove_file(&self.file);
    }
}

/// An end of the paths.
#[derive(Copy, Clone)]
pub(super) enum End {
    Sender,
    Receiver,
}

/// A program in a network namespace.
pub(super) fn within(namespace: &str, program: &Path) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace]).arg(program);
    command
}
