//! The guest whose Linux kernel sends.

use super::schedule::Schedule;
use crate::children::{Owned, run};
use crate::failure::{Failure, Kind};
use crate::namespace::within;
use byway_papers::reproduce::real::{EVERY_MS, MESSAGE};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

/// Where the receivers are, and the guest.
const OURS: [&str; 2] = ["10.71.1.1", "10.71.2.1"];
const THEIRS: &str = "10.71.1.2,10.71.2.2";
/// The kernel's own port for SCTP in UDP.
const UDP_PORT: u16 = 9899;
/// The SCTP port of `byway listen`.
const PORT: u16 = 5001;
/// The sender's deadline, seconds.
const DEADLINE: &str = "300";

/// The kernel's settings.
#[derive(Copy, Clone)]
pub(super) enum Kernel {
    /// As it comes.
    Defaults,
    /// Without the potentially failed state (RFC 7829), as RFC 4960 has it.
    NoPf,
}

/// A guest that runs; it is stopped with this.
pub(super) struct Guest {
    folder: PathBuf,
    name: String,
    version: String,
}

impl Guest {
    /// Builds it if need be and boots it. Or why that cannot be done here.
    ///
    /// # Errors
    /// Interruption.
    pub(super) fn boot(
        folder: &Path,
        cancel: &AtomicBool,
    ) -> Result<Result<Guest, String>, Failure> {
        if !folder.join("boot").is_file() {
            return Ok(Err(format!(
                "{} has no guest; run this in the folder of the sources, or name theirs with --linux-peer",
                folder.display()
            )));
        }
        let mut guest = Guest {
            folder: folder.to_owned(),
            name: format!("real{}", std::process::id()),
            version: String::new(),
        };
        let booted = guest.prepare();
        if cancel.load(Ordering::Relaxed) {
            return Err(Failure::signal());
        }
        Ok(match booted {
            Ok(()) => Ok(guest),
            Err(failure) => Err(failure.message),
        })
    }

    fn prepare(&mut self) -> Result<(), Failure> {
        let peer = std::env::temp_dir().join(format!("byway-{}-peer", self.name));
        let source = self.folder.join("peer.c");
        let common = self.folder.join("../common");
        run(&mut self.script("build"))?;
        run(Command::new("gcc")
            .args(["-O2", "-static", "-I"])
            .arg(common)
            .arg("-o")
            .arg(&peer)
            .arg(source)
            .args(["-lmd", "-lpthread"]))?;
        run(self.script("boot").args(["-n", &self.name]))?;
        let copied = run(self.guest().arg("-p").arg(&peer).arg("/root/peer"));
        // It is of no use any more, and nothing depends on it.
        let _ = std::fs::remove_file(&peer);
        copied?;
        let bytes = MESSAGE * Schedule::messages() as usize;
        run(self.guest().arg(format!(
            "head -c {bytes} /dev/zero >/tmp/messages && sysctl -qw net.sctp.udp_port={UDP_PORT}"
        )))?;
        let version = self.guest().args(["uname", "-r"]).output();
        let version = version.map_err(|e| Failure::new(Kind::Failed, e.to_string()))?;
        String::from_utf8_lossy(&version.stdout)
            .trim()
            .clone_into(&mut self.version);
        Ok(())
    }

    fn script(&self, name: &str) -> Command {
        Command::new(self.folder.join(name))
    }

    fn guest(&self) -> Command {
        let mut command = self.script("guest");
        command.args(["-n", &self.name]);
        command
    }

    /// The kernel's version.
    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// A program at the other end of the guest's paths.
    pub(super) fn opposite(&self, program: &Path) -> Command {
        within(&self.name, program)
    }

    /// The receiver's addresses.
    pub(super) fn addresses(port: u16) -> String {
        format!("{}:{port},{}:{port}", OURS[0], OURS[1])
    }

    /// Starts senders, one for each port, evenly spread over the time between two messages.
    pub(super) fn send(&self, kernel: Kernel, first: u16, phases: usize) -> Result<Owned, Failure> {
        let pf = match kernel {
            Kernel::Defaults => "",
            Kernel::NoPf => " --pf 65535",
        };
        let mut script = String::new();
        for port in (first..).take(phases) {
            script.push_str(&format!(
                "/root/peer send --port {PORT} --addr {THEIRS} --to {} --in /tmp/messages --message {MESSAGE} \
                 --every {EVERY_MS} --udp-port {UDP_PORT} --peer-udp-port {port} --deadline {DEADLINE}{pf} & \
                 sleep {};\n",
                OURS.join(","),
                0.001 * EVERY_MS as f64 * (1.0 + 1.0 / phases as f64)
            ));
        }
        script.push_str("wait");
        Owned::start(
            self.guest()
                .arg(script)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null()),
        )
    }

    /// Nothing passes over the first path any more; neither end sees it go.
    pub(super) fn unplug(&self) -> Result<(), Failure> {
        let bridges = format!("{}-vm", self.name);
        run(Command::new("ip").args(["-n", &bridges, "link", "set", "br1", "down"]))
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // A guest that does not stop says so in its own log.
        let _ = run(self.script("stop").args(["-n", &self.name]));
    }
}
